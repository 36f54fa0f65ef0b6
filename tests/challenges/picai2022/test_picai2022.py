"""PI-CAI 2022 as it was described, from files to the board."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import isocenter
from isocenter import evaluation
from isocenter.detections import detections_of
from isocenter.evaluation import CohortError
from isocenter.problems import SubmissionRefused
from isocenter.volumes import Grid, Volume, read, write

from .conftest import GRID, LESIONS, LIKELIHOODS, hand_in, painted

GOLDEN = Path(__file__).parents[2] / "golden" / "detection"
EXPECTED: dict[str, Any] = json.loads((GOLDEN / "expected_files.json").read_text())


def score(reference: Path, submission: Path, *, challenge: str = "picai2022", **options: Any) -> pl.DataFrame:
    return isocenter.evaluate(challenge, reference=reference, submission=submission, **options)


def problems(reference: Path, submission: Path, **options: Any) -> dict[str, str]:
    found = isocenter.check("picai2022", reference=reference, submission=submission, **options)
    return {problem.case: problem.message for problem in found}


def refusal(reference: Path, submission: Path) -> list[str]:
    with pytest.raises(SubmissionRefused) as refused:
        score(reference, submission)
    return [problem.message for problem in refused.value.problems if problem.severity == "refused"]


@pytest.mark.parametrize("declared", ["in the submission", "by the organisers"])
def test_the_field_s_own_files_give_the_field_s_own_numbers(tmp_path: Path, declared: str) -> None:
    """Labels and maps lie in one folder, called as picai_eval calls them."""
    folder = tmp_path / "files"
    folder.mkdir()
    for path in (*GOLDEN.glob("files/*_detection_map.*"), *GOLDEN.glob("files/*_label.*")):
        shutil.copy(path, folder)
    challenge = "picai2022-from-maps"
    if declared == "in the submission":
        challenge = "picai2022"
        (folder / "likelihoods.json").write_text('"max"')
    table = score(folder, folder, challenge=challenge)
    board = isocenter.rank(challenge, {"team": table})
    assert board["team"].score == pytest.approx(EXPECTED["score"], abs=1e-12)
    found = detections_of(table)[""]
    assert found.auroc == pytest.approx(EXPECTED["auroc"], abs=1e-12)
    assert found.average_precision == pytest.approx(EXPECTED["AP"], abs=1e-12)
    assert dict(zip(found.cases, found.likelihood.tolist(), strict=True)) == EXPECTED["case_pred"]
    for at, case in enumerate(found.cases):
        mine = found.case == at
        rows = zip(found.is_lesion[mine], found.confidence[mine], found.iou[mine], strict=True)
        assert sorted((int(a), float(b), float(c)) for a, b, c in rows) == sorted(
            tuple(row) for row in EXPECTED["lesion_results"][case]
        )


def test_the_score_is_the_mean_of_auroc_and_average_precision(reference: Path, submission: Path) -> None:
    """Patients: 0.9 beats both healthy ones, 0.3 one of them. Lesions in order: hit, hit, false, false; one missed."""
    board = isocenter.rank("picai2022", {"team": score(reference, submission)})
    assert [(part.metric, part.score) for part in board["team"].components] == [
        ("auroc", pytest.approx(3 / 4)),
        ("average_precision", pytest.approx(2 / 3)),
    ]
    assert board["team"].score == pytest.approx((3 / 4 + 2 / 3) / 2)


def test_the_likelihood_is_an_output_of_its_own(reference: Path, submission: Path) -> None:
    found = detections_of(score(reference, submission))[""]
    assert dict(zip(found.cases, found.likelihood.tolist(), strict=True)) == LIKELIHOODS


def test_a_lesion_has_the_grade_of_its_label(reference: Path, submission: Path) -> None:
    found = detections_of(score(reference, submission))[""]
    graded = [(found.cases[at], grade) for at, grade in zip(found.case, found.grade, strict=True) if grade > 0]
    assert sorted(graded) == [("P1", 2.0), ("P1", 3.0), ("P2", 5.0)]


def test_the_grade_of_a_lesion_with_two_labels_is_the_higher_and_a_plain_mask_has_none(
    reference: Path, submission: Path
) -> None:
    two = painted([((2, 2, 1), (8, 8, 2), 2), ((2, 2, 2), (8, 8, 3), 4)], np.uint8)
    write(two, reference / "P1.nii.gz")
    write(painted([((5, 5, 2), (11, 10, 4), 1)], np.uint8), reference / "P2.nii.gz")
    found = detections_of(score(reference, submission))[""]
    lesions = found.grade[found.is_lesion]
    assert lesions.size == 2
    assert lesions[0] == 4
    assert np.isnan(lesions[1])


@pytest.mark.parametrize("suffix", [".mha", ".nii", ".nrrd", ".npy", ".npz"])
def test_maps_come_in_many_formats(reference: Path, submission: Path, tmp_path: Path, suffix: str) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(submission / "likelihoods.json", other)
    for path in submission.glob("*.nii.gz"):
        volume, case = read(path), path.name.removesuffix(".nii.gz")
        if suffix == ".npy":
            np.save(other / case, volume.array.T)
        elif suffix == ".npz":
            np.savez_compressed(other / case, detection_map=volume.array.T)
        else:
            write(volume, other / f"{case}{suffix}")
    expected = score(reference, submission)
    found = score(reference, other)
    assert found.filter(pl.col("metric") != "index_trusted").equals(expected)
    assert found.filter(metric="index_trusted").height == (4 if suffix in (".npy", ".npz") else 0)


def test_what_a_platform_collects_from_containers_is_understood(
    reference: Path, submission: Path, tmp_path: Path
) -> None:
    jobs = tmp_path / "jobs"
    for case, likelihood in LIKELIHOODS.items():
        home = jobs / case
        (home / "images" / "cspca-detection-map").mkdir(parents=True)
        write(read(submission / f"{case}.nii.gz"), home / "images" / "cspca-detection-map" / "output.mha")
        (home / "cspca-case-level-likelihood.json").write_text(str(likelihood))
    assert score(reference, jobs).equals(score(reference, submission))


def test_a_table_of_likelihoods_may_be_csv(reference: Path, submission: Path) -> None:
    expected = score(reference, submission)
    (submission / "likelihoods.json").unlink()
    lines = "\n".join(f"{case},{likelihood}" for case, likelihood in LIKELIHOODS.items())
    (submission / "likelihoods.csv").write_text(f"case,likelihood\n{lines}\n", encoding="utf-8-sig")
    assert score(reference, submission).equals(expected)


def test_trained_instances_are_one_submission_with_the_mean_of_their_scores(
    reference: Path, submission: Path, tmp_path: Path
) -> None:
    several = tmp_path / "several"
    for number in range(1, 6):
        hand_in(several / f"instance-{number}")
    flipped = {case: 1 - likelihood for case, likelihood in LIKELIHOODS.items()}
    (several / "instance-3" / "likelihoods.json").write_text(json.dumps(flipped))
    table = score(reference, several)
    assert list(detections_of(table)) == [f"instance-{number}" for number in range(1, 6)]
    board = isocenter.rank("picai2022", {"one": score(reference, submission), "five": table})
    assert board["five"].components[0].score == pytest.approx((4 * 3 / 4 + 1 / 4) / 5)
    assert board["five"].components[1].score == board["one"].components[1].score
    assert board.notes[0] == "five: mean over 5 trained instances"


def test_one_declaration_may_hold_for_all_instances(reference: Path, tmp_path: Path) -> None:
    several = tmp_path / "zipped" / "several"
    for number in range(1, 6):
        hand_in(several / f"{number}")
        (several / f"{number}" / "likelihoods.json").unlink()
    (several / "likelihoods.json").write_text('"max"')
    found = detections_of(score(reference, tmp_path / "zipped"))
    assert list(found) == ["1", "2", "3", "4", "5"]
    assert found["4"].likelihood.tolist() == [0.75, 0.5, 0.125, 0.0]


def test_an_odd_number_of_instances_is_worth_a_word(reference: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        hand_in(tmp_path / "two" / f"{number}")
    assert problems(reference, tmp_path / "two") == {"": "2 trained instances; expected one, or 5 to 10"}


def test_an_instance_that_lacks_a_case_fails_it(reference: Path, tmp_path: Path) -> None:
    several = tmp_path / "several"
    for number in range(1, 6):
        hand_in(several / f"{number}")
    (several / "2" / "P3.nii.gz").unlink()
    found = problems(reference, several)
    assert found == {"P3": "there is no map of 2"}
    result = evaluation.evaluate(isocenter.challenge("picai2022"), reference=reference, submission=several)
    assert result.record["cases"] == {"measured": 3, "missing": 0, "failed": 1}


def test_a_missing_case_disqualifies_and_shows_on_no_board(reference: Path, submission: Path, tmp_path: Path) -> None:
    complete = score(reference, submission)
    (submission / "P4.nii.gz").unlink()
    tables = {"whole": complete, "partial": score(reference, submission)}
    for name in ("score", "auroc", "average_precision"):
        board = isocenter.rank("picai2022", tables, board=name)
        assert [row.submission for row in board.rows] == ["whole"]
        assert "partial" not in board.to_json()
        assert [(row.submission, row.missing, row.disqualified) for row in board.unlisted] == [("partial", 1, True)]


def test_organisers_are_listed_without_a_rank(reference: Path, submission: Path) -> None:
    table = score(reference, submission)
    board = isocenter.rank("picai2022", {"team": table, "baseline": table}, organisers=["baseline"])
    assert [(row.submission, row.rank) for row in board.rows] == [("baseline", None), ("team", 1)]


SPOILT: list[tuple[list[Any], str]] = [
    (
        [((2, 2, 1), (4, 4, 2), 0.5), ((4, 2, 1), (6, 4, 2), 0.25)],
        "P3.nii.gz: 1 of the 1 components of the detection map are not candidates: component 1 (8 voxels) has 0.5 at "
        "voxel (1, 2, 2) and 0.25 at voxel (1, 2, 4), but one candidate has one likelihood (a soft map? see "
        "extract_candidates) (voxels are counted z, y, x)",
    ),
    ([((2, 2, 1), (4, 4, 2), np.nan)], "P3.nii.gz: holds nan at voxel (2, 2, 1); every voxel must be a finite number"),
    ([((2, 2, 1), (4, 4, 2), -0.5)], "P3.nii.gz: holds values from -0.5 to 0; they must lie in [0, 1]"),
    ([((2, 2, 1), (4, 4, 2), 1.5)], "P3.nii.gz: holds values from 0 to 1.5; they must lie in [0, 1]"),
]


@pytest.mark.parametrize(("boxes", "message"), SPOILT)
def test_a_map_that_is_none_fails_its_case_though_the_patient_is_healthy(
    reference: Path, submission: Path, boxes: list[Any], message: str
) -> None:
    write(painted(boxes, np.float32), submission / "P3.nii.gz")
    assert problems(reference, submission) == {"P3": message}


def test_soft_maps_of_nnunet_are_refused_as_such(reference: Path, submission: Path) -> None:
    rng = np.random.default_rng(1)
    soft = rng.uniform(0.1, 0.9, (2, *GRID.shape[::-1])).astype(np.float32)
    (submission / "P3.nii.gz").unlink()
    np.savez_compressed(submission / "P3", softmax=soft)
    assert "a soft map? see extract_candidates" in problems(reference, submission)["P3"]


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (Grid((20, 18, 5), GRID.spacing, GRID.origin), "20×18×5 at 0.5×0.5×3 mm, reference 20×18×6"),
        (Grid(GRID.shape, GRID.spacing, (-11.0, 40.0, 7.0)), "corners lie up to 1.00 mm apart, allowed 0.25 mm"),
    ],
)
def test_geometry_is_compared_for_healthy_patients_too(
    reference: Path, submission: Path, grid: Grid, message: str
) -> None:
    write(Volume(np.zeros(grid.shape, np.float32), grid), submission / "P4.nii.gz")
    assert message in problems(reference, submission)["P4"]


def test_an_array_of_another_shape_is_never_padded(reference: Path, submission: Path) -> None:
    (submission / "P4.nii.gz").unlink()
    np.save(submission / "P4", np.zeros((5, 18, 20), np.float32))
    assert "20×18×5" in problems(reference, submission)["P4"]


def test_the_index_is_trusted_by_policy_and_a_resampled_map_stays_one(reference: Path, submission: Path) -> None:
    shifted = Grid(GRID.shape, GRID.spacing, (-11.0, 40.0, 7.0))
    write(Volume(read(submission / "P2.nii.gz").array, shifted), submission / "P2.nii.gz")
    trusted = score(reference, submission, grid="trust-index")
    assert trusted.filter(case="P2", metric="index_trusted")["value"].to_list() == [1.0]
    assert trusted.filter(case="P2", metric="lesion_iou")["value"].to_list() == [pytest.approx(0.5)]
    moved = score(reference, submission, grid="resample")
    assert moved.filter(case="P2", metric="lesion_confidence")["value"].to_list() == [0.5]


def test_two_maps_of_a_case_fail_it_and_move_no_other(reference: Path, submission: Path) -> None:
    """In the field's own tool every later case would be paired with the wrong map."""
    before = score(reference, submission)
    np.save(submission / "P2", read(submission / "P2.nii.gz").array.T)
    assert problems(reference, submission) == {"P2": "there are 2 maps (P2.nii.gz and P2.npy); which one is meant?"}
    with pytest.warns(UserWarning, match="not everything could be measured"):
        after = score(reference, submission)
    assert after.filter(pl.col("case") != "P2").equals(before.filter(pl.col("case") != "P2"))


