"""How submissions come in: hostile files cost nothing, the last attempt is given once, nothing is ever half done."""

from __future__ import annotations

import io
import sqlite3
import stat
import threading
import zipfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.db import connection, connections
from django.http import Http404

from conftest import CASES, T0, World, zipped
from isocenter.server import files
from isocenter.server.models import (
    Challenge,
    Decision,
    Grant,
    Membership,
    Notification,
    Reference,
    Registration,
    Role,
    Run,
    Submission,
    Upload,
    Version,
)
from isocenter.server.policy import Visit
from isocenter.server.submitting import intake, limits, looking, uploads
from isocenter.server.work import queue
from isocenter.server.work.outlook import outlooks

DECLARED = """
[[declarations]]
name = "external_data"
label = "External data"
kind = "text"
required = true

[[declarations]]
name = "pretrained"
label = "Networks trained before"
kind = "yes-no"
required = true
"""


@pytest.fixture(autouse=True)
def uncounted() -> None:
    cache.clear()


@pytest.fixture
def on_disk(transactional_db: None, tmp_path: Path) -> Iterator[None]:
    """SQLite in a file, as on a site: one in memory knows other locks. Nothing for another database."""
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    path = tmp_path / "site.sqlite3"
    with sqlite3.connect(path) as copy:
        connection.connection.backup(copy)
    copy.close()
    in_memory = connections["default"]
    settings = connections.settings["default"]
    before, settings["NAME"] = settings["NAME"], str(path)
    connections["default"] = connections.create_connection("default")
    yield
    connections["default"].close()
    settings["NAME"] = before
    connections["default"] = in_memory


def visit(world: World, name: str = "alice") -> Visit:
    return Visit(world.people[name], Challenge.objects.get(pk=world.challenge.pk))


def sent(
    world: World, content: bytes, *, name: str = "alice", phase: str = "validation", file: str = "t.zip"
) -> Upload:
    upload = uploads.begin(
        world.people[name],
        challenge=world.challenge,
        phase=phase,
        purpose="submission",
        name=file,
        size=len(content),
    )
    uploads.append(upload, io.BytesIO(content), offset=0, length=len(content))
    return upload


def good(world: World, size: int = 4) -> bytes:
    return zipped(dict.fromkeys(CASES, size), world.scratch / f"good{size}")


def handed(world: World, size: int = 4, *, name: str = "alice", phase: str = "validation", **more: Any) -> Submission:
    upload = sent(world, good(world, size), name=name, phase=phase)
    return intake.submit(visit(world, name), phase, upload, declarations={}, **more)


def new_version(world: World, change: Callable[[str], str]) -> None:
    """The challenge with another toml, as organisers save it."""
    old = world.challenge.version
    number = Version.objects.filter(challenge=world.challenge).count() + 1
    version = Version.objects.create(challenge=world.challenge, number=number, toml=change(old.toml), pages=old.pages)
    world.challenge.version = version
    world.challenge.save()


def test_a_good_file_becomes_a_submission_in_the_queue(world, django_capture_on_commit_callbacks):
    content = good(world)
    upload = sent(world, content, file="rigi final.zip")
    with django_capture_on_commit_callbacks(execute=True):
        one = intake.submit(visit(world), "validation", upload, declarations={}, comment="first\n try ")
    assert (one.pk, one.number, one.team.name, one.phase, one.state) == (upload.pk, 1, "Rigi", "validation", "queued")
    assert (one.name, one.size, one.sha256, one.comment) == (upload.name, len(content), upload.sha256, "first try")
    assert (one.author, one.version, one.made) == (world.people["alice"], world.challenge.version, world.at.now)
    assert files.at(one.file).read_bytes() == content
    assert not uploads.path_of(upload).exists()
    run = Run.objects.get()
    assert (run.kind, run.submission, run.state) == ("score", one, "queued")
    assert outlooks(visit(world), [run])[run.pk].place == 1
    assert intake.quota(visit(world), "validation").left == 2
    # Who shares the attempts is told; who handed in knows.
    assert [(n.user, n.text) for n in Notification.objects.all()] == [
        (world.people["bob"], "Alice handed in submission 1 to Validation.")
    ]
    assert handed(world, 3, name="bob").number == 2


