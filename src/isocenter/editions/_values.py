"""The values of an edition: what each kind is checked for, and in what words a file or an error speaks of it.

The comments of a generated file and the messages about a wrong one are both made of `Allowed`, so they cannot disagree.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Annotated, Literal

from pydantic import AwareDatetime, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from isocenter.schema import (
    MISSING,
    TIES,
    UNDEFINED,
    Allowed,
    MissingWord,
    Penalised,
    UndefinedWord,
    choice,
    read_missing,
    read_undefined,
    show,
)
from isocenter.schema.tables import plain, reading

YEARS = (2000, 2199)
"""A date outside is a slip of the finger, and far enough from the ends of the calendar for any zone."""


def _moment(value: object) -> object:
    """A date and time on the world's clock, or what it lacks; nothing is guessed."""
    moment = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return value
    if isinstance(moment, date) and not isinstance(moment, datetime):
        raise plain(f"{show(value)} has no time and no zone; write for example {moment.isoformat()}T23:59:59+02:00")
    if not isinstance(moment, datetime):
        return value
    offset = moment.utcoffset()
    if offset is None:
        raise plain(
            f"{show(value)} has no zone, so it is another moment for every team; "
            f"add the difference to UTC, for example {moment.isoformat()}+02:00"
        )
    if not YEARS[0] <= moment.year <= YEARS[1]:
        raise plain(f"{show(value)} is not in the years {YEARS[0]} to {YEARS[1]}")
    # A named zone becomes the offset it has at this moment, which is what a file can hold; one with odd seconds
    # (local times of the nineteenth century) has no such offset and becomes UTC.
    whole = offset % timedelta(minutes=1) == timedelta()
    return moment.astimezone(timezone(offset) if whole else UTC)


