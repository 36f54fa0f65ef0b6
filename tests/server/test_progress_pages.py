"""How teams came on: curves, changes of the lead, counts, and who takes part; each only for who may know."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from board_worlds import made, team, valued

from conftest import CASES, T0, World
from isocenter.editions import alias
from isocenter.server.boards.progressing import course, participation, people, per_day
from isocenter.server.models import Registration, Submission, User
from isocenter.server.policy import Visit

APRIL = datetime(2026, 4, 10, 12, tzinfo=UTC)
MAY = datetime(2026, 5, 20, 12, tzinfo=UTC)
OUT = datetime(2026, 6, 10, 12, tzinfo=UTC)
URL = "/c/neck/progress/validation/"


def visit(world: World, who: str) -> Visit:
    return Visit(world.people[who], world.challenge)


def page(world: World, who: str, url: str = URL) -> str:
    found = world.client(who).get(url)
    assert found.status_code == 200
    return found.content.decode()


def race(world: World, phase: str) -> None:
    """Rigi leads, Pilatus takes the lead, Rigi takes it back."""
    for name, sizes in (("Rigi", (3, 3, 3)), ("Pilatus", (4, 3, 3)), ("Rigi", (4, 4, 3)), ("Pilatus", (2, 2, 2))):
        world.scored(name, phase, dict(zip(CASES, sizes, strict=True)))
        world.at.move(hours=26)
    valued(world)
    made(world, phase)


def test_the_lead_changes_as_the_scores_say(world):
    race(world, "validation")
    found = course(visit(world, "carol"), "validation", "dice")
    assert [(change.team, change.before) for change in found.changes] == [("Pilatus", "Rigi"), ("Rigi", "Pilatus")]
    seen = page(world, "")
    assert "4 submissions of 2 teams" in seen
    assert "The lead changed 2 times" in seen
    assert "Nobody has more than 20 submissions" in seen
    assert seen.count('role="img"') == 2  # figures say in words what they show
    assert seen.count("These numbers as a table") == 2


def test_a_curve_needs_more_than_twenty_submissions(world):
    world.challenge.version.toml = world.challenge.version.toml.replace('quota = 3\nquota_per = "week"\n', "")
    world.challenge.version.save()
    for number in range(21):
        world.scored("Rigi", "validation", 2 + (number > 10))
        world.at.move(hours=1)
    valued(world)
    made(world, "validation")
    found = course(visit(world, "alice"), "validation", "dice").progress
    assert found is not None
    assert found.teams == ("Rigi",)
    seen = page(world, "alice")
    assert "the only team with more than 20 submissions" in seen
    assert seen.count('role="img"') == 3


@pytest.mark.parametrize("who", ["", "stranger", "reader", "alice", "carol"])
def test_a_hidden_phase_has_no_progress(world, who):
    world.at.now = APRIL
    before = page(world, who, "/c/neck/progress/test/")
    race(world, "test")
    world.at.now = APRIL
    after = page(world, who, "/c/neck/progress/test/")
    assert "nothing to see yet" in after
    assert "<svg" not in after
    if not who:
        assert after == before
    assert "4 submissions of 2 teams" in page(world, "organiser", "/c/neck/progress/test/")


def test_names_are_those_of_the_board(world):
    world.at.now = APRIL
    race(world, "test")
    world.at.now = MAY
    hidden = alias("Pilatus", b"a secret of the edition")
    seen = page(world, "alice", "/c/neck/progress/test/")
    assert "Pilatus" not in seen
    assert hidden in seen
    assert "Pilatus" in page(world, "carol", "/c/neck/progress/test/")
    assert "Pilatus" in page(world, "organiser", "/c/neck/progress/test/")


def test_teams_that_no_board_lists_are_in_no_number(world):
    team(world, "Hosts", "organiser")
    race(world, "validation")
    before = page(world, "")
    world.at.now = T0 + timedelta(hours=1)
    world.scored("Hosts", "validation", 4)
    void = world.scored("Rigi", "validation", 4)
    Submission.objects.filter(pk=void.pk).update(void=True)
    world.at.now = T0 + timedelta(hours=4 * 26)
    valued(world)
    made(world, "validation")
    assert page(world, "") == before


def test_a_board_that_keeps_scores_back_has_no_curves(world):
    world.challenge.version.toml = world.challenge.version.toml.replace(
        'counts = "best"', 'counts = "best"\ndecimals = 1'
    )
    world.challenge.version.save()
    race(world, "validation")
    world.at.now = OUT
    seen = page(world, "alice")
    assert "4 submissions of 2 teams" in seen
    assert "keeps scores back" in seen
    assert "Changes of the lead" not in seen
    assert "Changes of the lead" in page(world, "organiser")


def test_days_are_counted_from_the_opening_to_now(world):
    race(world, "validation")
    now = visit(world, "alice")
    found = course(now, "validation", "dice")
    days = per_day(found.scored, now.phase("validation"), now.now)
    assert days[0] == ("2026-03-01", 0)
    assert days[1] == ("2026-03-02", 1)
    assert sum(count for _, count in days) == 4
    assert days[-1][0] == now.now.date().isoformat()


def test_participation_tells_the_phases_whose_numbers_may_be_known(world):
    race(world, "validation")
    world.at.now = APRIL
    race(world, "test")
    world.at.now = APRIL
    told = {one.phase.name: (one.teams, one.submissions) for one in participation(visit(world, "alice"))}
    assert told == {"validation": (2, 4)}
    assert len(participation(visit(world, "organiser"))) == 3


QUESTION = '\n[[registration]]\nname = "country"\nlabel = "Country"\nkind = "country"\n'


def test_people_are_told_in_numbers_that_single_out_nobody(world):
    world.challenge.version.toml += QUESTION
    world.challenge.version.save()
    Registration.objects.filter(challenge=world.challenge).update(answers={"country": "Laos"})
    for number in range(12):
        user = User.objects.create_user(f"{number}@example.org", name=f"n{number}")
        country = {"country": "Norway" if number < 11 else "Chile"}
        Registration.objects.create(user=user, challenge=world.challenge, state="accepted", answers=country)
    assert people(visit(world, "alice")) == []  # as long as people come, two tables would tell the newcomer
    (told,) = people(visit(world, "organiser"))
    assert (dict(told.shown), told.people) == ({}, 15) or all(count >= 5 for count in told.shown.values())
    world.at.now = OUT
    (told,) = people(visit(world, "alice"))
    assert told.people == 15
    assert set(told.shown) <= {"Norway"}
    race(world, "validation")
    world.at.now = OUT
    seen = page(world, "alice")
    assert "Chile" not in seen
    assert "Laos" not in seen


def test_there_is_no_progress_of_a_phase_that_is_not_announced(world):
    assert world.client("alice").get("/c/neck/progress/final/").status_code == 404
    assert world.client("organiser").get("/c/neck/progress/final/").status_code == 200


def test_an_unknown_board_is_the_main_one(world):
    race(world, "validation")
    assert page(world, "", f"{URL}?board=nothing").count("dice") > 0
