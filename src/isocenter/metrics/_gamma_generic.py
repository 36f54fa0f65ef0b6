"""The sampled gamma index on any two grids with perpendicular axes, compiled.

Each sample is looked up in the evaluation grid by itself. As in `_gamma_lattice`, most are never looked at: along a
straight line the dose changes by the gradient, the gradient within a cell lies between the differences along its
edges, and these bound the dose in an octant of a sphere.
"""

# Compiled loops take their arrays by position, and are quickest as one function.
# ruff: noqa: PLR0912, PLR0915, PLR0917
from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SLACK = 1e-11
# Looking at more cells than this for a bound costs more than the samples it could save.
_CELLS = 125


@njit(nogil=True, cache=True, inline="always")
def _cell_of(axis: Floats, density: float, x: float) -> int:
    """The cell that holds x, for x between the ends of the axis; `density` is cells per mm, or 0 if it varies."""
    found = int((x - axis[0]) * density) if density > 0 else int(np.searchsorted(axis, x, "right")) - 1
    return max(0, min(found, axis.size - 2))


@njit(nogil=True, cache=True, inline="always")
def _dose_at(
    dose: NDArray[Any], ax: Floats, ay: Floats, az: Floats, density: Floats, x: float, y: float, z: float
) -> float:
    """Trilinear dose at a point inside the grid."""
    i, j, k = _cell_of(ax, density[0], x), _cell_of(ay, density[1], y), _cell_of(az, density[2], z)
    u = (x - ax[i]) / (ax[i + 1] - ax[i])
    v = (y - ay[j]) / (ay[j + 1] - ay[j])
    w = (z - az[k]) / (az[k + 1] - az[k])
    a = np.float64(dose[i, j, k]) * (1 - w) + np.float64(dose[i, j, k + 1]) * w
    b = np.float64(dose[i, j + 1, k]) * (1 - w) + np.float64(dose[i, j + 1, k + 1]) * w
    c = np.float64(dose[i + 1, j, k]) * (1 - w) + np.float64(dose[i + 1, j, k + 1]) * w
    d = np.float64(dose[i + 1, j + 1, k]) * (1 - w) + np.float64(dose[i + 1, j + 1, k + 1]) * w
    found: float = (a * (1 - v) + b * v) * (1 - u) + (c * (1 - v) + d * v) * u
    return found


