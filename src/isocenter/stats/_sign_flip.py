"""The test that assumes least: if neither submission is better, every difference could as well have the other sign."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.resampling.permutations import count_as_far, draw_flips, list_flips, p_value, share_of_flips
from isocenter.stats._differences import (
    ALTERNATIVES,
    TAILS,
    Alternative,
    Better,
    Decimals,
    Floats,
    Ints,
    differences,
    in_their_unit,
    numbered,
    one_of,
)
from isocenter.stats._paired import Exact
from isocenter.stats._provenance import record

Statistic = Literal["mean", "median"]

# All 2ⁿ flips are tried up to here; sums on a lattice are counted as long as that takes about a second.
MOST_FLIPPED = 20
_MOST_STEPS = 1_000_000_000
_MOST_SUMS = 10_000_000
_EXACT_SUM = 2.0**53
# Sums of the same numbers in another order are the same sum.
_NOISE = 1e-12


class SignFlip(NamedTuple):
    """What `sign_flip` found; as text, a sentence of a paper.

    Attributes
    ----------
    statistic
        The mean or median of a − b, in the unit of the scores.
    n
        How many signs can be flipped: cases with a difference, or clusters.
    p
        Of the alternative asked for.
    method
        "exact" from all flips, "drawn" from some; "none" without any difference.
    of, alternative
        Whether `statistic` is a mean or a median, and the alternative, as they were asked for.
    replicates, seed
        Of flips that were drawn; None where none were.
    """

    statistic: float
    n: int
    p: float
    method: Literal["exact", "drawn", "none"]
    of: Statistic = "mean"
    alternative: Alternative = "better"
    replicates: int | None = None
    seed: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return record(self._asdict(), test=f"sign-flip permutation test of the {self.of}")

    def __str__(self) -> str:
        drawn = f"{self.replicates} drawn flips, seed {self.seed}"
        how = {"exact": "all flips", "drawn": drawn, "none": "nothing differs"}[self.method]
        return (
            f"{self.of.capitalize()} of a − b {self.statistic:+.4g}; sign-flip permutation test of {self.n} signs "
            f"({how}), {ALTERNATIVES[self.alternative]}: p = {self.p:.3g}."
        )


def sign_flip(
    a: ArrayLike,
    b: ArrayLike,
    *,
    better: Better,
    decimals: Decimals = None,
    alternative: Alternative = "better",
    cluster: Iterable[Hashable] | None = None,
    statistic: Statistic = "mean",
    replicates: int = 10_000,
    seed: int = 0,
    exact: Exact = "auto",
) -> SignFlip:
    """The permutation test of paired scores: how many flips of signs give as large a difference as was found?

    Parameters
    ----------
    a, b, better, decimals, alternative
        As in `signed_rank`.
    cluster
        A label per score, such as the patient: all differences of a cluster flip together. The statistic remains that
        of all scores, in which a cluster counts by its size.
    statistic
        Of the differences: their "mean" or "median".
    replicates, seed
        For flips that are drawn: how many, and the seed of their draws.
    exact
        True takes all flips, False draws, "auto" takes all if it can. It can for 20 signs, and for the mean of
        differences with `decimals` of far more: their sums fall on a lattice, and are counted rather than listed.

    Notes
    -----
    With all flips, p is the share of those whose statistic is at least as far in the direction of the alternative as
    the one found. With B drawn ones, p = (1 + their number) / (1 + B), which is valid for any B and never below
    1 / (1 + B). The result is the same for any order of the cases, and of the clusters.

    scipy's `permutation_test` of samples lists or draws flips, and knows neither clusters nor sums on a lattice.

    References
    ----------
    Fisher RA. The design of experiments. Oliver & Boyd (1935), section 21.
    Phipson B, Smyth GK. Permutation p-values should never be zero. Stat Appl Genet Mol Biol 9 (2010) 39.

    Examples
    --------
    >>> found = sign_flip([0.81, 0.77, 0.90], [0.80, 0.75, 0.87], better="higher", decimals=3)
    >>> found.n, found.p, found.method
    (3, 0.125, 'exact')
    """
    one_of("alternative", alternative, ALTERNATIVES)
    one_of("statistic", statistic, ("mean", "median"))
    one_of("exact", exact, ("auto", True, False))
    if replicates < 1:
        msg = f"at least 1 flip is drawn, not {replicates}"
        raise ValueError(msg)
    d = differences(a, b, better=better, decimals=decimals)
    number = np.arange(d.size) if cluster is None else numbered(cluster, d.size)
    found = math.fsum(d) / d.size if statistic == "mean" else float(np.median(d))
    shown = float(in_their_unit(np.array(found if better == "higher" else -found), decimals))
    values, owner = _sums(d, number) if statistic == "mean" else _members(d, number)
    if not values.any():
        return SignFlip(shown, 0, 1.0, "none", statistic, alternative)
    n = int(owner[-1]) + 1
    whole = _lattice(values) if statistic == "mean" and isinstance(decimals, int) and exact else None
    if whole is not None:
        p = share_of_flips(np.abs(whole), int(whole[whole > 0].sum()), TAILS[alternative])
        return SignFlip(shown, n, p, "exact", statistic, alternative)
    if exact and exact != "auto" and n > MOST_FLIPPED:
        msg = f"all flips of {n} signs are too many, and of {MOST_FLIPPED} the most that can be tried; exact=False"
        raise ValueError(msg)
    every = bool(exact) and n <= MOST_FLIPPED
    flips = list_flips(n) if every else draw_flips(n, replicates, seed)
    none = next(_statistics([np.ones((1, n), dtype=np.int8)], values, owner, statistic))
    as_far = count_as_far(
        _statistics(flips, values, owner, statistic),
        float(none[0]),
        TAILS[alternative],
        noise=_NOISE * float(np.abs(values).sum()),
    )
    p, drawn = p_value(*as_far, sampled=not every), () if every else (replicates, seed)
    return SignFlip(shown, n, p, "exact" if every else "drawn", statistic, alternative, *drawn)


def exceeding_flips(
    a: ArrayLike,
    b: ArrayLike,
    *,
    better: Better,
    decimals: Decimals = None,
    alternative: Alternative = "better",
    cluster: Sequence[Hashable] | None = None,
    replicates: int = 100_000,
    seed: int = 0,
) -> SignFlip:
    """The permutation test of BraTS and FeTS as published: p is the share of flips *beyond* the difference found.

    The parameters are those of `sign_flip`, of the mean.

    Notes
    -----
    For every case the two teams are exchanged or not, at random; p = #{T > t} / B over B such permutations. Flips that
    reach the same difference are not counted, and neither is the order that was found. Both make p too small: it is 0
    if one team is ahead in all cases, be they only three, and also if two submissions are the same. `sign_flip`
    counts both, and is the test to use; the difference matters with few cases, and with few different ranks.

    References
    ----------
    Bakas S, et al. Identifying the best machine learning algorithms for brain tumor segmentation, progression
    assessment, and overall survival prediction in the BRATS challenge. arXiv 1811.02629 (2018).

    Examples
    --------
    >>> ranks = [1, 1, 1], [2, 3, 2]
    >>> exceeding_flips(*ranks, better="lower", decimals=0).p, sign_flip(*ranks, better="lower", decimals=0).p
    (0.0, 0.125)
    """
    one_of("alternative", alternative, ALTERNATIVES)
    if replicates < 1:
        msg = f"at least 1 flip is drawn, not {replicates}"
        raise ValueError(msg)
    d = differences(a, b, better=better, decimals=decimals)
    shown = float(in_their_unit(np.array(math.fsum(d) / d.size * (1 if better == "higher" else -1)), decimals))
    values, owner = _sums(d, np.arange(d.size) if cluster is None else numbered(cluster, d.size))
    n = owner.size
    if not n:
        return SignFlip(shown, 0, 0.0, "none", "mean", alternative)

    def turn(sums: Floats) -> Floats:
        return np.abs(sums) if alternative == "two-sided" else -sums if alternative == "worse" else sums

    limit = float(turn(np.array(math.fsum(values)))) + _NOISE * float(np.abs(values).sum())
    beyond = sum(int(np.count_nonzero(turn(signs @ values) > limit)) for signs in draw_flips(n, replicates, seed))
    return SignFlip(shown, n, beyond / replicates, "drawn", "mean", alternative, replicates, seed)


def _sums(d: Floats, number: Ints) -> tuple[Floats, Ints]:
    """What flips, for the mean: the sums of the clusters, in an order of their own, without those that are 0."""
    of_cluster: list[list[float]] = [[] for _ in range(int(number.max()) + 1)]
    for value, cluster in zip(d.tolist(), number.tolist(), strict=True):
        of_cluster[cluster].append(value)
    sums = np.sort([total for members in of_cluster if (total := math.fsum(members))])
    return sums, np.arange(sums.size)


def _members(d: Floats, number: Ints) -> tuple[Floats, Ints]:
    """What flips, for the median: all differences and who they flip with, in an order of their own.

    Zeros come first, with the first cluster: theirs makes no difference.
    """
    of_cluster: dict[int, list[float]] = {}
    for value, cluster in zip(d.tolist(), number.tolist(), strict=True):
        if value:
            of_cluster.setdefault(cluster, []).append(value)
    flipping = sorted(sorted(members) for members in of_cluster.values())
    owner = np.repeat(np.arange(len(flipping)), [len(members) for members in flipping])
    zeros = d.size - owner.size
    values = np.concatenate([np.zeros(zeros), *flipping])
    return values, np.append(np.zeros(zeros, dtype=np.int64), owner)


def _lattice(values: Floats) -> Ints | None:
    """The values in their largest common unit, if their sums are few enough to be counted."""
    if np.abs(values).sum() >= _EXACT_SUM:
        return None
    whole = values.astype(np.int64)
    whole //= np.gcd.reduce(whole)
    reach = int(np.abs(whole).sum())
    return whole if reach <= _MOST_SUMS and whole.size * reach <= _MOST_STEPS else None


def _statistics(
    flips: Iterable[NDArray[np.int8]], values: Floats, owner: Ints, statistic: Statistic
) -> Iterator[Floats]:
    for signs in flips:
        yield signs @ values if statistic == "mean" else np.median(signs[:, owner] * values, axis=1)
