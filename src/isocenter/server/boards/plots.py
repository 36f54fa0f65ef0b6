"""Figures of pages, as SVG; those that take time are kept by what they are made of."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.cache import cache
from django.utils.safestring import SafeString, mark_safe

if TYPE_CHECKING:
    from isocenter.metrics import Metric
    from isocenter.ranking import Progress

_KEPT = 24 * 3600  # seconds
_MARGIN = 4.0  # per cent of the width of a whisker, so that a dot at the end is whole


@dataclass(frozen=True, slots=True)
class Axis:
    """The range that all whiskers of a table share."""

    low: float
    high: float
    low_text: str
    high_text: str

    def at(self, value: float) -> float:
        """Where a value lies, in per cent of the width."""
        share = (value - self.low) / (self.high - self.low)
        return _MARGIN + (100 - 2 * _MARGIN) * min(max(share, 0.0), 1.0)


def axis_of(values: Sequence[float | None], *, decimals: int) -> Axis | None:
    """An axis over all values, with ends of no more than so many decimals; None if there is nothing to draw."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return None
    low, high = min(known), max(known)
    digits = decimals
    if high > low:
        digits = min(decimals, -math.floor(math.log10((high - low) / 4)))
    step = 10.0**-digits
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    if low == high:
        low, high = low - step, high + step
    return Axis(low, high, f"{low:.{max(digits, 0)}f}", f"{high:.{max(digits, 0)}f}")


def whisker(axis: Axis | None, score: float | None, low: float | None, high: float | None) -> SafeString:
    """A score as a dot and its interval as a line, on the axis of the table; "" where there is none.

    The numbers stand beside it as text, so it is hidden from readers of the screen.
    """
    if axis is None or score is None or not math.isfinite(score):
        return mark_safe("")
    reach = ""
    if low is not None and high is not None and math.isfinite(low) and math.isfinite(high):
        reach = f'<line class="reach" x1="{axis.at(low):.1f}%" x2="{axis.at(high):.1f}%" y1="8" y2="8"/>'
    return mark_safe(  # noqa: S308 (numbers only)
        '<svg class="dot-whisker" width="100%" height="16" aria-hidden="true" focusable="false">'
        f'<line class="track" x1="{_MARGIN}%" x2="{100 - _MARGIN}%" y1="8" y2="8"/>{reach}'
        f'<circle cx="{axis.at(score):.1f}%" cy="8" r="4"/></svg>'
    )


def kept(what: str, made_of: object, make: Callable[[], str]) -> SafeString:
    """A figure, made once for the same content.

    Parameters
    ----------
    what
        The kind of figure.
    made_of
        Everything that it shows; what has the same `repr` is the same.
    """
    digest = hashlib.sha256(repr(made_of).encode()).hexdigest()
    key = f"plot:{what}:{digest}"
    found = cache.get(key)
    if found is None:
        found = str(make())
        cache.set(key, found, _KEPT)
    return mark_safe(found)  # noqa: S308 (the figures of `isocenter.report` escape all texts)


def progress_curve(found: Progress, metric: Metric, label: str) -> SafeString:
    """The best score so far against the share of submissions made: mean over teams with its interval, and the best."""
    x = tuple(found.shares.tolist())
    mean, low, high, best = (
        tuple(column.round(metric.decimals).tolist()) for column in (found.mean, found.low, found.high, found.best)
    )
    least, most = metric.bounds  # an interval of few teams may reach where no score can be
    low, high = tuple(max(one, least) for one in low), tuple(min(one, most) for one in high)
    several = len(found.teams) > 1

    def make() -> str:
        from isocenter.report import PlotAxis, PlotLine, lines_plot

        top = PlotLine("best", x, best)
        middle = PlotLine("mean", x, mean, low=low if several else None, high=high if several else None, strong=True)
        return lines_plot(
            (middle, top) if several else (top,),
            x=PlotAxis("share of a team's submissions made", low=0.0, high=1.0),
            y=PlotAxis(label, unit=metric.unit),
            title="Best score so far against the share of a team's submissions",
            name="curve",
        )

    return kept("progress", (mean, low, high, best, metric.name, label), make)


def daily_counts(days: Sequence[tuple[str, int]]) -> SafeString:
    """Submissions of each day of a phase, from its first to its last."""

    def make() -> str:
        from isocenter.report import PlotAxis, PlotLine, lines_plot

        line = PlotLine(
            "submissions", tuple(range(1, len(days) + 1)), tuple(float(count) for _, count in days), strong=True
        )
        return lines_plot(
            (line,),
            x=PlotAxis("day of the phase", low=0.0),
            y=PlotAxis("submissions", low=0.0),
            title="Submissions per day",
            name="days",
        )

    return kept("days", tuple(days), make)


def lead(steps: Sequence[tuple[float, float]], metric: Metric, label: str) -> SafeString:
    """The best score of all over the days of a phase, in steps."""

    def make() -> str:
        from isocenter.report import PlotAxis, PlotLine, lines_plot

        line = PlotLine("best", [day for day, _ in steps], [score for _, score in steps], steps=True, strong=True)
        return lines_plot(
            (line,),
            x=PlotAxis("day of the phase", low=0.0),
            y=PlotAxis(label, unit=metric.unit),
            title="The best score of all, over the days of the phase",
            name="lead",
        )

    return kept("lead", (tuple(steps), metric.name, label), make)
