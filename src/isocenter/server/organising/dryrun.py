"""The ranking before there is anybody to rank: synthetic teams, put through the real rules.

Five teams hand in made-up results: two are equal to the last digit, one lacks a case, one is of the organisers. Nothing
is measured; the numbers follow from a seed, so everybody who looks sees the same board.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isocenter.server.boards.board_titles import rule_in_words, titles_of

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from isocenter.evaluation import Challenge as Code
    from isocenter.ranking import Board

    Generator = np.random.Generator

TEAMS = {"Ash": 0.86, "Birch": 0.8, "Cedar (as Birch)": 0.8, "Dogwood (lacks a case)": 0.83, "Elm (organisers)": 0.9}
"""How good the synthetic teams are, from 0 to 1."""

TWIN, ORIGINAL = "Cedar (as Birch)", "Birch"
LACKING, HOME = "Dogwood (lacks a case)", "Elm (organisers)"
_CASES = (5, 30)


@dataclass(frozen=True)
class DryRun:
    """What a board would be; or why there is none."""

    name: str
    title: str
    rule: str
    board: Board | None
    problem: str = ""


def dry_run(code: Code, *, cases: int | None = None, seed: int = 1) -> list[DryRun]:
    """Every board of a challenge, made of synthetic teams.

    Parameters
    ----------
    code
        With the rules of the edition and a phase in force.
    cases
        How many cases the phase has; few are enough to see the rule at work.
    """
    from isocenter.contest import rank

    names = [f"case-{number:02}" for number in range(1, min(max(cases or 12, _CASES[0]), _CASES[1]) + 1)]
    tables = {team: synthetic(code, team, names, seed=seed) for team in TEAMS}
    found, titles = [], titles_of(code)
    for name, rule in code.boards.items():
        title, words = titles[name], rule_in_words(rule)
        try:
            found.append(DryRun(name, title, words, rank(code, tables, board=name, organisers=[HOME], resamples=0)))
        except (ValueError, KeyError) as error:
            found.append(DryRun(name, title, words, None, str(error)))
    return found


def synthetic(code: Code, team: str, cases: list[str], *, seed: int) -> pl.DataFrame:
    """The score table of a synthetic team."""
    import numpy as np

    from isocenter.detections import CASE_METRICS
    from isocenter.scores import Row, frame

    detects = set(CASE_METRICS) <= set(code.metrics)
    twin = ORIGINAL if team == TWIN else team
    rng = np.random.default_rng([seed, *hashlib.sha256(twin.encode()).digest()[:8]])
    truth, parted = np.random.default_rng(seed), _parted(code)
    inputs = {} if detects else _inputs(code)
    taken = {metric for names in inputs.values() for metric in names}
    rows: list[Row] = []
    for number, case in enumerate(cases):
        ill, hard = number % 3 == 0, truth.normal(0, 0.05)
        if detects:
            rows += [Row(case, part, metric, value) for metric, value, part in _found(TEAMS[team], ill, rng)]
        for metric in [metric for metric in code.metrics if metric not in taken] if not detects else ():
            part = "a part" if metric in parted else ""
            rows.append(Row(case, part, metric, _value(metric, TEAMS[team] + hard + rng.normal(0, 0.04))))
        for part, names in inputs.items():
            made = _inputs_of_case(number, TEAMS[team] + hard, rng)
            rows += [Row(case, part, metric, made[name]) for metric, name in names.items() if name in made]
        if team == LACKING and number == len(cases) // 2:
            rows = [row for row in rows if row.case != case]
            rows += [Row(case, "", metric, None) for metric in code.metrics]
            rows.append(Row(case, "", "missing", 1.0))
    rows += [Row("", "", metric, _value(metric, TEAMS[team])) for metric in _given(code)]
    return frame(rows)


def _parted(code: Code) -> set[str]:
    """Metrics of which a case has several numbers, as the rules that average them say."""
    rules = [rule for rule in code.boards.values() if getattr(rule, "over", "cases") != "cases"]
    return {metric for rule in rules for metric in rule.reads}


def _given(code: Code) -> list[str]:
    """Metrics that a whole submission has, such as run time, where a rule reads any."""
    return sorted({metric for rule in code.boards.values() for metric in getattr(rule, "given", ())})


def _inputs(code: Code) -> dict[str, dict[str, str]]:
    """By part of a case the metrics that statistics of the cohort are made of, and what these call them."""
    inputs: dict[str, dict[str, str]] = {}
    for rule in code.boards.values():
        sources: dict[str, str] = getattr(rule, "sources", {})
        for part in (getattr(rule, "parts", ()) or ("",)) if sources else ():
            inputs.setdefault(part, {}).update({metric: name for name, metric in sources.items()})
    return inputs


def _inputs_of_case(number: int, quality: float, rng: Generator) -> dict[str, float]:
    """What a case is, which depends on its number alone, and what a team of this quality makes of it."""
    truth, time, volume = float(number % 2), 100.0 + 37 * (number % 7), 4.0 + number % 5
    tp = _between(quality + rng.normal(0, 0.1), 0.0, 1.0) * volume
    return {
        "truth": truth,
        "predicted": truth if rng.random() < quality else 1 - truth,
        "probability": _between(0.5 + (truth - 0.5) * quality + rng.normal(0, 0.2), 0.0, 1.0),
        "time": time,
        "event": float(number % 3 > 0),
        "risk": float(-time / 100 * quality + rng.normal(0, 0.5)),
        "tp": tp,
        "fp": abs(float(rng.normal(0, 1))),
        "fn": volume - tp,
    }


def _found(quality: float, ill: bool, rng: Generator) -> list[tuple[str, float, str]]:
    """What an algorithm finds in a patient: lesions with more confidence the better it is, and at times a false one."""
    from isocenter.detections import Finding, findings

    likelihood = _between(0.5 + (quality - 0.6) * (1 if ill else -1) + rng.normal(0, 0.25), 0.01, 0.99)
    lesions = [Finding(is_lesion=True, confidence=likelihood, iou=0.6, grade=3.0)] if ill else []
    if rng.random() > quality:
        lesions.append(Finding(is_lesion=False, confidence=_between(rng.random() * 0.6, 0.01, 0.99), iou=0.0))
    return list(findings(ill, likelihood, lesions))


def _value(metric: str, quality: float) -> float:
    """A value that a team of this quality might reach."""
    from isocenter.metrics import catalogue

    found = catalogue.get(metric)
    low, high = found.bounds
    good = quality if found.better != "lower" else 1 - quality
    if math.isfinite(low) and math.isfinite(high):
        return _between(low + (high - low) * good, low, high)
    return max(low, 0.0) + max(good, 0.01) if math.isfinite(low) else good


def _between(value: float, low: float, high: float) -> float:
    return float(min(max(value, low), high))
