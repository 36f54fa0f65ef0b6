"""The API: programs find what the pages of their owner show, behind the same doors, and nothing that is hidden."""

from __future__ import annotations

import io
import json
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from conftest import CASES, World, snapshot, zipped
from isocenter.ranking import Board, BoardRow
from isocenter.server import files
from isocenter.server.api.v1 import operations
from isocenter.server.models import (
    Download,
    Release,
    Run,
    Snapshot,
    Submission,
    Token,
    Upload,
    Version,
    Worker,
)
from isocenter.server.people import licences
from isocenter.server.policy import Door, Visit
from isocenter.server.submitting import intake, looking, uploads
from isocenter.server.work import queue

API = "/api/v1"
NECK = f"{API}/challenges/neck"


@pytest.fixture(autouse=True)
def uncounted() -> None:
    cache.clear()


def asked(world: World, name: str, path: str, status: int = 200) -> Any:
    response = world.client(name).get(path)
    assert response.status_code == status, response.content
    return response.json()


def posted(world: World, name: str, path: str, content: Any = None) -> Any:
    return world.client(name).post(path, json.dumps(content or {}), content_type="application/json")


def sent(world: World, name: str = "alice", size: int = 4, phase: str = "validation") -> Upload:
    content = zipped(dict.fromkeys(CASES, size), world.scratch / f"sent{size}")
    upload = uploads.begin(
        world.people[name],
        challenge=world.challenge,
        phase=phase,
        purpose="submission",
        name="t.zip",
        size=len(content),
    )
    uploads.append(upload, io.BytesIO(content), offset=0, length=len(content))
    return upload


def a_board(*names: str) -> Board:
    rows = tuple(
        BoardRow(name, score=0.9 - n / 10, rank=float(n), role="team", cases=3, missing=0, failed=0)
        for n, name in enumerate(names, 1)
    )
    return Board(name="dice", metric="dice", rule="mean dice", rows=rows)


def test_every_operation_has_a_door_and_no_address_twice():
    found = list(operations())
    assert len({(one.method, one.path) for one in found}) == len(found) >= 22
    assert all(isinstance(one.door, Door) for one in found)
    in_challenge = [one for one in found if "{slug}" in one.path]
    assert not {one.door for one in in_challenge} & {Door.ANYBODY, Door.SIGNED_IN, Door.STAFF}
    assert all(one.about for one in found)


def filled(path: str) -> str:
    known = {
        "slug": "neck",
        "phase": "validation",
        "board": "dice",
        "key": str(uuid.UUID(int=1)),
    }
    return API + path.format(**known)


@pytest.mark.parametrize("one", list(operations()), ids=lambda one: f"{one.method} {one.path}")
def test_an_unpublished_challenge_does_not_exist_and_doors_hold(world, one):
    content = {"upload": str(uuid.UUID(int=1))}

    def status(name: str) -> int:
        client, path = world.client(name), filled(one.path)
        if one.method == "GET":
            return client.get(path).status_code
        return client.post(path, json.dumps(content), content_type="application/json").status_code

    expected = {
        Door.ANYBODY: {"": 200, "stranger": 200},
        Door.SIGNED_IN: {"": 401},
        Door.STAFF: {"": 401, "stranger": 403, "organiser": 403, "staff": 200},
        Door.CHALLENGE: {},
        Door.PERSON: {"": 401, "stranger": 200},
        Door.REGISTERED: {"": 401, "stranger": 403, "waiting": 403},
        Door.TEAM: {"": 401, "stranger": 403, "waiting": 403, "reader": 403},
        Door.ORGANISER: {"": 401, "stranger": 403, "alice": 403},
    }
    assert {name: status(name) for name in expected[one.door]} == expected[one.door]
    if "{slug}" in one.path:
        world.challenge.published = False
        world.challenge.save()
        assert {status(name) for name in ("", "stranger", "alice", "reader", "waiting")} == {404}


