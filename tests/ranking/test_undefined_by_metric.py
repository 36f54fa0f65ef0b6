"""A rule of several metrics may have one policy for all of them where they are undefined, or one by metric."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest

from isocenter.ranking import (
    DescriptionError,
    Disqualify,
    MeanThenRank,
    NormalisedSum,
    RankThenMean,
    Rule,
    WeightedRanks,
    alternatives,
    bootstrap_ranks,
    describe,
    multiverse,
    pseudo_code,
    rule_of,
)
from isocenter.scores import Row, frame

BRATS: dict[str, Any] = {"dice": 1.0, "hd95": 374.0}
METRICS = (("dice", 2.0), ("hd95", 1.0))
VALUES: Mapping[str, Mapping[str, list[float | None]]] = {
    "aare": {"dice": [0.9, None, 0.7, 0.8, 0.6], "hd95": [4.0, 2.0, None, 9.0, 3.0]},
    "doubs": {"dice": [0.8, None, 0.9, 0.7, 0.9], "hd95": [3.0, 5.0, 6.0, 2.0, None]},
    "inn": {"dice": [0.5, None, 0.6, 0.4, 0.7], "hd95": [8.0, 1.0, 7.0, 3.0, 5.0]},
}


def table(**stand_ins: float) -> pl.DataFrame:
    """The values of all teams, with numbers in the place of those that are undefined."""
    tables = []
    for team, metrics in VALUES.items():
        rows = [
            Row(f"c{i}", "", name, stand_ins.get(name) if value is None else value)
            for name, values in metrics.items()
            for i, value in enumerate(values)
        ]
        tables.append(frame(rows).with_columns(submission=pl.lit(team)))
    return pl.concat(tables)


def weighted(**how: Any) -> Rule:
    return WeightedRanks(METRICS, missing=Disqualify(), **how)


def summed(**how: Any) -> Rule:
    return NormalisedSum(metrics=METRICS, missing=Disqualify(), **how)


def by_case(**how: Any) -> Rule:
    return RankThenMean(metrics=METRICS, missing=Disqualify(), ties="average", **how)


several = pytest.mark.parametrize("make_rule", [weighted, summed, by_case])


def rows_of(board: Any) -> list[Any]:
    return [(row.submission, row.rank, row.score, row.components) for row in board.rows]


@several
def test_each_metric_counts_as_its_own_value_where_it_is_undefined(make_rule: Any) -> None:
    board = make_rule(undefined=BRATS).rank(table())
    assert rows_of(board) == rows_of(make_rule().rank(table(**BRATS)))
    assert board.undefined == {"dice": 1, "hd95": 2}
    assert board.notes[:2] == (
        "dice is undefined in 1 of 5 cases: it counts as 1 there",
        "hd95 is undefined in 2 of 5 cases: it counts as 374 there",
    )
    drawn, by_hand = (
        bootstrap_ranks(scores, rule, replicates=100, seed=2).drawn.scores
        for scores, rule in ((table(), make_rule(undefined=BRATS)), (table(**BRATS), make_rule()))
    )
    assert np.array_equal(drawn, by_hand)


@several
def test_one_metric_may_be_left_out_where_another_counts_as_a_value(make_rule: Any) -> None:
    rule, by_hand = make_rule(undefined={"dice": "leave-out", "hd95": 374}), make_rule(undefined="leave-out")
    assert rows_of(rule.rank(table())) == rows_of(by_hand.rank(table(hd95=374.0)))
    drawn, expected = (
        bootstrap_ranks(scores, one, replicates=200, seed=5)
        for scores, one in ((table(), rule), (table(hd95=374.0), by_hand))
    )
    assert np.array_equal(drawn.drawn.scores, expected.drawn.scores)
    assert drawn.redrawn == expected.redrawn


@several
def test_a_metric_that_is_not_named_is_refused(make_rule: Any) -> None:
    with pytest.raises(ValueError, match="dice is undefined for 'aare' in c1; a score of the rest would hide that"):
        make_rule(undefined={"hd95": 374.0}).rank(table())
    assert make_rule(undefined={}) == make_rule()


@several
def test_it_is_recorded_compared_and_kept_as_one_value(make_rule: Any) -> None:
    policies = dict(BRATS)
    rule = make_rule(undefined=policies)
    policies["dice"] = 0.0
    other_order = make_rule(undefined={"hd95": 374, "dice": 1})
    assert rule == other_order
    assert hash(rule) == hash(other_order)
    assert pickle.loads(pickle.dumps(rule)) == rule
    described = json.loads(json.dumps(describe(rule)))
    assert described["undefined"] == BRATS
    assert rule_of(described) == rule
    assert describe(make_rule(undefined=0.5))["undefined"] == 0.5
    assert describe(make_rule(undefined="leave-out"))["undefined"] == "leave-out"


@several
def test_words_and_pseudo_code_say_it_metric_by_metric(make_rule: Any) -> None:
    rule = make_rule(undefined={"dice": "leave-out", "hd95": 374.0})
    assert (
        "; a case in which dice is undefined is left out of it for all teams; an undefined hd95 counts as 374 mm; "
    ) in str(rule)
    lines = [line.strip() for line in pseudo_code(rule).splitlines()]
    dice, hd95 = lines.index("if m is dice:"), lines.index("if m is hd95:")
    assert lines[dice + 1].endswith("leave i out of m for all")
    assert lines[hd95 + 1] == "if m of s in i is undefined: x[m, s, i] = 374"
    named = make_rule(undefined={"hd95": 374.0})
    assert "an undefined Hausdorff counts" in named.words(lambda name: "Hausdorff" if name == "hd95" else name)
    assert "if m is dice" not in pseudo_code(named)


@several
@pytest.mark.parametrize(
    ("policies", "problem"),
    [
        (374.0, "undefined: an undefined dice cannot count as 374.0: it lies in [0.0, 1.0]"),
        ({"dice": 374.0}, "undefined.dice: an undefined dice cannot count as 374.0: it lies in [0.0, 1.0]"),
        (
            {"dyce": 1.0},
            'undefined.dyce: "dyce" is not allowed; write a metric of this rule, "dice" or "hd95" '
            '(did you mean "dice"?)',
        ),
        (
            {"dice": "leave"},
            'undefined.dice: "leave" is not allowed; write "refuse", "unlisted", "leave-out", "leave-out-or-missing" '
            'or a number (did you mean "leave-out"?)',
        ),
        (
            {"dice": "unlisted"},
            "undefined.dice: a submission without a value of one metric still has the others; leave",
        ),
    ],
)
def test_a_policy_that_a_metric_cannot_have_is_told_with_its_metric(
    make_rule: Any, policies: Any, problem: str
) -> None:
    with pytest.raises(DescriptionError) as caught:
        rule_of({**describe(make_rule()), "undefined": policies})
    assert str(caught.value).startswith(problem)
    with pytest.raises(ValueError, match=r"undefined|still has the others|is not allowed"):
        make_rule(undefined=policies).check()


def test_a_rule_of_one_metric_has_one_policy() -> None:
    rule = MeanThenRank("dice", Disqualify())
    with pytest.raises(DescriptionError, match="undefined: only a rule of several metrics has a policy by metric"):
        rule_of({**describe(rule), "undefined": {"dice": 1.0}})
    with pytest.raises(ValueError, match="only a rule of several metrics has a policy by metric"):
        MeanThenRank("dice", Disqualify(), undefined={"dice": 1.0}).check()  # type: ignore[arg-type]
    single = RankThenMean(metrics="dice", missing=Disqualify(), ties="min", undefined={"dice": 1.0})
    assert multiverse(table(), alternatives(single, table())).undefined == {}


@several
def test_other_rules_and_metrics_keep_the_policies(make_rule: Any) -> None:
    with_jaccard = pl.concat(
        [table(), table().filter(pl.col("metric") == "dice").with_columns(metric=pl.lit("jaccard"))]
    )
    rule = make_rule(undefined=BRATS)
    universes = alternatives(rule, with_jaccard)
    swapped = next(one.rule for one in universes if one.name == "by jaccard")
    assert describe(swapped)["undefined"] == {"jaccard": 1.0, "hd95": 374.0}
    assert multiverse(with_jaccard, universes).undefined == {}


def test_a_metric_that_no_longer_counts_takes_its_policy_along() -> None:
    rule = WeightedRanks(METRICS, missing=Disqualify(), undefined=BRATS).reweighted({"dice": 0.0})
    assert describe(rule)["undefined"] == {"hd95": 374.0}
    rule.check()
