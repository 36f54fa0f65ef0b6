from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from isocenter.problems import report
from isocenter.submissions import MaskFile, Match, list_files, match

SPECS = {"mask": MaskFile()}


def found(path: Path, cases: list[str]) -> Match:
    return match(list_files(path), SPECS, cases=cases)


def touch(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return folder


def test_files_are_found_by_case_whatever_their_format(tmp_path: Path) -> None:
    names = ["a.nii.gz", "b.nii", "c.mha", "d.nrrd"]
    result = found(touch(tmp_path, *names), list("abcd"))
    assert [result.files[case]["mask"].name for case in "abcd"] == names
    assert result.problems == ()


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_one_folder_around_the_files_is_looked_through(tmp_path: Path, kind: str) -> None:
    path = touch(tmp_path / "s", "team/a.nii.gz", "team/b.nii.gz", "team/.DS_Store", "__MACOSX/team/._a.nii.gz")
    if kind == "zip":
        with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
            for file in sorted(path.rglob("*")):
                archive.write(file, file.relative_to(path))
        path = tmp_path / "s.zip"
    result = found(path, ["a", "b"])
    assert set(result.files["a"]) == set(result.files["b"]) == {"mask"}
    assert {problem.severity for problem in result.problems} == {"note"}


def test_a_folder_beside_the_files_is_not_searched(tmp_path: Path) -> None:
    result = found(touch(tmp_path, "a.nii.gz", "old/b.nii.gz"), ["a", "b"])
    assert result.files["b"] == {}
    assert ("missing", "b") in {(p.severity, p.case) for p in result.problems}


@pytest.mark.parametrize(
    ("name", "severity", "case", "words"),
    [
        ("CHUV0l2.nii.gz", "unusable", "CHUV0l2", "no case of the challenge has this name; is it CHUV012?"),
        ("zzz.nii.gz", "unusable", "zzz", "no case of the challenge has this name"),
        ("CHUV012.npy", "unusable", "CHUV012", "not accepted; expected CHUV012.nii.gz"),
        ("CHUV012.nii.gz.txt", "unusable", "CHUV012", "not accepted"),
        ("more.zip", "unusable", "", "an archive inside"),
        ("notes.txt", "note", "", "ignored"),
        ("Thumbs.db", "note", "", "operating system"),
    ],
)
def test_a_name_that_was_not_asked_for_is_explained(
    tmp_path: Path, name: str, severity: str, case: str, words: str
) -> None:
    result = found(touch(tmp_path, "CHUV001.nii.gz", name), ["CHUV001", "CHUV012"])
    problem = next(p for p in result.problems if p.file == name)
    assert (problem.severity, problem.case) == (severity, case)
    assert words in problem.message


def test_a_case_is_not_said_to_be_missing_when_its_file_is_only_of_the_wrong_kind(tmp_path: Path) -> None:
    result = found(touch(tmp_path, "a.nii.gz", "b.png"), ["a", "b"])
    assert [p.severity for p in result.problems] == ["unusable"]


def test_two_files_for_a_case_leave_it_without_any(tmp_path: Path) -> None:
    result = found(touch(tmp_path, "a.nii.gz", "a.mha", "b.nii"), ["a", "b"])
    assert result.files["a"] == {}
    assert [(p.severity, p.case) for p in result.problems] == [("unusable", "a")]
    assert "a.mha and a.nii.gz" in result.problems[0].message


def test_nothing_at_all_is_refused_rather_than_all_missing(tmp_path: Path) -> None:
    result = found(touch(tmp_path, "notes.txt"), ["a", "b"])
    assert result.problems[0].severity == "refused"
    assert "none" not in result.problems[0].message
    assert "any of the 2 cases" in result.problems[0].message


def test_the_missing_file_is_named_with_its_alternatives(tmp_path: Path) -> None:
    (problem,) = found(touch(tmp_path, "a.nii.gz"), ["a", "b"]).problems
    assert problem.message == "expected b.nii.gz (or .nii, .mha, .nrrd)"


def test_a_report_is_aligned(tmp_path: Path) -> None:
    lines = report(found(touch(tmp_path, "a.nii.gz", "long-name.png"), ["a", "bb"]).problems).splitlines()
    assert len({line.index("expected") if "expected" in line else line.index("not part") for line in lines}) == 1


def test_patterns_may_have_folders_and_more_than_one_file(tmp_path: Path) -> None:
    specs = {"mask": MaskFile(pattern="{case}/mask"), "map": MaskFile(pattern="{case}/map", suffixes=(".mha",))}
    listing = list_files(touch(tmp_path, "a/mask.nii.gz", "a/map.mha", "b/mask.nii"))
    result = match(listing, specs, cases=["a", "b"])
    assert set(result.files["a"]) == {"mask", "map"}
    assert [(p.severity, p.case, p.message) for p in result.problems] == [("missing", "b", "expected b/map.mha")]


def test_a_pattern_names_the_case_once() -> None:
    with pytest.raises(ValueError, match="once"):
        MaskFile(pattern="mask")


def test_folders_that_cannot_be_looked_into_or_are_too_deep_are_named(tmp_path: Path) -> None:
    touch(tmp_path, "a.nii.gz", "1/2/3/4/5/6/7/8/9/b.nii.gz")
    (problem,) = list_files(tmp_path).problems
    assert (problem.severity, problem.file) == ("note", "1/2/3/4/5/6/7/8")


@pytest.mark.parametrize("name", ["team.zip", "team.tar"])
def test_a_file_that_is_no_archive_is_called_by_what_it_should_be(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PK but nothing more")
    (problem,) = list_files(tmp_path / name).problems
    assert problem.severity == "refused"
    assert ("cut off zip" if name.endswith("zip") else "neither a folder nor a zip") in problem.message
