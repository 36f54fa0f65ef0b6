"""The survey of a team on its method."""

from __future__ import annotations

import pytest
from django.urls import reverse

from isocenter.server.models import SurveyAnswers, Version
from isocenter.server.work.voiding import void_reasons_of

FORM = """
[[survey]]
name = "method"
label = "Describe your method"
kind = "long"
required = true
most_words = 5

[[survey]]
name = "augmentation"
label = "Which augmentations?"
kind = "several"
choices = ["Flips", "Rotations", "Other…"]
required = true

[[survey]]
name = "code"
label = "Where is your code?"
kind = "url"
"""
URL = "/c/neck/survey/"


@pytest.fixture
def asks(world):
    # The last phase is announced, so that its team may know what the survey is for.
    toml = world.challenge.version.toml.replace("announced = 2026-05-10T00:00:00Z\n", "") + FORM
    world.challenge.version = Version.objects.create(challenge=world.challenge, number=2, toml=toml)
    world.challenge.save()
    return world


def test_it_is_one_per_team_and_every_member_fills_it_in(asks):
    assert reverse("survey", args=["neck"]) == URL
    asks.client("alice").post(URL, {"method": "A network."})
    text = asks.client("bob").get(URL).content.decode()
    assert "A network." in text
    asks.client("bob").post(URL, {"method": "Two networks.", "augmentation": ["Flips"], "code": "https://a.org/x"})
    saved = SurveyAnswers.objects.get()
    assert saved.team == asks.teams["Rigi"]
    assert saved.answers == {"method": "Two networks.", "augmentation": ["Flips"], "code": "https://a.org/x"}
    assert "Two networks" not in asks.client("carol").get(URL).content.decode()


def test_what_is_there_is_saved_and_what_is_missing_is_told(asks):
    page = asks.client("alice").post(URL, {"method": "A network."}, follow=True)
    text = page.content.decode()
    assert SurveyAnswers.objects.get().answers == {"method": "A network."}
    assert "Still missing" in text
    assert 'href="#q-augmentation">Which augmentations?' in text
    assert 'id="q-augmentation"' in text
    assert "submissions to Final are <strong>void</strong>" in text
    team = asks.client("alice").get(reverse("team", args=["neck"])).content.decode()
    assert "lacks 1 answer" in team
    asks.client("alice").post(URL, {"method": "A network.", "augmentation": ["Rotations"]})
    assert "It is complete" in asks.client("alice").get(URL).content.decode()


def test_a_phase_that_is_not_announced_is_not_named(world):
    world.challenge.version = Version.objects.create(
        challenge=world.challenge, number=2, toml=world.challenge.version.toml + FORM
    )
    world.challenge.save()
    for name in ("survey", "team"):
        assert "Final" not in world.client("alice").get(reverse(name, args=["neck"])).content.decode()


def test_wrong_answers_change_nothing(asks):
    asks.client("alice").post(URL, {"method": "A network."})
    page = asks.client("alice").post(URL, {"method": "far more than five words here", "code": "javascript:alert(1)"})
    assert page.status_code == 400
    assert "2 things are to be put right" in page.content.decode()
    assert SurveyAnswers.objects.get().answers == {"method": "A network."}


def test_it_can_be_changed_until_the_last_phase_closes(asks):
    asks.at.move(days=90)
    asks.client("alice").post(URL, {"method": "Late."})
    assert SurveyAnswers.objects.get().answers == {"method": "Late."}
    asks.at.move(days=5)
    page = asks.client("alice").post(URL, {"method": "Too late."}, follow=True)
    assert "stays as it is" in page.content.decode()
    assert SurveyAnswers.objects.get().answers == {"method": "Late."}


def test_without_it_a_submission_to_the_last_phase_is_void(asks):
    asks.at.move(days=75)
    final = asks.submission("Rigi", "final")
    assert void_reasons_of(final) == ["The survey of the team is not filled in."]
    asks.client("alice").post(URL, {"method": "A network.", "augmentation": ["Other…"], "augmentation.2.own": "noise"})
    assert void_reasons_of(final) == []


@pytest.mark.parametrize(("name", "status"), [("stranger", 403), ("waiting", 403), ("reader", 403), ("organiser", 200)])
def test_only_members_of_teams_fill_it_in(asks, name, status):
    assert asks.client(name).get(URL).status_code == status
    asks.client(name).post(URL, {"method": "A network."})
    assert not SurveyAnswers.objects.exists()
