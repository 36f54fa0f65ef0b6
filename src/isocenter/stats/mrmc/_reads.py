"""The reads of a study: from a frame to rows that can be trusted, or an error that names every bad one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

COLUMNS = ("reader_id", "modality_id", "case_id", "truth", "score")
_KEYS = list(COLUMNS[:3])
_WORDS = {"reader_id": "reader", "modality_id": "modality", "case_id": "case"}
_TRUTHS = {"false": 0.0, "true": 1.0}
_EXPECTED = dict.fromkeys(_KEYS, "names") | {"truth": "0 and 1"}
# Whole numbers from here on may be the same as their neighbours, once they are floating-point numbers.
_EXACT = 1 << 53
_MOST_LINES = 50
# Beyond this a single case decides everything, and its squares drown the others in rounding.
_WIDEST = 1e5


class ReadsError(ValueError):
    """Reads that cannot be analysed. `problems` has one line for each thing that is wrong; `source` says with what."""

    def __init__(self, problems: Sequence[str], source: str = "reads") -> None:
        self.problems, self.source = tuple(problems), source
        shown = [f"  {problem}" for problem in self.problems[:_MOST_LINES]]
        if len(self.problems) > _MOST_LINES:
            shown.append(f"  … and {len(self.problems) - _MOST_LINES} more")
        count = f"{len(self.problems)} problem{'s' * (len(self.problems) != 1)}"
        super().__init__("\n".join([f"{source}: {count}; nothing was analysed.", *shown]))


def checked(reads: pl.DataFrame, source: str = "reads") -> pl.DataFrame:
    """Rows with text names, truth as bool and score and weight as float64, in the order of modality, reader and case.

    A column `rating`, where there is one, is kept, as float64 or null.

    Raises
    ------
    ReadsError
        If a column is missing or holds dates, lists or the like, a cell is empty, a truth not 0 or 1, a score not
        finite or not to be told from its neighbours, a weight not positive or out of all proportion; a case was read
        twice by one reader in one modality, or has two truths or two weights.
    """
    if not isinstance(reads, pl.DataFrame):
        msg = f"reads are a polars frame, not {type(reads).__name__}: take read_csv or read_imrmc for a file"
        raise TypeError(msg)
    wrong = [f"column {name!r} is missing" for name in COLUMNS if name not in reads.columns]
    wrong += _wrong_kinds(reads)
    if wrong or reads.is_empty():
        raise ReadsError(wrong or ["there are no reads"], source)
    rows = reads.select(
        *(pl.col(name).cast(pl.String) for name in _KEYS),
        *(pl.col(name).cast(pl.String).alias(f"{name}_given") for name in ("truth", "score")),
        _truth().alias("truth"),
        _number(reads, "score"),
        _number(reads, "weight") if "weight" in reads.columns else pl.lit(1.0).alias("weight"),
        *_ratings(reads),
    )
    problems = [*_bad_cells(rows), *_twice(rows), *_conflicts(rows, "truth"), *_conflicts(rows, "weight")]
    if not problems and _spread(rows) > _WIDEST:
        problems = [f"the largest weight is {_spread(rows):g} times the smallest, at most {_WIDEST:g} is analysed"]
    if problems:
        raise ReadsError(problems, source)
    kept = [name for name in ("score", "weight", "rating") if name in rows.columns]
    return rows.select(*_KEYS, pl.col("truth") > 0, *kept).sort("modality_id", "reader_id", "case_id")


def _wrong_kinds(reads: pl.DataFrame) -> list[str]:
    """Columns that hold neither text nor numbers; a name may be of any kind that can be written."""
    kinds = {name: reads.schema[name] for name in (*COLUMNS, "weight", "rating") if name in reads.columns}
    return [
        f"column {name!r} holds {kind}, expected {_EXPECTED.get(name, 'numbers')}"
        for name, kind in kinds.items()
        if kind.is_nested() or kind in (pl.Object, pl.Binary) or (name not in _KEYS and kind.is_temporal())
    ]


def _number(reads: pl.DataFrame, name: str) -> pl.Expr:
    """As float64, null if it is none; the words of categories, not their codes."""
    words = reads.schema[name] in (pl.Categorical, pl.Enum)
    return (pl.col(name).cast(pl.String) if words else pl.col(name)).cast(pl.Float64, strict=False)


def _truth() -> pl.Expr:
    """0 or 1, null otherwise: of numbers, decimals, booleans, and of all of them as text."""
    text = pl.col("truth").cast(pl.String).str.to_lowercase()
    number = text.replace(_TRUTHS).cast(pl.Float64, strict=False)
    return pl.when(number.is_in([0.0, 1.0])).then(number)


def _ratings(reads: pl.DataFrame) -> list[pl.Expr]:
    """As numbers, and as they were given."""
    if "rating" not in reads.columns:
        return []
    return [_number(reads, "rating"), pl.col("rating").cast(pl.String).alias("rating_given")]


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
    whole = pl.col("score_given").cast(pl.Int128, strict=False)
    lost = (whole.abs() > _EXACT) & (pl.col("score").cast(pl.Int128, strict=False) != whole)
    for row in rows.filter(lost.fill_null(value=False)).iter_rows(named=True):
        yield f"{_where(row)}: score {row['score_given']} has too many digits to be told from its neighbours"
    usable = (pl.col("weight").is_finite() & (pl.col("weight") > 0)).fill_null(value=False)
    for row in rows.filter(~usable).iter_rows(named=True):
        yield f"{_where(row)}: the weight is not a positive number"
    if "rating" in rows.columns:
        unusable = pl.col("rating_given").is_not_null() & ~pl.col("rating").is_finite().fill_null(value=False)
        for row in rows.filter(unusable).iter_rows(named=True):
            yield f"{_where(row)}: rating {row['rating_given']!r} is not a finite number"


def _twice(rows: pl.DataFrame) -> Iterator[str]:
    again = rows.group_by(_KEYS).len().filter(pl.col("len") > 1).sort(_KEYS)
    yield from (f"{_where(row)}: read {row['len']} times" for row in again.iter_rows(named=True))


def _conflicts(rows: pl.DataFrame, column: str) -> Iterator[str]:
    told = rows.drop_nulls(column).group_by("case_id").agg(pl.col(column).unique().sort())
    for case, found in told.filter(pl.col(column).list.len() > 1).sort("case_id").iter_rows():
        yield f"case {case}: {column} {' and '.join(f'{value:g}' for value in found)}"


def _where(row: dict[str, object]) -> str:
    return ", ".join(f"{_WORDS[name]} {row[name]}" for name in _KEYS)