def test_cases_without_a_file_refuse_unless_they_are_meant(world):
    content = zipped({"CHUV001": 4}, world.scratch / "one")
    upload = sent(world, content)
    with pytest.raises(intake.Refused, match="2 cases have no usable output") as refused:
        intake.submit(visit(world), "validation", upload, declarations={})
    assert refused.value.gaps
    assert [problem.case for problem in refused.value.problems] == ["CHUV002", "CHUV003"]
    assert not Submission.objects.exists()
    one = intake.submit(visit(world), "validation", upload, declarations={}, gaps=True)
    assert [(p["severity"], p["case"], p["reason"]) for p in one.problems] == [
        ("missing", "CHUV002", "missing_output"),
        ("missing", "CHUV003", "missing_output"),
    ]


def members(*names: str, content: bytes = b"x") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
    return stream.getvalue()


def with_good(world: World, add: Callable[[zipfile.ZipFile], None]) -> bytes:
    stream = io.BytesIO(good(world))
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED) as archive:
        add(archive)
    return stream.getvalue()


def symlink(world: World) -> bytes:
    info = zipfile.ZipInfo("CHUV009.nii.gz")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return with_good(world, lambda archive: archive.writestr(info, "/etc/passwd"))


def encrypted(world: World) -> bytes:
    content = bytearray(good(world))
    at = content.rindex(b"PK\x01\x02")
    content[at + 8] |= 1
    return bytes(content)


def nul(world: World) -> bytes:
    # A reader cuts the name at the zero byte, so two members have one name.
    return members("CHUV001.nii.gz", "CHUV001.nii.gzXtxt").replace(b"gzXtxt", b"gz\0txt")


def overlapping(world: World) -> bytes:
    content = bytearray(good(world))
    at = content.rindex(b"PK\x01\x02")
    content[at + 42 : at + 46] = (0).to_bytes(4, "little")
    return bytes(content)


def lying(world: World) -> bytes:
    content = bytearray(good(world))
    at = content.rindex(b"PK\x01\x02")
    content[at + 24 : at + 28] = (0xF0000000).to_bytes(4, "little")
    return bytes(content)


def twice(world: World) -> bytes:
    return good(world).replace(b"CHUV003.nii.gz", b"CHUV002.nii.gz")


def endless_list(world: World) -> bytes:
    content = bytearray(good(world))
    at = content.rindex(b"PK\x05\x06")
    content[at + 12 : at + 16] = (0x7FFFFFFF).to_bytes(4, "little")
    return bytes(content)


HOSTILE: dict[str, tuple[Callable[[World], bytes], str]] = {
    "not a zip": (lambda _: b"GIF89a" * 50, "neither a folder nor a zip archive"),
    "cut off": (lambda w: good(w)[:-30], "neither a folder nor a zip archive"),
    "empty": (lambda _: members(), "holds no output for any of the 3 cases"),
    "traversal": (lambda w: with_good(w, lambda a: a.writestr("../../x.nii.gz", b"")), "leads out of the archive"),
    "absolute": (lambda w: with_good(w, lambda a: a.writestr("/etc/cron.d/x", b"")), "leads out of the archive"),
    "drive": (lambda w: with_good(w, lambda a: a.writestr("C:\\x.nii.gz", b"")), "leads out of the archive"),
    "symbolic link": (symlink, "a symbolic link"),
    "encrypted": (encrypted, "protected by a password"),
    "nested": (lambda w: with_good(w, lambda a: a.writestr("more/inner.ZIP", b"PK")), "an archive inside the zip"),
    "nested tar": (lambda w: with_good(w, lambda a: a.writestr("x.tar.gz", b"")), "an archive inside the zip"),
    "zero byte": (nul, "stands in the archive more than once"),
    "same name twice": (twice, "stands in the archive more than once"),
    "overlapping": (overlapping, "shares its bytes with"),
    "more than deflate can": (lying, "claims to inflate"),
    "bomb": (lambda _: members("CHUV001.nii.gz", content=bytes(300 << 20)), "MB when unpacked"),
    "many members": (lambda _: members(*(f"{i}.txt" for i in range(1100))), "an answer to 3 cases has at most 1,030"),
    "endless list": (endless_list, "its list of members has 2,147,483,647 bytes"),
    "long list": (lambda _: members(*(f"../{i:010}" for i in range(10_000))), "that of an answer has at most 527,360"),
    "other cases": (lambda _: members("CHUM001.nii.gz", "CHUM002.nii.gz"), "holds no output for any of the 3 cases"),
    "wrong kind": (lambda _: members(*(f"{case}.png" for case in CASES)), "no file of the right name and kind"),
}


