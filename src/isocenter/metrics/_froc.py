"""Free-response ROC: how many lesions are found at how many false positives per case; weighted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from isocenter.metrics._average_precision import in_single_precision
from isocenter.metrics._roc import ROUNDING, Floats, Ranked, area_between, ranked

FrocPreset = Literal["corrected", "picai"]
FrocRule = Literal["step", "linear"]

LUNA16_RATES = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
CAMELYON_RATES = (1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True, eq=False)
class Froc:
    """Sensitivity against false positives per case, from the highest threshold to the lowest. Made by `froc`.

    Between two points, and beyond the last one, there are two readings, named by `rule`: "step" goes on with the last
    point that was attained (PI-CAI), "linear" joins the points by straight lines (LUNA16, nnDetection, MONAI). Both end
    in a horizontal line. Without lesions every sensitivity is NaN.
    """

    false_positives: Floats
    sensitivity: Floats
    thresholds: Floats

    def sensitivity_at(self, false_positives: float, *, rule: FrocRule = "step") -> float:
        """Share of the lesions that is found at this many false positives per case; 0 if no point is so strict."""
        if not false_positives >= 0:
            msg = f"false positives per case are counted from 0 on, not {false_positives}"
            raise ValueError(msg)
        _check_rule(rule)
        if math.isnan(self.sensitivity[0]):
            return math.nan
        # Weighted rates come from sums: a point that is there but for rounding is there.
        meant = np.isclose(self.false_positives, false_positives, rtol=ROUNDING, atol=0)
        limit = max(false_positives, self.false_positives[meant].max(initial=0.0))
        if rule == "linear":
            return float(np.interp(limit, *self._joined()))
        attained = np.flatnonzero(self.false_positives <= limit)
        return float(self.sensitivity[attained[-1]]) if attained.size else 0.0

    def cpm(self, rates: Sequence[float] = LUNA16_RATES, *, rule: FrocRule = "linear") -> float:
        """Competition performance metric: mean sensitivity at several rates of false positives, in [0, 1].

        LUNA16 takes 1/8, 1/4, 1/2, 1, 2, 4 and 8 per scan, CAMELYON 1/4 to 8 (`CAMELYON_RATES`).

        References
        ----------
        Setio AAA et al. Validation, comparison, and combination of algorithms for automatic detection of pulmonary
        nodules in computed tomography images: the LUNA16 challenge. Med Image Anal 42 (2017).
        """
        if len(rates) == 0:
            msg = "a mean sensitivity needs at least one rate of false positives"
            raise ValueError(msg)
        return math.fsum(self.sensitivity_at(rate, rule=rule) for rate in rates) / len(rates)

    def partial_area(self, limit: float, *, rule: FrocRule = "step") -> float:
        """Area under the curve from 0 to `limit` false positives per case; the mean sensitivity there times `limit`."""
        if not 0 < limit < math.inf:
            msg = f"the area ends at a finite number of false positives per case above 0, not at {limit}"
            raise ValueError(msg)
        _check_rule(rule)
        if math.isnan(self.sensitivity[0]):
            return math.nan
        if rule == "linear":
            x, y = self._joined()
            return area_between(np.append(x, max(limit, x[-1])), np.append(y, y[-1]), low=0.0, high=limit)
        inner = self.false_positives < limit
        x = np.concatenate(([0.0], self.false_positives[inner], [limit]))
        return float(np.diff(x) @ np.append(0.0, self.sensitivity[inner]))

    def _joined(self) -> tuple[Floats, Floats]:
        """The points that straight lines join, from nothing found on."""
        real = np.isfinite(self.false_positives)
        return np.append(0.0, self.false_positives[real]), np.append(0.0, self.sensitivity[real])


def froc(
    is_lesion: ArrayLike,
    confidence: ArrayLike,
    *,
    cases: float,
    weight: ArrayLike | None = None,
    preset: FrocPreset = "corrected",
) -> Froc:
    """The FROC curve of the lesions and candidates of all cases.

    A point for each distinct confidence t above 0: the weight of lesions found at t or above, over that of all lesions;
    the weight of false positives at t or above, over `cases`. Before them a point without any finding. Confidences are
    compared in single precision, in which detection maps hold them. Without lesions the sensitivity is NaN.

    Parameters
    ----------
    is_lesion, confidence, weight
        The columns of `average_precision`.
    cases
        How many cases there are, also those without any row; with weights, the sum of the weights of all cases.
    preset
        "corrected" is as said above. "picai" gives the arrays of picai_eval 1.4.13, in double precision: no first
        point, and the last one, of the lowest confidence, replaced by the sensitivity before it at infinitely many
        false positives, which is right only if that confidence is 0, of a missed lesion. It knows no weights. Beyond
        10 000 confidences picai_eval leaves out points; this does not.

    References
    ----------
    Bunch PC, Hamilton JF, Sanderson GK, Simmons AH. A free response approach to the measurement and characterization of
    radiographic observer performance. Proc SPIE 127 (1977).

    Examples
    --------
    >>> curve = froc([1, 0, 1, 1], [0.9, 0.8, 0.7, 0.0], cases=2)  # one of three lesions is missed
    >>> curve.false_positives.tolist(), curve.sensitivity_at(0.5)
    ([0.0, 0.0, 0.5, 0.5], 0.6666666666666666)
    """
    if not 0 < cases < math.inf:
        msg = f"the number of cases, or the sum of their weights, must be above 0; it is {cases}"
        raise ValueError(msg)
    if preset not in ("corrected", "picai"):
        msg = f"the presets of a FROC curve are 'corrected' and 'picai', not {preset!r}"
        raise ValueError(msg)
    if preset == "picai" and weight is not None:
        msg = "the FROC curve of picai_eval is unweighted: leave the weights out, or take preset 'corrected'"
        raise ValueError(msg)
    points = ranked(is_lesion, in_single_precision(confidence), weight)
    lesions = points.positive[-1] if points.positive.size else 0.0
    thresholds, found, false = _as_picai(points) if preset == "picai" else _candidates_only(points)
    sensitivity = found / lesions if lesions > 0 else np.full(found.shape, math.nan)
    return Froc(false / cases, sensitivity, thresholds)


def _check_rule(rule: FrocRule) -> None:
    if rule not in ("step", "linear"):
        msg = f"between the points of a FROC curve the rule is 'step' or 'linear', not {rule!r}"
        raise ValueError(msg)


def _candidates_only(points: Ranked) -> Ranked:
    """A point without any finding, then those of real candidates: confidence 0 is that of a missed lesion."""
    real = points.thresholds > 0
    thresholds, found, false = (column[real] for column in points)
    return Ranked(np.append(math.inf, thresholds), np.append(0.0, found), np.append(0.0, false))


def _as_picai(points: Ranked) -> Ranked:
    """The last point replaced by the one before it, infinitely far right; of a single point nothing is left."""
    found, false = points.positive[:-1], points.negative[:-1]
    if found.size == 0:
        return Ranked(np.full(2, math.inf), np.zeros(2), np.array([0.0, math.inf]))
    return Ranked(points.thresholds, np.append(found, found[-1]), np.append(false, math.inf))
