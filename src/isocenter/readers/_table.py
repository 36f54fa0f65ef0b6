"""reads.csv: one row per mark.

::

    reader,modality,case,score,x,y,z,pirads
    Ann,bpMRI,PCA001,85,-12.40,31.05,-7.5,5
    Ann,bpMRI,PCA001,85,10.20,28.60,-4.5,3
    Ann,bpMRI,PCA002,10,,,,
    Bob,bpMRI,PCA001,60,,,,4

Places are LPS millimetres. Ann marked two lesions in one case and none in the other; of Bob's read only the PI-RADS of
the patient is known. `modality` and `score` may be left out, and x, y, z where no read has any.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from isocenter.metrics import Mark
from isocenter.problems import Problem
from isocenter.readers._csv import csv_rows
from isocenter.readers._reads import MAX_MARKS, Read, Reads, ReadsError, wrong_pirads, wrong_place, wrong_score

AXES = ("x", "y", "z")
_REQUIRED = ("reader", "case", "pirads")
COLUMNS = ("reader", "modality", "case", "score", *AXES, "pirads")

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)


class _Row(NamedTuple):
    """A row whose values are fine in themselves."""

    line: int
    key: tuple[str, str, str]
    score: float | None
    position: tuple[float, float, float] | None
    pirads: int | None


def read_reads(path: str | os.PathLike[str]) -> Reads:
    """Read a table of reads; the order of its rows is of no consequence.

    Raises
    ------
    ReadsError
        With every problem and its line: columns that are missing or unknown, what is no finite number, PI-RADS out of
        range, marks with half a place, more than four marks or the same twice, scores that differ within a read, rows
        that contradict each other. A file that is no such table at all (another encoding or separator, no rows) is
        refused with the one reason.
    """
    path = Path(path)
    header, lines = csv_rows(path, required=_REQUIRED, columns=COLUMNS, together=AXES)
    return parse_reads(path.name, header, lines)


def parse_reads(name: str, header: Sequence[str], lines: Sequence[tuple[int, Sequence[str]]]) -> Reads:
    """Reads from the cells of a table, with the number of each line; see `read_reads`.

    Parameters
    ----------
    name
        What messages call the table.
    header
        Columns of `COLUMNS`, in any order.
    """
    found: list[tuple[int, str, str]] = []
    groups: dict[tuple[str, str, str], list[_Row]] = {}
    for line, values in lines:
        fields = dict(zip(header, values, strict=False))
        wrong = (
            [f"has {len(values)} values; the header has {len(header)} columns"] if len(values) != len(header) else []
        )
        row = wrong or _row(line, fields)
        if isinstance(row, _Row):
            groups.setdefault(row.key, []).append(row)
        else:
            found += [(line, text, fields.get("case", "")) for text in row]
    for (_, _, case), rows in groups.items():
        found += [(line, text, case) for line, text in _contradictions(rows)]
    if found:
        by_line = sorted(found, key=lambda problem: problem[0])
        problems = [
            Problem("refused", text, case=case, file=f"{name}:{line}", code="bad_table") for line, text, case in by_line
        ]
        raise ReadsError(name, problems)
    return Reads(tuple(map(_read, groups.values())), name=name)


def _row(line: int, fields: Mapping[str, str]) -> _Row | list[str]:
    """A row of the table, or all that is wrong with its values."""
    numbers, problems = _numbers(fields)
    problems = [*(f"names no {what}" for what in ("reader", "case") if not fields[what]), *problems]
    given = [axis for axis in AXES if fields.get(axis)]
    if 0 < len(given) < len(AXES):
        problems.append(f"half a place: a mark without {' and '.join(axis for axis in AXES if axis not in given)}")
    place = [numbers[axis] for axis in given if axis in numbers]
    problems += wrong_place(place)
    if "pirads" in numbers:
        problems += wrong_pirads(numbers["pirads"], marked=bool(given))
    elif given and not fields["pirads"]:
        problems.append("a mark without PI-RADS; expected 3, 4 or 5")
    elif "x" not in fields and not fields["pirads"]:
        problems.append("no PI-RADS; in a table without x, y, z every row has that of the patient")
    if "score" in numbers:
        problems += wrong_score(numbers["score"])
    if problems:
        return problems
    position = (place[0], place[1], place[2]) if place else None
    pirads = int(numbers["pirads"]) if "pirads" in numbers else None
    key = (fields["reader"], fields.get("modality", ""), fields["case"])
    return _Row(line, key, numbers.get("score"), position, pirads)


def _numbers(fields: Mapping[str, str]) -> tuple[dict[str, float], list[str]]:
    """The finite numbers of a row by column, and what is none."""
    numbers: dict[str, float] = {}
    problems = []
    for name in ("score", *AXES, "pirads"):
        text = fields.get(name, "")
        number = _number(text)
        if number is not None and math.isfinite(number):
            numbers[name] = number
        elif number is not None:
            problems.append(f"{name} {text!r} is not finite")
        elif text:
            problems.append(f"{name} {text!r} is no number; what there is not is left empty")
    return numbers, problems


def _number(text: str) -> float | None:
    """A number as tables write it; Python would also take 1_000 and digits of other scripts."""
    if _NUMBER.fullmatch(text) or _NOT_FINITE.fullmatch(text):
        return float(text)
    return None


def _contradictions(rows: Sequence[_Row]) -> Iterator[tuple[int, str]]:
    """Lines of a read that do not fit those before them."""
    first = rows[0]
    lines: dict[tuple[float, float, float], int] = {}
    for number, row in enumerate(rows, start=1):
        if row.score != first.score:
            here, there = ("no score" if score is None else f"score {score:g}" for score in (row.score, first.score))
            yield row.line, f"{here}, but {there} in line {first.line} of the same read"
        if row is not first and None in (row.position, first.position):
            rule = "a read without marks, or with a PI-RADS of the patient only, has one row"
            yield row.line, f"does not go with line {first.line} of the same read: {rule}"
        if number == MAX_MARKS + 1:
            yield row.line, f"is row {number} of the read; at most {MAX_MARKS} marks are allowed"
        if row.position is not None and lines.setdefault(row.position, row.line) != row.line:
            yield row.line, f"marks the place of line {lines[row.position]} again"


def _read(rows: Sequence[_Row]) -> Read:
    (reader, modality, case), score = rows[0].key, rows[0].score
    marks = [Mark(row.position, row.pirads) for row in rows if row.position is not None and row.pirads is not None]
    if not marks and rows[0].pirads is not None:
        return Read(reader, case, marks=None, pirads=rows[0].pirads, score=score, modality=modality)
    by_suspicion = sorted(marks, key=lambda mark: (-mark.pirads, mark.position))
    return Read(reader, case, marks=tuple(by_suspicion), score=score, modality=modality)
