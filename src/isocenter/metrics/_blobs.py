"""Connected parts of a volume that is nearly all background, kept as lists of their voxels."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics._lesions import Connectivity

Shape = tuple[int, int, int]

# Up to here numpy alone is quick enough: the compiler takes longer to load than hundreds of such volumes.
_FEW_BYTES = 1 << 25
_FEW_VOXELS = 1 << 20


@dataclass(frozen=True, eq=False)
class Blobs:
    """The connected parts of a volume, numbered from 1 in the order of their first voxel (last axis fastest).

    Attributes
    ----------
    shape
        Of the volume.
    voxels
        Where the foreground lies in the flattened volume, ascending.
    parts
        The number of the part that each of these voxels belongs to.
    count
        How many parts there are.
    """

    shape: Shape
    voxels: NDArray[np.int64]
    parts: NDArray[np.int32]
    count: int

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of voxels of each part."""
        return np.bincount(self.parts, minlength=self.count + 1)[1:]

    def index(self, voxel: int) -> Shape:
        """The three indices of a place in the flattened volume."""
        i, j, k = np.unravel_index(voxel, self.shape)
        return int(i), int(j), int(k)


def lesions(label: Any, *, connectivity: Connectivity = 26) -> Blobs:
    """The lesions of a reference: connected parts of what is not 0, whatever the number there.

    Voxels of label 1 and label 2 that touch are one lesion, as in PI-CAI. Fractional labels are an error.

    Parameters
    ----------
    connectivity
        See `components`.

    Examples
    --------
    >>> label = np.zeros((4, 5, 6), np.uint8)
    >>> label[0, 0, :2] = label[3, 3, 3] = 1
    >>> lesions(label).sizes.tolist()
    [2, 1]
    """
    array = as_volume(label, "label")
    voxels, values = foreground(array)
    if array.dtype.kind == "f":
        wrong = ~np.isfinite(values) | (values != np.trunc(values))
        if wrong.any():
            first = int(wrong.argmax())
            where = tuple(int(i) for i in np.unravel_index(voxels[first], array.shape))
            msg = f"label must hold whole numbers, but {np.count_nonzero(wrong)} voxels do not: "
            msg += f"{values[first]:g} at voxel {where}"
            raise ValueError(msg)
    return connect(voxels, array.shape, connectivity=connectivity)


def as_volume(values: Any, name: str) -> NDArray[Any]:
    """An array of real numbers with three axes."""
    array: NDArray[Any] = np.asarray(values)
    if array.dtype.kind not in "biuf":
        msg = f"{name} must be an array of real numbers, not of {array.dtype}"
        raise TypeError(msg)
    if array.ndim != 3:
        msg = f"{name} must have three axes, not shape {array.shape}"
        raise ValueError(msg)
    return array


def foreground(array: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Where a volume is not 0, ascending in its flattened form (last axis fastest), and its values there."""
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        # Read in the order in which the voxels lie in memory, and sort the few that are found.
        found, values = _nonzero(array.T.reshape(-1))
        index = np.unravel_index(found, array.shape[::-1])[::-1]
        voxels = np.ravel_multi_index(index, array.shape)
        order = np.argsort(voxels)
        return voxels[order], values[order]
    return _nonzero(np.ascontiguousarray(array).reshape(-1))


def _nonzero(flat: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    if flat.nbytes <= _FEW_BYTES:
        voxels = np.flatnonzero(flat)
        return voxels, flat[voxels]
    from isocenter.metrics._blob_kernels import BLOCK, filled_blocks

    length = BLOCK * 8 // flat.itemsize
    whole = flat.size // length
    blocks = filled_blocks(flat[: whole * length].view(np.uint64))
    inside = (blocks[:, None] * length + np.arange(length)).reshape(-1)
    voxels = np.concatenate([inside, np.arange(whole * length, flat.size)])
    values = flat[voxels]
    there = values != 0  # not what the bits say: there is -0.0
    return voxels[there], values[there]


def connect(voxels: NDArray[np.int64], shape: tuple[int, ...], *, connectivity: Connectivity) -> Blobs:
    """Tell the connected parts of a list of voxels from each other."""
    full = (shape[0], shape[1], shape[2])
    if connectivity not in (6, 18, 26):
        msg = f"voxels have 6, 18 or 26 neighbours, not {connectivity}"
        raise ValueError(msg)
    if voxels.size == 0:
        return Blobs(full, voxels, np.zeros(0, np.int32), 0)
    index = np.unravel_index(voxels, shape)
    low = [int(axis.min()) - 1 for axis in index]
    _, rows, columns = size = [int(axis.max()) + 2 - start for axis, start in zip(index, low, strict=True)]
    places = ((index[0] - low[0]) * rows + (index[1] - low[1])) * columns + (index[2] - low[2])
    reach = {6: 1, 18: 2, 26: 3}[connectivity]
    if voxels.size <= _FEW_VOXELS:
        return Blobs(full, voxels, *_join(places, rows, columns, reach))
    from isocenter.metrics._blob_kernels import flood

    steps = [
        (a * rows + b) * columns + c
        for a, b, c in itertools.product((-1, 0, 1), repeat=3)
        if 0 < abs(a) + abs(b) + abs(c) <= reach
    ]
    parts, count = flood(np.zeros(math.prod(size), np.int32), places, np.array(steps, np.int64))
    return Blobs(full, voxels, parts, int(count))


def _join(places: NDArray[np.int64], rows: int, columns: int, reach: int) -> tuple[NDArray[np.int32], int]:
    """What `flood` does, by whole arrays: runs of voxels along the last axis, joined with the earlier ones they touch.

    Every run points to an earlier one of its part, or to itself. In each round each part that touches an earlier one is
    hung below it, so that at least half of the unfinished parts vanish.

    Parameters
    ----------
    places
        Where in a box with a margin of one voxel the voxels lie, ascending.
    rows, columns
        Of the box.
    reach
        How many of its three indices a neighbour may differ in, by one each.
    """
    begin = np.flatnonzero(np.diff(places, prepend=places[0] - 2) != 1)
    length = np.diff(begin, append=places.size)
    first = places[begin]
    last = first + length - 1
    later, earlier = [], []
    for a, b in ((0, -1), (-1, -1), (-1, 0), (-1, 1)):
        if abs(a) + abs(b) > reach:
            continue
        step = (a * rows + b) * columns
        aside = int(abs(a) + abs(b) < reach)  # whether a run may also touch the next one by a corner
        start = np.searchsorted(last, first + step - aside)
        count = np.searchsorted(first, last + step + aside, side="right") - start
        later.append(np.repeat(np.arange(first.size), count))
        earlier.append(np.arange(later[-1].size) + np.repeat(start - np.cumsum(count) + count, count))
    above, one, two = np.arange(first.size), np.concatenate(later), np.concatenate(earlier)
    while one.size:
        one, two = above[one], above[two]
        apart = one != two
        one, two = one[apart], two[apart]
        np.minimum.at(above, np.maximum(one, two), np.minimum(one, two))
        while not np.array_equal(higher := above[above], above):
            above = higher
    roots, parts = np.unique(above, return_inverse=True)
    return np.repeat((parts + 1).astype(np.int32), length), roots.size
