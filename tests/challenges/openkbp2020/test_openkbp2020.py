"""OpenKBP as it was scored: golden numbers of the published evaluator, its crashes as defined results, both streams."""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks import plain_openkbp
from hypothesis import given
from hypothesis import strategies as st

import isocenter
from isocenter import editions, scores
from isocenter.evaluation import CohortError, Evaluation, check, evaluate, worker_pool
from isocenter.metrics import SparseDose, dose_difference
from isocenter.problems import SubmissionRefused
from isocenter.volumes.sparse import read_sparse, write_mask, write_sparse, write_voxel_dimensions

GOLDEN = Path(__file__).parents[2] / "golden" / "dose"
CHALLENGE = isocenter.challenge("openkbp2020")


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return dict(json.loads((GOLDEN / "expected.json").read_text())["openkbp"])


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOLDEN / "openkbp" / "reference", tmp_path / "reference"))


@pytest.fixture
def team(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOLDEN / "openkbp" / "prediction", tmp_path / "team"))


def scored(reference: Path, team: Path) -> Evaluation:
    return evaluate(CHALLENGE, reference=reference, submission=team)


def score(reference: Path, team: Path, board: str) -> float | None:
    return isocenter.rank(CHALLENGE, {"team": scored(reference, team).scores}, board=board)["team"].score


def dvh_points(folder: Path, values: dict[str, dict[str, float]]) -> Path:
    """A submission of DVH points, from `<ROI>|<criterion>` by patient."""
    folder.mkdir()
    for case, points in values.items():
        lines = [f"{part.replace('|', ',')},{value!r}" for part, value in points.items()]
        (folder / f"{case}.csv").write_text("\n".join(["structure,criterion,value", *lines]) + "\n")
    return folder


def test_every_number_of_the_published_evaluator(reference: Path, team: Path, expected: dict[str, Any]) -> None:
    table = scored(reference, team).scores
    found = {(case, metric, part): value for case, part, metric, value, _ in table.iter_rows()}
    for case, numbers in expected["patients"].items():
        assert found[case, "dose_error", ""] == pytest.approx(numbers["dose_error"], rel=1e-12)
        for metric, key in (("dvh_reference", "reference"), ("dvh_value", "prediction"), ("dvh_error", "abs_error")):
            parts = {part: value for (c, m, part), value in found.items() if (c, m) == (case, metric)}
            assert parts == pytest.approx(numbers[key], rel=1e-12, abs=1e-12)
            assert len(parts) == numbers["n_criteria"]


def test_the_two_scores_and_how_many_criteria_were_pooled(
    reference: Path, team: Path, expected: dict[str, Any]
) -> None:
    table = scored(reference, team).scores
    dose, dvh = (isocenter.rank(CHALLENGE, {"team": table}, board=board) for board in ("dose", "dvh"))
    assert dose["team"].score == pytest.approx(expected["dose_score"], rel=1e-12)
    assert dvh["team"].score == pytest.approx(expected["dvh_score"], rel=1e-12)
    assert dvh.notes[0] == f"{expected['n_criteria']} values in 3 cases"


def test_the_dvh_score_pools_criteria_and_does_not_average_patients_first(
    reference: Path, team: Path, expected: dict[str, Any]
) -> None:
    by_patient = [np.mean(list(p["abs_error"].values())) for p in expected["patients"].values()]
    assert score(reference, team, "dvh") != pytest.approx(np.mean(by_patient), rel=1e-4)


def test_the_squared_scores_are_of_voxels_and_of_criteria_not_of_patients(
    reference: Path, team: Path, expected: dict[str, Any]
) -> None:
    plain = plain_openkbp.evaluate(reference, team)
    assert score(reference, team, "dose-squared") == pytest.approx(
        np.mean(list(plain.dose_squared_errors.values())), rel=1e-12
    )
    betas = [beta for patient in expected["patients"].values() for beta in patient["abs_error"].values()]
    assert score(reference, team, "dvh-squared") == pytest.approx(np.mean(np.square(betas)), rel=1e-12)
    alphas = [patient["dose_error"] for patient in expected["patients"].values()]
    assert score(reference, team, "dose-squared") != pytest.approx(np.mean(np.square(alphas)), rel=0.1)


