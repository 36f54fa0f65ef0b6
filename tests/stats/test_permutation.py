from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from isocenter.resampling.permutations import Tail
from isocenter.stats import _permutation
from isocenter.stats._permutation import permutation_test

GOLDEN = Path(__file__).parents[1] / "golden" / "detection" / "expected_statistics.json"
EXACT = json.loads(GOLDEN.read_text())["permutation_exact"]
SIDES = get_args(Tail)
STATISTICS = ("rank", "difference")
SMALL = st.lists(st.integers(-4, 4), min_size=1, max_size=5)


def of(statistic: str, a: list[Fraction], b: list[Fraction]) -> Fraction:
    """How far the statistic is from what is expected of chance, in fractions."""
    if statistic == "rank":
        pairs = [Fraction(1 if x > y else 0 if x < y else Fraction(1, 2)) for x in a for y in b]
        return sum(pairs, Fraction(0)) / len(pairs) - Fraction(1, 2)
    return sum(a, Fraction(0)) / len(a) - sum(b, Fraction(0)) / len(b)


def by_enumeration(a: list[int], b: list[int], *, statistic: str, side: str) -> Fraction:
    reached = {"greater": lambda x: x, "less": lambda x: -x, "two-sided": abs}[side]
    pooled = [Fraction(x) for x in (*a, *b)]
    bar = reached(of(statistic, pooled[: len(a)], pooled[len(a) :]))
    chosen = list(combinations(range(len(pooled)), len(a)))
    rest = [[pooled[i] for i in range(len(pooled)) if i not in some] for some in chosen]
    far = sum(
        reached(of(statistic, [pooled[i] for i in some], others)) >= bar
        for some, others in zip(chosen, rest, strict=True)
    )
    return Fraction(far, len(chosen))


@pytest.mark.parametrize("case", EXACT)
def test_p_is_that_of_picai_eval(case: dict[str, Any]) -> None:
    found = permutation_test(case["scores_alternative"], case["scores_baseline"])
    assert found.value == pytest.approx(case["order_auc"], rel=1e-15)
    assert found.p_value == pytest.approx(case["p"], rel=1e-15)
    assert found.method == "exact"


def test_the_published_check_comes_out_to_the_last_digit() -> None:
    found = permutation_test([0.96, 0.91, 0.90, 0.85, 0.81, 0.80], [0.92, 0.94, 0.95, 0.81, 0.82, 0.86])
    assert found.p_value == 0.7218614718614719
    assert found.relabellings == 924


@given(SMALL, SMALL, st.sampled_from(SIDES), st.sampled_from(STATISTICS))
@settings(deadline=None, max_examples=200)
def test_p_is_the_share_of_all_relabellings_that_go_as_far(
    a: list[int], b: list[int], side: Any, statistic: Any
) -> None:
    found = permutation_test(a, b, statistic=statistic, alternative=side)
    assert found.p_value == float(by_enumeration(a, b, statistic=statistic, side=side))
    assert found.relabellings == comb(len(a) + len(b), len(a))


@given(SMALL, SMALL, st.sampled_from(SIDES))
@settings(deadline=None)
def test_numbers_without_a_common_decimal_are_listed(a: list[int], b: list[int], side: Any) -> None:
    third = [[x / 3 for x in values] for values in (a, b)]
    found = permutation_test(*third, statistic="difference", alternative=side)
    assert found.p_value == pytest.approx(float(by_enumeration(a, b, statistic="difference", side=side)), rel=1e-15)
    assert found.method == "exact"


@given(SMALL, SMALL, st.sampled_from(STATISTICS), st.randoms())
@settings(deadline=None)
def test_groups_can_change_places_and_values_their_order(a: list[int], b: list[int], statistic: Any, rnd: Any) -> None:
    first = permutation_test(a, b, statistic=statistic)
    assert permutation_test(b, a, statistic=statistic, alternative="less").p_value == first.p_value
    rnd.shuffle(a)
    assert permutation_test(a, b, statistic=statistic) == first


@given(SMALL, SMALL)
@settings(deadline=None)
def test_ranks_know_only_the_order(a: list[int], b: list[int]) -> None:
    assert permutation_test(np.exp(a), np.exp(b)).p_value == permutation_test(a, b).p_value


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("sizes", [(62, 10), (10, 62), (30, 31)])
def test_without_ties_it_is_the_test_of_mann_and_whitney(side: Any, sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(0.3, 1, sizes[0]), rng.normal(0, 1, sizes[1])
    found = permutation_test(a, b, alternative=side)
    expected = stats.mannwhitneyu(a, b, alternative=side, method="exact")
    assert found.method == "exact"
    assert found.value == pytest.approx(expected.statistic / (a.size * b.size), rel=1e-14)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-10)


def test_with_ties_the_exact_p_of_scipy_is_off_and_this_is_not() -> None:
    a, b = [3, 3, 4, 5, 5, 5], [1, 2, 3, 3, 4, 5]
    expected = float(by_enumeration(a, b, statistic="rank", side="greater"))
    assert permutation_test(a, b).p_value == expected
    assert stats.mannwhitneyu(a, b, alternative="greater", method="exact").pvalue != pytest.approx(expected, rel=0.01)


