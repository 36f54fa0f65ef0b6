"""Cases with a folder of files each."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from isocenter.submissions import MaskFile, Reading, is_folder, list_files, match
from isocenter.volumes import Folder, digest


@dataclass(frozen=True)
class Beams:
    """Any .txt below the folder of the case."""

    suffixes: tuple[str, ...] = ()
    grid_of: str | None = None
    most_bytes: int | None = None
    most_files: int = 10

    def name(self, case: str, suffix: str) -> str:
        return case + suffix

    def wants(self, name: str) -> bool:
        return name.endswith(".txt")

    def expected(self, case: str) -> str:
        return f"a folder {case}/"

    def read(self, file: object, **_: object) -> Reading:
        return Reading(file)


SPECS = {"beams": Beams()}


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def test_a_folder_is_told_from_a_file() -> None:
    assert is_folder(Beams())
    assert not is_folder(MaskFile())


def test_a_case_gets_what_is_wanted_of_its_folder(tmp_path: Path) -> None:
    write(tmp_path, "a/1.txt", "a/deep/2.txt", "a/notes.md", "b/3.txt")
    found = match(list_files(tmp_path), SPECS, cases=["a", "b"])
    folder = found.files["a"]["beams"]
    assert isinstance(folder, Folder)
    assert (folder.name, sorted(folder.files)) == ("a", ["1.txt", "deep/2.txt"])
    assert folder.size() == len("a/1.txt") + len("a/deep/2.txt")
    assert [(p.severity, p.file) for p in found.problems] == [("note", "a/notes.md")]


def test_a_case_without_its_folder_is_missing(tmp_path: Path) -> None:
    found = match(list_files(write(tmp_path, "a/1.txt", "c/1.txt")), SPECS, cases=["a", "b"])
    assert found.files["b"] == {}
    assert ("missing", "b", "expected a folder b/") in [(p.severity, p.case, p.message) for p in found.problems]


@pytest.mark.parametrize("cases", [["a"], ["a", "b"]])
def test_a_folder_around_the_folders_is_looked_into(tmp_path: Path, cases: list[str]) -> None:
    write(tmp_path, *(f"team/{case}/1.txt" for case in cases))
    found = match(list_files(tmp_path), SPECS, cases=cases)
    assert [list(found.files[case]["beams"].files) for case in cases] == [["1.txt"]] * len(cases)  # type: ignore[attr-defined]


def test_the_only_case_is_not_taken_for_a_folder_around_it(tmp_path: Path) -> None:
    found = match(list_files(write(tmp_path, "a/1.txt")), SPECS, cases=["a"])
    assert list(found.files["a"]) == ["beams"]


def test_the_case_ab_does_not_get_the_files_of_a(tmp_path: Path) -> None:
    found = match(list_files(write(tmp_path, "a/1.txt", "ab/2.txt")), SPECS, cases=["a", "ab"])
    assert [list(found.files[case]["beams"].files) for case in ("a", "ab")] == [["1.txt"], ["2.txt"]]  # type: ignore[attr-defined]


def test_a_link_in_a_folder_spoils_the_case(tmp_path: Path) -> None:
    write(tmp_path / "team", "a/1.txt")
    (tmp_path / "team" / "a" / "2.txt").symlink_to("/etc/hostname")
    found = match(list_files(tmp_path / "team"), SPECS, cases=["a"])
    assert found.files["a"] == {}
    assert [(p.severity, p.case, p.file) for p in found.problems] == [("unusable", "a", "a/2.txt")]


def test_the_hash_of_a_folder_is_of_names_and_contents(tmp_path: Path) -> None:
    def hashed(folder: Path) -> str:
        return digest(match(list_files(folder), SPECS, cases=["a"]).files["a"]["beams"])

    one = write(tmp_path / "1", "a/x.txt", "a/y.txt")
    with zipfile.ZipFile(tmp_path / "1.zip", "w") as archive:
        for name in ("a/y.txt", "a/x.txt"):
            archive.writestr(name, name)
    assert hashed(one) == hashed(tmp_path / "1.zip")
    (one / "a" / "y.txt").write_text("other")
    assert hashed(one) != hashed(tmp_path / "1.zip")
    (one / "a" / "y.txt").rename(one / "a" / "z.txt")
    (one / "a" / "z.txt").write_text("a/y.txt")
    assert hashed(one) != hashed(tmp_path / "1.zip")


def test_a_folder_has_no_bytes_of_its_own(tmp_path: Path) -> None:
    folder = match(list_files(write(tmp_path, "a/1.txt")), SPECS, cases=["a"]).files["a"]["beams"]
    with pytest.raises(IsADirectoryError):
        folder.open()


def test_a_listing_knows_its_folders_and_the_empty_ones_too(tmp_path: Path) -> None:
    write(tmp_path / "x", "a/deep/1.txt")
    (tmp_path / "x" / "empty").mkdir()
    assert sorted(list_files(tmp_path / "x").folders) == ["a", "a/deep", "empty"]
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.mkdir("empty")
        archive.writestr("a/deep/1.txt", "x")
    assert sorted(list_files(tmp_path / "x.zip").folders) == ["a", "a/deep", "empty"]
