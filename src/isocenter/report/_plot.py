"""Small plots as SVG text: pure functions of numbers and names.

Horizontal positions are percentages and vertical ones pixels. So a plot is as wide as its place on the page, while its
text keeps the size at which it can be read, on a telephone as in print. Colours come from the page's style sheet.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from isocenter.metrics import Metric
from isocenter.report._drawing import line, name_of, picture, placed, words
from isocenter.report._scale import LEFT, RIGHT, Axis, box_of, fit, label_of

FEWEST_FOR_BOX = 5  # quartiles of fewer cases say nothing that the dots do not
NAMED = 5  # how many of the hardest cases are named where there are too many to name all
ALL_NAMED = 16
_MARKS = {
    "missing": Markup('<path class="cross" d="M-3.5-3.5L3.5 3.5M-3.5 3.5L3.5-3.5"/>'),
    "failed": Markup('<rect class="cross" x="-3.5" y="-3.5" width="7" height="7"/>'),
    "undefined": Markup('<circle class="cross" r="3.5"/>'),
}


@dataclass(frozen=True, slots=True)
class Strip:
    """The cases of one team: values by case, and by "missing", "failed" or "undefined" how many have none."""

    name: str
    place: str
    values: tuple[tuple[str, float], ...]
    without: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Spread:
    """What the teams reached in one case."""

    case: str
    mean: float
    low: float
    high: float
    teams: int


def strips_svg(strips: Sequence[Strip], metric: Metric, *, axis: Axis) -> Markup:
    """One row per team: a box, the cases as dots, the mean as a diamond, cases without a value left of the axis."""
    pitch, top = 68, 6
    bottom = top + pitch * len(strips)
    kinds = {kind for strip in strips for kind, count in strip.without if count}
    parts = [_grid(axis, metric, top=top, bottom=bottom)]
    if kinds:
        heading = "no output" if kinds == {"missing"} else "no value"
        parts.append(words(0, bottom + 17, heading, css="small"))
    said = []
    for row, strip in enumerate(strips):
        y = top + pitch * row
        values = [value for _, value in strip.values]
        summary = f"median {metric.show(float(np.median(values)))}, n = {len(values)}" if values else "n = 0"
        said.append(f"{strip.name}: {summary}{_said_without(strip)}.")
        place = Markup('<tspan class="place">{}</tspan>').format(strip.place)
        name = name_of(strip.name, narrow=16, wide=60)
        parts.append(Markup('<text class="name" x="0" y="{}">{} {}</text>').format(y + 15, place, name))
        parts.append(words(RIGHT, y + 15, summary, css="small end"))
        parts.append(_without(strip, y + 40))
        parts.append(_dots(strip, metric, axis=axis, y=y + 40))
    title = f"{label_of(metric)} of every case, by team"
    return picture(parts, bottom + 44, name="teams", title=title, description=" ".join(said))


def spreads_svg(spreads: Sequence[Spread], metric: Metric, *, axis: Axis) -> Markup:
    """One line per case, from the worst to the best team, the mean as a dot; hardest first.

    The hardest cases are named; of a large cohort the others are drawn closely, so that a thousand fit on a page.
    """
    named = len(spreads) if len(spreads) <= ALL_NAMED else NAMED
    close = max(1.0, min(7.0, 480.0 / max(len(spreads), 1)))
    y, rows = 14.0, []
    for number, spread in enumerate(spreads):
        pitch = 20.0 if number < named else close
        rows.append(_spread(spread, metric, axis=axis, y=y + pitch / 2, named=number < named, dot=min(3.4, pitch / 2)))
        y += pitch
    hardest = ", ".join(f"{spread.case} (mean {metric.show(spread.mean)})" for spread in spreads[:NAMED])
    title = f"{label_of(metric)} of every case over the teams, hardest case first"
    parts = [_grid(axis, metric, top=6, bottom=y + 4), *rows]
    return picture(parts, y + 48, name="cases", title=title, description=f"Hardest: {hardest}.")


def score_svg(score: float, *, axis: Axis, low: float | None = None, high: float | None = None) -> Markup:
    """A score as a dot on a line, and its interval as a thicker one, for a table cell beside the number itself."""

    def share_of(value: float) -> float:
        return (axis.at(value) - LEFT) / (RIGHT - LEFT) * 92.0 + 4.0

    share = share_of(score)
    # A bar says "so much of it", which is only true from 0 on.
    bar = Markup('<line class="filled" x1="4%" x2="{:.2f}%" y1="6" y2="6"/>').format(share) if axis.low == 0 else ""
    if low is not None and high is not None:
        bar = Markup('<line class="reach" x1="{:.2f}%" x2="{:.2f}%" y1="6" y2="6"/>').format(
            share_of(low), share_of(high)
        )
    return Markup(
        '<svg class="mark" width="100%" height="12" aria-hidden="true" focusable="false">'
        '<line class="track" x1="4%" x2="96%" y1="6" y2="6"/>{bar}'
        '<circle class="dot" cx="{x:.2f}%" cy="6" r="4"/></svg>'
    ).format(x=share, bar=bar)


def _dots(strip: Strip, metric: Metric, *, axis: Axis, y: float) -> Markup:
    """Box, dots and mean of one team around the height `y`."""
    values = [value for _, value in strip.values]
    if not values:
        return Markup("")
    parts = []
    if len(values) >= FEWEST_FOR_BOX:
        box = box_of(values)
        low, first, median, third, high = (axis.at(v) for v in (box.low, box.first, box.median, box.third, box.high))
        parts += [line("whisker", low, first, y=y), line("whisker", third, high, y=y)]
        parts.append(
            Markup('<rect class="box" x="{:.2f}%" y="{:g}" width="{:.2f}%" height="24"/>').format(
                first, y - 12, max(third - first, 0.1)
            )
        )
        parts.append(line("median", median, median, y=y, up=12, down=12))
    for case, value in strip.values:
        # The height says nothing; a hash of the case keeps it the same for every team and every run.
        jitter = (zlib.crc32(case.encode("utf-8", "replace")) % 1009 / 1008 - 0.5) * 18
        parts.append(
            Markup('<circle class="case" cx="{:.2f}%" cy="{:.1f}" r="3"><title>{}: {}</title></circle>').format(
                axis.at(value), y + jitter, case, metric.show(value)
            )
        )
    mean = math.fsum(value / len(values) for value in values)
    diamond = Markup('<path class="mean" d="M0-6L6 0L0 6L-6 0Z"><title>mean {}</title></path>')
    parts.append(placed(diamond.format(metric.show(mean)), f"{axis.at(mean):.2f}%", y))
    return Markup("").join(parts)


def _without(strip: Strip, y: float) -> Markup:
    """The cases without a value, one mark each, or one of a kind and a number where there are many."""
    kinds = [(kind, count) for kind, count in strip.without if count]
    if sum(count for _, count in kinds) <= 10:
        marks = [kind for kind, count in kinds for _ in range(count)]
        rows = 1 if len(marks) <= 5 else 2
        return Markup("").join(
            placed(_MARKS[kind], 5 + 11 * (i % 5), y + 11 * (i // 5) - 5.5 * (rows - 1)) for i, kind in enumerate(marks)
        )
    parts = []
    for i, (kind, count) in enumerate(kinds):
        at = y + 13 * (i - (len(kinds) - 1) / 2)
        parts += [placed(_MARKS[kind], 5, at), words(14, at + 4, str(count), css="small", unit="")]
    return Markup("").join(parts)


def _said_without(strip: Strip) -> str:
    meaning = {"missing": "no output", "failed": "unusable", "undefined": "undefined"}
    return "".join(f", {count} {meaning[kind]}" for kind, count in strip.without if count)


def _spread(spread: Spread, metric: Metric, *, axis: Axis, y: float, named: bool, dot: float) -> Markup:
    said = (
        f"{spread.case}: mean {metric.show(spread.mean)}, from {metric.show(spread.low)} to {metric.show(spread.high)}"
    )
    name = words(0, y + 4, name_of(spread.case, narrow=10, wide=22), css="small ink") if named else Markup("")
    dot_svg = Markup('<circle class="dot" cx="{:.2f}%" cy="{:.2f}" r="{:.2f}"/>').format(axis.at(spread.mean), y, dot)
    span = line("range", axis.at(spread.low), axis.at(spread.high), y=y)
    return Markup("<g><title>{}</title>{}{}{}</g>").format(said, name, span, dot_svg)


def _grid(axis: Axis, metric: Metric, *, top: float, bottom: float) -> Markup:
    """Vertical lines at the ticks, their numbers, and what the axis shows in which direction."""
    parts = []
    for tick in axis.ticks:
        x = axis.at(tick)
        parts.append(line("tick", x, x, y=bottom, up=bottom - top, down=0))
        parts.append(words(x, bottom + 17, axis.show(tick), css="small middle"))
    label = fit(label_of(metric), 24)
    if metric.better == "lower":
        parts.append(words(LEFT, bottom + 37, f"← {label}, lower is better", css="small ink"))
    else:
        text = f"{label}, higher is better →" if metric.better == "higher" else label
        parts.append(words(RIGHT, bottom + 37, text, css="small ink end"))
    return Markup("").join(parts)
