"""Teams: names, invitations, who goes and who stays, and what a team asks of the organisers."""

from __future__ import annotations

import re
import threading
import time
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from many_at_once import at_once, database_on_disk  # noqa: F401 (a fixture)

from conftest import CASES, zipped
from isocenter.server import files
from isocenter.server.models import (
    Access,
    Challenge,
    CodeLink,
    Decision,
    Download,
    Invitation,
    Membership,
    Notification,
    Registration,
    Role,
    Team,
    Upload,
    User,
    Version,
)
from isocenter.server.people import conflicts_of, names, teams
from isocenter.server.policy import Visit
from isocenter.server.submitting import intake, uploads

HOSTILE = ("\u202eigiR", "Ri\u200bgi", "x" * 10_000, "\u202e", " ", "!!!", "a\x01b", "\u2066Rigi\u2069")
PDF = b"%PDF-1.7 a description"


@pytest.fixture(autouse=True)
def mails_leave_at_once(monkeypatch):
    """A test is one transaction, which is never committed."""
    monkeypatch.setattr("django.db.transaction.on_commit", lambda act, **_: act())


def visit(world, name):
    return Visit(User.objects.get(email=f"{name}@example.org"), world.challenge)


def joins_in(world, name):
    """Somebody who is registered and in no team."""
    Registration.objects.update_or_create(
        user=world.people[name],
        challenge=world.challenge,
        defaults={"state": "accepted", "terms_version": "1", "terms_accepted": world.at.now},
    )


def does(world, who, do, /, **fields):
    return world.client(who).post(reverse("team", args=["neck"]), {"do": do, **fields}, follow=True)


def invited(world, email, by="alice"):
    """The path of the link in the mail."""
    mail.outbox.clear()
    does(world, by, "invite", email=email)
    return re.search(r"https?://[^/\s]+(/join/\S+/)", mail.outbox[0].body)[1]


def of(world, name):
    found = Membership.objects.filter(user=world.people[name], challenge=world.challenge).first()
    return None if found is None else found.team.name


def request_phase(world):
    """The test phase, open on request."""
    toml = world.challenge.version.toml.replace('title = "Test"', 'title = "Test"\nadmission = "request"')
    world.challenge.version = Version.objects.create(challenge=world.challenge, number=2, toml=toml)
    world.challenge.save()


def test_who_founds_a_team_leads_it(world):
    joins_in(world, "stranger")
    assert "Found a team" in world.client("stranger").get(reverse("team", args=["neck"])).content.decode()
    does(world, "stranger", "found", name="  Säntis\t I ")
    made = Membership.objects.get(user=world.people["stranger"])
    assert (made.team.name, made.leads, made.team.kind) == ("Säntis I", True, "team")


@pytest.mark.parametrize(
    "name",
    ["rigi", "RIGI", "ＲＩＧＩ", "Rіgі", "Ri-gi", "R i g i.", "Team MF2WZR", "teаm mf2wzr", "Säntis #2", "Säntis # 12"],
)
def test_no_name_can_be_taken_for_another(world, name):
    joins_in(world, "stranger")
    does(world, "stranger", "found", name=name)
    assert of(world, "stranger") is None


@pytest.mark.parametrize("name", ["Team Berlin", "Rigi 2", "Züri", "日本", "Команда", "C++ & co", "<b>Eiger</b>"])
def test_other_names_are_free(world, name):
    joins_in(world, "stranger")
    does(world, "stranger", "found", name=name)
    assert of(world, "stranger") == name
    text = world.client("stranger").get(reverse("team", args=["neck"])).content.decode()
    assert "<b>Eiger" not in text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused_in_words(world, name):
    joins_in(world, "stranger")
    page = does(world, "stranger", "found", name=name)
    assert of(world, "stranger") is None
    assert re.search(r'class="notice error"[^>]*>[^<]*(A name has|The name h)', page.content.decode())
    assert "\u202e" not in page.content.decode()


def test_another_challenge_has_names_of_its_own():
    assert names.team_name("Rigi", []) == "Rigi"
    with pytest.raises(names.NameProblem):
        names.team_name("Rigi", ["R1gi", "rigl", "RIGI"])


def test_nobody_is_in_two_teams(world):
    page = does(world, "bob", "found", name="Eiger")
    assert "nobody is in two teams" in page.content.decode()
    link = invited(world, "bob@example.org", by="carol")
    assert "Leave it first" in world.client("bob").get(link).content.decode()
    world.client("bob").post(link)
    assert of(world, "bob") == "Rigi"


