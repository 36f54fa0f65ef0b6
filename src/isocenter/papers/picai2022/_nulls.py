"""What a permutation test compares with: its statistic under all relabellings, or many."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from isocenter.report import histogram_plot
from isocenter.resampling.permutations import list_relabellings
from isocenter.stats import PermutationTest

Floats = NDArray[np.float64]

FEWEST = 20
"""Relabellings, for a picture of them to show anything."""

_LISTED = 20_000
_ROUNDING = 1e-12


def null_values(a: Sequence[float], b: Sequence[float], test: PermutationTest, *, seed: int = 0) -> Floats:
    """The statistic of a test of a and b under all relabellings, or under 20 000 drawn ones if there are more."""
    pooled = np.array([*a, *b])
    if test.decimals is not None:
        pooled = pooled.round(test.decimals)
    n, m = len(a), len(b)
    if math.comb(n + m, n) <= _LISTED:
        chosen = np.concatenate(list(list_relabellings(n + m, n)))
    else:
        rng = np.random.default_rng(seed)
        chosen = rng.permuted(np.tile(np.arange(n + m), (_LISTED, 1)), axis=1)[:, :n]
    inside = np.zeros((len(chosen), n + m), np.bool_)
    np.put_along_axis(inside, chosen, values=True, axis=1)
    if test.statistic == "difference":
        means: Floats = (inside @ pooled) / n - (~inside @ pooled) / m
        return means
    above = (pooled[:, None] > pooled + _ROUNDING) + 0.5 * (np.abs(pooled[:, None] - pooled) <= _ROUNDING)
    ranks: Floats = np.einsum("ri,ij,rj->r", inside, above, ~inside, optimize=True) / (n * m)
    return ranks


def null_plot(
    a: Sequence[float], b: Sequence[float], test: PermutationTest, *, label: str, title: str, name: str
) -> Markup:
    """The null distribution with the value found."""
    return histogram_plot(
        null_values(a, b, test).tolist(), label=label, title=title, name=name, marks={"found": test.value}
    )
