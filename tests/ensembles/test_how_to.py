"""The page on combining submissions is true: its commands and its Python run as they are printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from isocenter.volumes import Grid, Volume, write

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "combine-submissions.md"
BIN = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def workshop(tmp_path: Path) -> Path:
    """The folders that the page speaks of, with six voxels of truth and voters who are each wrong in another."""
    rng = np.random.default_rng(0)
    for truth, suffix in (("validation", ""), ("test", "-test")):
        for case in range(3):
            voxels = rng.random((8, 8, 4)) < 0.3
            voters = {name: voxels ^ (rng.random(voxels.shape) < 0.1) for name in ("a", "b", "c", "ann", "bob", "net")}
            folders = {truth: voxels} | {f"{name}{suffix}": mask for name, mask in voters.items()}
            for folder, mask in (folders | {"ann-second-pass": voxels}).items():
                (tmp_path / folder).mkdir(exist_ok=True)
                write(Volume(mask, Grid((8, 8, 4))), tmp_path / folder / f"{truth}{case}.nii.gz")
    for name in ("b", "b-test"):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            for path in (tmp_path / name).iterdir():
                archive.write(path, path.name)
    return tmp_path


def test_the_commands_run_as_they_are_printed(workshop: Path) -> None:
    env = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}
    score = "isocenter score hecktor2020 --reference test/ --submission {0}-test --out {0}.parquet --workers 1"
    find, confirm, rank, readers = blocks("sh")
    for command in (find, confirm, score.format("a"), score.format("b"), rank, readers):
        ran = subprocess.run(
            ["bash", "-c", command], cwd=workshop, env=env, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, (command, ran.stdout, ran.stderr)
    assert sorted(path.name for path in (workshop / "ensemble").iterdir()) == [f"test{i}.nii.gz" for i in range(3)]
    assert (workshop / "pairs.parquet").exists()


def test_the_python_runs_as_it_is_printed(workshop: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks("python"))], cwd=workshop, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "of(" in ran.stdout
    assert "PairSummary(mean=" in ran.stdout
    shutil.rmtree(workshop / "ensemble")


def test_the_page_names_every_method_and_the_numbers_are_right() -> None:
    page = PAGE.read_text()
    from isocenter.cli._ensemble import Method
    from isocenter.ensembles import MOST_SOLUTIONS

    for method in set(Method) - {Method.ALL}:
        assert f"| `{method.value}` |" in page
    assert f"{MOST_SOLUTIONS * 2 ** (MOST_SOLUTIONS - 1):,}".replace(",", " ") in page
