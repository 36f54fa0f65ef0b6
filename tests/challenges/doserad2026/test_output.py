"""What teams send: whole, wrong, or hostile."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isocenter.challenges.doserad2026 import _output, challenge, floored
from isocenter.evaluation import check, depict
from isocenter.volumes import Grid, Volume, write

CASE = "1ABB001"
FIRST, SECOND, THIRD = (f"{CASE}-beam{i}" for i in range(3))


@pytest.fixture
def reference(one: Any, tmp_path: Path) -> Path:
    return Path(one.save(tmp_path / "reference"))


@pytest.fixture
def team(one: Any, tools: Any, tmp_path: Path) -> Path:
    return Path(one.answer(tmp_path / "team", tools.off(one.beams)))


def refusal(tools: Any, reference: Path, team: Path, **more: Any) -> str:
    """Why a case was not measured; the same whether it is checked or scored."""
    result = tools.score(reference, team, **more)
    (problem,) = (problem for problem in result.problems if problem.severity == "unusable")
    assert tools.by_part(result.scores)["failed", ""] == 1.0
    assert all(value is None for (metric, _), value in tools.by_part(result.scores).items() if metric != "failed")
    assert problem in check(challenge, reference=reference, submission=team, **more)
    return str(problem.message)


# Whole ----------------------------------------------------------------------------------------------------------------


def test_a_case_has_a_row_for_every_beam_and_their_mean(tools: Any, reference: Path, team: Path) -> None:
    found = tools.by_part(tools.score(reference, team).scores)
    for metric in ("beam_mae", "idd_distance", "idd_distance_z"):
        beams = [found[metric, uuid] for uuid in (FIRST, SECOND, THIRD)]
        assert found[metric, ""] == pytest.approx(np.mean(beams))
        assert min(beams) > 0


@pytest.mark.parametrize("suffix", [".nii.gz", ".nii", ".nrrd"])
def test_doses_may_be_of_other_formats(tools: Any, one: Any, reference: Path, team: Path, suffix: str) -> None:
    other = one.answer(team.parent / "other", tools.off(one.beams), suffix=suffix)
    assert tools.score(reference, other).scores.equals(tools.score(reference, team).scores)


def test_a_zip_with_one_folder_around_it_is_the_same(tools: Any, reference: Path, team: Path) -> None:
    packed = team.parent / "team.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(team.rglob("*.mha")):
            archive.write(path, f"answers/{path.relative_to(team)}")
    assert tools.score(reference, packed).scores.equals(tools.score(reference, team).scores)


def test_beams_are_read_once_though_they_are_inspected_and_measured(
    tools: Any, reference: Path, team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = _output.read_frames

    def counting(file: Any, indices: Any) -> Any:
        read.append(file.name)
        return real(file, indices)

    monkeypatch.setattr(_output, "read_frames", counting)
    tools.score(reference, team)
    assert sorted(read) == [f"{uuid}.mha" for uuid in (FIRST, SECOND, THIRD)]


def test_no_dose_at_all_is_a_wrong_answer_not_a_missing_one(tools: Any, one: Any, reference: Path) -> None:
    nothing = {uuid: np.zeros_like(beam) for uuid, beam in one.beams.items()}
    result = tools.score(reference, one.answer(reference.parent / "nothing", nothing))
    found = tools.by_part(result.scores)
    assert 0.5 < found["beam_mae", ""] <= 1
    assert found["gamma_pass_rate", ""] == 0.0
    assert found["plan_mae", "high"] == pytest.approx(1.0, rel=0.2)
    (warning,) = result.problems
    assert warning.severity == "warning"
    assert "a median of 0 Gy, with 60 Gy prescribed; between 30 and 90 were expected" in warning.message


def test_the_picture_of_a_case_has_both_plans_and_the_structures_that_count(
    tools: Any, one: Any, reference: Path, team: Path
) -> None:
    picture = depict(challenge, reference=reference, submission=team, case=CASE)
    assert list(picture.structures) == ["PTV", "Near", "Side", "Other"]
    # A voxel is where it was: the corner of the target in patient coordinates.
    index = np.argwhere(picture.structures["PTV"])[0]
    where = picture.reference.grid.affine[:3, :3] @ index + picture.reference.grid.origin
    assert where == pytest.approx(one.grid.affine[:3, :3] @ (5, 4, 2) + one.grid.origin)
    target = one.plan_dose()[one.structures["PTV"]]
    assert picture.reference.array[picture.structures["PTV"]] == pytest.approx(target)
    answer = sum(one.weights[uuid] * beam.astype(float) for uuid, beam in tools.off(one.beams).items())
    assert picture.output.array[picture.structures["PTV"]] == pytest.approx(answer[one.structures["PTV"]])


def test_the_beams_alone_tell_nothing_of_the_weights_and_the_box_of_the_plan(one, tools, tmp_path: Path) -> None:
    beams = tools.off(one.beams)
    team = one.answer(tmp_path / "team", beams)
    weights = {uuid: 100.0 * (number + 1) for number, uuid in enumerate(one.weights)}
    other = tools.replace(one, weights=weights, structures={"PTV": one.structures["PTV"]})
    first, second = (
        depict(challenge, reference=who.save(tmp_path / name), submission=team, case=CASE)
        for name, who in (("one", one), ("other", other))
    )
    assert not np.array_equal(first.output.array, second.output.array)
    seen = first.alone()
    assert seen.grid == tools.grid
    np.testing.assert_array_equal(seen.array, second.alone().array)
    np.testing.assert_allclose(seen.array, sum(beams.values()), rtol=1e-6)


# Unusual --------------------------------------------------------------------------------------------------------------


def test_negative_dose_counts_on_level_1_and_not_in_the_plan(tools: Any, one: Any, reference: Path) -> None:
    beams = {uuid: beam.copy() for uuid, beam in one.beams.items()}
    beams[FIRST][5:9, 0:3, 2:6] = -1e-3  # in no other beam
    zeroed = {uuid: np.maximum(beam, 0) for uuid, beam in beams.items()}
    negative = tools.score(reference, one.answer(reference.parent / "negative", beams))
    clipped = tools.score(reference, one.answer(reference.parent / "clipped", zeroed))
    below, above = tools.by_part(negative.scores), tools.by_part(clipped.scores)
    for metric in ("beam_mae", "idd_distance", "idd_distance_z"):
        assert below[metric, FIRST] > above[metric, FIRST]
    for metric in ("plan_mae", "gamma_pass_rate", "dvh_score"):
        assert below[metric, ""] == above[metric, ""]
    (note,) = negative.problems
    assert (note.severity, note.message) == ("note", f"beam {FIRST} with negative dose, down to -0.001 Gy")


def test_the_plan_is_clipped_and_not_its_beams(tools: Any, one: Any, reference: Path) -> None:
    """Where beams overlap, negative dose of one takes from the others."""
    beams = {uuid: beam.copy() for uuid, beam in one.beams.items()}
    beams[FIRST][one.structures["PTV"]] -= 2e-4
    beams[FIRST][7, 6, 4] = -2e-4
    found = tools.by_part(tools.score(reference, one.answer(reference.parent / "team", beams)).scores)
    plan = sum(one.weights[uuid] * beam.astype(float) for uuid, beam in beams.items())
    high = one.plan_dose() >= 0.8 * 60
    assert found["plan_mae", "high"] == pytest.approx(np.abs(plan - one.plan_dose())[high].mean() / 60, rel=1e-6)


def test_dose_in_centigray_is_measured_with_a_warning(tools: Any, one: Any, reference: Path) -> None:
    hundredfold = {uuid: 100 * beam for uuid, beam in one.beams.items()}
    result = tools.score(reference, one.answer(reference.parent / "cgy", hundredfold))
    (warning,) = result.problems
    assert warning.severity == "warning"
    assert "the predicted plan gives the target a median of" in warning.message
    assert tools.by_part(result.scores)["beam_mae", ""] == pytest.approx(99 * 0.9, rel=0.05)


def test_unknown_beams_are_ignored_with_a_warning(tools: Any, one: Any, reference: Path, team: Path) -> None:
    expected = tools.score(reference, team).scores
    shutil.copy(team / CASE / f"{FIRST}.mha", team / CASE / "another.mha")
    (team / CASE / "notes.txt").write_text("hello")
    result = tools.score(reference, team)
    assert result.scores.equals(expected)
    said = {problem.severity: problem.message for problem in result.problems}
    assert said == {
        "warning": "beam another is not of this case; ignored",
        "note": "not part of what is asked for; ignored",
    }


# Wrong ----------------------------------------------------------------------------------------------------------------


def test_a_missing_beam_fails_the_case_and_is_named(tools: Any, reference: Path, team: Path) -> None:
    (team / CASE / f"{SECOND}.mha").unlink()
    assert refusal(tools, reference, team) == f"beam {SECOND} of 3 is missing"


def test_a_beam_by_a_wrong_name_is_told_beside_the_missing_one(tools: Any, reference: Path, team: Path) -> None:
    (team / CASE / f"{SECOND}.mha").rename(team / CASE / "beam1.mha")
    assert refusal(tools, reference, team) == f"beam {SECOND} of 3 is missing; beam beam1 is not of this case"


def test_other_cases_do_not_suffer(tools: Any, two: Any, tmp_path: Path) -> None:
    first, second = two
    for patient in two:
        patient.save(tmp_path / "reference")
        patient.answer(tmp_path / "team", tools.off(patient.beams))
    next((tmp_path / "team" / first.name).iterdir()).unlink()
    table = tools.score(tmp_path / "reference", tmp_path / "team").scores
    assert tools.by_part(table, first.name)["beam_mae", ""] is None
    assert tools.by_part(table, second.name)["beam_mae", ""] > 0


def test_a_case_without_a_folder_is_missing(tools: Any, two: Any, tmp_path: Path) -> None:
    first, second = two
    for patient in two:
        patient.save(tmp_path / "reference")
    first.answer(tmp_path / "team", tools.off(first.beams))
    result = tools.score(tmp_path / "reference", tmp_path / "team")
    assert tools.by_part(result.scores, second.name)["missing", ""] == 1.0
    (problem,) = result.problems
    assert (problem.severity, problem.case) == ("missing", second.name)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e20, -1e20])
def test_a_voxel_that_is_no_dose_is_named(tools: Any, one: Any, reference: Path, team: Path, value: float) -> None:
    beam = one.beams[THIRD].copy()
    beam[1, 2, 3] = value
    write(Volume(beam, one.grid), team / CASE / f"{THIRD}.mha")
    expected = f"beam {THIRD}: holds {value:g} at voxel (1, 2, 3); every voxel must be a finite dose in Gy"
    assert refusal(tools, reference, team) == expected


def test_all_that_is_wrong_is_said_at_once(tools: Any, one: Any, reference: Path, team: Path) -> None:
    (team / CASE / f"{FIRST}.mha").unlink()
    (team / CASE / f"{SECOND}.mha").write_bytes((team / CASE / f"{SECOND}.mha").read_bytes()[:-40])
    beam = one.beams[THIRD].copy()
    beam[0, 0, 0] = np.nan
    write(Volume(beam, one.grid), team / CASE / f"{THIRD}.mha")
    said = refusal(tools, reference, team)
    assert f"beam {FIRST} of 3 is missing" in said
    assert f"beam {SECOND}: {SECOND}.mha: damaged or cut off" in said
    assert f"beam {THIRD}: holds nan at voxel (0, 0, 0)" in said


def test_what_is_wrong_with_all_beams_is_said_once(tools: Any, one: Any, reference: Path, team: Path) -> None:
    names = f"3 beams ({FIRST}, {SECOND}, {THIRD})"
    grid = OTHER["shape"]
    for uuid in (FIRST, SECOND, THIRD):
        write(Volume(np.zeros(grid.shape, np.float32), grid), team / CASE / f"{uuid}.mha")
    told = refusal(tools, reference, team)
    assert told.startswith(f"{names} ({FIRST}.mha and others): grid differs")
    assert told.count("grid differs") == 1
    beam = np.full(one.grid.shape, np.nan, np.float32)
    for uuid in (FIRST, SECOND, THIRD):
        write(Volume(beam, one.grid), team / CASE / f"{uuid}.mha")
    told = refusal(tools, reference, team)
    assert told == f"{names}: holds nan at voxel (0, 0, 0); every voxel must be a finite dose in Gy"


OTHER = {
    "shape": Grid((14, 12, 7), spacing=(2.0, 2.0, 2.0), origin=(-13.0, -11.0, 50.0)),
    "place": Grid((14, 12, 8), spacing=(2.0, 2.0, 2.0), origin=(-13.0, -11.0, 56.0)),
}


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ("shape", "grid differs: 14×12×7 at 2×2×2 mm, reference 14×12×8 at 2×2×2 mm; doses of beams are not resampled"),
        ("place", "corners lie up to 6.00 mm apart; doses of beams are not resampled"),
    ],
)
def test_a_dose_on_another_grid_is_refused(tools: Any, reference: Path, team: Path, *, which: str, said: str) -> None:
    grid = OTHER[which]
    write(Volume(np.zeros(grid.shape, np.float32), grid), team / CASE / f"{FIRST}.mha")
    for policy in ("refuse", "resample"):
        told = refusal(tools, reference, team, grid=policy)
        assert told.startswith(f"beam {FIRST} ({FIRST}.mha): grid differs")
        assert told.endswith(said)


def test_the_index_may_be_trusted_by_policy(tools: Any, one: Any, reference: Path, team: Path) -> None:
    expected = tools.score(reference, team).scores
    write(Volume(tools.off(one.beams)[FIRST], OTHER["place"]), team / CASE / f"{FIRST}.mha")
    result = tools.score(reference, team, grid="trust-index")
    assert result.scores.equals(expected)
    assert [problem.message for problem in result.problems] == [
        "grids of 1 beams differ by up to 6.00 mm; index trusted by policy"
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a MetaImage file"),
        (b"ObjectType = Image\n", "not a MetaImage file"),
        (b"\0" * 500, "not a MetaImage"),
    ],
)
def test_a_file_that_is_no_dose_is_named(tools: Any, reference: Path, team: Path, content: bytes, said: str) -> None:
    (team / CASE / f"{FIRST}.mha").write_bytes(content)
    told = refusal(tools, reference, team)
    assert told.startswith(f"beam {FIRST} ({FIRST}.mha): ")
    assert said in told


def test_a_stack_in_place_of_a_dose_is_named(tools: Any, one: Any, reference: Path, team: Path) -> None:
    tools.stack(team / CASE / f"{FIRST}.mha", list(one.beams.values()), one.grid)
    assert refusal(tools, reference, team) == f"beam {FIRST} ({FIRST}.mha): holds 3 doses; expected one"


def test_two_doses_of_one_beam_are_one_too_many(tools: Any, one: Any, reference: Path, team: Path) -> None:
    write(Volume(one.beams[FIRST], one.grid), team / CASE / f"{FIRST}.nii.gz")
    result = tools.score(reference, team)
    (problem,) = result.problems
    assert problem.severity == "unusable"
    assert f"there are two doses of beam {FIRST}" in problem.message


def test_a_link_out_of_the_submission_is_not_followed(tools: Any, one: Any, reference: Path, team: Path) -> None:
    path = team / CASE / f"{FIRST}.mha"
    path.unlink()
    path.symlink_to(reference / CASE / "beams" / f"{FIRST}.mha")
    result = tools.score(reference, team)
    assert tools.by_part(result.scores)["failed", ""] == 1.0
    assert any("a symbolic link" in problem.message for problem in result.problems)


# Flooring -------------------------------------------------------------------------------------------------------------


def test_dose_below_the_cutoff_counts_unless_both_sides_are_floored(tools: Any, one: Any, tmp_path: Path) -> None:
    patient = tools.replace(
        one,
        case={"beams": [{"uuid": u, "weight": w, "minimum_cutoff": 2e-4} for u, w in one.weights.items()]},
    )
    reference = patient.save(tmp_path / "reference")
    haze = {uuid: np.where(beam > 0, beam, np.float32(1e-4)) for uuid, beam in one.beams.items()}
    team = patient.answer(tmp_path / "team", haze)
    plain = tools.by_part(tools.score(reference, team).scores)
    zeroed = tools.by_part(tools.score(reference, team, challenge=floored).scores)
    assert plain["idd_distance", ""] > 0.05
    assert {value for (metric, _), value in zeroed.items() if not metric.startswith("gamma")} == {0.0}


def test_flooring_needs_cutoffs(tools: Any, reference: Path, team: Path) -> None:
    with pytest.raises(ValueError, match=f"beam {FIRST} has no minimum_cutoff"):
        tools.score(reference, team, challenge=floored)
