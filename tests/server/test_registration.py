"""Registration: the form of the edition, the terms, approval, withdrawal, and when it is over."""

from __future__ import annotations

import re

import pytest
from django.http import QueryDict
from django.urls import reverse

from isocenter.editions import Question, check_answers
from isocenter.server import people
from isocenter.server.editions import edition_of
from isocenter.server.models import Membership, Notification, Registration, Role, Version
from isocenter.server.people.conflicts import conflicts_of_all
from isocenter.server.policy import Visit

FORM = """
[[registration]]
name = "email"
label = "E-mail address"
kind = "email"
required = true

[[registration]]
name = "institution"
label = "Institution"
kind = "text"
required = true

[[registration]]
name = "area"
label = "Primary area"
kind = "choice"
choices = ["Medical physics", "Machine learning", "Other…"]
required = true
most_words = 3

[[registration]]
name = "tools"
label = "Tools"
kind = "several"
choices = ["Python", "R", "Others…"]

[[registration]]
name = "prior"
label = "Have you done this before?"
kind = "yes-no"

[[registration]]
name = "country"
label = "Country"
kind = "country"
"""
ANSWERS = {"email": "stranger@example.org", "institution": "Institut", "area": "Machine learning"}
HOSTILE = ("\u202eevil", "x" * 10_000, "a\x00b")


def edited(world, extra="", change=("", "")):
    """A new version of the challenge in force."""
    toml = world.challenge.version.toml.replace(*change) if change[0] else world.challenge.version.toml
    number = world.challenge.versions.count() + 1
    world.challenge.version = Version.objects.create(challenge=world.challenge, number=number, toml=toml + extra)
    world.challenge.save()


@pytest.fixture
def asks(world):
    edited(world, FORM)
    return world


def visit(world, name):
    return Visit(world.people[name], world.challenge)


def sends(world, name="stranger", follow=True, **fields):
    data = {**ANSWERS, "email": f"{name}@example.org", "terms": "yes", "terms_version": "1"} | fields
    given = {key: value for key, value in data.items() if value is not None}
    return world.client(name).post(reverse("register", args=["neck"]), given, follow=follow)


def of(world, name="stranger"):
    return Registration.objects.filter(user=world.people[name], challenge=world.challenge).first()


def test_a_person_registers_and_takes_part_at_once(asks):
    page = sends(asks)
    assert page.redirect_chain[-1][0] == reverse("team", args=["neck"])
    made = of(asks)
    assert made.state == "accepted"
    assert made.answers == ANSWERS
    assert (made.terms_version, made.terms_accepted) == ("1", asks.at.now)
    assert visit(asks, "stranger").accepted


def test_all_problems_are_told_at_once_beside_their_fields_and_nothing_is_saved(asks):
    page = sends(asks, email="other@example.org", institution="", area="Alchemy", terms=None, country="Utopia")
    text = page.content.decode()
    assert page.status_code == 400
    assert "5 things are to be put right" in text
    for link in ("q-email", "q-institution", "q-area-0", "q-country", "terms"):
        assert f'href="#{link}"' in text
        assert f'id="{link}"' in text
    assert 'write "stranger@example.org"' in text.replace("&quot;", '"')
    assert text.count("this question needs an answer") == 2  # in the list, and beside the field
    assert 'aria-describedby="q-institution-problem"' in text
    assert of(asks) is None


def test_own_words_follow_a_choice_that_asks_for_them(asks):
    sends(
        asks, **{"area": "Other…", "area.2.own": "Dosimetry: VMAT", "tools": ["Python", "Others…"], "tools.2.own": "C"}
    )
    assert of(asks).answers["area"] == "Other: Dosimetry: VMAT"
    assert of(asks).answers["tools"] == ["Python", "Others: C"]
    text = asks.client("stranger").get(reverse("register", args=["neck"])).content.decode()
    assert 'value="Dosimetry: VMAT"' in text
    assert re.search(r'value="Others…" checked', text)
    sends(asks, **{"area": "Other…", "area.2.own": "far too many words here"})
    assert of(asks).answers["area"] == "Other: Dosimetry: VMAT"  # what was wrong changed nothing


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_answers_are_refused_in_words(asks, text):
    page = sends(asks, institution=text)
    assert page.status_code == 400
    assert of(asks) is None


def test_markup_in_an_answer_is_text(asks):
    sends(asks, institution='"><script>alert(1)</script>')
    text = asks.client("stranger").get(reverse("register", args=["neck"])).content.decode()
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


