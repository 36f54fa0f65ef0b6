"""Which candidate found which lesion: overlaps, and three ways to choose the pairs."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics._blobs import Blobs, lesions
from isocenter.metrics._candidates import Candidates, Checks, candidates
from isocenter.metrics._lesions import Connectivity

Preset = Literal["picai", "strict", "score-first"]
OverlapName = Literal["iou", "dice"]
Pairs = list[tuple[int, int]]

# What picai_eval adds to both sides of a fraction; without it the ninth digit of an overlap differs.
_PICAI_EPSILON = 1e-8
# Of a preference among pairs that are equally good otherwise: far below a difference of overlaps that anybody would
# care about, far above the rounding of a sum.
_TIE = 1e-6


class LesionRow(NamedTuple):
    """A lesion or a false positive of one case, as curves need it.

    Attributes
    ----------
    is_lesion
        1 for a lesion, found or missed; 0 for a false positive.
    confidence
        Likelihood of the candidate; 0 for a lesion that was missed.
    overlap
        Of the candidate with the lesion that it found; 0 if there is no such pair.
    """

    is_lesion: int
    confidence: float
    overlap: float


def match_lesions(
    detection_map: Any,
    label: Any,
    *,
    preset: Preset = "picai",
    overlap: OverlapName = "iou",
    min_overlap: float = 0.1,
    connectivity: Connectivity = 26,
    keep_extras: bool = False,
) -> list[LesionRow]:
    """Match the candidates of a case with its lesions: those found, then those missed, then false positives.

    A candidate may find a lesion if their overlap reaches `min_overlap`. Each takes part in one pair at most. A
    candidate that overlaps some lesion enough but is in no pair is an extra, as if a lesion was found in pieces.

    Parameters
    ----------
    detection_map
        A map; or the result of `candidates`, if it is used again or must pass the strict checks whatever the preset.
    label
        An array of whole numbers, 0 where there is no lesion; or the result of `lesions`.
    preset
        "picai": as picai_eval 1.4.13, to the last bit, with its checks of the map (see `candidates`). The pairs with
        the largest sum of 1 + overlap; so two good pairs may win over three weak ones, and of equal sums the order of
        the first voxels decides (last axis fastest: give volumes with axes (x, y, z) transposed, both of them, to have
        the peer's order).
        "strict": as many pairs as possible, then the largest sum of overlaps, then the higher confidences. Sums that
        differ by about 1e-6 per pair are equal. The result does not change if both volumes are flipped or transposed.
        "score-first": in the order of confidence, each candidate takes the free lesion that it overlaps most, as in
        COCO; of equal confidences the one with the larger overlap comes first.
    overlap
        "iou": |L∩C| / |L∪C|. "dice": 2|L∩C| / (|L|+|C|). With "picai" 1e-8 is added to both sides of the fraction.
    min_overlap
        In [0, 1] and inclusive; 0 means any common voxel, for all presets (in picai_eval it would pair everything).
    connectivity
        Of candidates and lesions; see `components`.
    keep_extras
        Whether extras are false positives (True, as in COCO) or dropped (False, as in PI-CAI).

    Returns
    -------
    list of LesionRow
        Empty if there are neither lesions nor candidates. All candidates of a case without lesions are false positives.

    References
    ----------
    Saha A et al. Artificial intelligence and radiologists in prostate cancer detection on MRI (PI-CAI): an
    international, paired, non-inferiority, confirmatory study. Lancet Oncol 25 (2024) 879-887.

    Examples
    --------
    >>> label = np.zeros((3, 8, 8), int)
    >>> label[1, 1:3, 1:5] = 1
    >>> heat = np.zeros((3, 8, 8), np.float32)
    >>> heat[1, 1:3, 1:3] = 0.75
    >>> heat[1, 6, 6] = 0.25
    >>> match_lesions(heat, label, preset="strict")
    [LesionRow(is_lesion=1, confidence=0.75, overlap=0.5), LesionRow(is_lesion=0, confidence=0.25, overlap=0.0)]
    """
    matched = match_numbered_lesions(
        detection_map,
        label,
        preset=preset,
        overlap=overlap,
        min_overlap=min_overlap,
        connectivity=connectivity,
        keep_extras=keep_extras,
    )
    return [row for row, _ in matched]


def match_numbered_lesions(
    detection_map: Any,
    label: Any,
    *,
    preset: Preset = "picai",
    overlap: OverlapName = "iou",
    min_overlap: float = 0.1,
    connectivity: Connectivity = 26,
    keep_extras: bool = False,
) -> list[tuple[LesionRow, int | None]]:
    """The same as `match_lesions`, each row with the number of its lesion in `lesions`; None for a false positive."""
    _check_choices(preset, overlap, min_overlap)
    _check_shapes(detection_map, label)
    if not isinstance(detection_map, Candidates):
        checks: Checks = "picai" if preset == "picai" else "strict"
        detection_map = candidates(detection_map, connectivity=connectivity, checks=checks)
    truth = label if isinstance(label, Blobs) else lesions(label, connectivity=connectivity)
    confidences = detection_map.confidences
    epsilon = _PICAI_EPSILON if preset == "picai" else 0.0
    common, overlaps = _overlaps(truth, detection_map.blobs, overlap, epsilon)
    hits = (common > 0) & (overlaps >= min_overlap)
    if preset == "picai":
        # There and back again, for the last bit.
        pairs, overlaps = _largest_sum(np.where(hits, overlaps + 1, 0)), (overlaps + 1) - 1
    elif preset == "strict":
        pairs = most_pairs(hits, overlaps, preference=_preference(confidences, overlaps))
    else:
        pairs = by_score(hits, overlaps, confidences)
    return _rows(hits, overlaps, confidences, pairs=pairs, keep_extras=keep_extras)


def most_pairs(hits: NDArray[np.bool_], gain: NDArray[np.float64], *, preference: NDArray[np.float64]) -> Pairs:
    """As many pairs (row, column) of hits as possible, then the largest sum of gains, then of preferences.

    Gains lie in [0, 1]. Preferences, too; they decide where the sums of gains differ by no more than 1e-6 per pair.
    """
    # One more pair must be worth more than anything the others can gain or lose.
    pair = min(hits.shape) * (1 + _TIE) + 1
    return _largest_sum(np.where(hits, pair + gain + _TIE * preference, 0))


def by_score(hits: NDArray[np.bool_], gain: NDArray[np.float64], scores: NDArray[np.float64]) -> Pairs:
    """Pairs (row, column) of hits: columns in descending order of their scores each take the best row that is free."""
    free = np.ones(hits.shape[0], np.bool_)
    pairs = []
    for column in np.lexsort((-gain.max(axis=0, initial=0), -scores)).tolist():
        left = np.where(hits[:, column] & free, gain[:, column], -1)
        if left.size and left.max() >= 0:
            row = int(left.argmax())
            free[row] = False
            pairs.append((row, column))
    return pairs


def _largest_sum(weight: NDArray[np.float64]) -> Pairs:
    """The pairs (row, column) with the largest sum of weights; weights of 0 make no pair."""
    filled = weight > 0
    if max(filled.sum(axis=0).max(initial=0), filled.sum(axis=1).max(initial=0)) <= 1:
        # Nobody has a choice, as in nearly all exams; and scipy takes longer to load than a hundred exams to read.
        return [(i, j) for i, j in np.argwhere(filled).tolist()]
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(weight, maximize=True)
    return [(i, j) for i, j in zip(rows.tolist(), columns.tolist(), strict=True) if weight[i, j] > 0]


def _preference(confidences: NDArray[np.float64], overlaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Higher confidences first. Where that leaves a choice of partners, the higher ones with the larger overlaps.

    A sum is enough: the sets of candidates that the best pairs may use are the bases of a matroid, so that the set with
    the largest sum of confidences also has the highest single ones.
    """
    share = confidences / confidences.max(initial=1e-30)
    return np.asarray((share + 1e-3 * share * overlaps**2) / 2)


def _overlaps(
    truth: Blobs, found: Blobs, name: OverlapName, epsilon: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Common voxels and overlap of every lesion (row) with every candidate (column)."""
    shape = (truth.count, found.count)
    small, large = sorted((truth, found), key=lambda blobs: blobs.voxels.size)
    if small.count == 0:
        return np.zeros(shape, np.int64), np.zeros(shape)
    at = np.minimum(np.searchsorted(large.voxels, small.voxels), large.voxels.size - 1)
    both = large.voxels[at] == small.voxels
    mine, theirs = small.parts[both] - 1, large.parts[at[both]] - 1
    rows, columns = (mine, theirs) if small is truth else (theirs, mine)
    common = np.bincount(rows.astype(np.int64) * found.count + columns, minlength=math.prod(shape)).reshape(shape)
    total = truth.sizes[:, None] + found.sizes
    if name == "iou":
        return common, (common + epsilon) / (total - common + epsilon)
    return common, (2 * common + epsilon) / (total + epsilon)


def _rows(
    hits: NDArray[np.bool_],
    overlaps: NDArray[np.float64],
    confidences: NDArray[np.float64],
    *,
    pairs: Pairs,
    keep_extras: bool,
) -> list[tuple[LesionRow, int | None]]:
    pairs = sorted(pairs)
    rows: list[tuple[LesionRow, int | None]] = [
        (LesionRow(1, float(confidences[j]), float(overlaps[i, j])), i + 1) for i, j in pairs
    ]
    found = {i for i, _ in pairs}
    rows += [(LesionRow(1, 0.0, 0.0), i + 1) for i in range(hits.shape[0]) if i not in found]
    false = np.ones(hits.shape[1], np.bool_)
    if not keep_extras:
        false &= ~hits.any(axis=0)
    false[[j for _, j in pairs]] = False
    return rows + [(LesionRow(0, confidence, 0.0), None) for confidence in confidences[false].tolist()]


def _check_choices(preset: str, overlap: str, min_overlap: float) -> None:
    if preset not in ("picai", "strict", "score-first"):
        msg = f"preset must be 'picai', 'strict' or 'score-first', not {preset!r}"
        raise ValueError(msg)
    if overlap not in ("iou", "dice"):
        msg = f"overlap must be 'iou' or 'dice', not {overlap!r}"
        raise ValueError(msg)
    if not 0 <= min_overlap <= 1:
        msg = f"an overlap lies between 0 and 1, not at {min_overlap}"
        raise ValueError(msg)


def _check_shapes(detection_map: Any, label: Any) -> None:
    found = detection_map.blobs.shape if isinstance(detection_map, Candidates) else np.shape(detection_map)
    expected = label.shape if isinstance(label, Blobs) else np.shape(label)
    if found != expected:
        msg = f"the detection map has shape {found}, the label {expected}: they are compared voxel by voxel"
        raise ValueError(msg)