def test_the_plain_evaluator_agrees_in_both_manners(reference: Path, team: Path, expected: dict[str, Any]) -> None:
    for batched in (False, True):
        plain = plain_openkbp.evaluate(reference, team, batched=batched)
        assert plain.dose_score == pytest.approx(expected["dose_score"], rel=1e-12)
        assert plain.dvh_score == pytest.approx(expected["dvh_score"], rel=1e-12)


def test_two_workers_give_the_same_table(reference: Path, team: Path) -> None:
    with worker_pool(2) as pool:
        parallel = evaluate(CHALLENGE, reference=reference, submission=team, executor=pool)
    assert parallel.scores.equals(scored(reference, team).scores)


def test_a_zip_and_a_folder_around_it_are_the_same_submission(reference: Path, team: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "zipped"), "zip", tmp_path, "team")
    assert scored(reference, Path(archive)).scores.equals(scored(reference, team).scores)


def test_a_zip_of_references_with_a_folder_around_it_is_the_same_cohort(
    reference: Path, team: Path, tmp_path: Path
) -> None:
    archive = shutil.make_archive(str(tmp_path / "patients"), "zip", tmp_path, "reference")
    assert scored(Path(archive), team).scores.equals(scored(reference, team).scores)


def test_one_patient_alone_is_a_cohort(reference: Path, team: Path, expected: dict[str, Any]) -> None:
    for case in ("pt_366", "pt_367"):
        shutil.rmtree(reference / case)
        (team / f"{case}.csv").unlink()
    assert score(reference, team, "dose") == pytest.approx(expected["patients"]["pt_365"]["dose_error"], rel=1e-12)


# What the published evaluator crashed on, or let pass.


def test_a_missing_patient_is_named_and_disqualifies(reference: Path, team: Path) -> None:
    (team / "pt_366.csv").unlink()
    result = scored(reference, team)
    assert [(p.severity, p.case, p.message) for p in result.problems][:1] == [
        ("missing", "pt_366", "expected pt_366.csv")
    ]
    for board in CHALLENGE.boards:
        row = isocenter.rank(CHALLENGE, {"team": result.scores}, board=board)["team"]
        assert (row.disqualified, row.score, row.missing) == (True, None, 1)


def test_other_policies_for_a_missing_patient_have_names(
    reference: Path, team: Path, tmp_path: Path, expected: dict[str, Any]
) -> None:
    whole = scored(reference, team).scores
    (team / "pt_366.csv").unlink()
    lacking = scored(reference, team).scores
    patients = expected["patients"]
    others = [patients["pt_365"], patients["pt_367"]]

    def board(policy: str, name: str) -> isocenter.ranking.Board:
        edition = editions.new(CHALLENGE)
        edition = edition.model_copy(update={"policies": edition.policies.model_copy(update={"missing": policy})})
        ruled = editions.apply(edition, CHALLENGE)
        return isocenter.rank(ruled, {"whole": whole, "lacking": lacking}, board=name)

    left_out = board("leave-out", "dose")
    assert left_out["lacking"].score == pytest.approx(np.mean([p["dose_error"] for p in others]), rel=1e-12)
    assert left_out.notes[0] == "lacking: mean over 2 of 3 cases"
    pooled = [error for patient in others for error in patient["abs_error"].values()]
    assert board("leave-out", "dvh")["lacking"].score == pytest.approx(np.mean(pooled), rel=1e-12)
    for name in ("dose", "dvh"):
        worst = board("worst-observed", name)
        assert worst["lacking"].score == pytest.approx(worst["whole"].score, rel=1e-12)
    with pytest.raises(editions.EditionError, match="no worst value"):
        board("worst", "dose")


