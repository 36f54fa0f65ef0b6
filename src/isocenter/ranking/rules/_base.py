"""What a rule must know, and what it may know beyond that.

A board needs four things of its rule (`Rule`). A class that inherits from `RankingRule` and registers itself with
`ranking_rule` says more: how it is called in files, in words and as pseudo-code, and what can be done with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar, cast

import polars as pl

from isocenter.detections import Detections
from isocenter.metrics import catalogue
from isocenter.metrics.catalogue import Metric
from isocenter.problems import describe_error, printable
from isocenter.ranking._board import Board, BoardRow
from isocenter.ranking._cells import Over
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import Missing, Undefined, check_missing, check_undefined
from isocenter.ranking._ties import TIES_IN_WORDS, Ties, rank_values
from isocenter.ranking.rules import _lines
from isocenter.ranking.rules._problems import DescriptionError, RuleProblem
from isocenter.resampling.matrices import Floats

if TYPE_CHECKING:
    from isocenter.ranking.rules._variants import Asked, Variant
    from isocenter.ranking.rules.weighted_ranks import Limit

GROUP = "isocenter.rules"
"""The entry points by which a package brings a rule: its name in files, and its class."""

Naming = Callable[[str], str]
"""How a metric is called in a sentence: by its name, or as people call it."""


class Rule(Protocol):
    """What a board needs of its rule."""

    @property
    def metric(self) -> str:
        """The metric that decides."""
        ...

    @property
    def reads(self) -> tuple[str, ...]:
        """The metrics that it needs of every case."""
        ...

    def check(self) -> None:
        """Raise ValueError if the rule cannot work, before anybody is scored."""
        ...

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """The board of a score table with a `submission` column."""
        ...


@dataclass(frozen=True, slots=True)
class CaseValues:
    """The one metric behind a score, and how its values are read, for paired tests on the same cases.

    `decimals` are those that a rule declares for its tests: differences are rounded to them. "noise": only those become
    ties that rounding noise tells apart.
    """

    metric: Metric
    missing: Missing
    decimals: int | Literal["noise"] = "noise"
    over: Over = "cases"
    undefined: Undefined = "refuse"
    part: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CaseScores:
    """What everybody who competes has in every case, so that its mean over the cases is the score.

    Attributes
    ----------
    cases
        In alphabetical order.
    values
        By team, a number per case.
    step
        All of them are whole multiples of this number, so that sums can be counted; None if there is none.
    """

    cases: tuple[str, ...]
    values: Mapping[str, Floats]
    step: float | None = None


class RankingRule:
    """A rule that says what can be done with it; the defaults promise nothing.

    A rule with a method `draw` can score bootstrap resamples of the cases; see `Drawable`.
    """

    __slots__ = ()

    kind: ClassVar[str] = ""
    """How a file calls the rule; see `ranking_rule`."""

    summary: ClassVar[str] = ""
    """How it ranks, for the list of all rules."""

    needs: ClassVar[tuple[str, ...]] = ()
    """Metrics that every rule of the class needs of every case, whatever its settings."""

    def __str__(self) -> str:
        return self.words(str)

    def words(self, name: Naming) -> str:  # noqa: ARG002 (a rule that names no metric)
        """How the teams are ranked, in one sentence without its end."""
        return f"by the rule {self.kind or type(self).__qualname__}"

    def pseudo_code(self) -> str:
        """How the teams are ranked, in lines that can be carried out by hand."""
        message = f"{type(self).__qualname__} does not say how it is carried out"
        raise DescriptionError([RuleProblem(("rule",), self.kind, message)])

    def alternatives(self, asked: Asked) -> Iterator[Variant]:  # noqa: ARG002 (a rule that knows none)
        """Rules that could as well have been declared, each with one thing changed."""
        return iter(())

    @property
    def relative(self) -> bool:
        """Whether the score of a team depends on who else takes part."""
        return bool(getattr(getattr(self, "missing", None), "relative", False))

    roundable: ClassVar[bool] = False
    """Whether the board may be shown with few decimals, or on a ladder."""

    @property
    def laddered(self) -> bool:
        """Whether a ladder knows the standard error of the differences."""
        return False

    @property
    def drawable(self) -> bool:
        """Whether the rule can score bootstrap resamples of the cases."""
        return hasattr(self, "draw")

    @property
    def rank_set_basis(self) -> str:
        """What the rank sets rest on, or why there are none."""
        if not self.drawable:
            return "there are none, since the rule does not say how its scores vary with the cases"
        return _lines.COVARIANCE

    shows_means: ClassVar[bool] = False
    """Whether means over the cases, with their standard errors, belong beside the scores."""

    @property
    def components(self) -> tuple[str, ...]:
        """The metrics that the score is made of; () if it is one."""
        return ()

    @property
    def beside(self) -> tuple[Rule, ...]:
        """Rules of one metric whose scores stand beside the score, such as the mean of each metric behind a mean rank.

        A rule says both what is shown and how it is aggregated, and gives its interval as well, if it can be drawn.
        Rows that `rank` gives components of its own keep those.
        """
        return ()

    @property
    def given(self) -> tuple[str, ...]:
        """The metrics that a whole submission has, measured elsewhere."""
        return ()

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits beyond which a submission does not compete."""
        return ()

    @property
    def tie_breaks(self) -> tuple[str, ...]:
        """The metrics that decide between equal scores, one after the other."""
        return ()

    @property
    def weights(self) -> dict[str, float]:
        """By metric the weights that can be changed on a board, without its score table."""
        return {}

    def reweighted(self, weights: Mapping[str, float]) -> Rule:  # noqa: ARG002 (a rule that has none)
        """The rule with other weights, for a table of what every submission reached by each metric."""
        msg = f"the board has no weights that can be changed ({self})"
        raise ValueError(msg)

    has_findings: ClassVar[bool] = False
    """Whether the score is made of findings."""

    def findings(self, table: pl.DataFrame) -> dict[str, Detections]:  # noqa: ARG002 (for rules that have them)
        """The findings of one submission, by trained instance."""
        msg = f"the board ranks by no findings ({self})"
        raise ValueError(msg)

    @property
    def mean_metric(self) -> str | None:
        """The metric whose plain mean over the cases is the score; None if it is something else."""
        return None

    @property
    def stand_in(self) -> float | None:
        """What a case without a usable output counts as; None where that depends on more than the rule."""
        return None

    def case_values(self) -> CaseValues:
        """The one metric that has a value in every case.

        Raises
        ------
        ValueError
            There is none.
        """
        reads: tuple[str, ...] = self.reads  # type: ignore[attr-defined]
        metric: str = self.metric  # type: ignore[attr-defined]
        if reads == (metric,):
            msg = f"the rule does not say which value of {metric} a case has ({self})"
        else:
            msg = f"{metric} has no value per case: it is made of {', '.join(reads)}; compare by one of them"
        raise ValueError(msg)

    def case_scores(
        self,
        scores: pl.DataFrame,  # noqa: ARG002 (for rules whose score is a mean of comparisons in each case)
        *,
        roles: Mapping[str, Role] | None = None,  # noqa: ARG002
    ) -> CaseScores | None:
        """The numbers whose mean over the cases is the score, where a test is made on these, not on a metric."""
        return None

    compares_ranks: ClassVar[bool] = False
    """Whether `case_scores` are what paired tests compare."""

    @property
    def paired(self) -> bool:
        """Whether teams can be compared in paired tests on the same cases."""
        if self.compares_ranks:
            return True
        try:
            self.case_values()
        except ValueError:
            return False
        return True


