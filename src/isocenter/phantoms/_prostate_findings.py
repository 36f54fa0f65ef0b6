"""What in a prostate looks like cancer: significant lesions and their mimics, as shapes in millimetres."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from isocenter.metrics import components
from isocenter.phantoms._fields import Array, Box, Mask, Ripple, box_around, coordinates, middle, ripple
from isocenter.volumes import Grid

PROSTATITIS, NODULE, INDOLENT = 1, 2, 3
"""The labels of mimics: inflammation, a benign nodule, a cancer of ISUP grade 1."""

_ROUGH, _WAVES = 0.13, 3
# No surface is further out than this, in half axes: the largest sum that the waves of its ripple can make.
_REACH = 1.0 + _ROUGH * math.sqrt(2.0 * _WAVES)
_TRIES = 30

_POSITIVE = 0.35  # the share of exams with significant cancer
_LESIONS = (0.70, 0.23, 0.07)  # one, two or three of them
_GRADES = (0.52, 0.26, 0.10, 0.12)  # ISUP 2 to 5
_MIMICS = (0.22, 0.36, 0.28, 0.14)  # none to three
_KINDS = {PROSTATITIS: (0.42, -0.9), NODULE: (0.38, -1.2), INDOLENT: (0.20, -0.4)}  # share, mean conspicuity
_SPREAD = 0.9  # standard deviation of the conspicuity of findings of one kind
_NOTHING = -1.8  # the impression that an exam without any finding makes


@dataclass(frozen=True, slots=True)
class Shape:
    """An ellipsoid with a rippled surface.

    Attributes
    ----------
    centre
        Millimetres from the middle of the image, LPS.
    axes
        Half axes along x, y and z, mm.
    surface
        The ripple of the surface; None for a smooth one.
    """

    centre: Array
    axes: Array
    surface: Ripple | None = None

    def depth(self, points: Array) -> Array:
        """1 at the centre, 0 on the surface, below 0 outside; `points` are in mm from the middle, LPS."""
        depth = self._smooth_depth(points)
        return depth if self.surface is None else depth + _ROUGH * self.surface(points)

    def inside(self, points: Array) -> Mask:
        """Where `depth` is above 0; the ripple is computed only where it decides."""
        return np.asarray(self._depth_near(0.0, points) > 0.0)

    def share(self, points: Array) -> Array:
        """1 inside and 0 outside, with an edge about 2 mm wide."""
        per_depth = float(self.axes.min()) / 2.0
        return np.asarray((0.5 + self._depth_near(0.5 / per_depth, points) * per_depth).clip(0.0, 1.0))

    def _depth_near(self, margin: float, points: Array) -> Array:
        """`depth` where it is within `margin` of 0; elsewhere only on the right side of that: no ripple is computed."""
        depth = self._smooth_depth(points)
        if self.surface is not None:
            close = abs(depth) < margin + _REACH - 1.0
            depth[close] += _ROUGH * self.surface(points[:, close])
        return depth

    def _smooth_depth(self, points: Array) -> Array:
        squared = np.zeros(points.shape[1:])
        for a in range(3):
            squared += ((points[a] - self.centre[a]) / self.axes[a]) ** 2
        return np.asarray(1.0 - np.sqrt(squared))


@dataclass(frozen=True, slots=True)
class Gland:
    """A prostate: all of it, and the transition zone within; what is between the two is the peripheral zone."""

    whole: Shape
    transition: Shape


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that may be taken for significant cancer, rightly or not.

    Attributes
    ----------
    shape
        Where it lies.
    grade
        Its ISUP grade, 0 to 5; from 2 on it is significant.
    mimic
        What it is if it is not significant, one of the labels above; 0 for significant cancer.
    conspicuity
        How much it looks like cancer, in the same unit for everybody who looks: about 1 for cancer and -1 for mimics.
    """

    shape: Shape
    grade: int
    mimic: int
    conspicuity: float


def likelihood(impression: float) -> float:
    """How likely somebody says that cancer is, who has this impression of it; between 0 and 1."""
    return 1.0 / (1.0 + math.exp(0.4 - 1.2 * impression))


def opinion(impressions: list[float], *, error: float, psa: float) -> float:
    """The impression that a patient makes: the strongest of all findings, an error about the whole, and the PSA."""
    strongest = max([*impressions, _NOTHING + 0.5 * error])
    return strongest + 0.3 * error + 0.4 * math.log(psa / 7.0)


