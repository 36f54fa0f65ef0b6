"""Rays through a patient: how much lies in the way of a coplanar beam."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isocenter.phantoms._fields import Array

Array32 = NDArray[np.float32]
Triple = tuple[float, float, float]

SAD = 1000.0
"""Distance of a source from the isocentre, mm."""


@dataclass(frozen=True, eq=False, slots=True)
class Rays:
    """A beam that goes in the plane of the first two array axes, and fans out in it from its source.

    Pixels are those of the plane, in C order.

    Attributes
    ----------
    along
        How far each pixel lies behind the isocentre, mm.
    across
        The ray that hits each pixel: how far from the isocentre it passes, mm in the plane of the isocentre.
    depth
        Water in the way to each voxel, mm; pixels × slices.
    ticks, ways
        The lattice on which that was summed up: places of the rays, and of the points on them, mm from the isocentre;
        and the water before each point, rays × points × slices.
    """

    along: Array
    across: Array
    depth: Array32
    ticks: Array
    ways: Array32


def rays(density: Array, direction: tuple[float, float], *, spacing: Triple, isocentre: Triple, step: float) -> Rays:
    """Trace a beam through a patient.

    Parameters
    ----------
    density
        Relative to water.
    direction
        Unit vector along the first two axes. Positive `across` is along ``(direction[1], -direction[0])``.
    isocentre
        Voxel index, not necessarily whole.
    step
        Between rays and between points on a ray, mm. The depth is linear in between.
    """
    nx, ny, nz = density.shape
    dx, dy = direction
    x = ((np.arange(nx) - isocentre[0]) * spacing[0])[:, None]
    y = ((np.arange(ny) - isocentre[1]) * spacing[1])[None, :]
    along = np.asarray(x * dx + y * dy).ravel()
    across = np.asarray(x * dy - y * dx).ravel() * SAD / (SAD + along)
    half = math.ceil(max(float(np.abs(along).max()), float(np.abs(across).max())) / step) + 1
    ticks = np.asarray(np.arange(-half, half + 1) * step, np.float64)
    off, at = (grid.ravel() for grid in np.meshgrid(ticks, ticks, indexing="ij"))
    off = off * (SAD + at) / SAD
    i = (at * dx + off * dy) / spacing[0] + isocentre[0]
    j = (at * dy - off * dx) / spacing[1] + isocentre[1]
    count = len(ticks)
    mass = bilinear(i, j, (nx, ny)) @ density.reshape(nx * ny, nz).astype(np.float32)
    mass = mass.reshape(count, count, nz)
    way = (np.cumsum(mass, axis=1) - 0.5 * mass) * np.float32(step)
    depth = bilinear(across / step + half, along / step + half, (count, count)) @ way.reshape(-1, nz)
    return Rays(along, across, depth, ticks, way)


def line(at: Array, count: int) -> Any:
    """Linear interpolation at positions of `count` values, as a sparse matrix; 0 outside."""
    return bilinear(at, np.zeros_like(at), (count, 1))


def bilinear(x: Array, y: Array, shape: tuple[int, int]) -> Any:
    """Linear interpolation at positions of an image, as a sparse matrix on the flat image; 0 outside."""
    from scipy import sparse

    i, j = np.floor(x).astype(np.intp), np.floor(y).astype(np.intp)
    u, v = x - i, y - j
    rows, columns, weights = [], [], []
    for di, dj, weight in ((0, 0, (1 - u) * (1 - v)), (1, 0, u * (1 - v)), (0, 1, (1 - u) * v), (1, 1, u * v)):
        inside = (i + di >= 0) & (i + di < shape[0]) & (j + dj >= 0) & (j + dj < shape[1]) & (weight > 0.0)
        (hit,) = np.nonzero(inside)
        rows.append(hit)
        columns.append((i[hit] + di) * shape[1] + j[hit] + dj)
        weights.append(weight[hit].astype(np.float32))
    entries = (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.csr_array(entries, shape=(len(x), shape[0] * shape[1]))
