"""What lines, numbers and symbols mean: a list beside a picture, or below it where the page is narrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from isocenter.report._scale import fit

_LONGEST = 44  # columns of a name; a pointer finds the rest


class Entry(NamedTuple):
    """A sample of how it is drawn, 40 × 20 pixels around its middle, whose it is, and what is said of it."""

    sample: Markup
    name: str
    text: str = ""


def key(entries: Sequence[Entry]) -> Markup:
    """The list; its style is that of the page's text."""
    item = Markup(
        '<li><svg width="40" height="20" viewBox="-20 -10 40 20" aria-hidden="true" focusable="false">{}</svg>'
        '<span title="{}"><bdi>{}</bdi>{}</span></li>'
    )
    items = [item.format(entry.sample, entry.name, fit(entry.name, _LONGEST), entry.text) for entry in entries]
    return Markup('<ul class="key">{}</ul>').format(Markup("").join(items)) if items else Markup("")


KEY_STYLE = Markup(
    ".key{list-style:none;margin:0;padding:0;font-size:.9rem;line-height:1.35}"
    ".key li{display:flex;gap:.6rem;align-items:flex-start;margin:0 0 .4rem}"
    ".key svg{flex:none;overflow:visible}.key span{overflow-wrap:anywhere;min-width:0}"
)
