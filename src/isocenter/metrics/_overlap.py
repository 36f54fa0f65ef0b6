"""Overlap of two masks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


def dice(truth: Mask, prediction: Mask) -> float:
    """Dice similarity coefficient, ``2|T∩P| / (|T|+|P|)``, in [0, 1]; higher is better.

    Two empty masks agree perfectly about nothing and give 1.0; whether such a case may occur is for the challenge to
    say. One empty mask against one that is not gives 0.0.

    Parameters
    ----------
    truth, prediction
        Boolean arrays of one shape. Integer arrays are taken if they hold only 0 and 1; of a map with several labels,
        say which one is meant: ``labels == 2``.

    References
    ----------
    Dice LR. Measures of the amount of ecologic association between species. Ecology 26 (1945) 297-302.

    Examples
    --------
    >>> dice(np.array([True, True, False]), np.array([True, False, False]))
    0.6666666666666666
    """
    truth, prediction = _pair(truth, prediction)
    size = np.count_nonzero(truth) + np.count_nonzero(prediction)
    if size == 0:
        return 1.0
    return float(2 * np.count_nonzero(truth & prediction) / size)


def _pair(truth: Any, prediction: Any) -> tuple[Mask, Mask]:
    """Both masks as boolean arrays of the same shape."""
    truth, prediction = _boolean(truth, "truth"), _boolean(prediction, "prediction")
    if truth.shape != prediction.shape:
        msg = f"truth has shape {truth.shape}, prediction {prediction.shape}: masks are compared voxel by voxel"
        raise ValueError(msg)
    return truth, prediction


def _boolean(values: Any, name: str) -> Mask:
    array: NDArray[Any] = np.asarray(values)
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind in "iu" and (array.size == 0 or (array.min() >= 0 and array.max() <= 1)):
        return array.astype(np.bool_)
    msg = f"{name} must be a boolean array, or integers that are only 0 and 1 (got {array.dtype}); try {name} == label"
    raise TypeError(msg)
