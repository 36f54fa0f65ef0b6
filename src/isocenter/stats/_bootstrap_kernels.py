"""The loops of the bootstrap, compiled. Import this module only where it is used: numba takes its time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

# What a step does with the weight of a case in a resample.
POSITIVE, NEGATIVE, FALSE, LESION, GROUP_END, MISSED = range(6)

# Resamples side by side: a step is the same for all of them, and the compiler does several at once.
_LANES = 64
_TILE = 16
_TINY = 1e-300


@njit(nogil=True, cache=True)
def replicate(
    by_case: NDArray[np.integer[Any]],
    kinds: NDArray[np.int64],
    cases: NDArray[np.int64],
    weights: NDArray[np.float64],
    with_cases: bool,
    with_lesions: bool,
    out: NDArray[np.float64],
) -> int:
    """AUROC and AP of each resample; fills `out` from the top with those defined, returns how many they are.

    `by_case` says how often each case is in each resample. The steps go through the cases and then through the rows of
    lesions, each from the highest score down. Each takes how often its case is there, times a weight, and adds it to
    what its kind says. Without lesions the AP is 0, without cases the AUROC.
    """
    counts = np.zeros((by_case.shape[0], _LANES))
    done = 0
    for start in range(0, by_case.shape[1], _LANES):
        lanes = min(_LANES, by_case.shape[1] - start)
        # A few cases at a time: whichever axis is contiguous, lines of the cache are used up before they are gone.
        for first in range(0, by_case.shape[0], _TILE):
            last = min(first + _TILE, by_case.shape[0])
            for j in range(lanes):
                for i in range(first, last):
                    counts[i, j] = by_case[i, start + j]
        done = _score(counts, lanes, kinds, cases, weights, with_cases, with_lesions, out, done)
    return done


@njit(nogil=True, cache=True)
def _score(
    counts: NDArray[np.float64],
    lanes: int,
    kinds: NDArray[np.int64],
    cases: NDArray[np.int64],
    weights: NDArray[np.float64],
    with_cases: bool,
    with_lesions: bool,
    out: NDArray[np.float64],
    done: int,
) -> int:
    """Go through the steps for a few resamples at once; `out` has been filled up to `done`."""
    above, below, area = np.zeros(_LANES), np.zeros(_LANES), np.zeros(_LANES)
    hits, found, wrong = np.zeros(_LANES), np.zeros(_LANES), np.zeros(_LANES)
    missed, precision = np.zeros(_LANES), np.zeros(_LANES)
    for step in range(kinds.size):
        kind, weight, times = kinds[step], weights[step], counts[cases[step]]
        if kind == POSITIVE:
            for j in range(_LANES):
                above[j] += weight * times[j]
        elif kind == NEGATIVE:
            for j in range(_LANES):
                below[j] += weight * times[j]
                area[j] += weight * times[j] * above[j]
        elif kind == FALSE:
            for j in range(_LANES):
                wrong[j] += weight * times[j]
        elif kind == LESION:
            for j in range(_LANES):
                hits[j] += weight * times[j]
        elif kind == GROUP_END:
            for j in range(_LANES):
                found[j] += hits[j]
                precision[j] += hits[j] * found[j] / (found[j] + wrong[j] + _TINY)
                hits[j] = 0.0
        else:
            for j in range(_LANES):
                missed[j] += weight * times[j]
    for j in range(lanes):
        lesions = found[j] + missed[j]
        if (with_cases and (above[j] == 0.0 or below[j] == 0.0)) or (with_lesions and lesions == 0.0):
            continue
        out[done, 0] = area[j] / (above[j] * below[j]) if with_cases else 0.0
        out[done, 1] = precision[j] / lesions if with_lesions else 0.0
        done += 1
    return done
