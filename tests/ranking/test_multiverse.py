"""A ranking under other rules: which rules, who wins how often, and what is undefined."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from isocenter.detections import Finding, findings
from isocenter.metrics import Metric, catalogue
from isocenter.ranking import (
    Board,
    DetectThenRank,
    Disqualify,
    FixedValue,
    LeaveOut,
    Limit,
    MeanThenRank,
    Multiverse,
    NormalisedSum,
    Penalty,
    QuantileThenRank,
    RankLast,
    RankThenMean,
    TestThenRank,
    TrimmedMeanThenRank,
    Universe,
    WeightedRanks,
    WorstObserved,
    WorstPossible,
    alternatives,
    multiverse,
)
from isocenter.scores import Row, frame

GOLDEN = Path(__file__).parents[1] / "golden" / "ranking"
LEVEL = catalogue.register(Metric("multiverse_time", "s", "lower", (0.0, math.inf), 3, "for tests"))
ZERO = FixedValue(0.0)
DICE = MeanThenRank("dice", ZERO)
DOSE = MeanThenRank("dose_error", Disqualify(), undefined="unlisted")
Values = dict[str, list[float | None]]


def table(values: Values, *, metric: str = "dice", weight: list[float] | None = None) -> pl.DataFrame:
    """By submission its values in cases c0, c1 …; None is a missing case."""
    parts = []
    for submission, found in values.items():
        rows = []
        for at, value in enumerate(found):
            case_weight = weight[at] if weight else 1.0
            rows.append(Row(f"c{at}", "", metric, value, case_weight))
            if value is None and metric == "dice":
                rows.append(Row(f"c{at}", "", "missing", 1.0, case_weight))
        parts.append(frame(rows).select(pl.lit(submission).alias("submission"), pl.all()))
    return pl.concat(parts)


def explored(rule: Any, scores: pl.DataFrame, **options: Any) -> Multiverse:
    return multiverse(scores, alternatives(rule, scores, **options), roles=options.get("roles"))


def names(rule: Any, scores: pl.DataFrame, **options: Any) -> list[str]:
    return [universe.name for universe in alternatives(rule, scores, **options)]


def ranks_in(found: Multiverse, universe: str) -> dict[str, float]:
    return dict(next(outcome.ranks for outcome in found.outcomes if outcome.universe.name == universe))


SKEW: Values = {
    "steady": [0.6, 0.61, 0.62, 0.63, 0.64],
    "wild": [0.9, 0.91, 0.92, 0.1, 0.11],
    "poor": [0.5, 0.4, 0.51, 0.52, 0.41],
}


def test_who_never_fails_wins_by_the_mean_and_who_is_usually_good_by_the_median() -> None:
    found = explored(DICE, table(SKEW))
    assert [outcome.universe.name for outcome in found.outcomes] == [
        "declared",
        "median",
        "trimmed mean",
        "mean rank",
        "significant wins",
    ]
    by_mean, by_median = {"steady": 1, "wild": 2, "poor": 3}, {"wild": 1, "steady": 2, "poor": 3}
    assert ranks_in(found, "declared") == ranks_in(found, "trimmed mean") == by_mean
    assert ranks_in(found, "median") == by_median
    assert ranks_in(found, "mean rank") == {"steady": 1, "wild": 2, "poor": 3}  # 1.6, 1.8 and 2.6
    assert ranks_in(found, "significant wins") == {"steady": 1, "wild": 2, "poor": 2}  # steady beats poor only
    assert found.winners == ("steady",)
    assert (found.winner_holds_in, found.winner_shares_in, found.undefined) == (4, 0, {})
    steady, wild, poor = found.standings
    assert (steady.rank, steady.first, steady.best, steady.worst, steady.median, steady.unranked) == (1, 4, 1, 2, 1, 0)
    assert (wild.team, wild.first, wild.best, wild.worst, wild.median) == ("wild", 1, 1, 2, 2)
    assert (poor.team, poor.first, poor.best, poor.worst, poor.median) == ("poor", 0, 2, 3, 3)
    median = found.outcomes[1]
    assert (median.first, median.spearman, median.kendall) == (("wild",), 0.5, pytest.approx(1 / 3))


def test_a_squared_error_does_not_forgive_one_bad_patient() -> None:
    """OpenKBP's question: would the mean squared error have changed the ranking?"""
    errors: Values = {"even": [3.0, 3.0, 3.0], "odd": [1.0, 1.0, 6.5], "last": [9.0, 9.0, 9.0]}
    squared: Values = {team: [x * x for x in found if x is not None] for team, found in errors.items()}
    scores = pl.concat([table(errors, metric="dose_error"), table(squared, metric="dose_squared_error")])
    found = explored(DOSE, scores)
    assert ranks_in(found, "declared") == {"odd": 1, "even": 2, "last": 3}
    assert ranks_in(found, "by dose_squared_error") == {"even": 1, "odd": 2, "last": 3}
    assert "mean" not in names(DOSE, scores)  # which the declared rule is
    back = MeanThenRank("dose_squared_error", Disqualify())
    assert "by dose_error" in names(back, scores)
    assert "by dose_squared_error" not in names(DOSE, table(errors, metric="dose_error"))


