"""Two submissions on the same cases: where one is better, by how much, and whether that is more than luck."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from isocenter.server.boards.plots import kept
from isocenter.server.submitting.measured import Measured, table_of

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

    from isocenter.metrics import Metric


@dataclass(frozen=True)
class Pair:
    """A case: what both have, and how much more the first one does; None where one has nothing that counts.

    Attributes
    ----------
    ahead
        "a", "b", or "" where neither is better.
    stands_in
        Those of "a" and "b" that have no usable output; their number is what the rules of the board put in its place.
    """

    case: str
    a: float | None
    b: float | None
    difference: float | None
    ahead: str
    stands_in: str


@dataclass(frozen=True)
class Comparison:
    """What came out.

    Attributes
    ----------
    pairs
        All cases, those first in which the first submission is furthest ahead.
    counts
        In how many cases the first is better, the second is, neither is.
    mean, low, high
        Of the differences first − second that the pairs have, and its 95 % interval (Student's); None where there is
        none.
    test
        What was tested and found, in a sentence; or why nothing was.
    """

    metric: Metric
    pairs: list[Pair]
    counts: tuple[int, int, int]
    mean: float | None
    low: float | None
    high: float | None
    test: str
    plot: SafeString

    @property
    def stands_in(self) -> bool:
        """Whether any number stands in for an output."""
        return any(pair.stands_in for pair in self.pairs)


def compare(a: Measured, b: Measured, metric: Metric, names: tuple[str, str]) -> Comparison:
    """Compare two submissions to one phase by a metric; both may be seen case by case.

    Where a board ranks by the metric alone, all numbers are those that it compares: a case without a usable output has
    what the rules put in its place. Elsewhere it has none, and is left out of everything.
    """
    measured = _measured(a, metric), _measured(b, metric)
    try:
        values, decimals = _as_on_the_board(a, b, metric)
        tested = _tested(
            values, metric, decimals, " A case without a usable output counts as the rules of the board say."
        )
    except ValueError:  # no board ranks by it alone, or by what no test is for
        values = measured
        standing = " Cases that only one of them has a number of are left out."
        tested = _tested(values, metric, "noise", standing)
    names_of_cases = dict.fromkeys(case.name for case in (*a.cases, *b.cases))
    pairs = [_pair(case, values, measured, metric) for case in names_of_cases]
    sign = 1.0 if metric.better == "higher" else -1.0
    pairs.sort(key=lambda pair: (pair.difference is None, -sign * (pair.difference or 0.0), pair.case))
    both = [(pair.case, pair.difference) for pair in pairs if pair.difference is not None]
    ahead = [pair.ahead for pair in pairs if pair.difference is not None]
    counts = ahead.count("a"), ahead.count("b"), ahead.count("")
    return Comparison(metric, pairs, counts, *tested, _plot(both, metric, names))


_Values = tuple[dict[str, float], dict[str, float]]
"""By case, of the first and of the second."""


def _measured(one: Measured, metric: Metric) -> dict[str, float]:
    """What was measured and can be subtracted."""
    found = {case.name: case.value(metric.name) for case in one.cases if case.state == "measured"}
    return {case: value for case, value in found.items() if value is not None and math.isfinite(value)}


def _pair(case: str, values: _Values, measured: _Values, metric: Metric) -> Pair:
    x, y = (its.get(case) for its in values)
    more = None if x is None or y is None else x - y
    better = 0.0 if more is None else round(more if metric.better == "higher" else -more, metric.decimals)
    stands_in = "".join(
        name for name, its, known in zip("ab", values, measured, strict=True) if case in its and case not in known
    )
    return Pair(case, x, y, more, "a" if better > 0 else "b" if better < 0 else "", stands_in)


def _as_on_the_board(a: Measured, b: Measured, metric: Metric) -> tuple[_Values, int | Literal["noise"]]:
    """What the board compares, and to how many decimals, where its rule rounds."""
    import polars as pl

    from isocenter.ranking import paired_values

    rule = next((one for one in a.code.boards.values() if one.reads == (metric.name,)), None)
    if rule is None:
        msg = "no board ranks by this metric alone"
        raise ValueError(msg)
    tables = [table_of(one.evaluation).with_columns(submission=pl.lit(name)) for one, name in ((a, "a"), (b, "b"))]
    found = paired_values(pl.concat(tables), rule, metric=metric.name, over="cases")
    assert found.decimals is not None  # only ranks have none
    first, second = (dict(zip(found.cases, found.values[name].tolist(), strict=True)) for name in "ab")
    return (first, second), found.decimals


def _tested(
    values: _Values, metric: Metric, decimals: int | Literal["noise"], standing: str
) -> tuple[float | None, float | None, float | None, str]:
    """Mean of the differences, its interval, and the test."""
    from isocenter.stats import paired_t, signed_rank

    cases = [case for case in values[0] if case in values[1]]
    if not cases:
        return None, None, None, "There is no case that both have a number of."
    x, y = ([its[case] for case in cases] for its in values)
    assert metric.better != "neither"
    student = paired_t(x, y, better=metric.better, decimals=decimals, alternative="two-sided")
    low, high = (value if math.isfinite(value) else None for value in (student.low, student.high))
    ranks = signed_rank(x, y, better=metric.better, decimals=decimals, alternative="two-sided")
    return student.mean, low, high, f"{ranks}{standing}"


def _plot(differences: list[tuple[str, float]], metric: Metric, names: tuple[str, str]) -> SafeString:
    from isocenter.report import BoxGroup, boxes_plot

    title = f"{metric.name.replace('_', ' ')} of {names[0]} less that of {names[1]}, case by case"

    def draw() -> str:
        group = BoxGroup(f"{names[0]} − {names[1]}", differences)
        return boxes_plot(
            [group],
            label="Difference",
            unit=metric.unit,
            title=title,
            name="differences",
            better=metric.better,
            zero=0.0,
        )

    return kept("differences", (differences, metric.name, names), draw)
