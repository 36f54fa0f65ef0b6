"""Rules as plain values and back, and as pseudo-code."""

from __future__ import annotations

import copy
import json
import math
import pickle
import tomllib
from dataclasses import dataclass, fields, replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isocenter
from isocenter.metrics import catalogue
from isocenter.ranking import (
    RULE_KINDS,
    Board,
    DescriptionError,
    DetectThenRank,
    Disqualify,
    FixedValue,
    LeaveOut,
    Limit,
    MeanThenRank,
    Missing,
    NormalisedSum,
    Penalty,
    QuantileThenRank,
    RankLast,
    RankThenMean,
    Rule,
    TestThenRank,
    TrimmedMeanThenRank,
    WeightedRanks,
    WorstObserved,
    WorstPossible,
    describe,
    describe_missing,
    missing_of,
    pseudo_code,
    rule_of,
)

catalogue.register(catalogue.Metric("described_time", "s", "lower", (0.0, math.inf), 1, "a time, for these tests"))
catalogue.register(catalogue.Metric("described_mood", "", "neither", (0.0, 1.0), 1, "an observation, for these tests"))

CHALLENGES = ("hecktor2020", "lung2019", "openkbp2020", "doserad2026", "picai2022")
HIGHER, LOWER = ("dice", "jaccard", "recall"), ("dose_error", "dvh_error", "described_time")

ties = st.sampled_from(["min", "average", "dense"])
tolerances = st.floats(0, 1, exclude_max=True)
weights = st.floats(0, 1e6, exclude_min=True) | st.integers(1, 9)
whole = st.sampled_from([WorstObserved("case"), WorstObserved("anywhere"), Disqualify()])


def policies(metric: str, *others: Missing) -> st.SearchStrategy[Missing]:
    """What a case may count as by a metric; and by a rule, what else it has."""
    fixed: st.SearchStrategy[Missing] = st.builds(FixedValue, st.floats(0, 1) | st.sampled_from([0, 1]))
    own: st.SearchStrategy[Missing] = st.just(WorstPossible())
    if metric in LOWER:
        own = st.builds(Penalty, st.floats(1, 1e9) | st.integers(1, 9))
    return st.one_of(fixed, own, whole, *map(st.just, others))


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """Any rule of this package that works."""
    metric = draw(st.sampled_from([*HIGHER, *LOWER]))
    kin = HIGHER if metric in HIGHER else LOWER
    several = tuple((name, draw(weights)) for name in draw(st.permutations(kin))[: draw(st.integers(1, 3))])
    names = st.sampled_from([name for name, _ in several])
    common: dict[str, Any] = {"ties": draw(ties), "tolerance": draw(tolerances)}
    plain = draw(policies(metric))
    kind = draw(st.sampled_from(RULE_KINDS))
    match kind:
        case "mean":
            over = draw(st.sampled_from(["cases", "parts", "parts-within-cases"]))
            undefined = draw(st.sampled_from(["refuse", "unlisted"]))
            missing = draw(policies(metric, LeaveOut()))
            return MeanThenRank(metric, missing, over=over, undefined=undefined, **common)
        case "quantile":
            return QuantileThenRank(metric, plain, q=draw(st.floats(0, 1) | st.integers(0, 1)), **common)
        case "trimmed-mean":
            return TrimmedMeanThenRank(metric, plain, proportion=draw(st.floats(0, 0.5, exclude_max=True)), **common)
        case "mean-rank":
            one = draw(st.booleans())
            missing = draw(policies(metric, RankLast()))
            return RankThenMean(metrics=metric if one else several, missing=missing, **common)
        case "weighted-ranks":
            limits = st.builds(Limit, names, st.floats(0, 1), st.sampled_from(["excluded", "allowed"]))
            return WeightedRanks(
                several,
                draw(policies(metric, LeaveOut())),
                given=tuple(draw(st.lists(names, max_size=2, unique=True))),
                exclude=tuple(draw(st.lists(limits, max_size=2))),
                tie_breaks=tuple(draw(st.lists(names, max_size=2, unique=True))),
                **common,
            )
        case "tests":
            return TestThenRank(
                metric,
                plain,
                alpha=draw(st.floats(0, 1, exclude_min=True, exclude_max=True)),
                adjust=draw(st.sampled_from(["none", "holm", "bonferroni", "bh"])),
                decimals=draw(st.none() | st.just("catalogue") | st.integers(0, 15)),
                **common,
            )
        case "normalised-sum":
            return NormalisedSum(metrics=several, missing=draw(policies(metric, LeaveOut())), **common)
    return DetectThenRank(
        draw(st.sampled_from(["detection_score", "auroc", "average_precision"])),
        draw(st.sampled_from([Disqualify(), LeaveOut()])),
        **common,
    )


