from __future__ import annotations

import csv
import json
import math
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from isocenter.stats import PairedT, SignedRank, paired_t, signed_rank
from isocenter.stats._differences import Alternative, differences

GOLDEN = Path(__file__).parents[1] / "golden" / "paired"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
SIDES = get_args(Alternative)
SCIPY = {"better": "greater", "worse": "less", "two-sided": "two-sided"}

# Depression scores at two visits (Hollander and Wolfe), the example of R's wilcox.test; and Student's sleep data.
FIRST = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
SECOND = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
DEXTRO = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
LAEVO = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def golden_scores() -> dict[str, np.ndarray]:
    scores: dict[str, list[float]] = {}
    with (GOLDEN / "scores.csv").open() as file:
        for row in csv.DictReader(file):
            scores.setdefault(row["team"], []).append(float(row["error"]))
    return {team: np.array(values) for team, values in scores.items()}


def whole_numbers(most: int, *, least: int = 1, reach: int = 4) -> st.SearchStrategy[np.ndarray]:
    """Few different differences, so that there are ties and zeros."""
    return st.lists(st.integers(-reach, reach), min_size=least, max_size=most).map(lambda d: np.array(d, float))


def by_enumeration(d: np.ndarray, *, zeros: str) -> dict[str, float]:
    """P values from all 2ⁿ assignments of signs to the ranks."""
    rank = scipy_stats.rankdata(np.abs(d)) if zeros == "pratt" else np.zeros(d.size)
    if zeros == "drop":
        rank[d != 0] = scipy_stats.rankdata(np.abs(d[d != 0]))
    rank, positive = rank[d != 0], d[d != 0] > 0
    found = rank[positive].sum()
    sums = np.array([rank[np.array(signs, bool)].sum() for signs in product((0, 1), repeat=rank.size)])
    better, worse = (sums >= found).mean(), (sums <= found).mean()
    return {"better": better, "worse": worse, "two-sided": min(1.0, 2 * min(better, worse))}


def test_the_examples_of_r_give_the_values_of_r() -> None:
    assert signed_rank(FIRST, SECOND, better="higher", decimals=3) == SignedRank(40.0, 9, 0, 0.01953125, "exact")
    found = signed_rank(DEXTRO, LAEVO, better="higher", decimals=1, alternative="two-sided")
    assert found[:3] == (0.0, 9, 1)
    assert found.p == pytest.approx(0.009090698, abs=1e-9)  # V = 0, p-value = 0.009091, "with ties and zeroes"


@pytest.mark.parametrize("row", EXPECTED["best_vs_others"], ids=lambda row: row["other"])
def test_on_raw_differences_it_is_wilcox_test_of_r(row: dict[str, Any]) -> None:
    scores = golden_scores()
    a, b = scores[EXPECTED["best"]], scores[row["other"]]
    found = signed_rank(a, b, better="lower", decimals=None)
    assert found.method == "normal"
    assert found.zeros == row["n_zero"]
    assert found.n * (found.n + 1) / 2 - found.statistic == row["V"]  # R's V is of the cases in which a − b is positive
    assert found.p == pytest.approx(row["p_less_default"], rel=1e-12)
    plain = signed_rank(a, b, better="lower", decimals=None, correction=False)
    assert plain.p == pytest.approx(row["p_less_asymptotic_nocorrect"], rel=1e-12)


@pytest.mark.parametrize("other", ["team2", "team3", "team4", "team5", "team6"])
def test_with_their_decimals_it_is_the_test_of_exact_hundredths(other: str) -> None:
    scores = golden_scores()
    a, b = scores["team1"], scores[other]
    hundredths = np.rint(100 * b) - np.rint(100 * a)
    expected = scipy_stats.wilcoxon(hundredths, alternative="greater", correction=True, method="asymptotic")
    found = signed_rank(a, b, better="lower", decimals=2)
    assert found.statistic == expected.statistic
    assert found.p == pytest.approx(expected.pvalue, rel=1e-12)


def test_raw_differences_would_be_ranked_by_their_last_bits() -> None:
    scores = golden_scores()
    raw, rounded = (signed_rank(scores["team1"], scores["team5"], better="lower", decimals=n) for n in (None, 2))
    assert raw.statistic - rounded.statistic == -2.5
    assert rounded.p / raw.p == pytest.approx(0.947, abs=0.001)


