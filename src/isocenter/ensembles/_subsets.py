"""All subsets of N solutions, at all thresholds: every ensemble's overlap with the truth, from one histogram.

An ensemble "p of S" marks a voxel if at least p of the solutions in S do. There are Σ_M C(N,M)·M = N·2^(N−1) of them:
80 for five solutions, 524 288 for sixteen.

The overlap of all follows from the pattern histogram h by one transform. Let G(S; x) = Σ_c h(c)·x^|c∩S|, whose
coefficient of x^j is the number of voxels with exactly j votes of S. Solution by solution, it is

    i ∉ S:  G = G₀ + G₁          i ∈ S:  G = G₀ + x·G₁

with G₀ and G₁ the sums over patterns without and with solution i. All 2^N polynomials are made in place, as a fast
Walsh-Hadamard transform makes its sums: N²/2·2^N additions, however many patterns occur. Sixteen solutions take nine
million additions and 9 MB, where going through the subsets one by one would take 2^N × patterns (or voxels).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from isocenter.ensembles._error import EnsembleError
from isocenter.ensembles._patterns import Patterns

MOST_SOLUTIONS = 16
"""Of more solutions there are too many subsets to go through all."""

_NAME = re.compile(r"([1-9][0-9]*)of\(([^()]+)\)")


@dataclass(frozen=True)
class Ensemble:
    """A voxel is foreground if at least `threshold` of the `members` say so.

    Examples
    --------
    >>> print(Ensemble(("radlab", "oncoseg", "milano"), threshold=2))
    2of(milano,oncoseg,radlab)
    >>> Ensemble.parse("1of(radlab)")
    Ensemble(members=('radlab',), threshold=1)
    """

    members: tuple[str, ...]
    threshold: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", tuple(sorted(self.members)))
        if not self.members or len(set(self.members)) < len(self.members):
            msg = f"an ensemble has different members, at least one: {', '.join(self.members) or 'none'} were given"
            raise ValueError(msg)
        if not 1 <= self.threshold <= len(self.members):
            msg = f"of {len(self.members)} members between 1 and {len(self.members)} can agree, not {self.threshold}"
            raise ValueError(msg)

    @classmethod
    def parse(cls, name: str) -> Ensemble:
        """The ensemble of a name, such as 2of(a,b,c)."""
        found = _NAME.fullmatch(name.strip())
        if not found:
            msg = f"{name!r} is not an ensemble; one is named like 2of(a,b,c)"
            raise ValueError(msg)
        return cls(tuple(member.strip() for member in found[2].split(",")), int(found[1]))

    def __str__(self) -> str:
        return f"{self.threshold}of({','.join(self.members)})"

    @property
    def field_of_view(self) -> Literal["image"]:
        """Where the rule applies. It never takes a voxel that nobody marked, so any field of view gives the same."""
        return "image"

    def accept(self, patterns: Patterns) -> NDArray[np.bool_]:
        """Which of the patterns that occur are foreground."""
        if strangers := [member for member in self.members if member not in patterns.voters]:
            msg = f"{self}: {', '.join(strangers)} did not vote; {', '.join(patterns.voters)} did"
            raise EnsembleError(msg)
        mask = sum(1 << patterns.voters.index(member) for member in self.members)
        agreeing: NDArray[np.bool_] = np.bitwise_count(patterns.codes & np.uint32(mask)) >= self.threshold
        return agreeing


class Order(NamedTuple):
    """All ensembles of N solutions, those to be preferred among equals first.

    Fewer members come first, then the higher threshold, then members in alphabetical order. Bit i of a subset is the
    i-th solution by name.
    """

    subsets: NDArray[np.uint32]
    thresholds: NDArray[np.uint8]

    def ensemble(self, index: int, voters: Sequence[str]) -> Ensemble:
        """The ensemble at a place of the order."""
        subset = int(self.subsets[index])
        members = tuple(voter for i, voter in enumerate(voters) if subset >> i & 1)
        return Ensemble(members, int(self.thresholds[index]))


@lru_cache(maxsize=4)
def order(solutions: int) -> Order:
    """The order of all N·2^(N−1) ensembles of N solutions."""
    if not 1 <= solutions <= MOST_SOLUTIONS:
        msg = f"all ensembles of {solutions} solutions cannot be gone through; between 1 and {MOST_SOLUTIONS} can"
        raise EnsembleError(msg)
    every = np.arange(1, 1 << solutions, dtype=np.uint32)
    sizes = np.bitwise_count(every)
    subsets = np.repeat(every, sizes)
    size = np.repeat(sizes, sizes).astype(np.int64)
    ends = np.cumsum(sizes, dtype=np.int64)
    thresholds = np.arange(subsets.size) - np.repeat(ends - sizes, sizes) + 1
    # Of two sets of one size, the alphabetically first is the larger number if solution 0 is the highest digit.
    mirrored = sum(((subsets >> i) & 1).astype(np.int64) << (solutions - 1 - i) for i in range(solutions))
    place = np.lexsort((-np.asarray(mirrored), -thresholds, size))
    return Order(subsets[place], thresholds[place].astype(np.uint8))


def overlaps(patterns: Patterns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """TP and FP, in voxels, of every ensemble in the order of `order`; FN is the truth's voxels less TP."""
    solutions = len(patterns.voters)
    places = order(solutions)
    counts = []
    for voxels in (patterns.inside, patterns.outside):
        table = np.zeros((1 << solutions, solutions + 1), dtype=np.int64)
        table[patterns.codes, 0] = voxels
        _count_votes(table)
        counts.append(table[places.subsets, places.thresholds])
    return counts[0], counts[1]


def every_ensemble(voters: Sequence[str]) -> Iterator[Ensemble]:
    """All ensembles of the voters, those to be preferred among equals first."""
    names = sorted(voters)
    places = order(len(names))
    return (places.ensemble(i, names) for i in range(places.subsets.size))


@njit(nogil=True, cache=True)
def _count_votes(table: NDArray[np.int64]) -> None:
    """From voxels by pattern, in column 0, to voxels with at least j votes of subset S, in row S and column j."""
    solutions = table.shape[1] - 1
    for i in range(solutions):
        step = 1 << i
        for base in range(0, table.shape[0], 2 * step):
            for without in range(base, base + step):
                low, high = table[without], table[without + step]
                for j in range(i + 1, 0, -1):
                    a, b = low[j], high[j]
                    low[j] = a + b
                    high[j] = a + high[j - 1]
                a, b = low[0], high[0]
                low[0] = a + b
                high[0] = a
    for s in range(table.shape[0]):
        for j in range(solutions - 1, -1, -1):
            table[s, j] += table[s, j + 1]
