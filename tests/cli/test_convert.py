from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from isocenter.cli import app

GOLDEN = Path(__file__).parents[1] / "golden" / "dose" / "openkbp"


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["convert", *map(str, arguments)])
    return result.exit_code, result.output


def test_there_and_back(tmp_path: Path) -> None:
    code, text = run("to-nifti", GOLDEN / "reference" / "pt_366", "--out", tmp_path / "nifti")
    assert (code, "11 of 11 files converted" in text) == (0, True)
    code, text = run("to-openkbp", tmp_path / "nifti", "--out", tmp_path / "csv", "--json")
    assert code == 0
    assert json.loads(text)["ok"] is True
    assert len(list((tmp_path / "csv").glob("*.csv"))) == 12


def test_a_file_that_cannot_be_converted_is_named_and_the_exit_code_is_1(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "dose.csv").write_text(",data\n")
    code, text = run("to-nifti", tmp_path / "in", "--out", tmp_path / "out")
    assert code == 1
    assert "dose.csv: how large its voxels are is not known" in text
    assert "0 of 1 files converted.\n" in text


def test_a_folder_of_nothing_and_an_output_into_the_input(tmp_path: Path) -> None:
    assert run("to-openkbp", tmp_path, "--out", tmp_path.with_name("out"))[0] == 1
    code, text = run("to-nifti", GOLDEN / "reference", "--out", GOLDEN / "reference" / "nifti")
    assert code == 2
    assert "go elsewhere" in " ".join(text.replace("│", " ").split())
    assert not (GOLDEN / "reference" / "nifti").exists()
