"""A metric that the reference leaves undefined is not a missing case: every rule has a policy of its own for it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats as scipy_stats

from isocenter.ranking import (
    CaseDraws,
    Disqualify,
    FixedValue,
    LeaveOut,
    MeanThenRank,
    NormalisedSum,
    QuantileThenRank,
    RankLast,
    RankThenMean,
    TestThenRank,
    TrimmedMeanThenRank,
    WeightedRanks,
    WorstObserved,
    alternatives,
    bootstrap_ranks,
    climb,
    describe,
    multiverse,
    paired_values,
    plan_cases,
    pseudo_code,
    rule_of,
)
from isocenter.scores import Row, frame

Values = Mapping[str, Sequence[float | None]]
DICE: Values = {
    "aare": [0.9, None, 0.7, 0.8, None, 0.6],
    "doubs": [0.8, None, 0.9, 0.7, None, 0.9],
    "inn": [0.5, None, 0.6, 0.4, None, 0.7],
}
HEALTHY = [1, 4]
ILL = [0, 2, 3, 5]


def table(dice: Values = DICE, *, missing: Mapping[str, Sequence[int]] | None = None, **more: Any) -> pl.DataFrame:
    """A table of dice and dose_error; cases of `missing` have no output."""
    errors, weight = more.get("errors", {}), more.get("weight", [1.0] * 99)
    tables = []
    for team, values in dice.items():
        rows: list[Row] = []
        for i, value in enumerate(values):
            gone = i in (missing or {}).get(team, ())
            rows.append(Row(f"c{i}", "", "dice", None if gone else value, weight[i]))
            if errors:
                rows.append(Row(f"c{i}", "", "dose_error", None if gone else errors[team][i], weight[i]))
            if gone:
                rows.append(Row(f"c{i}", "", "missing", 1.0, weight[i]))
        tables.append(frame(rows).with_columns(submission=pl.lit(team)))
    return pl.concat(tables)


ERRORS: Values = {
    "aare": [2.0, 3.0, None, 2.5, 1.0, 4.0],
    "doubs": [3.0, 2.0, None, 3.5, 2.0, 1.0],
    "inn": [1.0, 1.5, None, 1.5, 3.0, 2.0],
}


def over_ill(aggregate: Any) -> dict[str, float]:
    return {team: aggregate(np.array([values[i] for i in ILL], float)) for team, values in DICE.items()}


def scores_of(board: Any) -> dict[str, float]:
    return {row.submission: row.score for row in board.rows}


def test_nothing_is_put_in_its_place_unless_the_organisers_say_so() -> None:
    for rule in (
        MeanThenRank("dice", Disqualify()),
        QuantileThenRank("dice", Disqualify()),
        TestThenRank("dice", Disqualify()),
        RankThenMean(metrics="dice", missing=Disqualify(), ties="min"),
        WeightedRanks((("dice", 1.0),), missing=Disqualify()),
    ):
        with pytest.raises(ValueError, match="dice is undefined for 'aare' in c1, c4; a score of the rest would hide"):
            rule.rank(table())
        assert "undefined" not in rule_of({k: v for k, v in describe(rule).items() if k != "undefined"}).__str__()


@pytest.mark.parametrize(
    ("make_rule", "aggregate"),
    [
        (lambda: MeanThenRank("dice", Disqualify(), undefined="leave-out"), np.mean),
        (lambda: QuantileThenRank("dice", Disqualify(), undefined="leave-out"), np.median),
        (lambda: QuantileThenRank("dice", Disqualify(), q=0.2, undefined="leave-out"), lambda x: np.quantile(x, 0.2)),
        (
            lambda: TrimmedMeanThenRank("dice", Disqualify(), proportion=0.3, undefined="leave-out"),
            lambda x: scipy_stats.trim_mean(x, 0.3),
        ),
    ],
)
def test_a_case_is_left_out_for_all_and_so_it_is_in_resamples(make_rule: Any, aggregate: Any) -> None:
    rule = make_rule()
    board = rule.rank(table())
    assert scores_of(board) == pytest.approx(over_ill(aggregate))
    assert board.notes == ("dice is undefined in 2 of 6 cases: they are left out of it for everybody",)
    assert board.to_dict()["undefined"] == {"dice": 2}
    assert all((row.cases, row.missing, row.failed) == (6, 0, 0) for row in board.rows)
    uncertainty = bootstrap_ranks(table(), rule, replicates=400, seed=3)
    counts = uncertainty.draws.counts  # type: ignore[union-attr]
    assert (counts[:, ILL].sum(axis=1) > 0).all()
    assert (counts[:, HEALTHY].sum(axis=1) > 0).any()
    for at, team in enumerate(uncertainty.drawn.submissions):
        expected = [aggregate(np.repeat([DICE[team][i] for i in ILL], row[ILL]).astype(float)) for row in counts]
        assert uncertainty.drawn.scores[at] == pytest.approx(expected)


def test_a_resample_without_a_defined_case_is_made_again() -> None:
    few = {team: [values[0], None, None, None, None, None] for team, values in DICE.items()}
    rule = MeanThenRank("dice", Disqualify(), undefined="leave-out")
    uncertainty = bootstrap_ranks(table(few), rule, replicates=300, seed=1)
    assert (uncertainty.draws.counts[:, 0] > 0).all()  # type: ignore[union-attr]
    assert uncertainty.redrawn == pytest.approx(300 * (5 / 6) ** 6 / (1 - (5 / 6) ** 6), rel=0.3)
    with pytest.raises(ValueError, match="sum of weights above 0"):
        bootstrap_ranks(table(few), rule, weights=[[0, 1, 1, 1, 1, 2]])
    with pytest.raises(ValueError, match="every resample has one of the 1 cases in which dice is defined"):
        bootstrap_ranks(
            table(few), QuantileThenRank("dice", Disqualify(), undefined="leave-out"), weights=[[0] * 5 + [6]]
        )


def test_a_metric_without_any_defined_case_is_a_sentence() -> None:
    none = {team: [None] * 6 for team in DICE}
    with pytest.raises(ValueError, match="dice is undefined in all 6 cases: there is nothing to rank by"):
        MeanThenRank("dice", Disqualify(), undefined="leave-out").rank(table(none))


def test_where_others_have_a_value_it_is_not_the_reference() -> None:
    mixed = {**DICE, "inn": [0.5, None, None, 0.4, None, 0.7]}
    sentence = "dice is undefined for 'inn' in c2, where others have a value: it is not the reference"
    with pytest.raises(ValueError, match=sentence):
        MeanThenRank("dice", Disqualify(), undefined="leave-out").rank(table(mixed))
    board = MeanThenRank("dice", FixedValue(0.0), undefined="leave-out-or-missing").rank(table(mixed))
    assert board["inn"].score == pytest.approx((0.5 + 0 + 0.4 + 0.7) / 4)
    assert (board["inn"].missing, board["inn"].failed) == (0, 1)
    assert board["aare"].score == pytest.approx(np.mean([0.9, 0.7, 0.8, 0.6]))
    strict = MeanThenRank("dice", Disqualify(), undefined="leave-out-or-missing").rank(table(mixed))
    assert [row.submission for row in strict.unlisted] == ["inn"]


def test_a_benchmark_decides_nothing() -> None:
    with_value = {**DICE, "nnunet": [0.9, 1.0, 0.9, 0.9, 1.0, 0.9]}
    rule = MeanThenRank("dice", Disqualify(), undefined="leave-out")
    board = rule.rank(table(with_value), roles={"nnunet": "benchmark"})
    assert scores_of(board) == pytest.approx({**over_ill(np.mean), "nnunet": 0.9})
    with pytest.raises(ValueError, match="dice is undefined for 'aare' in c1, c4, where others have a value"):
        rule.rank(table(with_value))


def test_an_undefined_metric_may_count_as_a_value() -> None:
    mixed = {**DICE, "inn": [0.5, None, None, 0.4, None, 0.7]}
    board = MeanThenRank("dice", FixedValue(0.0), undefined=1.0).rank(table(mixed, missing={"doubs": [4]}))
    assert scores_of(board) == pytest.approx(
        {
            "aare": (0.9 + 0.7 + 0.8 + 0.6 + 2) / 6,
            "doubs": (0.8 + 0.9 + 0.7 + 0.9 + 1) / 6,
            "inn": (0.5 + 0.4 + 0.7 + 3) / 6,
        }
    )
    assert board.notes == ("dice is undefined in 3 of 6 cases: it counts as 1 there",)
    # What nobody has an output of is missing, not undefined.
    lacking = MeanThenRank("dice", WorstObserved(), undefined=1.0).rank(table(mixed, missing={"doubs": [0]}))
    assert lacking.undefined == {"dice": 3}
    assert lacking["doubs"].score == pytest.approx((0.5 + 0.9 + 0.7 + 0.9 + 2) / 6)
    with pytest.raises(ValueError, match=r"an undefined dice cannot count as 1\.5: it lies in"):
        MeanThenRank("dice", FixedValue(0.0), undefined=1.5).check()


@pytest.mark.parametrize("missing", [FixedValue(0.0), WorstObserved(), LeaveOut()])
def test_a_missing_output_of_an_undefined_case_costs_nothing_by_that_metric(missing: Any) -> None:
    rule = MeanThenRank("dice", missing, undefined="leave-out")
    board = rule.rank(table(missing={"inn": [1]}))
    assert scores_of(board) == pytest.approx(over_ill(np.mean))
    assert board["inn"].missing == 1
    assert (
        MeanThenRank("dice", Disqualify(), undefined="leave-out").rank(table(missing={"inn": [1]}))["inn"].disqualified
    )


def test_weights_of_cases_hold_among_those_that_are_left() -> None:
    weight = [1.0, 5.0, 2.0, 3.0, 7.0, 4.0]
    rule = MeanThenRank("dice", Disqualify(), undefined="leave-out")
    expected = {t: np.average([v[i] for i in ILL], weights=[weight[i] for i in ILL]) for t, v in DICE.items()}  # type: ignore[misc]
    assert scores_of(rule.rank(table(weight=weight))) == pytest.approx(expected)
    uncertainty = bootstrap_ranks(table(weight=weight), rule, replicates=100, seed=2)
    counts = uncertainty.draws.counts  # type: ignore[union-attr]
    w = np.array(weight)[ILL]
    for at, team in enumerate(uncertainty.drawn.submissions):
        x = np.array([DICE[team][i] for i in ILL], float)
        assert uncertainty.drawn.scores[at] == pytest.approx([np.average(x, weights=w * row[ILL]) for row in counts])


def rank_oracle(values: Mapping[str, float], *, higher: bool) -> dict[str, float]:
    return {t: 1.0 + sum((u > v) if higher else (u < v) for u in values.values()) for t, v in values.items()}


def test_weighted_ranks_leave_each_metric_out_of_its_own_cases() -> None:
    scores = table(errors=ERRORS)
    rule = WeightedRanks((("dice", 2.0), ("dose_error", 1.0)), missing=Disqualify(), undefined="leave-out")
    board = rule.rank(scores)
    assert board.undefined == {"dice": 2, "dose_error": 1}
    uncertainty = bootstrap_ranks(scores, rule, replicates=200, seed=4)
    for row, drawn in zip(uncertainty.draws.counts, uncertainty.drawn.scores.T, strict=True):  # type: ignore[union-attr]
        by = {}
        for name, values in (("dice", DICE), ("dose_error", ERRORS)):
            known = [i for i in range(6) if values["aare"][i] is not None]
            assert row[known].sum() > 0
            means = {t: float(np.average([v[i] for i in known], weights=row[known])) for t, v in values.items()}  # type: ignore[misc]
            by[name] = rank_oracle({t: round(m, 12) for t, m in means.items()}, higher=name == "dice")
        expected = [(2 * by["dice"][t] + by["dose_error"][t]) / 3 for t in uncertainty.drawn.submissions]
        assert drawn == pytest.approx(expected)
    assert set(uncertainty.rank_sets) == set(DICE)


def test_ranks_in_each_case_are_those_by_the_metrics_defined_there() -> None:
    scores = table(errors=ERRORS)
    rule = RankThenMean(
        metrics=(("dice", 2.0), ("dose_error", 1.0)), missing=RankLast(), ties="min", undefined="leave-out"
    )
    total = dict.fromkeys(DICE, 0.0)
    share = 0.0
    for i, (values, weight) in itertools.product(range(6), ((DICE, 2.0), (ERRORS, 1.0))):
        if values["aare"][i] is not None:
            share += weight
            for team, rank in rank_oracle({t: v[i] for t, v in values.items()}, higher=values is DICE).items():  # type: ignore[misc]
                total[team] += weight * rank
    assert scores_of(rule.rank(scores)) == pytest.approx({team: rank / share for team, rank in total.items()})
    uncertainty = bootstrap_ranks(scores, rule, replicates=50, seed=1)
    alone = bootstrap_ranks(scores, rule, weights=np.ones((1, 6), int))
    assert alone.drawn.scores[:, 0] == pytest.approx(uncertainty.drawn.full)


def test_tests_and_normalised_sums_know_it_too() -> None:
    ill_only = table({team: [values[i] for i in ILL] for team, values in DICE.items()})
    tests = TestThenRank("dice", Disqualify(), alpha=0.4, undefined="leave-out")
    assert scores_of(tests.rank(table())) == scores_of(TestThenRank("dice", Disqualify(), alpha=0.4).rank(ill_only))
    assert bootstrap_ranks(table(), tests, replicates=50).drawn.scores.shape == (3, 50)
    total = NormalisedSum(metrics=(("dice", 1.0),), missing=Disqualify(), undefined="leave-out")
    plain = NormalisedSum(metrics=(("dice", 1.0),), missing=Disqualify())
    assert scores_of(total.rank(table())) == pytest.approx(scores_of(plain.rank(ill_only)))
    assert total.rank(table()).undefined == {"dice": 2}
    assert bootstrap_ranks(table(), total, replicates=50).drawn.scores.shape == (3, 50)


def test_parts_are_left_out_one_by_one() -> None:
    def rows(team: str, bone: float | None, lung: float | None) -> pl.DataFrame:
        made = [Row("c0", "bone", "dice", bone), Row("c0", "lung", "dice", lung), Row("c1", "bone", "dice", 0.5)]
        made.append(Row("c2", "bone", "dice", None))
        return frame(made).with_columns(submission=pl.lit(team))

    scores = pl.concat([rows("aare", 0.9, None), rows("inn", 0.7, None)])
    rule = MeanThenRank("dice", Disqualify(), over="parts", undefined="leave-out")
    board = rule.rank(scores)
    assert scores_of(board) == pytest.approx({"aare": 0.7, "inn": 0.6})
    assert board.undefined == {"dice": 2}
    drawn = bootstrap_ranks(scores, rule, weights=[[2, 1, 0], [1, 0, 2]]).drawn
    assert drawn.scores == pytest.approx(np.array([[(0.9 * 2 + 0.5) / 3, 0.9], [(0.7 * 2 + 0.5) / 3, 0.7]]))
    with pytest.raises(ValueError, match="dice is undefined for 'inn' in c0, where others have a value"):
        rule.rank(pl.concat([rows("aare", 0.9, 0.8), rows("inn", 0.7, None)]))


@pytest.mark.parametrize("policy", ["leave-out", 0.5])
@pytest.mark.parametrize(
    "make_rule",
    [
        lambda **how: WeightedRanks((("dice", 2.0), ("dose_error", 1.0)), missing=Disqualify(), **how),
        lambda **how: NormalisedSum(metrics=(("dice", 2.0), ("dose_error", 1.0)), missing=Disqualify(), **how),
        lambda **how: RankThenMean(
            metrics=(("dice", 2.0), ("dose_error", 1.0)), missing=Disqualify(), ties="min", **how
        ),
        lambda **how: MeanThenRank("dice", Disqualify(), **how),
        lambda **how: QuantileThenRank("dice", Disqualify(), **how),
        lambda **how: TrimmedMeanThenRank("dice", Disqualify(), **how),
        lambda **how: TestThenRank("dice", Disqualify(), **how),
    ],
    ids=["weighted-ranks", "normalised-sum", "mean-rank", "mean", "quantile", "trimmed-mean", "tests"],
)
def test_a_part_is_ranked_as_a_case_would_be(make_rule: Any, policy: Any) -> None:
    whole = table(errors=ERRORS)
    in_part = whole.with_columns(part=pl.lit("ET"))
    expected, found = make_rule(undefined=policy).rank(whole), make_rule(undefined=policy, part="ET").rank(in_part)
    assert scores_of(found) == scores_of(expected)
    assert found.undefined == expected.undefined
    drawn, alike = (
        bootstrap_ranks(scores, make_rule(undefined=policy, part=part), replicates=100, seed=2).drawn.scores
        for scores, part in ((whole, ""), (in_part, "ET"))
    )
    assert np.array_equal(drawn, alike)


def test_comparisons_plans_ladders_and_other_rules_follow_the_policy() -> None:
    rule = MeanThenRank("dice", Disqualify(), undefined="leave-out")
    paired = paired_values(table(), rule)
    assert {team: list(x) for team, x in paired.values.items()} == {t: [v[i] for i in ILL] for t, v in DICE.items()}
    assert paired.cases == ("c0", "c2", "c3", "c5")
    drawn = rule.draw(table(), CaseDraws.all_cases(6))
    assert drawn.values is not None
    plan = plan_cases(drawn.values, weight=drawn.weight, better="higher", sizes=[10], trials=20)
    assert plan.pilot_cases == 4
    one = table({"aare": DICE["aare"]})
    assert climb([one, table({"aare": DICE["doubs"]})], rule, 0.01)[0] == 1
    universes = alternatives(rule, table())
    found = multiverse(table(), universes)
    assert found.undefined == {}
    assert {"median", "trimmed mean", "significant wins"} <= {outcome.universe.name for outcome in found.outcomes}
    several = WeightedRanks((("dice", 1.0), ("dose_error", 1.0)), missing=Disqualify(), undefined="leave-out")
    assert multiverse(table(errors=ERRORS), alternatives(several, table(errors=ERRORS))).undefined == {}


@pytest.mark.parametrize("policy", ["leave-out", "leave-out-or-missing", 0.5])
def test_the_policy_is_in_words_pseudo_code_and_descriptions(policy: Any) -> None:
    for rule in (
        MeanThenRank("dice", Disqualify(), undefined=policy),
        QuantileThenRank("dice", Disqualify(), undefined=policy),
        TestThenRank("dice", Disqualify(), undefined=policy),
        RankThenMean(metrics="dice", missing=RankLast(), ties="min", undefined=policy),
        WeightedRanks((("dice", 1.0),), missing=Disqualify(), undefined=policy),
        NormalisedSum(metrics=(("dice", 1.0),), missing=Disqualify(), undefined=policy),
    ):
        assert rule_of(json.loads(json.dumps(describe(rule)))) == rule
        assert (
            "undefined metric counts as 0.5" if policy == 0.5 else "undefined is left out of it for all teams"
        ) in str(rule)
        assert ("is undefined: x[" if policy == 0.5 else "for all") in pseudo_code(rule)


def test_a_rule_of_several_metrics_lists_whom_it_can() -> None:
    with pytest.raises(ValueError, match="still has the others; leave the case out"):
        WeightedRanks((("dice", 1.0),), missing=Disqualify(), undefined="unlisted").check()


def test_every_metric_has_a_case_in_every_resample() -> None:
    """Dice is defined in the first case only, the error in the last only: a resample needs both."""
    dice = {team: [value, None, None, None] for team, value in (("aare", 0.9), ("inn", 0.7))}
    errors = {team: [None, None, None, value] for team, value in (("aare", 3.0), ("inn", 2.0))}
    scores = table(dice, errors=errors)
    metrics = (("dice", 1.0), ("dose_error", 1.0))
    for rule in (
        WeightedRanks(metrics, missing=Disqualify(), undefined="leave-out"),
        NormalisedSum(metrics=metrics, missing=Disqualify(), undefined="leave-out"),
    ):
        counts = bootstrap_ranks(scores, rule, replicates=100, seed=1).draws.counts  # type: ignore[union-attr]
        assert (counts[:, [0, 3]] > 0).all()
    ranks = RankThenMean(metrics=metrics, missing=RankLast(), ties="min", undefined="leave-out")
    counts = bootstrap_ranks(scores, ranks, replicates=100, seed=1).draws.counts  # type: ignore[union-attr]
    assert (counts[:, [0, 3]].sum(axis=1) > 0).all()
    assert not (counts[:, [0, 3]] > 0).all()


def test_a_case_that_nobody_has_an_output_for_is_missing_and_not_undefined() -> None:
    board = MeanThenRank("dice", FixedValue(0.0), undefined="leave-out").rank(table(missing={key: [0] for key in DICE}))
    assert board["aare"].score == pytest.approx((0 + 0.7 + 0.8 + 0.6) / 4)
    assert board.undefined == {"dice": 2}


def test_who_has_only_undefined_cases_has_no_score() -> None:
    board = MeanThenRank("dice", LeaveOut(), undefined="leave-out").rank(table(missing={"inn": [*ILL, 1]}))
    assert board["inn"].disqualified
    assert [row.submission for row in board.rows] == ["doubs", "aare"]


def test_a_benchmark_alone_is_its_own_measure() -> None:
    rule = MeanThenRank("dice", Disqualify(), undefined="leave-out")
    board = rule.rank(table({"nnunet": DICE["aare"]}), roles={"nnunet": "benchmark"})
    assert board["nnunet"].score == pytest.approx(over_ill(np.mean)["aare"])


def test_who_is_listed_elsewhere_only_stands_in_for_nobody() -> None:
    dice = {"aare": [0.9, 0.8, 0.7], "doubs": [0.8, 0.9, 0.6], "inn": [0.1, None, 0.5]}
    board = MeanThenRank("dice", WorstObserved(), undefined="unlisted").rank(table(dice, missing={"doubs": [0]}))
    assert board["inn"].score is None
    assert board["doubs"].score == pytest.approx((0.9 + 0.9 + 0.6) / 3)


def test_a_case_without_any_part_is_left_out_where_it_was_measured() -> None:
    rows = [Row("c0", "bone", "dice", 0.9), Row("c1", "bone", "dice", 0.5), Row("c2", "", "dice", None)]
    scores = pl.concat([frame(rows).with_columns(submission=pl.lit(team)) for team in ("aare", "inn")])
    board = MeanThenRank("dice", Disqualify(), over="parts", undefined="leave-out").rank(scores)
    assert scores_of(board) == pytest.approx({"aare": 0.7, "inn": 0.7})
    assert board.undefined == {"dice": 1}
    with pytest.raises(ValueError, match="dice is undefined for 'aare' in c2"):
        MeanThenRank("dice", Disqualify(), over="parts").rank(scores)


def test_a_case_is_missing_or_failed_but_never_both() -> None:
    failed = frame([Row("c0", "", "dice", 0.9), Row("c1", "", "failed", 1.0)])
    scores = pl.concat([failed.with_columns(submission=pl.lit("inn")), table({"aare": [0.9, 0.8]})])
    board = MeanThenRank("dice", LeaveOut()).rank(scores)
    assert board["inn"].missing + board["inn"].failed == 1
    assert board.notes == ("inn: mean over 1 of 2 cases",)
    tried = frame([Row("c0", "", "dice", 0.9), Row("c1", "", "dice", None), Row("c1", "", "failed", 1.0)])
    board = MeanThenRank("dice", LeaveOut()).rank(
        pl.concat([tried.with_columns(submission=pl.lit("inn")), table({"aare": [0.9, 0.8]})])
    )
    assert (board["inn"].missing, board["inn"].failed) == (0, 1)
    assert board.notes == ("inn: mean over 1 of 2 cases",)