class OfOneMetric(RankingRule):
    """What rules have in common that rank by one metric of the cases; their fields are these, and others."""

    __slots__ = ()

    metric: str
    missing: Missing
    ties: Ties
    tolerance: float
    # A rule without such a setting puts nothing in the place of an undefined metric.
    undefined: Undefined = "refuse"
    part: str = ""

    @property
    def reads(self) -> tuple[str, ...]:
        """The one metric."""
        return (self.metric,)

    def check(self) -> None:
        """Whether the metric can be ranked, and can have the value that a missing case counts as."""
        metric = rankable(self.metric)
        check_ties(self.ties)
        check_missing(self.missing, metric)
        check_undefined(self.undefined, metric)

    @property
    def stand_in(self) -> float | None:
        """What the policy says of the metric."""
        return self.missing.stand_in(catalogue.get(self.metric))

    def case_values(self) -> CaseValues:
        """The metric, as the catalogue has it."""
        metric = catalogue.get(self.metric)
        return CaseValues(metric, self.missing, undefined=self.undefined, part=self.part)

    def alternatives(self, asked: Asked) -> Iterator[Variant]:
        """Other aggregations, metrics and policies."""
        from isocenter.ranking.rules import _variants

        yield from self.aggregations(asked)
        yield from _variants.change_metric(self, asked, lambda _, new: replace(self, metric=new))  # type: ignore[type-var]
        yield from _variants.change_policy(self, asked)

    def aggregations(self, asked: Asked) -> Iterator[Variant]:
        """The metric, aggregated in other ways."""
        from isocenter.ranking.rules import _variants

        return _variants.aggregate_one(self, asked)


def rankable(name: str) -> Metric:
    """A metric that has a better and a worse."""
    metric = catalogue.get(name)
    if metric.better == "neither":
        msg = f"{name} is an observation and has no better or worse"
        raise ValueError(msg)
    return metric


def check_ties(ties: object) -> None:
    """Raise for ties that there are not."""
    if ties not in TIES_IN_WORDS:
        msg = f"ties are one of {', '.join(TIES_IN_WORDS)}, not {ties!r}"
        raise ValueError(msg)


def check_part(part: object, over: Over) -> None:
    """Raise for a part that has no name, and for one beside all parts."""
    if not isinstance(part, str) or part.strip() != part:
        msg = f"a part has a name without spaces around it, not {part!r}"
        raise ValueError(msg)
    if part and over != "cases":
        msg = f"the rule ranks by {part} alone, or over all parts (over = {over!r}), not both"
        raise ValueError(msg)


def of_part(part: str) -> str:
    """The part of the cases that a rule ranks by, in its sentence; "" if it is the whole."""
    return f" of {part}" if part else ""


