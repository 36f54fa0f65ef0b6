"""Operating points that two can be compared at: the threshold of an algorithm at which it does what a reader does.

A reader has one sensitivity and one specificity. An algorithm is set to the same sensitivity, and then their
specificities are compared; or the other way round. For lesions, recall and precision take their places.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from isocenter.metrics._average_precision import precision_recall_curve
from isocenter.metrics._roc import roc_curve
from isocenter.stats._differences import Floats, one_of
from isocenter.stats._provenance import record

PatientMatch = Literal["sensitivity", "specificity"]
LesionMatch = Literal["recall", "precision"]
Match = PatientMatch | LesionMatch
Tie = Literal["mean", "best", "worst"]

CONJUGATES: dict[Match, Match] = {
    "sensitivity": "specificity",
    "specificity": "sensitivity",
    "recall": "precision",
    "precision": "recall",
}
TIES: tuple[Tie, ...] = ("mean", "best", "worst")
# Thresholds whose distances to the target differ by no more are equally good.
ROUNDING = 1e-12


@dataclass(frozen=True)
class MatchedPoint:
    """What `match_operating_point` found; as text, a sentence.

    Attributes
    ----------
    match, conjugate
        What was matched, and what is compared there.
    target
        What the matched measure should be.
    gap
        How far it is from that at the thresholds chosen: 0 if it can be met.
    value
        The conjugate measure there, by the rule for ties.
    best, worst
        The highest and the lowest conjugate measure among the thresholds that are equally near to the target.
    threshold_best, threshold_worst
        Where these are; infinite if no case is called positive.
    tied
        How many distinct thresholds are equally near.
    """

    match: Match
    conjugate: Match
    target: float
    gap: float
    value: float
    best: float
    worst: float
    threshold_best: float
    threshold_worst: float
    tied: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: an infinite threshold is null."""
        return record(asdict(self), method=f"nearest of all thresholds, {self.conjugate} at equal {self.match}")

    def __str__(self) -> str:
        between = "" if self.tied == 1 else f" ({self.worst:.4f} to {self.best:.4f} over {self.tied} thresholds)"
        return (
            f"{self.conjugate.capitalize()} {self.value:.4f}{between} at a {self.match} of {self.target:.4f}, "
            f"met within {self.gap:.2g}."
        )


def match_operating_point(
    truth: ArrayLike,
    score: ArrayLike,
    target: float,
    *,
    match: Match = "sensitivity",
    weight: ArrayLike | None = None,
    tie: Tie = "mean",
) -> MatchedPoint:
    """The conjugate measure of a score at the threshold where the matched one is nearest to a target.

    All distinct scores are thresholds, and so is one above them all. Often several are equally near, because the
    measure does not change between them or because they lie on either side of the target.

    Parameters
    ----------
    truth, score, weight
        Per case, see `auroc`; for "recall" and "precision" the rows of `average_precision`, in which a lesion without
        a candidate has the score 0.
    target
        Between 0 and 1; what the reader has.
    match
        "sensitivity" compares specificities at equal sensitivity; "specificity" the other way round; "recall" and
        "precision" do the same for lesions.
    tie
        Of equally near thresholds: the "mean" of the best and the worst conjugate measure, the "best", or the "worst".
        Of a precision that is met more than once, "mean" takes the threshold with the highest recall, as a user would.

    Notes
    -----
    picai_eval searches a curve without the points on straight runs, and takes one of the nearest at random, another in
    every run. A target of 1 is met by all thresholds below some one, down to calling everybody positive, and the mean
    lies half-way to 0, for a perfect score too; look at "best" there as well.

    Examples
    --------
    >>> truth, score = [0, 0, 0, 1, 1, 1], [1, 2, 5, 3, 5, 6]
    >>> match_operating_point(truth, score, 1 / 3).value
    1.0
    >>> match_operating_point(truth, score, 2 / 3).value
    0.6666666666666667
    """
    one_of("match", match, CONJUGATES)
    one_of("tie", tie, TIES)
    if not 0 <= target <= 1:
        msg = f"the {match} to be matched lies between 0 and 1, not at {target}"
        raise ValueError(msg)
    thresholds, of_match, of_conjugate = _curve(truth, score, weight, match)
    distance = np.abs(of_match - target)
    near = np.flatnonzero(distance <= distance.min() + ROUNDING)
    conjugate = of_conjugate[near]
    high, low = int(np.argmax(conjugate)), int(np.argmin(conjugate))
    best, worst = float(conjugate[high]), float(conjugate[low])
    return MatchedPoint(
        match=match,
        conjugate=CONJUGATES[match],
        target=float(target),
        gap=float(distance.min()),
        value=settled(best, worst, match=match, tie=tie),
        best=best,
        worst=worst,
        threshold_best=float(thresholds[near[high]]),
        threshold_worst=float(thresholds[near[low]]),
        tied=near.size,
    )


def settled(best: float, worst: float, *, match: Match, tie: Tie) -> float:
    """One value of the equally good ones."""
    if tie == "worst":
        return worst
    return best if tie == "best" or match == "precision" else (best + worst) / 2


def _curve(truth: ArrayLike, score: ArrayLike, weight: ArrayLike | None, match: Match) -> tuple[Floats, Floats, Floats]:
    """Thresholds from high to low, the matched measure and its conjugate."""
    if match in ("sensitivity", "specificity"):
        curve = roc_curve(truth, score, weight=weight)
        if np.isnan(curve.area):
            msg = "an operating point needs positive and negative cases of a weight above 0"
            raise ValueError(msg)
        rates = curve.sensitivity, 1 - curve.false_positive_rate
        return curve.thresholds, *(rates if match == "sensitivity" else rates[::-1])
    lesions = precision_recall_curve(truth, score, weight=weight)
    found = np.flatnonzero(lesions.thresholds > 0)[::-1]
    if not found.size or np.isnan(lesions.recall[0]):
        msg = "an operating point needs candidates and lesions of a weight above 0"
        raise ValueError(msg)
    shares = lesions.recall[found], lesions.precision[found]
    return lesions.thresholds[found], *(shares if match == "recall" else shares[::-1])
