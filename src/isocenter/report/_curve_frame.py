"""The parts of a curve plot as SVG: frame and ticks, bands, lines with their numbers, marks.

The plot is a square. All positions are per cent of it, and texts and symbols have their size in pixels: so it becomes
smaller on a telephone while its text does not. Lines lie in an inner drawing that is stretched, with strokes that are
not. Texts of the axes lie in the margin around the square.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from isocenter.report._curve_key import KEY_STYLE
from isocenter.report._curve_numbers import RADIUS
from isocenter.report._curve_shape import SIDE, Places, Scale, Shape, path, thinned
from isocenter.report._dose_dvh import _COLOURS as COLOURS

# Four kinds of line and ten colours: neighbours in the list differ in both, and twenty teams in one of them.
_DASHES = ("none", "8 4", "2 3", "10 3 2 3")

# Symbols within a radius of 6 pixels, first filled, then open.
_SYMBOLS = (
    "M0-6L6 0L0 6L-6 0Z",
    "M0-6L5.5 4.5H-5.5Z",
    "M-4.5-4.5H4.5V4.5H-4.5Z",
    "M0 6L5.5-4.5H-5.5Z",
    "M-5 0A5 5 0 1 1 5 0A5 5 0 1 1 -5 0Z",
    "M-2-6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z",
)


def style() -> Markup:
    """Colours and widths; the rest is as on the page, or plain if there is no page."""
    light, dark = (
        Markup(";").join(Markup("--curve-{}:{}").format(i, colour) for i, colour in enumerate(colours))
        for colours in (COLOURS.keys(), COLOURS.values())
    )
    dashes = Markup("").join(
        Markup(".curves .dash{}{{stroke-dasharray:{}}}").format(i, dash) for i, dash in enumerate(_DASHES)
    )
    return Markup(
        "<style>.curves{{{0}}}@media (prefers-color-scheme:dark){{.curves{{{1}}}}}@media print{{.curves{{{0}}}}}"
        ".curves{{display:flex;flex-wrap:wrap;align-items:flex-start;column-gap:1.5rem}}"
        ".curves>svg{{flex:1 1 17rem;box-sizing:content-box;min-width:0;max-width:{2:g}px;height:auto;aspect-ratio:1;"
        "margin:30px 14px 54px 36px;overflow:visible}}.curves>.key{{flex:1 1 13rem;margin-top:30px}}"
        ".curves .line{{fill:none;stroke-width:2;stroke-linejoin:round;vector-effect:non-scaling-stroke}}"
        ".curves .beyond{{stroke-opacity:.45}}.curves .band{{fill-opacity:.16;stroke:none}}"
        ".curves .axis{{stroke:var(--ink,#1a1d21)}}.curves .hair{{stroke:var(--hair,#d9dde2)}}"
        ".curves .chance{{stroke:var(--muted,#59616b);stroke-dasharray:4 4}}.curves svg.placed{{overflow:visible}}"
        ".curves .disc{{fill:var(--paper,#fff);stroke-width:1.75}}"
        ".curves text.number{{font-size:11px;font-weight:600;text-anchor:middle;stroke:none}}"
        ".curves text.long{{font-size:9.5px;letter-spacing:-.3px}}"
        ".curves .full{{fill:var(--ink,#1a1d21);stroke:var(--paper,#fff)}}"
        ".curves .open{{fill:var(--paper,#fff);stroke:var(--ink,#1a1d21);stroke-width:1.75}}{3}{4}</style>"
    ).format(light, dark, SIDE, dashes, KEY_STYLE)


def frame(across: Scale, up: Scale) -> Markup:
    """Hairs and axes, the numbers at their ticks, and what they show."""
    parts = []
    for value, text in up.ticks:
        y = 100 - 100 * float(up.share(value))
        parts.append(_rule("axis" if value == up.low else "hair", (0, y), (100, y)))
        parts.append(_text("small end", (0, y), (-8, 4.5), text))
    for value, text in across.ticks:
        x = 100 * float(across.share(value))
        parts.append(_rule("axis" if value == across.low else "hair", (x, 0), (x, 100)))
        parts.append(_text("small middle", (x, 100), (0, 20), text))
    parts.append(_text("small ink", (0, 0), (-34, -14), up.label))
    parts.append(_text("small ink end", (100, 100), (0, 42), across.label + (", logarithmic" if across.log else "")))
    return Markup("").join(parts)


def chance() -> Markup:
    """The diagonal of a score without information."""
    word = Markup('<text class="small middle" transform="rotate(-45)" y="14">chance</text>')
    return _rule("chance", (0, 100), (100, 0)) + _placed(word, (0.8, 0.8))


def band(number: int, low: Places, high: Places) -> Markup:
    """The area between two lines, both from left to right."""
    around = np.concatenate([thinned(low), thinned(high)[::-1]])
    return Markup('<path class="band" style="fill:{}" d="{}Z"/>').format(_colour(number), path(around))


def curve(number: int, shape: Shape, *, title: str) -> Markup:
    """A line and its continuation; a pointer finds the title."""
    line = Markup('<path class="line dash{} {}" style="stroke:{}" d="{}"><title>{}</title></path>')
    kinds = [("", shape.line)] if shape.beyond is None else [("beyond", shape.beyond), ("", shape.line)]
    drawn = (
        line.format(number % len(_DASHES), css, _colour(number), path(thinned(places)), title) for css, places in kinds
    )
    return Markup("").join(drawn)


def inner(parts: Sequence[Markup]) -> Markup:
    """What is given in thousandths, stretched to the square."""
    return Markup(
        '<svg width="100%" height="100%" viewBox="0 0 1000 1000" preserveAspectRatio="none" overflow="visible">{}</svg>'
    ).format(Markup("").join(parts))


def dot(number: int, place: Places) -> Markup:
    """The end of a curve that does not go on."""
    return _placed(Markup('<circle r="3.5" style="fill:{}"/>').format(_colour(number)), place)


def disc(number: int, place: Places) -> Markup:
    """A curve's number on the curve."""
    return _placed(_disc(number), place)


