"""Loops over sparse doses: two ascending lists of voxels, walked side by side."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def differences(
    index: NDArray[np.int64],
    values: NDArray[np.float64],
    other_index: NDArray[np.int64],
    other_values: NDArray[np.float64],
) -> tuple[float, float]:
    """Sums of |a - b| and of (a - b)² over all voxels; a voxel that a list does not have is 0 there."""
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
        # Neumaier's summation: what a sum loses in its last bits is kept beside it.
        term = abs(difference)
        total = absolute + term
        lost_absolute += (absolute - total) + term if absolute >= term else (term - total) + absolute
        absolute = total
        term *= term
        total = squared + term
        lost_squared += (squared - total) + term if squared >= term else (term - total) + squared
        squared = total
    return absolute + lost_absolute, squared + lost_squared


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
