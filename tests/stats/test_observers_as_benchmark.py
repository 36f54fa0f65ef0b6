"""The observers together as one row beside the teams."""

from __future__ import annotations

from itertools import permutations

import pytest

import isocenter
from isocenter.scores import Row, frame
from isocenter.stats import between_observers, observers_as_benchmark


def value(truth: str, prediction: str, case: str) -> float:
    """Some agreement that depends on who is the truth."""
    return (ord(truth) + 2 * ord(prediction) + 3 * int(case)) % 17 / 20


PAIRS = list(permutations("ABCDEF", 2))
TABLE = frame(Row(case, f"{t}|{p}", "s_score", value(t, p, case)) for case in "123" for t, p in PAIRS)


def test_the_row_has_the_mean_of_all_thirty_pairs_in_every_case() -> None:
    row = observers_as_benchmark(TABLE)
    assert row["case"].to_list() == ["1", "2", "3"]
    assert row["part"].unique().to_list() == [""]
    for case, found in row.select("case", "value").iter_rows():
        assert found == pytest.approx(sum(value(t, p, case) for t, p in PAIRS) / 30, rel=1e-12)


def test_it_stands_on_a_board_without_a_rank_at_the_mean_between_observers() -> None:
    team = frame(Row(case, "", "s_score", 0.1) for case in "123")
    teams = {"team": team, "observers": observers_as_benchmark(TABLE)}
    board = isocenter.rank("lung2019", teams, benchmarks=["observers"])
    assert board["observers"].rank is None
    assert board["team"].rank == 1
    assert board["observers"].score == pytest.approx(between_observers(TABLE)["s_score"].mean, rel=1e-12)


def test_a_pair_that_was_not_compared_is_left_out() -> None:
    rows = [Row("1", "A|B", "s_score", 0.5), Row("1", "A|C", "s_score", None), Row("1", "B|C", "s_score", 0.7)]
    assert observers_as_benchmark(frame(rows))["value"].to_list() == [pytest.approx(0.6)]


def test_a_table_without_pairs_is_refused() -> None:
    with pytest.raises(ValueError, match="compares no observers"):
        observers_as_benchmark(frame([Row("1", "", "s_score", 0.5)]))