def test_an_organ_smaller_than_a_tenth_of_a_cc_has_its_lowest_dose(reference: Path, team: Path) -> None:
    write_voxel_dimensions(reference / "pt_365" / "voxel_dimensions.csv", (1.0, 1.0, 1.0))  # 0.1 cc are 100 voxels
    result = scored(reference, team)
    notes = [p.message for p in result.problems if p.case == "pt_365" and p.severity == "note"]
    assert "SpinalCord is smaller than 0.1 cc; its D_0.1_cc is its lowest dose" in notes
    row = result.scores.filter(
        (pl.col("case") == "pt_365") & (pl.col("part") == "SpinalCord|D_0.1_cc") & (pl.col("metric") == "dvh_reference")
    )
    dose = read_sparse(reference / "pt_365" / "dose.csv").dense().ravel()
    voxels = np.loadtxt(reference / "pt_365" / "SpinalCord.csv", delimiter=",", skiprows=1, usecols=0, dtype=int)
    assert row["value"].to_list() == [dose[voxels].min()]


def test_a_structure_whose_file_lists_no_voxel_is_not_contoured(reference: Path, team: Path) -> None:
    (reference / "pt_365" / "Larynx.csv").write_text(",data\n")
    parts = scored(reference, team).scores.filter(pl.col("case") == "pt_365")["part"].unique()
    assert not [part for part in parts if part.startswith("Larynx")]


def test_a_prediction_without_any_voxel_is_a_dose_of_zero_with_a_warning(reference: Path, team: Path) -> None:
    (team / "pt_365.csv").write_text(",data\n")
    result = scored(reference, team)
    assert "there is no dose in this file" in [p.message for p in result.problems if p.severity == "warning"]
    mean = result.scores.filter((pl.col("metric") == "dose_error") & (pl.col("case") == "pt_365"))["value"][0]
    dose = read_sparse(reference / "pt_365" / "dose.csv")
    mask = (reference / "pt_365" / "possible_dose_mask.csv").read_text().count("\n") - 1
    assert mean == pytest.approx(np.sum(dose.values) / mask, rel=1e-12)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("5,nan", "holds a value that is not finite"),
        ("5,", "has no value"),
        ("-1,3.0", "has a negative index"),
        ("2097152,3.0", "has an index outside of 128×128×128"),
    ],
)
def test_a_bad_line_costs_the_case_and_not_the_others(reference: Path, team: Path, line: str, expected: str) -> None:
    with (team / "pt_365.csv").open("a") as stream:
        stream.write(f"{line}\n")
    result = scored(reference, team)
    (problem,) = [p for p in result.problems if p.severity == "unusable"]
    assert (problem.case, problem.file) == ("pt_365", "pt_365.csv")
    assert expected in problem.message
    assert result.record["cases"] == {"measured": 2, "missing": 0, "failed": 1}


def test_a_dose_that_is_nowhere_above_zero_is_a_dose(reference: Path, team: Path) -> None:
    (team / "pt_365.csv").write_text(",data\n5,0\n6,-1\n")
    warnings = [p.message for p in scored(reference, team).problems if p.severity == "warning"]
    assert "1 voxels have a negative dose, down to -1 Gy; it counts as it is" in warnings
    assert "there is no dose in this file" not in warnings


def test_negative_dose_counts_as_it_is_with_a_warning(reference: Path, team: Path) -> None:
    before = scored(reference, team).scores.filter(pl.col("metric") == "dose_error")["value"][0]
    dose = read_sparse(team / "pt_365.csv").dense()
    dose[0, 0, 0] = -2.0
    write_sparse(team / "pt_365.csv", dose)
    result = scored(reference, team)
    assert "1 voxels have a negative dose, down to -2 Gy; it counts as it is" in [p.message for p in result.problems]
    mask = (reference / "pt_365" / "possible_dose_mask.csv").read_text().count("\n") - 1
    after = result.scores.filter(pl.col("metric") == "dose_error")["value"][0]
    assert after == pytest.approx(before + 2.0 / mask, rel=1e-12)


def test_dose_where_none_can_be_is_counted_and_told_apart(reference: Path, team: Path) -> None:
    def numbers() -> tuple[float, float]:
        table = scored(reference, team).scores.filter((pl.col("case") == "pt_365") & (pl.col("part") == ""))
        found = dict(table.select("metric", "value").iter_rows())
        return found["dose_error"], found["leaked_dose"]

    error, leaked = numbers()
    dose = read_sparse(team / "pt_365.csv").dense()
    assert not dose[0, 0, 0]
    dose[0, 0, 0] = 50.0
    write_sparse(team / "pt_365.csv", dose)
    mask = (reference / "pt_365" / "possible_dose_mask.csv").read_text().count("\n") - 1
    assert numbers() == pytest.approx((error + 50.0 / mask, leaked + 50.0 / mask), rel=1e-12)


