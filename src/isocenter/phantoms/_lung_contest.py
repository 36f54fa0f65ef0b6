"""The lung contest around its cohort: facts of the cases, earlier phases and what grew out of them, observers."""

from __future__ import annotations

import csv
import io
import os
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from isocenter.atomic import write_text
from isocenter.phantoms._cohort import CohortFiles
from isocenter.phantoms._lung import lung_tumour
from isocenter.phantoms._observers import OBSERVERS, lesions_of, redraw
from isocenter.phantoms._teams import Team, draw
from isocenter.volumes import write

_STREAM = zlib.crc32(b"lung contest")
_OBSERVED = 12  # cases that observers draw, at most
_REPEATED = ("Observer A", "Observer C")  # who draw every second of these cases again

EARLIER: Mapping[str, tuple[tuple[Team, str], ...]] = {
    "phase-1": (
        (Team(name="Rigi", boundary=3.6, missed_tumour=0.15), ""),
        (Team(name="Titlis", boundary=4.2, volume_bias=-0.15, missed_tumour=0.15), ""),
        (Team(name="Bernina", boundary=4.6, volume_bias=0.3, missed_tumour=0.2), ""),
        (Team(name="Finsteraar", boundary=5.5, missed_tumour=0.3), ""),
    ),
    "phase-2": (
        (Team(name="Rigi", boundary=2.8, missed_tumour=0.05), "Rigi"),
        (Team(name="Titlis", boundary=3.2, volume_bias=-0.12, missed_tumour=0.05), "Titlis"),
        (Team(name="Pilatus", boundary=3.6, missed_tumour=0.06), "Rigi"),
        (Team(name="Napf", boundary=4.0, volume_bias=0.5, missed_tumour=0.06), "Titlis;Bernina"),
    ),
}
"""Who took part in the phases before the last, and, after a comma, on whose solution theirs was built."""

# When in a phase, as a part of its time, a team submits: the better ones late, so that the lead changes hands.
_WHEN = {"Finsteraar": 0.1, "Bernina": 0.2, "Eiger": 0.3, "Napf": 0.4, "Pilatus": 0.5, "Titlis": 0.6, "Rigi": 0.9}
_LAST = {"Rigi": "Rigi;Titlis", "Titlis": "Titlis", "Pilatus": "Rigi", "Napf": "Napf"}
_METHODS = {
    "Rigi": "convolutional network",
    "Titlis": "convolutional network",
    "Pilatus": "convolutional network",
    "Napf": "random forest",
    "Eiger": "cluster growth",
    "Bernina": "random forest",
    "Finsteraar": "cluster growth",
}
_SECONDS = {"Rigi": 118.0, "Titlis": 46.0, "Pilatus": 15.0, "Napf": 31.0, "Eiger": 22.0, "Region growing": 9.0}


class EarlierSubmission(NamedTuple):
    """A submission of an earlier phase: where its masks lie, and where `submissions.csv` expects its score table."""

    phase: str
    team: str
    outputs: Path
    table: Path


