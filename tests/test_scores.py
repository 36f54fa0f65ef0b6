from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.evaluation import load_challenge
from isocenter.metrics import catalogue
from isocenter.scores import SCHEMA, Row, ScoreTableError, check, frame, read, read_record, write

values = st.one_of(st.none(), st.floats(0, 1))
tables = st.dictionaries(st.tuples(st.text(max_size=5), st.text(max_size=5)), values, max_size=8).map(
    lambda cells: frame(Row(case, part, "dice", value, 1.5) for (case, part), value in cells.items())
)


@given(tables)
def test_a_table_survives_the_disk(tmp_path_factory: pytest.TempPathFactory, table: pl.DataFrame) -> None:
    path = tmp_path_factory.mktemp("scores") / "x.parquet"
    write(table, path, record={"seed": 1})
    assert read(path).equals(table)
    assert read_record(path) == {"seed": 1}


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    table = frame([Row("a", "", "dice", 0.5)])
    for name in ("1", "2"):
        write(table, tmp_path / name, record={"b": 1, "a": [2, "é"]})
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_nan_is_no_measurement_and_becomes_null() -> None:
    assert frame([Row("a", "", "dice", float("nan"))])["value"].to_list() == [None]


def test_columns_are_those_of_the_design() -> None:
    assert list(SCHEMA) == ["submission", "case", "part", "metric", "value", "weight"]
    assert frame([]).columns == ["case", "part", "metric", "value", "weight"]


good = frame([Row("a", "", "dice", 0.5), Row("b", "", "dice", None)])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (good.drop("weight"), "column 'weight' is missing"),
        (good.with_columns(rank=1), "column 'rank' is not known"),
        (good.with_columns(pl.col("value").cast(pl.Float32)), "holds Float32, expected Float64"),
        (good.with_columns(metric=pl.lit("dise")), "metric 'dise' is not in the catalogue"),
        (good.with_columns(value=pl.lit(float("nan"))), "value is NaN in 2 rows"),
        (good.with_columns(value=pl.lit(1.5)), r"case 'a': dice = 1.5 lies outside \[0.0, 1.0\]"),
        (good.with_columns(weight=pl.lit(0.0)), "case 'a' has weight 0.0"),
        (good.with_columns(weight=pl.lit(float("inf"))), "case 'a' has weight inf"),
        (good.with_columns(case=pl.lit(None, pl.String)), "'case' is null in 2 rows"),
        (good.with_columns(case=pl.lit("a")), "there twice: case 'a'"),
    ],
)
def test_what_is_no_score_table_is_refused_with_the_reason(table: pl.DataFrame, words: str) -> None:
    with pytest.raises(ScoreTableError, match=words):
        check(table)


def test_all_problems_are_said_at_once() -> None:
    with pytest.raises(ScoreTableError) as error:
        check(good.with_columns(value=pl.lit(-1.0), weight=pl.lit(-2.0)))
    assert "dice = -1.0" in str(error.value)
    assert "weight -2.0" in str(error.value)


def test_the_same_case_may_stand_in_the_table_of_another_submission() -> None:
    both = pl.concat([good.select(pl.lit(name).alias("submission"), pl.all()) for name in "xy"])
    assert check(both) is both


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("not a table")
    with pytest.raises(ScoreTableError, match=r"x\.parquet is not a Parquet file"):
        read(tmp_path / "x.parquet")
    (tmp_path / "empty.parquet").write_bytes(b"")
    with pytest.raises(ScoreTableError, match="not a Parquet file"):
        read_record(tmp_path / "empty.parquet")


def test_a_bad_table_is_not_written_and_leaves_the_old_one(tmp_path: Path) -> None:
    write(good, tmp_path / "x.parquet")
    before = (tmp_path / "x.parquet").read_bytes()
    with pytest.raises(ScoreTableError):
        write(good.with_columns(value=pl.lit(2.0)), tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").read_bytes() == before
    assert os.listdir(tmp_path) == ["x.parquet"]


def test_a_table_of_a_challenge_is_read_although_nothing_was_loaded_before(tmp_path: Path) -> None:
    load_challenge("picai2022")
    table = frame([Row("P1", "", "case_likelihood", 0.5)])
    write(table, tmp_path / "team.parquet", record={"challenge": "picai2022"})
    code = "import sys; from isocenter import scores; print(scores.read(sys.argv[1])['metric'][0])"
    command = [sys.executable, "-c", code, str(tmp_path / "team.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "case_likelihood\n"), done.stderr


def test_a_table_of_a_challenge_that_is_not_installed_says_so(tmp_path: Path) -> None:
    catalogue.register(catalogue.Metric("nobodys_metric", "", "higher", (0.0, 1.0), 2, "for this test"))
    table = frame([Row("P1", "", "nobodys_metric", 0.5)])
    write(table, tmp_path / "team.parquet", record={"challenge": "nobodys2031"})
    code = "import sys; from isocenter import scores; scores.read(sys.argv[1])"
    command = [sys.executable, "-c", code, str(tmp_path / "team.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "It holds scores of nobodys2031, which is not installed here" in done.stderr
