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

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from isocenter.challenges.doserad2026._geometry import Modality, PlannedBeam, planned_beams, read_json
from isocenter.challenges.doserad2026._structures import check_structures
from isocenter.metrics import Direction
from isocenter.submissions import GridPolicy, Reading
from isocenter.volumes import SUFFIXES, File, Folder, Frame, Grid, read_frames, read_stack_header, suffix_of

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
            yield from zip(self.beams, read_frames(self.folder.files[STACK]), strict=True)
            return
        for beam in self.beams:
            for frame in read_frames(self.doses[beam.uuid]):
                yield beam, frame


@dataclass(frozen=True, slots=True)
class TruthFolder:
    """The reference of a case, read as a `Truth`."""

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
    prescription = said.get("prescription_dose_gy")
    if not _is_positive(prescription):
        problems.append(
            f"case.json: prescription_dose_gy is {prescription!r}; expected a dose in Gy, it has no default"
        )
    names, target, organs = _structures(said, problems)
    weights = _weights(said, problems)
    modality, planned = _planned(plan, problems)
    doses, grid = _doses(folder, weights, problems)
    beams = _beams(weights, planned, grid, problems)
    if grid is not None:
        problems += _check_others(folder, grid, len(names))
    if said.get("modality", modality) != modality:
        problems.append(f"case.json: modality is {said['modality']!r}, but the plan is of {modality}s")
    if problems or grid is None or modality is None:
        raise ValueError("; ".join(problems))
    return Truth(folder.name, modality, float(prescription or 0), names, target, organs, beams, grid, doses, folder)


def _object(folder: Folder, name: str, problems: list[str]) -> Mapping[str, Any]:
    if name not in folder.files:
        problems.append(f"{name} is missing")
        return {}
    try:
        found = read_json(folder.files[name])
    except (ValueError, OSError) as error:
        problems.append(str(error))
        return {}
    if not isinstance(found, Mapping):
        problems.append(f"{name} is no JSON object")
        return {}
    return found


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _structures(said: Mapping[str, Any], problems: list[str]) -> tuple[tuple[str, ...], int | None, tuple[int, ...]]:
    names = said.get("structure_names", [])
    if not (isinstance(names, list) and all(isinstance(name, str) and name for name in names)):
        problems.append(f"case.json: structure_names is {names!r}; expected a list of names")
        return (), None, ()
    if len(set(names)) < len(names):
        problems.append("case.json: structure_names lists a name twice")
    target = said.get("ptv_index")
    if target is not None and not _is_index(target, names):
        problems.append(
            f"case.json: ptv_index is {target!r}; expected a place in structure_names, 0 to {len(names) - 1}"
        )
        target = None
    organs = said.get("oar_indices")
    if organs is None:
        organs = [i for i in range(len(names)) if i != target]
    if not (isinstance(organs, list) and all(_is_index(i, names) and i != target for i in organs)):
        problems.append(
            f"case.json: oar_indices is {organs!r}; expected places in structure_names other than the PTV's"
        )
        organs = []
    elif len(set(organs)) < len(organs):
        problems.append(f"case.json: oar_indices {organs} lists an organ twice")
    return tuple(names), target, tuple(organs)


def _is_index(value: object, names: list[str]) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names)


def _weights(said: Mapping[str, Any], problems: list[str]) -> dict[str, tuple[float, float | None]]:
    """By uuid, weight and minimum cutoff."""
    listed = said.get("beams")
    if not (isinstance(listed, list) and listed):
        problems.append(f"case.json: beams is {listed!r}; expected a list of {{uuid, weight}}")
        return {}
    found: dict[str, tuple[float, float | None]] = {}
    for number, beam in enumerate(listed):
        uuid, weight = (beam.get(key) if isinstance(beam, Mapping) else None for key in ("uuid", "weight"))
        if not (isinstance(uuid, str) and uuid and "/" not in uuid):
            problems.append(f"case.json: beam {number} has the uuid {uuid!r}; expected a name without /")
        elif uuid in found:
            problems.append(f"case.json: beam {uuid} is listed twice")
        elif weight is None or not (_is_positive(weight) or weight == 0):
            problems.append(f"case.json: beam {uuid} has the weight {weight!r}; expected a number of 0 or more")
        else:
            found[uuid] = float(weight), _cutoff(beam)
    if found and not any(weight for weight, _ in found.values()):
        problems.append("case.json: the weights of all beams are 0")
    return found