@given(whole_numbers(40, least=2), st.sampled_from(SIDES), st.booleans(), st.sampled_from(["drop", "pratt"]))
@settings(deadline=None)
def test_the_approximation_is_that_of_scipy(d: np.ndarray, side: Any, correction: bool, zeros: Any) -> None:
    assume(d.any())
    found = signed_rank(
        d, 0 * d, better="higher", decimals=0, alternative=side, zeros=zeros, exact=False, correction=correction
    )
    method = {"drop": "wilcox", "pratt": "pratt"}[zeros]
    expected = scipy_stats.wilcoxon(
        d, alternative=SCIPY[side], correction=correction, zero_method=method, method="asymptotic"
    )
    assert found.p == pytest.approx(min(1.0, expected.pvalue), rel=1e-10, abs=1e-15)
    assert found.zeros == np.count_nonzero(d == 0)
    assert found.n + found.zeros == d.size


@given(whole_numbers(10), st.sampled_from(["drop", "pratt"]))
@settings(deadline=None, max_examples=40)
def test_the_exact_test_counts_all_signs_with_ties_and_zeros(d: np.ndarray, zeros: Any) -> None:
    assume(d.any())
    expected = by_enumeration(d, zeros=zeros)
    for side in SIDES:
        found = signed_rank(d, 0 * d, better="higher", decimals=0, alternative=side, zeros=zeros, exact=True)
        assert found.method == "exact"
        assert found.p == pytest.approx(expected[side], rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 13, 25])
@pytest.mark.parametrize("side", SIDES)
def test_without_ties_the_exact_test_is_that_of_scipy(n: int, side: Any) -> None:
    d = np.random.default_rng(n).normal(0.4, 1, n)
    found = signed_rank(d, 0 * d, better="higher", decimals=None, alternative=side)
    assert found.method == "exact"
    expected = scipy_stats.wilcoxon(d, alternative=SCIPY[side], method="exact").pvalue
    assert found.p == pytest.approx(expected, rel=1e-12)


def test_a_thousand_differences_can_be_counted_and_agree_with_the_approximation() -> None:
    d = np.random.default_rng(0).normal(0.1, 1, 1000)
    exact, normal = (signed_rank(d, 0 * d, better="higher", decimals=None, exact=e) for e in (True, False))
    assert exact.p == pytest.approx(normal.p, rel=2e-3)
    assert exact.p < 0.1
    with pytest.raises(ValueError, match="1001 differences are too many to count, at most 1000"):
        signed_rank(np.arange(1.0, 1002), np.zeros(1001), better="higher", decimals=0, exact=True)


@pytest.mark.parametrize(
    ("d", "method"),
    [
        (np.arange(1, 26), "exact"),
        (np.arange(1, 27), "normal"),
        ([1, 2, 3, -3], "normal"),
        ([1, 2, 3, 0], "normal"),
        ([0, 0, 0], "none"),
    ],
)
def test_auto_counts_up_to_25_differences_without_ties_and_zeros(d: Any, method: str) -> None:
    assert signed_rank(d, np.zeros(len(d)), better="higher", decimals=0).method == method


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 3)), min_size=1, max_size=12), st.sampled_from(SIDES))
@settings(deadline=None)
def test_a_weight_is_so_many_copies(cases: list[tuple[int, int]], side: Any) -> None:
    d, weight = (np.array(column) for column in zip(*cases, strict=True))
    assume(weight.any())
    copied = np.repeat(d, weight)
    for zeros in ("drop", "pratt"):
        options: dict[str, Any] = {"better": "lower", "decimals": 0, "alternative": side, "zeros": zeros}
        assert signed_rank(d, 0 * d, weight=weight, **options) == signed_rank(copied, 0 * copied, **options)


@given(whole_numbers(12), st.sampled_from(["auto", True, False]))
@settings(deadline=None)
def test_both_sides_see_the_same(d: np.ndarray, exact: Any) -> None:
    def p(a: Any, b: Any, better: Any, side: Any) -> float:
        return signed_rank(a, b, better=better, decimals=0, alternative=side, exact=exact).p

    zero = 0 * d
    assert p(d, zero, "higher", "better") == pytest.approx(p(zero, d, "higher", "worse"), rel=1e-12)
    assert p(d, zero, "higher", "better") == p(zero, d, "lower", "better")
    assert p(d, zero, "lower", "two-sided") == pytest.approx(p(d, zero, "higher", "two-sided"), rel=1e-12)
    assert all(0 <= p(d, zero, "higher", side) <= 1 for side in SIDES)


