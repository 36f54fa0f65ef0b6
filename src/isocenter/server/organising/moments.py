"""Moments in words, on the clock they are written with, on that of the world, and anywhere on Earth."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

ANYWHERE = timezone(timedelta(hours=-12), "AoE")
"""The last place on Earth where a day ends: a deadline "anywhere on Earth" is over nowhere else before."""

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def on_its_clock(moment: datetime) -> str:
    """A moment as it is written, with the difference of its clock to UTC.

    Examples
    --------
    >>> on_its_clock(datetime(2022, 6, 1, 0, 0, tzinfo=timezone(timedelta(hours=2))))
    '1 June 2022, 00:00 UTC+02:00'
    >>> on_its_clock(datetime(2022, 5, 31, 22, 0, 30, tzinfo=UTC))
    '31 May 2022, 22:00:30 UTC'
    """
    clock = f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
    offset = moment.isoformat()[-6:] if moment.utcoffset() else ""
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}, {clock} UTC{offset}"


def in_utc(moment: datetime) -> str:
    """On the clock of the world."""
    return on_its_clock(moment.astimezone(UTC))


def anywhere(moment: datetime) -> str:
    """On the clock of the last place on Earth.

    Examples
    --------
    >>> anywhere(datetime(2022, 6, 1, 11, 59, tzinfo=UTC))
    '31 May 2022, 23:59 AoE'
    """
    return on_its_clock(moment.astimezone(ANYWHERE)).replace("UTC-12:00", "AoE")


def whole_second(moment: datetime) -> datetime:
    """The moment, or the first whole second after it."""
    return moment if not moment.microsecond else moment.replace(microsecond=0) + timedelta(seconds=1)
