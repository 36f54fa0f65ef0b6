"""A dose and a structure, each on its grid, brought together."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics.dvh._dvh import DVH, check_finite, check_weights, dvh_of
from isocenter.volumes import Grid, LabelMap, Volume

Outside = Literal["refuse", "zero", "exclude"]
"""What becomes of a part of the structure that lies outside the dose grid: it is an error, it received 0 Gy, or it
counts for nothing, so that the structure is smaller. `DVH.outside` keeps the share, and every reading is flagged."""

_SAME = 0.01  # grids whose corners agree within this share of a voxel edge are one; interpolating would change nothing
_RIM = 0.5 + 1e-6  # a voxel reaches half its edge beyond its centre; the rest is for rounding


def dvh_in(
    dose: Volume,
    structure: Volume | LabelMap,
    *,
    labels: Iterable[int] | None = None,
    outside: Outside = "refuse",
    subsamples: int = 1,
) -> DVH:
    """The histogram of a dose in a structure.

    On one grid the doses of the structure's voxels are taken as they are. On different grids the dose is interpolated
    linearly between its voxel centres at the centres of the structure's voxels, so the volume is that of the structure
    as it was drawn. A point is inside the dose grid if it lies in the box of one of its voxels; in the outer half
    voxel, beyond the outermost centres, the dose is that of the nearest point between centres.

    Parameters
    ----------
    dose
        Gy. Only values at the structure must be finite.
    structure
        A mask; whole numbers, of which `labels` (all but 0 if not given) are the structure; or floating-point weights,
        the share of each voxel that belongs to it, from 0 to 1.
    outside
        "refuse", "zero" or "exclude"; see `Outside`.
    subsamples
        Along each axis, into how many parts every voxel of the structure is cut. More than one part takes the dose at
        the centre of each, interpolated, which smooths the steps that a steep dose leaves in a small structure.

    Examples
    --------
    >>> grid = Grid((4, 1, 1), spacing=(10.0, 10.0, 10.0))
    >>> dose = Volume(np.arange(4.0).reshape(4, 1, 1), grid)
    >>> half = Volume(np.array([0.0, 0.0, 1.0, 0.5]).reshape(4, 1, 1), grid)
    >>> dvh = dvh_in(dose, half)
    >>> dvh.volume, dvh.mean
    (1.5, 2.3333333333333335)
    """
    if outside not in get_args(Outside):
        msg = f"outside is one of {', '.join(get_args(Outside))}, not {outside!r}"
        raise ValueError(msg)
    if subsamples < 1:
        msg = f"a voxel is cut into at least 1 part along each axis, not {subsamples}"
        raise ValueError(msg)
    index, weights = _voxels(structure, labels)
    if subsamples == 1 and _same(structure.grid, dose.grid):
        values: NDArray[Any] = dose.array[tuple(index.T)]
        inside = np.ones(len(index), dtype=np.bool_)
    else:
        steps = _steps(subsamples)
        samples = [_sampled(dose, index + offset, structure.grid) for offset in itertools.product(steps, repeat=3)]
        values, inside = (np.stack(parts, axis=1).ravel() for parts in zip(*samples, strict=True))
        weights = None if weights is None else np.repeat(weights, len(samples))
    _check_at(values, index)
    share = _share(~inside, weights)
    if share > 0 and outside == "refuse":
        msg = (
            f"{share:.1%} of the structure lie outside the dose grid ({dose.grid}); "
            'say outside="zero" if they received nothing, or outside="exclude" to leave them out'
        )
        raise ValueError(msg)
    if outside == "exclude":
        values, weights = values[inside], None if weights is None else weights[inside]
    dvh = dvh_of(values, voxel_volume=structure.grid.voxel_volume / subsamples**3, weights=weights)
    return dataclasses.replace(dvh, outside=share)


def supersample(
    inside: Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], NDArray[np.bool_]],
    grid: Grid,
    *,
    factor: int = 5,
) -> NDArray[np.float64]:
    """Weights of a shape: the share of each voxel that lies in it, counted at factor³ points of the voxel.

    Parameters
    ----------
    inside
        Takes x, y and z of many points, LPS millimetres, and says of each whether it is in the shape.

    Returns
    -------
    array of the grid's shape, (x, y, z), from 0 to 1
        With factor 1 the mask of the voxels whose centres are inside.

    Examples
    --------
    >>> grid = Grid((3, 1, 1))
    >>> supersample(lambda x, y, z: x < 1.0, grid, factor=4).ravel()
    array([1. , 0.5, 0. ])
    """
    if factor < 1:
        msg = f"the factor is a number of points of at least 1, not {factor}"
        raise ValueError(msg)
    axes = np.meshgrid(*(np.arange(n, dtype=float) for n in grid.shape), indexing="ij")
    matrix = grid.affine
    centres = [sum(matrix[row, axis] * axes[axis] for axis in range(3)) + matrix[row, 3] for row in range(3)]
    count = np.zeros(grid.shape)
    for offset in itertools.product(_steps(factor), repeat=3):
        shift = matrix[:3, :3] @ offset
        count += inside(*(centre + by for centre, by in zip(centres, shift, strict=True)))
    return count / factor**3


def _voxels(
    structure: Volume | LabelMap, labels: Iterable[int] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Indices of the voxels of a structure, n×3, and their weights, or None where all are whole."""
    array, corner = (
        (structure.box, structure.corner) if isinstance(structure, LabelMap) else (structure.array, (0, 0, 0))
    )
    if array.dtype.kind == "f":
        if labels is not None:
            msg = "labels are of whole numbers; this structure is given by weights"
            raise ValueError(msg)
        check_finite(array, what="the structure")
        index = np.argwhere(array != 0)
        return index + corner, check_weights(array[tuple(index.T)])
    if array.dtype.kind not in "biu":
        msg = f"a structure is a mask, labels or weights, not {array.dtype}"
        raise TypeError(msg)
    chosen = array != 0 if labels is None else np.isin(array, list(labels))
    return np.argwhere(chosen) + corner, None


