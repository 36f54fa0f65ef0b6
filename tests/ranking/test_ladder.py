"""The ladder: when a shown score moves, what is shown, and what it does to a board's optimism."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from isocenter.ranking._ladder import Ladder, Shown, ladder_scores, rounded

FIXED = Ladder(step=0.1, better="lower")
FREE = Ladder(step=None, better="lower")

losses = hnp.arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(2, 6)), elements=st.integers(0, 20).map(float))


def test_the_first_submission_is_always_shown() -> None:
    assert FIXED.show(None, [0.52, 0.58]) == Shown(0.6, updated=True)
    assert FREE.show(None, [0.52, 0.58]) == Shown(0.55, updated=True)


def test_a_fixed_step_is_compared_with_what_is_shown_and_not_with_what_is_behind_it() -> None:
    """Shown is 0.6 for a mean of 0.64: 0.52 is a step below the mean, but not below what is shown."""
    assert FIXED.show([0.64], [0.52]) == Shown(0.6, updated=False)
    assert FIXED.show([0.64], [0.48]) == Shown(0.5, updated=True)


def test_a_gain_of_exactly_a_step_is_not_enough_though_rounding_says_more() -> None:
    assert 0.6 - 0.5 < 0.1 < 0.4 - 0.3
    for before, after in ((0.6, 0.5), (0.4, 0.3), (0.8, 0.7), (0.2, 0.1)):
        assert not FIXED.show([before], [after]).updated
        assert FIXED.show([before], [after - 1e-6]).updated


def test_without_a_step_the_gain_has_to_exceed_the_standard_error_of_the_paired_difference() -> None:
    before = np.array([0.5, 0.7, 0.2, 0.9])
    spread = np.array([0.1, -0.1, 0.1, -0.1])
    error = stats.sem(spread)
    assert not FREE.show(before, before + spread - error + 1e-6).updated
    assert FREE.show(before, before + spread - error - 1e-6) == Shown(pytest.approx(0.575 - error - 1e-6), updated=True)


def test_what_all_cases_share_does_not_hide_a_gain() -> None:
    """Cases differ by 100, the submissions in every case by 0.01: the paired difference has no error at all."""
    before = np.array([0.0, 50.0, 100.0])
    assert FREE.show(before, before - 0.01).updated
    assert not FREE.show(before, before).updated
    assert not FREE.show(before, before[::-1] + np.array([1e-12, 0, 0])).updated


def test_higher_scores_may_be_better() -> None:
    up = Ladder(step=None, better="higher")
    assert up.show([0.5, 0.6], [0.7, 0.8]).updated
    assert not up.show([0.7, 0.8], [0.5, 0.6]).updated
    assert Ladder(step=0.1, better="higher").show([0.5], [0.61]) == Shown(0.6, updated=True)


@given(losses, st.sampled_from([None, 0.25, 1.0, 3.0]), st.booleans())
def test_shown_scores_never_fall_back_and_move_only_when_they_are_updated(
    values: np.ndarray, step: float | None, higher: bool
) -> None:
    found = ladder_scores(values, Ladder(step=step, better="higher" if higher else "lower"))
    gains = np.diff(found.shown) * (1 if higher else -1)
    assert (gains >= 0).all()
    assert found.updated[0]
    assert (found.updated[1:] | (gains == 0)).all()
    assert found.updates == found.updated.sum()


@given(losses, st.sampled_from([None, 0.25, 1.0]))
def test_both_directions_are_one_rule(values: np.ndarray, step: float | None) -> None:
    lower, higher = ladder_scores(values, Ladder(step, "lower")), ladder_scores(-values, Ladder(step, "higher"))
    assert (lower.updated == higher.updated).all()
    assert (lower.shown == -higher.shown).all()


@given(losses)
def test_the_parameter_free_ladder_is_that_of_the_paper_but_for_rounding(values: np.ndarray) -> None:
    best, shown = values[0], values[0].mean()
    expected = [shown]
    for new in values[1:]:
        error = np.std(new - best, ddof=1) / math.sqrt(best.size)
        if new.mean() < shown - error - 1e-7:
            best, shown = new, new.mean()
        expected.append(shown)
    assert ladder_scores(values, FREE).shown == pytest.approx(expected, abs=1e-12)


@given(losses)
def test_the_fixed_ladder_is_that_of_the_paper(values: np.ndarray) -> None:
    shown, expected = math.inf, []
    for new in values:
        if new.mean() < shown - 2.0 - 1e-7:
            shown = 2.0 * math.floor(new.mean() / 2.0 + 0.5)
        expected.append(shown)
    assert ladder_scores(values, Ladder(step=2.0, better="lower")).shown.tolist() == expected


def test_a_ladder_overstates_less_than_the_best_of_all_and_moves_less_often() -> None:
    """40 submissions of equal skill on 40 cases with an SD of 0.3: all that is gained is luck.

    The best of 40 such means is expected at 2.16 · 0.3/√40 = 0.102, after 1 + 1/2 + … + 1/40 = 4.28 records.
    """
    rng = np.random.default_rng(20)
    ladders = {"free": Ladder(None, "higher"), "fixed": Ladder(0.067, "higher")}
    best, records = [], []
    shown: dict[str, list[float]] = {name: [] for name in ladders}
    updates: dict[str, list[int]] = {name: [] for name in ladders}
    for _ in range(200):
        values = rng.normal(0.0, 0.3, (40, 40))
        so_far = np.maximum.accumulate(values.mean(axis=1))
        best.append(so_far[-1])
        records.append(np.unique(so_far).size)
        for name, ladder in ladders.items():
            found = ladder_scores(values, ladder)
            shown[name].append(found.shown[-1])
            updates[name].append(found.updates)
    assert np.mean(best) == pytest.approx(0.102, abs=0.005)
    assert np.mean(records) == pytest.approx(4.28, abs=0.4)
    for name in ladders:
        assert np.mean(shown[name]) == pytest.approx(0.08, abs=0.006)
        assert np.mean(updates[name]) == pytest.approx(1.9, abs=0.2)


def test_a_real_improvement_is_shown() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(0.0, 0.3, (20, 100)) + np.linspace(1.0, 0.0, 20)[:, np.newaxis]
    found = ladder_scores(values, FREE)
    assert found.shown[-1] < 0.1
    assert found.updates > 8


def test_nothing_submitted_shows_nothing() -> None:
    found = ladder_scores(np.empty((0, 5)), FREE)
    assert (found.shown.size, found.updates) == (0, 0)


@pytest.mark.parametrize(
    ("ladder", "previous", "new", "message"),
    [
        (FREE, None, [0.5], r"in each of 2 cases or more; found an array of shape \(1,\)"),
        (FIXED, None, [], r"in each of 1 cases or more; found an array of shape \(0,\)"),
        (FIXED, None, [[0.5]], r"shape \(1, 1\)"),
        (FIXED, None, [0.5, math.nan], "values of the new submission are finite numbers; position 1 is nan"),
        (FIXED, [0.5, math.inf], [0.5, 0.5], "best submission so far are finite numbers; position 1 is inf"),
        (FIXED, [0.5], [0.5, 0.5], "best submission so far are 2 numbers"),
    ],
)
def test_what_cannot_be_shown_is_named(ladder: Ladder, previous: Any, new: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ladder.show(previous, new)


def test_values_of_submissions_are_named_by_row_and_column() -> None:
    with pytest.raises(ValueError, match="row 1, column 0 is nan"):
        ladder_scores([[0.5, 0.5], [math.nan, 0.5]], FREE)


@pytest.mark.parametrize("step", [0.0, -0.1, math.nan, math.inf])
def test_a_step_is_a_number_above_0(step: float) -> None:
    with pytest.raises(ValueError, match="a step is a number above 0"):
        Ladder(step=step, better="lower")


def test_a_direction_is_higher_or_lower() -> None:
    with pytest.raises(ValueError, match="not 'most'"):
        Ladder(step=None, better="most")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("score", "decimals", "shown"),
    [
        (2.675, 2, 2.68),  # in binary 2.67499…, and 2.67 for f"{score:.2f}"
        (0.125, 2, 0.13),  # halves to even would give 0.12
        (-0.125, 2, -0.13),
        (0.5, 0, 1.0),
        (1e22, 3, 1e22),
        (5e-324, 15, 0.0),
        (0.1 + 0.2, 15, 0.3),
    ],
)
def test_scores_are_rounded_as_they_are_written(score: float, decimals: int, shown: float) -> None:
    assert rounded(score, decimals) == shown


@given(st.floats(-1e6, 1e6), st.integers(0, 15))
def test_rounding_is_that_of_exact_decimals(score: float, decimals: int) -> None:
    exact = Decimal(repr(score)).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)
    assert rounded(score, decimals) == float(exact)
    assert rounded(rounded(score, decimals), decimals) == rounded(score, decimals)
    assert math.copysign(1.0, rounded(-0.0, decimals)) == 1.0


@pytest.mark.parametrize(("score", "decimals"), [(math.nan, 2), (math.inf, 2), (0.5, -1), (0.5, 16)])
def test_what_has_no_decimals_is_refused(score: float, decimals: int) -> None:
    with pytest.raises(ValueError, match="0 to 15 decimals"):
        rounded(score, decimals)
