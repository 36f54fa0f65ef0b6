"""What a comparison with clinical routine found, and the sentence that a paper prints of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Literal

from isocenter.stats._matching import ROUNDING, Match, Tie
from isocenter.stats._provenance import record

Flavour = Literal["rematch", "published"]

FLAVOURS: dict[Flavour, str] = {
    "rematch": "thresholds matched anew in every replicate",
    "published": "thresholds matched once on all cases",
}


@dataclass(frozen=True)
class MatchedBootstrap:
    """What `matched_bootstrap` found; as text, sentences of a paper.

    An algorithm with few distinct scores may have no threshold near the operating point of the routine. Then it is
    compared somewhere else, and the text warns.

    Attributes
    ----------
    match, conjugate
        The measure that instances are set to, and the one that is compared.
    routine_matched, routine_conjugate
        Both, of the routine, on all cases.
    instance_conjugates
        Of each instance on all cases, at the matched operating point.
    instance_best, instance_worst
        The same at the best and at the worst of the thresholds that are equally near.
    instance_gaps
        How far the matched measure of each instance is from that of the routine there, on all cases.
    step
        How much of the routine's matched measure one case is: 1 over the positive or negative cases; one lesion or,
        for precision, one call. If weights differ, the heaviest one.
    difference, low, high, level
        Mean conjugate measure of the instances minus that of the routine, and its percentile interval.
    prob_ai_at_least
        The share of replicates in which at least half of the instances, ties counting half, reach the routine.
    p_value
        One-sided, of the claim that the algorithm is better: (1 + replicates in which it is not) / (1 + replicates).
        Where exactly half of the instances are ahead, or all are level, it is not.
    replicates, redrawn, seed
        How many were made, how many draws were undefined (a class or all calls missing) and drawn again; the seed.
    flavour, tie
        As they were asked for.
    cases, positives, instances
        How many there are; for lesions, positives are these.
    effective_cases
        (Σw)² / Σw², how many equally weighted cases the weighted ones are worth.
    """

    match: Match
    conjugate: Match
    routine_matched: float
    routine_conjugate: float
    instance_conjugates: tuple[float, ...]
    instance_best: tuple[float, ...]
    instance_worst: tuple[float, ...]
    instance_gaps: tuple[float, ...]
    step: float
    difference: float
    low: float
    high: float
    level: float
    prob_ai_at_least: float
    p_value: float
    replicates: int
    redrawn: int
    seed: int
    flavour: Flavour
    tie: Tie
    cases: int
    positives: int
    instances: int
    effective_cases: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        method = f"paired bootstrap of cases and instances at the matched {self.match}, {FLAVOURS[self.flavour]}"
        gaps = {"gap": self.gap, "mean_gap": self.mean_gap, "matched": self.matched}
        return record(asdict(self), **gaps, method=method)

    @property
    def gap(self) -> float:
        """The largest of the instances' gaps."""
        return max(self.instance_gaps)

    @property
    def mean_gap(self) -> float:
        """The mean of the instances' gaps."""
        return fmean(self.instance_gaps)

    @property
    def matched(self) -> bool:
        """Whether every instance has a threshold as near to the routine as a single case can make it."""
        return self.gap <= self.step + ROUNDING

    def __str__(self) -> str:
        weighted = "" if self.effective_cases == self.cases else f" (worth {self.effective_cases:.0f} unweighted ones)"
        trained = f"{self.instances} instance{'s' * (self.instances != 1)}"
        return (
            f"At the {self.match} of the routine, {self.routine_matched:.3f}, the algorithm's {self.conjugate} is "
            f"{self.routine_conjugate + self.difference:.3f} and the routine's {self.routine_conjugate:.3f}: "
            f"difference {self.difference:+.3f} ({100 * self.level:g} % CI {self.low:.3f} to {self.high:.3f}), "
            f"P(algorithm at least as good) = {self.prob_ai_at_least:.4f}, one-sided p = {self.p_value:.3g} (paired "
            f"bootstrap of {self.cases} cases{weighted} and {trained}, {self.replicates} replicates, "
            f"{FLAVOURS[self.flavour]}, {self.redrawn} undefined draws made again, seed {self.seed}). "
            f"{self._nearness()}"
        )

    def _nearness(self) -> str:
        """How near the match is, and what else it could have been."""
        worst, best = fmean(self.instance_worst), fmean(self.instance_best)
        tied = f"; equally near thresholds give a {self.conjugate} from {worst:.3f} to {best:.3f}"
        within = f"{round(self.gap, 6):.2g} (mean {round(self.mean_gap, 6):.2g})"
        near = f"The {self.match} is met within {within}{tied if worst < best else ''}."
        if self.matched:
            return near
        off = sum(gap > self.step + ROUNDING for gap in self.instance_gaps)
        return (
            f"{near} Warning: the {self.match} of {off} of {self.instances} instances stays off by up to "
            f"{self.gap:.3f}, more than one {self._unit} ({self.step:.3f}): their operating point is not the routine's."
        )

    @property
    def _unit(self) -> str:
        return {"recall": "lesion", "precision": "call"}.get(self.match, "case")
