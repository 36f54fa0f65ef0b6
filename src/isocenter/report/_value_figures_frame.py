"""Axes, frames and notes that the figures of values share.

Everything is laid out for the narrowest telephone. A wider place only moves things apart, as positions are per cent of
the width and texts keep their size: what does not meet there meets nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from isocenter.metrics import Metric
from isocenter.report._curve_frame import _DASHES
from isocenter.report._curve_shape import Scale
from isocenter.report._dose_dvh import _COLOURS
from isocenter.report._drawing import NARROWEST, USUAL, line, words
from isocenter.report._scale import axis_for, fit

COLOURS = len(_COLOURS)
NARROW, WIDE = 100 * NARROWEST, 100 * USUAL  # pixels of a picture on a telephone, and in print
LETTER = 7.4  # pixels that a letter of a small text is wide at most, but for a few
_HUGE, _VAST = 4e307, 1e300  # beyond these a difference, or a power of ten, is no number any more


@dataclass(frozen=True, slots=True)
class PlotAxis:
    """What an axis shows.

    Attributes
    ----------
    label, unit
        "Dose", "Gy".
    log
        Logarithmic. A value of 0 or below has no place on it, and is said rather than drawn.
    low, high
        Where it begins and ends; None, or a number that is not finite, for round numbers around the values.
    """

    label: str
    unit: str = ""
    log: bool = False
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        low, high = self.ends
        if not low < high or (self.log and not (low > 0 or low == -math.inf)) or (self.log and high <= 0):
            kind = "logarithmic axis" if self.log else "axis"
            msg = f"the {kind} {self.label!r} cannot reach from {low:g} to {high:g}"
            raise ValueError(msg)

    @property
    def ends(self) -> tuple[float, float]:
        """Where it begins and ends, infinite where that is left to the values."""
        low = -math.inf if self.low is None or not math.isfinite(self.low) else self.low
        high = math.inf if self.high is None or not math.isfinite(self.high) else self.high
        return low, high

    @property
    def title(self) -> str:
        """With unit and kind: "Time (s), logarithmic"."""
        return with_unit(self.label, self.unit) + (", logarithmic" if self.log else "")

    def shows(self, value: float) -> bool:
        """Whether a value has a place on it."""
        return math.isfinite(value) and (value > 0 or not self.log)


class Field(NamedTuple):
    """Where values are drawn: per cent of the width from left to right, pixels from top to bottom."""

    left: float
    right: float
    top: float
    bottom: float

    def x(self, share: float) -> float:
        """Per cent of the width, of a share of the axis."""
        return self.left + (self.right - self.left) * float(share)

    def y(self, share: float) -> float:
        """Pixels from the top."""
        return self.bottom - (self.bottom - self.top) * float(share)


def scale_of(axis: PlotAxis, values: Iterable[float]) -> Scale:
    """The axis with round ticks, over those of the values that it shows."""
    inside = [held(value) for value in values if axis.shows(value)]
    if axis.log:
        return _log_scale(axis, [min(max(value, 1 / _VAST), _VAST) for value in inside])
    low, high = (end if math.isinf(end) else held(end) for end in axis.ends)
    made = axis_for(Metric("axis", "", "neither", (low, high), 2, axis.label), inside)
    return Scale(
        axis.title, made.low, made.high, tuple(zip(made.ticks, _texts(made.ticks, made.decimals), strict=True))
    )


def held(value: float) -> float:
    """A finite value, or the largest that can be drawn."""
    return min(max(value, -_HUGE), _HUGE)


def _texts(ticks: Sequence[float], decimals: int) -> list[str]:
    """The numbers at the ticks, no two alike."""
    largest = max(abs(tick) for tick in ticks)
    if decimals <= 6 and largest < 1e6:
        return [f"{tick:.{decimals}f}" for tick in ticks]
    step = ticks[1] - ticks[0] if len(ticks) > 1 else largest
    digits = math.floor(math.log10(largest)) - math.floor(math.log10(step)) + 1
    return [number(tick, digits) for tick in ticks]


def _log_scale(axis: PlotAxis, values: Sequence[float]) -> Scale:
    low, high = axis.ends
    least = low if low > 0 else min(values, default=high / 100 if math.isfinite(high) else 1.0)
    most = high if math.isfinite(high) else max(values, default=100 * least)
    most = max(most, least)
    powers = range(math.floor(math.log10(least)) - 1, math.ceil(math.log10(most)) + 2)
    rungs = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    low = low if low > 0 else max(rung for rung in rungs if rung <= least * (1 + 1e-9))
    high = high if math.isfinite(high) else min(rung for rung in rungs if rung >= most * (1 - 1e-9))
    if not high > low:
        low = high / 10
    ticks = [rung for rung in rungs if low * (1 - 1e-9) <= rung <= high * (1 + 1e-9)]
    decades = [10.0**power for power in powers if low * (1 - 1e-9) <= 10.0**power <= high * (1 + 1e-9)]
    ticks = ticks if len(ticks) <= 7 else decades[:: math.ceil(len(decades) / 7)]
    ticks = ticks if len(ticks) > 1 else [low, high]
    return Scale(axis.title, low, high, tuple((tick, number(tick)) for tick in ticks), log=True)


def number(value: float, digits: int = 4) -> str:
    """A number as short as it can be: 0.8312, 1.2e5.

    Examples
    --------
    >>> number(123456.0)
    '1.235e5'
    """
    text = f"{value:.{max(digits, 1)}g}"
    return text.replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def with_unit(label: str, unit: str) -> str:
    """A label with its unit in brackets: Dose (Gy)."""
    return f"{label} ({unit})" if unit else label


def room(texts: Iterable[str], extra: float = 10.0) -> float:
    """Per cent of the width that the longest of some texts takes where there is least."""
    return (LETTER * max((len(text) for text in texts), default=0) + extra) / NARROW * 100


def columns(share: float, width: float) -> int:
    """Letters that fit into some per cent of a picture of so many pixels."""
    return max(4, math.floor(share / 100 * width / LETTER))


def across(field: Field, scale: Scale) -> Markup:
    """Vertical hairs, and the numbers under them: every second only where there is room for all."""
    wanted = sum(LETTER * len(text) + 8 for _, text in scale.ticks)
    crowded = wanted > (field.right - field.left) / 100 * NARROW
    parts = []
    for index, (tick, text) in enumerate(scale.ticks):
        x = field.x(float(scale.share(tick)))
        parts.append(line("tick", x, x, y=field.bottom, up=field.bottom - field.top))
        css = "small middle wide" if crowded and index % 2 else "small middle"
        parts.append(words(x, field.bottom + 17, text, css=css))
    return Markup("").join(parts)


def direction(field: Field, label: str, better: str) -> Markup:
    """What the axis below shows, and where better is."""
    label = fit(label, 24)
    if better == "lower":
        return words(field.left, field.bottom + 37, f"← {label}, lower is better", css="small ink")
    text = f"{label}, higher is better →" if better == "higher" else label
    return words(field.right, field.bottom + 37, text, css="small ink end")


def upward(field: Field, scale: Scale) -> Markup:
    """Horizontal hairs, the numbers left of them, and above them what they are."""
    parts = [words(0, field.top - 14, fit(scale.label, 44), css="small ink")]
    for tick, text in scale.ticks:
        y = field.y(float(scale.share(tick)))
        parts.append(line("tick", field.left, field.right, y=y))
        parts.append(words(field.left - 1.5, y + 4.5, text, css="small end"))
    return Markup("").join(parts)


def framed(field: Field, x: Scale, y: Scale) -> Markup:
    """Both axes."""
    label = words(field.right, field.bottom + 37, fit(x.label, 34), css="small ink end")
    return across(field, x) + upward(field, y) + label


def inner(field: Field, parts: Sequence[Markup]) -> Markup:
    """What is given in thousandths, stretched to the field."""
    return Markup(
        '<svg x="{:.2f}%" y="{:.1f}" width="{:.2f}%" height="{:.1f}" viewBox="0 0 1000 1000" '
        'preserveAspectRatio="none" overflow="visible">{}</svg>'
    ).format(field.left, field.top, field.right - field.left, field.bottom - field.top, Markup("").join(parts))


def style() -> Markup:
    """Colours and strokes of lines and symbols; the rest is as on the page, or plain if there is no page."""
    light, dark = (
        Markup(";").join(Markup("--curve-{}:{}").format(i, colour) for i, colour in enumerate(colours))
        for colours in (_COLOURS.keys(), _COLOURS.values())
    )
    dashes = Markup("").join(
        Markup(".values .dash{}{{stroke-dasharray:{}}}").format(i, dash) for i, dash in enumerate(_DASHES)
    )
    return Markup(
        "<style>.values{{{0}}}@media (prefers-color-scheme:dark){{.values{{{1}}}}}@media print{{.values{{{0}}}}}"
        ".values .line{{fill:none;stroke-width:2;stroke-linejoin:round;vector-effect:non-scaling-stroke}}"
        ".values .strong .line{{stroke-width:3.25}}.values .pale{{opacity:.6}}"
        ".values .band{{fill-opacity:.16;stroke:none}}.values .leader{{fill:none;stroke:var(--muted,#59616b)}}"
        ".values .aim{{fill:none;stroke:var(--muted,#59616b);stroke-dasharray:5 4;stroke-width:1.5;"
        "vector-effect:non-scaling-stroke}}.values .zero{{stroke:var(--ink,#1a1d21);stroke-width:1.5}}"
        ".values .front{{fill:none;stroke:var(--ink,#1a1d21);stroke-width:1.25;stroke-dasharray:6 3;"
        "vector-effect:non-scaling-stroke}}.values .lead{{stroke-dasharray:1 3}}"
        ".values .ring{{fill:none;stroke:var(--ink,#1a1d21);stroke-width:1.5}}"
        ".values .full{{fill:var(--ink,#1a1d21);stroke:var(--paper,#fff)}}"
        ".values .open{{fill:var(--paper,#fff);stroke:var(--ink,#1a1d21);stroke-width:1.75}}{2}</style>"
    ).format(light, dark, dashes)


def listed(labels: Sequence[str], most: int = 8) -> str:
    """Names, and how many more there are."""
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(fit(label, 30) for label in labels[:most]) + more
