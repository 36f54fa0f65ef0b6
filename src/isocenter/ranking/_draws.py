"""Draws of cases with replacement, as counts: nothing is copied, and one matrix serves every submission and metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.ranking._matrices import refuse_cells

Counts = NDArray[np.unsignedinteger[Any]]
"""In one byte each, or in two."""
Reject = Callable[[NDArray[np.int32]], ArrayLike]
"""Of a block of draws (draws × cases), which of them to draw again."""

# Draws that share a stream of random numbers. Another number gives other draws.
_BLOCK = 256
_MOST_PICKS = 2_000_000
_MOST_ATTEMPTS = 1000


@dataclass(frozen=True, eq=False)
class CaseDraws:
    """How often each case is in each draw; made by `case_draws`, or replayed from indices or weights.

    Attributes
    ----------
    by_case
        Counts, cases × draws and read-only: a case lies contiguous, because kernels do many draws at once.
    redrawn
        How many draws were rejected and drawn again.
    """

    by_case: Counts
    redrawn: int = 0

    @classmethod
    def of_weights(cls, weights: ArrayLike) -> Self:
        """Draws from counts, draws × cases: whole numbers from 0 to 65 535, at least one of a draw above 0."""
        found = np.asarray(weights)
        if found.ndim != 2 or found.size == 0:
            msg = f"weights of draws are a matrix, draws × cases; found an array of shape {found.shape}"
            raise ValueError(msg)
        # NaN fails every comparison, so it is named here, too.
        whole = (found >= 0) & (found <= 65_535) & (found == np.floor(found))
        refuse_cells(~whole, found, "weights of draws are whole numbers from 0 to 65535")
        sizes = found.sum(axis=1, dtype=np.int64)
        refuse_cells(sizes == 0, sizes, "the weights of a draw have a sum above 0")
        refuse_cells(sizes >= 2**31, sizes, "the weights of a draw have a sum below 2³¹")
        return cls(_narrow(np.ascontiguousarray(found.T)))

    @classmethod
    def of_indices(cls, indices: ArrayLike, *, cases: int) -> Self:
        """Draws from the positions of the drawn cases, one row per draw, each position from 0 to `cases` − 1."""
        found = np.asarray(indices)
        if found.ndim != 2 or found.size == 0 or found.dtype.kind not in "iu":
            msg = f"indices of drawn cases are a matrix of integers; found {found.dtype} of shape {found.shape}"
            raise ValueError(msg)
        refuse_cells((found < 0) | (found >= cases), found, f"indices of drawn cases are from 0 to {cases - 1}")
        return cls.of_weights(_counted(found.astype(np.int32), cases))

    @classmethod
    def all_cases(cls, cases: int) -> Self:
        """One draw that has every case once: what is measured on it is the score on all cases."""
        return cls.of_weights(np.ones((1, cases), np.uint8))

    @classmethod
    def leave_one_out(cls, cases: int) -> Self:
        """The jackknife: as many draws as cases, draw i without case i."""
        if cases < 2:
            msg = f"leaving one case out needs at least 2 cases, not {cases}"
            raise ValueError(msg)
        return cls.of_weights(1 - np.eye(cases, dtype=np.uint8))

    @property
    def counts(self) -> Counts:
        """The same as draws × cases; a view."""
        return self.by_case.T

    @property
    def cases(self) -> int:
        """How many cases there are to draw from."""
        return len(self.by_case)

    @property
    def replicates(self) -> int:
        """How many draws there are."""
        return int(self.by_case.shape[1])

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many cases each draw has, repeated ones as often as they are drawn."""
        found: NDArray[np.int64] = self.by_case.sum(axis=0, dtype=np.int64)
        return found


