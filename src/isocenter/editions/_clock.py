"""Moments in words: on the clock of a phase, and on that of the world."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isocenter.editions._phase import Phase

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def zone_of(phase: Phase) -> timezone:
    """The clock of a phase: the difference to UTC with which its opening is written."""
    return timezone(phase.opens.utcoffset() or timedelta())


def zoned(moment: datetime, what: str = "now") -> datetime:
    """The moment, which must have a time zone: without one it is another moment for everybody."""
    if moment.utcoffset() is None:
        msg = f"{what} is {moment.isoformat()}, which has no time zone; give one, such as UTC"
        raise ValueError(msg)
    return moment


def in_words(moment: datetime, zone: timezone) -> str:
    """A moment as people read it, to the second, never earlier than it is.

    Examples
    --------
    >>> in_words(datetime(2022, 5, 31, 22, 0, tzinfo=UTC), timezone(timedelta(hours=2)))
    '1 June 2022, 00:00 UTC+02:00 (31 May 2022, 22:00 UTC)'
    >>> in_words(datetime(2020, 9, 10, 21, 59, 59, tzinfo=UTC), timezone(timedelta(hours=2)))
    '10 September 2020, 23:59:59 UTC+02:00 (21:59:59 UTC)'
    """
    if moment.microsecond:
        moment = moment.replace(microsecond=0) + timedelta(seconds=1)
    here, world = moment.astimezone(zone), moment.astimezone(UTC)
    if not here.utcoffset():
        return f"{_date(world)}, {_time(world)} UTC"
    same_day = here.date() == world.date()
    universal = f"{'' if same_day else f'{_date(world)}, '}{_time(world)} UTC"
    return f"{_date(here)}, {_time(here)} UTC{here.isoformat()[-6:]} ({universal})"


def _date(moment: datetime) -> str:
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"  # a locale has no say in this


def _time(moment: datetime) -> str:
    return f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
