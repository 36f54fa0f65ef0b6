"""Synthetic teams: how well each draws, and what it hands in for a case."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import Literal

import numpy as np

from isocenter.phantoms._fields import Array, Box, bounds, coordinates, middle, pieces, ripple, signed_distance
from isocenter.phantoms._head_and_neck import TUMOUR, node, paint
from isocenter.volumes import Grid, Volume

_MARGIN = 16.0  # mm around a lesion in which a team may draw; beyond any displacement below
_FURTHEST = 12.0  # mm that a boundary is displaced at most
_DIFFICULTY = 1  # marks the random stream of a case, which is the same for all teams


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """How a synthetic team draws.

    Attributes
    ----------
    name
        Also the seed of its errors: two teams of one skill make different mistakes.
    boundary
        Root mean square displacement of the boundary of a large lesion in a case of average difficulty, mm;
        less for a small one.
    volume_bias
        How much too large its lesions are on average: 0.1 means 10 %.
    missed_node, false_node
        Probability that it overlooks a lymph node; that it draws one which is not there.
    missed_tumour
        Probability that it overlooks the tumour.
    no_output
        Probability that it hands in nothing for a case.
    role
        "organiser" for a team from the organisers' own institutes.
    """

    name: str
    boundary: float
    volume_bias: float = 0.0
    missed_node: float = 0.0
    false_node: float = 0.0
    missed_tumour: float = 0.0
    no_output: float = 0.0
    role: Literal["team", "organiser"] = "team"


TEAMS: tuple[Team, ...] = (
    Team(name="Aare", boundary=1.4, missed_node=0.02, false_node=0.02),
    Team(name="Doubs", boundary=1.9, volume_bias=0.05, missed_node=0.05, false_node=0.05),
    Team(name="Inn", boundary=2.6, volume_bias=-0.15, missed_node=0.10, false_node=0.05, missed_tumour=0.01),
    Team(name="Thur", boundary=4.2, volume_bias=0.25, missed_node=0.15, false_node=0.15, missed_tumour=0.02),
    Team(name="Reuss", boundary=2.6, missed_node=0.05, false_node=0.05, no_output=0.25),
    Team(name="Sarine", boundary=1.6, missed_node=0.03, false_node=0.03, role="organiser"),
)
"""Of graded skill, best first; then one that draws well enough but often hands in nothing; then the organisers."""


@dataclass(frozen=True, slots=True)
class Target:
    """A lesion as a team finds it: where it is and how far its boundary is from everywhere near it, mm."""

    label: int
    box: Box
    distance: Array
    radius: float


def segment(truth: Volume, team: Team, *, number: int, seed: int = 0) -> Volume | None:
    """What a team hands in for a case: a uint8 volume of the truth's labels, or None for nothing at all.

    The boundary of each lesion is displaced by a smooth random field, so that mistakes are bulges and dents of
    centimetres, never speckles; a case that is difficult is so for every team. Any label volume will do as the truth.

    Parameters
    ----------
    number, seed
        Which patient, in which run; with the team's name they decide every mistake.
    """
    return draw(targets(truth), team, grid=truth.grid, number=number, seed=seed)


def targets(truth: Volume) -> list[Target]:
    """The lesions of a truth: its connected pieces, label by label. All teams start from the same ones."""
    spacing = truth.grid.spacing
    margin = (math.ceil(_MARGIN / spacing[0]), math.ceil(_MARGIN / spacing[1]), math.ceil(_MARGIN / spacing[2]))
    found = []
    for label in sorted(set(np.unique(truth.array).tolist()) - {0}):
        mask = truth.array == label
        around = bounds(mask)
        for piece in pieces(mask[around]):
            whole = np.zeros(truth.grid.shape, np.bool_)
            whole[around] = piece
            box = bounds(whole, margin)
            volume = int(piece.sum()) * truth.grid.voxel_volume
            radius = math.pow(volume * 3.0 / (4.0 * math.pi), 1.0 / 3.0)
            found.append(Target(int(label), box, signed_distance(whole[box], spacing), radius))
    return found


def draw(lesions: list[Target], team: Team, *, grid: Grid, number: int, seed: int) -> Volume | None:
    """`segment`, from lesions that were found once for all teams."""
    rng = np.random.default_rng([seed, number, zlib.crc32(team.name.encode())])
    if rng.random() < team.no_output:
        return None
    difficulty = np.random.default_rng([seed, number, _DIFFICULTY]).lognormal(0.0, 0.25) * rng.lognormal(0.0, 0.15)
    labels = np.zeros(grid.shape, np.uint8)
    if rng.random() < team.false_node:
        side, height = float(rng.choice((-1.0, 1.0))), float(rng.uniform(-40.0, 25.0))
        paint(labels, grid, lesion=node(rng, side=side, height=height))
    for lesion in sorted(lesions, key=lambda lesion: -lesion.label):  # the tumour last: it covers a node it reaches
        drawn = _displaced(lesion, team, grid=grid, error=team.boundary * float(difficulty), rng=rng)
        if rng.random() >= (team.missed_tumour if lesion.label == TUMOUR else team.missed_node):
            labels[lesion.box][drawn > 0.0] = lesion.label
    return Volume(labels, grid)


def _displaced(lesion: Target, team: Team, *, grid: Grid, error: float, rng: np.random.Generator) -> Array:
    """The signed distance with the team's own error added: what is above 0 is what the team draws."""
    swelling = lesion.radius * (math.pow(1.0 + team.volume_bias, 1.0 / 3.0) - 1.0)
    error *= lesion.radius / (lesion.radius + error)  # an error as large as the lesion would tear it to pieces
    offset = swelling + error * float(rng.normal(0.0, 0.4))
    points = coordinates(grid, lesion.box) - middle(grid)[:, None, None, None]
    moved = offset + error * ripple(rng, (22.0, 70.0))(points)
    return np.asarray(lesion.distance + moved.clip(-_FURTHEST, _FURTHEST))
