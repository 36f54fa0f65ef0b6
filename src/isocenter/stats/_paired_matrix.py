"""Who is better than whom: the signed-rank test for all pairs of submissions, in any number of draws of the cases."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.stats._differences import (
    Better,
    Decimals,
    Floats,
    check_reading,
    checked_scores,
    multiplicities,
    oriented,
)

# Draws done side by side: enough to keep the processor busy, few enough that their counts stay in its cache.
_LANES = 64


def signed_rank_matrix(
    x: ArrayLike, *, better: Better, decimals: Decimals = None, weights: ArrayLike | None = None
) -> Floats:
    """One-sided p values of all ordered pairs: entry [i, j] is small where row i is better than row j.

    The same as `signed_rank(x[i], x[j], exact=False)`, with zeros dropped and the continuity correction, and 1 on the
    diagonal; but the cases of a pair are sorted once, however many draws there are.

    Parameters
    ----------
    x
        Scores, one row per submission and one column per case.
    better, decimals
        As in `signed_rank`.
    weights
        How often each case is there, exactly as if it were copied: one number per case, or a row of them per draw.
        Left out: every case once.

    Returns
    -------
    Of shape (K, K) for K submissions, or (B, K, K) for B draws: 8·B·K² bytes, so ask for many draws in parts.

    Notes
    -----
    The normal approximation is used for any number of cases, as challengeR does: a draw with copies has ties, and a
    matrix half exact and half not would depend on the draw.

    Examples
    --------
    >>> p = signed_rank_matrix([[0.81, 0.77, 0.90], [0.80, 0.75, 0.87]], better="higher", decimals=3)
    >>> p.round(3).tolist()
    [[1.0, 0.091], [0.969, 1.0]]
    """
    from isocenter.stats._paired_kernels import compare_pairs

    check_reading(better, decimals)
    rows = np.asarray(x, dtype=np.float64)
    if rows.ndim != 2:
        msg = f"scores must be a row per submission and a column per case, not an array of shape {rows.shape}"
        raise ValueError(msg)
    checked_scores({f"row {number}": row for number, row in enumerate(rows)})
    k, cases = rows.shape
    one = weights is None or np.ndim(weights) == 1
    counts = np.atleast_2d(multiplicities(weights, (cases,) if one else (1, cases)))
    steps, zeros = _sorted_pairs(rows, better=better, decimals=decimals)
    p = np.ones((len(counts), k, k))
    for start in range(0, len(counts), _LANES):
        block = np.ascontiguousarray(counts[start : start + _LANES].T, dtype=np.float64)
        compare_pairs(block, steps, zeros, p[start : start + _LANES])
    return p[0] if one else p


def _sorted_pairs(rows: Floats, *, better: Better, decimals: Decimals) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The steps of each pair i < j, cases by the size of their difference, and how many have none."""
    from isocenter.stats._paired_kernels import AHEAD, LAST, SHIFT

    k, cases = rows.shape
    steps = np.empty((k * (k - 1) // 2, cases), dtype=np.int32)
    zeros = np.empty(len(steps), dtype=np.int32)
    done = 0
    for i in range(k - 1):
        d = oriented(rows[i], rows[i + 1 :], better=better, decimals=decimals)
        order = np.argsort(np.abs(d), axis=1)
        d = np.take_along_axis(d, order, axis=1)
        size = np.abs(d)
        last = np.ones(d.shape, dtype=np.bool_)
        last[:, :-1] = size[:, 1:] != size[:, :-1]
        here = slice(done, done + len(d))
        steps[here] = order << SHIFT | np.where(last, LAST, 0) | np.where(d > 0, AHEAD, 0)
        zeros[here] = np.count_nonzero(d == 0, axis=1)
        done += len(d)
    return steps, zeros
