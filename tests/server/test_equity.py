"""The voluntary part: nothing that is kept leads from an answer to a person."""

from __future__ import annotations

import itertools
import logging

import pytest
from django.apps import apps
from django.core.exceptions import PermissionDenied
from django.db import connection, models
from django.urls import reverse

from isocenter.server import people
from isocenter.server.models import EquityAnswers, Registration, User, Version
from isocenter.server.policy import Visit

FORM = """
[[equity]]
name = "gender"
label = "Gender identity"
kind = "choice"
choices = ["Woman", "Man", "Other"]

[[equity]]
name = "groups"
label = "Do you belong to these groups?"
kind = "several"
choices = ["First in the family at university", "Disability"]
"""


@pytest.fixture
def asks(world):
    version = Version.objects.create(challenge=world.challenge, number=2, toml=world.challenge.version.toml + FORM)
    world.challenge.version = version
    world.challenge.save()
    return world


def newcomer(world, number):
    user = User.objects.create_user(f"p{number}@example.org", "pass", name=f"Person {number}")
    made = Registration.objects.create(
        user=user, challenge=world.challenge, state="accepted", terms_version="1", terms_accepted=world.at.now
    )
    world.people[f"p{number}"] = user
    return made


def url(name):
    return reverse(name, args=["neck"])


def rows(**where):
    return EquityAnswers.objects.filter(**where)


def test_it_is_asked_after_the_registration_on_a_page_of_its_own(asks):
    client = asks.client("stranger")
    assert "Gender identity" not in client.get(url("register")).content.decode()
    page = client.post(url("register"), {"terms": "yes", "terms_version": "1"})
    assert page.url == url("voluntary")
    text = client.get(page.url).content.decode()
    assert "Gender identity" in text
    assert "Prefer not to say" in text
    assert "Nobody sees them one by one" in text
    client.post(url("voluntary"), {"gender": "Woman", "groups": ["Disability"]})
    made = Registration.objects.get(user=asks.people["stranger"])
    assert made.equity_asked
    assert made.answers == {}
    assert [one.answers for one in rows()] == [{"gender": "Woman", "groups": ["Disability"]}]
    client.post(url("voluntary"), {"gender": "Man"})  # once, and not again
    assert rows().count() == 1


def test_who_answers_nothing_puts_an_empty_set_so_that_the_number_tells_nothing(asks):
    for number, data in enumerate(({"skip": "yes", "gender": "Man"}, {"gender": ""}, {"gender": "Man"})):
        newcomer(asks, number)
        asks.client(f"p{number}").post(url("voluntary"), data)
    assert sorted(str(one.answers) for one in rows()) == ["{'gender': 'Man'}", "{}", "{}"]
    assert rows().count() == Registration.objects.filter(equity_asked=True).count()


def test_wrong_answers_are_told_and_nothing_is_kept(asks):
    newcomer(asks, 1)
    page = asks.client("p1").post(url("voluntary"), {"groups": ["Disability", "Prefer not to say"], "gender": "Elf"})
    assert page.status_code == 400
    assert not rows().exists()
    assert not Registration.objects.filter(equity_asked=True).exists()


def test_who_is_not_registered_is_not_asked(asks):
    assert asks.client("stranger").post(url("voluntary"), {"gender": "Man"}).status_code == 302
    assert not rows().exists()


def test_no_column_links_an_answer_to_anybody():
    fields = {field.name: field for field in EquityAnswers._meta.get_fields()}
    assert set(fields) == {"key", "challenge", "pending", "day", "answers"}
    assert [name for name, field in fields.items() if field.is_relation] == ["challenge"]
    assert type(fields["day"]) is models.DateField  # no hour
    pointing = [
        field
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if field.is_relation and field.related_model is EquityAnswers and not field.auto_created
    ]
    assert pointing == []