def test_every_kept_answer_fills_the_form_again_and_is_read_as_the_same():
    kinds = {
        "text": "a line",
        "long": "two\nlines",
        "yes-no": False,
        "number": 12.0,
        "country": "Norway",
        "url": "https://a.org",
    }
    questions = [Question(name=kind, label=kind, kind=kind) for kind in kinds]
    questions.append(Question(name="several", label="Several", kind="several", choices=("One", "Two", "Other…")))
    questions.append(Question(name="choice", label="Choice", kind="choice", choices=("One", "Other…")))
    kept = {**kinds, "several": ["Two", "Other: three"], "choice": "Other: four"}
    sent = QueryDict(mutable=True)
    for field in people.questions_form(questions, kept, prefix="x-").fields:
        for option in field.options:
            if option.checked:
                sent.appendlist(field.name, option.value)
                if option.own_name:
                    sent[option.own_name] = option.own
        if not field.options:
            sent[field.name] = field.value
    again = check_answers(questions, people.read_answers(questions, sent, prefix="x-"))
    assert dict(again.values) == {**kept, "several": ("Two", "Other: three")}


def test_the_terms_that_were_shown_are_those_that_are_accepted(asks):
    assert "have changed since" in sends(asks, terms_version="0").content.decode()
    assert of(asks) is None


def test_new_terms_are_accepted_again_before_the_team_submits(world):
    assert visit(world, "alice").admission("validation").yes
    edited(world, change=('version = "1"', 'version = "2"'))
    why = visit(world, "alice").admission("validation").reason
    assert why == 'version "2" of the terms is not accepted by Alice, Bob'
    url = reverse("terms", args=["neck"])
    world.client("alice").post(url, {"terms_version": "1"})  # what she was shown before
    assert of(world, "alice").terms_version == "1"
    world.client("alice").post(url, {"terms_version": "2"})
    assert visit(world, "bob").admission("validation").reason == 'version "2" of the terms is not accepted by Bob'
    assert "terms not accepted" in world.client("alice").get(reverse("team", args=["neck"])).content.decode()
    world.client("bob").post(url, {"terms_version": "2"})
    assert visit(world, "bob").admission("validation").yes


def test_one_member_can_accept_for_the_team_where_the_terms_say_so(world):
    edited(world, change=('version = "1"', 'version = "2"\naccepted_by = "team"'))
    assert "by anybody of the team" in visit(world, "bob").admission("validation").reason
    world.client("alice").post(reverse("terms", args=["neck"]), {"terms_version": "2"})
    assert visit(world, "bob").admission("validation").yes


def test_where_organisers_decide_one_waits_and_they_are_told(asks):
    asks.challenge.approval = True
    asks.challenge.save()
    page = sends(asks)
    assert of(asks).state == "waiting"
    assert page.redirect_chain[-1][0] == reverse("register", args=["neck"])
    assert "waits for the organisers" in page.content.decode()
    (told,) = Notification.objects.filter(user=asks.people["organiser"])
    assert "Stranger asks to take part" in told.text
    assert asks.client("stranger").get(reverse("team", args=["neck"])).status_code == 403
    Registration.objects.filter(pk=of(asks).pk).update(state="refused")
    text = asks.client("stranger").get(reverse("register", args=["neck"])).content.decode()
    assert "did not accept" in text
    assert "<textarea" not in text
    sends(asks)
    assert of(asks).state == "refused"  # and asking again changes nothing


def test_who_withdraws_leaves_a_team_that_has_not_submitted_and_keeps_the_place_in_one_that_has(world):
    url = reverse("withdraw", args=["neck"])
    world.client("bob").post(url)
    assert of(world, "bob").state == "withdrawn"
    assert not Membership.objects.filter(user=world.people["bob"]).exists()
    world.submission("Pilatus", "validation")
    world.client("carol").post(url)
    assert Membership.objects.filter(user=world.people["carol"], team=world.teams["Pilatus"]).exists()
    assert visit(world, "carol").team is None
    assert world.client("carol").get(reverse("submissions", args=["neck"])).status_code == 403
    sends(world, "carol", email=None, institution=None, area=None)
    assert of(world, "carol").state == "accepted"
    assert visit(world, "carol").team == world.teams["Pilatus"]  # no second team, no second attempts


def test_who_withdrew_does_not_hold_up_the_team(world):
    world.submission("Rigi", "validation")
    world.client("bob").post(reverse("withdraw", args=["neck"]))
    edited(world, change=('version = "1"', 'version = "2"'))
    world.client("alice").post(reverse("terms", args=["neck"]), {"terms_version": "2"})
    assert visit(world, "alice").admission("validation").yes


