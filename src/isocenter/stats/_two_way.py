"""Two groups of readers or trained instances on the same cases: a difference of means for other cases and others.

The model is that of Obuchowski and Rockette for any statistic. Values of two members of a group are correlated because
both were measured on the same cases. With S² the variance of values between members, its expectation is their variance
minus this covariance; so the variance of a mean of n members is S²/n + C, with C the mean covariance of two different
members over cases. What a single member makes of single cases is in S² and nowhere else: nothing is counted twice, as
it is by a bootstrap that draws cases and members.

References
----------
Obuchowski NA, Rockette HE. Hypothesis testing of diagnostic accuracy for multiple readers and multiple tests: an ANOVA
approach with dependent observations. Commun Stat Simul Comput 24 (1995).
Hillis SL. A comparison of denominator degrees of freedom methods for multiple observer ROC analysis. Stat Med 26
(2007).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from isocenter.resampling.permutations import Tail
from isocenter.stats._differences import Floats
from isocenter.stats._weights import effective_size

TestMethod = Literal["two-way", "published"]
METHODS: tuple[TestMethod, ...] = ("two-way", "published")

DF_RULE = "Satterthwaite over groups and cases"
# A variance this small is the rounding of equal values.
_ZERO = 1e-24


class TwoWayTest(NamedTuple):
    """A difference for other cases and other members of both groups.

    Attributes
    ----------
    difference, standard_error, df
        As estimated; the difference over its standard error has Student's distribution.
    low, high
        Bounds of the two-sided interval.
    p_value
        Of no difference, for the alternative asked for.
    """

    difference: float
    standard_error: float
    df: float
    low: float
    high: float
    p_value: float


class Asked(NamedTuple):
    """What is asked of a test: the level of its interval, the alternative, and how many cases there are to know it by.

    Attributes
    ----------
    cases
        Those of the smaller class, in cases of equal weight: they bound how well a covariance over cases is known.
    """

    level: float
    alternative: Tail
    cases: float


class _Part(NamedTuple):
    """Part of a variance, and its degrees of freedom."""

    variance: float
    df: float


def smaller_class(truth: Floats, weight: Floats) -> float:
    """The cases of the smaller class, in cases of equal weight."""
    return min(effective_size(weight[truth == side]) if weight[truth == side].any() else 0.0 for side in (0, 1))


def compare_groups(a: Floats, parts_a: Floats, b: Floats, parts_b: Floats, asked: Asked) -> TwoWayTest:
    """Mean of a minus mean of b, for groups without a common member.

    Parameters
    ----------
    a, b
        A value per member. A group of one member is taken for fixed: the result holds for this one.
    parts_a, parts_b
        Members × cases: what each case contributes to the value.

    Notes
    -----
    V = S²_a/n_a + S²_b/n_b + C_a + C_b − 2C_ab, where C_ab is the mean covariance of a member of a and one of b.
    """
    shared = _shared(parts_a) + _shared(parts_b) - 2 * float(parts_a.mean(axis=0) @ parts_b.mean(axis=0))
    return _decide(float(a.mean() - b.mean()), [_between(a), _between(b)], shared, asked)


def compare_pairs(values: Floats, parts: Floats, asked: Asked) -> TwoWayTest:
    """Mean of the differences within members, of the same members in two arms: V = S²_d/n + C_d."""
    return _decide(float(values.mean()), [_between(values)], _shared(parts), asked)


def compare_crossed(values: Floats, resampled: Floats, asked: Asked, *, bias: float) -> TwoWayTest:
    """Mean of a table of values at operating points, rows and columns both a sample of others: readers × instances.

    Parameters
    ----------
    values
        Rows × columns.
    resampled
        Resamples × rows × columns: the same in bootstrap resamples of the cases.
    bias
        Taken off the mean.

    Notes
    -----
    V = S²_r/n_r + S²_c/n_c − S²_rc/(n_r·n_c) + C. S²_r and S²_c are the variances of the means of rows and of columns;
    either holds what is left of the table, S²_rc, once, so one of them is taken off. C is the mean covariance over
    cases of two cells that have neither row nor column in common; it is cut off at 0.

    With m cases in the smaller class, C is too small by the factor (m − 1)/m, as every variance about a mean is. The
    correction of the bias raises the variance: the estimate of the bias goes against the difference, by about 1/m of
    its deviation, so V is multiplied by (m / (m − 1))². At an operating point most cases contribute nothing and others
    all the same. A variance of such contributions, of a kurtosis of about 5, is known half as well as that of normal
    ones.
    """
    rows, columns = values.shape
    of_rows, of_columns = _between(values.mean(axis=1)), _between(values.mean(axis=0))
    parts = [of_rows, of_columns]
    if min(rows, columns) > 1:
        rest = values - values.mean(axis=1)[:, None] - values.mean(axis=0) + values.mean()
        residual = float((rest**2).sum()) / ((rows - 1) * (columns - 1)) / (rows * columns)
        # The smaller of both can be no more than this residual alone.
        parts.append(_Part(-min(residual, of_rows.variance, of_columns.variance), math.inf))
    m = max(asked.cases, 2.0)
    raised = m / (m - 1)
    shared = max(_shared_by_cells(resampled - resampled.mean(axis=0)), 0.0) * raised**3
    parts = [_Part(part.variance * raised**2, part.df) for part in parts]
    return _decide(float(values.mean()) - bias, parts, shared, asked._replace(cases=m / 2))


def _between(values: Floats) -> _Part:
    n = values.size
    return _Part(float(values.var(ddof=1)) / n, n - 1) if n > 1 else _Part(0.0, math.inf)


def _shared(parts: Floats) -> float:
    """Mean covariance of two different members; of a single one, its variance."""
    n = len(parts)
    together, own = float((parts.sum(axis=0) ** 2).sum()), float((parts**2).sum())
    return (together - own) / (n * (n - 1)) if n > 1 else own


def _shared_by_cells(deviations: Floats) -> float:
    """Mean covariance of two cells of different rows and columns, by inclusion and exclusion; resamples come first."""
    draws, rows, columns = deviations.shape
    total = deviations.sum(axis=(1, 2)) ** 2
    of_rows, of_columns = (
        (deviations.sum(axis=axis) ** 2).sum(axis=1) if size > 1 else np.zeros(draws)
        for axis, size in ((2, rows), (1, columns))
    )
    own = (deviations**2).sum(axis=(1, 2)) if min(rows, columns) > 1 else np.zeros(draws)
    pairs = rows * columns * max(rows - 1, 1) * max(columns - 1, 1)
    return float((total - of_rows - of_columns + own).sum() / (draws - 1) / pairs)


def _decide(difference: float, parts: Sequence[_Part], shared: float, asked: Asked) -> TwoWayTest:
    """Student's test with Satterthwaite's degrees of freedom.

    An estimate of the shared part may be negative where the true one is about 0. It is not cut off at 0, which would
    make the test careful without need, but never takes more than half of the rest.
    """
    from scipy.special import stdtr, stdtrit

    between = math.fsum(part.variance for part in parts)
    shared = max(shared, -between / 2)
    variance = between + shared
    if not variance > _ZERO:
        # Values that do not vary say nothing of how far they would.
        ends = (0.0, 0.0) if abs(difference) <= math.sqrt(_ZERO) else (-1.0, 1.0)
        return TwoWayTest(difference, 0.0, math.inf, *ends, 1.0)
    known = [*parts, _Part(shared, max(asked.cases - 1, 1.0))]
    df = variance**2 / math.fsum(part.variance**2 / part.df for part in known)
    df = max(df, min(part.df for part in known))
    error = math.sqrt(variance)
    t, reach = difference / error, float(stdtrit(df, (1 + asked.level) / 2)) * error
    tails = {"greater": stdtr(df, -t), "less": stdtr(df, t), "two-sided": 2 * stdtr(df, -abs(t))}
    return TwoWayTest(difference, error, df, difference - reach, difference + reach, float(tails[asked.alternative]))
