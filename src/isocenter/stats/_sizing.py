"""How many readers and cases does a study need? Power from the variance components of a pilot, for any split-plot.

A split-plot deals readers and cases to blocks, and readers read the cases of their own block only. The variance of the
difference of two mean AUROCs is a sum of components, each divided by how many of its kind the study has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np

from isocenter.stats._provenance import record
from isocenter.stats._study_design import Design, PairComponents, VarianceComponents

DF_RULE = "Satterthwaite, at least the smallest df of a factor and 2"
_METHOD = "U-statistic variance"


@dataclass(frozen=True)
class Power:
    """What `power` found; as text, a sentence of a paper.

    Attributes
    ----------
    power
        The probability that the study shows what it is made to show.
    standard_error
        Of the difference of mean AUROCs.
    df
        Its degrees of freedom; infinite: the normal distribution.
    design, effect, margin, alpha
        As they were given.
    """

    power: float
    standard_error: float
    df: float
    design: Design
    effect: float
    margin: float
    alpha: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: infinite degrees of freedom are null."""
        return record(asdict(self), method=_METHOD, df_rule=self.df_rule)

    def __str__(self) -> str:
        by = "z" if math.isinf(self.df) else f"t with {self.df:.1f} degrees of freedom"
        return (
            f"{self.design}: standard error {self.standard_error:.4f}, power {self.power:.2f} to show {self.aim} "
            f"({_METHOD}; two-sided alpha {self.alpha:g}; {by})."
        )

    @property
    def df_rule(self) -> str:
        """Where the degrees of freedom come from."""
        return "normal distribution" if math.isinf(self.df) else DF_RULE

    @property
    def aim(self) -> str:
        """What is to be shown, in words."""
        if self.margin:
            return f"non-inferiority by a margin of {self.margin:g} if the true difference is {self.effect:g}"
        return f"a difference of {self.effect:g}"


