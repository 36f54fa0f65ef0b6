"""What single cases contribute to a statistic: the influence function, from which variances over cases are made.

A statistic of cases is, up to smaller terms, its true value plus a sum of contributions, one per case. Products of the
contributions of two statistics, summed over cases, estimate their covariance over samples of cases (the infinitesimal
jackknife). Contributions are scaled so that this is unbiased for a mean: by √(m / (m − 1)), with m cases, or m cases of
the class where the statistic is a mean within classes. For an AUROC of unweighted cases this is DeLong's covariance.

References
----------
Efron B. Nonparametric estimates of standard error: the jackknife, the bootstrap and other methods. Biometrika 68
(1981).
DeLong ER, DeLong DM, Clarke-Pearson DL. Comparing the areas under two or more correlated receiver operating
characteristic curves. Biometrics 44 (1988).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from isocenter.stats._differences import Floats, Ints

Bools = NDArray[np.bool_]


def auroc_influence(truth: Bools, score: Floats, weight: Floats) -> tuple[float, Floats]:
    """Weighted AUROC and the contribution of each case, w·(V − A) / W, NaN if a class has fewer than two cases.

    V is the weighted share of the other class that a case is on the right side of (equal scores count one half), A the
    AUROC, and W the weight of the case's own class.
    """
    parts = np.zeros(truth.shape)
    (s1, w1), (s0, w0) = ((score[of], weight[of]) for of in (truth, ~truth))
    if not (w1.sum() > 0 and w0.sum() > 0):
        return math.nan, np.full(truth.shape, math.nan)
    above, below = share_outscored(s1, s0, w0), 1 - share_outscored(s0, s1, w1)
    area = float(w1 @ above / w1.sum())
    for of, values, w in ((truth, above, w1), (~truth, below, w0)):
        parts[of] = w * (values - area) / w.sum() * unbiased(int(np.count_nonzero(w)))
    return area, parts


def share_outscored(scores: Floats, others: Floats, weight: Floats) -> Floats:
    """The weighted share of the others that each score is above, those equal to it counting one half."""
    order = np.argsort(others)
    total = np.append(0.0, np.cumsum(weight[order]))
    below, up_to = (np.searchsorted(others[order], scores, side=side) for side in ("left", "right"))
    return np.asarray((total[below] + total[up_to]) / (2 * total[-1]))


def precision_influence(case: Ints, is_lesion: Bools, confidence: Floats, weight: Floats) -> tuple[float, Floats]:
    """Average precision of the rows and the contribution of each case; `weight` is one per case.

    AP = Σ_g l_g·T_g/A_g / L over distinct confidences g above 0, with l_g the weight of lesions there, T_g that of
    lesions and A_g that of all rows at or above, and L that of all lesions. It is smooth in the weights of the cases;
    a contribution is the weight of a case times the derivative by it.
    """
    w = weight[case]
    lesions = float(w[is_lesion].sum())
    levels, group = np.unique(-confidence, return_inverse=True)
    seen = levels < 0
    at, all_rows = (np.bincount(group, values, minlength=levels.size)[seen] for values in (w * is_lesion, w))
    above, rows_above = np.cumsum(at), np.cumsum(all_rows)
    positive = rows_above > 0
    share = np.divide(above, rows_above, out=np.zeros(above.shape), where=positive)
    inverse = np.divide(1.0, rows_above, out=np.zeros(above.shape), where=positive)
    value = float(at @ share) / lesions
    # One more unit of weight at level h: its own term, and all T_g and A_g from h on.
    of_lesion = share + np.cumsum((at * inverse)[::-1])[::-1]
    of_any = np.cumsum((at * share * inverse)[::-1])[::-1]
    slopes = np.zeros((2, levels.size))
    slopes[0, seen], slopes[1, seen] = -of_any, of_lesion - of_any
    slope = np.where(is_lesion, slopes[1, group] - value, slopes[0, group]) / lesions
    parts: Floats = np.bincount(case, w * slope, minlength=weight.size).astype(np.float64)
    return value, parts * unbiased(weight.size)


def share_influence(part: Floats, whole: Floats, weight: Floats) -> tuple[float, Floats]:
    """Σw·part / Σw·whole, such as a sensitivity or a precision, and the contribution of each case."""
    total = float(weight @ whole)
    value = float(weight @ part) / total
    return value, weight * (part - value * whole) / total * unbiased(int(np.count_nonzero(weight * whole)))


def unbiased(cases: int) -> float:
    """√(m / (m − 1)): squares of deviations from a mean of m cases are too small by this."""
    return math.sqrt(cases / (cases - 1)) if cases > 1 else math.nan
