from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.stats import SignFlip, sign_flip
from isocenter.stats._differences import Alternative

SIDES = get_args(Alternative)
STATISTICS = ("mean", "median")
REACHED = {"better": lambda x: x, "worse": lambda x: -x, "two-sided": abs}


def by_enumeration(d: list[int], cluster: list[int], *, statistic: str, side: str) -> float:
    """The share of all flips of clusters that go as far, in fractions."""

    def of(values: list[int]) -> Fraction:
        ordered, middle = sorted(values), len(values) // 2
        if statistic == "mean":
            return Fraction(sum(values))
        return Fraction(ordered[middle] + ordered[~middle], 2)

    labels, reached = sorted(set(cluster)), REACHED[side]
    flips = [dict(zip(labels, signs, strict=True)) for signs in product((1, -1), repeat=len(labels))]
    flipped = [of([sign[c] * x for x, c in zip(d, cluster, strict=True)]) for sign in flips]
    return sum(reached(x) >= reached(of(d)) for x in flipped) / len(flipped)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=7), st.sampled_from(SIDES), st.sampled_from(STATISTICS))
@settings(deadline=None)
def test_p_is_the_share_of_all_flips_that_go_as_far(d: list[int], side: Any, statistic: Any) -> None:
    expected = by_enumeration(d, list(range(len(d))), statistic=statistic, side=side)
    for decimals in (0, None):
        found = sign_flip(
            d, [0] * len(d), better="higher", decimals=decimals, alternative=side, statistic=statistic, exact=True
        )
        assert found.p == pytest.approx(expected, rel=1e-12)
        assert found.n == np.count_nonzero(d)
        assert found.statistic == pytest.approx(np.mean(d) if statistic == "mean" else np.median(d))


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 3)), min_size=1, max_size=9),
    st.sampled_from(SIDES),
    st.sampled_from(STATISTICS),
)
@settings(deadline=None)
def test_clusters_flip_together(members: list[tuple[int, int]], side: Any, statistic: Any) -> None:
    d, cluster = (list(column) for column in zip(*members, strict=True))
    expected = by_enumeration(d, cluster, statistic=statistic, side=side)
    options: dict[str, Any] = {"alternative": side, "statistic": statistic, "cluster": [f"p{c}" for c in cluster]}
    for decimals in (0, None):
        found = sign_flip([0] * len(d), d, better="lower", decimals=decimals, exact=True, **options)
        assert found.p == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("side", SIDES)
def test_on_a_lattice_a_hundred_cases_are_exact(side: Any) -> None:
    k = np.random.default_rng(2).integers(-60, 80, 100)
    sizes, width = np.abs(k).tolist(), 101
    packed = 1  # how many flips have each sum of positive parts, in 101 bits each: ∏(1 + x^size) with x = 2¹⁰¹
    for size in sizes:
        packed += packed << (width * size)
    total, bar = sum(sizes), REACHED[side](int(k.sum()))
    many = [(packed >> (width * part)) % (1 << width) for part in range(total + 1)]
    assert sum(many) == 2**100
    far = sum(count for part, count in enumerate(many) if REACHED[side](2 * part - total) >= bar)
    expected = Fraction(far, 2**100)
    found = sign_flip(k / 1000, 0 * k, better="higher", decimals=3, alternative=side)
    assert found.method == "exact"
    assert found.p == pytest.approx(float(expected), rel=1e-11)


def test_more_decimals_than_scores_have_cost_nothing() -> None:
    k = np.random.default_rng(2).integers(-60, 80, 100)
    coarse, fine = (sign_flip(k / 100, 0 * k, better="higher", decimals=n, exact=True) for n in (2, 12))
    assert (fine.p, fine.method) == (coarse.p, "exact")


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_drawn_flips_come_close_to_all_of_them(side: Any, statistic: Any) -> None:
    d = np.random.default_rng(3).integers(-6, 9, 15)
    options: dict[str, Any] = {"better": "higher", "decimals": 0, "alternative": side, "statistic": statistic}
    exact = sign_flip(d, 0 * d, **options)
    drawn = sign_flip(d, 0 * d, exact=False, replicates=20_000, **options)
    assert (exact.method, drawn.method) == ("exact", "drawn")
    assert drawn.p == pytest.approx(exact.p, abs=4 * (exact.p * (1 - exact.p) / 20_000) ** 0.5 + 1e-4)