def _cutoff(holder: Mapping[str, Any]) -> float | None:
    told = holder.get("minimum_cutoff")
    return float(told) if told is not None and (_is_positive(told) or told == 0) else None


def _planned(plan: Mapping[str, Any], problems: list[str]) -> tuple[Modality | None, list[PlannedBeam]]:
    if not plan:
        return None, []
    try:
        return planned_beams(plan)
    except ValueError as error:
        problems.append(str(error))
        return None, []


def _doses(folder: Folder, weights: Mapping[str, object], problems: list[str]) -> tuple[dict[str, File], Grid | None]:
    """The files of single beams, none if there is a stack, and the grid that all lie on."""
    single: dict[str, File] = {}
    for name, file in folder.files.items():
        if uuid := beam_of(name):
            if uuid in single:
                problems.append(f"there are two files of beam {uuid}")
            single[uuid] = file
    if STACK in folder.files:
        if single:
            problems.append(f"there are {STACK} and beams/; which one is meant?")
        single = {}
    elif lacking := [uuid for uuid in weights if uuid not in single]:
        problems.append(f"there is no dose of {some(lacking)}; expected {STACK} or beams/<uuid>.mha")
    files = {uuid: single[uuid] for uuid in weights if uuid in single}
    grid: Grid | None = None
    for uuid, file in {**files, **({"": folder.files[STACK]} if STACK in folder.files else {})}.items():
        try:
            stack = read_stack_header(file)
        except (ValueError, OSError) as error:
            problems.append(f"{file.name}: {error}")
            continue
        expected = 1 if uuid else len(weights)
        if stack.frames != expected:
            problems.append(f"{file.name} holds {stack.frames} doses; expected {expected}")
        grid = grid or stack.grid
        if not stack.grid.same_as(grid):
            problems.append(f"{file.name} lies on another grid than the other beams: {stack.grid}, others {grid}")
    return files, grid


def _beams(
    weights: Mapping[str, tuple[float, float | None]],
    planned: list[PlannedBeam],
    grid: Grid | None,
    problems: list[str],
) -> tuple[TruthBeam, ...]:
    """Weights and directions put together: by uuid, or by order if the plan has no uuids."""
    if not (weights and planned and grid):
        return ()
    by_uuid = {beam.uuid: beam for beam in planned if beam.uuid}
    if not by_uuid and len(planned) != len(weights):
        problems.append(f"the plan has {len(planned)} beams without uuids, case.json lists {len(weights)}")
        return ()
    pairs = {uuid: by_uuid.get(uuid) for uuid in weights} if by_uuid else dict(zip(weights, planned, strict=True))
    if lacking := [uuid for uuid, beam in pairs.items() if beam is None]:
        problems.append(f"the plan does not have {some(lacking)} of case.json")
    axes = np.asarray(grid.direction).reshape(3, 3)
    beams = []
    for uuid, (weight, cutoff) in weights.items():
        beam = pairs[uuid]
        if beam is None:
            continue
        x, y, z = (float(v) for v in axes.T @ beam.direction)
        if abs(z) > 1e-9:
            problems.append(f"beam {uuid} does not lie across z: it goes along ({x:.4f}, {y:.4f}, {z:.4f})")
        beams.append(TruthBeam(uuid, weight, (x, y, z), _cutoff(beam.output) if cutoff is None else cutoff))
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


def some(names: list[str], most: int = 3) -> str:
    """A few of many names: "beam a", "3 beams (a, b, c)", "540 beams (a, b, c …)"."""
    if len(names) == 1:
        return f"beam {names[0]}"
    return f"{len(names)} beams ({', '.join(names[:most])}{' …' if len(names) > most else ''})"