def test_errors_are_json_with_a_sentence(world):
    for path in (f"{API}/nothing", f"{API}/challenges/nothing", f"{API}/challenges/nothing/more"):
        response = Client().get(path)
        assert (response.status_code, response.json()) == (
            404,
            {"detail": "There is no such thing here.", "problems": []},
        )
    response = Client().get(f"{API}/me")
    assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")
    response = world.client("alice").get(f"{API}/challenges?limit=1000")
    assert response.status_code == 422
    assert "limit" in response.json()["detail"]
    assert posted(world, "alice", f"{NECK}/phases/validation/submissions", {"upload": "x"}).status_code == 422
    assert world.client("alice").put(f"{API}/me").status_code == 405


def test_a_session_changes_nothing_without_the_token_of_our_pages_and_a_bearer_needs_none(world):
    one = world.submission("Rigi", "validation")
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(world.people["alice"], backend="allauth.account.auth_backends.AuthenticationBackend")
    assert browser.get(f"{API}/me").status_code == 200
    response = browser.post(f"{NECK}/submissions/{one.pk}/cancel")
    assert response.status_code == 403
    assert "does not come from a page of this site" in response.json()["detail"]
    _, token = Token.make(world.people["alice"], "laptop")
    response = browser.post(f"{NECK}/submissions/{one.pk}/cancel", headers={"Authorization": f"Bearer {token}"})
    assert (response.status_code, response.json()["state"]) == (200, "cancelled")


def test_staff_need_their_second_factor_here_too(world, settings):
    settings.REQUIRE_MFA = True
    response = world.client("staff").get(f"{API}/workers")
    assert (response.status_code, "second factor" in response.json()["detail"]) == (403, True)


@pytest.mark.parametrize("path", ["boards/test/dice", "submissions", "boards"])
def test_organisers_without_theirs_see_nothing_of_their_challenge(world, settings, path):
    settings.REQUIRE_MFA = True
    for name in ("organiser", "staff"):
        assert world.client(name).get(f"{NECK}/{path}").status_code == 403
    assert world.client("alice").get(f"{NECK}/submissions").status_code == 200


def test_me(world):
    found = asked(world, "alice", f"{API}/me")
    assert (found["name"], found["email"], found["staff"]) == ("Alice", "alice@example.org", False)
    assert found["challenges"] == [
        {
            "slug": "neck",
            "title": "Tumours of the neck",
            "registration": "accepted",
            "team": "Rigi",
            "organises": False,
        }
    ]
    assert asked(world, "stranger", f"{API}/me")["challenges"] == []
    assert asked(world, "organiser", f"{API}/me")["challenges"][0]["organises"] is True


def test_challenges_are_those_that_exist_for_who_asks(world):
    assert [one["slug"] for one in asked(world, "", f"{API}/challenges")["items"]] == ["neck"]
    world.challenge.published = False
    world.challenge.save()
    known = {
        name: asked(world, name, f"{API}/challenges")["count"] for name in ("", "alice", "reader", "organiser", "staff")
    }
    assert known == {"": 0, "alice": 0, "reader": 0, "organiser": 1, "staff": 1}


def test_a_phase_is_closed_at_the_very_second_of_its_closing(world):
    phase = next(one for one in world.challenge.edition.phases if one.closes < one.results)
    for moment, state in ((phase.closes - timedelta(seconds=1), "open"), (phase.closes, "closed")):
        world.at.now = moment
        found = asked(world, "organiser", NECK)["phases"]
        assert next(one["state"] for one in found if one["name"] == phase.name) == state


def test_phases_that_are_not_announced_are_nowhere(world):
    for name in ("", "alice"):
        for path in (
            NECK,
            f"{NECK}/phases",
            f"{NECK}/rules",
            f"{API}/challenges",
            f"{NECK}/boards",
            f"{NECK}/releases",
        ):
            text = json.dumps(asked(world, name, path))
            assert "final" not in text.lower().replace("finally", ""), path
    found = asked(world, "alice", NECK)
    assert [(one["name"], one["state"]) for one in found["phases"]] == [("validation", "open"), ("test", "to come")]
    assert len(asked(world, "organiser", f"{NECK}/phases")) == 3
    for path in ("phases/final/quota", "boards/final/dice", "boards/final/dice/history"):
        assert asked(world, "alice", f"{NECK}/{path}", 404) == asked(
            world, "alice", f"{NECK}/{path.replace('final', 'x')}", 404
        )


