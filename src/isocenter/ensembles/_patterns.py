"""How often each combination of votes occurs in a case: all that is ever needed of its voxels.

Masks of N voters and of the truth become one number per voxel, and the numbers are counted::

    code(voxel) = Σᵢ mᵢ·2^i + truth·2^N          mᵢ: whether voter i marked the voxel

Of two to the N+1 possible codes few occur. From their counts follow, exactly, the overlap of every ensemble with the
truth, of every voter with every other, and STAPLE: none of them looks at a voxel again.

Codes are made for about a megabyte of voxels at a time, from ballots that hold one bit per voxel. Only rows that
somebody marked are visited; what nobody marked is counted by subtraction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from isocenter.ensembles._ballots import Ballot, Corner, around
from isocenter.ensembles._error import EnsembleError

MOST_VOTERS = 20
"""The table of codes has two to the N+1 places: 16 MB for this many voters."""

_SLAB = 1 << 18  # voxels whose codes are made together: a megabyte, which stays in the processor's cache


@dataclass(frozen=True, eq=False)
class Patterns:
    """The combinations of votes that occur in a case, and how often, inside the truth and outside of it.

    Attributes
    ----------
    voters
        Names, in alphabetical order; voter i has bit i of a code.
    codes
        The distinct combinations, ascending; 0 is what nobody marked.
    inside, outside
        Voxels of each, in the truth and not. Without a truth all are outside.
    box_voxels, box_truth
        Voxels, and voxels of the truth, in the bounding box of all that was marked by voters.
    voxel_volume
        mm³.
    truth
        A fingerprint of the truth's voxels; None if there is no truth.
    """

    voters: tuple[str, ...]
    codes: NDArray[np.uint32]
    inside: NDArray[np.int64]
    outside: NDArray[np.int64]
    box_voxels: int
    box_truth: int
    voxel_volume: float = 1.0
    truth: str | None = None

    @property
    def votes(self) -> NDArray[np.bool_]:
        """Whether voter i (column) marked the voxels of a combination (row)."""
        bits: NDArray[np.bool_] = (self.codes[:, None] >> np.arange(len(self.voters), dtype=np.uint32)) & 1 == 1
        return bits

    @property
    def positives(self) -> int:
        """Voxels of the truth."""
        return int(self.inside.sum())


def count_patterns(
    ballots: Mapping[str, Ballot], truth: Ballot | None = None, *, voxel_volume: float = 1.0
) -> Patterns:
    """Count the combinations of votes of one case, in one pass.

    It takes the time to visit the rows that somebody marked.
    """
    voters = tuple(sorted(ballots))
    if not 1 <= len(voters) <= MOST_VOTERS:
        msg = f"{len(voters)} voters; between 1 and {MOST_VOTERS} can be counted together"
        raise EnsembleError(msg)
    masks = [ballots[voter] for voter in voters]
    everything = masks if truth is None else [*masks, truth]
    if len({mask.shape for mask in everything}) > 1:
        msg = f"masks of different shapes: {sorted({mask.shape for mask in everything})}"
        raise EnsembleError(msg)
    histogram = np.zeros(2 << len(voters), dtype=np.int64)
    for _, codes, taken in slabs(everything):
        _tally(codes, taken, histogram)
    histogram[0] = int(np.prod(masks[0].shape)) - histogram.sum()
    outside, inside = np.split(histogram, 2)
    occurring = np.flatnonzero(inside + outside)
    low, high = around(masks)
    return Patterns(
        voters=voters,
        codes=occurring.astype(np.uint32),
        inside=inside[occurring],
        outside=outside[occurring],
        box_voxels=int(np.prod(np.subtract(high, low))),
        box_truth=0 if truth is None else truth.inside(low, high),
        voxel_volume=voxel_volume,
        truth=None if truth is None else truth.digest(),
    )


def slabs(ballots: Sequence[Ballot]) -> Iterator[tuple[Corner, NDArray[np.uint32], NDArray[np.bool_]]]:
    """The codes of all voxels around what is marked, some planes at a time; ballot i has bit i.

    Yields the first voxel, the codes with axes (z, y, x), and which of their rows hold any but 0. Both arrays are used
    again; whoever takes them leaves them cleared, as `_tally` does.
    """
    marked = [(i, ballot) for i, ballot in enumerate(ballots) if not ballot.empty]
    if not marked:
        return
    low, high = around(ballots)
    x = min(ballot.start for _, ballot in marked)
    width = max(ballot.start + ballot.width for _, ballot in marked) - x
    depth = min(high[2] - low[2], max(1, _SLAB // (width * (high[1] - low[1]))))
    codes = np.zeros((depth, high[1] - low[1], width), dtype=np.uint32)
    taken = np.zeros(codes.shape[:2], dtype=np.bool_)
    for z in range(low[2], high[2], depth):
        for i, ballot in marked:
            if ballot.low[2] < z + depth and ballot.high[2] > z:
                rows, words = ballot.planes(z, z + depth)
                _mark(codes, taken, rows, words, (z, low[1], ballot.start - x, i))
        yield (x, low[1], z), codes, taken


@njit(nogil=True, cache=True)
def _mark(
    codes: NDArray[np.uint32],
    taken: NDArray[np.bool_],
    rows: NDArray[np.int32],
    words: NDArray[np.uint64],
    place: tuple[int, int, int, int],
) -> None:
    """Add a voter's bit to the codes of the voxels that it marked.

    `place` is the plane and the row where the codes start, where its words start in them, and which bit it is.
    """
    z, y, x, bit = place
    flag = np.uint32(1 << bit)
    for r in range(rows.shape[0]):
        k, j = rows[r, 0] - z, rows[r, 1] - y
        taken[k, j] = True
        row = codes[k, j]
        for w in range(words.shape[1]):
            word = words[r, w]
            if word == 0:
                continue
            start = x + 64 * w
            for b in range(64):
                row[start + b] |= np.uint32((word >> np.uint64(b)) & np.uint64(1)) * flag


@njit(nogil=True, cache=True)
def _tally(codes: NDArray[np.uint32], taken: NDArray[np.bool_], histogram: NDArray[np.int64]) -> None:
    """Count the codes other than 0, and clear them."""
    for k in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            if not taken[k, j]:
                continue
            taken[k, j] = False
            row = codes[k, j]
            for i in range(row.size):
                if row[i] != 0:
                    histogram[row[i]] += 1
                    row[i] = 0