def draw_gland(rng: np.random.Generator) -> Gland:
    """A gland of 20 to 60 ml."""
    axes = rng.uniform((21.0, 16.0, 17.0), (27.0, 21.0, 23.0))
    inner = axes * rng.uniform(0.60, 0.70) * (1.0, 0.95, 1.15)
    return Gland(Shape(np.zeros(3), axes), Shape(np.array([0.0, -0.28 * axes[1], 1.0]), inner))


def draw_findings(rng: np.random.Generator, gland: Gland, *, blur: float) -> tuple[Finding, ...]:
    """The findings of an exam, significant lesions first; no two of them touch.

    Parameters
    ----------
    blur
        By how much less conspicuous a lesion is on this scanner.
    """
    found: list[Finding] = []
    lesions = 1 + int(rng.choice(3, p=_LESIONS)) if rng.random() < _POSITIVE else 0
    for _ in range(lesions):
        grade = 2 + int(rng.choice(4, p=_GRADES))
        radius = min(max(float(rng.lognormal(math.log(6.0), 0.28)) * (1.0 + 0.08 * (grade - 2)), 3.8), 10.0)
        shape = _place(rng, gland, radius=radius, central=rng.random() < 0.3, taken=found)
        mean = 1.0 + 0.25 * (grade - 2) + 0.8 * math.log(radius / 6.0) - blur
        conspicuity = float(rng.normal(mean, _SPREAD))
        if shape is not None:
            found.append(Finding(shape, grade, 0, conspicuity))
    for _ in range(int(rng.choice(4, p=_MIMICS))):
        mimic = int(rng.choice(list(_KINDS), p=[share for share, _ in _KINDS.values()]))
        radius = min(max(float(rng.lognormal(math.log(5.2), 0.25)), 3.5), 9.0)
        shape = _place(rng, gland, radius=radius, central=mimic == NODULE, taken=found)
        conspicuity = float(rng.normal(_KINDS[mimic][1], _SPREAD))
        if shape is not None:
            found.append(Finding(shape, int(mimic == INDOLENT), mimic, conspicuity))
    return tuple(found)


def draw_shape(rng: np.random.Generator, gland: Gland, *, radius: float, central: bool) -> Shape:
    """A random shape in the transition zone, or in the peripheral zone: behind it and at its sides."""
    axes = radius * rng.uniform(0.8, 1.25, size=3)
    surface = ripple(rng, (9.0, 30.0), waves=_WAVES)
    if central:
        way = rng.normal(size=3)
        way *= 0.6 * math.pow(float(rng.random()), 1.0 / 3.0) / math.sqrt(float((way**2).sum()))
        return Shape(gland.transition.centre + way * gland.transition.axes, axes, surface)
    around, up = np.radians(rng.uniform((-110.0, -45.0), (110.0, 45.0)))
    way = np.array([math.sin(around) * math.cos(up), math.cos(around) * math.cos(up), math.sin(up)])
    return Shape(0.76 * way * gland.whole.axes, axes, surface)


def near(grid: Grid, shape: Shape, *, reach: float) -> tuple[Box, Array]:
    """The box of voxels within `reach` half axes of a shape and one voxel more, and its points, mm from the middle."""
    centre = middle(grid)
    box = box_around(grid, centre + shape.centre, reach * float(shape.axes.max()) + max(grid.spacing))
    return box, coordinates(grid, box) - centre[:, None, None, None]


def voxels_apart(taken: Mask, grid: Grid, *, shape: Shape, gland: Gland) -> tuple[Box, Mask]:
    """The voxels of a shape in the gland, in one piece that shares not even a corner with what is taken."""
    from scipy import ndimage

    box, points = near(grid, shape, reach=_REACH)
    inside = shape.inside(points)
    inside[inside] = gland.whole.inside(points[:, inside])
    if taken[box].any():
        inside &= ~ndimage.binary_dilation(taken[box], structure=np.ones((3, 3, 3)))
    numbers, count = components(inside)
    return box, numbers == 1 + int(np.bincount(numbers.ravel())[1:].argmax()) if count > 1 else inside


def _place(
    rng: np.random.Generator, gland: Gland, *, radius: float, central: bool, taken: list[Finding]
) -> Shape | None:
    """A shape apart from all that is there; None if there is no room for it."""
    for _ in range(_TRIES):
        shape = draw_shape(rng, gland, radius=radius, central=central)
        gaps = [math.dist(shape.centre, other.shape.centre) - float(other.shape.axes.max()) for other in taken]
        if min(gaps, default=math.inf) > float(shape.axes.max()) + 3.0:
            return shape
    return None
