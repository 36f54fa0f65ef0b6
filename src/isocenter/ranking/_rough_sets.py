"""Confidence sets of ranks where the score is no smooth function of means, so that nothing normal can be said of it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from isocenter.ranking._drawn import Drawn
from isocenter.ranking._rank_sets import RankSets, rank_sets_of_cases, rank_sets_of_draws
from isocenter.resampling.matrices import Floats


def no_sets(full: Floats, better: Literal["higher", "lower"], *, level: float, reason: str) -> RankSets:
    """Sets that exclude nothing, and why."""
    none = np.zeros((len(full), len(full)), np.bool_)
    return RankSets(none, none, _order(full, better), level, joint=True, reason=reason)


def sets_of_weighted_ranks(drawn: Drawn, cases: int, *, level: float, seed: int) -> RankSets:
    """Rank sets of a weighted mean of ranks, from those by each of its metrics.

    A rank is a step function of the means: near a tie a weighted mean of ranks jumps, and its draws say little about
    how far it may lie from the truth. The ranks by each metric do have confidence sets. With m metrics that vary, joint
    sets at 1 - (1 - level)/m hold all true ranks by all metrics at once with the coverage asked for (Bonferroni), and
    with them the score of a submission lies between the weighted means of its lowest and of its highest ranks. One is
    found better than another if these bounds do not meet. That is safe, not sharp.
    """
    varying = sum(isinstance(found, Drawn) for _, found in drawn.metrics)
    each = 1 - (1 - level) / max(varying, 1)
    low, high = np.zeros(len(drawn.submissions)), np.zeros(len(drawn.submissions))
    for number, (weight, found) in enumerate(drawn.metrics):
        if isinstance(found, Drawn):
            sets = _of_metric(found, cases, level=each, seed=seed + number)
            low, high = low + weight * sets.low, high + weight * sets.high
        else:
            low, high = low + weight * found, high + weight * found
    beats = high[:, np.newaxis] < low - 1e-9
    return RankSets(beats, beats.T, _order(drawn.full, "lower"), level, joint=True)


def _of_metric(found: Drawn, cases: int, *, level: float, seed: int) -> RankSets:
    if found.values is not None:
        return rank_sets_of_cases(found.values, better=found.better, weight=found.weight, level=level, seed=seed)
    freedom = max(cases - 1, 1)
    return rank_sets_of_draws(found.full, found.scores, better=found.better, freedom=freedom, level=level, seed=seed)


def _order(full: Floats, better: Literal["higher", "lower"]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.argsort(-full if better == "higher" else full, kind="stable")