TIES: Values = {
    "a": [0.6, 0.6, 0.6, 0.5, 0.5],
    "b": [0.6, 0.5, 0.6, 0.5, 0.6],
    "c": [0.5, 0.7, 0.5, 0.7, 0.6],
}


def test_how_equals_are_numbered_may_decide_who_wins() -> None:
    """Sums of ranks: 9, 8, 9 if equals share the better rank, 10.5, 10, 9.5 if the mean, 8, 8, 7 if densely."""
    rule = RankThenMean(metrics="dice", missing=ZERO, ties="min")
    found = explored(rule, table(TIES))
    assert found.winners == ("b",)
    assert ranks_in(found, "mean rank, ties average") == {"c": 1, "b": 2, "a": 3}
    assert ranks_in(found, "mean rank, ties dense") == {"c": 1, "a": 2, "b": 2}
    three = {"mean rank, ties min", "mean rank, ties average", "mean rank, ties dense"}
    assert three <= set(names(DICE, table(TIES)))
    assert not three & set(names(rule, table(SKEW)))  # nobody ties


def test_weighted_ranks_are_tried_with_other_ties_if_there_are_any() -> None:
    tied = pl.concat([table(TIES), table(TIES, metric="dvh_error")])
    rule = WeightedRanks((("dice", 1.0), ("dvh_error", 2.0)), Disqualify())
    assert ("ties average" in names(rule, tied), "ties min" in names(rule, tied)) == (True, False)
    plain = pl.concat([table(SKEW), table(SKEW, metric="dvh_error")])
    assert names(rule, plain) == ["declared", "mean rank in each case", "normalised sum"]


