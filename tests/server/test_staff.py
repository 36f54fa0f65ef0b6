"""What those who run the site see and do; nobody else does."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.mail import EmailMessage

from isocenter.problems import find_code
from isocenter.server.hosting import checks
from isocenter.server.mail import Kept
from isocenter.server.models import Mail, Reference, Run, SiteDecision, User, Worker

PAGES = ("/staff/", "/staff/users/", "/staff/users/1/", "/staff/mails/", "/staff/challenges/")


@pytest.mark.parametrize("page", PAGES)
def test_pages_of_staff_are_for_staff(world, page):
    page = page.replace("1", str(world.people["alice"].pk))
    assert world.client("staff").get(page).status_code == 200
    assert world.client().get(page).status_code == 302
    for name in ("organiser", "alice", "reader", "stranger"):
        assert world.client(name).get(page).status_code == 403


def decide(world, who: str, whom: str, act: str, reason: str = "asked for it") -> int:
    where = f"/staff/users/{world.people[whom].pk}/decide/"
    return world.client(who).post(where, {"act": act, "reason": reason}).status_code


def test_somebody_is_made_staff_and_it_is_written_down_by_whom_and_why(world):
    assert decide(world, "staff", "alice", "promote", "deputy") == 302
    assert User.objects.get(name="Alice").is_staff
    one = SiteDecision.objects.get()
    assert (one.actor, one.subject, one.reason) == ("Staff <staff@example.org>", "alice@example.org", "deputy")
    page = world.client("staff").get("/staff/users/").content.decode()
    assert "deputy" in page


def test_a_closed_account_is_signed_out_at_once(world):
    alice = world.client("alice")
    assert "Sign out" in alice.get("/").content.decode()
    assert decide(world, "staff", "alice", "close") == 302
    assert "Sign out" not in alice.get("/").content.decode()


def test_nobody_shuts_the_door_behind_themselves(world):
    assert decide(world, "staff", "staff", "demote") == 403
    assert decide(world, "staff", "staff", "close") == 403
    assert User.objects.get(name="Staff").is_staff
    assert not SiteDecision.objects.exists()


@pytest.mark.parametrize(("act", "reason"), [("promote", ""), ("delete", "no such act"), ("", "nothing")])
def test_without_act_or_reason_nothing_happens(world, act, reason):
    assert decide(world, "staff", "alice", act, reason) == 302
    assert not User.objects.get(name="Alice").is_staff
    assert not SiteDecision.objects.exists()


@pytest.mark.parametrize("who", ["organiser", "alice"])
def test_nobody_else_decides_about_accounts(world, who):
    assert decide(world, who, who, "promote") == 403
    assert not User.objects.get(name=who.title()).is_staff


def test_looking_at_the_address_changes_nothing(world):
    where = f"/staff/users/{world.people['alice'].pk}/decide/"
    assert world.client("staff").get(where, {"act": "promote", "reason": "x"}).status_code == 405


def test_decisions_about_accounts_are_neither_changed_nor_removed(world):
    decide(world, "staff", "alice", "promote")
    one = SiteDecision.objects.get()
    with pytest.raises(TypeError, match="not changed"):
        one.save()
    with pytest.raises(TypeError, match="not removed"):
        one.delete()


def test_people_are_found_by_parts_of_name_and_address(world):
    page = world.client("staff").get("/staff/users/", {"q": "ali example"}).content.decode()
    assert "alice@example.org" in page
    assert "bob@example.org" not in page


def test_a_mail_that_is_kept_can_be_read_with_its_link_and_nothing_in_it_is_markup(world):
    text = "Confirm: https://challenge.example.org/accounts/confirm-email/abc/\n<img src=x onerror=alert(1)>"
    Kept().send_messages([EmailMessage("Confirm <b>", text, to=["alice@example.org"])])
    number = Mail.objects.get().pk
    body = world.client("staff").get(f"/staff/mails/{number}/").content.decode()
    assert 'href="https://challenge.example.org/accounts/confirm-email/abc/"' in body
    assert "<img src=x" not in body
    assert "alice@example.org" in world.client("staff").get("/staff/mails/", {"q": "ALICE"}).content.decode()
    assert world.client("alice").get(f"/staff/mails/{number}/").status_code == 403


def titles(state: str) -> str:
    return "\n".join(one.title for one in checks.findings() if one.state == state)


def test_a_site_without_workers_is_told_to_act(world):
    assert "No worker was seen" in titles("bad")
    Worker.objects.create(name="a", version="1", seen=world.at.now)
    assert "1 worker at work" in titles("good")
    world.at.move(minutes=3)
    assert "No worker was seen" in titles("bad")
    until = world.at.now + timedelta(minutes=1)
    Run.objects.create(kind="score", challenge=world.challenge, state="running", worker="a", lease_until=until)
    assert "1 worker at work" in titles("good")


def test_work_that_waits_for_long_is_told(world):
    Run.objects.create(kind="score", challenge=world.challenge, queued=world.at.now - timedelta(minutes=20))
    assert "Something waits since 20 minutes" in titles("warn")


def test_a_full_disk_is_told(world, monkeypatch):
    from collections import namedtuple

    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda _: usage(100e9, 99.5e9, 0.5e9))
    assert "0.5 of 100 GB free" in titles("bad")
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda _: usage(1e12, 0.98e12, 20e9))
    assert "20.0 of 1000 GB free" in titles("warn")


def test_an_open_phase_without_reference_is_told(world):
    assert "no reference" not in titles("bad")
    Reference.objects.filter(phase="validation").delete()
    assert "Validation is open and has no reference" in titles("bad")
    Reference.objects.filter(phase="test").update(phase="")
    assert "no reference" not in titles("bad")


def test_the_state_of_the_site_says_what_runs_waits_and_failed(world):
    Worker.objects.create(name="box 1", version="1", seen=world.at.now)
    Run.objects.create(kind="score", challenge=world.challenge, state="running", worker="box 1", done=1, total=3)
    Run.objects.create(kind="board", challenge=world.challenge, state="failed", reason="worker_lost")
    size = world.submission("Rigi", "validation").size
    page = world.client("staff").get("/staff/").content.decode()
    for words in ("box 1", "score of neck, 1 of 3", find_code("worker_lost").title, f"{size} B</td>"):
        assert words in page.replace("Score", "score")
