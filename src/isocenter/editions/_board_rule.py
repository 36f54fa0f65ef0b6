"""A board of an edition's own: the kinds of rules, and what can be set for each.

Which settings a rule has, and whether they go together, `isocenter.ranking.rule_of` says once the challenge is known.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from isocenter.editions._table import Table
from isocenter.editions._values import Allowed, BoardMissing, BoardTies, choice, number


def _decimals(value: object) -> object:
    """A number or a word; checked here, as a union would report a problem once per member."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 15
    if value is None or value == "catalogue" or whole:
        return value
    raise PydanticCustomError("not_allowed", "no number of decimals")


BoardName = Annotated[str, Field(pattern=r"\S"), Allowed("a text in quotes that is not empty", example='"median-dice"')]
Flag = Annotated[bool, Allowed("true or false", example="true")]
RuleKind = Annotated[
    Literal["mean", "quantile", "trimmed-mean", "mean-rank", "weighted-ranks", "tests", "normalised-sum", "detection"],
    choice(
        {
            '"mean"': "by the mean of a metric over the cases",
            '"quantile"': "by a quantile over the cases, such as the median",
            '"trimmed-mean"': "by the mean without the lowest and the highest cases",
            '"mean-rank"': "in every case, then by the mean of these ranks; one metric or several",
            '"weighted-ranks"': "by the mean of every metric, then by the weighted mean of these ranks",
            '"tests"': "by how many others a team is significantly better than",
            '"normalised-sum"': "by the sum of metrics that are stretched from the worst to the best team",
            '"detection"': "by auroc, average_precision, or the mean of both, detection_score",
        },
        example='"quantile"',
    ),
]
MetricName = Annotated[str, Field(pattern=r"\S"), Allowed("the name of a metric in quotes", example='"dice"')]
OneMetric = Annotated[
    str | None,
    Field(pattern=r"\S"),
    Allowed("the name of a metric in quotes", example='"dice"', absent="metrics names several"),
]
MetricNames = Annotated[
    Annotated[tuple[MetricName, ...], Field(strict=False)] | None,
    Allowed("names of metrics in quotes between brackets, or []", example='["run_time"]', absent="there are none"),
]
_SEVERAL = Allowed(
    'names of metrics between brackets, with weights or without, such as ["dice", { metric = "jaccard", weight = 2 }]',
    example='["dice", { metric = "jaccard", weight = 2 }]',
    absent="metric names the only one",
)
_LIMITS = Allowed(
    'limits between brackets, such as [{ metric = "run_time", value = 60, at = "excluded" }], or []',
    example='[{ metric = "run_time", value = 60, at = "excluded" }]',
    absent="there are none",
)
Weight = Annotated[
    float, BeforeValidator(number), Field(gt=0, allow_inf_nan=False), Allowed("a number above 0", example="2")
]
Value = Annotated[float, BeforeValidator(number), Field(allow_inf_nan=False), Allowed("a number", example="0.5")]
At = Annotated[
    Literal["excluded", "allowed"],
    choice({'"excluded"': "who is exactly at the limit does not compete", '"allowed"': "who is exactly there does"}),
]
Over = Annotated[
    Literal["cases", "parts", "parts-within-cases"] | None,
    choice(
        {
            '"cases"': "the cases, each of which has one number",
            '"parts"': "all parts of all cases, so that a case with more parts has more say",
            '"parts-within-cases"': "the parts of each case first, then the cases",
        },
        example='"cases"',
        absent="it is the cases",
    ),
]
Undefined = Annotated[
    Literal["refuse", "unlisted"] | None,
    choice(
        {
            '"refuse"': "there is no board until the organisers have decided",
            '"unlisted"': "the team does not stand on this board",
        },
        example='"refuse"',
        absent="there is no board until the organisers have decided",
    ),
]
Quantile = Annotated[
    Annotated[float, BeforeValidator(number), Field(ge=0, le=1)] | None,
    Allowed("a number from 0 to 1", example="0.5", absent="it is 0.5, the median"),
]
Proportion = Annotated[
    Annotated[float, BeforeValidator(number), Field(ge=0, lt=0.5)] | None,
    Allowed("a number, 0 or more and below 0.5", example="0.1", absent="it is 0.1"),
]
Level = Annotated[
    Annotated[float, BeforeValidator(number), Field(gt=0, lt=1)] | None,
    Allowed("a number above 0 and below 1", example="0.05", absent="it is 0.05"),
]
Adjustment = Annotated[
    Literal["none", "holm", "bonferroni", "bh"] | None,
    choice(
        {
            '"none"': "every test has the level for itself",
            '"holm"': "the chance of any false win is at most the level",
            '"bonferroni"': "the same, more strictly than needed",
            '"bh"': "of the wins, the share of false ones is at most the level (Benjamini and Hochberg)",
        },
        example='"none"',
        absent="every test has the level for itself",
    ),
]
Decimals = Annotated[
    int | Literal["catalogue"] | None,
    BeforeValidator(_decimals),
    choice(
        {"a whole number": "from 0 to 15", '"catalogue"': "as many as tables print of the metric"},
        example='"catalogue"',
        absent="as many as tables print of the metric",
    ),
]
Tolerance = Annotated[
    Annotated[float, BeforeValidator(number), Field(ge=0, lt=1)] | None,
    Allowed("a number, 0 or more and below 1", example="1e-9", absent="it is 1e-9"),
]


