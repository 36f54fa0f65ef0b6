"""Synthetic observers: experts who draw the same tumours, each in an own style, and never twice quite the same."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

import numpy as np

from isocenter.phantoms._fields import Array, bounds, coordinates, middle, ripple, signed_distance
from isocenter.phantoms._teams import Target
from isocenter.volumes import Grid, Volume

_MARGIN = 16.0  # mm around a lesion in which an observer may draw; beyond any displacement below
_FURTHEST = 12.0  # mm that a boundary is displaced at most
_DIFFICULTY = 2  # marks the random stream of a case, which is the same for all observers


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """How an expert draws.

    Attributes
    ----------
    name
        Also the seed of the style: what this observer sees in a case that others do not.
    volume_bias
        How much larger than the truth the lesions are on average: 0.1 means 10 %. The same in every case.
    reading
        Root mean square displacement of the boundary of a large lesion from case to case, mm; the same when the
        observer draws the case again.
    repeat
        The same for what is different every time.
    """

    name: str
    volume_bias: float = 0.0
    reading: float = 1.0
    repeat: float = 0.8


OBSERVERS: tuple[Observer, ...] = (
    Observer(name="Observer A"),
    Observer(name="Observer B", volume_bias=0.10),
    Observer(name="Observer C", volume_bias=-0.12, repeat=0.7),
    Observer(name="Observer D", volume_bias=0.20, reading=1.2),
    Observer(name="Observer E", volume_bias=-0.05, reading=1.2, repeat=1.1),
    Observer(name="Observer F", volume_bias=0.05, reading=0.9),
)
"""Six of them, as in the lung contest's study: some draw generously, some tightly, one is less steady."""


def observe(truth: Volume, observer: Observer, *, number: int, seed: int = 0, repeat: int = 0) -> Volume:
    """What an observer draws: a uint8 volume of the truth's labels.

    The boundary of each lesion is displaced by smooth random fields: one of the observer in this case, and one of this
    session. An observer never overlooks a lesion, and never draws one that is not there.

    Parameters
    ----------
    truth
        Any label volume.
    number, seed
        Which patient, in which run; with the observer's name they decide the reading.
    repeat
        Which session: 0 the first, 1 the second blinded one, and so on.
    """
    return redraw(lesions_of(truth), observer, grid=truth.grid, number=number, seed=seed, repeat=repeat)


def redraw(lesions: list[Target], observer: Observer, *, grid: Grid, number: int, seed: int, repeat: int) -> Volume:
    """`observe`, from lesions that were found once for all observers."""
    name = zlib.crc32(observer.name.encode())
    style = np.random.default_rng([seed, number, name])
    session = np.random.default_rng([seed, number, name, 1 + repeat])
    difficulty = float(np.random.default_rng([seed, number, _DIFFICULTY]).lognormal(0.0, 0.2))
    labels = np.zeros(grid.shape, np.uint8)
    for lesion in sorted(lesions, key=lambda lesion: -lesion.label):  # the tumour last: it covers a node it reaches
        points = coordinates(grid, lesion.box) - middle(grid)[:, None, None, None]
        moved = _displacement(lesion, observer.reading * difficulty, points=points, rng=style)
        moved += _displacement(lesion, observer.repeat * difficulty, points=points, rng=session)
        moved += lesion.radius * (math.pow(1.0 + observer.volume_bias, 1.0 / 3.0) - 1.0)
        drawn = lesion.distance + moved.clip(-_FURTHEST, _FURTHEST) > 0.0
        drawn[np.unravel_index(int(lesion.distance.argmax()), drawn.shape)] = True
        labels[lesion.box][drawn] = lesion.label
    return Volume(labels, grid)


def lesions_of(truth: Volume) -> list[Target]:
    """The lesions of a truth: pieces whose voxels share at least a corner, label by label."""
    from scipy import ndimage

    spacing = truth.grid.spacing
    margin = (math.ceil(_MARGIN / spacing[0]), math.ceil(_MARGIN / spacing[1]), math.ceil(_MARGIN / spacing[2]))
    found = []
    for label in sorted(set(np.unique(truth.array).tolist()) - {0}):
        pieces, count = ndimage.label(truth.array == label, structure=np.ones((3, 3, 3)))
        for number in range(1, count + 1):
            piece = pieces == number
            box = bounds(piece, margin)
            volume = np.count_nonzero(piece) * truth.grid.voxel_volume
            radius = math.pow(volume * 3.0 / (4.0 * math.pi), 1.0 / 3.0)
            found.append(Target(int(label), box, signed_distance(piece[box], spacing), radius))
    return found


def _displacement(lesion: Target, error: float, *, points: Array, rng: np.random.Generator) -> Array:
    """A smooth field of a lesion, mm outwards, of which part is the same everywhere."""
    error *= lesion.radius / (lesion.radius + error)  # an error as large as the lesion would tear it to pieces
    return np.asarray(error * (rng.normal(0.0, 0.4) + ripple(rng, (22.0, 70.0))(points)))
