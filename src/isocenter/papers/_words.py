"""Numbers, moments and names as a report writes them."""

from __future__ import annotations

import math
import re
from datetime import datetime

from isocenter.metrics import Metric


def anchor(text: str) -> str:
    """A name that can be linked to.

    Examples
    --------
    >>> anchor("board-MAE (as run)")
    'board-mae-as-run'
    """
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return plain if plain[:1].isalpha() else f"n-{plain}".strip("-")


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 team, 2 teams."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def moment(when: datetime) -> str:
    """A moment in its own time zone: 10 September 2020, 23:59 (UTC+02:00)."""
    zone = when.strftime("%z")
    shown = "UTC" if zone in ("", "+0000") else f"UTC{zone[:3]}:{zone[3:5]}"
    return f"{when.day} {when.strftime('%B %Y, %H:%M')} ({shown})"


def interval(metric: Metric, low: float | None, high: float | None, *, level: float | None = None) -> str:
    """An interval behind a number: " (95 % interval 0.70 to 0.80)", or " (0.70 to 0.80)"; "" if there is none."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    name = "" if level is None else f"{100 * level:g} % interval "
    return f" ({name}{metric.show(low)} to {metric.show(high)})"


def p_value(p: float) -> str:
    """Three decimals, or that it is below the last of them; "–" if undefined.

    Examples
    --------
    >>> p_value(0.0123), p_value(0.0001), p_value(math.nan)
    ('0.012', '<0.001', '–')
    """
    if math.isnan(p):
        return "–"
    return "<0.001" if 0 < p < 0.0005 else f"{p:.3f}"


def finite(bound: float) -> float | None:
    """The end of an axis; None where the metric has no such bound and the values decide."""
    return bound if math.isfinite(bound) else None
