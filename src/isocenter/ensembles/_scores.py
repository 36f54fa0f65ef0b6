"""Overlap counts to scores, for many ensembles at once: `isocenter.metrics`, in arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isocenter.ensembles._error import EnsembleError
from isocenter.metrics import Overlap, s_score_of

Counts = NDArray[np.int64]
Scores = NDArray[np.float64]

METRICS = ("dice", "jaccard", "precision", "recall", "volume_similarity", "s_score")
"""The metrics that are functions of counts, and of the volume of a voxel."""

SYMMETRIC = frozenset({"dice", "jaccard", "volume_similarity"})
"""Those of them that do not ask which of the two masks is the truth."""

_V0 = 4 / 3 * math.pi * 30.0**3  # the S-score's sphere of 30 mm radius, mm³


def scores_from_counts(metric: str, tp: Counts, fp: Counts, fn: Counts, *, voxel_volume: float) -> Scores:
    """The metric of every (TP, FP, FN); NaN where it is undefined.

    Formulas and empty masks are those of the function of the same name in `isocenter.metrics`: two empty masks give 1,
    except for the S-score (its corrected variant), which an empty truth leaves undefined.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        match metric:
            case "dice":
                return _or_one(2 * tp / (2 * tp + fp + fn), tp + fp + fn)
            case "jaccard":
                return _or_one(tp / (tp + fp + fn), tp + fp + fn)
            case "precision":
                return _or_one(np.where(tp + fp > 0, tp / (tp + fp), 0.0), tp + fp + fn)
            case "recall":
                return _or_one(tp / (tp + fn), tp + fp + fn)
            case "volume_similarity":
                return _or_one(1 - np.abs(fn - fp) / (2 * tp + fp + fn), tp + fp + fn)
            case "s_score":
                return _s_scores(tp, fp, fn, voxel_volume)
    msg = f"{metric} is not made of overlap counts; those that are: {', '.join(METRICS)}"
    raise EnsembleError(msg)


def score_from_counts(metric: str, overlap: Overlap, *, voxel_volume: float) -> float:
    """The same for one overlap, by `isocenter.metrics` itself."""
    if metric not in METRICS:
        msg = f"{metric} is not made of overlap counts; those that are: {', '.join(METRICS)}"
        raise EnsembleError(msg)
    if metric == "s_score":
        return s_score_of(overlap, voxel_volume=voxel_volume)
    value: float = getattr(overlap, metric)()
    return value


def countable(metrics: Iterable[str]) -> tuple[str, ...]:
    """Those of the metrics that are functions of counts."""
    return tuple(metric for metric in metrics if metric in METRICS)


def _or_one(scores: Any, size: Counts) -> Scores:
    """The scores, and 1 where both masks are empty."""
    return np.where(size == 0, 1.0, scores)


def _s_scores(tp: Counts, fp: Counts, fn: Counts, voxel_volume: float) -> Scores:
    truth = tp + fn
    error = np.where(tp > 0, fn / tp + fp / truth, np.inf)
    scale = 1 + np.cbrt(truth * voxel_volume / _V0)
    return np.where(truth == 0, np.nan, np.exp(-error / 2 * scale))
