"""Boards with rules of the edition's own: from `[[boards]]` in the file to the rules that are in force."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isocenter
from isocenter.editions import BoardRule, Edition, EditionError, apply, awards, in_force, new, parse, render
from isocenter.evaluation import Challenge, Score
from isocenter.metrics import catalogue
from isocenter.ranking import (
    Board,
    DetectThenRank,
    Disqualify,
    FixedValue,
    LeaveOut,
    Limit,
    MeanThenRank,
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
)
from isocenter.schema import Penalised
from isocenter.schema.tables import table_in
from isocenter.scores import Row, frame
from isocenter.submissions import MaskFile

LimitRule: Any = table_in(BoardRule.model_fields["limits"])
WeightedMetric: Any = table_in(BoardRule.model_fields["metrics"])

catalogue.register(catalogue.Metric("edition_time", "s", "lower", (0.0, math.inf), 1, "a time, for these tests"))
catalogue.register(catalogue.Metric("edition_mood", "", "neither", (0.0, 1.0), 1, "an observation, for these tests"))


def measure(reference: Any, output: Mapping[str, Any]) -> Iterator[Score]:
    yield Score("dice", 1.0)


FOUND = ("case_positive", "case_likelihood")
FOUR = Challenge(
    name="four",
    title="A challenge with two masks, two doses and findings",
    reference={"mask": MaskFile()},
    output={"mask": MaskFile()},
    metrics=("dice", "jaccard", "dose_error", "dvh_error", "edition_mood", *FOUND),
    measure=measure,
    boards={
        "dice": MeanThenRank("dice", missing=FixedValue(0.0)),
        "dose": MeanThenRank("dose_error", missing=Disqualify()),
    },
)
NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)


def with_boards(*boards: dict[str, Any], **policies: Any) -> Edition:
    """An edition of `FOUR` as it is read from a file."""
    edition = new(FOUR, now=NOON).model_dump()
    edition["policies"] |= policies
    return parse(render(Edition.model_validate({**edition, "boards": boards})))


def rules_of(*boards: dict[str, Any], **policies: Any) -> dict[str, Rule]:
    return dict(apply(with_boards(*boards, **policies), FOUR).boards)


def problems_of(*boards: dict[str, Any], **policies: Any) -> dict[str, str]:
    with pytest.raises(EditionError) as caught:
        apply(with_boards(*boards, **policies), FOUR)
    return {problem.where: problem.message for problem in caught.value.problems}


RULES: list[Rule] = [
    MeanThenRank("dvh_error", Penalty(1.5), ties="dense", tolerance=0.0, over="parts", undefined="unlisted"),
    MeanThenRank("dice", LeaveOut(), over="parts-within-cases"),
    QuantileThenRank("dice", WorstPossible(), q=0.25),
    TrimmedMeanThenRank("dose_error", WorstObserved("anywhere"), proportion=0.2),
    RankThenMean(metrics=(("dice", 1.0), ("dose_error", 2.5)), missing=RankLast(), ties="average"),
    WeightedRanks(
        (("dose_error", 1.0), ("edition_time", 2.0)),
        WorstObserved(),
        given=("edition_time",),
        exclude=(Limit("edition_time", 60.0, at="allowed"),),
        tie_breaks=("edition_time", "dose_error"),
    ),
    TestThenRank("dice", Disqualify(), alpha=0.01, adjust="holm", decimals=2),
    NormalisedSum(metrics=(("dice", 1.0), ("jaccard", 3.0)), missing=FixedValue(0.25)),
    DetectThenRank("auroc", LeaveOut()),
    RankThenMean(
        metrics=(("dice", 1.0), ("dose_error", 1.0)),
        missing=RankLast(),
        ties="min",
        undefined={"dice": "leave-out", "dose_error": 374.5},
    ),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_what_describes_a_rule_makes_it_a_board(rule: Rule) -> None:
    boards = rules_of({"name": "own", **describe(rule)})
    assert boards == {**FOUR.boards, "own": rule}
    assert list(boards) == ["dice", "dose", "own"]


def test_a_file_says_the_same_in_words() -> None:
    text = """
        [[boards]]
        name = "dice"
        main = true
        rule = "quantile"
        metric = "dice"
        missing = 0

        [[boards]]
        name = "both"
        rule = "weighted-ranks"
        metrics = ["dose_error", { metric = "edition_time", weight = 2 }]
        given = ["edition_time"]
        limits = [{ metric = "edition_time", value = 60 }]
        tie_breaks = ["edition_time"]
        missing = { penalty = 2 }
    """
    boards = rules_of(*tomllib.loads(text)["boards"])
    assert boards["dice"] == QuantileThenRank("dice", FixedValue(0.0))
    assert boards["both"] == WeightedRanks(
        (("dose_error", 1.0), ("edition_time", 2.0)),
        Penalty(2.0),
        given=("edition_time",),
        exclude=(Limit("edition_time", 60.0),),
        tie_breaks=("edition_time",),
    )


MEDIAN = {"name": "median", "rule": "quantile", "metric": "dice", "missing": 0.0}


def test_a_board_replaces_the_one_of_its_name_in_its_place() -> None:
    boards = rules_of({**MEDIAN, "name": "dice"})
    assert list(boards) == ["dice", "dose"]
    assert boards["dice"] == QuantileThenRank("dice", FixedValue(0.0))
    assert boards["dose"] == FOUR.boards["dose"]


def test_only_the_main_board_comes_first() -> None:
    other = {**MEDIAN, "name": "other"}
    assert list(rules_of(MEDIAN, other)) == ["dice", "dose", "median", "other"]
    assert list(rules_of(MEDIAN, {**other, "main": True})) == ["other", "dice", "dose", "median"]
    assert list(rules_of({**MEDIAN, "name": "dose", "main": True})) == ["dose", "dice"]


def test_policies_are_for_boards_that_do_not_set_their_own() -> None:
    silent = {name: value for name, value in MEDIAN.items() if name != "missing"}
    boards = rules_of(silent, {**MEDIAN, "name": "own", "ties": "min"}, missing="disqualify", ties="dense")
    assert boards["median"] == QuantileThenRank("dice", Disqualify(), ties="dense")
    assert boards["own"] == QuantileThenRank("dice", FixedValue(0.0), ties="min")
    assert boards["dice"] == MeanThenRank("dice", Disqualify(), ties="dense")


def test_a_policy_that_only_boards_of_the_file_have_is_none_too_many() -> None:
    @dataclass(frozen=True)
    class Own:
        metric: str = "dice"
        reads: tuple[str, ...] = ("dice",)

        def check(self) -> None:
            pass

        def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Any = None) -> Board:
            raise NotImplementedError

    challenge = replace(FOUR, boards={"own": Own()})
    silent = {name: value for name, value in MEDIAN.items() if name != "missing"}
    edition = with_boards(silent, missing=0.0, ties="average")
    assert apply(edition, challenge).boards["median"] == QuantileThenRank("dice", FixedValue(0.0), ties="average")


def test_a_policy_of_the_file_need_not_suit_a_board_that_it_replaces() -> None:
    by_ranks = {"rule": "mean-rank", "metric": "dice"}
    assert list(problems_of({"name": "ranks", **by_ranks}, missing="rank-last")) == ["policies.missing"]
    boards = rules_of({"name": "dice", **by_ranks}, {"name": "dose", **by_ranks}, missing="rank-last", ties="average")
    expected = RankThenMean(metrics="dice", missing=RankLast(), ties="average")
    assert boards == {"dice": expected, "dose": expected}


@pytest.mark.parametrize(
    ("changes", "where", "message"),
    [
        ({"metric": "dyce"}, "metric", '(did you mean "dice"?)'),
        (
            {"metric": "recall"},
            "metric",
            '"recall" is not allowed; write "dice", "jaccard", "dose_error" or "dvh_error"',
        ),
        ({"metric": "edition_mood"}, "metric", "is an observation and has no better or worse"),
        ({"missing": 2}, "missing", "a missing dice cannot count as 2"),
        ({"missing": 1}, "missing", "1 is the best dice there is; a missing case would beat every other"),
        ({"missing": "leave-out"}, "missing", "a median of the cases that are left depends on which are"),
        ({"missing": "rank-last"}, "missing", "the rule does not rank case by case"),
        ({"missing": {"penalty": 2}}, "missing", "dice has no penalty"),
        ({"alpha": 0.05}, "alpha", 'the rule "quantile" has no "alpha"'),
        ({"metrics": ["dice"]}, "metrics", 'the rule "quantile" has no "metrics"'),
        ({"metric": None}, "metric", "is missing; write the name of a metric in quotes"),
    ],
)
def test_a_rule_that_cannot_work_is_told(changes: dict[str, Any], where: str, message: str) -> None:
    found = problems_of({**MEDIAN, **changes})
    assert list(found) == [f"boards[1].{where}"]
    assert message in found[f"boards[1].{where}"]


def test_so_is_a_rule_of_several_metrics() -> None:
    ranks = {"name": "ranks", "rule": "weighted-ranks", "metrics": ["dose_error", "dvh_error"], "missing": "disqualify"}
    assert problems_of({**ranks, "tie_breaks": ["dose_error", "dice"]}) == {
        "boards[1].tie_breaks[2]": '"dice" is not allowed; write a metric of this rule, "dose_error" or "dvh_error"'
    }
    assert list(problems_of({**ranks, "metrics": ["dose_error", "edition_time"]})) == ["boards[1].metrics[2]"]
    assert problems_of({**ranks, "missing": 0}) == {
        "boards[1].missing": "0 is the best dose_error there is; a missing case would beat every other"
    }
    edition = with_boards({"name": "x", "rule": "detection", "metric": "auroc"}, missing=None)
    dice_only = replace(FOUR, metrics=("dice", "dose_error"))
    with pytest.raises(EditionError, match=r'boards\[1\]\.rule: "detection" needs "case_positive" and'):
        apply(edition, dice_only)


def test_a_policy_that_comes_from_above_is_told_with_where_to_change_it() -> None:
    silent = {name: value for name, value in MEDIAN.items() if name != "missing"}
    assert problems_of(silent, missing="leave-out")["boards[1].missing"].endswith(
        "; it is that of the heading [policies], write another one here"
    )
    # The boards of `FOUR` differ, so its edition has no policy of its own.
    assert problems_of(silent)["boards[1].missing"].endswith(", here or under the heading [policies]")


def test_all_boards_and_policies_are_told_at_once() -> None:
    wrong = [{**MEDIAN, "metric": "dyce"}, {**MEDIAN, "name": "b", "q": 0.5, "over": "parts"}]
    assert list(problems_of(*wrong, missing=2.0)) == ["boards[1].metric", "boards[2].over", "policies.missing"]


def hecktor(folder: Path, boards: str) -> Path:
    text = render(new(isocenter.challenge("hecktor2020")))
    (folder / "challenge.toml").write_text(f"{text}\n{boards}", encoding="utf-8")
    return folder


def test_each_problem_has_its_line_in_the_file(tmp_path: Path) -> None:
    boards = """\