def test_the_cases_must_be_those_of_the_cohort(reference: Path, submission: Path) -> None:
    shutil.copy(submission / "P4.nii.gz", submission / "P44.nii.gz")
    assert refusal(reference, submission) == ["no case of the challenge has this name; is it P4?"]


def test_likelihoods_of_other_cases_and_those_that_are_there_twice_are_refused(
    reference: Path, submission: Path
) -> None:
    table = submission / "likelihoods.json"
    table.write_text(json.dumps(LIKELIHOODS | {"P9": 0.5}))
    assert refusal(reference, submission) == ["no case of the challenge has this name"]
    table.write_text('{"P1": 0.1, "P2": 0.2, "P1": 0.3, "P3": 0.1, "P4": 0.1}')
    assert refusal(reference, submission) == ["is not JSON: 'P1' is there twice"]
    table.write_text(json.dumps(LIKELIHOODS))
    (submission / "P1_likelihood.json").write_text("0.5")
    assert refusal(reference, submission) == ["there is a likelihood in P1_likelihood.json, too; which one is meant?"]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("1.2", "the likelihood of the patient is 1.2; expected a number from 0 to 1"),
        ("-0.0001", "the likelihood of the patient is -0.0001; expected a number from 0 to 1"),
        ("true", "the likelihood of the patient is true; expected a number from 0 to 1"),
        ('"high"', 'the likelihood of the patient is "high"; expected a number from 0 to 1'),
        ("null", "the likelihood of the patient is null; expected a number from 0 to 1"),
        ("1e999", "the likelihood of the patient is not JSON: Infinity is no number"),
    ],
)
def test_a_likelihood_is_a_number_from_0_to_1(reference: Path, submission: Path, said: str, message: str) -> None:
    (submission / "likelihoods.json").write_text(json.dumps(LIKELIHOODS).replace("0.3", said))
    assert problems(reference, submission) == {"P2": message}


