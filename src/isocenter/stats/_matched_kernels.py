"""The loops of the matched bootstrap, compiled. Import this module only where it is used: numba takes its time."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

# What is matched, for patients and then for lesions; and what is taken of thresholds that are equally near.
SENSITIVITY, SPECIFICITY, RECALL, PRECISION = range(4)
MEAN, BEST, WORST = range(3)
# What a row is: of a positive case or a lesion; the last one with its score.
TRUE, LAST = 1, 2

_ROUNDING = 1e-12


@njit(nogil=True, cache=True)
def measures(mode: int, right: float, wrong: float, positive: float, negative: float) -> tuple[float, float]:
    """The matched measure and its conjugate, of the weights called positive rightly and wrongly."""
    found = right / positive
    if mode == SENSITIVITY:
        return found, 1.0 - wrong / negative
    if mode == SPECIFICITY:
        return 1.0 - wrong / negative, found
    called = right + wrong
    precise = right / called if called > 0.0 else math.nan
    if mode == RECALL:
        return found, precise
    return precise, found


@njit(nogil=True, cache=True)
def match_rows(
    weights: NDArray[np.float64],
    case: NDArray[np.int64],
    kind: NDArray[np.int64],
    start: int,
    end: int,
    mode: int,
    target: float,
    positive: float,
    negative: float,
) -> tuple[float, float, float, int, int]:
    """Best and worst conjugate of the nearest thresholds, their distance, and how far the rows go; NaN without any.

    Rows come from the highest score down. All measures but the precision go one way only, so that the search ends
    where they begin to leave the target.
    """
    best = high = low = math.nan
    at_high = at_low = start
    if mode <= SPECIFICITY:
        matched, conjugate = measures(mode, 0.0, 0.0, positive, negative)
        best, high, low = abs(matched - target), conjugate, conjugate
    right = wrong = 0.0
    fresh = False
    for i in range(start, end):
        weight = weights[case[i]]
        if weight > 0.0:
            fresh = True
            if kind[i] & TRUE:
                right += weight
            else:
                wrong += weight
        if not (fresh and kind[i] & LAST):
            continue
        fresh = False
        matched, conjugate = measures(mode, right, wrong, positive, negative)
        distance = abs(matched - target)
        if math.isnan(best) or distance < best - _ROUNDING:
            best, high, low = distance, conjugate, conjugate
            at_high = at_low = i + 1
        elif distance <= best + _ROUNDING:
            if conjugate > high:
                high, at_high = conjugate, i + 1
            if conjugate < low:
                low, at_low = conjugate, i + 1
        elif mode != PRECISION:
            break
    return high, low, best, at_high, at_low


@njit(nogil=True, cache=True)
def fixed_rows(
    weights: NDArray[np.float64],
    case: NDArray[np.int64],
    kind: NDArray[np.int64],
    start: int,
    at_high: int,
    at_low: int,
    mode: int,
    positive: float,
    negative: float,
) -> tuple[float, float]:
    """The conjugate measure of the rows up to either of two places; a precision without any candidate is NaN."""
    right = wrong = 0.0
    high = low = math.nan
    for i in range(start, max(at_high, at_low) + 1):
        if i == at_high:
            high = measures(mode, right, wrong, positive, negative)[1]
        if i == at_low:
            low = measures(mode, right, wrong, positive, negative)[1]
        if i < max(at_high, at_low):
            if kind[i] & TRUE:
                right += weights[case[i]]
            else:
                wrong += weights[case[i]]
    return high, low


@njit(nogil=True, cache=True)
def replicate(
    counts: NDArray[np.int32],
    times: NDArray[np.int32],
    of_case: NDArray[np.float64],
    case: NDArray[np.int64],
    kind: NDArray[np.int64],
    starts: NDArray[np.int64],
    places: NDArray[np.int64],
    mode: int,
    tie: int,
    out: NDArray[np.float64],
) -> int:
    """Rank and mean difference of each resample; fills `out` from the top with those defined, returns their number.

    `counts` and `times` are how often each case and each instance is in each resample, resamples × cases or instances.
    `of_case` has, per case, its weight and then its positives, its negatives, and how many of each the reader called
    positive. `places` are where the thresholds of each instance are fixed; without any, each resample is matched anew.
    """
    cases, instances = of_case.shape[0], starts.size - 1
    weights = np.empty(cases)
    done = 0
    for b in range(counts.shape[0]):
        positive = negative = right = wrong = 0.0
        for i in range(cases):
            weights[i] = counts[b, i] * of_case[i, 0]
            if counts[b, i] > 0:
                positive += weights[i] * of_case[i, 1]
                negative += weights[i] * of_case[i, 2]
                right += weights[i] * of_case[i, 3]
                wrong += weights[i] * of_case[i, 4]
        by_patient = mode <= SPECIFICITY
        if positive == 0.0 or (negative == 0.0 if by_patient else right + wrong == 0.0):
            continue
        target, readers = measures(mode, right, wrong, positive, negative)
        rank = difference = 0.0
        for k in range(instances):
            if times[b, k] == 0:
                continue
            if places.size:
                high, low = fixed_rows(
                    weights, case, kind, starts[k], places[k, 0], places[k, 1], mode, positive, negative
                )
            else:
                high, low, _, _, _ = match_rows(
                    weights, case, kind, starts[k], starts[k + 1], mode, target, positive, negative
                )
            value = low if tie == WORST else high if tie == BEST or mode == PRECISION else 0.5 * (high + low)
            ahead = value - readers
            difference += times[b, k] * ahead
            if ahead > _ROUNDING:
                rank += times[b, k]
            elif ahead >= -_ROUNDING:
                rank += 0.5 * times[b, k]
        if math.isnan(difference):
            continue
        out[done, 0] = rank / instances
        out[done, 1] = difference / instances
        done += 1
    return done
