"""A leaderboard that answers only to real improvements, and scores shown with few decimals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.resampling.matrices import Floats, finite_matrix, finite_vector

# What differs by less than this part of the scores is rounding, and no gain.
_SAME = 1e-9
_MOST_DECIMALS = 15


class Shown(NamedTuple):
    """What a team sees after a submission, and whether that became its new best."""

    score: float
    updated: bool


@dataclass(frozen=True, slots=True)
class Ladder:
    """How a public board answers: a team's shown score moves only if a submission is better by enough.

    Whoever submits often and keeps the best learns the public cases by heart. A board that stays silent about small
    gains gives less away.

    Attributes
    ----------
    step
        The gain η in the unit of the score that counts as one; what is shown is the nearest multiple of it. None: the
        gain has to exceed the standard error of the paired difference to the best so far, SD/√N over the N cases, and
        the mean is shown as it is.
    better
        Whether a higher or a lower score is better.

    Notes
    -----
    With lower scores better, and Rₜ what is shown after submission t: Rₜ = [mean] if mean < Rₜ₋₁ − η, else Rₜ₋₁. The
    first submission is always shown. [·] rounds to the nearest multiple of η, halves away from 0. The parameter-free
    form of the paper rounds to multiples of 1/N, which suits losses of 0 and 1; scores in general have no such grain,
    so here it does not round. `rounded` does.

    It makes less of a board's optimism and its churn, but not most of it: that is what a hidden test set is for.

    References
    ----------
    Blum A, Hardt M. The ladder: a reliable leaderboard for machine learning competitions. ICML (2015), algorithms 1
    and 2.

    Examples
    --------
    >>> ladder = Ladder(step=0.05, better="higher")
    >>> ladder.show(None, [0.7, 0.8, 0.72])
    Shown(score=0.75, updated=True)
    >>> ladder.show([0.7, 0.8, 0.72], [0.72, 0.83, 0.74])
    Shown(score=0.75, updated=False)
    """

    step: float | None
    better: Literal["higher", "lower"]

    def __post_init__(self) -> None:
        if self.better not in ("higher", "lower"):
            msg = f"better scores are 'higher' or 'lower', not {self.better!r}"
            raise ValueError(msg)
        if self.step is not None and not 0 < self.step < math.inf:
            msg = f"a step is a number above 0, or None for the standard error; not {self.step}"
            raise ValueError(msg)

    def show(self, previous_best: ArrayLike | None, new: ArrayLike) -> Shown:
        """What is shown after a submission.

        Parameters
        ----------
        previous_best
            The value in every case of the submission that is shown now; None before the first one.
        new
            Those of the new submission, in the same cases.
        """
        found = np.asarray(new, dtype=np.float64)
        least = 2 if self.step is None else 1
        if found.ndim != 1 or found.size < least:
            msg = f"a submission has a value in each of {least} cases or more; found an array of shape {found.shape}"
            raise ValueError(msg)
        values = finite_vector(found, found.size, "values of the new submission")
        score = self._score(values)
        if previous_best is None:
            return Shown(score, updated=True)
        before = finite_vector(previous_best, values.size, "values of the best submission so far")
        shown, mean = self._score(before), _mean(values)
        gain = mean - shown if self.better == "higher" else shown - mean
        enough = self.step if self.step is not None else _standard_error(values - before)
        if gain > enough + _SAME * max(abs(mean), abs(shown)):
            return Shown(score, updated=True)
        return Shown(shown, updated=False)

    def _score(self, values: Floats) -> float:
        mean = _mean(values)
        return mean if self.step is None else _nearest(mean, Fraction(repr(float(self.step))))


@dataclass(frozen=True, eq=False)
class LadderScores:
    """What a team saw after each of its submissions, and which of them moved it."""

    shown: Floats
    updated: NDArray[np.bool_]

    @property
    def updates(self) -> int:
        """How often the shown score moved; the first submission counts."""
        return int(self.updated.sum())


def ladder_scores(values: ArrayLike, ladder: Ladder) -> LadderScores:
    """What a ladder shows a team after each of its submissions.

    Parameters
    ----------
    values
        Submissions × cases, in the order in which the team made them.

    Examples
    --------
    >>> losses = [[0.5, 0.4, 0.6], [0.4, 0.5, 0.6], [0.2, 0.1, 0.3]]
    >>> found = ladder_scores(losses, Ladder(step=None, better="lower"))
    >>> found.shown.round(3).tolist(), found.updates
    ([0.5, 0.5, 0.2], 2)
    """
    found = finite_matrix(values, "values")
    best: Floats | None = None
    shown, updated = np.empty(len(found)), np.zeros(len(found), np.bool_)
    for number, new in enumerate(found):
        shown[number], updated[number] = ladder.show(best, new)
        best = new if updated[number] else best
    return LadderScores(shown, updated)


def rounded(score: float, decimals: int) -> float:
    """A score as a board shows it: with so many decimals, halves away from 0.

    What is rounded is the number as it is written, the shortest decimal that means this float: 2.675 is shown as 2.68,
    as a reader expects, though its binary form is a little less than that.

    Examples
    --------
    >>> rounded(2.675, 2), rounded(-0.125, 2), rounded(-0.001, 2)
    (2.68, -0.13, 0.0)
    """
    if not math.isfinite(score) or not 0 <= decimals <= _MOST_DECIMALS:
        msg = f"a finite score is shown with 0 to {_MOST_DECIMALS} decimals; not {score} with {decimals}"
        raise ValueError(msg)
    return _nearest(score, Fraction(1, 10**decimals))


def _nearest(value: float, unit: Fraction) -> float:
    """The nearest multiple of a unit, halves away from 0."""
    exact = Fraction(repr(float(value)))
    units = math.floor(abs(exact) / unit + Fraction(1, 2))
    return float(units * unit if exact > 0 else -units * unit)


def _mean(values: Floats) -> float:
    return math.fsum(values.tolist()) / values.size


def _standard_error(differences: Floats) -> float:
    mean = _mean(differences)
    return math.hypot(*(differences - mean).tolist()) / math.sqrt(differences.size * (differences.size - 1))