def test_who_forgets_the_likelihoods_learns_how_to_declare_the_maximum(reference: Path, submission: Path) -> None:
    (submission / "likelihoods.json").unlink()
    (message,) = refusal(reference, submission)
    assert 'if the likelihood is the maximum of the map, with nothing but "max"' in message
    (submission / "likelihoods.json").write_text('{"P1": NaN}')
    assert refusal(reference, submission) == ["is not JSON: NaN is no number"]
    (submission / "likelihoods.json").write_text(json.dumps({"P1": 0.5}))
    assert set(problems(reference, submission).values()) == {
        "no likelihood of the patient; expected it in likelihoods.json"
    }


def test_an_empty_map_with_a_high_likelihood_is_worth_a_word(reference: Path, submission: Path) -> None:
    (submission / "likelihoods.json").write_text(json.dumps(LIKELIHOODS | {"P4": 0.8}))
    assert problems(reference, submission) == {"P4": "the map is empty, but the likelihood is 0.8"}


def test_maps_at_two_depths_are_ambiguous(reference: Path, submission: Path) -> None:
    (submission / "old").mkdir()
    shutil.copy(submission / "P1.nii.gz", submission / "old")
    (message,) = refusal(reference, submission)
    assert message.startswith("maps lie in the top folder and also in old; expected all of them in one place")


