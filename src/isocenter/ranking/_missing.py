"""What a case without a usable output counts as. There is no default: every rule names its policy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from isocenter.metrics.catalogue import Metric


class Policy:
    """What a policy knows; the defaults are those of one that puts no number in the place of a missing case."""

    __slots__ = ()

    @property
    def relative(self) -> bool:
        """Whether what a missing case counts as depends on the other teams."""
        return False

    def stand_in(self, metric: Metric) -> float | None:  # noqa: ARG002 (for policies that know a value)
        """The value of a case that has none; None where the metric alone does not say it."""
        return None


@dataclass(frozen=True, slots=True)
class FixedValue(Policy):
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
class WorstPossible(Policy):
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
class WorstObserved(Policy):
    """The case counts as the worst value that any team has: there, part by part ("case"), or in any case ("anywhere").

    Benchmarks and organisers are no teams; what they have stands in for nothing.
    """

    where: Literal["case", "anywhere"] = "case"

    @property
    def relative(self) -> bool:
        """It is the worst of the teams."""
        return True

    def __str__(self) -> str:
        return f"counts as the worst that any team has {'there' if self.where == 'case' else 'in any case'}"


@dataclass(frozen=True, slots=True)
class Penalty(Policy):
    """The case counts as so many times the worst value that any team has in any case.

    For metrics of which lower is better, and from 0 on: a multiple of a share or a likelihood would mean nothing.
    """

    factor: float

    @property
    def relative(self) -> bool:
        """It is the worst of the teams."""
        return True

    def of(self, worst: float, metric: Metric) -> float:
        """The value of a case that has none, which is never better than the worst that was seen."""
        return min(self.factor * worst, metric.bounds[1])

    def __str__(self) -> str:
        return f"counts as {self.factor:g} times the worst that any team has in any case"


@dataclass(frozen=True, slots=True)
class RankLast(Policy):
    """In the case the submission ranks behind all that have an output; for rules that rank case by case."""

    def __str__(self) -> str:
        return "ranks last there"


@dataclass(frozen=True, slots=True)
class LeaveOut(Policy):
    """The mean is over the other cases, and the board says over how many. It rewards leaving out what is difficult."""

    def __str__(self) -> str:
        return "is left out of the mean"


@dataclass(frozen=True, slots=True)
class Disqualify(Policy):
    """One such case and the submission is on no board (PI-CAI)."""

    def __str__(self) -> str:
        return "disqualifies the submission"


Missing = FixedValue | WorstPossible | WorstObserved | Penalty | RankLast | LeaveOut | Disqualify


def check_missing(policy: object, metric: Metric, *, case_by_case: bool = False) -> None:
    """Raise if a missing case cannot count so by this metric; `RankLast` needs a rule that ranks case by case."""
    if not isinstance(policy, Missing):
        names = "FixedValue(…), WorstPossible(), WorstObserved(), Penalty(…), RankLast(), LeaveOut() or Disqualify()"
        msg = f"a missing case counts as {names}, not {policy!r}"
        raise TypeError(msg)
    if isinstance(policy, FixedValue | WorstPossible):
        policy.stand_in(metric)
    if isinstance(policy, RankLast) and not case_by_case:
        msg = f"a missing case cannot rank last by {metric.name}: the rule does not rank case by case"
        raise ValueError(msg)
    if isinstance(policy, Penalty):
        if not (policy.factor >= 1 and math.isfinite(policy.factor)):
            msg = f"a penalty is a factor of at least 1, not {policy.factor}"
            raise ValueError(msg)
        if metric.better != "lower" or metric.bounds[0] < 0:
            msg = f"{metric.name} has no penalty: only of a metric from 0 on that is better lower a multiple is worse"
            raise ValueError(msg)
