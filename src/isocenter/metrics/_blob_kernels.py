"""The loops that find blobs, compiled. Import them only where they are used: numba takes its time."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

BLOCK = 16  # words: enough to be read at once, few enough to be looked through one by one


@njit(nogil=True, cache=True)
def filled_blocks(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The numbers of the blocks of `BLOCK` words in which any bit is set, ascending; the cost is that of reading."""
    found = np.empty(words.size // BLOCK, np.int64)
    count = 0
    for block in range(found.size):
        bits = np.uint64(0)
        for word in range(BLOCK * block, BLOCK * (block + 1)):
            bits |= words[word]
        if bits:
            found[count] = block
            count += 1
    return found[:count]


@njit(nogil=True, cache=True)
def flood(
    field: NDArray[np.int32], places: NDArray[np.int64], steps: NDArray[np.int64]
) -> tuple[NDArray[np.int32], int]:
    """Number the connected parts of a few voxels from 1, in the order of their first voxel; also how many there are.

    Parameters
    ----------
    field
        A flat box of zeros with a margin of one voxel on all sides, so that no step leaves it. It is written on.
    places
        Where in the box the voxels lie, ascending.
    steps
        From a voxel to its neighbours.
    """
    waiting = np.empty(places.size, np.int64)
    for n in range(places.size):
        field[places[n]] = -1
    count = 0
    for n in range(places.size):
        if field[places[n]] >= 0:
            continue
        count += 1
        field[places[n]] = count
        waiting[0] = places[n]
        left = 1
        while left:
            left -= 1
            here = waiting[left]
            for s in range(steps.size):
                there = here + steps[s]
                if field[there] < 0:
                    field[there] = count
                    waiting[left] = there
                    left += 1
    parts = np.empty(places.size, np.int32)
    for n in range(places.size):
        parts[n] = field[places[n]]
    return parts, count
