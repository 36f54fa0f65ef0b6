"""A whole synthetic challenge on disk: references and submissions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from isocenter.phantoms._head_and_neck import head_and_neck
from isocenter.phantoms._teams import TEAMS, draw, targets
from isocenter.volumes import write


@dataclass(frozen=True, slots=True)
class CohortFiles:
    """Where a synthetic challenge lies.

    ::

        folder/
          reference/CHUV001.nii.gz …
          submissions/Aare/CHUV001.nii.gz …

    Attributes
    ----------
    reference
        The folder of the references, one file per case.
    submissions
        A folder per team, without the cases for which the team hands in nothing.
    roles
        What each team takes part as.
    cases
        The names of the cases.
    """

    reference: Path
    submissions: Mapping[str, Path]
    roles: Mapping[str, Literal["team", "organiser"]]
    cases: tuple[str, ...]


def write_cohort(
    folder: str | os.PathLike[str],
    *,
    cases: int = 12,
    seed: int = 0,
    progress: Callable[[str], object] | None = None,
) -> CohortFiles:
    """Write synthetic patients, and what each of `TEAMS` makes of them, as NIfTI files.

    Parameters
    ----------
    folder
        Made if need be. Its folders `reference` and `submissions` must be new or empty: two cohorts in one place
        would pass for one.
    cases
        How many patients. A larger number adds to a smaller one's files and changes none of them.
    progress
        Called with the name of each case once its files are written.
    """
    if cases < 1:
        msg = f"a cohort has at least one case, not {cases}"
        raise ValueError(msg)
    folder = Path(folder)
    reference, submissions = folder / "reference", {team.name: folder / "submissions" / team.name for team in TEAMS}
    for used in (reference, folder / "submissions"):
        if used.is_dir() and any(used.iterdir()):
            msg = (
                f"{used} is not empty; a synthetic cohort is written into a new folder, so that nothing old stays in it"
            )
            raise FileExistsError(msg)
    for new in (reference, *submissions.values()):
        new.mkdir(parents=True, exist_ok=True)
    names = {number: f"CHUV{number:03d}" for number in range(1, cases + 1)}
    for number, name in names.items():
        truth = head_and_neck(number, seed=seed)
        write(truth, reference / f"{name}.nii.gz")
        lesions = targets(truth)
        for team in TEAMS:
            output = draw(lesions, team, grid=truth.grid, number=number, seed=seed)
            if output is not None:
                write(output, submissions[team.name] / f"{name}.nii.gz")
        if progress:
            progress(name)
    return CohortFiles(reference, submissions, {team.name: team.role for team in TEAMS}, tuple(names.values()))