def test_neither_keys_nor_places_in_the_database_tell_the_order_of_arrival(asks):
    for number in range(30):
        people.put_equity(newcomer(asks, number), {"gender": f"answer {number:02}"})
    table = EquityAnswers._meta.db_table
    with connection.cursor() as cursor:
        place = "rowid" if connection.vendor == "sqlite" else "ctid"
        cursor.execute(f"select answers from {table} order by {place}")
        stored = [row[0] for row in cursor.fetchall()]
    arrived = sorted(stored)
    assert stored != arrived
    # Of 30 in an order of chance, hardly any follows the one that came before it.
    assert sum(arrived.index(b) - arrived.index(a) == 1 for a, b in itertools.pairwise(stored)) < 10
    keys = list(rows().values_list("key", flat=True))
    people.put_equity(newcomer(asks, 99), {})
    assert not set(keys) & set(rows().values_list("key", flat=True))  # all are new with everyone who comes


def test_answers_to_two_questions_do_not_stay_together(asks):
    for number in range(40):
        people.put_equity(newcomer(asks, number), {"gender": f"{number}", "groups": [f"{number}"]})
    together = sum(one.answers["gender"] == one.answers["groups"][0] for one in rows())
    assert together < 20


def test_fewer_than_five_wait_and_a_batch_has_only_its_day(asks):
    for number in range(4):
        people.put_equity(newcomer(asks, number), {"gender": "Woman"})
    assert people.release_equity(asks.challenge) == 0
    assert rows(pending=True, day=None).count() == 4
    people.put_equity(newcomer(asks, 4), {})
    assert rows(pending=True).count() == 5  # coming is not releasing: a batch is not five in a row
    assert people.release_equity(asks.challenge) == 5
    assert rows(pending=False, day=asks.at.now.date()).count() == 5
    for number in range(5, 11):
        people.put_equity(newcomer(asks, number), {"gender": "Man"})
    assert people.release_equity(asks.challenge) == 0  # one batch a day
    asks.at.move(days=1)
    assert people.release_equity(asks.challenge) == 6


def test_numbers_are_for_organisers_when_all_is_over_and_none_is_small(asks):
    for number in range(23):
        answer = {"gender": "Woman" if number < 12 else "Man" if number < 20 else "Other"} if number < 21 else {}
        people.put_equity(newcomer(asks, number), answer)
    people.release_equity(asks.challenge)
    people.put_equity(newcomer(asks, 50), {"gender": "Other"})  # stays pending

    def seen(name):
        return people.equity_tallies(Visit(asks.people[name], asks.challenge))

    assert seen("organiser") is None
    asks.at.move(days=70)  # validation and test are over; the final, which nobody knows of, is not
    assert seen("organiser") is None
    asks.at.move(days=60)
    for name in ("alice", "reader", "stranger"):
        with pytest.raises(PermissionDenied):
            seen(name)
    gender, groups = seen("organiser")
    assert gender.people == groups.people == 24
    assert gender.shown == {"Woman": 12}
    assert gender.rest == 12
    assert groups.shown == {"no answer": 24}
    assert people.release_equity(asks.challenge) == 0
    assert not rows(pending=True).exists()
    assert rows(answers={}).count() == 3  # what was pending is erased, and counts as no answer
    assert [one.shown for one in seen("organiser")] == [gender.shown, groups.shown]


def test_answers_are_in_no_log_no_message_and_no_page_of_others(asks, caplog):
    caplog.set_level(logging.DEBUG)
    newcomer(asks, 1)
    client = asks.client("p1")
    page = client.post(url("voluntary"), {"groups": ["First in the family at university"]}, follow=True)
    assert "First in the family" not in page.content.decode()
    told = [record.getMessage() for record in caplog.records if not record.name.startswith("django.db")]
    assert not any("First in the family" in one for one in told)
    assert "First in the family" not in str(dict(client.session))
    for name in ("organise", "register"):
        assert "First in the family" not in asks.client("organiser").get(url(name)).content.decode()


def test_an_erased_person_leaves_the_numbers_as_they_were(asks):
    made = newcomer(asks, 1)
    people.put_equity(made, {"gender": "Woman"})
    made.user.delete()
    assert rows().count() == 1
