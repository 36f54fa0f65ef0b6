"""Confidence sets of ranks: the procedure step by step, its limits, and how often the sets hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from isocenter.ranking import _rank_sets
from isocenter.ranking._rank_sets import RankSets, rank_sets, rank_sets_of_cases, rank_sets_of_draws
from isocenter.resampling.counts import resample_cases
from isocenter.resampling.estimates import resample_means

Array = np.ndarray[Any, Any]


def bounds(sets: RankSets) -> list[tuple[int, int]]:
    return list(zip(sets.low.tolist(), sets.high.tolist(), strict=True))


def plainly(theta: Array, covariance: Array, z: Array, level: float, pairs: list[tuple[int, int]]) -> Array:
    """The procedure as it is written down, with every pair in every draw kept in memory."""
    beats = np.zeros(covariance.shape, bool)
    sd = {(i, j): np.sqrt(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]) for i, j in pairs}
    while pairs:
        largest = np.max([(z[i] - z[j]) / sd[i, j] for i, j in pairs], axis=0)
        c = np.quantile(largest, level)
        found = [(i, j) for i, j in pairs if (theta[i] - theta[j]) / sd[i, j] > c]
        if not found:
            break
        for i, j in found:
            beats[i, j] = True
        pairs = [pair for pair in pairs if pair not in found]
    return beats


def scene(seed: int, size: int = 6) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(size, size)) + 1.0
    return rng.normal(0, 6, size), half @ half.T


@pytest.mark.parametrize("seed", range(5))
def test_joint_sets_are_those_of_the_plain_procedure(seed: int) -> None:
    theta, covariance = scene(seed)
    z = _rank_sets._normal(covariance, 3000, 0)
    pairs = [(i, j) for i in range(6) for j in range(6) if i != j]
    expected = plainly(theta, covariance, z, 0.9, pairs)
    found = rank_sets(theta, covariance, better="higher", level=0.9, draws=3000)
    assert (found.beats == expected).all()
    assert (found.loses_to == expected.T).all()
    assert 0 < expected.sum() < 15
    assert found.low.tolist() == (1 + expected.sum(axis=0)).tolist()
    assert found.high.tolist() == (6 - expected.sum(axis=1)).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_marginal_sets_are_those_of_the_plain_procedure(seed: int) -> None:
    theta, covariance = scene(seed)
    z = _rank_sets._normal(covariance, 3000, 0)
    found = rank_sets(theta, covariance, better="higher", level=0.9, joint=False, draws=3000)
    for i in range(6):
        pairs = [pair for j in range(6) if j != i for pair in ((i, j), (j, i))]
        expected = plainly(theta, covariance, z, 0.9, pairs)
        assert (found.beats[i] == expected[i]).all()
        assert (found.loses_to[i] == expected[:, i]).all()


def test_simulated_scores_have_the_covariance_also_where_it_is_singular() -> None:
    covariance = np.array([[4.0, 2.0, 2.0], [2.0, 1.0, 1.0], [2.0, 1.0, 1.0]])
    z = _rank_sets._normal(covariance, 100_000, 0)
    np.testing.assert_allclose(np.cov(z), covariance, rtol=0.02)
    np.testing.assert_allclose(z[1], z[2], atol=1e-6)


@pytest.mark.parametrize("size", [2, 3, 8])
def test_the_first_critical_value_is_that_of_the_studentised_range(size: int) -> None:
    """Equal and independent variances: only the outermost pair can differ, and does from Tukey's quantile on."""
    critical = stats.studentized_range.ppf(0.95, size, 100_000) / np.sqrt(2)
    for lead, apart in ((critical * 0.985, False), (critical * 1.015, True)):
        theta = np.zeros(size)
        theta[0], theta[-1] = lead / 2 * np.sqrt(2), -lead / 2 * np.sqrt(2)
        found = rank_sets(theta, np.eye(size), better="higher", draws=100_000)
        assert found.beats[0, -1] == apart


def test_pairs_that_are_decided_make_others_easier() -> None:
    """The third is far behind. Once that is found, c falls from 2.34 to 2.20, and a lead of 2.26 is enough."""
    apart = rank_sets([3.2, 0.0, -100.0], np.eye(3), better="higher")
    assert bounds(apart) == [(1, 1), (2, 2), (3, 3)]
    among_equals = rank_sets([3.2, 0.0, 0.0], np.eye(3), better="higher")
    assert bounds(among_equals) == [(1, 3), (1, 3), (1, 3)]


def test_lower_scores_may_be_better() -> None:
    theta, covariance = scene(1)
    higher, lower = (rank_sets(sign * theta, covariance, better=better) for sign, better in BOTH)
    assert (higher.beats == lower.beats).all()
    assert higher.order.tolist() == lower.order.tolist() == np.argsort(-theta).tolist()


