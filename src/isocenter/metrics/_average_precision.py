"""Average precision of detected lesions, and the curve behind it; weighted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from isocenter.metrics._roc import Floats, ranked

WhyNoAveragePrecision = Literal["no lesions"]


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve:
    """Precision and recall from the lowest confidence to the highest, one point each, then precision 1 at recall 0.

    Made by `precision_recall_curve`. Confidence 0 is that of a missed lesion: no candidate, so precision 0. There is
    one threshold fewer than there are points. Without lesions the recall is NaN, but in the last point.
    """

    precision: Floats
    recall: Floats
    thresholds: Floats

    @property
    def average_precision(self) -> float:
        """See `average_precision`."""
        if self.thresholds.size == 0:
            return math.nan
        return math.fsum((self.recall[:-1] - self.recall[1:]) * self.precision[:-1])


def average_precision(is_lesion: ArrayLike, confidence: ArrayLike, *, weight: ArrayLike | None = None) -> float:
    """Average precision by steps, AP = Σₖ (Rₖ - Rₖ₊₁) Pₖ, in [0, 1]; higher is better.

    Over the distinct confidences t₁ < … < tₘ of all cases together; Pₖ and Rₖ are precision and recall of the
    candidates with a confidence of at least tₖ, and Rₘ₊₁ = 0. Nothing is interpolated: this is scikit-learn's and
    picai_eval's definition. COCO's 101 interpolated points and the trapezoidal rule are other numbers of the same name.

    Lesions that nobody found limit the recall and add nothing. Confidences are compared in single precision, in which
    detection maps hold them. If there is no lesion (of non-zero weight), there is no recall: NaN, and
    `why_no_average_precision` says so.

    Parameters
    ----------
    is_lesion
        1 for a lesion, found or missed; 0 for a candidate that is none, a false positive.
    confidence
        Of the candidate, above 0 (it need not end at 1); 0 for a missed lesion.
    weight
        From 0 on: that of the row's case; 1 each if left out.

    References
    ----------
    Saha A et al. Artificial intelligence and radiologists in prostate cancer detection on MRI (PI-CAI). Lancet Oncol 25
    (2024).

    Examples
    --------
    >>> average_precision([1, 0, 1, 1], [0.9, 0.8, 0.7, 0.0])  # one of three lesions is missed
    0.5555555555555556
    """
    return precision_recall_curve(is_lesion, confidence, weight=weight).average_precision


def why_no_average_precision(is_lesion: ArrayLike, *, weight: ArrayLike | None = None) -> WhyNoAveragePrecision | None:
    """Why `average_precision` is NaN for these rows; None if it is not. Rows of weight 0 are no rows.

    Examples
    --------
    >>> why_no_average_precision([0, 0])
    'no lesions'
    """
    rows = np.asarray(is_lesion)
    _, lesions, _ = ranked(rows, np.zeros(rows.shape), weight)
    return None if lesions.size and lesions[-1] > 0 else "no lesions"


def precision_recall_curve(
    is_lesion: ArrayLike, confidence: ArrayLike, *, weight: ArrayLike | None = None
) -> PrecisionRecallCurve:
    """Precision and recall at each distinct confidence; see `average_precision` for the columns."""
    thresholds, found, false = ranked(is_lesion, in_single_precision(confidence), weight)
    precision = np.where(thresholds > 0, found / (found + false), 0.0)
    total = found[-1] if found.size else 0.0
    recall = found / total if total > 0 else np.full(found.shape, math.nan)
    return PrecisionRecallCurve(np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), thresholds[::-1].copy())


def in_single_precision(confidence: ArrayLike) -> Floats:
    """Confidences rounded to what a detection map can hold; an error if one is negative or not finite."""
    exact = np.asarray(confidence, dtype=np.float64)
    wrong = np.flatnonzero(~((exact >= 0) & (exact <= np.finfo(np.float32).max)))
    if wrong.size:
        msg = f"a confidence is a finite number from 0 on; row {int(wrong[0])} has {exact.ravel()[wrong[0]]}"
        raise ValueError(msg)
    return exact.astype(np.float32).astype(np.float64)
