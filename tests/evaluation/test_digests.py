"""Hashes of references are remembered while a file is the same, and only then."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from isocenter.evaluation import _cache
from isocenter.evaluation._cache import prune, reference_digest
from isocenter.volumes import DiskFile, File, Folder, ZipMember, digest


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what was hashed. Files count as settled at once."""
    names: list[str] = []

    def counted(file: File) -> str:
        names.append(file.name)
        return digest(file)

    monkeypatch.setattr(_cache, "digest", counted)
    monkeypatch.setattr(_cache, "_SETTLED_NANOSECONDS", -1)
    return names


@pytest.fixture
def file(tmp_path: Path) -> DiskFile:
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "dose.csv"
    path.write_text("1234")
    return DiskFile(path)


def test_the_same_file_is_hashed_once(tmp_path: Path, file: DiskFile, hashed: list[str]) -> None:
    assert reference_digest(tmp_path / "cache", file) == reference_digest(tmp_path / "cache", file) == digest(file)
    assert hashed == ["dose.csv"]


def test_a_file_rewritten_with_its_old_size_and_time_is_hashed_again(
    tmp_path: Path, file: DiskFile, hashed: list[str]
) -> None:
    before = reference_digest(tmp_path / "cache", file)
    status = file.path.stat()
    time.sleep(0.02)  # a few ticks of the file system's clock
    file.path.write_text("4321")
    os.utime(file.path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert reference_digest(tmp_path / "cache", file) == digest(file) != before
    assert len(hashed) == 2


def test_a_file_that_has_just_been_written_is_not_remembered(
    tmp_path: Path, file: DiskFile, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cache, "_SETTLED_NANOSECONDS", 10**12)
    for _ in range(2):
        reference_digest(tmp_path / "cache", file)
    assert len(hashed) == 2


def test_without_a_cache_everything_is_hashed(file: DiskFile, hashed: list[str]) -> None:
    for _ in range(2):
        reference_digest(None, file)
    assert len(hashed) == 2


def test_a_folder_is_remembered_as_one_and_forgotten_when_any_file_changes(
    tmp_path: Path, file: DiskFile, hashed: list[str]
) -> None:
    (tmp_path / "data" / "mask.csv").write_text("5")
    folder = Folder("pt_1", {name: DiskFile(tmp_path / "data" / name) for name in ("dose.csv", "mask.csv")})
    first = reference_digest(tmp_path / "cache", folder)
    assert reference_digest(tmp_path / "cache", folder) == first
    assert hashed == ["pt_1"]
    time.sleep(0.02)
    (tmp_path / "data" / "mask.csv").write_text("6")
    assert reference_digest(tmp_path / "cache", folder) == digest(folder) != first


def test_members_of_a_zip_are_remembered_by_name(tmp_path: Path, file: DiskFile, hashed: list[str]) -> None:
    (tmp_path / "data" / "mask.csv").write_text("5")
    archive = Path(shutil.make_archive(str(tmp_path / "a"), "zip", tmp_path / "data"))
    members = [ZipMember(archive, name) for name in ("dose.csv", "mask.csv")]
    for _ in range(2):
        assert [reference_digest(tmp_path / "cache", m) for m in members] == [digest(m) for m in members]
    assert hashed == ["dose.csv", "mask.csv"]


def test_a_damaged_entry_is_made_anew(tmp_path: Path, file: DiskFile, hashed: list[str]) -> None:
    reference_digest(tmp_path / "cache", file)
    (entry,) = (tmp_path / "cache").glob("digests/*/*")
    entry.write_text("short")
    assert reference_digest(tmp_path / "cache", file) == digest(file)


def test_old_entries_are_forgotten(tmp_path: Path, file: DiskFile, hashed: list[str]) -> None:
    reference_digest(tmp_path / "cache", file)
    prune(tmp_path / "cache", now=time.time() + 31 * 24 * 3600)
    assert not list((tmp_path / "cache").glob("digests/*/*"))