def test_centigray_are_noticed_when_checked_and_when_scored(reference: Path, team: Path) -> None:
    write_sparse(team / "pt_366.csv", 100 * read_sparse(team / "pt_366.csv").dense())
    for problems in (check(CHALLENGE, reference=reference, submission=team), scored(reference, team).problems):
        (warning,) = [p for p in problems if p.severity == "warning" and p.case == "pt_366"]
        assert "the median dose of PTV70 is" in warning.message
        assert "is the file in Gy?" in warning.message


def test_unknown_patients_are_named_and_cost_nothing(reference: Path, team: Path, expected: dict[str, Any]) -> None:
    shutil.copy(team / "pt_365.csv", team / "pt_999.csv")
    result = scored(reference, team)
    assert [(p.severity, p.case) for p in result.problems if p.case == "pt_999"] == [("unusable", "pt_999")]
    board = isocenter.rank(CHALLENGE, {"team": result.scores}, board="dose")
    assert board["team"].score == pytest.approx(expected["dose_score"], rel=1e-12)


@pytest.mark.parametrize("name", ["dose", "possible_dose_mask", "voxel_dimensions"])
def test_a_reference_without_a_file_that_every_patient_has_is_the_organisers_to_mend(
    reference: Path, team: Path, name: str
) -> None:
    (reference / "pt_366" / f"{name}.csv").unlink()
    with pytest.raises(CohortError, match=rf"pt_366 .*{name}\.csv is missing"):
        scored(reference, team)


def test_all_that_is_wrong_with_a_patients_reference_is_told_at_once(reference: Path, team: Path) -> None:
    (reference / "pt_366" / "dose.csv").write_text("dose\n1,2\n")
    (reference / "pt_366" / "Larynx.csv").write_text(",data\n-5,\n")
    (reference / "pt_366" / "voxel_dimensions.csv").write_text("1\n2\n")
    with pytest.raises(CohortError) as caught:
        scored(reference, team)
    for name in ("dose.csv: the first line", "Larynx.csv: line 2", "voxel_dimensions.csv: three numbers"):
        assert name in str(caught.value)


def test_a_patient_without_any_structure_cannot_be_scored(reference: Path, team: Path) -> None:
    for path in (reference / "pt_366").glob("*.csv"):
        if path.stem not in ("dose", "possible_dose_mask", "voxel_dimensions"):
            path.unlink()
    with pytest.raises(CohortError, match="none of the structures is contoured"):
        scored(reference, team)


@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("lost", ["emptied", "a file", "strange"])
def test_a_reference_patient_whose_files_got_lost_does_not_vanish(
    reference: Path, team: Path, lost: str, around: bool
) -> None:
    shutil.rmtree(reference / "pt_366")
    (team / "pt_366.csv").unlink()
    if lost == "a file":
        (reference / "pt_366").write_text("oops")
    else:
        (reference / "pt_366").mkdir()
    if lost == "strange":
        (reference / "pt_366" / "ct.csv").write_text(",data\n")
    if around:
        (reference.parent / "around").mkdir()
        shutil.move(str(reference), reference.parent / "around")
        reference = reference.parent / "around"
    with pytest.raises(CohortError, match="pt_366"):
        scored(reference, team)


def test_what_operating_systems_leave_beside_the_patients_is_no_patient(reference: Path, team: Path) -> None:
    for name in (".DS_Store", "README.md", "cases.txt"):
        (reference / name).write_text("x")
    (reference / "__MACOSX").mkdir()
    (reference / ".git").mkdir()
    assert scored(reference, team).record["cases"]["measured"] == 3


