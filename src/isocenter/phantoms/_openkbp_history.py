"""The validation phase of a synthetic OpenKBP: a small cohort, and submission after submission of teams that learn."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from isocenter.phantoms._dose_teams import TEAMS_OPENKBP, Array32, DoseTeam, predict_dose
from isocenter.phantoms._openkbp import openkbp_patient, write_openkbp, write_openkbp_predictions

_FIRST = 201  # the number of the first validation patient, as in the public data
_UNSTEADY = 0.04  # spread of a submission around the way that its team has come


class Attempt(NamedTuple):
    """A submission: whose, its number of how many of the team, and where it lies until the next is asked for."""

    team: str
    number: int
    of: int
    folder: Path


def write_openkbp_validation(
    folder: str | os.PathLike[str], *, counts: Mapping[str, int], patients: int = 1, seed: int = 0
) -> tuple[Path, Iterator[Attempt]]:
    """Write validation patients, and give the submissions that teams make there one after the other.

    A team begins with a dose that is smeared, displaced and too low, and comes to what it predicts in the end: its
    submission k of n is (1 − w)·final + w·raw with w = (1 − k/n)², now and then a step back.

    Parameters
    ----------
    counts
        How many submissions each team makes; teams of `TEAMS_OPENKBP`.

    Returns
    -------
    tuple
        The folder of the references; and the submissions. Each is written into the same folder, in place of the one
        before it, when it is asked for.
    """
    home = Path(folder)
    made = [openkbp_patient(_FIRST + number, seed=seed) for number in range(patients)]
    write_openkbp(home / "reference", made)

    def attempts() -> Iterator[Attempt]:
        for team in TEAMS_OPENKBP:
            if count := counts.get(team.name, 0):
                final = {patient.name: predict_dose(patient, team, seed=seed) for patient in made}
                raw = {patient.name: predict_dose(patient, _raw(team), seed=seed) for patient in made}
                yield from _written(home / "submission", team.name, _weights(team.name, count, seed), final, raw)
        shutil.rmtree(home / "submission", ignore_errors=True)

    return home / "reference", attempts()


def _raw(team: DoseTeam) -> DoseTeam:
    """The same team at its beginning."""
    return replace(team, blur=team.blur + 18.0, shift=team.shift + 8.0, noise=team.noise + 0.6, scale=team.scale - 0.25)


def _weights(team: str, count: int, seed: int) -> list[float]:
    """How raw each submission is, from 1 to 0."""
    rng = np.random.default_rng([seed, zlib.crc32(team.encode()), zlib.crc32(b"history")])
    way = (1.0 - np.arange(1, count + 1) / count) ** 2 + rng.normal(0.0, _UNSTEADY, count)
    found: list[float] = np.clip(way, 0.0, 1.0).tolist()
    return found


def _written(
    folder: Path, team: str, weights: Sequence[float], final: Mapping[str, Array32], raw: Mapping[str, Array32]
) -> Iterator[Attempt]:
    for number, weight in enumerate(weights, start=1):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write_openkbp_predictions(folder, {name: (1 - weight) * final[name] + weight * raw[name] for name in final})
        yield Attempt(team, number, len(weights), folder)
