"""The loop of the U-statistics, compiled. Import this module only where it is used: numba takes its time."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def joint_wins(
    order: NDArray[np.int32],
    levels: NDArray[np.int32],
    positive: NDArray[np.bool_],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Sum over pairs of a normal i and a diseased j of vᵢ·vⱼ·Sₖ(i, j)·Sₗ(i, j), for all columns k and l.

    S is 1 where the diseased case has the higher score, ½ where both are equal; pairs that only one of the columns
    has count nothing. `levels` is columns × cases, the dense rank of a score within its column, −1 where not read;
    `order` has the read cases of a column by level, then −1; `weight` is v per case. A sweep along one column with a
    Fenwick tree over the levels of the other makes it N log N per pair of columns instead of N₀·N₁.
    """
    columns = levels.shape[0]
    found = np.zeros((columns, columns))
    for across in range(columns):
        size = levels[across].max() + 1
        for along in range(across, columns):
            both = _sweep(order[along], levels[along], levels[across], size, positive, weight)
            found[along, across] = found[across, along] = both
    return found


@njit(nogil=True, cache=True)
def _sweep(
    order: NDArray[np.int32],
    along: NDArray[np.int32],
    across: NDArray[np.int32],
    size: int,
    positive: NDArray[np.bool_],
    weight: NDArray[np.float64],
) -> float:
    """Go up the levels of one column: a diseased case wins over the normal ones before it, by half over its equals."""
    tree = np.zeros(size + 1)
    total = 0.0
    start = 0
    while start < order.size and order[start] >= 0:
        stop = start
        while stop < order.size and order[stop] >= 0 and along[order[stop]] == along[order[start]]:
            stop += 1
        total += _won(order, start, stop, across, tree, positive, weight)
        for n in range(start, stop):
            c = order[n]
            if not positive[c] and across[c] >= 0:
                at = across[c] + 1
                while at <= size:
                    tree[at] += weight[c]
                    at += at & -at
        total += _won(order, start, stop, across, tree, positive, weight)
        start = stop
    return total / 2


@njit(nogil=True, cache=True)
def _won(
    order: NDArray[np.int32],
    start: int,
    stop: int,
    across: NDArray[np.int32],
    tree: NDArray[np.float64],
    positive: NDArray[np.bool_],
    weight: NDArray[np.float64],
) -> float:
    """What the diseased cases of a level win, in the other column, over the normal ones in the tree."""
    won = 0.0
    for n in range(start, stop):
        c = order[n]
        if positive[c] and across[c] >= 0:
            twice = 0.0
            for tie in range(2):
                at = across[c] + tie
                while at > 0:
                    twice += tree[at]
                    at -= at & -at
            won += weight[c] * twice / 2
    return won
