"""Reads as files: reads.csv, and the table that comparisons of readers take."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping

import polars as pl

from isocenter import atomic
from isocenter.problems import Problem, as_cell
from isocenter.readers._reads import OPERATING_POINTS, Read, Reads, ReadsError
from isocenter.readers._table import COLUMNS


def reads_csv(reads: Reads) -> str:
    """Reads as the text of a table that `read_reads` takes back: one row per mark, LPS millimetres, full precision.

    Marks of a read come back by falling PI-RADS, then by place. Without any reads there is a header only.

    Raises
    ------
    ReadsError
        Naming every read that would not come back as it is: names with white space around them, line breaks or letters
        that no file can hold, names that a spreadsheet would take for a formula, the same place marked twice.

    Examples
    --------
    >>> from isocenter.metrics import Mark
    >>> read = Read("R-7KX2", "PCA001", (Mark((-12.4, 31.05, -7.5), 5),), score=85, modality="bpMRI")
    >>> print(reads_csv(Reads((read,))), end="")
    reader,modality,case,score,x,y,z,pirads
    R-7KX2,bpMRI,PCA001,85,-12.4,31.05,-7.5,5
    """
    lost = [(read.case, text) for read in reads for text in _lost(read)]
    if problems := [Problem("refused", text, case=case, code="bad_table") for case, text in lost]:
        raise ReadsError(reads.name, problems, done="written")
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for read in reads:
        rows.writerows(_rows(read))
    return text.getvalue()


def write_reads(reads: Reads, path: str | os.PathLike[str]) -> None:
    """Write what `reads_csv` gives to a file, which appears when it is complete."""
    atomic.write_text(reads_csv(reads), path)


def mrmc_table(reads: Reads, positive: Mapping[str, bool], *, unnamed: str = "readers") -> pl.DataFrame:
    """One row per read, as `isocenter.stats.mrmc.analyse` takes them.

    Columns are `reader_id`, `modality_id`, `case_id`, `truth` (0 or 1), `score` and `rating`: the highest PI-RADS, 3 to
    5, at which the read calls the patient positive, 0 if it does not.

    Parameters
    ----------
    positive
        By case whether the patient is positive.
    unnamed
        The modality of reads that have none.

    Raises
    ------
    ReadsError
        Naming every read without a score, and every case of which it is not known whether it is positive.
    """
    problems = [
        Problem("refused", "was read, but has no truth", case=case, code="reference", origin="reference")
        for case in reads.cases
        if case not in positive
    ]
    problems += [
        Problem(
            "refused",
            f"the read by {' in '.join(filter(None, read.key[:2]))} has no score",
            case=read.case,
            code="bad_table",
        )
        for read in reads
        if read.score is None
    ]
    if problems:
        raise ReadsError(reads.name, problems, done="compared")
    rows = [
        (read.reader, read.modality or unnamed, read.case, int(positive[read.case]), read.score, _rating(read))
        for read in reads
    ]
    names = dict.fromkeys(("reader_id", "modality_id", "case_id"), pl.String())
    schema = {**names, "truth": pl.Int64(), "score": pl.Float64(), "rating": pl.Int64()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _rating(read: Read) -> int:
    return max((point for point in OPERATING_POINTS if read.calls(point)), default=0)


def _rows(read: Read) -> Iterator[tuple[str, ...]]:
    start = (*read.key, _number(read.score))
    if not read.marks:
        yield *start, "", "", "", _number(read.pirads)
    for mark in read.marks or ():
        yield *start, *map(_number, mark.position), _number(mark.pirads)


def _number(value: float | None) -> str:
    """With all digits it takes to read the same number again."""
    return "" if value is None else repr(float(value)).removesuffix(".0")


def _lost(read: Read) -> Iterator[str]:
    """What would not come back."""
    for what, name in zip(("reader", "modality", "case"), read.key, strict=True):
        if name != name.strip():
            yield f"the {what} {name!r} has white space around it, which is lost in a table"
        elif as_cell(name) != name:
            yield f"the {what} {name!r} would be a formula in a spreadsheet; it needs another name"
        elif "\n" in name or "\r" in name:
            yield f"the {what} {name!r} has a line break, and a read is a line of its own"
        elif "\0" in name or name != name.encode("utf-8", "replace").decode():
            yield f"the {what} {name!r} has letters that no file of text can hold"
    places = [mark.position for mark in read.marks or ()]
    if len(set(places)) < len(places):
        yield f"{read.reader!r} marks the same place twice"
