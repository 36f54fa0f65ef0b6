"""Amounts as horizontal bars, beside each other or one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from isocenter.report import _value_figures_frame as frame
from isocenter.report._curve_shape import Scale
from isocenter.report._drawing import line, name_of, picture, placed, sentence, words
from isocenter.report._scale import _columns, fit
from isocenter.report._value_figures_frame import COLOURS, LETTER, NARROW, WIDE, Field, PlotAxis

_NAMES = 27.0  # per cent of the width for the names of the bars
_PAGE = 850.0  # pixels that fit on a printed page
# Lines within a tile of 8 × 8 pixels: who sees no colours tells the parts of a bar apart by them.
_TEXTURES = ("", "M0 8L8 0", "M1 2H3M5 6H7", "M0 0L8 8", "M4 0V8", "M0 4H8")


class _Bar(NamedTuple):
    """A bar: its group, its parts as (number of the series, name, value), the texts at its end, beside and above it."""

    group: str
    pieces: list[tuple[int, str, float]]
    text: str
    name: str
    heading: str = ""

    @property
    def reach(self) -> tuple[float, float]:
        """Where the parts below 0 and those above it end."""
        return sum(v for *_, v in self.pieces if v < 0), sum(v for *_, v in self.pieces if v > 0)


def bars_plot(
    groups: Mapping[str, Mapping[str, float]],
    *,
    label: str,
    title: str,
    name: str,
    show: Callable[[float], str] = str,
    stacked: bool = False,
) -> Markup:
    """Bars from 0 on, the value at the end: one bar per value, or one per group with its values one after the other.

    A value that is not finite has no bar, and a dash or its sign in the place of the number.

    Parameters
    ----------
    groups
        By group the values by series. Where every group has but one value of the same series, its name is not drawn.
    label
        What the axis shows, with its unit.
    title
        What the picture shows, for who cannot see it.
    name
        Prefix of the identifiers in the SVG: different for each picture of a page.
    show
        A finite value as text.
    stacked
        One bar per group; at its end stands the sum.

    Returns
    -------
    Markup
        One `svg` element, or a sentence if there is nothing to draw.
    """
    series = list(dict.fromkeys(part for parts in groups.values() for part in parts))
    if not series:
        return sentence(f"{title}: there is nothing to draw.")
    numbers = {part: number for number, part in enumerate(series)}
    bars = _stacked(groups, numbers, show) if stacked else _beside(groups, numbers, show)
    scale = frame.scale_of(PlotAxis(label), [0.0, *(end for bar in bars for end in bar.reach)])
    key = _key(series, name) if stacked else (0.0, Markup(""))
    pitch = max(17.0, min(24.0, _PAGE / len(bars)))
    top = 6.0 + key[0]
    bottom = top + pitch * len(bars) + 26 * sum(bool(bar.heading) for bar in bars)
    field = Field(_NAMES, 100 - frame.room([fit(bar.text, 12) for bar in bars]), top, bottom)
    parts = [_style(name, len(series) if stacked else 1), key[1], frame.across(field, scale)]
    y = top
    for bar in bars:
        if bar.heading:
            text = name_of(bar.heading, narrow=40, wide=84)
            parts.append(Markup('<text class="small name ink" x="0" y="{:g}">{}</text>').format(y + 19, text))
            y += 26
        parts.append(_drawn(bar, field, scale, y=y, pitch=pitch, name=name, show=show))
        y += pitch
    zero = field.x(float(scale.share(0.0)))
    parts.append(line("zero", zero, zero, y=bottom, up=bottom - top))
    parts.append(words(field.right, bottom + 37, fit(scale.label, 34), css="small ink end"))
    body = Markup('<g class="values">{}</g>').format(Markup("").join(parts))
    return picture([body], bottom + 44, name=name, title=title, description=" ".join(_said(groups, show)))


def _beside(
    groups: Mapping[str, Mapping[str, float]], numbers: Mapping[str, int], show: Callable[[float], str]
) -> list[_Bar]:
    """One bar per value; a group of several, or of various series, has a heading."""
    bars = []
    for group, parts in groups.items():
        label = group
        for index, (part, value) in enumerate(parts.items()):
            drawn = [(0, part, value)] if math.isfinite(value) else []
            several = len(numbers) > 1
            name, heading = (part, "" if index else label) if several else (label, "")
            bars.append(_Bar(label, drawn, _text(value, show), name, heading))
        if not parts:
            bars.append(_Bar(label, [], "–", label))
    return bars


def _stacked(
    groups: Mapping[str, Mapping[str, float]], numbers: Mapping[str, int], show: Callable[[float], str]
) -> list[_Bar]:
    bars = []
    for group, parts in groups.items():
        pieces = [(numbers[part], part, value) for part, value in parts.items() if math.isfinite(value)]
        pieces.sort()
        total = sum(value for *_, value in pieces) if len(pieces) == len(parts) > 0 else math.nan
        bars.append(_Bar(group, pieces, _text(total, show), group))
    return bars


def _text(value: float, show: Callable[[float], str]) -> str:
    if math.isfinite(value):
        return show(value)
    return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"


def _drawn(
    bar: _Bar, field: Field, scale: Scale, *, y: float, pitch: float, name: str, show: Callable[[float], str]
) -> Markup:
    middle, height = y + pitch / 2, pitch - 5
    label = name_of(bar.name, narrow=frame.columns(_NAMES - 1, NARROW), wide=frame.columns(_NAMES - 1, WIDE))
    parts = [Markup('<text class="small ink" x="0" y="{:g}">{}</text>').format(middle + 4.5, label)]
    ends = {-1: 0.0, 1: 0.0}
    for number, part, value in bar.pieces:
        side = 1 if value >= 0 else -1
        start, ends[side] = ends[side], ends[side] + value
        low, high = sorted((field.x(float(scale.share(start))), field.x(float(scale.share(ends[side])))))
        title = (fit(bar.group, 60), fit(part, 60), _text(value, show))
        box = (f"{low:.2f}%", middle - height / 2, f"{max(high - low, 0.05):.2f}%", height)
        parts.append(Markup("<g><title>{}, {}: {}</title>{}</g>").format(*title, _filled(number, name, box)))
        if len(bar.pieces) > 1 and LETTER * len(title[2]) + 4 < (high - low) / 100 * NARROW:
            parts.append(words((low + high) / 2, middle + 4.5, title[2], css="small ink middle"))
    text = Markup('<text class="small ink" x="5" y="4.5">{}<title>{}</title></text>').format(
        fit(bar.text, 12), bar.text
    )
    parts.append(placed(text, f"{field.x(float(scale.share(max(ends[1], 0.0)))):.2f}%", middle))
    return Markup("").join(parts)


def _key(series: Sequence[str], name: str) -> tuple[float, Markup]:
    """What the parts of the bars are, in their order, line by line as they fit; and how high that is."""
    parts, x, y = [], 0.0, 0.0
    for number, part in enumerate(series):
        text = fit(part, 32)
        width = 28 + LETTER * _columns(text) + 12
        if x and x + width > NARROW:
            x, y = 0.0, y + 20
        parts.append(_filled(number, name, (f"{x + 1:g}", y + 2, "22", 13.0)))
        parts.append(words(x + 28, y + 13, text, css="small ink", unit=""))
        x += width
    return y + 26, Markup("").join(parts)


def _filled(number: int, name: str, box: tuple[str, float, str, float]) -> Markup:
    """A rectangle in the tint of a series, with its lines; x, y, width and height."""
    turn, texture = divmod(number, len(_TEXTURES))
    place = Markup('x="{}" y="{:g}" width="{}" height="{:g}"').format(*box)
    colour = f"var(--curve-{number % COLOURS})"
    tint = Markup('<rect style="fill:{};fill-opacity:{};stroke:{}" {}/>')
    drawn = tint.format(colour, (0.5, 0.25, 0.12)[turn % 3], colour, place)
    return drawn + Markup('<rect fill="url(#{}-{})" {}/>').format(name, number, place) if texture else drawn


def _style(name: str, series: int) -> Markup:
    """The lines in the fillings, from the second series on."""
    tile = Markup(
        '<pattern id="{}-{}" width="8" height="8" patternUnits="userSpaceOnUse">'
        '<path d="{}" style="fill:none;stroke:var(--curve-{});stroke-width:1.2"/></pattern>'
    )
    tiles = [
        tile.format(name, number, _TEXTURES[number % len(_TEXTURES)], number % COLOURS)
        for number in range(series)
        if number % len(_TEXTURES)
    ]
    return frame.style() + Markup("<defs>{}</defs>").format(Markup("").join(tiles))


def _said(groups: Mapping[str, Mapping[str, float]], show: Callable[[float], str]) -> list[str]:
    """The groups in words."""
    return [
        f"{fit(group, 60)}: "
        + ", ".join(f"{fit(part, 60)} {_text(value, show)}" for part, value in parts.items())
        + "."
        for group, parts in groups.items()
    ]
