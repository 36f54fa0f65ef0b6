"""Data to download: to whom, from when on, under which licence, whole or in parts; and that it is kept who took it."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest

from isocenter.server.models import Access, Download, LicenceAcceptance, Reference, Release, Role, Token, Version
from isocenter.server.pages.challenge.data import safe_name
from isocenter.server.telling.ranges import send

CONTENT = bytes(range(256)) * 40


def release(world: Any, phase: str = "", **fields: Any) -> Release:
    path = world.data / "releases" / "neck" / f"{phase or 'all'}.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(CONTENT)
    settings = {
        "title": f"Data of {phase or 'all phases'}",
        "name": "data.zip",
        "file": f"releases/neck/{path.name}",
        "size": len(CONTENT),
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
    }
    return Release.objects.create(challenge=world.challenge, phase=phase, **settings | fields)


def get(world: Any, name: str, one: Release, **headers: str) -> tuple[int, bytes, Any]:
    answer = world.client(name).get(address(world, one), headers=headers)
    body = answer.getvalue() if answer.streaming else answer.content
    answer.close()
    return answer.status_code, body, answer


def address(world: Any, one: Release) -> str:
    return f"/c/neck/data/{one.key}/"


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("", 302),
        ("stranger", 403),
        ("waiting", 403),
        ("reader", 403),
        ("alice", 200),
        ("organiser", 200),
        ("staff", 200),
    ],
)
def test_data_are_for_those_who_take_part(world, name: str, status: int) -> None:
    for one in (release(world), release(world, "validation")):
        assert get(world, name, one)[0] == status
    assert Download.objects.count() == (2 if status == 200 else 0)


def test_data_of_a_phase_are_not_there_before_it_opens(world) -> None:
    one = release(world, "test")
    status, body, _ = get(world, "alice", one)
    assert status == 403
    assert b"1 April 2026, 00:00 UTC" in body
    assert get(world, "organiser", one)[0] == 200
    world.at.now = datetime(2026, 4, 1, tzinfo=UTC)
    assert get(world, "alice", one)[:2] == (200, CONTENT)
    world.at.now = datetime(2026, 9, 1, tzinfo=UTC)
    assert get(world, "alice", one)[0] == 200


def test_a_release_has_its_own_moment_besides(world) -> None:
    one = release(world, "validation", released=datetime(2026, 3, 10, tzinfo=UTC))
    assert get(world, "alice", one)[0] == 403
    page = world.client("alice").get("/c/neck/data/").content.decode()
    assert "You can download this from" in page
    assert "10 March 2026" in page
    world.at.now = datetime(2026, 3, 10, tzinfo=UTC)
    assert get(world, "alice", one)[0] == 200


def test_data_of_an_invited_phase_are_for_those_invited(world) -> None:
    one = release(world, "final")
    world.at.now = datetime(2026, 5, 13, tzinfo=UTC)
    assert get(world, "alice", one)[0] == 403
    Access.objects.create(team=world.teams["Rigi"], phase="final", invited=True)
    assert get(world, "alice", one)[0] == 200
    assert get(world, "carol", one)[0] == 403
    assert "only the best of" in world.client("carol").get("/c/neck/data/").content.decode()


def test_data_of_a_phase_that_nobody_knows_do_not_exist(world) -> None:
    one = release(world, "final", title="Secret images")
    for name in ("stranger", "alice", "reader"):
        assert "Secret images" not in world.client(name).get("/c/neck/data/").content.decode()
    assert get(world, "alice", one)[0] == 404
    assert world.client("alice").get(f"/c/neck/data/{one.pk}/").status_code == 404
    assert world.client("alice").post(f"{address(world, one)}licence/").status_code == 404


def test_the_licence_is_accepted_in_its_words_and_again_when_they_change(world) -> None:
    one = release(world, licence="For this challenge only.")
    status, body, _ = get(world, "alice", one)
    assert status == 403
    assert b"Accept the licence" in body
    client = world.client("alice")
    words = hashlib.sha256(b"For this challenge only.").hexdigest()
    accept = f"{address(world, one)}licence/"
    client.post(accept, {"licence": "0" * 64, "accepted": "yes"})
    client.post(accept, {"licence": words})
    assert LicenceAcceptance.objects.count() == 0
    for _ in range(2):
        client.post(accept, {"licence": words, "accepted": "yes"})
    assert LicenceAcceptance.objects.get().licence_sha256 == words
    assert get(world, "alice", one)[0] == 200
    assert get(world, "bob", one)[0] == 403
    Release.objects.update(licence="For nothing.")
    assert get(world, "alice", one)[0] == 403
    assert "The licence has changed" in client.get("/c/neck/data/").content.decode()


def test_who_may_not_have_data_cannot_accept_a_licence(world) -> None:
    one = release(world, licence="x")
    assert world.client("stranger").post(f"{address(world, one)}licence/").status_code == 403
    assert world.client("alice").get(f"{address(world, one)}licence/").status_code == 405


def test_every_download_is_kept(world) -> None:
    one = release(world)
    get(world, "alice", one)
    get(world, "organiser", one)
    get(world, "alice", one, Range="bytes=10000-")
    rows = list(Download.objects.order_by("pk").values_list("user__name", "what", "size"))
    assert rows == [
        ("Alice", "Data of all phases: data.zip", len(CONTENT)),
        ("Organiser", "Data of all phases: data.zip", len(CONTENT)),
        ("Alice", "Data of all phases: data.zip, bytes 10000–10239", 240),
    ]
    world.client("alice").head(address(world, one)).close()
    world.client("alice").get("/c/neck/data/")
    assert Download.objects.count() == 3


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-9", 206, slice(0, 10)),
        ("bytes=10-", 206, slice(10, None)),
        ("bytes=-5", 206, slice(-5, None)),
        ("bytes=10239-99999", 206, slice(10239, None)),
        ("bytes=0-", 200, slice(None)),
        ("bytes=-99999", 200, slice(None)),
        ("bytes=10240-", 416, slice(0, 0)),
        ("bytes=-0", 416, slice(0, 0)),
        ("bytes=5-2", 200, slice(None)),
        ("bytes=0-1,5-6", 200, slice(None)),
        ("bytes=-", 200, slice(None)),
        ("lines=0-9", 200, slice(None)),
        ("bytes=a-b", 200, slice(None)),
        (f"bytes={'9' * 5000}-", 200, slice(None)),
        (f"bytes={'9' * 18}-", 416, slice(0, 0)),
        ("bytes=\u0661-", 200, slice(None)),
    ],
)
def test_a_download_goes_on_where_it_broke_off(world, asked: str, status: int, part: slice) -> None:
    found, body, answer = get(world, "alice", release(world), Range=asked)
    assert (found, body) == (status, CONTENT[part])
    if status == 206:
        first = part.indices(len(CONTENT))[0]
        assert answer["Content-Range"] == f"bytes {first}-{first + len(body) - 1}/{len(CONTENT)}"
        assert answer["Content-Length"] == str(len(body))
    if status == 416:
        assert answer["Content-Range"] == f"bytes */{len(CONTENT)}"


def test_what_changed_meanwhile_is_sent_whole(world) -> None:
    one = release(world)
    assert get(world, "alice", one, **{"Range": "bytes=5-", "If-Range": f'"{one.sha256}"'})[0] == 206
    assert get(world, "alice", one, **{"Range": "bytes=5-", "If-Range": '"another"'})[:2] == (200, CONTENT)


def test_a_program_downloads_with_a_token(world) -> None:
    one = release(world)
    _, secret = Token.make(world.people["alice"], "laptop")
    assert get(world, "", one, Authorization=f"Bearer {secret}")[:2] == (200, CONTENT)
    assert Download.objects.get().user == world.people["alice"]
    assert get(world, "", one, Authorization="Bearer iso_wrong")[0] == 401
    _, other = Token.make(world.people["stranger"], "laptop")
    assert get(world, "", one, Authorization=f"Bearer {other}")[0] == 403
    page = world.client("alice").get("/c/neck/data/").content.decode()
    assert f"http://testserver{address(world, one)}" in page
    assert one.sha256 in page


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("data.zip", "data.zip"),
        ("../../etc/passwd", "passwd"),
        ("C:\\x\\train set (2).zip", "train set (2).zip"),
        ('a"; rm -rf $HOME\n.zip', "a__ rm -rf _HOME_.zip"),
        ("--output", "output"),
        ("..", "data"),
        ("Ö-ü.nii.gz", "Ö-ü.nii.gz"),
    ],
)
def test_the_name_of_a_file_is_safe(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_the_file_comes_under_its_safe_name_and_as_a_file(world) -> None:
    _, _, answer = get(world, "alice", release(world, name='../"x".html'))
    assert answer["Content-Disposition"] == 'attachment; filename="_x_.html"'
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["X-Content-Type-Options"] == "nosniff"


def test_a_release_cannot_lead_out_of_the_folder_of_data(world) -> None:
    one = release(world, file="../../secret")
    with pytest.raises(ValueError, match="no file within"):
        get(world, "alice", one)
    Release.objects.update(file="releases/neck/gone.zip")
    assert get(world, "alice", one)[0] == 404
    assert Download.objects.count() == 0


def test_an_organiser_who_looks_as_a_participant_takes_nothing(world) -> None:
    one = release(world)
    assert world.client("organiser").get(f"{address(world, one)}?as=participant").status_code == 403
    assert Download.objects.count() == 0


COHORT = [
    {"phase": "", "case": "TRAIN1", "centre": "Basel"},
    {"phase": "validation", "case": "VAL1", "centre": "Bern"},
    {"phase": "test", "case": "TEST1", "centre": "Chur"},
    {"phase": "final", "case": "LAST1", "centre": "Davos"},
]


def cases(world: Any, name: str) -> set[str]:
    page = world.client(name).get("/c/neck/data/").content.decode()
    return {value for row in COHORT for value in (row["case"], row["centre"]) if value in page}


def test_cases_are_listed_with_the_data_and_what_is_known_of_them_with_the_results(world) -> None:
    Version.objects.update(cohort=COHORT)
    assert cases(world, "") == cases(world, "stranger") == set()
    assert cases(world, "alice") == {"TRAIN1", "Basel", "VAL1", "Bern"}
    world.at.now = datetime(2026, 4, 2, tzinfo=UTC)
    assert cases(world, "alice") == {"TRAIN1", "Basel", "VAL1", "Bern", "TEST1"}
    world.at.now = datetime(2026, 5, 13, tzinfo=UTC)
    assert "LAST1" not in cases(world, "alice")
    assert len(cases(world, "organiser")) == 8


@pytest.mark.parametrize("own", [True, False])
def test_a_case_of_no_phase_is_shown_as_the_phase_that_shows_least_of_it(world, own: bool) -> None:
    cohort = [{"phase": "", "case": name, "grade": f"G-{name}"} for name in ("CHUV001", "TRAIN1")]
    Version.objects.update(cohort=cohort)
    if own:  # also where the manifest names no phase, but the reference is one of a phase
        Reference.objects.exclude(phase="validation").update(cases=["CHUV001"])
        Reference.objects.filter(phase="validation").update(cases=["VAL1"])
    else:
        Reference.objects.filter(phase="final").delete()
        Reference.objects.filter(phase="test").update(phase="")

    def seen(name: str) -> set[str]:
        page = world.client(name).get("/c/neck/data/").content.decode()
        return {word for row in cohort for word in (f">{row['case']}<", row["grade"]) if word in page}

    training = {">TRAIN1<", "G-TRAIN1"} if own else set()
    assert seen("") == seen("stranger") == set()
    assert seen("alice") == training
    world.at.now = datetime(2026, 4, 2, tzinfo=UTC)  # the hidden test is open, its data are there
    assert seen("alice") == training | ({">CHUV001<"} if own else {">CHUV001<", ">TRAIN1<"})
    assert len(seen("organiser")) == 4


def test_a_reader_gets_no_data_even_if_registered(world) -> None:
    Role.objects.create(user=world.people["alice"], challenge=world.challenge, kind=Role.Kind.READER)
    assert get(world, "alice", release(world, "validation"))[0] == 403


def test_without_data_the_page_says_what_to_expect(world) -> None:
    assert "No data are offered here yet" in world.client("alice").get("/c/neck/data/").content.decode()


def accepts(world, name: str, one: Release) -> None:
    words = hashlib.sha256(one.licence.encode()).hexdigest()
    world.client(name).post(f"{address(world, one)}licence/", {"licence": words, "accepted": "yes"})


def withdraw(world, one: Release) -> None:
    sent = {"withdraw": "1", "reason": "A name was in it."}
    assert world.client("organiser").post(f"/c/neck/organise/data/releases/{one.key}/", sent).status_code == 302
    assert not Release.objects.filter(pk=one.pk).exists()


def test_who_accepted_a_licence_stays_known_when_the_data_are_withdrawn(world) -> None:
    one = release(world, title="Images", licence="For this challenge only.")
    accepts(world, "alice", one)
    withdraw(world, one)
    kept = LicenceAcceptance.objects.get()
    assert (kept.user.name, kept.title, kept.licence) == ("Alice", "Images", "For this challenge only.")
    assert (kept.challenge, kept.release) == (world.challenge, None)
    table = world.client("organiser").get("/c/neck/organise/downloads/", {"format": "licences"}).content.decode()
    assert "Alice <alice@example.org>,Images" in table
    assert "For this challenge only." in table
    assert world.client("alice").get("/c/neck/organise/downloads/", {"format": "licences"}).status_code == 403


def test_what_takes_the_place_of_withdrawn_data_asks_again_only_in_other_words(world) -> None:
    old = release(world, licence="For this challenge only.")
    accepts(world, "alice", old)
    withdraw(world, old)
    same = release(world, licence="For this challenge only.")
    assert get(world, "alice", same)[0] == 200
    assert get(world, "bob", same)[0] == 403
    other = release(world, licence="For nothing.")
    assert get(world, "alice", other)[0] == 403


def test_each_of_several_licences_is_accepted_by_itself(world) -> None:
    one, two = (release(world, licence="For this challenge only.") for _ in range(2))
    accepts(world, "alice", one)
    assert get(world, "alice", one)[0] == 200
    assert get(world, "alice", two)[0] == 403


@pytest.mark.parametrize("part", [slice(0, None), slice(1, None), slice(10, 20)])
def test_a_slow_reader_holds_no_thread(rf, tmp_path, part: slice) -> None:
    """A server that knows a file sends it by itself, from where it stands and for as long as it is."""
    from waitress.buffers import ReadOnlyFileBasedBuffer

    path = tmp_path / "big"
    path.write_bytes(CONTENT)
    last = "" if part.stop is None else part.stop - 1
    response = send(rf.get("/", headers={"Range": f"bytes={part.start}-{last}"}), path, name="x", sha256="0").response
    sent = ReadOnlyFileBasedBuffer(response.file_to_stream)
    assert sent.prepare(int(response["Content-Length"])) == len(CONTENT[part])
    assert sent.get(4, skip=True) + sent.get() == CONTENT[part]
    sent.close()
