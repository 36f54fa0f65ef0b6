"""Files on their way: they continue after whatever happened, belong to one person, and never lie about their size."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import Http404
from django.test import Client

from isocenter.server import files
from isocenter.server.models import Submission, Token, Upload
from isocenter.server.submitting import limits, uploads

TUS = {"Tus-Resumable": "1.0.0"}
PIECE = "application/offset+octet-stream"


def told(**said: str) -> str:
    return ",".join(f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in said.items())


def begun(client: Client, size: int, token: str = "", **said: str) -> Any:
    said = {"challenge": "neck", "phase": "validation", "filename": "team.zip"} | said
    headers = TUS | {"Upload-Length": str(size), "Upload-Metadata": told(**said)} | bearing(token)
    return client.post("/uploads/", headers=headers)


def bearing(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def patch(client: Client, where: str, offset: int, content: bytes, **headers: str) -> Any:
    headers = TUS | {"Upload-Offset": str(offset)} | {k.replace("_", "-"): v for k, v in headers.items()}
    return client.patch(where, content, content_type=PIECE, headers=headers)


def head(client: Client, where: str) -> Any:
    return client.head(where, headers=TUS)


def upload_of(response: Any) -> Upload:
    return Upload.objects.get(pk=response["Location"].rsplit("/", 1)[1])


CONTENT = os.urandom(5000)


@pytest.fixture(autouse=True)
def uncounted() -> None:
    """What earlier tests asked for does not count."""
    cache.clear()


def test_a_file_comes_in_pieces_and_its_hash_is_known_in_the_end(world):
    client = world.client("alice")
    response = begun(client, 5000)
    assert response.status_code == 201
    where = response["Location"]
    assert (head(client, where)["Upload-Offset"], head(client, where)["Upload-Length"]) == ("0", "5000")
    for start in (0, 2000, 4000):
        response = patch(client, where, start, CONTENT[start : start + 2000])
        assert (response.status_code, response["Upload-Offset"]) == (204, str(min(start + 2000, 5000)))
        assert response["Tus-Resumable"] == "1.0.0"
    found = Upload.objects.get()
    assert (found.name, found.received, found.phase, found.purpose) == ("team.zip", 5000, "validation", "submission")
    assert found.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert uploads.path_of(found).read_bytes() == CONTENT


def test_the_file_decides_how_much_is_there_whatever_the_row_says(world):
    client = world.client("alice")
    where = begun(client, 5000)["Location"]
    patch(client, where, 0, CONTENT[:3000])
    found = Upload.objects.get()
    # The server was killed after it wrote to the row but before the disk did, or the other way round.
    os.truncate(uploads.path_of(found), 1000)
    assert head(client, where)["Upload-Offset"] == "1000"
    assert patch(client, where, 3000, CONTENT[3000:]).status_code == 409
    assert patch(client, where, 1000, CONTENT[1000:]).status_code == 204
    assert uploads.path_of(found).read_bytes() == CONTENT


def test_a_server_that_is_killed_while_it_hashes_leaves_a_file_that_can_be_used(world):
    client = world.client("alice")
    where = begun(client, 5000)["Location"]
    patch(client, where, 0, CONTENT[:4000])
    found = Upload.objects.get()
    with uploads.path_of(found).open("ab") as file:
        file.write(CONTENT[4000:])
    assert head(client, where)["Upload-Offset"] == "5000"
    assert uploads.finished(found).sha256 == hashlib.sha256(CONTENT).hexdigest()


def test_what_came_before_the_connection_broke_is_kept(world):
    upload = upload_of(begun(world.client("alice"), 5000))

    class Broken:
        def __init__(self) -> None:
            self.blocks = [CONTENT[:1500]]

        def read(self, size: int, /) -> bytes:
            if self.blocks:
                return self.blocks.pop()
            raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        uploads.append(upload, Broken(), offset=0, length=5000)
    assert uploads.offset_of(upload) == Upload.objects.get().received == 1500


def test_a_piece_that_does_not_begin_at_the_end_or_is_too_long_changes_nothing(world):
    client = world.client("alice")
    where = begun(client, 5000)["Location"]
    patch(client, where, 0, CONTENT[:1000])
    assert patch(client, where, 0, CONTENT[:1000]).status_code == 409
    response = patch(client, where, 1000, CONTENT)
    assert response.status_code == 413
    assert response.json()["detail"] == "The file was announced with 5,000 bytes; with this piece it has 6,000."
    assert head(client, where)["Upload-Offset"] == "1000"


def test_a_damaged_piece_is_thrown_away(world):
    client = world.client("alice")
    where = begun(client, 5000)["Location"]
    good = "sha256 " + base64.b64encode(hashlib.sha256(CONTENT[:1000]).digest()).decode()
    assert patch(client, where, 0, CONTENT[:999] + b"?", Upload_Checksum=good).status_code == 460
    assert head(client, where)["Upload-Offset"] == "0"
    assert patch(client, where, 0, CONTENT[:1000], Upload_Checksum=good).status_code == 204
    for bad in ("md5 AAAA", "sha256 AAAA", "sha256 ???", "sha256"):
        assert patch(client, where, 1000, CONTENT[1000:], Upload_Checksum=bad).status_code == 400


def test_two_connections_never_mix_their_bytes(world):
    upload = upload_of(begun(world.client("alice"), 5000))
    inside, go_on = threading.Event(), threading.Event()

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            inside.set()
            go_on.wait(20)
            return super().read(size)

    path = uploads.path_of(upload)
    done: list[int] = []

    def write() -> None:
        with uploads._alone(path) as file:
            uploads._copy(Slow(CONTENT[:3000]), file, 0, None)
        done.append(1)

    thread = threading.Thread(target=write)
    thread.start()
    assert inside.wait(20)
    client = world.client("alice")
    assert patch(client, f"/uploads/{upload.pk}", 0, CONTENT).status_code == 423
    go_on.set()
    thread.join(20)
    assert done
    assert head(client, f"/uploads/{upload.pk}")["Upload-Offset"] == "3000"
    assert path.read_bytes() == CONTENT[:3000]


@pytest.mark.parametrize("other", ["bob", "carol", "organiser", "staff", "stranger"])
def test_nobody_but_its_owner_knows_of_an_upload(world, other):
    where = begun(world.client("alice"), 5000)["Location"]
    client = world.client(other)
    never = "/uploads/00000000-0000-4000-8000-000000000000"
    for place in (where, never):
        assert head(client, place).status_code == 404
        answers = [patch(client, place, 0, CONTENT), client.delete(place, headers=TUS)]
        assert [(one.status_code, one.json()) for one in answers] == [(404, {"detail": "There is no such upload."})] * 2
    assert Upload.objects.count() == 1


def test_an_upload_can_be_removed_by_its_owner(world, django_capture_on_commit_callbacks):
    client = world.client("alice")
    where = begun(client, 5000)["Location"]
    patch(client, where, 0, CONTENT[:10])
    path = uploads.path_of(Upload.objects.get())
    with django_capture_on_commit_callbacks(execute=True):
        assert client.delete(where, headers=TUS).status_code == 204
    assert not path.exists()
    assert head(client, where).status_code == 404


def test_who_may_send_what(world):
    status = {name: begun(world.client(name), 10).status_code for name in ("alice", "waiting", "stranger", "reader")}
    assert status == {"alice": 201, "waiting": 403, "stranger": 403, "reader": 403}
    alice, organiser = world.client("alice"), world.client("organiser")
    assert begun(Client(), 10).status_code == 401
    assert begun(alice, 10, phase="final").status_code == 404  # not announced
    assert begun(alice, 10, phase="nothing").status_code == 404
    assert begun(alice, 10, phase="").status_code == 404
    assert begun(alice, 10, challenge="other").status_code == 404
    response = begun(alice, 10, phase="test")
    assert response.status_code == 403
    assert "not open yet" in response.json()["detail"]
    for purpose in ("reference", "release", "challenge"):
        assert begun(alice, 10, purpose=purpose).status_code == 403
        assert begun(organiser, 10, purpose=purpose, phase="final").status_code == 201
    assert begun(alice, 10, purpose="challenge", challenge="", phase="").status_code == 403
    assert begun(organiser, 10, purpose="challenge", challenge="", phase="").status_code == 403
    assert begun(world.client("staff"), 10, purpose="challenge", challenge="", phase="").status_code == 201
    assert begun(alice, 10, purpose="virus").status_code == 400


def test_a_challenge_that_is_not_published_takes_no_files_of_participants(world):
    world.challenge.published = False
    world.challenge.save()
    assert begun(world.client("alice"), 10).status_code == 404
    with pytest.raises(Http404):
        uploads.begin(
            world.people["alice"],
            challenge=world.challenge,
            phase="validation",
            purpose="submission",
            name="x",
            size=1,
        )


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\team.zip", "team.zip"),
        ("a\0b.zip", "a\\x00b.zip"),
        ("line\nbreak\x1b[31m.zip", "line\\nbreak\\x1b[31m.zip"),
        ("x" * 900 + ".zip", "x" * 200),
        ("/", "file"),
        ("", "file"),
        ("Größe ∑.zip", "Größe ∑.zip"),
    ],
)
def test_names_of_strangers_are_kept_harmless(world, name, kept):
    assert upload_of(begun(world.client("alice"), 10, filename=name)).name == kept


@pytest.mark.parametrize(
    "metadata",
    ["filename ???", "challenge bmVjaw==,challenge bmVjaw==", "phase /w==", "challenge bmVja", "purpose AAAA\x80"],
)
def test_metadata_that_are_none_are_refused(world, metadata):
    headers = TUS | {"Upload-Length": "10", "Upload-Metadata": metadata}
    assert world.client("alice").post("/uploads/", headers=headers).status_code == 400
    assert not Upload.objects.exists()


def test_a_zero_byte_in_the_name_of_a_challenge_or_phase_reaches_no_database(world):
    for said in ({"challenge": "neck\0"}, {"phase": "validation\0"}):
        assert begun(world.client("alice"), 10, **said).status_code == 404


@pytest.mark.parametrize("length", ["", "-1", "0", "1e9", "9" * 30, "٣", "10.0"])
def test_a_length_that_is_none_is_refused(world, length):
    headers = TUS | {"Upload-Metadata": told(challenge="neck", phase="validation"), "Upload-Length": length}
    assert world.client("alice").post("/uploads/", headers=headers).status_code == 400


def test_a_client_must_speak_the_protocol(world):
    client = world.client("alice")
    where = begun(client, 10)["Location"]
    response = client.head(where)
    assert (response.status_code, response["Tus-Version"]) == (412, "1.0.0")
    plain = client.patch(where, b"x", content_type="text/plain", headers=TUS | {"Upload-Offset": "0"})
    assert plain.status_code == 415
    assert client.get("/uploads/", headers=TUS).status_code == 405
    assert client.put(where, b"x", headers=TUS).status_code == 405
    options = Client().options("/uploads/")
    assert (options.status_code, options["Tus-Extension"]) == (204, "creation,termination,checksum")
    hidden = client.post(
        where,
        CONTENT[:4],
        content_type=PIECE,
        headers=TUS | {"Upload-Offset": "0", "X-HTTP-Method-Override": "PATCH"},
    )
    assert (hidden.status_code, hidden["Upload-Offset"]) == (204, "4")


def test_a_browser_shows_that_the_page_is_ours_and_a_program_its_token(world):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(world.people["alice"], backend="allauth.account.auth_backends.AuthenticationBackend")
    assert begun(browser, 10).status_code == 403
    from django.middleware.csrf import _get_new_csrf_string

    secret = _get_new_csrf_string()
    browser.cookies["csrftoken"] = secret
    headers = TUS | {"Upload-Length": "10", "Upload-Metadata": told(challenge="neck", phase="validation")}
    response = browser.post("/uploads/", headers=headers | {"X-CSRFToken": secret})
    assert response.status_code == 201
    where = response["Location"]
    assert patch(browser, where, 0, b"x").status_code == 403
    assert patch(browser, where, 0, b"x", X_CSRFToken=secret).status_code == 204
    _, token = Token.make(world.people["alice"], "laptop")
    program = Client(enforce_csrf_checks=True)
    assert begun(program, 10, token).status_code == 201
    assert begun(program, 10, "iso_wrong").status_code == 401
    # A token in a browser where somebody else is signed in: the token counts.
    _, other = Token.make(world.people["stranger"], "laptop")
    assert browser.head(where, headers=TUS | bearing(other)).status_code == 404


def test_a_token_that_is_over_or_of_a_closed_account_opens_nothing(world):
    token, secret = Token.make(world.people["alice"], "laptop")
    token.expires = world.at.now
    token.save()
    response = begun(Client(), 10, secret)
    assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")
    assert "expired" in response.json()["detail"]
    token.expires = None
    token.save()
    world.people["alice"].is_active = False
    world.people["alice"].save()
    assert begun(Client(), 10, secret).status_code == 401
    assert Client().post("/uploads/", headers={"Authorization": "Basic YTpi"}).status_code == 401


def test_the_last_use_of_a_token_is_known_to_the_minute(world):
    token, secret = Token.make(world.people["alice"], "laptop")
    begun(Client(), 10, secret)
    first = world.at.now
    world.at.move(seconds=59)
    begun(Client(), 10, secret)
    token.refresh_from_db()
    assert token.used == first
    world.at.move(seconds=1)
    begun(Client(), 10, secret)
    token.refresh_from_db()
    assert token.used == world.at.now


def test_too_large_files_are_refused_before_they_come(world, settings):
    settings.MOST_UPLOAD_BYTES = 1000
    response = begun(world.client("alice"), 1001)
    assert response.status_code == 413
    assert response.json()["detail"] == "The file has 1,001 bytes; at most 1,000 are taken."
    assert begun(world.client("alice"), 1000).status_code == 201


def test_nobody_has_more_on_the_way_than_there_is_room_for(world, settings):
    client = world.client("alice")
    for _ in range(uploads.MOST_OPEN):
        assert begun(client, 10).status_code == 201
    response = begun(client, 10)
    assert response.status_code == 409
    assert "10 files on the way" in response.json()["detail"]
    assert begun(world.client("bob"), 10).status_code == 201
    # One that stands still for an hour makes room by itself.
    first = Upload.objects.filter(user=world.people["alice"]).order_by("made", "pk").first()
    Upload.objects.filter(pk=first.pk).update(touched=world.at.now - timedelta(hours=2))
    assert begun(client, 10).status_code == 201
    assert not Upload.objects.filter(pk=first.pk).exists()
    settings.MOST_UPLOAD_BYTES = 1000
    carol = world.client("carol")
    assert [begun(carol, 1000).status_code for _ in range(3)] == [201, 201, 409]


def test_a_full_disk_refuses_with_a_sentence_and_counts_what_is_promised(world, monkeypatch):
    free = uploads.RESERVE + 1000
    monkeypatch.setattr(uploads.shutil, "disk_usage", lambda _: type("Usage", (), {"free": free})())
    client = world.client("alice")
    assert begun(client, 900).status_code == 201
    response = begun(client, 200)
    assert response.status_code == 507
    assert "nothing is lost" in response.json()["detail"]


def test_who_announces_much_and_sends_nothing_keeps_nobody_out(world, monkeypatch):
    free = uploads.RESERVE + 76 * 10**9
    monkeypatch.setattr(uploads.shutil, "disk_usage", lambda _: type("Usage", (), {"free": free})())
    for name in ("alice", "bob"):
        assert [begun(world.client(name), 19 * 10**9).status_code for _ in range(2)] == [201, 201]
    assert begun(world.client("carol"), 5000).status_code == 201
    free = uploads.RESERVE + 4 * uploads.AHEAD + 5000  # the next pieces of each have their place
    assert begun(world.client("carol"), 5000).status_code == 507
    world.at.move(hours=1, seconds=1)  # who sends nothing for an hour has none
    assert begun(world.client("carol"), 5000).status_code == 201


def test_a_piece_leaves_free_what_the_database_needs(world, monkeypatch):
    client = world.client("alice")
    where = begun(client, 5000)["Location"]
    patch(client, where, 0, CONTENT[:1000])
    free = uploads.RESERVE + 3999
    monkeypatch.setattr(uploads.shutil, "disk_usage", lambda _: type("Usage", (), {"free": free})())
    response = patch(client, where, 1000, CONTENT[1000:])
    assert response.status_code == 507
    assert "what came before is kept" in response.json()["detail"]
    assert head(client, where)["Upload-Offset"] == "1000"
    free += 1
    assert patch(client, where, 1000, CONTENT[1000:]).status_code == 204


def test_a_disk_that_is_full_in_the_middle_of_a_piece_keeps_what_was_before(world, monkeypatch):
    client = world.client("alice")
    where = begun(client, 5000)["Location"]
    patch(client, where, 0, CONTENT[:1000])
    upload = Upload.objects.get()

    class Full(io.BytesIO):
        calls = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.calls += 1
            if self.calls > 1:
                raise OSError(28, "No space left on device")
            return super().read(100)

    with pytest.raises(uploads.UploadRefused) as error:
        uploads.append(upload, Full(CONTENT[1000:]), offset=1000, length=4000)
    assert error.value.status == 507
    assert uploads.offset_of(upload) == 1000


def test_a_finished_file_is_moved_to_its_place_once(world, django_capture_on_commit_callbacks):
    client = world.client("alice")
    where = begun(client, 5000)["Location"]
    upload = Upload.objects.get()
    patch(client, where, 0, CONTENT[:4000])
    with pytest.raises(uploads.UploadRefused, match=r"4,000 of 5,000"):
        uploads.take(upload, "submissions/x.zip")
    patch(client, where, 4000, CONTENT[4000:])
    upload.refresh_from_db()
    with django_capture_on_commit_callbacks(execute=True):
        place = uploads.take(upload, "submissions/x.zip")
    assert place.read_bytes() == CONTENT
    assert not uploads.path_of(upload).exists()
    with pytest.raises(uploads.UploadRefused, match="already"):
        uploads.take(Upload.objects.get(), "submissions/y.zip")
    assert not files.at("submissions/y.zip").exists()
    assert head(client, where)["Upload-Offset"] == "5000"
    assert patch(client, where, 5000, b"x").status_code == 410
    assert client.delete(where, headers=TUS).status_code == 410


def test_a_name_that_leads_out_of_the_folder_is_no_place(world):
    upload = upload_of(begun(world.client("alice"), 4))
    uploads.append(upload, io.BytesIO(b"1234"), offset=0, length=4)
    with pytest.raises(ValueError, match="no file within"):
        uploads.take(upload, "../outside.zip")
    assert Upload.objects.get().taken is None


def test_a_form_without_scripts_brings_its_file_the_same_way(world, settings):
    sent = SimpleUploadedFile("../team.zip", CONTENT)
    given = {"challenge": world.challenge, "phase": "validation", "purpose": "submission"}
    upload = uploads.of_form(world.people["alice"], sent, **given)
    assert (upload.name, upload.sha256) == ("team.zip", hashlib.sha256(CONTENT).hexdigest())
    assert uploads.path_of(upload).read_bytes() == CONTENT
    settings.MOST_FORM_BYTES = 4999
    with pytest.raises(uploads.UploadRefused, match="isocenter submit"):
        uploads.of_form(world.people["alice"], sent, **given)
    with pytest.raises(PermissionDenied):
        uploads.of_form(world.people["waiting"], SimpleUploadedFile("t.zip", b"x"), **given)


def test_what_stands_still_for_two_days_is_removed(world, django_capture_on_commit_callbacks):
    client = world.client("alice")
    old = upload_of(begun(client, 5000))
    patch(client, f"/uploads/{old.pk}", 0, CONTENT[:10])
    world.at.move(days=1)
    young = upload_of(begun(client, 5000))
    world.at.move(days=1, seconds=1)
    with django_capture_on_commit_callbacks(execute=True):
        assert uploads.tidy(world.at.now) == 1
    assert list(Upload.objects.all()) == [young]
    assert not uploads.path_of(old).exists()


def test_files_that_nothing_points_to_are_removed_and_those_of_submissions_stay(world):
    kept = world.submission("Rigi", "validation")
    for name in ("uploads/orphan", "submissions/orphan.zip", "submissions/notes.txt"):
        files.at(name).parent.mkdir(exist_ok=True)
        files.at(name).write_bytes(b"x")
    uploads.tidy(datetime.now(UTC))
    assert files.at("uploads/orphan").exists()  # too young
    uploads.tidy(datetime.now(UTC) + timedelta(days=3))
    assert not files.at("uploads/orphan").exists()
    assert not files.at("submissions/orphan.zip").exists()
    assert files.at("submissions/notes.txt").exists()
    assert files.at(kept.file).exists()
    assert Submission.objects.count() == 1


def test_a_removed_upload_takes_a_piece_that_comes_late_along(world):
    upload = upload_of(begun(world.client("alice"), 5000))
    Upload.objects.all().delete()
    with pytest.raises(Http404):
        uploads.append(upload, io.BytesIO(CONTENT), offset=0, length=5000)
    assert not uploads.path_of(upload).exists()


def test_beginning_too_often_has_to_wait(world, monkeypatch):
    monkeypatch.setattr(limits, "UPLOADS_BEGUN", limits.Limit("uploads-begun-test", 2, seconds=600))
    client = world.client("alice")
    assert [begun(client, 10).status_code for _ in range(3)] == [201, 201, 429]
    response = begun(client, 10)
    assert response["Retry-After"] == "600"