def test_who_is_not_accepted_founds_and_joins_nothing(world):
    for name in ("stranger", "waiting", "reader"):
        assert does(world, name, "found", name="Eiger").status_code == 403
        link = invited(world, f"{name}@example.org")
        world.client(name).post(link)
        assert of(world, name) is None
    assert does(world, "organiser", "found", name="Eiger").status_code == 200
    assert of(world, "organiser") is None


def test_an_invitation_brings_its_addressee_in_once(world):
    joins_in(world, "stranger")
    link = invited(world, "Stranger@Example.org")
    (sent,) = mail.outbox
    assert sent.to == ["stranger@example.org"]
    assert "Alice invites you to the team “Rigi”" in sent.body
    secret = link.split("/")[2]
    assert not Invitation.objects.filter(hash__contains=secret).exists()
    client = world.client("stranger")
    assert "Join “Rigi”?" in client.get(link).content.decode()
    assert of(world, "stranger") is None  # looking is not joining
    client.post(link)
    assert of(world, "stranger") == "Rigi"
    assert not Membership.objects.get(user=world.people["stranger"]).leads
    assert client.get(link).status_code == 404


def test_an_invitation_is_for_its_address_and_a_week(world):
    joins_in(world, "stranger")
    joins_in(world, "waiting")
    link = invited(world, "stranger@example.org")
    page = world.client("waiting").get(link)
    assert page.status_code == 404
    assert "Rigi" not in page.content.decode()
    assert "stranger" not in page.content.decode()
    world.client("waiting").post(link)
    assert of(world, "waiting") is None
    world.people["stranger"].emailaddress_set.update(verified=False)
    assert world.client("stranger").post(link).status_code == 404  # an address that nobody confirmed
    world.people["stranger"].emailaddress_set.update(verified=True)
    world.at.move(days=7)
    assert world.client("stranger").post(link).status_code == 404
    assert of(world, "stranger") is None
    assert world.client().get(link).url.startswith(reverse("account_login"))
    assert world.client("stranger").get("/join/anything/").status_code == 404


def test_an_invitation_that_is_taken_back_is_none(world):
    joins_in(world, "stranger")
    link = invited(world, "stranger@example.org")
    made = Invitation.objects.get()
    assert does(world, "carol", "take-back", which=made.key).status_code == 404  # not hers
    does(world, "alice", "take-back", which=made.key)
    assert world.client("stranger").post(link).status_code == 404


def test_forms_of_a_team_have_keys_that_count_nothing(world):
    does(world, "alice", "invite", email="eve@example.org")
    page = world.client("alice").get("/c/neck/team/").content.decode()
    keys = re.findall(r'name="which" value="([^"]*)"', page)
    assert {str(UUID(key)) for key in keys} == set(keys)
    assert len(set(keys)) == 2  # the mate, and the invitation


def test_the_site_is_no_way_to_mail_strangers(world):
    assert "Enter a valid" in does(world, "alice", "invite", email="a@b.ch\nBcc: c@d.ch").content.decode()
    for _ in range(40):
        does(world, "alice", "invite", email="victim@example.com")
    assert len(mail.outbox) == teams.MOST_A_DAY
    world.at.move(days=8)
    mail.outbox.clear()
    for number in range(20):
        does(world, "alice", "invite", email=f"v{number}@example.com")
    assert len(mail.outbox) == teams.MOST_OPEN


def test_only_who_leads_invites_removes_and_hands_over(world):
    alice = Membership.objects.get(user=world.people["alice"])
    for do, fields in (
        ("invite", {"email": "x@y.ch"}),
        ("remove", {"which": alice.key}),
        ("hand-over", {"which": alice.key}),
    ):
        does(world, "bob", do, **fields)
    does(world, "bob", "rename", name="Bob's")
    does(world, "bob", "consent", consents="yes")
    assert not Invitation.objects.exists()
    assert of(world, "alice") == "Rigi"
    assert not Team.objects.get(name="Rigi").consents
    carol = Membership.objects.get(user=world.people["carol"])
    for do in ("remove", "hand-over"):  # nobody of another team
        assert does(world, "alice", do, which=carol.key).status_code == 404
    assert of(world, "carol") == "Pilatus"
    assert does(world, "alice", "remove", which=alice.key).status_code == 200  # nor oneself
    assert of(world, "alice") == "Rigi"


