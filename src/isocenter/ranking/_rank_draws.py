"""Ranks of submissions in every bootstrap resample, and what they say about the ranking."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.ranking._agreement import Agreement, kendall_draws, p_better
from isocenter.ranking._ties import TIES_IN_WORDS, Ties
from isocenter.resampling.matrices import Floats, finite_matrix, finite_vector


def ranks_of(scores: ArrayLike, *, better: Literal["higher", "lower"], ties: Ties, tolerance: float = 1e-9) -> Floats:
    """Ranks from 1 (best) within each column of scores, submissions × draws, as `rank_values` gives them.

    Values are equal when they differ by at most `tolerance` × the larger magnitude of the two; groups of equals do not
    chain, see `rank_values`. All scores are finite.

    Examples
    --------
    >>> ranks_of([[0.1 + 0.2, 1.0], [0.3, 2.0], [0.4, 1.5]], better="lower", ties="min").tolist()
    [[1.0, 1.0], [1.0, 3.0], [3.0, 2.0]]
    """
    from isocenter.ranking._rank_kernels import AVERAGE, DENSE, MIN, rank_columns

    if better not in ("higher", "lower") or ties not in TIES_IN_WORDS or not 0 <= tolerance < np.inf:
        expected = f"'higher' or 'lower', ties {', '.join(TIES_IN_WORDS)}, a finite tolerance from 0"
        msg = f"ranks need {expected}; not {better!r}, {ties!r} and {tolerance}"
        raise ValueError(msg)
    x = finite_matrix(scores, "scores")
    found = np.empty_like(x)
    if x.size:
        code = {"min": MIN, "average": AVERAGE, "dense": DENSE}[ties]
        rank_columns(x, _network(len(x)), -1.0 if better == "higher" else 1.0, float(tolerance), code, found)
    return found


@dataclass(frozen=True, eq=False)
class RankDraws:
    """Ranks in every draw of cases, and the ranking on all cases.

    A *place* is 1 + the number of submissions that are better: what ranks are with ties "min". Frequencies and
    probabilities are those of places, whatever the ranks do with ties. So all of m submissions that share the first
    place are first, each of them counts 1, and the probabilities of being first may add up to more than 1.

    Attributes
    ----------
    ranks
        Submissions × draws.
    full
        The ranks on all cases.
    """

    ranks: Floats
    full: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranks", finite_matrix(self.ranks, "ranks"))
        if self.ranks.size == 0:
            msg = f"ranks are of at least 1 submission in at least 1 draw, not {self.ranks.shape}"
            raise ValueError(msg)
        object.__setattr__(self, "full", finite_vector(self.full, len(self.ranks), "ranks on all cases"))

    @cached_property
    def frequency(self) -> Floats:
        """Submissions × places: in which share of the draws a submission has place 1, 2, …"""
        places = ranks_of(self.ranks, better="lower", ties="min", tolerance=0.0)
        found: Floats = _tally(places)[:, 2::2] / self.ranks.shape[1]
        return found

    @property
    def p_first(self) -> Floats:
        """In which share of the draws nobody is better; see the class about ties."""
        return self.p_top(1)

    def p_top(self, k: int) -> Floats:
        """In which share of the draws fewer than k submissions are better."""
        if k < 1:
            msg = f"the top starts with place 1, not {k}"
            raise ValueError(msg)
        found: Floats = self.frequency[:, :k].sum(axis=1)
        return found

    @property
    def median(self) -> Floats:
        """The median rank of each submission."""
        return self._quantile(0.5)

    def interval(self, level: float = 0.95) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Percentile interval of each rank: quantiles (1 ± level)/2, interpolated linearly, as whole numbers outwards.

        It describes how the ranks of draws scatter. Near ties such intervals cover all true ranks at once much less
        often than their level says; that is what `rank_sets` are for.
        """
        if not 0 < level < 1:
            msg = f"an interval has a level within 0 and 1, not {level}"
            raise ValueError(msg)
        low, high = (self._quantile((1 + side * level) / 2).round(9) for side in (-1, 1))
        return np.floor(low).astype(np.int64), np.ceil(high).astype(np.int64)

    @cached_property
    def p_better(self) -> Floats:
        """How often the submission of a row is better than that of a column; see `p_better`."""
        return p_better(self.ranks)

    @cached_property
    def agreement(self) -> Agreement:
        """Kendall's tau-b of every draw with the ranking on all cases; see `kendall_draws`."""
        return kendall_draws(self.full, self.ranks)

    @cached_property
    def _cumulative(self) -> NDArray[np.int64]:
        return _tally(self.ranks).cumsum(axis=1)

    def _quantile(self, q: float) -> Floats:
        """Linear quantiles from how often each rank occurs: ranks are few, draws are many."""
        position = (self.ranks.shape[1] - 1) * q
        left = int(position)
        a, b = ((self._cumulative <= at).sum(axis=1) / 2 for at in (left, int(np.ceil(position))))
        found: Floats = a + (b - a) * (position - left)
        return found


def _tally(ranks: Floats) -> NDArray[np.int64]:
    from isocenter.ranking._rank_kernels import tally_halves

    found = np.zeros((len(ranks), 2 * len(ranks) + 1), np.int64)
    wrong = tally_halves(ranks, found)
    if wrong >= 0:
        row, column = divmod(wrong, ranks.shape[1])
        where = f"row {row}, column {column} is {ranks[row, column]} (counted from 0)"
        msg = f"ranks are whole or half numbers from 1 to {len(ranks)}; {where}"
        raise ValueError(msg)
    return found


@lru_cache(maxsize=64)
def _network(size: int) -> NDArray[np.int64]:
    """Pairs of positions that sort any row of so many numbers, if exchanged one after another where out of order.

    References
    ----------
    Batcher KE. Sorting networks and their applications. AFIPS Spring Joint Computer Conference (1968). The odd-even
    merge of Knuth DE. The art of computer programming, volume 3, section 5.2.2 (algorithm M).
    """
    pairs = []
    run = 1
    while run < size:
        gap = run
        while gap:
            for low in range(gap % run, size - gap, 2 * gap):
                last = min(low + gap, size - gap)
                pairs += [(i, i + gap) for i in range(low, last) if i // (2 * run) == (i + gap) // (2 * run)]
            gap //= 2
        run *= 2
    return np.array(pairs, np.int64).reshape(-1, 2)
