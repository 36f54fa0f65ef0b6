"""Loops over sparse doses: two ascending lists of voxels, walked side by side."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True, inline="always")
def _add(total: float, lost: float, term: float) -> tuple[float, float]:
    """Neumaier's summation: what a sum loses in its last bits is kept beside it."""
    new = total + term
    return new, lost + ((total - new) + term if total >= term else (term - new) + total)


@njit(nogil=True, cache=True)
def differences(
    index: NDArray[np.int64],
    values: NDArray[np.float64],
    other_index: NDArray[np.int64],
    other_values: NDArray[np.float64],
) -> tuple[float, float]:
    """Sums of |a - b| and of (a - b)² over all voxels; a voxel that a list does not have is 0 there."""
    if np.array_equal(index, other_index):
        return _differences_side_by_side(values, other_values)
    absolute, squared, lost_absolute, lost_squared = 0.0, 0.0, 0.0, 0.0
    i, j, n, m = 0, 0, len(index), len(other_index)
    while i < n or j < m:
        if j == m or (i < n and index[i] < other_index[j]):
            difference = values[i]
            i += 1
        elif i == n or other_index[j] < index[i]:
            difference = other_values[j]
            j += 1
        else:
            difference = values[i] - other_values[j]
            i += 1
            j += 1
        absolute, lost_absolute = _add(absolute, lost_absolute, abs(difference))
        squared, lost_squared = _add(squared, lost_squared, difference * difference)
    return absolute + lost_absolute, squared + lost_squared


@njit(nogil=True, cache=True)
def _differences_side_by_side(values: NDArray[np.float64], others: NDArray[np.float64]) -> tuple[float, float]:
    """The same sums over two lists of the same voxels.

    An addition waits for the one before it. Two sums, over the even and over the odd places, do not wait for each
    other; with what they lose kept, the result is that of one.
    """
    a, lost_a, b, lost_b = 0.0, 0.0, 0.0, 0.0  # of absolute differences
    c, lost_c, d, lost_d = 0.0, 0.0, 0.0, 0.0  # of squared ones
    for k in range(0, len(values) - 1, 2):
        even, odd = values[k] - others[k], values[k + 1] - others[k + 1]
        a, lost_a = _add(a, lost_a, abs(even))
        b, lost_b = _add(b, lost_b, abs(odd))
        c, lost_c = _add(c, lost_c, even * even)
        d, lost_d = _add(d, lost_d, odd * odd)
    if len(values) % 2:
        last = values[-1] - others[-1]
        a, lost_a = _add(a, lost_a, abs(last))
        c, lost_c = _add(c, lost_c, last * last)
    a, lost_a = _add(a, lost_a + lost_b, b)
    c, lost_c = _add(c, lost_c + lost_d, d)
    return a + lost_a, c + lost_c


@njit(nogil=True, cache=True)
def values_at(
    index: NDArray[np.int64], values: NDArray[np.float64], wanted: NDArray[np.int64], found: NDArray[np.float64]
) -> None:
    """Fill `found` with the values at the `wanted` voxels, 0 where there is none; both lists ascend."""
    at, size = 0, len(index)
    for k in range(len(wanted)):
        voxel = wanted[k]
        if at < size and index[at] == voxel:  # the voxels of a structure follow each other
            found[k] = values[at]
            at += 1
            continue
        step = 1
        while at + step < size and index[at + step] < voxel:
            at += step
            step *= 2
        while step:
            if at + step <= size and index[at + step - 1] < voxel:
                at += step
            step //= 2
        found[k] = 0.0
        if at < size and index[at] == voxel:
            found[k] = values[at]
            at += 1


@njit(nogil=True, cache=True)
def outside(index: NDArray[np.int64], values: NDArray[np.float64], inside: NDArray[np.int64]) -> float:
    """Sum of |value| over the voxels that are not in `inside`; both lists ascend."""
    total, lost, j = 0.0, 0.0, 0
    for i in range(len(index)):
        while j < len(inside) and inside[j] < index[i]:
            j += 1
        if j == len(inside) or inside[j] != index[i]:
            term = abs(values[i])
            new = total + term
            lost += (total - new) + term if total >= term else (term - new) + total
            total = new
    return total + lost
