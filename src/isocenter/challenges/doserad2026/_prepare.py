"""What every submission needs of a case, made once: it fits into memory, the doses of all beams would not.

Of a beam the masked error needs the voxels with at least a tenth of its maximum, a few per cent of the grid, and the
depth doses need two curves. So that is what is kept, and the reference's doses are never read again. Of the plan, a box
is kept around what level 2 looks at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isocenter.challenges.doserad2026._case import MOST_GY
from isocenter.challenges.doserad2026._closest import Voxels, closest
from isocenter.challenges.doserad2026._dvh import Criteria, criteria
from isocenter.challenges.doserad2026._geometry import Modality
from isocenter.challenges.doserad2026._structures import read_structures
from isocenter.challenges.doserad2026._truth import PLAN_DOSE, STRUCTURES, Truth, TruthBeam, named
from isocenter.challenges.doserad2026._words import some
from isocenter.evaluation import Case, CohortError
from isocenter.metrics import depth_dose_of_plane
from isocenter.volumes import Box, Frame, Grid, read_frames

BEAM_CUTOFF = 0.1
"""Of a beam's maximum: where its error is measured."""

PLAN_CUTOFF = 0.1
"""Of the plan's maximum, or of the prescription: where gamma is measured."""

GAMMA_MM, MAX_GAMMA = 1.0, 2.0
"""The distance of gamma's criterion, and its largest value: it looks as far as their product."""

# Doses are stored in single precision, and plans were once rounded; a reference that is off by more is not one plan.
_SAME_PLAN = 0.01


@dataclass(frozen=True, eq=False, slots=True)
class BeamReference:
    """A beam of the reference, as far as it is needed.

    Attributes
    ----------
    largest
        Its maximum, Gy.
    starts, lengths
        The voxels that count, as runs of consecutive ones in the order of memory, x first.
    values
        Their dose, in this order.
    curve, profile
        Integrated depth dose along the beam, and profile along z.
    floor
        Dose at or below it is taken for none, on both sides; None: every dose is taken as it is.
    """

    beam: TruthBeam
    largest: float
    starts: NDArray[np.int32]
    lengths: NDArray[np.int32]
    values: NDArray[Any]
    curve: NDArray[np.float64]
    profile: NDArray[np.float64]
    floor: float | None

    def voxels(self) -> NDArray[np.intp]:
        """The indices of the voxels that count, in the order of memory."""
        before = np.cumsum(self.lengths, dtype=np.intp) - self.lengths
        return np.repeat(self.starts - before, self.lengths) + np.arange(self.values.size)


@dataclass(frozen=True, eq=False, slots=True)
class Reference:
    """A case, prepared.

    Attributes
    ----------
    box
        The part of the grid that level 2 looks at; `plan` has its doses, Gy, and `structures` the places in it of the
        voxels of the target and of the organs that count.
    dvh
        Criteria of these structures on the reference's plan.
    notes
        What is unusual about the case, in words.
    """

    case: str
    modality: Modality
    grid: Grid
    prescription: float
    beams: Mapping[str, BeamReference]
    box: Box
    plan: NDArray[np.float64]
    target: str | None
    structures: Mapping[str, NDArray[np.intp]]
    dvh: Mapping[str, Criteria]
    notes: tuple[str, ...]


def prepare(case: Case) -> Reference:
    """The reference as published: every dose is taken as it is."""
    return _prepare(case.reference["truth"], floored=False)


def prepare_floored(case: Case) -> Reference:
    """The reference with dose at or below each beam's `minimum_cutoff` set to zero, as outputs will be too."""
    return _prepare(case.reference["truth"], floored=True)


def _prepare(truth: Truth, *, floored: bool) -> Reference:
    plan = np.zeros(truth.grid.shape, order="F")
    beams: dict[str, BeamReference] = {}
    for beam, frame in truth.frames():
        floor = _floor(beam) if floored else None
        dose = above(frame, floor)
        if not is_dose(dose):
            msg = f"the dose of beam {beam.uuid} holds values that are no finite dose in Gy"
            raise CohortError(msg)
        plan[frame.box] += beam.weight * dose.astype(np.float64)
        beams[beam.uuid] = _beam(beam, frame.box, dose, truth.grid, floor)
    empty = [uuid for uuid, found in beams.items() if not found.largest > 0]
    notes = [f"the reference gives {some(empty)} no dose"] if empty else []
    plan = _given_plan(truth, plan)
    if not plan.max() > 0:
        msg = "the plan has no dose: the weighted beams sum up to nothing"
        raise CohortError(msg)
    target, voxels, remarks = _structures(truth)
    box = _box(truth, plan, voxels)
    inside = plan[box].copy(order="F")
    structures = {name: _places(found, box) for name, found in voxels.items()}
    return Reference(
        case=truth.case,
        modality=truth.modality,
        grid=truth.grid,
        prescription=truth.prescription,
        beams=beams,
        box=box,
        plan=inside,
        target=target,
        structures=structures,
        dvh=dvh_criteria(inside, structures, target, grid=truth.grid, prescription=truth.prescription),
        notes=(*notes, *remarks),
    )


def is_dose(values: NDArray[Any]) -> bool:
    """Whether all values are numbers, and not larger than any dose."""
    return bool((np.abs(values) <= MOST_GY).all())


def above(frame: Frame, floor: float | None) -> NDArray[Any]:
    """The content of a frame, without what is at or below the floor, if there is one."""
    dose: NDArray[Any] = frame.array[frame.box]
    return dose if floor is None else np.where(dose > floor, dose, dose.dtype.type(0))


