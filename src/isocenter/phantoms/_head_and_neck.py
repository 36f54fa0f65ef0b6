"""Synthetic patients with a tumour and lymph nodes in the neck."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isocenter.phantoms._fields import Array, Ripple, box_around, coordinates, middle, ripple
from isocenter.volumes import Grid, Volume

TUMOUR, NODE = 1, 2
_REACH = 2.6  # radii from the centre of a lesion within which all of it lies
_LATTICE = 32
_NODE_LEVELS = (24.0, -8.0, -40.0)  # mm from the middle to the head: nodes of one side seldom meet


@dataclass(frozen=True, slots=True)
class Lesion:
    """A lobulated blob: ellipsoids melted into one, with a rippled surface.

    Attributes
    ----------
    label
        What its voxels are called.
    centre
        Millimetres from the middle of the box, LPS.
    radius
        Of the ball of the same volume, mm. Everything below is in this unit.
    offsets, axes
        Where the lobes lie, and for each the matrix that makes a unit ball of it.
    surface
        The ripple of the surface.
    level
        The value of the field on the surface; it makes the volume what it should be.
    """

    label: int
    centre: Array
    radius: float
    offsets: Array
    axes: Array
    surface: Ripple
    level: float = 0.0

    def field(self, points: Array) -> Array:
        """Larger inside, falling by about 1 per radius; `points` are in radii from the centre."""
        total = np.zeros(points.shape[1:])
        for offset, axes in zip(self.offsets, self.axes, strict=True):
            x, y, z = (points[a] - offset[a] for a in range(3))
            squared = sum((row[0] * x + row[1] * y + row[2] * z) ** 2 for row in axes)
            total += np.exp(6.0 * (1.0 - np.sqrt(squared)) / math.sqrt((axes**2).sum() / 3.0))
        return np.log(total) / 6.0 + 0.1 * self.surface(points)


def head_and_neck(number: int, *, seed: int = 0, grid: Grid | None = None) -> Volume:
    """The labels of synthetic patient `number`: 0 background, 1 primary tumour (GTVt), 2 lymph nodes (GTVn).

    A picture of the axial plane, the patient seen from the feet::

        right ┌───────────────┐ left
              │               │
              │     ▄▆██▄     │   one tumour near the midline, 0.5 to 80 ml, median 10 ml
              │    ▐█████▌  ▄ │   none to three nodes, smaller, to the side and further back
              │      ▀▀    ▐█▌│
              └───────────────┘

    Parameters
    ----------
    number
        Which patient. One patient is a function of `number` and `seed` alone: a longer cohort begins with the shorter
        one, and another grid shows the same lesions around its own middle.
    grid
        Where to sample the patient; by default 72×72×72 voxels of 2 mm, somewhere in a scanner. A tumour too small
        or too far out for the grid still gets the voxel nearest to its centre.

    Examples
    --------
    >>> patient = head_and_neck(1)
    >>> patient.array.shape, sorted(set(patient.array.flat))[:2]
    ((72, 72, 72), [np.uint8(0), np.uint8(1)])
    """
    rng = np.random.default_rng([seed, number])
    corner = rng.normal((-71.0, -190.0, -480.0), (6.0, 12.0, 60.0)).round()
    tumour, *nodes = _anatomy(rng)
    grid = grid or Grid((72, 72, 72), (2.0, 2.0, 2.0), (float(corner[0]), float(corner[1]), float(corner[2])))
    labels = np.zeros(grid.shape, np.uint8)
    for node in nodes:
        paint(labels, grid, lesion=node)
    if not paint(labels, grid, lesion=tumour):
        labels[_first(box_around(grid, middle(grid) + tumour.centre, 0.0))] = TUMOUR
    return Volume(labels, grid)


def paint(labels: NDArray[np.uint8], grid: Grid, *, lesion: Lesion) -> int:
    """Write a lesion's label into its voxels and return how many these are."""
    centre = middle(grid) + lesion.centre
    box = box_around(grid, centre, _REACH * lesion.radius)
    points = (coordinates(grid, box) - centre[:, None, None, None]) / lesion.radius
    inside = lesion.field(points) > lesion.level
    labels[box][inside] = lesion.label
    return int(inside.sum())


