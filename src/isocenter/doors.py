"""The calls that most people need: check, evaluate, rank, with challenges by name or as objects."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from datetime import datetime

import polars as pl

from isocenter import evaluation
from isocenter.detections import Detections
from isocenter.evaluation import Challenge, load_challenge
from isocenter.metrics import catalogue
from isocenter.ranking import (
    Board,
    DetectThenRank,
    Drawable,
    FixedValue,
    MeanThenRank,
    NormalisedSum,
    Participation,
    Penalty,
    QuantileThenRank,
    RankThenMean,
    RankUncertainty,
    Role,
    Rule,
    TestThenRank,
    TrimmedMeanThenRank,
    WeightedRanks,
    WorstObserved,
    WorstPossible,
    as_shown,
    bootstrap_ranks,
    climb,
    counting,
    mark_uncertainty,
    within_quota,
)
from isocenter.scores import SCHEMA
from isocenter.scores import check as check_table
from isocenter.stats import in_brackets, mean_and_error
from isocenter.submissions import GridPolicy, Problem, report

__all__ = [
    "challenge",
    "check",
    "counting_scores",
    "evaluate",
    "findings_by_team",
    "means_in_brackets",
    "rank",
    "roles_of",
    "with_uncertainty",
]

Path = str | os.PathLike[str]


def challenge(name: str | Challenge) -> Challenge:
    """The challenge of a name; a challenge itself is given back, so that every call takes either."""
    return load_challenge(name) if isinstance(name, str) else name


def check(
    challenge: str | Challenge,
    *,
    reference: Path,
    submission: Path,
    executor: Executor | None = None,
    grid: GridPolicy = "refuse",
) -> tuple[Problem, ...]:
    """Everything that is wrong with a submission; empty if nothing is.

    Examples
    --------
    >>> import isocenter
    >>> isocenter.check("hecktor2020", reference="reference/", submission="team.zip")  # doctest: +SKIP
    (Problem(severity='missing', message='expected CHUV012.nii.gz', case='CHUV012', file=''),)
    """
    which = load_challenge(challenge) if isinstance(challenge, str) else challenge
    return evaluation.check(which, reference=reference, submission=submission, executor=executor, grid=grid)


def evaluate(
    challenge: str | Challenge,
    *,
    reference: Path,
    submission: Path,
    executor: Executor | None = None,
    grid: GridPolicy = "refuse",
) -> pl.DataFrame:
    """Score a submission and return its table: one row per number, columns case, part, metric, value, weight.

    Parameters
    ----------
    challenge
        Name, or object.
    reference, submission
        A folder or a zip each.
    executor
        Where cases run; here, one after the other, if none is given. Any `concurrent.futures.Executor` does: threads,
        processes, or that of a `distributed.Client`. The table is the same for all of them.
    grid
        What happens to an output on another grid than its reference: "refuse", "resample" or "trust-index".

    Raises
    ------
    SubmissionRefused
        If the submission as a whole cannot be used. A single case that cannot is in the table without a value, and
        named in a warning.
    """
    which = load_challenge(challenge) if isinstance(challenge, str) else challenge
    result = evaluation.evaluate(which, reference=reference, submission=submission, executor=executor, grid=grid)
    if lost := [problem for problem in result.problems if problem.severity == "unusable"]:
        warnings.warn(f"{os.fspath(submission)}: not everything could be measured\n{report(lost)}", stacklevel=2)
    return result.scores


def rank(
    challenge: str | Challenge,
    scores: Mapping[str, pl.DataFrame | Sequence[pl.DataFrame]],
    *,
    board: str | None = None,
    organisers: Collection[str] = (),
    benchmarks: Collection[str] = (),
    chosen: Mapping[str, int] | None = None,
    moments: Mapping[str, Sequence[datetime]] | None = None,
    void: Mapping[str, Collection[int]] | None = None,
) -> Board:
    """Rank score tables by the challenge's own rule.

    Parameters
    ----------
    scores
        By team: the table of its submission, or the tables of all its submissions in the order they were made, of
        which the challenge's counting rule takes one. Those over the quota are left out and noted.
    board
        Which of the challenge's boards; the main one if not said.
    organisers
        Teams of the organisers' institutes, unlisted or unranked as the challenge says.
    benchmarks
        Rows to compare with (observers, ensembles, a commercial tool): listed, never ranked.
    chosen
        By team, the position of the submission that it chose, where the challenge counts that one.
    moments
        By team, when each of its submissions was made, for a quota per week or day.
    void
        By team, the positions of submissions that do not count, such as those without a survey that is asked for. They
        have used up the quota all the same.
    """
    which = load_challenge(challenge) if isinstance(challenge, str) else challenge
    name = board or next(iter(which.boards))
    if name not in which.boards:
        msg = f"{which.name} has no board {name!r}; it has {', '.join(which.boards)}"
        raise ValueError(msg)
    for role, names in (("organiser", organisers), ("benchmark", benchmarks)):
        if unknown := sorted(set(names) - set(scores)):
            msg = f"there are no scores of the {role} {', '.join(unknown)}"
            raise ValueError(msg)
    rule, rules = which.boards[name], which.participation
    _refuse_names(scores)
    for option, positions in (("chosen", chosen or {}), ("void", void or {}), ("moments", moments or {})):
        if unknown := sorted(set(positions) - set(scores)):
            msg = f"{option} is said of {', '.join(unknown)}, of whom there are no scores"
            raise ValueError(msg)
    counted = counting_scores(which, scores, board=name, chosen=chosen, moments=moments, void=void)
    if counted.is_empty():
        return Board(name=name, metric=rule.metric, rule=str(rule), rows=())
    ranked = rule.rank(counted, name=name, roles=roles_of(rules, counted, organisers, benchmarks))
    if rules.discreet:
        if not isinstance(rule, MeanThenRank | QuantileThenRank | TrimmedMeanThenRank | DetectThenRank):
            msg = f"scores of ranks cannot be shown rounded, or on a ladder ({rule})"
            raise ValueError(msg)
        seen = _on_the_ladder(which, scores, rule, moments=moments or {}, void=void or {})
        ranked = as_shown(ranked, rule, shown=seen, decimals=rules.decimals)
    if rules.organisers == "ranked":
        rows = [replace(row, role="organiser") if _team(row.submission, organisers) else row for row in ranked.rows]
        ranked = replace(ranked, rows=tuple(rows))
    hidden = tuple(row for row in ranked.rows if not rules.lists(row.role))
    shown = tuple(row for row in ranked.rows if rules.lists(row.role))
    secret = {row.submission for row in (*ranked.unlisted, *hidden)}
    secret |= {team for team in organisers if rules.organisers == "unlisted"}
    known = {*scores, *counted["submission"].unique(), *secret}
    notes = tuple(
        f"{team}: {len(tables)} submissions, of which the quota admits {count}; {which_ones} do not count"
        for team, tables in scores.items()
        if not isinstance(tables, pl.DataFrame) and team not in secret
        if (count := len(_admitted(tables, rules, (moments or {}).get(team)))) < len(tables)
        for which_ones in ["later ones" if rules.per == "phase" else "the others"]
    )
    # Who competes on other boards only may be named, who is disqualified or of the organisers may not.
    unnamed = secret - {row.submission for row in ranked.unlisted if row.role == "team" and not row.disqualified}
    said = tuple(note for note in (*ranked.notes, *notes) if _about(note, known) not in unnamed)
    return replace(ranked, rows=shown, unlisted=(*ranked.unlisted, *hidden), notes=said)


def _about(note: str, names: Collection[str]) -> str:
    """Whom a note begins with; "" if with nobody. Of two names the longer one is meant."""
    found = [name for name in names if note.startswith((f"{name}:", f"{name} "))]
    return max(found, key=len, default="")


def counting_scores(
    challenge: str | Challenge,
    scores: Mapping[str, pl.DataFrame | Sequence[pl.DataFrame]],
    *,
    board: str | None = None,
    chosen: Mapping[str, int] | None = None,
    moments: Mapping[str, Sequence[datetime]] | None = None,
    void: Mapping[str, Collection[int]] | None = None,
) -> pl.DataFrame:
    """The one submission of every team that counts, as one table with a `submission` column; see `rank`.

    Where all count, those of a team that has several are called "team #1", "team #2" and so on.
    """
    which = load_challenge(challenge) if isinstance(challenge, str) else challenge
    rule, rules = which.boards[board or next(iter(which.boards))], which.participation
    if rules.ladder is not None and rules.counts in ("all", "chosen"):
        msg = f"a ladder decides which submission is shown; it cannot be that {rules.counts!r} counts"
        raise ValueError(msg)
    found = []
    for team, given in scores.items():
        tables = [_of(table, team) for table in ([given] if isinstance(given, pl.DataFrame) else given)]
        admitted = _admitted(tables, rules, (moments or {}).get(team))
        admitted = [at for at in admitted if at not in (void or {}).get(team, ())]
        if not admitted:
            continue
        if rules.counts == "all":
            named = [(at, f"{team} #{at + 1}" if len(tables) > 1 else team) for at in admitted]
            found += [tables[at].with_columns(pl.lit(name).alias("submission")) for at, name in named]
            continue
        if rules.ladder is not None:
            found.append(tables[admitted[climb([tables[at] for at in admitted], rule, rules.ladder)[0]]])
            continue
        if rules.counts == "best" and len(admitted) > 1:
            _refuse_relative(rule)
        boards = [rule.rank(tables[at]) for at in admitted] if rules.counts == "best" else []
        values = [board[team].score for board in boards] or [None] * len(admitted)
        wish = (chosen or {}).get(team)
        if wish is not None and wish not in admitted:
            msg = f"{team} chose submission {wish + 1}, which is none of those that count"
            raise ValueError(msg)
        try:
            at = counting(
                values,
                quota=None,
                counts=rules.counts,
                better=catalogue.get(boards[0].metric).better if boards else "higher",
                chosen=None if wish is None else admitted.index(wish),
            )
        except ValueError as error:
            msg = f"{team}: {error}"
            raise ValueError(msg) from None
        found.append(tables[admitted[at]])
    return pl.concat(found) if found else pl.DataFrame(schema=SCHEMA)


def _on_the_ladder(
    challenge: Challenge,
    scores: Mapping[str, pl.DataFrame | Sequence[pl.DataFrame]],
    rule: Rule,
    *,
    moments: Mapping[str, Sequence[datetime]],
    void: Mapping[str, Collection[int]],
) -> dict[str, float]:
    """By team, the score that its ladder shows; empty without one."""
    rules = challenge.participation
    shown: dict[str, float] = {}
    for team, given in scores.items() if rules.ladder is not None else ():
        tables = [_of(table, team) for table in ([given] if isinstance(given, pl.DataFrame) else given)]
        admitted = [at for at in _admitted(tables, rules, moments.get(team)) if at not in void.get(team, ())]
        if admitted and rules.ladder is not None:
            shown[team] = climb([tables[at] for at in admitted], rule, rules.ladder)[1]
    return shown


def _refuse_relative(rule: Rule) -> None:
    """A score that depends on who else takes part does not tell which of a team's own is best."""
    relative = isinstance(rule, RankThenMean | WeightedRanks | TestThenRank | NormalisedSum)
    if relative or isinstance(getattr(rule, "missing", None), WorstObserved | Penalty):
        msg = f"which submission is the best cannot be said by a score that depends on the other teams ({rule})"
        raise ValueError(msg)


