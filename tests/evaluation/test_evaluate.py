from __future__ import annotations

import json
import shutil
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import isocenter
from isocenter import evaluation
from isocenter.evaluation import CohortError, worker_pool
from isocenter.problems import SubmissionRefused
from isocenter.scores import write
from isocenter.volumes import Volume, read
from isocenter.volumes import write as write_volume


def scores_of(table: pl.DataFrame, metric: str = "dice") -> dict[str, float | None]:
    return dict(table.filter(pl.col("metric") == metric).select("case", "value").iter_rows())


def paint(path: Path, label: int) -> None:
    """Give one voxel of a mask another label."""
    volume = read(path)
    array = volume.array.copy()
    array[0, 0, 0] = label
    write_volume(Volume(array, volume.grid), path)


def test_every_case_is_scored(reference: Path, submission: Path, expected_dice: dict[str, float]) -> None:
    table = isocenter.evaluate("hecktor2020", reference=reference, submission=submission)
    assert table.columns == ["case", "part", "metric", "value", "weight"]
    assert scores_of(table) == pytest.approx(expected_dice, rel=1e-15)
    assert table["weight"].to_list() == [1.0] * 4


@pytest.mark.parametrize(
    "make", [None, lambda: ThreadPoolExecutor(3), lambda: worker_pool(2)], ids=["here", "threads", "processes"]
)
def test_any_executor_gives_the_same_bytes(tmp_path: Path, reference: Path, submission: Path, make: Any) -> None:
    (submission / "CHUV002.nii.gz").unlink()
    paint(submission / "CHUV003.nii.gz", 9)
    challenge = isocenter.challenge("hecktor2020")
    serial = evaluation.evaluate(challenge, reference=reference, submission=submission)
    executor: Executor | None = make() if make else None
    other = evaluation.evaluate(challenge, reference=reference, submission=submission, executor=executor)
    if executor is not None:
        executor.shutdown()
    for name, result in (("serial", serial), ("other", other)):
        write(result.scores, tmp_path / name, record=result.record)
    assert (tmp_path / "serial").read_bytes() == (tmp_path / "other").read_bytes()
    assert serial.problems == other.problems


def test_zips_score_as_their_folders_do(tmp_path: Path, reference: Path, submission: Path) -> None:
    zips = [shutil.make_archive(str(tmp_path / f"zip-{path.name}"), "zip", path) for path in (reference, submission)]
    expected = isocenter.evaluate("hecktor2020", reference=reference, submission=submission)
    assert isocenter.evaluate("hecktor2020", reference=zips[0], submission=zips[1]).equals(expected)


def test_a_missing_case_is_null_and_said_to_be_missing(reference: Path, submission: Path) -> None:
    (submission / "CHUV002.nii.gz").unlink()
    table = isocenter.evaluate("hecktor2020", reference=reference, submission=submission)
    assert scores_of(table)["CHUV002"] is None
    assert scores_of(table, "missing") == {"CHUV002": 1.0}
    assert scores_of(table, "failed") == {}


def test_a_case_that_cannot_be_read_does_not_sink_the_others(
    reference: Path, submission: Path, expected_dice: dict[str, float]
) -> None:
    (submission / "CHUV002.nii.gz").write_bytes(b"not a mask")
    with pytest.warns(UserWarning, match=r"CHUV002\.nii\.gz"):
        table = isocenter.evaluate("hecktor2020", reference=reference, submission=submission)
    scored = scores_of(table)
    assert scored.pop("CHUV002") is None
    assert scored == pytest.approx({case: expected_dice[case] for case in scored}, rel=1e-15)
    assert scores_of(table, "failed") == {"CHUV002": 1.0}


