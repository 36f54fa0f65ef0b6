"""A check of a power by playing the study: random readers and cases, the estimate of each study, and its test."""

from __future__ import annotations

import math
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np

from isocenter.stats._differences import Floats
from isocenter.stats._provenance import record
from isocenter.stats._sizing import DF_RULE, degrees_of_freedom
from isocenter.stats._study_design import Design, VarianceComponents

# From sums over what two pairs have in common to sums over what they have in common and nothing else.
_ONLY = np.array(
    [
        [1, 0, 0, 0, 0, 0, 0, 0],
        [-1, 1, 0, 0, 0, 0, 0, 0],
        [-1, 0, 1, 0, 0, 0, 0, 0],
        [1, -1, -1, 1, 0, 0, 0, 0],
        [-1, 0, 0, 0, 1, 0, 0, 0],
        [1, -1, 0, 0, -1, 1, 0, 0],
        [1, 0, -1, 0, -1, 0, 1, 0],
        [-1, 1, 1, -1, 1, -1, -1, 1],
    ]
)


@dataclass(frozen=True)
class SimulatedPower:
    """What `simulated_power` found; as text, a sentence.

    Attributes
    ----------
    power
        The share of studies that showed what they were made to show.
    monte_carlo_error
        Its standard error.
    spread, mean_error
        Standard deviation of the differences that the studies found, and root mean square of the standard errors that
        they gave to them.
    fallbacks
        Studies whose unbiased variance was not above 0, so that the biased one was taken.
    replicates, seed, design, effect, margin, alpha
        As they were given.
    """

    power: float
    monte_carlo_error: float
    spread: float
    mean_error: float
    fallbacks: int
    replicates: int
    seed: int
    design: Design
    effect: float
    margin: float
    alpha: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return record(asdict(self), method="simulated studies, U-statistic variance of each", df_rule=DF_RULE)

    def __str__(self) -> str:
        aim = f"a margin of {self.margin:g}" if self.margin else "a difference"
        return (
            f"{self.design}: {100 * self.power:.1f} % of {self.replicates} simulated studies (± "
            f"{100 * self.monte_carlo_error:.1f} %) show {aim} if the true difference is {self.effect:g} (U-statistic "
            f"variance of each study, two-sided alpha {self.alpha:g}, seed {self.seed})."
        )


def simulated_power(
    components: VarianceComponents,
    design: Design,
    *,
    effect: float = 0.0,
    margin: float = 0.0,
    alpha: float = 0.05,
    replicates: int = 1000,
    seed: int = 0,
) -> SimulatedPower:
    """The share of simulated studies that show a difference, or that it is not below −margin; see `power`.

    Readers, cases and what they do together are drawn from normal distributions with the variances given. Each study
    estimates the variance of its difference by U-statistics and tests with Satterthwaite's degrees of freedom, as its
    analysis would. An effect of 0 without a margin gives the error of the first kind in one direction, alpha / 2.

    The design is paired throughout, and its numbers can be divided by the number of blocks.

    References
    ----------
    Gallas BD, Bandos A, Samuelson FW, Wagner RF. A framework for random-effects ROC analysis: biases with the bootstrap
    and other variance estimators. Commun Stat Theory Methods 38 (2009).

    Examples
    --------
    >>> pilot = VarianceComponents(n=0.012, d=0.0144, r=0.00338, dr=0.019)
    >>> found = simulated_power(pilot, Design(20, 140, 60, blocks=2), effect=0.05, replicates=200)
    >>> abs(found.power - 0.59) < 4 * found.monte_carlo_error
    True
    """
    from scipy.special import stdtrit

    _check(components, design, alpha, replicates)
    rng = np.random.default_rng(seed)
    share, totals = _shares(design)
    found = np.empty((replicates, 2))
    shown = fallbacks = 0
    for study in range(replicates):
        values = effect + _study(rng, components, design)
        sums = _sums(values)
        biased = sums / totals
        variance = float(share @ _ratio(_ONLY @ sums, _ONLY @ totals))
        if variance <= 0:
            variance, fallbacks = max(float(share @ biased), 0.0), fallbacks + 1
        df = degrees_of_freedom(variance, VarianceComponents.from_moments(biased.tolist()), design)
        found[study] = values.mean(), variance
        shown += bool(found[study, 0] + margin > stdtrit(df, 1 - alpha / 2) * math.sqrt(variance))
    power = shown / replicates
    return SimulatedPower(
        power=power,
        monte_carlo_error=math.sqrt(power * (1 - power) / replicates),
        spread=float(found[:, 0].std(ddof=1)),
        mean_error=math.sqrt(float(found[:, 1].mean())),
        fallbacks=fallbacks,
        replicates=replicates,
        seed=seed,
        design=design,
        effect=effect,
        margin=margin,
        alpha=alpha,
    )


def _check(components: VarianceComponents, design: Design, alpha: float, replicates: int) -> None:
    problems = []
    if replicates < 2 or not 0 < alpha < 1:
        problems.append(f"at least 2 studies and an alpha between 0 and 1 are needed, not {replicates} and {alpha}")
    if below := [name for name, value in asdict(components).items() if value < 0]:
        problems.append(f"nothing can be drawn with a variance below 0: {', '.join(below)}")
    if not design.paired or any(number % design.blocks for number in design.per_modality):
        problems.append(f"the design must be paired throughout and divisible by its blocks: {design}")
    if problems:
        msg = "no study can be simulated: " + "; ".join(problems)
        raise ValueError(msg)


def _block_shape(design: Design) -> tuple[int, int, int, int]:
    """Blocks, and the readers, negative and positive cases of one."""
    r, n, d = (round(number / design.blocks) for number in design.per_modality)
    return design.blocks, r, n, d


def _shares(design: Design) -> tuple[Floats, Floats]:
    """What each moment is multiplied with in the variance; and how many products each sum has."""
    g, r, n, d = _block_shape(design)
    totals = g * r * n * d * np.array([1, n, d, n * d, r, r * n, r * d, g * r * n * d], dtype=np.float64)
    share: Floats = _ONLY @ totals / totals[7]
    share[7] -= 1
    return share, totals


def _study(rng: np.random.Generator, components: VarianceComponents, design: Design) -> Floats:
    """Differences by block, reader, negative and positive case, without the true one."""
    g, r, n, d = _block_shape(design)
    shapes = [(g, 1, n, 1), (g, 1, 1, d), (g, 1, n, d), (g, r, 1, 1), (g, r, n, 1), (g, r, 1, d), (g, r, n, d)]
    values = np.zeros((g, r, n, d))
    for variance, shape in zip(astuple(components), shapes, strict=True):
        if variance > 0:
            values += math.sqrt(variance) * rng.standard_normal(shape)
    return values


def _sums(x: Floats) -> Floats:
    """Of products of pairs: same reader, then any readers; same cases, positive case, negative case, any cases."""
    over_readers, by_positive, by_negative = x.sum(axis=1), x.sum(axis=2), x.sum(axis=3)
    parts = (
        x,
        by_positive,
        by_negative,
        by_negative.sum(axis=2),
        over_readers,
        by_positive.sum(axis=1),
        by_negative.sum(axis=1),
        x.sum(),
    )
    return np.array([np.vdot(part, part) for part in parts])


def _ratio(over: Floats, under: Floats) -> Floats:
    """0 where there is nothing to be divided by."""
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)
