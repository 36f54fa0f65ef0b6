"""How many attempts a team has left, and when it has the next one.

    attempts ──▶ those that count ──┬─▶ within the quota, in the span that ends now ──▶ used
                 (`refund`)         └─▶ beyond it: made on what the organisers granted

An attempt that is still running counts: otherwise a team could start any number at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Literal

from isocenter.editions._clock import in_words, zone_of, zoned
from isocenter.editions._phase import Phase

AttemptOutcome = Literal["scored", "failed", "refused", "infrastructure", "cancelled", "running"]

_ROLLING = {"week": timedelta(days=7), "day": timedelta(days=1)}
_CALENDAR = {"calendar-week": timedelta(days=7), "calendar-day": timedelta(days=1)}

# What costs nothing, by the setting `refund` of a phase; what is refused before it runs, and what the machines lost,
# never costs anything.
_GIVEN_BACK = {
    "none": {"refused", "infrastructure"},
    "infrastructure": {"refused", "infrastructure", "cancelled"},
    "failed": {"refused", "infrastructure", "cancelled", "failed"},
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One submission of a team to a phase.

    Attributes
    ----------
    made
        When it was handed in, whatever the moment at which it was scored.
    outcome
        "refused": it was not accepted, and nothing ran. "failed": it ran, and failed by itself. "infrastructure": the
        machines failed. "cancelled": by the team.
    excepted
        The organisers decided that this one does not count.
    """

    made: datetime
    outcome: AttemptOutcome
    excepted: bool = False


@dataclass(frozen=True, slots=True)
class QuotaLeft:
    """What a team may still hand in.

    Attributes
    ----------
    left
        How many attempts it has at this moment, or will have when the phase opens; None: any number.
    next_slot
        The earliest moment, from now on, at which it has one; None: never again in this phase.
    used, given_back
        How many attempts of the span that the quota is for count, and how many do not.
    words
        All of this as a sentence, with moments on the clock of the phase and in UTC.
    """

    left: int | None
    next_slot: datetime | None
    used: int
    given_back: int
    words: str


def quota_left(phase: Phase, attempts: Sequence[Attempt], now: datetime, *, extra: int = 0) -> QuotaLeft:
    """What the quota of a phase leaves a team.

    A rolling span ends now: an attempt counts until exactly a week, or 24 hours, after it was made. A calendar day or
    week begins at midnight, or on Monday at midnight, on the clock of the phase: the difference to UTC with which its
    opening is written, in summer and in winter. An attempt from the future (two machines, two clocks) counts already.

    Parameters
    ----------
    attempts
        All that the team made in this phase, in any order.
    extra
        How many attempts the organisers granted beyond the quota, once and for the whole phase. They are used when
        the quota is used up, and an attempt that is made on one takes nothing from the quota.

    Examples
    --------
    >>> from isocenter.editions import Phase
    >>> week = Phase.model_validate({
    ...     "name": "tuning", "title": "Tuning", "quota": 1, "quota_per": "week",
    ...     "opens": "2022-05-20T00:00:00+02:00", "closes": "2022-10-20T00:00:00+02:00",
    ...     "results": "2022-10-20T18:00:00+02:00",
    ... })
    >>> first = Attempt(datetime.fromisoformat("2022-06-01T12:00:00Z"), "scored")
    >>> quota_left(week, [first], datetime.fromisoformat("2022-06-05T12:00:00Z")).words
    '1 of 1 attempt in any seven days used; the next one on 8 June 2022, 14:00 UTC+02:00 (12:00 UTC).'
    """
    zoned(now)
    for attempt in attempts:
        zoned(attempt.made, "the moment of an attempt")
    if extra < 0:
        msg = f"organisers grant 0 or more attempts beyond the quota, not {extra}"
        raise ValueError(msg)
    free = _GIVEN_BACK[phase.refund]
    costs = sorted(one.made for one in attempts if not (one.excepted or one.outcome in free))
    within, beyond = _parted(phase, costs)
    spent = [made for made in within if _together(phase, made, now)]
    granted = max(0, extra - beyond)
    given_back = sum((one.excepted or one.outcome in free) and _together(phase, one.made, now) for one in attempts)
    left: int | None = None
    slot: datetime | None = max(now, phase.opens)
    if phase.quota is not None:
        left = max(0, phase.quota - len(spent)) + granted
        if not left:
            slot = _free_again(phase, spent, now)
    if slot is not None and slot >= phase.closes:
        left, slot = 0 if now >= phase.closes else left, None
    used = len(spent)
    words = _said(phase, now, left=left, slot=slot, used=used, granted=granted, given_back=given_back)
    return QuotaLeft(left, slot, used, given_back, words)


def _parted(phase: Phase, costs: Sequence[datetime]) -> tuple[list[datetime], int]:
    """Of attempts in order, those that the quota covers, and how many it does not."""
    within: list[datetime] = []
    beyond = 0
    for made in costs:
        before = sum(_together(phase, other, made) for other in within)
        if phase.quota is None or before < phase.quota:
            within.append(made)
        else:
            beyond += 1
    return within, beyond


def _together(phase: Phase, earlier: datetime, moment: datetime) -> bool:
    """Whether an attempt takes from the quota at a moment."""
    if phase.quota_per in _ROLLING:
        return moment - earlier < _ROLLING[phase.quota_per]
    return phase.quota_per == "phase" or earlier >= _begun(phase, moment)


def _begun(phase: Phase, moment: datetime) -> datetime:
    """When the calendar day or week of a moment began, on the clock of the phase."""
    zone = zone_of(phase)
    day = moment.astimezone(zone).date()
    if phase.quota_per == "calendar-week":
        day -= timedelta(days=day.weekday())
    return datetime.combine(day, time(), zone)


def _free_again(phase: Phase, spent: Sequence[datetime], now: datetime) -> datetime | None:
    """When a used-up quota has room again; None for one of the whole phase."""
    if phase.quota is None or phase.quota_per == "phase":
        return None
    if phase.quota_per in _ROLLING:
        return max(spent[-phase.quota] + _ROLLING[phase.quota_per], phase.opens)
    # An attempt of the future fills the day or week that it is made in.
    return max(_begun(phase, max(now, spent[-phase.quota])) + _CALENDAR[phase.quota_per], phase.opens)


_SPANS = {
    "phase": "",
    "week": " in any seven days",
    "day": " in any 24 hours",
    "calendar-week": " this week (from Monday)",
    "calendar-day": " today",
}


def _said(
    phase: Phase, now: datetime, *, left: int | None, slot: datetime | None, used: int, granted: int, given_back: int
) -> str:
    """The sentence of a `QuotaLeft`."""
    zone = zone_of(phase)
    if now >= phase.closes:
        return f"The phase is closed since {in_words(phase.closes, zone)}."
    if phase.quota is None:
        said = "any number of attempts"
    else:
        noun = "attempt" if phase.quota == 1 else "attempts"
        said = f"{used} of {phase.quota} {noun}{_SPANS[phase.quota_per]} used"
    if given_back:
        said += f", {given_back} given back"
    if granted:
        said += f", and {granted} more granted by the organisers"
    if now < phase.opens:
        said += f"; the phase opens on {in_words(phase.opens, zone)}"
    elif slot is None:
        said += f"; none is left until the phase closes on {in_words(phase.closes, zone)}"
    elif left == 0:
        said += f"; the next one on {in_words(slot, zone)}"
    return f"{said[0].upper()}{said[1:]}."
