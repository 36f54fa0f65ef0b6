"""Names below columns: slanted where there is room for them, otherwise numbers and a sentence that explains them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from isocenter.report._drawing import NARROWEST, USUAL, name_of, placed, words
from isocenter.report._scale import fit

_SLANTED = 18.0  # pixels that a slanted name needs
_NAME = 18  # columns of the longest slanted name
_MOST_EXPLAINED = 60


class Labels(NamedTuple):
    """What is drawn, how far down it reaches, and what is said of it below the picture."""

    drawn: Markup
    bottom: float
    note: str


def slanted(count: int, *, room: float) -> bool:
    """Whether so many names have room on so many per cent of the width of a telephone."""
    return count * _SLANTED <= room * NARROWEST


def column_labels(names: Sequence[str], xs: Sequence[float], *, y: float, room: float, heading: str) -> Labels:
    """The names of columns at `xs` below the height `y`; `room` is the width of all, in per cent of the picture's."""
    if slanted(len(names), room=room):
        return Labels(*_slanted(names, xs, y=y), "")
    if len(names) <= _MOST_EXPLAINED:
        listed = ", ".join(f"{number}: {fit(name, 40)}" for number, name in enumerate(names, start=1))
    else:
        listed = f"1: {fit(names[0], 40)}, …, {len(names)}: {fit(names[-1], 40)}"
    return Labels(column_numbers(xs, y=y + 16, room=room), y + 22, f"{heading}. {listed}.")


def column_numbers(xs: Sequence[float], *, y: float, room: float) -> Markup:
    """1, 2, 3, … at `xs`, or as many of them as there is room for; fewer on a telephone."""
    each = 8.0 * len(str(len(xs))) + 5  # pixels that a number needs
    usual = math.ceil(len(xs) * each / (room * USUAL))
    narrow = usual * math.ceil(len(xs) * each / (room * NARROWEST) / usual)
    return Markup("").join(
        words(x, y, str(i + 1), css="small middle" if i % narrow == 0 else "small middle wide")
        for i, x in enumerate(xs)
        if i % usual == 0
    )


def _slanted(names: Sequence[str], xs: Sequence[float], *, y: float) -> tuple[Markup, float]:
    slope = Markup('<text class="small ink end" transform="rotate(-45)" y="9">{}</text>')
    drawn = [
        placed(slope.format(name_of(name, narrow=12, wide=_NAME)), f"{x:.2f}%", y + 6)
        for name, x in zip(names, xs, strict=True)
    ]
    longest = max(min(len(name), _NAME) for name in names)
    return Markup("").join(drawn), y + 18 + 4.7 * longest
