"""What is known of a board beyond its scores: how sure it is, the findings behind it, means with their errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

import polars as pl

from isocenter.detections import Detections
from isocenter.doors._counting import roles_of
from isocenter.evaluation import Challenge, load_challenge
from isocenter.metrics import catalogue
from isocenter.ranking import (
    Board,
    DetectThenRank,
    Drawable,
    FixedValue,
    MeanThenRank,
    Note,
    RankUncertainty,
    WorstPossible,
    bootstrap_ranks,
    mark_uncertainty,
)
from isocenter.stats import in_brackets, mean_and_error


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
        return replace(board, notes=(*board.notes, Note(f"How sure the ranks are is not known: {error}"))), None
    note = (
        f"Intervals and rank sets: {100 * level:g} %, {replicates:,} draws of the cases with replacement, seed {seed}"
    )
    again = f"; {found.redrawn:,} draws defined no score and were made again" if found.redrawn else ""
    reason = f"; {found.sets.reason}" if found.sets.reason else ""
    return replace(marked, notes=(*board.notes, Note(f"{note}{again}{reason}."))), found


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
