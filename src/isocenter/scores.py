"""The score table: one row per number, the only thing that crosses from images to teams.

=============  =======  ==========================================================================================
column         type     meaning
=============  =======  ==========================================================================================
`submission`   String   whose output was measured; absent while one submission is being scored
`case`         String   the patient or exam, the unit of resampling; "" for a number of the whole submission
`part`         String   what within the case: a structure, a beam, a lesion, or ""
`metric`       String   a name from the metric catalogue
`value`        Float64  null means "could not be measured", which is never the same as 0
`weight`       Float64  the case weight, 1 unless the cohort declares sampling weights
=============  =======  ==========================================================================================

A case without an output still has its rows, with null values, beside an observation that says why: `missing` or
`failed`. On disk the table is Parquet; the file also carries a small JSON record of how it was made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl

from isocenter.atomic import replacing
from isocenter.metrics import catalogue

__all__ = ["SCHEMA", "Row", "ScoreTableError", "TableProblem", "check", "frame", "read", "read_record", "write"]

SCHEMA = {
    "submission": pl.String,
    "case": pl.String,
    "part": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "weight": pl.Float64,
}
_KEY = ["case", "part", "metric"]
_RECORD = "isocenter"


class Row(NamedTuple):
    """One line of the table of one submission."""

    case: str
    part: str
    metric: str
    value: float | None
    weight: float = 1.0


class TableProblem(NamedTuple):
    """One thing that is wrong with a table: of which kind, and in words."""

    kind: Literal["column", "null", "nan", "weight", "unknown metric", "bounds", "repeated"]
    text: str


class ScoreTableError(ValueError):
    """A table that is not a score table, with everything that is wrong with it."""

    def __init__(self, message: str, problems: Iterable[TableProblem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


def frame(rows: Iterable[Row]) -> pl.DataFrame:
    """Rows of one submission as a checked table; NaN becomes null, as it is no measurement."""
    columns = {name: dtype for name, dtype in SCHEMA.items() if name != "submission"}
    table = pl.DataFrame(list(rows), schema=columns, orient="row")
    return check(table.with_columns(pl.col("value").fill_nan(None)))


def check(table: pl.DataFrame, *, name: str = "score table") -> pl.DataFrame:
    """Return the table unchanged if it keeps the schema, or raise with all that is wrong.

    Looks at columns and types, empty keys, unknown metrics, NaN, values out of a metric's bounds, weights that are
    not positive and numbers that are there twice.
    """
    problems = _columns(table) or _contents(table)
    if problems:
        msg = f"{name} is not a score table:\n" + "\n".join(f"  {problem.text}" for problem in problems)
        raise ScoreTableError(msg, problems)
    return table


def _columns(table: pl.DataFrame) -> list[TableProblem]:
    expected = {name: dtype for name, dtype in SCHEMA.items() if name != "submission" or name in table.columns}
    problems = [f"column {name!r} is missing" for name in expected if name not in table.columns]
    problems += [f"column {name!r} is not known" for name in table.columns if name not in SCHEMA]
    problems += [
        f"column {name!r} holds {table.schema[name]}, expected {dtype()}"
        for name, dtype in expected.items()
        if name in table.columns and table.schema[name] != dtype
    ]
    return [TableProblem("column", text) for text in problems]


def _contents(table: pl.DataFrame) -> list[TableProblem]:
    problems = [
        TableProblem("null", f"column {name!r} is null in {count} rows")
        for name in table.columns
        if name != "value" and (count := table[name].null_count())
    ]
    value, weight = pl.col("value"), pl.col("weight")
    if count := table.filter(value.is_nan()).height:
        problems.append(TableProblem("nan", f"value is NaN in {count} rows; what could not be measured is null"))
    for row in table.filter(~((weight > 0) & weight.is_finite())).head(3).iter_rows(named=True):
        text = f"case {row['case']!r} has weight {row['weight']}; a weight is a positive number"
        problems.append(TableProblem("weight", text))
    known = set(catalogue.names())
    for metric in table["metric"].unique(maintain_order=True).drop_nulls():
        if metric not in known:
            text = f"metric {metric!r} is not in the catalogue ({', '.join(sorted(known))})"
            problems.append(TableProblem("unknown metric", text))
            continue
        low, high = catalogue.get(metric).bounds
        outside = table.filter((pl.col("metric") == metric) & value.is_not_nan() & ~value.is_between(low, high))
        for row in outside.head(3).iter_rows(named=True):
            text = f"case {row['case']!r}: {metric} = {row['value']} lies outside [{low}, {high}]"
            problems.append(TableProblem("bounds", text))
    key = [name for name in ("submission", *_KEY) if name in table.columns]
    for row in (
        table.filter(pl.struct(key).is_duplicated()).unique(key, maintain_order=True).head(3).iter_rows(named=True)
    ):
        text = f"there twice: {', '.join(f'{name} {row[name]!r}' for name in key)}"
        problems.append(TableProblem("repeated", text))
    return problems


def write(table: pl.DataFrame, path: str | os.PathLike[str], *, record: Mapping[str, Any] | None = None) -> None:
    """Write a checked table as Parquet: completely or not at all, and the same bytes for the same table and record.

    Parameters
    ----------
    record
        How the table was made (challenge, versions, hashes, policies); JSON values. `read_record` gives it back.
    """
    path = Path(path)
    check(table, name=path.name)
    metadata = {_RECORD: json.dumps(dict(record or {}), sort_keys=True, ensure_ascii=False)}
    with replacing(path) as partial:
        table.write_parquet(partial, compression="zstd", statistics=False, metadata=metadata)


def read(path: str | os.PathLike[str]) -> pl.DataFrame:
    """Read and check a score table.

    Metrics that a challenge registers are known once it is imported. If some are not, the challenge that the record of
    the table names is imported through its entry point, in the group `isocenter.challenges`.
    """
    table = pl.read_parquet(_parquet(path), glob=False)
    try:
        return check(table, name=os.fspath(path))
    except ScoreTableError as error:
        maker = read_record(path).get("challenge")
        if not maker or not any(problem.kind == "unknown metric" for problem in error.problems):
            raise
        if trouble := _import_challenge(str(maker)):
            msg = f"{error}\nIt holds scores of {maker}, {trouble}."
            raise ScoreTableError(msg, error.problems) from None
    return check(table, name=os.fspath(path))


def _import_challenge(name: str) -> str:
    """Import an installed challenge, which registers its metrics; return why that is not possible."""
    entry = next(iter(entry_points(group="isocenter.challenges", name=name)), None)
    if entry is None:
        return "which is not installed here; install the package that has it"
    try:
        entry.load()
    except Exception as error:  # whatever another package raises when it is imported
        return f"which could not be imported from {entry.value}: {type(error).__name__}: {error}"
    return ""


def read_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """How a table was made, as `write` was told; empty for a Parquet file that says nothing."""
    record: dict[str, Any] = json.loads(pl.read_parquet_metadata(_parquet(path)).get(_RECORD, "{}"))
    return record


def _parquet(path: str | os.PathLike[str]) -> Path:
    """The path, if it is a Parquet file; polars' own message for another file does not name it."""
    path = Path(path)
    with path.open("rb") as stream:
        head = stream.read(4)
        stream.seek(max(path.stat().st_size - 4, 0))
        tail = stream.read(4)
    if (head, tail) != (b"PAR1", b"PAR1"):
        msg = f"{path} is not a Parquet file; `isocenter score … --out FILE.parquet` writes one"
        raise ScoreTableError(msg)
    return path
