"""Cases of a reader study, brought by organisers: everything that is wrong in one go, and all of it or nothing."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st
from reading_world import GRIDS, StudyWorld, study_world

from isocenter.server.models import Decision, StudyCase, Upload
from isocenter.server.organising.versioning import Refused
from isocenter.server.reading import case_files, cases, drawing
from isocenter.server.reading.case_table import read_cases
from isocenter.volumes import Grid, Volume, read, write

TABLE = """\
case,practice,positive,age,ISUP
PCA101,no,yes,66,3
PCA102,no,,71,
PCA103,no,no,58,0
TRY101,yes,no,60,0
"""
NAMES = ("PCA101", "PCA102", "PCA103", "TRY101")


@pytest.fixture
def empty(world) -> StudyWorld:
    """A study without cases."""
    return study_world(world, cases=False)


def scan(path: Path, grid: Grid, *, dtype: str = "int16", value: float = 300.0) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    write(Volume(np.full(grid.shape, value, dtype=dtype), grid), path)
    return path.read_bytes()


def files_of(folder: Path) -> dict[str, bytes]:
    """All that is asked for, by the names in the zip."""
    made = {name: scan(folder / f"{name}.mha", grid) for name, grid in GRIDS.items()}
    found = {f"{case}/{name}.mha": content for case in NAMES for name, content in made.items()}
    return {"cases.csv": TABLE.encode(), **found}


def zipped(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def bring(there: StudyWorld, path: Path) -> int:
    return cases.bring(there.study, path, user=there.world.people["organiser"], reason="The cohort.")


def refused(there: StudyWorld, path: Path) -> list[str]:
    with pytest.raises(Refused) as error:
        bring(there, path)
    return error.value.problems


def test_a_zip_becomes_cases_with_facts_truth_and_grids(empty, tmp_path):
    assert bring(empty, zipped(tmp_path / "cases.zip", files_of(tmp_path / "made"))) == 4
    one = StudyCase.objects.get(name="PCA101")
    assert (one.practice, one.positive, one.facts) == (False, True, {"age": "66", "ISUP": "3"})
    assert StudyCase.objects.get(name="PCA102").positive is None
    assert [case.name for case in StudyCase.objects.filter(practice=True)] == ["TRY101"]
    assert set(one.images) == {"t2w", "adc", "dce"}
    assert one.images["t2w"]["shape"] == [32, 28, 6]
    kept = empty.world.data / empty.study.folder
    assert empty.study.folder == f"studies/neck/{empty.study.digest}"
    assert read(kept / one.images["adc"]["file"]).grid.same_as(GRIDS["adc"])
    decided = Decision.objects.get(what="bring the cases of the reader study")
    assert decided.reason == "The cohort."
    assert decided.subject.startswith("3 cases and 1 to practise")


@pytest.mark.parametrize(
    "named",
    ["{case}_{scan}.mha", "{case}/{case}_{scan}.mha", "study/{case}/{scan}.mha"],
    ids=["flat", "both", "around"],
)
def test_files_may_be_named_in_other_ways_and_lie_in_one_folder(empty, tmp_path, named):
    files = files_of(tmp_path / "made")
    other = {
        named.format(case=case, scan=name.removesuffix(".mha")): content
        for (case, _, name), content in ((path.partition("/"), content) for path, content in files.items())
        if name
    }
    other["study/cases.csv" if named.startswith("study") else "cases.csv"] = files["cases.csv"]
    other["study/notes.txt" if named.startswith("study") else "notes.txt"] = b"Not ours."
    assert bring(empty, zipped(tmp_path / "cases.zip", other)) == 4
    kept = empty.world.data / empty.study.folder
    assert sorted(path.relative_to(kept).as_posix() for path in kept.rglob("*.*")) == sorted(files)


def test_a_folder_does_as_well(empty, tmp_path):
    for name, content in files_of(tmp_path / "made").items():
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    assert bring(empty, tmp_path / "folder") == 4


def test_everything_that_is_wrong_is_said_at_once_and_nothing_changes(world, tmp_path):
    there = study_world(world)
    before = sorted(StudyCase.objects.values_list("name", "key"))
    files = files_of(tmp_path / "made")
    del files["PCA101/adc.mha"]
    files["PCA102/adc.mha"] = files["PCA102/adc.mha"][:-4]
    files["PCA103/adc.mha"] = scan(tmp_path / "far.mha", Grid((16, 14, 6), (2, 2, 3), (90, -13, 40)))
    files["PCA103/dce.mha"] = scan(tmp_path / "nan.mha", GRIDS["dce"], dtype="float32", value=np.nan)
    files["PCA999/t2w.mha"] = files["PCA101/t2w.mha"]
    files["cases.csv"] = (
        b"case,practice,positive,ISUP\nPCA101,no,perhaps,3\nPCA102,,,\nPCA103,no,no,0\npca103,no,no,0\n,no,no,0\n"
    )
    problems = refused(there, zipped(tmp_path / "cases.zip", files))
    told = "\n".join(problems)
    assert "cases.csv, line 2: positive is 'perhaps'; expected yes, no, or nothing" in told
    assert "cases.csv, line 6: the case has no name" in told
    assert "the case PCA103 is there more than once" in told
    assert "has no column 'age', which [reading] facts names; found ISUP" in told
    assert "0 practice cases; [reading] practice asks for 1" in told
    assert "pca103: there is no t2w; expected pca103/t2w.mha" in told
    assert "PCA102: PCA102/adc.mha: damaged or cut off" in told
    assert "PCA103: PCA103/adc.mha: lies elsewhere than PCA103/t2w.mha: 0% of the smaller box" in told
    assert "PCA103: PCA103/dce.mha: 1,344 of 1,344 voxels are NaN or infinite" in told
    assert [text.split(":")[0] for text in problems if "but cases.csv has no such case" in text] == ["PCA999", "TRY101"]
    assert "PCA101: there is no adc; expected PCA101/adc.mha, or another of .nii.gz, .nii, .mha, .nrrd" in told
    assert sorted(StudyCase.objects.values_list("name", "key")) == before
    assert [path.name for path in (world.data / "studies" / "neck").iterdir()] == ["1"]
    assert not Decision.objects.filter(what__contains="cases").exists()


def test_two_files_for_one_scan_and_a_scan_in_two_files_are_refused(empty, tmp_path):
    files = files_of(tmp_path / "made")
    files["PCA101/t2w.nii.gz"] = scan(tmp_path / "t2w.nii.gz", GRIDS["t2w"])
    files["PCA102/adc.mhd"] = b"ObjectType = Image\nElementDataFile = /etc/passwd\n"
    del files["PCA102/adc.mha"]
    assert refused(empty, zipped(tmp_path / "cases.zip", files)) == [
        "PCA101: PCA101/t2w.mha and PCA101/t2w.nii.gz are both the scan t2w; expected one file",
        "PCA102: PCA102/adc.mhd: has its voxels in another file; expected one file, such as .mha",
    ]


def test_a_header_that_announces_too_much_is_refused_before_it_is_read(empty, tmp_path, monkeypatch):
    monkeypatch.setattr(case_files, "MOST_BYTES", 2000)
    monkeypatch.setattr(case_files, "read", lambda _: pytest.fail("it was read"))
    problems = refused(empty, zipped(tmp_path / "cases.zip", files_of(tmp_path / "made")))
    assert len(problems) == 12
    assert problems[0].startswith("PCA101: PCA101/t2w.mha: 32×28×6 at 1×1×3 mm takes 0 MB once unpacked; at most")


@pytest.mark.parametrize("name", ["../PCA101/t2w.mha", "/PCA101/t2w.mha"])
def test_a_name_that_leads_out_of_the_zip_is_refused(empty, tmp_path, name):
    assert (
        "leads out of the archive" in refused(empty, zipped(tmp_path / "x.zip", {"cases.csv": b"case\n", name: b""}))[0]
    )


def test_what_is_no_zip_or_has_no_table_is_refused(empty, tmp_path):
    (tmp_path / "cases.zip").write_bytes(b"PK\3\4 but not for long")
    assert "damaged" in refused(empty, tmp_path / "cases.zip")[0]
    assert refused(empty, zipped(tmp_path / "none.zip", {"PCA101/t2w.mha": b""})) == [
        "none.zip: has no cases.csv; expected one beside the folders of cases"
    ]


def test_new_cases_replace_the_old_and_their_folder_goes_after_the_commit(
    empty, tmp_path, django_capture_on_commit_callbacks
):
    files = files_of(tmp_path / "made")
    bring(empty, zipped(tmp_path / "one.zip", files))
    old = empty.world.data / empty.study.folder
    assert refused(empty, zipped(tmp_path / "same.zip", files)) == [
        "These are the cases that are there already; nothing was changed."
    ]
    files["cases.csv"] = files["cases.csv"].replace(b"PCA101,no,yes", b"PCA101,no,no")
    with django_capture_on_commit_callbacks(execute=True):
        bring(empty, zipped(tmp_path / "two.zip", files))
        assert old.is_dir()
    assert not old.exists()
    assert (empty.world.data / empty.study.folder / "PCA101" / "t2w.mha").is_file()
    assert StudyCase.objects.get(name="PCA101").positive is False


def test_a_failure_on_the_way_leaves_neither_rows_nor_files(empty, tmp_path, monkeypatch):
    def fails(*_: object) -> None:
        msg = "the disk is gone"
        raise OSError(msg)

    path = zipped(tmp_path / "cases.zip", files_of(tmp_path / "made"))
    monkeypatch.setattr(cases.os, "replace", fails)
    with pytest.raises(OSError, match="the disk is gone"):
        bring(empty, path)
    assert not StudyCase.objects.exists()
    assert list((empty.world.data / "studies" / "neck").iterdir()) == []


def test_cases_that_are_dealt_stay(world, tmp_path):
    there = study_world(world)
    there.opens()
    path = zipped(tmp_path / "cases.zip", files_of(tmp_path / "made"))
    assert refused(there, path) == ["Cases are dealt to readers already, so they cannot be replaced."]


def test_truth_is_no_fact_for_readers_to_see(empty, tmp_path):
    version = empty.world.challenge.version
    version.toml = version.toml.replace('facts = ["age"]', 'facts = ["positive"]')
    version.pk, version.number = None, 3
    version.save()
    empty.world.challenge.version = version
    empty.world.challenge.save()
    empty.study.refresh_from_db()
    problems = refused(empty, zipped(tmp_path / "cases.zip", files_of(tmp_path / "made")))
    assert problems == [
        "[reading] facts has 'positive', which would tell readers who is ill; take it out in challenge.toml"
    ]


def test_cases_that_do_not_fit_changed_settings_are_not_dealt(world):
    there = study_world(world)
    StudyCase.objects.filter(name="PCA002").update(images={})
    with pytest.raises(Refused) as error:
        drawing.preview(there.study)
    assert error.value.problems == [
        "PCA002: has no adc, dce, t2w, which a stage shows; bring the cases again",
        "0 readers for 2 blocks: the cases of 2 blocks would never be read; take 2 readers or more.",
    ]


def test_organisers_send_the_zip_from_the_page_and_read_what_is_wrong_with_it(empty, tmp_path):
    client, address = empty.client("organiser"), reverse("organise_reading_cases", args=["neck"])
    path = zipped(tmp_path / "cases.zip", files_of(tmp_path / "made"))
    sent = {"reason": "The cohort.", "file": SimpleUploadedFile("cohort.zip", path.read_bytes())}
    page = client.post(address, sent, follow=True).content.decode()
    assert "4 cases are there, and all their scans can be read." in page
    assert not Upload.objects.exists()
    broken = SimpleUploadedFile("cohort.zip", path.read_bytes()[:-100])
    page = client.post(address, {"reason": "Again.", "file": broken}, follow=True).content.decode()
    assert "cohort.zip: neither a folder nor a zip archive" in page
    assert StudyCase.objects.count() == 4


def test_a_table_of_another_kind_is_named_as_what_it_is():
    assert read_cases(b"").problems == (
        "cases.csv: is empty; expected a line with the columns case, practice, positive and facts",
    )
    assert read_cases(b"case;age\nA;1\n").problems == (
        "cases.csv: columns are separated by semicolons; expected commas",
    )
    assert read_cases("case,Größe\nA,1\n".encode("latin-1")).problems == (
        "cases.csv, line 1: is not UTF-8; save it as CSV in UTF-8",
    )
    assert read_cases(b"case,age,age,,block\n").problems == (
        "cases.csv: the column 'age' is there 2 times; once is enough",
        "cases.csv: a column has no name; every column has one",
        "cases.csv: a fact cannot be called 'block'; choose another name for the column",
    )
    assert (
        read_cases(b"case,age\nA/../B,1\nC\n").problems[0].startswith("cases.csv, line 2: the case 'A/../B' cannot be")
    )
    assert read_cases(b"case,age\nC\n").problems == ("cases.csv, line 2: has 1 values; the first line has 2 columns",)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_table_breaks_the_reader_and_no_case_leads_elsewhere(content):
    found = read_cases(content)
    for row in found.rows:
        assert "/" not in row.name
        assert row.name not in ("", ".", "..")


@given(
    st.tuples(*[st.integers(-30, 30)] * 3), st.tuples(*[st.integers(1, 20)] * 3), st.tuples(*[st.integers(1, 20)] * 3)
)
def test_overlap_is_of_the_smaller_box_and_the_same_from_both_sides(origin, one, other):
    first, second = Grid(one), Grid(other, origin=origin)
    share = case_files.overlap(first, second)
    voxels = np.prod([max(0, min(a, o + b) - max(0, o)) for a, b, o in zip(one, other, origin, strict=True)])
    assert share == pytest.approx(voxels / min(np.prod(one), np.prod(other)))
    assert share == pytest.approx(case_files.overlap(second, first))
