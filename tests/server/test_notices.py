"""Notifications and mails: to whom, with which words, and when."""

from __future__ import annotations

from smtplib import SMTPException

import pytest
from django.core import mail
from django.db import transaction

from isocenter.server import notices
from isocenter.server.models import Notification, Registration, Role


@pytest.fixture
def sent(django_capture_on_commit_callbacks):
    """Run something as if its transaction had held, and give the mails."""

    def of(does):
        mail.outbox.clear()
        with django_capture_on_commit_callbacks(execute=True):
            does()
        return list(mail.outbox)

    return of


def test_each_person_is_told_once(world, sent) -> None:
    alice, bob = world.people["alice"], world.people["bob"]
    mails = sent(lambda: notices.notify([alice, bob, alice], "Something happened.", url="/c/neck/", mail=True))
    assert sorted(one.user.name for one in Notification.objects.all()) == ["Alice", "Bob"]
    assert [one.to for one in mails] == [["alice@example.org"], ["bob@example.org"]]
    assert all(not one.cc and not one.bcc for one in mails)


def test_without_mail_there_is_only_the_line(world, sent) -> None:
    assert sent(lambda: notices.notify([world.people["alice"]], "Something happened.")) == []
    assert Notification.objects.get().text == "Something happened."


def test_a_mail_is_plain_text_that_says_where_to_look(world, settings) -> None:
    settings.URL = "https://challenges.example.org"
    made = notices.composed(world.people["alice"], "It is\nscored.", url="/c/neck/x/", challenge=world.challenge)
    assert made.subject == "[Tumours of the neck] It is scored."
    assert "https://challenges.example.org/c/neck/x/" in made.body
    assert made.body.startswith("Hello Alice,\n\nIt is scored.\n")
    assert made.content_subtype == "plain"
    settings.URL = ""
    assert (
        "On the site: /c/neck/x/" in notices.composed(world.people["alice"], "x", url="/c/neck/x/", challenge=None).body
    )


def test_a_subject_names_the_challenge_once(world) -> None:
    said = "Tumours of the neck is published."
    assert notices.composed(world.people["alice"], said, url="", challenge=world.challenge).subject == said


def test_a_subject_cannot_smuggle_a_header(world, sent) -> None:
    text = "Hello\r\nBcc: everybody@example.org"
    [made] = sent(lambda: notices.notify([world.people["alice"]], text, mail=True))
    assert made.subject == "[isocenter] Hello Bcc: everybody@example.org"
    assert made.recipients() == ["alice@example.org"]


def test_long_texts_are_cut_where_they_are_kept(world) -> None:
    notices.notify([world.people["alice"]], "word " * 200)
    kept = Notification.objects.get().text
    assert len(kept) == 300
    assert kept.endswith("…")


def test_a_team_and_the_organisers_are_told(world) -> None:
    assert notices.to_team(world.teams["Rigi"], "For the team.") == 2
    assert notices.to_organisers(world.challenge, "For organisers.") == 1
    assert {(one.user.name, one.challenge.slug) for one in Notification.objects.all()} == {
        ("Alice", "neck"),
        ("Bob", "neck"),
        ("Organiser", "neck"),
    }
    Role.objects.all().delete()
    notices.to_organisers(world.challenge, "To whom?")
    assert Notification.objects.get(text="To whom?").user.name == "Staff"


def test_who_left_is_told_nothing(world, sent) -> None:
    world.people["bob"].is_active = False
    world.people["bob"].save()
    mails = sent(lambda: notices.to_team(world.teams["Rigi"], "For the team.", mail=True))
    assert [one.to for one in mails] == [["alice@example.org"]]


@pytest.mark.parametrize("state", ["withdrawn", "refused"])
def test_who_takes_part_no_more_is_told_nothing_of_the_team(world, sent, state: str) -> None:
    Registration.objects.filter(user=world.people["bob"], challenge=world.challenge).update(state=state)
    mails = sent(lambda: notices.to_team(world.teams["Rigi"], "For the team.", mail=True))
    assert [one.to for one in mails] == [["alice@example.org"]]
    assert not Notification.objects.filter(user=world.people["bob"]).exists()


def test_the_page_says_of_which_challenge_unless_the_line_does(world) -> None:
    notices.notify([world.people["alice"]], "Something happened.", challenge=world.challenge)
    notices.notify([world.people["alice"]], "Tumours of the neck: results.", challenge=world.challenge)
    page = world.client("alice").get("/notifications/").content.decode()
    assert page.count("Tumours of the neck") == 2


def test_what_did_not_hold_is_not_mailed(world, django_capture_on_commit_callbacks) -> None:
    mail.outbox.clear()
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        notices.notify([world.people["alice"]], "It happened.", mail=True)
        transaction.set_rollback(True)
    assert mail.outbox == []
    assert not Notification.objects.exists()


def test_a_mail_server_that_is_down_breaks_nothing(world, sent, monkeypatch, caplog) -> None:
    def down(*_: object) -> None:
        raise SMTPException("no route")

    monkeypatch.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", down)
    assert sent(lambda: notices.notify([world.people["alice"]], "It happened.", mail=True)) == []
    assert Notification.objects.count() == 1
    assert "1 mails were not sent: no route" in caplog.text


def test_the_page_shows_ones_own_and_marks_them(world) -> None:
    alice, bob = world.people["alice"], world.people["bob"]
    notices.notify([alice], "First.", url="/c/neck/")
    notices.notify([alice], "Second.", url="//evil.example.org/")
    notices.notify([bob], "Not for Alice.")
    client = world.client("alice")
    page = client.get("/notifications/").content.decode()
    assert "First." in page
    assert "Not for Alice." not in page
    assert client.post("/notifications/1/").url == "/c/neck/"
    assert client.post("/notifications/2/").url == "/notifications/"
    assert client.get("/notifications/1/").status_code == 405
    assert client.post("/notifications/3/").status_code == 404
    assert client.post("/notifications/").url == "/notifications/"
    assert not alice.notifications.filter(read=None).exists()
    assert bob.notifications.filter(read=None).count() == 1
    assert world.client().get("/notifications/").status_code == 302


def test_looking_marks_nothing(world) -> None:
    notices.notify([world.people["alice"]], "First.")
    world.client("alice").get("/notifications/")
    assert Notification.objects.get().read is None
