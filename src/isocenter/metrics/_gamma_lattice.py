"""The sampled gamma index when every reference point lies at one place of a cell of the evaluation grid, compiled.

On a node, for doses on one grid, or anywhere between, for grids that are shifted. Every sample point then has one fixed
place in a cell of the grid, the same for all reference points. The dose in a cell is c0 + cx·u + cy·v + cz·w + cxy·uv +
…, with u, v, w counted from the corner next to the reference point: eight numbers per cell, and then seven
multiplications per sample. Most samples are never looked at: bounds on the dose of a whole group say that it cannot
beat what was already found. Gamma is a minimum, so the order of looking is free: the octant and the radius that a
linear model points to come first, and make the bounds bite.

A reference point on a node has an octant of its own in each of eight cells. One between nodes has eight octants in one
cell, and each goes on in the next cells. The polynomial of each of these, counted from the reference point, bounds the
dose in that octant just as on a node. There are many, so bounds of the gradient all around come before: they end the
search of most points that fail, and skip octants with all their cells.
"""

# Compiled loops take their arrays by position, and are quickest as one function.
# ruff: noqa: PLR0912, PLR0915, PLR0917
# Everything compiled is in this module: what numba remembers of a function is renewed when its own module changes.
from __future__ import annotations

from typing import Any

import numpy as np
from numba import extending, njit, types
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Bounds are computed in floating point too: they give way by this part of the dose.
SLACK = 1e-11
# Samples next to a node are put on it: so far, in steps of the grid, may a sample be from where its sphere is.
NUDGE = 1e-9
# gamma² that any sample beats.
FAR = 1e200

intrinsic: Any = extending.intrinsic  # its functions are called without the context that they are declared with


@intrinsic  # type: ignore[untyped-decorator]
def _smaller(_context: Any, _a: Any, _b: Any) -> Any:
    """The smaller of two numbers. A loop with `min` is compiled for one number at a time, one with this for vectors."""

    def generate(_context: Any, builder: Any, _signature: Any, pair: Any) -> Any:
        # numba marks comparisons, but not the choice after them, as free of NaN; without it LLVM keeps the order.
        marks = ("nnan", "nsz")
        return builder.select(builder.fcmp_ordered("<", *pair, flags=marks), *pair, flags=marks)

    return types.float64(types.float64, types.float64), generate


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz", "nnan"})
def _smallest(
    u: Floats, v: Floats, w: Floats, start: int, stop: int,
    c0: float, c1: float, c2: float, c3: float, c12: float, c13: float, c23: float, c123: float,
) -> float:  # fmt: skip
    """The smallest |dose difference| of a group, on vector units."""
    found = np.inf
    for n in range(np.uint64(start), np.uint64(stop)):
        a = c0 + c3 * w[n]
        b = c1 + c13 * w[n]
        c = c2 + c23 * w[n]
        d = c12 + c123 * w[n]
        found = _smaller(found, abs((a + b * u[n]) + (c + d * u[n]) * v[n]))
    return found


@njit(nogil=True, cache=True)
def _smallest_on_rim(
    u: Floats, v: Floats, w: Floats, start: int, stop: int,
    c0: float, c1: float, c2: float, c3: float, c12: float, c13: float, c23: float, c123: float,
    rim: tuple[bool, bool, bool],
) -> float:  # fmt: skip
    """The same where the grid ends at the near side of the cell: only points on that side are inside."""
    found = np.inf
    for n in range(np.uint64(start), np.uint64(stop)):
        if (rim[0] and u[n] != 0.0) or (rim[1] and v[n] != 0.0) or (rim[2] and w[n] != 0.0):
            continue
        a = c0 + c3 * w[n] + (c1 + c13 * w[n]) * u[n]
        b = c2 + c23 * w[n] + (c12 + c123 * w[n]) * u[n]
        found = min(found, abs(a + b * v[n]))
    return found


