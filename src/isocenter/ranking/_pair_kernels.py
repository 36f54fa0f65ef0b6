"""The loops over pairs of submissions, compiled. Import this module only where it is used: numba takes its time."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_LANES = 512


@njit(nogil=True, cache=True)
def tally_halves(ranks: Floats, out: NDArray[np.int64]) -> int:
    """Count how often each row has each rank, by twice the rank; the position of the first that is none, or −1.

    A rank is a whole or half number from 1 to the number of rows.
    """
    rows, draws = ranks.shape
    for k in range(rows):
        for b in range(draws):
            twice = 2.0 * ranks[k, b]
            if not (2.0 <= twice <= 2.0 * rows and twice == np.floor(twice)):
                return int(k * draws + b)
            out[k, int(twice)] += 1
    return -1


@njit(nogil=True, cache=True)
def share_better(ranks: Floats, out: Floats) -> None:
    """In which share of the columns a row has a lower rank than another; equal ranks count half."""
    rows, draws = ranks.shape
    for i in range(rows):
        out[i, i] = 0.5
        for j in range(i):
            less, more = 0, 0
            for b in range(draws):
                less += ranks[i, b] < ranks[j, b]
                more += ranks[i, b] > ranks[j, b]
            out[i, j] = (draws + less - more) / (2.0 * draws)
            out[j, i] = (draws + more - less) / (2.0 * draws)


@njit(nogil=True, cache=True)
def concordance(full: Floats, ranks: Floats, agree: NDArray[np.int64], tied: NDArray[np.int64]) -> None:
    """Of each column, the pairs in the order of `full` less those in the other one, and the pairs that are tied."""
    rows, draws = ranks.shape
    for start in range(0, draws, _LANES):
        lanes = min(_LANES, draws - start)
        for i in range(rows):
            for j in range(i):
                one, other = ranks[i, start:], ranks[j, start:]
                sign = int(full[i] > full[j]) - int(full[i] < full[j])
                for b in range(lanes):
                    agree[start + b] += sign * (int(one[b] > other[b]) - int(one[b] < other[b]))
                    tied[start + b] += one[b] == other[b]


@njit(nogil=True, cache=True)
def largest_lead(z: Floats, precision: Floats, active: Flags, out: Floats) -> None:
    """Of each column, the largest (zᵢ − zⱼ) · precisionᵢⱼ of all pairs (i, j) that are active."""
    rows, draws = z.shape
    out[:] = -np.inf
    for start in range(0, draws, _LANES):
        lanes = min(_LANES, draws - start)
        most = out[start:]
        for i in range(rows):
            for j in range(rows):
                if not active[i, j]:
                    continue
                one, other, p = z[i, start:], z[j, start:], precision[i, j]
                for b in range(lanes):
                    lead = (one[b] - other[b]) * p
                    most[b] = lead if lead > most[b] else most[b]
