"""Many tests, one claim: p values adjusted for their number."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from isocenter.stats._differences import Floats, one_of

Adjustment = Literal["holm", "bonferroni", "bh", "none"]

ADJUSTMENTS: tuple[Adjustment, ...] = ("holm", "bonferroni", "bh", "none")


def adjust(p: ArrayLike, method: Adjustment = "holm") -> Floats:
    """P values adjusted for a family of tests, in the shape they came in; one at most α is significant at α.

    Parameters
    ----------
    p
        All tests of the family, in any order and shape. NaN, no test at all, stays NaN and does not count.
    method
        "bonferroni" and "holm" bound the chance of any false claim, and Holm's is never larger; "bh", of Benjamini
        and Hochberg, bounds the expected share of false ones among the claims, if tests are independent or positively
        dependent; "none" adjusts nothing.

    Notes
    -----
    Of m tests with p₁ ≤ … ≤ pₘ: Bonferroni m·pᵢ; Holm max over j ≤ i of (m − j + 1)·pⱼ; Benjamini and Hochberg min
    over j ≥ i of m·pⱼ/j; none above 1. scipy has only the last one (`false_discovery_control`) and takes seven times as
    long for a family; ranks by tests adjust one family per bootstrap resample.

    References
    ----------
    Holm S. A simple sequentially rejective multiple test procedure. Scand J Stat 6 (1979).
    Benjamini Y, Hochberg Y. Controlling the false discovery rate. J R Stat Soc B 57 (1995).

    Examples
    --------
    >>> adjust([0.01, 0.04, 0.03], "holm").round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    one_of("an adjustment", method, ADJUSTMENTS)
    given = np.asarray(p, dtype=np.float64)
    wrong = given[(given < 0) | (given > 1)]
    if wrong.size:
        msg = f"a p value is a number from 0 to 1, and {wrong.size} of {given.size} are not ({wrong[0]})"
        raise ValueError(msg)
    found = given.copy()
    tested = ~np.isnan(given)
    found[tested] = _adjusted(given[tested], method)
    return found


def _adjusted(p: Floats, method: Adjustment) -> Floats:
    m = p.size
    if method == "none":
        return p
    if method == "bonferroni":
        return np.minimum(1.0, m * p)
    order = np.argsort(p)
    if method == "holm":
        stepped = np.maximum.accumulate(np.arange(m, 0, -1) * p[order])
    else:
        stepped = np.minimum.accumulate((m / np.arange(1, m + 1) * p[order])[::-1])[::-1]
    found = np.empty(m)
    found[order] = np.minimum(1.0, stepped)
    return found