def problems_of(description: dict[str, Any], **options: Any) -> dict[str, str]:
    """By key, what is wrong with a description."""
    before = copy.deepcopy(description)
    with pytest.raises(DescriptionError) as caught:
        rule_of(description, **options)
    assert description == before
    assert str(caught.value).split("\n") == [str(problem) for problem in caught.value.problems]
    found = [str(problem).partition(": ") for problem in caught.value.problems]
    assert len({key for key, _, _ in found}) == len(found)
    return {key: message for key, _, message in found}


@given(rules())
def test_a_rule_is_what_its_description_says(rule: Rule) -> None:
    described = describe(rule)
    again = rule_of(described)
    assert again == rule
    assert type(again) is type(rule)
    assert describe(again) == described


@given(rules())
def test_a_description_is_json_and_has_every_field(rule: Rule) -> None:
    described = describe(rule)
    text = json.dumps(described, allow_nan=False)
    assert rule_of(json.loads(text)) == rule
    assert json.dumps(describe(rule_of(json.loads(text)))) == text
    assert len(described) == 1 + len(fields(rule))  # type: ignore[arg-type]


@given(rules())
def test_equal_rules_are_described_by_the_same_bytes(rule: Rule) -> None:
    ints = {
        field.name: int(value)
        for field in fields(rule)  # type: ignore[arg-type]
        if isinstance(value := getattr(rule, field.name), float) and value.is_integer()
    }
    assert json.dumps(describe(replace(rule, **ints))) == json.dumps(describe(rule))  # type: ignore[type-var]


@pytest.mark.parametrize("name", CHALLENGES)
def test_every_board_of_the_house_can_be_described(name: str) -> None:
    challenge = isocenter.challenge(name)
    for rule in challenge.boards.values():
        assert rule_of(describe(rule), measured=challenge.metrics) == rule


def test_the_description_of_doserad_in_full() -> None:
    rule = WeightedRanks(
        (("dose_error", 1), ("described_time", 2)),
        missing=Penalty(2),
        given=("described_time",),
        exclude=(Limit("described_time", 60, at="allowed"),),
        tie_breaks=("described_time", "dose_error"),
    )
    assert describe(rule) == {
        "rule": "weighted-ranks",
        "metrics": [{"metric": "dose_error", "weight": 1.0}, {"metric": "described_time", "weight": 2.0}],
        "missing": {"penalty": 2.0},
        "given": ["described_time"],
        "limits": [{"metric": "described_time", "value": 60.0, "at": "allowed"}],
        "tie_breaks": ["described_time", "dose_error"],
        "ties": "min",
        "tolerance": 1e-9,
        "undefined": "refuse",
        "part": "",
    }


def test_what_has_a_default_may_be_left_out() -> None:
    assert rule_of({"rule": "tests", "metric": "dice", "missing": 0}) == TestThenRank("dice", FixedValue(0.0))
    assert rule_of({"rule": "detection", "metric": "auroc"}) == DetectThenRank("auroc")
    assert describe(TestThenRank("dice", FixedValue(0.0)))["decimals"] == "noise"


