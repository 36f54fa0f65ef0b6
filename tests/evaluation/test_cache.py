"""Prepared references: made once, and never used when anything they depend on has changed."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from isocenter import evaluation
from isocenter.evaluation._cache import cache_folder, prune


@pytest.fixture
def files(reference: Path, submission: Path) -> dict[str, Path]:
    for folder in (reference, submission):
        (folder / "CHUV003.nii.gz").unlink()
    return {"reference": reference, "submission": submission}


def prepared(counted: Any, files: dict[str, Path]) -> list[str]:
    """Which references were prepared in one evaluation."""
    counted.did()
    evaluation.evaluate(counted.challenge, **files)
    return [line.removeprefix("prepare ") for line in counted.did() if line.startswith("prepare")]


def test_references_are_prepared_once(counted: Any, files: dict[str, Path]) -> None:
    assert prepared(counted, files) == ["CHUV001", "CHUV002", "CHUV004"]
    assert prepared(counted, files) == []


def test_a_changed_reference_is_prepared_anew(counted: Any, files: dict[str, Path]) -> None:
    prepared(counted, files)
    shutil.copy(files["reference"] / "CHUV001.nii.gz", files["reference"] / "CHUV002.nii.gz")
    assert prepared(counted, files) == ["CHUV002"]


def test_a_touched_but_equal_reference_is_not(counted: Any, files: dict[str, Path]) -> None:
    prepared(counted, files)
    os.utime(files["reference"] / "CHUV001.nii.gz", (0, 0))
    assert prepared(counted, files) == []


def test_a_changed_fact_of_a_case_prepares_that_case_anew(counted: Any, files: dict[str, Path]) -> None:
    manifest = files["reference"] / "cases.csv"
    manifest.write_text("case,centre\nCHUV001,A\nCHUV002,A\nCHUV004,B\n")
    assert len(prepared(counted, files)) == 3
    manifest.write_text("case,centre\nCHUV001,A\nCHUV002,B\nCHUV004,B\n")
    assert prepared(counted, files) == ["CHUV002"]


def test_changed_code_prepares_everything_anew(counted: Any, files: dict[str, Path]) -> None:
    prepared(counted, files)
    source = Path(sys.modules["counted_challenge"].__file__ or "")
    source.write_text(source.read_text() + "\n# a change\n")
    importlib.reload(sys.modules["counted_challenge"])
    assert len(prepared(counted, files)) == 3


def test_a_damaged_entry_is_made_anew(counted: Any, files: dict[str, Path], own_cache: Path) -> None:
    prepared(counted, files)
    entries = sorted(own_cache.glob("prepared/*/*.pickle"))
    assert len(entries) == 3
    entries[0].write_bytes(entries[0].read_bytes()[:10])
    assert len(prepared(counted, files)) == 1


def test_the_cache_can_be_switched_off(
    counted: Any, files: dict[str, Path], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOCENTER_CACHE", "off")
    assert len(prepared(counted, files)) == 3
    assert len(prepared(counted, files)) == 3
    assert not own_cache.exists()


def test_a_folder_that_others_can_write_to_is_not_trusted(own_cache: Path) -> None:
    own_cache.mkdir()
    assert cache_folder() == own_cache
    for mode in (0o777, 0o770, 0o720, 0o702):
        own_cache.chmod(mode)
        assert cache_folder() is None, oct(mode)
    own_cache.chmod(0o755)
    assert cache_folder() == own_cache


def test_a_folder_that_cannot_be_made_only_costs_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: Any, files: dict[str, Path]
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ISOCENTER_CACHE", str(tmp_path / "file" / "cache"))
    assert cache_folder() is None
    assert len(prepared(counted, files)) == 3


def test_what_nobody_asked_for_in_thirty_days_is_forgotten(
    counted: Any, files: dict[str, Path], own_cache: Path
) -> None:
    prepared(counted, files)
    old, *young = sorted(own_cache.glob("prepared/*/*.pickle"))
    long_ago = time.time() - 31 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    prune(own_cache)
    assert sorted(own_cache.glob("prepared/*/*.pickle")) == young
