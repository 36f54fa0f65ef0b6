"""Progress of teams over their submissions: golden curves, three improvement factors, changes of the lead."""

from __future__ import annotations

import csv
import math
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from isocenter.ranking._progress import LeadChange, lead_changes, normalised_progress

GOLDEN = Path(__file__).parents[1] / "golden" / "ranking"


@pytest.fixture(scope="module")
def submissions() -> list[tuple[str, int, float]]:
    with (GOLDEN / "nsc_submissions.csv").open() as stream:
        return [(row["team"], int(row["submission"]), float(row["dose_score"])) for row in csv.DictReader(stream)]


def test_the_golden_curves(submissions: list[tuple[str, int, float]], golden_ranking: dict[str, Any]) -> None:
    golden = golden_ranking["nsc"]
    found = normalised_progress(submissions, better="lower")
    assert found.shares == pytest.approx(golden["grid"], rel=1e-12)
    assert list(found.teams) == golden["included_teams"]
    assert {team: list(seen) for team, seen in found.seen.items()} == golden["k_seen"]
    assert dict(zip(found.teams, found.curves.tolist(), strict=True)) == golden["best_so_far"]
    for name, key in (("mean", "mean"), ("low", "ci95_t_low"), ("high", "ci95_t_high"), ("best", "best_overall")):
        assert getattr(found, name) == pytest.approx(golden[key], rel=1e-12)
    assert list(found.best_team) == golden["best_team"]


def test_the_golden_improvement_factors(
    submissions: list[tuple[str, int, float]], golden_ranking: dict[str, Any]
) -> None:
    golden = golden_ranking["nsc"]
    found = normalised_progress(submissions, better="lower").improvement
    ratio_of_means = golden["improvement_factor_ratio_of_means_first_submission_to_best"]
    assert found.ratio_of_means == pytest.approx(ratio_of_means, rel=1e-12)
    assert found.mean_of_ratios == pytest.approx(golden["improvement_factor_mean_of_ratios"], rel=1e-12)
    assert found.along_curve == pytest.approx(golden["improvement_factor_grid_first_to_last_mean"], rel=1e-12)


def test_a_team_with_exactly_twenty_submissions_is_named_and_left_out(
    submissions: list[tuple[str, int, float]],
) -> None:
    assert normalised_progress(submissions, better="lower").excluded == {"x": 20}


def test_the_order_of_the_rows_is_of_no_consequence(submissions: list[tuple[str, int, float]]) -> None:
    mixed = random.Random(3).sample(submissions, len(submissions))
    first, second = (normalised_progress(rows, better="lower") for rows in (submissions, mixed))
    assert (first.curves == second.curves).all()
    assert lead_changes(submissions, better="lower") == lead_changes(mixed, better="lower")


def test_submissions_are_counted_in_whole_numbers() -> None:
    """Point 14 of 20 of 90 submissions is after 63 of them; 0.7 · 90 is 62.99999999999999."""
    found = normalised_progress([("a", i, 90.0 - i) for i in range(90)], better="lower")
    assert found.seen["a"][13] == 63
    assert found.curves[0, 13] == 90.0 - 62


