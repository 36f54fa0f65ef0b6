"""Gamma without samples: the minimum over every point of the multilinear evaluation dose, compiled.

With x the way from the reference point in units of the distance criterion, and φ(x) the dose difference in units of the
dose criterion, gamma² is the minimum of f(x) = |x|² + φ(x)² over the evaluation grid. Within a cell φ is trilinear:
exactly φ(x + s) = φ + g·s + sᵀHs/2 + c·s₁s₂s₃, where H has no diagonal. Two facts make the minimum easy to find and to
prove:

- If φ were linear, the minimum over a box would have x_i = clip(-t·g_i) with one number t, which is the root of a
  falling, piecewise linear function. Doing so again and again (Gauss-Newton) finds a minimum of f.
- f(x + s) ≥ f(x) + ∇f·s + (1 - κ)|s|² with κ = |φ|·(√(4/3·(H₁₂² + H₁₃² + H₂₃²)) + 2|c|·max|s| / √27). At a minimum with
  κ ≤ 1, nothing in the box is lower. Where κ > 1 the box is halved; the gap shrinks with the square of its size.
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

# Gamma is found to within this, and no smaller gamma exists below it.
TOLERANCE = 1e-6
_STACK = 256


@njit(nogil=True, cache=True, inline="always")
def _linear_minimum(
    a: float, g0: float, g1: float, g2: float, box: tuple[float, float, float, float, float, float]
) -> tuple[float, float, float]:
    """Where |x|² + (a + g·x)² is smallest in a box."""
    t = a / (1.0 + g0 * g0 + g1 * g1 + g2 * g2)
    x0 = x1 = x2 = 0.0
    left, right = -np.inf, np.inf
    for _ in range(50):
        x0, x1, x2 = -t * g0, -t * g1, -t * g2
        fall = 1.0
        if box[0] < x0 < box[3]:
            fall += g0 * g0
        if box[1] < x1 < box[4]:
            fall += g1 * g1
        if box[2] < x2 < box[5]:
            fall += g2 * g2
        x0, x1, x2 = min(max(x0, box[0]), box[3]), min(max(x1, box[1]), box[4]), min(max(x2, box[2]), box[5])
        error = a + g0 * x0 + g1 * x1 + g2 * x2 - t
        if abs(error) <= 1e-13 * abs(a):
            break
        # The function falls by at least 1 per unit of t, so its root is no further than the error.
        if error > 0:
            left, right = t, min(right, t + error)
        else:
            left, right = max(left, t + error), t
        t += error / fall
        if not left < t < right:
            t = 0.5 * (left + right)
    return x0, x1, x2


@njit(nogil=True, cache=True, inline="always")
def _least(slope: float, curvature: float, low: float, high: float) -> float:
    """The least of slope·s + curvature·s² for s from low to high."""
    found = min((slope + curvature * low) * low, (slope + curvature * high) * high)
    if curvature > 0 and low < -slope / (2.0 * curvature) < high:
        found = -slope * slope / (4.0 * curvature)
    return found


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"}, inline="always")
def _search_cell(
    evaluation: NDArray[Any], i: int, j: int, k: int, dose: float, tolerance: float,
    low: tuple[float, float, float], high: tuple[float, float, float], best: float, cap: float, enough: float,
    stack: Floats,
) -> float:  # fmt: skip
    """The best gamma² after one cell, given its corners in units of the distance criterion."""
    d000, d001 = np.float64(evaluation[i, j, k]), np.float64(evaluation[i, j, k + 1])
    d010, d011 = np.float64(evaluation[i, j + 1, k]), np.float64(evaluation[i, j + 1, k + 1])
    d100, d101 = np.float64(evaluation[i + 1, j, k]), np.float64(evaluation[i + 1, j, k + 1])
    d110, d111 = np.float64(evaluation[i + 1, j + 1, k]), np.float64(evaluation[i + 1, j + 1, k + 1])
    p0, p1, p2 = 1.0 / (high[0] - low[0]), 1.0 / (high[1] - low[1]), 1.0 / (high[2] - low[2])
    c0 = (d000 - dose) / tolerance
    c1, c2, c3 = (d100 - d000) / tolerance, (d010 - d000) / tolerance, (d001 - d000) / tolerance
    c12 = (d110 - d100 - d010 + d000) / tolerance * p0 * p1
    c13 = (d101 - d100 - d001 + d000) / tolerance * p0 * p2
    c23 = (d011 - d010 - d001 + d000) / tolerance * p1 * p2
    c123 = (d111 - d110 - d101 + d100 - d011 + d010 + d001 - d000) / tolerance * p0 * p1 * p2
    c1, c2, c3 = c1 * p0, c2 * p1, c3 * p2
    reach = np.sqrt(min(best, cap))
    for d in range(3):
        stack[0, d], stack[0, d + 3] = max(low[d], -reach), min(high[d], reach)
    waiting = 1
    while waiting > 0:
        waiting -= 1
        box = (
            stack[waiting, 0], stack[waiting, 1], stack[waiting, 2],
            stack[waiting, 3], stack[waiting, 4], stack[waiting, 5],
        )  # fmt: skip
        x0, x1, x2 = min(max(0.0, box[0]), box[3]), min(max(0.0, box[1]), box[4]), min(max(0.0, box[2]), box[5])
        here = np.inf
        proven = False
        for turn in range(24):
            t0, t1, t2 = x0 - low[0], x1 - low[1], x2 - low[2]
            h12, h13, h23 = c12 + c123 * t2, c13 + c123 * t1, c23 + c123 * t0
            g0 = c1 + c12 * t1 + h13 * t2
            g1 = c2 + c23 * t2 + h12 * t0
            g2 = c3 + c13 * t0 + h23 * t1
            phi = c0 + c1 * t0 + (c2 + c12 * t0) * t1 + (c3 + c13 * t0 + h23 * t1) * t2
            value = x0 * x0 + x1 * x1 + x2 * x2 + phi * phi
            best = min(best, value)
            worst = min(best, cap)
            # The bound over the box, from here.
            s0, s1, s2 = max(x0 - box[0], box[3] - x0), max(x1 - box[1], box[4] - x1), max(x2 - box[2], box[5] - x2)
            bend = np.sqrt((h12 * h12 + h13 * h13 + h23 * h23) * (4.0 / 3.0))
            bend += abs(c123) * np.sqrt(s0 * s0 + s1 * s1 + s2 * s2) * 0.3849001794597505
            curvature = 1.0 - abs(phi) * bend
            bound = value + _least(2.0 * (x0 + phi * g0), curvature, box[0] - x0, box[3] - x0)
            bound += _least(2.0 * (x1 + phi * g1), curvature, box[1] - x1, box[4] - x1)
            bound += _least(2.0 * (x2 + phi * g2), curvature, box[2] - x2, box[5] - x2)
            if bound >= worst - TOLERANCE * np.sqrt(worst) or best <= enough:
                proven = True
                break
            if turn == 0:
                # Where the dose is steep: the dose of a box lies between those of its corners.
                floor, ceiling = np.inf, -np.inf
                for n in range(8):
                    t0 = box[3 * (n & 1)] - low[0]
                    t1 = box[1 + 3 * ((n >> 1) & 1)] - low[1]
                    t2 = box[2 + 3 * (n >> 2)] - low[2]
                    other = c0 + c1 * t0 + (c2 + c12 * t0) * t1 + (c3 + c13 * t0 + (c23 + c123 * t0) * t1) * t2
                    floor, ceiling = min(floor, other), max(ceiling, other)
                least = max(floor, -ceiling, 0.0)
                if x0 * x0 + x1 * x1 + x2 * x2 + least * least >= worst - TOLERANCE * np.sqrt(worst):
                    proven = True
                    break
            elif value >= here * (1.0 - 1e-9):
                break
            here = value
            # One step of Gauss-Newton; half of it, and so on, if that leads up.
            a = phi - g0 * x0 - g1 * x1 - g2 * x2
            y0, y1, y2 = _linear_minimum(a, g0, g1, g2, box)
            for _ in range(6):
                t0, t1, t2 = y0 - low[0], y1 - low[1], y2 - low[2]
                phi = c0 + c1 * t0 + (c2 + c12 * t0) * t1 + (c3 + c13 * t0 + (c23 + c123 * t0) * t1) * t2
                if y0 * y0 + y1 * y1 + y2 * y2 + phi * phi < value:
                    break
                y0, y1, y2 = 0.5 * (x0 + y0), 0.5 * (x1 + y1), 0.5 * (x2 + y2)
            x0, x1, x2 = y0, y1, y2
        if best <= enough:
            break
        if not proven and waiting + 2 <= stack.shape[0]:
            widths = (box[3] - box[0], box[4] - box[1], box[5] - box[2])
            side = 0
            if widths[1] > widths[0]:
                side = 1
            if widths[2] > widths[side]:
                side = 2
            for half in range(2):
                for d in range(6):
                    stack[waiting + half, d] = box[d]
                stack[waiting + half, side + 3 * (1 - half)] = 0.5 * (box[side] + box[side + 3])
            waiting += 2
    return best


@njit(nogil=True, cache=True, error_model="numpy")
def search_rows(
    rows: tuple[int, int], reference: NDArray[Any], evaluation: NDArray[Any], best: Floats, corner: Ints,
    rx: Floats, ry: Floats, rz: Floats, ax: Floats, ay: Floats, az: Floats,
    normalisation: float, percent: float, distance: float, cap: float, enough: float,
) -> None:  # fmt: skip
    """Find gamma² (`best`) of some rows; see `_gamma_lattice.search_rows` and, for the axes, `_gamma_generic`.

    A reference point outside the evaluation grid counts as found if the grid is within √cap of it.
    """
    stack = np.empty((_STACK, 6))
    enough = max(enough, TOLERANCE * TOLERANCE)
    n0, n1, n2 = evaluation.shape
    for row in range(rows[0], rows[1]):
        a, b = row // best.shape[1], row % best.shape[1]
        for c in range(best.shape[2]):
            now = best[a, b, c]
            if not now > enough:
                continue
            dose = np.float64(reference[a + corner[0], b + corner[1], c + corner[2]])
            tolerance = (normalisation if normalisation > 0 else dose) * percent
            x, y, z = rx[a + corner[0]], ry[b + corner[1]], rz[c + corner[2]]
            ci = max(0, min(np.searchsorted(ax, x, "right") - 1, n0 - 2))
            cj = max(0, min(np.searchsorted(ay, y, "right") - 1, n1 - 2))
            ck = max(0, min(np.searchsorted(az, z, "right") - 1, n2 - 2))
            # Rings of cells around the one that holds the point, or is nearest to it.
            ring = 0
            near = True
            while near and now > enough:
                near = False
                for i in range(max(ci - ring, 0), min(ci + ring, n0 - 2) + 1):
                    l0, h0 = (ax[i] - x) / distance, (ax[i + 1] - x) / distance
                    e0 = max(l0, -h0, 0.0) ** 2
                    if e0 >= min(now, cap) and not (now == np.inf and e0 <= cap):
                        continue
                    for j in range(max(cj - ring, 0), min(cj + ring, n1 - 2) + 1):
                        l1, h1 = (ay[j] - y) / distance, (ay[j + 1] - y) / distance
                        e1 = e0 + max(l1, -h1, 0.0) ** 2
                        if e1 >= min(now, cap) and not (now == np.inf and e1 <= cap):
                            continue
                        full = abs(i - ci) == ring or abs(j - cj) == ring
                        for k in range(ck - ring, ck + ring + 1, 1 if full or ring == 0 else 2 * ring):
                            if not 0 <= k <= n2 - 2:
                                continue
                            l2, h2 = (az[k] - z) / distance, (az[k + 1] - z) / distance
                            e2 = e1 + max(l2, -h2, 0.0) ** 2
                            if e2 >= min(now, cap) and not (now == np.inf and e2 <= cap):
                                continue
                            near = True
                            now = _search_cell(
                                evaluation, i, j, k, dose, tolerance, (l0, l1, l2), (h0, h1, h2), now, cap, enough,
                                stack,
                            )  # fmt: skip
                ring += 1
            best[a, b, c] = now