@pytest.mark.parametrize("names", [(), ("folder/",), ("readme.txt",)])
def test_that_no_case_has_a_file_is_said_once(world, names):
    with pytest.raises(intake.Refused) as refused:
        intake.submit(visit(world), "validation", sent(world, members(*names)), declarations={})
    whole = [problem for problem in refused.value.problems if problem.severity == "refused"]
    assert [problem.message for problem in whole] == ["holds no output for any of the 3 cases; is it the right folder?"]


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_before_anything_counts(world, kind):
    make, message = HOSTILE[kind]
    upload = sent(world, make(world), file="team.zip")
    before = intake.quota(visit(world), "validation")
    with pytest.raises(intake.Refused) as error:
        intake.submit(visit(world), "validation", upload, declarations={})
    refused = [problem for problem in error.value.problems if problem.severity == "refused"]
    assert any(message in problem.message for problem in refused), error.value.problems
    assert error.value.reasons == ["The file was not accepted; nothing was scored and no attempt was used."]
    # The name is the one that the file had where it comes from.
    assert str(upload.pk) not in repr(error.value.problems)
    assert not Submission.objects.exists()
    assert not Run.objects.exists()
    assert intake.quota(visit(world), "validation") == before
    assert uploads.path_of(upload).exists()
    assert Upload.objects.get().taken is None
    assert not list(files.at("submissions").glob("*"))


def test_everything_that_is_wrong_is_said_at_once(world):
    new_version(world, lambda toml: toml + DECLARED)
    content = with_good(world, lambda a: (a.writestr("../a", b""), a.writestr("b.zip", b"")))  # type: ignore[func-returns-value]
    for size in (1, 2, 3):
        world.submission("Rigi", "validation", size)
    upload = sent(world, content)
    with pytest.raises(intake.Refused) as error:
        intake.submit(visit(world), "validation", upload, declarations={"pretrained": "perhaps", "extra": "x"})
    assert len(error.value.problems) == 2
    reasons = error.value.reasons
    assert reasons[0].startswith("No attempt is left: 3 of 3 attempts in any seven days used")
    assert reasons[1].startswith("The file was not accepted")
    assert reasons[2] == "External data: is missing; this question needs an answer."
    assert reasons[3].startswith("Networks trained before:")
    assert '"extra" is no question of this form' in reasons[4]


def test_of_many_problems_as_many_are_said_as_somebody_reads(world):
    upload = sent(world, members(*(f"../{number}" for number in range(1000))))
    with pytest.raises(intake.Refused) as error:
        intake.submit(visit(world), "validation", upload, declarations={})
    assert len(error.value.problems) == looking.MOST_TOLD + 1
    assert error.value.problems[-1].message == "and 700 more problems, which are not listed"


def test_who_hands_in_too_often_has_to_wait(world, monkeypatch):
    monkeypatch.setattr(limits, "HANDED_IN", limits.Limit("handed-in", 2, seconds=600))
    client, upload = world.client("alice"), sent(world, b"no zip")
    asked = {"upload": str(upload.pk)}
    api = "/api/v1/challenges/neck/phases/validation/submissions"
    assert client.post("/c/neck/submit/validation/", asked).status_code == 422
    assert client.post(api, asked, content_type="application/json").status_code == 422
    assert client.post(api, asked, content_type="application/json").status_code == 429
    page = client.post("/c/neck/submit/validation/", asked)
    assert page.status_code == 429
    assert "at most 2 in 10 minutes" in page.content.decode()
    other = sent(world, b"no zip", name="bob")
    assert world.client("bob").post("/c/neck/submit/validation/", {"upload": str(other.pk)}).status_code == 422


