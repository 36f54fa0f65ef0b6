"""A small example of a ranking, made by the rule itself: three teams, three cases, one of them missing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from isocenter.ranking import Board, Rule
    from isocenter.server.telling.wording import Block

_TEAMS = ("A", "B", "C")
_CASES = ("case 1", "case 2", "case 3")

# How good each team is in each case, from 0 to 1, by one metric and by the next; C has no output for the last case.
_HOW_GOOD = (
    {"A": (0.82, 0.74, 0.90), "B": (0.90, 0.66, 0.85), "C": (0.94, 0.88)},
    {"A": (0.70, 0.81, 0.77), "B": (0.84, 0.79, 0.86), "C": (0.91, 0.93)},
    {"A": (0.88, 0.79, 0.93), "B": (0.75, 0.80, 0.71), "C": (0.83, 0.90)},
)
_SECONDS = {"A": 0.30, "B": 0.45, "C": 0.20}

# Patients with a lesion or without, and the likelihood that each team gives; C has no output for the last one.
_PATIENTS = (True, False, True)
_LIKELIHOODS = {"A": (0.9, 0.2, 0.6), "B": (0.7, 0.8, 0.9), "C": (0.95, 0.1)}


def example_of(rule: Rule) -> Iterator[Block]:
    """What a rule makes of a few numbers; nothing for a rule that wants others."""
    from isocenter.ranking import capabilities_of
    from isocenter.server.telling.wording import Text

    detects = capabilities_of(rule).has_findings
    table = _findings() if detects else _numbers(rule)
    try:
        board = rule.rank(table, name="example")
    except (ValueError, LookupError):  # a rule of another package
        return
    yield _detected(board) if detects else _measured(rule, table, board)
    missing = getattr(rule, "missing", None)
    such = f"; such a case {missing}" if missing is not None else ""
    yield Text(f"C has no output for {_CASES[-1]}{such}.")
    if board.notes:
        yield Text("The board says: " + "; ".join(board.notes) + ".")


def _numbers(rule: Rule) -> pl.DataFrame:
    """A score table with every metric that the rule reads."""
    given: tuple[str, ...] = getattr(rule, "given", ())
    parts = ("",) if getattr(rule, "over", "cases") == "cases" else ("part 1", "part 2")
    rows: list[tuple[Any, ...]] = []
    if sources := getattr(rule, "sources", {}):
        for team, likelihoods in _LIKELIHOODS.items():
            for number, (case, likelihood) in enumerate(zip(_CASES, likelihoods, strict=False)):
                values = _inputs(number, likelihood)
                for part in rule.parts or ("",):  # type: ignore[attr-defined]
                    rows += [(team, case, part, metric, values.get(name)) for name, metric in sources.items()]
        return _table(rows, rule.reads)
    for team in _TEAMS:
        for i, metric in enumerate(rule.reads):
            good = _HOW_GOOD[i % len(_HOW_GOOD)][team]
            for case, how in zip(_CASES, good, strict=False):
                rows += [(team, case, part, metric, _value(metric, how - 0.1 * k)) for k, part in enumerate(parts)]
        rows += [(team, "", "", metric, _SECONDS[team]) for metric in given]
    return _table(rows, rule.reads)


def _inputs(number: int, likelihood: float) -> dict[str, float]:
    """What statistics of a cohort are made of: what a patient is, and what a team with this likelihood says."""
    truth = float(_PATIENTS[number])
    found = 4.0 * (likelihood if truth else 1 - likelihood)
    return {
        "truth": truth,
        "predicted": float(likelihood > 0.5),
        "probability": likelihood,
        "time": 100.0 * (1 + number),
        "event": 1.0,
        "risk": likelihood,
        "tp": found,
        "fp": 1.0,
        "fn": 4.0 - found,
    }


def _value(metric: str, how: float) -> float:
    """A value of a metric that is so good."""
    from isocenter.metrics import catalogue

    known = catalogue.get(metric)
    low = known.bounds[0] if math.isfinite(known.bounds[0]) else 0.0
    high = known.bounds[1] if math.isfinite(known.bounds[1]) else low + 4.0
    return round(low + (how if known.better == "higher" else 1 - how) * (high - low), 3)


def _findings() -> pl.DataFrame:
    """A score table of patients and lesions."""
    from isocenter.detections import CASE_METRICS, Finding, findings

    rows: list[tuple[Any, ...]] = []
    for team, likelihoods in _LIKELIHOODS.items():
        for case, ill, likelihood in zip(_CASES, _PATIENTS, likelihoods, strict=False):
            lesions = [Finding(is_lesion=ill, confidence=likelihood, iou=0.5 if ill else 0.0)]
            rows += [(team, case, part, metric, value) for metric, value, part in findings(ill, likelihood, lesions)]
    return _table(rows, CASE_METRICS)


def _table(rows: list[tuple[Any, ...]], metrics: tuple[str, ...]) -> pl.DataFrame:
    import polars as pl

    from isocenter.scores import SCHEMA, check

    absent: list[tuple[Any, ...]] = [("C", _CASES[-1], "", metric, None) for metric in metrics]
    absent.append(("C", _CASES[-1], "", "missing", 1.0))
    return check(pl.DataFrame([(*row, 1.0) for row in (*rows, *absent)], schema=SCHEMA, orient="row"))


def _measured(rule: Rule, table: pl.DataFrame, board: Board) -> Block:
    """The numbers of every case, or of several metrics their means, with score and rank."""
    from isocenter.metrics import catalogue
    from isocenter.server.telling.wording import Grid

    score = catalogue.get(board.metric)
    if any(row.components for row in board.rows):
        names = [part.metric for part in next(row for row in board.rows if row.components).components]
        head = tuple(f"{name} {catalogue.get(name).arrow} (rank)" for name in names)
        inputs = {
            row.submission: tuple(
                f"{catalogue.get(part.metric).show(part.score)} ({part.place})" for part in row.components
            )
            for row in (*board.rows, *board.unlisted)
        }
        caption = f"Means over three cases, the ranks by them, and the {score.name} of the board"
    else:
        # Of inputs of a statistic the last one is what a team says; the first ones are the truth.
        [metric] = map(catalogue.get, rule.reads[-1:] if getattr(rule, "sources", {}) else rule.reads[:1])
        cells = dict.fromkeys((case, part) for _, case, part, name, _, _ in table.iter_rows() if name == metric.name)
        cells = {cell: None for cell in cells if cell[1] or not any(case == cell[0] and part for case, part in cells)}
        head = tuple(f"{case}, {part}" if part else case for case, part in cells)
        found = {(team, case, part): v for team, case, part, name, v, _ in table.iter_rows() if name == metric.name}
        inputs = {team: tuple(metric.show(found.get((team, *cell))) for cell in cells) for team in _TEAMS}
        caption = f"{metric.name} {metric.arrow} of every case, and the {score.name} of the board"
    rows = tuple((team, *(inputs[team] or ("–",) * len(head)), *_outcome(board, team)) for team in _TEAMS)
    return Grid(caption, ("team", *head, "score", "rank"), rows)


def _detected(board: Board) -> Block:
    """What each team said of each patient, with score and rank."""
    from isocenter.server.telling.wording import Grid

    head = tuple(f"{case} ({'a' if ill else 'no'} lesion)" for case, ill in zip(_CASES, _PATIENTS, strict=True))
    said = {team: [f"{likelihood:g}" for likelihood in its] for team, its in _LIKELIHOODS.items()}
    rows = tuple(
        (team, *said[team], *("–" for _ in range(len(head) - len(said[team]))), *_outcome(board, team))
        for team in _TEAMS
    )
    caption = f"Likelihood of every patient, and of the one candidate there; the {board.metric} of the board"
    return Grid(caption, ("team", *head, "score", "rank"), rows)


def _outcome(board: Board, team: str) -> tuple[str, str]:
    from isocenter.metrics import catalogue

    row = board[team]
    if row in board.unlisted:
        return "–", "on no board"
    return catalogue.get(board.metric).show(row.score), row.place