[[boards]]
name = "median"
rule = "quantile"
metric = "dose_error"
missing = "leave-out"

[[boards]]
name = "ranks"
rule = "weighted-ranks"
missing = 0
metrics = [
  "dice",
  { metric = "jacard", weight = 2 },
]
tie_breaks = ["jaccard"]
q = 0.5

[[boards]]
name = "nothing"
rule = "mean"
"""
    folder = hecktor(tmp_path, boards)
    text = (folder / "challenge.toml").read_text()
    first = text[: text.index(boards)].count("\n") + 1
    with pytest.raises(EditionError) as caught:
        in_force(folder, find=isocenter.challenge)
    assert [(problem.line, problem.where) for problem in caught.value.problems] == [
        (first + 3, "boards[1].metric"),
        (first + 12, "boards[2].metrics[2].metric"),
        (first + 14, "boards[2].tie_breaks[1]"),
        (first + 15, "boards[2].q"),
        (first + 17, "boards[3].metric"),
    ]
    assert f"challenge.toml:{first + 12}: boards[2].metrics[2].metric: " in str(caught.value)


def test_a_policy_by_metric_has_its_line(tmp_path: Path) -> None:
    boards = """\
[[boards]]
name = "brats"
rule = "mean-rank"
missing = 0
ties = "min"
metrics = ["dice", "jaccard"]
undefined = { dice = 374, jaccard = 1 }