def _team(submission: str, names: Collection[str]) -> bool:
    """Whether a row is of one of these teams, also where each of its submissions has a row."""
    team, _, number = submission.rpartition(" #")
    return submission in names or (number.isdecimal() and team in names)


def _refuse_names(scores: Mapping[str, object]) -> None:
    """Where all submissions have rows, they are called "team #1"; nobody else may be called so."""
    for name in scores:
        team, _, number = name.rpartition(" #")
        if number.isdecimal() and team in scores:
            msg = f"a team cannot be called {name!r}: so is a submission of {team!r}"
            raise ValueError(msg)


def roles_of(
    rules: Participation, counted: pl.DataFrame, organisers: Collection[str], benchmarks: Collection[str]
) -> dict[str, Role]:
    """What each row takes part as, when ranks are given."""
    roles: dict[str, Role] = {}
    for name in counted["submission"].unique():
        if _team(name, organisers) and rules.organisers != "ranked":
            roles[name] = "organiser"
        elif _team(name, benchmarks):
            roles[name] = "benchmark"
    return roles


def _admitted(tables: Sequence[object], rules: Participation, moments: Sequence[datetime] | None) -> list[int]:
    """Positions of the submissions that the quota admits, in the order they were made."""
    if moments is None:
        return list(range(len(tables)))[: rules.quota if rules.per == "phase" else None]
    if len(moments) != len(tables):
        msg = f"there are {len(tables)} submissions, but {len(moments)} moments at which they were made"
        raise ValueError(msg)
    admitted = within_quota(moments, quota=rules.quota, per=rules.per)
    order = sorted(range(len(tables)), key=lambda at: (moments[at], at))
    return [at for at in order if admitted[at]]


