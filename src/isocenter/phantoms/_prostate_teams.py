"""Synthetic teams that detect prostate cancer: how well each sees, and what it hands in for an exam."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from isocenter.phantoms._fields import Array, coordinates, middle, ripple
from isocenter.phantoms._prostate import ProstateExam
from isocenter.phantoms._prostate_findings import Shape, draw_shape, likelihood, near, opinion, voxels_apart
from isocenter.volumes import Volume

_SHARED = 0.75  # the part of the variance of a team's errors that all its instances have in common
_MISSIZED = 0.08  # the relative error of an axis of a candidate, for every millimetre that the team is off
_FALL = 2.5  # a soft map falls to its peak over this at the boundary, where candidates are cut out by default
_FEWEST = 11  # voxels of a candidate; ten or fewer would pass for noise


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionTeam:
    """How a synthetic team detects.

    Everything that may be cancer makes an impression on a team: how conspicuous it is (about 1 for cancer and -1 for
    what mimics it, the same for all) and an error of the team's own.

    Attributes
    ----------
    name
        Also the seed of its errors: two teams of one skill make different mistakes.
    error
        Standard deviation of its errors of impression.
    threshold
        The impression from which on it draws a candidate.
    false_alarms
        Mean number of candidates per exam where there is nothing at all.
    shift
        Standard deviation of the displacement of its candidates along each axis, mm; their axes are wrong by 8 % for
        every millimetre of it.
    size
        How much too large its candidates are on average: 0.1 means 10 % in every direction.
    split
        Probability that it finds a thing in two halves.
    likelihood
        Of the patient: "max", that of the most likely candidate; or "own", an opinion on the exam as a whole, which
        takes in what it did not draw and the PSA.
    instances
        How many independently trained instances of its algorithm it hands in.
    suffix
        Of the files it hands in.
    leaves_out
        The number of a case for which it hands in nothing; 0 if it hands in all.
    role
        "organiser" for a team from the organisers' own institutes.
    """

    name: str
    error: float
    threshold: float = -0.6
    false_alarms: float = 0.1
    shift: float = 1.5
    size: float = 0.0
    split: float = 0.05
    likelihood: Literal["max", "own"] = "own"
    instances: int = 1
    suffix: Literal[".nii.gz", ".mha"] = ".nii.gz"
    leaves_out: int = 0
    role: Literal["team", "organiser"] = "team"


TEAMS_PICAI: tuple[DetectionTeam, ...] = (
    DetectionTeam(name="Limmat", error=0.55, false_alarms=0.05, shift=1.2, suffix=".mha"),
    DetectionTeam(name="Ticino", error=0.9, shift=1.5, instances=5),
    DetectionTeam(name="Linth", error=1.2, shift=1.8, likelihood="max", suffix=".mha"),
    DetectionTeam(name="Emme", error=1.8, false_alarms=0.2, shift=2.2, size=-0.15, split=0.12),
    DetectionTeam(name="Birs", error=4.4, false_alarms=0.5, shift=3.0, size=0.25, split=0.15),
    DetectionTeam(name="Kander", error=0.8, shift=1.5, suffix=".mha", leaves_out=5),
    DetectionTeam(name="Moesa", error=1.4, shift=1.8, split=0.1, role="organiser"),
)
"""Of graded skill, best first; then one that is good but leaves out a case; then a baseline of the organisers."""


class Detection(NamedTuple):
    """What a team hands in for an exam.

    Attributes
    ----------
    map
        float32 on the grid of the exam: 0, or the likelihood in (0, 1] of the candidate that a voxel belongs to. No two
        candidates share even a corner.
    likelihood
        That the patient has significant cancer, in [0, 1].
    """

    map: Volume
    likelihood: float


class _Candidate(NamedTuple):
    """What a team takes for a lesion, and how likely it says that is."""

    shape: Shape
    likelihood: float


def detect(exam: ProstateExam, team: DetectionTeam, *, number: int, seed: int = 0, instance: int = 0) -> Detection:
    """What a team hands in for an exam: a detection map and a likelihood.

    Candidates lie near lesions and mimics, displaced and of another size, or anywhere. What is hard to see is missed by
    most teams; a mimic that looks like cancer fools most.

    Parameters
    ----------
    number, seed
        Which patient, in which run; with the team's name they decide every mistake.
    instance
        Which independently trained instance of the team's algorithm: most, not all, of its mistakes are the team's.
    """
    candidates, stated = _look(exam, team, number=number, seed=seed, instance=instance)
    heat = np.zeros(exam.grid.shape, np.float32)
    for candidate in candidates:
        box, inside = voxels_apart(heat > 0, exam.grid, shape=candidate.shape, gland=exam.gland)
        if np.count_nonzero(inside) >= _FEWEST:
            heat[box][inside] = candidate.likelihood
    return Detection(Volume(heat, exam.grid), float(heat.max()) if team.likelihood == "max" else stated)


def soft_map(exam: ProstateExam, team: DetectionTeam, *, number: int, seed: int = 0, instance: int = 0) -> Volume:
    """The likelihood of cancer in every voxel, float32 in [0, 1], from which a team gets the candidates of `detect`.

    Each is a smooth hill as high as its likelihood; between them a gland is never quite 0. See
    `isocenter.metrics.extract_candidates`.
    """
    candidates, _ = _look(exam, team, number=number, seed=seed, instance=instance)
    rng = np.random.default_rng([*_seeds(team, number=number, seed=seed, instance=instance), 1])
    grid = exam.grid
    points = coordinates(grid, (slice(0, grid.shape[0]), slice(0, grid.shape[1]), slice(0, grid.shape[2])))
    points -= middle(grid)[:, None, None, None]
    heat = (0.02 + 0.008 * ripple(rng, (15.0, 50.0), waves=4)(points)).clip(0.0)
    for candidate in candidates:
        box, around = near(grid, candidate.shape, reach=3.0)
        out = (1.0 - candidate.shape.depth(around)).clip(0.0)
        heat[box] = np.maximum(heat[box], candidate.likelihood * np.exp(-math.log(_FALL) * out**2))
    heat *= (0.5 + 4.0 * exam.gland.whole.depth(points)).clip(0.0, 1.0)
    return Volume(heat.astype(np.float32), grid)


@dataclass(frozen=True, slots=True)
class _Streams:
    """The random streams of a team and of one of its instances for an exam."""

    team: np.random.Generator
    instance: np.random.Generator

    def errors(self, *shape: int) -> Array:
        """Standard normal numbers that resemble those of the team's other instances."""
        alike, own = self.team.standard_normal(shape), self.instance.standard_normal(shape)
        return np.asarray(math.sqrt(_SHARED) * alike + math.sqrt(1.0 - _SHARED) * own)