def mark(kind: int, place: Places, *, title: str, beyond: str) -> Markup:
    """A symbol; with an arrow where it lies beyond the "left" or "right" end of the axis."""
    arrow = {"": "", "left": "M-9-3.5L-13 0L-9 3.5", "right": "M9-3.5L13 0L9 3.5"}[beyond]
    pointer = Markup('<path class="axis" fill="none" stroke-width="1.5" d="{}"/>').format(arrow) if arrow else ""
    return _placed(Markup("<g>{}{}<title>{}</title></g>").format(symbol(kind), pointer, title), place)


def symbol(kind: int) -> Markup:
    """That of a kind of mark."""
    css = ("full", "open")[kind // len(_SYMBOLS) % 2]
    return Markup('<path class="{}" d="{}"/>').format(css, _SYMBOLS[kind % len(_SYMBOLS)])


def sample(number: int, *, numbered: bool) -> Markup:
    """A piece of a curve, for the key."""
    line = Markup('<path class="line dash{}" style="stroke:{}" d="M-20 0H20"/>')
    return line.format(number % len(_DASHES), _colour(number)) + (_disc(number) if numbered else Markup(""))


def described(picture: Sequence[Markup], *, name: str, title: str, said: Sequence[str]) -> Markup:
    """The square, with what it shows in words for who cannot see it."""
    return Markup(
        '<svg class="plot" role="img" aria-labelledby="{n}-title {n}-desc"><title id="{n}-title">{}</title>'
        '<desc id="{n}-desc">{}</desc>{}</svg>'
    ).format(title, " ".join(said), Markup("").join(picture), n=name)


def _disc(number: int) -> Markup:
    ring = Markup('<circle class="disc" r="{:g}" style="stroke:{}"/><text class="number{}" y="{:g}">{}</text>')
    css, y = ("", 4.0) if number < 9 else (" long", 3.4)
    return ring.format(RADIUS, _colour(number), css, y, number + 1)


def _colour(number: int) -> str:
    return f"var(--curve-{number % len(COLOURS)})"


def _placed(drawing: Markup, place: Places | tuple[float, float]) -> Markup:
    at = Markup('<svg class="placed" x="{:.2f}%" y="{:.2f}%" width="1" height="1">{}</svg>')
    return at.format(100 * place[0], 100 - 100 * place[1], drawing)


def _rule(css: str, start: tuple[float, float], end: tuple[float, float]) -> Markup:
    line = Markup('<line class="{}" x1="{:.2f}%" y1="{:.2f}%" x2="{:.2f}%" y2="{:.2f}%"/>')
    return line.format(css, *start, *end)


def _text(css: str, place: tuple[float, float], shift: tuple[float, float], text: str) -> Markup:
    words = Markup('<text class="{}" x="{:.2f}%" y="{:.2f}%" dx="{:g}" dy="{:g}">{}</text>')
    return words.format(css, *place, *shift, text)
