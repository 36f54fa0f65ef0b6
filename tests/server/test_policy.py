"""Who knows and sees what, and who may submit: the questions that every page asks."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import Http404
from django.urls import reverse

from isocenter.server.models import Access, Membership, Registration, Team, User
from isocenter.server.policy import Door, Preview, Visit, refuse, visit_to
from isocenter.server.standing import team_state


def test_a_challenge_that_is_not_published_does_not_exist_but_for_those_who_make_it(world):
    world.challenge.published = False
    world.challenge.save()
    for name in ("organiser", "staff"):
        assert visit_to(world.people[name], "neck").knows
    for name in ("alice", "reader", "stranger", "waiting"):
        with pytest.raises(Http404):
            visit_to(world.people[name], "neck")


def test_a_phase_that_is_not_announced_is_not_there(world):
    assert [phase.name for phase in Visit(world.people["alice"], world.challenge).phases] == ["validation", "test"]
    assert len(Visit(world.people["organiser"], world.challenge).phases) == 3
    world.at.move(days=70)
    assert len(Visit(world.people["alice"], world.challenge).phases) == 3


def test_a_reader_sees_no_result_that_everybody_does_not_see(world):
    seen = Visit(world.people["reader"], world.challenge).sight("test")
    assert (seen.known, seen.own_scores, seen.other_scores, seen.downloads) == (True, False, False, False)


def test_a_team_is_told_why_it_may_not_submit(world):
    assert Visit(world.people["alice"], world.challenge).admission("validation").yes
    assert "opens" in Visit(world.people["alice"], world.challenge).admission("test").reason
    assert "not accepted yet" in Visit(world.people["waiting"], world.challenge).admission("validation").reason
    assert "not registered" in Visit(world.people["stranger"], world.challenge).admission("validation").reason


def visit(world, name):
    return Visit(User.objects.get(email=f"{name}@example.org"), world.challenge)


def test_an_account_that_is_closed_is_nobody(world):
    for name in ("organiser", "staff", "alice"):
        user = world.people[name]
        user.is_active = False
        closed = Visit(user, world.challenge)
        assert not closed.user.is_authenticated
        assert (closed.organises, closed.accepted, closed.team, closed.roles) == (False, False, None, frozenset())
        assert closed.submissions().count() == 0


def test_a_team_is_told_whom_it_waits_for(world):
    standing = visit(world, "alice").standing("validation")
    assert standing.lacking == ()
    Registration.objects.filter(user=world.people["bob"]).update(state="refused")
    assert visit(world, "alice").standing("validation").lacking == ("the organisers have not accepted Bob",)
    Registration.objects.filter(user=world.people["bob"]).delete()
    assert visit(world, "alice").standing("validation").lacking[0] == "Bob is not registered"
    assert "Bob is not registered" in visit(world, "alice").admission("validation").reason
    Team.objects.filter(name="Rigi").update(disqualified=True)
    assert "the team is disqualified" in visit(world, "alice").admission("validation").reason


def test_two_members_of_one_name_are_told_apart(world):
    User.objects.filter(email="bob@example.org").update(name="Alice")
    Registration.objects.filter(user=world.people["bob"]).update(terms_version="0")
    state = team_state(world.teams["Rigi"])
    assert state.members == ("Alice", "Alice (2)")
    assert state.accepted == {"Alice": "1", "Alice (2)": "0"}
    (reason,) = visit(world, "alice").standing("validation").lacking
    assert reason.endswith("not accepted by Alice (2)")


def test_organisers_and_staff_do_not_take_part_unless_they_registered(world):
    for name in ("organiser", "staff"):
        assert visit(world, name).team is None
        assert not visit(world, name).admission("validation").yes
    Membership.objects.create(user=world.people["organiser"], team=world.teams["Rigi"], challenge=world.challenge)
    mine = visit(world, "organiser")
    assert mine.team == world.teams["Rigi"]
    assert mine.sight("test").unlisted  # they see their own team as organisers
    assert not mine.admission("validation").yes


def test_access_to_an_invited_phase_is_by_name_or_by_place(world):
    world.at.move(days=72)
    assert not visit(world, "alice").sight("final").downloads
    Access.objects.create(team=world.teams["Rigi"], phase="final", invited=True)
    assert visit(world, "alice").sight("final").downloads
    assert visit(world, "alice").admission("final").yes
    assert not visit(world, "carol").sight("final").downloads


def test_a_page_of_a_phase_asks_the_database_little(world, django_assert_max_num_queries):
    user = User.objects.get(email="alice@example.org")
    assert visit_to(user, "neck").edition  # it is parsed once
    with django_assert_max_num_queries(6):  # challenge, roles, registration, team, accesses, consents
        mine = visit_to(user, "neck")
        assert [mine.sight(phase.name).known for phase in mine.phases] == [True, True]
        assert mine.ends is not None
    with django_assert_max_num_queries(2):  # members, registrations; for any number of phases
        assert mine.admission("validation").yes
        assert not mine.admission("test").yes


PHASES = ("validation", "test", "final")
MOMENTS = (0, 40, 62, 72, 80, 100)


@pytest.mark.parametrize("kind", Preview.KINDS)
@pytest.mark.parametrize("days", MOMENTS)
def test_a_preview_shows_what_such_a_person_sees_and_never_more_than_its_organiser(world, kind, days):
    world.at.move(days=days)
    seen = Preview(visit(world, "organiser"), kind)
    user = {"anonymous": AnonymousUser(), "reader": world.people["reader"]}.get(kind)
    for phase in PHASES:
        mine, organisers = seen.sight(phase), visit(world, "organiser").sight(phase)
        if user is not None:
            assert mine == Visit(user, world.challenge).sight(phase)
        else:  # a participant whose team has done nothing
            assert replace(mine, team="") == replace(visit(world, "carol").sight(phase), team="")
        for field in fields(mine):
            if getattr(mine, field.name) is True:
                assert getattr(organisers, field.name) or field.name == "several"
    assert not seen.organises
    assert seen.submissions().count() == 0
    assert not seen.is_staff


def test_a_preview_is_for_organisers_for_looking_and_clearly_marked(world):
    world.challenge.published = False
    world.challenge.save()
    url = reverse("terms", args=["neck"])
    for kind in Preview.KINDS:
        text = world.client("organiser").get(f"{url}?as={kind}").content.decode()
        assert "<strong>Preview.</strong>" in text
        assert reverse("organise", args=["neck"]) not in text
    assert "<strong>Preview.</strong>" not in world.client("organiser").get(f"{url}?as=staff").content.decode()
    assert world.client("organiser").post(f"{url}?as=participant", {"terms_version": "1"}).status_code == 403
    sent = world.client("organiser").post(url, {"terms_version": "1"}, headers={"referer": f"http://x{url}?as=reader"})
    assert sent.status_code == 403  # a form of a page in preview
    assert world.client("organiser").post(url, headers={"referer": f"http://x{url}"}).status_code == 302
    assert world.client("organiser").get(reverse("organise", args=["neck"]) + "?as=participant").status_code == 403
    assert world.client("organiser").get(reverse("register", args=["neck"]) + "?as=anonymous").status_code == 403
    assert world.client("alice").get(f"{url}?as=participant").status_code == 404  # nobody else learns of it
    world.challenge.published = True
    world.challenge.save()
    for name in ("alice", "stranger", "reader"):
        for kind in Preview.KINDS:
            assert "<strong>Preview.</strong>" not in world.client(name).get(f"{url}?as={kind}").content.decode()


@pytest.mark.parametrize("kind", Preview.KINDS)
@pytest.mark.parametrize("name", ["register", "terms", "team", "survey"])
def test_pages_of_people_open_in_a_preview_as_for_such_a_person(world, kind, name):
    status = world.client("organiser").get(reverse(name, args=["neck"]) + f"?as={kind}").status_code
    expected = {"participant": 200, "anonymous": 200 if name == "terms" else 403}
    assert status == expected.get(kind, 200 if name in ("register", "terms") else 403)


def test_doors_say_why_and_what_to_do(world):
    registration = Registration.objects.get(user=world.people["waiting"])
    for state, says in (("waiting", "waits"), ("refused", "did not accept"), ("withdrawn", "register again")):
        Registration.objects.filter(pk=registration.pk).update(state=state)
        assert says in refuse(visit(world, "waiting"), Door.REGISTERED)
    assert refuse(visit(world, "stranger"), Door.TEAM) == "Register for the challenge first."
    assert refuse(visit(world, "alice"), Door.ORGANISER) != ""
    assert refuse(Visit(AnonymousUser(), world.challenge), Door.PERSON) == "Sign in first."
    for name in ("organiser", "staff", "alice"):
        assert refuse(visit(world, name), Door.TEAM) == ""