def case_draws(
    cases: int,
    *,
    replicates: int,
    seed: int,
    strata: ArrayLike | None = None,
    reject: Reject | None = None,
    skip: int = 0,
) -> CaseDraws:
    """Draw as many cases as there are, with replacement, so many times.

    Draws are made in blocks of 256 (of fewer from 7813 cases on). A block knows the seed and its own number only, so
    that more replicates begin with the same draws, and it does not matter who makes them. numpy may change its streams
    of random numbers from one version to the next; counts that have to outlive that are kept, and replayed by
    `CaseDraws.of_weights`.

    Parameters
    ----------
    cases
        How many there are. The unit of drawing is the patient: all that is measured in a case comes along.
    strata
        A label per case; each stratum keeps its size in every draw.
    reject
        Takes counts (draws × cases) and says which draws to make again, such as those with one class only. They are
        counted in `redrawn`.
    skip
        So many draws are left out at the beginning, to make very many of them in parts; whole blocks, that is
        multiples of `block_size`.

    References
    ----------
    Efron B, Tibshirani RJ. An introduction to the bootstrap. Chapman & Hall (1993), chapter 6.

    Examples
    --------
    >>> draws = case_draws(5, replicates=1000, seed=1)
    >>> draws.counts.shape, set(draws.sizes.tolist())
    ((1000, 5), {5})
    """
    if cases < 1 or replicates < 1:
        msg = f"draws need at least 1 case and at least 1 replicate, not {cases} and {replicates}"
        raise ValueError(msg)
    groups = [] if strata is None else _groups(strata, cases)
    size = block_size(cases)
    if skip % size or skip < 0:
        msg = f"draws of {cases} cases are made in blocks of {size}; {skip} cannot be left out"
        raise ValueError(msg)
    found = np.empty((cases, replicates), np.uint16)
    redrawn = 0
    for number, start in enumerate(range(0, replicates, size), start=skip // size):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        block, again = _block(partial(_drawn, rng, cases, groups), size, reject)
        part = found[:, start : start + size]
        part[:] = block[: part.shape[1]].T
        redrawn += int(again[: part.shape[1]].sum())
    return CaseDraws(_narrow(found), redrawn)


def block_size(cases: int) -> int:
    """How many draws of so many cases are made at once."""
    return max(1, min(_BLOCK, _MOST_PICKS // cases))


def _block(
    draw: Callable[[int], NDArray[np.int32]], size: int, reject: Reject | None
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """A block of draws, always a full one, and how often each of them was made again."""
    block, again = draw(size), np.zeros(size, np.int64)
    pending = np.arange(size)
    while reject is not None and pending.size:
        mask = np.asarray(reject(block[pending]))
        if mask.shape != pending.shape or mask.dtype != np.bool_:
            msg = f"`reject` gives one bool per draw, {pending.size} of them; it gave {mask.dtype} of {mask.shape}"
            raise ValueError(msg)
        pending = pending[mask]
        again[pending] += 1
        if again.max() > _MOST_ATTEMPTS:
            msg = f"`reject` refused a draw {_MOST_ATTEMPTS} times over; these cases hardly allow one that it accepts"
            raise ValueError(msg)
        block[pending] = draw(pending.size)
    return block, again


def _drawn(rng: np.random.Generator, cases: int, groups: list[NDArray[np.int32]], times: int) -> NDArray[np.int32]:
    """Counts of so many draws, of each group for itself; without groups, of all cases."""
    if not groups:
        return _counted(rng.integers(0, cases, size=(times, cases), dtype=np.int32), cases)
    picks = [group[rng.integers(0, group.size, size=(times, group.size), dtype=np.int32)] for group in groups]
    return _counted(np.concatenate(picks, axis=1), cases)


def _counted(picks: NDArray[np.int32], cases: int) -> NDArray[np.int32]:
    from isocenter.ranking._rank_kernels import count_cases

    counts = np.zeros((picks.shape[0], cases), np.int32)
    count_cases(picks, counts)
    return counts


def _groups(strata: ArrayLike, cases: int) -> list[NDArray[np.int32]]:
    labels = np.asarray(strata)
    if labels.shape != (cases,):
        msg = f"strata are one label per case: {cases} of them, not an array of shape {labels.shape}"
        raise ValueError(msg)
    groups = [np.flatnonzero(labels == label).astype(np.int32) for label in np.unique(labels)]
    if sum(group.size for group in groups) != cases:
        msg = "a label of a stratum is not equal to itself (NaN); every case belongs to a stratum"
        raise ValueError(msg)
    return groups


def _narrow(by_case: NDArray[np.number[Any]]) -> Counts:
    """In one byte where counts are small, as they always are in practice, and read-only."""
    narrow: Counts = by_case.astype(np.uint8 if int(by_case.max()) <= 255 else np.uint16)
    narrow.flags.writeable = False
    return narrow
