"""Two rankings of the same teams: OpenKBP's printed table, public against hidden boards, limits."""

from __future__ import annotations

import csv
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from isocenter.ranking._shakeup import ShakeUp, compare_rankings, shake_up

GOLDEN = Path(__file__).parents[1] / "golden" / "ranking"


def rows_of(name: str) -> list[dict[str, str]]:
    with (GOLDEN / name).open() as stream:
        return list(csv.DictReader(stream))


def column(rows: list[dict[str, str]], name: str) -> list[float]:
    return [float(row[name]) for row in rows]


@pytest.mark.parametrize("stream", ["dose", "dvh"])
def test_the_printed_ranks_of_openkbp_follow_from_its_printed_scores(
    stream: str, golden_ranking: dict[str, Any]
) -> None:
    rows, golden = rows_of("openkbp_table5.csv"), golden_ranking["openkbp_table5"][stream]
    found = compare_rankings(column(rows, f"{stream}_mae"), column(rows, f"{stream}_mse"), better="lower")
    assert found.first.tolist() == column(rows, f"{stream}_mae_rank") == golden["mae_rank"]
    assert found.second.tolist() == column(rows, f"{stream}_mse_rank") == golden["mse_rank"]
    assert found.differences.tolist() == column(rows, f"{stream}_rank_diff") == golden["rank_difference_mae_minus_mse"]
    assert len(rows) == 28
    assert found.mean_abs == pytest.approx(golden["mean_abs_rank_difference"], rel=1e-12)
    assert found.max_abs == golden["max_abs_rank_difference"]
    assert found.spearman == pytest.approx(golden["spearman_rho"], rel=1e-12)
    assert round(found.spearman, 3) == golden["spearman_rho_paper"]
    assert found.kendall == pytest.approx(golden["kendall_tau_b"], rel=1e-12)
    assert found.spearman_p < 1e-19


def test_over_both_streams_of_openkbp_a_rank_moves_by_about_one(golden_ranking: dict[str, Any]) -> None:
    rows = rows_of("openkbp_table5.csv")
    both = [
        compare_rankings(column(rows, f"{name}_mae"), column(rows, f"{name}_mse"), better="lower")
        for name in ("dose", "dvh")
    ]
    pooled = golden_ranking["openkbp_table5"]["pooled_mean_abs_rank_difference"]
    assert np.abs([found.differences for found in both]).mean() == pytest.approx(pooled, rel=1e-12)
    across = compare_rankings(column(rows, "dose_mae"), column(rows, "dvh_mae"), better="lower")
    expected = golden_ranking["openkbp_table5"]["dose_vs_dvh_mae"]["spearman_rho"]
    assert across.spearman == pytest.approx(expected, rel=1e-12)


def lung(phase: int, public: str, hidden: str) -> ShakeUp:
    rows = [r for r in rows_of("lung_etable3.csv") if r["phase"] == str(phase) and r["algorithm"] != "Ensemble"]
    boards = [{row["algorithm"]: float(row[f"{name}_s_mean"]) for row in rows} for name in (public, hidden)]
    return shake_up(*boards, better="higher")


@pytest.mark.parametrize("phase", [1, 2, 3])
def test_validation_against_holdout_of_the_lung_contest(phase: int, golden_ranking: dict[str, Any]) -> None:
    golden, found = golden_ranking["lung_etable3"][f"phase{phase}"], lung(phase, "validation", "holdout")
    assert [int(team) for team in found.teams] == golden["place"]
    assert found.comparison.first.tolist() == golden["rank_validation_s_min"]
    assert found.comparison.second.tolist() == golden["rank_holdout_s_min"]
    assert found.comparison.kendall == pytest.approx(golden["kendall_tau_b_validation_vs_holdout_s"], rel=1e-12)
    assert found.comparison.spearman == pytest.approx(golden["spearman_validation_vs_holdout_s"], rel=1e-12)


