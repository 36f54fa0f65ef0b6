"""CT, PET and mask on one grid, inside a box."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.preprocessing._box import Box, Triple
from isocenter.volumes import Grid, LabelMap, Volume, to_itk

Interpolation = Literal["bspline", "linear"]

AIR = -1024.0
"""What a CT shows where it was not measured, HU."""

# The influence of a voxel on the spline falls to 0.27 of itself from one to the next: beyond 24 it is below 1e-13.
_SPLINE_REACH = 24
_SAME_PLACE = 1e-3  # of a voxel: what a single-precision header moves


@dataclass(frozen=True, slots=True)
class Cropped:
    """A patient inside the box: `ct` (HU), `pet` (SUV) and `mask` (labels, or None) on one grid."""

    ct: Volume
    pet: Volume
    mask: Volume | None

    @property
    def grid(self) -> Grid:
        """The grid of all of them."""
        return self.ct.grid


def crop_grid(box: Box, ct: Grid, *, spacing: float | Triple | None = None) -> Grid:
    """The grid of a crop.

    Parameters
    ----------
    ct
        The grid of the CT.
    spacing
        None: the CT's own voxels, those whose centres lie in the box, so that the CT needs no interpolation. Where the
        box sticks out of the CT the lattice goes on. Of a CT that is not parallel to the patient's axes, the smallest
        block of voxels that holds all centres in the box.

        Otherwise voxels of so many millimetres along the patient's axes, as the published scripts make them: the first
        *centre* lies in the corner of the box, and there are ⌊⌈extent⌉ / spacing⌋ along each axis.

    Examples
    --------
    >>> box = Box((0.2, 0.0, 0.0), (10.0, 10.0, 10.0))
    >>> crop_grid(box, Grid((8, 8, 8), (2.0, 2.0, 4.0))).shape
    (5, 6, 3)
    >>> print(crop_grid(box, Grid((8, 8, 8), (2.0, 2.0, 4.0)), spacing=1.0))
    10×10×10 at 1×1×1 mm
    """
    if spacing is not None:
        steps = spacing if isinstance(spacing, tuple) else (spacing,) * 3
        if not all(0.0 < step <= extent for step, extent in zip(steps, box.size, strict=True)):
            msg = f"voxels of {_by(steps)} mm do not fit a box of {_by(box.size)} mm"
            raise ValueError(msg)
        # A box of 144 mm that rounding made 144.0000002 mm is one of 144 mm.
        counts = [math.floor(math.ceil(e - 1e-4) / s + 1e-9) for e, s in zip(box.size, steps, strict=True)]
        return Grid((counts[0], counts[1], counts[2]), steps, box.low)
    ends = np.array([[(box.low, box.high)[bit][axis] for axis, bit in enumerate(bits)] for bits in np.ndindex(2, 2, 2)])
    index = np.linalg.solve(ct.affine[:3, :3], (ends - ct.affine[:3, 3]).T)
    first = np.ceil(index.min(axis=1) - _SAME_PLACE).astype(int)
    last = np.floor(index.max(axis=1) + _SAME_PLACE).astype(int)
    if (last < first).any():
        msg = f"no voxel of the CT, {ct}, has its centre in the box"
        raise ValueError(msg)
    origin = ct.affine[:3, :3] @ first + ct.affine[:3, 3]
    shape = last - first + 1
    return Grid((int(shape[0]), int(shape[1]), int(shape[2])), ct.spacing, _triple(origin), ct.direction)


def crop_and_resample(
    box: Box,
    *,
    ct: Volume,
    pet: Volume,
    mask: Volume | LabelMap | None = None,
    spacing: float | Triple | None = None,
    interpolation: Interpolation = "bspline",
) -> Cropped:
    """CT, PET and mask inside a box, on one grid: that of the CT, or another (see `crop_grid`).

    Images are interpolated by cubic B-splines ("bspline", order 3, as the challenge did) or linearly; a mask takes the
    nearest voxel. An image whose voxels already lie on the grid is copied, exactly and in its own type; what is
    interpolated becomes float32. Outside of its image a CT is -1024 HU, a PET and a mask are 0.

    A cubic spline overshoots at steep edges: beside a hot tumour a PET may fall a little below 0. It is not clipped
    here, as it was not there; "linear" never overshoots.

    Examples
    --------
    >>> ct = Volume(np.zeros((40, 40, 20), np.int16), Grid((40, 40, 20), (1.0, 1.0, 3.0)))
    >>> pet = Volume(np.ones((10, 10, 15), np.float32), Grid((10, 10, 15), (4.0, 4.0, 4.0)))
    >>> crop = crop_and_resample(Box((5.0, 5.0, 5.0), (25.0, 25.0, 45.0)), ct=ct, pet=pet)
    >>> crop.pet.grid == crop.ct.grid, crop.ct.array.dtype, round(float(crop.pet.array.mean()), 6)
    (True, dtype('int16'), 1.0)
    """
    grid = crop_grid(box, ct.grid, spacing=spacing)
    labels = None
    if mask is not None:
        labels = _onto(Volume(mask.array, mask.grid), grid, interpolation="nearest", outside=0.0)
    return Cropped(
        _onto(ct, grid, interpolation=interpolation, outside=AIR),
        _onto(pet, grid, interpolation=interpolation, outside=0.0),
        labels,
    )


def overhang(box: Box, grid: Grid) -> float:
    """How far the box sticks out of an image at most, mm; 0 for one inside. Infinite if the two do not meet."""
    corners = grid.corners()
    start, end = corners.min(axis=0), corners.max(axis=0)
    if (np.asarray(box.low) >= end).any() or (np.asarray(box.high) <= start).any():
        return math.inf
    return float(max(0.0, (start - box.low).max(), (box.high - end).max()))


def _onto(image: Volume, grid: Grid, *, interpolation: str, outside: float) -> Volume:
    """The image on another grid."""
    import SimpleITK as sitk

    shift = _whole_shift(image.grid, grid)
    if shift is not None:
        return Volume(_window(image.array, shift, grid.shape, outside=outside), grid)
    interpolator = {"bspline": sitk.sitkBSpline3, "linear": sitk.sitkLinear, "nearest": sitk.sitkNearestNeighbor}
    near = _near(image, grid)
    if interpolation != "nearest":
        near = Volume(near.array.astype(np.float32), near.grid)
    target = to_itk(Volume(np.zeros(grid.shape, dtype=np.uint8), grid))
    resampled = sitk.Resample(to_itk(near), target, sitk.Transform(), interpolator[interpolation], outside)
    return Volume(sitk.GetArrayFromImage(resampled).T, grid)


def _whole_shift(image: Grid, grid: Grid) -> NDArray[np.int_] | None:
    """By how many voxels a grid is shifted on the lattice of an image; None if it is not on that lattice."""
    index = np.linalg.solve(image.affine[:3, :3], grid.affine[:3, 3] - image.affine[:3, 3])
    steps = np.linalg.solve(image.affine[:3, :3], grid.affine[:3, :3])
    drift = (abs(steps - np.eye(3)) @ np.asarray(grid.shape)).max()
    shift = np.rint(index)
    aligned = abs(index - shift).max() + drift < _SAME_PLACE
    return shift.astype(int) if aligned else None


def _window(array: NDArray[Any], start: NDArray[np.int_], shape: tuple[int, ...], *, outside: float) -> NDArray[Any]:
    """A part of an array, which may reach over its border; of its type, if that can hold what is outside."""
    floor = np.iinfo(array.dtype).min if array.dtype.kind in "iu" else -np.inf
    window = np.full(shape, max(outside, floor), dtype=np.uint8 if array.dtype == np.bool_ else array.dtype)
    low, high = np.maximum(start, 0), np.minimum(start + shape, array.shape)
    if (low < high).all():
        there = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        here = tuple(slice(a, b) for a, b in zip(low - start, high - start, strict=True))
        window[here] = array[there]
    return window


def _near(image: Volume, grid: Grid) -> Volume:
    """What of an image can matter on a grid: a spline is fitted to all it is given, so giving it less saves time."""
    index = np.linalg.solve(image.grid.affine[:3, :3], (grid.corners() - image.grid.affine[:3, 3]).T)
    last = np.asarray(image.grid.shape) - 1
    low = np.clip(np.floor(index.min(axis=1)).astype(int) - _SPLINE_REACH, 0, last)
    high = np.clip(np.ceil(index.max(axis=1)).astype(int) + _SPLINE_REACH, 0, last) + 1
    part = image.array[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
    origin = image.grid.affine[:3, :3] @ low + image.grid.affine[:3, 3]
    return Volume(part, Grid(part.shape, image.grid.spacing, _triple(origin), image.grid.direction))


def _by(numbers: Triple) -> str:
    return " × ".join(f"{number:g}" for number in numbers)


def _triple(numbers: NDArray[Any]) -> Triple:
    return float(numbers[0]), float(numbers[1]), float(numbers[2])
