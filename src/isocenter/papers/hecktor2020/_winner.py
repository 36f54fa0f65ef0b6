"""The winner against all others: Student's paired t tests, as the design of HECKTOR asks for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import polars as pl

from isocenter.papers._mask_votes import said_of_missing
from isocenter.papers._study import Study
from isocenter.papers._words import counted, p_value
from isocenter.ranking import PairedValues, paired_values
from isocenter.report import Block, BoxGroup, Cell, Chart, Paragraph, Section, boxes_plot, metric_label, table
from isocenter.stats import compare, paired_t

_ADJUSTMENTS: tuple[Literal["bonferroni", "holm"], ...] = ("bonferroni", "holm")
_DRAWN = 24  # teams in the picture of differences


def winner(study: Study) -> Section:
    """Mean differences with their intervals, p as it is, by Bonferroni and by Holm; and differences case by case."""
    decided = study.main
    name, title = "winner", "The winner against the others"
    try:
        paired = paired_values(decided.scores, decided.rule, over="cases", roles=decided.roles)
        blocks = tuple(_against(paired, study))
    except ValueError as error:
        blocks = (Paragraph(f"The winner is not tested: {error}.", note=True),)
    return Section(name, title, blocks)


def _against(paired: PairedValues, study: Study) -> Iterator[Block]:
    first, level = paired.first[0], study.settings.level
    assert paired.metric.better != "neither"
    # Rounding is for tests on ranks; t takes the differences as they are.
    tests = {
        how: compare(
            paired.values, better=paired.metric.better, decimals=None, test="t", adjust=how, alternative="two-sided",
            winner=first,
        )
        for how in _ADJUSTMENTS
    }  # fmt: skip
    holm = {row.b: row.adjusted for row in tests["holm"].rows}
    metric, rows = paired.metric, tests["bonferroni"].rows
    missing = {row.submission: row.missing + row.failed for row in study.main.board.rows}
    scores = {row.submission: row.score for row in study.main.board.rows}
    better = [row.b for row in rows if row.significant]
    n = len(set(paired.cases))
    yield Paragraph(
        f"{first} differs from {len(better)} of {counted(len(rows), 'other team')} at a level of "
        f"{tests['bonferroni'].alpha:g} by Bonferroni's method: paired t tests of {metric_label(metric)} in "
        f"{counted(n, 'case')}, two-sided. {said_of_missing(study)}"
    )
    if len(paired.first) > 1:
        yield Paragraph(f"{' and '.join(paired.first)} share the first rank; {first} is tested.", note=True)
    cells: list[tuple[str | Cell | int, ...]] = []
    for row in rows:
        found = paired_t(
            paired.values[first], paired.values[row.b], better=paired.metric.better, decimals=None, level=level
        )
        low, high = found.low, found.high
        cells.append(
            (
                row.b,
                Cell(metric.show(scores[row.b]), scores[row.b]),
                missing[row.b],
                Cell(_signed(row.difference, metric.decimals), row.difference),
                "–" if math.isnan(low) else f"{_signed(low, metric.decimals)} to {_signed(high, metric.decimals)}",
                *(Cell(p_value(p), None if math.isnan(p) else p) for p in (row.p, row.adjusted, holm[row.b])),
            )
        )
    label = metric_label(metric)
    columns = [
        "Team",
        f"Mean {label} #",
        "Cases without a mask #",
        f"{first} minus team #",
        f"{100 * level:g} % interval",
    ]
    yield table(
        "winner-tests",
        f"{first} (mean {label} {metric.show(scores[first])}, {counted(missing[first], 'case')} without a mask) "
        "against every other team.",
        [*columns, "p #", "Bonferroni #", "Holm #"],
        cells,
        notes=[f"Intervals are Student's, of one pair each; adjusted p are for {counted(len(rows), 'test')}."],
    )
    yield _differences(paired, first, [row.b for row in rows])


def _differences(paired: PairedValues, first: str, others: list[str]) -> Chart:
    metric = paired.metric
    mine = list(paired.values[first])
    groups = [
        BoxGroup(
            team, tuple((c, float(a - b)) for c, a, b in zip(paired.cases, mine, paired.values[team], strict=True))
        )
        for team in others[:_DRAWN]
    ]
    title = f"{metric_label(metric)} of {first} minus that of each other team, case by case"
    picture = boxes_plot(
        groups, label=f"difference of {metric_label(metric, unit=False)}", unit=metric.unit, title=title,
        name="winner-boxes", zero=0.0,
    )  # fmt: skip
    first_of = f" The first {_DRAWN} of {len(others)}." if len(others) > _DRAWN else ""
    caption = f"{title}. Right of the line {first} is better. n = {counted(len(set(paired.cases)), 'case')}.{first_of}"
    rows = [(group.label, case, value) for group in groups for case, value in group.values]
    return Chart(
        "winner-differences", caption, picture, pl.DataFrame(rows, schema=["team", "case", "difference"], orient="row")
    )


def _signed(value: float, decimals: int) -> str:
    return f"{value:+.{decimals}f}".replace("-", "−")
