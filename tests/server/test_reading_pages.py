"""The pages of readers: joining, the guide, one case after the other, drafts, and what is kept from everybody."""

from __future__ import annotations

import gzip
import html
import json
import re
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from reading_world import IN_SCAN, STUDY_CASES, StudyWorld, study_world

from isocenter.server.models import CaseRead, Reader, ReadEvent, Role, Study, User
from isocenter.server.organising.versioning import Refused
from isocenter.server.reading import protocol, scans

READING = "/c/neck/reading/"
CASE, DRAFT, GUIDE = (f"{READING}{page}/" for page in ("case", "draft", "guide"))


@pytest.fixture
def study(world) -> StudyWorld:
    return study_world(world)


@pytest.fixture
def client(study) -> Client:
    """A reader who is past the practice case, at the first stage of the first of two cases."""
    study.opens()
    for _ in range(2):
        study.reads("reader")
    return study.client("reader")


def fields(page: HttpResponse) -> dict[str, str]:
    """What the form of a case holds, as a browser without scripts would send it."""
    form = page.text.partition('id="answer"')[2] or page.text.partition("<form method")[2].partition("<form method")[2]
    found = {}
    for tag in re.findall(r"<input[^>]*>", form.partition("</form>")[0]):
        said = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        if "name" in said:
            found[said["name"]] = html.unescape(said.get("value", ""))
    found.pop("csrfmiddlewaretoken", None)
    return found


def scan_urls(page: HttpResponse) -> list[str]:
    return re.findall(r'data-url="([^"]+)"', page.text)


def hands_in(client: Client, **said: Any) -> HttpResponse:
    """Open the case, fill it in and send it, all without a script."""
    page = client.get(CASE)
    assert page.status_code == 200
    return client.post(CASE, fields(page) | {"score": 30, "marks": "[]"} | said)


def saves(client: Client, page: dict[str, str], **said: Any) -> HttpResponse:
    """What the script of the page does."""
    body = {"turn": page["turn"], "revision": int(page["revision"]), "seconds": 5, "marks": [], "score": None} | said
    return client.post(DRAFT, json.dumps(body), content_type="application/json")


# Joining


def test_a_reader_joins_confirms_the_guide_and_practises(study):
    client = study.client("reader")
    page = client.get(READING)
    assert "Are you an expert?" in page.text
    assert client.get(CASE).url == READING
    refused = client.post(READING, {"centre": "Bern"})
    assert (refused.status_code, Reader.objects.count()) == (400, 0)
    assert "One thing is to be put right" in refused.text
    assert client.post(READING, {"expert": "yes", "centre": "Bern"}).url == GUIDE
    reader = Reader.objects.get()
    assert reader.answers == {"expert": True, "centre": "Bern"}
    assert "reader" not in reader.pseudonym.lower()
    assert client.get(CASE).url == READING
    assert "Mark what you suspect." in client.get(GUIDE).text
    client.post(GUIDE, {"version": "0"})
    assert Reader.objects.get().guide_version == ""
    client.post(GUIDE, {"version": "1"})
    assert "Read practice case 1 of 1" in client.get(READING).text
    page = client.get(CASE)
    assert "it is in no result" in page.text
    assert hands_in(client).url == CASE
    assert hands_in(client).url == READING
    assert "Cases are dealt to readers when all have joined" in client.get(READING).text


def test_who_joins_twice_is_one_reader(study):
    client = study.client("reader")
    for _ in range(2):
        client.post(READING, {"expert": "yes"})
    assert Reader.objects.count() == 1