def golden_hecktor() -> pl.DataFrame:
    """The last of at most five submissions of every team, as one table; team three lacks two cases."""
    with (GOLDEN / "hecktor_like_cases.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    cases = sorted({row["case"] for row in rows})
    last: dict[str, int] = {}
    for row in rows:
        last[row["team"]] = min(5, max(last.get(row["team"], 0), int(row["submission"])))
    found: dict[str, dict[str, float]] = {team: {} for team in last}
    for row in rows:
        if row["dsc"] and int(row["submission"]) == last[row["team"]]:
            found[row["team"]][row["case"]] = float(row["dsc"])
    return table({team: [values.get(case) for case in cases] for team, values in found.items()})


def test_what_a_missing_case_counts_as_gives_the_golden_ranks(golden_ranking: dict[str, Any]) -> None:
    roles: Any = {"org": "organiser"}
    found = explored(DICE, golden_hecktor(), roles=roles)
    expected = golden_ranking["hecktor_like"]
    for universe, key in (
        ("declared", "policy_zero_last"),
        ("missing disqualifies the submission", "policy_disqualify_last"),
        ("missing counts as the worst that any team has in any case", "policy_worst_observed_overall_last"),
        ("missing counts as the worst that any team has there", "policy_worst_observed_per_case_last"),
        ("missing is left out of the mean", "policy_drop_case_last_NOT_RECOMMENDED"),
    ):
        ranks = {team: row["rank"] for team, row in expected[key].items() if row["rank"] is not None}
        assert ranks_in(found, universe) == ranks, universe
    three = next(one for one in found.standings if one.team == "three")
    assert (three.rank, three.best, three.worst, three.unranked) == (4, 2, 4, 1)
    assert "missing counts as the worst possible value" not in names(DICE, golden_hecktor(), roles=roles)  # is 0


def test_policies_are_varied_only_where_something_is_missing_and_as_the_rule_admits() -> None:
    gap = table(SKEW | {"poor": [0.5, None, 0.51, 0.52, 0.41]})
    assert not [name for name in names(DICE, table(SKEW)) if name.startswith("missing")]
    rank_last = RankThenMean(metrics="dice", missing=ZERO, ties="min")
    assert "missing ranks last there" in names(rank_last, gap)
    assert "missing is left out of the mean" not in names(rank_last, gap)
    assert "missing ranks last there" not in names(DICE, gap)
    half = names(MeanThenRank("dice", FixedValue(0.5)), gap)
    assert "missing counts as the worst possible value" in half
    beside = names(DICE, gap, roles={"poor": "benchmark"})
    assert not [name for name in beside if name.startswith("missing")]


def test_a_number_for_a_missing_case_does_not_carry_over_to_another_scale() -> None:
    gap = table(SKEW | {"poor": [0.5, None, 0.51, 0.52, 0.41]})
    both = pl.concat([gap, gap.filter(pl.col("metric") == "dice").with_columns(metric=pl.lit("jaccard"))])
    assert "by jaccard" in names(DICE, both)  # the worst is the worst on either scale
    assert "by jaccard" not in names(MeanThenRank("dice", FixedValue(0.5)), both)
    whole = pl.concat([table(SKEW), table(SKEW, metric="jaccard")])
    assert "by jaccard" in names(MeanThenRank("dice", FixedValue(0.5)), whole)


def test_one_centre_may_make_the_winner() -> None:
    values: Values = {"a": [0.9, 0.9, 0.5, 0.5], "b": [0.6, 0.6, 0.6, 0.6]}
    facts = {"c0": {"center": "north"}, "c1": {"center": "north"}, "c2": {"center": "south"}, "c3": {}}
    found = explored(DICE, table(values), facts=facts, by="center")
    assert ranks_in(found, "declared") == {"a": 1, "b": 2}
    assert ranks_in(found, "without center north") == {"b": 1, "a": 2}
    assert ranks_in(found, "without center south") == {"a": 1, "b": 2}
    assert ranks_in(found, "without center unknown") == {"a": 1, "b": 2}
    north = next(o for o in found.outcomes if o.universe.name == "without center north")
    assert north.universe.without == {"c0", "c1"}
    assert (north.spearman, north.kendall) == (-1, -1)


def test_nobody_comes_back_because_the_case_they_lack_is_left_out() -> None:
    scores = table({"a": [0.5, 0.5], "b": [0.4, 0.6], "lost": [0.9, None]})
    facts = {"c0": {"center": "north"}, "c1": {"center": "south"}}
    found = explored(MeanThenRank("dice", Disqualify()), scores, facts=facts, by="center")
    assert ranks_in(found, "without center south") == {"a": 1, "b": 2}
    assert ranks_in(found, "missing is left out of the mean") == {"lost": 1, "a": 2, "b": 2}
    (lost,) = [one for one in found.standings if one.team == "lost"]
    # Ranked where its case counts as something, and first where that is more than 0.
    assert (lost.rank, lost.first, lost.unranked) == (None, 3, len(found.outcomes) - 4)


def test_what_a_universe_cannot_rank_is_named_with_its_reason() -> None:
    found = explored(DICE, table(SKEW, weight=[1, 1, 1, 1, 3]))
    assert [outcome.universe.name for outcome in found.outcomes] == ["declared", "mean rank"]
    assert list(found.undefined) == ["median", "trimmed mean", "significant wins"]
    for reason in found.undefined.values():
        assert "sampling weights" in reason
    assert "Undefined:\n  median: the cases have sampling weights" in str(found)


def test_a_metric_that_was_never_measured_of_a_team_is_no_missing_case() -> None:
    some = table({team: found for team, found in SKEW.items() if team != "wild"}, metric="jaccard")
    scores = pl.concat([table(SKEW), some])
    assert explored(DICE, scores).undefined == {"by jaccard": "there is no jaccard of wild"}
    found = explored(DICE, scores, roles={"wild": "benchmark"})
    assert ranks_in(found, "by jaccard") == {"steady": 1, "poor": 2}


def test_who_competes_on_other_boards_only_is_in_no_universe() -> None:
    values = SKEW | {"elsewhere": [None, 0.9, 0.9, 0.9, 0.9]}
    found = explored(DOSE, table(values, metric="dose_error"))
    assert found.undefined == {}
    assert {one.team for one in found.standings} == set(SKEW)


def test_an_undefined_ranking_has_no_multiverse() -> None:
    with pytest.raises(ValueError, match="nobody is ranked by the rule: mean dice"):
        multiverse(table({"a": [None]}), [Universe("declared", MeanThenRank("dice", Disqualify()))])
    with pytest.raises(ValueError, match="sampling weights"):
        multiverse(table(SKEW, weight=[1, 1, 1, 1, 3]), [Universe("declared", QuantileThenRank("dice", ZERO))])


@pytest.mark.parametrize("universes", [[], [Universe("one", DICE), Universe("one", DICE)]])
def test_universes_have_names_of_their_own(universes: list[Universe]) -> None:
    with pytest.raises(ValueError, match="each with a name of its own"):
        multiverse(table(SKEW), universes)


def test_a_shared_first_rank_is_a_win_for_all_who_share_it_and_said() -> None:
    scores = table({"a": [0.6, 0.6], "b": [0.5, 0.7], "c": [0.1, 0.2]})
    universes = [
        Universe("declared", MeanThenRank("dice", ZERO, ties="average")),
        Universe("without c1", DICE, frozenset({"c1"})),
        Universe("without c0", DICE, frozenset({"c0"})),
    ]
    found = multiverse(scores, universes)
    assert found.winners == ("a", "b")
    assert (found.winner_holds_in, found.winner_shares_in) == (1, 0)
    assert [(one.team, one.rank, one.first, one.best, one.worst) for one in found.standings] == [
        ("a", 1.5, 2, 1, 2),
        ("b", 1.5, 2, 1, 2),
        ("c", 3, 0, 3, 3),
    ]
    turned = multiverse(scores, universes[1:] + universes[:1])
    assert (turned.winners, turned.winner_holds_in, turned.winner_shares_in) == (("a",), 2, 1)
    assert "a is first in 2 of 3 universes, in 1 of them with others." in str(turned)


@given(st.data())
@settings(max_examples=40)
def test_agreement_is_that_of_scipy_and_counts_add_up(data: st.DataObject) -> None:
    teams = data.draw(st.integers(2, 5))
    cases = data.draw(st.integers(1, 6))
    one = st.lists(st.integers(0, 8), min_size=cases, max_size=cases)
    values = {f"t{k}": [x / 8 for x in data.draw(one)] for k in range(teams)}
    found = explored(DICE, table(dict(values)))
    declared = found.outcomes[0].ranks
    for outcome in found.outcomes:
        order = sorted(declared)
        x, y = [declared[t] for t in order], [outcome.ranks[t] for t in order]
        if len(set(x)) == 1 or len(set(y)) == 1:
            assert math.isnan(outcome.spearman)
            assert math.isnan(outcome.kendall)
        else:
            assert outcome.spearman == pytest.approx(stats.spearmanr(x, y).statistic)
            assert outcome.kendall == pytest.approx(stats.kendalltau(x, y).statistic)
        assert outcome.first == tuple(t for t in outcome.ranks if outcome.ranks[t] == min(outcome.ranks.values()))
    for standing in found.standings:
        ranks = [outcome.ranks[standing.team] for outcome in found.outcomes]
        assert (standing.best, standing.worst) == (min(ranks), max(ranks))
        assert standing.first == sum(standing.team in outcome.first for outcome in found.outcomes)
    assert found.winner_holds_in <= min(one.first for one in found.standings if one.team in found.winners)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (QuantileThenRank("dice", ZERO), ["mean", "trimmed mean", "mean rank", "significant wins"]),
        (QuantileThenRank("dice", ZERO, q=0.9), ["mean", "median", "trimmed mean", "mean rank", "significant wins"]),
        (TrimmedMeanThenRank("dice", ZERO), ["mean", "median", "mean rank", "significant wins"]),
        (TestThenRank("dice", ZERO), ["mean", "median", "trimmed mean", "mean rank"]),
        (
            RankThenMean(metrics="dice", missing=ZERO, ties="average"),
            ["mean", "median", "trimmed mean", "significant wins"],
        ),
        (
            RankThenMean(metrics=(("dice", 1.0), ("recall", 2.0)), missing=ZERO, ties="min"),
            ["weighted ranks", "normalised sum"],
        ),
        (
            NormalisedSum(metrics=(("dice", 1.0), ("recall", 2.0)), missing=ZERO),
            ["weighted ranks", "mean rank in each case"],
        ),
    ],
)
def test_every_rule_has_the_others_as_alternatives(rule: Any, expected: list[str]) -> None:
    scores = pl.concat([table(SKEW), table(SKEW, metric="recall")])
    assert names(rule, scores) == ["declared", *expected]
    assert explored(rule, scores).undefined == {}
    assert alternatives(rule, scores)[0].rule == rule


