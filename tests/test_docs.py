"""The documentation is true: what it shows is what happens."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import click
import pytest
import typer

import isocenter
from isocenter import editions
from isocenter.cli import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BIN = Path(sys.executable).parent


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in one language."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(body) for _, body in found]


def test_the_reference_of_challenge_toml_is_what_init_writes() -> None:
    (shown,) = blocks(DOCS / "reference" / "challenge-toml.md", "toml")
    assert shown == editions.render(editions.new(isocenter.challenge("hecktor2020")))


def test_every_metric_is_in_the_reference() -> None:
    page = (DOCS / "reference" / "metrics.md").read_text()
    # In a process of its own: tests register metrics too.
    code = "import isocenter.challenges.doserad2026; from isocenter.metrics import catalogue; print(*catalogue.names())"
    ours = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in ours if f"| `{name}` |" not in page] == []


def test_every_command_and_option_is_in_the_reference() -> None:
    page = (DOCS / "reference" / "command-line.md").read_text()
    group = typer.main.get_command(app)
    assert isinstance(group, click.Group) or hasattr(group, "commands")
    for name, command in group.commands.items():
        assert f"| `{name}" in page
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("--") and option != "--help":
                    assert f"`{option}" in page, f"{name} {option}"


def test_the_tutorial_goes_as_it_is_told(tmp_path: Path) -> None:
    page = DOCS / "tutorial" / "first-leaderboard.md"
    setup, *steps = blocks(page, "sh")
    assert setup.startswith("make demo\n")
    env = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}
    subprocess.run([BIN / "isocenter", "demo", "build/demo"], cwd=tmp_path, env=env, capture_output=True, check=True)
    printed, folder = "", tmp_path
    for step in steps:
        ran = subprocess.run(["bash", "-c", step], cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert "Traceback" not in ran.stderr
        folder = tmp_path / "build" / "demo" / "hecktor2020"
        printed += ran.stdout
    shown = next(block for block in blocks(page, "text") if block.startswith("hecktor2020: mine has"))
    for line in shown.splitlines():
        assert line in printed
    assert "4 problems" in printed
    board = json.loads((folder / "board.json").read_text())
    doubs = next(row["score"] for row in board["rows"] if row["submission"] == "Doubs")
    assert re.search(rf"2 +me +{doubs:.4f}", printed)
    (python,) = blocks(page, "python")
    table = subprocess.run([sys.executable, "-c", python], cwd=folder, capture_output=True, text=True, check=True)
    assert "missing" in table.stdout


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/score-your-own-folder.md"])
def test_python_examples_are_python(page: str) -> None:
    for block in blocks(ROOT / page, "python"):
        compile(block, page, "exec")


def test_contributing_prints_the_example_that_is_tested() -> None:
    example = ROOT / "examples" / "volumetry"
    assert (example / "volumetry.py").read_text() in blocks(ROOT / "CONTRIBUTING.md", "python")
    rule = ROOT / "examples" / "geometric_mean" / "geometric_mean.py"
    assert rule.read_text() in blocks(ROOT / "CONTRIBUTING.md", "python")
    statistic = ROOT / "examples" / "matthews" / "matthews.py"
    assert statistic.read_text() in blocks(ROOT / "CONTRIBUTING.md", "python")
    assert (example / "pyproject.toml").read_text() in blocks(ROOT / "CONTRIBUTING.md", "toml")
