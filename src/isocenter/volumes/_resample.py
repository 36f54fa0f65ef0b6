"""Bringing a volume onto another grid. Never done silently: whoever asks for it records it with the result."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.volumes._grid import Grid
from isocenter.volumes._read import Volume


def resample(volume: Volume, grid: Grid, *, interpolation: Literal["nearest", "linear"]) -> Volume:
    """The volume as it looks on another grid; 0 outside of it.

    Labels need "nearest", which keeps them labels; there and back it still moves boundaries by up to half a voxel.
    """
    import SimpleITK as sitk

    interpolator = {"nearest": sitk.sitkNearestNeighbor, "linear": sitk.sitkLinear}[interpolation]
    target = to_itk(Volume(np.zeros(grid.shape, dtype=np.uint8), grid))
    image = sitk.Resample(to_itk(volume), target, sitk.Transform(), interpolator, 0.0)
    return Volume(sitk.GetArrayFromImage(image).T, grid)


def to_itk(volume: Volume) -> Any:
    """The volume as a SimpleITK image, whose arrays have axes (z, y, x)."""
    import SimpleITK as sitk

    array: NDArray[Any] = volume.array
    image = sitk.GetImageFromArray(np.ascontiguousarray(array.T.astype(np.uint8) if array.dtype == bool else array.T))
    image.SetSpacing(volume.grid.spacing)
    image.SetOrigin(volume.grid.origin)
    image.SetDirection(_orthonormal(volume.grid.direction))
    return image


def _orthonormal(direction: tuple[float, ...]) -> list[float]:
    """The nearest exact rotation or reflection: ITK refuses cosines that a single-precision header has rounded."""
    left, _, right = np.linalg.svd(np.asarray(direction).reshape(3, 3))
    return [float(v) for v in (left @ right).ravel()]
