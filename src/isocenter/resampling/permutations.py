"""Flips of signs and relabellings of two groups: all of them counted by their sums or listed, or some drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain, combinations, islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.resampling.matrices import Floats

Ints = NDArray[np.int64]
Tail = Literal["greater", "less", "two-sided"]
"""Which statistics are as far as the one observed: those at least, at most, or as far from 0 on either side."""

_OTHER_GROUP: dict[Tail, Tail] = {"greater": "less", "less": "greater", "two-sided": "two-sided"}
# Sums are counted in at most so many steps, some seconds of work, and with so many of them in memory.
_MOST_STEPS = 20_000_000_000
_MOST_STATES = 20_000_000
# Chances of so many relabellings are known well enough to say how many of them it is.
_MOST_WHOLE = 1 << 40
# Flips and relabellings at once, and the most numbers that are drawn for the latter.
_FLIPS = 1 << 13
_RELABELLINGS = 1 << 14
_MOST_DRAWN = 1 << 22


def p_value(as_far: int, total: int, *, sampled: bool) -> float:
    """The share of permutations as far as the one observed; of B sampled ones, (1 + as far) / (1 + B).

    The observed one counts among those sampled. So p is valid for any B, and never below 1 / (1 + B).

    References
    ----------
    Phipson B, Smyth GK. Permutation p-values should never be zero. Stat Appl Genet Mol Biol 9 (2010) 39.

    Examples
    --------
    >>> p_value(0, 999, sampled=True), p_value(1, 8, sampled=False)
    (0.001, 0.125)
    """
    return (as_far + 1) / (total + 1) if sampled else as_far / total


def count_as_far(statistics: Iterable[Floats], observed: float, tail: Tail, *, noise: float) -> tuple[int, int]:
    """How many statistics, in blocks, are as far as the one observed but for noise; and how many there are."""

    def distance(values: Floats) -> Floats:
        return np.abs(values) if tail == "two-sided" else -values if tail == "less" else values

    bar = float(distance(np.array([observed]))[0]) - noise
    as_far = total = 0
    for block in statistics:
        as_far, total = as_far + int(np.count_nonzero(distance(block) >= bar)), total + len(block)
    return as_far, total


def list_flips(n: int) -> Iterator[NDArray[np.int8]]:
    """In blocks, one row of 1 and −1 for each of the 2ⁿ flips of n signs."""
    for start in range(0, 1 << n, _FLIPS):
        codes = np.arange(start, min(start + _FLIPS, 1 << n))
        yield (1 - 2 * ((codes[:, None] >> np.arange(n)) & 1)).astype(np.int8)


def draw_flips(n: int, replicates: int, seed: int) -> Iterator[NDArray[np.int8]]:
    """In blocks, so many random rows of 1 and −1; one stream, which the seed begins."""
    rng = np.random.default_rng(seed)
    for start in range(0, replicates, _FLIPS):
        yield 2 * rng.integers(0, 2, size=(min(_FLIPS, replicates - start), n), dtype=np.int8) - 1


def chances_of_sums(parts: Ints) -> Floats:
    """How probable each sum is, from 0 on, if every part is in it or not with probability ½; exact but for rounding.

    The sums of the parts seen so far are shifted by the next one: n parts that sum to S need n·S steps, not 2ⁿ.
    """
    chance = np.zeros(int(parts.sum()) + 1)
    chance[0], reached = 1.0, 1
    for part in np.sort(parts).tolist():
        seen = chance[:reached] / 2
        chance[:reached] = seen
        chance[part : part + reached] += seen
        reached += part
    return chance


def share_of_flips(parts: Ints, positive: int, tail: Tail) -> float:
    """The share of flips of these sizes whose positive ones sum as far as observed; "two-sided" doubles the tail."""
    chance = chances_of_sums(parts)
    if tail == "less":
        return min(1.0, float(chance[: positive + 1].sum()))
    if tail == "greater":
        return min(1.0, float(chance[positive:].sum()))
    return min(1.0, 2 * float(chance[max(positive, chance.size - 1 - positive) :].sum()))


def _from_zero(parts: Ints) -> Ints:
    """From 0 on, in the largest common unit: the order of sums of equally many stays as it is."""
    shifted: Ints = parts - parts.min()
    shifted //= max(1, int(np.gcd.reduce(shifted)))
    return shifted


def can_count_relabellings(parts: Ints, chosen: int) -> bool:
    """Whether the sums of so many of the parts are few enough to be counted in some seconds."""
    ordered = np.sort(_from_zero(parts))
    states = (chosen + 1) * (int(ordered[-chosen:].sum() - ordered[:chosen].sum()) + 1)
    return states <= _MOST_STATES and states * parts.size <= _MOST_STEPS


def share_of_relabellings(parts: Ints, n: int, tail: Tail) -> float:
    """The share of relabellings as far as the first n of the parts, from the chances of all sums of n of them.

    "Two-sided" measures how far a sum is from its mean. The smaller group is chosen; for the larger one, low and high
    change places.
    """
    whole, every = _from_zero(parts), math.comb(parts.size, n)
    if 2 * n > whole.size:
        whole, n, tail = whole[::-1], whole.size - n, _OTHER_GROUP[tail]
    ordered = np.sort(whole)
    chance, least = _chances(ordered, n), int(ordered[:n].sum())
    observed = int(whole[:n].sum()) - least
    if tail == "two-sided":
        distance = np.abs((np.arange(chance.size) + least) * whole.size - n * int(whole.sum()))
        share = float(chance[distance >= distance[observed]].sum())
    else:
        share = float(chance[observed:].sum() if tail == "greater" else chance[: observed + 1].sum())
    return round(share * every) / every if every <= _MOST_WHOLE else min(1.0, share)


def _chances(parts: Ints, n: int) -> Floats:
    """How probable each sum of n of the sorted parts is, from the least on, if all choices are equally probable.

    One part after another is chosen or not: of i parts passed over with k chosen, the next is one of the n − k still
    wanted with probability (n − k) / (size − i). All terms are positive, so small chances are as exact as large ones.
    The sums of k parts are kept from that of the k smallest on.
    """
    total, whole = np.append(0, np.cumsum(parts)).tolist(), parts.tolist()
    size = parts.size
    state: Floats = np.zeros((n + 1, total[size] - total[size - n] - total[n] + 1))
    state[0, 0] = 1.0
    for i, part in enumerate(whole):
        for k in range(min(i, n - 1), max(0, n - size + i) - 1, -1):
            into = (n - k) / (size - i)
            width = total[i] - total[i - k] - total[k] + 1  # from the k smallest to the k largest
            further = part - whole[k]
            state[k + 1, further : further + width] += into * state[k, :width]
            state[k, :width] *= 1.0 - into
    chances: Floats = state[n]
    return chances


def list_relabellings(size: int, n: int) -> Iterator[Ints]:
    """In blocks, a row for each way to choose n of so many positions."""
    every = combinations(range(size), n)
    while rows := list(islice(every, _RELABELLINGS)):
        yield np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=len(rows) * n).reshape(-1, n)


def draw_relabellings(size: int, n: int, replicates: int, seed: int) -> Iterator[Ints]:
    """In blocks, so many random choices of n positions; one stream, which the seed begins."""
    rng = np.random.default_rng(seed)
    block = max(1, min(_RELABELLINGS, _MOST_DRAWN // size))
    for start in range(0, replicates, block):
        keys = rng.random((min(block, replicates - start), size))
        yield np.argpartition(keys, n - 1, axis=1)[:, :n]