def test_a_label_map_with_fractional_values_stops_the_organisers(reference: Path, submission: Path) -> None:
    write(painted([((2, 2, 1), (4, 4, 2), 0.5)], np.float32), reference / "P3.nii.gz")
    with pytest.raises(CohortError, match=r"P3 .* holds the fractional value 0.5; labels are whole numbers"):
        score(reference, submission)


def test_a_cohort_of_one_kind_has_no_score_and_says_why(reference: Path, submission: Path) -> None:
    for case in ("P1", "P2"):
        write(painted([], np.uint8), reference / f"{case}.nii.gz")
    table = score(reference, submission)
    with pytest.raises(ValueError, match=r"there is no AUROC: .*positive.*; there is no average precision: .*lesion"):
        isocenter.rank("picai2022", {"team": table})
    found = detections_of(table)[""]
    assert np.isnan(found.auroc)
    assert np.isnan(found.average_precision)


def test_a_positive_patient_whose_cancer_was_not_drawn_counts_as_a_patient_only(
    reference: Path, submission: Path
) -> None:
    lines = "\n".join(f"{case},{'YES' if case in ('P1', 'P2', 'P3') else 'NO'}" for case in LESIONS)
    (reference / "cases.csv").write_text(f"case,cspca\n{lines}\n")
    found = detections_of(score(reference, submission))[""]
    assert found.truth.tolist() == [True, True, True, False]
    assert 2 not in found.case  # neither hits nor false positives in P3
    assert found.auroc == 1.0


