"""The loops of an algorithm at the readers' operating points, compiled. Import this module only where it is used."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from isocenter.stats._matched_kernels import BEST, PRECISION, WORST, match_rows, measures

_ROUNDING = 1e-12


@njit(nogil=True, cache=True)
def interpolate(x: NDArray[np.float64], y: NDArray[np.float64], points: int, target: float) -> float:
    """The curve at a target: half-way where it falls at the target, on a straight line between points elsewhere.

    x rises from 0 to 1 and y falls from 1 to 0. Where x is 1, nothing bounds the fall of y: it is taken to be as long
    as the one before.
    """
    low, high = 0, points - 1
    while low < high:
        middle = (low + high) // 2
        if x[middle] >= target - _ROUNDING:
            high = middle
        else:
            low = middle + 1
    first = low
    if x[first] > target + _ROUNDING:
        share = (target - x[first - 1]) / (x[first] - x[first - 1])
        return float(y[first - 1] + share * (y[first] - y[first - 1]))
    if target >= 1.0 - _ROUNDING:
        before = first - 1
        while before > 0 and x[before - 1] >= x[first - 1] - _ROUNDING:
            before -= 1
        return float(y[first]) if first == 0 else max(0.0, float(y[first] - 0.5 * (y[before] - y[first])))
    last = first
    while last + 1 < points and x[last + 1] <= target + _ROUNDING:
        last += 1
    return float(0.5 * (y[first] + y[last]))


@njit(nogil=True, cache=True)
def draw_curve(
    w: NDArray[np.float64],
    truth: NDArray[np.bool_],
    order: NDArray[np.int64],
    last: NDArray[np.bool_],
    positive: float,
    negative: float,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
) -> int:
    """Sensitivity and specificity at all thresholds from the highest down; returns how many points there are."""
    x[0], y[0] = 0.0, 1.0
    points = 1
    right = wrong = 0.0
    fresh = False
    for at in range(order.size):
        i = order[at]
        if w[i] > 0.0:
            fresh = True
            if truth[i]:
                right += w[i]
            else:
                wrong += w[i]
        if fresh and last[at]:
            fresh = False
            x[points], y[points] = right / positive, 1.0 - wrong / negative
            points += 1
    return points


@njit(nogil=True, cache=True)
def patient_gaps(
    counts: NDArray[np.int32],
    weight: NDArray[np.float64],
    truth: NDArray[np.bool_],
    order: NDArray[np.int64],
    last: NDArray[np.bool_],
    calls: NDArray[np.float64],
    alike: NDArray[np.int64],
    out: NDArray[np.float64],
) -> int:
    """What instances reach minus what readers do, at the sensitivities of the readers.

    Fills `out`, resamples × (readers · instances), from the top with resamples in which all readers have cases of both
    classes, and returns their number. `order` has the cases of each instance from the highest score down, and `last`
    says where one is the last with its score. Readers who read the same cases have the same number in `alike`, and come
    one after another: a curve is drawn once for all of them.
    """
    readers, cases = calls.shape
    instances = len(order)
    w, x, y = np.empty(cases), np.empty(cases + 1), np.empty(cases + 1)
    target, own = np.empty(readers), np.empty(readers)
    done = 0
    for b in range(len(counts)):
        j = 0
        defined = True
        while j < readers and defined:
            end = j
            while end < readers and alike[end] == alike[j]:
                end += 1
            positive = negative = 0.0
            for i in range(cases):
                w[i] = 0.0 if math.isnan(calls[j, i]) else counts[b, i] * weight[i]
                if truth[i]:
                    positive += w[i]
                else:
                    negative += w[i]
            defined = positive > 0.0 and negative > 0.0
            if not defined:
                break
            for reader in range(j, end):
                hit = spared = 0.0
                for i in range(cases):
                    if w[i] > 0.0:
                        if truth[i]:
                            hit += w[i] * calls[reader, i]
                        else:
                            spared += w[i] * (1.0 - calls[reader, i])
                target[reader], own[reader] = hit / positive, spared / negative
            for k in range(instances):
                points = draw_curve(w, truth, order[k], last[k], positive, negative, x, y)
                for reader in range(j, end):
                    reached = interpolate(x, y, points, target[reader])
                    out[done, reader * instances + k] = reached - own[reader]
            j = end
        if defined:
            done += 1
    return done


@njit(nogil=True, cache=True)
def lesion_gaps(
    counts: NDArray[np.int32],
    weight: NDArray[np.float64],
    read: NDArray[np.bool_],
    marks: NDArray[np.float64],
    case: NDArray[np.int64],
    kind: NDArray[np.int64],
    starts: NDArray[np.int64],
    mode: int,
    tie: int,
    out: NDArray[np.float64],
) -> int:
    """The same for lesions, at the nearest threshold: see `match_rows` for the rows of the instances.

    `marks` is reader × case × 3: lesions, those that the reader marks, and false marks. Resamples in which a reader has
    no lesion to find or no mark, or an instance no candidate, are undefined.
    """
    readers, cases = read.shape
    instances = starts.size - 1
    w = np.empty(cases)
    done = 0
    for b in range(len(counts)):
        defined = True
        for j in range(readers):
            lesions = right = wrong = 0.0
            for i in range(cases):
                w[i] = counts[b, i] * weight[i] if read[j, i] else 0.0
                if w[i] > 0.0:
                    lesions += w[i] * marks[j, i, 0]
                    right += w[i] * marks[j, i, 1]
                    wrong += w[i] * marks[j, i, 2]
            if lesions <= 0.0 or right + wrong <= 0.0:
                defined = False
                break
            target, own = measures(mode, right, wrong, lesions, 1.0)
            for k in range(instances):
                high, low, _, _, _ = match_rows(w, case, kind, starts[k], starts[k + 1], mode, target, lesions, 1.0)
                value = low if tie == WORST else high if tie == BEST or mode == PRECISION else 0.5 * (high + low)
                if math.isnan(value):
                    defined = False
                out[done, j * instances + k] = value - own
            if not defined:
                break
        if defined:
            done += 1
    return done
