"""Boards that say what they do not know."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import isocenter
from isocenter.contest import Contest, make_entries
from isocenter.detections import Finding, findings
from isocenter.ranking import (
    Board,
    DetectThenRank,
    Disqualify,
    FixedValue,
    LeaveOut,
    Limit,
    MeanThenRank,
    WeightedRanks,
    bootstrap_ranks,
    mark_uncertainty,
    rank_sets,
)
from isocenter.ranking._uncertainty import group_name
from isocenter.scores import Row, frame
from isocenter.stats import bootstrap_ci

ZERO = MeanThenRank("dice", missing=FixedValue(0.0))


def table(values: dict[str, Any], *, metric: str = "dice", weight: Any = None) -> pl.DataFrame:
    parts = [
        frame(
            Row(f"c{at:03d}", "", metric, float(value), float(weight[at]) if weight is not None else 1.0)
            for at, value in enumerate(found)
        ).select(pl.lit(name).alias("submission"), pl.all())
        for name, found in values.items()
    ]
    return pl.concat(parts)


def teams(seed: int = 0, *, cases: int = 40) -> dict[str, Any]:
    """Two good ones that nobody can tell apart, and one that is clearly worse."""
    rng = np.random.default_rng(seed)
    hard = rng.uniform(0.5, 0.9, cases)
    return {
        "a": np.clip(hard + rng.normal(0, 0.03, cases), 0, 1),
        "b": np.clip(hard + rng.normal(0, 0.03, cases), 0, 1),
        "c": np.clip(hard - 0.2 + rng.normal(0, 0.03, cases), 0, 1),
    }


def test_twins_share_their_rank_set_and_group_and_the_third_is_third() -> None:
    found = bootstrap_ranks(table(teams()), ZERO, replicates=2000)
    assert found.rank_sets == {"a": (1, 2), "b": (1, 2), "c": (3, 3)}
    assert found.groups == {"a": 1, "b": 1, "c": 2}
    assert found.p_first["c"] == 0
    assert found.p_first["a"] + found.p_first["b"] == pytest.approx(1, abs=0.01)
    assert found.p_top(2) == {"a": 1, "b": 1, "c": 0}
    assert found.p_better["a", "c"] == 1
    assert found.rank_intervals["c"] == (3, 3)


def test_scores_and_intervals_are_those_of_a_plain_loop() -> None:
    values = teams(1, cases=25)
    indices = np.random.default_rng(3).integers(0, 25, (300, 25))
    found = bootstrap_ranks(table(values), ZERO, indices=indices)
    for k, name in enumerate(found.drawn.submissions):
        plain = values[name][indices].mean(axis=1)
        assert found.drawn.scores[k] == pytest.approx(plain, abs=1e-12)
        assert found.score_interval(name) == pytest.approx(tuple(np.percentile(plain, [2.5, 97.5])))
    assert found.seed is None
    counts = np.stack([np.bincount(row, minlength=25) for row in indices])
    again = bootstrap_ranks(table(values), ZERO, weights=counts)
    assert (again.drawn.scores == found.drawn.scores).all()


def test_weights_of_cases_multiply_the_draws() -> None:
    values, weight = teams(2, cases=10), np.arange(1.0, 11.0)
    indices = np.random.default_rng(0).integers(0, 10, (20, 10))
    found = bootstrap_ranks(table(values, weight=weight), ZERO, indices=indices)
    plain = (values["a"] * weight)[indices].sum(axis=1) / weight[indices].sum(axis=1)
    assert found.drawn.scores[0] == pytest.approx(plain, abs=1e-12)


def test_pooled_parts_are_drawn_with_their_patient() -> None:
    rows = [Row("a", str(n), "dice", 0.2) for n in range(5)] + [Row("b", "1", "dice", 0.8)]
    one = frame(rows).select(pl.lit("x").alias("submission"), pl.all())
    rule = MeanThenRank("dice", FixedValue(0.0), over="parts")
    drawn = bootstrap_ranks(one, rule, indices=[[0, 0], [0, 1], [1, 1]]).drawn
    assert drawn.scores[0] == pytest.approx([0.2, (5 * 0.2 + 0.8) / 6, 0.8])


def test_the_same_seed_gives_the_same_and_more_draws_begin_with_fewer() -> None:
    few, many = (bootstrap_ranks(table(teams()), ZERO, replicates=n, seed=5).drawn.scores for n in (512, 1500))
    assert (many[:, :512] == few).all()
    assert (bootstrap_ranks(table(teams()), ZERO, replicates=512, seed=6).drawn.scores != few).any()


def test_draws_in_parts_are_the_draws_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bootstrap_ranks(table(teams()), ZERO, replicates=1500)
    monkeypatch.setattr("isocenter.resampling.counts._MOST_COUNTS", 40 * 256)
    seen: list[tuple[int, int]] = []
    parts = bootstrap_ranks(table(teams()), ZERO, replicates=1500, progress=lambda *at: seen.append(at))
    assert (parts.drawn.scores == whole.drawn.scores).all()
    assert len(seen) == 6
    assert seen[-1] == (1500, 1500)
    assert parts.to_dict() == whole.to_dict()
    with pytest.raises(ValueError, match="too many to keep"):
        parts.joined("new", [0.5] * 40)


def test_strata_keep_their_size() -> None:
    values = {"a": [1.0] * 5 + [0.0] * 35, "b": [0.5] * 40}
    strata = {f"c{at:03d}": "ill" if at < 5 else "well" for at in range(40)}
    kept = bootstrap_ranks(table(values), ZERO, replicates=300, strata=strata).drawn.scores[0]
    assert set(kept) == {5 / 40}
    with pytest.raises(ValueError, match="no stratum is known of c000"):
        bootstrap_ranks(table(values), ZERO, strata={})


def test_a_newcomer_joins_without_anything_being_drawn_again() -> None:
    values = teams(4)
    late = bootstrap_ranks(table({name: values[name] for name in ("a", "c")}), ZERO, replicates=700)
    joined = late.joined("b", values["b"])
    whole = bootstrap_ranks(table(values), ZERO, replicates=700)
    order = [joined.teams.index(name) for name in whole.teams]
    assert (joined.drawn.scores[order] == whole.drawn.scores).all()
    assert joined.rank_sets == whole.rank_sets
    assert joined.p_first == whole.p_first
    assert joined.drawn.full[order] == pytest.approx(whole.drawn.full, rel=1e-15)
    with pytest.raises(ValueError, match="it is there already"):
        joined.joined("a", values["a"])


def test_benchmarks_have_an_interval_but_no_rank() -> None:
    roles: Any = {"b": "benchmark"}
    found = bootstrap_ranks(table(teams()), ZERO, replicates=500, roles=roles)
    board = mark_uncertainty(ZERO.rank(table(teams()), roles=roles), found)
    assert board["b"].low is not None
    assert (board["b"].rank_low, board["b"].p_first, board["b"].group) == (None, None, None)
    assert (board["a"].rank_low, board["a"].rank_high, board["a"].group) == (1, 1, "A")


def test_bca_follows_the_skew() -> None:
    rng = np.random.default_rng(0)
    values = {"a": rng.exponential(1.0, 60)}
    rule = MeanThenRank("dose_error", missing=Disqualify())
    plain, skew = (
        bootstrap_ranks(table(values, metric="dose_error"), rule, replicates=4000, interval=kind)
        for kind in ("percentile", "bca")
    )
    assert skew.score_interval("a")[0] > plain.score_interval("a")[0]
    assert skew.score_interval("a")[1] > plain.score_interval("a")[1]


@pytest.mark.parametrize(
    "values",
    [{"a": [0.5]}, {"a": [0.5, 0.5], "b": [0.5, 0.5]}, {"a": [0.5], "b": [0.7]}, {"a": [0.1, 0.9, 0.4]}],
    ids=["one team in one case", "all tied", "one case", "one team"],
)
def test_little_data_excludes_little(values: dict[str, Any]) -> None:
    found = bootstrap_ranks(table(values), ZERO, replicates=100)
    assert all(pair == (1, len(values)) for pair in found.rank_sets.values())
    json.dumps(found.to_dict(), allow_nan=False)


def test_submissions_that_tie_exactly_tie_in_every_draw() -> None:
    rng = np.random.default_rng(1)
    values = rng.uniform(0, 1, 30).round(3)
    found = bootstrap_ranks(table({"a": values, "b": values}), ZERO, replicates=2000)
    assert found.p_first == {"a": 1.0, "b": 1.0}


def test_draws_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="the draws are of 3 cases, the table has 40"):
        bootstrap_ranks(table(teams()), ZERO, weights=[[1, 1, 1]])
    with pytest.raises(ValueError, match="not as both"):
        bootstrap_ranks(table(teams()), ZERO, weights=[[1] * 40], indices=[[0] * 40])
    with pytest.raises(ValueError, match="there is nobody to rank"):
        bootstrap_ranks(table({"a": [0.5]}), ZERO, roles={"a": "benchmark"})


class _Own:
    """A rule of another package, which knows no draws."""

    metric, reads = "dice", ("dice",)

    def check(self) -> None: ...

    def rank(self, scores: pl.DataFrame, **options: Any) -> Board:
        return ZERO.rank(scores, **options)


def test_a_rule_that_knows_no_uncertainty_still_ranks() -> None:
    from dataclasses import replace

    with pytest.raises(ValueError, match="_Own says nothing of how its scores vary"):
        bootstrap_ranks(table(teams()), _Own())
    challenge = replace(isocenter.challenge("hecktor2020"), boards={"own": _Own()})
    tables = {name: table({name: found}).drop("submission") for name, found in teams().items()}
    decision = Contest(challenge, make_entries(tables)).decide()
    assert decision.uncertainty is None
    assert decision.board == isocenter.rank(challenge, tables, resamples=0)


def test_weighted_ranks_vary_with_the_cases_but_not_with_the_run_time() -> None:
    isocenter.challenge("doserad2026")  # which knows run times
    rng = np.random.default_rng(0)
    hard = rng.uniform(0.5, 0.9, 20)
    dice = {"a": hard, "b": hard - 0.001 + rng.normal(0, 0.01, 20), "slow": hard - 0.3}
    times = {"a": 0.5, "b": 0.25, "slow": 2.0}
    given = pl.concat(
        [
            frame([Row("", "", "run_time", seconds)]).select(pl.lit(name).alias("submission"), pl.all())
            for name, seconds in times.items()
        ]
    )
    rule = WeightedRanks(
        metrics=(("dice", 1.0), ("run_time", 1.0)),
        missing=Disqualify(),
        given=("run_time",),
        exclude=(Limit("run_time", 1.0),),
        tie_breaks=("run_time",),
    )
    scores = pl.concat([table(dice), given])
    found = bootstrap_ranks(scores, rule, replicates=500)
    assert found.teams == ("a", "b")  # who is excluded takes no rank in any draw
    assert set(found.drawn.scores.ravel()) <= {1.0, 1.5, 2.0}
    better = found.p_first["b"]
    assert better == 1.0  # equal scores are decided by run time, in every draw
    assert found.ranks.full.tolist() == [rule.rank(scores)[name].rank for name in found.teams]


def detection_table(seed: int, name: str) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for at in range(30):
        ill = at % 3 == 0
        found = [Finding(True, float(np.float32(rng.uniform(0.2, 1))), 0.5)] if ill else []
        found += [Finding(False, float(np.float32(rng.uniform(0.01, 0.8))), 0.0)]
        likelihood = float(np.clip(rng.normal(0.3 + 0.3 * ill, 0.2), 0, 1))
        rows += [Row(f"c{at:03d}", part, m, v) for m, v, part in findings(ill, likelihood, found)]
    return frame(rows).select(pl.lit(name).alias("submission"), pl.all())


def test_boards_of_findings_draw_as_the_bootstrap_of_one_does() -> None:
    scores = pl.concat([detection_table(1, "a"), detection_table(2, "b")])
    rule = DetectThenRank("detection_score")
    found = bootstrap_ranks(scores, rule, replicates=800, seed=2)
    one = rule.findings(scores.filter(pl.col("submission") == "a"))[""]
    from isocenter.stats import LesionRows

    alone = bootstrap_ci(
        one.truth, one.likelihood, lesions=LesionRows(one.case, one.is_lesion, one.confidence), replicates=800, seed=2
    )
    assert found.score_interval("a") == pytest.approx((alone.score.low, alone.score.high), abs=1e-12)
    board = mark_uncertainty(rule.rank(scores), found)
    assert board["a"].components[0].low == pytest.approx(alone.auroc.low, abs=1e-12)


def test_draws_without_the_ill_or_the_healthy_are_made_again() -> None:
    rows = [
        Row(c, p, m, v)
        for c, ill in (("x", True), ("y", False), ("z", False))
        for m, v, p in findings(ill, 0.5, [Finding(ill, 0.5, 0.1)])
    ]
    scores = frame(rows).select(pl.lit("a").alias("submission"), pl.all())
    found = bootstrap_ranks(scores, DetectThenRank("auroc"), replicates=500)
    assert found.redrawn > 100
    assert np.isfinite(found.drawn.scores).all()


def test_who_leaves_cases_out_has_a_cohort_of_their_own() -> None:
    scores = pl.concat([detection_table(1, "a"), detection_table(2, "b").filter(pl.col("case") != "c001")])
    with pytest.raises(ValueError, match="no draw is one of all"):
        bootstrap_ranks(scores, DetectThenRank("auroc", missing=LeaveOut()))


def test_rank_sets_of_plain_values_and_of_a_table_are_one() -> None:
    values = teams(7)
    assert rank_sets(values) == rank_sets(table(values)) == {"a": (1, 2), "b": (1, 2), "c": (3, 3)}
    assert rank_sets({name: -found for name, found in values.items()}, better="lower") == rank_sets(values)
    both = pl.concat([table(values), table(values, metric="jaccard")])
    with pytest.raises(ValueError, match="the table holds dice, jaccard; say by which rule"):
        rank_sets(both)
    assert rank_sets(both, ZERO) == rank_sets(values)


def test_groups_have_letters() -> None:
    assert [group_name(number) for number in (1, 2, 26, 27, 52, 53)] == ["A", "B", "Z", "AA", "AZ", "BA"]


def test_the_board_in_json_has_what_it_does_not_know() -> None:
    found = bootstrap_ranks(table(teams()), ZERO, replicates=200)
    data = json.loads(mark_uncertainty(ZERO.rank(table(teams())), found).to_json())
    assert {"low", "high", "rank_low", "rank_high", "p_first", "group"} <= set(data["rows"][0])
    assert data["rows"][2]["group"] == "B"
    assert data["rows"][2]["rank_low"] == 3


def test_who_is_disqualified_does_not_decide_which_draws_are_made_again() -> None:
    """Whoever comes first in the table: the truth is known from everybody."""
    broken = detection_table(3, "broken").filter(~pl.col("case").is_in(["c000", "c003", "c006", "c009", "c012"]))
    good = detection_table(1, "good")
    rule = DetectThenRank("auroc")
    intervals = {
        bootstrap_ranks(pl.concat(order), rule, replicates=400).score_interval("good")
        for order in ([broken, good], [good, broken])
    }
    assert len(intervals) == 1
    assert intervals == {bootstrap_ranks(good, rule, replicates=400).score_interval("good")}