def test_what_is_asked_with_a_submission_is_told(world):
    toml = (
        world.challenge.version.toml
        + '[[declarations]]\nname = "data"\nlabel = "Other data"\nkind = "yes-no"\nrequired = true\n'
    )
    world.challenge.version = Version.objects.create(challenge=world.challenge, number=2, toml=toml)
    world.challenge.save()
    (question,) = asked(world, "", NECK)["declarations"]
    assert question == {
        "name": "data",
        "label": "Other data",
        "help": "",
        "kind": "yes-no",
        "choices": ["yes", "no"],
        "required": True,
    }


def test_the_rules_are_those_of_the_page(world):
    found = asked(world, "", f"{NECK}/rules")
    assert {"taking-part", "phase-validation", "metrics", "ranking"} <= {one["name"] for one in found}
    assert "3" in json.dumps(found)


def test_a_board_is_the_file_of_its_page(world):
    snapshot(world, "validation", a_board("Pilatus", "Rigi"))
    for name in ("", "alice", "reader", "organiser"):
        found = world.client(name).get(f"{NECK}/boards/validation/dice")
        page = world.client(name).get("/c/neck/boards/validation/dice/board.json")
        assert (found.status_code, page.status_code) == (200, 200)
        assert found.content == page.content
        assert [row["team"] for row in found.json()["rows"]] == ["Pilatus", "Rigi"]
    assert asked(world, "", f"{NECK}/boards")[0]["main"] is True
    assert asked(world, "", f"{NECK}/boards/validation/nothing", 404)


def test_a_hidden_board_is_not_there_and_tells_not_even_when_it_was_made(world):
    world.at.move(days=31)
    snapshot(world, "test", a_board("Pilatus", "Rigi"))
    for name in ("", "alice", "reader", "waiting"):
        assert "test" not in {one["phase"] for one in asked(world, name, f"{NECK}/boards")}
        assert asked(world, name, f"{NECK}/boards/test/dice", 404)
        assert asked(world, name, f"{NECK}/boards/test/dice/history") == {"count": 0, "items": []}
    assert len(asked(world, "organiser", f"{NECK}/boards/test/dice")["rows"]) == 2


def test_a_team_that_sees_its_own_row_learns_nothing_of_the_others(world):
    toml = world.challenge.version.toml.replace('visibility = "public"', 'visibility = "own"')
    world.challenge.version = Version.objects.create(challenge=world.challenge, number=2, toml=toml)
    world.challenge.save()
    snapshot(world, "validation", a_board("Pilatus", "Rigi"))
    before = asked(world, "alice", f"{NECK}/boards/validation/dice")
    assert [row["team"] for row in before["rows"]] == ["Rigi"]
    assert "made" not in before
    world.at.move(minutes=5)
    snapshot(world, "validation", a_board("Pilatus", "Matterhorn", "Rigi"))
    after = asked(world, "alice", f"{NECK}/boards/validation/dice")
    del before["rows"][0]["score"], after["rows"][0]["score"]
    assert before == after
    assert asked(world, "alice", f"{NECK}/boards/validation/dice/history")["count"] == 0
    assert asked(world, "stranger", f"{NECK}/boards/validation/dice", 404)


def test_boards_of_the_past_are_listed_and_found_by_their_version(world):
    for number, teams in enumerate([["Pilatus"], ["Rigi", "Pilatus"]]):
        made = snapshot(world, "validation", a_board(*teams))
        Snapshot.objects.filter(pk=made.pk).update(digest=str(number) * 64)
        world.at.move(hours=1)
    newer, older = asked(world, "", f"{NECK}/boards/validation/dice/history")["items"]
    assert newer["made"] > older["made"]
    for one, teams in ((newer, ["Rigi", "Pilatus"]), (older, ["Pilatus"])):
        found = asked(world, "", one["url"].removeprefix("http://testserver"))
        assert [row["team"] for row in found["rows"]] == teams
        assert found["version"] == one["version"]
    assert asked(world, "", f"{NECK}/boards/validation/dice?version={'c' * 64}", 404)
    assert len(asked(world, "", f"{NECK}/boards/validation/dice/history?limit=1&offset=1")["items"]) == 1


@pytest.fixture
def release(world: World) -> Release:
    files.at("releases").mkdir()
    files.at("releases/train.zip").write_bytes(b"0123456789")
    return Release.objects.create(
        challenge=world.challenge,
        phase="validation",
        title="Training data",
        name="train.zip",
        file="releases/train.zip",
        size=10,
        sha256="0" * 64,
        licence="For research.",
    )


