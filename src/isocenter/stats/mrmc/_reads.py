"""The reads of a study: from a file or a frame to rows that can be trusted, or an error that names every bad one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

COLUMNS = ("reader_id", "modality_id", "case_id", "truth", "score")
_KEYS = list(COLUMNS[:3])
_WORDS = {"reader_id": "reader", "modality_id": "modality", "case_id": "case"}
# As text, and as polars writes whole numbers, decimals and booleans.
_TRUTHS = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "false": 0.0, "true": 1.0}
# A study of 100 readers, 4 modalities and 32 000 cases has half a gigabyte as text.
_MOST_BYTES = 1 << 30
_MOST_LINES = 50
# Beyond this a single case decides everything, and its squares drown the others in rounding.
_WIDEST = 1e5


class ReadsError(ValueError):
    """Reads that cannot be analysed. `problems` has one line for each thing that is wrong."""

    def __init__(self, problems: Sequence[str], source: str = "reads") -> None:
        self.problems = tuple(problems)
        shown = [f"  {problem}" for problem in self.problems[:_MOST_LINES]]
        if len(self.problems) > _MOST_LINES:
            shown.append(f"  … and {len(self.problems) - _MOST_LINES} more")
        count = f"{len(self.problems)} problem{'s' * (len(self.problems) != 1)}"
        super().__init__("\n".join([f"{source}: {count}; nothing was analysed.", *shown]))


def read_csv(path: str | Path) -> pl.DataFrame:
    """Reads of a study from CSV with the columns reader_id, modality_id, case_id, truth, score and, if wanted, weight.

    One row per read; an absent row is a case that was not read. Names stay text, with the white space around them
    removed; empty lines are skipped. Other columns are refused, because a misspelt weight would be lost without a word.

    Raises
    ------
    ReadsError
        With every line that is wrong.
    """
    file = Path(path)
    text = _text(file)
    try:
        raw = pl.read_csv(text.encode(), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise ReadsError([f"not a table: {str(error).splitlines()[0]}"], file.name) from None
    raw = raw.rename({name: name.strip() for name in raw.columns})
    known = [name for name in raw.columns if name in (*COLUMNS, "weight")]
    problems = [f"column {name!r} is missing" for name in COLUMNS if name not in raw.columns]
    problems += [f"column {name!r} is not known" for name in raw.columns if name not in known]
    if problems:
        raise ReadsError(problems, file.name)
    given = raw.select(known).with_columns(pl.all().str.strip_chars())
    return checked(given.filter(~pl.all_horizontal(pl.all().is_null())), file.name)


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
        elif truths.setdefault(cells[1], cells[3]) != cells[3]:
            problems.append(f"line {number}: case {cells[1]}: truth {cells[3]}, but {truths[cells[1]]} before")
    problems += [
        f"reader {r}, modality {m}, case {c}: no truth for this case" for r, m, c, _ in reads if c not in truths
    ]
    if problems:
        raise ReadsError(problems, file.name)
    rows = [(r, m, c, truths[c], score) for r, m, c, score in reads]
    return checked(pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row"), file.name)


def checked(reads: pl.DataFrame, source: str = "reads") -> pl.DataFrame:
    """Rows with text names, truth as bool and score and weight as float64, in the order of modality, reader and case.

    Raises
    ------
    ReadsError
        If a column is missing, a cell empty, a truth not 0 or 1, a score not finite, a weight not positive or out of
        all proportion; a case was read twice by one reader in one modality, or has two truths or two weights.
    """
    if not isinstance(reads, pl.DataFrame):
        msg = f"reads are a polars frame, not {type(reads).__name__}: take read_csv or read_imrmc for a file"
        raise TypeError(msg)
    missing = [f"column {name!r} is missing" for name in COLUMNS if name not in reads.columns]
    if missing or reads.is_empty():
        raise ReadsError(missing or ["there are no reads"], source)
    rows = reads.select(
        *(pl.col(name).cast(pl.String) for name in _KEYS),
        *(pl.col(name).cast(pl.String).alias(f"{name}_given") for name in ("truth", "score")),
        pl.col("truth").cast(pl.String).replace_strict(_TRUTHS, default=None, return_dtype=pl.Float64),
        pl.col("score").cast(pl.Float64, strict=False),
        _weight(reads).alias("weight"),
    )
    problems = [*_bad_cells(rows), *_twice(rows), *_conflicts(rows, "truth"), *_conflicts(rows, "weight")]
    if not problems and _spread(rows) > _WIDEST:
        problems = [f"the largest weight is {_spread(rows):g} times the smallest, at most {_WIDEST:g} is analysed"]
    if problems:
        raise ReadsError(problems, source)
    return rows.select(*_KEYS, pl.col("truth") > 0, "score", "weight").sort("modality_id", "reader_id", "case_id")


def _weight(reads: pl.DataFrame) -> pl.Expr:
    return pl.col("weight").cast(pl.Float64, strict=False) if "weight" in reads.columns else pl.lit(1.0)


def _spread(rows: pl.DataFrame) -> float:
    return float(rows.select(pl.col("weight").max() / pl.col("weight").min()).item())


def _bad_cells(rows: pl.DataFrame) -> Iterator[str]:
    """A line for each cell that is empty or holds what it may not."""
    for name in _KEYS:
        empty = rows.with_row_index("row", 1).filter(pl.col(name).is_null() | (pl.col(name) == ""))
        yield from (f"row {row}: no {_WORDS[name]}" for row in empty["row"])
    for row in rows.filter(pl.col("truth").is_null()).iter_rows(named=True):
        yield f"{_where(row)}: truth {row['truth_given']!r}, expected 0 or 1"
    for row in rows.filter(~pl.col("score").is_finite().fill_null(value=False)).iter_rows(named=True):
        yield f"{_where(row)}: score {row['score_given']!r} is not a finite number"
    usable = (pl.col("weight").is_finite() & (pl.col("weight") > 0)).fill_null(value=False)
    for row in rows.filter(~usable).iter_rows(named=True):
        yield f"{_where(row)}: the weight is not a positive number"


def _twice(rows: pl.DataFrame) -> Iterator[str]:
    again = rows.group_by(_KEYS).len().filter(pl.col("len") > 1).sort(_KEYS)
    yield from (f"{_where(row)}: read {row['len']} times" for row in again.iter_rows(named=True))


def _conflicts(rows: pl.DataFrame, column: str) -> Iterator[str]:
    told = rows.drop_nulls(column).group_by("case_id").agg(pl.col(column).unique().sort())
    for case, found in told.filter(pl.col(column).list.len() > 1).sort("case_id").iter_rows():
        yield f"case {case}: {column} {' and '.join(f'{value:g}' for value in found)}"


def _where(row: dict[str, object]) -> str:
    return ", ".join(f"{_WORDS[name]} {row[name]}" for name in _KEYS)


def _text(file: Path) -> str:
    size = file.stat().st_size
    if size > _MOST_BYTES:
        raise ReadsError([f"{size} bytes, at most {_MOST_BYTES} are read"], file.name)
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReadsError([f"not text in UTF-8: {error.reason} at byte {error.start}"], file.name) from None
