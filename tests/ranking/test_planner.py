"""The planner: exact probabilities of small pilots, normal theory, limits, and what it says of its own error."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.ranking._planner import CasePlan, PlanRow, Simulated, plan_cases
from isocenter.ranking._rank_sets import rank_sets_of_cases

SMALL = np.random.default_rng(13).normal([[0.0], [0.4], [1.0], [2.5], [3.0]], 1.0, (5, 4))


def normal_pilot(seed: int, gaps: list[float], cases: int = 60) -> np.ndarray:
    found: np.ndarray = np.random.default_rng(seed).normal(np.negative(gaps)[:, np.newaxis], 1.0, (len(gaps), cases))
    return found


def exactly(pilot: np.ndarray, n: int) -> tuple[float, float, float, float]:
    """Over all draws of n cases: right winner, right top three, mean width of sets, possible winners."""
    cases = pilot.shape[1]
    truth = np.argsort(-pilot.mean(axis=1))
    total = np.zeros(4)
    for picks in itertools.combinations_with_replacement(range(cases), n):
        ways = math.factorial(n) // math.prod(math.factorial(picks.count(case)) for case in range(cases))
        order = np.argsort(-pilot[:, picks].mean(axis=1))
        sets = rank_sets_of_cases(pilot[:, picks], better="higher", draws=20_000)
        right = order[0] == truth[0], set(order[:3]) == set(truth[:3])
        total += ways * np.array([*right, (sets.high - sets.low + 1).mean(), sets.possible_winners.size])
    winner, top, width, winners = (total / cases**n).tolist()
    return winner, top, width, winners


def agree(found: Simulated, expected: float, errors: float = 4.0) -> bool:
    return abs(found.value - expected) <= errors * found.error


@pytest.mark.parametrize("n", [3, 8])
def test_a_row_is_the_mean_over_all_draws_of_cases(n: int) -> None:
    winner, top, width, winners = exactly(SMALL, n)
    (row,) = plan_cases(SMALL, better="higher", sizes=[n], trials=2000).rows
    assert 0.1 < winner < 0.9
    assert 0.1 < top < 0.9
    assert agree(row.winner, winner)
    assert agree(row.top, top)
    assert row.width.value == pytest.approx(width, abs=4 * row.width.error + 0.02)
    assert row.winners.value == pytest.approx(winners, abs=4 * row.winners.error + 0.02)


def test_two_teams_by_normal_theory() -> None:
    """Φ(√n·lead/SD of the paired differences)."""
    pilot = normal_pilot(1, [0.0, 0.3])
    difference = pilot[0] - pilot[1]
    plan = plan_cases(pilot, better="higher", sizes=[5, 20, 80], trials=500)
    for row in plan.rows:
        expected = NormalDist().cdf(math.sqrt(row.cases) * difference.mean() / difference.std(ddof=1))
        assert row.normal == pytest.approx(expected, abs=0.01)
        assert agree(row.winner, expected)
    needed = (NormalDist().inv_cdf(0.95) * difference.std(ddof=1) / difference.mean()) ** 2
    assert plan.cases_for(0.95).normal == pytest.approx(needed, rel=0.05)


def test_cases_are_paired() -> None:
    """What all teams find hard does not blur who is better."""
    pilot = normal_pilot(1, [0.0, 0.3])
    harder = pilot + np.random.default_rng(2).normal(0, 50, pilot.shape[1])
    one, other = (plan_cases(x, better="higher", sizes=[20], trials=200) for x in (pilot, harder))
    assert one.rows[0].winner == other.rows[0].winner
    assert one.cases_for(0.9).normal == other.cases_for(0.9).normal


def test_more_cases_tell_more() -> None:
    rows = plan_cases(normal_pilot(3, [0, 0.2, 0.4, 0.6, 0.8]), better="higher", sizes=[800, 10, 100], trials=200).rows
    assert [row.cases for row in rows] == [10, 100, 800]
    for name, sign in (("winner", 1), ("top", 1), ("width", -1), ("winners", -1)):
        values = [sign * getattr(row, name).value for row in rows]
        assert values == sorted(values)
        assert values[0] < values[-1]
    assert [row.normal for row in rows] == sorted(row.normal for row in rows)
    assert [row.beyond for row in rows] == [False, True, True]


def test_both_directions_are_one() -> None:
    pilot = normal_pilot(4, [0.0, 0.1, 0.4])
    higher, lower = (plan_cases(s * pilot, better=b, sizes=[30], trials=50) for s, b in BOTH)
    assert higher.rows == lower.rows
    assert higher.cases_for(0.9) == lower.cases_for(0.9)
    assert higher.best == lower.best == (int(pilot.mean(axis=1).argmax()),)


BOTH: list[tuple[int, Any]] = [(1, "higher"), (-1, "lower")]


def test_a_row_depends_on_its_size_and_seed_only() -> None:
    pilot = normal_pilot(5, [0.0, 0.1, 0.2])
    alone = plan_cases(pilot, better="higher", sizes=[40], trials=50, seed=7).rows[0]
    among = plan_cases(pilot, better="higher", sizes=[90, 40, 10, 40], trials=50, seed=7)
    assert among.rows[1] == alone
    assert len(among.rows) == 3
    assert plan_cases(pilot, better="higher", sizes=[40], trials=50, seed=8).rows[0] != alone


def test_more_trials_begin_with_the_same_ones() -> None:
    rows = [plan_cases(SMALL, better="higher", sizes=[3], trials=trials).rows[0] for trials in range(1, 25)]
    for name in ("winner", "top"):
        hits = [round(getattr(row, name).value * trials) for trials, row in enumerate(rows, start=1)]
        assert set(np.diff(hits).tolist()) == {0, 1}


@pytest.mark.slow
def test_the_error_is_that_of_another_seed() -> None:
    pilot = normal_pilot(6, [0.0, 0.15, 0.3, 0.3, 0.5])
    rows = [plan_cases(pilot, better="higher", sizes=[30], trials=100, seed=seed).rows[0] for seed in range(40)]
    for name in ("winner", "top", "width", "winners"):
        values = [getattr(row, name).value for row in rows]
        errors = [getattr(row, name).error for row in rows]
        assert np.std(values, ddof=1) == pytest.approx(np.mean(errors), rel=0.35)


def test_certainty_in_all_trials_still_has_an_error() -> None:
    (row,) = plan_cases(normal_pilot(7, [0.0, 9.0]), better="higher", sizes=[10], trials=96).rows
    assert row.winner == Simulated(1.0, pytest.approx(math.sqrt(0.98 * 0.02 / 96)))


def test_a_single_trial_has_no_error_of_a_mean() -> None:
    (row,) = plan_cases(SMALL, better="higher", sizes=[3], trials=1).rows
    assert math.isnan(row.width.error)
    assert row.winner.value in (0.0, 1.0)


def test_one_team_wins() -> None:
    plan = plan_cases(SMALL[:1], better="higher", sizes=[1, 5], trials=10)
    for row in plan.rows:
        assert (row.winner.value, row.normal, row.top.value, row.width.value, row.winners.value) == (1, 1, 1, 1, 1)
    assert plan.cases_for(0.99).normal == 1


def test_whoever_ties_with_the_best_of_the_pilot_is_a_right_winner() -> None:
    pilot = normal_pilot(8, [0.0, 0.5, 0.6])
    twice = np.vstack((pilot[1], pilot[0], pilot[2], pilot[0]))
    plan = plan_cases(twice, better="higher", sizes=[25], trials=200)
    assert plan.best == (1, 3)
    assert plan.rows[0].winner == plan_cases(pilot, better="higher", sizes=[25], trials=200).rows[0].winner


def test_a_draw_in_which_another_ties_for_the_first_place_is_not_right() -> None:
    """Of two cases the first team wins one and ties in the other: both are first when only the tie is drawn."""
    (row,) = plan_cases([[1.0, 0.0], [0.0, 0.0]], better="higher", sizes=[1], trials=2000).rows
    assert agree(row.winner, 0.5)


def test_ties_everywhere_make_everybody_right_and_nobody_certain() -> None:
    for pilot in (np.full((4, 10), 0.1), np.tile(normal_pilot(9, [0.0], 10), (4, 1))):
        plan = plan_cases(pilot, better="lower", sizes=[5, 50], trials=20)
        assert plan.best == (0, 1, 2, 3)
        for row in plan.rows:
            assert (row.winner.value, row.normal, row.width.value, row.winners.value) == (1, 1, 4, 4)


def test_constant_differences_are_right_at_once_but_never_tested() -> None:
    plan = plan_cases(np.repeat([[0.1], [0.7], [0.3]], 7, axis=1), better="lower", sizes=[1, 20], trials=20)
    assert plan.best == (0,)
    for row in plan.rows:
        assert (row.winner.value, row.normal, row.width.value) == (1, 1, 3)
    assert plan.cases_for(0.999).normal == 1


def test_weights_have_no_unit_and_a_case_of_weight_0_is_not_there() -> None:
    pilot = normal_pilot(10, [0.0, 0.2, 0.3], 30)
    plain = plan_cases(pilot, better="higher", sizes=[20], trials=100)
    alike = plan_cases(pilot, better="higher", sizes=[20], trials=100, weight=np.full(30, 4.0))
    more = np.column_stack((pilot, 1e6 * np.arange(3)))
    without = plan_cases(more, better="higher", sizes=[20], trials=100, weight=np.r_[np.ones(30), 0.0])
    assert plain.rows == alike.rows == without.rows
    assert without.pilot_cases == 30


def test_weights_decide_who_is_best() -> None:
    pilot = [[1.0, 0.0, 0.9], [0.0, 1.0, 0.2]]
    assert plan_cases(pilot, better="higher", sizes=[4], trials=5).best == (0,)
    plan = plan_cases(pilot, better="higher", sizes=[40], trials=400, weight=[1, 9, 1])
    assert plan.best == (1,)
    # Normal theory of a weighted mean is a linearisation; at 40 cases it holds.
    assert plan.rows[0].winner.value == pytest.approx(plan.rows[0].normal, abs=0.04)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_the_number_for_a_probability_is_the_first_that_reaches_it(seed: int, probability: float) -> None:
    pilot = normal_pilot(seed, [0.0, 0.3, 0.5], 40)
    needed = plan_cases(pilot, better="higher", sizes=[1], trials=1, seed=seed).cases_for(probability)
    if not 1 < needed.normal < 20_000:
        return
    sizes = [needed.normal - 1, needed.normal]
    before, at = plan_cases(pilot, better="higher", sizes=sizes, trials=1, seed=seed).rows
    assert before.normal < probability <= at.normal
    assert needed.beyond == (needed.normal > 40)


def plan_of(*probabilities: float) -> CasePlan:
    none = Simulated(0.0, 0.0)
    rows = tuple(
        PlanRow(10 * (i + 1), Simulated(p, 0.01), p, none, none, none, beyond=False)
        for i, p in enumerate(probabilities)
    )
    roots = np.linspace(0.0, 10.0, 1001)
    pilots = np.array([factor * roots for factor in np.linspace(0.5, 2.0, 21)])
    return CasePlan(rows, (0,), 10, 2, 100, 0, 0.95, roots, pilots, 0.8)


def test_a_number_of_cases_has_the_interval_of_the_pilots() -> None:
    needed = plan_of(0.7).cases_for(0.9)
    # √n is 9 in the pilot, and from 0.575 to 1.925 times that in the middle 90 % of its 21 resamples.
    assert (needed.low, needed.normal, needed.high) == (27, 82, 301)


@pytest.mark.slow
def test_the_interval_of_a_number_of_cases_holds_the_true_number() -> None:
    rng = np.random.default_rng(7)
    theta, sd = np.array([[0.80], [0.75], [0.70], [0.65], [0.60]]), 0.3
    noise = sd * rng.standard_normal((5, 100_000))
    roots = np.sort(((noise[1:] - noise[0]) / (theta[0] - theta[1:])).max(axis=0))
    truth = roots[90_000] ** 2
    held = 0
    for seed in range(60):
        pilot = rng.normal(theta, sd, (5, 40))
        needed = plan_cases(pilot, better="higher", sizes=[1], trials=1, seed=seed).cases_for(0.9)
        held += needed.low <= truth <= needed.high
    assert held >= 50  # 90 % promised; 60 pilots have fewer than 50 with a probability of 0.3 %


def test_the_best_of_a_clear_pilot_stays_the_best_and_that_of_a_close_one_does_not() -> None:
    rng = np.random.default_rng(2)
    clear, close = (
        plan_cases(rng.normal([[0.9], [low]], 0.1, (2, 30)), better="higher", sizes=[10], trials=2).same_best
        for low in (0.5, 0.895)
    )
    assert clear == 1.0
    assert close < 0.95


def test_a_size_counts_only_if_all_larger_ones_reach_the_probability_too() -> None:
    assert plan_of(0.7, 0.91, 0.89, 0.95, 0.99).cases_for(0.9).simulated == 40
    assert plan_of(0.95, 0.96).cases_for(0.9).simulated == 10
    assert plan_of(0.7, 0.8).cases_for(0.9).simulated is None
    assert plan_of(0.7).cases_for(0.9).normal == 81 + 1
    assert plan_of(0.7).cases_for(0.9).beyond
    assert not plan_of(0.7).cases_for(0.2).beyond


def test_trials_are_counted() -> None:
    told: list[tuple[int, int]] = []
    plan_cases(SMALL, better="higher", sizes=[2, 3], trials=4, progress=lambda done, total: told.append((done, total)))
    assert told == [(i, 8) for i in range(1, 9)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pilot": [[0.5, math.nan], [0.1, 0.2]]}, "values of the pilot are finite numbers; row 0, column 1 is nan"),
        ({"pilot": [[0.5], [0.1]]}, "at least 1 submission and 2 cases; found 2 and 1"),
        ({"pilot": np.empty((0, 5))}, "at least 1 submission and 2 cases; found 0 and 5"),
        ({"pilot": [0.5, 0.1]}, "are a matrix"),
        ({"weight": [1.0, 0.0, 0.0, 0.0]}, "found 5 and 1"),
        ({"weight": [1.0, -1.0, 1.0, 1.0]}, "case weights are numbers from 0"),
        ({"sizes": []}, "whole, from 1 to 65535; none given"),
        ({"sizes": [10, 0, -3]}, "0, -3 found"),
        ({"sizes": [2.5]}, "2.5 found"),
        ({"sizes": [65_536]}, "65536 found"),
        ({"trials": 0}, "not 0, 0.95 and 0"),
        ({"level": 1.0}, "not 10, 1.0 and 0"),
        ({"seed": -1}, "a seed from 0; not 10, 0.95 and -1"),
        ({"better": "most"}, "'higher' or 'lower'"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan_cases(**({"pilot": SMALL, "better": "higher", "sizes": [5], "trials": 10} | arguments))


@pytest.mark.parametrize("probability", [0.0, 1.0, math.nan, -1.0])
def test_a_probability_to_plan_for_is_within_0_and_1(probability: float) -> None:
    with pytest.raises(ValueError, match="within 0 and 1"):
        plan_of(0.5).cases_for(probability)