def test_drawn_flips_are_never_impossible() -> None:
    d = np.arange(1.0, 61)  # all one way: 2⁻⁶⁰
    for replicates in (1, 99, 20_000):
        found = sign_flip(d, 0 * d, better="higher", decimals=None, replicates=replicates)
        assert found == SignFlip(30.5, 60, 1 / (replicates + 1), "drawn", replicates=replicates, seed=0)
    assert sign_flip(d, 0 * d, better="higher", decimals=0).p == 2.0**-60
    assert sign_flip(d, 0 * d, better="lower", decimals=None).p == 1.0


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("exact", ["auto", False])
@pytest.mark.parametrize("clustered", [False, True])
def test_the_order_of_cases_and_the_names_of_clusters_do_not_matter(
    statistic: Any, exact: Any, clustered: bool
) -> None:
    rng = np.random.default_rng(4)
    a, b, cluster = rng.normal(0.2, 1, 60), rng.normal(0, 1, 60), rng.integers(0, 25, 60)
    order, names = rng.permutation(60), rng.permutation(25)

    def run(a: np.ndarray, b: np.ndarray, cluster: np.ndarray, seed: int = 0) -> SignFlip:
        return sign_flip(
            a,
            b,
            better="higher",
            decimals=None,
            statistic=statistic,
            exact=exact,
            seed=seed,
            replicates=500,
            cluster=cluster if clustered else None,
        )

    assert run(a, b, cluster) == run(a[order], b[order], names[cluster[order]])
    assert run(a, b, cluster).p != run(a, b, cluster, seed=1).p


def test_the_difference_is_a_minus_b_and_the_side_what_is_better() -> None:
    a, b = [1.0, 2.0, 3.0], [0.5, 1.0, 1.0]
    up, down = (sign_flip(a, b, better=better, decimals=1) for better in ("higher", "lower"))
    assert (up.statistic, down.statistic) == (pytest.approx(3.5 / 3), pytest.approx(3.5 / 3))
    assert (up.p, down.p) == (1 / 8, 1.0)


def test_sums_that_are_equal_but_for_rounding_are_equal() -> None:
    d = [0.1, 0.2, -0.3]  # 5.6e-17 in one order, 0 in another
    assert sign_flip(d, [0, 0, 0], better="higher", decimals=None, alternative="two-sided").p == 1
    assert sign_flip(d, [0, 0, 0], better="lower", decimals=None).p == 5 / 8
    assert sign_flip(d, [0, 0, 0], better="higher", decimals=None).p == 5 / 8


def test_where_no_flip_changes_anything_nothing_is_found() -> None:
    assert sign_flip([1, 2], [1, 2], better="higher", decimals=0) == SignFlip(0.0, 0, 1.0, "none")
    for statistic in STATISTICS:
        options: dict[str, Any] = {"statistic": statistic, "cluster": ["p", "p"]}
        assert sign_flip([1, 2], [2, 1], better="higher", decimals=0, **options).p == 1


def test_differences_too_many_or_too_fine_to_count_are_drawn() -> None:
    rng = np.random.default_rng(5)
    fine, few = rng.normal(0, 1e3, 100), rng.normal(0, 1e3, 20)
    assert sign_flip(fine, 0 * fine, better="higher", decimals=6, replicates=9).method == "drawn"
    assert sign_flip(few, 0 * few, better="higher", decimals=6, replicates=9).method == "exact"
    huge = np.where(np.arange(21) % 2, 9e13, 7e13)
    assert sign_flip(huge, 0 * huge, better="higher", decimals=0, replicates=9).method == "exact"  # 9 and 7
    assert sign_flip(10 * huge, 0 * huge, better="higher", decimals=0, replicates=9).method == "drawn"  # above 2⁵³
    with pytest.raises(ValueError, match="all flips of 100 signs are too many, and of 20 the most"):
        sign_flip(fine, 0 * fine, better="higher", decimals=6, exact=True)
    with pytest.raises(ValueError, match="all flips of 21 signs"):
        sign_flip(fine[:21], 0 * fine[:21], better="higher", decimals=2, statistic="median", exact=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": [1]}, "the numbers of cases differ: a 1, b 2"),
        ({"statistic": "t"}, "statistic is one of 'mean', 'median'"),
        ({"alternative": "up"}, "not 'up'"),
        ({"exact": "never"}, "not 'never'"),
        ({"replicates": 0}, "at least 1 flip is drawn, not 0"),
        ({"cluster": ["p1"]}, "one label per case: 2 of them, not 1"),
        ({"cluster": ["p1", None]}, "those at 1 "),
        ({"cluster": [np.nan, 1.0]}, "those at 0 "),
        ({"cluster": np.array([np.nan, 1.0], np.float32)}, "those at 0 "),
    ],
)
def test_what_cannot_be_flipped_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sign_flip(**{"a": [1, 2], "b": [2, 2], "better": "higher", "decimals": 0} | changes)
