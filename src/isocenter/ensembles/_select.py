"""Choosing an ensemble on one set of cases, and confirming the choice on another.

The best of 80 is partly the luckiest of 80: its score on the cases on which it was chosen is too good. What a choice
is worth, other cases say, which had no part in it. So the two sets have their roles, and are not taken for each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isocenter.ensembles._error import EnsembleError
from isocenter.ensembles._fusion import Rule
from isocenter.ensembles._subsets import Ensemble, order
from isocenter.ensembles._tables import all_scores, checked, scores_of
from isocenter.ensembles._votes import Votes
from isocenter.metrics import catalogue

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Choice:
    """An ensemble, and what it reached where it was chosen.

    Attributes
    ----------
    ensemble
        The chosen one.
    metric, mean
        What decided, and its mean over the validation cases. It is too good, as the best of many was taken.
    candidates
        How many there were to choose from.
    truths
        Fingerprints of the truths it was chosen on; they cannot confirm it.
    """

    ensemble: Ensemble
    metric: str
    mean: float
    candidates: int
    truths: frozenset[str]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a chosen ensemble reaches on cases that had no part in the choice."""

    choice: Choice
    mean: float
    cases: int


def select(votes: Votes, *, metric: str) -> Choice:
    """The best of all N·2^(N−1) ensembles by the mean of the metric over the cases.

    Of equals (within a billionth) the one with fewer members is taken, then the one with the higher threshold, then
    the first in alphabetical order.

    Raises
    ------
    EnsembleError
        If the votes are a holdout: whoever chooses on it has none left.
    """
    return best_of(votes, metric=metric, most=1)[0]


def best_of(votes: Votes, *, metric: str, most: int) -> list[Choice]:
    """The best ensembles, the one that `select` takes first."""
    if votes.holdout:
        msg = "these cases are a holdout, which confirms a choice; choose on the validation cases"
        raise EnsembleError(msg)
    means = mean_scores(votes, metric=metric)
    cost = -means if catalogue.get(metric).better == "higher" else means
    # Equal to the best, then all others; a stable sort keeps the order of preference among equals.
    best = cost.min()
    equal = cost <= best + (_TOLERANCE * abs(best) if np.isfinite(best) else 0.0)
    places = np.lexsort((np.where(equal, -np.inf, cost),))[:most]
    truths = frozenset(case.patterns.truth for case in votes.cases if case.patterns.truth and case.patterns.positives)
    ensembles = [order(len(votes.voters)).ensemble(int(i), votes.voters) for i in places]
    return [Choice(e, metric, mean_of(votes, e, metric=metric), means.size, truths) for e in ensembles]


def confirm(choice: Choice, holdout: Votes) -> Confirmation:
    """Measure a chosen ensemble on the holdout.

    Raises
    ------
    EnsembleError
        If the votes are not a holdout, or share a case (by its truth, whatever it is called) with those on which the
        ensemble was chosen.
    """
    if not holdout.holdout:
        msg = "a choice is confirmed on votes that were counted as a holdout (holdout=True)"
        raise EnsembleError(msg)
    if seen := [case.case for case in holdout.cases if case.patterns.truth in choice.truths]:
        msg = f"the ensemble was chosen on {', '.join(seen[:5])}{' …' if len(seen) > 5 else ''}; that confirms nothing"
        raise EnsembleError(msg)
    return Confirmation(choice, mean_of(holdout, choice.ensemble, metric=choice.metric), len(holdout.cases))


def mean_of(votes: Votes, rule: Rule, *, metric: str) -> float:
    """Mean of the metric over the cases, Σ wᵢ xᵢ / Σ wᵢ, of what one rule makes of them."""
    cases = checked(votes, [metric])
    scores = [scores_of(case, [rule], metric)[0] for case in cases]
    _defined(metric, [c.case for c, score in zip(cases, scores, strict=True) if math.isnan(score)])
    weights = [case.weight for case in cases]
    return math.fsum(s * w for s, w in zip(scores, weights, strict=True)) / math.fsum(weights)


def mean_scores(votes: Votes, *, metric: str) -> NDArray[np.float64]:
    """Mean of the metric over the cases of every ensemble, in the order of `every_ensemble`."""
    cases = checked(votes, [metric])
    if not cases:
        msg = "there are no cases to choose on"
        raise EnsembleError(msg)
    total = np.zeros(order(len(votes.voters)).subsets.size)
    undefined = []
    for case in cases:
        scores = all_scores(case, metric)
        total += case.weight * scores
        if np.isnan(scores).any():
            undefined.append(case.case)
    _defined(metric, undefined)
    return total / math.fsum(case.weight for case in cases)


def _defined(metric: str, undefined: Sequence[str]) -> None:
    """A mean over the cases in which a metric happens to be defined would hide the others."""
    if undefined:
        more = " …" if len(undefined) > 5 else ""
        msg = f"{metric} is undefined in {', '.join(undefined[:5])}{more}; a mean over the rest would hide that"
        raise EnsembleError(msg)