def test_a_team_of_which_much_came_to_nothing_waits_until_the_first_is_a_day_old(world):
    for number in range(limits.FOR_NOTHING.most):
        state = ("refused", "cancelled", "failed")[number % 3]
        world.submission("Rigi", "test" if number % 2 else "validation", state=state)
        world.at.move(minutes=1)
    Submission.objects.filter(state="failed").update(phase="final")  # elsewhere: they are no attempts of this phase
    with pytest.raises(intake.Refused) as error:
        handed(world)
    assert error.value.reasons == [
        "20 submissions of your team came to nothing within 24 hours. The next one can be handed in on "
        "3 March 2026, 12:00 UTC; if that is too late, ask the organisers."
    ]
    assert handed(world, name="carol").team.name == "Pilatus"
    excepted = Submission.objects.filter(state="refused").first()
    Submission.objects.filter(pk=excepted.pk).update(excepted=True)  # as organisers decide
    assert handed(world).state == "queued"
    Submission.objects.filter(pk=excepted.pk).update(excepted=False)
    with pytest.raises(intake.Refused, match="came to nothing"):
        handed(world, 5)
    world.at.now = T0 + timedelta(days=1)
    assert handed(world, 5).state == "queued"


def test_what_the_machines_lost_is_no_reason_to_wait(world):
    for _ in range(limits.FOR_NOTHING.most):
        world.submission("Rigi", "validation", state="infrastructure")
    assert handed(world).state == "queued"


def test_declarations_are_kept_as_they_are_checked(world):
    new_version(world, lambda toml: toml + DECLARED)
    upload = sent(world, good(world))
    said = {"external_data": " none ", "pretrained": "no"}
    one = intake.submit(visit(world), "validation", upload, declarations=said)
    one.refresh_from_db()
    assert one.declarations == {"external_data": "none", "pretrained": False}


def test_a_file_of_somebody_else_or_for_something_else_is_not_handed_in(world):
    upload = sent(world, good(world))
    for name in ("bob", "carol", "organiser"):
        with pytest.raises(Http404):
            intake.submit(visit(world, name), "validation", upload, declarations={})
    with pytest.raises(Http404):
        intake.submit(visit(world), "final", upload, declarations={})
    world.at.move(days=31)
    other = sent(world, good(world), phase="test")
    Upload.objects.filter(pk=other.pk).update(phase="validation")
    other.refresh_from_db()
    with pytest.raises(intake.Refused, match="sent for something else"):
        intake.submit(visit(world), "test", other, declarations={})
    with pytest.raises(intake.Refused, match="closed since"):
        intake.submit(visit(world), "validation", upload, declarations={})


def test_an_upload_that_is_not_complete_is_not_handed_in(world):
    upload = uploads.begin(
        world.people["alice"],
        challenge=world.challenge,
        phase="validation",
        purpose="submission",
        name="t.zip",
        size=100,
    )
    uploads.append(upload, io.BytesIO(b"x" * 40), offset=0, length=40)
    with pytest.raises(intake.Refused, match="40 of 100 bytes"):
        intake.submit(visit(world), "validation", upload, declarations={})


def test_an_upload_is_handed_in_once(world):
    upload = sent(world, good(world))
    intake.submit(visit(world), "validation", upload, declarations={})
    with pytest.raises(intake.Refused, match="already"):
        intake.submit(visit(world), "validation", Upload.objects.get(), declarations={})
    assert Submission.objects.count() == 1


def test_the_same_file_again_has_to_be_meant_and_other_teams_are_no_matter(world):
    handed(world)
    with pytest.raises(intake.Refused) as error:
        handed(world, name="bob")
    assert error.value.twice == 1
    assert "as submission 1" in error.value.reasons[0]
    assert handed(world, again=True).number == 2
    assert handed(world, name="carol").number == 1  # the same bytes, and not a word about it


def test_the_same_file_after_a_cancelled_one_is_no_repetition(world):
    intake.cancel(visit(world), handed(world))
    assert handed(world).number == 2


def test_attempts_are_seen_by_the_quota_as_what_became_of_them(world):
    states = Submission.State
    for state in states:
        world.submission("Rigi", "validation", state=state)
    world.submission("Rigi", "validation", state=states.SCORED, excepted=True)
    world.submission("Pilatus", "validation", state=states.SCORED)
    world.submission("Rigi", "test", state=states.SCORED)
    attempts = intake.attempts_of(world.teams["Rigi"], "validation")
    outcomes = sorted(one.outcome for one in attempts)
    assert outcomes == sorted(
        ["running", "running", "scored", "refused", "failed", "infrastructure", "cancelled", "scored"]
    )
    left = intake.quota(visit(world), "validation")
    assert (left.used, left.given_back, left.left) == (3, 4, 0)  # queued, running and scored; the failed one is beyond


