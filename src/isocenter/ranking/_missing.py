"""What a case without a usable output counts as. There is no default: every rule names its policy."""

from __future__ import annotations

import math
from dataclasses import dataclass

from isocenter.metrics.catalogue import Metric


@dataclass(frozen=True, slots=True)
class FixedValue:
    """The case stays in the mean with this value (HECKTOR 2020: a Dice of 0)."""

    value: float

    def stand_in(self, metric: Metric) -> float:
        """The value of a case that has none."""
        if not metric.admits(self.value):
            msg = f"a missing {metric.name} cannot count as {self.value}: it lies in {list(metric.bounds)}"
            raise ValueError(msg)
        return self.value

    def __str__(self) -> str:
        return f"counts as {self.value:g}"


@dataclass(frozen=True, slots=True)
class WorstPossible:
    """The case counts as the worst value that the catalogue allows; an error for a metric without such a bound."""

    def stand_in(self, metric: Metric) -> float:
        """The value of a case that has none."""
        if not math.isfinite(metric.worst):
            msg = f"{metric.name} has no worst value (bounds {list(metric.bounds)}); name a fixed one instead"
            raise ValueError(msg)
        return metric.worst

    def __str__(self) -> str:
        return "counts as the worst possible value"


@dataclass(frozen=True, slots=True)
class WorstObserved:
    """The case counts as the worst value that any submission has there, part by part."""

    def __str__(self) -> str:
        return "counts as the worst that any submission has there"


@dataclass(frozen=True, slots=True)
class LeaveOut:
    """The mean is over the other cases, and the board says over how many. It rewards leaving out what is difficult."""

    def __str__(self) -> str:
        return "is left out of the mean"


@dataclass(frozen=True, slots=True)
class Disqualify:
    """One such case and the submission is on no board (PI-CAI)."""

    def __str__(self) -> str:
        return "disqualifies the submission"


Missing = FixedValue | WorstPossible | WorstObserved | LeaveOut | Disqualify
