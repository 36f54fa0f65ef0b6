"""Histograms as lines and bars: few enough points to draw, none that would be missed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Curve:
    """A cumulative histogram: the volume that receives at least each dose, as the corners of a line.

    The exact step curve has two corners per voxel. Here steps are left out that are smaller than a `resolution`-th of
    the range both in dose and in volume, so that the line is nowhere further than that from the exact one; steps that
    can be seen, as those of a structure of a few voxels, stay steps.

    Attributes
    ----------
    dose
        Gy, ascending, from 0 (or the lowest dose, if that is negative) to the highest dose.
    volume
        Per cent of the structure, or cc; descending to 0. Both are empty if the structure is.
    relative
        Whether volumes are in per cent.
    """

    dose: NDArray[np.float64]
    volume: NDArray[np.float64]
    relative: bool


@dataclass(frozen=True, eq=False)
class Differential:
    """A differential histogram: the volume between one dose and the next.

    Attributes
    ----------
    edges
        Gy, one more than there are bins. A bin holds its lower edge, not its upper one.
    volume
        Of each bin, per cent of the structure, or cc; together 100 %, or the volume. Empty if the structure is.
    relative
        Whether volumes are in per cent.
    """

    edges: NDArray[np.float64]
    volume: NDArray[np.float64]
    relative: bool


def cumulative(doses: NDArray[np.float64], volumes: NDArray[np.float64], *, relative: bool, resolution: int) -> Curve:
    """The curve of doses, hottest first, and the volumes up to each; see `Curve`."""
    if resolution < 1:
        msg = f"the resolution is a number of steps of at least 1, not {resolution}"
        raise ValueError(msg)
    if not doses.size:
        return Curve(np.empty(0), np.empty(0), relative)
    if relative:
        volumes = volumes / volumes[-1] * 100
    start = min(0.0, float(doses[-1]))
    corners = _corners(doses, start=start, resolution=resolution) | _corners(volumes, start=0.0, resolution=resolution)
    dose, volume = doses[corners], volumes[corners]
    # Downwards in dose: to each corner along the level of the one before, then up by its own voxels.
    levels = np.concatenate([[0.0], volume[:-1]])
    x = np.append(np.repeat(dose, 2), start)
    y = np.append(np.column_stack([levels, volume]).ravel(), volume[-1])
    return Curve(x[::-1].copy(), y[::-1].copy(), relative)


def differential(
    doses: NDArray[np.float64], volumes: NDArray[np.float64], *, width: float, relative: bool
) -> Differential:
    """The volumes in bins of a width in Gy; see `Differential`."""
    if not 0 < width < math.inf:
        msg = f"a bin has a positive width, in Gy, not {width}"
        raise ValueError(msg)
    if not doses.size:
        return Differential(np.empty(0), np.empty(0), relative)
    number = np.floor(doses / width).astype(np.int64)
    first = min(0, int(number[-1]))
    bins = int(number[0]) - first + 1
    if bins > 10_000_000:
        msg = f"bins of {width:g} Gy up to {doses[0]:g} Gy would be {bins}; choose a larger width"
        raise ValueError(msg)
    weights = np.diff(volumes, prepend=0.0)
    found = np.bincount(number - first, weights=weights, minlength=bins).astype(np.float64)
    if relative:
        found = found / volumes[-1] * 100
    return Differential(np.arange(first, first + bins + 1, dtype=np.float64) * width, found, relative)


def _corners(values: NDArray[np.float64], *, start: float, resolution: int) -> NDArray[np.bool_]:
    """Which values of a monotonous sequence are the last in a cell of the resolution; and the first of all."""
    extent = float(np.ptp(np.append(values[[0, -1]], start))) or 1.0
    cells = np.floor((values - start) / extent * resolution)
    corners = np.ones(values.size, dtype=np.bool_)
    corners[1:-1] = np.diff(cells)[1:] != 0
    return corners
