"""RTDOSE to a volume in gray."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from isocenter.problems import code_of_error
from isocenter.volumes._files import DiskFile, File
from isocenter.volumes._read import Volume
from isocenter.volumes.dicom._dataset import DicomError, number, numbers, open_dataset, text
from isocenter.volumes.dicom._pixels import stored_pixels
from isocenter.volumes.dicom._stack import Irregular, Plane, plane_of, stack

if TYPE_CHECKING:
    from pydicom import Dataset

# Of coordinates that should be the same number, written with a few decimals.
_SAME_MM = 0.01


def read_dose(
    source: str | os.PathLike[str] | File,
    *,
    irregular: Irregular = "refuse",
    relative_unit_gy: float | None = None,
    slice_mm: float | None = None,
) -> Volume:
    """Read an RTDOSE: stored integers × DoseGridScaling, Gy, float64, axes (x, y, z).

    x runs along the rows, y along the columns and z along the normal, the cross product of both. Frames whose offsets
    descend are turned round, so that spacing is positive and the axes stay right-handed.

    Parameters
    ----------
    irregular
        What to do with frames at unequal distances: "refuse", or "resample" them linearly at the median distance.
    relative_unit_gy
        What a relative dose of 1 is in gray. A dose in units of RELATIVE is refused without it, and one in GY with it.
    slice_mm
        Thickness of a single frame without SliceThickness.

    Notes
    -----
    The offsets of frames, GridFrameOffsetVector, are relative and start at 0, or they are patient z coordinates and
    start at that of ImagePositionPatient, which is allowed for transverse planes. Any other start is an error.

    References
    ----------
    DICOM PS3.3 C.8.8.3, RT Dose Module.
    """
    file = DiskFile(Path(source)) if isinstance(source, str | os.PathLike) else source
    dataset = open_dataset(file, pixels=True)
    try:
        return _dose(dataset, irregular, relative_unit_gy, slice_mm)
    except DicomError as error:
        msg = f"{file.name}: {error}"
        raise DicomError(msg, code=code_of_error(error)) from error


def _dose(dataset: Dataset, irregular: Irregular, relative_unit_gy: float | None, slice_mm: float | None) -> Volume:
    if text(dataset, "Modality") != "RTDOSE":
        msg = f"modality {text(dataset, 'Modality') or 'missing'}; RTDOSE was expected"
        raise DicomError(msg, code="bad_format")
    scaling = _scaling(dataset, relative_unit_gy)
    stored = stored_pixels(dataset)
    plane = plane_of(dataset)
    places = _places(dataset, plane, len(stored))
    if len(places) > 1 and places[-1] < places[0]:
        stored, places = stored[::-1], places[::-1]
    if not (np.diff(places) > 0).all():
        msg = f"GridFrameOffsetVector neither ascends nor descends throughout: {_few(places)}"
        raise DicomError(msg, code="bad_geometry")
    if not np.isfinite(float(abs(stored.astype(np.float64)).max()) * scaling):
        msg = f"doses beyond all bounds, with DoseGridScaling {scaling:g}"
        raise DicomError(msg, code="nan")
    return stack(
        stored * scaling,
        places,
        first=plane,
        names=[f"{place:g} mm" for place in places],
        irregular=irregular,
        thickness=slice_mm if slice_mm is not None else number(dataset, "SliceThickness", default=0.0) or None,
    )


def _scaling(dataset: Dataset, relative_unit_gy: float | None) -> float:
    """What a stored 1 is in gray."""
    scaling = number(dataset, "DoseGridScaling")
    if not scaling > 0:
        msg = f"DoseGridScaling must be positive, not {scaling:g}"
        raise DicomError(msg, code="bad_values")
    units = text(dataset, "DoseUnits")
    if units == "GY" and relative_unit_gy is None:
        return scaling
    if units == "RELATIVE" and relative_unit_gy is not None and 0 < relative_unit_gy < np.inf:
        return scaling * relative_unit_gy
    known = {
        "GY": "DoseUnits is GY, but a relative unit was given; leave it out",
        "RELATIVE": "DoseUnits is RELATIVE; GY was expected. Export the dose in gray; or, from Python only, say with "
        "relative_unit_gy of read_dose what a relative dose of 1 is in gray",
    }
    raise DicomError(
        known.get(units, f"DoseUnits is {units or 'missing'}; GY or RELATIVE was expected"), code="bad_format"
    )


def _places(dataset: Dataset, plane: Plane, frames: int) -> NDArray[np.float64]:
    """Where the frames lie along the normal, mm from the first."""
    offsets = numbers(dataset, "GridFrameOffsetVector")
    if frames == 1 and offsets.size <= 1:
        return np.zeros(1)
    if offsets.size != frames:
        msg = f"GridFrameOffsetVector has {offsets.size or 'no'} values for {frames} frames"
        raise DicomError(msg, code="bad_geometry")
    if abs(offsets[0]) <= 1e-6:
        return np.asarray(offsets - offsets[0])
    if abs(offsets[0] - plane.position[2]) > _SAME_MM:
        msg = (
            f"GridFrameOffsetVector starts at {offsets[0]:g}; 0 (relative) or {plane.position[2]:g} "
            "(the z coordinate of ImagePositionPatient) was expected"
        )
        raise DicomError(msg, code="bad_geometry")
    if abs(abs(plane.normal[2]) - 1) > 1e-4:
        msg = "GridFrameOffsetVector holds z coordinates, which have a meaning only for transverse planes"
        raise DicomError(msg, code="bad_geometry")
    return np.asarray((offsets - offsets[0]) * np.sign(plane.normal[2]))


def _few(values: NDArray[np.float64]) -> str:
    shown = ", ".join(f"{value:g}" for value in values[:6])
    return f"{shown}, …" if len(values) > 6 else shown
