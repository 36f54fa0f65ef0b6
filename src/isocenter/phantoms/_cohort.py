"""Whole synthetic challenges on disk: references and submissions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from isocenter.phantoms._head_and_neck import head_and_neck
from isocenter.phantoms._lung import lung_tumour
from isocenter.phantoms._lung_teams import REGION_GROWING, TEAMS_LUNG
from isocenter.phantoms._observers import OBSERVERS, lesions_of, redraw
from isocenter.phantoms._teams import TEAMS, draw, targets
from isocenter.volumes import Volume, write

Role = Literal["team", "organiser", "benchmark"]
_Progress = Callable[[str], object]
_SECOND_OBSERVER = OBSERVERS[1]


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
        What each takes part as: a team, a team of the organisers, or a benchmark that is not ranked.
    cases
        The names of the cases.
    run_times
        A table of the jobs of every team, where a challenge ranks by run time.
    reads
        A table of what radiologists read in the cases, where a challenge compares teams with them.
    images
        The folder of the scans of the cases, where they were asked for.
    """

    reference: Path
    submissions: Mapping[str, Path]
    roles: Mapping[str, Role]
    cases: tuple[str, ...]
    run_times: Path | None = None
    reads: Path | None = None
    images: Path | None = None


@dataclass(frozen=True, slots=True)
class _Patient:
    """A case: its name, the truth, and what everybody makes of it one after the other."""

    name: str
    truth: Volume
    outputs: Iterator[tuple[str, Volume | None]]


def write_cohort(
    folder: str | os.PathLike[str], *, cases: int = 12, seed: int = 0, progress: _Progress | None = None
) -> CohortFiles:
    """Write synthetic patients with tumours of head and neck, and what each of `TEAMS` makes of them, as NIfTI files.

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
    roles: dict[str, Role] = {team.name: team.role for team in TEAMS}
    return _write(folder, lambda number: _head_and_neck(number, seed), roles, cases=cases, progress=progress)


def write_lung_cohort(
    folder: str | os.PathLike[str], *, cases: int = 12, seed: int = 0, progress: _Progress | None = None
) -> CohortFiles:
    """Write synthetic patients with a tumour of the lung as `write_cohort` does, cases LUNG001 and so on.

    Beside `TEAMS_LUNG` there are two benchmarks, which are not ranked: a second observer, and a tool that nobody helps.
    """
    roles: dict[str, Role] = {team.name: team.role for team in TEAMS_LUNG}
    roles |= dict.fromkeys((_SECOND_OBSERVER.name, REGION_GROWING.name), "benchmark")
    return _write(folder, lambda number: _lung(number, seed), roles, cases=cases, progress=progress)


def _head_and_neck(number: int, seed: int) -> _Patient:
    truth = head_and_neck(number, seed=seed)
    lesions = targets(truth)
    outputs = ((team.name, draw(lesions, team, grid=truth.grid, number=number, seed=seed)) for team in TEAMS)
    return _Patient(f"CHUV{number:03d}", truth, outputs)


def _lung(number: int, seed: int) -> _Patient:
    truth = lung_tumour(number, seed=seed)

    def outputs() -> Iterator[tuple[str, Volume | None]]:
        lesions = lesions_of(truth)
        for team in (*TEAMS_LUNG, REGION_GROWING):
            yield team.name, draw(lesions, team, grid=truth.grid, number=number, seed=seed)
        other = _SECOND_OBSERVER
        yield other.name, redraw(lesions, other, grid=truth.grid, number=number, seed=seed, repeat=0)

    return _Patient(f"LUNG{number:03d}", truth, outputs())


def make_room(folder: str | os.PathLike[str], names: Iterable[str], *, cases: int) -> tuple[Path, dict[str, Path]]:
    """New or empty folders for the references of some cases, and for everybody who submits."""
    if cases < 1:
        msg = f"a cohort has at least one case, not {cases}"
        raise ValueError(msg)
    folder = Path(folder)
    reference, submissions = folder / "reference", {name: folder / "submissions" / name for name in names}
    ask_for_room(reference, folder / "submissions")
    for new in (reference, *submissions.values()):
        new.mkdir(parents=True, exist_ok=True)
    return reference, submissions


def ask_for_room(*folders: Path) -> None:
    """Raise `FileExistsError` if one of some folders is there and not empty."""
    for used in folders:
        if used.is_dir() and any(used.iterdir()):
            msg = (
                f"{used} is not empty; a synthetic cohort is written into a new folder, so that nothing old stays in it"
            )
            raise FileExistsError(msg)


def _write(
    folder: str | os.PathLike[str],
    patient: Callable[[int], _Patient],
    roles: Mapping[str, Role],
    *,
    cases: int,
    progress: _Progress | None,
) -> CohortFiles:
    """Write cases 1, 2, 3 … and what everybody who has a role makes of them."""
    reference, submissions = make_room(folder, roles, cases=cases)
    names = []
    for number in range(1, cases + 1):
        case = patient(number)
        write(case.truth, reference / f"{case.name}.nii.gz")
        for name, output in case.outputs:
            if output is not None:
                write(output, submissions[name] / f"{case.name}.nii.gz")
        names.append(case.name)
        if progress:
            progress(case.name)
    return CohortFiles(reference, submissions, dict(roles), tuple(names))
