"""Scores of submissions in every draw of cases: a row per submission, a column per draw.

A row depends on its own submission only: the scores of a submission that comes later are one more row.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.ranking._draws import CaseDraws
from isocenter.ranking._matrices import Floats, case_weights, finite_matrix, refuse_cells
from isocenter.ranking._rank_draws import ranks_of
from isocenter.ranking._ties import Ties


def mean_draws(values: ArrayLike, draws: CaseDraws, *, weight: ArrayLike | None = None) -> Floats:
    """Mean over the drawn cases, Σ w·b·x / Σ w·b, with b how often a case is in the draw.

    Parameters
    ----------
    values
        Submissions × cases, finite.
    weight
        A weight w from 0 per case; all alike if not given. A draw whose cases all have weight 0 has no mean: that is an
        error, avoided by `reject` of `case_draws`.

    Notes
    -----
    Each w·x is rounded once; their sum is exact but for parts below 2⁻⁷⁰ of the largest for a thousand cases. Scores
    that are equal are so in every draw, whatever the order of the cases, also where positive and negative values
    cancel; and a draw of all cases has the very mean that exact summation (`math.fsum`) gives.

    Examples
    --------
    >>> draws = CaseDraws.of_indices([[0, 0, 1], [1, 2, 2]], cases=3)
    >>> mean_draws([[0.5, 0.8, 0.2]], draws).round(3).tolist()
    [[0.6, 0.4]]
    """
    x, w = _checked(values, draws), case_weights(weight, draws.cases)
    if w is None:
        return _sums(x, draws) / draws.sizes
    total = _sums(w[np.newaxis], draws)
    refuse_cells(total[0] == 0, total[0], "the drawn cases of a draw have a sum of weights above 0")
    return _sums(w * x, draws) / total


def ratio_draws(
    numerators: ArrayLike, denominators: ArrayLike, draws: CaseDraws, *, weight: ArrayLike | None = None
) -> Floats:
    """Ratio of sums over the drawn cases, Σ w·b·p / Σ w·b·q; not the mean of the ratios.

    Parameters
    ----------
    numerators
        p, submissions × cases: the sum of a case's errors, for instance.
    denominators
        q, of the same shape, or one row for all: how many errors it has. Sums of 0 are an error.
    """
    p, w = _checked(numerators, draws), case_weights(weight, draws.cases)
    q = _checked(np.atleast_2d(np.asarray(denominators, dtype=np.float64)), draws, "denominators")
    if len(q) not in (1, len(p)):
        msg = f"denominators are one row for all or one for each of {len(p)} submissions, not {len(q)} rows"
        raise ValueError(msg)
    if w is not None:
        p, q = w * p, w * q
    below = _sums(q, draws)
    refuse_cells(below == 0, below, "sums of denominators (submissions × draws) are not 0")
    return _sums(p, draws) / below


def quantile_draws(values: ArrayLike, draws: CaseDraws, *, q: float = 0.5) -> Floats:
    """Quantile of the drawn cases, the median if not said otherwise; a case counts as often as it was drawn.

    Exactly the quantile of the sample with copies, with linear interpolation: at position (m − 1)·q of m sorted copies,
    numpy's default. There are no fractions of copies, hence no case weights; whole ones can be multiplied into the
    draws (`CaseDraws.of_weights`).
    """
    from isocenter.ranking._rank_kernels import quantiles

    if not 0 <= q <= 1:
        msg = f"a quantile is at a part from 0 to 1 of the sample, not at {q}"
        raise ValueError(msg)
    x = _checked(values, draws)
    order = np.argsort(x, axis=1, kind="stable")
    found = np.empty((len(x), draws.replicates))
    quantiles(draws.by_case, order, np.take_along_axis(x, order, axis=1), draws.sizes, float(q), found)
    return found


def trimmed_mean_draws(values: ArrayLike, draws: CaseDraws, *, proportion: float) -> Floats:
    """Mean of the drawn cases without the ⌊proportion · m⌋ lowest and as many highest of the m copies.

    The convention of scipy's `trim_mean`. As for quantiles, copies are whole and case weights unknown.
    """
    from isocenter.ranking._rank_kernels import trimmed_sums

    if not 0 <= proportion < 0.5:
        msg = f"a mean can be trimmed by a proportion from 0 to below 0.5 at each end, not by {proportion}"
        raise ValueError(msg)
    x, sizes = _checked(values, draws), draws.sizes
    order = np.argsort(x, axis=1, kind="stable")
    cuts = (proportion * sizes).astype(np.int64)
    found = np.empty((len(x), draws.replicates))
    parts = _in_two(np.take_along_axis(x, order, axis=1), int(sizes.max()))
    trimmed_sums(draws.by_case, order, *parts, cuts, sizes, found)
    return found / (sizes - 2 * cuts)


def mean_rank_draws(
    values: ArrayLike,
    draws: CaseDraws,
    *,
    better: Literal["higher", "lower"],
    ties: Ties,
    tolerance: float = 1e-9,
    weight: ArrayLike | None = None,
) -> Floats:
    """Mean, over the drawn cases, of the rank that a submission has in each case; lower is better.

    Cases are ranked once, before drawing, as `rank_values` does; a case drawn twice counts twice. Ranks depend on
    who takes part: with another submission, all rows change.

    References
    ----------
    Maier-Hein L et al. Why rankings of biomedical image analysis competitions should be interpreted with care.
    Nature Communications 9 (2018).
    """
    ranks = ranks_of(_checked(values, draws), better=better, ties=ties, tolerance=tolerance)
    return mean_draws(ranks, draws, weight=weight)


def _checked(values: ArrayLike, draws: CaseDraws, what: str = "values") -> Floats:
    found = finite_matrix(values, what)
    if found.shape[1] != draws.cases:
        msg = f"{what} have {found.shape[1]} cases, the draws {draws.cases}"
        raise ValueError(msg)
    return found


def _sums(values: Floats, draws: CaseDraws) -> Floats:
    from isocenter.ranking._rank_kernels import sums

    found = np.empty((len(values), draws.replicates))
    sums(draws.by_case, *_in_two(values, int(draws.sizes.max())), found)
    return found


def _in_two(values: Floats, copies: int) -> tuple[Floats, Floats]:
    """Split into multiples of a step, so wide that sums of so many copies stay exact in 53 bits, and the rest.

    The rest is below half a step, so its sums are exact as well for all but values 2⁻³⁰ times smaller than the
    largest of their row (for a thousand cases), where their rounding is below 2⁻⁷⁰ of it.
    """
    exponent: NDArray[np.int32] = np.frexp(np.abs(values).max(axis=1, initial=0.0))[1][:, np.newaxis]
    step = exponent + copies.bit_length() - 53
    coarse = np.ldexp(np.rint(np.ldexp(values, -step)), step)
    return coarse, values - coarse
