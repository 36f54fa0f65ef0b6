"""How far curves of findings vary with the cases: pointwise percentiles over bootstrap resamples."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isocenter.detections import Detections
from isocenter.report import Band
from isocenter.resampling.counts import resample_cases
from isocenter.resampling.intervals import percentile_interval

Floats = NDArray[np.float64]

_MOST = 2000  # resamples; a band of pointwise percentiles does not change visibly with more
_BLOCK = 200
_POINTS = 60  # of a band, along its axis
_ROUNDING = 1e-9
_STRICTEST, _LAXEST = 0.1, 8.0  # false positives per case, around the axis of a FROC curve


class Bands(NamedTuple):
    """Of one set of findings; None where the curve is undefined."""

    roc: Band | None
    precision_recall: Band | None
    froc: Band | None


class _Steps(NamedTuple):
    """Counts at the thresholds of a draw, from the highest down, and the totals of that draw."""

    right: Floats
    wrong: Floats
    positives: float
    negatives: float
    cases: float


def draws_for(replicates: int) -> int:
    """How many resamples bands are made of."""
    return min(replicates, _MOST)


def bands(found: Detections, *, replicates: int, level: float, seed: int) -> Bands:
    """Bands around the ROC, precision–recall and FROC curves.

    At each 1 − specificity the sensitivity by straight lines; at each recall the precision of the first threshold that
    reaches it, 0 in a draw that reaches it nowhere, as average precision counts it; at each number of false positives
    per case the sensitivity that is attained with no more of them. Draws without an ill patient, a healthy one or a
    lesion are made again.
    """
    lesion = np.zeros(len(found.cases), np.bool_)
    lesion[found.case[found.is_lesion]] = True
    ill = found.truth
    patients, lesions = 0 < ill.sum() < ill.size, bool(lesion.any())
    kinds = np.array([kind for kind, asked in ((ill, patients), (~ill, patients), (lesion, lesions)) if asked])
    if not replicates or not len(kinds):
        return Bands(None, None, None)
    drawn = resample_cases(
        len(found.cases),
        replicates=draws_for(replicates),
        seed=seed,
        reject=lambda counts: ((counts @ kinds.T.astype(np.int64)) == 0).any(axis=1),
    ).by_case
    weighted = (drawn[:, at : at + _BLOCK] * found.weight[:, None] for at in range(0, drawn.shape[1], _BLOCK))
    blocks = list(weighted)
    where = found.confidence > 0
    counted = ~ill | lesion
    roc = recall = froc = None
    if patients:
        place = np.arange(len(found.cases))
        steps = [_steps(block, place, ill, found.likelihood, positive=ill, counted=counted) for block in blocks]
        roc = _band(steps, np.linspace(0, 1, _POINTS), _sensitivity, level)
    if lesions and where.any():
        rows = found.case[where], found.is_lesion[where], found.confidence[where]
        every = found.case[found.is_lesion]
        steps = [_steps(block, *rows, positive=every, counted=counted) for block in blocks]
        curve = found.precision_recall()
        most = float(curve.recall[curve.precision > 0].max(initial=0.0))
        if most > 0:
            recall = _band(steps, np.linspace(most / _POINTS, most, _POINTS), _precision, level)
        froc = _band(steps, np.geomspace(_STRICTEST, _LAXEST, _POINTS), _attained, level)
    return Bands(roc, recall, froc)


def _steps(
    counts: Floats,
    case: NDArray[np.int64],
    is_right: NDArray[np.bool_],
    score: Floats,
    *,
    positive: NDArray[np.bool_] | NDArray[np.int64],
    counted: NDArray[np.bool_],
) -> list[_Steps]:
    """One draw after another, of a block of cases × draws."""
    order = np.argsort(-score, kind="stable")
    last = np.append(np.flatnonzero(np.diff(score[order])), score.size - 1)
    rows, right = counts[case[order]], is_right[order][:, None]
    hits, misses = (np.cumsum(rows * of, axis=0)[last] for of in (right, ~right))
    positives, cases = counts[positive].sum(axis=0), counts[counted].sum(axis=0)
    return [
        _Steps(hits[:, n], misses[:, n], float(positives[n]), float(misses[-1, n]), float(cases[n]))
        for n in range(counts.shape[1])
    ]


def _sensitivity(step: _Steps, at: Floats) -> Floats:
    x = np.append(0.0, step.wrong / step.negatives)
    found: Floats = np.interp(at, x, np.append(0.0, step.right / step.positives))
    return found


def _precision(step: _Steps, at: Floats) -> Floats:
    first = np.searchsorted(step.right / step.positives, at - _ROUNDING)
    called = step.right + step.wrong
    precision = np.divide(step.right, called, out=np.zeros_like(called), where=called > 0)
    return np.append(precision, 0.0)[first]


def _attained(step: _Steps, at: Floats) -> Floats:
    last = np.searchsorted(step.wrong / step.cases, at + _ROUNDING, side="right")
    return np.append(0.0, step.right / step.positives)[last]


def _band(steps: list[list[_Steps]], at: Floats, curve: Callable[[_Steps, Floats], Floats], level: float) -> Band:
    values = np.array([curve(step, at) for block in steps for step in block])
    bounds = percentile_interval(values.T, level=level)
    return Band(at, bounds.low, bounds.high)
