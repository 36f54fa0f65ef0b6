"""Home, pages, versions and design of a challenge; and that a phase that is not announced leaves no trace on them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from isocenter import editions
from isocenter.editions import render
from isocenter.evaluation import load_challenge
from isocenter.server.decisions import record
from isocenter.server.models import (
    Announcement,
    CodeLink,
    Download,
    Registration,
    Release,
    SurveyAnswers,
    Version,
)
from isocenter.server.pages.challenge.home import steps, task_of
from isocenter.server.policy import Visit
from isocenter.server.telling.known import history, key_of, known_edition, limited
from isocenter.server.telling.timeline import countdown, span, timeline

TOML = """\
challenge = "hecktor2020"
title = "Tumours of the neck"

[[phases]]
name = "validation"
title = "Validation"
opens = 2026-03-01T00:00:00Z
closes = 2026-04-01T00:00:00Z
results = 2026-04-01T00:00:00Z
"""
OUTSIDERS = ("", "stranger", "waiting", "alice", "carol", "reader")
TRACES = re.compile(
    r"\bfinals?\b|2026-05-12|2026-06-0|12 May|\b1 June 2026|5 June|May 12|June 1|500 EUR", re.IGNORECASE
)


def visit(world: Any, name: str) -> Visit:
    return Visit(world.people[name], world.challenge, world.at.now)


def text_of(world: Any, name: str, address: str) -> str:
    answer = world.client(name).get(address)
    assert answer.status_code == 200, (name, address, answer.status_code)
    return answer.content.decode()


def new_version(world: Any, toml: str | None = None, *, note: str = "", **fields: Any) -> Version:
    last = world.challenge.versions.first()
    world.at.move(minutes=1)
    made = Version.objects.create(
        challenge=world.challenge,
        number=last.number + 1,
        toml=last.toml if toml is None else toml,
        note=note,
        made=world.at.now,
        **{"pages": last.pages, "cohort": last.cohort, **fields},
    )
    world.challenge.version = made
    world.challenge.save()
    return made


@pytest.fixture
def secret(world):
    """The world with something of the unannounced phase in every table that pages of the challenge show."""
    (world.data / "releases").mkdir()
    (world.data / "releases" / "a.zip").write_bytes(b"data")
    for phase, title in (("", "Training set"), ("validation", "Validation images"), ("final", "Images of the final")):
        Release.objects.create(
            challenge=world.challenge,
            phase=phase,
            title=title,
            name="a.zip",
            file="releases/a.zip",
            size=4,
            sha256="0" * 64,
        )
    Announcement.objects.create(challenge=world.challenge, title="Welcome", text="Hello.", made=world.at.now)
    Announcement.objects.create(
        challenge=world.challenge, title="The final is near", text="The final!", phase="final", made=world.at.now
    )
    CodeLink.objects.create(
        team=world.teams["Pilatus"], phase="final", url="https://example.org/final", released=world.at.now
    )
    CodeLink.objects.create(
        team=world.teams["Pilatus"],
        phase="validation",
        url="https://example.org/code",
        released=world.at.now,
        released_to="final",
    )
    cohort = [{"phase": "validation", "case": "CHUV001"}, {"phase": "final", "case": "FINAL7"}]
    first = world.challenge.version.toml
    new_version(world, first.replace("quota = 3", "quota = 4"), note="One more attempt.", cohort=cohort)
    moved = first.replace("quota = 3", "quota = 4").replace("closes = 2026-06-01", "closes = 2026-06-02")
    new_version(world, moved, note="The final is longer.")
    return world


PAGES = (
    "/c/neck/",
    "/c/neck/rules/",
    "/c/neck/design/",
    "/c/neck/data/",
    "/c/neck/versions/",
    "/c/neck/news/",
    "/c/neck/news.atom",
    "/c/neck/forum/",
    "/c/neck/code/",
    "/c/neck/pages/about/",
)


@pytest.mark.parametrize("name", OUTSIDERS)
@pytest.mark.parametrize("address", PAGES)
def test_a_phase_that_is_not_announced_leaves_no_trace(secret, name: str, address: str) -> None:
    found = TRACES.search(text_of(secret, name, address))
    assert found is None, found


@pytest.mark.parametrize("name", OUTSIDERS)
def test_neither_does_it_in_any_version_or_news_item(secret, name: str) -> None:
    page = text_of(secret, name, "/c/neck/versions/") + text_of(secret, name, "/c/neck/news/")
    addresses = set(re.findall(r'href="(/c/neck/(?:versions|news)/[\w-]+/)"', page))
    assert len(addresses) == 3  # two versions, one item
    for address in addresses:
        assert TRACES.search(text_of(secret, name, address)) is None


@pytest.mark.parametrize("address", PAGES)
def test_organisers_find_it_where_it_is(secret, address: str) -> None:
    about_people = ("/c/neck/forum/", "/c/neck/pages/about/", "/c/neck/news.atom")
    found = TRACES.search(text_of(secret, "organiser", address))
    assert (found is None) == (address in about_people)


def test_organisers_are_told_what_nobody_else_knows(secret) -> None:
    for address in ("/c/neck/", "/c/neck/rules/"):
        assert ">not announced<" in text_of(secret, "organiser", address)
        assert ">not announced<" not in text_of(secret, "alice", address)
    secret.at.now = datetime(2026, 5, 10, tzinfo=UTC)
    assert ">not announced<" not in text_of(secret, "organiser", "/c/neck/")


def test_nobody_finds_data_or_news_by_counting(secret) -> None:
    for row in (Release.objects.first(), Announcement.objects.first()):
        where = "data" if isinstance(row, Release) else "news"
        for name in ("alice", "organiser"):
            assert secret.client(name).get(f"/c/neck/{where}/{row.pk}/").status_code == 404


def test_what_it_has_cannot_be_had_by_its_address(secret) -> None:
    hidden = Release.objects.get(phase="final")
    news = Announcement.objects.get(phase="final")
    for address in (
        f"/c/neck/data/{hidden.key}/",
        f"/c/neck/news/{news.key}/",
        f"/c/neck/versions/{key_of(secret.challenge, 'version', 3)}/",
        "/c/neck/versions/3/",
    ):
        assert secret.client("alice").get(address).status_code == 404
        answer = secret.client("organiser").get(address)
        answer.close()
        assert answer.status_code == 200


def test_the_pages_are_the_same_as_if_there_were_no_such_phase(secret) -> None:
    """Order, counts and numbers too: a challenge without the phase gives the same bytes."""
    client = secret.client()
    before = [client.get(address).content for address in PAGES]
    Release.objects.filter(phase="final").delete()
    Announcement.objects.filter(phase="final").delete()
    CodeLink.objects.all().delete()
    Version.objects.filter(number=3).update(number=30)
    secret.challenge.refresh_from_db()
    keep = Version.objects.get(number=2)
    without = keep.toml.split('[[phases]]\nname = "final"')[0]
    tail = keep.toml[keep.toml.index("[policies]") :].replace(
        '[[prizes]]\nplace = 1\namount = "500"\ncurrency = "EUR"\n', ""
    )
    Version.objects.filter(pk=keep.pk).update(toml=without + tail, cohort=keep.cohort[:1])
    first = Version.objects.get(number=1)
    Version.objects.filter(pk=first.pk).update(toml=(without + tail).replace("quota = 4", "quota = 3"))
    secret.challenge.version = Version.objects.get(number=2)
    secret.challenge.save()
    Version.objects.filter(number=30).delete()
    from isocenter.server.editions import code_of, edition_of

    edition_of.cache_clear()
    code_of.cache_clear()
    assert [client.get(address).content for address in PAGES] == before


def test_once_announced_it_is_there_for_all(secret) -> None:
    secret.at.now = datetime(2026, 5, 10, tzinfo=UTC)
    for address in ("/c/neck/", "/c/neck/rules/", "/c/neck/design/", "/c/neck/data/", "/c/neck/news/"):
        assert TRACES.search(text_of(secret, "", address))


def test_a_limited_edition_keeps_nothing_of_other_phases(world) -> None:
    whole = world.challenge.edition
    some = limited(whole, ["validation", "test"])
    assert not TRACES.search(re.sub(r"^#.*$", "", render(some), flags=re.MULTILINE))
    assert some.prizes == ()
    assert limited(whole, [phase.name for phase in whole.phases]) is whole
    assert limited(whole, ["final"]).phases[0].after is None
    assert limited(whole, ["final"]).phases[0].admission == "invited"
    assert limited(whole, ["final"]).prizes == whole.prizes


def test_a_limited_edition_of_every_challenge_can_be_written_and_read() -> None:
    for name in ("doserad2026", "hecktor2020", "lung2019", "openkbp2020", "picai2022"):
        edition = editions.new(load_challenge(name))
        for phase in edition.phases:
            one = limited(edition, [phase.name])
            assert editions.parse(render(one)).phases == one.phases


def test_a_version_without_a_visible_change_is_not_there(secret) -> None:
    assert [one.version.note for one in history(visit(secret, "alice"))] == ["One more attempt.", ""]
    assert len(history(visit(secret, "organiser"))) == 3
    page = text_of(secret, "alice", "/c/neck/versions/")
    assert "The final is longer." not in page
    assert "version 2" not in page.lower()


def test_a_version_shows_what_changed(secret) -> None:
    [newest, _] = history(visit(secret, "alice"))
    page = text_of(secret, "alice", f"/c/neck/versions/{newest.key}/")
    assert "<del>-quota = 3</del>" in page
    assert "<ins>+quota = 4</ins>" in page


def test_an_old_version_that_cannot_be_read_any_more_tells_nothing(world) -> None:
    Version.objects.filter(number=1).update(toml='old = "final"')
    new_version(world, TOML, note="Written anew.")
    *_, first = history(visit(world, "alice"))
    assert first.documents["challenge.toml"] == ""
    *_, first = history(visit(world, "organiser"))
    assert first.documents["challenge.toml"] == 'old = "final"'


def test_pages_are_compared_too(world) -> None:
    new_version(world, pages=[{"name": "about", "title": "About", "text": "# About\n\n-- signed"}], note="Shorter.")
    [change] = history(visit(world, "alice"))[0].changes
    assert change.name == "Page: About"
    assert ("add", "+-- signed") in [(line.kind, line.text) for line in change.lines]


def test_drafts_from_before_the_publication_stay_with_the_organisers(world) -> None:
    new_version(world, pages=[{"name": "about", "title": "About", "text": "A draft of everything."}])
    new_version(world, pages=[{"name": "about", "title": "About", "text": "As published."}])
    record(world.challenge, world.people["organiser"], "publish", "neck", "It is ready.")
    assert [len(one.changes) for one in history(visit(world, "alice"))] == [0]
    assert len(history(visit(world, "organiser"))) == 3
    new_version(world, pages=[{"name": "about", "title": "About", "text": "As corrected."}])
    assert "draft" not in str([one.documents for one in history(visit(world, "alice"))])
    assert len(history(visit(world, "alice"))) == 2


def test_a_page_has_its_title_once_and_not_that_of_the_challenge(world) -> None:
    pages = [
        {"name": "about-us", "title": "Tumours of the neck", "text": "# Tumours of the neck\n\nWho we are."},
        {"name": "faq", "title": "Questions", "text": "\n# Questions\n\n## First\n\nYes."},
        {"name": "more", "title": "More", "text": "# Another heading\n\nText."},
    ]
    new_version(world, pages=pages)
    home = text_of(world, "alice", "/c/neck/")
    assert '<a href="/c/neck/pages/about-us/">About us</a>' in home
    page = text_of(world, "alice", "/c/neck/pages/about-us/")
    assert "<h1>About us</h1><p>Who we are.</p>" in page
    assert "<h1>Questions</h1><h3>First</h3>" in text_of(world, "alice", "/c/neck/pages/faq/")
    assert "<h2>Another heading</h2>" in text_of(world, "alice", "/c/neck/pages/more/")


def test_pages_of_organisers_can_do_no_harm(world) -> None:
    evil = "# Hi\n\n<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/y.png) **bold**"
    new_version(world, pages=[{"name": "about", "title": "About <b>", "text": evil}])
    page = text_of(world, "alice", "/c/neck/pages/about/")
    assert "<script>alert" not in page
    assert 'href="javascript' not in page
    assert "About <b>" not in page
    assert "<strong>bold</strong>" in page
    assert world.client().get("/c/neck/pages/none/").status_code == 404


@pytest.mark.parametrize("address", [*PAGES, "/c/neck/news/new/", "/c/neck/data/1/"])
def test_an_unpublished_challenge_has_no_pages(world, address: str) -> None:
    world.challenge.published = False
    world.challenge.save()
    for name in ("", "alice", "reader"):
        assert world.client(name).get(address).status_code == 404


def test_the_countdown_says_when_on_both_clocks(world) -> None:
    client = world.client()
    client.cookies["zone"] = "Asia/Tokyo"
    text = re.sub(r"<[^>]+>", "", client.get("/c/neck/").content.decode())
    assert "Validation closes in 29 days" in text
    assert "Closes 1 April 2026, 09:00 JST (00:00 UTC)" in text
    client.cookies["zone"] = "America/New_York"
    text = re.sub(r"<[^>]+>", "", client.get("/c/neck/").content.decode())
    assert "Closes 31 March 2026, 20:00 EDT (1 April 2026, 00:00 UTC)" in text


def test_the_countdown_follows_the_phases(world) -> None:
    phases = limited(world.challenge.edition, ["validation", "test"]).phases

    def said(when: str) -> tuple[str, str]:
        found = countdown(phases, datetime.fromisoformat(when))
        return found.phase.title, found.words

    assert said("2026-02-20T00:00:00Z") == ("Validation", "opens in 9 days")
    assert said("2026-03-31T23:30:00Z") == ("Validation", "closes in 30 minutes")
    assert said("2026-04-01T00:00:00Z") == ("Test", "closes in 30 days")
    assert said("2026-05-01T00:00:00Z") == ("Test", "results in 9 days")
    assert said("2026-05-10T00:00:00Z") == ("Test", "results are out")
    assert countdown([], world.at.now).state == "none"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "less than a minute"), (60, "1 minute"), (7199, "119 minutes"), (7200, "2 hours"), (172800, "2 days")],
)
def test_a_span_is_never_told_longer_than_it_is(seconds: int, words: str) -> None:
    assert span(timedelta(seconds=seconds)) == words


def test_the_picture_of_phases_has_its_list(world) -> None:
    page = text_of(world, "alice", "/c/neck/")
    assert page.count("<rect") == 2
    assert page.count('<circle class="results"') == 2
    assert 'class="now"' in page
    assert page.count("<dt>Opens</dt>") == 2
    drawn = timeline(visit(world, "alice").phases, world.at.now)
    assert all(0 <= bar.left <= bar.closes <= bar.results <= 100 for bar in drawn.bars)
    assert timeline(visit(world, "alice").phases, world.at.now + timedelta(days=900)).now is None
    assert timeline([], world.at.now) is None


def states(world: Any, name: str) -> list[tuple[str, str]]:
    who = visit(world, name) if name else Visit(AnonymousUser(), world.challenge, world.at.now)
    return [(step.title, step.state) for step in steps(who)]


def test_what_to_do_next_depends_on_what_was_done(secret) -> None:
    secret.scored("Pilatus", "validation")
    assert states(secret, "")[0] == ("Create an account", "next")
    assert dict(states(secret, "stranger"))["Register"] == "next"
    assert dict(states(secret, "waiting"))["Register"] == "next"
    assert dict(states(secret, "alice"))["Download the data"] == "next"
    assert dict(states(secret, "alice"))["Submit"] == "later"
    assert dict(states(secret, "carol"))["Submit"] == "done"
    Download.objects.create(challenge=secret.challenge, user=secret.people["alice"], what="x", size=1)
    assert dict(states(secret, "alice"))["Submit"] == "next"
    Registration.objects.filter(user=secret.people["alice"]).update(terms_version="0")
    assert dict(states(secret, "alice"))["Accept the terms"] == "next"


def test_the_survey_is_a_step_until_it_is_complete(world) -> None:
    survey = '\n[[survey]]\nname = "model"\nlabel = "Kind of model"\nkind = "text"\nrequired = true\n'
    new_version(world, world.challenge.version.toml + survey)
    SurveyAnswers.objects.create(team=world.teams["Rigi"], answers={})
    assert dict(states(world, "alice"))["Describe your method"] == "later"
    SurveyAnswers.objects.update(answers={"model": "U-Net"})
    assert dict(states(world, "alice"))["Describe your method"] == "done"


def test_the_home_tells_the_task_and_the_key_facts() -> None:
    edition = editions.new(load_challenge("hecktor2020"))
    assert task_of(edition) == (
        "Segmentation: gross tumour and metastatic lymph nodes, in particular of oropharyngeal cancer. On FDG-PET/CT."
    )
    assert task_of(edition.model_copy(update={"mission": editions.Mission()})) == ""


def test_the_home_shows_who_organises_and_how_often_one_may_submit(world) -> None:
    about = 'organisers = ["University Hospital"]\n'
    description = '\n[organisation]\nteam = "A. Author"\n\n[mission]\nmodality = "FDG-PET/CT"\n'
    toml = world.challenge.version.toml.replace("\n[[phases]]", f"{about}\n[[phases]]", 1) + description
    new_version(world, toml)
    page = text_of(world, "", "/c/neck/")
    for expected in ("University Hospital", "A. Author", "FDG-PET/CT", "3 submissions per team in any seven days"):
        assert expected in page
    assert "2 submissions per team in the whole phase" in page


def test_the_design_record_says_nothing_of_the_hidden_phase(secret) -> None:
    page = text_of(secret, "alice", "/c/neck/design/")
    assert "two phases" not in page
    assert "2 phases" in page
    assert "to 2026-05-01 00:00:00 UTC" in page
    assert known_edition(visit(secret, "alice")).last_phase.name == "test"


def test_without_any_announced_phase_there_is_still_a_home(world) -> None:
    toml = world.challenge.version.toml
    for phase in ("validation", "test"):
        announced = f'name = "{phase}"\nannounced = 2026-03-20T00:00:00Z\n'
        toml = toml.replace(f'name = "{phase}"\n', announced).replace("opens = 2026-03-01", "opens = 2026-03-21")
    new_version(world, toml)
    for address in PAGES:
        assert "Validation" not in text_of(world, "alice", address)
    assert "No phase is announced yet." in text_of(world, "alice", "/c/neck/")