@given(
    st.dictionaries(st.sampled_from("abcd"), st.lists(st.integers(1, 50), min_size=5, max_size=30), min_size=1),
    st.integers(1, 6),
    st.sampled_from(["higher", "lower"]),
)
def test_points_are_the_best_of_what_was_seen(scores: dict[str, list[int]], steps: int, better: Any) -> None:
    best = max if better == "higher" else min
    rows = [(team, at, float(value)) for team, values in scores.items() for at, value in enumerate(values)]
    found = normalised_progress(rows, better=better, least=steps - 1, steps=steps)
    assert set(found.teams) | set(found.excluded) == set(scores)
    for team, curve in zip(found.teams, found.curves.tolist(), strict=True):
        values = scores[team]
        assert curve == [best(values[: i * len(values) // steps]) for i in range(1, steps + 1)]
        assert curve[-1] == best(values)
    if found.teams:
        assert found.best.tolist() == [best(column) for column in found.curves.T.tolist()]
        owners = [found.curves[found.teams.index(team), i] for i, team in enumerate(found.best_team)]
        assert owners == found.best.tolist()


@given(st.lists(st.lists(st.floats(1, 100), min_size=3, max_size=3), min_size=2, max_size=6))
def test_the_interval_is_that_of_student(values: list[list[float]]) -> None:
    rows = [(str(team), at, value) for team, found in enumerate(values) for at, value in enumerate(found)]
    found = normalised_progress(rows, better="lower", least=2, steps=3)
    last = found.curves[:, -1]
    half = stats.t.ppf(0.975, len(last) - 1) * stats.sem(last)
    assert (found.low[-1], found.high[-1]) == pytest.approx((last.mean() - half, last.mean() + half), abs=1e-9)


def test_a_single_team_has_a_mean_and_no_interval() -> None:
    found = normalised_progress([("a", i, 5.0) for i in range(25)], better="higher")
    assert (found.mean == 5.0).all()
    assert np.isnan(found.low).all()
    assert np.isnan(found.high).all()
    assert found.improvement.mean_of_ratios == 1.0


def test_without_a_team_that_submitted_enough_there_is_no_curve_but_everybody_is_named() -> None:
    found = normalised_progress([("a", 1, 0.5), ("b", 2, 0.6), ("a", 3, 0.7)], better="higher")
    assert (found.teams, found.excluded, found.best_team) == ((), {"a": 2, "b": 1}, ())
    assert np.isnan(found.mean).all()
    assert np.isnan(found.best).all()
    assert math.isnan(found.improvement.ratio_of_means)


def test_improvement_is_above_1_in_either_direction() -> None:
    lower = normalised_progress([("a", i, s) for i, s in enumerate((8, 4, 2))], better="lower", least=2, steps=3)
    higher = normalised_progress([("a", i, s) for i, s in enumerate((2, 4, 8))], better="higher", least=2, steps=3)
    assert lower.improvement == higher.improvement
    assert lower.improvement.mean_of_ratios == 4.0


def test_there_is_no_factor_from_or_to_scores_that_are_not_above_zero() -> None:
    found = normalised_progress([("a", i, s) for i, s in enumerate((3, 1, 0))], better="lower", least=2, steps=3)
    assert math.isnan(found.improvement.mean_of_ratios)
    assert math.isnan(found.improvement.ratio_of_means)
    assert math.isnan(found.improvement.along_curve)


def test_of_one_moment_what_is_given_first_was_made_first() -> None:
    rows = [("a", 1, 4.0), ("a", 0, 9.0), ("a", 1, 3.0)]
    assert normalised_progress(rows, better="lower", least=2, steps=3).curves.tolist() == [[9.0, 4.0, 3.0]]
    assert normalised_progress(rows[::-1], better="lower", least=2, steps=3).curves.tolist() == [[9.0, 3.0, 3.0]]


def test_equal_curves_belong_to_the_first_name() -> None:
    rows = [(team, i, 1.0) for team in "ba" for i in range(21)]
    assert set(normalised_progress(rows, better="lower").best_team) == {"a"}


def test_the_first_to_lead_is_no_change_and_ties_do_not_change_hands() -> None:
    rows = [("a", 1, 0.5), ("b", 2, 0.5), ("b", 3, 0.3 + 0.3), ("a", 4, 0.6), ("a", 5, 0.1 + 0.5), ("c", 6, 0.7)]
    assert lead_changes(rows, better="higher") == (LeadChange(3, "b", "a", 0.6), LeadChange(6, "c", "b", 0.7))


def test_rounding_does_not_take_the_lead() -> None:
    assert lead_changes([("a", 1, 0.3), ("b", 2, 0.1 + 0.2)], better="higher") == ()
    assert len(lead_changes([("a", 1, 0.3), ("b", 2, 0.1 + 0.2)], better="higher", tolerance=0.0)) == 1


def test_who_leads_already_raises_the_bar() -> None:
    rows = [("a", 1, 0.5), ("a", 2, 0.7), ("b", 3, 0.6), ("b", 4, 0.8)]
    assert lead_changes(rows, better="higher") == (LeadChange(4, "b", "a", 0.8),)


def test_of_one_moment_only_the_best_takes_the_lead() -> None:
    start = [("a", 1, 5.0)]
    together = [("c", 2, 4.0), ("b", 2, 3.0), ("d", 2, 3.0)]
    assert lead_changes(start + together, better="lower") == (LeadChange(2, "b", "a", 3.0),)
    assert lead_changes(start + together[::-1], better="lower") == (LeadChange(2, "b", "a", 3.0),)
    # Whoever leads and is as good as the best of that moment still leads.
    assert lead_changes([*start, *together, ("a", 2, 3.0)], better="lower") == ()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), min_size=1, max_size=20))
def test_leads_are_those_of_a_walk_through_time(rows: list[tuple[str, int]]) -> None:
    holder, record, expected = None, -1, []
    for team, score in rows:
        if score > record:
            expected += [team] if holder not in (None, team) else []
            holder, record = team, score
    found = lead_changes([(team, at, float(score)) for at, (team, score) in enumerate(rows)], better="higher")
    assert [change.team for change in found] == expected
    assert [change.score for change in found] == sorted({change.score for change in found})


def test_moments_may_be_times() -> None:
    start = datetime(2020, 6, 22, tzinfo=UTC)
    rows = [("b", start + timedelta(days=1), 2.0), ("a", start, 3.0)]
    assert lead_changes(rows, better="lower") == (LeadChange(start + timedelta(days=1), "b", "a", 2.0),)


@pytest.mark.parametrize("use", [normalised_progress, lead_changes])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no submissions"),
        ([("a", 1, 0.5), ("b", 2, math.nan)], r"submission 2 \('b' at 2\) has the score nan \(1 of 2\)"),
        ([("a", 1, math.inf)], r"submission 1 \('a' at 1\) has the score inf"),
        ([("a", math.nan, 0.5)], r"submission 1 \('a' at nan\)"),
        ([("", 1, 0.5)], r"submission 1 \(''"),
        ([("a", i, math.nan) for i in range(9)], r"… \(9 of 9\)"),
        ([("a", 1, 0.5), ("a", datetime(2020, 1, 1), 0.5)], "no common order"),
        ([("a", datetime(2020, 1, 1, tzinfo=UTC), 0.5), ("a", datetime(2020, 1, 1), 0.5)], "no common order"),
    ],
)
def test_what_cannot_be_used_is_named(use: Any, rows: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        use(rows, better="lower")


def test_directions_and_points_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="'higher' or 'lower', not 'most'"):
        lead_changes([("a", 1, 0.5)], better="most")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="more than 19 submissions for a curve of 20 points, not 18"):
        normalised_progress([("a", 1, 0.5)], better="lower", least=18)
    with pytest.raises(ValueError, match="at least 1 point, not 0"):
        normalised_progress([("a", 1, 0.5)], better="lower", steps=0)
