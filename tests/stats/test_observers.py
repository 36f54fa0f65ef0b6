"""Agreement between observers, from a table of pairs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from itertools import permutations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter import scores
from isocenter.metrics import catalogue
from isocenter.stats import SYMMETRIC, between_observers

Score = Callable[[str, str, str], float | None]
SIX = tuple("ABCDEF")
CASES = tuple(f"case{i:02}" for i in range(21))


def table(
    score: Score, *, metric: str, observers: tuple[str, ...] = SIX, cases: tuple[str, ...] = CASES
) -> pl.DataFrame:
    rows = [
        scores.Row(case, f"{a}|{b}", metric, score(a, b, case)) for a, b in permutations(observers, 2) for case in cases
    ]
    return scores.frame(rows)


def asymmetric(a: str, b: str, case: str) -> float:
    """Some number that depends on the order."""
    return (ord(a) * 7 + ord(b) * 3 + int(case[4:]) * 11) % 89 / 88


def symmetric(a: str, b: str, case: str) -> float:
    return asymmetric(min(a, b), max(a, b), case)


def test_six_observers_are_thirty_ordered_pairs_for_a_metric_that_asks_who_is_the_truth() -> None:
    (found,) = between_observers(table(asymmetric, metric="s_score")).values()
    expected = [asymmetric(a, b, case) for a, b in permutations(SIX, 2) for case in CASES]
    assert (found.metric, found.observers, found.pairs, found.cases) == ("s_score", SIX, 30, 21)
    assert found.mean == pytest.approx(statistics.mean(expected), rel=1e-12)
    assert found.standard_deviation == pytest.approx(statistics.stdev(expected), rel=1e-12)


def test_and_fifteen_pairs_for_one_that_does_not() -> None:
    (found,) = between_observers(table(symmetric, metric="dice")).values()
    pairs = [(a, b) for a, b in permutations(SIX, 2) if a < b]
    expected = [[symmetric(a, b, case) for case in CASES] for a, b in pairs]
    flat = [score for of_pair in expected for score in of_pair]
    assert found.pairs == 15
    assert found.mean == pytest.approx(statistics.mean(flat), rel=1e-12)
    assert found.standard_deviation == pytest.approx(statistics.stdev(flat), rel=1e-12)
    of_pairs = statistics.stdev(statistics.mean(of_pair) for of_pair in expected)
    assert found.standard_deviation_of_pairs == pytest.approx(of_pairs, rel=1e-12)


def test_a_symmetric_metric_may_be_measured_once_or_twice_per_pair() -> None:
    twice = table(symmetric, metric="jaccard")
    once = twice.filter(pl.col("part").is_in([f"{b}|{a}" for a, b in permutations(SIX, 2) if a < b]))
    assert once.height * 2 == twice.height
    assert between_observers(once) == between_observers(twice)


def test_each_metric_is_summarised_by_itself_and_observations_are_left_aside() -> None:
    both = pl.concat([table(symmetric, metric="dice"), table(asymmetric, metric="recall")])
    others = scores.frame([scores.Row("case00", "", "dice", 0.1), scores.Row("case00", "A|B", "resampled", 0.5)])
    found = between_observers(pl.concat([both, others]))
    assert [(name, summary.pairs) for name, summary in found.items()] == [("dice", 15), ("recall", 30)]
    assert found == between_observers(both)
    assert between_observers(others) == {}


@given(st.lists(st.floats(0.1, 10), min_size=3, max_size=3), st.floats(0.1, 10))
def test_case_weights_weigh_cases_and_only_their_ratio_counts(weights: list[float], factor: float) -> None:
    cases = CASES[:3]
    plain = table(asymmetric, metric="s_score", cases=cases)
    weight_of = dict(zip(cases, weights, strict=True))
    weighted = plain.with_columns(weight=pl.col("case").replace_strict(weight_of))
    (found,) = between_observers(weighted).values()
    by_case = [statistics.mean(asymmetric(a, b, case) for a, b in permutations(SIX, 2)) for case in cases]
    expected = math.fsum(w * m for w, m in zip(weights, by_case, strict=True)) / math.fsum(weights)
    assert found.mean == pytest.approx(expected, rel=1e-9)
    of_pairs = [
        math.fsum(weight_of[case] * asymmetric(a, b, case) for case in cases) / math.fsum(weights)
        for a, b in permutations(SIX, 2)
    ]
    assert found.standard_deviation_of_pairs == pytest.approx(statistics.stdev(of_pairs), rel=1e-9)
    (again,) = between_observers(weighted.with_columns(pl.col("weight") * factor)).values()
    assert again.standard_deviation == pytest.approx(found.standard_deviation, rel=1e-9)
    assert again.standard_deviation_of_pairs == pytest.approx(found.standard_deviation_of_pairs, rel=1e-9)


def test_an_integer_weight_moves_mean_and_deviation_as_copies_would() -> None:
    cases = CASES[:4]
    plain = table(asymmetric, metric="s_score", cases=cases)
    (found,) = between_observers(plain.with_columns(weight=1.0 + 2.0 * (pl.col("case") == cases[0]))).values()
    copies = [
        asymmetric(a, b, case)
        for a, b in permutations(SIX, 2)
        for case in cases
        for _ in range(3 if case == cases[0] else 1)
    ]
    assert found.mean == pytest.approx(statistics.mean(copies), rel=1e-12)
    n = 30 * 4
    assert found.standard_deviation == pytest.approx(statistics.pstdev(copies) * math.sqrt(n / (n - 1)), rel=1e-12)


def test_two_observers_have_one_pair_and_no_spread_of_pairs() -> None:
    (found,) = between_observers(table(symmetric, metric="dice", observers=("A", "B"))).values()
    assert (found.pairs, found.cases) == (1, 21)
    assert math.isnan(found.standard_deviation_of_pairs)
    (single,) = between_observers(table(symmetric, metric="dice", observers=("A", "B"), cases=CASES[:1])).values()
    assert math.isnan(single.standard_deviation)
    assert single.mean == symmetric("A", "B", CASES[0])


def test_a_pair_that_lacks_a_case_is_named() -> None:
    full = table(asymmetric, metric="s_score")
    holed = full.filter(~((pl.col("part") == "C|B") & (pl.col("case") == "case07")))
    with pytest.raises(ValueError, match=r"s_score of C\|B is missing in case 'case07'"):
        between_observers(holed)
    with pytest.raises(ValueError, match=r"s_score of B\|A is missing"):
        between_observers(full.filter(pl.col("part") != "B|A"))


def test_a_value_that_could_not_be_measured_is_named() -> None:
    holed = table(lambda a, b, case: None if (a, b, case) == ("A", "D", "case03") else 0.5, metric="recall")
    with pytest.raises(ValueError, match=r"recall of A\|D is undefined in case 'case03'"):
        between_observers(holed)


def test_a_metric_that_is_not_symmetric_is_found_out() -> None:
    with pytest.raises(ValueError, match="s_score is said to be symmetric, but is"):
        between_observers(table(asymmetric, metric="s_score"), symmetric={"s_score"})


@pytest.mark.parametrize("part", ["A|", "|B", "A|A", "A|B|C"])
def test_what_is_no_pair_is_refused(part: str) -> None:
    with pytest.raises(ValueError, match="no pair of observers"):
        between_observers(scores.frame([scores.Row("case00", part, "dice", 0.5)]))


def test_observers_are_compared_within_one_submission() -> None:
    single = table(symmetric, metric="dice").select(pl.lit("study").alias("submission"), pl.all())
    assert between_observers(single)["dice"].pairs == 15
    other = single.with_columns(submission=pl.lit("another"))
    with pytest.raises(ValueError, match="several submissions"):
        between_observers(pl.concat([single, other]))


def test_every_symmetric_metric_is_in_the_catalogue() -> None:
    assert set(catalogue.names()) >= SYMMETRIC
