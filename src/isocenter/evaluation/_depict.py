"""What a case of a submission looks like: the data of a picture, for whoever draws it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from isocenter.submissions import GridPolicy
from isocenter.volumes import LabelMap, Volume

if TYPE_CHECKING:
    from isocenter.evaluation._challenge import Challenge


@dataclass(frozen=True, eq=False)
class DosePicture:
    """The dose of a reference and of a submission on one grid, Gy, and the structures it is about.

    Attributes
    ----------
    reference, output
        The two doses.
    structures
        Masks on the same grid, by name, in the order they are listed; the first is the one to look at.
    oriented
        Whether the grid says where the patient lies, so that left and right may be written on a picture.
    alone
        Makes the dose to show to who may not see the reference, where `output` was put together by means of it.
    """

    reference: Volume
    output: Volume
    structures: Mapping[str, NDArray[np.bool_]]
    oriented: bool = True
    alone: Callable[[], Volume] | None = None


@dataclass(frozen=True, eq=False)
class LesionPicture:
    """The lesions of a reference and the candidates of a submission on one grid.

    Attributes
    ----------
    label
        0 where there is no lesion; else its grade, or 1.
    found
        The detection map.
    """

    label: Volume
    found: Volume


@dataclass(frozen=True, eq=False)
class MaskPicture:
    """The mask of a reference and that of a submission on one grid; what is not 0 is inside."""

    reference: Volume
    output: Volume

    @classmethod
    def of(cls, reference: LabelMap, output: LabelMap) -> MaskPicture:
        """The picture of two maps of labels."""
        return cls(Volume(reference.array, reference.grid), Volume(output.array, output.grid))


Picture = DosePicture | LesionPicture | MaskPicture


def depict(
    challenge: Challenge,
    *,
    reference: str | os.PathLike[str],
    submission: str | os.PathLike[str],
    case: str,
    grid: GridPolicy = "refuse",
) -> Picture:
    """The picture of one case of a submission.

    Raises `ValueError` if the challenge has no pictures, there is no such case, or the submission has nothing usable
    for it.
    """
    from isocenter.evaluation._case import picture_of
    from isocenter.evaluation._run import plan_for

    if challenge.depict is None:
        msg = f"{challenge.name} has no pictures of its cases"
        raise ValueError(msg)
    plan = plan_for(challenge, reference=reference, submission=submission, grid=grid)
    tasks = {task.case.name: task for task in plan.tasks}
    if case not in tasks:
        msg = f"{challenge.name} has no case {case!r} in {os.fspath(reference)}; it has {', '.join(tasks)}"
        raise ValueError(msg)
    return picture_of(tasks[case])