def test_data_are_downloaded_with_a_token_a_licence_and_a_trace(world, release):
    Release.objects.create(
        challenge=world.challenge, phase="final", title="Secret", name="s", file="s", size=1, sha256="0" * 64
    )
    (found,) = asked(world, "alice", f"{NECK}/releases")
    assert (found["available"], found["licence_accepted"]) == (False, False)
    _, token = Token.make(world.people["alice"], "laptop")
    bearer = {"Authorization": f"Bearer {token}"}
    path = found["url"].removeprefix("http://testserver")
    response = Client().get(path, headers=bearer)
    assert (response.status_code, "licence" in response.json()["detail"]) == (403, True)
    licences.accept(world.people["alice"], release)
    assert asked(world, "alice", f"{NECK}/releases")[0]["available"] is True
    response = Client().get(path, headers=bearer)
    assert b"".join(response.streaming_content) == b"0123456789"
    log = Download.objects.get()
    assert (log.user, log.size) == (world.people["alice"], 10)
    assert Client().get(path).status_code == 401
    assert world.client("stranger").get(path).status_code == 403
    assert asked(world, "stranger", f"{NECK}/releases")[0]["available"] is False
    assert world.client("alice").get(path.replace(found["key"], str(uuid.uuid4()))).status_code == 404


def test_registration_team_and_quota(world):
    assert asked(world, "waiting", f"{NECK}/registration")["state"] == "waiting"
    assert asked(world, "stranger", f"{NECK}/registration")["state"] == "none"
    team = asked(world, "bob", f"{NECK}/team")
    assert (team["name"], team["members"][0]) == ("Rigi", {"name": "Alice", "leads": True})
    assert asked(world, "organiser", f"{NECK}/team", 404)
    world.submission("Rigi", "validation")
    world.submission("Pilatus", "validation")
    quota = asked(world, "alice", f"{NECK}/phases/validation/quota")
    assert (quota["left"], quota["used"], quota["admitted"]) == (2, 1, True)
    assert quota["words"] == "1 of 3 attempts in any seven days used."
    assert asked(world, "alice", f"{NECK}/phases/test/quota")["admitted"] is False


def test_uploads_are_those_of_who_asks(world):
    upload = sent(world)
    found = asked(world, "alice", f"{API}/uploads/{upload.pk}")
    assert (found["received"], found["size"], found["sha256"], found["taken"]) == (
        upload.size,
        upload.size,
        upload.sha256,
        False,
    )
    assert asked(world, "alice", f"{API}/uploads")["count"] == 1
    for name in ("bob", "staff", "organiser"):
        assert asked(world, name, f"{API}/uploads")["count"] == 0
        assert asked(world, name, f"{API}/uploads/{upload.pk}", 404)


def test_a_finished_upload_is_handed_in_and_asking_twice_hands_in_once(world):
    upload = sent(world)
    path = f"{NECK}/phases/validation/submissions"
    assert posted(world, "bob", path, {"upload": str(upload.pk)}).status_code == 404
    assert posted(world, "alice", f"{NECK}/phases/final/submissions", {"upload": str(upload.pk)}).status_code == 404
    response = posted(world, "alice", path, {"upload": str(upload.pk), "comment": "hello"})
    assert response.status_code == 201, response.content
    found = response.json()
    assert (found["id"], found["number"], found["state"], found["comment"]) == (str(upload.pk), 1, "queued", "hello")
    assert (found["quota"]["left"], found["progress"]["position"]) == (2, 1)
    again = posted(world, "alice", path, {"upload": str(upload.pk), "comment": "hello"})
    assert (again.status_code, again.json()["id"]) == (200, found["id"])
    assert Submission.objects.count() == Run.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("when", ["before", "after"])
