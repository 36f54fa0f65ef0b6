"""Polygons to voxels by scan lines, compiled.

All contours of one plane are one list of edges, and the even-odd rule decides: a point is inside if a line from it
crosses an odd number of edges. Holes, islands in holes and keyholes (a channel whose two sides coincide) need no
case of their own. Coordinates are voxel indices: voxel i has its centre at i and reaches from i - ½ to i + ½.

An edge crosses row y if ``lower ≤ y < upper``, and a crossing at x is to the left of all centres ``i ≥ x``. So shapes
that share an edge share no voxel and leave none out. The shared edge is computed from its lower end whichever way it is
drawn; with coordinates on a dyadic raster (see `snapped`) the comparison is exact in double precision.

Import this module only where it is used: numba takes its time.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

# 2⁻¹⁴ voxel is some 0.1 µm. On a grid of up to 2¹¹ voxels a product of two differences then has at most 50 bits, and a
# crossing that is not at a centre is further from it than division can err.
_UNIT = 2.0**-14


def snapped(index: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coordinates on the raster of 2⁻¹⁴ voxel: what is meant to be on a centre or edge of voxels is exactly there."""
    return np.round(index / _UNIT) * _UNIT


def edges_of(contours: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """All edges of closed contours of n×2 points: x, y of the lower end, x, y of the upper one; lowest first."""
    starts = np.concatenate([np.asarray(points, dtype=np.float64) for points in contours])
    ends = np.concatenate([np.roll(points, -1, axis=0) for points in contours])
    upward = starts[:, 1] < ends[:, 1]
    lower, upper = np.where(upward[:, None], starts, ends), np.where(upward[:, None], ends, starts)
    edges = np.hstack([lower, upper])[lower[:, 1] < upper[:, 1]]  # level ones are never crossed
    return np.ascontiguousarray(edges[np.argsort(edges[:, 1], kind="stable")])


@njit(nogil=True, cache=True)
def paint(edges: NDArray[np.float64], mask: NDArray[np.bool_]) -> None:
    """Set the pixels (x, y) of a mask, all false before, whose centres are inside."""
    columns, rows = mask.shape
    for e in range(edges.shape[0]):
        x, y, x_end, y_end = edges[e]
        first, last = max(math.ceil(y), 0), min(math.ceil(y_end), rows)
        for j in range(first, last):
            crossing = x + (j - y) * (x_end - x) / (y_end - y)
            if crossing <= columns - 1:
                # Parity changes here and stays changed for all columns to the right.
                i = max(math.ceil(crossing), 0)
                mask[i, j] = not mask[i, j]
    for j in range(rows):
        inside = False
        for i in range(columns):
            inside = inside != mask[i, j]
            mask[i, j] = inside


def cuts_of(edges: NDArray[np.float64], low: float, high: float, *, count: int) -> NDArray[np.float64]:
    """Where to cut the plane from `low` to `high` into bands: `count` equal parts, and at every corner between.

    In a band no edge begins or ends, so the length inside is linear in y (unless edges cross there), and its value at
    the middle × the height of the band is the area.
    """
    corners = edges[:, 1::2].ravel()
    inner = corners[(corners > low) & (corners < high)]
    return np.unique(np.concatenate([np.linspace(low, high, count + 1), inner]))


@njit(nogil=True, cache=True)
def cover(edges: NDArray[np.float64], cuts: NDArray[np.float64], weights: NDArray[np.float64]) -> None:
    """Add to every pixel (x, y) the part of its area that is inside; no band between two cuts lies in two rows."""
    columns = weights.shape[0]
    active, crossings = np.empty(edges.shape[0], np.int64), np.empty(edges.shape[0])
    reached = np.zeros(2, np.int64)
    for k in range(cuts.size - 1):
        y, height = (cuts[k] + cuts[k + 1]) / 2, cuts[k + 1] - cuts[k]
        count = _cross(edges, y, reached, active, crossings)
        for pair in range(0, count - 1, 2):
            left, right = max(crossings[pair], -0.5), min(crossings[pair + 1], columns - 0.5)
            if left < right:
                _add_length(weights, math.floor(y + 0.5), left, right, height)


@njit(nogil=True, cache=True)
def area_within(edges: NDArray[np.float64], cuts: NDArray[np.float64], columns: int, rows: int) -> tuple[float, float]:
    """The area inside, in pixels, and the part of it that lies on an image of columns × rows."""
    whole, within = 0.0, 0.0
    active, crossings = np.empty(edges.shape[0], np.int64), np.empty(edges.shape[0])
    reached = np.zeros(2, np.int64)
    for k in range(cuts.size - 1):
        y, height = (cuts[k] + cuts[k + 1]) / 2, cuts[k + 1] - cuts[k]
        count = _cross(edges, y, reached, active, crossings)
        for pair in range(0, count - 1, 2):
            left, right = crossings[pair], crossings[pair + 1]
            whole += height * (right - left)
            if -0.5 <= y < rows - 0.5:
                within += height * max(min(right, columns - 0.5) - max(left, -0.5), 0.0)
    return whole, within


@njit(nogil=True, cache=True)
def _cross(
    edges: NDArray[np.float64],
    y: float,
    reached: NDArray[np.int64],
    active: NDArray[np.int64],
    crossings: NDArray[np.float64],
) -> int:
    """Fill in where a line crosses, in order from the left; returns how often. Lines are asked for from below upwards.

    `reached` and `active` are what is known from the line before, zeros at first: how many edges it crossed, the next
    edge above it, and which it crossed. As edges are sorted by their lower ends, memory is that of the edges alone.
    """
    kept = 0
    following = reached[1]
    for k in range(reached[0]):
        if edges[active[k], 3] > y:
            active[kept] = active[k]
            kept += 1
    while following < edges.shape[0] and edges[following, 1] <= y:
        if edges[following, 3] > y:
            active[kept] = following
            kept += 1
        following += 1
    for k in range(kept):
        x, low, x_end, high = edges[active[k]]
        crossings[k] = x + (y - low) * (x_end - x) / (high - low)
    crossings[:kept].sort()
    reached[0], reached[1] = kept, following
    return kept


@njit(nogil=True, cache=True)
def _add_length(weights: NDArray[np.float64], row: int, left: float, right: float, height: float) -> None:
    """Add what each pixel of a row has of the interval [left, right], × the height of the band."""
    first, last = math.floor(left + 0.5), min(math.floor(right + 0.5), weights.shape[0] - 1)
    if first == last:
        weights[first, row] += height * (right - left)
        return
    weights[first, row] += height * (first + 0.5 - left)
    for i in range(first + 1, last):
        weights[i, row] += height
    weights[last, row] += height * (right - (last - 0.5))
