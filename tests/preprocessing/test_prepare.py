"""Preparing a cohort: everything or nothing of a case, once and not twice."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil

import numpy as np
import pytest

from isocenter.phantoms import pet_ct
from isocenter.preprocessing import (
    Box,
    CaseFiles,
    Recipe,
    find_cases,
    oropharynx_box,
    prepare_case,
    prepare_cohort,
    read_overrides,
)
from isocenter.preprocessing import _prepare as module
from isocenter.volumes import Volume, read, write

COARSE = {"spacing": (4.0, 4.0, 5.0), "pet_spacing": (6.0, 6.0, 6.0)}


@pytest.fixture(scope="module")
def patients():
    return {f"CHUV{number:03d}": pet_ct(number, **COARSE) for number in (1, 2)}


@pytest.fixture(scope="module")
def scans(patients, tmp_path_factory):
    folder = tmp_path_factory.mktemp("scans")
    for name, patient in patients.items():
        (folder / name).mkdir()
        write(patient.ct, folder / name / "ct.nii.gz")
        write(patient.pet, folder / name / "pet.mha")
        write(patient.labels, folder / name / "MASK.nii.gz")
    return folder


@pytest.fixture
def raw(scans, tmp_path):
    """Copies that a test may spoil."""
    return shutil.copytree(scans, tmp_path / "raw")


def snapshot(folder):
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def run(raw, out, **options):
    found, lost = find_cases(raw)
    return [*prepare_cohort(found, out, **options), *lost]


def test_every_case_becomes_a_folder_of_three_volumes_on_one_grid(raw, tmp_path, patients):
    out = tmp_path / "out"
    reports = run(raw, out)
    assert [(report.case, report.state, report.problems) for report in reports] == [
        ("CHUV001", "prepared", ()),
        ("CHUV002", "prepared", ()),
    ]
    assert sorted(os.listdir(out)) == ["CHUV001", "CHUV002", "boxes.csv"]
    for name, patient in patients.items():
        assert sorted(os.listdir(out / name)) == ["ct.nii.gz", "mask.nii.gz", "pet.nii.gz", "prepared.json"]
        ct, pet, mask = (read(out / name / f"{kind}.nii.gz") for kind in ("ct", "pet", "mask"))
        assert ct.grid.same_as(pet.grid)
        assert ct.grid.same_as(mask.grid)
        assert ct.grid.spacing == pytest.approx(patient.ct.grid.spacing)
        assert np.count_nonzero(mask.array) == np.count_nonzero(patient.labels.array)
        assert pet.array[mask.array > 0].mean() > 4 * np.median(pet.array)


def test_the_boxes_are_those_of_the_method_and_are_recorded(raw, tmp_path, patients):
    reports = run(raw, tmp_path / "out")
    table = read_overrides(tmp_path / "out" / "boxes.csv")
    for report in reports:
        assert report.box.corners == pytest.approx(oropharynx_box(patients[report.case].pet).corners, abs=1e-3)
        assert table[report.case].corners == report.box.corners
        record = json.loads((tmp_path / "out" / report.case / "prepared.json").read_text())
        assert record["recipe"] == dataclasses.asdict(Recipe())
        assert set(record["inputs"]) == {"ct", "pet", "mask"}
        assert record["box"]["threshold"] == report.box.threshold
        assert "/" not in json.dumps(record)  # hashes, no paths


def test_what_is_done_is_not_done_again(raw, tmp_path):
    out = tmp_path / "out"
    first = run(raw, out)
    before = snapshot(out)
    second = run(raw, out)
    assert [report.state for report in second] == ["kept", "kept"]
    assert [report.box for report in second] == [report.box for report in first]
    after = snapshot(out)
    del before["boxes.csv"], after["boxes.csv"]  # written again, with the same content
    assert after == before


def test_a_case_is_done_again_if_an_input_changes_and_only_that_one(raw, tmp_path, patients):
    run(raw, tmp_path / "out")
    ct = patients["CHUV001"].ct
    write(Volume(np.where(ct.array > 500, 0, ct.array), ct.grid), raw / "CHUV001" / "ct.nii.gz")
    assert [report.state for report in run(raw, tmp_path / "out")] == ["prepared", "kept"]
    assert read(tmp_path / "out" / "CHUV001" / "ct.nii.gz").array.max() <= 500


def test_a_case_is_done_again_if_it_is_to_be_done_otherwise(raw, tmp_path):
    run(raw, tmp_path / "out")
    reports = run(raw, tmp_path / "out", recipe=Recipe(variant="published", spacing=3.0, interpolation="linear"))
    assert [report.state for report in reports] == ["prepared", "prepared"]
    assert read(tmp_path / "out" / "CHUV001" / "pet.nii.gz").grid.shape == (48, 48, 48)


def test_an_output_that_was_damaged_or_lost_is_made_again(raw, tmp_path):
    out = tmp_path / "out"
    run(raw, out)
    good = snapshot(out)
    (out / "CHUV001" / "pet.nii.gz").write_bytes(b"damaged")
    (out / "CHUV002" / "mask.nii.gz").unlink()
    assert [report.state for report in run(raw, out)] == ["prepared", "prepared"]
    assert {name: data for name, (_, data) in snapshot(out).items()} == {name: data for name, (_, data) in good.items()}


def test_a_change_of_the_method_makes_everything_anew(raw, tmp_path, monkeypatch):
    run(raw, tmp_path / "out")
    monkeypatch.setattr(module, "_code", lambda: "another")
    assert [report.state for report in run(raw, tmp_path / "out")] == ["prepared", "prepared"]


def test_a_box_or_a_threshold_given_by_hand_is_used_and_recorded(raw, tmp_path):
    found, _ = find_cases(raw)
    own = oropharynx_box(read(found[0].pet)).low
    box = Box(own, tuple(value + 100.0 for value in own))
    reports = run(raw, tmp_path / "out", overrides={"CHUV001": box, "CHUV002": 2.5})
    assert reports[0].box == box
    assert reports[1].box.threshold == 2.5
    grid = read(tmp_path / "out" / "CHUV001" / "ct.nii.gz").grid
    assert np.multiply(grid.shape, grid.spacing) == pytest.approx(100.0, abs=5.0)
    assert [r.state for r in run(raw, tmp_path / "out", overrides={"CHUV001": box, "CHUV002": 2.5})] == ["kept"] * 2
    assert [r.state for r in run(raw, tmp_path / "out")] == ["prepared"] * 2


def test_a_case_that_cannot_be_prepared_costs_only_itself_and_leaves_nothing(raw, tmp_path, patients):
    pet = patients["CHUV001"].pet
    write(Volume(np.zeros_like(pet.array), pet.grid), raw / "CHUV001" / "pet.mha")
    reports = run(raw, tmp_path / "out")
    assert [report.state for report in reports] == ["failed", "prepared"]
    assert "pet.mha: no brain" in reports[0].problems[0]
    assert "by hand" in reports[0].problems[0]
    assert sorted(os.listdir(tmp_path / "out")) == ["CHUV002", "boxes.csv"]
    assert list(read_overrides(tmp_path / "out" / "boxes.csv")) == ["CHUV002"]


@pytest.mark.parametrize("name", ["ct.nii.gz", "pet.mha", "MASK.nii.gz"])
def test_a_file_that_cannot_be_read_is_named(raw, tmp_path, name):
    (raw / "CHUV001" / name).write_bytes(b"nothing of the kind")
    report = run(raw, tmp_path / "out")[0]
    assert report.state == "failed"
    assert report.problems[0].startswith(name)


def test_images_of_two_patients_are_not_made_into_one(raw, tmp_path, patients):
    ct = patients["CHUV001"].ct
    away = dataclasses.replace(ct.grid, origin=(5000.0, 0.0, 0.0))
    write(Volume(ct.array, away), raw / "CHUV001" / "ct.nii.gz")
    report = run(raw, tmp_path / "out")[0]
    assert report.state == "failed"
    assert "ct.nii.gz: lies nowhere inside the box" in report.problems[0]


def test_values_that_are_not_finite_and_single_slices_are_refused(raw, tmp_path, patients):
    pet = patients["CHUV001"].pet
    write(Volume(np.where(pet.array > 5, np.inf, pet.array).astype(np.float32), pet.grid), raw / "CHUV001" / "pet.mha")
    ct = patients["CHUV002"].ct
    write(
        Volume(ct.array[:, :, :1], dataclasses.replace(ct.grid, shape=(*ct.grid.shape[:2], 1))),
        raw / "CHUV002" / "ct.nii.gz",
    )
    one, two = run(raw, tmp_path / "out")
    assert "pet.mha: holds values that are not finite" in one.problems
    assert "at least 4 voxels" in two.problems[0]


def test_a_tumour_that_the_box_cuts_is_told(raw, tmp_path, patients):
    labels = patients["CHUV001"].labels
    more = labels.array.copy()
    more[:, :, 2] = 2  # a whole slice at the shoulders
    write(Volume(more, labels.grid), raw / "CHUV001" / "MASK.nii.gz")
    report = run(raw, tmp_path / "out")[0]
    assert report.state == "prepared"
    lost = np.prod(labels.grid.shape[:2]) * labels.grid.voxel_volume / 1000.0
    assert f"MASK.nii.gz: {lost:.3g} ml of" in report.problems[0]
    assert "lie outside the box" in report.problems[0]
    assert run(raw, tmp_path / "out")[0].problems == report.problems  # also when nothing is done again


def test_a_box_that_sticks_out_of_an_image_is_told(raw, tmp_path, patients):
    ct = patients["CHUV001"].ct
    part = dataclasses.replace(ct.grid, shape=(ct.grid.shape[0] // 2, *ct.grid.shape[1:]))
    write(Volume(ct.array[: part.shape[0]], part), raw / "CHUV001" / "ct.nii.gz")
    report = run(raw, tmp_path / "out")[0]
    assert report.state == "prepared"
    assert "ct.nii.gz: the box sticks out by" in report.problems[0]
    assert read(tmp_path / "out" / "CHUV001" / "ct.nii.gz").array.min() == -1024


def test_an_empty_mask_is_told_and_a_missing_one_is_no_problem(raw, tmp_path, patients):
    labels = patients["CHUV001"].labels
    write(Volume(np.zeros_like(labels.array), labels.grid), raw / "CHUV001" / "MASK.nii.gz")
    (raw / "CHUV002" / "MASK.nii.gz").unlink()
    one, two = run(raw, tmp_path / "out")
    assert one.problems == ("MASK.nii.gz: is empty",)
    assert two.problems == ()
    assert "mask.nii.gz" not in os.listdir(tmp_path / "out" / "CHUV002")


def test_folders_without_images_and_with_too_many_are_listed(raw):
    (raw / "CHUV003").mkdir()
    (raw / "CHUV001" / "ct.nrrd").touch()
    (raw / ".git").mkdir()
    (raw / "notes.txt").write_text("x")
    found, lost = find_cases(raw)
    assert [files.name for files in found] == ["CHUV002"]
    assert {report.case: report.problems for report in lost} == {
        "CHUV001": ("which is the ct: ct.nii.gz, ct.nrrd?",),
        "CHUV003": ("no ct.nii.gz (or .nii, .mha, .nrrd)", "no pet.nii.gz (or .nii, .mha, .nrrd)"),
    }


def test_a_folder_that_this_did_not_write_is_never_replaced(raw, tmp_path):
    precious = tmp_path / "out" / "CHUV001"
    precious.mkdir(parents=True)
    (precious / "thesis.doc").write_text("precious")
    one, two = run(raw, tmp_path / "out")
    assert one.state == "failed"
    assert "not written by this command" in one.problems[0]
    assert two.state == "prepared"
    assert os.listdir(precious) == ["thesis.doc"]


def test_a_run_that_dies_half_way_leaves_the_old_case_or_none(raw, tmp_path, monkeypatch):
    out = tmp_path / "out"
    found, _ = find_cases(raw)
    real = module.write

    def dying(volume, path):
        if path.name.startswith("pet"):
            msg = "the disk is full"
            raise OSError(msg)
        real(volume, path)

    monkeypatch.setattr(module, "write", dying)
    assert prepare_case(found[0], out).problems == ("the disk is full",)
    assert os.listdir(out) == []
    monkeypatch.setattr(module, "write", real)
    assert prepare_case(found[0], out).state == "prepared"
    before = snapshot(out)
    monkeypatch.setattr(module, "write", dying)
    report = prepare_case(found[0], out, recipe=Recipe(size_mm=120.0))
    assert report.problems == ("the disk is full; what was prepared here before is left as it was",)
    assert snapshot(out) == before


def test_a_record_that_was_tampered_with_is_not_trusted(raw, tmp_path):
    out = tmp_path / "out"
    found, _ = find_cases(raw)
    prepare_case(found[0], out)
    path = out / "CHUV001" / "prepared.json"
    record = json.loads(path.read_text())
    for spoiled in ({**record, "outputs": None}, {**record, "inputs": {}}):
        path.write_text(json.dumps(spoiled))
        assert prepare_case(found[0], out).state == "prepared"
    path.write_text("{")
    assert "not written by this command" in prepare_case(found[0], out).problems[0]


def test_files_of_any_name_are_a_case_if_one_says_so(scans, tmp_path):
    home = scans / "CHUV001"
    report = prepare_case(CaseFiles("patient", home / "ct.nii.gz", home / "pet.mha"), tmp_path / "new" / "out")
    assert report.state == "prepared"
    assert sorted(os.listdir(tmp_path / "new" / "out" / "patient")) == ["ct.nii.gz", "pet.nii.gz", "prepared.json"]


def test_progress_hears_of_every_case_once(raw, tmp_path):
    heard = []
    run(raw, tmp_path / "out", progress=lambda *step: heard.append(step))
    assert heard == [(1, 2, "CHUV001"), (2, 2, "CHUV002")]
