"""Files of reads: CSV, and the text format of iMRMC."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from isocenter.stats.mrmc._reads import COLUMNS, ReadsError, checked

# A study of 100 readers, 4 modalities and 32 000 cases has half a gigabyte as text.
_MOST_BYTES = 1 << 30
_SEPARATORS = {";": "semicolons", "\t": "tabs"}


def read_csv(path: str | Path) -> pl.DataFrame:
    """Reads from CSV with the columns reader_id, modality_id, case_id, truth, score, and perhaps weight and rating.

    One row per read; an absent row is a case that was not read. Names stay text, with the white space around them
    removed; empty lines are skipped. Other columns are refused, because a misspelt weight would be lost without a word.
    A rating is what operating points are set on, such as PI-RADS; it may be left empty.

    Raises
    ------
    ReadsError
        With every line that is wrong.
    """
    file = Path(path)
    return checked(text_table(file, COLUMNS, ("weight", "rating")), file.name)


def text_table(file: Path, required: Sequence[str], optional: Sequence[str]) -> pl.DataFrame:
    """The cells of a CSV file as text without the white space around them, empty ones null; no empty lines.

    Raises
    ------
    ReadsError
        If it is no table, a column is missing or there twice, there are others, or lines have other numbers of cells.
    """
    text = _text(file)
    head = _head(text)
    problems = _of_head(head, required, optional) if head else []
    try:
        raw = pl.read_csv(text.encode(), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        problems += _ragged(text, len(head))
        raise ReadsError(problems or [f"not a table: {str(error).splitlines()[0]}"], file.name) from None
    if raw.width != len(head):
        problems = ["not a table: the first line cannot be read as names of columns"]
    elif raw.to_series(raw.width - 1).has_nulls():
        problems += _ragged(text, len(head))
    if problems:
        raise ReadsError(problems, file.name)
    raw.columns = [name.strip() for name in head]
    given = raw.with_columns(pl.all().str.strip_chars().replace("", None))
    return given.filter(~pl.all_horizontal(pl.all().is_null()))


def _head(text: str) -> list[str]:
    """The cells of the first line that is not empty; none where it has no cells."""
    try:
        return next((cells for cells in csv.reader(io.StringIO(text)) if cells), [])
    except csv.Error:
        return []


def _of_head(head: Sequence[str], required: Sequence[str], optional: Sequence[str]) -> list[str]:
    """What is wrong with the names of the columns, as they were written."""
    for separator, words in _SEPARATORS.items():
        if len(head) == 1 and separator in head[0]:
            return [f"the cells of the first line have {words} between them, expected commas"]
    written: dict[str, list[str]] = {}
    for name in head:
        written.setdefault(name.strip(), []).append(name)
    problems = [f"column {name!r} is missing" for name in required if name not in written]
    problems += [f"column {name!r} is not known" for name in head if name.strip() not in (*required, *optional)]
    return problems + [
        f"columns {' and '.join(map(repr, names))} have one name" for names in written.values() if len(names) > 1
    ]


def _ragged(text: str, width: int) -> Iterator[str]:
    """A line for each that has other cells than the first; empty ones do not count."""
    lines = csv.reader(io.StringIO(text))
    try:
        for cells in lines:
            if len(cells) != width and any(cell.strip() for cell in cells):
                yield f"line {lines.line_num}: {len(cells)} cells, expected {width}"
    except csv.Error as error:
        yield f"line {lines.line_num}: {error}"


def read_imrmc(path: str | Path) -> pl.DataFrame:
    """Reads of a study from the text format of iMRMC: `BEGIN DATA:`, then lines of reader, case, modality, score.

    The truth of a case is a line of the reader `truth` or `-1`, its score 0 or 1. What stands before `BEGIN DATA:` is
    free text; the counts some files have there (N0, N1, NR, NM) are not believed.

    Raises
    ------
    ReadsError
        With every line that is wrong, each read of a case without truth, and each case with two truths.
    """
    file = Path(path)
    lines = _text(file).splitlines()
    begin = next((n for n, line in enumerate(lines) if line.strip().upper().startswith("BEGIN DATA")), None)
    if begin is None:
        raise ReadsError(["no line 'BEGIN DATA:'"], file.name)
    problems: list[str] = []
    truths: dict[str, str] = {}
    reads: list[tuple[str, str, str, str]] = []
    for number, line in enumerate(lines[begin + 1 :], begin + 2):
        cells = [cell.strip() for cell in line.split(",")]
        if cells == [""]:
            continue
        if len(cells) != 4:
            problems.append(f"line {number}: {len(cells)} cells, expected reader, case, modality, score")
        elif cells[0].lower() not in ("truth", "-1"):
            reads.append((cells[0], cells[2], cells[1], cells[3]))
        elif truths.setdefault(cells[1], _plain(cells[3])) != _plain(cells[3]):
            problems.append(f"line {number}: case {cells[1]}: truth {cells[3]}, but {truths[cells[1]]} before")
    problems += [
        f"reader {r}, modality {m}, case {c}: no truth for this case" for r, m, c, _ in reads if c not in truths
    ]
    if problems:
        raise ReadsError(problems, file.name)
    rows = [(r, m, c, truths[c], score) for r, m, c, score in reads]
    return checked(pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row"), file.name)


def _plain(truth: str) -> str:
    """1 and 1.0 are one truth."""
    try:
        return f"{float(truth):g}"
    except ValueError:
        return truth


def _text(file: Path) -> str:
    size = file.stat().st_size
    if size > _MOST_BYTES:
        raise ReadsError([f"{size} bytes, at most {_MOST_BYTES} are read"], file.name)
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReadsError([f"not text in UTF-8: {error.reason} at byte {error.start}"], file.name) from None