def test_parts_are_pooled_or_averaged_within_cases() -> None:
    rows = {"a": {"p1": [1.0, 1.0, 1.0], "p2": [5.0]}, "b": {"p1": [2.5, 2.5, 2.5], "p2": [2.0]}}
    scores = pl.concat(
        [
            frame(
                Row(case, f"OAR {at}", "dvh_error", x) for case, found in cases.items() for at, x in enumerate(found)
            ).select(pl.lit(team).alias("submission"), pl.all())
            for team, cases in rows.items()
        ]
    )
    found = explored(MeanThenRank("dvh_error", Disqualify(), over="parts"), scores)
    assert ranks_in(found, "declared") == {"a": 1, "b": 2}  # 2 and 2.375
    assert ranks_in(found, "mean within cases first") == {"b": 1, "a": 2}  # 3 and 2.25
    within = MeanThenRank("dvh_error", Disqualify(), over="parts-within-cases")
    assert names(within, scores) == ["declared", "mean of all parts"]


def test_a_metric_is_exchanged_wherever_a_rule_of_several_names_it() -> None:
    rule = WeightedRanks(
        (("dice", 1.0), ("multiverse_time", 2.0)),
        ZERO,
        given=("multiverse_time",),
        exclude=(Limit("multiverse_time", 9.0), Limit("dice", 0.2)),
        tie_breaks=("dice",),
    )
    times = pl.concat(
        [
            frame([Row("", "", "multiverse_time", float(at))]).select(pl.lit(team).alias("submission"), pl.all())
            for at, team in enumerate(SKEW, start=1)
        ]
    )
    scores = pl.concat([table(SKEW), table(SKEW, metric="jaccard"), times])
    (_, other) = alternatives(rule, scores)
    assert other.name == "by jaccard"
    assert other.rule == WeightedRanks(
        (("jaccard", 1.0), ("multiverse_time", 2.0)),
        ZERO,
        given=("multiverse_time",),
        exclude=(Limit("multiverse_time", 9.0), Limit("jaccard", 0.2)),
        tie_breaks=("jaccard",),
    )
    both = NormalisedSum(metrics=(("dice", 1.0), ("jaccard", 1.0)), missing=ZERO)
    assert not [name for name in names(both, scores) if name.startswith("by")]
    assert "by jaccard" in names(NormalisedSum(metrics=(("dice", 1.0),), missing=ZERO), scores)


