"""Synthetic teams that predict dose: what each gets wrong, and what it hands in for a patient."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.phantoms._doserad import BeamPatient
from isocenter.phantoms._fields import Array, Mask, bounds
from isocenter.phantoms._openkbp import DosePatient

Array32 = NDArray[np.float32]

_DIFFICULTY = 1  # marks the random stream of a patient, which is the same for all teams
_LUMP = 22.0  # mm between the nodes of a smooth error
_SMALLEST = 1e-4  # of a beam's maximum; what is less is not handed in


@dataclass(frozen=True, slots=True, kw_only=True)
class DoseTeam:
    """How a synthetic team predicts dose. All lengths and errors are for a patient of average difficulty.

    Attributes
    ----------
    name
        Also the seed of its errors: two teams of one skill make different mistakes.
    blur
        σ of the Gaussian that its dose is smeared with, mm.
    shift
        How far its dose is displaced, mm: in any direction, or for a single beam too deep or too shallow.
    noise
        Standard deviation of a smooth error, relative to the dose; less where the dose is that of a target.
    scale
        How much too high its dose is everywhere: 0.02 means 2 %.
    structures
        How much too high it is in organs at risk, and too low in targets. Structures are small, so this hardly shows
        in a mean over all voxels, but in every point of a dose-volume histogram.
    seconds_per_beam
        Its run time, for a challenge that counts it.
    role
        "organiser" for a team from the organisers' own institutes.
    """

    name: str
    blur: float
    shift: float = 0.0
    noise: float = 0.0
    scale: float = 0.0
    structures: float = 0.0
    seconds_per_beam: float = 0.0
    role: Literal["team", "organiser"] = "team"


TEAMS_OPENKBP: tuple[DoseTeam, ...] = (
    DoseTeam(name="Thun", blur=1.2, shift=0.6, noise=0.22),
    DoseTeam(name="Zug", blur=1.7, shift=1.0, noise=0.26, scale=0.005),
    DoseTeam(name="Sempach", blur=2.5, shift=1.6, noise=0.3, scale=-0.015),
    DoseTeam(name="Walen", blur=4.5, shift=2.6, noise=0.38, scale=0.02),
    DoseTeam(name="Biel", blur=11.0, shift=6.0, noise=0.5, scale=-0.08),
    DoseTeam(name="Murten", blur=1.2, shift=0.6, noise=0.22, structures=0.12),
)
"""Of graded skill, best first; the last has a good dose but is wrong where the histograms look."""

TEAMS_DOSERAD: tuple[DoseTeam, ...] = (
    DoseTeam(name="Gotthard", blur=0.5, shift=0.15, noise=0.004, seconds_per_beam=0.62),
    DoseTeam(name="Furka", blur=0.8, shift=0.3, noise=0.008, scale=0.003, seconds_per_beam=0.35),
    DoseTeam(name="Grimsel", blur=1.2, shift=0.6, noise=0.015, scale=-0.008, seconds_per_beam=0.21),
    DoseTeam(name="Albula", blur=2.6, shift=2.0, noise=0.05, scale=-0.04, seconds_per_beam=0.8),
    DoseTeam(name="Klausen", blur=0.6, shift=0.2, noise=0.005, structures=0.03, seconds_per_beam=0.5),
    DoseTeam(name="Susten", blur=2.0, shift=0.8, noise=0.02, seconds_per_beam=0.012),
)
"""Of graded skill, best first; then one that is wrong in the structures, and one that is coarse but very fast."""


def predict_dose(patient: DosePatient, team: DoseTeam, *, seed: int = 0) -> Array32:
    """What a team predicts for a patient of OpenKBP, Gy; nothing outside of the voxels that may receive dose.

    The truth smeared, displaced, scaled and made uneven, by more in a patient who is difficult for all teams.

    Parameters
    ----------
    seed
        With the names of the patient and of the team it decides every mistake.
    """
    from scipy import ndimage

    rng, hard = _streams(patient.name, team, seed)
    box = bounds(patient.possible, (2, 2, 2))
    way = rng.normal(size=3)
    way *= hard * team.shift / math.sqrt(float((way**2).sum()))
    sigma = [hard * team.blur / step for step in patient.spacing]
    # Within the body only: a team knows that there is no dose outside, and smears none of it over the skin.
    covered = ndimage.gaussian_filter(patient.possible[box].astype(np.float64), sigma)
    dose = ndimage.gaussian_filter(patient.dose[box], sigma) / np.maximum(covered, 0.05)
    dose = ndimage.shift(dose, way / patient.spacing, order=1, mode="nearest")
    uneven = hard * team.noise * _lumps(rng, dose.shape, patient.spacing)
    uneven *= 1.0 - (dose / (0.85 * dose.max())).clip(0.0, 1.0) ** 3  # what is prescribed is known best
    dose *= (1.0 + team.scale) * (1.0 + uneven.clip(-0.9, 0.9))
    _mistake(dose, ((name, mask[box]) for name, mask in patient.structures.items()), team)
    whole = np.zeros(patient.dose.shape, np.float32)
    whole[box] = np.where(patient.possible[box], dose.clip(0.0), 0.0)
    return whole


def predict_beams(patient: BeamPatient, team: DoseTeam, *, seed: int = 0) -> dict[str, Array32]:
    """What a team predicts for every beam of a patient of DoseRAD, by uuid, Gy per unit of weight.

    A displacement is along the beam: too deep or too shallow, the same for all beams of a patient.
    """
    from scipy import ndimage

    rng, hard = _streams(patient.name, team, seed)
    spacing = patient.grid.spacing
    deeper = hard * team.shift * float(rng.choice((-1.0, 1.0)))
    uneven = (hard * team.noise * _lumps(rng, patient.grid.shape, spacing)).clip(-0.9, 0.9)
    factor = (1.0 + team.scale) * (1.0 + uneven)
    _mistake(factor, patient.structures.items(), team)
    margin = [math.ceil((3.0 * hard * team.blur + abs(deeper)) / step) + 1 for step in spacing]
    found = {}
    for name, truth in patient.beams.items():
        made = np.zeros_like(truth)
        if truth.any():
            box = bounds(truth > 0.0, (margin[0], margin[1], margin[2]))
            dose = ndimage.gaussian_filter(truth[box], [hard * team.blur / step for step in spacing])
            away = [deeper * way / step for way, step in zip(patient.directions[name], spacing, strict=True)]
            dose = ndimage.shift(dose, away, order=1) * factor[box]
            made[box] = np.where(dose > _SMALLEST * dose.max(), dose, 0.0)
        found[name] = made
    return found


def _streams(patient: str, team: DoseTeam, seed: int) -> tuple[np.random.Generator, float]:
    """The random stream of a team's mistakes, and how difficult the patient is, about 1."""
    case = zlib.crc32(patient.encode())
    rng = np.random.default_rng([seed, case, zlib.crc32(team.name.encode())])
    hard = np.random.default_rng([seed, case, _DIFFICULTY]).lognormal(0.0, 0.2) * rng.lognormal(0.0, 0.08)
    return rng, float(hard)


