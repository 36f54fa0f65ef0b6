"""Organisers run a reader study: step by step, without knowing who reads, and with a reason for all they decide."""

from __future__ import annotations

import csv
import io
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from reading_world import StudyWorld, add_cases, study_world

from isocenter.server.models import Decision, Study
from isocenter.server.organising.versioning import Refused
from isocenter.server.policy import Visit
from isocenter.server.reading import keys, overview

REASON = {"reason": "All have joined."}


@pytest.fixture
def there(world) -> StudyWorld:
    return study_world(world)


def address(name: str = "") -> str:
    return reverse(f"organise_reading{name and '_'}{name}", args=["neck"])


def page_of(there: StudyWorld, query: str = "") -> str:
    response = there.client("organiser").get(f"{address()}{query}")
    assert response.status_code == 200
    return response.content.decode()


def test_without_a_study_the_page_says_how_to_begin(world):
    text = world.client("organiser").get(address()).content.decode()
    assert "The challenge has no reader study." in text
    assert "[reading]" in text
    assert not Study.objects.exists()
    desk = world.client("organiser").get(reverse("organise", args=["neck"])).content.decode()
    assert "Reader study" not in desk
    assert "Readers</a>" not in desk


@pytest.mark.parametrize("name", ["cases", "draw", "close", "key"])
def test_without_a_study_nothing_can_be_done(world, name):
    text = world.client("organiser").post(address(name), REASON, follow=True).content.decode()
    assert ("Cases are not dealt yet" if name == "key" else "The challenge has no reader study; write") in text
    assert not Decision.objects.exists()


def test_before_the_draw_readers_are_a_number_and_pooled_answers(there):
    there.joins("reader-0")
    assert "Are you an expert? Too few readers for any number to be shown." in page_of(there)
    for number in range(1, 7):
        there.joins(f"reader-{number}", expert=number < 6)
    text = page_of(there)
    assert not re.search(r"R-[0-9A-Z]{4}", text)
    assert "example.org" not in text
    assert "8 named, 7 joined" in text
    assert '<th scope="row">no, yes, together</th><td class="number">7</td>' in text  # who said no is not told
    for number in range(7, 12):
        there.joins(f"reader-{number}", expert=False)
    text = page_of(there)
    assert re.search(r'<th scope="row">yes</th><td class="number">6</td>', text)
    assert re.search(r'<th scope="row">no</th><td class="number">6</td>', text)
    assert "Bern" not in text


def test_the_preview_of_a_draw_shows_how_even_it_can_be_and_decides_nothing(there):
    assert "0 readers for 2 blocks: the cases of 2 blocks would never be read" in page_of(there, "?preview=1")
    there.joins("reader")
    there.joins("rahel")
    text = page_of(there, "?preview=1")
    assert "Cases by block, as an example. Every count is within 1 of its share." in text
    assert "Readers by block: 1, 1." in text
    there.study.refresh_from_db()
    assert there.study.drawn is None
    assert not there.readers["reader"].assignments.filter(practice=False).exists()


def test_the_draw_the_end_and_the_key_need_a_reason_and_are_recorded_once(there):
    client = there.client("organiser")
    there.joins("reader")
    there.joins("rahel")
    for name in ("draw", "close", "key"):
        assert "Say why" in client.post(address(name), {"reason": " "}, follow=True).content.decode()
    assert not Decision.objects.exists()
    assert "Nothing was dealt yet" in client.post(address("close"), REASON, follow=True).content.decode()
    for name, said in (("draw", "The cases are dealt"), ("close", "The study is closed")):
        assert said in client.post(address(name), REASON, follow=True).content.decode()
        assert "nothing was changed" in client.post(address(name), REASON, follow=True).content.decode()
    assert [one.what for one in Decision.objects.order_by("number")] == [
        "draw the reader study",
        "close the reader study",
    ]
    assert {one.reason for one in Decision.objects.all()} == {"All have joined."}


