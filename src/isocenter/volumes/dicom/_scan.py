"""Looking through a folder or zip of DICOM files of a stranger."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from isocenter.volumes._files import File
from isocenter.volumes.dicom._dataset import (
    AmbiguousStudyError,
    DicomError,
    NotDicomError,
    items,
    number,
    open_dataset,
    text,
)
from isocenter.volumes.dicom._listing import list_study
from isocenter.volumes.dicom._study import CtSeries, Dose, Item, Plan, Structures, Study

if TYPE_CHECKING:
    from pydicom import Dataset

_TAGS = (
    "SpecificCharacterSet",
    "ImageType",
    "SOPInstanceUID",
    "Modality",
    "PatientID",
    "SeriesInstanceUID",
    "SeriesDescription",
    "FrameOfReferenceUID",
    "DoseUnits",
    "DoseType",
    "DoseSummationType",
    "ReferencedRTPlanSequence",
    "ReferencedStructureSetSequence",
    "StructureSetLabel",
    "ReferencedFrameOfReferenceSequence",
    "RTPlanLabel",
    "DoseReferenceSequence",
)
_SUFFIXES = (".dcm", ".dicom", ".ima")


def scan(path: str | os.PathLike[str], *, patient: str | None = None) -> Study:
    """Look through a folder or a zip of DICOM files, in any arrangement.

    Only headers are read. Files that are not DICOM, of other modalities, damaged or behind a symbolic link are passed
    over and leave a remark; so does the second of two files with one SOPInstanceUID. Files without the preamble are
    read if they start as DICOM does.

    Parameters
    ----------
    patient
        The PatientID to keep. Without it, objects of several patients are an `AmbiguousStudyError`. What has no
        PatientID at all belongs to any.

    Raises
    ------
    DicomError
        If the path is neither folder nor sound zip, or holds no CT, RTDOSE, RTSTRUCT or RTPLAN.
    """
    path = Path(path)
    files, remarks = list_study(path)
    found = _Collected(remarks)
    for name, file in files:
        found.add(name, file)
    return found.study(path.name or str(path), patient)


class _Collected:
    """Objects by kind, as they are found."""

    def __init__(self, remarks: list[str]) -> None:
        self.remarks = remarks
        self.damaged: list[str] = []
        self.passed: Counter[str] = Counter()
        self.seen: dict[str, str] = {}
        self.slices: list[tuple[Item, str, str]] = []
        self.doses: list[Dose] = []
        self.structures: list[Structures] = []
        self.plans: list[Plan] = []

    def add(self, name: str, file: File) -> None:
        """Read the header of a file and put it where it belongs."""
        try:
            dataset = open_dataset(file, tags=_TAGS)
            modality = text(dataset, "Modality")
            if not modality:
                self.damaged.append(f"{name}: passed over: has no modality")
            elif modality not in ("CT", "RTDOSE", "RTSTRUCT", "RTPLAN"):
                self.passed[f"of modality {modality}"] += 1
            elif modality == "CT" and "LOCALIZER" in text(dataset, "ImageType").split("\\"):
                self.passed["of CT localizers"] += 1
            else:
                self._keep(modality, _item(name, file, dataset), dataset)
        except NotDicomError:
            if name.lower().endswith(_SUFFIXES):
                self.damaged.append(f"{name}: passed over: named as DICOM, but its {file.size():,} bytes are not")
            else:
                self.passed["not in DICOM"] += 1
        except DicomError as error:
            self.damaged.append(f"{name}: passed over: {error}")
        except OSError as error:
            self.damaged.append(f"{name}: passed over: cannot be read: {error.strerror or error}")

    def _keep(self, modality: str, item: Item, dataset: Dataset) -> None:
        first = self.seen.setdefault(item.uid, item.name)
        if first != item.name:
            self.remarks.append(f"{item.name}: passed over: has the SOPInstanceUID of {first}")
            return
        common = vars(item)
        match modality:
            case "CT":
                self.slices.append((item, text(dataset, "SeriesInstanceUID"), text(dataset, "SeriesDescription")))
            case "RTDOSE":
                kinds = [text(dataset, key) for key in ("DoseUnits", "DoseType", "DoseSummationType")]
                self.doses.append(Dose(**common, units=kinds[0], type=kinds[1], summation=kinds[2]))
            case "RTSTRUCT":
                self.structures.append(Structures(**common, label=text(dataset, "StructureSetLabel")))
            case _:
                self.plans.append(
                    Plan(**common, label=text(dataset, "RTPlanLabel"), prescriptions=_prescriptions(dataset))
                )

    def study(self, name: str, patient: str | None) -> Study:
        """All that was found, of one patient."""
        every: list[Item] = [*(one for one, _, _ in self.slices), *self.doses, *self.structures, *self.plans]
        self.remarks += self.damaged
        self.remarks += [
            f"{count} file{'s' * (count > 1)} {what} passed over" for what, count in sorted(self.passed.items())
        ]
        if not every:
            told = f"; {'; '.join(self.remarks[:5])}" if self.remarks else ""
            msg = f"{name}: no CT, RTDOSE, RTSTRUCT or RTPLAN was found{told}"
            raise DicomError(msg, code="bad_study")
        patients = sorted({one.patient for one in every} - {""}) or [""]
        if patient is not None and patient not in patients:
            msg = f"{name}: no patient {patient!r}; there is {', '.join(map(repr, patients))}"
            raise DicomError(msg, code="bad_study")
        if patient is None and len(patients) > 1:
            msg = f"{name} holds {len(patients)} patients; choose one by its ID: {', '.join(map(repr, patients))}"
            raise AmbiguousStudyError(msg, code="bad_study")
        mine = (patients[0] if patient is None else patient, "")
        return Study(
            name=name,
            ct=_series([one for one in self.slices if one[0].patient in mine]),
            doses=tuple(one for one in self.doses if one.patient in mine),
            structures=tuple(one for one in self.structures if one.patient in mine),
            plans=tuple(one for one in self.plans if one.patient in mine),
            remarks=tuple(self.remarks),
            damaged=tuple(self.damaged),
        )


def _series(slices: list[tuple[Item, str, str]]) -> tuple[CtSeries, ...]:
    by_uid: dict[str, list[tuple[Item, str]]] = {}
    for item, series, description in slices:
        by_uid.setdefault(series, []).append((item, description))
    return tuple(
        CtSeries(
            uid=uid,
            description=members[0][1],
            patient=members[0][0].patient,
            frame=min(members[0][0].frames, default=""),
            names=tuple(item.name for item, _ in members),
            files=tuple(item.file for item, _ in members),
        )
        for uid, members in by_uid.items()
    )


def _item(name: str, file: File, dataset: Dataset) -> Item:
    uid = text(dataset, "SOPInstanceUID")
    if not uid:
        msg = "SOPInstanceUID is missing"
        raise DicomError(msg, code="bad_format")
    frames = [text(dataset, "FrameOfReferenceUID")]
    frames += [text(one, "FrameOfReferenceUID") for one in items(dataset, "ReferencedFrameOfReferenceSequence")]
    referred = [*items(dataset, "ReferencedRTPlanSequence"), *items(dataset, "ReferencedStructureSetSequence")]
    return Item(
        name=name,
        file=file,
        uid=uid,
        patient=text(dataset, "PatientID"),
        frames=frozenset(frame for frame in frames if frame),
        references=frozenset(text(one, "ReferencedSOPInstanceUID") for one in referred) - {""},
    )


def _prescriptions(dataset: Dataset) -> tuple[float, ...]:
    found = {
        number(one, "TargetPrescriptionDose", default=0.0)
        for one in items(dataset, "DoseReferenceSequence")
        if text(one, "DoseReferenceType") == "TARGET"
    }
    return tuple(sorted((dose for dose in found if dose > 0), reverse=True))