@njit(nogil=True, cache=True, inline="always")
def _octant(
    c0: float, c1: float, c2: float, c3: float, c12: float, c13: float, c23: float, c123: float, give: float,
    density: tuple[float, float, float], tolerance: float, distance: float, worst: float, furthest: float,
) -> tuple[float, float, float, float, float, float]:  # fmt: skip
    """How small the difference can be in a cell whose polynomial is counted from the reference point.

    On an octant's part of a sphere of radius r, |difference| ≥ base + slope·r + bend·r² + twist·r³: with r = (x, y, z)
    ≥ 0, g·r ≥ -r·|g⁻| or r·min(g), 2xy ≤ r² and xyz ≤ r³/√27. Returned are these four, and the radii between which
    gamma² can be below `worst`.
    """
    side = 1.0 if c0 >= 0 else -1.0
    base = abs(c0) - give
    g1, g2, g3 = side * c1 * density[0], side * c2 * density[1], side * c3 * density[2]
    slope = min(g1, g2, g3)
    if slope < 0:
        slope = -np.sqrt(min(g1, 0.0) ** 2 + min(g2, 0.0) ** 2 + min(g3, 0.0) ** 2)
    bend = min(side * c12 * density[0] * density[1], 0.0)
    bend += min(side * c13 * density[0] * density[2], 0.0)
    bend = 0.5 * (bend + min(side * c23 * density[1] * density[2], 0.0))
    twist = min(side * c123 * density[0] * density[1] * density[2], 0.0) * 0.19245008972987526
    inner, outer = 0.0, np.sqrt(worst) * distance
    reach = min(outer, furthest)
    low = base + (bend + twist * reach) * reach * reach
    if low > 0:
        # Only radii with ((low + slope·r) / tolerance)² + (r / distance)² < worst can help.
        square = tolerance * tolerance
        a = slope * slope + square / (distance * distance)
        b = low * slope
        inside = b * b - a * (low * low - worst * square)
        if inside <= 0:
            outer = -1.0
        else:
            # Past the radius where low + slope·r is 0, any difference is possible.
            root = np.sqrt(inside)
            inner = (-b - root) / a * (1.0 - 1e-9)
            if low + slope * outer > 0:
                outer = (-b + root) / a * (1.0 + 1e-9)
    return base, slope, bend, twist, inner, outer


@njit(nogil=True, cache=True, inline="always")
def _counted_from(
    x: float, y: float, z: float,
    c0: float, c1: float, c2: float, c3: float, c12: float, c13: float, c23: float, c123: float,
) -> tuple[float, float, float, float, float, float, float, float]:  # fmt: skip
    """The polynomial of a cell, counted from another point than its corner."""
    q12, q13, q23 = c12 + c123 * z, c13 + c123 * y, c23 + c123 * x
    p1, p2, p3 = c1 + c12 * y + q13 * z, c2 + c12 * x + q23 * z, c3 + c13 * x + q23 * y
    p0 = c0 + c1 * x + (c2 + c12 * x) * y + p3 * z
    return p0, p1, p2, p3, q12, q13, q23, c123


@njit(nogil=True, cache=True, inline="always")
def _keep_losses(losses: Floats, d: int, least: float, most: float) -> None:
    """Keep (Gy/mm)² that |difference| can lose along axis d, in + and - direction, if it grows by `least` to `most`."""
    losses[d, 0], losses[d, 1] = max(-least, 0.0) ** 2, max(most, 0.0) ** 2


@njit(nogil=True, cache=True, inline="always")
def _bound_in_cell(
    p0: float, g0: float, g1: float, g2: float, p12: float, p13: float, p23: float, p123: float,
    density: tuple[float, float, float], reach: float, losses: Floats,
) -> float:  # fmt: skip
    """How small the difference can be around a reference point, if a sphere of radius `reach` is all in its cell.

    |difference| ≥ floor - r·√(losses along x + along y + along z): as in `_octant`, for all octants at once. The floor
    is returned; it gives way for samples that were put on a node.

    Parameters
    ----------
    p0 to p123
        The polynomial of the cell, counted from the reference point; g0 to g2 are its gradient there, Gy/mm.
    """
    side = 1.0 if p0 >= 0 else -1.0
    _keep_losses(losses, 0, side * g0, side * g0)
    _keep_losses(losses, 1, side * g1, side * g1)
    _keep_losses(losses, 2, side * g2, side * g2)
    bend = abs(p12) * density[0] * density[1] + abs(p13) * density[0] * density[2] + abs(p23) * density[1] * density[2]
    twist = abs(p123) * density[0] * density[1] * density[2] * 0.19245008972987526
    steps = abs(g0) / density[0] + abs(g1) / density[1] + abs(g2) / density[2]
    return abs(p0) - (0.5 * bend + twist * reach) * reach * reach - NUDGE * steps


