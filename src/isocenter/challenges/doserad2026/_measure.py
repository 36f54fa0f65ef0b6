"""The output of a case against its reference: beam by beam, then the plan that the beams make up.

A case has hundreds of beams of ten million voxels. They are read once, one at a time; of each, its errors are kept and
its share of the plan is added up, in double precision. What `inspect` has read, `measure` does not read again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isocenter.challenges.doserad2026._case import MOST_GY
from isocenter.challenges.doserad2026._dvh import DvhScore, score_as_run, score_relative
from isocenter.challenges.doserad2026._gamma import gamma_pass_rates
from isocenter.challenges.doserad2026._metrics import LEVEL_1
from isocenter.challenges.doserad2026._output import Beams
from isocenter.challenges.doserad2026._prepare import (
    BeamReference,
    Reference,
    above,
    dvh_criteria,
    is_dose,
    plane_and_profile,
)
from isocenter.challenges.doserad2026._words import some, verb
from isocenter.evaluation import DosePicture, OutputError, Remark, Score
from isocenter.metrics import curve_distance, depth_dose_of_plane, masked_mae, plan_mae
from isocenter.problems import Trouble
from isocenter.submissions import GridPolicy
from isocenter.volumes import Box, Frame, Grid, Stack, Volume

_PLAUSIBLE = (0.5, 1.5)
_MOST_TOLD = 5
# A stack may hold the doses of other cases, too. There are 47 test cases; what is far beyond them all is no answer.
_MOST_FRAMES, _FRAMES_PER_BEAM = 1000, 50


@dataclass(frozen=True, eq=False, slots=True)
class Predicted:
    """What is left of the predicted beams once they were read.

    Attributes
    ----------
    errors
        By metric of level 1, then by uuid; NaN where the reference has no dose.
    plan
        The predicted plan in the reference's box, Gy, not below 0.
    remarks
        What the team should know.
    """

    errors: Mapping[str, Mapping[str, float]]
    plan: NDArray[np.float64]
    remarks: tuple[Remark, ...]


def inspect(reference: Reference, output: Mapping[str, Any]) -> Iterator[Remark]:
    """What is probably not meant: unknown beams, negative dose, a plan in other units. Reads all beams."""
    found = predicted(reference, output["beams"])
    yield from (Remark("note", note) for note in reference.notes)
    yield from found.remarks
    if reference.target is None:
        return
    places = reference.structures[reference.target]
    for whose, plan in (("reference", reference.plan), ("predicted", found.plan)):
        median = float(np.median(plan.reshape(-1, order="F")[places]))
        low, high = (share * reference.prescription for share in _PLAUSIBLE)
        if not low <= median <= high:
            yield Remark(
                "warning",
                f"the {whose} plan gives the target a median of {median:.4g} Gy, with {reference.prescription:g} Gy "
                f"prescribed; between {low:g} and {high:g} were expected. Are doses and weights in the right units?",
            )


def measure(reference: Reference, output: Mapping[str, Any]) -> Iterator[Score]:
    """Level 1: every beam, and their mean. Level 2: the plan."""
    found = predicted(reference, output["beams"])
    for metric in LEVEL_1:
        errors = found.errors[metric]
        yield Score(metric, _mean(errors.values()))
        yield from (Score(metric, errors[uuid], uuid) for uuid in reference.beams)
    mae = plan_mae(reference.plan, found.plan, prescription=reference.prescription)
    yield Score("plan_mae", mae.mean)
    yield from (Score("plan_mae", value, stratum) for stratum, value in mae._asdict().items())
    of_max, of_rx = gamma_pass_rates(
        reference.plan, found.plan, spacing=reference.grid.spacing, prescription=reference.prescription
    )
    yield Score("gamma_pass_rate", of_max)
    yield Score("gamma_pass_rate_rx", of_rx)
    target, prescription = reference.target, reference.prescription
    dvh = dvh_criteria(found.plan, reference.structures, target, grid=reference.grid, prescription=prescription)
    yield from _dvh("dvh_score", score_as_run(reference.dvh, dvh, target=target, prescription=prescription))
    yield from _dvh("dvh_score_relative", score_relative(reference.dvh, dvh, target=target))


def depict(reference: Reference, output: Mapping[str, Any]) -> DosePicture:
    """Both plans where level 2 looks at them, with the target first and then the organs that count.

    Weights of the plan and the box are of the reference, so the output alone is the plain sum of its beams.
    """
    plan = predicted(reference, output["beams"]).plan
    start = np.array([part.start for part in reference.box])
    corner = reference.grid.affine[:3, :3] @ start + reference.grid.affine[:3, 3]
    grid = replace(reference.grid, shape=plan.shape, origin=tuple(corner.tolist()))
    masks = {}
    for name, places in reference.structures.items():
        flat = np.zeros(plan.size, bool)
        flat[places] = True
        masks[name] = flat.reshape(plan.shape, order="F")
    alone = partial(_sum_of_beams, reference, output["beams"])
    return DosePicture(Volume(reference.plan, grid), Volume(plan, grid), masks, alone=alone)


def _sum_of_beams(reference: Reference, beams: Beams) -> Volume:
    """The beams that were handed in, each with weight 1, on the whole grid of the case; Gy, not below 0."""
    dose = np.zeros(reference.grid.shape, order="F")
    for _, frame in beams.frames(reference.beams):
        assert not isinstance(frame, Trouble)  # all were read before
        dose[frame.box] += frame.array[frame.box]
    return Volume(np.maximum(dose, 0.0, out=dose), reference.grid)


def _dvh(metric: str, score: DvhScore) -> Iterator[Score]:
    yield Score(metric, score.score)
    for structure, errors in score.errors.items():
        yield from (Score(metric, error, f"{structure}|{name}") for name, error in errors.items())


def _mean(values: Iterable[float]) -> float:
    """Mean of what is defined; NaN if nothing is."""
    defined = [value for value in values if not math.isnan(value)]
    return math.fsum(defined) / len(defined) if defined else math.nan


def predicted(reference: Reference, beams: Beams) -> Predicted:
    """All beams, read once; a second call gives what the first one found."""
    if "predicted" not in beams.memory:
        beams.memory["predicted"] = _read(reference, beams)
    found: Predicted = beams.memory["predicted"]
    return found


def _read(reference: Reference, beams: Beams) -> Predicted:
    missing = [uuid for uuid in reference.beams if uuid not in beams.places]
    unknown = [uuid for uuid in beams.places if uuid not in reference.beams]
    problems: list[Trouble] = []
    if missing:
        hint = f"; {some(unknown)} {verb(unknown, 'is', 'are')} not of this case" if unknown else ""
        text = f"{some(missing)} of {len(reference.beams)} {verb(missing, 'is', 'are')} missing{hint}"
        problems.append(Trouble(text, "missing_output"))
    remarks = (
        [Remark("warning", f"{some(unknown)} {verb(unknown, 'is', 'are')} not of this case; ignored")]
        if unknown
        else []
    )
    usable = _check_headers(reference, beams, problems, remarks)
    errors: dict[str, dict[str, float]] = {metric: {} for metric in LEVEL_1}
    plan = np.zeros(reference.plan.shape, order="F")
    negative: dict[str, float] = {}
    unread: dict[Trouble, list[str]] = {}
    for uuid, frame in beams.frames(usable):
        trouble = frame if isinstance(frame, Trouble) else _no_dose(frame)
        if isinstance(frame, Trouble) or trouble is not None:
            assert trouble is not None
            unread.setdefault(trouble, []).append(uuid)
            continue
        if problems or unread:
            continue  # it will not be measured: what is left to do is to find what else is wrong
        beam = reference.beams[uuid]
        dose = above(frame, beam.floor)
        if dose.min(initial=0.0) < 0:
            negative[uuid] = float(dose.min())
        _add(plan, reference.box, frame.box, beam.beam.weight * dose.astype(np.float64))
        for metric, value in _errors(beam, frame, dose, reference.grid).items():
            errors[metric][uuid] = value
    problems += [Trouble(f"{some(uuids)}: {trouble.text}", trouble.code) for trouble, uuids in unread.items()]
    if problems:
        told = "; ".join(problem.text for problem in problems[:_MOST_TOLD])
        more = f"; and {len(problems) - _MOST_TOLD} more" if len(problems) > _MOST_TOLD else ""
        raise OutputError(told + more, code=problems[0].code)
    if negative:
        least = min(negative.values())
        remarks.append(Remark("note", f"{some(list(negative))} with negative dose, down to {least:.3g} Gy"))
    return Predicted(errors, np.maximum(plan, 0.0, out=plan), tuple(remarks))


def _check_headers(
    reference: Reference, beams: Beams, problems: list[Trouble], remarks: list[Remark]
) -> dict[str, BeamReference]:
    """The beams whose files can be read as far as their headers tell."""
    wanted = {uuid: place for uuid, place in beams.places.items() if uuid in reference.beams}
    headers = dict(beams.headers({name for name, _ in wanted.values()}))
    usable = {}
    shifts = []
    troubles: dict[Trouble, dict[str, str]] = {}
    beyond: dict[str, dict[str, int]] = {}
    for uuid, (name, at) in wanted.items():
        stack = headers[name]
        trouble = stack if isinstance(stack, Trouble) else _off_grid(stack, reference.grid, beams.policy)
        if not trouble and isinstance(stack, Stack):
            if name in beams.stacks and at >= stack.frames:
                beyond.setdefault(name, {})[uuid] = at
                continue
            if name not in beams.stacks and stack.frames != 1:
                trouble = Trouble(f"holds {stack.frames} doses; expected one", "bad_shape")
            elif stack.frames > (most := _MOST_FRAMES + _FRAMES_PER_BEAM * len(reference.beams)):
                text = f"holds {stack.frames:,} doses; a stack with the {len(reference.beams)} beams of this case"
                trouble = Trouble(f"{text} and those of others has at most {most:,}", "too_large")
        if trouble:
            troubles.setdefault(trouble, {})[uuid] = name
            continue
        usable[uuid] = reference.beams[uuid]
        if isinstance(stack, Stack) and not stack.grid.same_as(reference.grid):
            shifts.append(stack.grid.deviation(reference.grid))
    for name, places in beyond.items():
        stack, (low, high) = headers[name], (min(places.values()), max(places.values()))
        assert isinstance(stack, Stack)
        said = f"place {low}" if len(places) == 1 else f"places from {low} to {high}"
        text = f"{some(list(places))} ({name}): the metadata say {said}, but it holds {stack.frames} doses"
        problems.append(Trouble(text, "bad_shape"))
    for trouble, names in troubles.items():
        first, *others = dict.fromkeys(names.values())
        text = f"{some(list(names))} ({first}{' and others' if others else ''}): {trouble.text}"
        problems.append(Trouble(text, trouble.code))
    if shifts:
        text = f"grids of {len(shifts)} beams differ by up to {max(shifts):.2f} mm; index trusted by policy"
        remarks.append(Remark("warning", text))
    return usable


def _off_grid(stack: Stack, grid: Grid, policy: GridPolicy) -> Trouble | None:
    if stack.grid.same_as(grid) or (policy == "trust-index" and stack.grid.shape == grid.shape):
        return None
    apart = f"; corners lie up to {stack.grid.deviation(grid):.2f} mm apart" if stack.grid.shape == grid.shape else ""
    text = f"grid differs: {stack.grid}, reference {grid}{apart}; doses of beams are not resampled"
    return Trouble(text, "bad_grid")


def _no_dose(frame: Frame) -> Trouble | None:
    """What is wrong with a frame that is not a dose: a voxel that is not a number, or larger than any dose."""
    dose = frame.array[frame.box]
    if is_dose(dose):
        return None
    inside = np.argwhere(~(np.abs(dose) <= MOST_GY))[0]
    voxel = tuple(int(i) + part.start for i, part in zip(inside, frame.box, strict=True))
    text = f"holds {frame.array[voxel]:g} at voxel {voxel}; every voxel must be a finite dose in Gy"
    return Trouble(text, "bad_values" if np.isfinite(frame.array[voxel]) else "nan")


def _errors(beam: BeamReference, frame: Frame, dose: NDArray[Any], grid: Grid) -> dict[str, float]:
    if not beam.largest > 0:
        return dict.fromkeys(LEVEL_1, math.nan)
    there = frame.array.reshape(-1, order="F")[beam.voxels()]
    if beam.floor is not None:
        there = np.where(there > beam.floor, there, 0)
    plane, profile = plane_and_profile(dose, frame.box, grid)
    curve = depth_dose_of_plane(plane, spacing=grid.spacing[:2], direction=beam.beam.direction)
    return {
        "beam_mae": masked_mae(beam.values, there, largest=beam.largest),
        "idd_distance": curve_distance(beam.curve, curve),
        "idd_distance_z": curve_distance(beam.profile, profile),
    }


def _add(plan: NDArray[np.float64], box: Box, part: Box, dose: NDArray[np.float64]) -> None:
    """Add the dose of a part of the grid to a plan in a box of it, as far as they overlap."""
    to, of = [], []
    for whole, some_of in zip(box, part, strict=True):
        low, high = max(whole.start, some_of.start), min(whole.stop, some_of.stop)
        if low >= high:
            return
        to.append(slice(low - whole.start, high - whole.start))
        of.append(slice(low - some_of.start, high - some_of.start))
    plan[tuple(to)] += dose[tuple(of)]
