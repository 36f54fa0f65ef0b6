"""The front page shows what a visitor may know, and the first account is made once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.db import OperationalError
from django.test import Client

from isocenter.server.hosting import first_admin
from isocenter.server.models import AdminLink, Challenge, User, Version, Worker
from isocenter.server.pages import front

GOOD = {"email": "Head@Example.org", "name": "Head", "password": "a long enough sentence"}


def shown(client: Client, query: str = "") -> str:
    response = client.get("/", {"q": query} if query else {})
    assert response.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def second(world, *, published: bool, title: str = "Lungs", extra: str = "") -> Challenge:
    made = Challenge.objects.create(slug="lungs", published=published, salt=b"another secret", made=world.at.now)
    toml = world.challenge.version.toml.replace("Tumours of the neck", title)
    made.version = Version.objects.create(challenge=made, number=1, toml=toml + extra, made=world.at.now)
    made.save()
    return made


def test_the_site_starts_without_what_only_boards_need(tmp_path):
    code = """
import django, sys
django.setup()
import isocenter.server.urls
print(*sys.modules)
"""
    given = {"DJANGO_SETTINGS_MODULE": "isocenter.server.settings", "ISOCENTER_DATA": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | given, capture_output=True, text=True, check=True
    )
    heavy = {"isocenter.ranking", "isocenter.metrics", "isocenter.evaluation", "isocenter.stats", "polars", "scipy"}
    assert not heavy & set(ran.stdout.split())


def test_a_fresh_site_tells_staff_how_to_begin_and_others_to_come_back(db, at):
    staff = User.objects.create_user("s@example.org", "x", name="S", is_staff=True)
    client = Client()
    assert "no challenge yet" in shown(client)
    assert "Create a challenge" not in shown(client)
    client.force_login(staff, backend="allauth.account.auth_backends.AuthenticationBackend")
    assert "Create a challenge" in shown(client)


def test_a_card_has_the_phase_that_is_open_and_when_it_closes(world):
    text = shown(world.client())
    assert re.search(r"Open now Tumours of the neck .*Validation is open until 1 April 2026, 00:00 UTC", text)


@pytest.mark.parametrize(
    ("days", "group", "words"),
    [
        (-10, "Coming up", "Validation opens 1 March 2026, 00:00"),
        (31, "Open now", "Test is open until 1 May 2026"),
        (65, "Over", "Test is closed; results 10 May 2026"),
        (70, "Coming up", "Final opens 12 May 2026"),
        (92, "Over", "Final is closed; results 5 June 2026"),
        (120, "Over", "Final closed 1 June 2026"),
    ],
)
def test_a_card_moves_on_with_time(world, days, group, words):
    world.at.move(days=days)
    text = shown(world.client())
    assert words in text
    assert group in text


def test_a_phase_that_is_not_announced_leaves_no_trace(world):
    """Between the end of the test and the announcement of the final, the challenge is over for all but organisers."""
    world.at.move(days=65)
    assert "Final" not in shown(world.client("alice"))
    assert "Final opens" in shown(world.client("organiser"))


@pytest.mark.parametrize("name", ["", "alice", "stranger", "reader"])
def test_who_does_not_make_a_challenge_knows_of_it_when_it_is_published(world, name):
    second(world, published=False)
    assert "Lungs" not in shown(world.client(name))
    assert "Lungs" not in shown(world.client(name), "lungs")


def test_staff_see_what_is_not_published_and_that_it_is_not(world):
    second(world, published=False)
    assert "Lungs" in shown(world.client("staff"))
    assert "not published" in shown(world.client("staff"))


def test_search_takes_all_words_in_any_order_and_case(world):
    second(world, published=True, extra='\n[summary]\nkeywords = ["thorax", "CT"]\n')
    assert "Lungs" in shown(world.client(), "ct LUNGS")
    assert "Tumours of the neck" not in shown(world.client(), "ct lungs")
    assert "No challenge has all of" in shown(world.client(), "lungs neck")


def test_a_search_is_shown_as_text(world):
    body = world.client().get("/", {"q": "<script>alert(1)</script>"}).content.decode()
    assert "<script>alert" not in body


def test_health_tells_of_database_and_workers_and_of_nothing_else(world):
    Worker.objects.create(name="a", version="1", seen=world.at.now)
    Worker.objects.create(name="b", version="1", seen=world.at.now - timedelta(minutes=3))
    Worker.objects.create(name="c", version="1", seen=world.at.now, stopped=world.at.now)
    response = world.client().get("/health/")
    assert response.status_code == 200
    assert {**response.json(), "version": ""} == {"database": True, "workers": 1, "version": ""}


def test_health_is_ill_without_a_database(world, monkeypatch):
    def broken(*_: object) -> None:
        raise OperationalError("password of postgres is xyz")

    with monkeypatch.context() as patch:
        patch.setattr(front.connection, "cursor", broken)
        response = world.client().get("/health/")
    assert (response.status_code, response.json()) == (503, {"database": False})


@pytest.fixture
def secret(db, at) -> str:
    return first_admin.new_link()


def test_the_link_makes_an_account_that_runs_the_site_and_is_signed_in(secret):
    client = Client()
    assert client.get(f"/first/{secret}/").status_code == 200
    response = client.post(f"/first/{secret}/", GOOD)
    assert response.status_code == 302
    user = User.objects.get()
    assert (user.email, user.name, user.is_staff) == ("head@example.org", "Head", True)
    assert user.check_password(GOOD["password"])
    assert EmailAddress.objects.get(user=user).verified
    assert client.session["_auth_user_id"] == str(user.pk)


def test_the_link_is_void_after_use(secret):
    Client().post(f"/first/{secret}/", GOOD)
    for response in (
        Client().get(f"/first/{secret}/"),
        Client().post(f"/first/{secret}/", GOOD | {"email": "b@b.org"}),
    ):
        assert response.status_code == 410
    assert User.objects.count() == 1


def test_the_link_is_void_as_soon_as_somebody_runs_the_site(secret):
    User.objects.create_user("s@example.org", "x", name="S", is_staff=True)
    assert Client().get(f"/first/{secret}/").status_code == 410
    assert Client().post(f"/first/{secret}/", GOOD).status_code == 410


def test_the_link_is_void_after_a_day_and_when_there_is_a_newer_one(secret, at):
    newer = first_admin.new_link()
    assert (Client().get(f"/first/{secret}/").status_code, Client().get(f"/first/{newer}/").status_code) == (410, 200)
    at.move(hours=24.1)
    assert Client().get(f"/first/{newer}/").status_code == 410


def test_between_two_that_use_it_at_once_the_second_gets_nothing(secret):
    """Both saw the form; the row is gone for the second."""
    first_admin.use(secret, email="a@a.org", name="A", password="x")
    User.objects.update(is_staff=False)
    with pytest.raises(first_admin.VoidLink):
        first_admin.use(secret, email="b@b.org", name="B", password="x")


def test_only_a_hash_of_the_secret_is_kept(secret):
    assert secret not in str(AdminLink.objects.values_list())


@pytest.mark.parametrize(
    "change", [{"email": "nonsense"}, {"password": "short"}, {"password": "password1234"}, {"name": ""}, {"email": ""}]
)
def test_what_is_wrong_is_said_and_the_link_stays(secret, change):
    response = Client().post(f"/first/{secret}/", GOOD | change)
    assert response.status_code == 200
    assert "errorlist" in response.content.decode()
    assert first_admin.is_valid(secret)
    assert not User.objects.exists()
