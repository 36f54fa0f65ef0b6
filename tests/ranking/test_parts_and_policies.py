"""Means over parts, submissions that compete on some boards only, and what a missing case counts as."""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.metrics import Metric, catalogue
from isocenter.ranking import Disqualify, FixedValue, LeaveOut, MeanThenRank, WorstObserved, WorstPossible
from isocenter.scores import Row, frame

ERROR = catalogue.register(Metric("test_error", "mm", "lower", (0.0, math.inf), 2, "for tests"))
Parts = Mapping[str, float | None]


def table(cases: Mapping[str, Parts | None], weights: Mapping[str, float] | None = None) -> pl.DataFrame:
    """A submission by case and part; None is a missing case."""
    rows = []
    for case, parts in cases.items():
        weight = (weights or {}).get(case, 1.0)
        rows += [Row(case, part, "test_error", value, weight) for part, value in (parts or {"": None}).items()]
        if parts is None:
            rows.append(Row(case, "", "missing", 1.0, weight))
    return frame(rows)


def together(**teams: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([t.select(pl.lit(name).alias("submission"), pl.all()) for name, t in teams.items()])


POOLED = MeanThenRank("test_error", missing=Disqualify(), over="parts")


def test_every_part_is_one_number_so_that_more_parts_have_more_say() -> None:
    board = POOLED.rank(together(x=table({"a": {"p": 1.0, "q": 2.0, "r": 3.0}, "b": {"p": 10.0}})))
    assert board["x"].score == 4.0
    assert board.notes == ("4 values in 2 cases",)


def test_parts_have_the_weight_of_their_case() -> None:
    scores = table({"a": {"p": 1.0, "q": 1.0}, "b": {"p": 4.0}}, weights={"a": 1.0, "b": 2.0})
    assert POOLED.rank(together(x=scores))["x"].score == 2.5


@given(
    st.dictionaries(
        st.sampled_from("abcd"), st.dictionaries(st.sampled_from("pqr"), st.floats(0, 1e6), min_size=1), min_size=1
    )
)
def test_the_pooled_mean_is_the_mean_of_all_values(cases: dict[str, dict[str, float]]) -> None:
    values = [value for parts in cases.values() for value in parts.values()]
    assert POOLED.rank(together(x=table(cases)))["x"].score == pytest.approx(math.fsum(values) / len(values), rel=1e-15)


def test_a_part_that_only_others_have_is_undefined_and_not_forgotten() -> None:
    both = together(x=table({"a": {"p": 1.0}}), y=table({"a": {"p": 1.0, "q": 2.0}}))
    with pytest.raises(ValueError, match="test_error is undefined for 'x' in a"):
        POOLED.rank(both)


def test_a_submission_without_the_metric_is_left_off_this_board_if_the_rule_says_so() -> None:
    rule = MeanThenRank("test_error", missing=FixedValue(9.0), undefined="unlisted")
    both = together(x=table({"a": {"": 1.0}, "b": {"": 1.0}}), points=table({"a": {"": None}, "b": {"": 2.0}}))
    board = rule.rank(both)
    assert [(row.submission, row.rank) for row in board] == [("x", 1)]
    assert [row.submission for row in board.unlisted] == ["points"]
    assert board.notes == ("points is not on this board: it has no test_error in some cases",)
    with pytest.raises(ValueError, match="undefined for 'points' in a"):
        MeanThenRank("test_error", missing=FixedValue(9.0)).rank(both)


def policy(missing: object, *, over: str = "cases") -> MeanThenRank:
    return MeanThenRank("test_error", missing=missing, over=over)  # type: ignore[arg-type]


WHOLE = {"a": {"": 1.0}, "b": {"": 5.0}, "c": {"": 3.0}}
LACKS_B = {"a": {"": 1.0}, "b": None, "c": {"": 3.0}}
OTHER = {"a": {"": 2.0}, "b": {"": 7.0}, "c": {"": 2.0}}


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (FixedValue(11.0), 5.0),
        (WorstObserved(), 11.0 / 3),
        (LeaveOut(), 2.0),
        (Disqualify(), None),
    ],
)
def test_what_a_missing_case_counts_as(missing: object, expected: float | None) -> None:
    board = policy(missing).rank(together(x=table(LACKS_B), y=table(WHOLE), z=table(OTHER)))
    assert board["x"].score == (None if expected is None else pytest.approx(expected, rel=1e-15))
    assert board["x"].missing == 1
    assert board["y"].score == 3.0


def test_the_same_over_parts() -> None:
    x = table({"a": {"p": 1.0, "q": 1.0}, "b": None})
    y = table({"a": {"p": 2.0, "q": 2.0}, "b": {"p": 6.0, "q": 8.0}})
    scores = {
        missing: policy(missing, over="parts").rank(together(x=x, y=y))["x"].score
        for missing in (FixedValue(4.0), WorstObserved(), LeaveOut())
    }
    assert scores == {FixedValue(4.0): 2.5, WorstObserved(): 4.0, LeaveOut(): 1.0}


def test_leaving_out_is_said_and_nothing_left_disqualifies() -> None:
    board = policy(LeaveOut()).rank(together(x=table(LACKS_B), y=table(dict.fromkeys("abc"))))
    assert board.notes == ("x: mean over 2 of 3 cases", "y: mean over 0 of 3 cases")
    assert (board["y"].disqualified, board["y"].score) == (True, None)


def test_the_worst_of_a_case_that_nobody_has_is_unknown() -> None:
    for rule in (policy(WorstObserved()), policy(FixedValue(1.0), over="parts")):
        scores = {"a": {"p": 1.0} if rule.over == "parts" else {"": 1.0}, "b": None}
        with pytest.raises(ValueError, match="'x' lacks 'b', and what test_error counts there is unknown"):
            rule.rank(together(x=table(scores)))


def test_the_worst_is_the_lowest_where_higher_is_better() -> None:
    rule = MeanThenRank("dice", missing=WorstObserved())
    rows = [Row("a", "", "dice", 0.9, 1.0), Row("b", "", "dice", 0.2, 1.0)]
    other = [Row("a", "", "dice", 0.4, 1.0), Row("b", "", "dice", 0.8, 1.0)]
    lacking = [Row("a", "", "dice", None, 1.0), Row("a", "", "missing", 1.0, 1.0), Row("b", "", "dice", 0.5, 1.0)]
    board = rule.rank(together(x=frame(rows), y=frame(other), z=frame(lacking)))
    assert board["z"].score == pytest.approx((0.4 + 0.5) / 2)


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        (LeaveOut(), "is left out of the mean"),
        (WorstObserved(), "counts as the worst that any team has there"),
    ],
)
def test_a_rule_says_its_policy_in_words(missing: object, words: str) -> None:
    assert f"a missing or unusable case {words};" in str(policy(missing, over="parts"))
    assert "over all parts of all cases" in str(policy(missing, over="parts"))


def test_an_unbounded_metric_has_no_worst_possible_value() -> None:
    with pytest.raises(ValueError, match="no worst value"):
        policy(WorstPossible()).check()
    policy(WorstObserved()).check()