def test_who_deletes_the_account_and_comes_back_is_the_same_reader(study):
    study.opens()
    study.reads("reader")
    before = study.readers["reader"]
    client = study.client("reader")
    client.post("/accounts/reauthenticate/", {"password": "pass"})
    assert client.post("/account/delete/", {"email": "reader@example.org", "confirm": "yes"}).status_code == 302
    assert not User.objects.filter(email="reader@example.org").exists()
    study.person("reader")
    client = study.client("reader")
    assert "Join the study" in client.get(READING).text
    client.post(READING, {"expert": "no"})
    assert Reader.objects.count() == 2
    assert "Stage 2 of 2" in client.get(CASE).text
    assert Reader.objects.get(pk=before.pk).answers["expert"] is True


def test_a_page_without_a_study_is_not_there(world):
    client = world.client("reader")
    for page in (READING, GUIDE, CASE, f"{READING}scan/t2w/"):
        assert client.get(page).status_code == 404
    assert ">Read<" not in client.get("/c/neck/").text
    assert Study.objects.count() == 0


# Reading


def test_cases_come_one_after_the_other_and_stage_by_stage(client):
    seen = []
    for _ in range(4):
        page = client.get(CASE)
        told = re.search(r"<h1>(Case .*?)</h1>.*?>(Stage .*?)</span>", page.text, re.DOTALL)
        seen.append((*told.groups(), [url.split("/")[-2] for url in scan_urls(page)]))
        assert client.post(CASE, fields(page) | {"score": 30}).status_code == 302
    first, second = (f"Stage {n} of 2: {title}" for n, title in ((1, "Without contrast"), (2, "With contrast")))
    assert seen == [
        ("Case 1 of 2", first, ["t2w", "adc"]),
        ("Case 1 of 2", second, ["t2w", "dce"]),
        ("Case 2 of 2", first, ["t2w", "adc"]),
        ("Case 2 of 2", second, ["t2w", "dce"]),
    ]
    page = client.get(READING)
    assert "you have read all your cases" in page.text
    assert "2 of 2" in page.text
    assert client.get(CASE).url == READING


def test_no_page_tells_the_name_of_a_case_the_truth_or_what_others_said(client, study):
    study.reads("rahel")
    names = (*STUDY_CASES, "practice-1", "ISUP", study.readers["rahel"].pseudonym, study.readers["reader"].pseudonym)
    for _ in range(4):
        pages = [client.get(page).text for page in ("/", "/c/neck/", READING, GUIDE, CASE)]
        keys = [str(key) for key in study.study.cases.values_list("key", flat=True)]
        for told in (*names, *keys):
            assert not any(told in page for page in pages), told
        hands_in(client)


def test_a_fact_that_is_nought_is_told_and_one_that_is_missing_is_said_to_be(client, study):
    for value, told in ((0, "0"), ("0", "0"), ("", "not known"), (None, "not known"), ("61 <b>", "61 &lt;b&gt;")):
        study.study.cases.update(facts={"age": value, "ISUP": "5"})
        page = client.get(CASE).text
        assert f"<dt>age</dt><dd>{told}</dd>" in page
        assert "ISUP" not in page


def test_scans_are_there_for_the_case_and_stage_of_the_turn_only(client):
    page = client.get(CASE)
    t2w, adc = scan_urls(page)
    answer = client.get(t2w)
    assert (answer.status_code, answer.content[:2]) == (200, b"\x1f\x8b")
    assert answer.content[3:8] == bytes(5)  # no name of a file, and not when the scan was opened first, by whomever
    header = gzip.decompress(answer.content)[:352]
    assert not any(header[4:38] + header[148:252] + header[328:344])  # nothing is described
    for other in (t2w.replace("t2w", "dce"), t2w.replace("t2w", "..%2Ft2w"), t2w.partition("?")[0], f"{t2w}0"):
        assert client.get(other).status_code == 404, other
    client.post(CASE, fields(page) | {"score": 1})
    for passed in (t2w, adc):
        assert client.get(passed).status_code == 404
    t2w_again, dce = scan_urls(client.get(CASE))
    assert [client.get(one).status_code for one in (t2w_again, dce)] == [200, 200]


