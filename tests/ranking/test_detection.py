"""Ranking by findings, and which submission of a team is ranked."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isocenter
from isocenter.contest import Entry
from isocenter.detections import Finding, findings
from isocenter.metrics import auroc, average_precision, catalogue
from isocenter.ranking import (
    BoardRow,
    DetectThenRank,
    FixedValue,
    LeaveOut,
    Participation,
    bootstrap_ranks,
    counting,
    within_quota,
)
from isocenter.ranking.rules._base import place
from isocenter.scores import Row, frame

GOLDEN = Path(__file__).parents[1] / "golden" / "ranking"


def findings_of(likelihoods: dict[str, float | None], *, hits: int = 2, submission: str = "team") -> pl.DataFrame:
    """Two positive cases of one lesion each (p…), of which `hits` are found, and negative ones."""
    rows: list[Row] = []
    for number, (case, likelihood) in enumerate(sorted(likelihoods.items(), reverse=True)):
        if likelihood is None:
            rows += [Row(case, "", "case_positive", None), Row(case, "", "case_likelihood", None)]
            rows.append(Row(case, "", "missing", 1.0))
            continue
        positive = case.startswith("p")
        found = [Finding(True, 0.9 if number < hits else 0.0, 0.5)] if positive else [Finding(False, 0.5, 0.0)]
        rows += [Row(case, part, m, v) for m, v, part in findings(positive, likelihood, found)]
    return frame(rows).with_columns(pl.lit(submission).alias("submission"))


GOOD = {"p1": 0.9, "p2": 0.8, "n1": 0.1, "n2": 0.2}
POOR = {"p1": 0.9, "p2": 0.15, "n1": 0.1, "n2": 0.2}


def test_the_mean_of_both_ranks_and_its_parts_have_ranks_of_their_own() -> None:
    tables = pl.concat([findings_of(GOOD, hits=1, submission="a"), findings_of(POOR, hits=2, submission="b")])
    board = DetectThenRank("detection_score").rank(tables)
    assert [(row.submission, row.score, row.rank) for row in board.rows] == [
        ("b", pytest.approx((3 / 4 + 1) / 2), 1),
        ("a", pytest.approx((1 + 1 / 2) / 2), 2),
    ]
    assert {(row.submission, part.metric): part.rank for row in board.rows for part in row.components} == {
        ("a", "auroc"): 1,
        ("a", "average_precision"): 2,
        ("b", "auroc"): 2,
        ("b", "average_precision"): 1,
    }
    assert DetectThenRank("auroc").rank(tables)["a"].rank == 1
    assert DetectThenRank("average_precision").rank(tables)["b"].rank == 1


def test_golden_scores_tie_exactly_and_the_organiser_has_no_rank(golden_ranking: dict[str, Any]) -> None:
    expected = golden_ranking["picai_like"]
    with (GOLDEN / "picai_like.csv").open() as stream:
        teams = list(csv.DictReader(stream))
    rows = [
        BoardRow(
            team["team"],
            None if int(team["n_missing_cases"]) else (float(team["auroc"]) + float(team["ap"])) / 2,
            None,
            "organiser" if team["organizer"] == "yes" else "team",
            cases=100,
            missing=int(team["n_missing_cases"]),
            failed=0,
        )
        for team in teams
    ]
    board = place(rows, metric=catalogue.get("detection_score"), ties="min", tolerance=1e-9, name="", rule="")
    assert [row.submission for row in board.rows] == expected["listing_order"]
    assert {row.submission: row.rank for row in board.rows if row.rank} == expected["rank_min_ties"]
    assert [row.submission for row in board.unlisted] == expected["disqualified_not_listed"]


def test_one_missing_case_disqualifies_unless_the_organisers_say_otherwise() -> None:
    tables = pl.concat([findings_of(GOOD, submission="a"), findings_of(GOOD | {"n2": None}, submission="b")])
    strict = DetectThenRank("auroc").rank(tables)
    assert [row.submission for row in strict.rows] == ["a"]
    assert (strict["b"].disqualified, strict["b"].missing) == (True, 1)
    lenient = DetectThenRank("auroc", missing=LeaveOut()).rank(tables)
    assert lenient["b"].score == 1.0
    assert lenient.notes == ("b: 3 of 4 cases",)


def test_a_missing_case_cannot_count_as_a_value() -> None:
    with pytest.raises(ValueError, match="disqualifies or is left out, but counts as no value"):
        DetectThenRank("auroc", missing=FixedValue(0.0)).check()  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="ranked by one of"):
        DetectThenRank("dice")  # type: ignore[arg-type]


def test_tables_that_disagree_about_the_truth_are_of_two_cohorts() -> None:
    other = findings_of(GOOD, submission="b").with_columns(
        pl.when((pl.col("case") == "n1") & (pl.col("metric") == "case_positive"))
        .then(1.0)
        .otherwise("value")
        .alias("value")
    )
    with pytest.raises(ValueError, match="case 'n1' is positive for some submissions and not for"):
        DetectThenRank("auroc").rank(pl.concat([findings_of(GOOD, submission="a"), other]))


def test_nobody_has_a_score_where_there_is_nobody_ill() -> None:
    healthy = findings_of({"n1": 0.5, "n2": 0.1})
    with pytest.raises(ValueError, match=r"undefined for 'team': there is no AUROC: .*positive"):
        DetectThenRank("detection_score").rank(healthy)


def picai(tables: dict[str, Any], **options: Any) -> Any:
    return isocenter.rank("picai2022", tables, **options)


def entry(table: pl.DataFrame, **options: Any) -> Entry:
    return Entry(team="team", table=table, **options)


def test_the_chosen_submission_counts_not_the_last_and_not_the_best() -> None:
    good, poor = findings_of(GOOD).drop("submission"), findings_of(POOR, hits=0).drop("submission")
    assert picai([entry(poor), entry(good, chosen=True), entry(poor)])["team"].score == 1.0
    assert picai({"team": good})["team"].score == 1.0
    with pytest.raises(
        ValueError, match="team: of 2 submissions the one counts that the team chose, and none is named"
    ):
        picai({"team": [poor, good]})
    with pytest.raises(ValueError, match="team chose submission 3, which is none of those"):
        picai([entry(poor), entry(good), entry(good, chosen=True, void=True)])


def test_one_submission_a_week_to_the_second() -> None:
    first = datetime(2022, 6, 1, 12, tzinfo=UTC)
    week = timedelta(days=7)
    moments = [first, first + week - timedelta(seconds=1), first + week, first + 2 * week]
    assert within_quota(moments, quota=1, per="week") == [True, False, True, True]
    assert within_quota(moments, quota=2, per="phase") == [True, True, False, False]
    assert within_quota(moments, quota=None, per="day") == [True] * 4


@given(
    st.lists(st.integers(0, 60), max_size=12),
    st.integers(1, 3),
    st.sampled_from(["week", "day"]),
    st.randoms(use_true_random=False),
)
def test_no_span_holds_more_than_the_quota_and_nobody_is_refused_without_need(
    days: list[int], quota: int, per: Any, random: Any
) -> None:
    moments = [datetime(2022, 6, 1, tzinfo=UTC) + timedelta(hours=7 * day) for day in days]
    span = timedelta(days=7 if per == "week" else 1)
    admitted = [m for m, taken in zip(moments, within_quota(moments, quota=quota, per=per), strict=True) if taken]
    for moment in admitted:
        assert sum(moment - span < other <= moment for other in admitted) <= quota
    for moment, taken in zip(moments, within_quota(moments, quota=quota, per=per), strict=True):
        if not taken:
            assert sum(moment - span < other <= moment for other in admitted) == quota
    shuffled = random.sample(moments, len(moments))
    again = [m for m, taken in zip(shuffled, within_quota(shuffled, quota=quota, per=per), strict=True) if taken]
    assert sorted(again) == sorted(admitted)


def test_times_decide_about_order_and_quota() -> None:
    from dataclasses import replace

    weekly = replace(isocenter.challenge("picai2022"), participation=Participation(quota=1, per="week", counts="last"))
    good, poor = findings_of(GOOD).drop("submission"), findings_of(POOR).drop("submission")
    start = datetime(2022, 6, 1, tzinfo=UTC)
    days = [9, 0, 8]
    entries = [
        Entry(team="team", table=table, moment=start + timedelta(days=day))
        for day, table in zip(days, [poor, poor, good], strict=True)
    ]
    board = isocenter.rank(weekly, entries, resamples=0)
    assert board["team"].components[0].score == 1.0  # the one of day 8; that of day 9 is one too many
    assert board.notes == ("team: 3 submissions, of which the quota admits 2; the others do not count",)


def test_counting_knows_its_limits() -> None:
    with pytest.raises(ValueError, match="submission 6 was chosen, but only 5 count"):
        counting([0.5] * 6, quota=5, counts="chosen", better="higher", chosen=5)


def test_where_all_count_each_submission_has_a_row() -> None:
    from dataclasses import replace

    every = replace(isocenter.challenge("picai2022"), participation=Participation(counts="all", organisers="ranked"))
    good, poor = findings_of(GOOD).drop("submission"), findings_of(POOR, hits=1).drop("submission")
    board = isocenter.rank(every, {"a": [poor, good], "b": poor, "ours": good}, organisers=["ours"])
    assert [(row.submission, row.rank, row.role) for row in board.rows] == [
        ("a #2", 1, "team"),
        ("ours", 1, "organiser"),
        ("a #1", 3, "team"),
        ("b", 3, "team"),
    ]


def test_a_void_submission_is_as_if_it_had_not_been_made() -> None:
    from dataclasses import replace

    last = replace(isocenter.challenge("picai2022"), participation=Participation(quota=2, counts="last"))
    good, poor = findings_of(GOOD).drop("submission"), findings_of(POOR, hits=0).drop("submission")
    entries = [
        Entry(team="a", table=good),
        Entry(team="a", table=poor, void=True),
        Entry(team="a", table=good),
        Entry(team="b", table=poor, void=True),
    ]
    board = isocenter.rank(last, entries)
    assert [(row.submission, row.score) for row in board.rows] == [("a", 1.0)]
    assert len(isocenter.rank(last, entries[-1:])) == 0


def random_findings(seed: int, *, ill: float, drawn: bool, weights: bool = False) -> dict[str, pl.DataFrame]:
    """Three algorithms on 40 patients, of whom a part is ill; lesions are drawn or not."""
    rng = np.random.default_rng(seed)
    truth = rng.random(40) < ill
    weight = rng.integers(1, 5, 40) / 2 if weights else np.ones(40)
    tables = {}
    for team in ("aare", "inn", "rhone"):
        rows: list[Row] = []
        for number, positive in enumerate(truth.tolist()):
            lesions = [Finding(True, round(rng.random(), 1), 0.5)] if positive and drawn else []
            lesions += [Finding(False, round(0.1 + 0.9 * rng.random(), 1), 0.0)] * int(rng.integers(0, 2)) * drawn
            case = f"c{number:02}"
            likelihood = round(rng.random(), 1)
            rows += [Row(case, part, m, v, weight[number]) for m, v, part in findings(positive, likelihood, lesions)]
        tables[team] = frame(rows).with_columns(submission=pl.lit(team))
    return tables


@pytest.mark.parametrize(
    ("metric", "ill", "drawn", "weights"),
    [
        ("auroc", 0.5, False, False),  # classification: no lesion is drawn anywhere
        ("auroc", 0.1, False, True),
        ("average_precision", 1.0, True, False),  # a cohort of ill patients only
        ("average_precision", 1.0, True, True),
        ("average_precision", 0.1, True, False),
        ("auroc", 0.1, True, False),
    ],
)
def test_a_board_by_one_number_has_the_intervals_of_the_plain_bootstrap(
    metric: Any, ill: float, drawn: bool, weights: bool
) -> None:
    tables = random_findings(8, ill=ill, drawn=drawn, weights=weights)
    rule = DetectThenRank(metric)
    uncertainty = bootstrap_ranks(pl.concat(tables.values()), rule, replicates=300, seed=5)
    assert uncertainty.draws is not None
    for team, table in tables.items():
        (found,) = rule.findings(table).values()
        expected = []
        for counts in uncertainty.draws.counts.astype(float):
            weight = found.weight * counts
            expected.append(
                auroc(found.truth, found.likelihood, weight=weight)
                if metric == "auroc"
                else average_precision(found.is_lesion, found.confidence, weight=weight[found.case])
            )
        at = uncertainty.drawn.submissions.index(team)
        np.testing.assert_allclose(uncertainty.drawn.scores[at], expected, rtol=1e-12, atol=1e-12)
        low, high = np.quantile(expected, [0.025, 0.975])
        assert uncertainty.score_interval(team) == pytest.approx((low, high), abs=1e-12)
    assert set(uncertainty.rank_sets) == set(tables)


def test_a_resample_of_weightless_patients_is_made_again() -> None:
    tables = [
        table.with_columns(weight=pl.when(pl.col("case") == "n2").then(0.0).otherwise(1.0))
        for table in (findings_of(GOOD, submission="a"), findings_of(POOR, submission="b"))
    ]
    uncertainty = bootstrap_ranks(pl.concat(tables), DetectThenRank("auroc"), replicates=200, seed=1)
    assert uncertainty.draws is not None
    assert (uncertainty.draws.counts[:, 0] > 0).all()  # n1 is the only healthy patient that counts
    assert uncertainty.redrawn > 0
