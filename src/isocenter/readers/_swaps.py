"""Blocks made even by swapping: the arithmetic behind `deal`.

Units with the same facts are alike, so what is moved are kinds of units: `held[k, b]` of kind k are in block b. A
value of a fact that n units of a block have costs (n − share)², and far more for what is beyond 1 on either side. Kinds
cost a little too: of two deals that are equally even in all facts, the one is taken that is more even in their
combinations.

Costs are whole numbers, of distances times the number of blocks: sums of them are exact, whatever the machine, and so
is the choice between two swaps that win the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_SIZE = 1e14  # a block that is larger than another by two
_BEYOND = 1e6  # a count that is more than 1 away from its share
_FACT = 1e3  # single facts, beside their combinations


class Swaps:
    """Kinds of units and blocks, and what it costs that they are uneven.

    Empty seats fill the smaller blocks, so that every move is a swap. They are the last kind, without any fact.

    Parameters
    ----------
    kinds
        The facts of each kind, as many for each; "" is one that need not be even.
    totals
        How many units there are of each kind.
    blocks
        How many blocks there are.
    """

    def __init__(self, kinds: Sequence[Sequence[str]], totals: Sequence[int], blocks: int) -> None:
        self.blocks = blocks
        self.totals = np.array([*totals, -sum(totals) % blocks], dtype=np.int64)
        values: dict[tuple[int, str], int] = {}
        for facts in kinds:
            for number, value in enumerate(facts):
                if value:
                    values.setdefault((number, value), len(values))
        # By kind, which values it has; the last column is that of being a unit, and no empty seat.
        self.has = np.zeros((len(kinds) + 1, len(values) + 1), dtype=np.int64)
        self.has[:-1, -1] = 1
        for kind, facts in enumerate(kinds):
            self.has[kind, [values[number, value] for number, value in enumerate(facts) if value]] = 1
        self.weighs = self.has.astype(np.float64)  # products of whole numbers are many times slower
        self.costs = self._costs()

    def _costs(self) -> Floats:
        """What n units of a value in one block cost, by value and n."""
        counts = self.has.T @ self.totals
        away = np.abs(np.arange(int(counts.max()) + 2) * self.blocks - counts[:, None])
        costs = _FACT * away**2 + _BEYOND * np.maximum(away - self.blocks, 0) ** 2
        costs[-1] = _SIZE * (away[-1] >= self.blocks)
        return np.asarray(costs, dtype=np.float64)

    def cost(self, held: Ints) -> float:
        """What a deal costs."""
        facts = np.take_along_axis(self.costs, self.has.T @ held, axis=1).sum()
        kinds = ((held * self.blocks - self.totals[:, None]) ** 2)[:-1].sum()
        return float(facts + kinds)

    def settle(self, held: Ints) -> Ints:
        """Swap as long as any swap of two units makes the deal cheaper."""
        held = held.copy()
        counts = self.has.T @ held
        moved = True
        while moved:
            moved = False
            for a, b in combinations(range(self.blocks), 2):
                while (swap := self._best(held, counts, a, b)) is not None:
                    gives, takes = swap
                    for kind, step in ((gives, -1), (takes, 1)):
                        held[kind, [a, b]] += (step, -step)
                        counts[:, a] += step * self.has[kind]
                        counts[:, b] -= step * self.has[kind]
                    moved = True
        return held

    def _best(self, held: Ints, counts: Ints, a: int, b: int) -> tuple[int, int] | None:
        """The kinds that block a gives to b and takes from it, if that wins anything."""
        mine, theirs = np.flatnonzero(held[:, a]), np.flatnonzero(held[:, b])
        if not (mine.size and theirs.size):
            return None
        give = self._step(counts[:, a], -1) + self._step(counts[:, b], 1)
        take = self._step(counts[:, a], 1) + self._step(counts[:, b], -1)
        # By kind: (n ± 1 − share)² − (n − share)², in both blocks, as cost counts it.
        ahead = held[:, b] - held[:, a]
        leave, come = (2.0 * self.blocks**2 * (1 + way * ahead) for way in (1, -1))
        leave[-1] = come[-1] = 0.0
        given, taken = self.weighs[mine], self.weighs[theirs]
        giving, taking = given @ give + leave[mine], taken @ take + come[theirs]
        # A value that both have stays where it is.
        shared = (given * (give + take)) @ taken.T
        change = giving[:, None] + taking[None, :] - shared
        change[mine[:, None] == theirs[None, :]] = 0.0
        gives, takes = np.unravel_index(int(change.argmin()), change.shape)
        if change[gives, takes] >= 0:
            return None
        return int(mine[gives]), int(theirs[takes])

    def _step(self, counts: Ints, step: int) -> Floats:
        """What one unit more or less of each value costs in a block; nothing is taken from where there is none."""
        rows = np.arange(len(counts))
        there = np.clip(counts + step, 0, self.costs.shape[1] - 1)
        return np.asarray(self.costs[rows, there] - self.costs[rows, counts], dtype=np.float64)