def test_the_order_of_the_cases_does_not_matter() -> None:
    scores, order = golden_scores(), np.random.default_rng(0).permutation(100)
    for test in (signed_rank, paired_t):
        a, b = scores["team1"], scores["team2"]
        here, there = (test(x, y, better="lower", decimals=2) for x, y in ((a, b), (a[order], b[order])))
        assert here == there


def test_equal_submissions_are_not_different_whatever_the_last_bit_says() -> None:
    a, b = [0.1 + 0.2, 0.7 + 0.1, 0.5], [0.3, 0.8, 0.5]
    for side in SIDES:
        options: dict[str, Any] = {"better": "higher", "decimals": 6, "alternative": side}
        assert signed_rank(a, b, **options) == SignedRank(0.0, 0, 3, 1.0, "none", side)
        assert paired_t(a, b, **options) == PairedT(0.0, 0.0, 0.0, 0.0, 2, 1.0, 0.95, side)
    assert signed_rank(a, b, better="higher", decimals=None).n == 2
    assert signed_rank(a, b, better="higher", decimals="noise").n == 0
    assert paired_t(a, b, better="higher", decimals="noise").p == 1.0


@pytest.mark.parametrize("other", ["team2", "team3", "team4", "team5", "team6"])
def test_without_noise_it_is_the_test_of_exact_hundredths(other: str) -> None:
    scores = golden_scores()
    a, b = scores["team1"], scores[other]
    rounded, denoised = (signed_rank(a, b, better="lower", decimals=how) for how in (2, "noise"))
    assert denoised == rounded


@given(st.integers(2, 60), st.integers(0, 2**32 - 1), st.sampled_from(["higher", "lower"]))
@settings(deadline=None, max_examples=50)
def test_where_there_is_no_noise_nothing_is_rounded(size: int, seed: int, better: Any) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.random(size), rng.random(size)
    np.testing.assert_array_equal(
        differences(a, b, better=better, decimals="noise"), differences(a, b, better=better, decimals=None)
    )
    expected = scipy_stats.ttest_rel(a, b, alternative="greater" if better == "higher" else "less")
    found = paired_t(a, b, better=better, decimals="noise")
    assert (found.t, found.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-12)


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_what_lies_half_way_goes_to_the_even_unit_whatever_the_last_bit_says(better: Any) -> None:
    a, b = np.array([0.15, 0.25, 1.05, 2.15, 1.25]), np.array([0.10, 0.20, 1.00, 2.00, 1.0])
    assert set(np.round((a - b)[:3], 1)) == {0.0, 0.1}  # three times 0.05, but for the last bit
    sign = 1 if better == "higher" else -1
    np.testing.assert_array_equal(differences(a, b, better=better, decimals=1), [0, 0, 0, 2 * sign, 2 * sign])
    np.testing.assert_array_equal(differences(b, a, better=better, decimals=1), [0, 0, 0, -2 * sign, -2 * sign])


def test_one_case_is_as_likely_as_not() -> None:
    assert signed_rank([1.0], [0.0], better="higher", decimals=0) == SignedRank(1.0, 1, 0, 0.5, "exact")
    assert signed_rank([1.0], [0.0], better="higher", decimals=0, exact=False).p == 0.5
    found = paired_t([1.0], [0.25], better="higher", decimals=2)
    assert (found.mean, found.df) == (0.75, 0)
    assert all(math.isnan(x) for x in (found.low, found.high, found.t, found.p))


def test_the_t_test_of_the_sleep_data_is_that_of_r() -> None:
    found = paired_t(DEXTRO, LAEVO, better="higher", decimals=1, alternative="two-sided")
    expected = (-1.58, -2.4598858, -0.7001142, -4.062128, 9, 0.00283289)
    assert found[:6] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("row", EXPECTED["best_vs_others"], ids=lambda row: row["other"])
def test_the_t_test_of_100_cases_is_that_of_r(row: dict[str, Any]) -> None:
    scores = golden_scores()
    a, b = scores[EXPECTED["best"]], scores[row["other"]]
    found = paired_t(a, b, better="lower", decimals=2, alternative="two-sided")
    expected = (row["mean_diff"], *row["t_ci"], row["t"], 99, row["t_p_two_sided"])
    assert found[:6] == pytest.approx(expected, rel=1e-11)


