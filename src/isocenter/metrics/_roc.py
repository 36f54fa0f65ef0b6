"""Does a score tell positive cases from negative ones? The ROC curve, its area and its operating points.

Everything is weighted: a weight may be an inverse probability of selection, how often a bootstrap drew the case, or the
product of both. Without weights each case counts once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
WhyNoAuroc = Literal["no positive cases", "no negative cases", "no cases"]

# Weighted rates come from sums: a rate this close to the one that was asked for is the one that was asked for.
ROUNDING = 1e-12


class Ranked(NamedTuple):
    """What lies at or above each distinct score: thresholds from high to low, and the weight of either class."""

    thresholds: Floats
    positive: Floats
    negative: Floats


class OperatingPoint(NamedTuple):
    """A case is called positive if its score is at least the threshold; what share of either class is called right."""

    threshold: float
    sensitivity: float
    specificity: float


@dataclass(frozen=True, eq=False)
class RocCurve:
    """Sensitivity against false positive rate (1 - specificity), from "nobody is positive" to "everybody is".

    Made by `roc_curve`. The first threshold is infinite. If a class is empty, its rate is NaN everywhere, and so is
    every area and every operating point.
    """

    false_positive_rate: Floats
    sensitivity: Floats
    thresholds: Floats

    @property
    def area(self) -> float:
        """Area under the curve by the trapezoidal rule; see `auroc`."""
        return area_between(self.false_positive_rate, self.sensitivity, low=0.0, high=1.0)

    def partial_area(
        self,
        *,
        specificity: tuple[float, float] | None = None,
        sensitivity: tuple[float, float] | None = None,
        standardised: bool = False,
    ) -> float:
        """Area of the part of the curve that lies in a range of specificity, or of sensitivity.

        Over specificities from a to b: the integral of the sensitivity over the false positive rate from 1 - b to
        1 - a. Over sensitivities: the integral of the specificity over the sensitivity. At most the width of the range.

        Parameters
        ----------
        specificity, sensitivity
            The range, lower bound first; one of the two.
        standardised
            Rescale, so that a score without information gives 0.5 and a perfect one 1, whatever the range:
            (1 + (A - chance) / (width - chance)) / 2.

        References
        ----------
        McClish DK. Analyzing a portion of the ROC curve. Med Decis Making 9 (1989).
        """
        if (specificity is None) == (sensitivity is None):
            msg = "a partial area needs a range of specificity or one of sensitivity, and not both"
            raise ValueError(msg)
        low, high = specificity or sensitivity or (0.0, 0.0)
        if not 0 <= low < high <= 1:
            msg = f"a range goes from a lower to a higher rate within 0 and 1, not from {low} to {high}"
            raise ValueError(msg)
        if specificity is not None:
            area = area_between(self.false_positive_rate, self.sensitivity, low=1 - high, high=1 - low)
        else:
            area = area_between(self.sensitivity, 1 - self.false_positive_rate, low=low, high=high)
        width = high - low
        chance = width - (high**2 - low**2) / 2  # the diagonal's, the same for either range
        return (1 + (area - chance) / (width - chance)) / 2 if standardised else area

    def at_specificity(self, least: float) -> OperatingPoint:
        """The attained point of highest sensitivity among those with at least this specificity; no interpolation."""
        _check_rate(least)
        if math.isnan(self.area):
            return OperatingPoint(math.nan, math.nan, math.nan)
        allowed = np.flatnonzero(self.false_positive_rate <= 1 - least + ROUNDING)
        return self._point(int(allowed[-1]))

    def at_sensitivity(self, least: float) -> OperatingPoint:
        """The attained point of highest specificity among those with at least this sensitivity; no interpolation."""
        _check_rate(least)
        if math.isnan(self.area):
            return OperatingPoint(math.nan, math.nan, math.nan)
        allowed = np.flatnonzero(self.sensitivity >= least - ROUNDING)
        return self._point(int(allowed[0]))

    def _point(self, i: int) -> OperatingPoint:
        return OperatingPoint(
            float(self.thresholds[i]), float(self.sensitivity[i]), float(1 - self.false_positive_rate[i])
        )


def auroc(truth: ArrayLike, score: ArrayLike, *, weight: ArrayLike | None = None) -> float:
    """Area under the ROC curve, in [0, 1]; higher is better, 0.5 is chance.

    The probability that a positive case has the higher score than a negative one, equal scores counting one half; with
    weights, pairs count by the product of theirs. Scores are compared as they are given: what should tie in single
    precision must come in single precision.

    Without a positive or without a negative case (of non-zero weight) there is no such area: NaN, and `why_no_auroc`
    says which.

    Parameters
    ----------
    truth
        0 or 1 per case.
    score
        Any finite number per case, the higher the more suspicious.
    weight
        From 0 on, per case; 1 each if left out.

    References
    ----------
    Hanley JA, McNeil BJ. The meaning and use of the area under a ROC curve. Radiology 143 (1982).

    Examples
    --------
    >>> auroc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    """
    _, positive, negative = ranked(truth, score, weight)
    if positive.size == 0 or positive[-1] == 0 or negative[-1] == 0:
        return math.nan
    before = np.append(0.0, positive[:-1])
    area = np.diff(negative, prepend=0.0) @ (positive + before) / 2
    return float(area / (positive[-1] * negative[-1]))


def why_no_auroc(truth: ArrayLike, *, weight: ArrayLike | None = None) -> WhyNoAuroc | None:
    """Why `auroc` is NaN for these cases; None if it is not. Cases of weight 0 are no cases.

    Examples
    --------
    >>> why_no_auroc([1, 1, 1])
    'no negative cases'
    """
    t = np.asarray(truth)
    _, positive, negative = ranked(t, np.zeros(t.shape), weight)
    if positive.size == 0:
        return "no cases"
    if positive[-1] == 0:
        return "no positive cases"
    return "no negative cases" if negative[-1] == 0 else None


def roc_curve(
    truth: ArrayLike, score: ArrayLike, *, weight: ArrayLike | None = None, drop_collinear: bool = False
) -> RocCurve:
    """The ROC curve with a point for each distinct score, and one before the first.

    Parameters
    ----------
    truth, score, weight
        See `auroc`. Cases of weight 0 make no point.
    drop_collinear
        Leave out points in the middle of a straight run of equal steps, as the arrays are that scikit-learn and
        picai_eval publish. The area does not change; operating points are lost.
    """
    thresholds, positive, negative = ranked(truth, score, weight)
    if drop_collinear and thresholds.size > 2:
        bends = (np.diff(positive, 2) != 0) | (np.diff(negative, 2) != 0)
        keep = np.concatenate(([True], bends, [True]))
        thresholds, positive, negative = thresholds[keep], positive[keep], negative[keep]
    return RocCurve(_rate(negative), _rate(positive), np.append(math.inf, thresholds))


def operating_point(
    truth: ArrayLike, score: ArrayLike, *, threshold: float, weight: ArrayLike | None = None
) -> OperatingPoint:
    """Sensitivity and specificity of calling every case positive whose score is at least the threshold.

    The rate of a class without cases (of non-zero weight) is NaN.

    Examples
    --------
    >>> operating_point([0, 0, 1, 1], [2, 4, 3, 5], threshold=4)
    OperatingPoint(threshold=4, sensitivity=0.5, specificity=0.5)
    """
    t, s, w = checked(truth, score, weight)
    called = s >= threshold
    sensitivity, specificity = (
        float(w[of & right].sum() / w[of].sum()) if w[of].sum() > 0 else math.nan
        for of, right in ((t, called), (~t, ~called))
    )
    return OperatingPoint(threshold, sensitivity, specificity)


def ranked(truth: ArrayLike, score: ArrayLike, weight: ArrayLike | None) -> Ranked:
    """Running weights of both classes from the highest score down, equal scores together; rows of weight 0 left out."""
    t, s, w = checked(truth, score, weight)
    t, s, w = t[w > 0], s[w > 0], w[w > 0]
    order = np.argsort(-s, kind="stable")
    t, s, w = t[order], s[order], w[order]
    last = np.flatnonzero(np.append(s[1:] != s[:-1], s.size > 0))
    return Ranked(s[last], np.cumsum(w * t)[last], np.cumsum(w * ~t)[last])


def checked(truth: ArrayLike, score: ArrayLike, weight: ArrayLike | None) -> tuple[NDArray[np.bool_], Floats, Floats]:
    """The three columns as arrays of one length, or an error that says what is wrong with them."""
    t = np.asarray(truth)
    s = np.asarray(score, dtype=np.float64)
    w = np.ones(t.shape) if weight is None else np.asarray(weight, dtype=np.float64)
    if t.ndim != 1 or t.shape != s.shape or t.shape != w.shape:
        msg = f"truth, score and weight must be columns of one length; their shapes are {t.shape}, {s.shape}, {w.shape}"
        raise ValueError(msg)
    if not ((t == 0) | (t == 1)).all():
        found = t[(t != 0) & (t != 1)][0]
        msg = f"truth may hold only 0 and 1; found {found}"
        raise ValueError(msg)
    if not np.isfinite(s).all():
        msg = f"scores must be finite; row {int(np.flatnonzero(~np.isfinite(s))[0])} is {s[~np.isfinite(s)][0]}"
        raise ValueError(msg)
    if not (np.isfinite(w) & (w >= 0)).all():
        wrong = int(np.flatnonzero(~(np.isfinite(w) & (w >= 0)))[0])
        msg = f"weights must be finite and not negative; row {wrong} has {w[wrong]}"
        raise ValueError(msg)
    return t.astype(np.bool_), s, w


def area_between(x: Floats, y: Floats, *, low: float, high: float) -> float:
    """Integral of the polyline over [low, high]; where it is vertical at a bound, the side within counts."""
    if math.isnan(x[0] + y[0]):
        return math.nan
    inside = (x > low) & (x < high)
    first = int(np.searchsorted(x, high))  # np.interp would take the far end of a vertical step
    at_high = y[first] if first < x.size and x[first] == high else np.interp(high, x, y)
    ys = np.concatenate(([np.interp(low, x, y)], y[inside], [at_high]))
    return float(np.trapezoid(ys, np.concatenate(([low], x[inside], [high]))))


def _rate(running: Floats) -> Floats:
    """From 0 to 1, or NaN throughout if there is nothing to share."""
    from_zero = np.append(0.0, running)
    return from_zero / from_zero[-1] if from_zero[-1] > 0 else np.full(from_zero.shape, math.nan)


def _check_rate(rate: float) -> None:
    if not 0 <= rate <= 1:
        msg = f"a rate lies between 0 and 1, not at {rate}"
        raise ValueError(msg)