def test_a_scan_that_is_asked_for_while_others_are_opened_comes_later(client, monkeypatch):
    (url, _) = scan_urls(client.get(CASE))

    def busy(*_: object) -> bytes:
        raise scans.Busy

    monkeypatch.setattr(scans, "scan", busy)
    answer = client.get(url)
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")


def test_what_was_handed_in_does_not_come_back_but_as_the_copy(client):
    assert hands_in(client, marks=json.dumps([IN_SCAN]), score=66).url == CASE
    page = client.get(CASE)
    assert "You begin with what you handed in for “Without contrast”" in page.text
    copy = fields(page)
    assert (json.loads(copy["marks"]), copy["score"]) == ([IN_SCAN], "66")
    client.post(CASE, copy)
    fresh = fields(client.get(CASE))
    assert (fresh["marks"], fresh["score"]) == ("[]", "")


def test_a_page_of_an_older_turn_hands_in_nothing_and_says_so(client):
    old = fields(client.get(CASE))
    client.post(CASE, old | {"score": 10})
    answer = client.post(CASE, old | {"score": 99})
    assert answer.status_code == 410
    assert "This case is handed in already" in answer.text
    assert saves(client, old, score=99).status_code == 410
    assert list(CaseRead.objects.filter(submitted__isnull=False, score=99)) == []
    assert client.post(CASE, {}).status_code == 410


def test_without_a_likelihood_nothing_is_handed_in_and_nothing_is_lost(client):
    answer = hands_in(client, marks=json.dumps([IN_SCAN]), score="")
    assert answer.status_code == 400
    assert "Say how likely a significant cancer is" in answer.text
    assert json.loads(fields(answer)["marks"]) == [IN_SCAN]
    outside = hands_in(client, marks=json.dumps([IN_SCAN | {"x": 999}]), score=5)
    assert "Mark 1: lies outside of the scan (t2w)." in outside.text
    assert CaseRead.objects.filter(submitted__isnull=False, assignment__practice=False).count() == 0


def test_what_may_be_a_slip_is_asked_about_once_and_may_be_handed_in(client):
    asked = hands_in(client, score=80)
    assert (asked.status_code, "You marked no lesion" in asked.text) == (200, True)
    assert CaseRead.objects.get(score=80).submitted is None
    again = fields(asked)
    assert again["sure"] == "yes"
    assert fields(client.get(CASE))["score"] == "80"
    assert client.post(CASE, again).status_code == 302
    assert CaseRead.objects.get(score=80, stage="first").submitted is not None


# Drafts


def test_a_draft_survives_and_holds_marks_without_a_grade(client):
    page = fields(client.get(CASE))
    ungraded = IN_SCAN | {"pirads": None}
    assert saves(client, page, marks=[ungraded]).json()["revision"] == 1
    again = fields(client.get(CASE))
    assert (json.loads(again["marks"]), again["revision"]) == ([ungraded], "1")
    assert client.post(CASE, again | {"score": 20}).status_code == 400
    kinds = list(ReadEvent.objects.filter(read__submitted=None).values_list("kind", flat=True))
    assert kinds == ["opened", "mark added", "resumed"]


def test_of_two_windows_the_one_that_saves_later_without_knowing_is_told(client):
    page = fields(client.get(CASE))
    assert saves(client, page, score=20).status_code == 200
    late = saves(client, page, score=90)
    assert (late.status_code, late.json()) == (409, {"revision": 1, "marks": [], "score": 20})
    answer = client.post(CASE, page | {"score": 90})
    assert answer.status_code == 409
    assert "Another window of yours has saved this case since" in answer.text
    assert (fields(answer)["score"], fields(answer)["revision"]) == ("20", "1")
    assert CaseRead.objects.get(stage="first", assignment__practice=False).score == 20


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"turn": ["x"], "revision": {}}', b'{"turn": "\\ud800"}']
)
def test_what_no_page_sends_is_no_draft(client, body):
    client.get(CASE)
    assert client.post(DRAFT, body, content_type="application/json").status_code == 410