@pytest.mark.parametrize(
    ("said", "message"),
    [("NO", "has NO in the column cspca, but the label map shows 2 lesions"), ("maybe", "expected YES or NO")],
)
def test_facts_that_contradict_the_labels_stop_the_organisers(
    reference: Path, submission: Path, said: str, message: str
) -> None:
    (reference / "cases.csv").write_text(f"case,cspca\nP1,{said}\nP2,YES\nP3,NO\nP4,NO\n")
    with pytest.raises(CohortError, match=message):
        score(reference, submission)


def test_workers_change_nothing(reference: Path, submission: Path) -> None:
    with evaluation.worker_pool(2) as pool:
        shared = score(reference, submission, executor=pool)
    assert shared.equals(score(reference, submission))


def test_two_maps_of_one_name_in_two_folders_are_two_maps(reference: Path, submission: Path) -> None:
    for case in LIKELIHOODS:
        (submission / case).mkdir()
        shutil.copy(submission / f"{case}.nii.gz", submission / case)
    assert problems(reference, submission)["P1"].startswith("there are 2 maps (P1.nii.gz and P1\\P1.nii.gz)")


def test_two_likelihoods_of_a_case_are_ambiguous(reference: Path, submission: Path) -> None:
    (submission / "likelihoods.json").unlink()
    for case, likelihood in LIKELIHOODS.items():
        (submission / case).mkdir()
        shutil.move(submission / f"{case}.nii.gz", submission / case)
        for name in ("cspca-case-level-likelihood.json", "likelihood-old.json"):
            (submission / case / name).write_text(str(likelihood))
    assert all("too; which one is meant?" in message for message in refusal(reference, submission))


def test_instances_are_told_apart_whatever_they_are_called(reference: Path, tmp_path: Path) -> None:
    names = ["a#b", "a_b", "a\nb", "ä", "a b"]
    for name in names:
        hand_in(tmp_path / "several" / name)
    assert len(detections_of(score(reference, tmp_path / "several"))) == 5


def test_an_instance_without_maps_is_not_forgotten(reference: Path, tmp_path: Path) -> None:
    hand_in(tmp_path / "several" / "a")
    (tmp_path / "several" / "b").mkdir()
    table = tmp_path / "several" / "b" / "likelihoods.json"
    table.write_text(json.dumps(LIKELIHOODS))
    assert refusal(reference, tmp_path / "several") == ["there are likelihoods, but no map in this place"]
    table.rename(table.with_name("P1_likelihood.json"))
    assert refusal(reference, tmp_path / "several") == ["there are likelihoods, but no map in this place"]


def test_numbers_of_one_instance_do_not_serve_several(reference: Path, tmp_path: Path) -> None:
    for number in range(1, 6):
        hand_in(tmp_path / "several" / str(number))
        (tmp_path / "several" / str(number) / "likelihoods.json").unlink()
    (tmp_path / "several" / "likelihoods.json").write_text(json.dumps(LIKELIHOODS))
    assert set(refusal(reference, tmp_path / "several")) == {
        "numbers of one instance cannot serve several; expected a table in the folder of each"
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("P1.nii.gz", "P1.NII.GZ", "expected P1.nii.gz"),
        ("likelihoods.json", "Likelihoods.json", "expected likelihoods.json"),
    ],
)
def test_capital_letters_are_explained(reference: Path, submission: Path, old: str, new: str, message: str) -> None:
    (submission / old).rename(submission / new)
    assert any(message in text for text in refusal(reference, submission))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("case;likelihood\nP1;0.5\n", "has the columns case;likelihood; expected case and likelihood"),
        ("case,likelihood,likelihood\nP1,0.5,0.6\n", "once each"),
        ("case,likelihood\nP1,0,5\n", "line 2 has 3 values, but there are 2 columns"),
        ("case,likelihood\nP1,0.5\nP1,0.5\n", "line 3 has P1 again"),
        ('case,likelihood\nP1,"' + "9" * 200_000 + '"\n', "is no table: field larger than field limit"),
    ],
)
def test_tables_that_are_none(reference: Path, submission: Path, content: str, message: str) -> None:
    (submission / "likelihoods.json").unlink()
    (submission / "likelihoods.csv").write_text(content)
    assert message in refusal(reference, submission)[0]


