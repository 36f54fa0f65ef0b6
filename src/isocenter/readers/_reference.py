"""What the reads are scored against: the lesions of every case, where they lie, and what the case weighs."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from isocenter.evaluation import Case, Challenge, CohortCase, CohortError, open_cohort
from isocenter.metrics import Blobs, lesions
from isocenter.problems import Problem, code_of_error, report
from isocenter.submissions import ImageFile, is_folder
from isocenter.volumes import Grid, LabelMap, Volume

# Farther from the image than this, a mark is not beside it but in another coordinate system.
FAR_MM = 100.0


class ReferenceCase(NamedTuple):
    """The truth of one case.

    Attributes
    ----------
    label
        Axes (x, y, z); 0 where there is no lesion. Or a `LabelMap`, or the result of `isocenter.metrics.lesions`.
    grid
        Where the label's voxels lie in the patient.
    weight
        How many cases of the population it stands for.
    positive
        Whether the patient has what is looked for; None: if there is a lesion. A positive patient without lesions is
        one whose cancer was not drawn: the patient counts, and marks do not.
    """

    label: Any
    grid: Grid
    weight: float = 1.0
    positive: bool | None = None


class Truth(NamedTuple):
    """A case that is ready for marks.

    Attributes
    ----------
    image
        The grid of the image.
    lesions, grid
        The lesions on a grid that is 100 mm wider on every side, so that marks beside the image have an index.
    weight, positive
        See `ReferenceCase`.
    """

    image: Grid
    lesions: Blobs
    grid: Grid
    weight: float
    positive: bool


def label_slot(challenge: Challenge) -> str:
    """The name of the one label volume that a challenge's reference has for every case.

    Raises `ValueError` if there is none, or more than one.
    """
    slots = [slot for slot, spec in challenge.reference.items() if not (is_folder(spec) or isinstance(spec, ImageFile))]
    if len(slots) != 1:
        has = ", ".join(slots) or "none"
        msg = f"reads are scored against one label volume per case; the reference of {challenge.name} has {has}"
        raise ValueError(msg)
    return slots[0]


def open_reference(
    challenge: Challenge,
    path: str | os.PathLike[str],
    *,
    cases: Collection[str] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> dict[str, ReferenceCase]:
    """Read the lesions of a challenge's reference, a folder or zip of label volumes; weights come from `cases.csv`.

    Readers and algorithms have one truth: if what the challenge's `prepare` makes of a case has `positive`, that says
    whether the patient is; otherwise it is who has a lesion.

    Parameters
    ----------
    challenge
        Any whose reference has one label volume per case.
    cases
        Read these only, as far as the reference has them; all of them if not given.
    progress
        Called with the number of cases read, of all, and the name of the case.

    Raises
    ------
    CohortError
        Naming every file that cannot be used.
    """
    slot = label_slot(challenge)
    wanted = [case for case in open_cohort(challenge, path).cases if cases is None or case.name in cases]
    found: dict[str, ReferenceCase] = {}
    problems = []
    for number, case in enumerate(wanted, start=1):
        try:
            read = {
                name: spec.read(case.files[name], grid=None, policy="refuse").value
                for name, spec in challenge.reference.items()
            }
            label = read[slot]
            if isinstance(label, LabelMap | Volume):
                positive = getattr(challenge.prepare(Case(case.name, read, case.facts)), "positive", None)
                found[case.name] = ReferenceCase(lesions(label.array), label.grid, case.weight, positive)
            else:
                text = f"is read as a {type(label).__name__}, not as a label volume"
                problems.append(_problem(text, case, slot, code="reference"))
        except (ValueError, OSError) as error:
            problems.append(_problem(str(error), case, slot, code=code_of_error(error, otherwise="reference")))
        if progress is not None:
            progress(number, len(wanted), case.name)
    if problems:
        msg = f"{challenge.name}: the reference {Path(path)} cannot be used:\n{report(problems)}"
        raise CohortError(msg, problems)
    return found


def _problem(text: str, case: CohortCase, slot: str, *, code: str) -> Problem:
    return Problem("unusable", text, case=case.name, file=case.files[slot].name, code=code, origin="reference")


def ready(case: ReferenceCase, *, name: str) -> Truth:
    """A case as marks need it; an error that names it if it is not what a case may be."""
    label, grid, weight, positive = case
    found = label if isinstance(label, Blobs) else lesions(label.array if isinstance(label, LabelMap) else label)
    if found.shape != grid.shape:
        msg = f"case {name!r}: the label has shape {found.shape}, its grid {grid.shape}"
        raise ValueError(msg)
    if not 0 < weight < math.inf:
        msg = f"case {name!r}: a weight is a positive number, not {weight}"
        raise ValueError(msg)
    if found.count and positive is False:
        msg = f"case {name!r}: negative, but the label shows {found.count} lesions"
        raise ValueError(msg)
    return Truth(grid, *_widened(found, grid), weight, found.count > 0 if positive is None else bool(positive))


def _widened(found: Blobs, grid: Grid) -> tuple[Blobs, Grid]:
    """The same lesions at the same places in a larger volume; only its numbers are larger, as no voxel is stored."""
    room = np.ceil(FAR_MM / np.asarray(grid.spacing)).astype(np.int64) + 1
    x, y, z = (np.asarray(grid.shape) + 2 * room).tolist()
    index = np.stack(np.unravel_index(found.voxels, found.shape)) + room[:, None]
    voxels = np.ravel_multi_index(tuple(index), (x, y, z))
    origin = grid.affine[:3, 3] - grid.affine[:3, :3] @ room
    wide = Grid((x, y, z), grid.spacing, (float(origin[0]), float(origin[1]), float(origin[2])), grid.direction)
    return Blobs((x, y, z), voxels, found.parts, found.count), wide