def test_differences_on_a_lattice_are_counted_for_a_whole_panel() -> None:
    rng = np.random.default_rng(5)
    a, b = np.round(rng.normal(0.82, 0.05, 10), 3), np.round(rng.normal(0.8, 0.05, 62), 3)
    exact = permutation_test(a, b, statistic="difference")
    assert (exact.method, exact.seed, exact.relabellings) == ("exact", None, comb(72, 10))
    drawn = permutation_test(a + np.pi * 1e-9 * a, b + np.pi * 1e-9 * b, statistic="difference", replicates=40_000)
    assert (drawn.method, drawn.seed, drawn.relabellings) == ("drawn", 0, 40_000)
    error = (exact.p_value * (1 - exact.p_value) / 40_000) ** 0.5
    assert abs(drawn.p_value - exact.p_value) < 4 * error


def test_drawn_relabellings_count_the_one_found_and_depend_on_the_seed_only() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(5, 1, 30), rng.normal(0, 1, 30)
    found = permutation_test(a, b, statistic="difference", replicates=999, seed=3)
    assert found.p_value == 1 / 1000
    other = [permutation_test(a[:20], a[10:] + 0.1, statistic="difference", replicates=999, seed=s) for s in (1, 1, 2)]
    assert other[0] == other[1]
    assert other[0].p_value != other[2].p_value


def test_if_sums_cannot_be_counted_nothing_is_claimed_to_be_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_permutation, "can_count_relabellings", lambda *_: False)
    a, b = list(range(20)), list(range(3, 23))
    assert permutation_test(a, b, replicates=100).method == "drawn"
    assert permutation_test(a[:5], b[:5]).method == "exact"


@pytest.mark.parametrize("size", [3, 5])
def test_p_cannot_be_smaller_than_one_relabelling(size: int) -> None:
    a, b = np.arange(size) + 10.0, np.arange(size)
    assert permutation_test(a, b).p_value == 1 / comb(2 * size, size)
    assert permutation_test(a, b, alternative="two-sided").p_value == 2 / comb(2 * size, size)


def test_decimals_keep_noise_from_breaking_ties() -> None:
    a, b = [0.1 + 0.2, 0.5], [0.3, 0.5]
    assert permutation_test(a, b).value > 0.5
    assert permutation_test(a, b, decimals=9).value == 0.5


def test_numbers_too_large_for_a_lattice_are_compared_nevertheless() -> None:
    a, b = [3e140, 2e140, 5e140], [1e140, 1.0]
    for statistic in STATISTICS:
        found = permutation_test(a, b, statistic=statistic)  # type: ignore[arg-type]
        assert (found.p_value, found.method) == (0.1, "exact")


@pytest.mark.parametrize("shift", [0.0, 1e3, -1e6, 1e8])
@pytest.mark.parametrize("side", get_args(Tail))
def test_differences_do_not_depend_on_where_the_values_begin(shift: float, side: Any) -> None:
    values = np.random.default_rng(3).normal(size=12) / 1024
    expected = permutation_test(values[:6], values[6:], statistic="difference", alternative=side).p_value
    moved = values + shift
    assert permutation_test(moved[:6], moved[6:], statistic="difference", alternative=side).p_value == expected


def test_the_last_bit_of_moved_values_breaks_no_tie() -> None:
    values = np.array([1, 2, 3, 4, 5, 6, 7, 8]) * 0.1234567891
    for shift in (0.0, 0.1, 1e5 / 3):
        found = permutation_test(values[4:] + shift, values[:4] + shift, statistic="difference", alternative="greater")
        assert found.p_value == 1 / 70
        found = permutation_test(values[1::2] + shift, values[::2] + shift, statistic="difference")
        assert found.p_value == pytest.approx(24 / 70)


def test_values_that_are_all_the_same_say_nothing() -> None:
    for statistic in STATISTICS:
        assert permutation_test([1.0, 1.0], [1.0, 1.0, 1.0], statistic=statistic).p_value == 1.0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("a", "b", "options", "complaint"),
    [
        ([], [np.nan, 1], {}, r"a has no values; b has nan at 0"),
        ([1, 2], [3, 1e300], {}, r"b has 1e\+300 at 1"),
        ([[1.0]], [1], {}, r"shape \(1, 1\)"),
        ([1], [2], {"statistic": "median"}, "statistic is one of"),
        ([1], [2], {"alternative": "better"}, "alternative is one of"),
        ([1], [2], {"decimals": 99}, "decimals"),
        ([1], [2], {"replicates": 0}, "at least 1"),
    ],
)
def test_what_cannot_be_compared_is_named(a: Any, b: Any, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        permutation_test(a, b, **options)


def test_it_reads_as_a_sentence_and_exports_json() -> None:
    found = permutation_test([3, 4, 5], [1, 2], alternative="two-sided")
    assert str(found) == (
        "P(a > b) + ½ P(a = b) = 1 for 3 values of a and 2 of b; permutation test over all 10 relabellings, two-sided: "
        "p = 0.2."
    )
    assert json.loads(json.dumps(found.to_dict()))["p_value"] == 0.2
    drawn = permutation_test(np.sqrt(range(20)), np.sqrt(range(30)), statistic="difference", replicates=10, seed=5)
    assert "10 drawn relabellings (seed 5)" in str(drawn)