def test_a_dose_beyond_any_dose_is_unusable(reference: Path, team: Path) -> None:
    with (team / "pt_365.csv").open("a") as stream:
        stream.write("5,1e308\n")
    (team / "pt_366.csv").write_text("structure,criterion,value\nPTV70,D_99,1e300\n")
    (team / "pt_367.csv").write_text(",data\n5,60\n6,-1e10\n")
    messages = {p.case: p.message for p in scored(reference, team).problems if p.severity == "unusable"}
    assert messages == {
        "pt_365": "holds 1e+308; no dose is larger than 1e+09 Gy",
        "pt_366": "holds 1e+300; no dose is larger than 1e+09 Gy",
        "pt_367": "holds 1e+10; no dose is larger than 1e+09 Gy",
    }


def test_a_damaged_member_of_a_zip_costs_its_case_with_its_name(reference: Path, team: Path, tmp_path: Path) -> None:
    archive = Path(shutil.make_archive(str(tmp_path / "zipped"), "zip", team))
    with zipfile.ZipFile(archive) as opened:
        at = opened.getinfo("pt_366.csv").header_offset
    content = bytearray(archive.read_bytes())
    content[at + 60 : at + 400] = bytes(340)
    archive.write_bytes(content)
    (problem,) = [p for p in scored(reference, archive).problems if p.severity == "unusable"]
    assert (problem.case, problem.file) == ("pt_366", "pt_366.csv")
    assert problem.message.startswith("damaged or cut off: ")
    assert ".py" not in problem.message


def test_a_folder_without_any_prediction_is_refused(reference: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SubmissionRefused, match="is it the right folder"):
        scored(reference, tmp_path / "empty")


# Points of the DVH without a dose: allowed in the DVH stream only.


def test_dvh_points_compete_in_the_dvh_stream_only(
    reference: Path, team: Path, tmp_path: Path, expected: dict[str, Any]
) -> None:
    points = dvh_points(tmp_path / "points", {c: p["prediction"] for c, p in expected["patients"].items()})
    tables = {"dose": scored(reference, team).scores, "points": scored(reference, points).scores}
    dvh = isocenter.rank(CHALLENGE, tables, board="dvh")
    assert dvh["points"].score == pytest.approx(expected["dvh_score"], rel=1e-12)
    assert dvh["points"].rank == dvh["dose"].rank == 1
    dose = isocenter.rank(CHALLENGE, tables, board="dose")
    assert [row.submission for row in dose] == ["dose"]
    assert dose.notes[0] == "points is not on this board: it has no dose_error in some cases"
    assert not dose["points"].disqualified


def test_dvh_points_must_be_complete_and_nothing_else(
    reference: Path, tmp_path: Path, expected: dict[str, Any]
) -> None:
    values = {case: dict(patient["prediction"]) for case, patient in expected["patients"].items()}
    del values["pt_365"]["PTV70|D_99"]
    values["pt_365"]["PTV56|D_99"] = 50.0
    result = scored(reference, dvh_points(tmp_path / "points", values))
    (problem,) = [p for p in result.problems if p.severity == "unusable"]
    assert problem.case == "pt_365"
    assert problem.message == (
        "the list of DVH points lacks PTV70 D_99; and it has PTV56 D_99, not asked for in this patient"
    )


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("PTV70,D_99", "line 2 is no structure, criterion and number"),
        ("PTV70,D_99,warm", "line 2 is no structure, criterion and number"),
        ("PTV70,D_99,1,2", "line 2 is no structure, criterion and number"),
        ("PTV70,D_99,inf", "line 2 holds inf, which is not finite"),
        ("PTV70,D_99,1\nPTV70,D_99,1", "line 3 gives PTV70, D_99 again"),
        ("x,y,1\n" * 5000, "bytes; a list of DVH points has at most"),
    ],
)
def test_a_list_of_points_is_checked_line_by_line(reference: Path, team: Path, lines: str, expected: str) -> None:
    (team / "pt_365.csv").write_text(f"structure,criterion,value\n{lines}\n")
    (problem,) = [p for p in scored(reference, team).problems if p.severity == "unusable"]
    assert expected in problem.message


def test_a_file_that_is_neither_says_what_the_two_are(reference: Path, team: Path) -> None:
    (team / "pt_365.csv").write_text("x,y,z,dose\n1,2,3,4\n")
    (problem,) = [p for p in scored(reference, team).problems if p.severity == "unusable"]
    assert problem.message == (
        "the first line is 'x,y,z,dose'; a dose begins with ',data', DVH points with 'structure,criterion,value'"
    )


