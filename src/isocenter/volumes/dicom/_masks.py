"""Contours to voxels: which voxels of a grid an ROI takes, and how much of each.

A contour is a slab: it reaches half way to the planes before and behind, and half the usual distance of planes beyond
the last one (the "end caps"). So drawn area × thickness is the volume of the ROI on every grid, finer or coarser than
the drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.volumes._grid import Grid
from isocenter.volumes.dicom._dataset import DicomError
from isocenter.volumes.dicom._slabs import share_outside, slabs_of
from isocenter.volumes.dicom._structures import Roi

Fill = Literal["slab", "nearest"]
"""Which slices a contour fills: those whose centres lie in its slab, or only the nearest one."""

_MAX_FACTOR = 64


@dataclass(frozen=True, eq=False)
class Painted:
    """An ROI on a grid.

    Attributes
    ----------
    label
        That of the ROI.
    weights
        What each voxel has of the ROI, axes (x, y, z): booleans of `roi_mask`, parts in [0, 1] of `partial_volumes`.
    outside
        Part of the drawn volume that lies outside the grid, in [0, 1]; 0 for an ROI without contours.
    remarks
        What was left out or decided, in words; those of the ROI first.
    """

    label: str
    weights: NDArray[Any]
    outside: float
    remarks: tuple[str, ...] = ()


def roi_mask(
    roi: Roi,
    grid: Grid,
    *,
    fill: Fill = "slab",
    bridge: float = 2.0,
    tolerance_mm: float | None = None,
) -> Painted:
    """The voxels whose centres are inside the contours, by the even-odd rule: a contour in a contour is a hole.

    The rule is half-open: a centre on the left or lower edge is inside, one on the right or upper edge is not, likewise
    along the slice axis. So structures that share an edge share no voxel, and a structure drawn exactly along voxel
    edges or through voxel centres has as many voxels as its size says.

    Parameters
    ----------
    fill
        "slab": a slice belongs to the contours in whose slab its centre lies (the way for a grid finer or coarser than
        the drawing). "nearest": contours fill the nearest slice and no other; one that is further away from it than
        `tolerance_mm` is an error.
    bridge
        Planes further apart than this many times the ROI's usual distance are not joined; what lies between is a gap.
    tolerance_mm
        For "nearest"; half the distance of slices if not given.

    Raises
    ------
    DicomError
        If the ROI has a `problem`, or a contour is not flat, is tilted against the slices of the grid, or fits none of
        them within the tolerance.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [4.0, 4.0, 0.0], [0.0, 4.0, 0.0]])
    >>> hole = np.array([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [2.0, 2.0, 0.0], [1.0, 2.0, 0.0]])
    >>> ring = Roi(1, "Ring", "Ring", (square, hole), spacing_mm=3.0)
    >>> painted = roi_mask(ring, Grid((5, 5, 3), spacing=(1.0, 1.0, 3.0)))
    >>> painted.weights[:, :, 0].astype(int)
    array([[1, 1, 1, 1, 0],
           [1, 0, 1, 1, 0],
           [1, 1, 1, 1, 0],
           [1, 1, 1, 1, 0],
           [0, 0, 0, 0, 0]])
    >>> f"{painted.outside:.1%}"  # the grid begins half a voxel before its first centre
    '0.0%'
    """
    from isocenter.volumes.dicom._scanlines import paint

    axis, slabs, remarks = slabs_of(roi, grid, bridge)
    mask = np.zeros(grid.shape, dtype=np.bool_)
    slices = np.moveaxis(mask, axis, 2)
    count = slices.shape[2]
    for slab in slabs:
        first, last = max(math.ceil(slab.low), 0), min(math.ceil(slab.high), count)
        if fill == "nearest":
            first = math.floor(slab.place + 0.5)
            last = first + 1 if 0 <= first < count else first
            off = abs(slab.place - first) * grid.spacing[axis]
            if last > first and tolerance_mm is not None and off > tolerance_mm:
                msg = f"{roi.label!r}: contours {off:.3g} mm off the nearest slice; at most {tolerance_mm:g} mm may be"
                raise DicomError(msg, code="bad_geometry")
        if first < last:
            for (columns, rows), edges in _window(slab.edges, slices.shape[0], slices.shape[1]):
                painted = np.zeros((columns.stop - columns.start, rows.stop - rows.start), dtype=np.bool_)
                paint(edges, painted)
                slices[columns, rows, first:last] |= painted[:, :, None]
    if slabs and not mask.any():
        remarks.append("encloses the centre of no voxel")
    return Painted(roi.label, mask, share_outside(slabs, slices.shape), (*roi.remarks, *remarks))


def partial_volumes(roi: Roi, grid: Grid, *, factor: int = 4, bridge: float = 2.0) -> Painted:
    """What part of each voxel is inside the contours, in [0, 1].

    In the plane every row of voxels is cut into `factor` bands, and at every corner of a contour. The length inside
    along the middle of a band is exact, and so is the part of a voxel's thickness that a slab takes. The sum of all
    parts × voxel volume is therefore the drawn volume; `factor` only says how well it is told whose part an oblique
    edge cuts.

    Parameters
    ----------
    factor
        Bands per voxel, 1 to 64.
    bridge
        As in `roi_mask`.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 2.0, 0.0], [0.0, 2.0, 0.0]])
    >>> ptv = Roi(1, "PTV", "PTV", (square,), spacing_mm=3.0)
    >>> partial_volumes(ptv, Grid((3, 3, 1), spacing=(1.0, 1.0, 3.0))).weights[:, :, 0]
    array([[0.25, 0.5 , 0.25],
           [0.5 , 1.  , 0.5 ],
           [0.25, 0.5 , 0.25]])
    """
    from isocenter.volumes.dicom._scanlines import cover, cuts_of

    if not 1 <= factor <= _MAX_FACTOR:
        msg = f"factor must be a whole number from 1 to {_MAX_FACTOR}, not {factor}"
        raise ValueError(msg)
    axis, slabs, remarks = slabs_of(roi, grid, bridge)
    weights = np.zeros(grid.shape)
    slices = np.moveaxis(weights, axis, 2)
    for slab in slabs:
        first, last = max(math.floor(slab.low + 0.5), 0), min(math.ceil(slab.high + 0.5), slices.shape[2])
        if first >= last:
            continue
        for (columns, rows), edges in _window(slab.edges, slices.shape[0], slices.shape[1]):
            covered = np.zeros((columns.stop - columns.start, rows.stop - rows.start))
            count = covered.shape[1]
            cover(edges, cuts_of(edges, -0.5, count - 0.5, count=count * factor), covered)
            for k in range(first, last):
                slices[columns, rows, k] += covered * (min(slab.high, k + 0.5) - max(slab.low, k - 0.5))
    np.clip(weights, 0.0, 1.0, out=weights)  # thirds that add up to 1 and a hair
    return Painted(roi.label, weights, share_outside(slabs, slices.shape), (*roi.remarks, *remarks))


def _window(
    edges: NDArray[np.float64], columns: int, rows: int
) -> Iterator[tuple[tuple[slice, slice], NDArray[np.float64]]]:
    """The part of a slice that can be inside, and the edges seen from there; nothing if they lie beside the slice."""
    left, right = math.floor(edges[:, 0::2].min() + 0.5), math.ceil(edges[:, 0::2].max() + 0.5)
    low, high = math.floor(edges[:, 1].min() + 0.5), math.ceil(edges[:, 3].max() + 0.5)
    left, right, low, high = max(left, 0), min(right, columns), max(low, 0), min(high, rows)
    if left < right and low < high:
        yield (slice(left, right), slice(low, high)), edges - np.array([left, low, left, low], dtype=np.float64)