def _mistake(dose: Array, structures: Iterable[tuple[str, Mask]], team: DoseTeam) -> None:
    """Raise the dose in organs at risk and lower it in targets; a voxel of both is one of a target."""
    if not team.structures:
        return
    for name, mask in sorted(structures, key=lambda item: item[0].startswith("PTV")):
        dose[mask] *= 1.0 - 0.5 * team.structures if name.startswith("PTV") else 1.0 + team.structures


def _lumps(rng: np.random.Generator, shape: tuple[int, ...], spacing: tuple[float, float, float]) -> Array:
    """A smooth random field of mean 0 and variance 1: bells on a lattice, each of random height."""
    bells = []
    for count, step in zip(shape, spacing, strict=True):
        nodes = np.arange(-1.0, count * step / _LUMP + 2.0) * _LUMP
        bell = np.exp(-0.5 * ((np.arange(count)[:, None] * step - nodes[None, :]) / (0.7 * _LUMP)) ** 2)
        bells.append(bell / np.sqrt((bell**2).sum(axis=1, keepdims=True)))
    heights = rng.normal(size=[bell.shape[1] for bell in bells])
    # Axis by axis; einsum, whose sums do not depend on the number of threads.
    for axis, bell in enumerate(bells):
        heights = np.moveaxis(np.einsum("ij,j...->i...", bell, np.moveaxis(heights, axis, 0)), 0, axis)
    return np.ascontiguousarray(heights)