@dataclass(frozen=True)
class PowerGrid:
    """The power of several designs for one aim; as text, a table."""

    rows: tuple[Power, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        rows = [asdict(row) | {"df_rule": row.df_rule} for row in self.rows]
        return record({"rows": rows}, method=_METHOD)

    def __str__(self) -> str:
        first = self.rows[0]
        head = ("cases", "negative", "positive", "blocks", "readers", "SE", "df", "power")
        lines = [head, *(_cells(row) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([f"Power to show {first.aim}; two-sided alpha {first.alpha:g}.", "", *table])


def _cells(row: Power) -> tuple[str, ...]:
    of = row.design
    df = "∞" if math.isinf(row.df) else f"{row.df:.1f}"
    cases, blocks = str(of.negatives + of.positives), str(of.blocks)
    negatives = _in_each(of.negatives, paired=of.paired_negatives)
    positives = _in_each(of.positives, paired=of.paired_positives)
    readers = _in_each(of.readers, paired=of.paired_readers)
    return cases, negatives, positives, blocks, readers, f"{row.standard_error:.4f}", df, f"{row.power:.2f}"


def _in_each(number: int, *, paired: bool) -> str:
    return str(number) if paired else f"2 × {number / 2:g}"


def power(
    components: VarianceComponents | PairComponents,
    design: Design,
    *,
    effect: float = 0.0,
    margin: float = 0.0,
    alpha: float = 0.05,
    biased: VarianceComponents | PairComponents | None = None,
) -> Power:
    """The probability that a study shows a difference of mean AUROCs, or that it is not worse by a margin.

    With G blocks the variance of the difference is N/N₀ + D/N₁ + G·ND/(N₀N₁) + R/R₀ + G·NR/(R₀N₀) + G·DR/(R₀N₁) +
    G²·RND/(R₀N₀N₁), for N₀ negative and N₁ positive cases and R₀ readers; where something is not paired, the modalities
    have half of it each and nothing of it in common. Power is P(T > t) for a T of noncentrality (effect + margin) / SE
    and the critical t of a two-sided test. The tail on the other side is no success, and not counted.

    Parameters
    ----------
    components
        Unbiased ones of a pilot: of the difference if the design is paired throughout, of both modalities otherwise.
    design
        The study.
    effect
        The true difference, new minus reference.
    margin
        0 asks for superiority. Above 0, for non-inferiority: the lower bound of the interval lies above −margin. An
        effect of 0 with a margin has the power of an effect of that size without one.
    alpha
        Of the two-sided test, one minus the level of the interval.
    biased
        The components from the biased moments of the same pilot. With them, degrees of freedom are those of
        Satterthwaite, V² / Σ f² / df³ over negatives, positives and readers, at least the smallest of theirs and 2;
        without them the normal distribution is taken.

    References
    ----------
    Gallas BD, Brown DG. Reader studies for validation of CAD systems. Neural Netw 21 (2008).
    Obuchowski NA, Gallas BD, Hillis SL. Multi-reader ROC studies with split-plot designs: a comparison of statistical
    methods. Acad Radiol 19 (2012).

    Examples
    --------
    >>> pilot = VarianceComponents(n=0.0120, d=0.0144, r=0.00338, dr=0.0190)
    >>> print(power(pilot, Design(60, 280, 120, blocks=4), effect=0.05))
    60 readers and 400 cases (280 negative, 120 positive) in 4 blocks: standard error 0.0152, power 0.91 to show \
a difference of 0.05 (U-statistic variance; two-sided alpha 0.05; z).
    """
    from scipy.special import nctdtr, ndtr, ndtri, stdtrit

    if not (math.isfinite(effect) and 0 <= margin < math.inf and 0 < alpha < 1 and effect + margin > 0):
        msg = (
            "power is that to show something: alpha lies between 0 and 1, a margin is not below 0 and effect + margin "
            f"is above 0; found alpha {alpha}, margin {margin}, effect {effect}"
        )
        raise ValueError(msg)
    _refuse_undefined(components, biased)
    variance = _variance(components, design)
    if not 0 < variance < math.inf:
        msg = (
            f"the variance of the difference would be {variance:g}: take other components, the biased ones for example"
        )
        raise ValueError(msg)
    error = math.sqrt(variance)
    df = math.inf if biased is None else degrees_of_freedom(variance, biased, design)
    far = (effect + margin) / error
    if math.isinf(df):
        chance = float(ndtr(far + ndtri(alpha / 2)))
    else:
        chance = 1.0 - float(nctdtr(df, far, stdtrit(df, 1 - alpha / 2)))
    return Power(chance, error, df, design, effect, margin, alpha)


def power_grid(
    components: VarianceComponents | PairComponents,
    designs: Iterable[Design],
    *,
    effect: float = 0.0,
    margin: float = 0.0,
    alpha: float = 0.05,
    biased: VarianceComponents | PairComponents | None = None,
) -> PowerGrid:
    """The `power` of each of the designs; see `designs` for all combinations of some numbers."""
    rows = tuple(
        power(components, design, effect=effect, margin=margin, alpha=alpha, biased=biased) for design in designs
    )
    if not rows:
        msg = "a grid needs at least one design"
        raise ValueError(msg)
    return PowerGrid(rows)


def _refuse_undefined(*given: VarianceComponents | PairComponents | None) -> None:
    for name, of in zip(("components", "biased"), given, strict=True):
        values = [] if of is None else np.ravel(astuple(of)).tolist()
        if not all(map(math.isfinite, values)):
            msg = f"{name}: variances are finite numbers, found {', '.join(map(str, values))}"
            raise ValueError(msg)


def _variance(components: VarianceComponents | PairComponents, design: Design) -> float:
    shares = np.array(astuple(design.shares))
    if isinstance(components, VarianceComponents):
        if not design.paired:
            msg = f"components of a difference serve paired designs only, not this one: {design}"
            raise ValueError(msg)
        return float(shares @ np.array(astuple(components)))
    own = np.array(astuple(components.first)) + np.array(astuple(components.second))
    common = np.array(astuple(design.common)) * np.array(astuple(components.cross))
    return float(shares @ (own - 2 * common))


def degrees_of_freedom(variance: float, biased: VarianceComponents | PairComponents, design: Design) -> float:
    """Satterthwaite's: a factor that is paired counts by its difference, one that is not by each modality alone."""
    coefficients = design.shares
    total, least = 0.0, math.inf
    for name in ("n", "d", "r"):
        df = round(1 / getattr(coefficients, name) - 1)
        least = min(least, df)
        if isinstance(biased, VarianceComponents):
            parts = [biased]
        elif getattr(design.common, name):
            parts = [biased.difference]
        else:
            parts = [biased.first, biased.second]
        shares = [getattr(part, name) / variance for part in parts]
        squares = sum(share * share for share in shares)
        total += squares / df**3 if df > 0 else math.inf if squares else 0.0
    return max(1 / total if total else math.inf, least, 2.0)
