"""Lesions and candidates of a case as a picture shows them: where they are, what is said of them, in which slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.metrics import Blobs, candidates, lesions

Kind = Literal["lesion", "hit", "false"]

LEAST_OVERLAP = 0.1  # intersection over union from which on a candidate is one of a lesion, as in PI-CAI
MOST_SLICES = 6


@dataclass(frozen=True, slots=True)
class Finding:
    """A lesion, a candidate that overlaps one, or one that does not; `voxels` are rows (i, j, k)."""

    kind: Kind
    text: str
    said: str
    voxels: NDArray[np.int64]
    missed: bool = False

    def sections(self, depth: int) -> NDArray[np.int64]:
        """Voxels in each slice."""
        return np.bincount(self.voxels[:, 2], minlength=depth)

    def within(self, k: int, box: tuple[slice, slice]) -> NDArray[np.bool_]:
        """The section in slice `k`, in a part of the slice that contains it."""
        mask = np.zeros((box[0].stop - box[0].start, box[1].stop - box[1].start), np.bool_)
        i, j = self.voxels[self.voxels[:, 2] == k, :2].T
        mask[i - box[0].start, j - box[1].start] = True
        return mask


def findings_of(label: NDArray[Any], found: NDArray[Any]) -> list[Finding]:
    """The lesions, largest first, then the candidates, most likely first."""
    truth, proposed = lesions(label), candidates(found)
    overlaps = _overlaps(truth, proposed.blobs)
    values = label.reshape(-1)
    drawn = []
    where = _split(truth)
    for n in np.argsort(-truth.sizes, kind="stable").tolist():
        grade = int(values[np.ravel_multi_index(tuple(where[n].T), truth.shape)].max())
        text, said = (f"ISUP {grade}", f"Lesion, ISUP {grade}") if grade >= 2 else ("lesion", "Lesion")
        missed = not (overlaps[n] >= LEAST_OVERLAP).any()
        drawn.append(
            Finding(
                "lesion",
                f"{text}, missed" if missed else text,
                f"{said}, {'missed' if missed else 'found'}",
                where[n],
                missed,
            )
        )
    where = _split(proposed.blobs)
    for n in np.argsort(-proposed.confidences, kind="stable").tolist():
        hit = bool((overlaps[:, n] >= LEAST_OVERLAP).any())
        text = f"{proposed.confidences[n]:.2f}"
        said = f"Candidate of likelihood {text}, {'on a lesion' if hit else 'false positive'}"
        drawn.append(Finding("hit" if hit else "false", text, said, where[n]))
    return drawn


def slices_of(findings: Sequence[Finding], depth: int) -> list[int]:
    """The largest section of each finding in turn, unless a slice is there already that shows half as much of it.

    At most six slices, in their order in the volume; the middle one if there are no findings.
    """
    chosen: list[int] = []
    for finding in findings:
        sections = finding.sections(depth)
        if len(chosen) < MOST_SLICES and not any(2 * sections[k] >= sections.max() for k in chosen):
            chosen.append(int(sections.argmax()))
    return sorted(chosen) or [depth // 2]


def _split(blobs: Blobs) -> list[NDArray[np.int64]]:
    """The voxels of each part as rows (i, j, k)."""
    order = np.argsort(blobs.parts, kind="stable")
    rows = np.column_stack(np.unravel_index(blobs.voxels[order], blobs.shape))
    return np.split(rows, np.cumsum(blobs.sizes)[:-1]) if blobs.count else []


def _overlaps(truth: Blobs, proposed: Blobs) -> NDArray[np.float64]:
    """Intersection over union of every lesion (row) with every candidate (column)."""
    common = np.zeros((truth.count, proposed.count))
    _, mine, theirs = np.intersect1d(truth.voxels, proposed.voxels, assume_unique=True, return_indices=True)
    np.add.at(common, (truth.parts[mine] - 1, proposed.parts[theirs] - 1), 1)
    return np.asarray(common / (truth.sizes[:, None] + proposed.sizes - common))
