"""Kendall's tau of draws with the ranking on all cases, and who is better than whom how often."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from isocenter.ranking._agreement import kendall_draws, p_better
from isocenter.ranking._rank_draws import ranks_of

rankings = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 7), st.integers(1, 6)), elements=st.integers(1, 5).map(float)
)


def test_the_golden_correlations(golden_ranking: dict[str, Any]) -> None:
    golden = golden_ranking["correlations"]
    others = np.array([golden["b"], golden["c"], [1] * 8]).T
    found = kendall_draws(golden["a"], others)
    assert found.tau[:2] == pytest.approx([golden["kendall_ab"], golden["kendall_tau_b_ac"]], rel=1e-12)
    assert math.isnan(found.tau[2])
    assert found.undefined == 1


@settings(deadline=None)
@given(rankings)
def test_tau_is_that_of_scipy(ranks: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [stats.kendalltau(ranks[:, 0], column).statistic for column in ranks.T]
    np.testing.assert_allclose(kendall_draws(ranks[:, 0], ranks).tau, expected, rtol=0, atol=1e-12)


def test_tau_of_many_draws_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    full = rng.permutation(12).astype(float)
    ranks = ranks_of(full[:, np.newaxis] + rng.normal(0, 3, (12, 1300)).round(), better="lower", ties="average")
    expected = [stats.kendalltau(full, column).statistic for column in ranks.T]
    np.testing.assert_allclose(kendall_draws(full, ranks).tau, expected, rtol=0, atol=1e-12)


def test_undefined_draws_are_left_out_of_the_summary_and_counted() -> None:
    ranks = np.array([[1, 1, 2, 1], [2, 1, 1, 3], [3, 1, 3, 2]], float)
    found = kendall_draws([1, 2, 3], ranks)
    assert found.undefined == 1
    assert found.mean == pytest.approx((1 + 1 / 3 + 1 / 3) / 3)
    assert found.quantile(0.5) == pytest.approx(1 / 3)
    assert found.quantile(0.75) == pytest.approx(2 / 3)


def test_with_a_constant_ranking_nothing_is_defined() -> None:
    found = kendall_draws([1, 1], [[1, 2], [2, 1]])
    assert found.undefined == 2
    assert math.isnan(found.mean)
    assert math.isnan(found.quantile(0.5))


@settings(deadline=None)
@given(rankings)
def test_a_pair_is_better_more_often_or_half_of_the_ties(ranks: np.ndarray) -> None:
    less = (ranks[:, np.newaxis] < ranks).mean(axis=2)
    equal = (ranks[:, np.newaxis] == ranks).mean(axis=2)
    found = p_better(ranks)
    np.testing.assert_allclose(found, less + equal / 2, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found + found.T, 1.0, rtol=0, atol=1e-12)


def test_what_is_no_ranking_is_refused() -> None:
    with pytest.raises(ValueError, match="row 1, column 0 is nan"):
        p_better([[1.0], [math.nan]])
    with pytest.raises(ValueError, match="row 0, column 1 is inf"):
        kendall_draws([1, 2], [[1, math.inf], [2, 1]])
    with pytest.raises(ValueError, match="2 numbers"):
        kendall_draws([1, 2, 3], [[1], [2]])
    with pytest.raises(ValueError, match="at least 1 draw"):
        p_better(np.empty((2, 0)))