[[boards]]
name = "ranks"
rule = "weighted-ranks"
missing = 0
metrics = ["dice", "jaccard"]

[boards.undefined]
dice = "leave-out"
jacard = 1

[[boards]]
name = "median"
rule = "quantile"
missing = 0
metric = "dice"
undefined = { dice = 1 }
"""
    text = render(new(FOUR, now=NOON)) + "\n"
    (tmp_path / "challenge.toml").write_text(text + boards, encoding="utf-8")
    first = text.count("\n") + 1
    with pytest.raises(EditionError) as caught:
        in_force(tmp_path, find=lambda _: FOUR)
    assert [(problem.line, problem.where, problem.found) for problem in caught.value.problems] == [
        (first + 6, "boards[1].undefined.dice", "374"),
        (first + 16, "boards[2].undefined.jacard", '"jacard"'),
        (first + 23, "boards[3].undefined", "a table"),
    ]
    assert '(did you mean "jaccard"?)' in caught.value.problems[1].message


def test_policies_hold_for_all_metrics() -> None:
    with pytest.raises(EditionError, match=r'policies\.undefined: a table is not allowed; write "refuse", "unlisted"'):
        parse(render(new(FOUR, now=NOON)).replace("\n[policies]\n", "\n[policies]\nundefined = { dice = 1 }\n"))
    ranks = WeightedRanks((("dice", 1.0), ("jaccard", 1.0)), Disqualify(), undefined={"dice": 1.0})
    assert new(replace(FOUR, boards={"ranks": ranks}), now=NOON).policies.undefined is None


def test_names_that_toml_cannot_hold_bare_stand_between_quotes() -> None:
    board = {"name": "x", "rule": "mean-rank", "metrics": ["dice"], "undefined": {"a b": 1.0}}
    assert dict(with_boards(board).boards[0].undefined) == {"a b": 1.0}  # type: ignore[attr-defined]


def test_a_weight_of_zero_has_its_line(tmp_path: Path) -> None:
    boards = '[[boards]]\nname = "x"\nrule = "normalised-sum"\nmetrics = [\n{ metric = "dice", weight = 0 }]\n'
    folder = hecktor(tmp_path, boards)
    line = (folder / "challenge.toml").read_text().split("\n").index('{ metric = "dice", weight = 0 }]') + 1
    with pytest.raises(EditionError) as caught:
        in_force(folder, find=isocenter.challenge)
    assert str(caught.value).endswith(
        f"challenge.toml:{line}: boards[1].metrics[1].weight: 0 is not allowed; write a number above 0"
    )


def test_a_board_of_the_file_ranks(tmp_path: Path) -> None:
    boards = '[[boards]]\nname = "median"\nmain = true\nrule = "quantile"\nmetric = "dice"\n'
    _, challenge = in_force(hecktor(tmp_path, boards), find=isocenter.challenge)

    def table(*values: float) -> pl.DataFrame:
        return frame([Row(f"c{i}", "", "dice", value) for i, value in enumerate(values)])

    scores = {"steady": table(0.6, 0.6, 0.6), "wild": table(0.9, 0.8, 0.0)}
    median, mean = isocenter.rank(challenge, scores), isocenter.rank(challenge, scores, board="dice")
    assert [(row.submission, row.score) for row in median] == [("wild", 0.8), ("steady", 0.6)]
    assert median.name == "median"
    assert [row.submission for row in mean] == ["steady", "wild"]


def test_a_new_edition_has_no_boards_but_says_how_to_write_one() -> None:
    text = render(new(FOUR, now=NOON))
    assert "boards" not in tomllib.loads(text)
    assert "# [[boards]]" in text.split("\n")
    for name in BoardRule.model_fields:
        assert re.search(rf"^# {name} = ", text, re.MULTILINE), name


def test_a_penalty_of_the_challenge_is_written_and_read_back() -> None:
    challenge = replace(FOUR, boards={"dose": MeanThenRank("dose_error", missing=Penalty(1.5))})
    text = render(new(challenge, now=NOON))
    assert "\nmissing = { penalty = 1.5 }\n" in text
    assert apply(parse(text), challenge) == challenge


def test_ranked_organisers_win_nothing_and_take_no_prize_from_others() -> None:
    prizes = [{"place": place, "amount": 100 // place, "currency": "EUR"} for place in (1, 2)]
    edition = Edition.model_validate({**with_boards(organisers="ranked").model_dump(), "prizes": prizes})
    challenge = apply(edition, FOUR)
    assert challenge.participation.organisers == "ranked"
    tables = {name: frame([Row("c", "", "dice", dice)]) for name, dice in (("own", 0.9), ("a", 0.8), ("b", 0.7))}
    board = isocenter.rank(challenge, tables, organisers=["own"])
    assert [(row.submission, row.rank) for row in board] == [("own", 1), ("a", 2), ("b", 3)]
    assert [(award.submission, award.title, award.amount) for award in awards(edition, board)] == [
        ("a", "place 1", 100),
        ("b", "place 2", 50),
    ]


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(lambda text: text.strip())
floats = st.floats(0, 1e9, exclude_min=True, allow_subnormal=False)
parts = st.floats(0, 0.5, exclude_min=True, exclude_max=True)
words = st.sampled_from(["dice", "jaccard", "edition_time"])


def board_rules(name: str) -> st.SearchStrategy[BoardRule]:
    """A board with any settings, whether they go together or not."""
    weighted = st.builds(WeightedMetric, metric=words, weight=floats | st.just(1.0))
    limits = st.builds(LimitRule, metric=words, value=floats, at=st.sampled_from(["excluded", "allowed"]))
    several = st.none() | st.lists(words, max_size=3).map(tuple)
    return st.builds(
        BoardRule,
        name=st.just(name),
        rule=st.sampled_from(["mean", "weighted-ranks", "tests"]),
        metric=st.none() | names,
        metrics=st.none() | st.lists(weighted, max_size=3).map(tuple),
        missing=st.none()
        | floats
        | st.sampled_from(["rank-last", "worst"])
        | st.builds(Penalised, floats.map(lambda n: n + 1)),
        ties=st.none() | st.sampled_from(["min", "dense"]),
        tolerance=st.none() | parts,
        over=st.none() | st.just("parts"),
        q=st.none() | parts,
        alpha=st.none() | parts,
        adjust=st.none() | st.just("bh"),
        decimals=st.none() | st.integers(0, 15) | st.just("catalogue"),
        given=several,
        limits=st.none() | st.lists(limits, max_size=2).map(tuple),
        tie_breaks=several,
    )


@given(st.lists(names, max_size=3, unique=True).flatmap(lambda chosen: st.tuples(*map(board_rules, chosen))))
def test_boards_are_read_back_as_they_were_written(boards: tuple[BoardRule, ...]) -> None:
    edition = with_boards().model_copy(update={"boards": boards})
    assert parse(render(edition)) == edition
    assert Edition.model_validate_json(edition.model_dump_json()) == edition
