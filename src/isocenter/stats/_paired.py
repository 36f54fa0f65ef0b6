"""Two submissions on the same cases: is one better than the other? Wilcoxon's and Student's answers."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from isocenter.resampling.permutations import share_of_flips
from isocenter.stats._differences import (
    ALTERNATIVES,
    TAILS,
    Alternative,
    Better,
    Decimals,
    Floats,
    checked_scores,
    differences,
    in_their_unit,
    multiplicities,
    noise_of,
    one_of,
    oriented,
)
from isocenter.stats._provenance import record

Zeros = Literal["drop", "pratt"]
Exact = Literal["auto"] | bool

# Up to here "auto" counts all assignments of signs; R goes on to 49 cases, scipy to 50.
_EXACT_UP_TO = 25
_MOST_EXACT = 1000
_WILCOXON = "Wilcoxon signed-rank test"


class SignedRank(NamedTuple):
    """What `signed_rank` found; as text, a sentence of a paper.

    Attributes
    ----------
    statistic
        W⁺: the sum of the ranks of the cases in which the first submission is better.
    n, zeros
        Cases with a difference, and without.
    p
        Of the alternative asked for.
    method
        "exact" from all assignments of signs, "normal" from the normal approximation; "none" without any difference.
    alternative
        As it was asked for.
    """

    statistic: float
    n: int
    zeros: int
    p: float
    method: Literal["exact", "normal", "none"]
    alternative: Alternative = "better"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return record(self._asdict(), test=_WILCOXON)

    def __str__(self) -> str:
        how = {"exact": "exact", "normal": "normal approximation", "none": "no pair differs"}[self.method]
        return (
            f"{_WILCOXON} of {self.n} pairs ({self.zeros} more without a difference), "
            f"{ALTERNATIVES[self.alternative]}: W⁺ = {self.statistic:g}, p = {self.p:.3g} ({how})."
        )


class PairedT(NamedTuple):
    """What `paired_t` found: the mean of a − b in the unit of the scores, its interval, and the test.

    As text, a sentence of a paper.
    """

    mean: float
    low: float
    high: float
    t: float
    df: int
    p: float
    level: float = 0.95
    alternative: Alternative = "better"

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: what is undefined or infinite is null."""
        return record(self._asdict(), method="paired t test", df_rule="pairs − 1")

    def __str__(self) -> str:
        if math.isnan(self.t):
            return f"Mean of a − b {self.mean:+.4g}; of a single pair there is no t test."
        t = f"{self.t:.4g}".replace("inf", "∞")
        return (
            f"Mean of a − b {self.mean:+.4g} ({100 * self.level:g} % CI {self.low:.4g} to {self.high:.4g}); paired t "
            f"test, {ALTERNATIVES[self.alternative]}: t = {t} on {self.df} degrees of freedom, "
            f"p = {self.p:.3g}."
        )


def signed_rank(
    a: ArrayLike,
    b: ArrayLike,
    *,
    better: Better,
    decimals: Decimals = None,
    alternative: Alternative = "better",
    zeros: Zeros = "drop",
    exact: Exact = "auto",
    correction: bool = True,
    weight: ArrayLike | None = None,
) -> SignedRank:
    """Wilcoxon's signed-rank test of paired scores: is a better than b?

    Parameters
    ----------
    a, b
        One score per case, in the same order of cases.
    better
        Whether higher or lower scores are better.
    decimals
        None ranks differences as they are; with "noise", those that only rounding noise tells apart are ties; a number
        rounds them to so many decimals first, such as those that the scores were published with.
    alternative
        "better": a is better than b; "worse": b is better than a; or "two-sided".
    zeros
        Cases without a difference are dropped before the ranking, or, with "pratt", after it.
    exact
        True counts all assignments of signs, given the ranks and their ties, of up to 1000 differences; False takes
        the normal approximation; "auto" counts if there are at most 25 differences, no zeros and no ties.
    correction
        Whether the normal approximation takes a half off the distance of W⁺ from its mean (continuity).
    weight
        How often each case is there, as in a bootstrap draw: exactly as if it were copied.

    Notes
    -----
    Of n differences, |d| has mid-ranks from 1 to n, and W⁺ is the sum of those where a is better. If neither is, its
    mean is n(n+1)/4 and its variance n(n+1)(2n+1)/24 − Σ(t³ − t)/48 over groups of t ties. With z zeros ranked too,
    as Pratt wants, mean and variance are those of n + z less those of z. All differences zero: p = 1.

    The normal approximation is scipy's `wilcoxon`. Counting is our own: scipy counts as if there were no ties. R's
    wilcox.test does the same, but counts up to 49 cases, and is undefined if all differences are zero.

    References
    ----------
    Wilcoxon F. Individual comparisons by ranking methods. Biometrics Bulletin 1 (1945).
    Pratt JW. Remarks on zeros and ties in the Wilcoxon signed rank procedures. J Am Stat Assoc 54 (1959).

    Examples
    --------
    >>> signed_rank([0.81, 0.77, 0.90], [0.80, 0.75, 0.87], better="higher", decimals=3)
    SignedRank(statistic=6.0, n=3, zeros=0, p=0.125, method='exact', alternative='better')
    """
    one_of("alternative", alternative, ALTERNATIVES)
    one_of("zeros", zeros, ("drop", "pratt"))
    one_of("exact", exact, ("auto", True, False))
    d = differences(a, b, better=better, decimals=decimals)
    w = multiplicities(weight, d.shape)
    size, group = np.unique(np.abs(d), return_inverse=True)
    count, ahead = np.bincount(group, w), np.bincount(group, w * (d > 0))
    equal = count[size == 0].sum()
    count, ahead = count[size > 0], ahead[size > 0]
    n = float(count.sum())
    if n == 0:
        return SignedRank(0.0, 0, int(equal), 1.0, "none", alternative)
    below = float(equal) if zeros == "pratt" else 0.0
    rank = below + np.cumsum(count) - (count - 1) / 2
    statistic = float(ahead @ rank)
    if (exact and exact != "auto") or (exact == "auto" and n <= _EXACT_UP_TO and equal == 0 and count.max() == 1):
        p = _exact_p(statistic, np.repeat(rank, count.astype(np.int64)), alternative)
        return SignedRank(statistic, int(n), int(equal), p, "exact", alternative)
    p = _normal_p(np.repeat(d, w.astype(np.int64)), alternative, zeros=zeros, correction=correction)
    return SignedRank(statistic, int(n), int(equal), p, "normal", alternative)