@pytest.mark.parametrize("metrics", [{"metric": "dice"}, {"metrics": ["dice"]}, {"metrics": [{"metric": "dice"}]}])
def test_a_single_metric_has_several_spellings(metrics: dict[str, Any]) -> None:
    expected = RankThenMean(metrics="dice", missing=RankLast(), ties="average")
    assert rule_of({"rule": "mean-rank", "missing": "rank-last", "ties": "average", **metrics}) == expected


def test_a_file_can_hold_a_description() -> None:
    text = """
        rule = "weighted-ranks"
        metrics = ["dose_error", { metric = "described_time", weight = 2 }]
        given = ["described_time"]
        missing = { penalty = 2 }
        limits = [{ metric = "described_time", value = 60 }]
        tie_breaks = ["described_time"]
    """
    rule = rule_of(tomllib.loads(text))
    assert rule == WeightedRanks(
        (("dose_error", 1.0), ("described_time", 2.0)),
        Penalty(2.0),
        given=("described_time",),
        exclude=(Limit("described_time", 60.0),),
        tie_breaks=("described_time",),
    )


@pytest.mark.parametrize(
    ("policy", "described"),
    [
        (FixedValue(0.25), 0.25),
        (WorstPossible(), "worst"),
        (WorstObserved(), "worst-observed"),
        (WorstObserved("anywhere"), "worst-observed-anywhere"),
        (Penalty(2), {"penalty": 2.0}),
        (RankLast(), "rank-last"),
        (LeaveOut(), "leave-out"),
        (Disqualify(), "disqualify"),
    ],
)
def test_each_policy_has_its_words(policy: Missing, described: Any) -> None:
    assert describe_missing(policy) == described
    assert missing_of(described) == policy


