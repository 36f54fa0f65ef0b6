"""After the end: a board that stays open, tests on request, and nothing of the challenge that changes by them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.urls import reverse

from conftest import TOML, World
from isocenter.server.models import Access, Challenge, Decision, Snapshot, Team
from isocenter.server.organising.importing import add_reference
from isocenter.server.organising.versioning import Refused
from isocenter.server.people import NotPossible, save_survey
from isocenter.server.policy import Visit
from isocenter.server.submitting import intake
from isocenter.server.work import making
from isocenter.server.work.in_force import reference_of

APRIL = datetime(2026, 4, 10, 12, tzinfo=UTC)  # the test phase is open, and hidden
JULY = datetime(2026, 7, 1, 12, tzinfo=UTC)  # all phases are over
LATER = """
[[phases]]
name = "later"
title = "On request"
opens = 2026-06-10T00:00:00Z
closes = 2099-01-01T00:00:00Z
results = 2099-01-01T00:00:00Z
admission = "request"
continues = "test"
quota = 1
counts = "best"
visibility = "public"
"""


@pytest.fixture
def after(world: World) -> World:
    """The challenge with a phase after the end, in which two teams were tested in April."""
    world.challenge.version.toml = TOML.replace("[policies]", f"{LATER}\n[policies]", 1)
    world.challenge.version.save()
    world.challenge = Challenge.objects.get(pk=world.challenge.pk)
    world.references["later"] = world.references["test"]
    world.at.now = APRIL
    world.scored("Pilatus", "test", 3)
    world.scored("Rigi", "test", 2)
    making.make_boards(world.challenge, "test")
    world.at.now = JULY
    making.make_boards(world.challenge, "later")
    return world


def rows(world: World, phase: str) -> list[tuple[str, float | None]]:
    last = Snapshot.objects.filter(challenge=world.challenge, phase=phase, board="dice").latest("made")
    return [(row["submission"], row["rank"]) for row in last.content["rows"]]


def test_a_team_asks_with_a_document_is_granted_and_handed_in_once(after):
    client = after.client("alice")
    assert not Visit(after.people["alice"], after.challenge).admission("later").yes
    Access.objects.create(team=after.teams["Rigi"], phase="later", text="Our paper is accepted.")
    (access,) = Access.objects.all()
    sent = {"access": access.key, "action": "grant", "reason": "The paper is public."}
    assert after.client("organiser").post("/c/neck/organise/requests/", sent).status_code == 302
    decision = Decision.objects.get(what="grant a request")
    assert (decision.subject, decision.reason) == ("Rigi, later", "The paper is public.")
    visit = Visit(after.people["alice"], after.challenge)
    assert visit.admission("later").yes
    assert intake.quota(visit, "later", after.teams["Rigi"]).left == 1
    assert client.get(reverse("submit", args=["neck", "later"])).status_code == 200
    assert not Visit(after.people["carol"], after.challenge).admission("later").yes


def test_later_results_stand_beside_those_of_the_challenge_whose_own_board_stays(after):
    assert rows(after, "later") == [("Pilatus", 1.0), ("Rigi", 2.0)]
    digest = Snapshot.objects.filter(phase="test").latest("made").digest
    after.scored("Rigi", "later", 4)
    after.at.move(minutes=1)
    for phase in ("test", "later"):
        making.make_boards(after.challenge, phase)
    assert rows(after, "later") == [("Rigi", 1.0), ("Pilatus", 2.0)]
    assert rows(after, "test") == [("Pilatus", 1.0), ("Rigi", 2.0)]
    assert Snapshot.objects.filter(phase="test").latest("made").digest == digest


def test_both_boards_lead_to_each_other_and_say_which_decides(after):
    page = after.client("").get("/c/neck/boards/later/dice/").content.decode()
    assert "It decides nothing." in page
    assert "/c/neck/boards/test/dice/" in page
    final = after.client("").get("/c/neck/boards/test/dice/").content.decode()
    assert "This board is final." in final
    assert "/c/neck/boards/later/dice/" in final
    rules = after.client("").get("/c/neck/rules/").content.decode()
    assert "The board of that phase stays as it is" in rules


def test_names_and_cases_that_the_phase_kept_back_stay_so(after):
    """The test phase was hidden and named its first team only."""
    page = after.client("").get("/c/neck/boards/later/dice/").content.decode()
    assert "Pilatus" in page
    assert "Rigi" not in page
    assert not Visit(after.people["alice"], after.challenge).sight("later").own_cases


def test_it_is_measured_against_the_same_reference_and_takes_no_other(after):
    assert reference_of(after.challenge, "later") == after.references["test"]
    with pytest.raises(Refused, match="measured against its reference"):
        add_reference(after.challenge, "later", after.data / after.references["test"].folder)


def test_a_team_that_is_disqualified_leaves_both_boards(after):
    from isocenter.server.organising import refereeing

    visit = Visit(after.people["organiser"], after.challenge)
    refereeing.disqualify(visit, Team.objects.get(name="Pilatus"), "Cheated.")
    after.at.move(minutes=1)
    making.make_boards(after.challenge, "later")
    assert rows(after, "later") == [("Rigi", 1.0)]


def test_results_that_are_held_back_are_not_told_by_the_board_that_goes_on(after, monkeypatch):
    from isocenter.server.work import holding

    monkeypatch.setattr(holding, "held_phases", lambda *_: {"test": 1})
    for who in ("", "alice"):
        page = after.client(who).get("/c/neck/boards/later/dice/").content.decode()
        assert "Pilatus" not in page
    assert Visit(after.people["organiser"], after.challenge).sight("later").other_scores


def test_people_still_register_but_the_survey_and_teams_that_took_part_stay_as_they_are(after):
    visit = Visit(after.people["alice"], after.challenge)
    assert visit.is_decided
    assert not visit.is_over
    with pytest.raises(NotPossible, match="survey stays"):
        save_survey(visit, {})
    assert after.client("stranger").get("/c/neck/register/").status_code == 200
    from isocenter.server.people import teams

    with pytest.raises(NotPossible, match="teams stay"):
        teams.leave(visit)


def test_a_phase_that_has_submissions_continues_what_it_did(after):
    from isocenter.editions import EditionError
    from isocenter.server.organising import versioning

    after.scored("Rigi", "later", 4)
    text = after.challenge.version.toml.replace('continues = "test"\n', "")
    with pytest.raises((Refused, EditionError), match="cannot continue another phase"):
        versioning.save(after.challenge, None, base=1, note="x", toml=text)
