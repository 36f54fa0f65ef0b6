"""The loops of the signed-rank test for many pairs and many draws, compiled. Import it only where it is used."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

# What a step says of its case: the row is better than the column in it; no further case has the same difference.
AHEAD, LAST, SHIFT = 1, 2, 2


@njit(nogil=True, cache=True)
def compare_pairs(
    counts: NDArray[np.float64],
    steps: NDArray[np.int32],
    zeros: NDArray[np.int32],
    out: NDArray[np.float64],
) -> None:
    """P values of all pairs in each column of `counts`, how often cases are there: `out[draw, row, column]`.

    A pair has its cases in the order of their differences, those without one first. Draws go side by side: a step is
    the same for all of them, and the compiler does several at once. All sums are of whole and half numbers.
    """
    draws, k = out.shape[0], out.shape[1]
    ranked, tied, ahead = np.empty(draws), np.empty(draws), np.empty(draws)
    statistic, cubes = np.empty(draws), np.empty(draws)
    pair = 0
    for i in range(k):
        for j in range(i + 1, k):
            for totals in (ranked, tied, ahead, statistic, cubes):
                totals[:] = 0.0
            for step in steps[pair, zeros[pair] :]:
                times = counts[step >> SHIFT]
                if step & AHEAD:
                    for b in range(draws):
                        ahead[b] += times[b]
                for b in range(draws):
                    tied[b] += times[b]
                if step & LAST:
                    for b in range(draws):
                        statistic[b] += ahead[b] * (ranked[b] + 0.5 * (tied[b] + 1.0))
                        cubes[b] += tied[b] * tied[b] * tied[b]
                        ranked[b] += tied[b]
                        tied[b] = 0.0
                        ahead[b] = 0.0
            for b in range(draws):
                n = ranked[b]
                if n > 0.0:
                    distance = statistic[b] - n * (n + 1.0) / 4.0
                    scale = math.sqrt(n * (n + 1.0) * (2.0 * n + 1.0) / 12.0 - (cubes[b] - n) / 24.0)
                    out[b, i, j] = 0.5 * math.erfc((distance - 0.5) / scale)
                    out[b, j, i] = 0.5 * math.erfc((-distance - 0.5) / scale)
            pair += 1
