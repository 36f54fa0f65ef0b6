"""How far voters agree: everybody with everybody, observers in turn, and hard cases."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from isocenter import ensembles, evaluation, metrics
from isocenter.ensembles import (
    EnsembleError,
    Votes,
    against,
    all_pairs,
    case_difficulty,
    count_votes,
    measure_pairs,
    pair_table,
    pairwise,
    read_maps,
    summarise_pairs,
)
from isocenter.evaluation import Challenge
from isocenter.metrics import Metric, catalogue
from isocenter.volumes import Grid

Row = Callable[..., np.ndarray]


def without(votes: Votes, case: str, voter: str, state: str = "missing") -> Votes:
    """The votes, had a voter had no mask in a case."""
    cases = []
    for one in votes.cases:
        states: Any = one.roll.states | ({voter: state} if one.case == case else {})
        cases.append(replace(one, roll=replace(one.roll, states=states)))
    return replace(votes, cases=tuple(cases))


@pytest.mark.parametrize(("metric", "key"), [("dice", "pairwise_dice"), ("jaccard", "pairwise_jaccard")])
def test_the_matrix_is_the_golden_one(
    golden_segmentation: dict[str, Any], golden_patterns: Any, metric: str, key: str
) -> None:
    names = [f"s{i}" for i in range(5)]
    cases, expected = [], []
    for case, values in golden_segmentation["ensembles"].items():
        roll = ensembles.Roll(states=dict.fromkeys(names, "voted"))
        cases.append(ensembles.CaseVotes(case, 1.0, golden_patterns(case), roll))
        table = np.array(values[f"{key}_truth_then_s0_s4"], dtype=float)
        expected.append(np.where(table > 1, 1.0, table))  # SimpleITK's "undefined" of two empty masks
    votes = Votes(tuple(names), tuple(cases), ensembles.Turnout({}, {}, ()))
    found = pairwise(votes, metric=metric, reference=True)
    assert found.names == ("reference", *names)
    np.testing.assert_allclose(found.per_case, np.array(expected), atol=1e-12)
    np.testing.assert_allclose(found.mean, np.mean(expected, axis=0), atol=1e-12)
    np.testing.assert_array_equal(pairwise(votes, metric=metric).mean, found.mean[1:, 1:])


def test_the_s_score_of_all_ordered_pairs_is_the_golden_one(
    golden_segmentation: dict[str, Any], golden_patterns: Any
) -> None:
    for case, values in golden_segmentation["ensembles"].items():
        roll = ensembles.Roll(states={f"s{i}": "voted" for i in range(5)})
        one = ensembles.CaseVotes(case, 1.0, golden_patterns(case), roll)
        found = pairwise(
            Votes(one.patterns.voters, (one,), ensembles.Turnout({}, {}, ())), metric="s_score", reference=True
        )
        for i, line in enumerate(values["pairwise_s_score_row_is_truth_col_is_prediction"]):
            for j, expected in enumerate(line):
                if expected is not None:
                    wanted = float(expected["fn_over_tp_plus_fp"])
                    assert found.mean[i, j] == pytest.approx(wanted, abs=1e-12, nan_ok=True)
                    assert found.undefined[i, j] == math.isnan(wanted)


def test_who_has_no_mask_is_left_out_and_not_taken_for_empty(votes_of: Any, row: Row) -> None:
    masks = {"a": row(0, 1), "b": row(0, 1), "c": row(1, 2)}
    votes = votes_of({"p": (row(0), masks), "q": (row(0), masks | {"b": row()})})
    table = pairwise(without(votes, "q", "b"))
    assert table.mean[0, 1] == 1.0
    assert np.isnan(table.per_case[1, 1]).all()
    assert table.compared.tolist() == [[2, 1, 2], [1, 1, 1], [2, 1, 2]]
    assert pairwise(votes).mean[0, 1] == 0.5


def test_a_pair_that_never_met_has_no_mean(votes_of: Any, row: Row) -> None:
    votes = without(votes_of({"p": (row(0), {"a": row(0), "b": row(0)})}), "p", "b")
    assert math.isnan(pairwise(votes).mean[0, 1])
    assert pairwise(votes).mean[0, 0] == 1.0


def test_means_have_the_weights_of_cases(votes_of: Any, row: Row) -> None:
    cases = {"p": (row(0), {"a": row(0), "b": row(0)}), "q": (row(0), {"a": row(0), "b": row(1)})}
    assert pairwise(votes_of(cases, weights={"p": 3.0})).mean[0, 1] == 0.75


def test_six_observers_have_fifteen_pairs_or_thirty_if_it_matters_who_is_the_truth(votes_of: Any, row: Row) -> None:
    observers = {name: row(0, i + 1) for i, name in enumerate("ABCDEF")}
    table = pair_table(votes_of({"p": (row(0), observers)}), metrics=["dice", "s_score"])
    assert table.filter(metric="dice").height == 15
    assert table.filter(metric="s_score").height == 30
    assert {"A|B"} == set(table.filter(metric="dice")["part"]) & {"A|B", "B|A"}
    assert len(all_pairs("ABCDEF", ordered=True)) == len(set(all_pairs("ABCDEF", ordered=True))) == 30


def test_the_first_of_a_pair_is_the_truth(votes_of: Any, row: Row) -> None:
    large, small = row(0, 1, 2, 3), row(0, 1)
    table = pair_table(votes_of({"p": (row(0), {"large": large, "small": small})}), metrics=["recall"])
    assert dict(table.select("part", "value").iter_rows()) == {"large|small": 0.5, "small|large": 1.0}


def test_every_algorithm_is_measured_with_every_observer_as_the_truth(votes_of: Any, row: Row) -> None:
    masks = {"ann": row(0, 1), "bob": row(1, 2), "net": row(1)}
    pairs = against(["ann", "bob"], ["net", "ann"])
    assert pairs == [("ann", "net"), ("bob", "net"), ("bob", "ann")]
    votes = votes_of({"p": (row(9), masks)})
    table = pair_table(votes, metrics=["precision"], pairs=pairs)
    assert dict(table.select("part", "value").iter_rows()) == {"ann|net": 1.0, "bob|net": 1.0, "bob|ann": 0.5}
    whole = pair_table(votes, metrics=["precision"], pairs=[], reference=True)
    assert whole["part"].to_list() == ["reference|ann", "reference|bob", "reference|net"]


@pytest.mark.parametrize("state", ["missing", "failed"])
def test_an_observer_who_skipped_a_case_is_counted(votes_of: Any, row: Row, state: str) -> None:
    masks = {"ann": row(0, 1), "bob": row(1, 2), "eve": row(1)}
    votes = without(votes_of({"p": (row(1), masks), "q": (row(1), masks)}), "q", "bob", state)
    table = pair_table(votes, metrics=["dice"])
    assert table.filter(case="q", metric="dice", part="ann|bob")["value"].to_list() == [None]
    assert set(table.filter(case="q", metric=state)["part"]) == {"ann|bob", "bob|eve"}
    summary = summarise_pairs(table, metric="dice")
    assert (summary.scores, summary.absent, summary.undefined) == (4, 2, 0)


def test_a_summary_says_which_spread_it_gives(votes_of: Any, row: Row) -> None:
    cases = {c: (row(9), {"one": row(0, 1), "two": row(*m)}) for c, m in {"p": (0, 1), "q": (1, 2), "r": (5,)}.items()}
    summary = summarise_pairs(pair_table(votes_of(cases), metrics=["dice"]), metric="dice")
    assert summary.mean == pytest.approx(0.5)
    assert summary.sd == pytest.approx(0.5)  # of 1, 1/2 and 0, with n - 1
    assert summary.se == pytest.approx(0.5 / math.sqrt(3))
    single = summarise_pairs(pair_table(votes_of({"p": cases["p"]}), metrics=["dice"]), metric="dice")
    assert (single.mean, single.sd, single.se) == (1.0, None, None)
    with pytest.raises(EnsembleError, match="no jaccard"):
        summarise_pairs(pair_table(votes_of(cases), metrics=["dice"]), metric="jaccard")


def test_undefined_is_not_absent(votes_of: Any, row: Row) -> None:
    votes = votes_of({"p": (row(9), {"a": row(), "b": row(1)})})
    summary = summarise_pairs(pair_table(votes, metrics=["s_score"]), metric="s_score")
    assert (summary.mean, summary.scores, summary.absent, summary.undefined) == (0.0, 1, 0, 1)
    assert pairwise(votes, metric="s_score").undefined.tolist() == [[1, 1], [0, 0]]


def test_any_metric_of_two_masks_can_be_measured_on_pairs(
    hecktor: Challenge, reference: Path, submission: Path
) -> None:
    (submission / "CHUV002.nii.gz").unlink()
    cohort, submissions = evaluation.open_cohort(hecktor, reference), {"team": submission, "copy": reference}
    pairs = [("copy", "team"), ("reference", "copy")]

    def distance(truth: np.ndarray, other: np.ndarray, grid: Grid) -> float:
        return metrics.hausdorff_distance(truth, other, spacing=grid.spacing, percentile=95)

    catalogue.register(
        Metric("test_pair_distance", "mm", "lower", (0.0, math.inf), 2, "a metric that counts cannot tell")
    )

    functions = {"dice": lambda truth, other, _: metrics.dice(truth, other)}
    table = measure_pairs(read_maps(hecktor, cohort, submissions), metrics=functions, pairs=pairs)
    counted = pair_table(count_votes(hecktor, cohort, submissions), metrics=["dice"], pairs=pairs)
    keys = ["case", "part", "metric"]
    assert table.sort(keys).equals(counted.sort(keys))
    assert table.filter(metric="missing").select("case", "part").rows() == [("CHUV002", "copy|team")]
    distances = measure_pairs(
        read_maps(hecktor, cohort, submissions), metrics={"test_pair_distance": distance}, pairs=pairs
    )
    assert distances.filter(case="CHUV001", part="copy|team")["value"].item() == 0.0
    assert distances.filter(case="CHUV004", part="copy|team")["value"].item() == 12.0  # half of 8 slices of 3 mm


def test_hard_cases_come_first_by_the_mean_against_the_reference(votes_of: Any, row: Row) -> None:
    truth = row(0, 1)
    votes = votes_of(
        {
            "easy": (truth, {"a": truth, "b": truth}),
            "hard": (truth, {"a": row(5), "b": row(1, 2)}),
            "skipped": (truth, {"a": row(), "b": row(1, 2)}),
        }
    )
    found = case_difficulty(without(votes, "skipped", "a"))
    assert [(one.case, one.mean, one.voters, one.absent) for one in found] == [
        ("hard", 0.25, 2, 0),
        ("skipped", 0.5, 1, 1),
        ("easy", 1.0, 2, 0),
    ]


def test_without_a_reference_a_case_is_hard_where_voters_disagree(votes_of: Any, row: Row) -> None:
    votes = votes_of({"one": (row(9), {"a": row(0), "b": row(0)}), "two": (row(9), {"a": row(0), "b": row(1)})})
    found = case_difficulty(votes, reference=False)
    assert [(one.case, one.mean) for one in found] == [("two", 0.0), ("one", 1.0)]
    nobody = case_difficulty(without(without(votes, "one", "a"), "one", "b"), reference=False)
    assert (nobody[0].case, nobody[0].mean, nobody[0].voters) == ("one", None, 0)


def test_rows_of_pairs_are_a_score_table(votes_of: Any, row: Row, tmp_path: Path) -> None:
    from isocenter import scores

    table = pair_table(votes_of({"p": (row(1), {"a": row(1), "b": row(2)})}), metrics=["dice", "recall"])
    scores.write(table, tmp_path / "pairs.parquet")
    assert scores.read(tmp_path / "pairs.parquet").equals(table)
    assert isinstance(table, pl.DataFrame)
