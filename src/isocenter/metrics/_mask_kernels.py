"""The loops that find and count foreground, compiled. Import them only where they are used: numba takes its time."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Words that are looked at together: 512 voxels, a few vector instructions.
_BLOCK = 64


@njit(nogil=True, cache=True)
def _blocks_with_foreground(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Numbers of the blocks in which either mask is not 0; a last one that is not whole is always among them.

    Nearly all blocks are 0, so the cost is that of reading the memory once. A loop of its own, with a fixed number of
    turns inside, because the compiler makes vector instructions only of that.
    """
    whole = first.size // _BLOCK
    numbers = np.empty(whole + 1, np.int64)
    count = 0
    for block in range(whole):
        word = np.uint64(0)
        for w in range(_BLOCK):
            word |= first[block * _BLOCK + w] | second[block * _BLOCK + w]
        if word != 0:
            numbers[count] = block
            count += 1
    if first.size % _BLOCK:
        numbers[count] = whole
        count += 1
    return numbers[:count]


@njit(nogil=True, cache=True)
def foreground_box(
    first: NDArray[np.uint64], second: NDArray[np.uint64], shape: tuple[int, int, int]
) -> tuple[int, int, int, int, int, int]:
    """First and last index, along three axes, of what is foreground in either of two masks in C order.

    The masks are seen as words of eight voxels. The last three numbers are -1 if both masks are empty.
    """
    rows, columns = shape[1], shape[2]
    low0, low1, low2 = shape[0], shape[1], shape[2]
    high0, high1, high2 = -1, -1, -1
    begin, end = 0, 0  # of the row that was looked at last
    for block in _blocks_with_foreground(first, second):
        for w in range(block * _BLOCK, min(block * _BLOCK + _BLOCK, first.size)):
            word = first[w] | second[w]
            if word == 0:
                continue
            if 8 * w >= begin + low2 and 8 * w + 7 <= min(begin + high2, end - 1):
                continue  # inside the box already, as nearly all of a solid mask is
            for byte in range(8):
                if (word >> np.uint64(8 * byte)) & np.uint64(255):
                    flat = 8 * w + byte
                    if not begin <= flat < end:
                        row = flat // columns
                        begin, end = row * columns, row * columns + columns
                        i = row // rows
                        j = row - i * rows
                        low0, high0 = min(low0, i), max(high0, i)
                        low1, high1 = min(low1, j), max(high1, j)
                    low2, high2 = min(low2, flat - begin), max(high2, flat - begin)
    return low0, low1, low2, high0, high1, high2


@njit(nogil=True, cache=True)
def _ones(word: np.uint64) -> np.uint64:
    """Each byte of the word as 0 or 1; numpy takes any byte but 0 for true."""
    low = np.uint64(0x7F7F7F7F7F7F7F7F)
    return ((((word & low) + low) | word) >> np.uint64(7)) & np.uint64(0x0101010101010101)


@njit(nogil=True, cache=True)
def count_foreground(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> tuple[int, int, int]:
    """How many voxels are foreground in both masks, in the first, and in the second."""
    both, in_first, in_second = 0, 0, 0
    for block in _blocks_with_foreground(first, second):
        # Of bytes that are 0 or 1, eight counts run side by side in one word; 64 words do not overflow them.
        a, b, c = np.uint64(0), np.uint64(0), np.uint64(0)
        for w in range(block * _BLOCK, min(block * _BLOCK + _BLOCK, first.size)):
            one, other = _ones(first[w]), _ones(second[w])
            a += one & other
            b += one
            c += other
        for byte in range(8):
            shift = np.uint64(8 * byte)
            both += int((a >> shift) & np.uint64(255))
            in_first += int((b >> shift) & np.uint64(255))
            in_second += int((c >> shift) & np.uint64(255))
    return both, in_first, in_second
