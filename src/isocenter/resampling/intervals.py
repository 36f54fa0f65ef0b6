"""Confidence intervals of statistics from their bootstrap resamples: percentiles, and BCa."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from isocenter.resampling.matrices import Floats, finite_matrix, finite_vector

_NORMAL = NormalDist()


@dataclass(frozen=True, eq=False)
class Intervals:
    """Bounds per row of statistics.

    Attributes
    ----------
    low, high
        One each per row.
    level
        The coverage aimed at, of each interval for itself.
    fallback
        Per row why a BCa interval is one of percentiles; "" where it is what was asked for.
    """

    low: Floats
    high: Floats
    level: float
    fallback: tuple[str, ...]


def percentile_bounds(samples: Floats, level: float) -> tuple[float, float]:
    """Quantiles (1 ± level)/2 of the replicates of one statistic, interpolated linearly.

    References
    ----------
    Efron B, Tibshirani RJ. An introduction to the bootstrap. Chapman & Hall (1993), chapter 13.

    Examples
    --------
    >>> percentile_bounds(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    low, high = np.quantile(samples, _plain_levels(level))
    return float(low), float(high)


def percentile_interval(scores: ArrayLike, *, level: float = 0.95) -> Intervals:
    """Percentile intervals of each row of statistics, rows × resamples; see `percentile_bounds`."""
    replicates = _checked(scores, level)
    low, high = np.quantile(replicates, _plain_levels(level), axis=1)
    return Intervals(low, high, level, ("",) * len(replicates))


def bca_interval(
    full: ArrayLike, scores: ArrayLike, jackknife: ArrayLike, *, level: float = 0.95, tolerance: float = 1e-9
) -> Intervals:
    """Bias-corrected and accelerated (BCa) intervals: percentiles moved by how skew the resamples are.

    Parameters
    ----------
    full
        The statistic of all cases, one per row.
    scores
        In every resample, rows × resamples.
    jackknife
        Rows × cases: the statistic without each case, from `Resamples.leave_one_out`.
    tolerance
        Statistics closer than this × the largest of their row are equal.

    Notes
    -----
    The bounds are quantiles Φ(z₀ + (z₀ + z) / (1 − a(z₀ + z))) of the resamples, with z = Φ⁻¹((1 ± level)/2).
    Bias: Φ(z₀) is the share of resamples below the statistic, those equal to it counting half. Acceleration:
    a = Σ d³ / (6 (Σ d²)^{3/2}), with d the mean of the jackknife less each of its values. Where every resample lies on
    one side, or no case makes a difference, there is no such number; then the percentile interval stands,
    and `fallback` says why.

    References
    ----------
    Efron B. Better bootstrap confidence intervals. Journal of the American Statistical Association 82 (1987).
    DiCiccio TJ, Efron B. Bootstrap confidence intervals. Statistical Science 11 (1996) 189-228.
    """
    draws, without = _checked(scores, level), finite_matrix(jackknife, "jackknife scores")
    score = finite_vector(full, len(draws), "scores on all cases")
    if len(without) != len(draws):
        msg = f"there are jackknife scores of {len(without)} submissions, and draws of {len(draws)}"
        raise ValueError(msg)
    rows = [_levels(*row, level, tolerance) for row in zip(score, draws, without, strict=True)]
    bounds = [np.quantile(row, at) for row, (at, _) in zip(draws, rows, strict=True)]
    low, high = np.array(bounds).reshape(-1, 2).T
    return Intervals(low, high, level, tuple(reason for _, reason in rows))


def _plain_levels(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def _levels(
    score: float, draws: Floats, without: Floats, level: float, tolerance: float
) -> tuple[tuple[float, float], str]:
    """The quantiles of the resamples that bound the statistic, and why they are not those of BCa."""
    plain = _plain_levels(level)
    same = tolerance * max(np.abs(draws).max(), abs(score))
    below, above = float(np.mean(draws < score - same)), float(np.mean(draws > score + same))
    share = (1.0 + below - above) / 2
    d = without.mean() - without
    largest = np.abs(d).max(initial=0.0)
    if largest <= tolerance * np.abs(without).max(initial=0.0):
        return plain, "percentiles: no case makes a difference to the score"
    if not 0 < share < 1:
        return plain, "percentiles: all draws lie on one side of the score"
    d = d / largest
    a, z0 = float(np.sum(d**3) / (6 * np.sum(d**2) ** 1.5)), _NORMAL.inv_cdf(share)
    z = [z0 + _NORMAL.inv_cdf(at) for at in plain]
    if 1 - a * z[0] <= 0 or 1 - a * z[1] <= 0:
        return plain, "percentiles: the draws are too skew to be corrected"
    return (_NORMAL.cdf(z0 + z[0] / (1 - a * z[0])), _NORMAL.cdf(z0 + z[1] / (1 - a * z[1]))), ""


def _checked(scores: ArrayLike, level: float) -> Floats:
    if not 0 < level < 1:
        msg = f"an interval has a level within 0 and 1, not {level}"
        raise ValueError(msg)
    replicates = finite_matrix(scores, "score draws")
    if replicates.shape[1] == 0:
        msg = "an interval needs at least 1 draw"
        raise ValueError(msg)
    return replicates
