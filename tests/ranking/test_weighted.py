"""Weighted mean of ranks: who competes, who wins, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.metrics import Metric, catalogue
from isocenter.ranking import Disqualify, FixedValue, WorstPossible
from isocenter.ranking.rules.weighted_ranks import Limit, WeightedRanks
from isocenter.scores import Row, frame

for name, better in (("beam", "lower"), ("idd", "lower"), ("plan", "lower"), ("gamma", "higher"), ("dvh", "lower")):
    catalogue.register(Metric(f"test_{name}", "", better, (0.0, math.inf), 3, "for tests"))
catalogue.register(Metric("test_time", "s", "lower", (0.0, math.inf), 3, "for tests"))

METRICS = ("test_beam", "test_idd", "test_plan", "test_gamma", "test_dvh", "test_time")
RULE = WeightedRanks(
    metrics=tuple((name, 2.0 if name == "test_time" else 1.0) for name in METRICS),
    missing=Disqualify(),
    given=("test_time",),
    exclude=(Limit("test_time", 1.0),),
    tie_breaks=("test_time", "test_plan", "test_dvh"),
)
# Made up: on these the winner depends on how ties are ranked, and on when the slow team is left out.
TEAMS = {
    "alpha": (0.05, 0.002, 0.015, 94.0, 0.06, 0.31),
    "bravo": (0.02, 0.014, 0.035, 94.0, 0.03, 0.09),
    "charlie": (0.03, 0.006, 0.035, 99.0, 0.02, 0.55),
    "delta": (0.01, 0.004, 0.030, 98.0, 0.02, 0.31),
    "echo": (0.02, 0.008, 0.020, 99.0, 0.05, 1.20),
    "foxtrot": (0.04, 0.010, 0.035, 96.0, 0.02, 0.31),
    "golf": (0.05, 0.002, 0.015, 97.0, 0.06, 0.04),
    "hotel": (0.02, 0.004, 0.030, 93.0, 0.05, 0.31),
}


def table(values: Mapping[str, float | None], *, cases: int = 1) -> pl.DataFrame:
    """A team's table with the same values in every case; run time once for the whole submission."""
    rows = []
    for metric, value in values.items():
        if metric == "test_time":
            rows += [Row("", "", metric, value)]
        else:
            rows += [Row(f"case{i}", "", metric, value) for i in range(cases)]
    return frame(rows)


def together(teams: Mapping[str, Mapping[str, float | None]], **more: Any) -> pl.DataFrame:
    return pl.concat([table(v, **more).select(pl.lit(t).alias("submission"), pl.all()) for t, v in teams.items()])


def made_up(*leave_out: str) -> pl.DataFrame:
    return together({t: dict(zip(METRICS, v, strict=True)) for t, v in TEAMS.items() if t not in leave_out})


# Golden ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", ["min", "average"])
def test_the_golden_board(ties: Any, golden_ranking: dict[str, Any]) -> None:
    expected = golden_ranking["doserad_like"][f"ties_{ties}"]
    rule = replace(RULE, ties=ties)
    board, ranks = rule.rank(made_up()), rule.metric_ranks(made_up())
    for i, team in enumerate(expected["teams"]):
        assert board[team].score == pytest.approx(expected["weighted_mean_rank"][i], rel=1e-14)
        assert board[team].rank == expected["final_rank_after_tiebreak"][i]
        golden = ("beam_mae", "idd", "plan_mae", "gamma", "dvh", "runtime")
        assert list(ranks[team].values()) == [expected["per_metric_rank"][metric][i] for metric in golden]
    assert [row.submission for row in board if row.rank is None] == ["echo"]


def test_a_published_row() -> None:
    """Ranks 3, 5, 5, 4 and 2, and first by run time, gave a mean position of 3.00."""
    others = {
        f"other{i}": dict(zip(METRICS, (v[0], v[1], v[2], 100 - v[3], v[4], 0.5 + i / 100), strict=True))
        for i, v in enumerate([(1, 1, 1, 1, 1), (2, 2, 2, 2, 9), (9, 3, 3, 3, 9), (9, 4, 4, 9, 9)])
    }
    team = dict(zip(METRICS, (3, 5, 5, 100 - 4, 2, 0.1), strict=True))
    scores = together({**others, "team": team})
    assert list(RULE.metric_ranks(scores)["team"].values()) == [3, 5, 5, 4, 2, 1]
    assert RULE.rank(scores)["team"].score == 3.0


# Who competes ---------------------------------------------------------------------------------------------------------


def test_who_is_beyond_a_limit_is_left_out_before_ranking_and_stays_visible() -> None:
    board, without = RULE.rank(made_up()), RULE.rank(made_up("echo"))
    assert {row.submission: (row.score, row.rank) for row in without} == {
        row.submission: (row.score, row.rank) for row in board if row.submission != "echo"
    }
    last = board.rows[-1]
    assert (last.submission, last.score, last.rank, last.disqualified) == ("echo", None, None, False)
    assert "echo is excluded: test_time 1.2 s, the limit is test_time of 1 s or more" in board.notes


