from __future__ import annotations

import polars as pl
import pytest

import isocenter
from isocenter.evaluation import Evaluation, evaluate
from isocenter.metrics import catalogue
from isocenter.problems import Problem
from isocenter.scores import Row, frame
from isocenter.viewer._order import LIKELIHOOD_ERROR, cases_of, worst_first, yardsticks


def evaluation(*rows: tuple[str, str, str, float | None], problems: tuple[Problem, ...] = ()) -> Evaluation:
    return Evaluation(frame([Row(case, part, metric, value, 1.0) for case, part, metric, value in rows]), problems, {})


def names(result: Evaluation, metric: str) -> list[str]:
    return [case.name for case in worst_first(cases_of(result), catalogue.get(metric))]


def test_the_lowest_dice_is_the_worst_and_the_highest_error() -> None:
    values = [("A", 0.9), ("B", 0.2), ("C", 0.5)]
    assert names(evaluation(*((case, "", "dice", v) for case, v in values)), "dice") == ["B", "C", "A"]
    assert names(evaluation(*((case, "", "dose_error", v) for case, v in values)), "dose_error") == ["A", "C", "B"]


def test_cases_without_an_output_come_first_then_those_without_a_number_then_equals_by_name() -> None:
    result = evaluation(
        ("E", "", "dice", 0.5),
        ("D", "", "dice", 0.5),
        ("C", "", "dice", None),
        ("B", "", "dice", None),
        ("B", "", "failed", 1.0),
        ("A", "", "dice", None),
        ("A", "", "missing", 1.0),
        problems=(Problem("unusable", "grid differs", case="B", file="B.nii.gz", code="bad_grid"),),
    )
    assert names(result, "dice") == ["A", "B", "C", "D", "E"]
    states = {case.name: (case.state, len(case.problems)) for case in cases_of(result)}
    assert states["A"] == ("missing", 0)
    assert states["B"] == ("failed", 1)
    assert states["C"] == ("measured", 0)


def test_what_is_measured_of_parts_only_counts_by_its_mean() -> None:
    (case,) = cases_of(evaluation(("A", "PTV70|D_95", "dvh_error", 1.0), ("A", "Larynx|mean", "dvh_error", 4.0)))
    assert case.value("dvh_error") == 2.5
    assert case.value("dose_error") is None


def test_a_sure_mistake_is_the_worst_case_of_detection() -> None:
    rows = [("A", 0.0, 0.9), ("B", 1.0, 0.9), ("C", 1.0, 0.4)]
    table = [(case, "", "case_positive", truth) for case, truth, _ in rows]
    table += [(case, "", "case_likelihood", given) for case, _, given in rows]
    found = worst_first(cases_of(evaluation(*table)), LIKELIHOOD_ERROR)
    assert [(case.name, case.value("likelihood_error")) for case in found] == [
        ("A", 0.9),
        ("C", pytest.approx(0.6)),
        ("B", pytest.approx(0.1)),
    ]


@pytest.mark.parametrize(
    ("challenge", "first"),
    [
        ("hecktor2020", "dice"),
        ("lung2019", "s_score"),
        ("openkbp2020", "dose_error"),
        ("doserad2026", "beam_mae"),
        ("picai2022", "likelihood_error"),
    ],
)
def test_the_main_board_says_what_is_worst(challenge: str, first: str) -> None:
    metrics = yardsticks(isocenter.challenge(challenge))
    assert metrics[0].name == first
    assert all(metric.better != "neither" for metric in metrics)


def test_every_case_of_a_cohort_is_listed_once(reference, submission, expected_dice) -> None:
    result = evaluate(isocenter.challenge("hecktor2020"), reference=reference, submission=submission)
    cases = cases_of(result)
    assert {case.name: case.value("dice") for case in cases} == pytest.approx(expected_dice)
    assert isinstance(result.scores, pl.DataFrame)