@pytest.mark.parametrize("refund", ["infrastructure", "failed", "none"])
def test_a_failure_of_the_machines_never_costs_an_attempt(world, refund):
    new_version(world, lambda toml: toml.replace('counts = "best"', f'counts = "best"\nrefund = "{refund}"'))
    world.submission("Rigi", "validation", state=Submission.State.INFRASTRUCTURE)
    assert intake.quota(visit(world), "validation").left == 3


def test_what_organisers_grant_is_added(world):
    for size in (1, 2, 3):
        handed(world, size)
    with pytest.raises(intake.Refused, match="No attempt is left"):
        handed(world, 4)
    for extra in (1, 2):
        Grant.objects.create(team=world.teams["Rigi"], phase="validation", extra=extra, reason="a disk was full")
    Grant.objects.create(team=world.teams["Rigi"], phase="test", extra=9, reason="elsewhere")
    assert intake.quota(visit(world), "validation").left == 3
    assert handed(world, 4).number == 4
    assert intake.quota(visit(world), "validation").left == 2
    assert intake.quota(visit(world, "organiser"), "validation", world.teams["Rigi"]).left == 2


def test_a_week_later_there_is_room_again_and_numbers_go_on(world):
    for size in (1, 2, 3):
        handed(world, size)
    world.at.move(days=7)
    assert handed(world, 4).number == 4


def test_who_may_not_submit_is_told_why(world):
    upload = sent(world, good(world))
    world.teams["Rigi"].disqualified = True
    world.teams["Rigi"].save()
    with pytest.raises(intake.Refused, match="disqualified"):
        intake.submit(visit(world), "validation", upload, declarations={})
    assert uploads.path_of(upload).exists()


def test_a_team_that_was_left_while_the_file_was_looked_at_gets_nothing(world, monkeypatch):
    upload = sent(world, good(world))
    look = looking.at_zip

    def leaves(*args: Any) -> Any:
        Membership.objects.filter(user=world.people["alice"]).update(team=world.teams["Pilatus"])
        return look(*args)

    monkeypatch.setattr(looking, "at_zip", leaves)
    with pytest.raises(intake.Refused, match="no longer in this team"):
        intake.submit(visit(world), "validation", upload, declarations={})
    assert not Submission.objects.exists()


def test_without_a_reference_nothing_is_taken(world):
    upload = sent(world, good(world))
    Reference.objects.filter(phase="validation").delete()
    with pytest.raises(intake.Refused, match="have not put the reference"):
        intake.submit(visit(world), "validation", upload, declarations={})
    reference = Reference.objects.get(phase="test")
    Reference.objects.filter(pk=reference.pk).update(phase="")  # one for every phase
    assert intake.submit(visit(world), "validation", upload, declarations={}).number == 1


def test_a_reference_that_is_broken_is_not_the_fault_of_the_team(world):
    upload = sent(world, good(world))
    for path in files.at(world.references["validation"].folder).iterdir():
        path.write_bytes(b"broken")
    with pytest.raises(intake.Refused, match="tell them"):
        intake.submit(visit(world), "validation", upload, declarations={})
    assert not Submission.objects.exists()


@pytest.mark.parametrize("where", ["enqueue", "create"])
def test_when_something_fails_nothing_is_half_done(world, monkeypatch, where):
    content = good(world)
    upload = sent(world, content)

    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError(where)

    with monkeypatch.context() as broken:
        if where == "enqueue":
            broken.setattr(queue, "enqueue", fails)
        else:
            broken.setattr(Submission.objects, "create", fails)
        with pytest.raises(RuntimeError):
            intake.submit(visit(world), "validation", upload, declarations={})
    assert not Submission.objects.exists()
    assert not Run.objects.exists()
    assert not list(files.at("submissions").glob("*"))
    assert uploads.path_of(upload).read_bytes() == content
    assert intake.submit(visit(world), "validation", Upload.objects.get(), declarations={}).number == 1


def test_a_server_killed_between_file_and_database_stands_in_nobodys_way(world):
    upload = sent(world, good(world))
    files.at("submissions").mkdir()
    files.at(f"submissions/{upload.pk}.zip").hardlink_to(uploads.path_of(upload))
    assert intake.submit(visit(world), "validation", upload, declarations={}).number == 1


