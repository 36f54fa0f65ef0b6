"""The character of the code 0 in a request: refused with a sentence, wherever it stands, before a database sees it."""

from __future__ import annotations

import json

import pytest

from conftest import CASES, zipped
from isocenter.server.models import Submission, Topic
from isocenter.server.submitting import uploads


@pytest.mark.parametrize(
    "address",
    [
        "/c/neck/forum/?q=%00",
        "/c/neck/forum/?%00=q",
        "/c/neck/boards/validation/dice/board.csv?at=%00",
        "/api/v1/challenges/neck/submissions?state=%00",
        "/api/v1/challenges/neck/boards/validation/dice?version=a%00",
        "/api/v1/challenges/%00",
    ],
)
def test_in_an_address(world, address):
    response = world.client("alice").get(address)
    assert response.status_code == 400
    said = response.json()["detail"] if address.startswith("/api/") else response.content.decode()
    assert said.startswith("The request holds a character that no text has")
    assert response["Content-Security-Policy"]


@pytest.mark.parametrize("address", ["/c/neck/boards/at/a%00b/", "/join/%00/", "/c/neck/pages/a%00/", "/%00"])
def test_nothing_has_an_address_with_it(world, address):
    for name in ("", "alice"):
        page = world.client(name).get(address)
        assert page.status_code == 404
        assert "<h1" in page.content.decode()


def test_two_characters_that_only_look_like_it_are_none(world):
    assert world.client("alice").get("/c/neck/forum/?q=%2500").status_code == 200


def test_in_a_form_or_a_cookie(world):
    client = world.client("alice")
    for sent in ({"title": "a\0b", "text": "x"}, {"title": "a", "text": "\0"}, {"title": "a", "text": "b", "\0": ""}):
        assert client.post("/c/neck/forum/new/", sent).status_code == 400
    assert not Topic.objects.exists()
    client.cookies["sessionid"] = "a\0b"
    assert client.get("/").status_code == 400


@pytest.mark.parametrize(
    ("comment", "status"), [(r"a\u0000b", 400), ("a\0b", 400), (r"a\\\u0000", 400), (r"a\\u0000b", 201)]
)
def test_in_what_is_sent_to_the_api(world, comment, status):
    content = zipped(dict.fromkeys(CASES, 4), world.scratch / "zip")
    upload = uploads.begin(
        world.people["alice"],
        challenge=world.challenge,
        phase="validation",
        purpose="submission",
        name="t.zip",
        size=len(content),
    )
    client = world.client("alice")
    tus = {"Tus-Resumable": "1.0.0", "Upload-Offset": "0"}
    sent = client.patch(f"/uploads/{upload.pk}", content, content_type="application/offset+octet-stream", headers=tus)
    assert sent.status_code == 204  # a file is no text
    asked = json.dumps({"upload": str(upload.pk), "declarations": {}}).replace("}}", f'}}, "comment": "{comment}"}}')
    where = "/api/v1/challenges/neck/phases/validation/submissions"
    for kind in ("application/json", "text/plain"):
        response = client.post(where, asked, content_type=kind)
        assert response.status_code in (status, 200), response.content
    assert [one.comment for one in Submission.objects.all()] == ([r"a\u0000b"] if status == 201 else [])
