"""Promises that no single room can keep: the layers, the packages from outside, what the repository says of itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent


@pytest.fixture
def outside(tmp_path: Path) -> dict[str, str]:
    """An environment in which the example package is installed, as far as Python can tell."""
    example = ROOT / "examples" / "volumetry"
    project = tomllib.loads((example / "pyproject.toml").read_text())["project"]
    site = tmp_path / "site"
    info = site / f"isocenter_volumetry-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    ((group, entries),) = project["entry-points"].items()
    lines = [f"{name} = {value}" for name, value in entries.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
    (site / "volumetry.py").write_text((example / "volumetry.py").read_text())
    return os.environ | {"PYTHONPATH": str(site)}


def isocenter(*arguments: object, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / "isocenter"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def test_a_challenge_from_outside_is_scored_and_ranked_like_any_other(
    outside: dict[str, str], tmp_path: Path, reference: Path, submission: Path
) -> None:
    for folder in (reference, submission):
        (folder / "CHUV003.nii.gz").unlink()  # two labels, which this challenge does not know
    assert "volumetry" in isocenter("challenges", env=outside).stdout
    files = ["--reference", reference, "--submission", submission]
    scored = isocenter("score", "volumetry", *files, "--out", tmp_path / "a.parquet", "--workers", 2, env=outside)
    assert scored.returncode == 0, scored
    ranked = isocenter("rank", "volumetry", f"a={tmp_path / 'a.parquet'}", "--json", env=outside)
    row = json.loads(ranked.stdout)["rows"][0]
    # 64 voxels right, 16 of 32 missing, half of 960 missing; 3 mm³ each.
    assert row["score"] == pytest.approx((0 + 16 + 480) * 3 / 1000 / 3)


def test_the_example_is_as_short_as_promised() -> None:
    lines = [line for path in (ROOT / "examples" / "volumetry").iterdir() for line in path.read_text().splitlines()]
    assert len(lines) < 100


def test_a_challenge_that_cannot_be_imported_is_named_with_its_package(outside: dict[str, str]) -> None:
    site = Path(outside["PYTHONPATH"])
    (site / "volumetry.py").write_text("import not_installed_anywhere")
    result = isocenter("check", "volumetry", "--reference", site, "--submission", site, env=outside)
    assert result.returncode == 2
    assert "of the package isocenter-volumetry" in result.stderr
    assert "not_installed_anywhere" in result.stderr


def test_imports_go_down_the_list_of_rooms() -> None:
    result = subprocess.run(
        [BIN / "lint-imports", "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout


def documents() -> list[Path]:
    """The Markdown of the repository, without what was installed or built into it."""
    folders = ("docs", "tests", "examples", "benchmarks")
    return [*ROOT.glob("*.md"), *(page for folder in folders for page in (ROOT / folder).rglob("*.md"))]


def test_no_link_between_documents_is_broken() -> None:
    broken = []
    for page in documents():
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)} → {target}")
    assert not broken


def test_the_lock_pins_every_dependency_by_hash_and_names_no_host() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + [d for extra in project["optional-dependencies"].values() for d in extra]
    pinned = {name.lower() for name in re.findall(r"^([A-Za-z0-9_.-]+)==", lock, re.MULTILINE)}
    assert {re.split(r"[><=\[;]", d)[0].lower() for d in wanted} <= pinned
    blocks = re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)
    assert all("--hash=sha256:" in block for block in blocks if "==" in block)


def test_the_version_is_the_one_of_the_changelog_and_the_citation() -> None:
    from isocenter import __version__

    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {__version__}" in (ROOT / "CITATION.cff").read_text()
