"""How far the rankings of draws agree: with the ranking on all cases, and about each pair of submissions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from isocenter.resampling.matrices import Floats, finite_matrix, finite_vector


@dataclass(frozen=True, eq=False)
class Agreement:
    """Kendall's tau-b of many rankings with one.

    Attributes
    ----------
    tau
        One per draw, NaN where it is undefined.
    """

    tau: Floats

    @property
    def undefined(self) -> int:
        """In how many draws there is no tau, because one of both rankings has a single rank only."""
        return int(np.isnan(self.tau).sum())

    @property
    def mean(self) -> float:
        """Of the draws that have a tau; NaN if none has."""
        known = self._known()
        return float(known.mean()) if known.size else np.nan

    def quantile(self, q: float) -> float:
        """Linear quantile of the draws that have a tau; NaN if none has."""
        known = self._known()
        return float(np.quantile(known, q)) if known.size else np.nan

    def _known(self) -> Floats:
        return self.tau[~np.isnan(self.tau)]


def kendall_draws(full: ArrayLike, ranks: ArrayLike) -> Agreement:
    """Kendall's tau-b of a ranking with each column of `ranks`, submissions × draws.

    tau = (C − D) / √((P − T)(P − U)), with C pairs in the same order in both rankings, D in the opposite one, P pairs
    in all, T tied in the one and U in the other. Where all pairs of a ranking are tied it is undefined, never 0 or 1.

    References
    ----------
    Kendall MG. The treatment of ties in ranking problems. Biometrika 33 (1945).

    Examples
    --------
    >>> kendall_draws([1, 2, 3], [[1, 1, 1], [2, 3, 1], [3, 2, 1]]).tau.round(3).tolist()
    [1.0, 0.333, nan]
    """
    from isocenter.ranking._rank_kernels import concordance

    found = finite_matrix(ranks, "ranks")
    one = finite_vector(full, len(found), "ranks on all cases")
    agree, tied = np.zeros((2, found.shape[1]), np.int64)
    concordance(one, found, agree, tied)
    pairs = len(found) * (len(found) - 1) // 2
    tied_in_one = sum(int(count) * (int(count) - 1) // 2 for count in np.unique(one, return_counts=True)[1])
    untied = np.sqrt(float(pairs - tied_in_one)) * np.sqrt((pairs - tied).astype(np.float64))
    tau = np.full(agree.shape, np.nan)
    np.divide(agree, untied, out=tau, where=untied > 0)
    return Agreement(tau.clip(-1.0, 1.0))


def p_better(ranks: ArrayLike) -> Floats:
    """Submissions × submissions: in which share of the draws the row has a lower rank than the column.

    Equal ranks count half, so a pair adds up to 1 and the diagonal is 0.5.

    Examples
    --------
    >>> p_better([[1, 1, 2, 1], [2, 1, 1, 2]]).tolist()
    [[0.5, 0.625], [0.375, 0.5]]
    """
    from isocenter.ranking._rank_kernels import share_better

    found = finite_matrix(ranks, "ranks")
    if found.shape[1] == 0:
        msg = "shares of draws need at least 1 draw"
        raise ValueError(msg)
    shares = np.empty((len(found), len(found)))
    share_better(found, shares)
    return shares