@pytest.mark.parametrize(
    ("label", "words"),
    [
        (8, r"ZeroDivisionError: a defect of the measure \(counted_challenge\.py, line \d+\)"),
        (4, r"measure yielded no 'dice'; one that is undefined for a case is Score\('dice', None\)"),
        (3, r"measure yielded 'dice' twice for part ''"),
        (2, r"measure returned one Score; it must yield them"),
        (7, r"measure yielded dice = 1\.5, outside of \[0\.0, 1\.0\]"),
        (6, r"measure yielded 'surprise', which the challenge does not declare"),
    ],
)
def test_a_measure_that_fails_is_the_evaluators_fault_and_makes_no_table(
    counted: Any, reference: Path, submission: Path, label: int, words: str
) -> None:
    paint(submission / "CHUV002.nii.gz", label)
    with pytest.raises(isocenter.EvaluationFailed, match=words) as caught:
        isocenter.evaluate(counted.challenge, reference=trimmed(reference), submission=submission)
    (problem,) = caught.value.causes
    assert (problem.case, problem.code, problem.origin) == ("CHUV002", "evaluator_failed", "evaluator")
    assert counted.did().count("measure") == 3  # the other cases were finished all the same


def trimmed(reference: Path) -> Path:
    """Without the case whose reference has two labels, which the counting challenge does not know."""
    (reference / "CHUV003.nii.gz").unlink(missing_ok=True)
    (reference.parent / "team" / "CHUV003.nii.gz").unlink(missing_ok=True)
    return reference


def test_an_undefined_metric_is_null_without_being_missing_or_failed(
    counted: Any, reference: Path, submission: Path
) -> None:
    paint(submission / "CHUV002.nii.gz", 5)
    table = isocenter.evaluate(counted.challenge, reference=trimmed(reference), submission=submission)
    assert scores_of(table)["CHUV002"] is None
    assert scores_of(table, "failed") == scores_of(table, "missing") == {}


@pytest.mark.parametrize("label", [9, 10])  # SIGKILL, os._exit
def test_a_measure_that_kills_its_worker_has_crashed_and_costs_no_team_anything(
    counted: Any, reference: Path, submission: Path, tmp_path: Path, label: int
) -> None:
    paint(submission / "CHUV002.nii.gz", label)
    files = {"reference": trimmed(reference), "submission": submission, "journal": tmp_path / "journal"}
    with (
        worker_pool(2) as pool,
        pytest.raises(
            isocenter.EvaluationFailed, match="its worker process died twice, in the stage measure"
        ) as caught,
    ):
        evaluation.evaluate(counted.challenge, **files, executor=pool)
    assert [(p.case, p.code, p.origin) for p in caught.value.causes] == [("CHUV002", "crashed", "evaluator")]
    counted.did()
    paint(submission / "CHUV002.nii.gz", 1)
    evaluation.evaluate(counted.challenge, **files)
    assert counted.did().count("measure") == 1  # what was measured before the failure was kept


def test_a_broken_reference_is_blamed_on_the_reference(reference: Path, submission: Path) -> None:
    paint(reference / "CHUV001.nii.gz", 7)
    with pytest.raises(CohortError, match=r"the reference .* cannot be used:\n  CHUV001 .* holds the label 7"):
        isocenter.evaluate("hecktor2020", reference=reference, submission=submission)


def test_a_submission_that_cannot_be_trusted_is_refused_as_a_whole(tmp_path: Path, reference: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SubmissionRefused, match="any of the 4 cases") as refusal:
        isocenter.evaluate("hecktor2020", reference=reference, submission=tmp_path / "empty")
    assert refusal.value.problems[0].severity == "refused"


def test_the_policy_for_other_grids_is_recorded_with_the_scores(reference: Path, submission: Path) -> None:
    volume = read(submission / "CHUV001.nii.gz")
    origin = (volume.grid.origin[0] + 2.0, *volume.grid.origin[1:])
    moved = isocenter.volumes.Grid(volume.grid.shape, volume.grid.spacing, origin)
    write_volume(Volume(volume.array, moved), submission / "CHUV001.nii.gz")
    table = isocenter.evaluate("hecktor2020", reference=reference, submission=submission, grid="trust-index")
    assert scores_of(table)["CHUV001"] == 1.0
    assert scores_of(table, "index_trusted") == pytest.approx({"CHUV001": 2.0})
    table = isocenter.evaluate("hecktor2020", reference=reference, submission=submission, grid="resample")
    assert scores_of(table)["CHUV001"] == pytest.approx(0.5)
    assert scores_of(table, "resampled") == pytest.approx({"CHUV001": 2.0})
    with pytest.warns(UserWarning, match="grid differs"):
        table = isocenter.evaluate("hecktor2020", reference=reference, submission=submission)
    assert scores_of(table, "failed") == {"CHUV001": 1.0}