def _normal_p(d: Floats, alternative: Alternative, *, zeros: Zeros, correction: bool) -> float:
    from scipy.stats import wilcoxon

    how = {"zero_method": "wilcox" if zeros == "drop" else "pratt", "correction": correction, "method": "asymptotic"}
    return float(wilcoxon(d, alternative=TAILS[alternative], **how).pvalue)


def upper_tail(z: float) -> float:
    """The probability that a standard normal variable is above z."""
    return math.erfc(z / math.sqrt(2)) / 2


def _exact_p(statistic: float, rank: Floats, alternative: Alternative) -> float:
    """From the distribution of W⁺, or of twice W⁺ if ties have half ranks."""
    if rank.size > _MOST_EXACT:
        msg = f"the signs of {rank.size} differences are too many to count, at most {_MOST_EXACT} are; exact=False"
        raise ValueError(msg)
    unit = 1 if (rank % 1 == 0).all() else 2
    return share_of_flips((unit * rank).astype(np.int64), round(unit * statistic), TAILS[alternative])


def paired_t(
    a: ArrayLike,
    b: ArrayLike,
    *,
    better: Better,
    decimals: Decimals = None,
    alternative: Alternative = "better",
    level: float = 0.95,
) -> PairedT:
    """Student's t test of paired scores, with the interval of the mean difference.

    The parameters are those of `signed_rank`. The mean is that of a − b, whatever is better, and its interval has two
    sides, whatever the alternative is. "noise" changes no difference; only if nothing but noise is between them, they
    are taken as equal.

    Notes
    -----
    t = mean(d)·√n / s for d = a − b, with s their standard deviation (n − 1 in its denominator) and n − 1 degrees of
    freedom. If a and b are equal in every case, p = 1. If they differ by the same amount in every case, t is infinite
    and p is 0 (or 1, if b is the better one): the limit of the formula as the spread shrinks. That is no stronger
    evidence than the number of cases allows; `signed_rank` says how strong it is. A single case has a difference but
    no spread, and all but the mean is NaN. Elsewhere this is scipy's `ttest_rel`, which has no such limits, and an
    interval of one side where the alternative has one.

    References
    ----------
    Student. The probable error of a mean. Biometrika 6 (1908).

    Examples
    --------
    >>> found = paired_t([0.81, 0.77, 0.90], [0.80, 0.75, 0.87], better="higher", decimals=3)
    >>> round(found.mean, 3), round(found.t, 3), found.df, round(found.p, 4)
    (0.02, 3.464, 2, 0.0371)
    """
    from scipy.special import stdtr, stdtrit

    one_of("alternative", alternative, ALTERNATIVES)
    if not 0 < level < 1:
        msg = f"the level of an interval is within 0 and 1, not {level}"
        raise ValueError(msg)
    sign = 1.0 if better == "higher" else -1.0
    x, y = checked_scores({"a": a, "b": b}).values()
    exact = None if decimals == "noise" else decimals
    d = sign * in_their_unit(oriented(x, y, better=better, decimals=exact), exact)
    if decimals == "noise" and np.ptp(d) <= noise_of(x, y):
        d = np.full_like(d, d[0] if abs(d[0]) > noise_of(x, y) else 0.0)
    n, df = d.size, d.size - 1
    mean = float(d[0]) if (d == d[0]).all() else math.fsum(d) / n
    if n == 1:
        return PairedT(mean, math.nan, math.nan, math.nan, df, math.nan, level, alternative)
    if not d.any():
        return PairedT(0.0, 0.0, 0.0, 0.0, df, 1.0, level, alternative)
    error = math.hypot(*(d - mean)) / math.sqrt(df * n)
    t = mean / error if error else math.copysign(math.inf, mean)
    reach = error * float(stdtrit(df, (1 + level) / 2))
    if alternative == "two-sided":
        p = 2 * float(stdtr(df, -abs(t)))
    else:
        p = float(stdtr(df, -sign * t if alternative == "better" else sign * t))
    return PairedT(mean, mean - reach, mean + reach, t, df, p, level, alternative)
