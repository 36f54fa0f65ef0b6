"""The command line where the evaluator fails: it says so, with a traceback, and never that an output is unusable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from isocenter.cli import app

SOURCE = '''
"""A challenge whose code has a defect for one case, in the hook that the environment names."""
import os
from isocenter.evaluation import Challenge, OutputError, Remark, Score
from isocenter.ranking import FixedValue, MeanThenRank
from isocenter.submissions import MaskFile

def fail(hook, size):
    if os.environ.get("DEFECT") != hook or size != 32:
        return
    if os.environ.get("HOW") == "exit":
        os._exit(5)
    if os.environ.get("HOW") == "output":
        raise OutputError("the mask is no tumour", code="bad_values")
    if os.environ.get("HOW") == "nonsense":
        raise OutputError("x", code="nonsense")
    raise RuntimeError("lookup table has shape (3,)")

def arrange(listing, cases):
    return None if os.environ.get("DEFECT") == "arrange" else listing

def depict(reference, output):
    return depict(reference, output)

def prepare(case):
    fail("prepare", int(case.reference["mask"].box.sum()))
    return case.reference["mask"]

def inspect(reference, output):
    fail("inspect", int(reference.box.sum()))
    yield Remark("note", "looked at")

def measure(reference, output):
    fail("measure", int(reference.box.sum()))
    yield Score("dice", 0.5)

challenge = Challenge(
    name="defective", title="A challenge with a defect", arrange=arrange, depict=depict,
    prepare=prepare, inspect=inspect, measure=measure,
    reference={"mask": MaskFile(labels=())}, output={"mask": MaskFile(labels=(), grid_of="mask")}, metrics=("dice",),
    boards={"dice": MeanThenRank("dice", missing=FixedValue(0.0))},
)
'''


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: Path, submission: Path) -> list[Any]:
    """The challenge installed, as far as Python can tell, and its files; the reference of CHUV002 has 32 voxels."""
    site = tmp_path / "site"
    info = site / "defective-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: defective\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[isocenter.challenges]\ndefective = defective_challenge:challenge\n")
    (site / "defective_challenge.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "defective_challenge", raising=False)
    return ["defective", "--reference", reference, "--submission", submission]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


@pytest.mark.parametrize("hook", ["prepare", "inspect", "measure"])
def test_score_says_that_the_evaluator_failed_and_exits_3(
    where: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: str
) -> None:
    monkeypatch.setenv("DEFECT", hook)
    out = tmp_path / "team.parquet"
    result = run("score", *where, "--out", out, "--workers", 1)
    assert result.exit_code == 3
    assert not out.exists()
    lines = [line for line in result.stderr.splitlines() if line.startswith("defective")]
    assert lines == ["defective: the evaluator failed; nothing was scored."]
    assert f"CHUV002  –  the evaluator failed in {hook}: RuntimeError: lookup table has shape (3,)" in result.stderr
    assert "Traceback (most recent call last):" in result.stderr
    assert 'raise RuntimeError("lookup table has shape (3,)")' in result.stderr
    assert f"Finished cases are kept in {out}.journal" in result.stderr
    assert "  not measured  CHUV002  –" in result.stderr
    assert "\n1 not measured" in result.stderr
    assert "unusable" not in result.output + result.stderr
    monkeypatch.setenv("DEFECT", "")  # mended
    again = run("score", *where, "--out", out, "--workers", 1)
    assert again.exit_code == 0
    assert "4 measured" in again.stdout


def test_the_json_of_score_has_the_failure_with_its_traceback(
    where: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEFECT", "measure")
    result = run("score", *where, "--out", tmp_path / "team.parquet", "--workers", 1, "--json")
    assert result.exit_code == 3
    content = json.loads(result.stdout)
    assert (content["ok"], content["evaluator_failed"], content["machine_failed"]) == (False, True, False)
    (fault,) = [problem for problem in content["problems"] if problem["severity"] == "unusable"]
    assert (fault["code"], fault["origin"], fault["case"]) == ("evaluator_failed", "evaluator", "CHUV002")
    assert fault["detail"].startswith("Traceback")


def test_a_process_that_dies_in_a_pool_is_told_as_a_failure_of_the_evaluator(
    where: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEFECT", "measure")
    monkeypatch.setenv("HOW", "exit")
    result = run("score", *where, "--out", tmp_path / "team.parquet", "--workers", 2, "--json")
    assert result.exit_code == 3
    (fault,) = [problem for problem in json.loads(result.stdout)["problems"] if problem["severity"] == "unusable"]
    assert (fault["code"], fault["origin"]) == ("crashed", "evaluator")
    assert "in the stage measure (exit code 5)" in fault["message"]


def test_check_exits_3_for_the_evaluator_and_1_for_the_team(
    where: list[Any], submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEFECT", "inspect")
    result = run("check", *where)
    assert result.exit_code == 3
    assert "\ndefective: the evaluator failed; nothing was scored or changed.\n" in result.stderr
    assert json.loads(run("check", *where, "--json").stdout)["evaluator_failed"] is True
    monkeypatch.setenv("HOW", "output")
    result = run("check", *where, "--json")
    assert result.exit_code == 1
    content = json.loads(result.stdout)
    assert "evaluator_failed" not in content
    found = {(p["code"], p["origin"]) for p in content["problems"] if p["severity"] == "unusable"}
    assert found == {("bad_values", "output")}


def test_the_json_of_check_has_codes_and_origins(where: list[Any], submission: Path) -> None:
    (submission / "CHUV001.nii.gz").unlink()
    (submission / "CHUV002.nii.gz").write_bytes(b"x")
    (submission / "notes.txt").write_text("x")
    content = json.loads(run("check", *where, "--json").stdout)
    told = {(p["code"], p["origin"], p["severity"], p["case"], p["file"]) for p in content["problems"]}
    assert {
        ("missing_output", "output", "missing", "CHUV001", ""),
        ("damaged", "output", "unusable", "CHUV002", "CHUV002.nii.gz"),
        ("ignored_file", "output", "note", "", "notes.txt"),
    } <= told
    assert all(set(p) == {"severity", "code", "origin", "case", "file", "message"} for p in content["problems"])


def test_other_commands_say_it_without_a_traceback_of_their_own(
    where: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEFECT", "measure")
    paths = os.pathsep.join(entry for entry in sys.path if entry)
    command = [sys.executable, "-m", "isocenter", "view", *map(str, where), "--workers", "1"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths}, check=False, timeout=120
    )
    assert done.returncode == 3
    assert "defective: the evaluator failed; nothing was scored." in done.stderr
    assert "EvaluationFailed" not in done.stderr


@pytest.mark.parametrize("defect", ["arrange", "inspect"])
def test_score_and_check_say_the_same_of_every_defect(
    where: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, defect: str
) -> None:
    monkeypatch.setenv("DEFECT", defect)
    monkeypatch.setenv("HOW", "nonsense")
    for command in (["score", *where, "--out", tmp_path / "t.parquet", "--workers", 1], ["check", *where]):
        result = run(*command)
        assert result.exit_code == 3
        assert "defective: the evaluator failed; nothing was scored" in result.stderr


def test_show_says_in_a_sentence_that_a_picture_cannot_be_made(where: list[Any], tmp_path: Path) -> None:
    result = run("show", *where, "--out", tmp_path / "page.html")
    assert result.exit_code == 3
    assert "CHUV001 cannot be shown: the evaluator failed in depict: RecursionError: " in result.stderr
    assert "Traceback" not in result.output
