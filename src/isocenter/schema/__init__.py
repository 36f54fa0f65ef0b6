"""Settings that people write into files: what may be written there, and in which words files and messages speak of it.

Classes say it in the annotations of their fields, with the notes of this module. `isocenter.schema.tables` makes
pydantic models of them; nothing here needs pydantic, so that a class costs no import time until a file is read.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Literal

__all__ = [
    "MISSING",
    "TIES",
    "UNDEFINED",
    "UNDEFINED_OF_BOARD",
    "Allowed",
    "ByMetric",
    "Check",
    "MissingWord",
    "Path",
    "Penalised",
    "Read",
    "UndefinedWord",
    "Within",
    "Written",
    "Wrong",
    "choice",
    "explain_unknown",
    "finite",
    "quoted",
    "read_missing",
    "read_undefined",
    "read_undefined_by_metric",
    "refuse",
    "show",
    "where",
]

Path = tuple[str | int, ...]
"""Where a setting stands: ("metrics", 1, "weight") is the weight of the second metric."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may be written in a field, in the words of the organiser.

    Attributes
    ----------
    what
        Completes "write …".
    example
        A value as it is typed into the file; shown where an optional field is absent.
    choices
        Where there are few possible values: each as it is typed, and what it means.
    absent
        What it means to leave the field out.
    spoken
        Whether the comment of the field says what may be written; not where the heading of its table says it for all.
    """

    what: str
    example: str = ""
    choices: Mapping[str, str] = field(default_factory=dict, hash=False)
    absent: str = ""
    spoken: bool = True


@dataclass(frozen=True, slots=True)
class Within:
    """The bounds of a number."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None


class Wrong(ValueError):
    """A value that may not be written: where it lies within the setting, and what may be written there instead.

    The sentence says it all where there is one; else it is made of what is allowed.
    """

    def __init__(self, value: object, *, at: Path = (), allowed: str = "", sentence: str = "") -> None:
        super().__init__(sentence or allowed)
        self.value = value
        self.at = at
        self.sentence = sentence or (refuse(value, allowed) if allowed else "")


@dataclass(frozen=True, slots=True)
class Read:
    """How a value of a file is made ready to be checked; the function raises `Wrong`."""

    function: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Check:
    """What is looked at only where more is known than the file says, such as the metrics of the challenge."""

    function: Callable[[Any, Any], Iterable[Wrong]]


@dataclass(frozen=True, slots=True)
class Written:
    """A field that a file holds in another form.

    Attributes
    ----------
    kind
        The type of what a file holds.
    read, write
        From that to the field, and from the field to a value of JSON.
    key
        The name of the setting, where the field has another.
    """

    kind: Any
    read: Callable[[Any], Any] = field(default=lambda value: value)
    write: Callable[[Any], Any] = field(default=lambda value: value)
    key: str = ""


def choice(choices: Mapping[str, str], *, what: str = "", example: str = "", absent: str = "") -> Allowed:
    """What may be written where there are few possible values."""
    *others, last = choices
    return Allowed(what or f"{', '.join(others)} or {last}", example=example or last, choices=choices, absent=absent)


@dataclass(frozen=True, slots=True)
class Penalised:
    """A policy for missing cases that has a number: so many times the worst value that any team has."""

    penalty: float

    def __str__(self) -> str:
        return f"{{ penalty = {self.penalty:g} }}"


MissingWord = Literal["worst", "worst-observed", "worst-observed-anywhere", "rank-last", "leave-out", "disqualify"]
MISSING = choice(
    {
        "a number": "the case counts as this value, for example 0",
        '"worst"': "the case counts as the worst value that the metric has",
        '"worst-observed"': "the case counts as the worst value that any team has there",
        '"worst-observed-anywhere"': "the case counts as the worst value that any team has in any case",
        '"rank-last"': "the team ranks behind all others there, on boards that rank case by case",
        '"leave-out"': "the mean is over the team's other cases, and the board says over how many",
        '"disqualify"': "the submission stands on no board",
        "{ penalty = 2 }": "the case counts as so many times the worst value that any team has in any case",
    },
    example="0",
)
"""What a missing case counts as, on a board and in the policies of an edition."""

UndefinedWord = Literal["refuse", "unlisted", "leave-out", "leave-out-or-missing"]
UNDEFINED = choice(
    {
        '"refuse"': "there is no board until the organisers have decided",
        '"unlisted"': "the team does not stand on this board, of one metric",
        '"leave-out"': "the case is left out of the metric for all teams; if some have a value, there is no board",
        '"leave-out-or-missing"': "the same, but if some have a value, it is a missing case of those without one",
        "a number": "the metric counts as this value there, for example 1",
    },
    what='"refuse", "unlisted", "leave-out", "leave-out-or-missing" or a number',
    example='"leave-out"',
)
"""What a case counts as whose metric is undefined for a usable output, on a board and in the policies of an edition."""

UNDEFINED_OF_BOARD = replace(
    UNDEFINED,
    what='"refuse", "unlisted", "leave-out", "leave-out-or-missing", a number, or one of them by metric, such as '
    "{ dice = 1, hd95 = 374 }",
    choices={
        **UNDEFINED.choices,
        "{ dice = 1 }": 'one of these by metric, on boards of several; those that are not named have "refuse"',
    },
)
"""The same on a board, whose metrics are known."""