def with_uncertainty(
    challenge: str | Challenge,
    board: Board,
    scores: pl.DataFrame,
    *,
    replicates: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
    strata: Mapping[str, object] | None = None,
    organisers: Collection[str] = (),
    benchmarks: Collection[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Board, RankUncertainty | None]:
    """A board that says what it does not know, by drawing cases with replacement, and all that was found.

    Each row gets the interval of its score, the ranks that the data do not exclude, how often nobody is better, and the
    group of those that cannot be told apart; see `bootstrap_ranks`. The board comes back as it is, with None, if its
    rule knows no uncertainty, if nobody is ranked, and if it gives little away. If the rest cannot be known, a note
    says why.

    Parameters
    ----------
    board, scores
        What `rank` gave, and the table with a `submission` column that it was made of.
    strata
        A label for every case; each stratum keeps its size in every draw.
    organisers, benchmarks
        As for `rank`.
    """
    which = load_challenge(challenge) if isinstance(challenge, str) else challenge
    rule = which.boards[board.name]
    if not isinstance(rule, Drawable) or not any(row.rank is not None for row in board.rows):
        return board, None
    if which.participation.discreet:
        return board, None  # an interval would say what the board keeps to itself
    roles = roles_of(which.participation, scores, organisers, benchmarks)
    try:
        found = bootstrap_ranks(
            scores, rule, replicates=replicates, seed=seed, level=level, strata=strata, roles=roles, progress=progress
        )
        marked = mark_uncertainty(board, found)
    except ValueError as error:
        return replace(board, notes=(*board.notes, f"How sure the ranks are is not known: {error}")), None
    note = (
        f"Intervals and rank sets: {100 * level:g} %, {replicates:,} draws of the cases with replacement, seed {seed}"
    )
    again = f"; {found.redrawn:,} draws defined no score and were made again" if found.redrawn else ""
    reason = f"; {found.sets.reason}" if found.sets.reason else ""
    return replace(marked, notes=(*board.notes, f"{note}{again}{reason}.")), found


def findings_by_team(challenge: str | Challenge, board: Board, scores: pl.DataFrame) -> dict[str, list[Detections]]:
    """The findings of everybody on a board of them, by trained instance, in the order of the board; else nothing."""
    which = load_challenge(challenge) if isinstance(challenge, str) else challenge
    rule = which.boards[board.name]
    if not isinstance(rule, DetectThenRank):
        return {}
    return {
        row.submission: list(rule.findings(scores.filter(pl.col("submission") == row.submission)).values())
        for row in board.rows
    }


def means_in_brackets(challenge: str | Challenge, scores: pl.DataFrame) -> dict[str, dict[str, str]]:
    """Mean and standard error over the cases, as tables of papers print them: 0.77(1).

    Parameters
    ----------
    scores
        A table with a `submission` column, such as `counting_scores` gives. The cohort is every case in it; one that is
        missing or unusable counts as the board's rule says, so that the mean is the one that ranks.

    Returns
    -------
    dict
        By metric of a board that ranks means, then by submission; submissions without such a mean are left out.
    """
    which = load_challenge(challenge) if isinstance(challenge, str) else challenge
    if which.participation.discreet:
        return {}
    weights = dict(scores.filter(pl.col("case") != "").select("case", "weight").unique().sort("case").iter_rows())
    found: dict[str, dict[str, str]] = {}
    for rule in which.boards.values():
        if not isinstance(rule, MeanThenRank) or rule.over != "cases":
            continue
        metric = catalogue.get(rule.metric)
        stand_in = rule.missing.stand_in(metric) if isinstance(rule.missing, FixedValue | WorstPossible) else None
        whole = scores.filter((pl.col("part") == "") & (pl.col("metric") == rule.metric))
        for team in scores["submission"].unique(maintain_order=True):
            value = dict(whole.filter(pl.col("submission") == team).select("case", "value").iter_rows())
            values = [stand_in if value.get(case) is None else value[case] for case in weights]
            if all(number is not None and math.isfinite(number) for number in values):
                mean, error = mean_and_error(values, weights.values())
                # A single case has no error, which would say how many digits are worth printing.
                shown = f"{metric.show(mean)}(–)" if math.isnan(error) else in_brackets(mean, error)
                found.setdefault(rule.metric, {})[team] = shown
    return found


def _of(table: pl.DataFrame, team: str) -> pl.DataFrame:
    """A team's table with its name in the first column."""
    if not isinstance(table, pl.DataFrame):
        msg = f"the scores of {team!r} are a {type(table).__name__}; isocenter.scores.read(path) reads a table"
        raise TypeError(msg)
    table = check_table(table, name=f"the score table of {team!r}")
    count = table["submission"].n_unique() if "submission" in table.columns else 1
    if count > 1:
        msg = f"the score table of {team!r} holds {count} submissions; give each as its own team"
        raise ValueError(msg)
    return table.select(pl.lit(team).alias("submission"), pl.exclude("submission"))