@njit(nogil=True, cache=True, inline="always")
def _slopes(
    dose: NDArray[Any], ax: Floats, ay: Floats, az: Floats, density: Floats, x: float, y: float, z: float, reach: float,
    slopes: Floats,
) -> bool:  # fmt: skip
    """The least and the greatest partial derivatives within `reach` of a point, Gy/mm; False if that is too far."""
    i0, i1 = _cell_of(ax, density[0], max(x - reach, ax[0])), _cell_of(ax, density[0], min(x + reach, ax[-1]))
    j0, j1 = _cell_of(ay, density[1], max(y - reach, ay[0])), _cell_of(ay, density[1], min(y + reach, ay[-1]))
    k0, k1 = _cell_of(az, density[2], max(z - reach, az[0])), _cell_of(az, density[2], min(z + reach, az[-1]))
    if (i1 - i0 + 1) * (j1 - j0 + 1) * (k1 - k0 + 1) > _CELLS:
        return False
    slopes[:3], slopes[3:] = np.inf, -np.inf
    for i in range(i0, i1 + 2):
        for j in range(j0, j1 + 2):
            for k in range(k0, k1 + 2):
                here = np.float64(dose[i, j, k])
                if i <= i1:
                    change = (np.float64(dose[i + 1, j, k]) - here) / (ax[i + 1] - ax[i])
                    slopes[0], slopes[3] = min(slopes[0], change), max(slopes[3], change)
                if j <= j1:
                    change = (np.float64(dose[i, j + 1, k]) - here) / (ay[j + 1] - ay[j])
                    slopes[1], slopes[4] = min(slopes[1], change), max(slopes[4], change)
                if k <= k1:
                    change = (np.float64(dose[i, j, k + 1]) - here) / (az[k + 1] - az[k])
                    slopes[2], slopes[5] = min(slopes[2], change), max(slopes[5], change)
    return True


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz", "nnan"})
def search_rows(
    rows: tuple[int, int], reference: NDArray[Any], evaluation: NDArray[Any], best: Floats, corner: Ints,
    rx: Floats, ry: Floats, rz: Floats, ax: Floats, ay: Floats, az: Floats, density: Floats,
    normalisation: float, percent: float, distance: float, cap: float, enough: float,
    places: Ints, place_groups: Ints, place_radius: Floats, group_points: Ints, group_radius: Floats,
    u: Floats, v: Floats, w: Floats,
) -> None:  # fmt: skip
    """Lower gamma² (`best`) of some rows by the samples of one table; see `_gamma_lattice.search_rows`.

    rx, ry, rz are the axes of the reference and ax, ay, az those of the evaluation, ascending; u, v, w are offsets in
    mm. All in one function, since each array handed to another costs a count of its users per call.
    """
    nearest, furthest = place_radius.min(), group_radius.max()
    slopes = np.empty(6)
    for row in range(rows[0], rows[1]):
        a, b = row // best.shape[1], row % best.shape[1]
        for c in range(best.shape[2]):
            now = best[a, b, c]
            if not (now > enough and now > (nearest / distance) ** 2):
                continue
            dose = np.float64(reference[a + corner[0], b + corner[1], c + corner[2]])
            norm = normalisation if normalisation > 0 else dose
            tolerance = norm * percent
            x, y, z = rx[a + corner[0]], ry[b + corner[1]], rz[c + corner[2]]
            inside = ax[0] <= x <= ax[-1] and ay[0] <= y <= ay[-1] and az[0] <= z <= az[-1]
            base, likely, guess, bounded = -np.inf, -1, 0.0, False
            if inside:
                here = _dose_at(evaluation, ax, ay, az, density, x, y, z) - dose
                least = here / norm / percent
                now = min(now, least * least)
                base = abs(here) - SLACK * abs(dose)
                side = 1.0 if here >= 0 else -1.0
                # The octant down the slope first, from the radius where a linear model has its minimum.
                if _slopes(evaluation, ax, ay, az, density, x, y, z, 0.0, slopes):
                    g0, g1, g2 = slopes[0] + slopes[3], slopes[1] + slopes[4], slopes[2] + slopes[5]
                    steep = 0.25 * (g0 * g0 + g1 * g1 + g2 * g2)
                    guess = abs(here) * np.sqrt(steep) / ((tolerance / distance) ** 2 + steep)
                    for place in range(places.shape[0]):
                        if (
                            (places[place, 0] == 1) == (side * g0 > 0)
                            and (places[place, 1] == 1) == (side * g1 > 0)
                            and (places[place, 2] == 1) == (side * g2 > 0)
                        ):
                            likely = place
            for turn in range(-1 if likely >= 0 and furthest > 0 else 0, places.shape[0]):
                if now <= enough:
                    break
                place = likely if turn < 0 else turn
                start, stop = place_groups[place], place_groups[place + 1]
                slope = -np.inf
                if turn < 0:
                    # One group only: it makes the search small enough for bounds.
                    start += min(stop - start - 1, int(guess / group_radius[stop - 1] * (stop - start)))
                    stop = start + 1
                elif inside:
                    if not bounded:
                        reach = min(np.sqrt(min(now, cap)) * distance, furthest)
                        bounded = _slopes(evaluation, ax, ay, az, density, x, y, z, reach, slopes)
                    if bounded:
                        # As in `_gamma_lattice`, with the least derivative in this direction along each axis.
                        s0 = side * (1 - 2 * places[place, 0])
                        s1 = side * (1 - 2 * places[place, 1])
                        s2 = side * (1 - 2 * places[place, 2])
                        g0 = min(s0 * slopes[0], s0 * slopes[3])
                        g1 = min(s1 * slopes[1], s1 * slopes[4])
                        g2 = min(s2 * slopes[2], s2 * slopes[5])
                        slope = min(g0, g1, g2)
                        if slope < 0:
                            slope = -np.sqrt(min(g0, 0.0) ** 2 + min(g1, 0.0) ** 2 + min(g2, 0.0) ** 2)
                for group in range(start, stop):
                    radius = group_radius[group]
                    away = (radius / distance) ** 2
                    worst = min(now, cap)
                    if away >= worst and now < np.inf:
                        break
                    low = base + slope * radius
                    if low > 0 and away + (low / tolerance) ** 2 >= worst:
                        continue
                    smallest = np.float64(np.inf)
                    for n in range(group_points[group], group_points[group + 1]):
                        px, py, pz = x + u[n], y + v[n], z + w[n]
                        if ax[0] <= px <= ax[-1] and ay[0] <= py <= ay[-1] and az[0] <= pz <= az[-1]:
                            found = _dose_at(evaluation, ax, ay, az, density, px, py, pz) - dose
                            smallest = min(smallest, abs(found))
                    least = smallest / norm / percent
                    now = min(now, least * least + away)
            best[a, b, c] = now
