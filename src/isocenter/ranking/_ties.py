"""Values to ranks, with ties that rounding noise cannot break."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

Ties = Literal["min", "average", "dense"]

TIES_IN_WORDS: dict[Ties, str] = {
    "min": "share the better rank",
    "average": "share the mean of their ranks",
    "dense": "share a rank, and none is left out behind them",
}


def rank_values(
    values: Sequence[float | None],
    better: Literal["higher", "lower"],
    *,
    ties: Ties,
    tolerance: float = 1e-9,
) -> list[float]:
    """Ranks from 1 (best), equal values sharing a rank.

    Parameters
    ----------
    values
        One per competitor; None ranks behind every number, in either direction, and all Nones tie.
    better
        Whether a higher or a lower value is better.
    ties
        What tied competitors get: "min" the best rank of the group (1, 2, 2, 4), "average" the mean of the ranks they
        take up (1, 2.5, 2.5, 4), "dense" consecutive ranks (1, 2, 2, 3).
    tolerance
        Values are equal when they differ by at most `tolerance` × the larger magnitude of the two. 0 compares exactly.

    Notes
    -----
    "Equal within a tolerance" must not chain: with steps of 0.9 tolerances, a long row of competitors would otherwise
    all tie. Sorted from the best, a new group starts where a value is further than the tolerance from the *first* of
    the group. Sums of the same numbers in another order differ in their last bits, so exact comparison would let
    rounding decide: 0.1 + 0.2 against 0.3.

    Examples
    --------
    >>> rank_values([0.1 + 0.2, 0.3, 0.4, None], "lower", ties="min")
    [1.0, 1.0, 3.0, 4.0]
    """
    if any(value is not None and math.isnan(value) for value in values):
        msg = "NaN cannot be ranked; what could not be measured is None"
        raise ValueError(msg)
    sign = -1.0 if better == "higher" else 1.0
    costs = [math.inf if value is None else sign * value for value in values]
    # An infinite score is still a score: it ranks before "none at all".
    absent = [value is None for value in values]
    order = sorted(range(len(values)), key=lambda i: (absent[i], costs[i]))

    groups: list[list[int]] = []
    for i in order:
        first = groups[-1][0] if groups else None
        if first is not None and _equal(costs[first], costs[i], tolerance) and absent[first] == absent[i]:
            groups[-1].append(i)
        else:
            groups.append([i])

    starts = [0]
    for group in groups:
        starts.append(starts[-1] + len(group))
    ranks = [0.0] * len(values)
    for number, (group, (start, stop)) in enumerate(zip(groups, pairwise(starts), strict=True), start=1):
        rank = {"min": start + 1.0, "average": (start + 1 + stop) / 2, "dense": float(number)}[ties]
        for i in group:
            ranks[i] = rank
    return ranks


def _equal(a: float, b: float, tolerance: float) -> bool:
    """By the magnitude of the two alone: somebody else's absurd score must not make them equal."""
    return a == b or (math.isfinite(a) and math.isfinite(b) and abs(a - b) <= tolerance * max(abs(a), abs(b)))
