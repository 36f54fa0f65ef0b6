"""On which line of a TOML text each key stands, which `tomllib` does not tell.

    1  title = "A"                     ("title",) → 1
    2  [[phases]]                      ("phases",) → 2, ("phases", 0) → 2
    3  name = "training"               ("phases", 0, "name") → 3
    4  [[phases]]                      ("phases", 1) → 4
    5  name = "test"                   ("phases", 1, "name") → 5

One pass over the tokens, with a stack for the lists and tables written inside a value. It serves messages about files
that somebody got wrong, so it never fails: from a text that is not TOML it takes what it can.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from isocenter.schema import Path

_DEEPEST = 50  # parts of a path; an edition has three, and longer ones would only cost memory

# The closing quotes of a long string may follow one or two quotes of its content: """"yes"""" holds "yes".
_TOKEN = re.compile(
    r"""
      (?P<comment> \#[^\n]* )
    | (?P<newline> \n )
    | (?P<word>    [^\s\[\]{}=,.\#"']+ )
    | (?P<text>    "{3} (?:\\.|[^\\])*? "{3,5} | '{3} .*? '{3,5} | "(?:\\.|[^"\\\n])*" | '[^'\n]*' )
    | (?P<mark>    [\[\]{}=,.] )
    | (?P<quote>   ["'] )
    """,
    re.VERBOSE | re.DOTALL,
)


class Repeat(NamedTuple):
    """A key that is set a second time."""

    path: Path
    line: int
    first: int


@dataclass(slots=True)
class Lines:
    """Where the keys of a text stand, which of them are set twice, and where something begins that never ends."""

    of: dict[Path, int] = field(default_factory=dict)
    repeats: list[Repeat] = field(default_factory=list)
    open_quote: int | None = None
    open_bracket: int | None = None
    _set: set[Path] = field(default_factory=set)

    def find(self, path: Path) -> int | None:
        r"""The line of a key; of what holds it, where the key itself is not in the text; None where nothing does.

        Examples
        --------
        >>> scan('[[phases]]\nname = "test"').find(("phases", 0, "opens"))
        1
        """
        for length in range(len(path), 0, -1):
            if path[:length] in self.of:
                return self.of[path[:length]]
        return None

    def note(self, path: Path, line: int) -> None:
        """A key or heading that is written out on this line; what it lies in may be named here for the first time."""
        if path in self._set:
            self.repeats.append(Repeat(path, line, self.of[path]))
            return
        self._set.add(path)
        self.of[path] = line
        for length in range(1, len(path)):
            self.of.setdefault(path[:length], line)


@dataclass(slots=True)
class _Open:
    """A list "[" or table "{" inside a value, begun and not yet closed."""

    kind: str
    path: Path
    items: int = 0


def scan(text: str) -> Lines:
    """Find the line of every key, heading and list item of a TOML text; the first line is 1."""
    lines = Lines()
    tables: dict[Path, int] = {}  # how many tables each [[heading]] has had so far
    table: Path = ()  # what the last heading opened
    inside: list[_Open] = []
    key: list[str] = []
    value: Path | None = None  # the value being read; None while a key or a heading is
    brackets = 0  # of the heading being read
    for kind, token, line in _tokens(text):
        if kind == "quote":  # the beginning of a text that has no end, or it would be one
            lines.open_quote = lines.open_quote or line
        elif value is not None:
            if kind == "newline":
                value = value if inside else None
            elif token == "," and inside:
                inside[-1].items += 1
                value = (*inside[-1].path, inside[-1].items)[:_DEEPEST] if inside[-1].kind == "[" else None
            elif kind == "mark" and token in "]}":
                value = inside.pop().path if inside else value
            else:
                lines.of.setdefault(value, line)
                if token in ("[", "{"):
                    inside.append(_Open(token, value))
                    value = (*value, 0)[:_DEEPEST] if token == "[" else None
        elif token == "}" and inside:
            value, key = inside.pop().path, []
        elif kind in ("word", "text"):
            key.append(_unquoted(token) if kind == "text" else token)
        elif token == "=":
            value = (*(inside[-1].path if inside else table), *key)[:_DEEPEST]
            lines.note(value, line)
            key = []
        elif token == "[" and not key and not inside:
            brackets += 1
        elif token == "]" and brackets and key:
            table = _heading(key[:_DEEPEST], tables, many=brackets > 1)
            lines.note(table, line)
            brackets, key = 0, []
        elif kind == "newline" and not inside:
            brackets, key = 0, []
    if inside:
        lines.open_bracket = lines.of.get(inside[0].path)
    return lines


def _heading(key: list[str], tables: dict[Path, int], *, many: bool) -> Path:
    """The table that a heading opens; each part of it means the latest table of that name."""
    path: Path = ()
    for part in key[:-1]:
        path = (*path, part)
        if path in tables:
            path = (*path, tables[path] - 1)
    path = (*path, key[-1])
    if many:
        tables[path] = tables.get(path, 0) + 1
        path = (*path, tables[path] - 1)
    return path


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Kind, text and line of each token but comments; characters that belong to none are left out."""
    line, at = 1, 0
    for match in _TOKEN.finditer(text):
        line, at = line + text.count("\n", at, match.start()), match.start()
        if match.lastgroup and match.lastgroup != "comment":
            yield match.lastgroup, match[0], line


def _unquoted(key: str) -> str:
    try:
        value = tomllib.loads(f"key = {key}")["key"]
    except tomllib.TOMLDecodeError:
        value = key
    return str(value)
