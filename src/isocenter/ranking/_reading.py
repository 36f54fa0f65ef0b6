"""A reader of plain values that tells everything that is wrong with them, not the first of it."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from isocenter.metrics import catalogue

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """One thing that is wrong with a description.

    Attributes
    ----------
    path
        Where: ("metrics", 1, "weight") is the weight of the second metric.
    found
        What stands there; "" where nothing does.
    message
        A sentence with what was found and what may be written instead.
    """

    path: Path
    found: str
    message: str

    def __str__(self) -> str:
        parts = [f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in self.path]
        return f"{''.join(parts).removeprefix('.')}: {self.message}"


class Reader:
    """Reads the values of a description one by one and keeps what is wrong with them; what is wrong is read as None.

    Parameters
    ----------
    measured
        The metrics that may be ranked, where they are not all of the catalogue.
    """

    def __init__(self, measured: Collection[str] | None = None) -> None:
        self.problems: list[RuleProblem] = []
        self.measured = measured
        self.given: tuple[str, ...] = ()
        """Metrics that no case has, and that need not be measured."""

    def refuse(self, path: Path, value: object, allowed: str, words: Iterable[str] = ()) -> None:
        """Keep that a value is not allowed, and the word that may have been meant."""
        close = difflib.get_close_matches(value.strip().lower(), list(words), n=1) if isinstance(value, str) else []
        meant = f' (did you mean "{close[0]}"?)' if close else ""
        self.tell(path, value, f"{shown(value)} is not allowed; write {allowed}{meant}")

    def lacks(self, key: str, allowed: str) -> None:
        """Keep that a setting is not there."""
        self.problems.append(RuleProblem((key,), "", f"is missing; write {allowed}"))

    def tell(self, path: Path, value: object, message: str) -> None:
        """Keep a problem in words of its own."""
        self.problems.append(RuleProblem(path, shown(value), message))

    def word(self, path: Path, value: object, words: Sequence[str]) -> str | None:
        """One of a few words."""
        if isinstance(value, str) and value in words:
            return value
        self.refuse(path, value, quoted(words, "or"), words)
        return None

    def number(self, path: Path, value: object, allowed: str, within: Callable[[float], bool]) -> float | None:
        """A finite number, within what the key allows."""
        number = finite(value)
        if number is None or not within(number):
            self.refuse(path, value, allowed)
            return None
        return number

    def metric(self, path: Path, value: object) -> str | None:
        """The name of a metric that can be ranked."""
        known = catalogue.names() if self.measured is None else [*self.measured, *self.given]
        known = [name for name in known if name in catalogue.names()]
        ranked = [name for name in known if catalogue.get(name).better != "neither"]
        if isinstance(value, str) and value in ranked:
            return value
        if isinstance(value, str) and value in known:
            message = f'"{value}" is an observation and has no better or worse; write {quoted(ranked, "or")}'
            self.tell(path, value, message)
        else:
            self.refuse(path, value, quoted(ranked, "or"), ranked)
        return None

    def text(self, path: Path, value: object) -> str | None:
        """The name of a metric, which others than this reader compare with the rule's."""
        if isinstance(value, str):
            return value
        self.refuse(path, value, "the name of a metric in quotes")
        return None

    def items(self, path: Path, value: object, allowed: str) -> list[tuple[Path, object]] | None:
        """The items of a list, each with its path; None if it is no list."""
        if isinstance(value, list | tuple):
            return [((*path, i), item) for i, item in enumerate(value)]
        self.refuse(path, value, allowed)
        return None

    def entry(self, path: Path, value: object, example: str, *keys: str) -> Mapping[str, object] | None:
        """A table that has no other keys than these, and at least the first; None if there is no such table."""
        if not isinstance(value, Mapping) or keys[0] not in value:
            self.refuse(path, value, example)
            return None
        for key in value:
            if key not in keys:
                self.tell((*path, str(key)), value[key], unknown(str(key), keys))
        return value


def shown(value: object) -> str:
    """A value as a file shows it, cut to a length that fits into a message."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + (value if len(value) <= 60 else value[:59] + "…").replace("\n", "\\n") + '"'
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    if value is None or isinstance(value, Mapping):
        return "nothing" if value is None else "a table"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    try:
        text = str(value)
    except ValueError:  # Python refuses to print an integer of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else text[:59] + "…"


def quoted(words: Sequence[str], last: str) -> str:
    """Words in quotes, the last after "or" or "and"."""
    *others, end = [f'"{word}"' for word in words] or ["nothing"]
    return f"{', '.join(others)} {last} {end}" if others else end


def unknown(key: str, known: Sequence[str]) -> str:
    """That there is no such key, and which was meant."""
    if close := difflib.get_close_matches(key, known, n=1):
        return f'"{key}" is not known; did you mean "{close[0]}"?'
    return f'"{key}" is not known; what can be set here is {", ".join(known)}'


def finite(value: object) -> float | None:
    """A number as a float; None of anything else, and of what is too large for one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
