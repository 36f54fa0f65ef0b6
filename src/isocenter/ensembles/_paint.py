"""The masks that rules make: votes back to voxels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from isocenter.ensembles._ballots import Ballot, Corner, around, blank, pack
from isocenter.ensembles._error import EnsembleError
from isocenter.ensembles._fusion import Rule, Ties, needed
from isocenter.ensembles._patterns import count_patterns, slabs
from isocenter.volumes import Grid, LabelMap

_AS_IT_IS = -1  # in a table of labels: what the voxel has already


def fuse(rule: Rule, ballots: Mapping[str, Ballot], grid: Grid, *, label: int = 1) -> LabelMap:
    """The mask that a rule makes of the votes of one case; its foreground has the given label."""
    patterns = count_patterns(ballots)
    table = np.zeros(1 << len(patterns.voters), dtype=np.int32)
    table[patterns.codes] = label * rule.accept(patterns)
    masks = [ballots[voter] for voter in patterns.voters]
    low, high = around(masks)
    if table[0] and rule.field_of_view == "image":
        low, high = (0, 0, 0), grid.shape
    box = np.full((high[2] - low[2], high[1] - low[1], high[0] - low[0]), table[0], dtype=_dtype(label))
    for corner, codes, taken in slabs(masks):
        _paint(codes, taken, table, box, (corner[2] - low[2], corner[1] - low[1], corner[0] - low[0]))
    return _cropped(box, low, grid, [label])


def _dtype(label: int) -> type[np.uint8 | np.uint16]:
    return np.uint8 if label <= 255 else np.uint16


@dataclass(frozen=True)
class Hierarchical:
    """The hierarchical vote on a map of several labels.

    Attributes
    ----------
    members
        Who votes.
    severity
        The labels from the mildest to the most severe.
    ties
        What exactly half of the votes make of a voxel.
    """

    members: tuple[str, ...]
    severity: tuple[int, ...]
    ties: Ties = "foreground"

    def __post_init__(self) -> None:
        if not self.severity or len(set(self.severity)) < len(self.severity) or min(self.severity) < 1:
            msg = f"severity is an order of different labels, none of them 0; {self.severity} is none"
            raise ValueError(msg)

    def __str__(self) -> str:
        return f"hierarchical({','.join(sorted(self.members))})"


def hierarchical_vote(
    maps: Iterable[LabelMap | None], *, severity: Sequence[int], grid: Grid, ties: Ties = "foreground"
) -> LabelMap:
    """One map of several labels out of many, by majority at every level of severity.

    Parameters
    ----------
    maps
        One per voter, taken one after the other; None for a voter without a map, who votes background.
    severity
        The labels from the mildest to the most severe, L₁ < L₂ < …
    ties
        "foreground": a level is reached if at least half of the voters reach it; "background": if more than half do.

    Notes
    -----
    From j = 1 on, a voxel gets label Lⱼ if at least n/2 of the n voters gave it Lⱼ or any more severe label. So votes
    for a severe label also count for the milder ones, and voters who agree that something is there, but not on what,
    are not lost to the background. With one label it is the majority vote.

    References
    ----------
    Menze BH, Jakab A, Bauer S, et al. The multimodal brain tumor image segmentation benchmark (BRATS). IEEE
    Transactions on Medical Imaging 34 (2015) 1993-2024, algorithm 1.
    """
    order = Hierarchical((), tuple(severity), ties).severity
    levels: list[list[Ballot]] = [[] for _ in order]
    for labels in maps:
        if strange := [label for label in (labels.labels if labels else ()) if label not in order]:
            msg = f"a map holds the labels {strange}, which the order of severity {order} does not"
            raise EnsembleError(msg)
        for level, ballots in enumerate(levels):
            ballots.append(
                blank(grid.shape) if labels is None else pack(labels, labels=order[level:] if level else None)
            )
        del labels  # before the next is read
    low, high = around(levels[0])
    box = np.zeros((high[2] - low[2], high[1] - low[1], high[0] - low[0]), dtype=_dtype(max(order)))
    enough = np.bitwise_count(np.arange(1 << len(levels[0]))) >= needed(len(levels[0]), ties)
    for label, ballots in zip(order, levels, strict=True):
        table = np.where(enough, np.int32(label), np.int32(_AS_IT_IS))
        for corner, codes, taken in slabs(ballots):
            _paint(codes, taken, table, box, (corner[2] - low[2], corner[1] - low[1], corner[0] - low[0]))
    return _cropped(box, low, grid, order)


def _cropped(planes: NDArray[Any], corner: Corner, grid: Grid, labels: Sequence[int]) -> LabelMap:
    """The map of a box with axes (z, y, x), cut to its foreground; `labels` are those that may be there."""
    found = tuple(label for label in sorted(labels) if any((plane == label).any() for plane in planes))
    if not found:
        return LabelMap(grid, np.zeros((0, 0, 0), dtype=np.uint8), (0, 0, 0), ())
    box, sides = planes.T, []
    for axis in range(3):
        marked = np.flatnonzero(box.any(axis=tuple(a for a in range(3) if a != axis)))
        sides.append(slice(int(marked[0]), int(marked[-1]) + 1))
    x, y, z = (c + side.start for c, side in zip(corner, sides, strict=True))
    return LabelMap(grid, np.asfortranarray(box[tuple(sides)]), (x, y, z), found)


@njit(nogil=True, cache=True)
def _paint(
    codes: NDArray[np.uint32], taken: NDArray[np.bool_], table: NDArray[np.int32], box: NDArray[Any], place: Corner
) -> None:
    """Write the label of every code other than 0 into the box, and clear the codes; they start at `place` (z, y, x)."""
    for k in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            if not taken[k, j]:
                continue
            taken[k, j] = False
            row = codes[k, j]
            for i in range(row.size):
                if row[i] != 0:
                    label = table[row[i]]
                    if label >= 0:
                        box[place[0] + k, place[1] + j, place[2] + i] = label
                    row[i] = 0
