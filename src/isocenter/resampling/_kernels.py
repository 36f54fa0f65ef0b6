"""The loops over resamples, compiled. Import this module only where it is used: numba takes its time.

Resamples lie side by side: a step is the same for all of them, and the compiler does several at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Counts = NDArray[np.unsignedinteger[Any]]
Floats = NDArray[np.float64]

# Resamples whose running totals stay in the cache.
_LANES = 512


@njit(nogil=True, cache=True)
def count_cases(picks: NDArray[np.int32], counts: NDArray[np.int32]) -> None:
    """Add to each row of `counts` how often each case is in that row of `picks`."""
    for draw in range(picks.shape[0]):
        for i in range(picks.shape[1]):
            counts[draw, picks[draw, i]] += 1


@njit(nogil=True, cache=True, fastmath={"contract"})
def sums(by_case: Counts, coarse: Floats, fine: Floats, out: Floats) -> None:
    """Σₙ count · (coarse + fine) of every row and resample; both parts are made so that their sums are exact."""
    cases, draws = by_case.shape
    high, low = np.empty(_LANES), np.empty(_LANES)
    for start in range(0, draws, _LANES):
        lanes = min(_LANES, draws - start)
        for k in range(coarse.shape[0]):
            high[:] = 0.0
            low[:] = 0.0
            n = 0
            # Four cases in one go: totals are read and written less often, and exact sums have no order.
            while n + 4 <= cases:
                a, b, c, d = coarse[k, n], coarse[k, n + 1], coarse[k, n + 2], coarse[k, n + 3]
                e, f, g, h = fine[k, n], fine[k, n + 1], fine[k, n + 2], fine[k, n + 3]
                first, second = by_case[n, start:], by_case[n + 1, start:]
                third, fourth = by_case[n + 2, start:], by_case[n + 3, start:]
                for j in range(lanes):
                    p, q, r, s = float(first[j]), float(second[j]), float(third[j]), float(fourth[j])
                    high[j] += (a * p + b * q) + (c * r + d * s)
                    low[j] += (e * p + f * q) + (g * r + h * s)
                n += 4
            while n < cases:
                a, e, first = coarse[k, n], fine[k, n], by_case[n, start:]
                for j in range(lanes):
                    high[j] += a * float(first[j])
                    low[j] += e * float(first[j])
                n += 1
            for j in range(lanes):
                out[k, start + j] = high[j] + low[j]


@njit(nogil=True, cache=True)
def quantiles(
    by_case: Counts, order: NDArray[np.int64], values: Floats, sizes: NDArray[np.int64], q: float, out: Floats
) -> None:
    """The q-quantile of every row and resample; `order` sorts the cases of a row, `values` are sorted."""
    cases, draws = by_case.shape
    total = np.empty(_LANES, np.int32)
    left, right = np.empty(_LANES, np.int32), np.empty(_LANES, np.int32)
    below, above = np.empty(_LANES, np.int32), np.empty(_LANES, np.int32)
    for start in range(0, draws, _LANES):
        lanes = min(_LANES, draws - start)
        for j in range(lanes):
            left[j] = int((sizes[start + j] - 1) * q)
            right[j] = min(left[j] + 1, sizes[start + j] - 1)
        for k in range(order.shape[0]):
            total[:] = 0
            below[:] = 0
            above[:] = 0
            for n in range(cases):
                row = by_case[order[k, n], start:]
                # A case whose copies end before the wanted one is passed by.
                for j in range(lanes):
                    total[j] += row[j]
                    below[j] += total[j] <= left[j]
                    above[j] += total[j] <= right[j]
            for j in range(lanes):
                a, b = values[k, below[j]], values[k, above[j]]
                t = (sizes[start + j] - 1) * q - left[j]
                out[k, start + j] = a + (b - a) * t if t < 0.5 else b - (b - a) * (1.0 - t)


@njit(nogil=True, cache=True)
def trimmed_sums(
    by_case: Counts,
    order: NDArray[np.int64],
    coarse: Floats,
    fine: Floats,
    cuts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    out: Floats,
) -> None:
    """As `sums`, of sorted cases, without the `cuts` lowest and highest copies of each resample."""
    cases, draws = by_case.shape
    total, high, low = np.empty(_LANES, np.int64), np.empty(_LANES), np.empty(_LANES)
    for start in range(0, draws, _LANES):
        lanes = min(_LANES, draws - start)
        for k in range(order.shape[0]):
            total[:] = 0
            high[:] = 0.0
            low[:] = 0.0
            for n in range(cases):
                a, e, row = coarse[k, n], fine[k, n], by_case[order[k, n], start:]
                for j in range(lanes):
                    cut = cuts[start + j]
                    before, total[j] = max(total[j], cut), total[j] + row[j]
                    kept = float(max(min(total[j], sizes[start + j] - cut) - before, 0))
                    high[j] += a * kept
                    low[j] += e * kept
            for j in range(lanes):
                out[k, start + j] = high[j] + low[j]
