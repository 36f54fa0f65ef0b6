"""Settings that several rules have: what may be written in `[[boards]]` of challenge.toml and in a receipt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from isocenter.metrics import catalogue
from isocenter.ranking._ties import Ties
from isocenter.schema import TIES, Allowed, Check, Read, Within, Written, Wrong, quoted, refuse


@dataclass(frozen=True, slots=True)
class Context:
    """What a description is compared with.

    Attributes
    ----------
    measured
        The metrics that a challenge measures in every case; None for all of the catalogue.
    given
        Metrics that no case has, and that need not be measured.
    names
        The metrics of the rule, be they right or wrong; None where the description does not say them.
    """

    measured: Sequence[str] | None = None
    given: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None


def _look_for_metric(name: str, context: Context) -> Iterator[Wrong]:
    """The metric must be measured, and have a better and a worse."""
    known = catalogue.names() if context.measured is None else [*context.measured, *context.given]
    known = [metric for metric in known if metric in catalogue.names()]
    ranked = [metric for metric in known if catalogue.get(metric).better != "neither"]
    if name in ranked:
        return
    if name in known:
        sentence = f'"{name}" is an observation and has no better or worse; write {quoted(ranked, "or")}'
        yield Wrong(name, sentence=sentence)
    else:
        yield Wrong(name, sentence=refuse(name, quoted(ranked, "or"), ranked))


def _look_in_rule(name: str, context: Context) -> Iterator[Wrong]:
    """The metric must be one of the rule."""
    if context.names is not None and name not in context.names:
        allowed = f"a metric of this rule, {quoted(context.names, 'or')}"
        yield Wrong(name, sentence=refuse(name, allowed, context.names))


def _look_for_repeats(metrics: Sequence[WeightedMetric], context: Context) -> Iterator[Wrong]:  # noqa: ARG001
    """There must be metrics, each of them once."""
    if not metrics:
        yield Wrong([])
    names = [metric.metric for metric in metrics]
    for i, name in enumerate(names):
        if name in names[:i]:
            sentence = f'"{name}" is already among the metrics; write each of them once'
            yield Wrong(name, at=(i,), sentence=sentence)


_A_METRIC = Allowed("the name of a metric in quotes", example='"dice"', absent="metrics names several")

MetricName = Annotated[str, Check(_look_for_metric), _A_METRIC, "The metric that decides."]
MetricOfRule = Annotated[str, Check(_look_in_rule), _A_METRIC, "A metric of the rule."]
TiesSetting = Annotated[Ties, TIES, "Which rank teams with equal scores get."]
Tolerance = Annotated[
    float,
    Within(ge=0, lt=1),
    Allowed("a number, 0 or more and below 1", example="1e-9", absent="it is 1e-9"),
    "How far apart equal scores may be, as a part of the larger of two.",
]


def _read_part(value: object) -> object:
    """A name, or nothing; as a union, since the text of other settings is never empty."""
    if isinstance(value, str) and value == value.strip() and value.isprintable():
        return value
    raise Wrong(value)


PartName = Annotated[
    str | Literal[""],
    Read(_read_part),
    Allowed('the name of a part in quotes, such as "ET", or ""', example='"ET"', absent="it is the case as a whole"),
    "The part of each case that counts, such as one region.",
]


@dataclass(frozen=True, slots=True)
class WeightedMetric:
    """One of the metrics of a rule that has several; a file may hold its name alone, if the weight is 1."""

    alone: ClassVar[str] = "metric"
    written: ClassVar[Allowed] = Allowed('a name in quotes, or { metric = "dice", weight = 2 }')

    metric: Annotated[MetricName, "The metric."]
    weight: Annotated[float, Within(gt=0), Allowed("a number above 0", example="2"), "How much it counts."] = 1.0


WeightedMetrics = Annotated[
    tuple[tuple[str, float], ...],
    Written(
        Annotated[tuple[WeightedMetric, ...], Check(_look_for_repeats)],
        read=lambda items: tuple((item.metric, item.weight) for item in items),
        write=lambda pairs: [{"metric": name, "weight": float(weight)} for name, weight in pairs],
    ),
    Allowed(
        'names of metrics between brackets, with weights or without, such as ["dice", { metric = "jaccard", '
        "weight = 2 }]",
        example='["dice", { metric = "jaccard", weight = 2 }]',
        absent="metric names the only one",
    ),
    "The metrics of a rule that may have several, and their weights.",
]