def test_the_key_is_opened_after_the_draw_and_every_time_with_a_reason(there):
    organiser = Visit(there.world.people["organiser"], there.world.challenge)
    there.joins("reader")
    with pytest.raises(Refused, match="not dealt yet"):
        keys.open_key(organiser, "Curious.")
    there.opens()
    there.world.people["rahel"].delete()
    assert {(one.name, one.address) for one in keys.open_key(organiser, "One asked for a certificate.")} == {
        ("Reader", "reader@example.org"),
        (keys.GONE, ""),
    }
    client = there.client("organiser")
    response = client.post(address("key"), {"reason": "Once more."})
    assert "reader@example.org" in response.content.decode()
    assert response["Cache-Control"] == "no-store"
    table = client.post(address("key"), {"reason": "As a table.", "as": "csv"}).content.decode()
    found = list(csv.DictReader(io.StringIO(table)))
    assert {row["pseudonym"] for row in found} == {reader.pseudonym for reader in there.readers.values()}
    opened = Decision.objects.filter(what="open the key of the reader study")
    assert [one.reason for one in opened.order_by("number")] == [
        "One asked for a certificate.",
        "Once more.",
        "As a table.",
    ]


def test_after_the_draw_the_page_shows_pseudonyms_progress_and_balance(there):
    there.opens()
    there.reads("reader")
    there.reads("reader")
    there.reads("reader", score=60)
    text = page_of(there)
    for reader in there.readers.values():
        assert reader.pseudonym in text
    assert "0 of 2 cases done, case 1 in stage 2, 1 not begun" in text
    assert "example.org" not in text
    assert "Cases by block. Every count is within 1 of its share." in text
    assert "1 of 8" in text
    desk = there.client("organiser").get(reverse("organise", args=["neck"])).content.decode()
    assert "open, 2 readers, 1 of 8 reads handed in." in desk


def test_the_export_is_there_once_the_study_is_closed(there):
    client = there.client("organiser")
    there.opens()
    assert "not closed yet" in client.get(address("export"), follow=True).content.decode()
    client.post(address("close"), REASON)
    response = client.get(address("export"))
    assert response["Content-Disposition"] == 'attachment; filename="neck-readers.zip"'
    assert response.content.startswith(b"PK")
    assert address("export") in page_of(there)


def test_steps_lead_from_the_cases_to_the_export(world):
    there = study_world(world, cases=False)

    def upcoming() -> str:
        study = Study.objects.get()
        return next(step.key for step in overview.steps(study, there.world.at.now) if not step.done)

    assert upcoming() == "cases"
    add_cases(there.world, there.study)
    assert upcoming() == "readers"
    there.joins("reader")
    there.joins("rahel")
    assert upcoming() == "draw"
    there.opens()
    assert upcoming() == "open"
    there.client("organiser").post(address("close"), REASON)
    assert upcoming() == "export"


def test_questions_to_readers_have_a_form_like_the_others(there):
    text = there.client("organiser").get(reverse("organise_questions", args=["neck", "readers"])).content.decode()
    assert "What everybody is asked who joins the reader study." in text
    assert "Are you an expert?" in text
    other = there.client("organiser").get(reverse("organise_question", args=["neck", "readers", "centre"]))
    assert other.status_code == 200


def test_the_page_asks_as_often_of_many_readers_as_of_two(there):
    there.opens()
    with CaptureQueriesContext(connection) as few:
        page_of(there)
    for number in range(6):
        there.joins(f"late-{number}")
    with CaptureQueriesContext(connection) as many:
        page_of(there)
    assert len(many) <= len(few)


@pytest.mark.parametrize("name", ["reader", "alice", "stranger"])
def test_nobody_else_sees_any_of_it(there, name):
    there.opens()
    client = there.client(name)
    assert client.get(address()).status_code == 403
    assert client.get(address("export")).status_code == 403
    for one in ("cases", "draw", "close", "key"):
        assert client.post(address(one), REASON).status_code == 403