def _seeds(team: DetectionTeam, *, number: int, seed: int, instance: int) -> list[int]:
    """Of an instance; all but the last are those of the team. Never 0 at the end: numpy takes it for nothing."""
    return [seed, number, zlib.crc32(team.name.encode()), 1 + instance]


def _look(
    exam: ProstateExam, team: DetectionTeam, *, number: int, seed: int, instance: int
) -> tuple[list[_Candidate], float]:
    """The candidates of a team, most likely first, and what it thinks of the patient."""
    seeds = _seeds(team, number=number, seed=seed, instance=instance)
    streams = _Streams(np.random.default_rng(seeds[:-1]), np.random.default_rng(seeds))
    conspicuity = np.array([finding.conspicuity for finding in exam.findings])
    impressions = (conspicuity + team.error * streams.errors(conspicuity.size)).tolist()
    shapes = [_misplaced(finding.shape, team, streams) for finding in exam.findings]
    rng = streams.instance
    for _ in range(int(rng.poisson(team.false_alarms))):
        impressions.append(team.threshold + float(rng.exponential(0.7)))
        shapes.append(draw_shape(rng, exam.gland, radius=float(rng.uniform(3.5, 6.0)), central=rng.random() < 0.4))
    found = []
    for shape, impression in zip(shapes, impressions, strict=True):
        parts = _halves(shape) if rng.random() < team.split else (shape,)
        if impression >= team.threshold:
            found += [_Candidate(part, _stated(impression - 0.6 * later)) for later, part in enumerate(parts)]
    found.sort(key=lambda candidate: -candidate.likelihood)
    error = team.error * float(streams.errors(1)[0])
    return found, _stated(opinion(impressions, error=error, psa=float(exam.facts["psa"])))


def _misplaced(shape: Shape, team: DetectionTeam, streams: _Streams) -> Shape:
    """Where a team sees a thing."""
    centre = shape.centre + team.shift * streams.errors(3)
    axes = shape.axes * (1.0 + team.size) * np.exp(_MISSIZED * team.shift * streams.errors(3))
    return Shape(centre, axes, shape.surface)


def _halves(shape: Shape) -> tuple[Shape, Shape]:
    """A shape cut across its longest axis."""
    longest = np.eye(3)[int(shape.axes.argmax())]
    axes, aside = shape.axes * (1.0 - 0.52 * longest), 0.52 * shape.axes * longest
    return Shape(shape.centre - aside, axes, shape.surface), Shape(shape.centre + aside, axes, shape.surface)


def _stated(impression: float) -> float:
    """The likelihood that a team states, between 0.001 and 0.999 in thousandths."""
    return round(min(max(likelihood(impression), 0.001), 0.999), 3)