POLICIES = (
    'a number, "worst", "worst-observed", "worst-observed-anywhere", "rank-last", "leave-out", "disqualify" '
    "or { penalty = 2 }"
)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "worst-observd",
            f'missing: "worst-observd" is not allowed; write {POLICIES} (did you mean "worst-observed"?)',
        ),
        (True, f"missing: true is not allowed; write {POLICIES}"),
        (math.nan, f"missing: nan is not allowed; write {POLICIES}"),
        (math.inf, f"missing: inf is not allowed; write {POLICIES}"),
        (10**400, f"missing: {'1' + 58 * '0'}… is not allowed; write {POLICIES}"),
        pytest.param(10**5000, f"missing: a number of thousands of digits is not allowed; write {POLICIES}", id="5000"),
        (None, f"missing: nothing is not allowed; write {POLICIES}"),
        ([0], f"missing: a list is not allowed; write {POLICIES}"),
        ({}, f"missing: a table is not allowed; write {POLICIES}"),
        ({"penalty": 2, "value": 0}, f"missing: a table is not allowed; write {POLICIES}"),
        ({"penalty": 0.5}, "missing.penalty: 0.5 is not allowed; write a number, 1 or more"),
        ({"penalty": "2"}, 'missing.penalty: "2" is not allowed; write a number, 1 or more'),
    ],
)
def test_no_other_value_is_a_policy(value: Any, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        missing_of(value)
    assert str(caught.value) == message


GOOD: dict[str, Any] = {"rule": "mean", "metric": "dice", "missing": 0}
WEIGHTED: dict[str, Any] = {"rule": "weighted-ranks", "metrics": ["dice", "jaccard"], "missing": 0}


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"rule": "meen"}, "rule", '(did you mean "mean"?)'),
        ({"rule": ["mean"]}, "rule", "a list is not allowed; write"),
        ({"metric": 5}, "metric", "5 is not allowed; write"),
        (
            {"metric": "described_mood"},
            "metric",
            '"described_mood" is an observation and has no better or worse; write',
        ),
        ({"metric": ["dice"]}, "metric", "a list is not allowed; write"),
        ({"missing": 2}, "missing", "a missing dice cannot count as 2.0: it lies in [0.0, 1.0]"),
        ({"missing": "rank-last"}, "missing", "the rule does not rank case by case"),
        ({"missing": {"penalty": 2}}, "missing", "dice has no penalty"),
        ({"rule": "quantile", "missing": "leave-out"}, "missing", "a median of the cases that are left depends"),
        (
            {"rule": "mean-rank", "ties": "min", "missing": "leave-out"},
            "missing",
            "a case that is left out has no rank",
        ),
        ({"rule": "tests", "missing": "leave-out"}, "missing", "a paired test needs all cases of both"),
        ({"metric": "dose_error", "missing": "worst"}, "missing", "dose_error has no worst value"),
        ({"ties": "max"}, "ties", '"max" is not allowed; write "min", "average" or "dense"'),
        ({"tolerance": -1e-9}, "tolerance", "-1e-09 is not allowed; write a number, 0 or more and below 1"),
        ({"over": "case"}, "over", '(did you mean "cases"?)'),
        ({"undefined": "leave"}, "undefined", '"leave" is not allowed; write "refuse", "unlisted", "leave-out"'),
        ({"undefined": 7}, "undefined", "an undefined dice cannot count as 7.0: it lies in [0.0, 1.0]"),
        ({"rule": "quantile", "q": 1.5}, "q", "1.5 is not allowed; write a number from 0 to 1"),
        ({"rule": "trimmed-mean", "proportion": 0.5}, "proportion", "write a number, 0 or more and below 0.5"),
        ({"rule": "tests", "alpha": 1}, "alpha", "1 is not allowed; write a number above 0 and below 1"),
        ({"rule": "tests", "adjust": "Holm"}, "adjust", '(did you mean "holm"?)'),
        (
            {"rule": "tests", "decimals": 2.5},
            "decimals",
            '2.5 is not allowed; write "noise", a whole number from 0 to 15, or "cat',
        ),
        ({"rule": "tests", "decimals": True}, "decimals", "true is not allowed"),
        ({"rule": "mean-rank"}, "ties", 'is missing; write "min", "average" or "dense"'),
        (
            {"q": 0.5},
            "q",
            'the rule "mean" has no "q", but metric, missing, ties, tolerance, over, undefined, part; "q" is for '
            '"quantile"',
        ),
        ({"metrics": ["dice"]}, "metrics", '"metrics" is for "mean-rank", "weighted-ranks" and "normalised-sum"'),
        ({"tiess": "min"}, "tiess", '"tiess" is not known; did you mean "ties"?'),
        ({"note": "x"}, "note", '"note" is not known; what can be set here is metric, missing, ties'),
        (
            {"rule": "detection", "missing": "disqualify"},
            "metric",
            '"dice" is not allowed; write "detection_score", "auroc" or "average_precision"',
        ),
        ({"rule": "detection", "metric": "auroc"}, "missing", "one that is missing disqualifies or is left out"),
    ],
)
def test_a_wrong_setting_is_named_with_what_was_found_and_what_is_allowed(
    changes: dict[str, Any], key: str, message: str
) -> None:
    found = problems_of({**GOOD, **changes})
    assert list(found) == [key]
    assert message in found[key]


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"metrics": []}, "metrics", "an empty list is not allowed; write names of metrics between brackets"),
        ({"metrics": "dice"}, "metrics", '"dice" is not allowed; write names of metrics between brackets'),
        ({"metrics": ["dice", 3]}, "metrics[2]", "3 is not allowed; write a name in quotes, or { metric"),
        ({"metrics": ["dice", {"weight": 2}]}, "metrics[2].metric", "is missing; write the name of a metric in quotes"),
        ({"metrics": ["dice", "dice"]}, "metrics[2]", '"dice" is already among the metrics; write each of them once'),
        ({"metrics": ["dice", "jacard"]}, "metrics[2]", '(did you mean "jaccard"?)'),
        (
            {"metrics": [{"metric": "dice", "weight": 0}]},
            "metrics[1].weight",
            "0 is not allowed; write a number above 0",
        ),
        ({"metrics": [{"metric": "dice", "wight": 2}]}, "metrics[1].wight", 'is not known; did you mean "weight"?'),
        ({"metric": "dice"}, "metric", '"metric" stands beside "metrics"; keep one of the two'),
        (
            {"given": ["recall"]},
            "given[1]",
            '"recall" is not allowed; write a metric of this rule, "dice" or "jaccard"',
        ),
        ({"tie_breaks": ["dice", "jacard"]}, "tie_breaks[2]", '(did you mean "jaccard"?)'),
        ({"tie_breaks": "dice"}, "tie_breaks", '"dice" is not allowed; write names of metrics in quotes between'),
        ({"tie_breaks": [1]}, "tie_breaks[1]", "1 is not allowed; write the name of a metric in quotes"),
        ({"limits": {"metric": "dice"}}, "limits", "a table is not allowed; write limits between brackets"),
        ({"limits": [0.5]}, "limits[1]", "0.5 is not allowed; write { metric"),
        ({"limits": [{"value": 0.5}]}, "limits[1].metric", "is missing; write the name of a metric in quotes"),
        ({"limits": [{"metric": "dice"}]}, "limits[1].value", "is missing; write a number"),
        ({"limits": [{"metric": "recall", "value": 0.5}]}, "limits[1].metric", "write a metric of this rule"),
        (
            {"limits": [{"metric": "dice", "value": 0.5, "at": "exclude"}]},
            "limits[1].at",
            '(did you mean "excluded"?)',
        ),
    ],
)
def test_so_is_one_of_several_metrics(changes: dict[str, Any], key: str, message: str) -> None:
    found = problems_of({**WEIGHTED, **changes})
    assert list(found) == [key]
    assert message in found[key]


