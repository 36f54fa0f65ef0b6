"""A CSV file from a spreadsheet as a header and numbered rows; or why it is none."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from isocenter.problems import Problem
from isocenter.readers._reads import ReadsError

# A hundred thousand reads with four marks each.
_MOST_BYTES = 32 << 20


def csv_lines(path: Path, *, semicolons: bool = False) -> list[tuple[int, list[str]]]:
    """The lines that are not empty, the header among them, with their numbers; blanks are stripped.

    Columns are separated by commas, or if `semicolons` are allowed by what the header has more of.

    Raises
    ------
    ReadsError
        If the file is too large, no text in UTF-8, no CSV, or empty.
    """
    if (size := path.stat().st_size) > _MOST_BYTES:
        raise _refusal(path, f"has {size:,} bytes; such a table has no more than {_MOST_BYTES:,}")
    text = _text(path)
    head = text.lstrip().partition("\n")[0]
    separator = ";" if semicolons and head.count(";") > head.count(",") else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        lines = [(reader.line_num, [value.strip() for value in values]) for values in reader]
    except csv.Error as error:
        raise _refusal(path, f"is not CSV: {error}", line=reader.line_num) from None
    lines = [(line, values) for line, values in lines if any(values)]
    if not lines:
        raise _refusal(path, "is empty")
    return lines


def csv_rows(
    path: Path, *, required: Sequence[str], columns: Sequence[str], together: Sequence[str]
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The columns that there are, and the rows that are not empty with their line numbers; blanks are stripped.

    Parameters
    ----------
    required
        Columns that must be there.
    columns
        Those that may.
    together
        Those of which there are either all or none.
    """
    lines = csv_lines(path)
    line, header = lines[0]
    if problems := _of_header(header, required, columns, together):
        file = f"{path.name}:{line}"
        raise ReadsError(path.name, [Problem("refused", text, file=file, code="bad_table") for text in problems])
    if len(lines) == 1:
        raise _refusal(path, "has a header, but no reads")
    return header, lines[1:]


def _text(path: Path) -> str:
    content = path.read_bytes()
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content:
        raise _refusal(path, "holds zero bytes, as UTF-16 has them; save it as CSV in UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        byte = content[error.start]
        raise _refusal(path, f"is not UTF-8 (byte 0x{byte:02x}); save it as CSV in UTF-8", line=line) from None


def _of_header(
    header: Sequence[str], required: Sequence[str], columns: Sequence[str], together: Sequence[str]
) -> list[str]:
    if len(header) == 1:
        for separator, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
            if separator in header[0]:
                return [f"columns are separated by {name}; expected commas, and decimal points in numbers"]
    expected = f"expected {','.join(columns)}"
    problems = [f"there is no column {name!r}; {expected}" for name in required if name not in header]
    problems += [f"unknown column {name!r}; {expected}" for name in dict.fromkeys(header) if name not in columns]
    problems += [f"column {name!r} is there twice" for name in dict.fromkeys(header) if header.count(name) > 1]
    lacking = [name for name in together if name not in header]
    if 0 < len(lacking) < len(together):
        problems.append(f"there is no column {', '.join(map(repr, lacking))}; a place has {', '.join(together)}")
    return problems


def _refusal(path: Path, text: str, *, line: int | None = None) -> ReadsError:
    file = path.name if line is None else f"{path.name}:{line}"
    return ReadsError(path.name, [Problem("refused", text, file=file, code="bad_table")])
