"""Where labels stand in a figure, so that no two meet, however wide the figure becomes.

A label hangs at a place in per cent of the width, and reaches some pixels to its left and right. The distance of two
labels is then linear in the width of the picture: those that are apart, in the same order, on a telephone and on a
large screen are apart on everything between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from isocenter.report._drawing import line, placed
from isocenter.report._scale import _columns, fit
from isocenter.report._value_figures_frame import LETTER, NARROW, Field

HEIGHT = 15.0  # pixels of a line of small text
_LARGE = 1200.0  # pixels of a picture that no page exceeds
_GAP = 3.0  # pixels between two labels side by side
_LONGEST = 18  # columns of a label beside a point; a pointer finds the rest


class Tag(NamedTuple):
    """A text that belongs to a place: per cent of the width, pixels from the top."""

    text: str
    x: float
    y: float
    css: str = "small ink"


Boxes = NDArray[np.float64]  # rows of (per cent, pixels to the left edge, to the right edge, top, bottom)


def tags(items: Sequence[Tag], field: Field, *, avoid: Sequence[tuple[float, float]] = ()) -> Markup:
    """The texts beside their places within the field, a fine line to those that had to move away.

    Each takes the nearest free place that those before it left; it rather covers none of the symbols at `avoid` either.
    """
    taken: Boxes = np.empty((0, 5))
    symbols = np.array([(x, -6, 6, y - 6, y + 6) for x, y in avoid]).reshape(-1, 5)
    parts = []
    for item in items:
        text = fit(item.text, _LONGEST)
        box = _free(item, LETTER * _columns(text), field, taken, symbols)
        taken = np.vstack([taken, box])
        parts.append(_hung(item, text, box))
    return Markup("").join(parts)


def _free(item: Tag, width: float, field: Field, taken: Boxes, symbols: Boxes) -> Boxes:
    """The place with the least cost: far from its point, over a symbol, and above all over another label."""
    shifts = np.arange(9, max(NARROW, 10), 9.0)
    lefts = np.concatenate([[-width / 2], shifts, -shifts - width])
    tops = np.arange(field.top, max(field.bottom - HEIGHT, field.top) + 0.1, 3.0)
    left, top = (grid.ravel() for grid in np.meshgrid(lefts, tops))
    tried = np.column_stack([np.full(left.size, item.x), left, left + width, top, top + HEIGHT])
    start, end = item.x / 100 * NARROW + tried[:, 1], item.x / 100 * NARROW + tried[:, 2]
    low, high = 0.0, field.right / 100 * NARROW + 2
    outside = (low - start).clip(0) + (end - high).clip(0)
    far = np.hypot(np.maximum(tried[:, 1], 0) + np.minimum(tried[:, 2], 0), top + HEIGHT / 2 - item.y)
    over = (tried[:, 1] < 7) & (tried[:, 2] > -7) & (abs(top + HEIGHT / 2 - item.y) < 7 + HEIGHT / 2)
    cost = far + 60.0 * over + 1e6 * (outside > 0) + 1e3 * outside
    cost = cost + 40.0 * meet(tried, symbols).sum(axis=1) + 1e5 * meet(tried, taken).sum(axis=1)
    return np.asarray(tried[int(cost.argmin())])


def meet(some: Boxes, others: Boxes) -> NDArray[np.bool_]:
    """Which boxes meet which others in a picture of some width."""
    a, b = some[:, None], others[None]
    beside = np.zeros((len(some), len(others)), dtype=np.bool_)
    for first, second in ((a, b), (b, a)):
        apart = [
            first[..., 0] / 100 * width + first[..., 2] + _GAP <= second[..., 0] / 100 * width + second[..., 1]
            for width in (NARROW, _LARGE)
        ]
        beside |= apart[0] & apart[1]
    level = (a[..., 3] < b[..., 4]) & (b[..., 3] < a[..., 4])
    return np.asarray(level & ~beside)


def _hung(item: Tag, text: str, box: Boxes) -> Markup:
    """The text, and a line from the place to it if it is not beside it."""
    _, left, right, top, bottom = box
    middle = (top + bottom) / 2 - item.y
    near = left if left > 0 else right if right < 0 else 0.0
    css, at = ("", left) if left > 0 else ("end", right) if right < 0 else ("middle", (left + right) / 2)
    mark = Markup('<text class="{}" x="{:g}" y="{:.1f}">{}<title>{}</title></text>').format(
        f"{item.css} {css}".strip(), at, middle + 4.5, text, item.text
    )
    if abs(near) > 10 or abs(middle) > HEIGHT + 2:
        far = middle - np.sign(middle) * 5 if near == 0 else middle
        mark = Markup('<path class="leader" d="M0 0L{:g} {:.1f}"/>{}').format(near, far, mark)
    return placed(mark, f"{item.x:.2f}%", item.y)


def aims(at: Mapping[str, float], field: Field) -> tuple[Field, Markup]:
    """Dashed vertical lines at some per cent of the width, their labels above the field, which makes room for them."""
    placed_at: list[tuple[str, float, str, int]] = []
    taken: Boxes = np.empty((0, 5))
    for text, x in sorted(at.items(), key=lambda pair: pair[1]):
        shown = fit(text, 24)
        width = LETTER * _columns(shown)
        pixels = x / 100 * NARROW
        limit = field.right / 100 * NARROW + 4
        css = "start" if pixels < width / 2 else "end" if pixels + width / 2 > limit else "middle"
        left = {"start": -4.0, "middle": -width / 2, "end": 4.0 - width}[css]
        level = 0
        while meet(box := np.array([[x, left, left + width, level, level + 1]]), taken).any():
            level += 1
        taken = np.vstack([taken, box])
        placed_at.append((shown, x, css, level))
    rise = 17.0 * (1 + max((level for *_, level in placed_at), default=-1))
    field = field._replace(top=field.top + rise, bottom=field.bottom + rise)
    word = Markup('<text class="small {}" x="{:g}" y="0">{}</text>')
    parts = [line("aim", x, x, y=field.bottom, up=field.bottom - field.top + 4) for _, x, _, _ in placed_at]
    for text, x, css, level in placed_at:
        shift = {"start": -4, "middle": 0, "end": 4}[css]
        parts.append(placed(word.format(css, shift, text), f"{x:.2f}%", field.top - 8 - 17 * level))
    return field, Markup("").join(parts)


def spread(wanted: Sequence[float], *, gap: float, top: float, bottom: float) -> list[float]:
    """Heights at least `gap` apart, in the order of the wanted ones and as near to them as can be (least squares)."""
    order = sorted(range(len(wanted)), key=lambda n: wanted[n])
    blocks: list[tuple[float, int]] = []  # mean of the wanted heights, less the gaps before them, and how many
    for rank, n in enumerate(order):
        mean, size = wanted[n] - gap * rank, 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    level = [mean for mean, size in blocks for _ in range(size)]
    last = max(bottom - gap * (len(wanted) - 1), top)
    heights = {n: min(max(level[rank], top), last) + gap * rank for rank, n in enumerate(order)}
    return [heights[n] for n in range(len(wanted))]
