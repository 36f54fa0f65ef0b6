"""How often somebody may ask."""

from __future__ import annotations

from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.cache import cache
from django.test import Client

from isocenter.server.models import Token
from isocenter.server.submitting import limits

THREE = limits.Limit("three", 3, seconds=60)


@pytest.fixture(autouse=True)
def uncounted() -> None:
    cache.clear()


def asked(address: str = "192.0.2.1", user: object = None) -> int | None:
    """Ask once; after how many seconds again, if that was too often."""
    request = SimpleNamespace(META={"REMOTE_ADDR": address})
    try:
        limits.count(THREE, request, user or AnonymousUser())
    except limits.TooMany as error:
        return error.wait
    return None


def person(key: int) -> object:
    return SimpleNamespace(is_authenticated=True, pk=key)


def test_so_many_in_a_window_and_no_more_until_it_is_over(at):
    at.move(seconds=20)
    assert [asked() for _ in range(4)] == [None, None, None, 40]
    at.move(seconds=39)
    assert asked() == 1
    at.move(seconds=1)
    assert asked() is None


def test_people_count_wherever_they_are_and_others_by_their_address(at):
    assert [asked(f"192.0.2.{n}", person(1)) for n in range(4)] == [None, None, None, 60]
    assert asked("192.0.2.9", person(2)) is None
    assert [asked("192.0.2.9") for _ in range(4)] == [None, None, None, 60]
    assert asked("192.0.2.10") is None


def test_who_has_a_network_of_addresses_is_one(at):
    assert [asked(f"2001:db8:1:2::{n}") for n in range(1, 5)] == [None, None, None, 60]
    assert asked("2001:db8:1:3::1") is None
    assert [asked("nonsense") for _ in range(4)] == [None, None, None, 60]


def test_limits_do_not_mix(at):
    other = limits.Limit("other", 1)
    request = SimpleNamespace(META={"REMOTE_ADDR": "192.0.2.1"})
    limits.count(other, request, AnonymousUser())
    assert asked() is None
    with pytest.raises(limits.TooMany, match=r"at most 1 in a minute\. Try again in 60 s"):
        limits.count(other, request, AnonymousUser())


def test_the_api_says_when_to_ask_again(world, monkeypatch):
    monkeypatch.setattr(limits, "API_OF_NOBODY", limits.Limit("nobody", 2))
    monkeypatch.setattr(limits, "API", limits.Limit("somebody", 3))
    client = Client()
    assert [client.get("/api/v1/challenges").status_code for _ in range(3)] == [200, 200, 429]
    response = client.get("/api/v1/challenges")
    assert response["Retry-After"] == "60"
    assert response.json() == {
        "detail": "Too many requests: at most 2 in a minute. Try again in 60 s.",
        "problems": [],
    }
    # Somebody behind the same address is not kept out by it, and has one count for session and token.
    _, token = Token.make(world.people["alice"], "laptop")
    bearer = {"Authorization": f"Bearer {token}"}
    assert [client.get("/api/v1/me", headers=bearer).status_code for _ in range(2)] == [200, 200]
    assert [world.client("alice").get("/api/v1/me").status_code for _ in range(2)] == [200, 429]


def test_guessing_tokens_has_to_wait(world, monkeypatch):
    monkeypatch.setattr(limits, "API_OF_NOBODY", limits.Limit("nobody", 2))
    guess = {"Authorization": "Bearer iso_guess", "Tus-Resumable": "1.0.0"}
    assert [Client().get("/api/v1/me", headers=guess).status_code for _ in range(3)] == [401, 401, 429]
    assert Client().post("/uploads/", headers=guess).status_code == 429
    at_data = Client().get(f"/c/neck/data/{uuid4()}/", headers=guess)
    assert (at_data.status_code, at_data["Retry-After"]) == (429, "60")
    _, token = Token.make(world.people["alice"], "laptop")
    assert Client().get("/api/v1/me", headers={"Authorization": f"Bearer {token}"}).status_code == 200