def plane_and_profile(dose: NDArray[Any], box: Box, grid: Grid) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A dose summed over z, and its profile along z, of which only the content is looked at."""
    plane, profile = np.zeros(grid.shape[:2]), np.zeros(grid.shape[2])
    summed = dose.sum(axis=2, dtype=np.float64)
    plane[box[:2]] = summed
    profile[box[2]] = dose.sum(axis=(0, 1), dtype=np.float64)
    return plane, profile


def dvh_criteria(
    plan: NDArray[np.float64],
    structures: Mapping[str, NDArray[np.intp]],
    target: str | None,
    *,
    grid: Grid,
    prescription: float,
) -> dict[str, Criteria]:
    """By structure, what the DVH score looks at."""
    flat = plan.reshape(-1, order="F")
    return {
        name: criteria(
            flat[places], of_target=name == target, voxel_volume=grid.voxel_volume, prescription=prescription
        )
        for name, places in structures.items()
    }


def _floor(beam: TruthBeam) -> float:
    if beam.minimum_cutoff is None:
        msg = f"beam {beam.uuid} has no minimum_cutoff, neither in case.json nor in the plan"
        raise CohortError(msg)
    return beam.minimum_cutoff


def _beam(beam: TruthBeam, box: Box, dose: NDArray[Any], grid: Grid, floor: float | None) -> BeamReference:
    plane, profile = plane_and_profile(dose, box, grid)
    largest = float(dose.max(initial=0.0))
    # Transposed, a walk through the array in its own order is one in the order of memory.
    region = (dose >= BEAM_CUTOFF * largest).T if largest > 0 else np.zeros(dose.shape[::-1], bool)
    z, y, x = (index + part.start for index, part in zip(np.nonzero(region), box[::-1], strict=True))
    flat = x + grid.shape[0] * (y + grid.shape[1] * z)
    first = np.flatnonzero(np.diff(flat, prepend=-2) != 1)
    return BeamReference(
        beam=beam,
        largest=largest,
        starts=flat[first].astype(np.int32),
        lengths=np.diff(first, append=flat.size).astype(np.int32),
        values=dose.T[region],
        curve=depth_dose_of_plane(plane, spacing=grid.spacing[:2], direction=beam.direction),
        profile=profile,
        floor=floor,
    )


def _given_plan(truth: Truth, composed: NDArray[np.float64]) -> NDArray[np.float64]:
    """The plan's own dose if the package has it, which must be the weighted sum of the beams."""
    if PLAN_DOSE not in truth.folder.files:
        return composed
    (frame,) = named(PLAN_DOSE, read_frames(truth.folder.files[PLAN_DOSE]))
    plan = frame.array.astype(np.float64)
    off = float(np.abs(plan - composed).max())
    if not off <= _SAME_PLAN * truth.prescription:
        msg = (
            f"{PLAN_DOSE} is not the sum of the weighted beams: they differ by up to {off:.3g} Gy, "
            f"allowed {_SAME_PLAN * truth.prescription:.3g} Gy; are the weights those of this plan?"
        )
        raise CohortError(msg)
    return plan


def _structures(truth: Truth) -> tuple[str | None, dict[str, Voxels], list[str]]:
    """Name of the target, voxels of the target and of the closest organs, and what is unusual."""
    if not truth.structures:
        return None, {}, ["the case has no structures: there is no DVH score"]
    voxels = read_structures(truth.folder.files[STRUCTURES], truth.grid, len(truth.structures))
    organs = {truth.structures[i]: voxels[i] for i in truth.organs if len(voxels[i])}
    if truth.target is None or not len(voxels[truth.target]):
        if not organs:
            return None, {}, ["the case has neither a target nor an organ at risk with voxels: there is no DVH score"]
        return None, organs, ["the case has no target: the DVH score is that of all its organs"]
    name, target = truth.structures[truth.target], voxels[truth.target]
    # In voxels, as the organisers measure it: on 1 × 1 × 3 mm these are not the closest in the patient.
    chosen = closest(target, organs, spacing=(1.0, 1.0, 1.0))
    few = [f"the case has {len(chosen)} organs at risk with voxels, of three"] if len(chosen) < 3 else []
    return name, {name: target, **{organ: organs[organ] for organ in chosen}}, few


def _box(truth: Truth, plan: NDArray[np.float64], voxels: Mapping[str, Voxels]) -> Box:
    """All that level 2 looks at: where there is dose, with as much around it as gamma searches, and structures."""
    least = PLAN_CUTOFF * min(float(plan.max()), truth.prescription)
    reach = [int(np.ceil(GAMMA_MM * MAX_GAMMA / step)) + 1 for step in truth.grid.spacing]
    there = plan >= least
    parts = []
    for axis, (size, margin) in enumerate(zip(truth.grid.shape, reach, strict=True)):
        line = np.flatnonzero(there.any(axis=tuple(other for other in range(3) if other != axis)))
        low, high = int(line[0]) - margin, int(line[-1]) + margin + 1
        for found in voxels.values():
            low, high = min(low, int(found[:, axis].min())), max(high, int(found[:, axis].max()) + 1)
        parts.append(slice(max(low, 0), min(high, size)))
    return parts[0], parts[1], parts[2]


def _places(voxels: Voxels, box: Box) -> NDArray[np.intp]:
    """Where voxels are in the box, in the order of memory."""
    x, y, z = (voxels[:, axis] - part.start for axis, part in enumerate(box))
    nx, ny = (part.stop - part.start for part in box[:2])
    places: NDArray[np.intp] = x + nx * (y + ny * z)
    return places