def test_a_team_cancels_what_waits_and_no_other_does(world):
    one = handed(world)
    with pytest.raises(Http404):
        intake.cancel(visit(world, "carol"), one)
    intake.cancel(visit(world, "bob"), one)
    assert (one.state, one.reason, Run.objects.get().state) == ("cancelled", "cancelled", "cancelled")
    assert intake.quota(visit(world), "validation").left == 3
    assert not Decision.objects.exists()
    with pytest.raises(intake.Refused, match="nothing to cancel"):
        intake.cancel(visit(world), one)


def test_organisers_cancel_with_a_record_and_it_costs_the_team_nothing(world):
    new_version(world, lambda toml: toml.replace('counts = "best"', 'counts = "best"\nrefund = "none"'))
    one = handed(world)
    intake.cancel(visit(world, "organiser"), one, reason="sent by mistake")
    assert intake.quota(visit(world), "validation").left == 3
    assert [(d.what, d.subject, d.reason) for d in Decision.objects.all()] == [
        ("cancel", "Rigi, validation, submission 1", "sent by mistake")
    ]


@pytest.mark.parametrize("reason", ["", " \n\t "])
def test_organisers_cancel_nothing_without_a_reason(world, reason):
    one = handed(world)
    with pytest.raises(intake.Refused, match="Say why"):
        intake.cancel(visit(world, "organiser"), one, reason=reason)
    one.refresh_from_db()
    assert (one.state, one.excepted, Run.objects.get().state) == ("queued", False, "queued")
    assert not Decision.objects.exists()


def test_a_team_is_told_why_organisers_cancel(world):
    intake.cancel(visit(world, "organiser"), handed(world), reason="sent by mistake")
    told = Notification.objects.filter(text__contains="sent by mistake")
    assert {row.user.name for row in told} == {world.people[name].name for name in ("alice", "bob")}


def test_a_team_does_not_stop_what_organisers_evaluate_again(world):
    one = world.submission("Rigi", "validation", state=Submission.State.SCORED)
    run = queue.enqueue(Run.Kind.SCORE, world.challenge, submission=one)
    with pytest.raises(intake.Refused):
        intake.cancel(visit(world), one)
    run.refresh_from_db()
    assert run.state == "queued"


def test_a_team_chooses_one_where_teams_choose_until_the_phase_closes(world):
    one, two = (world.submission("Rigi", "validation", state=Submission.State.SCORED) for _ in range(2))
    with pytest.raises(intake.Refused, match="do not choose"):
        intake.nominate(visit(world), one)
    new_version(world, lambda toml: toml.replace('counts = "best"', 'counts = "chosen"'))
    other = world.submission("Pilatus", "validation", state=Submission.State.SCORED, nominated=True)
    intake.nominate(visit(world), one)
    intake.nominate(visit(world, "bob"), two)
    assert set(Submission.objects.filter(nominated=True)) == {two, other}
    assert Run.objects.filter(kind="board").exists()
    failed = world.submission("Rigi", "validation", state=Submission.State.FAILED)
    with pytest.raises(intake.Refused, match="cannot count"):
        intake.nominate(visit(world), failed)
    with pytest.raises(Http404):
        intake.nominate(visit(world, "carol"), one)
    with pytest.raises(PermissionDenied, match="members of the team"):
        intake.nominate(visit(world, "organiser"), one)
    world.at.now = world.challenge.edition.phases[0].closes
    with pytest.raises(intake.Refused, match="closed"):
        intake.nominate(visit(world), one)


def in_threads(count: int, act: Callable[[int], Any]) -> list[Any]:
    """What every thread got, or raised; all begin at once, each with a connection of its own."""
    begin, found = threading.Barrier(count), [None] * count

    def run(number: int) -> None:
        try:
            begin.wait(30)
            found[number] = act(number)
        except Exception as error:
            found[number] = error  # type: ignore[call-overload]
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


