"""What every small plot is drawn with: lines, words, names and symbols as SVG text.

Horizontal positions are per cent of the width and vertical ones pixels. So a plot is as wide as its place on the page,
while its text keeps the size at which it can be read, on a telephone as in print. Colours come from the style sheet of
the page.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from isocenter.report._scale import fit
from isocenter.report._templates import UNPRINTABLE

NARROWEST, USUAL = 3.3, 6.8  # pixels of one per cent of the width: on a telephone, and in print
KEY_PITCH = 20.0  # pixels between the lines of a key


def line(css: str, start: float, end: float, *, y: float, up: float = 0, down: float = 0) -> Markup:
    """From `start` to `end` per cent at the height `y`, or from `up` pixels above it to `down` below."""
    return Markup('<line class="{}" x1="{:.2f}%" x2="{:.2f}%" y1="{:.2f}" y2="{:.2f}"/>').format(
        css, start, end, y - up, y + down
    )


def words(x: float, y: float, text: str, *, css: str, unit: str = "%") -> Markup:
    """A text on the base line `y`."""
    return Markup('<text class="{}" x="{:g}{}" y="{:g}">{}</text>').format(css, round(x, 2), unit, round(y, 2), text)


def name_of(text: str, *, narrow: int, wide: int) -> Markup:
    """A name as long as there is room for: the style sheet shows one of two lengths, and a pointer finds the whole."""
    short, long = fit(text, narrow), fit(text, wide)
    if short == text:
        return Markup('<tspan class="own">{}</tspan>').format(text)
    # The one that is printed comes first: a printer takes the place of a text from its first letters, seen or not.
    both = Markup('<tspan class="own wide">{}</tspan><tspan class="own narrow">{}</tspan><title>{}</title>')
    return both.format(long, short, text)


def placed(mark: Markup, x: float | str, y: float) -> Markup:
    """A symbol of fixed size, drawn around (0, 0), at `x` pixels, or per cent as a text, and the height `y`."""
    return Markup('<svg class="placed" x="{}" y="{:.1f}" width="1" height="1">{}</svg>').format(x, y, mark)


def key(entries: Sequence[tuple[Markup, str]], y: float) -> Markup:
    """What symbols mean, two on a line, the first around the height `y`; a symbol is drawn around (0, 0)."""
    entry = Markup('<g transform="translate(10 0)">{}</g><text class="small" x="24" y="4.5">{}</text>')
    return Markup("").join(
        placed(entry.format(*symbol_and_text), f"{50 * (number % 2)}%", y + KEY_PITCH * (number // 2))
        for number, symbol_and_text in enumerate(entries)
    )


def picture(parts: Sequence[Markup], height: float, *, name: str, title: str, description: str) -> Markup:
    """The whole, with what it shows in words for who cannot see it; `name` is its own on the page."""
    drawn = Markup(
        '<svg class="plot" width="100%" height="{:.0f}" role="img" aria-labelledby="{}-title {}-desc">'
        '<title id="{}-title">{}</title><desc id="{}-desc">{}</desc>{}</svg>'
    ).format(height, name, name, name, title, name, description, Markup("").join(parts))
    return Markup(UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", drawn))  # noqa: S704 -- escaped above


def with_notes(drawing: Markup, notes: Sequence[str]) -> Markup:
    """A drawing and sentences below it; without sentences the drawing alone."""
    said = [text for text in notes if text]
    return Markup("<div>{}{}</div>").format(drawing, Markup("").join(map(sentence, said))) if said else drawing


def sentence(text: str) -> Markup:
    """What stands below a drawing, or in its place where there is nothing to draw."""
    clean = UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return Markup('<p class="note">{}</p>').format(clean)
