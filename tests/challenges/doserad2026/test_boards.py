"""From score tables and run times to the boards of the challenge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import isocenter
from isocenter import editions
from isocenter.challenges.doserad2026 import Job, JobList, challenge, run_time_tables
from isocenter.challenges.doserad2026._closest import closest
from isocenter.metrics import catalogue
from isocenter.ranking import FixedValue
from isocenter.scores import Row, frame

LEVELS = ("beam_mae", "idd_distance", "idd_distance_z", "plan_mae")
DVH = ("dvh_score", "dvh_score_relative")
GAMMA = ("gamma_pass_rate", "gamma_pass_rate_rx")


def table(error: float, gamma: float = 99.0, **more: float | None) -> pl.DataFrame:
    """A team that has the same error everywhere, in two cases."""
    values = dict.fromkeys((*LEVELS, *DVH), error) | dict.fromkeys(GAMMA, gamma) | more
    return frame([Row(case, "", metric, value) for case in ("A", "B") for metric, value in values.items()])


def timed(teams: dict[str, pl.DataFrame], **seconds: float) -> dict[str, pl.DataFrame]:
    """With jobs that take so many seconds per beam, however one looks at them."""
    jobs = {
        team: tuple(Job(s * beams, images, beams) for images, beams in ((1, 181), (2, 181), (1, 500), (10, 1810)))
        for team, s in seconds.items()
    }
    rows, remarks = run_time_tables(JobList("photon", jobs), teams)
    assert remarks == ["run times of photons: one image with 181 control points"]
    return {team: pl.concat([scores, rows[team]]) for team, scores in teams.items()}


def test_the_boards_and_what_each_of_them_says() -> None:
    assert list(challenge.boards)[:3] == ["as-run", "as-described", "as-run-until-august"]
    assert str(challenge.boards["as-run"]) == (
        "weighted mean of the ranks by beam_mae, idd_distance, plan_mae, gamma_pass_rate, dvh_score, run_time (×2), "
        "lower is better; a submission with run_time of 1 s or more is excluded before ranking; a missing or unusable "
        "case disqualifies the submission; equals share the better rank; equal scores are decided by lower run_time, "
        "then by lower plan_mae, then by lower dvh_score"
    )
    words = str(challenge.boards["as-described"])
    assert "gamma_pass_rate_rx, dvh_score_relative, run_time_mean (×2)" in words
    assert "run_time_mean of more than 1 s is excluded" in words
    assert "by beam_mae, idd_distance_z, plan_mae, gamma_pass_rate," in str(challenge.boards["as-run-until-august"])
    assert [name for name in challenge.boards if name in challenge.metrics] == list(challenge.metrics)
    assert all(catalogue.get(metric).text for metric in (*challenge.metrics, "run_time", "run_time_mean"))


def test_speed_counts_twice() -> None:
    teams = timed({"quick": table(0.02, 98.0), "exact": table(0.01, 99.0)}, quick=0.1, exact=0.2)
    board = isocenter.rank(challenge, teams)
    assert (board["exact"].score, board["quick"].score) == (pytest.approx(9 / 7), pytest.approx(12 / 7))


def test_a_submission_of_a_second_per_beam_is_excluded_as_run_and_allowed_as_described() -> None:
    teams = timed({"slow": table(0.01), "fast": table(0.02, 98.0)}, slow=1.0, fast=0.5)
    as_run, as_described = (isocenter.rank(challenge, teams, board=name) for name in ("as-run", "as-described"))
    assert (as_run["slow"].rank, as_run["fast"].score) == (None, 1.0)
    assert (as_described["slow"].rank, as_described["slow"].score) == (1, pytest.approx(9 / 7))
    beyond = timed({"slow": table(0.01), "fast": table(0.02, 98.0)}, slow=1.01, fast=0.5)
    for name in ("as-run", "as-described"):
        board = isocenter.rank(challenge, beyond, board=name)
        assert (board["slow"].rank, board["fast"].score) == (None, 1.0)
        assert any(note.startswith("slow is excluded: run_time") for note in board.notes)


def test_each_board_reads_its_own_numbers() -> None:
    teams = timed(
        {
            "a": table(0.1, 99.0, idd_distance_z=0.9, gamma_pass_rate_rx=90.0, dvh_score_relative=0.9),
            "b": table(0.2, 98.0, idd_distance_z=0.1, gamma_pass_rate_rx=95.0, dvh_score_relative=0.1),
        },
        a=0.2,
        b=0.1,
    )
    scores = {name: isocenter.rank(challenge, teams, board=name) for name in list(challenge.boards)[:3]}
    assert {name: [board["a"].score, board["b"].score] for name, board in scores.items()} == {
        "as-run": [pytest.approx(9 / 7), pytest.approx(12 / 7)],
        "as-described": [pytest.approx(11 / 7), pytest.approx(10 / 7)],
        "as-run-until-august": [pytest.approx(10 / 7), pytest.approx(11 / 7)],
    }


def test_without_run_times_the_error_says_how_to_give_them_and_single_metrics_need_none() -> None:
    teams = {"a": table(0.1), "b": table(0.2)}
    with pytest.raises(ValueError, match=r"there is no run_time of a, b;.*--run-times FILE"):
        isocenter.rank(challenge, teams)
    for metric in challenge.metrics:
        assert len(isocenter.rank(challenge, teams, board=metric)) == 2


def test_a_failed_case_disqualifies_and_its_team_moves_nobody() -> None:
    broken = frame(
        [Row("A", "", m, 0.0) for m in challenge.metrics] + [Row("B", "", m, None) for m in challenge.metrics]
    )
    broken = pl.concat([broken, frame([Row("B", "", "failed", 1.0)])])
    teams = timed({"a": table(0.1), "b": table(0.2, 98.0), "broken": broken}, a=0.3, b=0.2, broken=0.1)
    board = isocenter.rank(challenge, teams)
    assert [row.submission for row in board.unlisted] == ["broken"]
    assert board["b"].score == pytest.approx(12 / 7)


def test_a_missing_case_may_count_otherwise_by_an_edition_s_policy() -> None:
    rule = replace(challenge.boards["beam_mae"], missing=FixedValue(1.0))
    lenient = replace(challenge, boards={"beam_mae": rule})
    gap = table(0.1).filter(pl.col("case") == "A")
    assert isocenter.rank(lenient, {"gap": gap, "whole": table(0.2)})["gap"].score == pytest.approx(0.55)


def test_four_tasks_are_four_phases() -> None:
    edition = editions.new(challenge)
    assert [phase.name for phase in edition.phases] == ["photon-ct", "photon-mr", "proton-ct", "proton-mr"]
    assert {phase.quota for phase in edition.phases} == {2}
    assert editions.parse(editions.render(edition)) == edition
    assert editions.apply(edition, challenge) == challenge


def test_from_files_to_a_board(two: Any, tools: Any, tmp_path: Path) -> None:
    for patient in two:
        patient.save(tmp_path / "reference")
        for team, by in (("good", 0.01), ("fair", 0.05)):
            patient.answer(tmp_path / team, tools.off(patient.beams, by=by))
    tables = {
        team: isocenter.evaluate(challenge, reference=tmp_path / "reference", submission=tmp_path / team)
        for team in ("good", "fair")
    }
    board = isocenter.rank(challenge, timed(tables, good=0.4, fair=0.5))
    assert [(row.submission, row.score) for row in board] == [("good", 1.0), ("fair", 2.0)]


# The organs that count ------------------------------------------------------------------------------------------------


def cube(*corner: int) -> np.ndarray:
    return np.argwhere(np.ones((2, 2, 2), bool)) + corner


def test_the_closest_organs_by_centroid_in_voxels_or_in_mm() -> None:
    target = cube(10, 10, 10)
    organs = {"above": cube(10, 10, 14), "beside": cube(15, 10, 10), "far": cube(30, 10, 10), "empty": target[:0]}
    assert closest(target, organs, spacing=(1.0, 1.0, 1.0)) == ["above", "beside", "far"]
    assert closest(target, organs, spacing=(1.0, 1.0, 3.0)) == ["beside", "above", "far"]
    assert closest(target, organs, spacing=(1.0, 1.0, 3.0), count=1) == ["beside"]
    assert closest(target, {}, spacing=(1.0, 1.0, 1.0)) == []


def test_of_equally_close_organs_the_first_listed_comes_first() -> None:
    target = cube(10, 10, 10)
    left, right = cube(5, 10, 10), cube(15, 10, 10)
    assert closest(target, {"right": right, "left": left}, spacing=(1.0, 1.0, 1.0)) == ["right", "left"]
    assert closest(target, {"left": left, "right": right}, spacing=(1.0, 1.0, 1.0)) == ["left", "right"]
