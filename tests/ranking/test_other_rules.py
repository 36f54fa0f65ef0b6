"""Rules beside the mean: quantiles, ranks case by case, tests, normalised sums; and what a missing case counts as."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from isocenter.metrics import catalogue
from isocenter.ranking import (
    Disqualify,
    FixedValue,
    LeaveOut,
    MeanThenRank,
    NormalisedSum,
    Penalty,
    QuantileThenRank,
    RankLast,
    RankThenMean,
    TestThenRank,
    TrimmedMeanThenRank,
    WorstObserved,
    bootstrap_ranks,
)
from isocenter.scores import Row, frame

ZERO = FixedValue(0.0)
Values = dict[str, list[float | None]]


def table(values: Values, *, metric: str = "dice", weight: list[float] | None = None) -> pl.DataFrame:
    """By submission its values in cases c0, c1 …; None is a missing case."""
    parts = []
    for submission, found in values.items():
        rows = []
        for at, value in enumerate(found):
            case_weight = weight[at] if weight else 1.0
            rows.append(Row(f"c{at:03d}", "", metric, value, case_weight))
            if value is None:
                rows.append(Row(f"c{at:03d}", "", "missing", 1.0, case_weight))
        parts.append(frame(rows).select(pl.lit(submission).alias("submission"), pl.all()))
    return pl.concat(parts)


def scores_of(rule: Any, values: Values, **options: Any) -> dict[str, float | None]:
    board = rule.rank(table(values, **options))
    return {row.submission: row.score for row in (*board.rows, *board.unlisted)}


def ranks_by(rule: Any, values: Values, **options: Any) -> dict[str, float | None]:
    board = rule.rank(table(values, **options))
    return {row.submission: row.rank for row in (*board.rows, *board.unlisted)}


SKEW: Values = {
    "steady": [0.6, 0.6, 0.6, 0.6, 0.6],
    "wild": [0.9, 0.9, 0.9, 0.1, 0.1],
    "poor": [0.5, 0.4, 0.5, 0.5, 0.4],
}


def test_the_median_prefers_who_is_usually_good_and_the_mean_who_never_fails() -> None:
    assert scores_of(QuantileThenRank("dice", ZERO), SKEW) == {"steady": 0.6, "wild": 0.9, "poor": 0.5}
    assert ranks_by(QuantileThenRank("dice", ZERO), SKEW) == {"wild": 1, "steady": 2, "poor": 3}
    assert ranks_by(MeanThenRank("dice", ZERO), SKEW) == {"steady": 1, "wild": 2, "poor": 3}
    assert scores_of(QuantileThenRank("dice", ZERO, q=0.25), SKEW)["wild"] == pytest.approx(0.1)


def test_a_trimmed_mean_leaves_out_both_ends() -> None:
    assert scores_of(TrimmedMeanThenRank("dice", ZERO, proportion=0.2), SKEW)["wild"] == pytest.approx(
        (0.9 + 0.9 + 0.1) / 3
    )


@pytest.mark.parametrize(
    "rule", [QuantileThenRank("dice", ZERO), TrimmedMeanThenRank("dice", ZERO), TestThenRank("dice", ZERO)]
)
def test_sampling_weights_are_not_ignored_in_silence(rule: Any) -> None:
    with pytest.raises(ValueError, match="the cases have sampling weights"):
        rule.rank(table(SKEW, weight=[1, 1, 1, 1, 2]))


def test_ranks_in_each_case_are_averaged() -> None:
    """The one bad case of wild costs it no more than a lost case."""
    rule = RankThenMean(metrics="dice", missing=ZERO, ties="min")
    assert scores_of(rule, SKEW) == {
        "wild": pytest.approx((1 + 1 + 1 + 3 + 3) / 5),
        "steady": pytest.approx((2 + 2 + 2 + 1 + 1) / 5),
        "poor": pytest.approx((3 + 3 + 3 + 2 + 2) / 5),
    }
    assert rule.rank(table(SKEW)).metric == "mean_rank"


@pytest.mark.parametrize(("ties", "last"), [("min", 3.0), ("average", 3.5), ("dense", 3.0)])
def test_who_lacks_a_case_ranks_last_there_and_all_of_them_tie(ties: Any, last: float) -> None:
    values: Values = {"a": [0.9], "b": [0.8], "c": [None], "d": [None]}
    rule = RankThenMean(metrics="dice", missing=RankLast(), ties=ties)
    assert scores_of(rule, values) == {"a": 1, "b": 2, "c": last, "d": last}
    assert rule.rank(table(values))["c"].missing == 1


def test_several_metrics_count_by_their_weights() -> None:
    both = pl.concat(
        [table({"a": [0.9, 0.9], "b": [0.5, 0.5]}), table({"a": [9.0, 1.0], "b": [1.0, 2.0]}, metric="dose_error")]
    )
    rule = RankThenMean(metrics=(("dice", 3.0), ("dose_error", 1.0)), missing=RankLast(), ties="min")
    board = rule.rank(both)
    assert board["a"].score == pytest.approx((3 * 1 + 1 * 1.5) / 4)
    assert board["b"].score == pytest.approx((3 * 2 + 1 * 1.5) / 4)


def test_who_stands_beside_moves_nobody() -> None:
    roles: Any = {"poor": "benchmark"}
    rule = RankThenMean(metrics="dice", missing=ZERO, ties="min")
    board = rule.rank(table(SKEW), roles=roles)
    assert board["wild"].score == pytest.approx((1 + 1 + 1 + 2 + 2) / 5)
    assert board["poor"].score == pytest.approx((3 + 3 + 3 + 2 + 2) / 5)
    assert board["poor"].rank is None
    tested = TestThenRank("dice", ZERO).rank(table(SKEW), roles=roles)
    assert tested["poor"].rank is None


def cohort(seed: int, teams: int = 4, cases: int = 30) -> dict[str, list[float]]:
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 0.1, cases)
    return {
        f"t{k}": np.clip(0.7 - 0.04 * k + hard + rng.normal(0, 0.05, cases), 0, 1).round(4).tolist()
        for k in range(teams)
    }


def test_the_share_of_others_beaten_is_that_of_plain_tests() -> None:
    values = cohort(1)
    found = scores_of(TestThenRank("dice", ZERO), dict(values))
    for name, mine in values.items():
        wins = 0
        for other, theirs in values.items():
            difference = np.round(np.array(mine) - np.array(theirs), 4)
            if (
                name != other
                and stats.wilcoxon(
                    difference[difference != 0], alternative="greater", correction=True, method="approx"
                ).pvalue
                <= 0.05
            ):
                wins += 1
        assert found[name] == pytest.approx(wins / 3)


def test_holm_is_stricter_and_copies_of_cases_are_not_dropped() -> None:
    values = cohort(2, teams=6)
    plain, holm = (scores_of(TestThenRank("dice", ZERO, adjust=method), dict(values)) for method in ("none", "holm"))
    assert all(holm[name] <= plain[name] for name in values)
    assert sum(holm.values()) < sum(plain.values())
    twice = np.full((1, 30), 2)
    drawn = bootstrap_ranks(table(dict(values)), TestThenRank("dice", ZERO), weights=twice).drawn
    doubled = {name: found + found for name, found in values.items()}
    assert dict(zip(drawn.submissions, drawn.scores[:, 0], strict=True)) == scores_of(
        TestThenRank("dice", ZERO), doubled
    )


def test_equal_submissions_beat_nobody_and_one_has_nobody_to_beat() -> None:
    assert ranks_by(TestThenRank("dice", ZERO), {"a": [0.5] * 8, "b": [0.5] * 8}) == {"a": 1, "b": 1}
    assert scores_of(TestThenRank("dice", ZERO), {"a": [0.5] * 8}) == {"a": 0.0}


def test_a_normalised_sum_stretches_each_metric_over_the_teams() -> None:
    both = pl.concat(
        [table({"a": [0.9], "b": [0.5], "c": [0.7]}), table({"a": [4.0], "b": [2.0], "c": [2.0]}, metric="dose_error")]
    )
    board = NormalisedSum(metrics=(("dice", 1.0), ("dose_error", 1.0)), missing=Disqualify()).rank(both)
    assert {row.submission: row.score for row in board.rows} == {
        "a": pytest.approx(0.5),
        "b": pytest.approx(0.5),
        "c": pytest.approx(0.75),
    }
    assert "depend on the worst team" in board.notes[0]
    same = NormalisedSum(metrics=(("dice", 1.0),), missing=Disqualify()).rank(table({"a": [0.5], "b": [0.5]}))
    assert [row.score for row in same.rows] == [0.5, 0.5]


@pytest.mark.parametrize("role", ["benchmark", "organiser"])
def test_a_normalised_sum_is_stretched_by_teams_alone(role: Any) -> None:
    values: Values = {"a": [0.9], "b": [0.5], "c": [0.7], "worst": [0.1], "best": [1.0]}
    rule = NormalisedSum(metrics=(("dice", 1.0),), missing=Disqualify())
    board = rule.rank(table(values), roles={"worst": role, "best": role})
    scores = {row.submission: row.score for row in (*board.rows, *board.unlisted)}
    assert scores == pytest.approx({"a": 1.0, "b": 0.0, "c": 0.5, "worst": -1.0, "best": 1.25})


def test_a_penalty_stays_within_the_bounds_of_the_metric() -> None:
    bounded = catalogue.register(catalogue.Metric("rules_test_share", "%", "lower", (0.0, 100.0), 1, "for this test"))
    values: Values = {"a": [60.0, 10.0], "b": [20.0, None]}
    found = scores_of(MeanThenRank(bounded.name, Penalty(2.0)), values, metric=bounded.name)
    assert found["b"] == pytest.approx((20.0 + 100.0) / 2)  # 2 × 60 % is more than there is


def test_what_a_missing_case_counts_as() -> None:
    values: Values = {"a": [0.9, 0.2], "b": [0.8, 0.6], "c": [0.7, None]}
    assert scores_of(MeanThenRank("dice", WorstObserved()), values)["c"] == pytest.approx((0.7 + 0.2) / 2)
    values = {"a": [0.9, 0.6], "b": [0.1, 0.6], "c": [0.7, None]}
    assert scores_of(MeanThenRank("dice", WorstObserved("anywhere")), values)["c"] == pytest.approx((0.7 + 0.1) / 2)
    errors: Values = {"a": [1.0, 2.0], "b": [4.0, 3.0], "c": [1.0, None]}
    assert scores_of(MeanThenRank("dose_error", Penalty(2.0)), errors, metric="dose_error")["c"] == pytest.approx(4.5)


def test_what_benchmarks_have_stands_in_for_nothing() -> None:
    values: Values = {"a": [0.9, 0.6], "bad": [0.0, 0.0], "c": [0.7, None]}
    board = MeanThenRank("dice", WorstObserved("anywhere")).rank(table(values), roles={"bad": "benchmark"})
    assert board["c"].score == pytest.approx((0.7 + 0.6) / 2)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (MeanThenRank("dice", RankLast()), "cannot rank last by dice: the rule does not rank case by case"),
        (MeanThenRank("dice", Penalty(2.0)), "dice has no penalty"),
        (MeanThenRank("dose_error", Penalty(0.5)), "a penalty is a factor of at least 1"),
        (RankThenMean(metrics="dice", missing=LeaveOut(), ties="min"), "a case that is left out has no rank"),
        (RankThenMean(metrics="missing", missing=RankLast(), ties="min"), "has no better or worse"),
        (QuantileThenRank("dice", LeaveOut()), "depends on which are"),
        (TestThenRank("dice", LeaveOut()), "a paired test needs all cases"),
        (TestThenRank("dice", ZERO, alpha=1.0), "a level within 0 and 1"),
        (NormalisedSum(metrics=(("dice", 0.0),), missing=ZERO), "positive weights"),
    ],
)
def test_rules_that_cannot_work_say_so_before_anybody_is_ranked(rule: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rule.check()


def test_parts_are_averaged_within_the_case_first() -> None:
    rows = [Row("a", part, "dice", value) for part, value in (("1", 0.2), ("2", 0.4), ("3", 0.6))]
    rows += [Row("b", "1", "dice", 1.0)]
    one = frame(rows).select(pl.lit("x").alias("submission"), pl.all())
    assert MeanThenRank("dice", ZERO, over="parts-within-cases").rank(one)["x"].score == pytest.approx((0.4 + 1.0) / 2)
    assert MeanThenRank("dice", ZERO, over="parts").rank(one)["x"].score == pytest.approx(2.2 / 4)


RULES: list[Any] = [
    MeanThenRank("dice", ZERO),
    QuantileThenRank("dice", ZERO),
    TrimmedMeanThenRank("dice", ZERO, proportion=0.2),
    RankThenMean(metrics="dice", missing=RankLast(), ties="average"),
    TestThenRank("dice", ZERO),
    NormalisedSum(metrics=(("dice", 1.0),), missing=ZERO),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_a_draw_scores_as_the_rule_scores_the_copied_cases(rule: Any) -> None:
    """The one property that the field's own tool gets wrong for two of its three rules."""
    values = cohort(3, teams=4, cases=12)
    rng = np.random.default_rng(0)
    indices = rng.integers(0, 12, (5, 12))
    drawn = bootstrap_ranks(table(dict(values)), rule, indices=indices).drawn
    for b, picked in enumerate(indices):
        copied = {name: [found[i] for i in picked] for name, found in values.items()}
        expected = scores_of(rule, dict(copied))
        for k, name in enumerate(drawn.submissions):
            assert drawn.scores[k, b] == pytest.approx(expected[name], abs=1e-12)


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_the_order_of_submissions_and_cases_changes_nothing(seed: int) -> None:
    values = cohort(seed, teams=3, cases=8)
    whole = table(dict(values))
    for rule in RULES:
        assert rule.rank(whole.sample(fraction=1.0, shuffle=True, seed=seed)) == rule.rank(whole)