def test_holdout_against_external_cases_of_the_lung_contest(golden_ranking: dict[str, Any]) -> None:
    golden, found = golden_ranking["lung_etable3"]["phase3"], lung(3, "holdout", "external")
    by_team = dict(zip(found.teams, found.comparison.second.tolist(), strict=True))
    assert [by_team[str(team)] for team in golden["place"]] == golden["rank_external_s_min"]
    assert found.comparison.kendall == pytest.approx(golden["kendall_tau_b_holdout_vs_external_s"], rel=1e-12)


def test_the_winner_of_phase_2_was_third_before_and_the_field_drew_together() -> None:
    found = lung(2, "validation", "holdout")
    assert found.comparison.differences.tolist() == [2, 0, -1, 1, -2]
    # By hand, in hundredths: Σ(x − 53.4)(y − 55.6) = 5.8 and Σ(x − 53.4)² = 13.2.
    assert found.slope == pytest.approx(5.8 / 13.2, rel=1e-9)
    assert found.intercept == pytest.approx(0.556 - 5.8 / 13.2 * 0.534, rel=1e-9)
    assert found.shift == pytest.approx(0.022, rel=1e-9)


def test_the_golden_correlations(golden_ranking: dict[str, Any]) -> None:
    golden = golden_ranking["correlations"]
    ab = compare_rankings(golden["a"], golden["b"], better="lower")
    ac = compare_rankings(golden["a"], golden["c"], better="lower")
    assert (ab.kendall, ab.spearman) == pytest.approx((golden["kendall_ab"], golden["spearman_ab"]), rel=1e-12)
    tied = golden["kendall_tau_b_ac"], golden["spearman_ac_average_ties"]
    assert (ac.kendall, ac.spearman) == pytest.approx(tied, rel=1e-12)
    assert np.abs(ab.differences).sum() == golden["spearman_footrule_ab"]


scores = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12)


@given(scores)
def test_correlations_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    first, second = np.array(pairs, float).T
    found = compare_rankings(first, second, better="higher")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rho = stats.spearmanr(first, second) if len(pairs) > 2 else None
        tau = stats.kendalltau(first, second).statistic
    assert found.kendall == pytest.approx(tau, abs=1e-12, nan_ok=True)
    if rho is None:
        assert math.isnan(found.spearman_p)
    else:
        assert found.spearman == pytest.approx(rho.statistic, abs=1e-12, nan_ok=True)
        if len(pairs) > 8:  # of fewer, all orders are counted instead
            assert found.spearman_p == pytest.approx(rho.pvalue, abs=1e-9, nan_ok=True)