def test_who_asks_twice_at_once_is_told_the_same_twice(world, monkeypatch, when):
    """The second question finds that the first one took the file away, before it looks at it or after that."""
    upload, path, plain = sent(world), f"{NECK}/phases/validation/submissions", looking.at_zip
    first: list[Any] = []

    def meanwhile(*args: Any) -> Any:
        monkeypatch.setattr(looking, "at_zip", plain)
        found = plain(*args) if when == "after" else None
        first.append(posted(world, "alice", path, {"upload": str(upload.pk)}))
        return found or plain(*args)

    monkeypatch.setattr(looking, "at_zip", meanwhile)
    second = posted(world, "alice", path, {"upload": str(upload.pk)})
    assert (first[0].status_code, second.status_code) == (201, 200), second.content
    assert first[0].json()["id"] == second.json()["id"] == str(upload.pk)
    assert Submission.objects.count() == Run.objects.count() == 1


def test_all_that_is_wrong_comes_back_as_problems(world):
    upload = uploads.begin(
        world.people["alice"],
        challenge=world.challenge,
        phase="validation",
        purpose="submission",
        name="mine.zip",
        size=9,
    )
    uploads.append(upload, io.BytesIO(b"not a zip"), offset=0, length=9)
    given = {"upload": str(upload.pk), "declarations": {"x": 1}}
    response = posted(world, "alice", f"{NECK}/phases/validation/submissions", given)
    assert response.status_code == 422
    found = response.json()
    assert "no attempt was used" in found["detail"]
    assert '"x" is no question' in found["detail"]
    assert [(one["severity"], one["file"]) for one in found["problems"]] == [("refused", "mine.zip")]


def test_submissions_are_those_of_the_own_team(world, django_assert_max_num_queries):
    mine = [world.scored("Rigi", "validation", size) for size in (3, 4)]
    theirs = world.scored("Pilatus", "validation", 4)
    found = asked(world, "bob", f"{NECK}/submissions")
    assert {one["id"] for one in found["items"]} == {str(one.pk) for one in mine}
    assert found["count"] == 2
    assert asked(world, "organiser", f"{NECK}/submissions")["count"] == 3
    assert asked(world, "bob", f"{NECK}/submissions?state=failed")["count"] == 0
    assert asked(world, "bob", f"{NECK}/submissions?phase=final", 404)
    for path in ("", "/problems", "/cases"):
        assert asked(world, "bob", f"{NECK}/submissions/{theirs.pk}{path}", 404)
    for action in ("cancel", "nominate"):
        assert posted(world, "bob", f"{NECK}/submissions/{theirs.pk}/{action}").status_code == 404
    client = world.client("organiser")
    with django_assert_max_num_queries(14):
        client.get(f"{NECK}/submissions")


def test_a_list_asks_the_database_as_often_for_two_as_for_four(world):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client = world.client("organiser")
    counts = []
    for _ in range(2):
        for team in ("Rigi", "Pilatus"):
            world.scored(team, "validation")
        client.get(f"{NECK}/submissions")
        with CaptureQueriesContext(connection) as queries:
            assert client.get(f"{NECK}/submissions").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_scores_and_cases_are_seen_as_the_phase_allows(world):
    def scored(phase: str) -> str:
        one = world.scored("Rigi", phase)
        one.evaluations.update(values={"dice": 0.8125})
        return f"{NECK}/submissions/{one.pk}"

    open_one = scored("validation")
    found = asked(world, "alice", open_one)
    assert [(one["board"], one["value"]) for one in found["scores"]] == [("dice", "0.8125")]
    cases = asked(world, "alice", f"{open_one}/cases")
    assert [one["case"] for one in cases["items"]] == list(CASES)
    assert {"dice"} <= {score["metric"] for score in cases["items"][0]["scores"]}
    assert len(asked(world, "alice", f"{open_one}/cases?limit=1&offset=2")["items"]) == 1
    world.at.move(days=31)
    hidden = scored("test")
    found = asked(world, "alice", hidden)
    assert (found["scores"], found["state"]) == ([], "scored")
    assert found["hidden"] == "scores are hidden until the results are out"
    assert "not shown" in asked(world, "alice", f"{hidden}/cases", 403)["detail"]
    assert "0.8" not in json.dumps(asked(world, "alice", f"{NECK}/submissions?phase=test"))
    assert asked(world, "organiser", f"{hidden}/cases")["count"] == 3
    world.at.move(days=40)  # the results are out
    assert asked(world, "alice", hidden)["scores"]
    assert asked(world, "alice", f"{hidden}/cases", 403)