def test_leaving_it_out_afterwards_would_crown_another() -> None:
    """With average ties, as the golden numbers have it."""
    lenient = replace(RULE, exclude=(), ties="average")
    wrong = [row.submission for row in lenient.rank(made_up()) if row.submission != "echo"]
    right = [row.submission for row in replace(RULE, ties="average").rank(made_up()) if row.rank is not None]
    assert wrong[0] == "delta"
    assert right[0] == "golf"


@pytest.mark.parametrize(
    ("at", "value", "excluded"),
    [
        ("excluded", 1.0, True),
        ("allowed", 1.0, False),
        ("excluded", 0.999, False),
        ("allowed", 1.001, True),
        ("excluded", 1.0 - 1e-15, True),  # as a fit may give it
        ("allowed", 1.0 + 1e-15, False),
    ],
)
def test_the_limit_itself_is_excluded_or_allowed_as_the_rule_says(at: Any, value: float, excluded: bool) -> None:
    rule = replace(RULE, exclude=(Limit("test_time", 1.0, at=at),))
    scores = together({"team": dict(zip(METRICS, (1, 1, 1, 1, 1, value), strict=True))})
    assert (rule.rank(scores)["team"].rank is None) == excluded


def test_a_limit_knows_from_the_catalogue_which_side_is_beyond() -> None:
    gamma = Limit("test_gamma", 90.0)
    assert [gamma.excludes(value) for value in (89.0, 90.0, 91.0)] == [True, True, False]
    assert str(gamma) == "test_gamma of 90 or less"
    assert str(Limit("test_time", 1.0, at="allowed")) == "test_time of more than 1 s"


def test_the_disqualified_move_nobody_and_are_unlisted() -> None:
    best = dict(zip(METRICS, (0.0, 0.0, 0.0, 100.0, 0.0, 0.01), strict=True))
    broken = frame(
        [Row("case0", "", m, None) for m in METRICS[:5]]
        + [Row("case0", "", "failed", 1.0), Row("", "", "test_time", best["test_time"])]
    )
    scores = pl.concat([made_up(), broken.select(pl.lit("zulu").alias("submission"), pl.all())])
    board = RULE.rank(scores)
    assert [row.submission for row in board.unlisted] == ["zulu"]
    assert board["zulu"].failed == 1
    assert [row.rank for row in board] == [row.rank for row in RULE.rank(made_up())]


def test_benchmarks_and_organisers_have_the_score_they_would_have_and_move_nobody() -> None:
    alone = RULE.rank(made_up("golf"))
    beside = RULE.rank(made_up(), roles={"golf": "benchmark"})
    assert {row.submission: (row.score, row.rank) for row in alone} == {
        row.submission: (row.score, row.rank) for row in beside if row.submission != "golf"
    }
    assert beside["golf"].rank is None
    assert beside["golf"].score == RULE.rank(made_up())["golf"].score
    scores = [row.score for row in beside if row.score is not None]
    assert scores == sorted(scores)


def test_a_benchmark_beyond_the_limit_is_scored_and_not_called_excluded() -> None:
    board = RULE.rank(made_up(), roles={"echo": "benchmark"})
    assert board["echo"].score is not None
    assert not any("excluded" in note for note in board.notes)


def test_a_benchmark_without_a_run_time_is_listed_without_a_score() -> None:
    scores = made_up().filter(~((pl.col("submission") == "golf") & (pl.col("metric") == "test_time")))
    board = RULE.rank(scores, roles={"golf": "benchmark"})
    assert (board["golf"].score, board["golf"].rank) == (None, None)
    assert "golf has no score: there is no test_time of it" in board.notes


def test_missing_cases_may_count_as_a_value_instead() -> None:
    rule = replace(RULE, missing=FixedValue(50.0))
    good = {t: dict(zip(METRICS, (1, 1, 1, 99, 1, 0.1), strict=True)) for t in ("one", "two")}
    scores = together(good, cases=2).filter(~((pl.col("submission") == "two") & (pl.col("case") == "case1")))
    board = rule.rank(scores)
    assert (board["two"].rank, board["two"].missing) == (2, 1)
    assert rule.metric_ranks(scores)["two"] == dict.fromkeys(METRICS[:5], 2.0) | {"test_time": 1.0}


# Ties -----------------------------------------------------------------------------------------------------------------


def tied(*last: tuple[float, float, float]) -> pl.DataFrame:
    """Teams whose weighted ranks are equal; each has its own (plan, dvh, time)."""
    rows = {}
    for i, (plan, dvh, time) in enumerate(last):
        rows[f"team{i}"] = dict(zip(METRICS, (1.0, 1.0, plan, 99.0, dvh, time), strict=True))
    return together(rows)


