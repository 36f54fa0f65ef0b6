"""Synthetic chests with one tumour in a lung."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isocenter.phantoms._fields import Array, Mask, box_around, coordinates, middle, ripple
from isocenter.phantoms._head_and_neck import TUMOUR, Lesion, paint
from isocenter.volumes import Grid, Volume

_STREAM = zlib.crc32(b"lung")  # marks the random stream: patient 1 of one kind tells nothing of patient 1 of another
_LN_VOLUME = (9.76, 1.67)  # mean and standard deviation of ln(mm³) in the contest
_VOLUMES = (150.0, 250_000.0)  # mm³: three voxels of a CT; what a lung has room for
_REACH = 2.6  # radii from the centre of a tumour within which all of it lies
_LATTICE = 32

# Ellipsoids in mm from the middle of the chest, LPS: centre, half axes.
_LUNGS = (
    (np.array([-76.0, 4.0, -4.0]), np.array([60.0, 80.0, 112.0])),
    (np.array([78.0, 4.0, -4.0]), np.array([56.0, 78.0, 110.0])),
)
_HEART = (np.array([20.0, -26.0, -50.0]), np.array([56.0, 48.0, 52.0]))


class LungScan(NamedTuple):
    """A scanned chest: `ct` (int16, HU) and `mask` (uint8, 1 is tumour) on one grid."""

    ct: Volume
    mask: Volume


@dataclass(frozen=True, slots=True)
class Spiculated(Lesion):
    """A lobulated blob with spicules: rays that run out of it into the lung.

    Attributes
    ----------
    rays
        Their directions, unit vectors.
    lengths
        How far each reaches beyond the blob, in radii.
    """

    rays: Array | None = None
    lengths: Array | None = None

    def field(self, points: Array) -> Array:
        """Larger inside, falling by about 1 per radius; `points` are in radii from the centre."""
        total = Lesion.field(self, points)
        if self.rays is None or self.lengths is None:
            return total
        distance = np.sqrt((points**2).sum(axis=0)) + 1e-9
        for ray, length in zip(self.rays, self.lengths, strict=True):
            along = (ray[0] * points[0] + ray[1] * points[1] + ray[2] * points[2]) / distance
            total += length * np.exp(45.0 * (along - 1.0)) * np.minimum(distance, 1.0)
        return np.asarray(total)


def lung(number: int, *, seed: int = 0, grid: Grid | None = None) -> LungScan:
    """A chest CT of synthetic patient `number`, and the tumour in it.

    A picture of the axial plane, the patient seen from the feet::

              ▗▄▆▇██████▇▆▄▖
            ▟█▘    ▝██▘    ▝█▙     body 40 HU, lungs -850 HU with vessels
            ██  ·╱  ██▙  ╲· ██
            ██ ✹    ███▌    ██     one tumour, lobulated, often spiculated, anywhere in a lung or at its wall
            ▝█▙▖   ▗▟█▛    ▟█▘
              ▀▀▜███▇▇███▛▀▀       spine

    Parameters
    ----------
    number
        Which patient. One patient is a function of `number` and `seed` alone; another grid shows the same one around
        its own middle. Tumour volumes are log-normal as the contest's were (ln V/mm³ of mean 9.76 and standard
        deviation 1.67; median 17 ml), but none is below 0.15 ml or above 250 ml.
    grid
        Where to sample the patient; by default 136×92×96 voxels of 2.5 mm, somewhere in a scanner. A tumour too small
        or too far out for the grid still gets the voxel nearest to its centre.

    Examples
    --------
    >>> scan = lung(1)
    >>> scan.ct.array.dtype, scan.mask.array.max(), scan.mask.grid == scan.ct.grid
    (dtype('int16'), np.uint8(1), True)
    """
    mask = lung_tumour(number, seed=seed, grid=grid)
    rng = np.random.default_rng([seed, number, _STREAM, 1])
    return LungScan(Volume(_hounsfield(mask, rng), mask.grid), mask)


def lung_tumour(number: int, *, seed: int = 0, grid: Grid | None = None) -> Volume:
    """The mask of `lung` alone, many times quicker; one piece, whose voxels share at least a corner."""
    rng = np.random.default_rng([seed, number, _STREAM])
    corner = rng.normal((-168.75, -280.0, -300.0), (8.0, 15.0, 60.0)).round(1)
    volume = min(max(float(rng.lognormal(*_LN_VOLUME)), _VOLUMES[0]), _VOLUMES[1])
    tumour = _tumour(rng, volume)
    grid = grid or Grid((136, 92, 96), (2.5, 2.5, 2.5), (float(corner[0]), float(corner[1]), float(corner[2])))
    labels = np.zeros(grid.shape, np.uint8)
    if paint(labels, grid, lesion=tumour):
        labels = _largest(labels)
    else:
        i, j, k = box_around(grid, middle(grid) + tumour.centre, 0.0)
        labels[i.start, j.start, k.start] = TUMOUR
    return Volume(labels, grid)


def _tumour(rng: np.random.Generator, volume: float) -> Spiculated:
    """A random tumour of `volume` mm³ in one of the lungs, the deeper inside the larger it is."""
    radius = math.pow(volume * 3.0 / (4.0 * math.pi), 1.0 / 3.0)
    centre, axes = _LUNGS[int(rng.integers(2))]
    inward = np.maximum(axes - 0.8 * radius, 0.0)
    centre = centre + _unit(rng.normal(size=3)) * inward * math.pow(float(rng.random()), 1.0 / 3.0)
    lobes = int(rng.integers(2, 6))
    offsets = np.stack([_unit(rng.normal(size=3)) * rng.uniform(0.5, 0.85) for _ in range(lobes)])
    offsets[0] = 0.0
    sizes = rng.uniform(0.5, 0.8, size=(lobes, 1)) * rng.uniform(0.75, 1.3, size=(lobes, 3))
    sizes[0] *= 1.4
    turned = np.stack([_rotation(rng) / size[:, None] for size in sizes])
    count = int(rng.integers(4, 12)) if rng.random() < 0.6 else 0
    rays = np.stack([_unit(rng.normal(size=3)) for _ in range(count)]) if count else None
    lengths = rng.uniform(0.25, 0.8, size=count) if count else None
    blob = Spiculated(TUMOUR, centre, radius, offsets, turned, ripple(rng, (0.8, 2.4)), 0.0, rays, lengths)
    # The field is sampled on a lattice of its own, so that the patient does not depend on the grid of the image.
    steps = (np.arange(_LATTICE) + 0.5) / _LATTICE * 2.0 * _REACH - _REACH
    values = blob.field(np.stack(np.meshgrid(steps, steps, steps, indexing="ij"))).ravel()
    cells = round(4.0 / 3.0 * math.pi / (2.0 * _REACH / _LATTICE) ** 3)
    return replace(blob, level=float(np.partition(values, -cells)[-cells]))


def _hounsfield(mask: Volume, rng: np.random.Generator) -> NDArray[np.int16]:
    """The CT around a tumour."""
    grid = mask.grid
    whole = (slice(0, grid.shape[0]), slice(0, grid.shape[1]), slice(0, grid.shape[2]))
    x, y, z = points = coordinates(grid, whole) - middle(grid)[:, None, None, None]
    body = (x / 166.0) ** 2 + (y / 108.0) ** 2 < 1.0
    lungs = _inside(points, *_LUNGS[0]) | _inside(points, *_LUNGS[1])
    lungs &= ~_inside(points, *_HEART)
    airway = ((x / 9.0) ** 2 + ((y - 12.0) / 8.0) ** 2 < 1.0) & (z > 20.0)
    values = np.where(body, 40.0, -1000.0)
    values[lungs] = (-850.0 + 25.0 * ripple(rng, (20.0, 80.0))(points))[lungs]
    values[airway] = -1000.0
    values[(x / 20.0) ** 2 + ((y - 78.0) / 18.0) ** 2 < 1.0] = 350.0
    for side in _LUNGS:
        for _ in range(12):
            _vessel(values, grid, lungs, side=side, rng=rng)
    values[mask.array > 0] = 35.0 + 10.0 * rng.normal()
    values += rng.normal(0.0, 18.0, size=values.shape)
    return np.rint(values).clip(-1024, 3071).astype(np.int16)


def _vessel(values: Array, grid: Grid, lungs: Mask, *, side: tuple[Array, Array], rng: np.random.Generator) -> None:
    """A bent tube from the hilum outwards, 4 mm wide and tapering."""
    centre, axes = side
    start = np.array([0.3, 1.0, 1.0]) * centre + (0.0, 6.0, 0.0)
    end = centre + _unit(rng.normal(size=3)) * axes * 0.9
    bend = (start + end) / 2.0 + rng.normal(0.0, 12.0, size=3)
    for step in np.linspace(0.0, 1.0, 40):
        at = (1.0 - step) ** 2 * start + 2.0 * step * (1.0 - step) * bend + step**2 * end + middle(grid)
        radius = 4.0 - 2.8 * step
        box = box_around(grid, at, radius)
        near = ((coordinates(grid, box) - at[:, None, None, None]) ** 2).sum(axis=0) < radius**2
        values[box][near & lungs[box]] = 35.0


def _largest(labels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The largest piece of a mask: on a coarse grid the tip of a thin ray may come off."""
    from scipy import ndimage

    numbers, count = ndimage.label(labels, structure=np.ones((3, 3, 3)))
    if count < 2:
        return labels
    return np.asarray(numbers == 1 + int(np.bincount(numbers.ravel())[1:].argmax()), np.uint8) * np.uint8(TUMOUR)


def _inside(points: Array, centre: Array, axes: Array) -> Mask:
    return np.asarray(sum(((points[a] - centre[a]) / axes[a]) ** 2 for a in range(3)) < 1.0)


def _rotation(rng: np.random.Generator) -> Array:
    """A random turn: two random directions made perpendicular, and the one perpendicular to both."""
    first, second = _unit(rng.normal(size=3)), rng.normal(size=3)
    second = _unit(second - first * float((first * second).sum()))
    return np.stack([first, second, np.cross(first, second)])


def _unit(vector: Array) -> Array:
    return vector / math.sqrt(float((vector**2).sum()))