def test_a_draft_that_cannot_be_read_is_refused_and_changes_nothing(client):
    page = fields(client.get(CASE))
    answer = saves(client, page, marks=[IN_SCAN | {"pirads": 1}], revision="x")
    assert (answer.status_code, answer.json()["problems"]) == (400, ["Mark 1: has no PI-RADS; choose 3, 4 or 5."])
    assert saves(client, page, revision="x").status_code == 409
    assert saves(client, page, seconds="much").status_code == 200
    assert CaseRead.objects.get(submitted=None).seconds == 0


# The end


def test_once_the_study_is_closed_nothing_is_shown_or_handed_in(client, study, world):
    page = client.get(CASE)
    protocol.close(study.study, user=world.people["organiser"], reason="Enough reads.")
    answer = client.post(CASE, fields(page) | {"score": 3})
    assert (answer.status_code, "The study is closed" in answer.text) == (410, True)
    assert saves(client, fields(page)).status_code == 410
    assert client.get(scan_urls(page)[0]).status_code == 404
    assert client.get(CASE).url == READING
    assert "Thank you for your reads" in client.get(READING).text
    client.post(f"{READING}withdraw/", {"confirm": "yes"})
    assert not Reader.objects.filter(withdrawn__isnull=False).exists()


def test_who_withdraws_says_so_twice_and_does_not_come_back(client, study):
    page = client.get(CASE)
    assert "stays in the study, under your pseudonym" in client.get(READING).text
    client.post(f"{READING}withdraw/")
    assert not Reader.objects.filter(withdrawn__isnull=False).exists()
    client.post(f"{READING}withdraw/", {"confirm": "yes"})
    assert Reader.objects.filter(withdrawn__isnull=False).count() == 1
    assert client.post(CASE, fields(page) | {"score": 3}).status_code == 410
    assert client.get(scan_urls(page)[0]).status_code == 404
    assert "You have withdrawn" in client.get(READING).text
    client.post(READING, {"expert": "yes"})
    assert Reader.objects.count() == 2
    with pytest.raises(Refused):
        study.joins("reader")


# Others


def test_who_is_no_reader_any_more_sees_nothing(client, world):
    page = client.get(CASE)
    Role.objects.filter(user=world.people["reader"]).delete()
    for answer in (client.get(CASE), client.get(scan_urls(page)[0]), client.post(CASE, fields(page))):
        assert answer.status_code == 403


def test_organisers_look_at_the_desk_as_readers_see_it_and_at_no_case(study):
    client = study.client("organiser")
    Study.objects.all().delete()
    page = client.get(f"{READING}?as=reader")
    assert "Are you an expert?" in page.text
    assert "Mark what you suspect." in client.get(f"{GUIDE}?as=reader").text
    assert client.get(f"{CASE}?as=reader").status_code == 302
    assert client.get(f"{READING}scan/t2w/?as=reader").status_code == 404
    assert client.get(READING).status_code == 403
    assert client.post(READING, {"expert": "yes"}, headers={"Referer": f"{READING}?as=reader"}).status_code == 403
    assert (Study.objects.count(), Reader.objects.count()) == (0, 0)


def test_the_home_of_the_challenge_tells_readers_their_steps(client, study):
    page = client.get("/c/neck/").text
    steps = re.findall(r'<li class="(done|next|later)"', page)
    assert steps == ["done", "done", "done", "next"]
    assert f'<a href="{CASE}">Read your cases</a>' in page
    assert "0 of 2 done." in page
    assert f'<a href="{READING}">Reader study</a>' in client.get("/").text
    assert ">Read<" not in study.client("alice").get("/c/neck/").text


def test_looking_at_the_head_of_a_case_begins_nothing(client):
    assert client.head(CASE).status_code == 200
    assert not CaseRead.objects.filter(submitted=None).exists()
