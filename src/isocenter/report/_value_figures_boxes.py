"""Values of groups side by side: boxes, the values as dots, their means."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from markupsafe import Markup

from isocenter.report import _value_figures_frame as frame
from isocenter.report import _value_figures_labels as labels
from isocenter.report._curve_shape import Scale
from isocenter.report._drawing import line, name_of, picture, placed, sentence, with_notes, words
from isocenter.report._plot import FEWEST_FOR_BOX
from isocenter.report._scale import Box, box_of, fit
from isocenter.report._value_figures_frame import NARROW, WIDE, Field, PlotAxis

_ROOMY = 16  # groups that have a line for their name; of more the name stands beside the box
_ALL_DOTS, _MOST_DOTS = 100, 1500  # of a group, and of a picture
_PAGE = 900.0  # pixels that fit on a printed page
_HEADING = 28.0


@dataclass(frozen=True, slots=True)
class BoxGroup:
    """Values with whose they are, under a label.

    Attributes
    ----------
    label
        A team, a stratum.
    values
        Pairs such as (case, value). What is not finite is counted and said, not drawn.
    note
        A few words beside the number of values: "34 % of the cases".
    heading
        Begins a block of groups.
    """

    label: str
    values: Sequence[tuple[str, float]]
    note: str = ""
    heading: str = ""


class _Row(NamedTuple):
    """A group, as it is drawn."""

    group: BoxGroup
    values: list[tuple[str, float]]
    box: Box | None
    dots: list[tuple[str, float]]

    @property
    def outside(self) -> list[tuple[str, float]]:
        """The values beyond the whiskers; all, where there is no box."""
        box = self.box
        return self.values if box is None else [pair for pair in self.values if not box.low <= pair[1] <= box.high]


def boxes_plot(
    groups: Sequence[BoxGroup],
    *,
    label: str,
    title: str,
    name: str,
    unit: str = "",
    better: Literal["higher", "lower", "neither"] = "neither",
    low: float | None = None,
    high: float | None = None,
    zero: float | None = None,
    lines: Mapping[str, float] | None = None,
) -> Markup:
    """One row per group: box, whiskers to the furthest values within 1.5 box lengths, values as dots, mean as diamond.

    Fewer than five values have no box. Of a group of more than 100 only the values beyond the whiskers are dots, and
    the picture says so; it does when they are too many and only the furthest are drawn.

    Parameters
    ----------
    groups
        In the order in which they are drawn.
    label, unit, better
        What the axis shows, and where better is.
    title
        What the picture shows, for who cannot see it.
    name
        Prefix of the identifiers in the SVG: different for each picture of a page.
    low, high
        Where the axis begins and ends; by default at round numbers. A value beyond is drawn at the end, which is said.
    zero
        Where a strong line stands: no difference.
    lines
        Dashed lines by their labels: a tolerance, the agreement of experts.

    Returns
    -------
    Markup
        One `svg` element, or a sentence if there is no finite value.
    """
    rows = _dotted([_row(group) for group in groups])
    values = [value for row in rows for _, value in row.values]
    if not values:
        return sentence(f"{title}: there is no finite value to draw.")
    aims = {text: at for text, at in (lines or {}).items() if math.isfinite(at)}
    fixed = [zero] if zero is not None and math.isfinite(zero) else []
    scale = frame.scale_of(PlotAxis(label, unit, low=low, high=high), [*values, *aims.values(), *fixed])
    roomy = len(rows) <= _ROOMY
    field = _field(rows, scale, roomy=roomy)
    field, dashed = labels.aims({text: field.x(float(scale.share(at))) for text, at in aims.items()}, field)
    parts = [frame.style(), frame.across(field, scale), frame.direction(field, scale.label, better)]
    parts += [*(_strong(field, scale, at) for at in fixed), dashed]
    if not roomy:
        parts.append(words(100, field.top - 8, "n", css="small end"))
    y = field.top
    for row in rows:
        if row.group.heading:
            text = name_of(row.group.heading, narrow=40, wide=84)
            parts.append(Markup('<text class="name" x="0" y="{:g}">{}</text>').format(y + 20, text))
            y += _HEADING
        parts.append(_drawn(row, field, scale, y=y, pitch=_pitch(rows), roomy=roomy))
        y += _pitch(rows)
    body = Markup('<g class="values">{}</g>').format(Markup("").join(parts))
    said = " ".join(map(_said, rows))
    drawn = picture([body], field.bottom + 44, name=name, title=title, description=said)
    return with_notes(drawn, _notes(rows, scale))


def _row(group: BoxGroup) -> _Row:
    values = [(case, frame.held(value)) for case, value in group.values if math.isfinite(value)]
    box = box_of([value for _, value in values]) if len(values) >= FEWEST_FOR_BOX else None
    return _Row(group, values, box, values)


def _dotted(rows: Sequence[_Row]) -> list[_Row]:
    """The rows with those of their values that are drawn as dots."""
    rows = [row if len(row.values) <= _ALL_DOTS else row._replace(dots=row.outside) for row in rows]
    if sum(len(row.dots) for row in rows) <= _MOST_DOTS:
        return rows
    most = max(2, _MOST_DOTS // len(rows))
    return [row._replace(dots=_furthest(row, most)) for row in rows]


def _furthest(row: _Row, most: int) -> list[tuple[str, float]]:
    middle = row.box.median if row.box else 0.0
    kept = sorted(row.outside, key=lambda pair: -abs(pair[1] / 2 - middle / 2))[:most]
    return sorted(kept, key=lambda pair: pair[1])


def _pitch(rows: Sequence[_Row]) -> float:
    return 50.0 if len(rows) <= _ROOMY else max(17.0, min(26.0, _PAGE / len(rows)))


def _field(rows: Sequence[_Row], scale: Scale, *, roomy: bool) -> Field:
    headings = sum(bool(row.group.heading) for row in rows)
    top = 6.0 if roomy else 22.0
    bottom = top + _pitch(rows) * len(rows) + _HEADING * headings
    ends = [text for _, text in (scale.ticks[0], scale.ticks[-1])]
    left, right = (frame.room([text], 4) / 2 for text in ends)
    if not roomy:
        return Field(28.0, 100 - max(right, frame.room([str(len(row.values)) for row in rows])), top, bottom)
    return Field(left, 100 - right, top, bottom)


def _drawn(row: _Row, field: Field, scale: Scale, *, y: float, pitch: float, roomy: bool) -> Markup:
    n, note = len(row.values), row.group.note
    if roomy:
        short, long = (", ".join(filter(None, [fit(note, most) if note else "", f"n = {n}"])) for most in (20, 46))
        room = [frame.columns(100, width) - len(text) - 2 for width, text in ((NARROW, short), (WIDE, long))]
        name = name_of(row.group.label, narrow=max(6, room[0]), wide=max(6, room[1]))
        text = Markup('<text class="small end" x="100%" y="{:g}">{}</text>').format(y + 15, _two(short, long))
        middle, half = y + 33, 10.0
    else:
        label = f"{row.group.label}, {note}" if note else row.group.label
        name = name_of(label, narrow=frame.columns(26, NARROW), wide=frame.columns(26, WIDE))
        text = words(100, y + pitch / 2 + 4.5, str(n), css="small end")
        middle, half = y + pitch / 2, pitch / 2 - 2.5
    at = y + 15 if roomy else middle + 4.5
    parts = [Markup('<text class="small ink" x="0" y="{:g}">{}</text>').format(at, name), text]
    if row.box is not None:
        parts.append(_box(row, row.box, field, scale, y=middle, half=half))
    radius = 3.0 if roomy else 2.4
    dot = Markup('<circle class="case" cx="{:.2f}%" cy="{:.1f}" r="{:g}"><title>{}: {}</title></circle>')
    for case, value in row.dots:
        # The height says nothing; a hash of the case keeps it the same in every group and every run.
        jitter = (zlib.crc32(case.encode("utf-8", "replace")) % 1009 / 1008 - 0.5) * 2 * (half - radius)
        x = field.x(float(scale.share(value)))
        parts.append(dot.format(x, middle + jitter, radius, fit(case, 40), frame.number(value)))
    if n > 1:
        mean = math.fsum(value / n for _, value in row.values)
        size = min(6.0, half)
        diamond = Markup(
            '<path class="mean" d="M0-{0:g}L{0:g} 0L0 {0:g}L-{0:g} 0Z"><title>{1}, mean {2}</title></path>'
        )
        mark = diamond.format(size, fit(row.group.label, 60), frame.number(mean))
        parts.append(placed(mark, f"{field.x(float(scale.share(mean))):.2f}%", middle))
    return Markup("").join(parts)


def _two(short: str, long: str) -> Markup:
    """A text in two lengths, of which the style sheet shows one."""
    if short == long:
        return Markup("{}").format(short)
    return Markup('<tspan class="wide">{}</tspan><tspan class="narrow">{}</tspan>').format(long, short)


def _box(row: _Row, box: Box, field: Field, scale: Scale, *, y: float, half: float) -> Markup:
    low, first, median, third, high = (
        field.x(float(scale.share(value))) for value in (box.low, box.first, box.median, box.third, box.high)
    )
    rect = Markup('<rect class="box" x="{:.2f}%" y="{:g}" width="{:.2f}%" height="{:g}"/>')
    parts = [
        line("whisker", low, first, y=y),
        line("whisker", third, high, y=y),
        rect.format(first, y - half, max(third - first, 0.1), 2 * half),
        line("median", median, median, y=y, up=half, down=half),
    ]
    return Markup("<g><title>{}</title>{}</g>").format(_said(row), Markup("").join(parts))


def _said(row: _Row) -> str:
    """A group in words."""
    label, n, box = fit(row.group.label, 60), len(row.values), row.box
    note = f" ({fit(row.group.note, 60)})" if row.group.note else ""
    if box is not None:
        middle, first, third = (frame.number(value) for value in (box.median, box.first, box.third))
        return f"{label}{note}: median {middle}, quartiles {first} and {third}, n = {n}."
    said = f": {', '.join(frame.number(value) for _, value in row.values)}" if n else ""
    return f"{label}{note}: n = {n}{said}."


def _notes(rows: Sequence[_Row], scale: Scale) -> list[str]:
    """What is not drawn, or not where it is."""
    notes = []
    if any(len(row.dots) < len(row.values) for row in rows):
        short = any(row.box is not None and len(row.dots) < len(row.outside) for row in rows)
        most = f", of each group the {max(2, _MOST_DOTS // len(rows))} furthest" if short else ""
        notes.append(f"Where there are too many values to draw, only those beyond the whiskers are dots{most}.")
    lost = {row.group.label: len(row.group.values) - len(row.values) for row in rows}
    if without := [f"{fit(label, 30)} ({count})" for label, count in lost.items() if count]:
        notes.append(f"Not drawn, as not finite: {frame.listed(without)}.")
    if beyond := sum(not scale.low <= value <= scale.high for row in rows for _, value in row.values):
        notes.append(f"{beyond} {'value lies' if beyond == 1 else 'values lie'} beyond the axis, drawn at its end.")
    return notes


def _strong(field: Field, scale: Scale, at: float) -> Markup:
    x = field.x(float(scale.share(at)))
    return line("zero", x, x, y=field.bottom, up=field.bottom - field.top)
