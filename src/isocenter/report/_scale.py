"""Scales and summaries: what a plot must know before it draws."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from isocenter.metrics import Metric

LEFT, RIGHT = 25.0, 96.0  # per cent of the width between which values are drawn; left of it names and crosses


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear scale from `low` to `high` with round ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]
    decimals: int

    def at(self, value: float) -> float:
        """Where a value lies, per cent of the width of the plot."""
        # Halved first, as the difference of two huge numbers may not be finite.
        share = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return LEFT + (RIGHT - LEFT) * min(max(share, 0.0), 1.0)

    def show(self, tick: float) -> str:
        """A tick as it stands under the axis."""
        plain = self.decimals <= 6 and abs(tick) < 1e6
        return f"{tick:.{self.decimals}f}" if plain else f"{tick:.3g}"


@dataclass(frozen=True, slots=True)
class Box:
    """Quartiles, by linear interpolation, and the furthest values within 1.5 box lengths of the box."""

    low: float
    first: float
    median: float
    third: float
    high: float


def box_of(values: Sequence[float]) -> Box:
    """Summary of at least one finite value.

    Examples
    --------
    >>> box_of([1.0, 2.0, 3.0, 4.0, 100.0])
    Box(low=1.0, first=2.0, median=3.0, third=4.0, high=4.0)
    """
    first, median, third = (float(q) for q in np.quantile(np.asarray(values, float), (0.25, 0.5, 0.75)))
    reach = 1.5 * (third - first)
    low = min([value for value in values if value >= first - reach], default=first)
    high = max([value for value in values if value <= third + reach], default=third)
    # An interpolated quartile may lie further out than any value within reach; that whisker has no length.
    return Box(min(low, first), first, median, third, max(high, third))


def axis_for(metric: Metric, values: Sequence[float]) -> Axis:
    """The bounds of the metric where it has them, otherwise round numbers around the values."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = metric.bounds
    bounded = math.isfinite(low), math.isfinite(high)
    low = low if bounded[0] else min(finite, default=min(0.0, high - 1.0))
    high = high if bounded[1] else max(finite, default=low + 1.0)
    if not high - low > 1e-9 * max(abs(low), abs(high), 1e-200):  # one value only, or as good as one
        low, high = (low, low + max(1.0, abs(low))) if bounded[0] else (high - max(1.0, abs(high)), high)
    raw = (high / 5 - low / 5) or 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [number * step for number in range(first, last + 1)]
    low, high = low if bounded[0] else min(low, ticks[0]), high if bounded[1] else max(high, ticks[-1])
    slack = 1e-9 * (high - low)
    ticks = [min(max(tick, low), high) for tick in ticks if low - slack <= tick <= high + slack]
    return Axis(low, high, tuple(ticks), max(0, -math.floor(math.log10(step) + 1e-9)))


_ABBREVIATIONS = {"auroc": "AUROC", "dvh": "DVH", "idd": "IDD", "mae": "MAE", "rx": "Rx"}


def label_of(metric: Metric) -> str:
    """A metric's name for readers: "Dice", "HD95 (mm)", "DVH error (Gy)"."""
    name = metric.name.replace("_", " ")
    if any(letter.isdigit() for letter in name):
        name = name.upper()
    else:
        name = " ".join(_ABBREVIATIONS.get(word, word) for word in name.split(" "))
        name = name[:1].upper() + name[1:]
    return f"{name} ({metric.unit})" if metric.unit else name


def fit(text: str, columns: int) -> str:
    """Shorten a text to a number of columns, counting wide letters and emoji as two.

    Examples
    --------
    >>> fit("a rather long name", 10)
    'a rather …'
    """
    if _columns(text) <= columns:
        return text
    # Eight letters a column are enough for any combining ones, and quick for a name of a million.
    taken = accumulate(map(_columns, text[: 8 * columns]))
    return f"{text[: sum(columns_so_far < columns for columns_so_far in taken)]}…"


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
