"""Statistics of a whole cohort: equal to plain oracles, on boards, in resamples, in files, and from another package."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sklearn_metrics

from isocenter.ranking import (
    CaseDraws,
    CohortStatistic,
    Disqualify,
    FixedValue,
    LeaveOut,
    MeanThenRank,
    RankLast,
    WorstObserved,
    WorstPossible,
    alternatives,
    bootstrap_ranks,
    capabilities_of,
    describe,
    multiverse,
    paired_values,
    pseudo_code,
    rule_of,
)
from isocenter.ranking.statistics import CaseWeights, get_statistic, statistic_names
from isocenter.scores import Row, frame

# A class that a resample predicts but does not have is nothing to warn of.
pytestmark = pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
Columns = dict[str, Any]
TEAMS = ("aare", "doubs", "inn")
SOURCES = {
    "truth": "true_class",
    "predicted": "predicted_class",
    "probability": "predicted_probability",
    "time": "event_time",
    "event": "event_observed",
    "risk": "predicted_risk",
    "tp": "tp_volume",
    "fp": "fp_volume",
    "fn": "fn_volume",
}


def plain_c_index(time: Any, event: Any, risk: Any, weight: Any) -> float:
    """All pairs, one by one."""
    right = pairs = 0.0
    for i, j in itertools.permutations(range(len(time)), 2):
        if event[i] and (time[i] < time[j] or (time[i] == time[j] and not event[j])):
            pairs += weight[i] * weight[j]
            right += weight[i] * weight[j] * (1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0)
    return right / pairs if pairs else np.nan


def plain_kappa(c: Columns, w: Any, weights: str | None) -> float:
    found = sklearn_metrics.cohen_kappa_score(
        c["truth"], c["predicted"], sample_weight=w, weights=weights, labels=np.arange(5)
    )
    return float(found)


ORACLES: Mapping[str, Callable[[Columns, Any], float]] = {
    "balanced_accuracy": lambda c, w: sklearn_metrics.balanced_accuracy_score(
        c["truth"], c["predicted"], sample_weight=w
    ),
    "f1": lambda c, w: sklearn_metrics.f1_score(c["truth"], c["predicted"], sample_weight=w),
    "f1_macro": lambda c, w: sklearn_metrics.f1_score(c["truth"], c["predicted"], sample_weight=w, average="macro"),
    "cohen_kappa": lambda c, w: plain_kappa(c, w, None),
    "linear_kappa": lambda c, w: plain_kappa(c, w, "linear"),
    "quadratic_kappa": lambda c, w: plain_kappa(c, w, "quadratic"),
    "brier_score": lambda c, w: sklearn_metrics.brier_score_loss(c["truth"], c["probability"], sample_weight=w),
    "auroc": lambda c, w: sklearn_metrics.roc_auc_score(c["truth"], c["probability"], sample_weight=w),
    "case_average_precision": lambda c, w: sklearn_metrics.average_precision_score(
        c["truth"], c["probability"], sample_weight=w
    ),
    "c_index": lambda c, w: plain_c_index(c["time"], c["event"], c["risk"], w),
    "aggregated_dice": lambda c, w: float(
        2 * (w * c["tp"]).sum() / (2 * (w * c["tp"]).sum() + (w * c["fp"]).sum() + (w * c["fn"]).sum())
    ),
}
BINARY = ("f1", "brier_score", "auroc", "case_average_precision")


def draw_inputs(name: str, rng: np.random.Generator, cases: int) -> dict[str, Columns]:
    """By team its inputs of a statistic, with many ties."""
    classes = 2 if name in BINARY else 5
    truth = rng.integers(0, classes, cases).astype(float)
    truth[:classes] = np.arange(classes)
    time, event = rng.integers(1, 12, cases) * 30.0, rng.integers(0, 2, cases).astype(float)
    event[0], time[0] = 1.0, 1.0
    reference = rng.integers(0, 30, cases) / 2
    teams = {}
    for number, team in enumerate(TEAMS):
        right = rng.random(cases) < 0.8 - 0.15 * number
        tp = np.minimum(reference, rng.integers(0, 30, cases) / 4)
        every = {
            "truth": truth,
            "predicted": np.where(right, truth, rng.integers(0, classes, cases)),
            "probability": np.clip(0.5 + (truth - 0.5) * 0.3 + rng.normal(0, 0.3, cases), 0, 1).round(1),
            "time": time,
            "event": event,
            "risk": np.round(-time / 200 + rng.normal(0, 0.5 + number, cases), 1),
            "tp": tp,
            "fp": rng.integers(0, 20, cases) / 4,
            "fn": reference - tp,
        }
        teams[team] = {one.name: every[one.name] for one in get_statistic(name).inputs}
    return teams


def table(
    teams: Mapping[str, Columns], *, weight: Any = None, missing: Mapping[str, Any] | None = None
) -> pl.DataFrame:
    tables = []
    for team, columns in teams.items():
        rows: list[Row] = []
        for i in range(len(next(iter(columns.values())))):
            gone = i in (missing or {}).get(team, ())
            w = 1.0 if weight is None else float(weight[i])
            rows += [
                Row(f"c{i:03}", "", SOURCES[name], None if gone else float(column[i]), w)
                for name, column in columns.items()
            ]
            rows += [Row(f"c{i:03}", "", "missing", 1.0, w)] * gone
        tables.append(frame(rows).with_columns(submission=pl.lit(team)))
    return pl.concat(tables)


def test_there_are_these_statistics() -> None:
    assert set(ORACLES) <= set(statistic_names())


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("seed", range(4))
def test_a_statistic_of_weights_is_that_of_the_plain_oracle(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cases = int(rng.integers(12, 60))
    statistic = get_statistic(name)
    weight = rng.integers(1, 9, cases) / 4
    counts = np.concatenate([np.ones((1, cases), int), rng.multinomial(cases, np.full(cases, 1 / cases), size=30)])
    for columns in draw_inputs(name, rng, cases).values():
        weights = CaseWeights(CaseDraws.of_weights(counts), weight)
        found = statistic.evaluate(columns, weights)
        assert np.array_equal(statistic.is_defined(columns, weights), ~np.isnan(found))
        for row, value in zip(counts, found, strict=True):
            there = row > 0  # a case that was not drawn is not there, not even as a class
            kept = {key: column[there] for key, column in columns.items()}
            if np.isnan(value):
                assert name == "f1" or len(np.unique(next(iter(kept.values())))) == 1
                continue
            assert value == pytest.approx(ORACLES[name](kept, (weight * row)[there]), abs=1e-12)


@pytest.mark.parametrize("name", ORACLES)
def test_boards_intervals_and_rank_sets_are_those_of_copied_cases(name: str) -> None:
    rng = np.random.default_rng(11)
    teams = draw_inputs(name, rng, 25)
    weight = rng.integers(1, 5, 25) / 2
    scores, rule = table(teams, weight=weight), CohortStatistic(statistic=name, missing=Disqualify())
    board = rule.rank(scores)
    expected = {team: ORACLES[name](columns, weight) for team, columns in teams.items()}
    assert {row.submission: row.score for row in board.rows} == pytest.approx(expected)
    order = sorted(expected, key=lambda team: expected[team], reverse=get_statistic(name).metric.better == "higher")
    assert [row.submission for row in board.rows] == order
    uncertainty = bootstrap_ranks(scores, rule, replicates=80, seed=2)
    assert uncertainty.draws is not None
    for at, team in enumerate(uncertainty.drawn.submissions):
        copied = []
        for counts in uncertainty.draws.counts:
            many = np.repeat(np.arange(25), counts)
            copied.append(ORACLES[name]({key: column[many] for key, column in teams[team].items()}, weight[many]))
        assert uncertainty.drawn.scores[at] == pytest.approx(copied, abs=1e-12)
        assert uncertainty.score_interval(team) == pytest.approx(tuple(np.quantile(copied, [0.025, 0.975])), abs=1e-12)
    assert set(uncertainty.rank_sets) == set(TEAMS)


UNDEFINED: list[tuple[str, Columns, str]] = [
    ("balanced_accuracy", {"truth": [1, 1], "predicted": [0, 1]}, "all cases are of one class"),
    ("f1", {"truth": [0, 0], "predicted": [0, 0]}, "no case is of class 1, and none is predicted to be"),
    ("cohen_kappa", {"truth": [1, 1], "predicted": [1, 1]}, "truth and predictions are all of one class"),
    ("quadratic_kappa", {"truth": [3, 3], "predicted": [3, 3]}, "truth and predictions are all of one class"),
    ("auroc", {"truth": [0, 0], "probability": [0.1, 0.2]}, "no case is of class 1"),
    ("auroc", {"truth": [1, 1], "probability": [0.1, 0.2]}, "no case is of class 0"),
    ("case_average_precision", {"truth": [0, 0], "probability": [0.1, 0.2]}, "no case is of class 1"),
    ("c_index", {"time": [1, 2], "event": [0, 0], "risk": [1, 2]}, "no event was observed"),
    ("c_index", {"time": [1, 2], "event": [0, 1], "risk": [1, 2]}, "no two cases are comparable"),
    ("c_index", {"time": [2, 2], "event": [1, 1], "risk": [1, 2]}, "no two cases are comparable"),
    ("aggregated_dice", {"tp": [0, 0], "fp": [0, 0], "fn": [0, 0]}, "all masks are empty"),
]


@pytest.mark.parametrize(("name", "columns", "reason"), UNDEFINED)
def test_where_there_is_no_such_number_a_sentence_says_why(name: str, columns: Columns, reason: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is undefined for 'aare': {reason}"):
        CohortStatistic(statistic=name, missing=Disqualify()).rank(table({"aare": columns}))


def test_an_undefined_resample_is_made_again() -> None:
    teams = {
        "aare": {"truth": [1, 0, 0, 0], "predicted": [1, 0, 0, 1]},
        "inn": {"truth": [1, 0, 0, 0], "predicted": [0] * 4},
    }
    rule = CohortStatistic(statistic="balanced_accuracy", missing=Disqualify())
    uncertainty = bootstrap_ranks(table(teams), rule, replicates=200, seed=1)
    assert uncertainty.redrawn > 0
    assert (uncertainty.draws.counts[:, 0] > 0).all()  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="a draw has no balanced_accuracy of some team"):
        bootstrap_ranks(table(teams), rule, weights=[[0, 1, 1, 2]])


def test_what_a_missing_case_counts_as_is_declared() -> None:
    truth = [0, 0, 1, 1, 2, 2]
    teams = {
        "aare": {"truth": truth, "predicted": truth},
        "doubs": {"truth": truth, "predicted": [0, 1, 1, 1, 2, 0]},
    }
    scores = table(teams, missing={"aare": [0, 5]})

    def score(missing: Any, name: str = "balanced_accuracy") -> Any:
        return CohortStatistic(statistic=name, missing=missing).rank(scores)

    assert score(Disqualify())["aare"].disqualified
    left = score(LeaveOut())
    assert left["aare"].score == 1.0
    assert left.notes == ("aare: 4 of 6 cases",)
    assert bootstrap_ranks(scores, CohortStatistic(statistic="f1_macro", missing=LeaveOut()), replicates=50)
    assert score(WorstPossible())["aare"].score == pytest.approx((0.5 + 1 + 0.5) / 3)
    assert score(FixedValue(0.0))["aare"].score == pytest.approx((1 + 1 + 0.5) / 3)
    assert (score(FixedValue(0.0))["aare"].missing, score(FixedValue(0.0))["aare"].cases) == (2, 6)
    # The class that is furthest off: 2 for a 0, and 0 for a 2.
    expected = sklearn_metrics.cohen_kappa_score(truth, [2, 0, 1, 1, 2, 0], weights="quadratic")
    assert score(WorstPossible(), "quadratic_kappa")["aare"].score == pytest.approx(expected)
    assert score(WorstPossible(), "quadratic_kappa").notes == ()
    # It is the furthest of all classes there are, also of those that are in no missing case.
    scores = table(teams, missing={"aare": [0]})
    expected = sklearn_metrics.cohen_kappa_score(truth, [2, 0, 1, 1, 2, 2], weights="quadratic")
    assert score(WorstPossible(), "quadratic_kappa")["aare"].score == pytest.approx(expected)


@pytest.mark.parametrize("missing", [LeaveOut(), WorstPossible(), FixedValue(0.0)])
def test_who_has_no_case_at_all_has_no_score(missing: Any) -> None:
    truth = [0, 1, 1, 0]
    teams = {team: {"truth": truth, "predicted": truth} for team in ("aare", "inn")}
    board = CohortStatistic(statistic="balanced_accuracy", missing=missing).rank(
        table(teams, missing={"inn": range(4)})
    )
    assert [row.submission for row in board.rows] == ["aare"]
    assert board["inn"].disqualified


def test_a_case_in_which_a_team_alone_lacks_an_input_is_one_of_its_missing_cases() -> None:
    truth = [0, 0, 1, 1]
    teams = {"aare": {"truth": truth, "predicted": [0, 0, 1, 1]}, "inn": {"truth": truth, "predicted": [0, 1, 1, 1]}}
    lacking = (pl.col("submission") == "inn") & (pl.col("case") == "c003") & (pl.col("metric") == "predicted_class")
    scores = table(teams).with_columns(value=pl.when(lacking).then(None).otherwise("value"))

    def score(missing: Any) -> Any:
        return CohortStatistic(statistic="balanced_accuracy", missing=missing, undefined="leave-out-or-missing").rank(
            scores
        )["inn"]

    assert score(Disqualify()).disqualified
    assert score(LeaveOut()).score == pytest.approx((0.5 + 1) / 2)
    assert score(WorstPossible()).score == pytest.approx((0.5 + 0.5) / 2)
    assert (score(LeaveOut()).missing, score(LeaveOut()).failed) == (0, 1)


def test_a_missing_mask_has_overlooked_its_reference() -> None:
    teams = {
        "aare": {"tp": [3.0, 2.0], "fp": [1.0, 0.0], "fn": [1.0, 2.0]},
        "inn": {"tp": [1.0, 4.0], "fp": [0.0, 1.0], "fn": [3.0, 0.0]},
    }
    board = CohortStatistic(statistic="aggregated_dice", missing=WorstPossible()).rank(
        table(teams, missing={"inn": [0]})
    )
    assert board["inn"].score == pytest.approx(8 / (8 + 1 + 4))
    with pytest.raises(ValueError, match="'c000' is missing, and no submission says what its reference is"):
        CohortStatistic(statistic="aggregated_dice", missing=WorstPossible()).rank(
            table(teams, missing={"inn": [0], "aare": [0]})
        )
    # Volumes may be rounded, but half a per cent of a reference is another one.
    other = {**teams, "inn": {"tp": [1.0, 4.0], "fp": [0.0, 1.0], "fn": [3.02, 0.0]}}
    with pytest.raises(ValueError, match=r"tp \+ fn of case 'c000' is 4 for some submissions and 4.02 for 'inn'"):
        CohortStatistic(statistic="aggregated_dice", missing=Disqualify()).rank(table(other))
    rounded = {**teams, "inn": {"tp": [1.0, 4.0], "fp": [0.0, 1.0], "fn": [3.000001, 0.0]}}
    assert CohortStatistic(statistic="aggregated_dice", missing=Disqualify()).rank(table(rounded))["inn"].rank == 2
    other = {**teams, "inn": {"tp": [1.0, 4.0], "fp": [0.0, 1.0], "fn": [4.0, 0.0]}}
    with pytest.raises(ValueError, match=r"tp \+ fn of case 'c000' is 4 for some submissions and 5 for 'inn'"):
        CohortStatistic(statistic="aggregated_dice", missing=Disqualify()).rank(table(other))


@pytest.mark.parametrize(
    ("statistic", "missing", "sentence"),
    [
        ("c_index", WorstPossible(), "disqualifies, is left out or has a number as its risk; there is no such thing"),
        ("f1", WorstObserved(), "disqualifies, is left out, counts as the worst or has a number as its predicted"),
        ("aggregated_dice", FixedValue(0.0), "disqualifies, is left out or counts as the worst; there is no such"),
        ("f1", RankLast(), "there is no such thing here as one that ranks last there"),
        ("f1", FixedValue(0.5), "a missing case cannot count as 0.5: predicted is 0 or 1"),
        ("brier_score", FixedValue(1.5), "cannot count as 1.5"),
    ],
)
def test_a_policy_that_the_statistic_does_not_know_is_refused(statistic: str, missing: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        CohortStatistic(statistic=statistic, missing=missing).check()


def test_the_reference_is_the_same_for_all() -> None:
    teams = {"aare": {"truth": [0, 1], "predicted": [0, 1]}, "inn": {"truth": [1, 1], "predicted": [0, 1]}}
    with pytest.raises(ValueError, match="truth of case 'c000' is 0 for some submissions and 1 for 'inn'; score them"):
        CohortStatistic(statistic="balanced_accuracy", missing=Disqualify()).rank(table(teams))
    with pytest.raises(ValueError, match="f1 of 'aare': truth is 0 or 1, and not in all cases"):
        CohortStatistic(statistic="f1", missing=Disqualify()).rank(
            table({"aare": {"truth": [0, 2], "predicted": [0, 1]}})
        )


def test_an_input_that_the_reference_leaves_undefined_follows_the_policy() -> None:
    teams = {"aare": {"truth": [0, 1, 1], "predicted": [0, 1, 0]}, "inn": {"truth": [0, 1, 1], "predicted": [0, 0, 0]}}
    unknown = table(teams).with_columns(
        value=pl.when((pl.col("case") == "c002") & (pl.col("metric") == "true_class")).then(None).otherwise("value")
    )
    with pytest.raises(ValueError, match="true_class is undefined for 'aare' in c002"):
        CohortStatistic(statistic="balanced_accuracy", missing=Disqualify()).rank(unknown)
    rule = CohortStatistic(statistic="balanced_accuracy", missing=WorstPossible(), undefined="leave-out")
    board = rule.rank(unknown)
    assert {row.submission: row.score for row in board.rows} == {"aare": 1.0, "inn": 0.5}
    assert board.undefined == {"true_class": 1}
    assert bootstrap_ranks(unknown, rule, replicates=20).drawn.scores.shape == (2, 20)


def test_parts_are_scored_for_themselves_and_then_averaged() -> None:
    """HECKTOR 2022: primary tumour and lymph nodes."""
    rng = np.random.default_rng(5)
    regions = {part: draw_inputs("aggregated_dice", rng, 12) for part in ("GTVp", "GTVn")}
    scores = pl.concat([table(teams).with_columns(part=pl.lit(part)) for part, teams in regions.items()])
    rule = CohortStatistic(statistic="aggregated_dice", missing=WorstPossible(), parts=("GTVp", "GTVn"))
    one = np.ones(12)
    expected = {
        team: np.mean([ORACLES["aggregated_dice"](teams[team], one) for teams in regions.values()]) for team in TEAMS
    }
    assert {row.submission: row.score for row in rule.rank(scores).rows} == pytest.approx(expected)
    drawn = bootstrap_ranks(scores, rule, replicates=30, seed=1)
    counts = drawn.draws.counts[3].astype(float)  # type: ignore[union-attr]
    again = [np.mean([ORACLES["aggregated_dice"](t[team], counts) for t in regions.values()]) for team in TEAMS]
    assert drawn.drawn.scores[:, 3] == pytest.approx(again)
    empty = table({"aare": {name: np.zeros(12) for name in ("tp", "fp", "fn")}}).with_columns(part=pl.lit("GTVn"))
    whole = table({"aare": regions["GTVp"]["aare"]}).with_columns(part=pl.lit("GTVp"))
    with pytest.raises(ValueError, match="aggregated_dice is undefined for 'aare': all masks are empty in GTVn"):
        rule.rank(pl.concat([whole, empty]))
    # A resample needs a mask in every part: nodes are in the first case only.
    few = {team: {name: np.where(np.arange(12) == 0, column, 0.0) for name, column in columns.items()}
           for team, columns in regions["GTVn"].items()}  # fmt: skip
    for columns in few.values():
        columns["tp"][0] += 1.0
    nodes = pl.concat(
        [table(regions["GTVp"]).with_columns(part=pl.lit("GTVp")), table(few).with_columns(part=pl.lit("GTVn"))]
    )
    rare = bootstrap_ranks(nodes, rule, replicates=100, seed=1)
    assert rare.redrawn > 0
    assert (rare.draws.counts[:, 0] > 0).all()  # type: ignore[union-attr]
    assert "mean over GTVp, GTVn" in str(rule)
    assert "score[s] = mean over p of y[p]" in pseudo_code(rule)


@pytest.mark.parametrize("name", ORACLES)
def test_it_is_described_and_read_back_and_says_how_it_is_carried_out(name: str) -> None:
    rule = CohortStatistic(statistic=name, missing=LeaveOut(), ties="dense")
    assert rule_of(json.loads(json.dumps(describe(rule)))) == rule
    assert rule_of({"rule": "cohort-statistic", "statistic": name, "missing": "leave-out", "ties": "dense"}) == rule
    assert get_statistic(name).formula in pseudo_code(rule)
    assert str(rule).startswith(f"{rule.metric} of all cases together, by ")
    assert not capabilities_of(rule).relative
    assert capabilities_of(rule).drawable
    with pytest.raises(ValueError, match="has no value per case"):
        paired_values(table(draw_inputs(name, np.random.default_rng(1), 9)), rule)


def test_any_metric_of_the_challenge_can_hold_an_input() -> None:
    rule = CohortStatistic(statistic="brier_score", missing=Disqualify(), columns={"probability": "dice"})
    assert rule.reads == ("true_class", "dice")
    scores = table({"aare": {"truth": [0, 1], "probability": [0.2, 0.6]}}).with_columns(
        metric=pl.col("metric").replace("predicted_probability", "dice")
    )
    assert rule.rank(scores)["aare"].score == pytest.approx((0.04 + 0.16) / 2)
    with pytest.raises(ValueError, match='brier_score has no input \'risk\', but "truth" and "probability"'):
        CohortStatistic(statistic="brier_score", missing=Disqualify(), columns={"risk": "dice"}).check()


def test_other_statistics_of_the_same_inputs_are_other_universes() -> None:
    teams = draw_inputs("cohen_kappa", np.random.default_rng(3), 40)
    rule = CohortStatistic(statistic="cohen_kappa", missing=WorstPossible())
    scores = table(teams, missing={"inn": [3]})
    found = multiverse(scores, alternatives(rule, scores))
    names = {outcome.universe.name for outcome in found.outcomes}
    assert {"by balanced_accuracy", "by f1_macro", "by quadratic_kappa", "missing disqualifies the submission"} <= names
    assert MeanThenRank("dice", Disqualify()) != rule
    assert hash(rule) == hash(CohortStatistic(statistic="cohen_kappa", missing=WorstPossible()))


def test_benchmarks_stand_beside_and_may_have_no_number_in_a_resample() -> None:
    teams = draw_inputs("f1", np.random.default_rng(3), 20)
    teams["inn"]["predicted"] = np.zeros(20)
    rule = CohortStatistic(statistic="f1", missing=Disqualify())
    board = rule.rank(table(teams), roles={"inn": "benchmark"})
    assert (board["inn"].rank, board["inn"].score) == (None, 0.0)
    uncertainty = bootstrap_ranks(table(teams), rule, replicates=50, roles={"inn": "benchmark"})
    assert set(uncertainty.teams) == {"aare", "doubs"}


def test_a_benchmark_without_a_number_makes_no_resample_again() -> None:
    """A benchmark that finds nobody ill has no F1 in a resample without an ill case; the teams have one in each."""
    rng = np.random.default_rng(3)
    truth = np.array([1.0] + [0.0] * 9)
    teams = {team: {"truth": truth, "predicted": np.ones(10)} for team in ("aare", "doubs")}
    teams["doubs"]["predicted"] = (rng.random(10) < 0.8).astype(float)
    benchmark = {"blind": {"truth": truth, "predicted": np.zeros(10)}}
    rule = CohortStatistic(statistic="f1", missing=Disqualify())
    alone = bootstrap_ranks(table(teams), rule, replicates=200, seed=4)
    beside = bootstrap_ranks(table(teams | benchmark), rule, replicates=200, seed=4, roles={"blind": "benchmark"})
    assert alone.draws is not None
    assert beside.draws is not None
    assert (alone.draws.counts[:, 0] == 0).any()
    assert beside.redrawn == alone.redrawn
    assert np.array_equal(beside.draws.counts, alone.draws.counts)
    assert np.array_equal(beside.drawn.scores[beside.drawn.competing], alone.drawn.scores)
    assert (beside.p_best, beside.rank_sets) == (alone.p_best, alone.rank_sets)
    # As a team it has a score in every resample, so that some are made again.
    assert bootstrap_ranks(table(teams | benchmark), rule, replicates=200, seed=4).redrawn > alone.redrawn


def test_who_lacks_the_cases_that_define_a_statistic_keeps_nobody_else_from_the_board() -> None:
    truth = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    teams = {
        "aare": {"truth": truth, "probability": np.array([0.9, 0.1, 0.8, 0.2, 0.3, 0.4])},
        "doubs": {"truth": truth, "probability": np.array([0.6, 0.3, 0.8, 0.2, 0.7, 0.4])},
        "inn": {"truth": truth, "probability": truth},
    }
    rule = CohortStatistic(statistic="auroc", missing=LeaveOut())
    ill = {"inn": [0, 2]}
    for roles in ({}, {"inn": "benchmark"}):
        board = rule.rank(table(teams, missing=ill), roles=roles)  # type: ignore[arg-type]
        assert [(row.submission, row.rank) for row in board.rows] == [("aare", 1), ("doubs", 2)]
        assert [(row.submission, row.disqualified) for row in board.unlisted] == [("inn", True)]
        assert board.notes == ("inn: auroc is undefined, no case is of class 1",)
        assert board.notes[0].team == "inn"
        bounded = bootstrap_ranks(table(teams, missing=ill), rule, replicates=50, roles=roles)  # type: ignore[arg-type]
        assert set(bounded.teams) == {"aare", "doubs"}
    with pytest.raises(ValueError, match="auroc is undefined for 'aare': no case is of class 1"):
        rule.rank(table({name: teams[name] for name in ("aare", "doubs")}, missing={"aare": [0, 2], "doubs": [0, 2]}))


def test_a_benchmark_that_some_resamples_leave_undefined_takes_nobodys_interval() -> None:
    truth = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    guesses = {"aare": [0.9, 0.1, 0.8, 0.2, 0.3, 0.4], "doubs": [0.6, 0.3, 0.8, 0.2, 0.7, 0.4]}
    teams = {name: {"truth": truth, "probability": np.array(guess)} for name, guess in guesses.items()}
    rule = CohortStatistic(statistic="auroc", missing=LeaveOut())
    alone = bootstrap_ranks(table(teams), rule, replicates=200)
    beside = bootstrap_ranks(
        table(teams | {"inn": {"truth": truth, "probability": truth}}, missing={"inn": [0]}),
        rule,
        replicates=200,
        roles={"inn": "benchmark"},
    )
    assert [beside.score_interval(name) for name in guesses] == [alone.score_interval(name) for name in guesses]
    assert "inn" not in beside.drawn.submissions
