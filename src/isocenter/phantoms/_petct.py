"""Synthetic PET/CT of head and neck, from the shoulders to the crown, around the lesions of `head_and_neck`."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isocenter.phantoms._fields import Array, Mask, coordinates, middle, ripple
from isocenter.phantoms._head_and_neck import NODE, TUMOUR, head_and_neck
from isocenter.volumes import Grid, Volume

Triple = tuple[float, float, float]

_FIELD = (250.0, 264.0, 384.0)  # mm of the patient that the scanner sees, around the middle of the lesions
_STREAM = zlib.crc32(b"pet_ct")  # marks the random stream of the images: they leave the lesions as they are
_RESOLUTION = 2.5  # mm, the σ of a scanner that shows a point 6 mm wide

# The body from below the shoulders to the crown: height over the middle of the lesions, half width, half depth, and how
# far behind that middle its own lies. Millimetres.
_OUTLINE = np.array(
    [
        (-200.0, 205.0, 100.0, 20.0),
        (-120.0, 195.0, 95.0, 20.0),
        (-85.0, 96.0, 80.0, 12.0),
        (-30.0, 84.0, 82.0, 4.0),
        (40.0, 84.0, 98.0, 14.0),
        (100.0, 84.0, 106.0, 27.0),
        (140.0, 74.0, 92.0, 30.0),
        (170.0, 48.0, 60.0, 30.0),
        (186.0, 1.0, 1.0, 30.0),
    ]
)


@dataclass(frozen=True, eq=False, slots=True)
class PetCt:
    """A scanned patient.

    Attributes
    ----------
    ct
        int16, HU.
    pet
        float32, SUV; another grid than the CT's, in the same place.
    labels
        uint8 on the grid of the CT: 1 primary tumour, 2 lymph nodes.
    """

    ct: Volume
    pet: Volume
    labels: Volume


@dataclass(frozen=True, slots=True)
class _Brain:
    """An ellipsoid, mm from the middle of the lesions."""

    centre: Array
    axes: Array

    def depth(self, points: Array) -> Array:
        """1 in the centre, 0 on the surface, negative outside; `points` are from the same middle."""
        squared = sum(((points[a] - self.centre[a]) / self.axes[a]) ** 2 for a in range(3))
        return np.asarray(1.0 - np.sqrt(squared))


def pet_ct(
    number: int, *, seed: int = 0, spacing: Triple = (2.5, 2.5, 3.0), pet_spacing: Triple = (4.0, 4.0, 4.0)
) -> PetCt:
    """A CT and a PET of synthetic patient `number`, whose tumour and nodes are those of `head_and_neck`.

    Seen from the patient's right::

              ▄▆████▆▄      brain, SUV 5 to 11, which tells where the oropharynx is
             ████████▌
             ▐ ◎  ▐▌        tumour, SUV 5 to 20; nodes, SUV 3 to 12
              ▏ ○ ▐▌        airway, spine, jaw
           ▄▅▆▇███▇▆▅       shoulders, SUV about 0.9 like all soft tissue

    Both images hold 250 × 264 × 384 mm. The PET is blurred as by a scanner of 6 mm resolution; both are noisy.

    Parameters
    ----------
    number, seed
        Which patient. The lesions are in the same place as in ``head_and_neck(number, seed=seed)``.
    spacing, pet_spacing
        Voxels of the CT and of the PET, mm. Other voxels show the same patient.

    Examples
    --------
    >>> patient = pet_ct(1)
    >>> patient.ct.array.dtype, patient.pet.array.dtype, patient.labels.grid == patient.ct.grid
    (dtype('int16'), dtype('float32'), True)
    >>> bool(patient.pet.array.max() > 5.0)
    True
    """
    rng = np.random.default_rng([seed, number, _STREAM])
    centre = middle(head_and_neck(number, seed=seed).grid)
    brain = _brain(rng)
    uptake = {
        TUMOUR: float(rng.lognormal(math.log(10.0), 0.3)),
        NODE: float(rng.lognormal(math.log(6.0), 0.3)),
    }
    uptake = {TUMOUR: min(max(uptake[TUMOUR], 5.0), 20.0), NODE: min(max(uptake[NODE], 3.0), 12.0)}
    grain = [rng.spawn(1)[0] for _ in range(2)]
    ct_grid, pet_grid = _around(centre, spacing), _around(centre, pet_spacing)
    labels = head_and_neck(number, seed=seed, grid=ct_grid)
    seen = head_and_neck(number, seed=seed, grid=pet_grid)
    return PetCt(
        ct=Volume(_hounsfield(labels, brain, grain[0]), ct_grid),
        pet=Volume(_uptake(seen, brain, uptake, grain[1]), pet_grid),
        labels=labels,
    )


def _brain(rng: np.random.Generator) -> _Brain:
    """A brain whose lower end lies about 49 mm above the middle of the lesions, and whose middle 30 mm behind it."""
    axes = np.array([68.0, 82.0, 62.0]) * rng.normal(1.0, 0.03)
    shift = rng.normal(0.0, (0.8, 3.0, 3.0)).clip(-6.0, 6.0)
    return _Brain(np.array([0.0, 30.0, 49.0 + axes[2]]) + shift, axes)


def _hounsfield(labels: Volume, brain: _Brain, rng: np.random.Generator) -> NDArray[np.int16]:
    """The CT."""
    points = _points(labels.grid)
    depth = brain.depth(points)
    body, bone, airway = _tissues(points, depth)
    values = np.where(body, 40.0 + 8.0 * ripple(rng, (30.0, 120.0))(points), -1000.0)
    values[bone] = 800.0
    values[airway] = -1000.0
    values[labels.array == NODE] = 55.0
    values[labels.array == TUMOUR] = 70.0
    values += rng.normal(0.0, 12.0, size=values.shape)
    return np.rint(values).clip(-1024, 3071).astype(np.int16)


def _uptake(labels: Volume, brain: _Brain, uptake: dict[int, float], rng: np.random.Generator) -> NDArray[np.float32]:
    """The PET."""
    from scipy import ndimage

    points = _points(labels.grid)
    depth = brain.depth(points)
    body, bone, airway = _tissues(points, depth)
    values = np.where(body, 0.9 + 0.12 * ripple(rng, (25.0, 90.0))(points), 0.0)
    values[bone] = 0.6
    values[airway] = 0.1
    # The cortex, and in its depth less.
    values[depth > 0.0] = (11.0 - 6.0 * np.minimum(depth, 0.5) / 0.5)[depth > 0.0]
    for label, suv in uptake.items():
        values[labels.array == label] = suv
    values = ndimage.gaussian_filter(values, [_RESOLUTION / step for step in labels.grid.spacing])
    values += 0.06 * np.sqrt(values) * rng.normal(size=values.shape)
    return np.asarray(values.clip(0.0), np.float32)


def _tissues(points: Array, depth: Array) -> tuple[Mask, Mask, Mask]:
    """Body, bone (the skull around the brain, spine and jaw) and airway."""
    x, y, z = points
    width, deep, back = (np.interp(z, _OUTLINE[:, 0], _OUTLINE[:, column]) for column in (1, 2, 3))
    body = ((x / width) ** 2 + ((y - back) / deep) ** 2 < 1.0) & (z < _OUTLINE[-1, 0])
    skull = (depth < -0.05) & (depth > -0.13)
    spine = (x / 17.0) ** 2 + ((y - 58.0) / 15.0) ** 2 < 1.0
    arch = (x / 50.0) ** 2 + ((y + 20.0) / 48.0) ** 2
    jaw = (arch > 0.75) & (arch < 1.0) & (y < 0.0) & (abs(z + 8.0) < 11.0)
    airway = ((x / 9.0) ** 2 + ((y - 16.0) / 8.0) ** 2 < 1.0) & (z < 30.0)
    return body, body & (skull | (spine & (z < 45.0)) | jaw), airway


def _points(grid: Grid) -> Array:
    """All voxel centres, mm from the middle of the grid."""
    whole = (slice(0, grid.shape[0]), slice(0, grid.shape[1]), slice(0, grid.shape[2]))
    return coordinates(grid, whole) - middle(grid)[:, None, None, None]


def _around(centre: Array, spacing: Triple) -> Grid:
    """A grid of the scanner's field of view with its middle at a point."""
    counts = [max(4, round(extent / step)) for extent, step in zip(_FIELD, spacing, strict=True)]
    origin = [float(c - (n - 1) * s / 2.0) for c, n, s in zip(centre, counts, spacing, strict=True)]
    return Grid((counts[0], counts[1], counts[2]), spacing, (origin[0], origin[1], origin[2]))
