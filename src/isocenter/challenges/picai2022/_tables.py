"""The likelihoods of all patients of a submission, in one table."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

from isocenter.challenges.picai2022._output import read_json
from isocenter.submissions import Entry
from isocenter.volumes import File, read_bytes

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LONGEST = 10_000_000


def read_table(entry: Entry) -> dict[str, Any] | str:
    """Likelihoods by case, or the word that says how they follow from the maps; `ValueError` says what is wrong."""
    said = _csv(entry.file) if entry.name.endswith(".csv") else read_json(entry.file)
    if not isinstance(said, dict | str):
        msg = 'expected an object with a number for each case, or "max"'
        raise ValueError(msg)  # noqa: TRY004 (what is wrong is the file)
    return said


def _csv(file: File) -> dict[str, Any]:
    """Likelihoods by case, from a table with these two columns; what is no number is kept for whoever reads it."""
    text = read_bytes(file, most=_LONGEST).decode("utf-8-sig", "replace")
    try:
        rows = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as error:
        msg = f"is no table: {error}"
        raise ValueError(msg) from error
    columns = [name.strip() for name in rows[0]] if rows else []
    if columns.count("case") != 1 or columns.count("likelihood") != 1:
        found = ", ".join(columns)[:100] or "(none)"
        msg = f"has the columns {found}; expected case and likelihood, once each, separated by commas"
        raise ValueError(msg)
    at = columns.index("case"), columns.index("likelihood")
    said: dict[str, Any] = {}
    for line, row in enumerate(rows[1:], start=2):
        if not any(value.strip() for value in row):
            continue
        if len(row) != len(columns):
            msg = f"line {line} has {len(row)} values, but there are {len(columns)} columns"
            raise ValueError(msg)
        case, likelihood = (row[i].strip() for i in at)
        if not case or case in said:
            msg = f"line {line} {'names no case' if not case else f'has {case} again'}"
            raise ValueError(msg)
        said[case] = float(likelihood) if _NUMBER.fullmatch(likelihood) else likelihood
    return said
