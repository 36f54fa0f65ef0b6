"""Two submissions on the same cases: where one is better, by how much, and whether that is more than luck."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isocenter.server.boards.plots import kept
from isocenter.server.submitting.measured import Measured, table_of

if TYPE_CHECKING:
    from django.utils.safestring import SafeString
    from numpy.typing import ArrayLike

    from isocenter.metrics import Metric
    from isocenter.ranking import PairedValues
    from isocenter.viewer import CaseScores


@dataclass(frozen=True)
class Pair:
    """A case: what both have, and how much more the first one does; None where one has nothing."""

    case: str
    a: float | None
    b: float | None
    difference: float | None
    ahead: str
    """ "a", "b", or "" where neither is better."""


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
        Of the differences first − second, and its 95 % interval (Student's); None where there is none.
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


def compare(a: Measured, b: Measured, metric: Metric, names: tuple[str, str]) -> Comparison:
    """Compare two submissions to one phase by a metric; both may be seen case by case."""
    first, second = ({case.name: case for case in one.cases} for one in (a, b))
    sign = 1.0 if metric.better == "higher" else -1.0
    pairs = []
    for case in sorted({*first, *second}):
        x, y = (_value(by.get(case), metric) for by in (first, second))
        more = None if x is None or y is None else x - y
        better = 0.0 if more is None else round(sign * more, metric.decimals)
        pairs.append(Pair(case, x, y, more, "a" if better > 0 else "b" if better < 0 else ""))
    pairs.sort(key=lambda pair: (pair.difference is None, -sign * (pair.difference or 0.0), pair.case))
    both = [(pair.case, pair.difference) for pair in pairs if pair.difference is not None]
    mean, low, high, said = _tested(a, b, metric, pairs)
    ahead = [pair.ahead for pair in pairs if pair.difference is not None]
    counts = ahead.count("a"), ahead.count("b"), ahead.count("")
    return Comparison(metric, pairs, counts, mean, low, high, said, _plot(both, metric, names))


def _value(case: CaseScores | None, metric: Metric) -> float | None:
    """What a case has, if it is a number that can be subtracted."""
    value = None if case is None or case.state != "measured" else case.value(metric.name)
    return value if value is not None and math.isfinite(value) else None


def _tested(
    a: Measured, b: Measured, metric: Metric, pairs: list[Pair]
) -> tuple[float | None, float | None, float | None, str]:
    """Mean of the differences, its interval, and the test, of what the board compares where it can."""
    try:
        values = _as_on_the_board(a, b, metric)
        standing = " A case without a usable output counts as the rules of the board say."
        return _words(values.values["a"], values.values["b"], metric, values.decimals, standing)
    except ValueError:  # no board ranks by it alone, or by what no test is for
        known = [(pair.a, pair.b) for pair in pairs if pair.a is not None and pair.b is not None]
    if not known:
        return None, None, None, "There is no case that both have a number of."
    standing = " Cases that only one of them has a number of are left out."
    return _words([one for one, _ in known], [other for _, other in known], metric, metric.decimals, standing)


def _as_on_the_board(a: Measured, b: Measured, metric: Metric) -> PairedValues:
    import polars as pl

    from isocenter.ranking import paired_values

    rule = next((one for one in a.code.boards.values() if one.reads == (metric.name,)), None)
    if rule is None:
        msg = "no board ranks by this metric alone"
        raise ValueError(msg)
    tables = [table_of(one.evaluation).with_columns(submission=pl.lit(name)) for one, name in ((a, "a"), (b, "b"))]
    return paired_values(pl.concat(tables), rule, over="cases")


def _words(
    x: ArrayLike, y: ArrayLike, metric: Metric, decimals: int, standing: str
) -> tuple[float | None, float | None, float | None, str]:
    from isocenter.stats import paired_t, signed_rank

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