def _amount(value: object) -> object:
    """A decimal number exactly as it was written; a float as Python prints it, which is how it was written."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    try:
        return Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        return value


def _rungs(value: object) -> object:
    """A step above 0, or the word for the standard error."""
    if value is None or value == "parameter-free":
        return value
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    raise PydanticCustomError("not_allowed", "not a ladder")


def _announced_in(value: object) -> object:
    """How many teams a phase announces, or the word for all of them."""
    if value is None or value == "all" or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise PydanticCustomError("not_allowed", "not a number of teams")


_COUNT = "a whole number, 1 or more"

# A pattern also makes pydantic refuse text that is no Unicode, which no file could hold.
Name = Annotated[
    str,
    Field(pattern=r"^[a-z][a-z0-9_-]*$"),
    Allowed('lower-case letters, digits, - and _ in quotes, beginning with a letter, such as "test"', example='"test"'),
]
Text = Annotated[str, Field(pattern=r"\S"), Allowed("a text in quotes that is not empty", example='"Test phase"')]
TextOrNone = Annotated[str, Field(pattern=r"^"), Allowed('a text in quotes, or ""')]
Url = Annotated[
    str,
    Field(pattern=r"^(https?://\S+)?$"),
    Allowed('an address in quotes that begins with https:// or http://, or ""'),
]
Names = Annotated[
    tuple[Text, ...],
    Field(strict=False),  # a strict tuple would refuse the list that a file holds
    Allowed('names in quotes between brackets, such as ["University Hospital", "Institute of Physics"], or []'),
]
Place = Annotated[int, Field(ge=1), Allowed(_COUNT, example="1")]
Quota = Annotated[int | None, Field(ge=1), Allowed(_COUNT, example="5", absent="there is no limit")]
Rungs = Annotated[
    float | Literal["parameter-free"] | None,
    BeforeValidator(_rungs),
    choice(
        {
            "a number": "by so much, and what is shown is a multiple of it, for example 0.01",
            '"parameter-free"': "by more than the standard error of the difference",
        },
        example='"parameter-free"',
        absent="every submission is shown that counts",
    ),
]
Decimals = Annotated[
    int | None,
    Field(ge=0, le=12),
    Allowed("a whole number from 0 to 12", example="3", absent="none are cut off"),
]
CaseCount = Annotated[int | None, Field(ge=1), Allowed(_COUNT, example="100", absent="any number will do")]
Announced = Annotated[int | None, Field(ge=1), Allowed(_COUNT, example="10", absent="all are")]
AnnouncedIn = Annotated[
    int | Literal["all"] | None,
    BeforeValidator(_announced_in),
    choice(
        {"a number": "so many from the top of the board, for example 5", '"all"': "all teams"},
        example="5",
        absent="so many as the heading [policies] says",
    ),
]
Verification = Annotated[
    Literal["held", "next"] | None,
    choice(
        {
            '"held"': "until all members are verified, the prize is held; nobody else gets it",
            '"next"': "it is held, and goes to the next place if the organisers refuse a profile",
        },
        example='"held"',
        absent="prizes need no verified profiles",
    ),
]
Currency = Annotated[
    str, Field(pattern=r"^[A-Z]{3}$"), Allowed('three capitals in quotes, such as "EUR" or "CHF"', example='"EUR"')
]
Moment = Annotated[
    AwareDatetime,
    BeforeValidator(_moment),
    Allowed(
        "a date and time with its difference to UTC, such as 2020-09-10T23:59:59+02:00",
        example="2020-09-10T23:59:59+02:00",
    ),
]
CohortResults = Annotated[
    AwareDatetime | None,
    BeforeValidator(_moment),
    Allowed(
        "a date and time with its difference to UTC, such as 2020-12-01T09:00:00+02:00",
        example="2020-12-01T09:00:00+02:00",
        absent="they are out with those of the phase",
    ),
]
Amount = Annotated[
    Decimal,
    BeforeValidator(_amount),
    Field(ge=0, lt=10**12, decimal_places=3),
    Allowed("a number, 0 or more, with at most three decimals, such as 500 or 499.50", example="500"),
]
OfPhase = Annotated[
    str | None,
    Field(pattern=r"^"),
    Allowed("the name of a phase in quotes", example='"test"', absent="it is the phase that closes last"),
]
Threshold = Annotated[
    Decimal,
    BeforeValidator(_amount),
    Field(gt=-(10**12), lt=10**12, decimal_places=12),
    Allowed("a number with at most twelve decimals, such as 0.574", example="0.574"),
]
Step = Annotated[
    Decimal,
    BeforeValidator(_amount),
    Field(gt=0, lt=10**12, decimal_places=12),
    Allowed("a number above 0 with at most twelve decimals, such as 0.001", example="0.001"),
]
Multiple = Annotated[
    Annotated[Decimal, BeforeValidator(_amount), Field(gt=0, lt=10**12, decimal_places=3)] | None,
    Allowed(
        "a number above 0 with at most three decimals, such as 25",
        example="25",
        absent="amounts are rounded down to a hundredth",
    ),
]
Winner = Annotated[
    Literal["everybody", "leader", "named"],
    choice(
        {
            '"everybody"': "every team that has a rank on the board of the phase",
            '"leader"': "the team that leads the main board of the phase at the moment `at`",
            '"named"': "one team, which the organisers name when they hand it out",
        },
        example='"leader"',
    ),
]
LeadAt = Annotated[
    AwareDatetime | None,
    BeforeValidator(_moment),
    Allowed(
        "a date and time with its difference to UTC, such as 2020-09-10T23:59:59+02:00",
        example="2020-09-10T23:59:59+02:00",
        absent="no lead decides",
    ),
]
LeadTies = Annotated[
    Literal["earlier", "split"] | None,
    choice(
        {
            '"earlier"': "the team that reached its score first gets all of it",
            '"split"': "they share it in equal parts",
        },
        example='"earlier"',
        absent="the team that reached its score first gets all of it",
    ),
]
_KEPT = "each board keeps the rule of the challenge"
MissingPolicy = Annotated[float | MissingWord | Penalised | None, reading(read_missing), replace(MISSING, absent=_KEPT)]
UndefinedPolicy = Annotated[float | UndefinedWord | None, reading(read_undefined), replace(UNDEFINED, absent=_KEPT)]
GridPolicy = Annotated[
    Literal["refuse", "resample", "trust-index"],
    choice(
        {
            '"refuse"': "it cannot be used: the case is treated as if it were missing, and the team is told why",
            '"resample"': "it is brought onto the grid of the reference, and the result says so",
            '"trust-index"': "voxels are compared by their place in the array, not by where they lie in millimetres",
        }
    ),
]
TiesPolicy = Annotated[Literal["min", "average", "dense"] | None, replace(TIES, absent=_KEPT)]
OrganisersPolicy = Annotated[
    Literal["unlisted", "unranked", "ranked"],
    choice(
        {
            '"unlisted"': "they stand on no board",
            '"unranked"': "they stand on the board, without a rank",
            '"ranked"': "they are ranked, but win no prize",
        }
    ),
]
Counts = Annotated[
    Literal["last", "best", "chosen", "all"],
    choice(
        {
            '"last"': "the last one of the phase",
            '"best"': "the one with the best score on the board",
            '"chosen"': "the one that the team names",
            '"all"': "each has a row of its own",
        }
    ),
]
Per = Annotated[
    Literal["phase", "week", "day", "calendar-week", "calendar-day"],
    choice(
        {
            '"phase"': "for the whole phase",
            '"week"': "for any seven days in a row",
            '"day"': "for any 24 hours in a row",
            '"calendar-week"': "from Monday to Sunday, on the clock of the moment that the phase opens",
            '"calendar-day"': "from midnight to midnight, on the same clock",
        }
    ),
]
Refund = Annotated[
    Literal["infrastructure", "failed", "none"],
    choice(
        {
            '"infrastructure"': "where the machines failed, or the team cancelled",
            '"failed"': "also where the submission failed, such as a program that crashed",
            '"none"': "only where the machines failed; what is refused before it runs costs nothing",
        }
    ),
]
Admitted = Annotated[
    Literal["open", "after", "invited", "request"],
    choice(
        {
            '"open"': "every team",
            '"after"': "teams with a result in the phase that is named as `after`",
            '"invited"': "teams that the organisers name, and so many of the best of the phase `after` as `top` says",
            '"request"': "teams whose request the organisers granted",
        }
    ),
]
After = Annotated[
    str | None,
    Field(pattern=r"^"),
    Allowed(
        "the name of a phase above this one in quotes", example='"test"', absent="no other phase decides who takes part"
    ),
]
Continued = Annotated[
    str | None,
    Field(pattern=r"^"),
    Allowed("the name of a phase above this one in quotes", example='"test"', absent="the phase stands by itself"),
]
Top = Annotated[int | None, Field(ge=1), Allowed(_COUNT, example="5", absent="the organisers name all")]
KnownFrom = Annotated[
    AwareDatetime | None,
    BeforeValidator(_moment),
    Allowed(
        "a date and time with its difference to UTC, such as 2020-06-01T12:00:00+02:00",
        example="2020-06-01T12:00:00+02:00",
        absent="it is always known",
    ),
]
_SEEN = choice(
    {
        '"public"': "everybody sees the board at once",
        '"hidden"': "nobody but the organisers sees it",
        '"own"': "a team sees its own row",
    }
)
Visibility = Annotated[Literal["public", "hidden", "own"], _SEEN]
CohortVisibility = Annotated[Visibility, replace(_SEEN, example='"hidden"')]