def test_everything_that_is_wrong_comes_at_once() -> None:
    wrong = {
        "metrics": ["dyce", {"metric": "jaccard", "weight": -1}],
        "missing": "none",
        "ties": "max",
        "q": 0.5,
        "limits": [{"metric": "dice", "value": "much"}],
    }
    assert list(problems_of({"rule": "weighted-ranks", **wrong})) == [
        "q",
        "metrics[1]",
        "metrics[2].weight",
        "missing",
        "ties",
        "limits[1].metric",
        "limits[1].value",
    ]
    several = {"rule": "weighted-ranks", "metrics": ["dyce", "jaccard"], "missing": 2, "tie_breaks": ["dice"]}
    assert list(problems_of(several)) == ["metrics[1]", "tie_breaks[1]"]
    assert list(problems_of({**several, "metrics": ["jaccard"]})) == ["tie_breaks[1]", "missing"]
    assert list(problems_of({"rule": "quantile", "metric": "dice", "missing": "leave-out", "alpha": 1})) == [
        "alpha",
        "missing",
    ]
    assert list(problems_of({"rule": "sum", "ties": "max", "alpha": 0, "what": 1})) == ["rule", "what", "ties", "alpha"]
    assert list(problems_of({})) == ["rule"]
    assert list(problems_of({"rule": "mean"})) == ["metric", "missing"]
    assert list(problems_of({"rule": "mean-rank"})) == ["metrics", "missing", "ties"]


def test_only_what_is_measured_can_be_ranked_and_what_is_given_need_not_be() -> None:
    assert problems_of(GOOD, measured=["jaccard", "dice_2"])["metric"] == ('"dice" is not allowed; write "jaccard"')
    given_time = {**WEIGHTED, "metrics": ["dose_error", "described_time"], "given": ["described_time"]}
    assert rule_of(given_time, measured=["dose_error"]).reads == ("dose_error",)
    assert list(problems_of({**given_time, "given": []}, measured=["dose_error"])) == ["metrics[2]"]
    detection = {"rule": "detection", "metric": "auroc"}
    assert problems_of(detection, measured=["dice", "case_positive"])["rule"] == (
        '"detection" needs "case_positive" and "case_likelihood" of every case; what is measured is '
        '"dice" and "case_positive"'
    )


