"""Statistics of values, rows × cases, in every bootstrap resample of the cases: rows × resamples.

A row depends on itself only: the values of a submission that comes later are one more row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.resampling.counts import Resamples
from isocenter.resampling.matrices import Floats, case_weights, finite_matrix, refuse_cells


def resample_means(values: ArrayLike, resamples: Resamples, *, weight: ArrayLike | None = None) -> Floats:
    """Mean over the drawn cases, Σ w·b·x / Σ w·b, with b how often a case is in the resample.

    Parameters
    ----------
    values
        Rows × cases, finite.
    weight
        A weight w from 0 per case; all alike if not given. A resample whose cases all have weight 0 has no mean: that
        is an error, avoided by `reject` of `resample_cases`.

    Notes
    -----
    Each w·x is rounded once; their sum is exact but for parts below 2⁻⁷⁰ of the largest for a thousand cases. Means
    that are equal are so in every resample, whatever the order of the cases, also where positive and negative values
    cancel; and a resample of all cases has the very mean that exact summation (`math.fsum`) gives.

    Examples
    --------
    >>> resamples = Resamples.of_indices([[0, 0, 1], [1, 2, 2]], cases=3)
    >>> resample_means([[0.5, 0.8, 0.2]], resamples).round(3).tolist()
    [[0.6, 0.4]]
    """
    x, w = _checked(values, resamples), case_weights(weight, resamples.cases)
    if w is None:
        return _sums(x, resamples) / resamples.sizes
    total = _sums(w[np.newaxis], resamples)
    refuse_cells(total[0] == 0, total[0], "the drawn cases of a draw have a sum of weights above 0")
    return _sums(w * x, resamples) / total


def resample_sums(values: ArrayLike, resamples: Resamples, *, weight: ArrayLike | None = None) -> Floats:
    """Sum over the drawn cases, Σ w·b·x, as exact as `resample_means`; of rows × cases, rows × resamples."""
    x, w = _checked(values, resamples), case_weights(weight, resamples.cases)
    return _sums(x if w is None else w * x, resamples)


def resample_ratios(
    numerators: ArrayLike, denominators: ArrayLike, resamples: Resamples, *, weight: ArrayLike | None = None
) -> Floats:
    """Ratio of sums over the drawn cases, Σ w·b·p / Σ w·b·q; not the mean of the ratios.

    Parameters
    ----------
    numerators
        p, rows × cases: the sum of a case's errors, for instance.
    denominators
        q, of the same shape, or one row for all: how many errors it has. Sums of 0 are an error.
    """
    p, w = _checked(numerators, resamples), case_weights(weight, resamples.cases)
    q = _checked(np.atleast_2d(np.asarray(denominators, dtype=np.float64)), resamples, "denominators")
    if len(q) not in (1, len(p)):
        msg = f"denominators are one row for all or one for each of {len(p)} submissions, not {len(q)} rows"
        raise ValueError(msg)
    if w is not None:
        p, q = w * p, w * q
    below = _sums(q, resamples)
    refuse_cells(below == 0, below, "sums of denominators (submissions × draws) are not 0")
    return _sums(p, resamples) / below


def resample_quantiles(values: ArrayLike, resamples: Resamples, *, q: float = 0.5) -> Floats:
    """Quantile of the drawn cases, the median if not said otherwise; a case counts as often as it was drawn.

    Exactly the quantile of the sample with copies, with linear interpolation: at position (m − 1)·q of m sorted copies,
    numpy's default. There are no fractions of copies, hence no case weights; whole ones can be multiplied into the
    counts (`Resamples.of_weights`).
    """
    from isocenter.resampling._kernels import quantiles

    if not 0 <= q <= 1:
        msg = f"a quantile is at a part from 0 to 1 of the sample, not at {q}"
        raise ValueError(msg)
    x = _checked(values, resamples)
    order = np.argsort(x, axis=1, kind="stable")
    out = np.empty((len(x), resamples.replicates))
    quantiles(resamples.by_case, order, np.take_along_axis(x, order, axis=1), resamples.sizes, float(q), out)
    return out


def resample_trimmed_means(values: ArrayLike, resamples: Resamples, *, proportion: float) -> Floats:
    """Mean of the drawn cases without the ⌊proportion · m⌋ lowest and as many highest of the m copies.

    The convention of scipy's `trim_mean`. As for quantiles, copies are whole and case weights unknown.
    """
    from isocenter.resampling._kernels import trimmed_sums

    if not 0 <= proportion < 0.5:
        msg = f"a mean can be trimmed by a proportion from 0 to below 0.5 at each end, not by {proportion}"
        raise ValueError(msg)
    x, sizes = _checked(values, resamples), resamples.sizes
    order = np.argsort(x, axis=1, kind="stable")
    cuts = (proportion * sizes).astype(np.int64)
    out = np.empty((len(x), resamples.replicates))
    parts = _in_two(np.take_along_axis(x, order, axis=1), int(sizes.max()))
    trimmed_sums(resamples.by_case, order, *parts, cuts, sizes, out)
    return out / (sizes - 2 * cuts)


def _checked(values: ArrayLike, resamples: Resamples, what: str = "values") -> Floats:
    matrix = finite_matrix(values, what)
    if matrix.shape[1] != resamples.cases:
        msg = f"{what} have {matrix.shape[1]} cases, the draws {resamples.cases}"
        raise ValueError(msg)
    return matrix


def _sums(values: Floats, resamples: Resamples) -> Floats:
    from isocenter.resampling._kernels import sums

    out = np.empty((len(values), resamples.replicates))
    sums(resamples.by_case, *_in_two(values, int(resamples.sizes.max())), out)
    return out


def _in_two(values: Floats, copies: int) -> tuple[Floats, Floats]:
    """Split into multiples of a step, so wide that sums of so many copies stay exact in 53 bits, and the rest.

    The rest is below half a step, so its sums are exact as well for all but values 2⁻³⁰ times smaller than the
    largest of their row (for a thousand cases), where their rounding is below 2⁻⁷⁰ of it.
    """
    exponent: NDArray[np.int32] = np.frexp(np.abs(values).max(axis=1, initial=0.0))[1][:, np.newaxis]
    step = exponent + copies.bit_length() - 53
    coarse = np.ldexp(np.rint(np.ldexp(values, -step)), step)
    return coarse, values - coarse
