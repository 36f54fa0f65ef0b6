"""Smooth random fields, signed distances and connected pieces, in plain numpy on small boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isocenter.volumes import Grid

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Box = tuple[slice, slice, slice]


@dataclass(frozen=True, slots=True)
class Ripple:
    """A smooth random field of mean 0 and variance 1: a sum of plane waves of random direction, length and phase."""

    vectors: Array
    phases: Array

    def __call__(self, points: Array) -> Array:
        """The field at `points`, an array whose first axis is (x, y, z)."""
        total = np.zeros(points.shape[1:])
        for (kx, ky, kz), phase in zip(self.vectors, self.phases, strict=True):
            total += np.cos(kx * points[0] + ky * points[1] + kz * points[2] + phase)
        return total * math.sqrt(2.0 / len(self.phases))


def ripple(rng: np.random.Generator, wavelengths: tuple[float, float], *, waves: int = 10) -> Ripple:
    """Draw a smooth field whose waves are between the shortest and the longest of `wavelengths` long."""
    directions = rng.normal(size=(waves, 3))
    directions /= np.sqrt((directions**2).sum(axis=1, keepdims=True))
    lengths = rng.uniform(*wavelengths, size=(waves, 1))
    return Ripple(2.0 * math.pi * directions / lengths, rng.uniform(0.0, 2.0 * math.pi, size=waves))


def middle(grid: Grid) -> Array:
    """The centre of a grid, LPS millimetres."""
    return np.asarray(grid.corners().mean(axis=0))


def box_around(grid: Grid, centre: Array, reach: float) -> Box:
    """The voxels within `reach` mm of a point along each array axis, cut off at the border; at least one voxel."""
    index = np.linalg.solve(grid.affine[:3, :3], centre - grid.affine[:3, 3])
    spans = []
    for at, spacing, count in zip(index, grid.spacing, grid.shape, strict=True):
        start = min(max(math.floor(at - reach / spacing), 0), count - 1)
        spans.append(slice(start, max(min(math.ceil(at + reach / spacing) + 1, count), start + 1)))
    return spans[0], spans[1], spans[2]


def coordinates(grid: Grid, box: Box) -> Array:
    """The voxel centres of a box, LPS millimetres, as an array of shape (3, nx, ny, nz)."""
    i, j, k = np.ogrid[box]
    matrix, origin = grid.affine[:3, :3], grid.affine[:3, 3]
    points = np.empty((3, i.size, j.size, k.size))
    for a in range(3):
        np.add(matrix[a, 0] * i + matrix[a, 1] * j, matrix[a, 2] * k, out=points[a])
        points[a] += origin[a]
    return points


def bounds(mask: Mask, margin: tuple[int, int, int] = (0, 0, 0)) -> Box:
    """The smallest box around a mask that is not empty, widened by `margin` voxels and cut off at the border."""
    spans = []
    for axis in range(3):
        (hits,) = np.nonzero(mask.any(axis=tuple(a for a in range(3) if a != axis)))
        low, high = int(hits[0]) - margin[axis], int(hits[-1]) + 1 + margin[axis]
        spans.append(slice(max(low, 0), min(high, mask.shape[axis])))
    return spans[0], spans[1], spans[2]


def pieces(mask: Mask) -> list[Mask]:
    """The connected pieces of a mask (voxels that share a face), in the order of their first voxel."""
    found: list[Mask] = []
    left = mask.copy()
    while left.any():
        piece = np.zeros_like(mask)
        piece.flat[int(left.argmax())] = True
        size = 0
        while (grown := int(piece.sum())) != size:
            size = grown
            for axis in range(3):
                ahead, behind = _along(axis, slice(1, None)), _along(axis, slice(None, -1))
                piece[ahead] |= piece[behind]
                piece[behind] |= piece[ahead]
                piece &= left
        found.append(piece)
        left &= ~piece
    return found


def signed_distance(mask: Mask, spacing: tuple[float, float, float]) -> Array:
    """Distance to the boundary of a mask, mm: positive inside, negative outside.

    Euclidean between voxel centres, less half the smallest voxel edge: the boundary lies between two voxels, not on
    one. The cost grows with the fourth power of the edge, so hand over a box, not a whole volume.
    """
    half = 0.5 * min(spacing)
    inside = np.sqrt(_squared_distance(~mask, spacing)) - half
    outside = np.sqrt(_squared_distance(mask, spacing)) - half
    return np.where(mask, inside, -outside)


def _squared_distance(target: Mask, spacing: tuple[float, float, float]) -> Array:
    """Squared distance of every voxel to the nearest one of `target`, by minimising one axis after the other."""
    squared = np.where(target, 0.0, 1e12)
    for axis, step in enumerate(spacing):
        count = target.shape[axis]
        best = np.full_like(squared, np.inf)
        for j in range(count):
            away = (np.arange(count) - j) * step
            shape = [1, 1, 1]
            shape[axis] = count
            np.minimum(best, squared[_along(axis, slice(j, j + 1))] + (away**2).reshape(shape), out=best)
        squared = best
    return squared


def _along(axis: int, part: slice) -> tuple[Any, ...]:
    """An index that takes `part` of one axis and everything of the others."""
    return tuple(part if a == axis else slice(None) for a in range(3))
