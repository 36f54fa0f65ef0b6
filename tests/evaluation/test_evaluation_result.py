"""What `isocenter.evaluate` returns: a table that prints well and keeps its problems and its record."""

from __future__ import annotations

import pickle

import polars as pl

from isocenter.evaluation import Evaluation
from isocenter.problems import Problem
from isocenter.scores import Row, frame

TABLE = frame(
    [Row("p1", "", "dice", 0.8), Row("p2", "", "dice", 0.6), Row("p3", "", "dice", None), Row("p3", "", "missing", 1.0)]
)
PROBLEM = Problem.of("missing_output", "missing", case="p3", expected="p3.nii.gz")
RESULT = Evaluation(
    TABLE, (PROBLEM,), {"challenge": "hecktor2020", "cases": {"measured": 2, "missing": 1, "failed": 0}}
)


def test_it_is_the_table() -> None:
    assert isinstance(RESULT, pl.DataFrame)
    assert RESULT.equals(TABLE)
    assert RESULT.filter(pl.col("case") == "p1")["value"].item() == 0.8
    assert pl.concat([RESULT, TABLE]).height == 8
    assert type(RESULT.scores) is pl.DataFrame


def test_it_prints_cases_metrics_and_problems() -> None:
    assert str(RESULT).splitlines() == [
        "hecktor2020: 2 measured, 1 missing",
        "  dice  mean 0.7000, 0.6000 to 0.8000 in 2 cases",
        "  p3  (missing)  expected p3.nii.gz",
    ]
    assert repr(RESULT) == str(RESULT)


def test_it_keeps_problems_and_record_on_the_way_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(RESULT))
    assert again.equals(RESULT)
    assert (again.problems, again.record) == (RESULT.problems, RESULT.record)


def test_many_problems_are_counted_not_listed() -> None:
    many = Evaluation(TABLE, (PROBLEM,) * 25, RESULT.record)
    assert str(many).splitlines()[-1] == "  … and 5 more"