def test_organisers_cancel_with_a_reason_only(world):
    one = world.submission("Rigi", "validation")
    queue.enqueue(Run.Kind.SCORE, world.challenge, submission=one)
    path = f"{NECK}/submissions/{one.pk}/cancel"
    response = posted(world, "organiser", path)
    assert (response.status_code, response.json()["detail"].startswith("Say why")) == (422, True)
    assert posted(world, "organiser", f"{path}?reason=A+mistake.").json()["state"] == "cancelled"


def test_progress_place_and_reason(world):
    first, second = world.submission("Pilatus", "validation"), world.submission("Rigi", "validation")
    for one in (first, second):
        queue.enqueue(Run.Kind.SCORE, world.challenge, submission=one)
        world.at.move(seconds=1)
    path = f"{NECK}/submissions/{second.pk}"
    assert asked(world, "alice", path)["progress"]["position"] == 2
    run = queue.claim("w", ["default"])
    run = queue.claim("w", ["default"])
    queue.beat(run, done=1, total=3)
    found = asked(world, "alice", path)
    assert (found["state"], found["progress"]["done"], found["progress"]["total"]) == ("running", 1, 3)
    Submission.objects.filter(pk=second.pk).update(
        state="refused",
        reason="refused",
        problems=[{"severity": "refused", "message": "no", "case": "", "file": "x", "reason": "refused"}],
    )
    found = asked(world, "alice", path)
    assert (found["reason"]["blame"], found["progress"], found["problems"]) == ("team", None, 1)
    [problem] = asked(world, "alice", f"{path}/problems")
    assert problem.items() >= {"severity": "refused", "message": "no", "case": "", "file": "x"}.items()
    assert (problem["code"], problem["origin"], problem["blame"]) == ("refused", "output", "team")
    assert problem["title"] == found["reason"]["title"] == "Not accepted"


def test_what_machines_said_is_never_told(world):
    one = world.submission("Rigi", "validation", state="infrastructure", reason="internal_error")
    Run.objects.create(kind="score", challenge=world.challenge, submission=one, state="failed", detail="/srv/secret")
    for name in ("alice", "bob"):
        assert "/srv/secret" not in json.dumps(asked(world, name, f"{NECK}/submissions/{one.pk}"))


def test_a_submission_is_cancelled_and_chosen(world):
    upload = sent(world)
    intake.submit(Visit(world.people["alice"], world.challenge), "validation", upload, declarations={})
    path = f"{NECK}/submissions/{upload.pk}"
    assert posted(world, "bob", f"{path}/cancel").json()["state"] == "cancelled"
    response = posted(world, "bob", f"{path}/cancel")
    assert (response.status_code, "nothing to cancel" in response.json()["detail"]) == (422, True)
    assert posted(world, "bob", f"{path}/nominate").status_code == 422


def test_staff_see_the_workers(world):
    Worker.objects.create(name="w1", version="1", seen=world.at.now)
    Worker.objects.create(name="w2", version="1", seen=world.at.now - timedelta(hours=1))
    queue.enqueue(Run.Kind.BOARD, world.challenge)
    found = asked(world, "staff", f"{API}/workers")
    assert {one["name"]: one["alive"] for one in found["workers"]} == {"w1": True, "w2": False}
    assert (found["queued"], found["running"]) == (1, 0)


def test_the_description_for_programs_names_all_operations(world):
    found = asked(world, "", f"{API}/openapi.json")
    described = {(method.upper(), path) for path, ways in found["paths"].items() for method in ways}
    assert described == {(one.method, API + one.path) for one in operations() if "openapi" not in one.path}


def test_the_page_for_people_lists_them_and_loads_nothing_from_elsewhere(world):
    for name in ("", "alice"):
        text = world.client(name).get("/api/").content.decode()
        for one in operations():
            assert f"{one.method} {one.path}" in text
        assert "isocenter submit" in text
        assert '<script src="http' not in text
        assert "cdn" not in text


def test_broken_operations_say_so_without_a_trace(world, monkeypatch, caplog):
    from isocenter.server.api import people

    def breaks(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(people, "quota_of", breaks)
    response = world.client("alice").get(f"{NECK}/phases/validation/quota")
    assert (response.status_code, "secret" in response.content.decode()) == (500, False)
    assert "RuntimeError: secret" in caplog.text
