"""Confidence intervals of scores from their draws: percentiles, and BCa."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from isocenter.ranking._matrices import Floats, finite_matrix, finite_vector

_NORMAL = NormalDist()


@dataclass(frozen=True, eq=False)
class ScoreIntervals:
    """Bounds per submission.

    Attributes
    ----------
    low, high
        One each per submission.
    level
        The coverage aimed at, of each interval for itself.
    fallback
        Per submission why a BCa interval is one of percentiles; "" where it is what was asked for.
    """

    low: Floats
    high: Floats
    level: float
    fallback: tuple[str, ...]


def percentile_interval(scores: ArrayLike, *, level: float = 0.95) -> ScoreIntervals:
    """Quantiles (1 ± level)/2 of each row of score draws, submissions × draws, interpolated linearly.

    References
    ----------
    Efron B, Tibshirani RJ. An introduction to the bootstrap. Chapman & Hall (1993), chapter 13.
    """
    draws = _checked(scores, level)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=1)
    return ScoreIntervals(low, high, level, ("",) * len(draws))


def bca_interval(
    full: ArrayLike, scores: ArrayLike, jackknife: ArrayLike, *, level: float = 0.95, tolerance: float = 1e-9
) -> ScoreIntervals:
    """Bias-corrected and accelerated intervals: percentiles moved by how skew the draws are.

    Parameters
    ----------
    full
        The score on all cases, one per submission.
    scores
        Score draws, submissions × draws.
    jackknife
        Submissions × cases: the score without each case, from `CaseDraws.leave_one_out`.
    tolerance
        Scores closer than this × the largest of their row are equal.

    Notes
    -----
    The bounds are quantiles Φ(z₀ + (z₀ + z) / (1 − a(z₀ + z))) of the draws, with z = Φ⁻¹((1 ± level)/2).
    Bias: Φ(z₀) is the share of draws below the score, those equal to it counting half. Acceleration:
    a = Σ d³ / (6 (Σ d²)^{3/2}), with d the mean of the jackknife less each of its values. Where every draw lies on one
    side of the score, or no case makes a difference, there is no such number; then the percentile interval stands,
    and `fallback` says why.

    References
    ----------
    Efron B. Better bootstrap confidence intervals. Journal of the American Statistical Association 82 (1987).
    """
    draws, without = _checked(scores, level), finite_matrix(jackknife, "jackknife scores")
    score = finite_vector(full, len(draws), "scores on all cases")
    if len(without) != len(draws):
        msg = f"there are jackknife scores of {len(without)} submissions, and draws of {len(draws)}"
        raise ValueError(msg)
    rows = [_levels(*row, level, tolerance) for row in zip(score, draws, without, strict=True)]
    bounds = [np.quantile(row, at) for row, (at, _) in zip(draws, rows, strict=True)]
    low, high = np.array(bounds).reshape(-1, 2).T
    return ScoreIntervals(low, high, level, tuple(reason for _, reason in rows))


def _levels(
    score: float, draws: Floats, without: Floats, level: float, tolerance: float
) -> tuple[tuple[float, float], str]:
    """The quantiles of the draws that bound the score, and why they are not those of BCa."""
    plain = (1 - level) / 2, (1 + level) / 2
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
    found = finite_matrix(scores, "score draws")
    if found.shape[1] == 0:
        msg = "an interval needs at least 1 draw"
        raise ValueError(msg)
    return found
