"""Bootstrap resamples as counts of cases: nothing is copied, and one matrix serves every statistic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.resampling.blocks import MOST_ATTEMPTS, block_size, seed_generator
from isocenter.resampling.matrices import refuse_cells

Counts = NDArray[np.unsignedinteger[Any]]
"""In one byte each, or in two."""
Reject = Callable[[NDArray[np.int32]], ArrayLike]
"""Of counts (resamples × cases), which resamples to draw again."""

# Counts held at once; a million resamples of a thousand cases come in a few dozen parts.
_MOST_COUNTS = 30_000_000


@dataclass(frozen=True, eq=False)
class Resamples:
    """How often each case is in each resample; made by `resample_cases`, or replayed from indices or weights.

    Attributes
    ----------
    by_case
        Counts, cases × resamples and read-only: a case lies contiguous, because kernels do many resamples at once.
    redrawn
        How many resamples were rejected and drawn again.
    """

    by_case: Counts
    redrawn: int = 0

    @classmethod
    def of_weights(cls, weights: ArrayLike) -> Self:
        """From counts, resamples × cases: whole numbers from 0 to 65 535, at least one of a resample above 0."""
        counts = np.asarray(weights)
        if counts.ndim != 2 or counts.size == 0:
            msg = f"weights of draws are a matrix, draws × cases; found an array of shape {counts.shape}"
            raise ValueError(msg)
        # NaN fails every comparison, so it is named here, too.
        whole = (counts >= 0) & (counts <= 65_535) & (counts == np.floor(counts))
        refuse_cells(~whole, counts, "weights of draws are whole numbers from 0 to 65535")
        sizes = counts.sum(axis=1, dtype=np.int64)
        refuse_cells(sizes == 0, sizes, "the weights of a draw have a sum above 0")
        refuse_cells(sizes >= 2**31, sizes, "the weights of a draw have a sum below 2³¹")
        return cls(_narrow(np.ascontiguousarray(counts.T)))

    @classmethod
    def of_indices(cls, indices: ArrayLike, *, cases: int) -> Self:
        """From the positions of the drawn cases, one row per resample, each position from 0 to `cases` − 1."""
        picks = np.asarray(indices)
        if picks.ndim != 2 or picks.size == 0 or picks.dtype.kind not in "iu":
            msg = f"indices of drawn cases are a matrix of integers; found {picks.dtype} of shape {picks.shape}"
            raise ValueError(msg)
        refuse_cells((picks < 0) | (picks >= cases), picks, f"indices of drawn cases are from 0 to {cases - 1}")
        return cls.of_weights(count_picks(picks.astype(np.int32), cases))

    @classmethod
    def all_cases(cls, cases: int) -> Self:
        """One resample that has every case once: what is measured on it is the statistic of all cases."""
        return cls.of_weights(np.ones((1, cases), np.uint8))

    @classmethod
    def leave_one_out(cls, cases: int) -> Self:
        """The jackknife: as many resamples as cases, resample i without case i."""
        if cases < 2:
            msg = f"leaving one case out needs at least 2 cases, not {cases}"
            raise ValueError(msg)
        return cls.of_weights(1 - np.eye(cases, dtype=np.uint8))

    def among(self, cases: NDArray[np.bool_]) -> Self:
        """The same resamples, of some of the cases only: they differ in size, and may have none."""
        return type(self)(self.by_case[cases], self.redrawn)

    @property
    def counts(self) -> Counts:
        """The same as resamples × cases; a view."""
        return self.by_case.T

    @property
    def cases(self) -> int:
        """How many cases there are to resample."""
        return len(self.by_case)

    @property
    def replicates(self) -> int:
        """How many resamples there are."""
        return int(self.by_case.shape[1])

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many cases each resample has, repeated ones as often as they are drawn."""
        sizes: NDArray[np.int64] = self.by_case.sum(axis=0, dtype=np.int64)
        return sizes