# The sums behind the scores, against their definition.

doses = st.dictionaries(st.integers(0, 40), st.floats(-80, 80), max_size=20)


def sparse(values: dict[int, float]) -> SparseDose:
    ordered = dict(sorted(values.items()))
    return SparseDose(np.array(list(ordered), np.int64), np.array(list(ordered.values()), np.float64))


@given(doses, doses)
def test_differences_are_those_of_whole_arrays(a: dict[int, float], b: dict[int, float]) -> None:
    dense = np.zeros((2, 41))
    for row, values in enumerate((a, b)):
        dense[row, list(values)] = list(values.values())
    found = dose_difference(sparse(a), sparse(b))
    assert found.absolute == pytest.approx(np.abs(dense[0] - dense[1]).sum(), rel=1e-14, abs=1e-300)
    assert found.squared == pytest.approx(np.square(dense[0] - dense[1]).sum(), rel=1e-14, abs=1e-300)
    assert dose_difference(sparse(b), sparse(a)) == found


@given(doses, st.sets(st.integers(0, 45)))
def test_doses_at_and_outside_of_voxels_are_those_of_whole_arrays(a: dict[int, float], voxels: set[int]) -> None:
    dense = np.zeros(46)
    dense[list(a)] = list(a.values())
    wanted = np.array(sorted(voxels), np.int64)
    np.testing.assert_array_equal(sparse(a).at(wanted), dense[wanted])
    assert sparse(a).outside(wanted) == pytest.approx(np.abs(np.delete(dense, wanted)).sum(), rel=1e-14, abs=1e-300)


def test_the_mask_may_be_larger_or_smaller_than_the_dose(tmp_path: Path) -> None:
    """What counts below the line is the number of voxels where dose can be, wherever the dose is."""
    dose, possible = np.zeros((128,) * 3), np.zeros((128,) * 3, bool)
    dose[10, 10, 10:14], possible[10, 10, 8:18] = 2.0, True
    patient = tmp_path / "reference" / "pt_1"
    patient.mkdir(parents=True)
    write_sparse(patient / "dose.csv", dose)
    write_mask(patient / "possible_dose_mask.csv", possible)
    write_mask(patient / "PTV70.csv", dose > 0)
    write_voxel_dimensions(patient / "voxel_dimensions.csv", (3.906, 3.906, 2.5))
    (tmp_path / "team").mkdir()
    write_sparse(tmp_path / "team" / "pt_1.csv", np.zeros((128,) * 3))
    assert score(tmp_path / "reference", tmp_path / "team", "dose") == pytest.approx(8.0 / 10)


def test_an_edition_can_be_written_and_read(tmp_path: Path) -> None:
    text = editions.render(editions.new(CHALLENGE))
    edition = editions.parse(text)
    assert [phase.name for phase in edition.phases] == ["validation", "test"]
    assert edition.policies.missing == "disqualify"
    assert editions.apply(edition, CHALLENGE).boards == {name: replace(rule) for name, rule in CHALLENGE.boards.items()}


def test_the_best_counts_on_the_live_board_and_the_last_in_the_testing_phase() -> None:
    assert {phase.name: phase.counts for phase in editions.new(CHALLENGE).phases} == {
        "validation": "best",
        "test": "last",
    }


def test_the_best_of_a_team_is_found_for_each_stream_by_its_own_score() -> None:
    def table(dose: float, dvh: float) -> pl.DataFrame:
        rows = [scores.Row("pt_1", "", "dose_error", dose), scores.Row("pt_1", "Brainstem", "dvh_error", dvh)]
        return scores.frame(rows)

    code = editions.apply(editions.new(CHALLENGE), CHALLENGE, phase="validation")
    tables = {"team": [table(2.0, 5.0), table(3.0, 1.0), table(4.0, 6.0)]}
    assert isocenter.rank(code, tables, board="dose")["team"].score == pytest.approx(2.0)
    assert isocenter.rank(code, tables, board="dvh")["team"].score == pytest.approx(1.0)
