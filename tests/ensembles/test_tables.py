"""What ensembles reach is a score table like any other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import isocenter
from isocenter import ensembles, evaluation, scores
from isocenter.ensembles import Ensemble, EnsembleError, StapleRule, majority, oracle_table, score_table
from isocenter.evaluation import Challenge
from isocenter.metrics import jaccard

Row = Callable[..., np.ndarray]


def test_all_ensembles_of_all_cases_have_a_row_per_metric(votes_of: Any, row: Row) -> None:
    masks = {"a": row(0, 1), "b": row(1, 2), "c": row(3)}
    votes = votes_of({"p": (row(1, 2), masks), "q": (row(0), masks)}, weights={"q": 2.0})
    table = score_table(votes, metrics=["dice", "jaccard"])
    assert table.schema == scores.SCHEMA
    assert table.height == 12 * 2 * 2
    value = table.filter(submission="1of(a,b)", case="p", metric="jaccard")["value"].item()
    assert value == pytest.approx(jaccard(row(1, 2), row(0, 1, 2)))
    assert table.filter(case="q")["weight"].unique().to_list() == [2.0]


def test_chosen_rules_have_the_rows_that_they_have_among_all(votes_of: Any, row: Row) -> None:
    masks = {"a": row(0, 1), "b": row(1, 2), "c": row(3)}
    votes = votes_of({"p": (row(1, 2), masks), "q": (row(0), masks)})
    rules = [majority(masks), Ensemble(("a",), 1)]
    some = score_table(votes, rules, metrics=["dice"])
    everything = score_table(votes, metrics=["dice"])
    assert some.join(everything, on=["submission", "case", "metric", "value"], how="semi").height == some.height == 4


def test_what_is_undefined_is_null_and_not_left_out(votes_of: Any, row: Row) -> None:
    votes = votes_of({"p": (row(), {"a": row(1)})})
    for rules in (None, [majority("a")]):
        assert score_table(votes, rules, metrics=["s_score"])["value"].to_list() == [None]
    assert oracle_table(votes, metrics=["s_score"])["value"].to_list() == [None, None]


def test_one_solution_alone_scores_as_it_was_scored(
    hecktor: Challenge, reference: Path, submission: Path, expected_dice: dict[str, float]
) -> None:
    cohort = evaluation.open_cohort(hecktor, reference)
    votes = ensembles.count_votes(hecktor, cohort, {"team": submission})
    table = score_table(votes, metrics=["dice"])
    scored = isocenter.evaluate(hecktor, reference=reference, submission=submission)
    assert table.drop("submission").equals(scored)
    assert dict(table.select("case", "value").iter_rows()) == pytest.approx(expected_dice)


def test_ensembles_stand_on_a_board_as_benchmarks(hecktor: Challenge, reference: Path, submission: Path) -> None:
    cohort = evaluation.open_cohort(hecktor, reference)
    votes = ensembles.count_votes(hecktor, cohort, {"truth itself": reference, "team": submission})
    tables = {"team": isocenter.evaluate(hecktor, reference=reference, submission=submission)}
    rules = [majority(votes.voters), StapleRule(votes.voters)]
    made = score_table(votes, rules, metrics=["dice"])
    tables |= {str(rule): made.filter(submission=str(rule)) for rule in rules}
    board = isocenter.rank(hecktor, tables, benchmarks=[str(rule) for rule in rules])
    assert board["team"].rank == 1
    assert board["1of(team,truth itself)"].rank is None
    assert board["1of(team,truth itself)"].score == 1.0


def test_the_best_per_case_is_an_oracle_and_says_so(votes_of: Any, row: Row) -> None:
    """In each case another one is right; together they are right in both."""
    cases = {
        "p": (row(0, 1), {"a": row(0, 1), "b": row(5)}),
        "q": (row(0, 1), {"a": row(0), "b": row(1)}),
    }
    table = oracle_table(votes_of(cases), metrics=["dice"])
    values = {(s, c): v for s, c, v in table.select("submission", "case", "value").iter_rows()}
    assert values == {
        ("oracle: best solution per case", "p"): 1.0,
        ("oracle: best solution per case", "q"): pytest.approx(2 / 3),
        ("oracle: best ensemble per case", "p"): 1.0,
        ("oracle: best ensemble per case", "q"): 1.0,
    }


def test_an_oracle_is_at_least_as_good_as_anything_it_picks_from(golden_patterns: Any) -> None:
    cases = tuple(
        ensembles.CaseVotes(case, 1.0, golden_patterns(case), ensembles.Roll()) for case in ("c0", "c1", "c2")
    )
    votes = ensembles.Votes(cases[0].patterns.voters, cases, ensembles.Turnout({}, {}, ()))
    metrics = ["dice", "recall"]
    best = score_table(votes, metrics=metrics).group_by("case", "metric").agg(pl.col("value").max())
    found = oracle_table(votes, metrics=metrics).filter(submission=ensembles.ORACLE_ENSEMBLE)
    assert found.join(best, on=["case", "metric", "value"], how="semi").height == 6


def test_a_table_that_nobody_could_read_is_not_made(votes_of: Any, row: Row) -> None:
    votes = votes_of({f"c{i}": (row(1), {f"v{j:02}": row(1) for j in range(16)}) for i in range(4)})
    with pytest.raises(EnsembleError, match="524,288 ensembles × 4 cases × 1 metrics are 2,097,152 rows"):
        score_table(votes, metrics=["dice"])
    assert score_table(votes, [majority(votes.voters)], metrics=["dice"]).height == 4


def test_without_a_truth_there_are_no_scores(hecktor: Challenge, submission: Path) -> None:
    submissions = {"a": submission, "b": submission}
    votes = ensembles.count_votes(hecktor, ensembles.gather_cases(hecktor, submissions), submissions)
    for make in (score_table, oracle_table):
        with pytest.raises(EnsembleError, match="no reference to score against in CHUV001, CHUV002"):
            make(votes, metrics=["dice"])
    with pytest.raises(EnsembleError, match="hd95 is not made of overlap counts"):
        score_table(votes, metrics=["hd95"])
