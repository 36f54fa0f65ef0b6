"""The loop of the concordance index, compiled. Import this module only where it is used: numba takes its time."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Resamples side by side: a step is the same for all of them, and the compiler does several at once.
_LANES = 64


@njit(nogil=True, cache=True)
def concordance(
    weights: NDArray[np.float64],
    moment: NDArray[np.int64],
    event: NDArray[np.bool_],
    risk: NDArray[np.int64],
    risks: int,
    out: NDArray[np.float64],
) -> None:
    """Concordance index of every column of `weights` (cases × resamples); NaN without a comparable pair.

    Cases come from the latest moment to the earliest. A Fenwick tree holds the weights of those with a later moment by
    their risk, so that a case with an event finds the weight of all that it is comparable with, and of those of lower
    and of equal risk, in log(risks) steps: n log n in place of n².
    """
    cases, replicates = weights.shape
    for start in range(0, replicates, _LANES):
        lanes = min(_LANES, replicates - start)
        tree, each = np.zeros((risks + 1, _LANES)), np.zeros((risks, _LANES))
        behind, pairs, right = np.zeros(_LANES), np.zeros(_LANES), np.zeros(_LANES)
        lower = np.zeros(_LANES)
        first = 0
        while first < cases:
            last = first
            while last < cases and moment[last] == moment[first]:
                last += 1
            for i in range(first, last):
                if not event[i]:
                    continue
                lower[:] = 0.0
                at = risk[i]
                while at > 0:
                    for j in range(lanes):
                        lower[j] += tree[at, j]
                    at -= at & -at
                for j in range(lanes):
                    w = weights[i, start + j]
                    pairs[j] += w * behind[j]
                    right[j] += w * (lower[j] + 0.5 * each[risk[i], j])
            for i in range(first, last):
                for j in range(lanes):
                    w = weights[i, start + j]
                    behind[j] += w
                    each[risk[i], j] += w
                at = risk[i] + 1
                while at <= risks:
                    for j in range(lanes):
                        tree[at, j] += weights[i, start + j]
                    at += at & -at
            first = last
        for j in range(lanes):
            out[start + j] = right[j] / pairs[j] if pairs[j] > 0 else np.nan
