"""Where the histograms of `isocenter dvh` come from: a DICOM study, or a dose and a mask per structure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from isocenter.metrics.dvh import DVH, Rule
    from isocenter.volumes import Volume
    from isocenter.volumes.dicom import Irregular, Roi, StructureSet


@dataclass
class Found:
    """What a study or a folder gave: histograms by structure, and words on the way there."""

    source: str
    prescription: float | None = None
    prescribed: str = "Without a prescription."
    boundary: str = "The voxels of masks count whole."
    dvhs: dict[str, DVH] = field(default_factory=dict)
    targets: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Which:
    """What is meant in a study, and how to read it."""

    dose: str | None
    structures: str | None
    patient: str | None
    irregular: Irregular
    rule: Rule


def from_study(path: Path, which: Which, wanted: Sequence[str]) -> Found:
    """Histograms on the grid of the dose; a structure that cannot be painted costs only itself."""
    from isocenter.problems import printable
    from isocenter.volumes import dicom

    study = dicom.scan(path, patient=which.patient)
    matched = study.match(dose=which.dose, structures=which.structures)
    if matched.dose.type == "ERROR":
        msg = f"{matched.dose}: a dose of type ERROR is a difference of doses, of which there is no histogram"
        raise dicom.DicomError(msg, code="bad_format")
    dose = dicom.read_dose(matched.dose.file, irregular=which.irregular)
    drawn = dicom.read_structures(matched.structures.file)
    rois = [_named(drawn, name) for name in wanted] or [roi for roi in drawn if roi.contours or roi.problem]
    found = Found(printable(study.name))
    found.boundary = (
        "Voxels on the boundary of contours count with the part that is inside."
        if which.rule == "partial-volume"
        else "Voxels count whole if their centres are inside the contours."
    )
    found.notes.append(printable(f"Dose: {matched.dose}. Structures: {matched.structures}."))
    if matched.plan is not None and (levels := matched.plan.prescriptions):
        found.prescription = levels[0]
        told = f", the highest of {', '.join(f'{level:g}' for level in levels)}" if len(levels) > 1 else ""
        found.prescribed = printable(f"Prescription {levels[0]:g} Gy{told}, from {matched.plan.name}.")
    if not wanted and (empty := [roi.label for roi in drawn if not (roi.contours or roi.problem)]):
        found.notes.append(printable(f"Without a closed contour, not shown: {', '.join(empty)}."))
    if matched.dose.type == "EFFECTIVE":
        found.notes.append("The dose is biologically effective, not physical.")
    found.notes += [printable(f"{remark}.") for remark in study.remarks]
    for roi in rois:
        name = printable(roi.label)
        if roi.frame and roi.frame not in matched.dose.frames:
            found.problems.append(printable(f"Not shown: {roi.label!r} is drawn in another frame of reference"))
            continue
        try:
            found.dvhs[name], remarks = _painted(roi, dose, which.rule)
        except dicom.DicomError as error:
            found.problems.append(printable(f"Not shown: {error}"))
            continue
        found.notes += [printable(f"{roi.label}: {remark}.") for remark in remarks]
        _tell_outside(found, name, asked_for=bool(wanted))
        if roi.kind == "PTV" or roi.name.upper().startswith("PTV"):
            found.targets.add(name)
    return found


def _painted(roi: Roi, dose: Volume, rule: Rule) -> tuple[DVH, Sequence[str]]:
    from isocenter.metrics.dvh import dvh_of
    from isocenter.volumes import dicom

    parts = rule == "partial-volume"
    painted = dicom.partial_volumes(roi, dose.grid) if parts else dicom.roi_mask(roi, dose.grid)
    inside = painted.weights > 0
    weights = painted.weights[inside] if parts else None
    histogram = dvh_of(dose.array[inside], voxel_volume=dose.grid.voxel_volume, weights=weights)
    return replace(histogram, outside=painted.outside), painted.remarks


def _tell_outside(found: Found, name: str, *, asked_for: bool) -> None:
    """Say how much of a structure has no dose; one that was asked for by name and has none at all is a problem."""
    share = found.dvhs[name].outside
    if share >= 1:
        text = f"{name} lies outside the dose grid as a whole: it has no dose to be read."
        (found.problems if asked_for else found.notes).append(text)
    elif share > 0:
        shown = f"{share:.1%}" if share >= 0.001 else "less than 0.1%"
        found.notes.append(f"{name}: {shown} lie outside the dose grid and are left out.")


def _named(drawn: StructureSet, name: str) -> Roi:
    from isocenter.problems import printable
    from isocenter.volumes.dicom import DicomError

    try:
        return drawn[name]
    except DicomError as error:
        raise typer.BadParameter(printable(str(error)), param_hint="--structure") from None


def from_files(dose: str | None, structures: str | None, wanted: Sequence[str]) -> Found:
    """Histograms of the masks in a folder, named by their files."""
    from isocenter.metrics.dvh import dvh_in
    from isocenter.problems import printable
    from isocenter.volumes import read

    if dose is None or structures is None:
        msg = "give a DICOM study, or --dose FILE and --structures FOLDER"
        raise typer.BadParameter(msg, param_hint="STUDY")
    for option, path, kind in (("--dose", dose, Path.is_file), ("--structures", structures, Path.is_dir)):
        if not kind(Path(path)):
            msg = f"{path} is not a {'file' if option == '--dose' else 'folder'}"
            raise typer.BadParameter(msg, param_hint=option)
    masks = dict(_masks(Path(structures)))
    if unknown := [name for name in wanted if name not in masks]:
        msg = f"no mask for {', '.join(unknown)}; there is {', '.join(masks) or 'none'}"
        raise typer.BadParameter(msg, param_hint="--structure")
    volume = read(dose)
    found = Found(printable(Path(dose).name))
    for name in wanted or masks:
        shown = printable(name)
        try:
            found.dvhs[shown] = dvh_in(volume, read(masks[name]), outside="exclude")
        except (OSError, ValueError, TypeError) as error:
            found.problems.append(printable(f"Not shown: {masks[name].name}: {error}"))
            continue
        _tell_outside(found, shown, asked_for=bool(wanted))
        if name.upper().startswith("PTV"):
            found.targets.add(shown)
    return found


def _masks(folder: Path) -> Iterator[tuple[str, Path]]:
    from isocenter.volumes import suffix_of

    seen: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if not (suffix := suffix_of(path.name)) or path.name.startswith("."):
            continue
        name = path.name[: -len(suffix)]
        if name in seen:
            msg = f"{seen[name].name} and {path.name} are both masks of {name}"
            raise typer.BadParameter(msg, param_hint="--structures")
        seen[name] = path
        yield name, path
