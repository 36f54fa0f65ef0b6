"""The ground truth of a case: a folder as the organisers' package has it.

    1ABB001/
      case.json            prescription_dose_gy, structure_names, ptv_index, oar_indices, beams: [{uuid, weight}, …]
      1ABB001.json         the published plan: where every beam goes
      gt_beam_doses.mha    all beams in one stack, in the order of case.json; or beams/<uuid>.mha, one file each
      structures.npy       masks (z, y, x, structure), in the order of structure_names
      plan_dose.mha        the dose of the plan; if it is not there, the weighted sum of the beams

Everything is checked that can be without reading voxels, and all that is wrong is said at once. The prescription has no
default: plans are of 60 and of 70 Gy, and every number of level 2 depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isocenter.challenges.doserad2026._case import Weights, cutoff_of, prescription_of, structures_of, weights_of
from isocenter.challenges.doserad2026._geometry import Modality, PlannedBeam, planned_beams, read_json
from isocenter.challenges.doserad2026._structures import check_structures
from isocenter.challenges.doserad2026._words import some, told, verb
from isocenter.metrics import Direction
from isocenter.problems import Trouble
from isocenter.submissions import GridPolicy, Reading
from isocenter.volumes import (
    SUFFIXES,
    File,
    Folder,
    Frame,
    Grid,
    VolumeError,
    read_frames,
    read_stack_header,
    suffix_of,
)

STACK, STRUCTURES, PLAN_DOSE = "gt_beam_doses.mha", "structures.npy", "plan_dose.mha"


@dataclass(frozen=True, slots=True)
class TruthBeam:
    """A beam: its uuid, its weight in the plan, where it goes along the axes of the array, its cutoff if it has one."""

    uuid: str
    weight: float
    direction: Direction
    minimum_cutoff: float | None


@dataclass(frozen=True, eq=False)
class Truth:
    """What the folder of a case says, and where its doses are."""

    case: str
    modality: Modality
    prescription: float
    structures: tuple[str, ...]
    target: int | None
    organs: tuple[int, ...]
    beams: tuple[TruthBeam, ...]
    grid: Grid
    doses: Mapping[str, File]
    folder: Folder

    def frames(self) -> Iterator[tuple[TruthBeam, Frame]]:
        """Beams with their doses, one at a time."""
        if not self.doses:
            yield from zip(self.beams, named(STACK, read_frames(self.folder.files[STACK])), strict=True)
            return
        for beam in self.beams:
            file = self.doses[beam.uuid]
            for frame in named(file.name, read_frames(file)):
                yield beam, frame


def named(name: str, frames: Iterable[Frame]) -> Iterator[Frame]:
    """The same volumes; what is wrong with them is told with the name of their file."""
    try:
        yield from frames
    except (VolumeError, OSError) as error:
        text, code = Trouble.of_error(error, prefix=f"{name}: ")
        raise VolumeError(text, code=code) from error


@dataclass(frozen=True, slots=True)
class TruthFolder:
    """A case as in the organisers' package: ``case.json``, the plan ``<case>.json``, ``structures.npy``.

    The doses of the beams are in ``gt_beam_doses.mha``, or in ``beams/<uuid>.mha``; ``plan_dose.mha`` may be left out.

    Read as a `Truth`.
    """

    suffixes: tuple[str, ...] = ()
    grid_of: str | None = None
    most_bytes: int = 1 << 40
    most_files: int = 5000

    def name(self, case: str, suffix: str) -> str:  # noqa: ARG002 (a folder has none)
        """The folder of a case."""
        return case

    def wants(self, name: str) -> bool:
        """The files of the package, at the top, and doses of beams."""
        return ("/" not in name and name.endswith((".json", ".npy", ".mha"))) or beam_of(name) != ""

    def expected(self, case: str) -> str:
        """The folder of the case."""
        return f"a folder {case}/"

    def read(self, file: File, *, grid: Grid | None, policy: GridPolicy) -> Reading:  # noqa: ARG002 (it has its own)
        """Read and check everything but voxels."""
        assert isinstance(file, Folder)
        return Reading(read_truth(file))


def beam_of(name: str) -> str:
    """The uuid that a file below `beams/` has the dose of; "" for any other file."""
    folder, _, file = name.rpartition("/")
    suffix = suffix_of(file)
    return file[: -len(suffix)] if folder == "beams" and suffix in SUFFIXES and suffix != ".mhd" else ""


def read_truth(folder: Folder) -> Truth:
    """What the folder of a case says; raises a ValueError with all that is wrong."""
    problems: list[str] = []
    said = _object(folder, "case.json", problems)
    plan = _object(folder, f"{folder.name}.json", problems)
    prescription, target = 0.0, None
    names: tuple[str, ...] = ()
    organs: tuple[int, ...] = ()
    weights: Weights | None = None
    if said is not None:
        prescription = prescription_of(said, problems)
        names, target, organs = structures_of(said, problems)
        weights = weights_of(said, problems)
    modality, planned = _planned(plan, problems)
    doses, grid = _doses(folder, weights, problems)
    beams = _beams(weights, planned, grid, problems)
    if grid is not None:
        problems += _check_others(folder, grid, len(names))
    if said is not None and modality is not None and said.get("modality", modality) != modality:
        problems.append(f"case.json: modality is {told(said['modality'])}, but the plan is of {modality}s")
    if problems or grid is None or modality is None:
        raise ValueError("; ".join(problems))
    return Truth(folder.name, modality, prescription, names, target, organs, beams, grid, doses, folder)


def _object(folder: Folder, name: str, problems: list[str]) -> Mapping[str, Any] | None:
    if name not in folder.files:
        problems.append(f"{name} is missing")
        return None
    try:
        found = read_json(folder.files[name])
    except (ValueError, OSError) as error:
        problems.append(str(error))
        return None
    if not isinstance(found, Mapping):
        problems.append(f"{name} is no JSON object")
        return None
    return found


def _planned(plan: Mapping[str, Any] | None, problems: list[str]) -> tuple[Modality | None, list[PlannedBeam]]:
    if plan is None:
        return None, []
    try:
        return planned_beams(plan)
    except ValueError as error:
        problems.append(str(error))
        return None, []


def _doses(folder: Folder, weights: Weights | None, problems: list[str]) -> tuple[dict[str, File], Grid | None]:
    """The files of single beams, none if there is a stack, and the grid that all lie on."""
    single: dict[str, File] = {}
    double: dict[str, None] = {}
    for name, file in folder.files.items():
        if uuid := beam_of(name):
            if uuid in single:
                double[uuid] = None
            single[uuid] = file
    if double:
        problems.append(f"there are two files of {some(list(double))}")
    uuids = list(weights.beams) if weights is not None else []
    if STACK in folder.files:
        if single:
            problems.append(f"there are {STACK} and beams/; which one is meant?")
        count = len(uuids) if weights is not None and weights.complete else None
        return {}, _common_grid({STACK: folder.files[STACK]}, count, problems)
    if lacking := [uuid for uuid in uuids if uuid not in single]:
        problems.append(f"there is no dose of {some(lacking)}; expected {STACK} or beams/<uuid>.mha")
    files = {uuid: single[uuid] for uuid in uuids if uuid in single}
    return files, _common_grid({file.name: file for file in files.values()}, 1, problems)


def _common_grid(files: Mapping[str, File], frames: int | None, problems: list[str]) -> Grid | None:
    """The grid that all files lie on; each holds so many doses, if it is known how many."""
    grid: Grid | None = None
    troubles: dict[str, list[str]] = {}
    for name, file in files.items():
        try:
            stack = read_stack_header(file)
        except (ValueError, OSError) as error:
            troubles.setdefault(f": {error}", []).append(name)
            continue
        if frames is not None and stack.frames != frames:
            troubles.setdefault(f" holds {stack.frames} doses; expected {frames}", []).append(name)
        grid = grid or stack.grid
        if not stack.grid.same_as(grid):
            text = f" lies on another grid than the other beams: {stack.grid}, others {grid}"
            troubles.setdefault(text, []).append(name)
    for trouble, names in troubles.items():
        problems.append((names[0] if len(names) == 1 else f"each of {some(names, what='file')}") + trouble)
    return grid


def _beams(
    weights: Weights | None, planned: list[PlannedBeam], grid: Grid | None, problems: list[str]
) -> tuple[TruthBeam, ...]:
    """Weights and directions put together: by uuid, or by order if the plan has no uuids."""
    if not (weights and weights.beams and planned and grid):
        return ()
    by_uuid = {beam.uuid: beam for beam in planned if beam.uuid}
    if not by_uuid and len(planned) != len(weights.beams):
        if weights.complete:
            problems.append(f"the plan has {len(planned)} beams without uuids, case.json lists {len(weights.beams)}")
        return ()
    uuids = list(weights.beams)
    pairs = {uuid: by_uuid.get(uuid) for uuid in uuids} if by_uuid else dict(zip(uuids, planned, strict=True))
    if lacking := [uuid for uuid, beam in pairs.items() if beam is None]:
        problems.append(f"the plan does not have {some(lacking)} of case.json")
    axes = np.asarray(grid.direction).reshape(3, 3)
    beams = []
    tilted: dict[str, str] = {}
    for uuid, (weight, cutoff) in weights.beams.items():
        beam = pairs[uuid]
        if beam is None:
            continue
        x, y, z = (float(v) for v in axes.T @ beam.direction)
        if abs(z) > 1e-9:
            tilted[uuid] = f"({x:.4f}, {y:.4f}, {z:.4f})"
        beams.append(TruthBeam(uuid, weight, (x, y, z), cutoff_of(beam.output) if cutoff is None else cutoff))
    if tilted:
        does, goes = verb(tilted, "does", "do"), verb(tilted, "it goes", "the first goes")
        way = next(iter(tilted.values()))
        problems.append(f"{some(list(tilted))} {does} not lie across z: {goes} along {way}")
    return tuple(beams)


def _check_others(folder: Folder, grid: Grid, structures: int) -> Iterator[str]:
    if structures and STRUCTURES not in folder.files:
        yield f"{STRUCTURES} is missing; case.json lists {structures} structures"
    if (
        structures
        and STRUCTURES in folder.files
        and (trouble := check_structures(folder.files[STRUCTURES], grid, structures))
    ):
        yield trouble
    if PLAN_DOSE in folder.files:
        try:
            stack = read_stack_header(folder.files[PLAN_DOSE])
        except (ValueError, OSError) as error:
            yield f"{PLAN_DOSE}: {error}"
            return
        if stack.frames != 1 or not stack.grid.same_as(grid):
            yield f"{PLAN_DOSE} lies on another grid than the beams: {stack.grid}, beams {grid}"
