"""The phases of a challenge in time: how long is left, and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from isocenter.editions import Phase

_ROW = 46
_TICKS = 6
_PADDING = 0.02


@dataclass(frozen=True)
class Countdown:
    """What happens next, and when."""

    phase: Phase | None
    words: str
    when: datetime | None
    state: Literal["open", "soon", "results", "over", "none"]


def countdown(phases: Sequence[Phase], now: datetime, *, held: Sequence[Phase] = ()) -> Countdown:
    """What is next: of the phases that are open, the one that closes first; else what opens; else what is told.

    Parameters
    ----------
    phases
        Those that the visitor knows of.
    held
        Those whose results are held back.
    """
    if running := [phase for phase in phases if phase.opens <= now < phase.closes]:
        phase = min(running, key=lambda one: one.closes)
        return Countdown(phase, f"closes in {span(phase.closes - now)}", phase.closes, "open")
    if coming := [phase for phase in phases if now < phase.opens]:
        phase = min(coming, key=lambda one: one.opens)
        return Countdown(phase, f"opens in {span(phase.opens - now)}", phase.opens, "soon")
    if awaited := [phase for phase in phases if now < phase.results]:
        phase = min(awaited, key=lambda one: one.results)
        return Countdown(phase, f"results in {span(phase.results - now)}", phase.results, "results")
    if held:
        phase = max(held, key=lambda one: one.results)
        return Countdown(phase, "results are held back until all submissions are evaluated", phase.results, "results")
    if phases:
        phase = max(phases, key=lambda one: one.results)
        return Countdown(phase, "results are out", phase.results, "over")
    return Countdown(None, "no phase is announced yet", None, "none")


def span(time: timedelta) -> str:
    """A span of time as people say it, never longer than it is.

    Examples
    --------
    >>> span(timedelta(days=3, hours=5)), span(timedelta(hours=30)), span(timedelta(seconds=90))
    ('3 days', '30 hours', '1 minute')
    """
    seconds = max(0, int(time.total_seconds()))
    for size, name, least in ((86400, "day", 2), (3600, "hour", 2), (60, "minute", 1)):
        if seconds >= size * least:
            number = seconds // size
            return f"{number} {name}{'' if number == 1 else 's'}"
    return "less than a minute"


@dataclass(frozen=True)
class Bar:
    """A phase in the picture: places across in per cent, down in pixels."""

    phase: Phase
    state: str
    y: int
    left: float
    width: float
    closes: float
    results: float
    anchor: str
    unannounced: bool


@dataclass(frozen=True)
class Tick:
    """A date below the picture."""

    x: float
    words: str


@dataclass(frozen=True)
class Timeline:
    """What the picture is drawn of; `now` is None where the moment lies outside."""

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    now: float | None
    height: int
    bottom: int


def timeline(phases: Sequence[Phase], now: datetime) -> Timeline | None:
    """The picture of some phases; none without any."""
    if not phases:
        return None
    first, last = min(phase.opens for phase in phases), max(phase.results for phase in phases)
    length = last - first
    start, whole = first - length * _PADDING, length * (1 + 2 * _PADDING)

    def at(moment: datetime) -> float:
        return round(100 * ((moment - start) / whole), 2)

    bars = tuple(
        Bar(
            phase,
            _state(phase, now),
            i * _ROW + 22,
            at(phase.opens),
            max(0.6, round(at(phase.closes) - at(phase.opens), 2)),
            at(phase.closes),
            at(phase.results),
            "start" if at(phase.opens) < 60 else "end",
            is_unannounced(phase, now),
        )
        for i, phase in enumerate(phases)
    )
    steps = [first + length * i / (_TICKS - 1) for i in range(_TICKS)]
    ticks = tuple(Tick(at(step), f"{step.astimezone(UTC):%-d %b %Y}") for step in steps)
    bottom = len(bars) * _ROW + 4
    return Timeline(bars, ticks, at(now) if 0 <= at(now) <= 100 else None, bottom + 22, bottom)


def is_unannounced(phase: Phase, now: datetime) -> bool:
    """Whether only organisers know of the phase, which pages tell them."""
    return phase.announced is not None and now < phase.announced


def _state(phase: Phase, now: datetime) -> str:
    if now < phase.opens:
        return "soon"
    return "open" if now < phase.closes else "over"