class WeightedMetric(Table):
    """One of the metrics of a rule that has several; a file may hold its name alone, if the weight is 1."""

    metric: MetricName = Field(description="The metric.")
    weight: Weight = Field(default=1.0, description="How much it counts.")


class LimitRule(Table):
    """Who is beyond it does not compete."""

    metric: MetricName = Field(description="A metric of the rule.")
    value: Value = Field(description="The limit, in the unit of the metric.")
    at: At = Field(default="excluded", description="What becomes of a submission exactly at the limit.")


def _by_name(value: object) -> object:
    return {"metric": value} if isinstance(value, str) else value


class BoardRule(Table):
    """One ranking by a rule of the edition's own: in place of the challenge's board of that name, or beside its boards.

    Which of the settings a rule has, the challenge it is applied to must know: see `apply`.
    """

    name: BoardName = Field(description="The name of the board; a board of the challenge that has it is replaced.")
    main: Flag = Field(default=False, description="Whether it is the main board, which is meant where none is named.")
    rule: RuleKind = Field(description="How the teams are ranked.")
    metric: OneMetric = Field(default=None, description="The metric that decides.")
    metrics: Annotated[
        Annotated[tuple[Annotated[WeightedMetric, BeforeValidator(_by_name)], ...], Field(strict=False)] | None,
        _SEVERAL,
    ] = Field(default=None, description="The metrics of a rule that may have several, and their weights.")
    missing: BoardMissing = Field(
        default=None, description="What a case counts as that has no output, or one that cannot be read."
    )
    ties: BoardTies = Field(default=None, description="Which rank teams with equal scores get.")
    tolerance: Tolerance = Field(
        default=None, description="How far apart equal scores may be, as a part of the larger of two."
    )
    over: Over = Field(default=None, description='For the rule "mean": over what.')
    undefined: Undefined = Field(
        default=None, description='For the rule "mean": what follows if the metric is undefined for an output.'
    )
    q: Quantile = Field(default=None, description='For the rule "quantile": which one.')
    proportion: Proportion = Field(
        default=None, description='For the rule "trimmed-mean": which part of the cases is left out at each end.'
    )
    alpha: Level = Field(default=None, description='For the rule "tests": the level of significance.')
    adjust: Adjustment = Field(default=None, description='For the rule "tests": what is done about their number.')
    decimals: Decimals = Field(
        default=None, description='For the rule "tests": to how many decimals differences are rounded.'
    )
    given: MetricNames = Field(
        default=None,
        description='For the rule "weighted-ranks": metrics that a whole submission has, metered elsewhere.',
    )
    limits: Annotated[Annotated[tuple[LimitRule, ...], Field(strict=False)] | None, _LIMITS] = Field(
        default=None, description='For the rule "weighted-ranks": limits beyond which a team does not compete.'
    )
    tie_breaks: MetricNames = Field(
        default=None,
        description='For the rule "weighted-ranks": metrics that decide between equal scores, one after the other.',
    )