def test_equal_scores_are_decided_by_the_first_tie_break_that_tells_them_apart() -> None:
    rule = replace(RULE, metrics=tuple((name, 1.0) for name in METRICS))
    board = rule.rank(tied((1.0, 1.0, 0.2), (2.0, 1.0, 0.1)))
    assert board["team0"].score == board["team1"].score
    assert (board["team0"].rank, board["team1"].rank) == (2, 1)
    assert [row.submission for row in board] == ["team1", "team0"]
    assert board.notes == ("equal scores of team1, team0: in this order by test_time",)
    # The same time: the plan decides, against a better DVH score.
    board = rule.rank(tied((1.0, 2.0, 0.1), (2.0, 1.0, 0.1)))
    assert (board["team0"].rank, board["team1"].rank) == (1, 2)
    assert board.notes == ("equal scores of team0, team1: in this order by test_plan",)


def test_what_no_tie_break_tells_apart_shares_a_rank() -> None:
    board = RULE.rank(tied((1.0, 1.0, 0.1), (1.0, 1.0, 0.1), (2.0, 2.0, 0.2)))
    assert [row.rank for row in board] == [1, 1, 3]
    assert board.notes == ()
    assert [row.rank for row in replace(RULE, ties="average").rank(tied(*[(1.0, 1.0, 0.1)] * 2))] == [1.5, 1.5]


def test_rounding_breaks_no_tie() -> None:
    board = RULE.rank(tied((0.1 + 0.2, 1.0, 0.1), (0.3, 1.0, 0.1)))
    assert [row.rank for row in board] == [1, 1]


@given(st.lists(st.tuples(*[st.integers(1, 4)] * 6), min_size=1, max_size=7), st.randoms())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_scores_lie_between_the_best_and_the_worst_rank_and_order_of_rows_does_not_matter(
    values: list[tuple[int, ...]], random: Any
) -> None:
    rule = replace(RULE, exclude=())
    teams = [(f"t{i}", dict(zip(METRICS, map(float, v), strict=True))) for i, v in enumerate(values)]
    board = rule.rank(together(dict(teams)))
    ranks = rule.metric_ranks(together(dict(teams)))
    for row in board:
        assert row.score is not None
        assert min(ranks[row.submission].values()) <= row.score <= max(ranks[row.submission].values())
    placed = [row.rank for row in board]
    assert placed == sorted(placed)
    random.shuffle(teams)
    assert rule.rank(together(dict(teams))) == board


# What the rule says, and what it refuses -----------------------------------------------------------------------------


def test_the_rule_in_words() -> None:
    assert str(RULE) == (
        "weighted mean of the ranks by test_beam, test_idd, test_plan, test_gamma, test_dvh, test_time (×2), lower is "
        "better; a submission with test_time of 1 s or more is excluded before ranking; a missing or unusable case "
        "disqualifies the submission; equals share the better rank; equal scores are decided by lower test_time, then "
        "by lower test_plan, then by lower test_dvh"
    )
    assert RULE.metric == "weighted_rank"
    assert RULE.reads == METRICS[:5]
    assert catalogue.get(RULE.metric).better == "lower"


def test_without_run_times_there_is_no_board_and_the_error_says_how_to_give_them() -> None:
    scores = made_up().filter(pl.col("metric") != "test_time")
    with pytest.raises(ValueError, match=r"no test_time of alpha, bravo, charlie, delta, echo ….*--run-times FILE"):
        RULE.rank(scores)
    one = made_up().filter(~((pl.col("submission") == "hotel") & (pl.col("metric") == "test_time")))
    with pytest.raises(ValueError, match="no test_time of hotel;"):
        RULE.rank(one)


def test_a_metric_that_is_undefined_in_a_case_is_named() -> None:
    scores = together({"team": dict(zip(METRICS, (1.0, 1.0, 1.0, 1.0, None, 0.1), strict=True))})
    with pytest.raises(ValueError, match="test_dvh is undefined for 'team' in case0"):
        RULE.rank(scores)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"metrics": ()}, "needs metrics"),
        ({"metrics": (("test_time", 1.0), ("test_time", 2.0))}, "each of them once"),
        ({"metrics": (("test_time", 0.0),)}, "positive number"),
        ({"metrics": (("test_time", math.nan),)}, "positive number"),
        ({"given": ("test_other",)}, "'test_other' is given, but not among"),
        ({"tie_breaks": ("dice",)}, "'dice' is a tie-break, but not among"),
        ({"exclude": (Limit("dice", 1.0),)}, "'dice' is a limit, but not among"),
        ({"ties": "best"}, "ties are one of"),
    ],
)
def test_a_rule_that_cannot_work_is_refused_when_it_is_made(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(RULE, **changes)


def test_a_rule_is_checked_against_the_catalogue() -> None:
    with pytest.raises(ValueError, match="is an observation"):
        WeightedRanks(metrics=(("missing", 1.0),), missing=Disqualify()).check()
    with pytest.raises(ValueError, match="has no worst value"):
        replace(RULE, missing=WorstPossible()).check()
    with pytest.raises(KeyError, match="unknown metric 'nonesuch'"):
        WeightedRanks(metrics=(("nonesuch", 1.0),), missing=Disqualify()).check()
