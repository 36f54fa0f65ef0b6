"""Numbers of rows against columns as shades: who beats whom, who agrees with whom, which case is hard for whom."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from isocenter.report._drawing import NARROWEST, USUAL, name_of, picture, sentence, with_notes, words
from isocenter.report._rank_columns import column_labels, column_numbers, slanted
from isocenter.report._rank_merge import Grid, merged
from isocenter.report._scale import fit

_LEFT, _RIGHT = 25.0, 99.5  # per cent of the width between which cells lie
_TOP = 50.0  # pixels above the cells, for what the shades mean
_PALEST, _DARKEST = 0.04, 0.62  # how much of the colour; a number on the darkest can still be read
_LETTER = 7.2  # pixels of a digit in a cell
_MOST_PARTED = 40  # columns with a gap between them
_MOST_TITLED = 400  # cells with long names in their titles, where columns are numbered
_STEPS = 5  # shades in the legend


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float
    diverging: bool

    def shade(self, value: float) -> float:
        """From 0 to 1, or from −1 to 1 on both sides of 0; what lies beyond the scale is as its end."""
        # Divided first, as the difference of two huge numbers may not be finite.
        inside = min(max(value, self.low), self.high)
        if self.diverging:
            return inside / self.high if self.high > 0 else 0.0
        span = self.high / 2 - self.low / 2
        return (inside / 2 - self.low / 2) / span if span > 0 else 0.5


def matrix_plot(
    values: Sequence[Sequence[float | None]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    show: Callable[[float], str],
    legend: str,
    title: str,
    name: str,
    low: float | None = None,
    high: float | None = None,
    diverging: bool = False,
    marks: Mapping[tuple[int, int], str] | None = None,
) -> Markup:
    """A cell per row and column, the darker the higher, with its number where there is room; hatched without a value.

    Of more than 2500 cells neighbouring columns, and of more than 100 rows neighbouring rows, are shown as one with
    their mean, which is said below the picture.

    Parameters
    ----------
    values
        By row, then by column. None and NaN are no value; an infinite one is shaded as the end of the scale.
    show
        A value as a text.
    legend
        What the values are, with their unit.
    low, high
        The ends of the scale; by default the lowest and the highest value.
    diverging
        Whether the scale has two sides of one length: above 0 in one colour, below 0 in another and striped.
    marks
        By row and column, counted from 0: a sign that follows the number.
    """
    whole = Grid(tuple(tuple(map(_known, row)) for row in values), tuple(rows), tuple(columns))
    finite = [value for row in whole.values for value in row if value is not None and math.isfinite(value)]
    if all(value is None for row in whole.values for value in row):
        return sentence(f"{title}: there is no value to show.")
    grid, note = merged(whole)
    scale = _scale(finite, low, high, diverging=diverging)
    drawn = _Matrix(grid, show, scale, name, {} if note else (marks or {}))
    lost = "Marks of single cells are not shown." if note and marks else ""
    cells, below, explained = drawn.cells()
    css = "matrix fine" if len(grid.columns) > _MOST_PARTED else "matrix"
    parts = [_style(name), Markup('<g class="{}">{}{}</g>').format(css, drawn.legend(legend), cells)]
    ends = [v for row in whole.values for v in row if v is not None]
    said = f"{legend}, {len(rows)} rows and {len(columns)} columns, from {show(min(ends))} to {show(max(ends))}."
    return with_notes(picture(parts, below, name=name, title=title, description=said), [explained, note, lost])


@dataclass(frozen=True, slots=True)
class _Matrix:
    grid: Grid
    show: Callable[[float], str]
    scale: _Scale
    name: str
    marks: Mapping[tuple[int, int], str]

    def cells(self) -> tuple[Markup, float, str]:
        """All rows with their names, and the names of the columns; how far down they reach, and what they need said."""
        rows, columns, room = self.grid.rows, self.grid.columns, _RIGHT - _LEFT
        wide = room / len(columns)
        xs = [_LEFT + wide * (number + 0.5) for number in range(len(columns))]
        pitch = 26.0 if len(rows) <= 30 else 18.0 if len(rows) <= 60 else 15.0
        numbered = not slanted(len(columns), room=room)
        top = _TOP + (18.0 if numbered else 0.0)
        parts = [column_numbers(xs, y=top - 6, room=room)] if numbered else []
        same = numbered and rows == columns  # the rows explain the numbers
        for number, row in enumerate(rows):
            y = top + pitch * number
            place = Markup('<tspan class="place">{}</tspan> ').format(number + 1) if same else Markup("")
            label = place + name_of(row, narrow=9 if same else 12, wide=20 if same else 24)
            parts.append(words(0, y + pitch / 2 + 4.5, label, css="small ink"))
            parts.append(self._row(number, y=y, pitch=pitch))
        labels = column_labels(columns, xs, y=top + pitch * len(rows), room=room, heading="Columns")
        return Markup("").join([*parts, labels.drawn]), labels.bottom, "" if same else labels.note

    def _row(self, number: int, *, y: float, pitch: float) -> Markup:
        grid, columns = self.grid, self.grid.columns
        wide = (_RIGHT - _LEFT) / len(columns)
        few = len(columns) * len(grid.rows) <= _MOST_TITLED or slanted(len(columns), room=_RIGHT - _LEFT)
        longest = 40 if few else 8
        cell = Markup('<rect x="{:.3f}%" width="{:.3f}%" height="{:g}"{}><title>{} · {}: {}</title></rect>')
        parts = [
            cell.format(
                _LEFT + wide * i,
                wide + 0.001,  # rounded up: no gap
                pitch,
                self._paint(value),
                fit(grid.rows[number], longest),
                _called(columns[i], i, longest),
                ("no value" if value is None else self.show(value)) + self.marks.get((number, i), ""),
            )
            for i, value in enumerate(grid.values[number])
        ]
        parts += [
            self._number(text, _LEFT + wide * (i + 0.5), wide, pitch)
            for i, value in enumerate(grid.values[number])
            if (text := self._text(number, i, value))
        ]
        return Markup('<svg y="{:g}" height="{:g}">{}</svg>').format(y, pitch, Markup("").join(parts))

    def _text(self, row: int, column: int, value: float | None) -> str:
        """The number and its mark; the mark alone where there are too many columns for numbers."""
        mark = self.marks.get((row, column), "")
        return mark if value is None or len(self.grid.columns) > 14 else self.show(value) + mark

    @staticmethod
    def _number(text: str, x: float, wide: float, pitch: float) -> Markup:
        """A text in its cell, if it has room there; on a telephone it may have none."""
        long = _LETTER * len(text)
        if long > wide * USUAL:
            return Markup("")
        css = "small ink middle" if long <= wide * NARROWEST else "small ink middle wide"
        return words(x, pitch / 2 + 4.5, text, css=css)

    def _paint(self, value: float | None) -> Markup:
        if value is None:
            return Markup(' fill="url(#{}-none)"').format(self.name)
        shade = self.scale.shade(value)
        opacity = f"{_PALEST + (_DARKEST - _PALEST) * abs(shade):.2f}".lstrip("0")
        paint = Markup(' fill="url(#{}-under)"').format(self.name) if shade < 0 else Markup("")
        return Markup('{} fill-opacity="{}"').format(paint, opacity)

    def legend(self, text: str) -> Markup:
        """What the values are, the shades from low to high with the numbers at both ends, and the hatching."""
        scale, wide = self.scale, 6.0
        box = Markup('<rect x="{:g}%" y="24" width="{:g}%" height="14"{}/>')
        shares = [i / (_STEPS - 1) for i in range(_STEPS)]
        steps = [scale.low * (1 - share) + scale.high * share for share in shares]
        parts = [box.format(_LEFT + wide * i, wide, self._paint(value)) for i, value in enumerate(steps)]
        parts.append(words(0, 12, name_of(text, narrow=54, wide=96), css="small ink"))
        parts.append(words(_LEFT - 1.5, 35.5, fit(self.show(scale.low), 11), css="small end"))
        parts.append(words(_LEFT + wide * _STEPS + 1.5, 35.5, fit(self.show(scale.high), 11), css="small"))
        if any(value is None for row in self.grid.values for value in row):
            parts += [box.format(78, wide / 1.5, self._paint(None)), words(83.5, 35.5, "no value", css="small")]
        return Markup("").join(parts)


def _scale(finite: Sequence[float], low: float | None, high: float | None, *, diverging: bool) -> _Scale:
    bottom = min(finite, default=0.0) if low is None else low
    top = max(finite, default=max(bottom, 0.0)) if high is None else high
    if diverging:
        top = max(abs(bottom), abs(top))
        bottom = -top
    return _Scale(bottom, max(bottom, top), diverging)


def _called(name: str, number: int, longest: int) -> str:
    """A column in the title of a cell: by its name, or by its number where there is no room and numbers are shown."""
    short = fit(name, longest)
    return short if short == name or longest > 8 else str(number + 1)


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _style(name: str) -> Markup:
    """Colours of both sides, hatching and stripes."""
    return Markup(
        "<style>.matrix{{--above:#1d5c96;--under:#a63c06}}"
        "@media (prefers-color-scheme:dark){{.matrix{{--above:#4f8fcb;--under:#d0703a}}}}"
        "@media print{{.matrix{{--above:#1d5c96;--under:#a63c06}}}}"
        ".matrix rect{{stroke:var(--paper,#fff);stroke-width:.75}}.matrix{{fill:var(--above)}}"
        ".matrix.fine rect{{stroke:none;shape-rendering:crispEdges}}"
        ".matrix svg text{{stroke-width:2.5px;stroke-opacity:.5}}.matrix .striped{{fill:var(--under);stroke:none}}"
        ".matrix .hatch{{stroke:var(--muted,#59616b);stroke-width:1}}</style>"
        '<defs class="matrix"><pattern id="{0}-none" width="5" height="5" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><path class="hatch" d="M0 0V5"/></pattern>'
        '<pattern id="{0}-under" width="240" height="6" patternUnits="userSpaceOnUse">'
        '<path class="striped" d="M0 0H240V5H0Z"/></pattern></defs>'
    ).format(name)
