"""Two independent groups: are the values of one not worse than those of the other by a margin?"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from isocenter.stats._differences import Better, Floats, check_reading, checked_groups, one_of
from isocenter.stats._paired import Exact
from isocenter.stats._permutation import permutation_test
from isocenter.stats._provenance import record

# "auto" counts below this size of either group, as R does; nothing is counted beyond so many values in both. U has at
# most 2nm + 1 values, ties or not: up to here, all sums of ranks can be counted, and none are drawn.
_EXACT_BELOW = 50
_MOST_EXACT = 400


@dataclass(frozen=True)
class ShiftedMannWhitney:
    """What `shifted_mann_whitney` found; as text, a sentence of a paper.

    Attributes
    ----------
    statistic
        U: of all pairs of a value of a, moved by the margin, and one of b, those in which a is the higher one; equal
        ones count one half. R calls it W.
    size_a, size_b
        How many values there are in each group.
    median_a, median_b, difference
        Of the values as they were given, and median_a − median_b.
    margin, better
        How much worse is accepted, above 0 and in the unit of the values, and which values are better.
    p
        One-sided, of H₀: a is worse than b by the margin or more.
    method
        "exact" from all relabellings, "normal" from the normal approximation; "none" if all values are equal.
    correction
        Whether the normal approximation was corrected for continuity.
    decimals
        That values were rounded to; None where they were taken as they are.
    """

    statistic: float
    size_a: int
    size_b: int
    median_a: float
    median_b: float
    difference: float
    margin: float
    better: Better
    p: float
    method: Literal["exact", "normal", "none"]
    correction: bool
    decimals: int | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return record(asdict(self), test="Mann–Whitney test of values shifted by the margin")

    def __str__(self) -> str:
        corrected = " with continuity correction" if self.correction else ""
        how = {"exact": "exact", "normal": f"normal approximation{corrected}", "none": "all values equal"}[self.method]
        rounded = "" if self.decimals is None else f", values rounded to {self.decimals} decimals"
        return (
            f"Median {self.median_a:.4g} of {self.size_a} values against {self.median_b:.4g} of {self.size_b}, "
            f"{self.better} is better, margin {self.margin:g}: Mann–Whitney test of values shifted by the margin "
            f"({how}{rounded}), U = {self.statistic:g}, one-sided p of non-inferiority = {self.p:.3g}."
        )


def shifted_mann_whitney(
    a: ArrayLike,
    b: ArrayLike,
    *,
    margin: float,
    better: Better,
    decimals: int | None,
    exact: Exact = "auto",
    correction: bool = True,
) -> ShiftedMannWhitney:
    """Non-inferiority of a to b, by the Mann–Whitney test of a moved by the margin in its favour.

    Parameters
    ----------
    a, b
        Values of two independent groups, such as a DVH criterion of predicted and of clinical doses.
    margin
        How much worse is still accepted, above 0 and in the unit of the values. OpenKBP took 2.1 Gy, 3 % of 70 Gy.
    better
        Whether higher or lower values are better.
    decimals
        Values are rounded to so many before they are moved, so that noise breaks no tie. None takes them as they are.
    exact
        True counts all relabellings, given the ties, of up to 400 values; False takes the normal approximation;
        "auto" counts if both groups have fewer than 50 values and none are tied.
    correction
        Whether the normal approximation takes a half off the distance of U from its mean (continuity).

    Notes
    -----
    If lower is better, a − margin is tested for being less than b; if higher is, a + margin for being greater. The
    mean of U is nm/2 and its variance nm/12 · (N + 1 − Σ(t³ − t)/(N(N − 1))) for N = n + m and groups of t ties. The
    test speaks of a shift where both groups have the same shape. If all moved values equal all of b, p = 1.

    The groups are taken for independent. If they are values of the same patients, which go up and down together, p is
    too large rather than too small: non-inferiority is claimed less often than it might be.

    R's wilcox.test with `mu` does the same; of values with decimals it breaks ties by noise, as `decimals=None` does.

    References
    ----------
    Mann HB, Whitney DR. On a test of whether one of two random variables is stochastically larger than the other.
    Ann Math Stat 18 (1947).
    Babier A, Zhang B, Mahmood R, et al. OpenKBP: the open-access knowledge-based planning grand challenge and dataset.
    Med Phys 48 (2021) 5549-5561.

    Examples
    --------
    >>> found = shifted_mann_whitney([26.1, 27.3, 25.0], [25.3, 26.0, 24.1], margin=2.1, better="lower", decimals=1)
    >>> found.statistic, found.p, found.method
    (1.0, 0.1, 'exact')
    """
    one_of("exact", exact, ("auto", True, False))
    check_reading(better, decimals)
    wrong = f"a margin is finite and above 0 (it says how much worse is accepted), not {margin}"
    first, second = checked_groups(a, b, [] if 0 < margin < math.inf else [wrong])
    step = -margin if better == "lower" else margin
    moved, fixed, n, m = _units(first, decimals), _units(second, decimals), first.size, second.size
    moved = moved + (step if decimals is None else round(step * 10.0**decimals, 6))
    distinct = np.unique(np.concatenate([moved, fixed])).size
    counts = bool(exact) and (exact != "auto" or (max(n, m) < _EXACT_BELOW and distinct == n + m))
    if counts and n + m > _MOST_EXACT:
        msg = f"the relabellings of {n + m} values are too many to count, of at most {_MOST_EXACT} are; exact=False"
        raise ValueError(msg)
    method: Literal["exact", "normal", "none"] = "none" if distinct == 1 else "exact" if counts else "normal"
    middle_a, middle_b = float(np.median(first)), float(np.median(second))
    return ShiftedMannWhitney(
        statistic=_statistic(moved, fixed),
        size_a=n,
        size_b=m,
        median_a=middle_a,
        median_b=middle_b,
        difference=middle_a - middle_b,
        margin=float(margin),
        better=better,
        p=_p(moved, fixed, better, method=method, correction=correction),
        method=method,
        correction=method == "normal" and correction,
        decimals=decimals,
    )


def _units(values: Floats, decimals: int | None) -> Floats:
    """In whole units of the last decimal."""
    return values if decimals is None else np.rint(np.round(values * 10.0**decimals, 6))


def _statistic(moved: Floats, fixed: Floats) -> float:
    ordered = np.sort(fixed)
    return float((np.searchsorted(ordered, moved, "left") + np.searchsorted(ordered, moved, "right")).sum()) / 2


def _p(
    moved: Floats, fixed: Floats, better: Better, *, method: Literal["exact", "normal", "none"], correction: bool
) -> float:
    from scipy.stats import mannwhitneyu

    side: Literal["less", "greater"] = "less" if better == "lower" else "greater"
    if method == "none":
        return 1.0
    if method == "exact":
        return permutation_test(moved, fixed, alternative=side).p_value
    return float(mannwhitneyu(moved, fixed, alternative=side, use_continuity=correction, method="asymptotic").pvalue)
