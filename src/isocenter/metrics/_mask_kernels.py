"""The loop that finds where masks have foreground, compiled. Import it only where it is used: numba takes its time."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def foreground_box(
    first: NDArray[np.uint64], second: NDArray[np.uint64], shape: tuple[int, int, int]
) -> tuple[int, int, int, int, int, int]:
    """First and last index, along three axes, of what is foreground in either of two masks in C order.

    The masks are seen as words of eight voxels. Nearly all words are 0, so the cost is that of reading the memory once.
    The last three numbers are -1 if both masks are empty.
    """
    rows, columns = shape[1], shape[2]
    low0, low1, low2 = shape[0], shape[1], shape[2]
    high0, high1, high2 = -1, -1, -1
    for w in range(first.size):
        word = first[w] | second[w]
        if word == 0:
            continue
        for byte in range(8):
            if (word >> np.uint64(8 * byte)) & np.uint64(255):
                flat = 8 * w + byte
                i, rest = divmod(flat, columns * rows)
                j, k = divmod(rest, columns)
                low0, high0 = min(low0, i), max(high0, i)
                low1, high1 = min(low1, j), max(high1, j)
                low2, high2 = min(low2, k), max(high2, k)
    return low0, low1, low2, high0, high1, high2