BOTH: list[tuple[int, Any]] = [(1, "higher"), (-1, "lower")]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 7))
def test_joint_sets_hold_the_marginal_ones_and_those_the_ranks(seed: int, size: int) -> None:
    theta, covariance = scene(seed, size)
    joint, marginal = (rank_sets(theta, covariance, better="higher", joint=j, draws=500) for j in (True, False))
    rank = stats.rankdata(-theta, "min")
    assert (joint.low <= marginal.low).all()
    assert (marginal.low <= rank).all()
    assert (rank <= marginal.high).all()
    assert (marginal.high <= joint.high).all()


def test_copies_of_a_submission_are_tied_and_leave_the_others_alone() -> None:
    x = np.random.default_rng(0).normal([[0.0], [0.6], [1.2]], 1.0, (3, 50))
    twice = np.vstack((x, x[2], x[2]))
    found = rank_sets_of_cases(twice, better="higher")
    assert not found.beats[2:, 2:].any()
    assert found.low[2] == found.low[3] == found.low[4] == 1
    assert found.high[2] == found.high[3] == found.high[4] == 3
    assert found.beats[2, 0]


def test_a_constant_difference_has_no_variance_and_is_never_decided() -> None:
    x = np.random.default_rng(0).normal(size=40)
    found = rank_sets_of_cases([x, x + 5.0], better="higher")
    assert bounds(found) == [(1, 2), (1, 2)]
    assert found.reason == "no two submissions differ by more than a constant: there is nothing to test"
    assert found.order.tolist() == [1, 0]


@pytest.mark.parametrize("cases", [1, 3, 10, 49])
def test_constants_have_no_variance_though_their_means_are_rounded(cases: int) -> None:
    values = np.repeat([[0.1], [0.7], [1e6 / 3]], cases, axis=1)
    weight = np.linspace(0.1, 3, cases)
    assert (rank_sets_of_cases(values, better="higher").high == 3).all()
    assert (rank_sets_of_cases(values, better="higher", weight=weight).high == 3).all()
    draws = np.repeat(values, 3, axis=1)
    assert (rank_sets_of_draws(values[:, 0], draws, better="higher").high == 3).all()


def test_little_data_exclude_nothing_and_say_why() -> None:
    alone = rank_sets_of_cases([[0.3, 0.7]], better="higher")
    assert (bounds(alone), alone.reason, alone.groups()) == ([(1, 1)], "", ((0,),))
    one_case = rank_sets_of_cases([[0.3], [0.7], [0.5]], better="higher")
    assert bounds(one_case) == [(1, 3)] * 3
    assert one_case.reason == "one case has no variance"
    assert one_case.groups() == ((1, 2, 0),)
    weighted = rank_sets_of_cases([[0.3, 0.1], [0.7, 0.2]], better="lower", weight=[0, 2])
    assert weighted.reason == "one case has no variance"
    assert weighted.order.tolist() == [0, 1]
    constant = rank_sets_of_cases(np.full((3, 10), 0.1), better="higher")
    assert bounds(constant) == [(1, 3)] * 3
    assert constant.reason


def test_possible_winners_and_groups() -> None:
    """The first beats the third, which varies little; the fourth, though worse, varies too much to be told apart."""
    found = rank_sets([3.0, 2.5, 1.0, 0.5, -9.0], np.diag([0.05, 0.05, 0.05, 4.0, 0.05]), better="higher")
    assert bounds(found) == [(1, 3), (1, 3), (3, 4), (1, 4), (5, 5)]
    assert found.possible_winners.tolist() == [0, 1, 3]
    assert found.groups() == ((0, 1), (2, 3), (4,))


def test_a_group_is_compared_with_its_first() -> None:
    """The second cannot be told apart from the third, but the first can."""
    found = rank_sets([2.9, 1.45, 0.0], np.eye(3) / 2, better="higher")
    assert bounds(found) == [(1, 2), (1, 3), (2, 3)]
    assert found.groups() == ((0, 1), (2,))


def test_groups_are_in_the_order_of_the_scores() -> None:
    found = rank_sets([1.0, 9.0, 1.1, 9.1], np.eye(4) * 0.01, better="lower")
    assert found.groups() == ((0, 2), (1, 3))


def test_the_covariance_of_means() -> None:
    x = np.random.default_rng(5).normal(np.linspace(0, 1, 5).reshape(-1, 1), 1.0, (5, 40))
    expected = rank_sets(x.mean(axis=1), np.cov(x) / 40, better="higher", freedom=39)
    assert (rank_sets_of_cases(x, better="higher").beats == expected.beats).all()
    assert 0 < expected.beats.sum() < 10
    # A weight of 0 takes a case out, and weights have no unit.
    more = np.column_stack((x, 1e6 * np.arange(5)))
    weighted = rank_sets_of_cases(more, better="higher", weight=np.r_[np.full(40, 3.0), 0.0])
    assert (weighted.beats == expected.beats).all()


