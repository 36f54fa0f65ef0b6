"""Challenges and data that come to the site: whole, the same when they leave, refused in words when they are bad."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import CASES, GRID, TOML, mask
from isocenter.editions import EditionError
from isocenter.server.models import Challenge, Decision, Reference, Release, Role, Version
from isocenter.server.organising import importing
from isocenter.server.organising.bundle import BundleError, read
from isocenter.server.organising.versioning import Overtaken, Refused, save
from isocenter.volumes import Volume, write

ABOUT = "# About this challenge\n\nTumours of the neck, “drawn” by hand.\n"
FILES = {
    "challenge.toml": TOML.replace('title = "Validation"', '# My own comment.\r\ntitle = "Validation"'),
    "pages/about.md": ABOUT,
    "pages/data.md": "No heading here.\r\nTwo lines.",
    "cohort.csv": "phase,case,centre\nvalidation,CHUV001,CHUV\nvalidation,CHUV002,\n",
}


def zip_of(files: dict[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "bundle"
    for name, text in FILES.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(text.encode())
    return home


def contents(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def references(folder: Path, cases=CASES, size: int = 4) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases:
        write(Volume(mask(size), GRID), folder / f"{case}.nii.gz")
    return folder


def test_a_folder_comes_in_and_leaves_with_the_same_bytes(world, folder, tmp_path):
    user = world.people["staff"]
    challenge = importing.import_challenge(folder, user=user, slug="neck-2", note="A copy.")
    assert (challenge.published, challenge.version.number, challenge.version.note) == (False, 1, "A copy.")
    assert Role.objects.filter(user=user, challenge=challenge, kind="organiser").exists()
    out = importing.export(challenge)
    assert contents(out) == {name: text.encode() for name, text in FILES.items()}
    (tmp_path / "again.zip").write_bytes(out)
    again = importing.import_challenge(tmp_path / "again.zip", user=user, slug="neck-3")
    assert importing.export(again) == out
    assert bytes(again.salt) != bytes(challenge.salt)


def test_order_and_titles_of_pages_survive_where_names_and_headings_do_not_tell_them(world, tmp_path):
    pages = [
        {"name": "zebra", "title": "First, with a comma", "text": "# Zebra\n"},
        {"name": "about", "title": "About", "text": "# About\n"},
    ]
    version = Version.objects.create(challenge=world.challenge, number=2, toml=TOML, pages=pages)
    out = importing.export(world.challenge, version)
    assert "pages/pages.csv" in contents(out)
    (tmp_path / "x.zip").write_bytes(out)
    assert list(read(tmp_path / "x.zip").pages) == pages


def test_a_folder_within_the_zip_is_forgiven_and_what_else_is_there_left_alone(world, tmp_path):
    path = tmp_path / "x.zip"
    path.write_bytes(zip_of({"neck/challenge.toml": TOML, "neck/pages/a.md": "# A", "neck/README": "hello"}))
    found = read(path)
    assert (found.toml, [page["name"] for page in found.pages]) == (TOML, ["a"])


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def hostile(kind: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("challenge.toml", TOML)
        match kind:
            case "out":
                archive.writestr("../../pages/evil.md", "x")
            case "absolute":
                archive.writestr("/etc/evil.md", "x")
            case "link":
                archive.writestr(link("pages/about.md"), "/etc/passwd")
            case "huge":
                archive.writestr("pages/about.md", "a" * 3_000_000)
            case "name":
                archive.writestr("pages/About Us.md", "# x")
            case "binary":
                archive.writestr("pages/about.md", b"\xff\xfe\x00")
            case "many":
                for at in range(150):
                    archive.writestr(f"pages/p{at}.md", "x")
            case "twice":
                archive.writestr("cohort.csv", "phase,case\ntest,A\ntest,A\n")
            case "columns":
                archive.writestr("cohort.csv", "case\nA\n")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("out", "leads out of the archive"),
        ("absolute", "leads out of the archive"),
        ("link", "symbolic link"),
        ("huge", "at most 2,000,000"),
        ("name", "lower-case letters"),
        ("binary", "not text in UTF-8"),
        ("many", "at most 100"),
        ("twice", "is there twice"),
        ("columns", "no column phase"),
    ],
)
def test_a_hostile_or_careless_zip_makes_nothing(world, tmp_path, kind, said):
    (tmp_path / "x.zip").write_bytes(hostile(kind))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(BundleError, match=said):
        importing.import_challenge(tmp_path / "x.zip", user=None, slug="evil")
    assert Challenge.objects.count() == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_what_is_no_zip_and_what_has_no_toml_is_said_to_be_so(world, tmp_path):
    (tmp_path / "x.zip").write_bytes(b"hello")
    with pytest.raises(BundleError, match="damaged"):
        read(tmp_path / "x.zip")
    (tmp_path / "y.zip").write_bytes(zip_of({"pages/a.md": "# A"}))
    with pytest.raises(BundleError, match=r"no challenge\.toml"):
        read(tmp_path / "y.zip")


def test_a_wrong_toml_is_told_with_its_lines(world, folder):
    text = TOML.replace('counts = "best"', 'counts = "bst"').replace("quota = 2", "quota = 0")
    (folder / "challenge.toml").write_text(text)
    with pytest.raises(EditionError) as caught:
        importing.import_challenge(folder, user=None, slug="wrong")
    assert [(p.line, p.where) for p in caught.value.problems] == [(12, "phases[1].counts"), (21, "phases[2].quota")]
    (folder / "challenge.toml").write_text(TOML.replace("hecktor2020", "hektor2020"))
    with pytest.raises(EditionError, match="hecktor2020") as caught:
        importing.import_challenge(folder, user=None, slug="wrong")
    assert caught.value.problems[0].line == 1


@pytest.mark.parametrize("slug", ["", "a", "Neck", "neck_2", "-neck", "../neck", "neck"])
def test_an_address_is_plain_and_free(world, folder, slug):
    with pytest.raises(Refused):
        importing.import_challenge(folder, user=None, slug=slug)
    assert Challenge.objects.count() == 1


@pytest.mark.parametrize("code", ["hecktor2020", "openkbp2020", "picai2022", "doserad2026", "lung2019"])
def test_a_challenge_begins_with_any_that_is_installed(world, code):
    challenge = importing.begin_challenge(code, user=world.people["staff"], slug=f"new-{code}")
    assert challenge.edition.challenge == code


def test_a_reference_is_copied_checked_and_numbered(world, tmp_path):
    source = references(tmp_path / "ref", size=3)
    made = importing.add_reference(world.challenge, "test", source, note="Mended.", user=world.people["organiser"])
    assert (made.number, made.cases, made.folder) == (2, list(CASES), "references/neck/test/2")
    assert len(made.digest) == 64
    assert {path.name for path in (world.data / made.folder).iterdir()} == {f"{case}.nii.gz" for case in CASES}
    last = Decision.objects.get(challenge=world.challenge)
    assert (last.what, last.subject) == ("set the reference", "test, version 2")
    assert last.actor == "Organiser <organiser@example.org>"
    with pytest.raises(Refused, match="version 2, which is in force already"):
        importing.add_reference(world.challenge, "test", source)
    assert {path.name for path in (world.data / "references/neck/test").iterdir()} == {"1", "2"}


def test_a_zip_of_a_reference_may_bring_scans(world, tmp_path):
    source = references(tmp_path / "ref")
    archive = tmp_path / "x.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for case in CASES:
            opened.write(source / f"{case}.nii.gz", f"all/reference/{case}.nii.gz")
        opened.writestr("all/images/CHUV001_ct.nii.gz", b"scan")
        opened.writestr("__MACOSX/._x", b"junk")
    made = importing.add_reference(world.challenge, "", archive)
    assert (made.phase, made.images) == ("", "references/neck/_all/1.images")
    assert (world.data / made.images / "CHUV001_ct.nii.gz").read_bytes() == b"scan"
    assert {path.name for path in (world.data / made.folder).iterdir()} == {f"{case}.nii.gz" for case in CASES}


@pytest.mark.parametrize("phase", ["every-phase", "all"])
def test_no_phase_has_the_folder_of_the_reference_of_all_phases(world, tmp_path, phase):
    toml = world.challenge.version.toml.replace('name = "final"', f'name = "{phase}"')
    Version.objects.filter(pk=world.challenge.version.pk).update(toml=toml)
    challenge = Challenge.objects.get(pk=world.challenge.pk)
    first = importing.add_reference(challenge, "", references(tmp_path / "a", size=4))
    before = (world.data / first.folder / f"{CASES[0]}.nii.gz").read_bytes()
    importing.add_reference(challenge, phase, references(tmp_path / "b", size=2))
    assert (world.data / first.folder / f"{CASES[0]}.nii.gz").read_bytes() == before


def test_a_folder_that_another_reference_has_is_never_replaced(world, tmp_path):
    world.references["final"].delete()
    Reference.objects.filter(phase="test").update(folder="references/neck/final/1")
    before = {path.name: path.read_bytes() for path in (world.data / "references/neck/final/1").iterdir()}
    with pytest.raises(Refused, match="holds version 1 of another reference"):
        importing.add_reference(world.challenge, "final", references(tmp_path / "b", size=2))
    assert {path.name: path.read_bytes() for path in (world.data / "references/neck/final/1").iterdir()} == before


def test_all_that_is_wrong_with_a_reference_is_listed_and_nothing_kept(world, tmp_path):
    source = references(tmp_path / "ref", cases=CASES[:2])
    (source / "CHUV009.nii.gz").write_bytes(b"no image")
    (source / "cases.csv").write_text("case,weight\nCHUV001,1\nCHUV002,-1\nCHUV009,1\n")
    with pytest.raises(Refused) as caught:
        importing.add_reference(world.challenge, "test", source)
    said = "\n".join(caught.value.problems)
    assert "CHUV002" in said
    assert "no positive number" in said
    assert "CHUV009" in said
    assert sorted(path.name for path in (world.data / "references/neck/test").iterdir()) == ["1"]
    assert Reference.objects.count() == 3


def test_a_reference_that_was_cut_off_is_refused_though_its_header_can_be_read(world, tmp_path):
    source = references(tmp_path / "ref")
    whole = gzip.decompress((source / "CHUV002.nii.gz").read_bytes())
    (source / "CHUV002.nii.gz").write_bytes(gzip.compress(whole[:400]))
    with pytest.raises(Refused) as caught:
        importing.add_reference(world.challenge, "test", source)
    (said,) = caught.value.problems
    assert said.startswith("CHUV002: CHUV002.nii.gz: cannot be read: ")
    assert Reference.objects.count() == 3


def test_a_reference_has_as_many_cases_as_its_phase_says_and_those_of_the_manifest(world, tmp_path):
    text = TOML.replace('name = "test"', 'name = "test"\ncases = 4')
    cohort = [{"phase": "test", "case": "CHUV001"}, {"phase": "test", "case": "CHUV777"}]
    save(world.challenge, None, base=1, note="More cases.", toml=text, cohort=cohort)
    world.challenge.refresh_from_db()
    with pytest.raises(Refused) as caught:
        importing.add_reference(world.challenge, "test", references(tmp_path / "ref"))
    assert caught.value.problems == [
        "There are 3 cases; test has cases = 4 in its challenge.toml.",
        "CHUV777: is in the manifest of cases, but has no files.",
        "CHUV002: has files, but is not in the manifest.",
        "CHUV003: has files, but is not in the manifest.",
    ]


@pytest.mark.parametrize("kind", ["out", "link", "bomb", "empty", "unknown phase"])
def test_a_hostile_reference_is_refused_before_anything_is_written(world, tmp_path, kind, settings):
    path, phase = tmp_path / "x.zip", "test"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readme.txt", "x")
        match kind:
            case "out":
                archive.writestr("../../../evil.nii.gz", "x")
            case "link":
                archive.writestr(link("CHUV001.nii.gz"), "/etc/passwd")
            case "bomb":
                settings.MOST_UPLOAD_BYTES = 1000
                archive.writestr("CHUV001.nii.gz", b"0" * 100_000)
            case "unknown phase":
                phase = "../evil"
    with pytest.raises(Refused):
        importing.add_reference(world.challenge, phase, path)
    assert sorted(path.name for path in (world.data / "references/neck/test").iterdir()) == ["1"]
    assert not list(tmp_path.parent.glob("evil*"))
    assert Reference.objects.count() == 3


def test_a_member_that_is_longer_than_it_says_is_not_written(world, tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("CHUV001.nii.gz", b"0" * 1000)
    raw = bytearray(path.read_bytes())
    at = raw.rfind(b"PK\x01\x02")
    raw[at + 24 : at + 28] = (10).to_bytes(4, "little")  # the size it inflates to, in the table of contents
    path.write_bytes(bytes(raw))
    with pytest.raises(Refused):
        importing.add_reference(world.challenge, "test", path)
    assert sorted(path.name for path in (world.data / "references/neck/test").iterdir()) == ["1"]


def test_a_release_is_copied_under_a_name_that_harms_nobody(world, tmp_path):
    (tmp_path / "train.zip").write_bytes(b"data")
    made = importing.add_release(
        world.challenge, tmp_path / "train.zip", title=" Training ", name="../../evil name.zip", phase="validation"
    )
    assert (made.title, made.name, made.size, made.phase) == ("Training", "....evil_name.zip", 4, "validation")
    assert (world.data / made.file).read_bytes() == b"data"
    assert made.file.startswith("releases/neck/")
    assert ".." not in Path(made.file).parts
    with pytest.raises(Refused, match="no phase"):
        importing.add_release(world.challenge, tmp_path / "train.zip", title="x", phase="nowhere")
    assert Release.objects.count() == 1


def test_two_who_edit_at_once_do_not_overwrite_each_other(world):
    first, second = TOML.replace("Be fair.", "Be fair!"), TOML.replace("the neck", "the head")
    first = first.replace('version = "1"', 'version = "2"')
    assert save(world.challenge, world.people["organiser"], base=1, note="Terms.", toml=first).number == 2
    with pytest.raises(Overtaken, match="Organiser saved version 2"):
        save(world.challenge, world.people["staff"], base=1, note="Title.", toml=second)
    assert Version.objects.filter(challenge=world.challenge).count() == 2


def test_what_is_not_different_is_no_version(world):
    assert save(world.challenge, None, base=1, note="Nothing.", toml=TOML) is None
    assert Version.objects.count() == 1


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_link_in_a_folder_of_a_challenge_is_not_followed(world, folder):
    (folder / "pages" / "secret.md").symlink_to("/etc/hostname")
    with pytest.raises(BundleError, match="symbolic link"):
        read(folder)


def test_scans_and_run_times_stay_when_only_the_reference_changes(world, tmp_path):
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "CHUV001.nii.gz").write_bytes(b"scan")
    (tmp_path / "times.csv").write_text("team,seconds\n")
    first = importing.add_reference(
        world.challenge, "", references(tmp_path / "a"), images=tmp_path / "scans", run_times=tmp_path / "times.csv"
    )
    second = importing.add_reference(world.challenge, "", references(tmp_path / "b", size=3))
    assert (second.images, second.run_times) == (first.images, first.run_times)
    assert (world.data / second.run_times).read_text() == "team,seconds\n"


def test_run_times_are_for_challenges_that_rank_by_them(world, tmp_path, monkeypatch):
    (tmp_path / "times.csv").write_text("team,seconds\n")
    given = {"user": world.people["organiser"], "note": "Metered."}
    with pytest.raises(Refused, match="does not rank by run times"):
        importing.set_run_times(world.references["test"], tmp_path / "times.csv", **given)

    def read_times(path, teams):
        if "bad" in path.read_text():
            msg = "line 2: no number"
            raise ValueError(msg)
        return {}, []

    code = replace(importing.code_of(world.challenge.version_id, "test"), run_times=read_times)
    monkeypatch.setattr(importing, "code_of", lambda *_: code)
    importing.set_run_times(world.references["test"], tmp_path / "times.csv", **given)
    world.references["test"].refresh_from_db()
    assert (world.data / world.references["test"].run_times).read_text() == "team,seconds\n"
    (tmp_path / "times.csv").write_text("bad")
    with pytest.raises(Refused, match="line 2"):
        importing.set_run_times(world.references["test"], tmp_path / "times.csv", **given)
    assert [(row.what, row.subject) for row in Decision.objects.all()] == [("set run times", "test")]
