"""Marks of readers: which lesion a point in the patient has hit, within a few millimetres."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics._blobs import Blobs, lesions
from isocenter.metrics._lesion_matching import most_pairs
from isocenter.metrics._lesions import Connectivity
from isocenter.volumes import Grid

_PIRADS = (3, 4, 5)
# Coordinates go through a matrix and back; what is 5 mm on paper must stay within 5 mm.
_SLACK = 1e-6


class Mark(NamedTuple):
    """A point that a reader marked: LPS millimetres, and PI-RADS 3, 4 or 5."""

    position: tuple[float, float, float]
    pirads: int


class PointRow(NamedTuple):
    """A lesion or a false positive of one reading, as curves need it.

    Attributes
    ----------
    is_lesion
        1 for a lesion, found or missed; 0 for a false positive.
    confidence
        PI-RADS of the mark; 0 for a lesion that was missed.
    distance
        From the mark to the lesion that it hit, mm, 0 inside; infinite if there is no such pair.
    """

    is_lesion: int
    confidence: float
    distance: float


def match_points(
    marks: Sequence[Mark],
    label: Any,
    *,
    grid: Grid,
    threshold: int = 3,
    margin_mm: float = 5.0,
    max_marks: int | None = 4,
    connectivity: Connectivity = 26,
) -> list[PointRow]:
    """Match the marks of a reading with the lesions: those found, then those missed, then false positives.

    The distance of a mark from a lesion is that to the nearest of its voxels, each a solid box: 0 inside, otherwise to
    the boundary of the annotation. With voxel centres it would be half a slice more. Marks within the margin are hits.
    As many pairs as possible are made, with the least sum of distances (to about 1e-5 mm per pair); then higher PI-RADS
    come first, then earlier marks. A mark that hits a lesion but is in no pair is dropped.

    Parameters
    ----------
    marks
        Inside the image.
    label
        Axes (x, y, z) as the grid has them; 0 where there is no lesion. Or the result of `lesions`.
    grid
        Where the label's voxels lie in the patient.
    threshold
        The operating point, 3, 4 or 5: marks below it are removed before anything is matched, as a reader who operates
        there would not have placed them.
    margin_mm
        Inclusive, with a slack of 1e-6 mm.
    max_marks
        How many marks a reading may have, whatever the threshold; None if any number.
    connectivity
        Of the lesions; see `components`.

    Examples
    --------
    >>> label = np.zeros((20, 20, 5), np.uint8)
    >>> label[5:8, 5:8, 2] = 1
    >>> grid = Grid((20, 20, 5), spacing=(1.0, 1.0, 3.0))
    >>> match_points([Mark((6.0, 6.0, 9.0), 4), Mark((18.0, 6.0, 6.0), 3)], label, grid=grid)
    [PointRow(is_lesion=1, confidence=4.0, distance=1.5), PointRow(is_lesion=0, confidence=3.0, distance=inf)]
    """
    if not 0 <= margin_mm < math.inf:
        msg = f"a margin is a distance in mm, not {margin_mm}"
        raise ValueError(msg)
    truth = label if isinstance(label, Blobs) else lesions(label, connectivity=connectivity)
    if truth.shape != grid.shape:
        msg = f"label has shape {truth.shape}, its grid {grid.shape}"
        raise ValueError(msg)
    if max_marks is not None and len(marks) > max_marks:
        msg = f"a reading has at most {max_marks} marks, not {len(marks)}"
        raise ValueError(msg)
    indices = _indices(marks, grid)
    kept = [at for at, mark in enumerate(marks) if mark.pirads >= _operating_point(threshold)]
    pirads = np.array([marks[at].pirads for at in kept], np.float64)
    distances = _distances(truth, indices[kept], grid)
    hits = distances <= margin_mm + _SLACK
    closeness = np.clip(1 - distances / (margin_mm + 2 * _SLACK), 0, 1)
    # One PI-RADS more outweighs any place in the list.
    order = (pirads + 1 - np.arange(len(kept)) / max(1, len(kept))) / 8
    pairs = sorted(most_pairs(hits, closeness, preference=np.broadcast_to(order, hits.shape)))
    rows = [PointRow(1, float(pirads[j]), float(distances[i, j])) for i, j in pairs]
    rows += [PointRow(1, 0.0, math.inf)] * (truth.count - len(pairs))
    return rows + [PointRow(0, q, math.inf) for q in pirads[~hits.any(axis=0)].tolist()]


def patient_call(marks: Sequence[Mark], *, threshold: int = 3) -> bool:
    """Whether a reader calls the patient positive at an operating point: any mark of that PI-RADS or above."""
    return any(mark.pirads >= _operating_point(threshold) for mark in marks)


def _operating_point(threshold: int) -> int:
    if threshold not in _PIRADS:
        msg = f"an operating point is PI-RADS 3, 4 or 5, not {threshold}"
        raise ValueError(msg)
    return threshold


def _indices(marks: Sequence[Mark], grid: Grid) -> NDArray[np.float64]:
    """The marks in continuous indices of the grid; an error that names all that are not what marks may be."""
    world = np.array([mark.position for mark in marks], np.float64).reshape(len(marks), 3)
    indices = (world - grid.affine[:3, 3]) @ np.linalg.inv(grid.affine[:3, :3]).T
    slack = _SLACK / np.asarray(grid.spacing)
    inside = np.all((indices >= -0.5 - slack) & (indices <= np.asarray(grid.shape) - 0.5 + slack), axis=1).tolist()
    problems = []
    for number, (mark, index, is_inside) in enumerate(zip(marks, indices, inside, strict=True), start=1):
        if mark.pirads not in _PIRADS:
            problems.append(f"mark {number} has PI-RADS {mark.pirads}, expected 3, 4 or 5")
        if not is_inside:
            where = ", ".join(f"{x:g}" for x in mark.position)
            at = ", ".join(f"{i:.1f}" for i in index)
            msg = f"mark {number} at ({where}) mm has index ({at}), outside the image of {grid}; are the axes LPS?"
            problems.append(msg)
    if problems:
        raise ValueError("; ".join(problems))
    return indices


def _distances(truth: Blobs, indices: NDArray[np.float64], grid: Grid) -> NDArray[np.float64]:
    """Distance of every mark (column) from the voxel boxes of every lesion (row), mm."""
    voxels = np.stack(np.unravel_index(truth.voxels, truth.shape), axis=1)
    distances = np.full((truth.count, len(indices)), math.inf)
    for column, index in enumerate(indices):
        outside = np.maximum((abs(voxels - index) - 0.5) * np.asarray(grid.spacing), 0)
        np.minimum.at(distances[:, column], truth.parts - 1, np.sqrt((outside**2).sum(axis=1)))
    return distances