@pytest.mark.parametrize("said", ["nan", "0_1", "0x1", "high"])
def test_what_only_python_takes_for_a_number_is_none(reference: Path, submission: Path, said: str) -> None:
    (submission / "likelihoods.json").unlink()
    lines = "\n".join(f"{case},{said if case == 'P2' else 0.5}" for case in LIKELIHOODS)
    (submission / "likelihoods.csv").write_text(f"case,likelihood\n{lines}\n")
    assert problems(reference, submission) == {
        "P2": f'the likelihood of the patient is "{said}"; expected a number from 0 to 1'
    }


def test_a_damaged_table_in_a_zip_is_named(reference: Path, submission: Path, tmp_path: Path) -> None:
    archive = Path(shutil.make_archive(str(tmp_path / "team"), "zip", submission))
    content = bytearray(archive.read_bytes())
    at = content.index(b"likelihoods.json") + len("likelihoods.json") + 4
    content[at : at + 8] = bytes(8)
    archive.write_bytes(bytes(content))
    assert any("damaged" in message for message in refusal(reference, archive))


def test_a_note_about_the_folder_does_not_spoil_the_submission(reference: Path, submission: Path) -> None:
    (submission / "/".join("deep" for _ in range(12))).mkdir(parents=True)
    before = score(reference, submission)
    shutil.rmtree(submission / "deep")
    assert before.equals(score(reference, submission))


def test_noise_is_no_list_of_candidates(reference: Path, submission: Path) -> None:
    grid = Grid((80, 80, 6), GRID.spacing, GRID.origin)
    write(Volume(np.zeros(grid.shape, np.uint8), grid), reference / "P4.nii.gz")
    dots = np.zeros(grid.shape, np.float32)
    dots[::2, ::2, ::2] = 0.5
    write(Volume(dots, grid), submission / "P4.nii.gz")
    assert problems(reference, submission)["P4"].endswith("holds 4,800 candidates; at most 1,000 are taken")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_and_a_rounding_of_it_are_the_same_likelihood(reference: Path, submission: Path, dtype: type) -> None:
    value = np.nextafter(1.0, 2.0) if dtype is np.float64 else 1.0
    write(painted([((1, 1, 1), (3, 3, 3), value)], dtype), submission / "P3.nii.gz")
    assert problems(reference, submission) == {}


def test_auroc_has_a_board_of_its_own_where_no_lesion_is_drawn(reference: Path, submission: Path) -> None:
    for case in LESIONS:
        write(painted([], np.uint8), reference / f"{case}.nii.gz")
    (reference / "cases.csv").write_text("case,cspca\nP1,YES\nP2,YES\nP3,NO\nP4,NO\n")
    table = score(reference, submission)
    assert isocenter.rank("picai2022", {"team": table}, board="auroc")["team"].score == pytest.approx(3 / 4)
    with pytest.raises(ValueError, match="there is no average precision"):
        isocenter.rank("picai2022", {"team": table})


def test_a_column_that_is_nearly_the_right_one_is_not_ignored(reference: Path, submission: Path) -> None:
    (reference / "cases.csv").write_text("case,csPCa\nP1,YES\nP2,YES\nP3,NO\nP4,NO\n")
    with pytest.raises(CohortError, match="has a column 'csPCa'; is it cspca"):
        score(reference, submission)


def test_a_cohort_is_scored_without_loading_the_compiler_or_scipy(reference: Path, submission: Path) -> None:
    """Both take longer to load than a hundred exams to score."""
    code = (
        "import sys, isocenter; "
        f"isocenter.evaluate('picai2022-from-maps', reference={str(reference)!r}, submission={str(submission)!r}); "
        "print(sorted({'numba', 'scipy', 'isocenter.stats'} & set(sys.modules)))"
    )
    environment = {**os.environ, "ISOCENTER_CACHE": "off"}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert result.stdout == "[]\n"
