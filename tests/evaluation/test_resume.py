"""A run that was stopped continues, and never with anything that has changed since."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isocenter import evaluation
from isocenter.evaluation import CaseResult, Evaluation
from isocenter.volumes import Grid, Volume, read, write


@pytest.fixture
def files(reference: Path, submission: Path) -> dict[str, Path]:
    for folder in (reference, submission):
        (folder / "CHUV003.nii.gz").unlink()
    return {"reference": reference, "submission": submission}


def run(counted: Any, files: dict[str, Path], journal: Path, *, stop_after: int | None = None) -> Evaluation:
    def progress(done: int, total: int, case: str) -> None:
        if done == stop_after:
            raise KeyboardInterrupt

    return evaluation.evaluate(counted.challenge, **files, journal=journal, progress=progress)


def test_finished_cases_are_kept_and_not_measured_again(counted: Any, files: dict[str, Path], tmp_path: Path) -> None:
    whole = run(counted, files, tmp_path / "whole")
    assert counted.did().count("measure") == 3
    with pytest.raises(KeyboardInterrupt):
        run(counted, files, tmp_path / "journal", stop_after=2)
    assert counted.did().count("measure") == 2
    rest = run(counted, files, tmp_path / "journal")
    assert counted.did().count("measure") == 1
    assert rest.scores.equals(whole.scores)
    assert rest.record == whole.record


def test_a_case_whose_file_has_changed_is_measured_again(counted: Any, files: dict[str, Path], tmp_path: Path) -> None:
    run(counted, files, tmp_path / "journal")
    counted.did()
    shutil.copy(files["submission"] / "CHUV001.nii.gz", files["submission"] / "CHUV002.nii.gz")
    again = run(counted, files, tmp_path / "journal")
    assert counted.did() == ["measure"]
    assert again.scores["value"].to_list()[1] < 0.2


def test_a_line_that_was_only_half_written_is_ignored(counted: Any, files: dict[str, Path], tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    whole = run(counted, files, journal)
    counted.did()
    journal.write_bytes(journal.read_bytes()[:-30])
    assert run(counted, files, journal).scores.equals(whole.scores)
    assert counted.did() == ["measure"]
    run(counted, files, journal)
    assert counted.did() == []


def test_a_failed_case_is_tried_again(counted: Any, files: dict[str, Path], tmp_path: Path) -> None:
    good = (files["submission"] / "CHUV001.nii.gz").read_bytes()
    (files["submission"] / "CHUV001.nii.gz").write_bytes(good[:50])
    assert run(counted, files, tmp_path / "journal").record["cases"]["failed"] == 1
    (files["submission"] / "CHUV001.nii.gz").write_bytes(good)
    assert run(counted, files, tmp_path / "journal").record["cases"]["failed"] == 0


class Shelf:
    """Finished cases kept somewhere else than in a file."""

    def __init__(self) -> None:
        self.results: dict[str, CaseResult] = {}

    def __contains__(self, case: str) -> bool:
        return case in self.results

    def find(self, case: str, key: Mapping[str, Any]) -> CaseResult | None:
        return self.results[case] if self.results[case].key == key else None

    def add(self, result: CaseResult) -> None:
        self.results[result.case] = result
        if len(self.results) == 2:
            raise ConnectionError


def test_finished_cases_may_be_kept_anywhere(counted: Any, files: dict[str, Path], tmp_path: Path) -> None:
    whole = run(counted, files, tmp_path / "whole")
    counted.did()
    shelf = Shelf()
    with pytest.raises(ConnectionError):  # what the shelf raises ends the run
        evaluation.evaluate(counted.challenge, **files, journal=shelf)
    assert counted.did().count("measure") == len(shelf.results) == 2
    rest = evaluation.evaluate(counted.challenge, **files, journal=shelf)
    assert counted.did() == ["measure"]
    assert rest.scores.equals(whole.scores)


def many_cases(folder: Path, count: int) -> dict[str, Path]:
    """Enough work that a process can be killed in the middle of it."""
    grid = Grid((128, 128, 64))
    rng = np.random.default_rng(0)
    for side in ("reference", "submission"):
        (folder / side).mkdir()
        for number in range(count):
            mask = (rng.random(grid.shape) < 0.3).astype(np.uint8)
            write(Volume(mask, grid), folder / side / f"case{number:02d}.nii")
    return {side: folder / side for side in ("reference", "submission")}


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_killed_process_loses_nothing_that_was_finished(tmp_path: Path, blow: signal.Signals) -> None:
    files = many_cases(tmp_path, 12)
    isocenter = Path(sys.executable).with_name("isocenter")
    command = [isocenter, "score", "hecktor2020", "--workers", "1"]
    command += ["--reference", files["reference"], "--submission", files["submission"], "--out"]
    subprocess.run([*command, tmp_path / "whole.parquet"], check=True, capture_output=True)

    journal = tmp_path / "killed.parquet.journal"
    env = os.environ | {"ISOCENTER_CACHE": "off"}
    process = subprocess.Popen([*command, tmp_path / "killed.parquet"], stderr=subprocess.PIPE, text=True, env=env)
    while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"}\n") >= 2):
        time.sleep(0.001)
    process.send_signal(blow)
    _, message = process.communicate()
    assert not (tmp_path / "killed.parquet").exists()
    finished = journal.read_bytes().count(b"}\n")
    assert 2 <= finished < 12
    if blow != signal.SIGKILL:
        assert process.returncode == 130
        assert "the same command continues" in message

    subprocess.run([*command, tmp_path / "killed.parquet"], check=True, capture_output=True)
    assert (tmp_path / "killed.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert not journal.exists()


def test_the_masks_of_this_test_are_read_at_all(tmp_path: Path) -> None:
    files = many_cases(tmp_path, 1)
    assert read(files["reference"] / "case00.nii").array.mean() == pytest.approx(0.3, abs=0.01)


def test_workers_do_not_outlive_a_program_that_was_killed(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from isocenter.evaluation import worker_pool\n"
        "if __name__ == '__main__':\n"
        "    pool = worker_pool(1)\n"
        "    print(pool.submit(os.getpid).result(), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "program.py").write_text(code)
    program = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, check=False)
    worker = int(program.stdout)
    assert program.returncode == -signal.SIGKILL
    for _ in range(500):
        if not Path(f"/proc/{worker}").exists() or "Z" in Path(f"/proc/{worker}/stat").read_text().split()[2]:
            return
        time.sleep(0.01)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker lives on without its parent")
