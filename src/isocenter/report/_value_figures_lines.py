"""Lines over an axis: how a score went on, a distribution, a calibration, a dose over depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from isocenter.report import _curve_frame as draw
from isocenter.report import _value_figures_frame as frame
from isocenter.report import _value_figures_labels as labels
from isocenter.report._curve_numbers import _along
from isocenter.report._curve_shape import Places, Scale, Shape, thinned
from isocenter.report._drawing import name_of, picture, sentence, with_notes
from isocenter.report._scale import _columns, fit
from isocenter.report._value_figures_frame import COLOURS, NARROW, WIDE, Field, PlotAxis
from isocenter.report._value_figures_points import PlotPoint, drawable, marks_of, without_place

_NAMED = 55  # lines that have a label; more do not fit on a page
_APART = 3.0  # per cent of the width between the axes and the labels
_CORNERS = 15_000  # of all lines of a picture, so that it stays small
_DOTTED, _DOTS = 30, 600  # points of a line, and of a picture, that are dots with their values


@dataclass(frozen=True, slots=True)
class PlotLine:
    """A line through points, in the units of the axes.

    Attributes
    ----------
    label
        What stands at its end.
    x, y
        Where it goes, in this order. A point that is not finite is a gap.
    low, high
        At each of `x`, from where to where a band behind the line reaches.
    steps
        Whether a value holds until the next: a cumulative distribution, a best score so far.
    strong
        Whether it stands out.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    steps: bool = False
    strong: bool = False


def lines_plot(
    lines: Sequence[PlotLine],
    *,
    x: PlotAxis,
    y: PlotAxis,
    title: str,
    name: str,
    marks: Sequence[PlotPoint] = (),
) -> Markup:
    """Lines with their bands, each with its label at the right and, where there are few points, with dots.

    Parameters
    ----------
    lines
        In the order of their colours and dashes.
    x, y
        What the axes show. A line leaves the picture where an axis ends.
    title
        What the picture shows, for who cannot see it.
    name
        Prefix of the identifiers in the SVG: different for each picture of a page.
    marks
        Single points with a label, drawn as symbols.

    Returns
    -------
    Markup
        One `svg` element, and sentences on what it does not show; only a sentence if there is nothing to draw.
    """
    check(lines)
    shown, without = drawable(marks, x, y)
    scales = scales_of(lines, shown, x, y)
    drawn = {n: traced for n, one in enumerate(lines) if (traced := trace(one, (x, y), scales)).runs}
    if not drawn and not shown:
        return sentence(f"{title}: there is no finite value to draw.")
    field = _field([lines[n] for n in list(drawn)[:_NAMED]], scales)
    parts = [frame.style(), frame.framed(field, *scales), lines_of(lines, drawn, field, scales, dotted=True)]
    parts += [_ends(lines, drawn, field), marks_of(shown, field, scales)]
    body = Markup('<g class="values">{}</g>').format(Markup("").join(parts))
    said = [_said(one, drawn.get(n)) for n, one in enumerate(lines[:_NAMED])]
    notes = without_place(without)
    if missing := [one.label for n, one in enumerate(lines) if n not in drawn]:
        notes.append(f"Not drawn, as no point has a place on the axes: {frame.listed(missing)}.")
    if len(drawn) > _NAMED:
        notes.append(f"{len(drawn) - _NAMED} further lines are drawn without their names.")
    whole = picture([body], field.bottom + 44, name=name, title=title, description=" ".join(said))
    return with_notes(whole, notes)


def check(lines: Sequence[PlotLine]) -> None:
    """One error that names every line whose columns do not fit together."""
    wrong = []
    for one in lines:
        bands = [column for column in (one.low, one.high) if column is not None]
        if len({len(one.x), len(one.y), *map(len, bands)}) > 1 or len(bands) == 1:
            sizes = ", ".join("none" if c is None else str(len(c)) for c in (one.x, one.y, one.low, one.high))
            wrong.append(f"{one.label!r} has {sizes} values of x, y, low and high")
    if wrong:
        msg = f"the lines cannot be drawn: {'; '.join(wrong)}"
        raise ValueError(msg)


class Trace(NamedTuple):
    """A line as shares of the axes: unbroken runs of it, and the edges of its bands."""

    runs: list[Places]
    bands: list[tuple[Places, Places]]
    points: list[tuple[float, float]]

    @property
    def end(self) -> tuple[float, float]:
        """Where its last run ends."""
        across, up = self.runs[-1][-1]
        return float(across), float(up)

    @property
    def middle(self) -> tuple[float, float]:
        """Where two thirds of its last run lie behind: lines rather meet at their ends."""
        ((across, up),) = _along(self.runs[-1], np.array([2 / 3]))
        return float(across), float(up)


def scales_of(lines: Sequence[PlotLine], points: Sequence[PlotPoint], x: PlotAxis, y: PlotAxis) -> tuple[Scale, Scale]:
    """The axes over all that is given."""
    across = [float(value) for one in lines for value in one.x] + [point.x for point in points]
    up = [float(value) for one in lines for column in (one.y, one.low or (), one.high or ()) for value in column]
    up += [value for point in points for value in (point.y, point.low, point.high) if value is not None]
    return frame.scale_of(x, across), frame.scale_of(y, up)