@given(whole_numbers(15, least=2, reach=50), st.sampled_from(SIDES), st.sampled_from(["higher", "lower"]))
@settings(deadline=None)
def test_the_t_test_is_that_of_scipy(d: np.ndarray, side: Any, better: Any) -> None:
    assume(np.ptp(d) > 0)
    found = paired_t(d / 10, 0 * d, better=better, decimals=1, alternative=side, level=0.9)
    hand = SCIPY[side] if better == "higher" else {"better": "less", "worse": "greater"}.get(side, side)
    expected = scipy_stats.ttest_rel(d / 10, 0 * d, alternative=hand)
    assert (found.t, found.p, found.df) == pytest.approx((expected.statistic, expected.pvalue, expected.df), rel=1e-9)
    interval = scipy_stats.ttest_rel(d / 10, 0 * d).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx(tuple(interval), rel=1e-9, abs=1e-12)
    assert found.mean == pytest.approx(d.mean() / 10)


@pytest.mark.parametrize(("better", "p"), [("higher", (0.0, 1.0, 0.0)), ("lower", (1.0, 0.0, 0.0))])
def test_the_same_difference_everywhere_is_the_limit_of_small_spread(better: Any, p: tuple[float, ...]) -> None:
    a, b = [0.3, 0.4, 0.9], [0.2, 0.3, 0.8]
    found = [paired_t(a, b, better=better, decimals=3, alternative=side) for side in SIDES]
    assert [one.p for one in found] == list(p)
    assert found[0][:5] == (0.1, 0.1, 0.1, math.inf, 2)
    nearly = paired_t([0.3, 0.4, 0.9], [0.2, 0.3, 0.800001], better=better, decimals=None, alternative="two-sided")
    assert nearly.p < 1e-9


def test_tiny_and_huge_differences_have_a_spread_too() -> None:
    usual = paired_t([1, 2, 4], [0, 0, 0], better="higher", decimals=None)
    for size in (1e-200, 1e140):
        found = paired_t([size, 2 * size, 4 * size], [0, 0, 0], better="higher", decimals=None)
        assert (found.t, found.p) == pytest.approx((usual.t, usual.p), rel=1e-12)


@pytest.mark.parametrize("test", [signed_rank, paired_t])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": [1, 2, 3]}, "the numbers of cases differ: a 3, b 2"),
        ({"a": [], "b": []}, "there are no cases"),
        ({"a": [[1, 2]]}, r"a is an array of shape \(1, 2\), not one score per case"),
        ({"a": 0.5}, r"shape \(\)"),
        ({"a": [math.nan, math.inf]}, r"a has no score in cases 0 \(nan\), 1 \(inf\), counting from 0"),
        ({"a": [math.nan, 1], "b": [1, -math.inf]}, r"a has no score in cases 0 \(nan\).*; b has .* 1 \(-inf\)"),
        ({"a": [1e308, 1], "b": [-1e308, 1]}, r"0 \(1e\+308\)"),
        ({"a": [math.nan] * 9, "b": [0] * 9}, r"4 \(nan\) and 4 more"),
        ({"a": [1e14, 1], "decimals": 2}, r"a difference of 1e\+14 is too large to be rounded to 2 decimals"),
        ({"decimals": 16}, "from 0 to 15, 'noise' or None; not 16"),
        ({"decimals": -1}, "not -1"),
        ({"decimals": True}, "not True"),
        ({"decimals": 2.0}, "not 2.0"),
        ({"better": "more"}, "better is one of 'higher', 'lower'; not 'more'"),
        ({"alternative": "greater"}, "alternative is one of 'better', 'worse', 'two-sided'; not 'greater'"),
    ],
)
def test_what_cannot_be_compared_is_refused(test: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        test(**{"a": [1, 2], "b": [2, 2], "better": "higher", "decimals": 0} | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"zeros": "wilcox"}, "zeros is one of 'drop', 'pratt'"),
        ({"exact": "always"}, "exact is one of 'auto', True, False"),
        ({"weight": [1, 2, 3]}, r"2 of them, not an array of shape \(3,\)"),
        ({"weight": [[1, 2]]}, r"shape \(1, 2\)"),
        ({"weight": [1, -1]}, "whole numbers from 0; found int64 from -1"),
        ({"weight": [0.5, 1.5]}, "found float64 from 0.5"),
        ({"weight": [0, 0]}, "all weights are 0: there are no cases"),
    ],
)
def test_other_options_and_wrong_weights_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        signed_rank([1, 2], [2, 2], better="higher", decimals=0, **changes)


@pytest.mark.parametrize("level", [0, 1, 95, math.nan])
def test_an_interval_has_a_level(level: float) -> None:
    with pytest.raises(ValueError, match="within 0 and 1"):
        paired_t([1, 2], [2, 2], better="higher", decimals=0, level=level)
