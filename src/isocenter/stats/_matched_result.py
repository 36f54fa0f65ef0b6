"""What a comparison with clinical routine found, and the sentence that a paper prints of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from isocenter.stats._matching import Match, Tie

Flavour = Literal["rematch", "published"]

FLAVOURS: dict[Flavour, str] = {
    "rematch": "thresholds matched anew in every replicate",
    "published": "thresholds matched once on all cases",
}


@dataclass(frozen=True)
class MatchedBootstrap:
    """What `matched_bootstrap` found; as text, a sentence of a paper.

    Attributes
    ----------
    match, conjugate
        The measure that instances are set to, and the one that is compared.
    routine_matched, routine_conjugate
        Both, of the routine, on all cases.
    instance_conjugates
        Of each instance on all cases, at the matched operating point.
    difference, low, high, level
        Mean conjugate measure of the instances minus that of the routine, and its percentile interval.
    prob_ai_at_least
        The share of replicates in which at least half of the instances, ties counting half, reach the routine.
    p_value
        One-sided, of the claim that the algorithm is better: (1 + replicates in which it is not) / (1 + replicates).
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
        return asdict(self)

    def __str__(self) -> str:
        weighted = "" if self.effective_cases == self.cases else f" (worth {self.effective_cases:.0f} unweighted ones)"
        return (
            f"At the {self.match} of the routine, {self.routine_matched:.3f}, the algorithm's {self.conjugate} is "
            f"{self.routine_conjugate + self.difference:.3f} and the routine's {self.routine_conjugate:.3f}: "
            f"difference {self.difference:+.3f} ({100 * self.level:g} % CI {self.low:.3f} to {self.high:.3f}), "
            f"P(algorithm at least as good) = {self.prob_ai_at_least:.4f}, one-sided p = {self.p_value:.3g} (paired "
            f"bootstrap of {self.cases} cases{weighted} and {self.instances} instances, {self.replicates} replicates, "
            f"{FLAVOURS[self.flavour]}, {self.redrawn} undefined draws made again, seed {self.seed})."
        )
