"""`isocenter prepare` as a person or a script meets it."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import click
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from isocenter.cli import app
from isocenter.phantoms import pet_ct, write_lung_cohort
from isocenter.volumes import Volume, read, write

ROOT = Path(__file__).parents[2]
COARSE = {"spacing": (4.0, 4.0, 5.0), "pet_spacing": (6.0, 6.0, 6.0)}


def run(*arguments):
    return CliRunner().invoke(app, ["prepare", *map(str, arguments)], env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scans")
    for number in (1, 2):
        patient = pet_ct(number, **COARSE)
        home = folder / f"CHUV{number:03d}"
        home.mkdir()
        for kind, volume in (("ct", patient.ct), ("pet", patient.pet), ("mask", patient.labels)):
            write(volume, home / f"{kind}.nii.gz")
    return folder


@pytest.fixture
def raw(scans, tmp_path):
    return shutil.copytree(scans, tmp_path / "raw")


@pytest.fixture(scope="module")
def lungs(tmp_path_factory):
    return write_lung_cohort(tmp_path_factory.mktemp("lungs"), cases=3).reference


def rows(path):
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_cohort_is_prepared_and_prepared_again_without_work(raw, tmp_path):
    out = tmp_path / "out"
    first = run("hecktor2020", "--cohort", raw, "--out", out)
    assert first.exit_code == 0, first.output
    assert first.stdout == f"2 prepared. The prepared cases and their boxes are in {out}\n"
    assert [row["case"] for row in rows(out / "boxes.csv")] == ["CHUV001", "CHUV002"]
    assert run("hecktor2020", "--cohort", raw, "--out", out).stdout.startswith("2 kept.")


def test_a_single_case_is_named_after_its_folder_or_as_one_likes(raw, tmp_path):
    files = ["--ct", raw / "CHUV001" / "ct.nii.gz", "--pet", raw / "CHUV001" / "pet.nii.gz"]
    assert run("hecktor2020", *files, "--out", tmp_path / "out").exit_code == 0
    mask = ["--mask", raw / "CHUV001" / "mask.nii.gz", "--case", "mine"]
    assert run("hecktor2020", *files, *mask, "--out", tmp_path / "out").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["CHUV001", "boxes.csv", "mine"]
    assert (tmp_path / "out" / "mine" / "mask.nii.gz").exists()
    assert not (tmp_path / "out" / "CHUV001" / "mask.nii.gz").exists()


def test_options_are_obeyed(raw, tmp_path):
    how = ["--variant", "published", "--size", 120, "--spacing", 4, "--interpolation", "linear"]
    assert run("hecktor2020", "--cohort", raw, "--out", tmp_path / "out", *how).exit_code == 0
    grid = read(tmp_path / "out" / "CHUV001" / "pet.nii.gz").grid
    assert grid.shape == (30, 30, 30)
    record = json.loads((tmp_path / "out" / "CHUV001" / "prepared.json").read_text())
    assert record["recipe"] == {"variant": "published", "size_mm": 120.0, "spacing": 4.0, "interpolation": "linear"}


def test_every_problem_is_listed_and_the_others_are_prepared(raw, tmp_path):
    pet = read(raw / "CHUV001" / "pet.nii.gz")
    write(Volume(np.zeros_like(pet.array), pet.grid), raw / "CHUV001" / "pet.nii.gz")
    (raw / "CHUV000").mkdir()
    result = run("hecktor2020", "--cohort", raw, "--out", tmp_path / "out")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert [line.split()[:2] for line in lines[:3]] == [
        ["failed", "CHUV000"],
        ["failed", "CHUV000"],
        ["failed", "CHUV001"],
    ]
    assert "no brain" in lines[2]
    assert lines[-1].startswith("1 prepared, 2 failed.")
    data = json.loads(run("hecktor2020", "--cohort", raw, "--out", tmp_path / "out", "--json").stdout)
    assert data["ok"] is False
    assert {case["case"]: case["state"] for case in data["cases"]} == {
        "CHUV000": "failed",
        "CHUV001": "failed",
        "CHUV002": "kept",
    }


def test_names_of_folders_cannot_command_the_terminal(raw, tmp_path):
    (raw / "\x1b[2Jgone").mkdir()
    result = run("hecktor2020", "--cohort", raw, "--out", tmp_path / "out")
    assert "\\x1b[2Jgone" in result.stdout
    assert "\x1b" not in result.stdout


def test_the_table_of_boxes_can_be_edited_and_given_back(raw, tmp_path):
    out, table = tmp_path / "out", tmp_path / "decisions.csv"
    run("hecktor2020", "--cohort", raw, "--out", out)
    lines = rows(out / "boxes.csv")
    moved = float(lines[0]["z1"]) - 10.0
    table.write_text((out / "boxes.csv").read_text().replace(lines[0]["z1"], str(moved)) + "CHUV999,,,,,,,,3,\n")
    result = run("hecktor2020", "--cohort", raw, "--out", out, "--boxes", table)
    assert result.exit_code == 0
    assert "names cases that are not there: CHUV999" in result.stderr
    again = rows(out / "boxes.csv")
    assert float(again[0]["z1"]) == moved
    assert again[0]["method"] == "given"
    assert again[1]["x1"] == lines[1]["x1"]


def test_a_table_of_boxes_that_is_wrong_stops_everything(raw, tmp_path):
    (tmp_path / "wrong.csv").write_text("case,x1\nCHUV001,5\n")
    result = run("hecktor2020", "--cohort", raw, "--out", tmp_path / "out", "--boxes", tmp_path / "wrong.csv")
    assert result.exit_code == 1
    assert "line 2" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "needs its CT and its PET"),
        (["--cohort", "{raw}", "--ct", "{raw}/CHUV001/ct.nii.gz"], "either --cohort or"),
        (["--cohort", "{raw}", "--variant", "best"], "design, published"),
        (["--cohort", "{raw}", "--interpolation", "cubic"], "bspline, linear"),
        (["--cohort", "{raw}", "--size", "-3"], "no length"),
        (["--cohort", "{raw}", "--spacing", "0"], "no length"),
        (["--cohort", "{raw}/CHUV001"], "holds no case"),
        (["--ct", "{raw}/CHUV001/ct.nii.gz", "--pet", "{raw}/CHUV001/pet.nii.gz", "--case", "../x"], "no name"),
        (["--cohort", "{raw}/nowhere"], "nowhere"),
    ],
)
def test_wrong_usage_exits_2_and_writes_nothing(raw, tmp_path, arguments, words):
    result = run("hecktor2020", "--out", tmp_path / "out", *[str(a).format(raw=raw) for a in arguments])
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.replace("│", " ").split())
    assert not (tmp_path / "out").exists()


def test_prepared_cases_do_not_go_among_the_raw_ones(raw):
    result = run("hecktor2020", "--cohort", raw, "--out", raw / "prepared")
    assert result.exit_code == 2
    assert not (raw / "prepared").exists()


def test_seed_points_of_a_reference_are_a_table(lungs, tmp_path):
    result = run("lung2019", "--reference", lungs, "--out", tmp_path / "seeds.csv", "--seed", 7)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("3 points in 3 cases.")
    found = rows(tmp_path / "seeds.csv")
    assert list(found[0]) == ["case", "component", "x", "y", "z", "i", "j", "k"]
    assert [row["case"] for row in found] == ["LUNG001", "LUNG002", "LUNG003"]
    for row in found:
        mask = read(lungs / f"{row['case']}.nii.gz")
        index = tuple(int(row[axis]) for axis in "ijk")
        assert mask.array[index] == 1
        place = mask.grid.affine[:3] @ (*index, 1)
        assert [float(row[axis]) for axis in "xyz"] == pytest.approx(place, abs=1e-3)


def test_the_same_seed_draws_the_same_points_and_another_others(lungs, tmp_path):
    drawn = []
    for seed in (7, 7, 8):
        run("lung2019", "--reference", lungs, "--out", tmp_path / "seeds.csv", "--seed", seed)
        drawn.append((tmp_path / "seeds.csv").read_text())
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_margin_and_its_part_are_obeyed(lungs, tmp_path):
    """With all of the inradius, only the deepest voxels are left."""
    deepest = set()
    for seed in range(4):
        run(
            "lung2019", "--reference", lungs, "--out", tmp_path / "s.csv", "--seed", seed, "--margin", 999, "--alpha", 1
        )
        deepest.add(tuple(rows(tmp_path / "s.csv")[1].items()))
    usual = set()
    for seed in range(4):
        run("lung2019", "--reference", lungs, "--out", tmp_path / "s.csv", "--seed", seed)
        usual.add(tuple(rows(tmp_path / "s.csv")[1].items()))
    assert len(deepest) < len(usual) == 4


def test_empty_masks_are_all_listed_and_nothing_is_written(lungs, tmp_path):
    masks = shutil.copytree(lungs, tmp_path / "masks")
    for case in ("LUNG001", "LUNG003"):
        mask = read(masks / f"{case}.nii.gz")
        write(Volume(np.zeros_like(mask.array), mask.grid), masks / f"{case}.nii.gz")
    result = run("lung2019", "--reference", masks, "--out", tmp_path / "seeds.csv", "--seed", 7)
    assert result.exit_code == 1
    assert "LUNG001.nii.gz: is empty" in result.stdout
    assert "LUNG003.nii.gz: is empty" in result.stdout
    assert "LUNG002" not in result.stdout
    assert not (tmp_path / "seeds.csv").exists()


def test_every_option_is_in_the_reference():
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    for name, command in typer.main.get_command(app).commands["prepare"].commands.items():
        assert f"| `prepare {name}` |" in page
        assert isinstance(command, click.Command) or hasattr(command, "params")
        for option in (option for parameter in command.params for option in parameter.opts):
            assert option == "--help" or not option.startswith("--") or f"`{option}" in page, f"{name} {option}"


def test_the_seed_points_in_the_how_to_are_those_that_the_command_draws(lungs, tmp_path):
    run("lung2019", "--reference", lungs, "--out", tmp_path / "seeds.csv", "--seed", 7)
    page = (ROOT / "docs" / "how-to" / "prepare-a-cohort.md").read_text()
    assert "\n".join((tmp_path / "seeds.csv").read_text().splitlines()[:2]) in page