def test_the_covariance_of_draws() -> None:
    x = np.random.default_rng(5).normal(np.linspace(0, 1, 5).reshape(-1, 1), 1.0, (5, 200))
    scores = resample_means(x, resample_cases(200, replicates=5000, seed=0))
    found = rank_sets_of_draws(x.mean(axis=1), scores, better="higher", freedom=199)
    assert (found.beats == rank_sets_of_cases(x, better="higher").beats).all()
    assert 0 < found.beats.sum() < 10


def test_few_degrees_of_freedom_exclude_less() -> None:
    """Two submissions: the quantile of t with 4 degrees of freedom is 2.78, the normal one 1.96."""
    for lead, freedom, apart in ((2.7, None, True), (2.7, 4, False), (2.85, 4, True), (2.05, 1000, True)):
        found = rank_sets([lead, 0.0], np.eye(2) / 2, better="higher", freedom=freedom, draws=100_000)
        assert found.beats[0, 1] == apart


def test_scales_that_differ_widely_do_not_drown_each_other() -> None:
    covariance = np.diag([1e12, 1e-12, 1e-12])
    found = rank_sets([0.0, 2e-5, 0.0], covariance, better="higher")
    assert found.beats[1, 2]
    assert bounds(found)[0] == (1, 3)


def test_the_same_seed_gives_the_same_sets() -> None:
    theta, covariance = scene(3)
    first, second = (rank_sets(theta, covariance, better="higher", draws=300, seed=7) for _ in range(2))
    assert (first.beats == second.beats).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"theta": [1.0, np.nan]}, r"scores are finite numbers; position 1 is nan"),
        ({"theta": [1.0, 2.0, 3.0]}, r"scores are 2 numbers; found an array of shape \(3,\)"),
        ({"covariance": [[1.0, 0.0], [0.0, np.inf]]}, r"row 1, column 1 is inf"),
        ({"covariance": [[1.0, 0.5], [0.2, 1.0]]}, "symmetric"),
        ({"covariance": [[1.0, 2.0], [2.0, 1.0]]}, "negative eigenvalue"),
        ({"covariance": [[1.0, 0.0]]}, "square matrix"),
        ({"covariance": np.empty((0, 0)), "theta": []}, "at least 1 submission"),
        ({"level": 0.4}, "level from 0.5"),
        ({"level": 1.0}, "level from 0.5"),
        ({"draws": 0}, "at least 1 draw"),
        ({"better": "most"}, "'higher' or 'lower'"),
        ({"freedom": 0}, "degree of freedom"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rank_sets(**({"theta": [1.0, 2.0], "covariance": np.eye(2), "better": "higher"} | arguments))


def test_values_and_draws_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="row 0, column 1 is nan"):
        rank_sets_of_cases([[1.0, np.nan], [1.0, 2.0]], better="higher")
    with pytest.raises(ValueError, match="'higher' or 'lower'"):
        rank_sets_of_cases([[1.0], [2.0]], better="most")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 1 case"):
        rank_sets_of_cases(np.empty((3, 0)), better="higher")
    with pytest.raises(ValueError, match="at least 2 draws, not 1"):
        rank_sets_of_draws([1.0, 2.0], [[1.0], [2.0]], better="higher")


CORRELATED = np.diag(np.linspace(0.5, 2, 8)) @ (0.4 * np.eye(8) + 0.6) @ np.diag(np.linspace(0.5, 2, 8))


@pytest.mark.parametrize(
    ("truth", "covariance"),
    [
        pytest.param(np.zeros(8), np.eye(8), id="all equal"),
        pytest.param(np.r_[0.5, 0.5, np.zeros(6)], np.eye(8), id="two equal leaders"),
        pytest.param(np.linspace(1, 0, 8), np.eye(8), id="spread"),
        pytest.param(np.r_[0.3, 0.3, np.linspace(0.3, 0, 6)], CORRELATED, id="heteroscedastic and correlated"),
    ],
)
def test_joint_sets_hold_all_true_ranks_as_often_as_they_say(truth: Array, covariance: Array) -> None:
    """At 95 %, 8 submissions and 60 cases: in at least 94 % of 1500 simulations. Equals hold all ranks they share."""
    rng, trials, held = np.random.default_rng(1), 1500, 0
    root = np.linalg.cholesky(covariance)
    low, high = stats.rankdata(-truth, "min"), stats.rankdata(-truth, "max")
    for _ in range(trials):
        x = truth[:, np.newaxis] + root @ rng.normal(size=(8, 60))
        found = rank_sets_of_cases(x, better="higher", draws=1000)
        held += bool(((found.low <= low) & (high <= found.high)).all())
    assert held / trials >= 0.94