def test_before_the_first_submission_people_come_and_go(world):
    does(world, "alice", "leave")
    assert of(world, "alice") is None
    assert Membership.objects.get(user=world.people["bob"]).leads  # the lead goes on
    does(world, "bob", "leave")
    assert not Team.objects.filter(name="Rigi").exists()
    does(world, "alice", "found", name="Rigi")
    assert of(world, "alice") == "Rigi"


def test_after_the_first_submission_nobody_gets_fresh_attempts_by_going(world):
    world.submission("Rigi", "validation")
    bob = Membership.objects.get(user=world.people["bob"])
    assert "its people stay until the end" in does(world, "bob", "leave").content.decode()
    does(world, "alice", "remove", which=bob.key)
    assert of(world, "bob") == "Rigi"
    does(world, "bob", "found", name="Eiger")
    assert not Team.objects.filter(name="Eiger").exists()
    text = world.client("bob").get(reverse("team", args=["neck"])).content.decode()
    assert "Leave the team" not in text


def test_organisers_move_somebody_with_a_reason_that_stays(world):
    world.submission("Rigi", "validation")
    bob = Membership.objects.get(user=world.people["bob"])
    for name, reason in (("alice", "please"), ("organiser", " ")):
        with pytest.raises(teams.NotPossible):
            teams.move(visit(world, name), bob, None, reason)
    teams.move(visit(world, "organiser"), bob, world.teams["Pilatus"], "Changed the institute")
    assert of(world, "bob") == "Pilatus"
    decided = Decision.objects.get()
    assert (decided.what, decided.subject, decided.reason) == (
        "move",
        "Bob: Rigi to team Pilatus",
        "Changed the institute",
    )
    teams.move(visit(world, "organiser"), Membership.objects.get(user=world.people["alice"]), None, "Asked to")
    assert Team.objects.filter(name="Rigi").exists()  # what it submitted stays


def test_a_new_name_until_the_first_submission_and_then_only_by_organisers(world):
    rigi = world.teams["Rigi"]
    does(world, "alice", "rename", name="pilatus")
    assert Team.objects.get(pk=rigi.pk).name == "Rigi"
    does(world, "alice", "rename", name="RIGI!")  # like its own name only
    assert Team.objects.get(pk=rigi.pk).name == "RIGI!"
    assert not Decision.objects.exists()
    world.submission("Rigi", "validation")
    does(world, "alice", "rename", name="Eiger", reason="why not")
    assert Team.objects.get(pk=rigi.pk).name == "RIGI!"
    teams.rename(visit(world, "organiser"), rigi, "Eiger", reason="It was an insult")
    assert Team.objects.get(pk=rigi.pk).name == "Eiger"
    assert Decision.objects.get().reason == "Eiger: It was an insult"


def test_when_all_phases_have_closed_teams_stay_as_they_are(world):
    joins_in(world, "stranger")
    link = invited(world, "stranger@example.org")
    Invitation.objects.update(expires=world.at.now + timedelta(days=365))
    world.at.move(days=61)
    assert "teams stay as they are" in world.client("stranger").post(link, follow=True).content.decode()
    for name, do, fields in (
        ("alice", "leave", {}),
        ("stranger", "found", {"name": "Eiger"}),
        ("alice", "invite", {"email": "a@b.ch"}),
    ):
        does(world, name, do, **fields)
    assert of(world, "alice") == "Rigi"
    assert of(world, "stranger") is None
    assert Invitation.objects.count() == 1


def test_a_team_with_an_organiser_in_it_is_one_of_the_organisers(world):
    Role.objects.create(user=world.people["stranger"], challenge=world.challenge, kind="organiser")
    joins_in(world, "stranger")
    link = invited(world, "stranger@example.org")
    assert "becomes one of the organisers" in world.client("stranger").get(link).content.decode()
    world.client("stranger").post(link)
    assert Team.objects.get(name="Rigi").kind == "organiser"
    assert "stands on no board" in world.client("alice").get(reverse("team", args=["neck"])).content.decode()
    joins_in(world, "organiser")
    does(world, "organiser", "found", name="Ours")
    assert Team.objects.get(name="Ours").kind == "organiser"


