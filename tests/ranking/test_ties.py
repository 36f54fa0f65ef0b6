from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.ranking import rank_values

values = st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=12)


def test_the_golden_ties(golden_ranking: dict[str, Any]) -> None:
    for case in golden_ranking["tie_ranks"]:
        better = "higher" if case["higher_is_better"] else "lower"
        for ties in ("min", "average", "dense"):
            if ties in case:
                assert rank_values(case["values"], better, ties=ties) == case[ties]
        if "min_with_tolerance" in case:
            assert rank_values(case["values"], better, ties="min") == case["min_with_tolerance"]
            assert rank_values(case["values"], better, ties="min", tolerance=0) == case["min_exact_float"]


@given(values, st.sampled_from(["higher", "lower"]))
def test_ranks_count_who_is_better(values: list[int | None], better: str) -> None:
    sign = -1 if better == "higher" else 1
    costs = [math.inf if value is None else sign * value for value in values]
    assert rank_values(values, better, ties="min") == [1 + sum(c < mine for c in costs) for mine in costs]
    average = [sum(c < mine for c in costs) + (1 + sum(c == mine for c in costs)) / 2 for mine in costs]
    assert rank_values(values, better, ties="average") == average
    assert rank_values(values, better, ties="dense") == [1 + len({c for c in costs if c < mine}) for mine in costs]


def test_ties_do_not_chain() -> None:
    steps = [1.0 + 0.9e-9 * i for i in range(4)]
    assert rank_values(steps, "lower", ties="min") == [1, 1, 3, 3]


def test_an_infinite_score_ranks_behind_numbers_and_before_none() -> None:
    assert rank_values([None, math.inf, 1.0], "lower", ties="min") == [3, 2, 1]
    assert rank_values([None, -math.inf, 1.0], "higher", ties="min") == [3, 2, 1]


def test_nobody_and_somebody() -> None:
    assert rank_values([], "lower", ties="min") == []
    assert rank_values([5.0], "lower", ties="average") == [1]


def test_nan_is_not_ranked() -> None:
    with pytest.raises(ValueError, match="NaN"):
        rank_values([math.nan], "lower", ties="min")