@dataclass(frozen=True)
class Foreign:
    """A rule of another package."""

    metric: str = "dice"
    reads: tuple[str, ...] = ("dice",)

    def check(self) -> None:
        pass

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Any = None) -> Board:
        return Board(name=name, metric=self.metric, rule="own", rows=())


class Mine(MeanThenRank):
    """Looks like one of ours, and may do anything."""


@pytest.mark.parametrize("rule", [Foreign(), Mine("dice", FixedValue(0.0))])
def test_a_rule_of_another_package_has_no_description(rule: Any) -> None:
    for described in (describe, pseudo_code):
        with pytest.raises(DescriptionError, match=rf"{type(rule).__name__} is a rule of another package; what can be"):
            described(rule)


def test_a_rule_that_cannot_be_read_back_is_not_described() -> None:
    with pytest.raises(DescriptionError, match="missing: inf is not allowed"):
        describe(MeanThenRank("dose_error", FixedValue(math.inf)))
    with pytest.raises(DescriptionError, match='over: "case" is not allowed'):
        describe(MeanThenRank("dice", FixedValue(0.0), over="case"))  # type: ignore[arg-type]


def test_an_error_crosses_to_another_process() -> None:
    with pytest.raises(DescriptionError) as caught:
        rule_of({"rule": "mean"})
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["dice", "mean"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["metric", "weight", "x"]), inner),
    max_leaves=6,
)
KEYS = [
    "rule", "metric", "metrics", "missing", "ties", "tolerance", "over", "undefined", "q", "proportion", "alpha",
    "adjust", "decimals", "given", "limits", "tie_breaks", "statistic", "columns", "parts", "x",
]  # fmt: skip


@given(st.dictionaries(st.sampled_from(KEYS), json_values), st.sampled_from([*RULE_KINDS, None]))
def test_whatever_is_described_is_a_rule_or_an_error_in_plain_words(found: dict[str, Any], kind: str | None) -> None:
    description = {**found, **({} if kind is None else {"rule": kind})}
    error = error_of(description)
    if error is None:
        rule = rule_of(description)
        assert rule_of(describe(rule)) == rule
        return
    assert error.problems
    assert all(problem.path[0] in KEYS for problem in error.problems)
    assert "None" not in str(error)
    assert "{'" not in str(error)


def error_of(description: dict[str, Any]) -> DescriptionError | None:
    try:
        rule_of(description)
    except DescriptionError as error:
        return error
    return None


@given(rules())
def test_pseudo_code_is_a_few_lines_that_name_every_metric(rule: Rule) -> None:
    code = pseudo_code(rule)
    assert len(code.splitlines()) <= 16
    named = [rule.metric] if isinstance(rule, TestThenRank) else rule.reads
    if not isinstance(rule, DetectThenRank):
        assert all(name in code for name in named)
    assert code.splitlines()[-1].startswith("    rank[s] = 1 + ")


