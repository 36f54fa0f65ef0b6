"""The calls that most people need: check, evaluate, rank, with challenges by name or as objects."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace

import polars as pl

from isocenter import evaluation
from isocenter.evaluation import Challenge, load_challenge
from isocenter.metrics import catalogue
from isocenter.ranking import Board, FixedValue, MeanThenRank, Role, WorstPossible, counting
from isocenter.scores import check as check_table
from isocenter.stats import in_brackets, mean_and_error
from isocenter.submissions import GridPolicy, Problem, report

__all__ = ["challenge", "check", "counting_scores", "evaluate", "means_in_brackets", "rank"]

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
    roles: dict[str, Role] = {}
    roles |= dict.fromkeys(organisers, "organiser")
    roles |= dict.fromkeys(benchmarks, "benchmark")
    if not scores:
        return Board(name=name, metric=rule.metric, rule=str(rule), rows=())
    ranked = rule.rank(counting_scores(which, scores, board=name), name=name, roles=roles)
    hidden = tuple(row for row in ranked.rows if not rules.lists(row.role))
    shown = tuple(row for row in ranked.rows if rules.lists(row.role))
    notes = tuple(
        f"{team}: {len(tables)} submissions, of which the quota admits {rules.quota}; later ones do not count"
        for team, tables in scores.items()
        if not isinstance(tables, pl.DataFrame) and rules.quota is not None and len(tables) > rules.quota
        if team not in {row.submission for row in (*ranked.unlisted, *hidden)}
    )
    return replace(ranked, rows=shown, unlisted=(*ranked.unlisted, *hidden), notes=(*ranked.notes, *notes))


def counting_scores(
    challenge: str | Challenge,
    scores: Mapping[str, pl.DataFrame | Sequence[pl.DataFrame]],
    *,
    board: str | None = None,
) -> pl.DataFrame:
    """The one submission of every team that counts, as one table with a `submission` column."""
    which = load_challenge(challenge) if isinstance(challenge, str) else challenge
    rule, rules = which.boards[board or next(iter(which.boards))], which.participation
    better = catalogue.get(rule.metric).better
    chosen = []
    for team, given in scores.items():
        tables = [_of(table, team) for table in ([given] if isinstance(given, pl.DataFrame) else given)]
        values = [rule.rank(table)[team].score for table in tables] if rules.counts == "best" else [None] * len(tables)
        chosen.append(tables[counting(values, quota=rules.quota, counts=rules.counts, better=better)])
    return pl.concat(chosen)


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
