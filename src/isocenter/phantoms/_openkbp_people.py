"""Synthetic people who registered for OpenKBP, and what teams said of their models."""

from __future__ import annotations

import csv
import io
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from isocenter.atomic import write_text

_STREAM = zlib.crc32(b"openkbp people")
_PEOPLE = 60

_AREAS = {"Machine learning": 0.42, "Medical physics": 0.35, "Optimisation": 0.14, "Other": 0.09}
_EXPERIENCED = {"Machine learning": 0.33, "Medical physics": 0.45, "Optimisation": 0.6, "Other": 0.5}
_COUNTRIES = {
    "United States": 16.0,
    "China": 9.0,
    "India": 6.0,
    **dict.fromkeys(("Canada", "France", "South Korea", "Switzerland"), 2.5),
    **dict.fromkeys(("Australia", "Austria", "Belgium", "Brazil", "Colombia", "Finland", "Germany"), 1.5),
    **dict.fromkeys(("Japan", "Kenya", "Netherlands", "Spain", "Turkey", "Vietnam"), 1.2),
}
_EQUITY = {
    "equity_gender_identity": {"Man": 0.64, "Woman": 0.26, "Prefer not to say": 0.06, "": 0.04},
    "equity_disability": {"No": 0.86, "Yes": 0.04, "Prefer not to say": 0.07, "": 0.03},
}
_ARCHITECTURES = {"U-Net": 0.6, "V-Net": 0.2, "Pix2Pix": 0.2}
_FRAMEWORKS = {"PyTorch": 0.6, "TensorFlow": 0.4}
_AUGMENTATIONS = {"rotations": 0.6, "flips": 0.7, "crops": 0.3, "translations": 0.4}
_LOSSES = {"MAE": 0.55, "MSE": 0.25, "GAN": 0.2}


def write_openkbp_people(home: str | os.PathLike[str], *, teams: Sequence[str], seed: int = 0) -> tuple[Path, Path]:
    """Write `participants.csv` and `survey.csv` into the folder of an edition, and return where they lie.

    Sixty people, or as many as there are teams, with area, experience, country and two questions on equity; some
    answers are of one or two people only. Every team has a member; some people have no team, or one that submits
    nothing. Nobody is real.
    """
    rng = np.random.default_rng([seed, _STREAM])
    people, survey = Path(home, "participants.csv"), Path(home, "survey.csv")
    write_text(_table([_person(rng, team) for team in _memberships(rng, teams)]), people)
    write_text(_table([_model(rng, team) for team in teams]), survey)
    return people, survey


def _memberships(rng: np.random.Generator, teams: Sequence[str]) -> list[str]:
    """A team for each person: every team has somebody, the others join one, one that submits nothing, or none."""
    some = [*[""] * max(len(teams), 1), "Doubs", "Orbe", *teams, *teams]
    return [*teams, *(str(rng.choice(some)) for _ in range(_PEOPLE - len(teams)))]


def _person(rng: np.random.Generator, team: str) -> dict[str, str]:
    area = _draw(rng, _AREAS)
    experience = "yes" if rng.random() < _EXPERIENCED[area] else "no"
    told = {"team": team, "area": area, "experience": experience, "country": _draw(rng, _COUNTRIES)}
    return told | {question: _draw(rng, answers) for question, answers in _EQUITY.items()}


def _model(rng: np.random.Generator, team: str) -> dict[str, str]:
    augmented = [name for name, chance in _AUGMENTATIONS.items() if rng.random() < chance]
    return {
        "team": team,
        "architecture": _draw(rng, _ARCHITECTURES),
        "framework": _draw(rng, _FRAMEWORKS),
        "augmentation": "; ".join(augmented) or "none",
        "loss": _draw(rng, _LOSSES),
        "ensemble": _draw(rng, {"no": 0.6, "yes": 0.4}),
        "in your own words": f"{team} trained on whole patients and scaled the dose to that of the high-dose target.",
    }


def _draw(rng: np.random.Generator, weights: Mapping[str, float]) -> str:
    chances = np.array(list(weights.values()))
    return list(weights)[int(rng.choice(len(weights), p=chances / chances.sum()))]


def _table(rows: Sequence[Mapping[str, str]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else ["team"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