def trace(one: PlotLine, axes: tuple[PlotAxis, PlotAxis], scales: tuple[Scale, Scale]) -> Trace:
    """Where a line goes."""
    x, y = (np.asarray(column, dtype=np.float64).reshape(-1) for column in (one.x, one.y))
    inside = _shown(x, axes[0]) & (x >= scales[0].low) & (x <= scales[0].high)
    there = inside & _shown(y, axes[1])
    runs = [_places(x[run], y[run], scales, steps=one.steps) for run in _unbroken(there)]
    bands = []
    if one.low is not None and one.high is not None:
        edges = [np.asarray(column, dtype=np.float64).reshape(-1) for column in (one.low, one.high)]
        both = inside & _shown(edges[0], axes[1]) & _shown(edges[1], axes[1])
        for run in _unbroken(both):
            low, high = (_places(x[run], edge[run], scales, steps=one.steps) for edge in edges)
            bands.append((low, high))
    return Trace(runs, bands, [(float(x[n]), float(y[n])) for n in np.flatnonzero(there)])


def _shown(values: NDArray[np.float64], axis: PlotAxis) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(values) & ((values > 0) | (not axis.log)))


def _unbroken(there: NDArray[np.bool_]) -> list[slice]:
    """The runs of true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], there, [False]]).astype(np.int8)))
    return [slice(int(first), int(last)) for first, last in zip(edges[::2], edges[1::2], strict=True)]


def _places(x: NDArray[np.float64], y: NDArray[np.float64], scales: tuple[Scale, Scale], *, steps: bool) -> Places:
    if steps:
        x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
    return np.column_stack([scales[0].share(x), scales[1].share(y)])


def lines_of(
    lines: Sequence[PlotLine], drawn: dict[int, Trace], field: Field, scales: tuple[Scale, Scale], *, dotted: bool
) -> Markup:
    """Bands, lines from the last to the first, and the points of short ones as dots."""
    most = max(40, _CORNERS // max(1, len(drawn) + 2 * sum(bool(traced.bands) for traced in drawn.values())))
    some_strong = len(drawn) > 8 and any(one.strong for one in lines)
    bands, paths, dots = [], [], []
    count = 0
    dot = Markup('<circle cx="{:.2f}%" cy="{:.1f}" r="3" style="fill:{}"><title>{}: {}, {}</title></circle>')
    for n, traced in drawn.items():
        label = fit(lines[n].label, 60)
        bands += [draw.band(n, *(_fewer(edge, most) for edge in band)) for band in traced.bands]
        css = "strong" if lines[n].strong else "pale" if some_strong else "weak"
        curves = [draw.curve(n, Shape(_fewer(run, most)), title=label) for run in traced.runs]
        paths.append(Markup('<g class="{}">{}</g>').format(css, Markup("").join(curves)))
        alone = any(len(run) == 1 for run in traced.runs)
        if (dotted and len(traced.points) <= _DOTTED and count + len(traced.points) <= _DOTS) or alone:
            kept = traced.points[:: max(1, len(traced.points) // _DOTTED)]
            count += len(kept)
            for across, up in kept:
                place = field.x(float(scales[0].share(across))), field.y(float(scales[1].share(up)))
                values = frame.number(across), frame.number(up)
                dots.append(dot.format(*place, f"var(--curve-{n % COLOURS})", label, *values))
    return frame.inner(field, [*bands, *reversed(paths)]) + Markup("").join(dots)


def _fewer(places: Places, most: int) -> Places:
    """At most so many corners: those that a screen can show, or the extremes of each slice of the line."""
    thin = thinned(places if len(places) <= 2 * most else _extremes(places, most))
    return thin if len(thin) <= most else _extremes(thin, most)


def _extremes(places: Places, most: int) -> Places:
    """The ends of a line, and the lowest and highest place of each of its slices."""
    kept = {0, len(places) - 1}
    for part in np.array_split(np.arange(len(places)), most // 2 - 1):
        kept |= {int(part[places[part, 1].argmin()]), int(part[places[part, 1].argmax()])}
    return np.asarray(places[sorted(kept)])


def _field(named: Sequence[PlotLine], scales: tuple[Scale, Scale]) -> Field:
    longest = max((min(_columns(one.label), 12) for one in named), default=0)
    right = frame.room(["x" * longest], 16) if named else frame.room([scales[0].ticks[-1][1]]) / 2
    left = frame.room([text for _, text in scales[1].ticks])
    return Field(left, 100 - right, 34.0, 34.0 + max(300.0, 16.5 * len(named)))


def _ends(lines: Sequence[PlotLine], drawn: dict[int, Trace], field: Field) -> Markup:
    """The labels at the right, each as near to the end of its line as the others let it be, and a fine line to it."""
    named = list(drawn)[:_NAMED]
    ends = {n: (field.x(drawn[n].end[0]), field.y(drawn[n].end[1])) for n in named}
    heights = labels.spread([ends[n][1] for n in named], gap=16, top=field.top, bottom=field.bottom)
    room = 100 - field.right - _APART
    parts = []
    leader = Markup(
        '<line class="lead" x1="{:.2f}%" y1="{:.1f}" x2="{:.2f}%" y2="{:.1f}" style="stroke:var(--curve-{})"/>'
    )
    text = Markup('<text class="small ink{}" x="{:.2f}%" y="{:.1f}">{}</text>')
    for n, y in zip(named, heights, strict=True):
        parts.append(leader.format(*ends[n], field.right + _APART - 0.6, y, n % COLOURS))
        short, long = frame.columns(room, NARROW), frame.columns(room, WIDE)
        name = name_of(lines[n].label, narrow=short, wide=long)
        parts.append(text.format(" name" if lines[n].strong else "", field.right + _APART, y + 4.5, name))
    return Markup("").join(parts)


def _said(one: PlotLine, traced: Trace | None) -> str:
    """A line in words: where it begins and ends."""
    label = fit(one.label, 60)
    if traced is None:
        return f"{label}: no value."
    first, last = ((frame.number(across), frame.number(up)) for across, up in (traced.points[0], traced.points[-1]))
    return f"{label}: {first[1]} at {first[0]}, {last[1]} at {last[0]}, n = {len(traced.points)}."
