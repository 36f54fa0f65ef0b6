"""The reference of an exam: where the significant cancers are, their grades, and whether the patient has any."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isocenter.evaluation import Case, CohortError
from isocenter.metrics import Blobs, lesions
from isocenter.volumes import Grid, LabelMap, Volume

POSITIVE = "cspca"
"""The column of cases.csv that says YES or NO, for cohorts in which not every cancer was drawn."""

_YES = {"yes": True, "1": True, "true": True, "no": False, "0": False, "false": False}
_LOWEST_GRADE = 2


@dataclass(frozen=True, eq=False)
class Truth:
    """An exam as it is scored against.

    Attributes
    ----------
    lesions
        With axes (z, y, x), as in the field's own tool: which of two equal pairs is taken depends on it.
    grades
        The ISUP grade of each lesion, the largest label in it; None where the label only says that there is a lesion.
    positive
        Whether the patient has significant cancer.
    grid
        Of the label map, axes (x, y, z).
    """

    lesions: Blobs
    grades: tuple[float | None, ...]
    positive: bool
    grid: Grid

    def label(self) -> Volume:
        """The grade of the lesion in every voxel, or 1; axes (x, y, z)."""
        array = np.zeros(self.lesions.shape, np.uint16)
        values = np.array([grade or 1 for grade in self.grades], np.uint16)
        array.reshape(-1)[self.lesions.voxels] = values[self.lesions.parts - 1]
        return Volume(array.T, self.grid)

    @property
    def drawn(self) -> bool:
        """Whether it is known where the cancer is, if there is any; if not, no candidate can be right or wrong."""
        return self.lesions.count > 0 or not self.positive


def prepare(case: Case) -> Truth:
    """Lesions and grades, from the box of the label map that is not empty."""
    labels: LabelMap = case.reference["lesions"]
    shape = labels.grid.shape[::-1]
    box = np.ascontiguousarray(labels.box.T)
    inside = lesions(box)
    where = np.unravel_index(inside.voxels, box.shape)
    moved = [axis + start for axis, start in zip(where, labels.corner[::-1], strict=True)]
    voxels = np.ravel_multi_index(moved, shape) if inside.count else inside.voxels
    highest = np.zeros(inside.count)
    np.maximum.at(highest, inside.parts - 1, box.reshape(-1)[inside.voxels])
    grades = tuple(float(grade) if grade >= _LOWEST_GRADE else None for grade in highest)
    found = Blobs(shape, voxels, inside.parts, inside.count)
    return Truth(found, grades, _positive(case, inside.count), labels.grid)


def _positive(case: Case, count: int) -> bool:
    said = case.facts.get(POSITIVE)
    if meant := [column for column in case.facts if column != POSITIVE == column.lower()]:
        msg = f"cases.csv has a column {meant[0]!r}; is it {POSITIVE}?"
        raise CohortError(msg)
    if said is None:
        return count > 0
    if said.lower() not in _YES:
        msg = f"cases.csv has {said!r} in the column {POSITIVE}; expected YES or NO"
        raise CohortError(msg)
    positive = _YES[said.lower()]
    if count and not positive:
        msg = f"cases.csv has {said} in the column {POSITIVE}, but the label map shows {count} lesions"
        raise CohortError(msg)
    return positive
