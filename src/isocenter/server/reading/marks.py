"""What a reader says, checked: marks inside a scan, a PI-RADS each, a whole number from 0 to 100."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from isocenter.server.models import StudyCase
from isocenter.volumes import Grid

Marks = list[dict[str, Any]]
_FAR = 1e6  # millimetres


@dataclass(frozen=True)
class Said:
    """What was said of a case: `score` is None as long as it was not said."""

    marks: Marks
    score: int | None


class Unreadable(ValueError):
    """An answer that no page sends; `problems` says what is wrong with it, each as a sentence."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__(" ".join(self.problems))


def grid_of(case: StudyCase, name: str) -> Grid:
    """Where the voxels of a scan lie."""
    found = case.images[name]
    return Grid(
        tuple(found["shape"]),
        spacing=tuple(found["spacing"]),
        origin=tuple(found["origin"]),
        direction=tuple(found["direction"]),
    )


def said(
    marks: object, score: object, *, case: StudyCase, images: Sequence[str], most: int, graded: bool = True
) -> Said:
    """What came from a page, checked.

    Parameters
    ----------
    marks
        As JSON text, or as the list it stands for.
    score
        A whole number, or what stands for none yet: None or "".
    images
        The scans of the stage; a mark lies inside the one that it was set on.
    most
        How many marks there may be.
    graded
        Whether every mark must have its PI-RADS; in a draft it may come later.

    Raises
    ------
    Unreadable
        With all problems.
    """
    problems: list[str] = []
    try:
        found = json.loads(marks) if isinstance(marks, str) else marks
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise Unreadable(["The marks could not be read; open the page again."])
    if len(found) > most:
        problems.append(f"There are {len(found)} marks; at most {most} are allowed.")
    kept: Marks = []
    for number, one in enumerate(found[: most + 1], start=1):
        mark = _mark(one, case, images, graded=graded)
        if isinstance(mark, str):
            problems.append(f"Mark {number}: {mark}")
        elif any(all(mark[axis] == other[axis] for axis in "xyz") for other in kept):
            problems.append(f"Mark {number}: lies where another one does.")
        else:
            kept.append(mark)
    value = _score(score)
    if isinstance(value, str):
        problems.append(value)
    if problems:
        raise Unreadable(problems)
    assert not isinstance(value, str)
    return Said(kept, value)


def _mark(one: object, case: StudyCase, images: Sequence[str], *, graded: bool) -> dict[str, Any] | str:
    """A mark as it is kept, or what is wrong with it."""
    from isocenter.readers import OPERATING_POINTS

    if not isinstance(one, dict):
        return "could not be read."
    on = one.get("on")
    if not isinstance(on, str) or on not in images or on not in case.images:
        return "was set on no scan of this stage."
    place = [one.get(axis) for axis in "xyz"]
    numbers = [float(v) for v in place if _is_number(v)]
    if len(numbers) < 3:
        return "has no place."
    grade = one.get("pirads")
    if grade not in OPERATING_POINTS and (graded or grade is not None):
        return "has no PI-RADS; choose 3, 4 or 5."
    if not inside(grid_of(case, on), numbers):
        return f"lies outside of the scan ({on})."
    x, y, z = (round(v, 2) for v in numbers)
    return {"x": x, "y": y, "z": z, "pirads": None if grade is None else int(grade), "on": on}


def _is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a number that a place can have: neither endless, nor larger than any scan."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _FAR


def inside(grid: Grid, place: Sequence[float]) -> bool:
    """Whether a place, in LPS millimetres, lies in a voxel of a grid."""
    index = np.linalg.solve(grid.affine, [*place, 1.0])[:3]
    # A place at the very edge is rounded when it is kept, by half a hundredth of a millimetre.
    slack = 0.01 / np.asarray(grid.spacing)
    return bool(((index >= -0.5 - slack) & (index <= np.asarray(grid.shape) - 0.5 + slack)).all())


def _score(score: object) -> int | str | None:
    if score is None or score == "":
        return None
    text = str(score).strip()
    if isinstance(score, bool) or not text.isascii() or not text.isdecimal() or len(text) > 3 or int(text) > 100:
        return f"The likelihood is a whole number from 0 to 100, not {text[:20]!r}."
    return int(text)


def doubts(said: Said, likelihood_of: str) -> list[str]:
    """What may be a slip, and is asked about before it is handed in; nothing here is wrong in itself."""
    if said.score is None:
        return []
    if said.marks and said.score == 0:
        return [f"You marked a lesion, and say that {likelihood_of} is out of the question (0)."]
    if not said.marks and said.score >= 50:
        return [f"You marked no lesion, and say that {likelihood_of} is likely ({said.score})."]
    return []
