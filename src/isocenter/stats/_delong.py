"""How well an AUROC is known, without resampling: DeLong's variance and the interval from it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.metrics._roc import checked
from isocenter.stats._influence import auroc_influence
from isocenter.stats._provenance import record

Scale = Literal["plain", "logit"]


@dataclass(frozen=True, slots=True)
class DeLong:
    """An AUROC and the variance of its estimate. Made by `delong`; as text, a sentence of a paper."""

    auroc: float
    variance: float

    @property
    def standard_error(self) -> float:
        """Square root of the variance."""
        return math.sqrt(self.variance)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: what is undefined is null."""
        return record(asdict(self), standard_error=self.standard_error, method="DeLong's variance")

    def __str__(self) -> str:
        if math.isnan(self.auroc):
            return "The AUROC is undefined, as one class has no cases."
        if math.isnan(self.variance):
            return f"AUROC {self.auroc:.4f}; its standard error is undefined, as one class has a single case."
        low, high = self.interval()
        return (
            f"AUROC {self.auroc:.4f} (95 % CI {low:.4f} to {high:.4f}; standard error {self.standard_error:.4f} by "
            f"DeLong's method)."
        )

    def interval(self, level: float = 0.95, *, scale: Scale = "plain") -> tuple[float, float]:
        """Confidence interval of the AUROC, by the normal distribution.

        Parameters
        ----------
        level
            The coverage aimed at, between 0 and 1.
        scale
            "plain" is A ± z·s, cut off at 0 and 1, as most software prints it. "logit" is made symmetric on the scale
            of ln(A / (1 - A)), and covers better near 1; of an AUROC of exactly 0 or 1 it knows nothing: (NaN, NaN).
        """
        if not 0 < level < 1:
            msg = f"a confidence level lies between 0 and 1, not at {level}"
            raise ValueError(msg)
        if scale not in ("plain", "logit"):
            msg = f"the scale of an interval is 'plain' or 'logit', not {scale!r}"
            raise ValueError(msg)
        reach = NormalDist().inv_cdf((1 + level) / 2) * self.standard_error
        if math.isnan(reach):
            return math.nan, math.nan
        if scale == "plain":
            return max(0.0, self.auroc - reach), min(1.0, self.auroc + reach)
        if not 0 < self.auroc < 1:
            return math.nan, math.nan
        centre, reach = math.log(self.auroc / (1 - self.auroc)), reach / (self.auroc * (1 - self.auroc))
        return 1 / (1 + math.exp(reach - centre)), 1 / (1 + math.exp(-reach - centre))


def delong(truth: ArrayLike, score: ArrayLike, *, weight: ArrayLike | None = None) -> DeLong:
    """AUROC with DeLong's variance, Var = S₁₀/m + S₀₁/n, for m positive and n negative cases.

    S₁₀ is the sample variance, over the positive cases, of the share of negative ones that a positive case outscores
    (equal scores count one half); S₀₁ the same with the classes exchanged. Computed from midranks, in the time of a
    sort. Cases are independent; for clustered ones take `bootstrap_ci`.

    With weights w, such as inverse probabilities of selection, shares and the AUROC A are weighted, and either variance
    is Σw²(V − A)²/W² · m/(m − 1) over the m cases of the class with a weight W in all: that of a ratio of sums over a
    sample of cases, with the weight as a property of the case. Weights that are all equal change nothing.

    Where scores separate the classes perfectly the variance is 0, which is not to be believed. With fewer than two
    cases of a class it is NaN; without any, the AUROC too.

    References
    ----------
    DeLong ER, DeLong DM, Clarke-Pearson DL. Comparing the areas under two or more correlated receiver operating
    characteristic curves. Biometrics 44 (1988).
    Sun X, Xu W. Fast implementation of DeLong's algorithm. IEEE Signal Process Lett 21 (2014).

    Examples
    --------
    >>> found = delong([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6])
    >>> round(found.auroc, 4), round(found.variance, 4)
    (0.8889, 0.0247)
    """
    t, s, w = checked(truth, score, weight)
    if w.size and np.ptp(w) > 0:
        area, parts = auroc_influence(t, s, w)
        return DeLong(area, float((parts**2).sum()))
    positive, negative = np.sort(s[t]), np.sort(s[~t])
    m, n = positive.size, negative.size
    if m == 0 or n == 0:
        return DeLong(math.nan, math.nan)
    of_positive = _outscored(positive, negative)
    of_negative = 1 - _outscored(negative, positive)
    variance = of_positive.var(ddof=1) / m + of_negative.var(ddof=1) / n if min(m, n) > 1 else math.nan
    return DeLong(float(of_positive.mean()), float(variance))


def _outscored(scores: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the sorted others that each score is above, those equal to it counting one half."""
    below, not_above = np.searchsorted(others, scores, side="left"), np.searchsorted(others, scores, side="right")
    return np.asarray((below + not_above) / (2 * others.size))