TIES = choice(
    {
        '"min"': "all get the best of the ranks they take up: 1, 2, 2, 4",
        '"average"': "all get the mean of the ranks they take up: 1, 2.5, 2.5, 4",
        '"dense"': "all get the same rank, and the next rank follows: 1, 2, 2, 3",
    },
    example='"min"',
)
"""Which rank equals get, on a board and in the policies of an edition."""


def read_missing(value: object) -> object:
    """A number, one of a few words, or a penalty; checked here, as a union would report a problem once per member."""
    if isinstance(value, Penalised) or (isinstance(value, str) and f'"{value}"' in MISSING.choices):
        return value
    if isinstance(value, Mapping) and list(value) == ["penalty"]:
        factor = finite(value["penalty"])
        if factor is None or factor < 1:
            raise Wrong(value["penalty"], at=("penalty",), allowed="a number, 1 or more")
        return Penalised(factor)
    number = finite(value)
    if number is None:
        raise Wrong(value)
    return number


@dataclass(frozen=True, slots=True, init=False)
class ByMetric(Mapping[str, UndefinedWord | float]):
    """What is done where metrics are undefined, metric by metric; it never changes, and the order does not count.

    Examples
    --------
    >>> ByMetric({"hd95": 374.0, "dice": 1.0})
    ByMetric(policies=(('dice', 1.0), ('hd95', 374.0)))
    """

    policies: tuple[tuple[str, UndefinedWord | float], ...]

    def __init__(self, policies: Mapping[str, UndefinedWord | float]) -> None:
        object.__setattr__(self, "policies", tuple(sorted(policies.items(), key=lambda item: str(item[0]))))

    def __getitem__(self, metric: str) -> UndefinedWord | float:
        return dict(self.policies)[metric]

    def __iter__(self) -> Iterator[str]:
        return (metric for metric, _ in self.policies)

    def __len__(self) -> int:
        return len(self.policies)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> Any:
        """To pydantic it is one value, which JSON holds as a table."""
        from pydantic_core import core_schema

        written = core_schema.plain_serializer_function_ser_schema(dict)
        return core_schema.is_instance_schema(cls, serialization=written)


def read_undefined_by_metric(value: object) -> object:
    """As `read_undefined`, or a table of it by metric; one that names no metric is that of all metrics, "refuse"."""
    if not isinstance(value, Mapping) or isinstance(value, ByMetric):
        return value if isinstance(value, ByMetric) else read_undefined(value)
    policies = {}
    for metric, written in value.items():
        try:
            policies[metric] = read_undefined(written)
        except Wrong:
            words = {word.strip('"'): meaning for word, meaning in UNDEFINED.choices.items() if word.startswith('"')}
            raise Wrong(written, at=(metric,), sentence=refuse(written, UNDEFINED.what, words)) from None
    return ByMetric(policies) if policies else "refuse"  # type: ignore[arg-type]


def read_undefined(value: object) -> object:
    """A number or one of a few words."""
    if isinstance(value, str) and f'"{value}"' in UNDEFINED.choices:
        return value
    number = finite(value)
    if number is None:
        raise Wrong(value)
    return number


def finite(value: object) -> float | None:
    """A number as a float; None of anything else, and of what is too large for one."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None


def show(value: object) -> str:
    """A value as an organiser knows it from the file, cut to a length that fits into a message."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + (value if len(value) <= 60 else value[:59] + "…").replace("\n", "\\n") + '"'
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    if value is None or isinstance(value, Mapping):
        return "nothing" if value is None else "a table"
    if isinstance(value, Decimal) and not value.is_finite():
        return "nan" if value.is_nan() else "inf" if value > 0 else "-inf"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    try:
        text = str(value)
    except ValueError:  # Python refuses to print an integer of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else text[:59] + "…"


def quoted(words: Sequence[str], last: str) -> str:
    """Words in quotes, the last after "or" or "and".

    Examples
    --------
    >>> quoted(["dice", "jaccard"], "or")
    '"dice" or "jaccard"'
    """
    *others, end = [f'"{word}"' for word in words] or ["nothing"]
    return f"{', '.join(others)} {last} {end}" if others else end


def refuse(value: object, allowed: str, words: Mapping[str, str] | Iterable[str] = ()) -> str:
    """That a value is not allowed, what is, and which of the words was meant.

    Parameters
    ----------
    words
        With their meanings, if they have any: a word that occurs in the meaning of one only means that one.
    """
    return f"{show(value)} is not allowed; write {allowed}{_meant(value, words)}"


def _meant(value: object, words: Mapping[str, str] | Iterable[str]) -> str:
    if not isinstance(value, str):
        return ""
    word, known = value.strip().lower(), list(words)
    explained = words if isinstance(words, Mapping) else {}
    close = [name for name in known if word in re.findall(r"\w+", explained.get(name, ""))]
    if len(close) != 1:
        close = difflib.get_close_matches(word, known, n=1)
    return f' (did you mean "{close[0]}"?)' if close else ""


def explain_unknown(key: str, known: Sequence[str]) -> str:
    """That there is no such setting, and which was meant."""
    if close := difflib.get_close_matches(key, known, n=1):
        return f'"{key}" is not known; did you mean "{close[0]}"?'
    return f'"{key}" is not known; what can be set here is {", ".join(known)}'


def where(path: Path) -> str:
    """A path as people write it, counted from 1.

    Examples
    --------
    >>> where(("phases", 1, "opens"))
    'phases[2].opens'
    """
    parts = [f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")
