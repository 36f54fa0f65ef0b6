"""Two groups of independent values: how many of all ways to label them give as large a difference as was found?

The groups are trained instances of two algorithms, readers of two panels, or instances and readers. If it makes no
difference to which group a value belongs, all relabellings are equally probable, and they are counted, not drawn: the
sums of whole numbers are few, however many relabellings there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from isocenter.resampling.permutations import (
    Tail,
    can_count_relabellings,
    count_as_far,
    draw_relabellings,
    list_relabellings,
    p_value,
    share_of_relabellings,
)
from isocenter.stats._differences import Floats, Ints, check_reading, checked_groups, one_of
from isocenter.stats._provenance import record

PermutationStatistic = Literal["rank", "difference"]

SIDES: dict[Tail, str] = {
    "greater": "one-sided (a greater than b)",
    "less": "one-sided (a less than b)",
    "two-sided": "two-sided",
}
# Relabellings are listed one by one up to here.
_MOST_LISTED = 500_000
# Decimals that values are looked at for, and the most units of the last one.
_DECIMALS = range(7)
_MOST_UNITS = 2.0**40
# What is only the order in which numbers were added.
_NOISE = 1e-12
_LAST_BIT = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class PermutationTest:
    """What `permutation_test` found; as text, a sentence of a paper.

    Attributes
    ----------
    statistic
        What was compared, "rank" or "difference".
    value
        The rank statistic P(a > b) + ½ P(a = b), or mean(a) − mean(b).
    p_value
        Of the alternative asked for.
    alternative
        "greater", "less" or "two-sided".
    size_a, size_b
        How many values there are in each group.
    method
        "exact" from all relabellings, "drawn" from some.
    relabellings
        How many there are, or how many were drawn.
    seed
        Of the draws; None where nothing was drawn.
    decimals
        That values were rounded to; None where they were taken as they are.
    """

    statistic: PermutationStatistic
    value: float
    p_value: float
    alternative: Tail
    size_a: int
    size_b: int
    method: Literal["exact", "drawn"]
    relabellings: int
    seed: int | None
    decimals: int | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return record(asdict(self), test="permutation test of two groups")

    def __str__(self) -> str:
        what = "P(a > b) + ½ P(a = b)" if self.statistic == "rank" else "mean(a) − mean(b)"
        how = f"all {self.relabellings}" if self.method == "exact" else f"{self.relabellings} drawn"
        seed = "" if self.seed is None else f" (seed {self.seed})"
        rounded = "" if self.decimals is None else f", values rounded to {self.decimals} decimals"
        return (
            f"{what} = {self.value:.4g} for {self.size_a} values of a and {self.size_b} of b; permutation test over "
            f"{how} relabellings{seed}{rounded}, {SIDES[self.alternative]}: p = {self.p_value:.3g}."
        )


def permutation_test(
    a: ArrayLike,
    b: ArrayLike,
    *,
    statistic: PermutationStatistic = "rank",
    alternative: Tail = "greater",
    decimals: int | None = None,
    replicates: int = 1_000_000,
    seed: int = 0,
) -> PermutationTest:
    """The permutation test of two independent groups, exact wherever that is possible.

    Parameters
    ----------
    a, b
        Values of the two groups: the algorithm in question and its baseline, say.
    statistic
        "rank" is P(a > b) + ½ P(a = b), the statistic of Mann and Whitney over the number of pairs. "difference" is
        mean(a) − mean(b).
    alternative
        What a small p speaks for: values of a are "greater" or "less" than those of b, or either.
    decimals
        Values are rounded to so many before anything else, so that noise breaks no tie. None takes them as they are.
    replicates, seed
        For relabellings that are drawn: how many, and the seed of their draws.

    Notes
    -----
    p is the share of all C(n + m, n) relabellings of the pooled values whose statistic is at least as far in the
    direction of the alternative as the one found; "two-sided" measures how far it is from what is expected of chance, ½
    or 0. It is never less than one relabelling in all: with 5 and 5 values 0.004, with 3 and 3 0.05.

    A statistic is a sum of n whole numbers: of doubled midranks, ties included, or of values in units of a common
    decimal. Their sums are counted by going through the values once, which is exact for dozens of values in either
    group. Differences of numbers that have no decimal in common are listed, up to half a million of them. Beyond that,
    B relabellings are drawn and p = (1 + their number as far) / (1 + B), which `method` says.

    scipy's `permutation_test` lists or draws relabellings and never counts sums: it is not exact beyond some twenty
    values. Its two-sided p doubles the smaller tail, where this one measures the distance.

    References
    ----------
    Mann HB, Whitney DR. On a test of whether one of two random variables is stochastically larger than the other.
    Ann Math Stat 18 (1947).
    Streitberg B, Röhmel J. Exact distributions for permutation and rank tests. Stat Softw Newsl 12 (1986).
    Phipson B, Smyth GK. Permutation p-values should never be zero. Stat Appl Genet Mol Biol 9 (2010) 39.

    Examples
    --------
    >>> found = permutation_test([0.92, 0.87, 0.90], [0.85, 0.84, 0.86])
    >>> found.value, round(found.p_value, 6), found.method
    (1.0, 0.05, 'exact')
    """
    one_of("statistic", statistic, ("rank", "difference"))
    one_of("alternative", alternative, SIDES)
    check_reading("higher", decimals)
    if replicates < 1:
        msg = f"at least 1 relabelling is drawn, not {replicates}"
        raise ValueError(msg)
    first, second = checked_groups(a, b)
    pooled = _rounded(np.concatenate([first, second]), decimals)
    n, m = first.size, second.size
    parts = _doubled_midranks(pooled) if statistic == "rank" else _lattice(pooled)
    value = _rank_value(parts, n) if statistic == "rank" and parts is not None else _mean_difference(pooled, n)
    every = math.comb(n + m, n)
    countable = parts is not None and can_count_relabellings(parts, min(n, m))
    sampled = not countable and every > _MOST_LISTED
    if parts is not None and countable:
        p = share_of_relabellings(parts, n, alternative)
    else:
        values = pooled if parts is None else parts.astype(np.float64)
        chosen = draw_relabellings(n + m, n, replicates, seed) if sampled else list_relabellings(n + m, n)
        p = p_value(*_count(chosen, values, n, alternative), sampled=sampled)
    return PermutationTest(
        statistic=statistic,
        value=value,
        p_value=p,
        alternative=alternative,
        size_a=n,
        size_b=m,
        method="drawn" if sampled else "exact",
        relabellings=replicates if sampled else every,
        seed=seed if sampled else None,
        decimals=decimals,
    )


def _rounded(values: Floats, decimals: int | None) -> Floats:
    if decimals is None:
        return values
    units: Floats = np.rint(np.round(values * 10.0**decimals, 6)) / 10.0**decimals
    return units


def _doubled_midranks(values: Floats) -> Ints:
    """Twice the mean rank of each value among all, from 2 on: whole numbers, ties or not."""
    _, group, size = np.unique(values, return_inverse=True, return_counts=True)
    return (2 * np.cumsum(size) - size + 1)[group].astype(np.int64)


def _lattice(values: Floats) -> Ints | None:
    """The values in units of their last decimal, if they are decimal numbers with a few digits after the point."""
    for decimals in _DECIMALS:
        units = np.rint(values * 10.0**decimals)
        if np.array_equal(units / 10.0**decimals, values) and np.abs(units).max() < _MOST_UNITS:
            return units.astype(np.int64)
    return None


def _rank_value(parts: Ints, n: int) -> float:
    m = parts.size - n
    return (int(parts[:n].sum()) - n * (n + 1)) / (2 * n * m)


def _mean_difference(pooled: Floats, n: int) -> float:
    return math.fsum(pooled[:n]) / n - math.fsum(pooled[n:]) / (pooled.size - n)


def _count(chosen: Iterator[Ints], values: Floats, n: int, alternative: Tail) -> tuple[int, int]:
    """How many relabellings are as far as the labels found, and how many there are.

    What is as far does not depend on where the values begin: sums are taken from their mean on, and tie within the
    order of adding and the last bit of the values.
    """
    centred = values - math.fsum(values) / values.size
    noise = _NOISE * float(np.abs(centred).sum()) + _LAST_BIT * float(np.abs(values).sum())
    sums = (centred[rows].sum(axis=1) for rows in chosen)
    return count_as_far(sums, float(centred[:n].sum()), alternative, noise=noise)
