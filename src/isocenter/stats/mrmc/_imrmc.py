"""Reads as the text format of iMRMC, for who wants to analyse them there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from isocenter import atomic
from isocenter.stats.mrmc._reads import ReadsError, checked

_NAMES = {"reader_id": "reader", "modality_id": "modality", "case_id": "case"}
_TRUTH = ("truth", "-1")


def imrmc_text(reads: pl.DataFrame, *, title: str = "reader study") -> str:
    """Reads of a study in the text format of iMRMC, which `read_imrmc` takes back.

    First the title and the numbers of negative (N0) and positive cases (N1), readers (NR) and modalities (NM); after
    `BEGIN DATA:` a line for the truth of each case, and one for each read: reader, case, modality, score. The format
    has no place for ratings, which are left out.

    Parameters
    ----------
    reads
        With the columns reader_id, modality_id, case_id, truth and score, as `read_csv` gives them.
    title
        The first line of the file, which is free text.

    Raises
    ------
    ReadsError
        With everything that is wrong with the reads, and what the format cannot say: names with commas, line breaks or
        white space around them, readers called `truth` or `-1`, weights of cases that differ.

    Examples
    --------
    >>> cases = {"case_id": ["a", "b"], "truth": [0, 1], "score": [10, 85]}
    >>> print(imrmc_text(pl.DataFrame(cases | {"reader_id": "R", "modality_id": "bpMRI"})), end="")
    reader study
    N0: 1
    N1: 1
    NR: 1
    NM: 1
    BEGIN DATA:
    truth,a,truth,0
    truth,b,truth,1
    R,a,bpMRI,10.0
    R,b,bpMRI,85.0
    """
    rows = checked(reads)
    first = " ".join(title.split())
    problems = [*_unsayable(rows)]
    if first.upper().startswith("BEGIN DATA"):
        problems.append(f"the title {first!r} would be taken for the beginning of the data")
    if problems:
        raise ReadsError(problems)
    truths = rows.select("case_id", "truth").unique().sort("case_id")
    positive = int(truths["truth"].sum())
    lines = [
        first,
        f"N0: {truths.height - positive}",
        f"N1: {positive}",
        f"NR: {rows['reader_id'].n_unique()}",
        f"NM: {rows['modality_id'].n_unique()}",
        "BEGIN DATA:",
        *(f"truth,{case},truth,{int(truth)}" for case, truth in truths.iter_rows()),
        *(
            f"{reader},{case},{modality},{score!r}"
            for reader, case, modality, score in rows.select("reader_id", "case_id", "modality_id", "score").iter_rows()
        ),
    ]
    return "\n".join(lines) + "\n"


def write_imrmc(reads: pl.DataFrame, path: str | Path, *, title: str | None = None) -> None:
    """Write what `imrmc_text` gives to a file, which appears when it is complete; its name is the title by default."""
    atomic.write_text(imrmc_text(reads, title=Path(path).stem if title is None else title), path)


def _unsayable(rows: pl.DataFrame) -> Iterator[str]:
    """A line for everything that the format has no way to write."""
    for column, what in _NAMES.items():
        for name in rows[column].unique().sort():
            if "," in name or name != name.strip() or len(name.splitlines()) > 1:
                yield f"{what} {name!r}: a name here has no comma, no line break and no white space around it"
    for name in rows["reader_id"].unique().sort():
        if name.lower() in _TRUTH:
            yield f"reader {name!r}: lines of this reader would be taken for the truth of cases"
    if rows["weight"].n_unique() > 1:
        yield "cases have different weights, which the format cannot hold: drop the column if they are not to count"