@given(scores)
def test_the_other_way_round_the_differences_change_their_sign(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    one = compare_rankings(first, second, better="lower", ties="average")
    other = compare_rankings(second, first, better="lower", ties="average")
    assert (one.differences == -other.differences).all()
    assert one.differences.sum() == 0
    assert (one.mean_abs, one.max_abs) == (other.mean_abs, other.max_abs)


def test_directions_may_differ() -> None:
    found = compare_rankings([0.9, 0.8, 0.7], [1.0, 2.0, 3.0], better=("higher", "lower"))
    assert (found.max_abs, found.spearman, found.kendall, found.spearman_p) == (0.0, 1.0, 1.0, 1 / 3)


def test_rounding_does_not_make_a_difference() -> None:
    found = compare_rankings([0.3, 0.1 + 0.2, 0.4], [0.3, 0.3, 0.4], better="lower")
    assert found.differences.tolist() == [0, 0, 0]
    assert (found.spearman, found.kendall) == pytest.approx((1.0, 1.0), abs=1e-12)


def test_ties_everywhere_leave_correlations_undefined_never_0_or_1() -> None:
    found = compare_rankings([1.0, 1.0, 1.0], [1.0, 2.0, 3.0], better="lower")
    assert found.first.tolist() == [1, 1, 1]
    assert all(map(math.isnan, (found.spearman, found.spearman_p, found.kendall)))


def test_one_team_moves_nowhere() -> None:
    found = shake_up({"a": 0.5}, {"a": 0.4}, better="higher")
    assert found.comparison.differences.tolist() == [0]
    assert found.shift == pytest.approx(-0.1)
    assert all(map(math.isnan, (found.slope, found.intercept, found.comparison.kendall)))


def test_a_hidden_board_that_repeats_the_public_one_has_slope_1() -> None:
    board = {"a": 0.1, "b": 0.7, "c": 0.3}
    found = shake_up(board, board, better="higher")
    assert (found.slope, found.intercept, found.shift) == pytest.approx((1.0, 0.0, 0.0), abs=1e-12)
    assert found.teams == ("b", "c", "a")


def test_regression_to_the_mean_is_a_slope_below_1() -> None:
    """Equal spread of skill and luck: half of a public lead is luck, and the expected slope is ½."""
    rng = np.random.default_rng(0)
    skill = rng.normal(size=2000)
    public, hidden = ({str(i): x for i, x in enumerate(skill + rng.normal(size=2000))} for _ in range(2))
    assert shake_up(public, hidden, better="higher").slope == pytest.approx(0.5, abs=0.05)


def test_equal_public_scores_have_no_slope_though_their_mean_is_rounded() -> None:
    found = shake_up(dict.fromkeys("abc", 0.1), {"a": 0.1, "b": 0.2, "c": 0.3}, better="lower")
    assert math.isnan(found.slope)
    assert found.comparison.differences.tolist() == [0, -1, -2]


def test_who_stands_on_one_board_only_is_named_and_ranks_nobody() -> None:
    found = shake_up({"gone": 0.9, "a": 0.8, "b": 0.7}, {"a": 0.6, "b": 0.7, "new": 0.9}, better="higher")
    assert (found.only_public, found.only_hidden) == (("gone",), ("new",))
    assert found.teams == ("b", "a")
    assert found.comparison.first.tolist() == [2, 1]


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ValueError, match="no team is on both boards: a on the public one, nobody on the hidden one"):
        shake_up({"a": 0.5}, {}, better="higher")
    with pytest.raises(ValueError, match="'a' has nan on the public board; 'b' has inf on the hidden board"):
        shake_up({"a": math.nan, "b": 0.5}, {"a": 0.5, "b": math.inf}, better="higher")
    with pytest.raises(ValueError, match="second scores are finite numbers; position 1 is nan"):
        compare_rankings([1.0, 2.0], [1.0, math.nan], better="lower")
    with pytest.raises(ValueError, match="second scores are 2 numbers"):
        compare_rankings([1.0, 2.0], [1.0], better="lower")
    with pytest.raises(ValueError, match="no submissions"):
        compare_rankings([], [], better="lower")
    with pytest.raises(ValueError, match="'higher' or 'lower', not 'most'"):
        compare_rankings([1.0], [1.0], better=("lower", "most"))  # type: ignore[arg-type]


@pytest.mark.parametrize(("size", "p"), [(3, 2 / 6), (4, 2 / 24), (6, 2 / 720)])
def test_the_p_value_of_few_rankings_counts_their_orders(size: int, p: float) -> None:
    found = compare_rankings(range(size), range(size), better="lower")
    assert found.spearman == 1.0
    assert found.spearman_p == pytest.approx(p, rel=1e-12)


def test_the_p_value_of_few_rankings_with_ties_is_that_of_all_permutations() -> None:
    from scipy import stats

    a, b = [1.0, 2.0, 2.0, 4.0, 5.0, 6.0], [2.0, 1.0, 3.0, 3.0, 5.0, 4.0]
    found = compare_rankings(a, b, better="lower")
    exact = stats.permutation_test(
        (b,),
        lambda y: abs(stats.spearmanr(a, y).statistic),
        permutation_type="pairings",
        n_resamples=1e6,
        alternative="greater",
    )
    assert found.spearman_p == pytest.approx(exact.pvalue, rel=1e-9)
