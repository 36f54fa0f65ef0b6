"""What a case without a usable output counts as, and one whose metric is undefined though its output is usable.

The first has no default: every rule names its policy. The second is a question to the reference, such as the Dice of a
healthy patient, and not to a team; unless a rule says otherwise, nothing is put in its place, and there is no board.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, get_args

from isocenter.metrics import catalogue
from isocenter.metrics.catalogue import Metric
from isocenter.schema import (
    MISSING,
    UNDEFINED_OF_BOARD,
    ByMetric,
    Check,
    MissingWord,
    Path,
    Penalised,
    Read,
    UndefinedWord,
    Written,
    Wrong,
    finite,
    quoted,
    read_missing,
    read_undefined_by_metric,
    refuse,
)


class Policy:
    """What a policy knows; the defaults are those of one that puts no number in the place of a missing case."""

    __slots__ = ()

    relative: ClassVar[bool] = False
    """Whether what a missing case counts as depends on the other teams."""

    leaves_out: ClassVar[bool] = False
    """Whether a submission is ranked by its other cases."""

    disqualifies: ClassVar[bool] = False
    """Whether a submission with a missing case stands on no board."""

    ranks_last: ClassVar[bool] = False
    """Whether a submission ranks last in a case that it lacks."""

    @property
    def has_number(self) -> bool:
        """Whether a number stands in for a missing case."""
        return not (self.leaves_out or self.disqualifies or self.ranks_last)

    names_value: ClassVar[bool] = False
    """Whether the organisers name the number, which has no meaning by another metric."""

    def words(self, unit: str = "") -> str:  # noqa: ARG002 (for policies that know a value)
        """What a missing case does, in the middle of a sentence; `unit` is that of the metric."""
        return str(self)

    def stand_in(self, metric: Metric) -> float | None:  # noqa: ARG002
        """The value of a case that has none; None where the metric alone does not say it."""
        return None

    def counts_as(self, metric: Metric, *, here: float | None, anywhere: float | None) -> float | None:  # noqa: ARG002
        """The value of a missing case, with the worst that any team has there and in any case; None if unknown."""
        return self.stand_in(metric)

    def check(self, metric: Metric, *, case_by_case: bool = False) -> None:  # noqa: ARG002
        """Raise if a missing case cannot count so by this metric."""
        self.stand_in(metric)

    def pseudo_code(self, metrics: Sequence[str], cell: str) -> str:
        """What is done with the cell of a missing case; of several metrics, in words that are right for each."""
        raise NotImplementedError

    def describe(self) -> float | str | dict[str, float]:
        """The policy as a file holds it."""
        return next(word for word, policy in BY_WORD.items() if policy == self)


@dataclass(frozen=True, slots=True)
class FixedValue(Policy):
    """The case stays in the mean with this value (HECKTOR 2020: a Dice of 0)."""

    names_value = True

    value: float

    def stand_in(self, metric: Metric) -> float:
        """The value of a case that has none."""
        if not metric.admits(self.value):
            msg = f"a missing {metric.name} cannot count as {self.value}: it lies in {list(metric.bounds)}"
            raise ValueError(msg)
        return self.value

    def words(self, unit: str = "") -> str:
        """The value, with its unit."""
        return f"counts as {self.value:g}{f' {unit}' if unit else ''}"

    def __str__(self) -> str:
        return self.words()

    def pseudo_code(self, metrics: Sequence[str], cell: str) -> str:  # noqa: ARG002
        """The cell gets the value."""
        return f"{cell} = {self.value:g}"

    def describe(self) -> float:
        """The value."""
        return float(self.value)


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

    def pseudo_code(self, metrics: Sequence[str], cell: str) -> str:
        """The cell gets the worst value."""
        worst = f"{catalogue.get(metrics[0]).worst:g}, " if len(metrics) == 1 else ""
        return f"{cell} = {worst}the worst {_name(metrics)} there is"


@dataclass(frozen=True, slots=True)
class WorstObserved(Policy):
    """The case counts as the worst value that any team has: there, part by part ("case"), or in any case ("anywhere").

    Benchmarks and organisers are no teams; what they have stands in for nothing.
    """

    relative = True

    where: Literal["case", "anywhere"] = "case"

    def counts_as(self, metric: Metric, *, here: float | None, anywhere: float | None) -> float | None:  # noqa: ARG002
        """The worst that any team has."""
        return anywhere if self.where == "anywhere" else here

    def __str__(self) -> str:
        return f"counts as the worst that any team has {'there' if self.where == 'case' else 'in any case'}"

    def pseudo_code(self, metrics: Sequence[str], cell: str) -> str:
        """The cell gets the worst of the teams."""
        return f"{cell} = the worst {_name(metrics)} of any team in {'i' if self.where == 'case' else 'any case'}"


@dataclass(frozen=True, slots=True)
class Penalty(Policy):
    """The case counts as so many times the worst value that any team has in any case.

    For metrics of which lower is better, and from 0 on: a multiple of a share or a likelihood would mean nothing.
    """

    relative = True

    factor: float

    def of(self, worst: float, metric: Metric) -> float:
        """The value of a case that has none, which is never better than the worst that was seen."""
        return min(self.factor * worst, metric.bounds[1])

    def counts_as(self, metric: Metric, *, here: float | None, anywhere: float | None) -> float | None:  # noqa: ARG002
        """So many times the worst in any case."""
        return None if anywhere is None else self.of(anywhere, metric)

    def check(self, metric: Metric, *, case_by_case: bool = False) -> None:  # noqa: ARG002
        """A multiple must be worse than what it is a multiple of."""
        if not (self.factor >= 1 and math.isfinite(self.factor)):
            msg = f"a penalty is a factor of at least 1, not {self.factor}"
            raise ValueError(msg)
        if metric.better != "lower" or metric.bounds[0] < 0:
            msg = f"{metric.name} has no penalty: only of a metric from 0 on that is better lower a multiple is worse"
            raise ValueError(msg)

    def __str__(self) -> str:
        return f"counts as {self.factor:g} times the worst that any team has in any case"

    def pseudo_code(self, metrics: Sequence[str], cell: str) -> str:
        """The cell gets the multiple, within the bounds of the metric."""
        limit = ", but no more than there is" if math.isfinite(catalogue.get(metrics[0]).bounds[1]) else ""
        return f"{cell} = {self.factor:g} × the worst {_name(metrics)} of any team in any case{limit}"

    def describe(self) -> dict[str, float]:
        """The factor by its name."""
        return {"penalty": float(self.factor)}


@dataclass(frozen=True, slots=True)
class RankLast(Policy):
    """In the case the submission ranks behind all that have an output; for rules that rank case by case."""

    ranks_last = True

    def check(self, metric: Metric, *, case_by_case: bool = False) -> None:
        """The rule must have ranks in every case."""
        if not case_by_case:
            msg = f"a missing case cannot rank last by {metric.name}: the rule does not rank case by case"
            raise ValueError(msg)

    def __str__(self) -> str:
        return "ranks last there"

    def pseudo_code(self, metrics: Sequence[str], cell: str) -> str:  # noqa: ARG002
        """The cell has a rank and no value."""
        return f"{cell} ranks behind all others in i"


@dataclass(frozen=True, slots=True)
class LeaveOut(Policy):
    """The mean is over the other cases, and the board says over how many. It rewards leaving out what is difficult."""

    leaves_out = True

    def __str__(self) -> str:
        return "is left out of the mean"

    def pseudo_code(self, metrics: Sequence[str], cell: str) -> str:  # noqa: ARG002
        """There is no cell."""
        return "leave i out for s"


@dataclass(frozen=True, slots=True)
class Disqualify(Policy):
    """One such case and the submission is on no board (PI-CAI)."""

    disqualifies = True

    def __str__(self) -> str:
        return "disqualifies the submission"

    def pseudo_code(self, metrics: Sequence[str], cell: str) -> str:  # noqa: ARG002
        """There is no submission."""
        return "s is disqualified and stands on no board"


Missing = FixedValue | WorstPossible | WorstObserved | Penalty | RankLast | LeaveOut | Disqualify

BY_WORD: dict[str, Missing] = {
    "worst": WorstPossible(),
    "worst-observed": WorstObserved("case"),
    "worst-observed-anywhere": WorstObserved("anywhere"),
    "rank-last": RankLast(),
    "leave-out": LeaveOut(),
    "disqualify": Disqualify(),
}
"""The policies that a file names by a word."""

POLICIES: tuple[Missing, ...] = (
    WorstPossible(),
    WorstObserved("case"),
    WorstObserved("anywhere"),
    RankLast(),
    Disqualify(),
    LeaveOut(),
)
"""The policies that a rule may be asked to try: those without a number that only organisers can know."""


def check_missing(policy: object, metric: Metric, *, case_by_case: bool = False) -> None:
    """Raise if a missing case cannot count so by this metric; `RankLast` needs a rule that ranks case by case."""
    refuse_other(policy)
    assert isinstance(policy, Policy)
    policy.check(metric, case_by_case=case_by_case)


def refuse_other(policy: object) -> None:
    """Raise if something is not a policy."""
    if not isinstance(policy, Missing):
        names = "FixedValue(…), WorstPossible(), WorstObserved(), Penalty(…), RankLast(), LeaveOut() or Disqualify()"
        msg = f"a missing case counts as {names}, not {policy!r}"
        raise TypeError(msg)


def policy_of(written: object) -> Missing:
    """The policy of what a file holds, once that is known to be one."""
    if isinstance(written, Penalised):
        return Penalty(written.penalty)
    return BY_WORD[written] if isinstance(written, str) else FixedValue(float(written))  # type: ignore[arg-type]


def _name(metrics: Sequence[str]) -> str:
    return metrics[0] if len(metrics) == 1 else "m"


MissingSetting = Annotated[
    Missing,
    Written(
        Annotated[float | MissingWord | Penalised, Read(read_missing)], read=policy_of, write=lambda one: one.describe()
    ),
    MISSING,
    "What a case counts as that has no output, or one that cannot be read.",
]
"""A field of a rule that says what a missing case counts as."""


Undefined = UndefinedWord | float
"""What is done where a metric is undefined for a usable output: a word, or the value that it counts as."""

UndefinedOfSeveral = Undefined | Mapping[str, Undefined]
"""The same for several metrics: one policy for all of them, or one by metric; those not named have "refuse"."""


class SettingError(ValueError):
    """A setting that a rule cannot have, its name, and where in it that lies."""

    def __init__(self, message: str, *, setting: str, at: Path = ()) -> None:
        super().__init__(message)
        self.setting = setting
        self.at = at


def freeze_undefined(policy: UndefinedOfSeveral) -> UndefinedOfSeveral:
    """A policy that can be hashed and compared; a mapping that names no metric is "refuse"."""
    if not isinstance(policy, Mapping):
        return policy
    return ByMetric(policy) if policy else "refuse"


def undefined_of(policy: UndefinedOfSeveral, metric: str) -> Undefined:
    """What is done where one of the metrics of a rule is undefined."""
    return policy.get(metric, "refuse") if isinstance(policy, Mapping) else policy


def keep_undefined(policy: UndefinedOfSeveral, names: Mapping[str, str]) -> UndefinedOfSeveral:
    """The policy of a rule that has some of the metrics only, or others in their place: new names by old."""
    if not isinstance(policy, Mapping):
        return policy
    return freeze_undefined({names[name]: one for name, one in policy.items() if name in names})


def check_undefined_names(policy: UndefinedOfSeveral, metrics: Sequence[str]) -> None:
    """Raise if a policy names a metric that the rule does not have."""
    for wrong in _look_in_rule(policy, metrics):
        raise SettingError(wrong.sentence, setting="undefined", at=wrong.at)


@contextmanager
def tell_metric(policy: UndefinedOfSeveral, metric: str) -> Iterator[None]:
    """Errors of a policy by metric say whose policy it is."""
    try:
        yield
    except SettingError as error:
        if error.setting == "undefined" and isinstance(policy, Mapping):
            raise SettingError(str(error), setting="undefined", at=(metric,)) from None
        raise


def _look_in_rule(policy: UndefinedOfSeveral, metrics: Sequence[str]) -> Iterator[Wrong]:
    """Every metric that is named must be one of the rule."""
    for name in policy if isinstance(policy, Mapping) else ():
        if name not in metrics:
            yield Wrong(
                name, at=(name,), sentence=refuse(name, f"a metric of this rule, {quoted(metrics, 'or')}", metrics)
            )


def _look_at_names(policy: UndefinedOfSeveral, context: Any) -> Iterator[Wrong]:
    """The same where only the description of the rule is known; see `isocenter.ranking.rules._settings.Context`."""
    return _look_in_rule(policy, context.names) if context.names is not None else iter(())


def check_undefined(policy: object, metric: Metric, *, alone: bool = True) -> None:
    """Raise if the metric cannot count so where it is undefined; `alone` if it is the only one of its rule."""
    words = get_args(UndefinedWord)
    refuse_by_metric(policy)
    if isinstance(policy, str):
        if policy not in words:
            msg = f"where a metric is undefined, a rule has {quoted(words, 'or')} or a number, not {policy!r}"
            raise SettingError(msg, setting="undefined")
        if policy == "unlisted" and not alone:
            msg = "a submission without a value of one metric still has the others; leave the case out of that metric"
            raise SettingError(msg, setting="undefined")
    elif finite(policy) is None or not metric.admits(float(policy)):  # type: ignore[arg-type]
        msg = f"an undefined {metric.name} cannot count as {policy}: it lies in {list(metric.bounds)}"
        raise SettingError(msg, setting="undefined")


def refuse_by_metric(policy: object) -> None:
    """Raise if a rule without several metrics has a policy by metric."""
    if isinstance(policy, Mapping):
        msg = "only a rule of several metrics has a policy by metric; write a word or a number"
        raise SettingError(msg, setting="undefined")


def leaves_undefined_out(policy: UndefinedOfSeveral) -> bool:
    """Whether a case in which the reference leaves a metric undefined is left out of it, of some metric at least."""
    policies = policy.values() if isinstance(policy, Mapping) else (policy,)
    return any(one in ("leave-out", "leave-out-or-missing") for one in policies)


def undefined_in_words(policy: UndefinedOfSeveral, name: Callable[[str], str] = str) -> str:
    """The policy as clauses of a sentence about a rule; "" for those that change no number.

    `name` says how a metric is called there.
    """
    if isinstance(policy, Mapping):
        units = {metric: catalogue.get(metric).unit for metric in policy if metric in catalogue.names()}
        return "".join(_clause(one, name(metric), units.get(metric, "")) for metric, one in policy.items())
    return _clause(policy)


def _clause(policy: Undefined, metric: str = "", unit: str = "") -> str:
    if policy in ("refuse", "unlisted"):
        return ""
    if isinstance(policy, str):
        mixed = ", or missing for those without a value if others have one" if policy == "leave-out-or-missing" else ""
        return f"; a case in which {metric or 'a metric'} is undefined is left out of it for all teams{mixed}"
    return f"; an undefined {metric or 'metric'} {FixedValue(policy).words(unit)}"


def _write_undefined(policy: UndefinedOfSeveral) -> str | float | dict[str, str | float]:
    if isinstance(policy, Mapping):
        return {metric: one if isinstance(one, str) else float(one) for metric, one in policy.items()}
    return policy if isinstance(policy, str) else float(policy)


_IN_FILES = Written(
    Annotated[float | UndefinedWord | ByMetric, Read(read_undefined_by_metric), Check(_look_at_names)],
    write=_write_undefined,
)
_ALLOWED = replace(UNDEFINED_OF_BOARD, absent="there is no board until the organisers have decided")
_TEXT = "What follows if the metric is undefined for a usable output, such as the Dice of a healthy patient."

UndefinedSetting = Annotated[Undefined, _IN_FILES, _ALLOWED, _TEXT]
"""A field of a rule that says what is done where the reference leaves a metric undefined."""

UndefinedOfSeveralSetting = Annotated[UndefinedOfSeveral, _IN_FILES, _ALLOWED, _TEXT]
"""The same for a rule of several metrics; `freeze_undefined` it there."""
