"""What a bootstrap of cases found, and the sentence that a paper prints of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from isocenter.metrics._roc import Floats
from isocenter.stats._provenance import record

Draws = Literal["blocks", "picai"]

BY_BOOTSTRAP = "percentile bootstrap of cases"


class Interval(NamedTuple):
    """A number as measured on all cases, and the bounds of its confidence interval."""

    value: float
    low: float
    high: float

    def text(self, level: float) -> str:
        """As papers print it."""
        return f"{self.value:.4f} ({100 * level:g} % CI {self.low:.4f} to {self.high:.4f})"


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """What `bootstrap_ci` found; as text, a sentence of a paper.

    Attributes
    ----------
    auroc
        Of the cases.
    average_precision, score
        Of the lesions, and the mean of both, (AUROC + AP) / 2; None if there were no rows of lesions to draw.
    level, seed, draws
        The coverage aimed at, the seed of the draws and how they were made.
    redrawn
        How many draws had no positive case, no negative one or no lesion, and were drawn again.
    samples
        AUROC (first column) and AP (second one, if there are lesions) of every replicate.
    """

    auroc: Interval
    average_precision: Interval | None
    score: Interval | None
    level: float
    seed: int
    draws: Draws
    redrawn: int
    samples: Floats

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: how many replicates there are, without the replicates."""
        found = {name: getattr(self, name) for name in ("auroc", "average_precision", "score", "level")}
        made = {"replicates": len(self.samples), "redrawn": self.redrawn, "seed": self.seed, "draws": self.draws}
        return record({**found, **made}, method=BY_BOOTSTRAP)

    def __str__(self) -> str:
        of_lesions = [
            f"{name} {interval.text(self.level)}"
            for name, interval in (("average precision", self.average_precision), ("mean of both", self.score))
            if interval is not None
        ]
        return (
            f"{', '.join([f'AUROC {self.auroc.text(self.level)}', *of_lesions])}; {BY_BOOTSTRAP}, {len(self.samples)} "
            f"replicates, {self.redrawn} undefined draws made again, seed {self.seed}."
        )
