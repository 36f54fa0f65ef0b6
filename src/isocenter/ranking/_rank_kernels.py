"""The loops over ranks and pairs of submissions, compiled. Import it only where it is used: numba takes its time.

Resamples lie side by side: a step is the same for all of them, and the compiler does several at once.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

MIN, AVERAGE, DENSE = range(3)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Resamples whose running totals stay in the cache, and resamples whose scores are sorted together.
_LANES = 512
_SORTED = 128


@njit(nogil=True, cache=True)
def rank_columns(
    scores: Floats, network: NDArray[np.int64], sign: float, tolerance: float, ties: int, out: Floats
) -> None:
    """Ranks within each column; `network` are the exchanges, pairs of positions, that sort as many as there are rows.

    A network makes the same comparisons whatever the scores are, so many draws are sorted at once.
    """
    rows, draws = scores.shape
    cost, who = np.zeros((rows, _SORTED)), np.zeros((rows, _SORTED), np.int64)
    rank = np.zeros((rows, _SORTED))
    first, place = np.zeros(_SORTED), np.zeros(_SORTED)
    for start in range(0, draws, _SORTED):
        lanes = min(_SORTED, draws - start)
        for i in range(rows):
            for j in range(lanes):
                cost[i, j] = sign * scores[i, start + j]
            who[i, :] = i
        for step in range(network.shape[0]):
            above, below = cost[network[step, 0]], cost[network[step, 1]]
            one, other = who[network[step, 0]], who[network[step, 1]]
            for j in range(_SORTED):
                a, b, p, q = above[j], below[j], one[j], other[j]
                swap = a > b
                above[j], below[j] = (b if swap else a), (a if swap else b)
                one[j], other[j] = (q if swap else p), (p if swap else q)
        for j in range(_SORTED):
            first[j], place[j] = cost[0, j], 1.0
        for i in range(rows):
            here = cost[i]
            for j in range(_SORTED):
                new = here[j] - first[j] > tolerance * max(abs(here[j]), abs(first[j]))
                first[j] = here[j] if new else first[j]
                following = place[j] + 1.0 if ties == DENSE else i + 1.0
                place[j] = following if new else place[j]
                rank[i, j] = place[j]
        if ties == AVERAGE:
            _average(rank)
        for i in range(rows):
            for j in range(lanes):
                out[who[i, j], start + j] = rank[i, j]


@njit(nogil=True, cache=True)
def _average(rank: Floats) -> None:
    """From the first rank of each group, sorted, to the mean of its first and last."""
    last = np.full(rank.shape[1], float(rank.shape[0]))
    for i in range(rank.shape[0] - 1, -1, -1):
        for j in range(rank.shape[1]):
            begins = rank[i, j] == i + 1.0
            rank[i, j] = (rank[i, j] + last[j]) / 2
            last[j] = float(i) if begins else last[j]


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
