"""What every metric of masks takes: two boolean arrays of one shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


def as_pair(truth: Any, prediction: Any) -> tuple[Mask, Mask]:
    """Both masks as boolean arrays of the same shape."""
    truth, prediction = _boolean(truth, "truth"), _boolean(prediction, "prediction")
    if truth.shape != prediction.shape:
        msg = f"truth has shape {truth.shape}, prediction {prediction.shape}: masks are compared voxel by voxel"
        raise ValueError(msg)
    return truth, prediction


def cropped(truth: Any, prediction: Any) -> tuple[Mask, Mask]:
    """Both masks, cut to the smallest box that holds the foreground of either.

    Every metric of masks is the same inside the box as in the whole volume, and far cheaper: cut once, then measure as
    often as you like. Two empty masks are cut to one voxel.

    Examples
    --------
    >>> truth, prediction = np.zeros((2, 99, 99, 99), bool)
    >>> truth[5:7, 5:9, 5] = True
    >>> [mask.shape for mask in cropped(truth, prediction)]
    [(2, 4, 1), (2, 4, 1)]
    """
    truth, prediction = as_pair(truth, prediction)
    if truth.ndim != 3:
        msg = f"masks have three axes, not {truth.ndim}; surfaces of two-dimensional slices are not measured here"
        raise ValueError(msg)
    box = _common_box(truth, prediction)
    return truth[box], prediction[box]


def in_one_order(truth: Mask, prediction: Mask) -> tuple[Mask, Mask]:
    """Both masks, with their axes reversed if both lie in memory in Fortran order."""
    if all(mask.flags.f_contiguous and not mask.flags.c_contiguous for mask in (truth, prediction)):
        return truth.T, prediction.T
    return truth, prediction


def flat_voxels(mask: Mask) -> Mask:
    """The voxels in C order; copied only if they do not lie in it."""
    return np.ascontiguousarray(mask).reshape(-1)


def _common_box(truth: Mask, prediction: Mask) -> tuple[slice, ...]:
    from isocenter.metrics._mask_kernels import foreground_box

    # Read in the order in which the voxels lie in memory, whichever it is.
    first, second = in_one_order(truth, prediction)
    low_and_high = foreground_box(as_words(first), as_words(second), first.shape)
    if low_and_high[3] < 0:
        return tuple(slice(0, min(1, n)) for n in truth.shape)
    box = tuple(slice(low, high + 1) for low, high in zip(low_and_high[:3], low_and_high[3:], strict=True))
    return box if first is truth else box[::-1]


def as_words(mask: Mask) -> NDArray[np.uint64]:
    """The voxels in C order, eight to a word; the last word is filled up with background."""
    flat = flat_voxels(mask).view(np.uint8)
    if flat.size % 8:
        flat = np.concatenate([flat, np.zeros(-flat.size % 8, np.uint8)])
    return flat.view(np.uint64)


def _boolean(values: Any, name: str) -> Mask:
    array: NDArray[Any] = np.asarray(values)
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind in "iu" and (array.size == 0 or (array.min() >= 0 and array.max() <= 1)):
        return array.astype(np.bool_)
    msg = f"{name} must be a boolean array, or integers that are only 0 and 1 (got {array.dtype}); try {name} == label"
    raise TypeError(msg)