def node(rng: np.random.Generator, *, side: float, height: float, clear: float = 0.0, largest: float = 8.0) -> Lesion:
    """A lymph node: on `side` -1 (right) or 1 (left) of the neck, `height` mm above the middle.

    Its volume is at most `largest` ml, and all of it lies more than about `clear` mm out.
    """
    volume = min(max(float(rng.lognormal(math.log(2.5), 0.7)), 0.3), largest)
    across = max(float(rng.uniform(38.0, 50.0)), clear + 1.6 * _radius(volume))
    centre = np.array([side * min(across, 56.0), rng.uniform(4.0, 26.0), height + rng.uniform(-4.0, 4.0)])
    return _lesion(rng, label=NODE, centre=centre, volume=volume)


def _anatomy(rng: np.random.Generator) -> tuple[Lesion, ...]:
    """The tumour of a patient, then the nodes."""
    volume = min(max(float(rng.lognormal(math.log(10.0), 0.9)), 0.6), 72.0)
    centre = rng.normal((0.0, -6.0, 4.0), (7.0, 6.0, 7.0)).clip(-16.0, 16.0)
    tumour = _lesion(rng, label=TUMOUR, centre=centre, volume=volume)
    count = int(rng.choice(4, p=(0.25, 0.35, 0.25, 0.15)))
    main_side = float(rng.choice((-1.0, 1.0)))
    heights = rng.permutation(_NODE_LEVELS)[:count]
    nodes = []
    for height in heights:
        side = main_side if rng.random() < 0.75 else -main_side
        clear = float(side * centre[0]) + 1.3 * _radius(volume)
        nodes.append(node(rng, side=side, height=float(height), clear=clear, largest=min(8.0, 0.4 * volume)))
    return tumour, *nodes


def _lesion(rng: np.random.Generator, *, label: int, centre: Array, volume: float) -> Lesion:
    """A random blob of `volume` ml."""
    lobes = int(rng.integers(2, 5))
    offsets = rng.normal(size=(lobes, 3))
    offsets *= (rng.uniform(0.55, 0.85, size=lobes) / np.sqrt((offsets**2).sum(axis=1)))[:, None]
    offsets[0] = 0.0
    sizes = rng.uniform(0.5, 0.8, size=lobes)[:, None] * rng.uniform(0.75, 1.3, size=(lobes, 3))
    sizes[0] *= 1.5
    axes = np.stack([_rotation(rng) / size[:, None] for size in sizes])
    blob = Lesion(label, centre, _radius(volume), offsets, axes, ripple(rng, (1.2, 3.0)))
    # The field is sampled on a lattice of its own, so that the patient does not depend on the grid of the image.
    steps = (np.arange(_LATTICE) + 0.5) / _LATTICE * 2.0 * _REACH - _REACH
    values = blob.field(np.stack(np.meshgrid(steps, steps, steps, indexing="ij"))).ravel()
    cells = round(4.0 / 3.0 * math.pi / (2.0 * _REACH / _LATTICE) ** 3)
    level = float(np.partition(values, -cells)[-cells])
    return Lesion(label, blob.centre, blob.radius, offsets, axes, blob.surface, level)


def _radius(volume: float) -> float:
    """Radius in mm of a ball of `volume` ml."""
    return math.pow(volume * 1000.0 * 3.0 / (4.0 * math.pi), 1.0 / 3.0)


def _rotation(rng: np.random.Generator) -> Array:
    """A random rotation matrix, from a random unit quaternion."""
    w, x, y, z = _unit(rng.normal(size=4))
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def _unit(vector: Array) -> Array:
    return vector / math.sqrt(float((vector**2).sum()))


def _first(box: tuple[slice, slice, slice]) -> tuple[int, int, int]:
    return box[0].start, box[1].start, box[2].start
