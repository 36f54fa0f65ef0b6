"""Who deletes the account: what stays of them as a record, and what still holds when they come back."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from django.urls import reverse

from isocenter.server.models import (
    Departed,
    Download,
    LicenceAcceptance,
    Membership,
    Registration,
    Release,
    Role,
    Team,
    User,
)
from isocenter.server.organising import admitting
from isocenter.server.people import accounts, licences
from isocenter.server.policy import Visit
from isocenter.server.submitting import intake


def comes_back(world, name, email=""):
    """A new account, which registers."""
    email = email or f"{name}@example.org"
    user = world.people[name] = User.objects.create_user(email, "pass", name=name.title())
    EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
    given = {"terms": "yes", "terms_version": "1"}
    return world.client(name).post(reverse("register", args=["neck"]), given, follow=True)


def visit(world, name):
    return Visit(world.people[name], world.challenge)


@pytest.mark.parametrize("alone", [True, False])
def test_a_new_account_brings_no_fresh_attempts(world, alone):
    world.submission("Rigi", "validation")
    name = "bob"
    if alone:  # who leads, and is the last, may go too
        name = "alice"
        Membership.objects.filter(user=world.people["bob"]).delete()
    accounts.erase(world.people[name])
    assert not Membership.objects.filter(team=world.teams["Rigi"], user__name=name.title()).exists()
    comes_back(world, name)
    mine = visit(world, name)
    assert (mine.team.name, mine.leads) == ("Rigi", alone)
    assert intake.quota(mine, "validation").left == 2
    world.client(name).post(reverse("team", args=["neck"]), {"do": "found", "name": "Fresh"})
    assert not Team.objects.filter(name="Fresh").exists()


def test_a_second_address_and_capitals_are_no_way_around(world):
    world.submission("Rigi", "validation")
    EmailAddress.objects.create(user=world.people["bob"], email="Second@example.org", verified=True)
    accounts.erase(world.people["bob"])
    comes_back(world, "bob", "SECOND@example.org")
    assert visit(world, "bob").team == world.teams["Rigi"]


def test_who_has_to_be_accepted_takes_the_place_then_and_does_not_hold_up_the_team_before(world):
    world.submission("Rigi", "validation")
    accounts.erase(world.people["bob"])
    world.challenge.approval = True
    world.challenge.save()
    comes_back(world, "bob")
    assert not Membership.objects.filter(user=world.people["bob"]).exists()
    assert visit(world, "alice").admission("validation").yes
    asked = Registration.objects.filter(user=world.people["bob"])
    admitting.decide(visit(world, "organiser"), asked, accepted=True, reason="welcome")
    assert visit(world, "bob").team == world.teams["Rigi"]


def test_who_was_refused_stays_refused_until_the_organisers_think_otherwise(world):
    Registration.objects.filter(user=world.people["waiting"]).update(state="refused")
    accounts.erase(world.people["waiting"])
    page = comes_back(world, "waiting")
    assert "that still holds" in page.content.decode()
    asked = Registration.objects.filter(user=world.people["waiting"])
    assert asked.get().state == "refused"
    assert not visit(world, "waiting").accepted
    admitting.decide(visit(world, "organiser"), asked, accepted=True, reason="It was a mistake.")
    accounts.erase(world.people["waiting"])
    comes_back(world, "waiting")
    assert visit(world, "waiting").accepted


def test_who_left_nothing_behind_begins_anew(world):
    accounts.erase(world.people["carol"])  # her team has not submitted
    accounts.erase(world.people["stranger"])
    assert not Departed.objects.exists()
    comes_back(world, "carol")
    assert (visit(world, "carol").accepted, visit(world, "carol").team) == (True, None)


def test_no_address_is_kept_and_none_can_be_tried_without_the_key_of_the_site(world, settings):
    world.submission("Rigi", "validation")
    accounts.erase(world.people["bob"])
    (kept,) = Departed.objects.all().values()
    assert not any("bob" in str(value) for value in kept.values())
    settings.SECRET_KEY = "that of another site"
    comes_back(world, "bob")
    assert visit(world, "bob").team is None


def test_who_took_data_under_which_licence_stays_known(world):
    one = Release.objects.create(
        challenge=world.challenge, title="Scans", name="s.zip", file="s.zip", size=1, sha256="0", licence="For science."
    )
    licences.accept(world.people["bob"], one)
    Download.objects.create(challenge=world.challenge, user=world.people["bob"], what="Scans: s.zip", size=1)
    world.people["bob"].name = "Robert"
    world.people["bob"].save()
    client = world.client("bob")
    client.post(reverse("account_reauthenticate"), {"password": "pass"})
    assert "who downloaded data and accepted their licence" in client.get(reverse("erase_account")).content.decode()
    client.post(reverse("erase_account"))
    assert not User.objects.filter(email="bob@example.org").exists()
    who = "Bob <bob@example.org>"  # as it was then
    assert [(row.user, row.who) for row in Download.objects.all()] == [(None, who)]
    assert [(row.user, row.who, row.licence) for row in LicenceAcceptance.objects.all()] == [
        (None, who, "For science.")
    ]
    organiser = world.client("organiser")
    assert who in organiser.get("/c/neck/organise/downloads/?format=csv").content.decode()
    assert who in organiser.get("/c/neck/organise/downloads/?format=licences").content.decode()
    assert "Bob &lt;bob@example.org&gt;" in organiser.get("/c/neck/organise/downloads/").content.decode()
    # A new account has accepted nothing.
    comes_back(world, "bob")
    assert not licences.accepted(world.people["bob"], [one])[one.pk].now
    assert not Role.objects.filter(user=world.people["bob"]).exists()
