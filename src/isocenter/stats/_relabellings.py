"""All ways to label pooled values as two groups, or some of them: counted by their sums, listed, or drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, combinations, islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.stats._differences import Floats, Ints

Side = Literal["greater", "less", "two-sided"]

_OTHER_GROUP: dict[Side, Side] = {"greater": "less", "less": "greater", "two-sided": "two-sided"}
# Sums are counted in at most so many steps, some seconds of work, and with so many of them in memory.
_MOST_STEPS = 20_000_000_000
_MOST_STATES = 20_000_000
# Chances of so many relabellings are known well enough to say how many of them it is.
_MOST_WHOLE = 1 << 40
# Relabellings at once, and the most numbers that are drawn for them.
_BLOCK = 1 << 14
_MOST_DRAWN = 1 << 22
# What is only the order in which numbers were added.
_NOISE = 1e-12
_LAST_BIT = float(np.finfo(np.float64).eps)


def _from_zero(parts: Ints) -> Ints:
    """From 0 on, in the largest common unit: the order of sums of equally many stays as it is."""
    shifted: Ints = parts - parts.min()
    shifted //= max(1, int(np.gcd.reduce(shifted)))
    return shifted


def can_be_counted(parts: Ints, chosen: int) -> bool:
    ordered = np.sort(_from_zero(parts))
    states = (chosen + 1) * (int(ordered[-chosen:].sum() - ordered[:chosen].sum()) + 1)
    return states <= _MOST_STATES and states * parts.size <= _MOST_STEPS


def counted(parts: Ints, n: int, alternative: Side) -> float:
    """The share of relabellings as far as the first n of the parts, from the chances of all sums of n of them.

    The smaller group is chosen; for the larger one, low and high change places.
    """
    whole, every = _from_zero(parts), math.comb(parts.size, n)
    if 2 * n > whole.size:
        whole, n, alternative = whole[::-1], whole.size - n, _OTHER_GROUP[alternative]
    ordered = np.sort(whole)
    chance, least = _chances(ordered, n), int(ordered[:n].sum())
    found = int(whole[:n].sum()) - least
    if alternative == "two-sided":
        distance = np.abs((np.arange(chance.size) + least) * whole.size - n * int(whole.sum()))
        share = float(chance[distance >= distance[found]].sum())
    else:
        share = float(chance[found:].sum() if alternative == "greater" else chance[: found + 1].sum())
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


def listed(size: int, n: int) -> Iterator[Ints]:
    every = combinations(range(size), n)
    while rows := list(islice(every, _BLOCK)):
        yield np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=len(rows) * n).reshape(-1, n)


def drawn(size: int, n: int, replicates: int, seed: int) -> Iterator[Ints]:
    rng = np.random.default_rng(seed)
    block = max(1, min(_BLOCK, _MOST_DRAWN // size))
    for start in range(0, replicates, block):
        keys = rng.random((min(block, replicates - start), size))
        yield np.argpartition(keys, n - 1, axis=1)[:, :n]


def share(chosen: Iterator[Ints], values: Floats, n: int, alternative: Side, *, sampled: bool) -> float:
    """Of the relabellings, how many are as far as the labels found; drawn ones count that one too.

    What is as far does not depend on where the values begin: sums are taken from their mean on, and tie within the
    order of adding and the last bit of the values.
    """
    centred = values - math.fsum(values) / values.size
    noise = _NOISE * float(np.abs(centred).sum()) + _LAST_BIT * float(np.abs(values).sum())

    def reached(sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.abs(sums) if alternative == "two-sided" else -sums if alternative == "less" else sums

    bar = float(reached(np.array([centred[:n].sum()]))[0]) - noise
    far = total = 0
    for rows in chosen:
        far += int(np.count_nonzero(reached(centred[rows].sum(axis=1)) >= bar))
        total += len(rows)
    return (far + 1) / (total + 1) if sampled else far / total