def test_nobody_joins_a_team_that_is_disqualified(world):
    joins_in(world, "stranger")
    link = invited(world, "stranger@example.org")
    Team.objects.filter(name="Rigi").update(disqualified=True)
    world.client("stranger").post(link)
    assert of(world, "stranger") is None
    assert not visit(world, "alice").admission("validation").yes
    assert "disqualified" in world.client("alice").get(reverse("team", args=["neck"])).content.decode()


def test_the_page_shows_what_is_left_and_when_the_next_slot_is_and_no_phase_that_is_not_announced(world):
    for _ in range(3):
        world.submission("Rigi", "validation", state="scored")
    text = world.client("bob").get(reverse("team", args=["neck"])).content.decode()
    assert "3 of 3 attempts in any seven days used" in text
    assert "9 March 2026" in text
    assert "Final" not in text
    assert "Pilatus" not in text
    assert "Only the first of a board is announced" not in text  # for who leads
    assert (
        "Only the first of a board is announced"
        in world.client("alice").get(reverse("team", args=["neck"])).content.decode()
    )


def test_a_team_consents_to_be_named_and_takes_it_back(world):
    does(world, "alice", "consent", consents="yes")
    assert "Rigi" in visit(world, "carol").sight("validation").consents
    does(world, "alice", "consent")
    assert visit(world, "carol").sight("validation").consents == frozenset()


def asks(world, name="alice", phase="test", document=PDF, **fields):
    sent = {"text": "We want to compare our method.", **fields}
    if document is not None:
        sent["document"] = SimpleUploadedFile("../../etc/pass wd.pdf", document, "application/pdf")
    return world.client(name).post(reverse("access", args=["neck", phase]), sent, follow=True)


def test_a_team_asks_for_a_phase_and_only_it_and_the_organisers_see_why(world):
    request_phase(world)
    assert "ask the organisers" in visit(world, "alice").admission("test").reason
    asks(world)
    one = Access.objects.get()
    assert (one.team.name, one.phase, one.state) == ("Rigi", "test", "waiting")
    assert re.fullmatch(r"documents/[0-9a-f-]{36}\.pdf", one.document)
    assert files.at(one.document).read_bytes() == PDF
    assert "waiting" in visit(world, "bob").admission("test").reason
    assert Notification.objects.filter(user=world.people["organiser"], text__contains="Rigi asks").exists()
    url = reverse("access_document", args=["neck", one.key])
    for name in ("alice", "bob", "organiser", "staff"):
        page = world.client(name).get(url)
        assert b"".join(page.streaming_content) == PDF
        assert page["Content-Disposition"].startswith("attachment")
    for name in ("carol", "reader", "stranger", "waiting"):
        assert world.client(name).get(url).status_code in (403, 404)
    assert world.client("carol").get(url).status_code == 404


def test_a_request_can_be_changed_until_it_is_decided_and_leaves_no_file_behind(world):
    request_phase(world)
    asks(world)
    first = Access.objects.get().document
    asks(world, document=b"%PDF-2 another", text="Again.")
    one = Access.objects.get()
    assert one.text == "Again."
    assert not files.at(first).exists()
    assert [path.name for path in files.at("documents").iterdir()] == [one.document.split("/")[1]]
    Access.objects.update(state="refused")
    asks(world, document=b"%PDF-3 once more")
    assert [path.name for path in files.at("documents").iterdir()] == [one.document.split("/")[1]]
    assert Access.objects.get().state == "refused"


def test_a_request_that_is_changed_again_and_again_is_one_line_a_day(world):
    request_phase(world)
    told = Notification.objects.filter(user=world.people["organiser"], text__contains="Rigi asks")
    for _ in range(3):
        asks(world)
    assert told.count() == 1
    world.at.move(days=1)
    asks(world)
    assert told.count() == 2


def test_documents_are_pdf_and_not_huge(world, monkeypatch):
    request_phase(world)
    assert "not a PDF" in asks(world, document=b"MZ an exe").content.decode()
    monkeypatch.setattr("isocenter.server.people.forms.MOST_DOCUMENT", 10)
    assert "at most" in asks(world).content.decode()
    assert "this field is required" in asks(world, text="", document=None).content.decode().lower()
    assert not Access.objects.exists()
    assert not files.at("documents").exists()


def test_only_phases_on_request_can_be_asked_for_and_hidden_ones_do_not_exist(world):
    request_phase(world)
    assert asks(world, phase="validation").status_code == 404
    assert asks(world, phase="final").status_code == 404
    assert asks(world, "stranger").status_code == 403
    assert asks(world, "organiser").status_code == 200
    assert not Access.objects.exists()