def write_lung_contest(
    folder: str | os.PathLike[str],
    cohort: CohortFiles,
    *,
    seed: int = 0,
    phases: Mapping[str, tuple[datetime, datetime]] | None = None,
) -> tuple[EarlierSubmission, ...]:
    """Write what a report on the contest needs beside the cohort of `write_lung_cohort` with the same seed.

    `cases.csv` with stage, lobe and contrast; `survey.csv` with methods; `run_times.csv`; `observers/`, what six
    observers draw of up to twelve cases; `second-pass/`, every second of these as two of them draw it again;
    `earlier/PHASE/TEAM/`, the masks of two earlier phases; and `submissions.csv`, which lists all phases and whose
    solutions were built on which. The score tables that it names are the caller's to write: scores/TEAM.parquet of the
    cohort, and those that are returned.

    Parameters
    ----------
    phases
        When each phase opens and closes, so that its submissions have moments within it; without, they have none.
    """
    home = Path(folder)
    rng = np.random.default_rng([seed, _STREAM])
    write_text(_table(_facts(rng, cohort.cases)), home / "cases.csv")
    write_text(_table([{"team": team, "method": method} for team, method in _METHODS.items()]), home / "survey.csv")
    times = [
        {"submission": team, "seconds": f"{per_scan * len(cohort.cases):.1f}", "images": str(len(cohort.cases))}
        for team, per_scan in _SECONDS.items()
        if team in cohort.submissions
    ]
    write_text(_table(times), home / "run_times.csv")
    earlier = [
        EarlierSubmission(
            phase, team.name, home / "earlier" / phase / team.name, home / "scores" / phase / f"{team.name}.parquet"
        )
        for phase, teams in EARLIER.items()
        for team, _ in teams
    ]
    for number, case in enumerate(cohort.cases, start=1):
        _draw(home, number, case, seed=seed)
    write_text(_table(_submissions(home, cohort, earlier, phases or {})), home / "submissions.csv")
    return tuple(earlier)


def _draw(home: Path, number: int, case: str, *, seed: int) -> None:
    """What teams of earlier phases and observers make of a case."""
    truth = lung_tumour(number, seed=seed)
    lesions = lesions_of(truth)
    for phase, teams in EARLIER.items():
        for team, _ in teams:
            drawn = draw(lesions, team, grid=truth.grid, number=number, seed=seed)
            place = home / "earlier" / phase / team.name
            place.mkdir(parents=True, exist_ok=True)
            if drawn is not None:
                write(drawn, place / f"{case}.nii.gz")
    for observer in OBSERVERS if number <= _OBSERVED else ():
        again = ("second-pass",) if observer.name in _REPEATED and number % 2 else ()
        for repeat, name in enumerate(("observers", *again)):
            place = home / name / observer.name
            place.mkdir(parents=True, exist_ok=True)
            drawn = redraw(lesions, observer, grid=truth.grid, number=number, seed=seed, repeat=repeat)
            write(drawn, place / f"{case}.nii.gz")


def _facts(rng: np.random.Generator, cases: Sequence[str]) -> list[dict[str, str]]:
    return [
        {
            "case": case,
            "stage": str(rng.choice(["I", "II", "III", "IV"], p=[0.3, 0.15, 0.45, 0.1])),
            "lobe": str(rng.choice(["upper", "middle", "lower"], p=[0.6, 0.1, 0.3])),
            "contrast": str(rng.choice(["yes", "no"], p=[0.4, 0.6])),
        }
        for case in cases
    ]


def _moment(team: str, phase: tuple[datetime, datetime] | None) -> str:
    """When a team submits, as submissions.csv has it; "" without a phase."""
    if phase is None:
        return ""
    opens, closes = phase
    return (opens + _WHEN.get(team, 0.5) * (closes - opens)).replace(microsecond=0).isoformat()


def _submissions(
    home: Path,
    cohort: CohortFiles,
    earlier: Sequence[EarlierSubmission],
    phases: Mapping[str, tuple[datetime, datetime]],
) -> list[dict[str, str]]:
    built = {(phase, team.name): on for phase, teams in EARLIER.items() for team, on in teams}
    rows = [
        {
            "phase": one.phase,
            "team": one.team,
            "table": one.table.relative_to(home).as_posix(),
            "time": _moment(one.team, phases.get(one.phase)),
            "role": "team",
            "outputs": one.outputs.relative_to(home).as_posix(),
            "builds_on": built[one.phase, one.team],
        }
        for one in earlier
    ]
    return rows + [
        {
            "phase": "phase-3",
            "team": team,
            "table": f"scores/{team}.parquet",
            "time": _moment(team, phases.get("phase-3")),
            "role": role,
            "outputs": f"submissions/{team}",
            "builds_on": _LAST.get(team, ""),
        }
        for team, role in cohort.roles.items()
    ]


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