def test_findings_are_ranked_by_either_half_of_their_score() -> None:
    def submitted(team: str, likelihoods: dict[str, float | None], hits: int) -> pl.DataFrame:
        rows: list[Row] = []
        for number, (case, likelihood) in enumerate(sorted(likelihoods.items(), reverse=True)):
            if likelihood is None:
                rows += [Row(case, "", name, None) for name in ("case_positive", "case_likelihood")]
                rows.append(Row(case, "", "missing", 1.0))
                continue
            ill = case.startswith("p")
            marks = [Finding(True, 0.9 if number < hits else 0.0, 0.5)] if ill else [Finding(False, 0.5, 0.0)]
            rows += [Row(case, part, metric, value) for metric, value, part in findings(ill, likelihood, marks)]
        return frame(rows).select(pl.lit(team).alias("submission"), pl.all())

    scores = pl.concat(
        [
            submitted("a", {"p1": 0.9, "p2": 0.8, "n1": 0.1, "n2": 0.2}, 1),
            submitted("b", {"p1": 0.9, "p2": 0.15, "n1": 0.1, "n2": 0.2}, 2),
            submitted("lost", {"p1": 0.9, "p2": 0.8, "n1": 0.1, "n2": None}, 2),
        ]
    )
    facts = {"p1": {"center": "x"}, "n1": {"center": "x"}, "p2": {"center": "y"}, "n2": {"center": "z"}}
    found = explored(DetectThenRank("detection_score"), scores, facts=facts, by="center")
    assert ranks_in(found, "declared") == {"b": 1, "a": 2}
    assert ranks_in(found, "by auroc") == {"a": 1, "b": 2}
    assert ranks_in(found, "by average_precision") == {"b": 1, "a": 2}
    assert ranks_in(found, "missing is left out of the mean")["lost"] == 1
    assert ranks_in(found, "without center z") == {"b": 1, "a": 2}
    assert found.winner_holds_in < len(found.outcomes)


