from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import isocenter
from isocenter.cli import app
from isocenter.evaluation import MaskPicture, depict
from isocenter.volumes import read

GOLDEN = Path(__file__).parents[1] / "golden" / "dose" / "openkbp"


def run(*arguments: object, submission: Path = GOLDEN / "prediction") -> tuple[int, str]:
    files = ["--reference", GOLDEN / "reference", "--submission", submission]
    result = CliRunner().invoke(app, ["show", "openkbp2020", *map(str, [*files, *arguments])])
    return result.exit_code, result.output


def test_a_page_with_the_dvhs_and_the_slice_of_each_case(tmp_path: Path) -> None:
    code, _ = run("--case", "pt_365", "--case", "pt_366", "--out", tmp_path / "page.html")
    assert code == 0
    page = (tmp_path / "page.html").read_text()
    for text in ("pt_365: dose-volume histograms of", "pt_366: where prediction differs", "PTV70", "data:image/png"):
        assert text in page
    assert "http:" not in page
    assert "https" not in page


def test_without_a_case_the_first_is_shown(tmp_path: Path) -> None:
    assert run("--out", tmp_path / "page.html")[0] == 0
    assert "pt_365" in (tmp_path / "page.html").read_text()
    assert "pt_366" not in (tmp_path / "page.html").read_text()


def test_a_case_that_there_is_not_and_one_without_a_dose(tmp_path: Path) -> None:
    code, text = run("--case", "pt_1", "--out", tmp_path / "page.html")
    assert (code, "has no case 'pt_1'" in text) == (1, True)
    (tmp_path / "points").mkdir()
    (tmp_path / "points" / "pt_365.csv").write_text("structure,criterion,value\nPTV70,D_99,1\n")
    code, text = run("--case", "pt_365", "--out", tmp_path / "page.html", submission=tmp_path / "points")
    assert (code, "no dose to show" in text) == (1, True)
    code, text = run("--case", "pt_366", "--out", tmp_path / "page.html", submission=tmp_path / "points")
    assert (code, "pt_366 cannot be shown" in text) == (1, True)
    assert not (tmp_path / "page.html").exists()


def test_a_challenge_without_pictures_says_so(tmp_path: Path) -> None:
    without = replace(isocenter.challenge("hecktor2020"), depict=None)
    with pytest.raises(ValueError, match="hecktor2020 has no pictures"):
        depict(without, reference=tmp_path, submission=tmp_path, case="x")


def test_masks_are_shown_as_outlines_of_both(reference: Path, submission: Path, tmp_path: Path) -> None:
    files = ["--reference", reference, "--submission", submission, "--out", tmp_path / "page.html"]
    chosen = ["--case", "CHUV002", "--case", "CHUV003"]
    result = CliRunner().invoke(app, ["show", "hecktor2020", *map(str, [*files, *chosen])])
    assert result.exit_code == 0
    page = (tmp_path / "page.html").read_text()
    assert "CHUV002: what team outlined" in page
    assert "CHUV003: what team outlined" in page
    assert page.count('<div class="contours"') == 2
    identifiers = re.findall(r'\bid="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))


def test_a_mask_that_is_missing_cannot_be_shown(reference: Path, submission: Path, tmp_path: Path) -> None:
    (submission / "CHUV002.nii.gz").unlink()
    files = ["--reference", reference, "--submission", submission, "--out", tmp_path / "page.html"]
    result = CliRunner().invoke(app, ["show", "hecktor2020", *map(str, files), "--case", "CHUV002"])
    assert (result.exit_code, "CHUV002 cannot be shown" in result.output) == (1, True)
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("name", ["hecktor2020", "lung2019"])
def test_the_picture_has_both_masks_as_they_are_in_the_files(
    reference: Path, submission: Path, truth: dict[str, np.ndarray], name: str
) -> None:
    case = "CHUV001"
    for folder in (reference, submission):
        for file in folder.glob("*"):
            if not file.name.startswith(case):
                file.unlink()
    picture = depict(isocenter.challenge(name), reference=reference, submission=submission, case=case)
    assert isinstance(picture, MaskPicture)
    np.testing.assert_array_equal(picture.reference.array, truth[case])
    np.testing.assert_array_equal(picture.output.array, read(submission / f"{case}.nii.gz").array)
    assert picture.reference.grid == read(reference / f"{case}.nii.gz").grid


def test_the_picture_is_upright_and_has_the_doses_of_the_files() -> None:
    from isocenter.volumes.sparse import read_sparse

    picture = depict(
        isocenter.challenge("openkbp2020"),
        reference=GOLDEN / "reference",
        submission=GOLDEN / "prediction",
        case="pt_366",
    )
    dose = read_sparse(GOLDEN / "reference" / "pt_366" / "dose.csv").dense()
    np.testing.assert_array_equal(picture.reference.array, dose.swapaxes(0, 1))
    spacing = np.loadtxt(GOLDEN / "reference" / "pt_366" / "voxel_dimensions.csv")
    assert picture.output.grid.spacing == (spacing[1], spacing[0], spacing[2])
    assert next(iter(picture.structures)) == "PTV70"