def in_words(metrics: Iterable[tuple[str, float]], name: Naming) -> str:
    """Metrics with their weights, where these are not 1."""
    return ", ".join(name(metric) if weight == 1 else f"{name(metric)} (×{weight:g})" for metric, weight in metrics)


class _Structural:
    """A rule that does not inherit from `RankingRule`: what it has itself, and the defaults for the rest."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule

    def __getattr__(self, name: str) -> Any:
        if hasattr(self._rule, name):
            return getattr(self._rule, name)
        member = getattr(RankingRule, name)
        return member.__get__(self, type(self)) if hasattr(member, "__get__") else member

    def __str__(self) -> str:
        return str(self._rule)

    def words(self, name: Naming) -> str:  # noqa: ARG002 (its sentence is its own)
        return str(self._rule)


def capabilities_of(rule: Rule) -> RankingRule:
    """What can be done with a rule, also with one that has no more than a board needs."""
    return rule if isinstance(rule, RankingRule) else cast("RankingRule", _Structural(rule))


_Made = TypeVar("_Made", bound=type[RankingRule])
_REGISTERED: dict[str, type[RankingRule]] = {}


def ranking_rule(kind: str, summary: str) -> Callable[[_Made], _Made]:
    """Register a dataclass as a rule that files can name.

    Parameters
    ----------
    kind
        How `[[boards]]` of challenge.toml and receipts call it.
    summary
        How it ranks, as in "by the mean of a metric over the cases".

    Notes
    -----
    The fields of the class are its settings; notes in their annotations say what may be written there, see
    `isocenter.schema`. Another package names the class in the entry-point group `isocenter.rules` as well, under the
    same name, so that it is found before anybody imports it.
    """

    def register(made: _Made) -> _Made:
        known = _REGISTERED.get(kind)
        if known is not None and (known.__module__, known.__qualname__) != (made.__module__, made.__qualname__):
            msg = f'there is already a rule "{kind}", {known.__module__}.{known.__qualname__}'
            raise ValueError(msg)
        if _REGISTERED.get(made.kind) is made and made.kind != kind:
            msg = f'{made.__module__}.{made.__qualname__} is the rule "{made.kind}" already, and cannot be "{kind}"'
            raise ValueError(msg)
        made.kind, made.summary = kind, summary
        _REGISTERED[kind] = made
        return made

    return register


def rule_class(kind: str) -> type[RankingRule] | None:
    """The class of a rule by its name in files, of this package or of any that is installed; None if there is none.

    Raises
    ------
    ValueError
        The package that brings it cannot be imported, or brings something else.
    """
    point = installed_rules().get(kind)
    if kind not in _REGISTERED and point is not None:
        try:
            point.load()
        except (Exception, SystemExit) as error:
            msg = f'the rule "{kind}" cannot be loaded from {point.value}: {printable(describe_error(error))}'
            raise ValueError(msg) from error
    return _REGISTERED.get(kind)


def kind_of(rule: Rule) -> str | None:
    """The name of a rule in files; None for one that no file can name."""
    kind = getattr(type(rule), "kind", "")
    made: type[Any] = type(rule)
    return kind if kind and _REGISTERED.get(kind) is made else None


def other_kinds() -> list[str]:
    """The names of rules that other packages bring, in alphabetical order."""
    return sorted(_REGISTERED.keys() | installed_rules().keys())


@cache
def installed_rules() -> dict[str, EntryPoint]:
    """The entry points of rules by name; looking for them takes longer than reading a rule."""
    return {point.name: point for point in entry_points(group=GROUP)}


def place(rows: Sequence[BoardRow], *, metric: Metric, ties: Ties, tolerance: float, name: str, rule: str) -> Board:
    """A board of rows that have their score: ranked, in order, and those without a score unlisted."""
    assert metric.better != "neither"
    scored = [row for row in rows if row.score is not None]
    competing = [row for row in scored if row.role == "team"]
    ranks = rank_values([row.score for row in competing], metric.better, ties=ties, tolerance=tolerance)
    ranked = {row.submission: rank for row, rank in zip(competing, ranks, strict=True)}
    sign = -1.0 if metric.better == "higher" else 1.0
    placed = sorted(
        (replace(row, rank=ranked.get(row.submission)) for row in scored),
        key=lambda row: (sign * (row.score or 0.0), row.rank or 0.0, row.submission),
    )
    return Board(
        name=name,
        metric=metric.name,
        rule=rule,
        rows=tuple(_tied_by_name(placed)),
        unlisted=tuple(row for row in rows if row.score is None),
    )


def _tied_by_name(rows: list[BoardRow]) -> list[BoardRow]:
    """Rows of one shared rank in alphabetical order: rounding noise must not decide who is named first."""
    first: dict[float, int] = {}
    for i, row in enumerate(rows):
        if row.rank is not None:
            first.setdefault(row.rank, i)
    places = [i if row.rank is None else first[row.rank] for i, row in enumerate(rows)]
    return [row for _, _, row in sorted(zip(places, (row.submission for row in rows), rows, strict=True))]