class ByName:
    """A rule of somebody else, of which nothing is known but that it ranks."""

    metric = "dice"
    reads = ("dice",)

    def check(self) -> None: ...

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Any = None) -> Board:
        return DICE.rank(scores, name=name, roles=roles)


def test_a_rule_from_outside_is_ranked_without_groups_of_cases_and_not_changed() -> None:
    facts = {f"c{at}": {"half": str(at // 3)} for at in range(5)}
    assert names(ByName(), table(SKEW), facts=facts, by="half") == ["declared", "without half 0", "without half 1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "center"}, "groups of cases need both"),
        ({"facts": {}}, "groups of cases need both"),
        ({"facts": {"c0": {"center": "x"}}, "by": "center"}, "nothing is said of c1, c2, c3, c4"),
        (
            {"facts": {f"c{n}": {"age": "60"} for n in range(5)}, "by": "center"},
            "no case has a 'center'; there are age",
        ),
        ({"facts": {f"c{n}": {} for n in range(5)}, "by": "center"}, "there are no columns"),
        ({"facts": {f"c{n}": {"center": "x"} for n in range(5)}, "by": "center"}, "all cases have the same center, x"),
    ],
)
def test_groups_that_cannot_be_made_say_why(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        alternatives(DICE, table(SKEW), **options)


@pytest.mark.parametrize("missing", [WorstPossible(), WorstObserved(), Disqualify(), LeaveOut(), Penalty(2.0)])
def test_no_universe_is_there_twice(missing: Any) -> None:
    gap = table(SKEW | {"poor": [0.5, None, 0.51, 0.52, 0.41]})
    metric = "dice"
    if isinstance(missing, Penalty):
        metric = "dvh_error"
        gap = gap.with_columns(metric=pl.col("metric").replace("dice", "dvh_error"))
    universes = alternatives(MeanThenRank(metric, missing), gap)
    assert len({universe.name for universe in universes}) == len(universes)
    assert len({(str(universe.rule), universe.without) for universe in universes}) == len(universes)
    assert multiverse(gap, universes).outcomes


def test_it_is_a_table_and_json() -> None:
    values = SKEW | {"poor": [None, 0.4, 0.5, 0.5, 0.4]}
    scores = table(values, weight=[1, 1, 1, 1, 2])
    universes = [
        Universe("declared", DICE),
        Universe("strict", MeanThenRank("dice", Disqualify())),
        Universe("median", QuantileThenRank("dice", ZERO)),
        Universe("last", RankThenMean(metrics="dice", missing=RankLast(), ties="average")),
    ]
    found = multiverse(scores, universes)
    assert str(found).splitlines() == [
        f"Declared: {DICE}.",
        "steady is first in 3 of 3 universes.",
        "",
        "team    declared   first in  ranks  median  unranked in",
        "steady         1  3 (100 %)      1       1",
        "wild           2    0 (0 %)      2       2",
        "poor           3    0 (0 %)      3       3            1",
        "",
        "universe  Spearman  Kendall  first",
        "declared     1.000    1.000  steady",
        "strict       1.000    1.000  steady",
        "last         1.000    1.000  steady",
        "",
        "Undefined:",
        f"  median: {found.undefined['median']}",
    ]
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (data["winners"], data["winner_holds_in"], data["winner_shares_in"]) == (["steady"], 3, 0)
    assert data["universes"][1]["ranks"] == {"steady": 1, "wild": 2}
    assert data["teams"][2] == {
        "team": "poor",
        "rank": 3,
        "first_in": 0,
        "share_first": 0.0,
        "best": 3,
        "worst": 3,
        "median": 3,
        "unranked_in": 1,
    }
    assert list(data["undefined"]) == ["median"]


def test_of_many_who_share_the_first_rank_some_are_named() -> None:
    scores = table({f"t{k}": [0.5, 0.5] for k in range(5)})
    found = multiverse(scores, [Universe("declared", DICE)])
    assert str(found).splitlines()[1] == "t0, t1, t2 and 2 more are first in 1 of 1 universes."
    assert str(found).splitlines()[-1] == "declared         –        –  t0, t1, t2 and 2 more"
    assert found.to_dict()["universes"][0]["spearman"] is None
