"""The teams of a board against each other: which values are tested, who is in the family, and what cannot be tested."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from isocenter.ranking import (
    DetectThenRank,
    Disqualify,
    FixedValue,
    LeaveOut,
    MeanThenRank,
    NormalisedSum,
    QuantileThenRank,
    RankLast,
    RankThenMean,
    TestThenRank,
    TrimmedMeanThenRank,
    WeightedRanks,
    WorstObserved,
    paired_values,
    significance,
)
from isocenter.scores import Row, frame
from isocenter.stats import clustered_signed_rank, paired_t, sign_flip, signed_rank

GOLDEN = Path(__file__).parents[1] / "golden" / "paired"
ZERO = FixedValue(0.0)
DICE = MeanThenRank("dice", ZERO)
PARTS = MeanThenRank("dvh_error", Disqualify(), over="parts")
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


def in_parts(values: dict[str, dict[str, list[float]]]) -> pl.DataFrame:
    """By submission and case the errors of its parts."""
    return pl.concat(
        [
            frame(
                Row(case, f"OAR {at}", "dvh_error", value)
                for case, found in cases.items()
                for at, value in enumerate(found)
            ).select(pl.lit(submission).alias("submission"), pl.all())
            for submission, cases in values.items()
        ]
    )


THREE: Values = {
    "beta": [0.80, 0.75, 0.87, 0.68, 0.80, 0.73],
    "alpha": [0.81, 0.77, 0.90, 0.72, 0.85, 0.79],
    "gamma": [0.82, 0.75, 0.90, 0.74, 0.83, 0.77],
}


def test_the_analysis_of_hecktor_is_the_one_of_r() -> None:
    """Paired t with two sides and Bonferroni, winner against the rest, with intervals."""
    errors: Values = {}
    with (GOLDEN / "scores.csv").open() as file:
        for row in csv.DictReader(file):
            errors.setdefault(row["team"], []).append(float(row["error"]))
    scores = table(errors, metric="dose_error")
    rule = MeanThenRank("dose_error", Disqualify())
    found = significance(scores, rule, test="t", adjust="bonferroni", alternative="two-sided")
    expected = {row["other"]: row for row in json.loads((GOLDEN / "expected.json").read_text())["best_vs_others"]}
    assert {row.b: row.adjusted for row in found.rows} == {
        other: pytest.approx(min(1, 5 * row["t_p_two_sided"]), rel=1e-10) for other, row in expected.items()
    }
    values = paired_values(scores, rule)
    assert {row.a for row in found.rows} == {"team1"} == set(values.first)
    for other, row in expected.items():
        assert values.interval("team1", other) == pytest.approx(tuple(row["t_ci"]), rel=1e-10)


def test_the_winner_is_tested_against_the_rest_in_the_order_of_the_board() -> None:
    found = significance(table(THREE), DICE)
    assert [(row.a, row.b) for row in found.rows] == [("alpha", "gamma"), ("alpha", "beta")]
    assert found.better == "higher"
    assert found.decimals == "noise"
    assert found.rows[1].p == 1 / 64  # better in all of 6 cases


@pytest.mark.parametrize(
    ("rule", "winner"),
    [
        (DICE, "steady"),
        (QuantileThenRank("dice", ZERO), "wild"),
        (TrimmedMeanThenRank("dice", ZERO, proportion=0.4), "wild"),
        (RankThenMean(metrics="dice", missing=ZERO, ties="min"), "steady"),
        (TestThenRank("dice", ZERO, alpha=0.6), "steady"),
    ],
)
def test_the_winner_is_the_one_of_the_board_whatever_the_means_are(rule: Any, winner: str) -> None:
    values: Values = {
        "steady": [0.6, 0.6, 0.6, 0.6, 0.61],
        "wild": [0.9, 0.9, 0.9, 0.1, 0.1],
        "poor": [0.5, 0.4, 0.5, 0.5, 0.4],
    }
    assert {row.a for row in significance(table(values), rule).rows} == {winner}
    named = significance(table(values), rule, winner="poor")
    assert {row.a for row in named.rows} == {"poor"}


def test_what_stands_in_for_a_missing_case_is_a_value() -> None:
    values: Values = {"ours": [0.81, 0.77, 0.90, 0.72, 0.85], "theirs": [0.80, 0.75, 0.87, 0.68, None]}
    (row,) = significance(table(values), DICE).rows
    assert row.n == 5
    assert row.difference == pytest.approx((0.01 + 0.02 + 0.03 + 0.04 + 0.85) / 5)
    assert row.p == 1 / 32
    (row,) = significance(table(values), MeanThenRank("dice", WorstObserved())).rows
    assert row.difference == pytest.approx((0.01 + 0.02 + 0.03 + 0.04) / 5)
    z = (10 - 5 - 0.5) / math.sqrt(4 * 5 * 9 / 24)  # the worst there is what ours has: four differences and a zero
    assert row.p == pytest.approx(math.erfc(z / math.sqrt(2)) / 2)


def test_who_does_not_compete_is_in_no_test_and_changes_no_p() -> None:
    scores = table(THREE | {"best": [0.95] * 6, "ours": [0.94] * 6, "lost": [0.9] * 5 + [None]})
    rule = MeanThenRank("dice", Disqualify())
    found = significance(scores, rule, roles={"best": "benchmark", "ours": "organiser"}, family="all-unordered")
    assert {name for row in found.rows for name in (row.a, row.b)} == set(THREE)
    assert found.rows == significance(table(THREE), rule, family="all-unordered").rows


def test_a_difference_below_the_decimals_of_the_catalogue_counts_unless_the_rule_rounds() -> None:
    close: Values = {"a": [0.70004, 0.60004, 0.50004], "b": [0.70001, 0.60002, 0.50003]}
    for rule in (DICE, TestThenRank("dice", ZERO), TestThenRank("dice", ZERO, decimals=5)):
        (row,) = significance(table(close), rule, winner="a").rows
        assert row.p == 1 / 8
    for decimals in ("catalogue", 4):
        (row,) = significance(table(close), TestThenRank("dice", ZERO, decimals=decimals), winner="a").rows
        assert row.p == 1


@pytest.mark.parametrize("side", ["better", "two-sided"])
def test_tests_of_a_board_are_those_of_scipy_to_the_last_digits(side: Any) -> None:
    rng = np.random.default_rng(5)
    better = rng.beta(8, 2, 60)
    values: Values = {"a": better.tolist(), "b": (better - rng.gamma(2.0, 1e-5, 60) + 2e-5).tolist()}
    (a, b), tail = (np.array(values[team]) for team in "ab"), {"better": "greater", "two-sided": "two-sided"}[side]
    found = {
        test: significance(table(values), DICE, test=test, winner="a", alternative=side).rows[0].p
        for test in ("t", "wilcoxon")
    }
    expected = scipy_stats.wilcoxon(a, b, alternative=tail, correction=True, method="asymptotic").pvalue
    assert found["wilcoxon"] == pytest.approx(expected, rel=1e-12)
    assert found["t"] == pytest.approx(scipy_stats.ttest_rel(a, b, alternative=tail).pvalue, rel=1e-12)


def test_rounding_noise_breaks_no_tie_on_a_board() -> None:
    # 0.07 four times, of which two are 0.07000000000000006, against differences of 0.05.
    noisy: Values = {"a": [0.87, 0.77, 0.57, 0.17, 0.30, 0.40], "b": [0.80, 0.70, 0.50, 0.10, 0.35, 0.45]}
    assert len({x - y for x, y in zip(noisy["a"][:4], noisy["b"][:4], strict=True)}) > 1
    (row,) = significance(table(noisy), DICE, winner="a").rows
    hundredths = np.array([7, 7, 7, 7, -5, -5])
    expected = scipy_stats.wilcoxon(hundredths, alternative="greater", correction=True, method="asymptotic").pvalue
    assert row.p == pytest.approx(expected, rel=1e-12)


def test_all_parts_are_tested_or_the_patients_that_they_are_of() -> None:
    rng = np.random.default_rng(3)
    cases = {f"p{at:02d}": rng.integers(2, 6) for at in range(25)}
    errors = {
        team: {case: (rng.gamma(2, 2, size) + shift).round(3).tolist() for case, size in cases.items()}
        for team, shift in (("good", 0.0), ("poor", 0.6))
    }
    scores = in_parts(errors)
    good, poor = (np.concatenate(list(errors[team].values())) for team in ("good", "poor"))
    labels = np.repeat(list(cases), list(cases.values()))
    reading: Any = {"better": "lower", "decimals": "noise"}

    (row,) = significance(scores, PARTS).rows  # as the rule averages
    assert row.n == good.size
    assert row.p == signed_rank(good, poor, **reading).p
    assert significance(scores, PARTS, over="parts").rows == (row,)
    (row,) = significance(scores, PARTS, clustered=True).rows
    assert row.p == clustered_signed_rank(good, poor, labels, **reading).p
    (row,) = significance(scores, PARTS, clustered=True, test="sign-flip").rows
    assert row.p == sign_flip(good, poor, cluster=labels, better="lower", decimals=3).p  # so that sums are counted
    means = [[math.fsum(found) / len(found) for found in errors[team].values()] for team in ("good", "poor")]
    for rule in (PARTS, MeanThenRank("dvh_error", Disqualify(), over="parts-within-cases")):
        (row,) = significance(scores, rule, over="cases", test="t").rows
        assert (row.n, row.p) == (25, paired_t(means[0], means[1], **reading).p)
    assert not paired_values(scores, PARTS, over="cases").in_parts


def test_copies_of_every_part_make_plain_tests_sure_and_leave_clustered_ones_alone() -> None:
    """Why the clustered test stands beside the other: copies are no evidence."""
    rng = np.random.default_rng(5)
    good = {f"p{at:02d}": 5 + rng.gamma(2, 1) for at in range(30)}
    poor = {case: value + rng.normal(0.2, 0.6) for case, value in good.items()}
    once, often = (
        in_parts({team: {c: [v] * n for c, v in found.items()} for team, found in (("a", good), ("b", poor))})
        for n in (1, 16)
    )
    plain = [significance(scores, PARTS, winner="a").rows[0].p for scores in (once, often)]
    assert plain[0] > 0.05
    assert plain[1] < 0.01
    clustered = significance(often, PARTS, winner="a", clustered=True).rows[0].p
    assert clustered == pytest.approx(plain[0], rel=0.1)


@given(st.randoms(use_true_random=False), st.sampled_from(["wilcoxon", "t", "sign-flip"]))
@settings(max_examples=25)
def test_neither_the_order_of_rows_nor_of_teams_matters(random: Any, test: Any) -> None:
    scores = table(THREE | {"delta": [0.5, 0.6, None, 0.7, 0.5, 0.6]})
    order = list(range(scores.height))
    random.shuffle(order)
    for family in ("winner-vs-rest", "all-ordered", "all-unordered"):
        found = significance(scores[order], DICE, family=family, test=test)
        assert found == significance(scores, DICE, family=family, test=test)


@given(st.lists(st.tuples(*[st.integers(0, 20)] * 3), min_size=2, max_size=12), st.sampled_from(["wilcoxon", "t"]))
@settings(max_examples=50)
def test_the_winner_s_tests_are_among_those_of_all_ordered_pairs(cases: list[tuple[int, ...]], test: Any) -> None:
    names = ("a", "b", "c")
    scores = table({name: [case[at] / 20 for case in cases] for at, name in enumerate(names)})
    first = paired_values(scores, DICE).first
    pairs = {(row.a, row.b): row for row in significance(scores, DICE, family="all-ordered", test=test).rows}
    assert len(pairs) == 6
    for row in significance(scores, DICE, test=test, winner=first[0]).rows:
        other = pairs[row.a, row.b]
        assert row.p == other.p
        assert row.adjusted <= other.adjusted  # of 2 tests, not of 6
        assert row.difference >= -1e-12


def test_a_shared_first_rank_has_no_winner_to_be_tested() -> None:
    scores = table({"a": [0.5, 0.6], "b": [0.6, 0.5], "c": [0.1, 0.1]})
    with pytest.raises(ValueError, match="a and b share the first rank"):
        significance(scores, DICE)
    assert len(significance(scores, DICE, family="all-unordered").rows) == 3
    assert [row.b for row in significance(scores, DICE, winner="b").rows] == ["a", "c"]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (DetectThenRank("auroc"), "auroc has no value per case"),
        (
            WeightedRanks((("dice", 1.0), ("jaccard", 1.0)), ZERO),
            "weighted_rank has no value per case: it is made of dice, jaccard; compare by one of them",
        ),
        (NormalisedSum(metrics=(("dice", 1.0),), missing=ZERO), "normalised_sum has no value per case"),
    ],
)
def test_a_rule_without_a_value_per_case_is_refused(rule: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        significance(table(THREE), rule)


def test_a_policy_that_leaves_gaps_leaves_nothing_to_pair_and_all_gaps_are_named() -> None:
    gaps = table(THREE | {"alpha": [None, *THREE["alpha"][1:]], "beta": [None, None, *THREE["beta"][2:]]})
    message = r"a missing one is left out of the mean: .*alpha has none in c000.*"
    with pytest.raises(ValueError, match=message) as error:
        significance(gaps, MeanThenRank("dice", LeaveOut()))
    assert "beta has none in c000, c001" in str(error.value)
    last = RankThenMean(metrics="dice", missing=RankLast(), ties="min")
    assert len(significance(gaps, last, family="all-ordered").rows) == 6  # the last rank is a rank
    with pytest.raises(ValueError, match="a missing one is left out of the mean: alpha has none in c000"):
        significance(gaps, last, metric="dice", family="all-ordered")
    assert significance(table(THREE), MeanThenRank("dice", LeaveOut())).rows  # where nothing is missing


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"over": "parts"}, "dice is not measured in parts of the cases; test over cases"),
        ({"over": "beams"}, "one value is of 'cases' or of 'parts', not of 'beams'"),
        ({"clustered": True}, "every case has one value of dice"),
        ({"winner": "delta"}, "'delta' cannot be the winner"),
        ({"family": "all"}, "family is one of"),
        ({"alpha": 2.0}, "alpha is within 0 and 1"),
        ({"roles": {"beta": "benchmark", "gamma": "organiser"}}, "two teams that compete by dice; only alpha does"),
        ({"roles": dict.fromkeys(THREE, "benchmark")}, "nobody does"),
    ],
)
def test_what_cannot_be_tested_says_why(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        significance(table(THREE), DICE, **options)


def test_parts_have_no_clustered_t_test() -> None:
    scores = in_parts({"a": {"p1": [1.0, 2.0], "p2": [1.0]}, "b": {"p1": [2.0, 2.5], "p2": [1.5]}})
    with pytest.raises(ValueError, match="no t test for clusters"):
        significance(scores, PARTS, clustered=True, test="t")


def test_sampling_weights_are_not_ignored_in_silence() -> None:
    with pytest.raises(ValueError, match="the cases have sampling weights, which paired tests cannot"):
        significance(table(THREE, weight=[1, 1, 1, 1, 1, 2]), DICE)


def test_who_is_ranked_by_cases_but_undefined_in_a_part_is_named() -> None:
    whole = table({"a": [1.0, 2.0], "b": [2.0, 3.0]}, metric="dvh_error")
    parts = in_parts({team: {"c000": [1.0], "c001": [2.0]} for team in ("a", "b")})
    parts = parts.with_columns(
        value=pl.when((pl.col("submission") == "b") & (pl.col("case") == "c001")).then(None).otherwise(pl.col("value"))
    )
    rule = MeanThenRank("dvh_error", Disqualify(), undefined="unlisted")
    with pytest.raises(ValueError, match="dvh_error is undefined in some parts for b; test over cases"):
        significance(pl.concat([whole, parts]), rule, over="parts")
    assert significance(pl.concat([whole, parts]), rule, over="cases").rows[0].n == 2
