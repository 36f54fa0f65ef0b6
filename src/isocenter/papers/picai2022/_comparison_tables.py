"""Tests of the four comparisons as tables, and how their numbers are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from isocenter.papers._words import p_value
from isocenter.papers.picai2022._given import Given
from isocenter.readers import StudyTest
from isocenter.report import Cell, Table, table

HOLM = "Holm: p adjusted for all tests of this comparison, patients and lesions apart."


def make_test_table(
    given: Given,
    tests: Sequence[StudyTest],
    *,
    name: str,
    caption: str,
    heads: Sequence[str],
    who: Callable[[StudyTest], Sequence[str | Cell]],
    note: str,
    sides: tuple[str, str] = ("First", "Second"),
) -> Table:
    """A row per test: who is compared, both values, the difference with its interval, and three p.

    Parameters
    ----------
    heads, who
        The first columns, and their cells.
    sides
        What the columns of the two values are called.
    """
    level = f"{100 * given.study.settings.level:g} % interval"
    chance = any(not math.isnan(test.at_least_as_good) for test in tests)
    columns = [*heads, f"{sides[0]} #", f"{sides[1]} #", "Difference #", level, "p #", "Holm #", "Published p #"]
    rows = [
        [
            *who(test),
            _cell(test.value_a),
            _cell(test.value_b),
            Cell(signed(test.difference), test.difference),
            interval(test.low, test.high),
            *(Cell(p_value(p), _known(p)) for p in (test.p, test.adjusted, test.published_p)),
            *([_cell(test.at_least_as_good)] if chance else []),
        ]
        for test in tests
    ]
    return table(name, caption, [*columns, *["P(as good) #"] * chance], rows, notes=[note, HOLM])


def describe_point(test: StudyTest) -> Cell:
    """The operating point of a test."""
    return Cell("full scale") if test.point is None else Cell(f"PI-RADS ≥ {test.point}", test.point)


def signed(value: float) -> str:
    """A difference, with its sign."""
    return f"{value:+.3f}".replace("-", "−")


def interval(low: float, high: float) -> str:
    """An interval of a difference; a dash if there is none."""
    return "–" if math.isnan(low) or math.isnan(high) else f"{signed(low)} to {signed(high)}"


def _cell(value: float) -> Cell:
    return Cell("–") if math.isnan(value) else Cell(f"{value:.3f}", value)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
