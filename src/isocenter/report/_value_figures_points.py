"""Points of a figure: symbols by kind, intervals, labels, and what has no place on the axes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from isocenter.report import _curve_frame as draw
from isocenter.report import _value_figures_frame as frame
from isocenter.report import _value_figures_labels as labels
from isocenter.report._curve_shape import Scale
from isocenter.report._drawing import line, name_of, placed, words
from isocenter.report._scale import fit
from isocenter.report._value_figures_frame import NARROW, WIDE, Field, PlotAxis

BY_NAME, BY_NUMBER = 12, 60  # points with their label beside them; with a number, and the label in a list
_CELLS = (48, 32)  # across and up, that points are counted in where they are too many to draw


@dataclass(frozen=True, slots=True)
class PlotPoint:
    """A point in the units of the axes.

    Attributes
    ----------
    label
        Whose it is.
    x, y
        Where it lies. A point that is not finite is said, not drawn.
    kind
        Points of a kind share a symbol.
    low, high
        From where to where an interval of `y` reaches.
    """

    label: str
    x: float
    y: float
    kind: str = ""
    low: float | None = None
    high: float | None = None


def drawable(points: Sequence[PlotPoint], x: PlotAxis, y: PlotAxis) -> tuple[list[PlotPoint], list[str]]:
    """The points that have a place on the axes, without an interval that has none, and the labels of the others."""
    shown, without = [], []
    for point in points:
        if not (x.shows(point.x) and y.shows(point.y)):
            without.append(point.label)
        elif point.low is None or point.high is None or not (y.shows(point.low) and y.shows(point.high)):
            shown.append(replace(point, low=None, high=None))
        else:
            shown.append(point)
    return shown, without


def without_place(labels_of: Sequence[str]) -> list[str]:
    """What is said of points that cannot be drawn."""
    return [f"Not drawn, as they have no place on the axes: {frame.listed(labels_of)}."] if labels_of else []


def places(points: Sequence[PlotPoint], field: Field, scales: tuple[Scale, Scale]) -> list[tuple[float, float]]:
    """Where the points lie: per cent of the width, pixels from the top."""
    across, up = scales[0].share([point.x for point in points]), scales[1].share([point.y for point in points])
    return [(field.x(float(x)), field.y(float(y))) for x, y in zip(across, up, strict=True)]


def symbols(points: Sequence[PlotPoint], field: Field, scales: tuple[Scale, Scale]) -> Markup:
    """A symbol each, with its interval; the same dot for all where there is but one kind."""
    kinds = {kind: number for number, kind in enumerate(dict.fromkeys(point.kind for point in points))}
    radius = 5 if len(points) <= BY_NUMBER else 3
    dot = Markup('<circle class="{}" cx="{:.2f}%" cy="{:.1f}" r="{}"><title>{}</title></circle>')
    parts = []
    for point, (x, y) in zip(points, places(points, field, scales), strict=True):
        if point.low is not None and point.high is not None:
            low, high = sorted(field.y(float(scales[1].share(end))) for end in (point.low, point.high))
            parts.append(line("whisker", x, x, y=low, down=high - low))
        if len(kinds) == 1:
            parts.append(dot.format("dot" if radius == 5 else "case", x, y, radius, said(point)))
        else:
            mark = Markup("<g>{}<title>{}</title></g>").format(draw.symbol(kinds[point.kind]), said(point))
            parts.append(placed(mark, f"{x:.2f}%", y))
    return Markup("").join(parts)


def cells(points: Sequence[PlotPoint], field: Field, scales: tuple[Scale, Scale]) -> Markup:
    """Counts of points in cells of the picture, as dots whose area is the count."""
    across, up = (
        scale.share(values) * most
        for scale, values, most in zip(scales, ([p.x for p in points], [p.y for p in points]), _CELLS, strict=True)
    )
    counts = Counter((min(int(x), _CELLS[0] - 1), min(int(y), _CELLS[1] - 1)) for x, y in zip(across, up, strict=True))
    largest = max(counts.values())
    dot = Markup('<circle class="case" cx="{:.2f}%" cy="{:.1f}" r="{:.1f}"><title>{}</title></circle>')
    parts = [
        dot.format(
            field.x((x + 0.5) / _CELLS[0]),
            field.y((y + 0.5) / _CELLS[1]),
            max(1.0, 3.6 * (count / largest) ** 0.5),
            f"{count} {'point' if count == 1 else 'points'}",
        )
        for (x, y), count in sorted(counts.items())
    ]
    return Markup("").join(parts)


def marks_of(points: Sequence[PlotPoint], field: Field, scales: tuple[Scale, Scale]) -> Markup:
    """Symbols with their labels: the names, or nothing but the symbols where there are many."""
    if not points:
        return Markup("")
    at = places(points, field, scales)
    named = [labels.Tag(p.label, x, y) for p, (x, y) in zip(points, at, strict=True)] if len(at) <= BY_NAME else []
    return symbols(points, field, scales) + labels.tags(named, field, avoid=at)


def kinds_key(points: Sequence[PlotPoint], *, top: float) -> tuple[float, Markup]:
    """What the symbols mean, in two columns, and how high that is; nothing where there is one kind."""
    counts = Counter(point.kind for point in points)
    if len(counts) < 2:
        return 0.0, Markup("")
    parts = []
    for number, (kind, count) in enumerate(counts.items()):
        x, y = 50.0 * (number % 2), top + 20.0 * (number // 2)
        parts.append(placed(draw.symbol(number), f"{x + 2.2:.1f}%", y))
        parts.append(_entry(x + 5, y, f"{fit(kind or 'other', 40)}, n = {count}", 44))
    return 20.0 * ((len(counts) + 1) // 2) + 8, Markup("").join(parts)


def number_key(points: Sequence[PlotPoint], *, top: float) -> tuple[float, Markup]:
    """Whose the numbers are, in two columns, and how high that is."""
    rows = (len(points) + 1) // 2
    parts = []
    for number, point in enumerate(points):
        x, y = 50.0 * (number // rows), top + 17.0 * (number % rows)
        parts.append(words(x + 6, y + 4.5, f"{number + 1}", css="small end"))
        parts.append(_entry(x + 8, y, point.label, 41))
    return 17.0 * rows + 8, Markup("").join(parts)


def _entry(x: float, y: float, text: str, room: float) -> Markup:
    name = name_of(text, narrow=frame.columns(room, NARROW), wide=frame.columns(room, WIDE))
    return Markup('<text class="small ink" x="{:g}%" y="{:g}">{}</text>').format(x, y + 4.5, name)


def said(point: PlotPoint) -> str:
    """A point in words."""
    kind = f" ({fit(point.kind, 30)})" if point.kind else ""
    return f"{fit(point.label, 40)}{kind}: {frame.number(point.x)}, {frame.number(point.y)}"
