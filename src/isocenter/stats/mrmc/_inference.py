"""Intervals and p values from an estimate, its variance and degrees of freedom."""

from __future__ import annotations

import math

IMRMC = "imrmc-4.0.3"


def used_df(df: float, compat: str | None) -> float:
    """The df that t is taken at: as it is, or as iMRMC 4.0.3 does it, rounded down, and normal from 50 on."""
    if compat is None or math.isinf(df):
        return df
    return float(math.floor(df)) if df < 50 else math.inf


def reach(variance: float, df: float, level: float) -> float:
    """Half the width of the interval."""
    from scipy.special import ndtri, stdtrit

    upper = (1 + level) / 2
    quantile = ndtri(upper) if math.isinf(df) else stdtrit(df, upper)
    return float(quantile) * math.sqrt(variance)


def two_sided(difference: float, variance: float, df: float) -> float:
    """P of no difference; 1 where there is no variance, which nothing can be compared with."""
    from scipy.special import ndtr, stdtr

    if variance <= 0:
        return 1.0
    t = -abs(difference) / math.sqrt(variance)
    return float(2 * (ndtr(t) if math.isinf(df) else stdtr(df, t)))
