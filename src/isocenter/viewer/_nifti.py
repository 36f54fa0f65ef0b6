"""Volumes as browsers take them: NIfTI in memory, with axes that run to the right, to the front and to the head."""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zlib_ng import gzip_ng

from isocenter.volumes import Grid

_CODES = {np.dtype(np.uint8): 2, np.dtype(np.int16): 4, np.dtype(np.float32): 16}
_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])  # from LPS, where the grids of isocenter live


@dataclass(frozen=True, slots=True)
class Turn:
    """How the axes of an array become right, front and head, without interpolation.

    Attributes
    ----------
    order
        The array axis that runs nearest to each of the three.
    flipped
        Whether it runs the other way.
    """

    order: tuple[int, int, int]
    flipped: tuple[bool, bool, bool]

    @property
    def slice_axis(self) -> int:
        """Where the third array axis, along which slices are counted, comes to lie: 0, 1 or 2."""
        return self.order.index(2)

    def index(self, voxel: tuple[int, int, int], shape: tuple[int, int, int]) -> tuple[int, int, int]:
        """A voxel of the array, in the turned one."""
        i, j, k = (
            shape[a] - 1 - voxel[a] if flip else voxel[a] for a, flip in zip(self.order, self.flipped, strict=True)
        )
        return i, j, k


def turn_of(grid: Grid) -> Turn:
    """The turn that moves a grid least.

    Examples
    --------
    >>> turn_of(Grid((2, 3, 4)))
    Turn(order=(0, 1, 2), flipped=(True, True, False))
    """
    along = (_RAS @ grid.affine)[:3, :3] / np.asarray(grid.spacing)
    orders = [(a, b, c) for a, b, c in itertools.permutations(range(3))]
    order = max(orders, key=lambda axes: sum(abs(along[world, axis]) for world, axis in enumerate(axes)))
    right, front, head = (bool(along[world, axis] < 0) for world, axis in enumerate(order))
    return Turn(order, (right, front, head))


def turned(array: NDArray[Any], turn: Turn) -> NDArray[Any]:
    """The array with its axes in the order and direction of the turn; no voxel is copied."""
    backwards = tuple(slice(None, None, -1 if flip else None) for flip in turn.flipped)
    return array.transpose(turn.order)[backwards]


def nifti(array: NDArray[Any], grid: Grid, *, window: tuple[float, float] = (0.0, 0.0)) -> bytes:
    """A compressed NIfTI-1 file of an array on a grid, its axes turned to right, front and head.

    Booleans become 0 and 1, whole numbers 16 bits where they fit, everything else single precision. What is no number
    becomes the lowest that there is, and what is too large for single precision or infinite the nearest that there is.
    `window` says which value shall be shown black and which white; where both are the same, the file says nothing.
    """
    turn = turn_of(grid)
    values = turned(_stored(array), turn)
    affine = _RAS @ grid.affine
    columns, origin = [], affine[:3, 3].copy()
    for axis, flip in zip(turn.order, turn.flipped, strict=True):
        columns.append(-affine[:3, axis] if flip else affine[:3, axis])
        origin += affine[:3, axis] * (grid.shape[axis] - 1) * flip
    rows = np.column_stack([*columns, origin])
    spacing = [grid.spacing[axis] for axis in turn.order]
    code = _CODES[values.dtype]
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *values.shape, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, code, 8 * values.dtype.itemsize)
    struct.pack_into("<8f", header, 76, 1.0, *spacing, 0.0, 0.0, 0.0, 0.0)
    struct.pack_into("<3f", header, 108, 352.0, 1.0, 0.0)
    header[123] = 2  # millimetres
    struct.pack_into("<2f", header, 124, window[1], window[0])
    struct.pack_into("<2h", header, 252, 0, 1)  # the place of the voxels is in the three rows that follow
    struct.pack_into("<12f", header, 280, *rows.ravel())
    header[344:348] = b"n+1\0"
    # Without the moment of writing: the same volume gives the same bytes, which do not tell when it was opened first.
    return bytes(gzip_ng.compress(bytes(header) + values.tobytes(order="F"), compresslevel=1, mtime=0))


def _stored(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype == np.bool_ or (array.dtype.kind == "u" and array.dtype.itemsize == 1):
        return array.astype(np.uint8)
    small = array.dtype.kind in "iu" and (not array.size or (array.min() >= -32768 and array.max() <= 32767))
    return array.astype(np.int16) if small else _finite(array)


def _finite(array: NDArray[Any]) -> NDArray[np.float32]:
    most = np.finfo(np.float32).max
    numbers: NDArray[np.float32] = np.clip(array, -most, most).astype(np.float32)
    known = np.isfinite(array)
    if known.all():
        return numbers
    low, high = (numbers[known].min(), numbers[known].max()) if known.any() else (0.0, 0.0)
    numbers[~known] = low
    numbers[array == np.inf] = high
    return numbers