def test_a_link_to_the_code_is_the_teams_until_it_is_released(world):
    does(world, "bob", "code", phase="validation", url="https://example.org/rigi", licence="MIT")
    link = CodeLink.objects.get()
    assert (link.team.name, link.phase, link.url, link.released) == (
        "Rigi",
        "validation",
        "https://example.org/rigi",
        None,
    )
    for url in ("javascript:alert(1)", "not a url", ""):
        does(world, "bob", "code", phase="validation", url=url)
    assert does(world, "bob", "code", phase="final", url="https://a.org").status_code == 404
    CodeLink.objects.update(released=world.at.now)
    does(world, "bob", "code", phase="validation", url="https://example.org/other")
    assert CodeLink.objects.get().url == "https://example.org/rigi"
    assert "https://example.org/rigi" not in world.client("carol").get(reverse("team", args=["neck"])).content.decode()


def test_an_organiser_without_a_team_is_told_where_teams_are(world):
    text = world.client("organiser").get(reverse("team", args=["neck"])).content.decode()
    assert "You organise this challenge and are in no team" in text
    assert world.client("organiser").post(reverse("team", args=["neck"]), {"do": "leave"}).status_code == 302
    assert world.client("alice").post(reverse("team", args=["neck"]), {"do": "conquer"}).status_code == 404


def test_a_team_with_somebody_in_it_who_runs_the_site_is_one_of_the_organisers(world):
    """They see what is hidden, as organisers do."""
    joins_in(world, "staff")
    does(world, "staff", "found", name="Insider")
    made = Team.objects.get(name="Insider")
    assert made.kind == "organiser"
    assert conflicts_of(made) == ["Staff runs the site, and sees what organisers see."]
    Membership.objects.filter(user=world.people["staff"]).delete()
    link = invited(world, "staff@example.org")
    assert "becomes one of the organisers" in world.client("staff").get(link).content.decode()
    world.client("staff").post(link)
    assert Team.objects.get(name="Rigi").kind == "organiser"


def test_a_look_at_the_document_of_another_team_is_logged_at_both_addresses(world):
    request_phase(world)
    asks(world)
    key = Access.objects.get().key
    for name in ("alice", "organiser", "staff"):
        b"".join(world.client(name).get(reverse("access_document", args=["neck", key])).streaming_content)
    b"".join(world.client("organiser").get(reverse("organise_document", args=["neck", key])).streaming_content)
    seen = Download.objects.order_by("pk").values_list("user__name", "what", "size")
    what = ("document of Rigi for test", len(PDF))
    assert list(seen) == [("Organiser", *what), ("Staff", *what), ("Organiser", *what)]


def test_the_link_of_an_invitation_leads_to_the_site_whatever_host_was_named(world, settings):
    settings.URL = "https://challenge.example.org"
    mail.outbox.clear()
    data = {"do": "invite", "email": "new@example.org"}
    world.client("alice").post(reverse("team", args=["neck"]), data, headers={"Host": "localhost:6666"})
    assert "https://challenge.example.org/join/" in mail.outbox[0].body
    assert "6666" not in mail.outbox[0].body


def test_who_leaves_while_somebody_hands_in_for_the_team_stays(as_on_a_site, world, monkeypatch):
    """Else they could found another team, with attempts of its own. SQLite lets one of two begin only."""
    content = zipped(dict.fromkeys(CASES, 4), world.scratch / "zip")
    given = {"challenge": world.challenge, "phase": "validation", "purpose": "submission"}
    upload = uploads.of_form(world.people["bob"], SimpleUploadedFile("t.zip", content), **given)
    asked_all, take = threading.Event(), uploads.take

    def slow(row: Upload, name: str) -> Path:
        asked_all.set()
        time.sleep(1)  # somebody leaves now, or waits
        return take(row, name)

    monkeypatch.setattr(uploads, "take", slow)

    def both(number: int) -> str:
        visit = Visit(User.objects.get(email="bob@example.org"), Challenge.objects.get(slug="neck"))
        if number == 0:
            return intake.submit(visit, "validation", upload, declarations={}).state
        assert asked_all.wait(30)
        with pytest.raises(teams.NotPossible, match="has submitted"):
            teams.leave(visit)
        return "stays"

    assert at_once(2, both) == ["queued", "stays"]
    assert Membership.objects.filter(user=world.people["bob"]).exists()