@pytest.mark.django_db(transaction=True)
def test_of_several_who_want_the_last_attempt_exactly_one_gets_it(on_disk, world):
    for size in (1, 2):
        handed(world, size)
    names = ["alice", "bob"] * 3
    ready = [
        sent(world, zipped({"CHUV001": n + 1}, world.scratch / f"t{n}"), name=name) for n, name in enumerate(names)
    ]

    def submit(number: int) -> Submission:
        return intake.submit(visit(world, names[number]), "validation", ready[number], declarations={}, gaps=True)

    found = in_threads(len(names), submit)
    taken = [one for one in found if isinstance(one, Submission)]
    refused = [one for one in found if isinstance(one, intake.Refused)]
    assert (len(taken), len(refused)) == (1, len(names) - 1), found
    assert all("No attempt is left" in one.reasons[0] for one in refused)
    assert sorted(Submission.objects.values_list("number", flat=True)) == [1, 2, 3]
    assert Run.objects.count() == 3
    assert {path.name for path in files.at("submissions").iterdir()} == {
        f"{s.pk}.zip" for s in Submission.objects.all()
    }
    assert Upload.objects.filter(taken=None).count() == len(names) - 1


@pytest.mark.django_db(transaction=True)
def test_one_upload_that_is_handed_in_by_many_at_once_is_one_submission(on_disk, world):
    upload = sent(world, good(world))
    found = in_threads(
        4, lambda _: intake.submit(visit(world), "validation", Upload.objects.get(pk=upload.pk), declarations={})
    )
    assert sum(isinstance(one, Submission) for one in found) == 1, found
    assert sum(isinstance(one, intake.Refused | uploads.UploadRefused) for one in found) == 3, found
    assert files.at(Submission.objects.get().file).exists()


@pytest.mark.django_db(transaction=True)
def test_what_goes_wrong_after_it_was_taken_takes_nothing_back(on_disk, world, monkeypatch):
    upload = sent(world, good(world))
    told: list[int] = []

    def fails(*_: Any) -> None:
        told.append(1)
        raise RuntimeError

    monkeypatch.setattr(intake, "_tell", fails)
    one = intake.submit(visit(world), "validation", upload, declarations={})
    assert told
    assert files.at(one.file).exists()
    assert Submission.objects.get() == one


@pytest.mark.django_db(transaction=True)
def test_pieces_of_one_file_that_come_at_once_are_written_once(on_disk, world):
    upload = sent_nothing(world, 3000)

    def piece(_: int) -> int:
        return uploads.append(Upload.objects.get(pk=upload.pk), io.BytesIO(b"x" * 1000), offset=0, length=1000)

    found = in_threads(6, piece)
    assert found.count(1000) == 1, found
    assert {one.status for one in found if isinstance(one, uploads.UploadRefused)} <= {409, 423}
    assert uploads.offset_of(upload) == 1000


def sent_nothing(world: World, size: int) -> Upload:
    return uploads.begin(
        world.people["alice"],
        challenge=world.challenge,
        phase="validation",
        purpose="submission",
        name="t.zip",
        size=size,
    )


def test_the_deadline_counts_when_it_is_handed_in_not_when_it_was_sent(world):
    world.at.now = world.challenge.edition.phases[0].closes - timedelta(seconds=1)
    upload = sent(world, good(world))
    world.at.move(seconds=1)
    with pytest.raises(intake.Refused, match="closed since"):
        intake.submit(visit(world), "validation", upload, declarations={})


@pytest.mark.parametrize("state", ["withdrawn", "refused"])
def test_who_no_longer_takes_part_is_not_told_of_submissions(world, state):
    one = handed(world, 3)
    intake._tell(visit(world), one)
    assert [told.user.name for told in Notification.objects.all()] == ["Bob"]
    Notification.objects.all().delete()
    Registration.objects.filter(user=world.people["bob"]).update(state=state)
    intake._tell(visit(world), one)
    assert not Notification.objects.exists()


def test_a_reader_hands_in_nothing_also_as_a_member_of_a_team(world):
    """They would see nothing of it."""
    Role.objects.create(user=world.people["bob"], challenge=world.challenge, kind="reader")
    assert "readers hand in nothing" in visit(world, "bob").admission("validation").reason
    with pytest.raises(PermissionDenied, match="readers"):
        sent(world, good(world), name="bob")
    upload = sent(world, good(world))
    Upload.objects.filter(pk=upload.pk).update(user=world.people["bob"])
    upload.refresh_from_db()
    with pytest.raises(intake.Refused, match="readers"):
        intake.submit(visit(world, "bob"), "validation", upload, declarations={})
    assert visit(world).admission("validation").yes  # the others of the team do
