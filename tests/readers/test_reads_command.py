"""`isocenter reads` as a person or a script meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

import isocenter
from isocenter.cli import app
from isocenter.phantoms import READERS, write_picai_cohort
from isocenter.readers import open_reference, read_reads, score_reads
from isocenter.volumes import Grid, Volume, write

# Voxel (3, 3, 3) of the first patient's tumour, and a place in the fourth image, which is all tumour.
TABLE = """\
reader,modality,case,score,x,y,z,pirads
Ann,bpMRI,CHUV001,80,-17,8,109,4
Ann,bpMRI,CHUV002,60,-11,14,121,3
Ann,bpMRI,CHUV005,10,,,,
Ann,bpMRI,CHUV006,20,,,,
Bob,bpMRI,CHUV001,70,,,,5
Bob,bpMRI,CHUV005,30,,,,2
"""


def shown(result: Result) -> list[str]:
    """The lines of the output with single blanks."""
    return [" ".join(line.split()) for line in result.stdout.splitlines()]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


@pytest.fixture
def where(reference: Path, tmp_path: Path) -> list[Any]:
    grid = Grid((12, 10, 8), (1.0, 1.0, 3.0), (-20.0, 5.0, 100.0))
    for name in ("CHUV005", "CHUV006"):
        write(Volume(np.zeros(grid.shape, np.uint8), grid), reference / f"{name}.nii.gz")
    (tmp_path / "reads.csv").write_text(TABLE)
    return ["hecktor2020", tmp_path / "reads.csv", "--reference", reference]


def test_every_reader_has_three_lines_and_what_is_undefined_is_said(where: list[Any]) -> None:
    result = run("reads", *where)
    assert result.exit_code == 0, result.output
    lines = shown(result)
    # The mark in CHUV002 is more than 5 mm away from the tumour.
    assert "Ann bpMRI 4 2 ≥ 3 1.000 1.000 0.500 0.500 0.250 1.000" in lines
    assert "≥ 4 0.500 1.000 0.500 1.000 0.000" in lines
    assert "Bob bpMRI 2 1 ≥ 3 1.000 1.000 – – – 1.000" in lines
    assert "mean of 2 bpMRI 4 2 ≥ 3 1.000 1.000 0.500 0.500 0.250 1.000" in lines
    assert "Bob (bpMRI): no lesion-level result: 2 of 2 reads have a PI-RADS of the patient only." in result.stdout
    assert "Mean over 1 of 2 readers of bpMRI only" in result.stdout


def test_without_modalities_there_is_no_such_column(where: list[Any]) -> None:
    where[1].write_text("reader,case,pirads\nroutine,CHUV001,4\nroutine,CHUV005,1\n")
    result = run("reads", *where)
    assert "modality" not in result.stdout
    assert "routine 2 1 ≥ 3 1.000 1.000 – – – –" in shown(result)


def test_the_margin_is_an_option(where: list[Any]) -> None:
    lines = shown(run("reads", *where, "--margin-mm", "20"))
    assert "Ann bpMRI 4 2 ≥ 3 1.000 1.000 1.000 1.000 0.000 1.000" in lines


def test_json_and_files_say_what_the_library_says(where: list[Any], tmp_path: Path) -> None:
    challenge = isocenter.challenge("hecktor2020")
    expected = score_reads(read_reads(where[1]), open_reference(challenge, where[3]))
    data = json.loads(run("reads", *where, "--json", "--out", tmp_path / "new" / "readers.json").stdout)
    assert json.loads((tmp_path / "new" / "readers.json").read_text()) == data
    assert data.pop("ok") is True
    assert (data.pop("challenge"), data.pop("margin_mm")) == ("hecktor2020", 5.0)
    assert data.pop("isocenter") == isocenter.__version__
    assert data == expected.to_dict()
    result = run("reads", *where, "--out", tmp_path / "readers.csv")
    assert f"Written to {tmp_path / 'readers.csv'}" in result.stdout.replace("\n", "")
    table = expected.table()
    assert pl.read_csv(tmp_path / "readers.csv", schema=table.schema).equals(table)


def test_wrong_reads_end_with_1_and_all_problems(where: list[Any], tmp_path: Path) -> None:
    where[1].write_text("reader,case,score,x,y,z,pirads\nAnn,CHUV001,1,1,2,3,2\nAnn,CHUV002,101,,,,\n")
    out = ["--out", tmp_path / "readers.csv"]
    result = run("reads", *where, *out)
    assert result.exit_code == 1
    assert "reads.csv cannot be used; nothing was scored" in result.stderr
    for words in ("reads.csv:2", "1 and 2 mean no suspicion", "reads.csv:3", "score 101"):
        assert words in result.stderr
    data = json.loads(run("reads", *where, *out, "--json").stdout)
    assert data["ok"] is False
    assert [(problem["case"], problem["file"]) for problem in data["problems"]] == [
        ("CHUV001", "reads.csv:2"),
        ("CHUV002", "reads.csv:3"),
    ]
    assert not (tmp_path / "readers.csv").exists()


def test_cases_that_are_not_there_and_marks_that_cannot_be_end_with_1(where: list[Any]) -> None:
    where[1].write_text("reader,case,x,y,z,pirads\nAnn,CHUV001,900,8,109,3\nBob,CHUV777,,,,\n")
    result = run("reads", *where)
    assert result.exit_code == 1
    assert "CHUV777  (refused)  read by Bob, but not in the reference" in result.stderr
    assert "Ann: the mark at (900, 8, 109) mm lies 908 mm outside of the image" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "readers.xlsx"], "ends in .csv or .json"),
        (["--margin-mm", "-1"], "--margin-mm"),
        (["--margin-mm", "nan"], "--margin-mm"),
        (["--margin-mm", "inf"], "a margin is a distance in mm"),
    ],
)
def test_wrong_options_end_with_2(where: list[Any], options: list[str], words: str) -> None:
    result = run("reads", *where, *options)
    assert result.exit_code == 2
    assert words in result.stderr


def test_the_reads_are_never_written_over(where: list[Any]) -> None:
    result = run("reads", *where, "--out", where[1])
    assert result.exit_code == 2
    assert where[1].read_text() == TABLE


def test_synthetic_readers_of_a_synthetic_cohort_are_scored(tmp_path: Path) -> None:
    files = write_picai_cohort(tmp_path / "cohort", cases=6)
    result = run("reads", "picai2022", files.reads, "--reference", files.reference, "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert {reader["cases"] for reader in data["readers"]} == {6}
    assert data["panels"][0]["readers"] == len(data["readers"]) == len(READERS)


def test_a_challenge_of_doses_has_no_readers(where: list[Any]) -> None:
    result = run("reads", "openkbp2020", *where[1:])
    assert result.exit_code == 2
    assert "one label volume per case" in result.stderr.replace("\n", " ").replace("│", "")


def test_agreement_of_the_readers_is_an_option(where: list[Any]) -> None:
    plain = json.loads(run("reads", *where, "--json").stdout)
    assert "agreement" not in plain
    data = json.loads(run("reads", *where, "--json", "--agreement").stdout)
    assert {name: value for name, value in data.items() if name != "agreement"} == plain
    text = run("reads", *where, "--agreement").stdout
    assert text.count("Agreement of PI-RADS") == len(data["agreement"])
    for found in data["agreement"].values():
        for one in found:
            assert one["statistic"] in text
            assert one["readers"] >= 2


def test_agreement_is_of_the_highest_rating_of_each_patient(tmp_path: Path) -> None:
    from isocenter.metrics import Mark
    from isocenter.readers import Read, ReaderScores, ScoredRead, agree_on_pirads
    from isocenter.stats import cohen_kappa, intraclass_correlation

    said = {"A": [2, 3, 5, 4, 2, 3], "B": [2, 4, 5, 4, 2, 2]}
    reads = [
        Read(name, f"c{k}", () if rating == 2 else (Mark((0.0, 0.0, 0.0), 3), Mark((9.0, 0.0, 0.0), rating)))
        for name, row in said.items()
        for k, rating in enumerate(row)
    ]
    scored = ReaderScores((), (), tuple(ScoredRead(read, True, 1, 1.0, None) for read in reads), ())
    (found,) = agree_on_pirads(scored).values()
    assert [one.value for one in found] == [
        *(cohen_kappa(said["A"], said["B"], weights=weights).value for weights in ("none", "linear", "quadratic")),
        *(intraclass_correlation(np.transpose([*said.values()]), model=m).value for m in ("ICC(A,1)", "ICC(C,1)")),
    ]
