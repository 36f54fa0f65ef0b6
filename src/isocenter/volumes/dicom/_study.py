"""The objects of a DICOM study, and which of them belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from isocenter.volumes._files import File
from isocenter.volumes.dicom._dataset import AmbiguousStudyError, DicomError


@dataclass(frozen=True)
class Item:
    """An RTDOSE, RTSTRUCT or RTPLAN of a study.

    Attributes
    ----------
    name, file
        Its name within the study, and what to read.
    uid
        SOPInstanceUID.
    patient
        PatientID.
    frames
        The frames of reference in which it lies, FrameOfReferenceUID; a structure set may have several.
    references
        SOPInstanceUIDs of the plans and structure sets that it refers to.
    """

    name: str
    file: File
    uid: str
    patient: str
    frames: frozenset[str]
    references: frozenset[str]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Dose(Item):
    """An RTDOSE: units (GY, RELATIVE), type (PHYSICAL, EFFECTIVE, ERROR) and what was summed (PLAN, BEAM, …)."""

    units: str = ""
    type: str = ""
    summation: str = ""

    def __str__(self) -> str:
        kinds = (self.summation or "unknown", self.type or "unknown type", self.units or "no units")
        return f"{self.name} ({kinds[0]} sum, {kinds[1]}, {kinds[2]})"


@dataclass(frozen=True)
class Structures(Item):
    """An RTSTRUCT and its label."""

    label: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.label})" if self.label else self.name


@dataclass(frozen=True)
class Plan(Item):
    """An RTPLAN, its label and the doses that it prescribes to targets, Gy, highest first."""

    label: str = ""
    prescriptions: tuple[float, ...] = ()

    @property
    def prescription(self) -> float | None:
        """The highest dose prescribed to a target, Gy; None if the plan has none."""
        return self.prescriptions[0] if self.prescriptions else None


@dataclass(frozen=True)
class CtSeries:
    """The files of a CT series, one per slice, in no order; `read_ct` takes `files`."""

    uid: str
    description: str
    patient: str
    frame: str
    names: tuple[str, ...]
    files: tuple[File, ...]

    def __str__(self) -> str:
        return f"{self.uid} ({len(self.files)} slices{', ' if self.description else ''}{self.description})"


@dataclass(frozen=True)
class Matched:
    """What belongs together: a dose, the structures in its frame of reference, its plan if it is there."""

    dose: Dose
    structures: Structures
    plan: Plan | None


_Found = TypeVar("_Found", Dose, Structures, Plan, CtSeries)


@dataclass(frozen=True)
class Study:
    """The readable DICOM objects of a folder or zip. Nothing but headers has been read."""

    name: str
    ct: tuple[CtSeries, ...]
    doses: tuple[Dose, ...]
    structures: tuple[Structures, ...]
    plans: tuple[Plan, ...]
    remarks: tuple[str, ...] = ()
    """What was passed over, and why: other files, other modalities, links, damaged and doubled files."""
    damaged: tuple[str, ...] = ()
    """Those of the remarks that are on files which look like DICOM and cannot be read; what is missing may be there."""

    def ct_series(self, which: str | None = None) -> CtSeries:
        """The CT series; of several, the one whose UID or description is `which`."""
        return self._one(self.ct, which, "CT series", lambda one: (one.uid, one.description))

    def dose(self, which: str | None = None) -> Dose:
        """The dose; of several, the one whose file name, UID or summation type (PLAN, BEAM, …) is `which`."""
        return self._one(self.doses, which, "dose", lambda one: (one.name, one.file.name, one.uid, one.summation))

    def structure_set(self, which: str | None = None) -> Structures:
        """The structure set; of several, the one whose file name, UID or label is `which`."""
        return self._one(
            self.structures, which, "structure set", lambda one: (one.name, one.file.name, one.uid, one.label)
        )

    def match(self, *, dose: str | None = None, structures: str | None = None) -> Matched:
        """A dose with the structure set in its frame of reference and the plan that it refers to.

        Of several structure sets in that frame, the one to which the dose or its plan refers is taken. Whatever remains
        open is an `AmbiguousStudyError`, unless chosen by name as in `dose` and `structure_set`. A structure set chosen
        by name must still be in the frame of the dose.
        """
        found = self.dose(dose)
        plans = [plan for plan in self.plans if plan.uid in found.references]
        if not found.references and len(self.plans) == 1:
            plans = list(self.plans)
        plan = plans[0] if len(plans) == 1 else None
        candidates = self.structures if structures is None else (self.structure_set(structures),)
        if not candidates:
            return Matched(found, self.structure_set(), plan)
        within = [one for one in candidates if one.frames & found.frames]
        if not within:
            msg = (
                f"{self.name}: no structure set lies in the frame of reference of {found.name} "
                f"({', '.join(sorted(found.frames)) or 'none'}): {'; '.join(str(one) for one in candidates)}"
            )
            raise DicomError(msg, code="bad_study")
        referred = found.references | (plan.references if plan else frozenset())
        preferred = [one for one in within if one.uid in referred] or within
        return Matched(found, self._one(preferred, None, "structure set in the dose's frame of reference"), plan)

    def _one(
        self,
        candidates: Sequence[_Found],
        which: str | None,
        what: str,
        names: Callable[[_Found], Iterable[str]] = lambda _: (),
    ) -> _Found:
        chosen = [one for one in candidates if which is None or which in names(one)]
        if len(chosen) == 1:
            return chosen[0]
        listed = "; ".join(str(one) for one in candidates) or "none"
        if chosen:
            msg = f"{self.name} holds {len(chosen)} candidates for the {what}; choose one by name: {listed}"
            raise AmbiguousStudyError(msg, code="bad_study")
        wanted = what if which is None else f"{what} {which!r}"
        msg = f"{self.name} holds no {wanted}" + (f"; there is: {listed}" if listed != "none" else "")
        if self.damaged:
            more = f"; and {len(self.damaged) - 5} more" if len(self.damaged) > 5 else ""
            msg += f"; perhaps it is what could not be read: {'; '.join(self.damaged[:5])}{more}"
        raise DicomError(msg, code="bad_study")
