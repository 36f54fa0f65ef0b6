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

# True scores of a field are normal, but that one team in ten may be from one that is so many times as wide.
_WIDER = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4)
_WEIGHTS = (0.9, *[0.1 / 8] * 8)
_LARGEST = 1e4


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


@njit(nogil=True, cache=True)
def draw_posterior(
    scores: Floats,
    covariance: Floats,
    errors: Floats,
    apart: Floats,
    picked: NDArray[np.int64],
    rng: np.random.Generator,
    sizes: tuple[int, int, int, int],
    out: Floats,
) -> None:
    """Draws of true scores, a row each, as `draw_true_scores` says; the typical standard error is the unit.

    `errors` are resamples × submissions, `apart` the standard deviations of what each error has beside them,
    `covariance` that of both together, `picked` the resamples to take; `sizes` are chains, steps that are forgotten,
    steps that are kept, and draws in each.
    """
    chains, burn, kept, each = sizes
    size = len(scores)
    root, other = np.zeros((size, size)), np.zeros((size, size))
    ones, values = np.zeros(size), np.zeros(size)
    local, truth, rest = np.ones(size), np.zeros(size), np.zeros(size)
    density = np.zeros(len(_WIDER))
    row, error = 0, 0
    for chain in range(chains):
        log_width = 6.0 * (chain + 0.5) / chains - 3.0
        local[:] = 1.0
        for step in range(burn + kept):
            now, middle, precision = _evidence(scores, covariance, log_width, local, root, ones, values)
            proposed = log_width + 1.2 * rng.standard_normal()
            then, middle_then, precision_then = _evidence(scores, covariance, proposed, local, other, ones, values)
            if np.log(rng.random()) < then - now:
                log_width, middle, precision = proposed, middle_then, precision_then
                root[:, :] = other
            width, centre = np.exp(log_width), middle
            for _ in range(each if step >= burn else 1):
                # A draw from the prior with an error, moved to where the observed scores are (Matheron's rule).
                centre = middle + rng.standard_normal() / np.sqrt(precision)
                for i in range(size):
                    truth[i] = centre + width / np.sqrt(local[i]) * rng.standard_normal()
                    noise = errors[picked[error], i] + apart[i] * rng.standard_normal()
                    rest[i] = scores[i] - truth[i] - noise
                error = (error + 1) % len(picked)
                _solve(root, rest)
                for i in range(size):
                    truth[i] += width * width / local[i] * rest[i]
                if step >= burn:
                    out[row] = truth
                    row += 1
            for i in range(size):
                far, total = ((truth[i] - centre) / width) ** 2, 0.0
                for t in range(len(_WIDER)):
                    # Of normal densities, by what the likeliest of them has more than the first.
                    density[t] = _WEIGHTS[t] / _WIDER[t] * np.exp(-0.5 * far / _WIDER[t] ** 2 + 0.5 * far / _LARGEST**2)
                    total += density[t]
                left, kind = rng.random() * total, 0
                while kind < len(_WIDER) - 1 and left > density[kind]:
                    left -= density[kind]
                    kind += 1
                local[i] = 1.0 / _WIDER[kind] ** 2


@njit(nogil=True, cache=True)
def _evidence(
    scores: Floats, covariance: Floats, log_width: float, local: Floats, root: Floats, ones: Floats, values: Floats
) -> tuple[float, float, float]:
    """Log density of the scores and the width, without the true scores; the middle of the field and its precision.

    Leaves the Cholesky factor of the covariance of the scores in `root`.
    """
    size = len(scores)
    width = np.exp(log_width)
    for i in range(size):
        for j in range(i + 1):
            root[i, j] = covariance[i, j]
        root[i, i] += width * width / local[i]
    half = 0.0
    for j in range(size):
        for i in range(j, size):
            entry = root[i, j]
            for m in range(j):
                entry -= root[i, m] * root[j, m]
            if i == j:
                root[j, j] = np.sqrt(max(entry, 1e-300))
                half += np.log(root[j, j])
            else:
                root[i, j] = entry / root[j, j]
    by_one, mixed, by_score = 0.0, 0.0, 0.0
    for i in range(size):
        ones[i], values[i] = 1.0, scores[i]
        for m in range(i):
            ones[i] -= root[i, m] * ones[m]
            values[i] -= root[i, m] * values[m]
        ones[i], values[i] = ones[i] / root[i, i], values[i] / root[i, i]
        by_one, mixed, by_score = by_one + ones[i] ** 2, mixed + ones[i] * values[i], by_score + values[i] ** 2
    density = -half - 0.5 * np.log(by_one) - 0.5 * (by_score - mixed**2 / by_one)
    # The prior 1/(1 + width)² of the width, as a density of its logarithm.
    return density + log_width - 2.0 * np.log1p(width), mixed / by_one, by_one


@njit(nogil=True, cache=True)
def _solve(root: Floats, x: Floats) -> None:
    """Replace x by the solution of root rootᵀ · solution = x."""
    size = len(x)
    for i in range(size):
        for m in range(i):
            x[i] -= root[i, m] * x[m]
        x[i] /= root[i, i]
    for i in range(size - 1, -1, -1):
        for m in range(i + 1, size):
            x[i] -= root[m, i] * x[m]
        x[i] /= root[i, i]