@njit(nogil=True, cache=True, error_model="numpy")
def _bound_in_box(
    p0: float, evaluation: NDArray[Any], first: tuple[int, int, int], last: tuple[int, int, int],
    density: tuple[float, float, float], losses: Floats,
) -> float:  # fmt: skip
    """The same for a sphere that reaches into other cells: all of it lies between the nodes `first` and `last`.

    Within a cell, the derivative along an axis lies between the differences along the four edges in that direction.
    """
    x0, x1, y0, y1, z0, z1 = np.inf, -np.inf, np.inf, -np.inf, np.inf, -np.inf
    for i in range(first[0], last[0] + 1):
        for j in range(first[1], last[1] + 1):
            for k in range(first[2], last[2] + 1):
                here = np.float64(evaluation[i, j, k])
                if i < last[0]:
                    step = np.float64(evaluation[i + 1, j, k]) - here
                    x0, x1 = min(x0, step), max(x1, step)
                if j < last[1]:
                    step = np.float64(evaluation[i, j + 1, k]) - here
                    y0, y1 = min(y0, step), max(y1, step)
                if k < last[2]:
                    step = np.float64(evaluation[i, j, k + 1]) - here
                    z0, z1 = min(z0, step), max(z1, step)
    if p0 < 0:
        x0, x1, y0, y1, z0, z1 = -x1, -x0, -y1, -y0, -z1, -z0
    _keep_losses(losses, 0, x0 * density[0], x1 * density[0])
    _keep_losses(losses, 1, y0 * density[1], y1 * density[1])
    _keep_losses(losses, 2, z0 * density[2], z1 * density[2])
    return abs(p0) - NUDGE * (max(-x0, x1) + max(-y0, y1) + max(-z0, z1))


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz", "nnan"})
def search_rows(
    rows: tuple[int, int], reference: NDArray[Any], evaluation: NDArray[Any], best: Floats, corner: Ints, node: Ints,
    stride: Ints, cell: Floats, offset: Floats, normalisation: float, percent: float, distance: float, cap: float,
    enough: float,
    places: Ints, place_groups: Ints, place_radius: Floats, group_points: Ints, group_radius: Floats,
    on_side: NDArray[np.bool_], leaving: Floats, u: Floats, v: Floats, w: Floats,
) -> None:  # fmt: skip
    """Lower gamma² (`best`) of some rows by the samples of one table.

    Parameters
    ----------
    rows
        First and last+1 of the rows of `best`, counted over its first two axes.
    best
        gamma² so far; NaN where none is wanted, infinite where nothing was found.
    corner
        Where in `reference` the box lies that `best` covers.
    node, stride, cell, offset
        Point n of the reference is at node + stride · n + offset, counted in cells of the evaluation; see `Lattice`.
    normalisation
        Dose of 100 %, Gy; 0 for the local dose.
    percent
        The dose criterion as a fraction.
    cap
        gamma² above this is of no interest.
    enough
        A point is left alone once gamma² is no more than this.
    places to w
        The table; see `Table`.
    """
    n0, n1, n2 = evaluation.shape
    closest = (place_radius.min() / distance) ** 2
    # How far the reference point is from the near side of its own cell, in + and - direction, and which node that is.
    own = np.zeros((3, 2))
    side = np.zeros((3, 2), np.int64)
    for d in range(3):
        if offset[d] > 0:
            own[d, 0], own[d, 1], side[d, 1] = offset[d], 1.0 - offset[d], 1
    on_node = side.sum() == 0
    # Which place is which of the eight cells that an octant begins with.
    octants = np.full((8, 8), -1)
    for place in range(places.shape[0]):
        if max(places[place, 3], places[place, 4], places[place, 5]) <= 1:
            octants[
                4 * places[place, 0] + 2 * places[place, 1] + places[place, 2],
                4 * places[place, 3] + 2 * places[place, 4] + places[place, 5],
            ] = place
    touching = 0
    while touching < min(8, places.shape[0]) and places[touching, 3] + places[touching, 4] + places[touching, 5] == 0:
        touching += 1
    density = (1.0 / cell[0], 1.0 / cell[1], 1.0 / cell[2])
    # gamma² from which on samples leave the cell around a reference point, and the next ones.
    leaves = (leaving / distance) ** 2 * (1.0 - 1e-9)
    leaves_own, leaves_next = leaves[:, 0].min(), leaves[:, 1].min()
    # Whether one cell is around a reference point, not two along an axis whose nodes it lies on.
    one_cell = side.sum() == 3
    losses = np.zeros((3, 2))
    for row in range(rows[0], rows[1]):
        a, b = row // best.shape[1], row % best.shape[1]
        for c in range(best.shape[2]):
            now = best[a, b, c]
            if not (now > enough and now > closest):
                continue
            i, j, k = a + corner[0], b + corner[1], c + corner[2]
            dose = np.float64(reference[i, j, k])
            norm = normalisation if normalisation > 0 else dose
            tolerance = norm * percent
            give = SLACK * abs(dose)
            i, j, k = stride[0] * i + node[0], stride[1] * j + node[1], stride[2] * k + node[2]
            likely, guess = -1, 0.0
            covered = 0 <= i < n0 - side[0, 1] and 0 <= j < n1 - side[1, 1] and 0 <= k < n2 - side[2, 1]
            if covered and on_node:
                here: float = np.float64(evaluation[i, j, k]) - dose
                least = here / norm / percent
                now = min(now, least * least)
                low, high = max(i - 1, 0), min(i + 1, n0 - 1)
                g0: float = np.float64(evaluation[high, j, k]) - np.float64(evaluation[low, j, k])
                g0 *= density[0] / max(high - low, 1)
                low, high = max(j - 1, 0), min(j + 1, n1 - 1)
                g1: float = np.float64(evaluation[i, high, k]) - np.float64(evaluation[i, low, k])
                g1 *= density[1] / max(high - low, 1)
                low, high = max(k - 1, 0), min(k + 1, n2 - 1)
                g2: float = np.float64(evaluation[i, j, high]) - np.float64(evaluation[i, j, low])
                g2 *= density[2] / max(high - low, 1)
            elif covered:
                i1, j1, k1 = min(i + 1, n0 - 1), min(j + 1, n1 - 1), min(k + 1, n2 - 1)
                d000, d001 = np.float64(evaluation[i, j, k]), np.float64(evaluation[i, j, k1])
                d010, d011 = np.float64(evaluation[i, j1, k]), np.float64(evaluation[i, j1, k1])
                d100, d101 = np.float64(evaluation[i1, j, k]), np.float64(evaluation[i1, j, k1])
                d110, d111 = np.float64(evaluation[i1, j1, k]), np.float64(evaluation[i1, j1, k1])
                c1, c2, c3 = d100 - d000, d010 - d000, d001 - d000
                here, g0, g1, g2, p12, p13, p23, p123 = _counted_from(
                    offset[0], offset[1], offset[2], d000 - dose, c1, c2, c3,
                    d110 - d100 - c2, d101 - d100 - c3, d011 - d010 - c3,
                    d111 - d110 - d101 + d100 - d011 + d010 + d001 - d000,
                )  # fmt: skip
                least = here / norm / percent
                now = min(now, least * least)
                g0, g1, g2 = g0 * density[0], g1 * density[1], g2 * density[2]
                wide = give + SLACK * (abs(here) + abs(d000 - dose) + abs(c1) + abs(c2) + abs(c3))
            if covered:
                # A linear model: gamma is smallest down the slope g, at here·g·distance² / (tolerance² + g²·distance²).
                steep = g0 * g0 + g1 * g1 + g2 * g2
                guess = abs(here) * np.sqrt(steep) / ((norm * percent / distance) ** 2 + steep)
                s0, s1, s2 = int(here * g0 > 0), int(here * g1 > 0), int(here * g2 > 0)
                wanted = 4 * s0 + 2 * s1 + s2
                likely = octants[wanted, 0]
                if not on_node and steep > 0:
                    # In which of the octant's cells that minimum is.
                    part = guess / np.sqrt(steep)
                    s0 = int(own[0, s0] + part * abs(g0) * density[0] >= 1)
                    s1 = int(own[1, s1] + part * abs(g1) * density[1] >= 1)
                    s2 = int(own[2, s2] + part * abs(g2) * density[2] >= 1)
                    if octants[wanted, 4 * s0 + 2 * s1 + s2] >= 0:
                        likely = octants[wanted, 4 * s0 + 2 * s1 + s2]
            bounding, bounded, floor, total = covered and not on_node, False, 0.0, 0.0
            for turn in range(-1 if likely >= 0 else 0, places.shape[0]):
                place = likely if turn < 0 else turn
                # A point outside the grid has no gamma so far, and gets one from any sample that is inside.
                worst = min(now, cap) if now < np.inf else FAR
                if now <= enough or worst <= closest:
                    break
                if turn >= touching and place_radius[place] >= np.sqrt(worst) * distance:
                    break
                if turn >= 0 and place == likely:
                    continue
                if bounding and not bounded and worst <= leaves_next:
                    # On grids that are shifted, bounds for the whole sphere save looking into most of the cells.
                    if one_cell and worst <= leaves_own:
                        bounded = True
                        reach = np.sqrt(worst) * distance
                        floor = _bound_in_cell(here, g0, g1, g2, p12, p13, p23, p123, density, reach, losses) - wide
                    elif turn >= 0:
                        bounded = True
                        e0, e1, e2 = int(worst > leaves[0, 0]), int(worst > leaves[1, 0]), int(worst > leaves[2, 0])
                        i0, j0, k0 = i + side[0, 1] - 1 - e0, j + side[1, 1] - 1 - e1, k + side[2, 1] - 1 - e2
                        i1, j1, k1 = min(i + 1 + e0, n0 - 1), min(j + 1 + e1, n1 - 1), min(k + 1 + e2, n2 - 1)
                        nodes = (max(i0, 0), max(j0, 0), max(k0, 0))
                        floor = _bound_in_box(here, evaluation, nodes, (i1, j1, k1), density, losses) - wide
                    total = max(losses[0, 0], losses[0, 1]) + max(losses[1, 0], losses[1, 1])
                    total += max(losses[2, 0], losses[2, 1])
                if floor > 0:
                    # gamma² ≥ min over r of ((floor - loss·r) / tolerance)² + (r / distance)², the distance of a line
                    # from the origin; in any direction, then in those of the place.
                    square, length = floor * floor, distance * distance
                    if square >= worst * (tolerance * tolerance + total * length):
                        break
                    loss = losses[0, places[place, 0]] + losses[1, places[place, 1]] + losses[2, places[place, 2]]
                    if square >= worst * (tolerance * tolerance + loss * length):
                        continue
                # The cell from its corner next to the reference point. Beyond the last node it is flat, and only its
                # near side counts.
                i0 = i + side[0, places[place, 0]] + (1 - 2 * places[place, 0]) * places[place, 3]
                j0 = j + side[1, places[place, 1]] + (1 - 2 * places[place, 1]) * places[place, 4]
                k0 = k + side[2, places[place, 2]] + (1 - 2 * places[place, 2]) * places[place, 5]
                if not (0 <= i0 < n0 and 0 <= j0 < n1 and 0 <= k0 < n2):
                    continue
                i1, j1, k1 = i0 + 1 - 2 * places[place, 0], j0 + 1 - 2 * places[place, 1], k0 + 1 - 2 * places[place, 2]
                rim = (not 0 <= i1 < n0, not 0 <= j1 < n1, not 0 <= k1 < n2)
                if rim[0]:
                    i1 = i0
                if rim[1]:
                    j1 = j0
                if rim[2]:
                    k1 = k0
                d000, d001 = np.float64(evaluation[i0, j0, k0]), np.float64(evaluation[i0, j0, k1])
                d010, d011 = np.float64(evaluation[i0, j1, k0]), np.float64(evaluation[i0, j1, k1])
                d100, d101 = np.float64(evaluation[i1, j0, k0]), np.float64(evaluation[i1, j0, k1])
                d110, d111 = np.float64(evaluation[i1, j1, k0]), np.float64(evaluation[i1, j1, k1])
                c0 = d000 - dose
                c1, c2, c3 = d100 - d000, d010 - d000, d001 - d000
                c12, c13, c23 = d110 - d100 - c2, d101 - d100 - c3, d011 - d010 - c3
                c123 = d111 - d110 - d101 + d100 - d011 + d010 + d001 - d000
                if (
                    (rim[0] and not on_side[place, 0])
                    or (rim[1] and not on_side[place, 1])
                    or (rim[2] and not on_side[place, 2])
                ):
                    continue  # all samples are outside the grid
                begin, end = place_groups[place], place_groups[place + 1]
                furthest = group_radius[end - 1]
                flat = 0.0
                if place >= touching:
                    low = min(d000, d001, d010, d011, d100, d101, d110, d111) - dose
                    high = max(d000, d001, d010, d011, d100, d101, d110, d111) - dose
                    flat = max(0.0, low, -high) - give
                    if flat > 0 and (flat / tolerance) ** 2 + (place_radius[place] / distance) ** 2 >= worst:
                        continue
                near = place < touching
                if near and on_node:
                    base, slope, bend, twist, inner, outer = _octant(
                        c0, c1, c2, c3, c12, c13, c23, c123, give, density, tolerance, distance, worst, furthest
                    )
                elif near or (not on_node and max(places[place, 3], places[place, 4], places[place, 5]) <= 1):
                    p0, p1, p2, p3, p12, p13, p23, p123 = _counted_from(
                        own[0, places[place, 0]] - places[place, 3], own[1, places[place, 1]] - places[place, 4],
                        own[2, places[place, 2]] - places[place, 5], c0, c1, c2, c3, c12, c13, c23, c123,
                    )  # fmt: skip
                    # Doses of the corners cancel here, which may be much larger than the reference's.
                    wide = give + SLACK * (abs(c0) + abs(c1) + abs(c2) + abs(c3))
                    base, slope, bend, twist, inner, outer = _octant(
                        p0, p1, p2, p3, p12, p13, p23, p123, wide, density, tolerance, distance, worst, furthest
                    )
                else:
                    base, slope, bend, twist, inner, outer = flat, 0.0, 0.0, 0.0, 0.0, np.sqrt(worst) * distance
                if outer < place_radius[place]:
                    continue
                first = -1
                if turn < 0 and guess > 0 and furthest > 0:
                    # Groups of a place that begins further away begin at a larger radius, too.
                    skipped = group_radius[begin] if place >= touching else 0.0
                    part = (guess - skipped) / (furthest - skipped) if furthest > skipped else 0.0
                    first = begin + max(0, min(end - begin - 1, int(part * (end - begin))))
                for step in range(-1 if first >= 0 else 0, end - begin):
                    group = first if step < 0 else begin + step
                    radius = group_radius[group]
                    if radius > outer and step >= 0:
                        break
                    if radius < inner or (step >= 0 and group == first):
                        continue
                    away = (radius / distance) ** 2
                    low = base + (slope + (bend + twist * radius) * radius) * radius
                    worst = min(now, cap) if now < np.inf else FAR
                    if away + (max(low, flat, 0.0) / tolerance) ** 2 >= worst:
                        continue
                    start, stop = group_points[group], group_points[group + 1]
                    if rim[0] or rim[1] or rim[2]:
                        smallest = _smallest_on_rim(u, v, w, start, stop, c0, c1, c2, c3, c12, c13, c23, c123, rim)
                    else:
                        smallest = _smallest(u, v, w, start, stop, c0, c1, c2, c3, c12, c13, c23, c123)
                    miss = smallest / norm / percent
                    now = min(now, miss * miss + away)
            best[a, b, c] = now
