"""A CT series to a volume in Hounsfield units."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isocenter.problems import code_of_error
from isocenter.volumes._files import DiskFile, File
from isocenter.volumes._header import MAX_BYTES
from isocenter.volumes._read import Volume
from isocenter.volumes.dicom._dataset import DicomError, number, open_dataset, text
from isocenter.volumes.dicom._pixels import stored_pixels
from isocenter.volumes.dicom._stack import Irregular, Plane, plane_of, stack

# How far cosines, spacings and places of one series may differ by rounding.
_COSINE, _SPACING_MM, _PLACE_MM = 1e-3, 1e-3, 1e-3
# How far slices may be shifted against each other in their plane: what rounding does, and a tilted gantry exceeds.
_SHIFT_MM = 0.1


@dataclass(frozen=True)
class _Slice:
    name: str
    file: File
    series: str
    frame: str
    plane: Plane
    thickness: float
    size: tuple[int, int]


def read_ct(
    files: Iterable[str | os.PathLike[str] | File],
    *,
    irregular: Irregular = "refuse",
    slice_mm: float | None = None,
) -> Volume:
    """Read the slices of one CT series, in any order: stored integers × slope + intercept, HU, float32, (x, y, z).

    Slices are sorted along their normal. Two at one place, slices of different size, spacing, orientation or frame of
    reference and a stack that leans (a tilted gantry) are errors that name the files; unequal distances and missing
    slices are, too, unless `irregular` is "resample": then slices are interpolated linearly at the median distance.

    Parameters
    ----------
    files
        One file per slice; for a folder use `scan(folder).ct_series().files`.
    irregular
        What to do with slices at unequal distances: "refuse" or "resample".
    slice_mm
        Thickness of a single slice without SliceThickness.
    """
    opened = [DiskFile(Path(file)) if isinstance(file, str | os.PathLike) else file for file in files]
    if not opened:
        msg = "a CT series without files"
        raise DicomError(msg, code="bad_study")
    slices = [_header(file) for file in opened]
    first = slices[0]
    places = np.array([(one.plane.position - first.plane.position) @ first.plane.normal for one in slices])
    order = np.argsort(places, kind="stable")
    slices, places = [slices[i] for i in order], places[order]
    _check_same(slices, places)
    values = _read_all(slices)
    first = slices[0]
    return stack(
        values,
        places - places[0],
        first=first.plane,
        names=[one.name for one in slices],
        irregular=irregular,
        thickness=slice_mm if slice_mm is not None else first.thickness or None,
    )


def _header(file: File) -> _Slice:
    dataset = open_dataset(file)
    try:
        if text(dataset, "Modality") != "CT":
            msg = f"modality {text(dataset, 'Modality') or 'missing'}; CT was expected"
            raise DicomError(msg, code="bad_format")
        if number(dataset, "NumberOfFrames", default=1.0) != 1:
            msg = f"{number(dataset, 'NumberOfFrames'):g} frames in one file; a file per slice was expected"
            raise DicomError(msg, code="bad_shape")
        return _Slice(
            name=file.name,
            file=file,
            series=text(dataset, "SeriesInstanceUID"),
            frame=text(dataset, "FrameOfReferenceUID"),
            plane=plane_of(dataset),
            thickness=number(dataset, "SliceThickness", default=0.0),
            size=(int(number(dataset, "Columns")), int(number(dataset, "Rows"))),
        )
    except DicomError as error:
        msg = f"{file.name}: {error}"
        raise DicomError(msg, code=code_of_error(error)) from error


def _check_same(slices: Sequence[_Slice], places: NDArray[np.float64]) -> None:
    """All that keeps slices from being one stack, said at once."""
    first = slices[0]
    problems = []
    for one, place in zip(slices, places, strict=True):
        plane, other = one.plane, first.plane
        found = []
        if one.series != first.series:
            found.append(f"belongs to series {one.series}, not {first.series}")
        if one.frame != first.frame:
            found.append(f"lies in frame of reference {one.frame or 'unknown'}, not {first.frame or 'unknown'}")
        if one.size != first.size:
            found.append(f"has {one.size[0]}×{one.size[1]} pixels, not {first.size[0]}×{first.size[1]}")
        if np.abs(np.subtract(plane.spacing, other.spacing)).max() > _SPACING_MM:
            found.append(f"has pixels of {_mm(plane.spacing)}, not {_mm(other.spacing)}")
        if abs(plane.along_row - other.along_row).max() > _COSINE or (
            abs(plane.along_column - other.along_column).max() > _COSINE
        ):
            found.append("is oriented differently")
        else:
            shift = np.linalg.norm(plane.position - other.position - (place - places[0]) * other.normal)
            if shift > _SHIFT_MM:
                found.append(f"is shifted by {shift:.4g} mm in its plane; a stack that leans is not a regular grid")
        if found:
            problems.append(f"{one.name} {' and '.join(found)}")
    for k in np.flatnonzero(np.diff(places) <= _PLACE_MM).tolist():
        problems.append(f"{slices[k].name} and {slices[k + 1].name} lie at the same place")
    if problems:
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
        msg = f"the slices are not one CT, compared with {first.name}: {'; '.join(problems[:5])}{more}"
        raise DicomError(msg, code="bad_geometry")


def _read_all(slices: Sequence[_Slice]) -> NDArray[np.float32]:
    columns, rows = slices[0].size
    if len(slices) * rows * columns * 4 > MAX_BYTES:
        msg = f"{len(slices)} slices of {columns}×{rows} pixels would take more than {MAX_BYTES:,} bytes"
        raise DicomError(msg, code="too_large")
    values: NDArray[np.float32] | None = None
    for k, one in enumerate(slices):
        dataset = open_dataset(one.file, pixels=True)
        try:
            slope = number(dataset, "RescaleSlope", default=1.0)
            intercept = number(dataset, "RescaleIntercept")
            stored = stored_pixels(dataset)[0]
        except DicomError as error:
            msg = f"{one.name}: {error}"
            raise DicomError(msg, code=code_of_error(error)) from error
        if values is None:  # only now, as a first slice of the size it claims to have has been seen
            values = np.empty((len(slices), rows, columns), dtype=np.float32)
        if stored.shape != (rows, columns):
            msg = f"{one.name}: changed while it was read"
            raise DicomError(msg, code="damaged")
        with np.errstate(over="ignore"):
            values[k] = stored * slope + intercept
        if not np.isfinite(values[k]).all():
            msg = (
                f"{one.name}: values beyond all bounds, with RescaleSlope {slope:g} and RescaleIntercept {intercept:g}"
            )
            raise DicomError(msg, code="nan")
    assert values is not None
    return values


def _mm(spacing: tuple[float, float]) -> str:
    return f"{spacing[0]:.6g}×{spacing[1]:.6g} mm"
