"""Sizing of fully crossed studies by the model of Obuchowski and Rockette: every reader reads every case twice."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from isocenter.stats._differences import one_of
from isocenter.stats._provenance import record

Generalisation = Literal["readers and cases", "cases", "readers"]

_MOST_CASES = 1_000_000


class ObuchowskiRockette(NamedTuple):
    """Variance components of a pilot with so many cases; covariances between tests, readers, or both."""

    test_by_reader: float
    error: float
    cov1: float
    cov2: float
    cov3: float
    cases: int


@dataclass(frozen=True)
class HillisPower:
    """What `hillis_power` found; as text, a sentence of a paper.

    Attributes
    ----------
    power
        The probability that the study shows the effect.
    noncentrality, df
        Of the F distribution behind it; df is infinite for readers that are fixed, where it is a χ² distribution.
    readers, cases, effect, alpha, to
        As they were given.
    """

    power: float
    noncentrality: float
    df: float
    readers: int
    cases: int
    effect: float
    alpha: float
    to: Generalisation

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: infinite degrees of freedom are null."""
        rule = "χ² distribution, readers fixed" if math.isinf(self.df) else "Hillis"
        return record(asdict(self), method="Hillis, Obuchowski and Berbaum", df_rule=rule)

    def __str__(self) -> str:
        return (
            f"{self.readers} readers who all read {self.cases} cases in both modalities: power {self.power:.2f} to "
            f"show a difference of {self.effect:g} that generalises to {self.to} (Hillis, Obuchowski and Berbaum; "
            f"two-sided alpha {self.alpha:g})."
        )


def hillis_power(
    components: ObuchowskiRockette,
    *,
    readers: int,
    cases: int,
    effect: float,
    alpha: float = 0.05,
    to: Generalisation = "readers and cases",
) -> HillisPower:
    """The power of a fully crossed study of two modalities, by the method of Hillis and colleagues.

    With J readers, K cases, K* in the pilot, e = (K*/K)·Var(ε), c alike, and κ = max(c₂ − c₃, 0):
    den = Var(TR) + e − c₁ + (J − 1)κ, λ = J·effect² / (2 den), df = den²(J − 1) / (Var(TR) + e − c₁ − κ)², and power =
    P(F(1, df; λ) > F₁₋α). For "cases" readers are fixed: den is without Var(TR), and F is χ² with one degree of
    freedom. For "readers" cases are fixed: den = Var(TR) + e − c₁ − κ, df = J − 1. Var(TR) counts as 0 if it is below.

    The formula knows neither prevalence nor blocks: for split-plots take `power`.

    References
    ----------
    Hillis SL, Obuchowski NA, Berbaum KS. Power estimation for multireader ROC methods: an updated and unified approach.
    Acad Radiol 18 (2011).

    Examples
    --------
    >>> pilot = ObuchowskiRockette(2.0e-4, 8.0e-4, 3.5e-4, 3.4e-4, 2.4e-4, cases=114)
    >>> round(hillis_power(pilot, readers=10, cases=200, effect=0.05).power, 2)
    0.94
    """
    from scipy.special import chdtri, chndtr, fdtri, ncfdtr

    one_of("to", to, ("readers and cases", "cases", "readers"))
    if readers < 2 or cases < 2 or components.cases < 2 or not 0 < alpha < 1 or not math.isfinite(effect):
        msg = (
            "a study has at least 2 readers, 2 cases (so has its pilot), a finite effect and an alpha between 0 and 1; "
            f"found {readers}, {cases} ({components.cases}), {effect} and {alpha}"
        )
        raise ValueError(msg)
    scale = components.cases / cases
    within = scale * (components.error - components.cov1)
    between = scale * max(components.cov2 - components.cov3, 0.0)
    of_readers = max(components.test_by_reader, 0.0)
    alone = of_readers + within - between
    den = {
        "readers and cases": alone + readers * between,
        "cases": within + (readers - 1) * between,
        "readers": alone,
    }[to]
    if not 0 < den < math.inf or not alone > 0:
        msg = f"the variance of the difference would be {min(den, alone):g}: this pilot cannot size a study"
        raise ValueError(msg)
    far = readers * effect**2 / (2 * den)
    if to == "cases":
        chance, df = 1.0 - float(chndtr(chdtri(1, alpha), 1, far)), math.inf
    else:
        df = (readers - 1) * (den / alone) ** 2
        chance = 1.0 - float(ncfdtr(1, df, far, fdtri(1, df, 1 - alpha)))
    return HillisPower(chance, far, df, readers, cases, effect, alpha, to)


def hillis_cases(
    components: ObuchowskiRockette,
    *,
    readers: int,
    effect: float,
    power: float = 0.8,
    alpha: float = 0.05,
    to: Generalisation = "readers and cases",
) -> HillisPower:
    """The smallest number of cases with which so many readers reach the power; see `hillis_power`."""

    def of(cases: int) -> HillisPower:
        return hillis_power(components, readers=readers, cases=cases, effect=effect, alpha=alpha, to=to)

    if not 0 < power < 1:
        msg = f"a power to reach lies between 0 and 1, not at {power}"
        raise ValueError(msg)
    if (best := of(_MOST_CASES)).power < power:
        msg = (
            f"{readers} readers reach a power of {best.power:.3f} at most, not {power:g}, however many cases they read"
        )
        raise ValueError(msg)
    low, high = 1, _MOST_CASES
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if of(middle).power >= power else (middle, high)
    return of(high)