def resample_cases(
    cases: int,
    *,
    replicates: int,
    seed: int,
    strata: ArrayLike | None = None,
    reject: Reject | None = None,
    skip: int = 0,
) -> Resamples:
    """Bootstrap resamples: as many cases as there are, drawn with replacement, so many times.

    They are made in blocks that know the seed and their own number only, see `block_size`. numpy may change its streams
    of random numbers from one version to the next; counts that have to outlive that are kept, and replayed by
    `Resamples.of_weights`.

    Parameters
    ----------
    cases
        How many there are. The unit of resampling is the patient: all that is measured in a case comes along.
    strata
        A label per case; each stratum keeps its size in every resample.
    reject
        Takes counts (resamples × cases) and says which to make again, such as those with one class only. They are
        counted in `redrawn`.
    skip
        So many resamples are left out at the beginning, to make very many of them in parts; whole blocks, that is
        multiples of `block_size`.

    References
    ----------
    Efron B, Tibshirani RJ. An introduction to the bootstrap. Chapman & Hall (1993), chapter 6.

    Examples
    --------
    >>> resamples = resample_cases(5, replicates=1000, seed=1)
    >>> resamples.counts.shape, set(resamples.sizes.tolist())
    ((1000, 5), {5})
    """
    if cases < 1 or replicates < 1:
        msg = f"draws need at least 1 case and at least 1 replicate, not {cases} and {replicates}"
        raise ValueError(msg)
    groups = group_by_stratum(strata, cases)
    size = block_size(cases)
    if skip % size or skip < 0:
        msg = f"draws of {cases} cases are made in blocks of {size}; {skip} cannot be left out"
        raise ValueError(msg)
    by_case = np.empty((cases, replicates), np.uint16)
    redrawn = 0
    for number, start in enumerate(range(0, replicates, size), start=skip // size):
        # A block is always drawn in full: part of it would have other numbers in the later strata.
        block, again = _accepted(seed_generator(seed, number), cases, groups, size, reject)
        part = by_case[:, start : start + size]
        part[:] = block[: part.shape[1]].T
        redrawn += int(again[: part.shape[1]].sum())
    return Resamples(_narrow(by_case), redrawn)


def resample_in_parts(
    cases: int, *, replicates: int, seed: int, strata: ArrayLike | None = None, reject: Reject | None = None
) -> Iterator[Resamples]:
    """The same resamples in as many parts as keep each of them small; they do not depend on how many these are."""
    block = block_size(cases)
    most = max(1, _MOST_COUNTS // (cases * block)) * block
    for skip in range(0, replicates, most):
        yield resample_cases(
            cases, replicates=min(most, replicates - skip), seed=seed, strata=strata, reject=reject, skip=skip
        )


def draw_counts(
    rng: np.random.Generator, cases: int, times: int, groups: Sequence[NDArray[np.int32]] = ()
) -> NDArray[np.int32]:
    """Counts of so many resamples, resamples × cases, each stratum resampled for itself; without strata, all cases."""
    if not groups:
        return count_picks(rng.integers(0, cases, size=(times, cases), dtype=np.int32), cases)
    picks = [group[rng.integers(0, group.size, size=(times, group.size), dtype=np.int32)] for group in groups]
    return count_picks(np.concatenate(picks, axis=1), cases)


def draw_balanced_counts(
    rng: np.random.Generator, cases: int, times: int, groups: Sequence[NDArray[np.int32]] = ()
) -> NDArray[np.int32]:
    """The same, with every case as often in all resamples together: the mean over them has less noise of its own.

    References
    ----------
    Davison AC, Hinkley DV, Schechtman E. Efficient bootstrap simulation. Biometrika 73 (1986).
    """
    strata = groups or [np.arange(cases, dtype=np.int32)]
    picks = [rng.permutation(np.tile(group, times)).reshape(times, group.size) for group in strata]
    return count_picks(np.ascontiguousarray(np.concatenate(picks, axis=1)), cases)


def draw_multinomial(rng: np.random.Generator, cases: int, times: int, *, size: int | None = None) -> NDArray[np.int64]:
    """The same distribution straight from the multinomial one, of `size` cases each; other numbers of the same stream.

    Reader studies and plans of case numbers keep it, so that a seed keeps its numbers.
    """
    return rng.multinomial(cases if size is None else size, np.full(cases, 1 / cases), size=times)


def count_picks(picks: NDArray[np.int32], cases: int) -> NDArray[np.int32]:
    """From the positions drawn, resamples × draws, to counts, resamples × cases."""
    from isocenter.resampling._kernels import count_cases

    counts = np.zeros((picks.shape[0], cases), np.int32)
    count_cases(picks, counts)
    return counts


def group_by_stratum(strata: ArrayLike | None, cases: int) -> list[NDArray[np.int32]]:
    """The positions of the cases of each stratum; an empty list without strata."""
    if strata is None:
        return []
    labels = np.asarray(strata)
    if labels.shape != (cases,):
        msg = f"strata are one label per case: {cases} of them, not an array of shape {labels.shape}"
        raise ValueError(msg)
    groups = [np.flatnonzero(labels == label).astype(np.int32) for label in np.unique(labels)]
    if sum(group.size for group in groups) != cases:
        msg = "a label of a stratum is not equal to itself (NaN); every case belongs to a stratum"
        raise ValueError(msg)
    return groups


def _accepted(
    rng: np.random.Generator, cases: int, groups: list[NDArray[np.int32]], size: int, reject: Reject | None
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The counts of a full block, and how often each of its resamples was made again."""
    block, again = draw_counts(rng, cases, size, groups), np.zeros(size, np.int64)
    pending = np.arange(size)
    while reject is not None and pending.size:
        mask = np.asarray(reject(block[pending]))
        if mask.shape != pending.shape or mask.dtype != np.bool_:
            msg = f"`reject` gives one bool per draw, {pending.size} of them; it gave {mask.dtype} of {mask.shape}"
            raise ValueError(msg)
        pending = pending[mask]
        again[pending] += 1
        if again.max() > MOST_ATTEMPTS:
            msg = f"`reject` refused a draw {MOST_ATTEMPTS} times over; these cases hardly allow one that it accepts"
            raise ValueError(msg)
        block[pending] = draw_counts(rng, cases, pending.size, groups)
    return block, again


def _narrow(by_case: NDArray[np.number[Any]]) -> Counts:
    """In one byte where counts are small, as they always are in practice, and read-only."""
    narrow: Counts = by_case.astype(np.uint8 if int(by_case.max()) <= 255 else np.uint16)
    narrow.flags.writeable = False
    return narrow