def test_the_pseudo_code_of_weighted_ranks() -> None:
    rule = WeightedRanks(
        (("dose_error", 1), ("dvh_error", 1), ("described_time", 2)),
        missing=Disqualify(),
        given=("described_time",),
        exclude=(Limit("described_time", 60),),
        tie_breaks=("described_time",),
        ties="average",
    )
    assert pseudo_code(rule).splitlines() == [
        "for each metric m of (dose_error ↓, dvh_error ↓) and each submission s:",
        "    for each case i:",
        "        x[m, s, i] = m of s in i",
        "        if s has no usable output for i: s is disqualified and stands on no board",
        "    v[m, s] = Σᵢ w[i] · x[m, s, i] / Σᵢ w[i]",
        "for each submission s: v[described_time, s] = described_time of s, measured elsewhere",
        "if v[described_time, s] ≥ 60: s does not compete",
        "for each metric m of (dose_error ↓, dvh_error ↓, described_time ↓):",
        "    for each competing s, by v[m, s] (equal within 1e-09 × the larger):",
        "        r[m, s] = 1 + #{t: t better than s} + #{t ≠ s: t equal to s} / 2",
        "for each competing s:",
        "    score[s] = (r[dose_error, s] + r[dvh_error, s] + 2 · r[described_time, s]) / 4",
        "for each submission s, by score (lower is better, equal within 1e-09 × the larger), "
        "then by v[described_time, s] ↓:",
        "    rank[s] = 1 + #{t: t better than s} + #{t ≠ s: t equal to s} / 2",
    ]


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (MeanThenRank("dice", LeaveOut()), "if s has no usable output for i: leave i out for s"),
        (MeanThenRank("dice", WorstPossible()), "x[s, i] = 0, the worst dice there is"),
        (MeanThenRank("dice", WorstObserved()), "x[s, i] = the worst dice of any team in i"),
        (MeanThenRank("dice", WorstObserved("anywhere")), "x[s, i] = the worst dice of any team in any case"),
        (MeanThenRank("dose_error", Penalty(2)), "x[s, i] = 2 × the worst dose_error of any team in any case"),
        (MeanThenRank("dvh_error", FixedValue(0.5), over="parts"), "score[s] = Σᵢ Σₚ w[i] · x[s, i, p] / Σᵢ Σₚ w[i]"),
        (MeanThenRank("dvh_error", FixedValue(0.5), over="parts-within-cases"), "x[s, i] = mean over p of x[s, i, p]"),
        (MeanThenRank("dice", WorstPossible(), undefined="unlisted"), "if dice is undefined for an output of s"),
        (QuantileThenRank("dice", WorstPossible(), q=0.25), "score[s] = 0.25 quantile over i of x[s, i]"),
        (TrimmedMeanThenRank("dice", WorstPossible(), proportion=0.2), "without the ⌊0.2 · n⌋ lowest"),
        (RankThenMean(metrics="dice", missing=RankLast(), ties="min"), "x[m, s, i] ranks behind all others in i"),
        (
            RankThenMean(metrics=(("dice", 3), ("recall", 1)), missing=WorstPossible(), ties="min"),
            "x[m, s, i] = the worst m there is",
        ),
        (TestThenRank("dice", WorstPossible(), alpha=0.01), "score[s] = #{t ≠ s: P[s, t] ≤ 0.01} / (K − 1)"),
        (
            TestThenRank("dice", WorstPossible(), adjust="holm"),
            "P = P adjusted by holm over all K (K − 1) ordered pairs",
        ),
        (TestThenRank("dice", WorstPossible()), "sizes within rounding noise made equal"),
        (TestThenRank("dice", WorstPossible(), decimals="catalogue"), "rounded to 4 decimals"),
        (TestThenRank("dice", WorstPossible(), decimals=2), "rounded to 2 decimals"),
        (
            NormalisedSum(metrics=(("dice", 1), ("recall", 2)), missing=WorstPossible()),
            "(u[dice, s] + 2 · u[recall, s]) / 3",
        ),
        (DetectThenRank("auroc"), "A = area under the ROC curve of the likelihoods of all patients"),
        (DetectThenRank("detection_score"), "y[k] = (A + P) / 2"),
        (
            WeightedRanks((("dice", 1),), WorstPossible(), exclude=(Limit("dice", 0.5, "allowed"),)),
            "if v[dice, s] < 0.5:",
        ),
        (
            MeanThenRank("dice", WorstPossible(), ties="dense"),
            "rank[s] = 1 + #{different values better than that of s}",
        ),
    ],
)
def test_pseudo_code_says_what_the_fields_say(rule: Rule, line: str) -> None:
    assert line in pseudo_code(rule)
