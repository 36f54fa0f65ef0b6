"""Receipts, score tables and the archive of a site that were written before are verified still."""

from __future__ import annotations

import csv
import json
import shlex
import zipfile
from pathlib import Path

import pytest
from tests.frozen.tools import ARCHIVE
from typer.testing import CliRunner, Result

from isocenter.cli import app

SCORES = ARCHIVE / "scores"
RECEIPTS = sorted((ARCHIVE / "receipts").glob("*.json"))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


def commands(home: Path, verb: str) -> list[list[str]]:
    """The commands that the README of an archive says, word by word."""
    lines = [line.strip() for line in (home / "README.txt").read_text("utf-8").splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith(f"isocenter {verb} ")]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The archive of a site, unpacked; it is the working directory."""
    with zipfile.ZipFile(ARCHIVE / "site-archive.zip") as packed:
        packed.extractall(tmp_path)
    monkeypatch.chdir(tmp_path / "neck")
    return tmp_path / "neck"


@pytest.mark.parametrize("receipt", RECEIPTS, ids=[path.stem for path in RECEIPTS])
def test_an_old_receipt_is_reproduced(receipt: Path) -> None:
    recorded = json.loads(receipt.read_text("utf-8"))
    times = ("--run-times", SCORES / "doserad2026" / "run_times.csv") if recorded["run_times"] else ()
    result = run("verify", receipt, "--scores", SCORES, *times)
    assert result.exit_code == 0, result.output
    assert "reproduced from " in result.stdout
    assert "not reproduced" not in result.stdout


def test_an_old_receipt_without_its_tables_is_not_reproduced(tmp_path: Path) -> None:
    result = run("verify", RECEIPTS[0], "--scores", tmp_path)
    assert result.exit_code == 1


def test_the_boards_of_an_old_archive_of_a_site_are_reproduced(site: Path) -> None:
    assert len(commands(site, "verify")) == 2
    for command in commands(site, "verify"):
        result = run(*command)
        assert result.exit_code == 0, result.output
        assert "reproduced from " in result.stdout


def test_an_old_archive_of_a_site_is_ranked_as_it_was(site: Path) -> None:
    for command in commands(site, "rank"):
        out = site / "again.json"
        result = run(*command, "--out", out)
        assert result.exit_code == 0, result.output
        phase = command[command.index("--phase") + 1]
        recorded = json.loads((site / "boards" / phase / "dice" / "board.json").read_text("utf-8"))
        again = json.loads(out.read_text("utf-8"))
        assert [row | kept for row, kept in zip(again["rows"], recorded["rows"], strict=True)] == again["rows"]
        # Since then the note names resamples, and one more says why a sure winner has several ranks.
        notes = [
            note.replace("draws of the cases with replacement", "bootstrap resamples of the cases")
            for note in recorded["notes"]
        ]
        assert [note for note in again["notes"] if "yet its rank set is" not in note] == notes


def test_an_old_archive_of_a_site_has_its_report(site: Path) -> None:
    command = next(command for command in commands(site, "report") if "test" in command)
    result = run(*command, "--no-pdf", "--replicates", "50")
    assert result.exit_code == 0, result.output
    with (site / "submissions.csv").open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 8