def test_the_record_names_content_not_places(tmp_path: Path, reference: Path, submission: Path) -> None:
    challenge = isocenter.challenge("hecktor2020")
    first = evaluation.evaluate(challenge, reference=reference, submission=submission).record
    shutil.copytree(submission, tmp_path / "elsewhere")
    second = evaluation.evaluate(challenge, reference=reference, submission=tmp_path / "elsewhere").record
    assert first == second
    assert str(tmp_path) not in json.dumps(first)
    paint(submission / "CHUV001.nii.gz", 2)
    third = evaluation.evaluate(challenge, reference=reference, submission=submission).record
    assert third["reference"] == first["reference"]
    assert third["submission"] != first["submission"]


def test_weights_come_from_the_table_of_cases(reference: Path, submission: Path) -> None:
    (reference / "cases.csv").write_text("case,centre,weight\nCHUV001,A,2\nCHUV002,A,\nCHUV003,B,0.5\nCHUV004,B,1\n")
    table = isocenter.evaluate("hecktor2020", reference=reference, submission=submission)
    assert table["weight"].to_list() == [2.0, 1.0, 0.5, 1.0]


def test_what_else_the_table_says_of_a_case_is_a_fact_that_prepare_may_read(reference: Path, submission: Path) -> None:
    text = "\ufeffcase, centre,weight ,grade\nCHUV001,A,2,3\nCHUV002, A ,,\nCHUV003,B,0.5,1\nCHUV004,,1,2\n\n"
    (reference / "cases.csv").write_text(text, encoding="utf-8")
    expected = {
        "CHUV001": {"centre": "A", "grade": "3"},
        "CHUV002": {"centre": "A"},
        "CHUV003": {"centre": "B", "grade": "1"},
        "CHUV004": {"grade": "2"},
    }
    cohort = evaluation.open_cohort(isocenter.challenge("hecktor2020"), reference)
    assert {case.name: dict(case.facts) for case in cohort.cases} == expected
    assert evaluation.read_facts(reference / "cases.csv") == expected
    told: dict[str, dict[str, str]] = {}

    def prepare(case: evaluation.Case) -> object:
        told[case.name] = dict(case.facts)
        return case.reference["mask"]

    challenge = replace(isocenter.challenge("hecktor2020"), prepare=prepare)
    evaluation.evaluate(challenge, reference=reference, submission=submission)
    assert told == expected


def test_a_table_of_facts_needs_a_column_of_cases(tmp_path: Path) -> None:
    (tmp_path / "facts.csv").write_text("id;centre\na;A\n")
    with pytest.raises(CohortError, match="has no column `case`"):
        evaluation.read_facts(tmp_path / "facts.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("case,weight\nCHUV001,1,5\n", "line 2 has 3 values, but there are 2 columns"),
        ("case,Weight\nCHUV001,2\n", "has a column 'Weight'; is it `weight`?"),
        ("case,a,a\nCHUV001,2,3\n", "has the column 'a' twice"),
        ('case,a\nCHUV001,"' + "9" * 200_000 + '"\n', "is no table: field larger than field limit"),
    ],
)
def test_a_table_of_cases_that_would_be_misread_is_refused(
    reference: Path, submission: Path, text: str, message: str
) -> None:
    (reference / "cases.csv").write_text(text)
    with pytest.raises(CohortError) as error:
        isocenter.evaluate("hecktor2020", reference=reference, submission=submission)
    assert message in str(error.value)


