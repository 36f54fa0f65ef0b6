"""The reads of clinical routine: one PI-RADS per patient, from a table of its own, a marksheet or facts about cases."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from isocenter.problems import Problem
from isocenter.readers._csv import csv_lines, csv_rows
from isocenter.readers._reads import Read, Reads, ReadsError, wrong_pirads
from isocenter.readers._table import AXES, COLUMNS, parse_reads

ROUTINE = "routine"
"""The reader that all reports of clinical routine are taken as."""

PIRADS_COLUMNS = ("pirads", "routine_pirads", "pirads_routine", "routine", "lesion_pirads")
"""Columns that hold the PI-RADS of routine, whatever their capitals; the first that is there is taken."""

_CASE_COLUMNS = ("case", "case_id", "patient", "patient_id")
_STUDY = "study_id"
_UNKNOWN = ("", "n/a", "na", "nan", "-")


def read_routine(path: str | os.PathLike[str], *, column: str | None = None) -> Reads:
    """Read the reports of clinical routine as the reads of one reader.

    The file is a table in CSV, with commas or semicolons. It has a row per case and a column for its PI-RADS, such as
    routine.csv, cases.csv or the marksheet of PI-CAI; or it is a `reads.csv` of one reader, with marks. Of several
    PI-RADS in a cell, separated by commas, the highest counts. A cell without a number ("", "N/A") is a case that
    nobody read, and is left out.

    Parameters
    ----------
    column
        The column of the PI-RADS; one of `PIRADS_COLUMNS` if left out.

    Raises
    ------
    ReadsError
        With every problem and its line.
    """
    path = Path(path)
    (first, header), *lines = csv_lines(path, semicolons=True)
    names = {name.lower(): at for at, name in reversed(list(enumerate(header)))}
    if column is None and {"x", "y", "z", "case", "pirads"} <= names.keys():
        return _read_marks(path)
    case = next((names[name] for name in _CASE_COLUMNS if name in names), None)
    study = names.get(_STUDY) if case is not None and header[case].lower() == "patient_id" else None
    rating = _find_column(header, names, column)
    problems = [(first, text, "") for text in _describe_header(header, case, rating, column)]
    reads: dict[str, Read] = {}
    for line, values in lines:
        if case is None or rating is None:
            break
        if len(values) != len(header):
            problems.append((line, f"has {len(values)} values; the header has {len(header)} columns", ""))
            continue
        name = values[case] if study is None else f"{values[case]}_{values[study]}"
        found = list(_describe_row(name, values[rating], reads))
        problems += [(line, text, name) for text in found]
        ratings = _list_ratings(values[rating])
        if ratings and not found:
            reads[name] = Read(ROUTINE, name, marks=None, pirads=int(max(ratings)))
    if not problems and not reads:
        problems.append((first, "there is no row with a PI-RADS", ""))
    if problems:
        raise ReadsError(
            path.name,
            [
                Problem("refused", text, case=of, file=f"{path.name}:{line}", code="bad_table")
                for line, text, of in problems
            ],
            done="compared",
        )
    return Reads(tuple(reads.values()), path.name)


def _read_marks(path: Path) -> Reads:
    """A `reads.csv`, whose reads are all taken as those of the routine."""
    header, lines = csv_rows(path, required=("case", "pirads"), columns=COLUMNS, together=AXES)
    if "reader" not in header:
        header, lines = [*header, "reader"], [(line, [*values, ROUTINE]) for line, values in lines]
    every = parse_reads(path.name, header, lines)
    reads: dict[str, Read] = {}
    twice = []
    for read in every:
        if reads.setdefault(read.case, read) is not read:
            twice.append(
                Problem("refused", "has two reads; the routine has one per case", case=read.case, code="bad_table")
            )
    if twice:
        raise ReadsError(path.name, twice, done="compared")
    plain = [Read(ROUTINE, one.case, one.marks, one.pirads, one.score) for one in reads.values()]
    return Reads(tuple(plain), path.name)


def _find_column(header: Sequence[str], names: Mapping[str, int], column: str | None) -> int | None:
    if column is not None:
        return header.index(column) if column in header else None
    return next((names[name] for name in PIRADS_COLUMNS if name in names), None)


def _describe_header(header: Sequence[str], case: int | None, rating: int | None, column: str | None) -> Iterator[str]:
    if case is None:
        yield f"there is no column of cases; expected one of {', '.join(_CASE_COLUMNS)}"
    if rating is None and column is not None:
        close = difflib.get_close_matches(column, header, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(header)}"
        yield f"there is no column {column!r}{meant}"
    elif rating is None:
        yield f"there is no column of PI-RADS; expected one of {', '.join(PIRADS_COLUMNS)}, or name it"


def _describe_row(case: str, cell: str, before: Mapping[str, Read]) -> Iterator[str]:
    if not case.strip("_"):
        yield "names no case"
    if case in before:
        yield "names a case again; the routine has one PI-RADS per case"
    for text in map(str.strip, cell.split(",")):
        if text.lower() in _UNKNOWN:
            continue
        try:
            number = float(text)
        except ValueError:
            yield f"PI-RADS {text!r} is not a number; expected 1, 2, 3, 4 or 5"
        else:
            yield from wrong_pirads(number, marked=False)


def _list_ratings(cell: str) -> list[float]:
    texts = [text.strip() for text in cell.split(",") if text.strip().lower() not in _UNKNOWN]
    try:
        return [float(text) for text in texts]
    except ValueError:
        return []
