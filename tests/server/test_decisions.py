"""The log of decisions: a chain that only grows, in which every change shows."""

from __future__ import annotations

import re

import pytest
from django.core import mail
from django.db import models
from many_at_once import at_once, database_on_disk  # noqa: F401 (a fixture)

from isocenter.editions import audit
from isocenter.server import decisions
from isocenter.server.models import Challenge, Decision
from isocenter.server.organising import running
from isocenter.server.policy import Visit


@pytest.fixture
def chain(world):
    for at, what in enumerate(("publish", "extend", "disqualify", "refund")):
        world.at.move(hours=at)
        decisions.record(world.challenge, world.people["organiser"], what, f"subject {at}", "because")
    return world


def problems(world, **known):
    return audit.verify(decisions.entries(world.challenge), **known)


def test_decisions_are_numbered_chained_and_right(chain):
    rows = list(Decision.objects.order_by("number"))
    assert [row.number for row in rows] == [1, 2, 3, 4]
    assert len({row.hash for row in rows}) == 4
    assert problems(chain) == []
    assert problems(chain, last=rows[1].hash) == []


@pytest.mark.parametrize("field", ["actor", "what", "subject", "reason"])
def test_a_word_that_is_changed_behind_the_back_of_the_site_is_found(chain, field):
    models.QuerySet(Decision).filter(number=2).update(**{field: "something else"})
    (problem,) = problems(chain)
    assert problem.startswith("decision 2")
    assert "the hash does not fit" in problem


def test_a_moment_that_is_changed_is_found(chain):
    chain.at.move(days=9)
    models.QuerySet(Decision).filter(number=2).update(when=chain.at.now)
    assert any("decision 2" in problem for problem in problems(chain))


def test_a_decision_that_is_removed_or_cut_off_is_found(chain):
    last = Decision.objects.get(number=4).hash
    models.QuerySet(Decision).filter(number=4)._raw_delete("default")
    assert problems(chain) == []
    assert "not in the chain" in problems(chain, last=last)[0]
    models.QuerySet(Decision).filter(number=2)._raw_delete("default")
    assert "the hash does not fit" in problems(chain)[0]


def test_a_decision_is_neither_changed_nor_removed_through_the_site(chain):
    one = Decision.objects.get(number=1)
    one.reason = "another one"
    with pytest.raises(TypeError, match="not changed"):
        one.save()
    with pytest.raises(TypeError, match="not removed"):
        one.delete()
    with pytest.raises(models.ProtectedError):
        chain.challenge.delete()
    assert problems(chain) == []


def test_a_decision_without_a_reason_is_none(world):
    with pytest.raises(ValueError, match="without reason"):
        decisions.record(world.challenge, world.people["organiser"], "publish", "neck", " ")
    assert not Decision.objects.exists()


def test_every_challenge_has_a_chain_of_its_own(chain):
    other = Challenge.objects.create(slug="other", salt=b"x")
    assert decisions.record(other, "the site", "publish", "other", "because").number == 1
    assert problems(chain) == []


@pytest.mark.django_db(transaction=True)
def test_decisions_of_many_at_once_are_one_chain(as_on_a_site, world):
    def decide(number):
        for at in range(5):
            decisions.record(world.challenge, f"organiser {number}", "extend", f"phase {at}", "because")

    at_once(4, decide)
    assert list(Decision.objects.order_by("number").values_list("number", flat=True)) == list(range(1, 21))
    assert problems(world) == []


def test_the_page_says_whether_the_log_is_as_it_was_written(chain):
    client = chain.client("organiser")
    page = client.get("/c/neck/organise/decisions/").content.decode()
    assert "All 4 decisions are as they were written" in page
    models.QuerySet(Decision).filter(number=3).update(reason="nothing")
    page = client.get("/c/neck/organise/decisions/").content.decode()
    assert "The log is not as it was written" in page
    assert "decision 3" in page


def test_the_chain_can_be_checked_elsewhere(chain):
    from datetime import datetime

    rows = chain.client("organiser").get("/c/neck/organise/decisions/decisions.json").json()["decisions"]
    entries = [
        audit.Entry(
            audit.Decision(datetime.fromisoformat(r["when"]), r["actor"], r["what"], r["subject"], r["reason"]),
            r["hash"],
        )
        for r in rows
    ]
    assert audit.verify(entries, last=rows[-1]["hash"]) == []


def test_who_decided_is_known_by_the_address_whatever_name_they_take(world):
    organiser = world.people["organiser"]
    for name in ("Staff", "Staff <staff@example.org>", "the site"):
        organiser.name = name
        organiser.save()
        made = decisions.record(world.challenge, organiser, "disqualify", "Rigi", "because")
        assert made.actor.endswith(" <organiser@example.org>")
        assert made.actor.count("<") == 1
    assert made.actor != decisions.record(world.challenge, "the site", "publish", "neck", "planned").actor


def test_no_rows_of_the_log_are_changed_or_removed_at_once(chain):
    for rows in (Decision.objects.all(), chain.challenge.decisions.filter(number=4)):
        with pytest.raises(TypeError, match="not removed"):
            rows.delete()
        with pytest.raises(TypeError, match="not changed"):
            rows.update(reason="nothing")
    assert problems(chain) == []


def test_an_end_that_is_cut_off_is_missed_by_the_hash_in_a_mail(chain, django_capture_on_commit_callbacks):
    chain.challenge.published = False
    chain.challenge.save()
    with django_capture_on_commit_callbacks(execute=True):
        running.publish(Visit(chain.people["organiser"], chain.challenge), "We are ready.")
    (sent,) = mail.outbox
    (known,) = re.findall("[0-9a-f]{64}", sent.body)
    client = chain.client("organiser")
    for page in ("", "decisions/"):
        text = client.get(f"/c/neck/organise/{page}").content.decode()
        assert "Decision 5 is the last" in text
        assert known in text
    models.QuerySet(Decision).filter(number=5)._raw_delete("default")
    assert "as they were written" in client.get("/c/neck/organise/decisions/").content.decode()
    assert "is not in the chain" in client.get("/c/neck/organise/decisions/", {"hash": known}).content.decode()
