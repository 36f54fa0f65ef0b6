"""Lesions as things to be found: connected components, matched between truth and prediction, counted.

For HECKTOR 2025's lymph nodes, where a node that is missed or made up matters more than a few voxels of a large one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics._masks import Mask, cropped

Connectivity = Literal[6, 18, 26]
Rule = Literal["assignment", "greedy"]


@dataclass(frozen=True, slots=True)
class LesionCounts:
    """How many lesions were found (tp), made up (fp) and missed (fn); counts of several cases may be added."""

    tp: int
    fp: int
    fn: int

    @property
    def f1(self) -> float:
        """2TP / (2TP + FP + FN), in [0, 1]; 1 if there are no lesions on either side."""
        total = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / total if total else 1.0

    def __add__(self, other: LesionCounts) -> LesionCounts:
        return LesionCounts(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn)


def components(mask: Mask, *, connectivity: Connectivity = 26) -> tuple[NDArray[np.int32], int]:
    """Number the connected parts of a mask from 1, in the order of their first voxel; also how many there are.

    Parameters
    ----------
    connectivity
        Whether voxels are neighbours that share a face (6), also an edge (18), or also a corner (26). Tools differ, and
        the number of lesions with them.
    """
    from scipy import ndimage

    reach = {6: 1, 18: 2, 26: 3}[connectivity]
    labels, count = ndimage.label(mask, structure=ndimage.generate_binary_structure(3, reach))
    return labels, int(count)


def match_components(
    truth: Mask,
    prediction: Mask,
    *,
    min_iou: float,
    strict: bool = True,
    rule: Rule = "assignment",
    connectivity: Connectivity = 26,
) -> LesionCounts:
    """Count the lesions that were found, by the overlap (IoU = |T∩P| / |T∪P|) of single components.

    Parameters
    ----------
    min_iou
        The IoU from which on a pair may match; HECKTOR 2025 asks for more than 0.3.
    strict
        Whether the IoU must be above `min_iou` (True), or may also be equal to it.
    rule
        Every component takes part in one match at most. Above 0.5 no choice is left; below, "assignment" takes the
        pairs with the largest sum of IoUs, "greedy" again and again the pair with the largest IoU that is left.
    connectivity
        See `components`.
    """
    if not 0 <= min_iou <= 1:
        msg = f"an IoU lies between 0 and 1, not at {min_iou}"
        raise ValueError(msg)
    truth, prediction = cropped(truth, prediction)
    (t, lesions), (p, found) = (components(mask, connectivity=connectivity) for mask in (truth, prediction))
    iou = _iou(t, lesions, p, found)
    admitted = np.where((iou > min_iou if strict else iou >= min_iou) & (iou > 0), iou, 0.0)
    matched = _assignment(admitted) if rule == "assignment" else _greedy(admitted)
    return LesionCounts(tp=matched, fp=found - matched, fn=lesions - matched)


def aggregated_f1(counts: Iterable[LesionCounts]) -> float:
    """F1 of the lesions of a whole test set: counts are added over the cases first; NaN if no case has any lesion."""
    total = sum(counts, start=LesionCounts(0, 0, 0))
    return total.f1 if total != LesionCounts(0, 0, 0) else math.nan


def _iou(t: NDArray[np.int32], lesions: int, p: NDArray[np.int32], found: int) -> NDArray[np.float64]:
    """IoU of every component of the truth (row) with every one of the prediction (column)."""
    table = np.bincount((t.astype(np.int64) * (found + 1) + p).ravel(), minlength=(lesions + 1) * (found + 1))
    table = table.reshape(lesions + 1, found + 1)
    both = table[1:, 1:]
    either = table[1:].sum(axis=1)[:, None] + table[:, 1:].sum(axis=0)[None] - both
    return np.asarray(both / np.maximum(either, 1))


def _assignment(iou: NDArray[np.float64]) -> int:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(iou, maximize=True)
    return int(np.count_nonzero(iou[rows, columns]))


def _greedy(iou: NDArray[Any]) -> int:
    left, matched = iou.copy(), 0
    while left.size and left.max() > 0:
        i, j = np.unravel_index(int(left.argmax()), left.shape)
        left[i, :] = left[:, j] = 0
        matched += 1
    return matched
