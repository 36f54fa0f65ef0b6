"""Tables of who, or what, is dealt into blocks: a name, and facts.

::

    case,csPCa,centre
    PCA001,yes,RUMC
    PCA002,no,ZGT
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from isocenter.problems import Problem
from isocenter.readers._csv import csv_lines
from isocenter.readers._reads import ReadsError

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def read_units(path: str | os.PathLike[str], kind: Literal["case", "reader"]) -> dict[str, dict[str, str]]:
    """Read a table of cases or of readers: by name the facts, column → value; an empty cell is "".

    Parameters
    ----------
    kind
        How the first column is called.

    Raises
    ------
    ReadsError
        With every problem and its line: another first column, columns without a name or with the same, rows with other
        numbers of cells, names that are empty or there twice. A file that is no such table at all is refused with the
        one reason.
    """
    path = Path(path)
    try:
        (first, header), *lines = csv_lines(path)
    except ReadsError as error:
        raise ReadsError(error.what, error.problems, done="dealt") from None
    found = [(first, text, "") for text in _of_header(header, kind)]
    if not lines:
        found.append((first, f"has a header, but no {kind}s", ""))
    seen: dict[str, int] = {}
    for line, values in lines if not found else ():
        found += [(line, text, values[0]) for text in _of_row(values, header, kind)]
        if values[0] and seen.setdefault(values[0], line) != line:
            found.append((line, f"names the {kind} of line {seen[values[0]]} again", values[0]))
    if found:
        problems = [
            Problem("refused", text, case=name, file=f"{path.name}:{line}", code="bad_table")
            for line, text, name in found
        ]
        raise ReadsError(path.name, problems, done="dealt")
    return {values[0]: dict(zip(header[1:], values[1:], strict=True)) for _, values in lines}


def _of_header(header: Sequence[str], kind: str) -> Iterator[str]:
    if len(header) == 1:
        for separator, words in _SEPARATORS.items():
            if separator in header[0]:
                yield f"columns are separated by {words}; expected commas"
                return
    if header[0] != kind:
        yield f"the first column is {header[0]!r}; expected {kind!r}, and facts in the others"
    yield from (f"column {number} has no name" for number, name in enumerate(header, start=1) if not name)
    yield from (f"column {name!r} is there twice" for name in dict.fromkeys(header) if name and header.count(name) > 1)


def _of_row(values: Sequence[str], header: Sequence[str], kind: str) -> Iterator[str]:
    if len(values) != len(header):
        yield f"has {len(values)} values; the header has {len(header)} columns"
    if not values[0]:
        yield f"names no {kind}"