def test_the_size_of_the_cohort_may_be_asked_for(reference: Path, submission: Path) -> None:
    files: dict[str, Any] = {"reference": reference, "submission": submission}
    evaluation.evaluate(isocenter.challenge("hecktor2020"), **files, cases=4)
    with pytest.raises(CohortError, match="has 4 cases; the phase has 100"):
        evaluation.check(isocenter.challenge("hecktor2020"), **files, cases=100)


def test_a_reference_that_cannot_be_used_is_refused_with_all_its_problems(reference: Path, submission: Path) -> None:
    (reference / "cases.csv").write_text("case,weight\nCHUV001,-1\nCHUV002,1\nCHUV002,1\n,1\nCHUV004,1\nCHUV005,1\n")
    (reference / "CHUV004.nii.gz").write_bytes(b"nothing")
    with pytest.raises(CohortError) as error:
        isocenter.evaluate("hecktor2020", reference=reference, submission=submission)
    for words in (
        "weight '-1' is no positive number",
        "line 4 lists the case again",
        "line 5 names no case",
        "CHUV005  (refused)       listed in cases.csv, but has no file",
        "CHUV003",
        "not listed in cases.csv",
        "CHUV004.nii.gz",
    ):
        assert words in str(error.value)


def test_a_folder_without_cases_says_what_was_expected(tmp_path: Path, submission: Path) -> None:
    (tmp_path / "nothing").mkdir()
    with pytest.raises(CohortError, match=r"expected files named <case>\.nii\.gz"):
        isocenter.evaluate("hecktor2020", reference=tmp_path / "nothing", submission=submission)


def test_check_finds_what_evaluate_finds_and_changes_nothing(reference: Path, submission: Path) -> None:
    (submission / "CHUV001.nii.gz").unlink()
    (submission / "CHUV002.nii.gz").write_bytes(b"")
    (submission / "notes.txt").write_text("hello")
    before = {path: path.stat().st_mtime_ns for path in submission.iterdir()}
    problems = isocenter.check("hecktor2020", reference=reference, submission=submission)
    assert [(p.severity, p.case or p.file) for p in problems] == [
        ("unusable", "CHUV002"),
        ("missing", "CHUV001"),
        ("note", "notes.txt"),
    ]
    assert {path: path.stat().st_mtime_ns for path in submission.iterdir()} == before
    found = evaluation.evaluate(isocenter.challenge("hecktor2020"), reference=reference, submission=submission)
    assert found.problems == problems


def test_an_empty_mask_is_measured_as_zero_and_warned_about(reference: Path, submission: Path) -> None:
    volume = read(submission / "CHUV001.nii.gz")
    write_volume(Volume(np.zeros_like(volume.array), volume.grid), submission / "CHUV001.nii.gz")
    table = isocenter.evaluate("hecktor2020", reference=reference, submission=submission)
    assert scores_of(table)["CHUV001"] == 0.0
    (problem,) = isocenter.check("hecktor2020", reference=reference, submission=submission)
    assert (problem.severity, problem.case) == ("warning", "CHUV001")


def test_the_hash_of_the_reference_does_not_depend_on_what_a_team_sent(
    counted: Any, reference: Path, submission: Path
) -> None:
    def record() -> dict[str, Any]:
        with worker_pool(1) as pool:
            files = {"reference": trimmed(reference), "submission": submission}
            return evaluation.evaluate(counted.challenge, **files, executor=pool).record

    whole = record()
    (submission / "CHUV001.nii.gz").write_bytes(b"not a mask")
    damaged = record()
    (submission / "CHUV002.nii.gz").write_bytes(b"not a mask either")
    (submission / "CHUV004.nii.gz").unlink()
    nothing = record()
    assert whole["reference"] == damaged["reference"] == nothing["reference"]
    assert len({r["submission"] for r in (whole, damaged, nothing)}) == 3
    assert nothing["cases"] == {"measured": 0, "missing": 1, "failed": 2}
