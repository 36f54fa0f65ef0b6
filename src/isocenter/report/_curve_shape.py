"""Where the points of a curve lie in a picture: scales, steps, and as few corners as a screen can show.

Places are pairs (right, up) from 0 to 1 in the square that the axes span.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.metrics import Froc, Metric, PrecisionRecallCurve
from isocenter.report._scale import axis_for

Places = NDArray[np.float64]

SIDE = 432.0  # pixels of the square's side where there is room; on a telephone it is smaller
_TOLERANCE = 0.45 / SIDE  # a corner further than this from the line is kept: half a pixel, less the rounding of numbers
STRICTEST = 1 / 8  # false positives per case at which a logarithmic axis begins, as that of LUNA16


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis: what it shows, from where to where, and its ticks with their texts; linear or logarithmic.

    `most` is the largest value that there can be, whether or not the axis reaches it.
    """

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False
    most: float = 1.0

    def share(self, values: ArrayLike) -> NDArray[np.float64]:
        """Where values lie, from 0 to 1; those beyond the axis at its end."""
        x = np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)
        low, high = self.low, self.high
        if self.log:
            x, low, high = np.log2(x), math.log2(low), math.log2(high)
        return np.asarray((x - low) / (high - low))


@dataclass(frozen=True, slots=True)
class Shape:
    """A curve as it is drawn: its line, whether a dot marks its last point, and what continues it, if anything."""

    line: Places
    dot: bool = False
    beyond: Places | None = None

    @property
    def all(self) -> Places:
        """Line and continuation."""
        return self.line if self.beyond is None else np.concatenate([self.line, self.beyond])


def rate_scale(label: str) -> Scale:
    """From 0 to 1, with a tick at each fifth."""
    return Scale(label, 0.0, 1.0, tuple((n / 5, f"{n / 5:.1f}") for n in range(6)))


def froc_scale(high: float, *, log: bool) -> Scale:
    """False positives per case, from 0 with round ticks, or from 1/8 with a tick at each power of two."""
    label = "False positives per case"
    if not log:
        axis = axis_for(Metric("false_positives", "", "neither", (0.0, high), 2, label), [])
        return Scale(label, 0.0, high, tuple((tick, axis.show(tick)) for tick in axis.ticks), most=math.inf)
    powers = list(range(-3, math.floor(math.log2(high)) + 1))
    powers = powers[:: math.ceil(len(powers) / 8)]
    ticks = tuple((2.0**n, f"1/{2**-n}" if n < 0 else f"{2**n}") for n in powers)
    return Scale(label, STRICTEST, high, ticks, log=True, most=math.inf)


def line_shape(x: ArrayLike, y: ArrayLike) -> Shape:
    """Rates joined by straight lines, as the trapezoidal rule joins them."""
    return Shape(np.column_stack([np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)]))


def precision_recall_shape(curve: PrecisionRecallCurve) -> Shape:
    """The steps that the average precision adds up: from each recall to the next, at the precision of the next.

    A threshold that finds no further lesion has no width, and none of its own. The line ends, with a dot, at the
    highest recall that was attained; of a curve that found nothing only the dot is left, at the origin.
    """
    recall, precision = curve.recall[::-1], curve.precision[::-1]
    wide = np.flatnonzero((np.diff(recall) > 0) & (precision[1:] > 0)) + 1
    if wide.size == 0:
        return Shape(np.zeros((1, 2)), dot=True)
    line = np.empty((2 * wide.size, 2))
    line[0::2], line[1::2] = (np.column_stack([recall[at], precision[wide]]) for at in (wide - 1, wide))
    return Shape(line, dot=bool(line[-1, 0] < 1))


def froc_shape(curve: Froc, scale: Scale) -> Shape:
    """Steps: the sensitivity goes on at its height until the next point is attained, and so beyond the last one.

    The line begins at the left end of the axis, with what is attained there. The last point that was attained has a
    dot, if the axis reaches it.
    """
    real = np.isfinite(curve.false_positives)
    x, y = curve.false_positives[real], curve.sensitivity[real]
    inside = (x > scale.low) & (x <= scale.high)
    before = np.append(curve.sensitivity_at(scale.low), y[inside])
    right = scale.share(x[inside])
    corners = np.column_stack([np.repeat(right, 2), np.column_stack([before[:-1], before[1:]]).ravel()])
    line = np.concatenate([[[0.0, before[0]]], corners])
    ends = (right[-1] if right.size else 0.0, before[-1])
    if x.size and x[-1] > scale.high:
        return Shape(np.concatenate([line, [[1.0, ends[1]]]]))
    return Shape(line, dot=True, beyond=np.array([ends, (1.0, ends[1])]))


def thinned(places: Places) -> Places:
    """Fewer corners, moving the line by less than half a pixel (Ramer, Douglas and Peucker)."""
    # Thousands of corners in the same twentieth of a pixel are one.
    cells = np.rint(places * SIDE * 20)
    fresh = np.append(True, (cells[1:] != cells[:-1]).any(axis=1))
    fresh[-1] = True
    points = places[fresh]
    keep = np.zeros(len(points), dtype=np.bool_)
    keep[[0, -1]] = True
    spans = [(0, len(points) - 1)]
    while spans:
        first, last = spans.pop()
        if last - first < 2:
            continue
        along = points[last] - points[first]
        offsets = points[first + 1 : last] - points[first]
        share = (offsets @ along / max(float(along @ along), 1e-30)).clip(0, 1)
        away = np.hypot(*(offsets - share[:, None] * along).T)
        furthest = int(away.argmax())
        if away[furthest] > _TOLERANCE:
            middle = first + 1 + furthest
            keep[middle] = True
            spans += [(first, middle), (middle, last)]
    return np.asarray(points[keep])


def path(places: Places) -> str:
    """The corners as SVG wants them, in thousandths from the top left."""
    return "M" + "L".join(f"{1000 * right:.1f} {1000 - 1000 * up:.1f}" for right, up in places)
