"""What is wrong with an edition, in words for whoever must put it right."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from isocenter.editions._model import Edition, repeated
from isocenter.schema import Path, explain_unknown, show, where
from isocenter.schema.tables import Table, Told, cut_path, table_in, translate

# In the entries of a table, what may not occur twice, and what one entry is called.
_APART = {
    "phases": ("name", "phase"),
    "prizes": ("place", "prize"),
    "bonuses": ("title", "bonus"),
    "boards": ("name", "board"),
    "stages": ("name", "stage"),
    **dict.fromkeys(("registration", "equity", "survey", "declarations", "readers"), ("name", "question")),
}


@dataclass(frozen=True, slots=True)
class EditionProblem:
    """One thing to put right.

    Attributes
    ----------
    line
        The line of the file, from 1; of what the setting belongs to, if the setting itself is not there. None where
        no line can be named.
    where
        The setting, as `phases[2].opens`: that of the second phase. People count from 1, and so does this.
    found
        What is written there, as the file shows it; "" where nothing is.
    message
        A sentence with what was found and what may be written instead.
    """

    line: int | None
    where: str
    found: str
    message: str


class EditionError(ValueError):
    """An edition that cannot be run, with everything that is wrong with it, one line each.

    Examples
    --------
    >>> print(EditionError([EditionProblem(14, "phases[1].quota", "0", "0 is not allowed; write 1 or more")]))
    challenge.toml:14: phases[1].quota: 0 is not allowed; write 1 or more
    """

    def __init__(self, problems: Sequence[EditionProblem], name: str = "challenge.toml") -> None:
        super().__init__(list(problems), name)
        self.problems = list(problems)
        self.name = name

    def __str__(self) -> str:
        return "\n".join(
            f"{self.name}{'' if problem.line is None else f':{problem.line}'}: "
            f"{f'{problem.where}: ' if problem.where else ''}{problem.message}"
            for problem in self.problems
        )


def check(data: Mapping[str, Any], *, line_of: Callable[[Path], int | None], name: str) -> Edition:
    """The edition that plain values describe, or an error with all their problems, in the order of the lines."""
    found: list[Told] = [*_repeats(data), *_strangers(data), *_mains(data)]
    try:
        edition = Edition.model_validate(data)
    except ValidationError as error:
        told = {path for path, _, _ in found}
        for details in error.errors():
            if details["type"] == "repeated":
                found += [problem for problem in _repeats_in(details) if problem[0] not in told]
            elif details["type"] not in ("unknown_phase", "two_mains") or not found:
                path, shown, message = translate(details, Edition, unknown=_unknown)
                found.append((cut_path(path, data), shown, message))
    if found:
        problems = [EditionProblem(line_of(path), where(path), shown, message) for path, shown, message in found]
        raise EditionError(sorted(problems, key=lambda problem: problem.line or 0), name)
    return edition


def path_of(place: str) -> Path:
    """The path that `where` has written.

    Examples
    --------
    >>> path_of("phases[2].opens")
    ('phases', 1, 'opens')
    """
    return tuple(int(at) - 1 if at else name for name, at in re.findall(r"([^.\[\]]+)|\[(\d+)\]", place))


def is_list(field: FieldInfo) -> bool:
    """Whether a field of the edition holds any number of tables, each under its own [[heading]]."""
    return get_origin(field.annotation) is tuple


def _unknown(key: str, table: type[Table]) -> str:
    # Everything below a heading belongs to it, so a line put at the wrong place is a common slip.
    for heading, field in Edition.model_fields.items():
        inner = table_in(field)
        if inner is not None and inner.full() is not table and key in inner.full().model_fields:
            return f'"{key}" does not belong here, but under the heading {_heading(heading, field)}'
    if key in Edition.model_fields:
        return f'"{key}" does not belong here, but above the first heading'
    return explain_unknown(key, list(table.model_fields))


def _heading(name: str, field: FieldInfo) -> str:
    return f"[[{name}]]" if is_list(field) else f"[{name}]"


def _repeats(data: Mapping[str, Any]) -> Iterator[Told]:
    """Names and places given twice, found in the plain values: the model looks only once all else is right."""
    for tables, (key, _) in _APART.items():
        entries = _entries(data.get(tables))
        # An entry without a name is like no other; so is one whose name is no name, which is reported elsewhere.
        values = [(_get(entry, "phase"), _get(entry, key)) for entry in entries]
        plain = [
            value if isinstance(value[1], str | int) and isinstance(value[0], str | None) else (i,)
            for i, value in enumerate(values)
        ]
        yield from (_repeat(tables, entries, i, first) for i, first in repeated(plain))


def _repeats_in(details: ErrorDetails) -> Iterator[Told]:
    """The same, as the model found it: it also knows which phase is meant where none is named."""
    for i, first in details["ctx"]["indices"]:
        yield _repeat(str(details["loc"][0]), _entries(details["input"]), i, first)


def _repeat(tables: str, entries: Sequence[object], i: int, first: int) -> Told:
    key, kind = _APART[tables]
    value = show(_get(entries[i], key))
    return (tables, i, key), value, f"{value} is already the {key} of {kind} {first + 1}; write another"


def _strangers(data: Mapping[str, Any]) -> Iterator[Told]:
    """Phases that are referred to and are not there; said where there are phases, and all of them have a name."""
    names = [_get(entry, "name") for entry in _entries(data.get("phases"))]
    known = [name for name in names if isinstance(name, str)]
    if not known or len(known) < len(names):
        return
    places: list[tuple[Path, object]] = [(("payout",), data.get("payout"))]
    for tables in ("prizes", "bonuses"):
        places += [((tables, i), entry) for i, entry in enumerate(_entries(data.get(tables)))]
    for path, entry in places:
        phase = _get(entry, "phase")
        if isinstance(phase, str) and phase not in known:
            advice = _one_of(phase, known)
            yield (*path, "phase"), show(phase), f"{show(phase)} is not a phase of this edition; {advice}"
    for i, entry in enumerate(_entries(data.get("phases"))):
        after, above = _get(entry, "after"), known[:i]
        if isinstance(after, str) and after not in above:
            advice = _one_of(after, above) if above else "move this phase below the one that decides"
            yield ("phases", i, "after"), show(after), f"{show(after)} is not a phase above this one; {advice}"


def _one_of(name: str, known: Sequence[str]) -> str:
    """Advice to write one of these names, the most similar one in particular."""
    close = difflib.get_close_matches(name, known, n=1)
    meant = f" (did you mean {show(close[0])}?)" if close else ""
    return f"write the name of one: {', '.join(map(show, known))}{meant}"


def _mains(data: Mapping[str, Any]) -> Iterator[Told]:
    """Boards that are the main one beside another."""
    mains = [i for i, entry in enumerate(_entries(data.get("boards"))) if _get(entry, "main") is True]
    for i in mains[1:]:
        yield (
            ("boards", i, "main"),
            "true",
            f"board {mains[0] + 1} is already the main one; write false, or leave it out",
        )


def _entries(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _get(entry: object, key: str) -> object:
    """A value of an entry, which is a table of the file or one of our own; None of anything else."""
    return (
        entry.get(key)
        if isinstance(entry, Mapping)
        else getattr(entry, key, None)
        if isinstance(entry, Table)
        else None
    )
