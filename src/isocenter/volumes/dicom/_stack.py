"""Planes of pixels that lie on top of each other, and the regular grid they make.

A DICOM plane has rows along `ImageOrientationPatient[:3]` and columns along `ImageOrientationPatient[3:]`;
`PixelSpacing` is the distance of rows first, then of columns. So the first array axis here (x, the column index) has
the second spacing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.volumes._grid import Grid
from isocenter.volumes._header import MAX_BYTES
from isocenter.volumes._read import Volume
from isocenter.volumes.dicom._dataset import DicomError, exactly

if TYPE_CHECKING:
    from pydicom import Dataset

Irregular = Literal["refuse", "resample"]
"""What becomes of planes at unequal distances: an error, or linear interpolation onto equal ones."""

# Positions are often written with one decimal; a plane may lie this part of the spacing, or this much, off its place.
_OFF_PART, _OFF_MM = 0.05, 0.01


@dataclass(frozen=True)
class Plane:
    """Where the pixels of one plane lie: LPS millimetres of the first pixel's centre, unit vectors, distances."""

    position: NDArray[np.float64]
    along_row: NDArray[np.float64]
    along_column: NDArray[np.float64]
    spacing: tuple[float, float]
    """Distance of columns (along a row), then of rows: the order of the array axes, not that of PixelSpacing."""

    @property
    def normal(self) -> NDArray[np.float64]:
        """The cross product of the row and the column direction."""
        return np.cross(self.along_row, self.along_column)


def plane_of(dataset: Dataset) -> Plane:
    """The plane of an image or of the first frame of a dose."""
    cosines = exactly(dataset, "ImageOrientationPatient", 6)
    row, column = cosines[:3], cosines[3:]
    if abs(row @ row - 1) > 2e-3 or abs(column @ column - 1) > 2e-3 or abs(row @ column) > 1e-3:
        msg = f"ImageOrientationPatient is not made of two perpendicular unit vectors: {cosines.tolist()}"
        raise DicomError(msg, code="bad_geometry")
    between_rows, between_columns = exactly(dataset, "PixelSpacing", 2)
    if not (between_rows > 0 and between_columns > 0):
        msg = f"PixelSpacing must be positive, not {between_rows:g}, {between_columns:g}"
        raise DicomError(msg, code="bad_geometry")
    position = exactly(dataset, "ImagePositionPatient", 3)
    return Plane(position, _unit(row), _unit(column), (float(between_columns), float(between_rows)))


def stack(
    frames: NDArray[Any],
    places: NDArray[np.float64],
    *,
    first: Plane,
    names: Sequence[str],
    irregular: Irregular,
    thickness: float | None,
) -> Volume:
    """A volume from frames × rows × columns whose places along the normal ascend.

    Parameters
    ----------
    places
        Distance of every frame from `first.position` along the normal, mm, ascending.
    names
        What each frame is called in an error.
    thickness
        Extent of a single frame along the normal, mm; of several it follows from their places.
    """
    if len(places) == 1:
        if thickness is None or not thickness > 0:
            msg = "a single plane has no extent along its normal: SliceThickness is missing, and slice_mm was not given"
            raise DicomError(msg, code="bad_geometry")
        step = float(thickness)
    else:
        step = float(places[-1] - places[0]) / (len(places) - 1)
        steps = np.diff(places)
        off = abs(places - (places[0] + step * np.arange(len(places))))
        if not (steps > 0).all() or off.max() > max(_OFF_MM, _OFF_PART * step):
            if irregular == "refuse" or not (steps > 0).all():
                raise DicomError(_irregularity(steps, names), code="bad_geometry")
            frames, step = _equidistant(frames, places)
    position = first.position + places[0] * first.normal
    direction = np.column_stack([first.along_row, first.along_column, first.normal])
    try:
        grid = Grid(
            shape=(frames.shape[2], frames.shape[1], frames.shape[0]),
            spacing=(*first.spacing, step),
            origin=tuple(position.tolist()),
            direction=tuple(direction.ravel().tolist()),
        )
    except ValueError as error:
        raise DicomError(str(error), code="bad_geometry") from error
    return Volume(frames.transpose(2, 1, 0), grid)


def _irregularity(steps: NDArray[np.float64], names: Sequence[str]) -> str:
    usual = float(np.median(steps))
    odd = [k for k in range(len(steps)) if abs(steps[k] - usual) > max(_OFF_MM, _OFF_PART * usual)] or [0]
    told = "; ".join(f"{steps[k]:.4g} mm between {names[k]} and {names[k + 1]}" for k in odd[:3])
    more = f" and {len(odd) - 3} more" if len(odd) > 3 else ""
    return (
        f"{len(names)} planes at unequal distances, usually {usual:.4g} mm, but {told}{more}; "
        'irregular="resample" interpolates linearly onto equal ones'
    )


def _equidistant(frames: NDArray[Any], places: NDArray[np.float64]) -> tuple[NDArray[Any], float]:
    """Linear interpolation between the first and the last plane, at the usual distance or slightly less or more.

    The distance is the median one, changed so that both ends are planes: nothing is cut off and nothing made up.
    """
    extent = float(places[-1] - places[0])
    count = max(1, round(extent / float(np.median(np.diff(places)))))
    wanted = places[0] + np.arange(count + 1) * (extent / count)
    if (count + 1) * frames[0].size * 8 > MAX_BYTES:
        msg = f"{count + 1} planes of {frames[0].size:,} pixels would take more than {MAX_BYTES:,} bytes"
        raise DicomError(msg, code="too_large")
    below = np.clip(np.searchsorted(places, wanted, side="right") - 1, 0, len(places) - 2)
    share = (wanted - places[below]) / (places[below + 1] - places[below])
    values = np.empty((count + 1, *frames.shape[1:]), dtype=frames.dtype)
    for k, (i, w) in enumerate(zip(below, np.clip(share, 0.0, 1.0), strict=True)):
        values[k] = frames[i] + (frames[i + 1] - frames[i]) * w
    return values, extent / count


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    unit: NDArray[np.float64] = vector / np.linalg.norm(vector)
    return unit