def test_who_leads_a_team_that_has_submitted_hands_over_before_withdrawing(world):
    world.submission("Rigi", "validation")
    page = world.client("alice").post(reverse("withdraw", args=["neck"]), follow=True)
    assert "let another member lead it first" in page.content.decode()
    assert of(world, "alice").state == "accepted"


def test_registration_is_over_when_the_last_known_phase_has_closed(asks):
    url = reverse("register", args=["neck"])
    assert "1 May 2026" in asks.client("stranger").get(url).content.decode()  # not 1 June: that phase is not announced
    asks.at.move(days=60)
    assert "Registration is over" in asks.client("stranger").get(url).content.decode()
    sends(asks)
    assert of(asks) is None


def test_after_registering_one_comes_back_but_never_to_another_site(asks):
    back = reverse("rules", args=["neck"])
    assert sends(asks, next=back, follow=False).url == back
    for away in ("https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"):
        assert sends(asks, next=away, follow=False).url == reverse("team", args=["neck"])


def test_an_unpublished_challenge_takes_no_registrations(asks):
    asks.challenge.published = False
    asks.challenge.save()
    assert sends(asks).status_code == 404
    assert asks.client().get(reverse("register", args=["neck"])).status_code == 404
    assert asks.client().get(reverse("terms", args=["neck"])).status_code == 404


def test_who_is_not_signed_in_is_asked_to(asks):
    page = asks.client().get(reverse("register", args=["neck"]))
    assert page.status_code == 302
    assert page.url.startswith(reverse("account_login"))


def test_somebody_of_the_same_house_as_an_organiser_is_pointed_out(asks):
    organiser = asks.people["organiser"]
    organiser.institution, organiser.email = "Institut für Radiologie", "o@hospital.ch"
    organiser.save()
    sends(asks, institution="INSTITUT FÜR RADIOLOGIE")
    (why,) = people.flags_of(of(asks))
    assert why.startswith("Stranger is of the same institution as Organiser, who organises")
    carol = asks.people["carol"]
    carol.email = "carol@hospital.ch"
    carol.save()
    (why,) = people.conflicts_of(asks.teams["Pilatus"])
    assert why == "Carol has an address at hospital.ch, as Organiser has, who organises."
    assert people.conflicts_of(asks.teams["Rigi"]) == []
    Role.objects.create(user=carol, challenge=asks.challenge, kind="organiser")
    assert people.conflicts_of(asks.teams["Pilatus"]) == ["Carol organises the challenge."]


def test_many_teams_are_looked_at_in_as_few_questions_as_one(asks, django_assert_num_queries):
    carol = asks.people["carol"]
    Role.objects.create(user=carol, challenge=asks.challenge, kind="organiser")
    teams = [asks.teams["Rigi"], asks.teams["Pilatus"]]
    with django_assert_num_queries(3):
        found = conflicts_of_all(asks.challenge.pk, teams)
    assert found == {team.pk: people.conflicts_of(team) for team in teams}
    assert found[asks.teams["Pilatus"].pk] == ["Carol organises the challenge."]
    assert conflicts_of_all(asks.challenge.pk, []) == {}


def test_what_the_account_knows_is_not_asked_twice(asks):
    stranger = asks.people["stranger"]
    stranger.institution = "Klinik Nord"
    stranger.save()
    page = asks.client("stranger").get("/c/neck/register/").content.decode()
    assert 'value="Klinik Nord"' in page
    assert 'value="stranger@example.org"' in page


def test_the_same_free_mail_service_says_nothing(asks):
    for name in ("organiser", "carol"):
        asks.people[name].email = f"{name}@gmail.com"
        asks.people[name].save()
    assert people.conflicts_of(asks.teams["Pilatus"]) == []


def test_the_version_in_force_is_what_is_asked(asks):
    assert edition_of(asks.challenge.version_id).registration[0].name == "email"
    edited(
        asks,
        change=('required = true\n\n[[registration]]\nname = "institution"', '[[registration]]\nname = "institution"'),
    )
    assert sends(asks, email=None).status_code == 200
    assert of(asks).state == "accepted"


def test_who_asks_again_and_again_is_one_line_a_day(asks):
    asks.challenge.approval = True
    asks.challenge.save()
    for name in ("Stranger", "Another"):
        asks.people["stranger"].name = name
        asks.people["stranger"].save()
        for _ in range(3):
            sends(asks)
            asks.client("stranger").post(reverse("withdraw", args=["neck"]))
    told = Notification.objects.filter(user=asks.people["organiser"])
    assert told.count() == 1
    asks.at.move(days=1)
    sends(asks)
    assert told.count() == 2