def _same(one: Grid, other: Grid) -> bool:
    return one.shape == other.shape and one.deviation(other) <= _SAME * min(*one.spacing, *other.spacing)


def _steps(parts: int) -> NDArray[np.float64]:
    """Centres of the equal parts of a voxel edge from -½ to ½."""
    return (np.arange(parts) + 0.5) / parts - 0.5


def _share(chosen: NDArray[np.bool_], weights: NDArray[np.float64] | None) -> float:
    """How much of a structure some of its voxels are, from 0 to 1."""
    if not chosen.any():
        return 0.0
    return float(chosen.mean()) if weights is None else float(weights[chosen].sum() / weights.sum())


def _sampled(dose: Volume, index: NDArray[np.int64], grid: Grid) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Dose at voxels of another grid, 0 outside of its own; and which are inside."""
    from scipy import ndimage

    to_dose = np.linalg.inv(dose.grid.affine) @ grid.affine
    places = index @ to_dose[:3, :3].T + to_dose[:3, 3]
    within = (places >= -_RIM) & (places <= np.array(dose.grid.shape) - 1 + _RIM)
    inside = np.logical_and.reduce(within, axis=1)
    values = np.zeros(len(index))
    values[inside] = ndimage.map_coordinates(
        dose.array, places[inside].T, output=np.float64, order=1, mode="nearest", prefilter=False
    )
    return values, inside


def _check_at(values: NDArray[Any], index: NDArray[np.int64]) -> None:
    """Refuse a dose that is not finite, by the voxel of the structure; each voxel may have several values in turn."""
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        first = int(bad[0])
        where = tuple(int(i) for i in index[first * len(index) // values.size])
        count = f"{bad.size} of {values.size} voxels of the structure"
        msg = f"the dose is not finite in {count}, first {values[first]} at index {where}"
        raise ValueError(msg)
