"""RTSTRUCT: the contours of every region of interest (ROI), as drawn."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from isocenter.problems import code_of_error
from isocenter.volumes._files import DiskFile, File
from isocenter.volumes.dicom._dataset import AmbiguousStudyError, DicomError, items, number, numbers, open_dataset, text

if TYPE_CHECKING:
    from pydicom import Dataset

# XOR marks a contour that is combined with the others on its plane by exclusive or, which is what is done anyway.
_AREAS = ("CLOSED_PLANAR", "CLOSEDPLANAR_XOR")
# Planes closer together than this are one; no scanner has thinner slices.
SAME_PLANE_MM = 0.05
_FURTHEST_MM = 1e5


@dataclass(frozen=True, eq=False)
class Roi:
    """A region of interest.

    Attributes
    ----------
    number, name
        As in the file; the number is unique in a structure set, the name need not be.
    label
        The name, with the number where another ROI has the same name: ``"PTV (ROI 7)"``.
    contours
        Closed contours, each n×3 LPS millimetres.
    spacing_mm
        Usual distance of the planes on which it is drawn; None if nothing in the structure set tells.
    kind
        RTROIInterpretedType, such as PTV, ORGAN or EXTERNAL; "" if unknown.
    frame
        The frame of reference of its coordinates, ReferencedFrameOfReferenceUID; a structure set may have several.
    remarks
        What was left out, in words.
    problem
        What is wrong with a contour, "" if nothing is. Then there are no contours, and to paint it is an error.
    """

    number: int
    name: str
    label: str
    contours: tuple[NDArray[np.float64], ...] = field(repr=False)
    spacing_mm: float | None = None
    kind: str = ""
    frame: str = ""
    remarks: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, eq=False)
class StructureSet:
    """The ROIs of an RTSTRUCT, in its order; ``structures["PTV70"]`` or ``structures[7]`` finds one."""

    name: str
    rois: tuple[Roi, ...]

    def __getitem__(self, key: str | int) -> Roi:
        found = [roi for roi in self.rois if key in (roi.number, roi.label)] or [
            roi for roi in self.rois if roi.name == key
        ]
        if len(found) == 1:
            return found[0]
        if not found:
            msg = f"{self.name} has no structure {key!r}; it has {', '.join(roi.label for roi in self.rois) or 'none'}"
            raise DicomError(msg, code="bad_study")
        msg = f"{self.name} has {len(found)} structures {key!r}: {', '.join(roi.label for roi in found)}"
        raise AmbiguousStudyError(msg, code="bad_study")

    def __iter__(self) -> Iterator[Roi]:
        return iter(self.rois)

    def __len__(self) -> int:
        return len(self.rois)


def read_structures(source: str | os.PathLike[str] | File) -> StructureSet:
    """Read an RTSTRUCT.

    Points and open contours enclose nothing and are left out, as are contours of fewer than three points and a contour
    that stands there twice on one plane (drawn twice it would erase itself); each leaves a remark with its ROI. An ROI
    without any contour is kept, empty. So is one with a contour that cannot be read; its `problem` says why, and the
    others are as good as before. What is wrong with the file as a whole is an error.

    References
    ----------
    DICOM PS3.3 C.8.8.6, ROI Contour Module.
    """
    file = DiskFile(Path(source)) if isinstance(source, str | os.PathLike) else source
    dataset = open_dataset(file)
    try:
        return StructureSet(text(dataset, "StructureSetLabel") or file.name, _rois(dataset))
    except DicomError as error:
        msg = f"{file.name}: {error}"
        raise DicomError(msg, code=code_of_error(error)) from error


def _rois(dataset: Dataset) -> tuple[Roi, ...]:
    if text(dataset, "Modality") != "RTSTRUCT":
        msg = f"modality {text(dataset, 'Modality') or 'missing'}; RTSTRUCT was expected"
        raise DicomError(msg, code="bad_format")
    listed = items(dataset, "StructureSetROISequence")
    named = [(int(number(item, "ROINumber")), text(item, "ROIName")) for item in listed]
    if twice := [n for n, count in Counter(n for n, _ in named).items() if count > 1]:
        msg = f"ROI number {twice[0]} stands in StructureSetROISequence twice"
        raise DicomError(msg, code="bad_format")
    names = dict(named)
    frames = {n: text(item, "ReferencedFrameOfReferenceUID") for (n, _), item in zip(named, listed, strict=True)}
    drawn: dict[int, tuple[list[NDArray[np.float64]], list[str]]] = {n: ([], []) for n in names}
    problems: dict[int, str] = {}
    for item in items(dataset, "ROIContourSequence"):
        roi = int(number(item, "ReferencedROINumber"))
        if roi not in names:
            msg = f"contours of ROI {roi}, which StructureSetROISequence does not name"
            raise DicomError(msg, code="bad_format")
        try:
            _add_contours(item, *drawn[roi])
        except DicomError as error:
            problems.setdefault(roi, str(error))
    kinds = {
        int(number(item, "ReferencedROINumber")): text(item, "RTROIInterpretedType")
        for item in items(dataset, "RTROIObservationsSequence")
    }
    many = Counter(names.values())
    found = [
        Roi(
            number=roi,
            name=name,
            label=f"{name} (ROI {roi})" if many[name] > 1 or not name else name,
            contours=() if roi in problems else tuple(drawn[roi][0]),
            kind=kinds.get(roi, ""),
            frame=frames[roi],
            remarks=tuple(drawn[roi][1] if drawn[roi][0] else (*drawn[roi][1], "has no closed contour")),
            problem=problems.get(roi, ""),
        )
        for roi, name in names.items()
    ]
    return _with_spacing(found)


def _add_contours(item: Dataset, contours: list[NDArray[np.float64]], remarks: list[str]) -> None:
    """Collect the closed contours of an ROI, and remarks on what is left out."""
    left_out: Counter[str] = Counter()
    seen: set[bytes] = set()
    for contour in items(item, "ContourSequence"):
        kind = text(contour, "ContourGeometricType")
        if kind not in _AREAS:
            left_out[f"of type {kind or 'unknown'}"] += 1
            continue
        data = numbers(contour, "ContourData")
        if data.size % 3:
            msg = f"ContourData with {data.size} numbers, which are not triples"
            raise DicomError(msg, code="bad_format")
        points = data.reshape(-1, 3)
        if (abs(points) > _FURTHEST_MM).any():
            msg = f"a contour point {abs(points).max():.3g} mm away from the origin"
            raise DicomError(msg, code="bad_geometry")
        if len(np.unique(points, axis=0)) < 3:
            left_out["of fewer than three points"] += 1
        elif (key := _shape(points)) in seen:
            left_out["drawn twice"] += 1
        else:
            seen.add(key)
            contours.append(points)
    remarks += [f"{count} contour{'s' * (count > 1)} {kind} left out" for kind, count in left_out.items()]


def _shape(points: NDArray[np.float64]) -> bytes:
    """The same for the same closed contour, wherever it starts and whichever way it runs."""
    ring = points[:-1] if (points[0] == points[-1]).all() else points
    turned = [np.roll(way, -int(np.lexsort(way.T)[0]), axis=0) for way in (ring, ring[::-1])]
    return min(np.ascontiguousarray(way).tobytes() for way in turned)


def _with_spacing(rois: list[Roi]) -> tuple[Roi, ...]:
    """Tell every ROI how far apart its planes usually are.

    That is the lower median of its distances. One or two planes tell little: there the lower median of the whole
    structure set decides, unless two planes are no further apart than twice that.
    """
    largest = max((contour for roi in rois for contour in roi.contours), key=_twice_area, default=None)
    if largest is None:
        return tuple(rois)
    normal = _area_vector(largest)
    normal = normal / (np.linalg.norm(normal) or 1.0)
    steps = [_steps(np.array([contour.mean(axis=0) @ normal for contour in roi.contours])) for roi in rois]
    usual = _lower_median(np.concatenate(steps))
    spacings = [
        _lower_median(own) if own.size > 1 or (own.size == 1 and usual is not None and own[0] <= 2 * usual) else usual
        for own in steps
    ]
    return tuple(replace(roi, spacing_mm=spacing) for roi, spacing in zip(rois, spacings, strict=True))


def _steps(places: NDArray[np.float64]) -> NDArray[np.float64]:
    steps = np.diff(np.sort(places))
    return np.asarray(steps[steps > SAME_PLANE_MM])


def _lower_median(values: NDArray[np.float64]) -> float | None:
    return float(np.sort(values)[(values.size - 1) // 2]) if values.size else None


def _area_vector(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Twice the area of a polygon, along its normal (Newell)."""
    centred = points - points.mean(axis=0)
    return np.asarray(np.cross(centred, np.roll(centred, -1, axis=0)).sum(axis=0))


def _twice_area(points: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(_area_vector(points)))
