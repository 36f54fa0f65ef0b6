"""What pages show, in a real browser: nothing that is hidden, to everybody what they are about, and all on a phone."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from browser import Browser, opened
from django.core.cache import cache

from conftest import CASES
from isocenter.server.models import Announcement, Notification, Post, Topic
from isocenter.server.work import making

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with opened(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def browser(chromium: Browser, tmp_path: Path) -> Browser:
    """The browser of somebody who was never here."""
    chromium.fresh(tmp_path)
    return chromium


@pytest.fixture
def played(world, live_server, browser) -> Iterator[Any]:
    """Two teams with results in the open phase and in the hidden one, boards of both, something to read."""
    cache.clear()
    for team, size in (("Rigi", 3), ("Pilatus", 2)):
        world.scored(team, "validation", size)
    making.make_boards(world.challenge, "validation")
    world.at.move(days=40)
    for team, sizes in (("Rigi", (3, 4, 1)), ("Pilatus", (1, 2, 2))):
        world.scored(team, "test", dict(zip(CASES, sizes, strict=True)))
    making.make_boards(world.challenge, "test")
    Announcement.objects.create(challenge=world.challenge, title="Welcome", text="It begins.")
    topic = Topic.objects.create(challenge=world.challenge, title="Orientation?", author=world.people["alice"])
    Post.objects.create(topic=topic, author=world.people["alice"], text="Which way is up?")
    Notification.objects.create(user=world.people["alice"], text="Something happened.", url="/")
    world.address = live_server.url
    yield world
    browser.fresh(world.scratch)  # its connections end, and the threads that answer them
    for thread in [thread for thread in threading.enumerate() if "process_request_thread" in thread.name]:
        thread.join(30)


def enter(browser: Browser, world: Any, name: str) -> None:
    """Sign in, without the form."""
    if name:
        cookie = world.client(name).cookies["sessionid"].value
        browser.call("Network.setCookie", name="sessionid", value=cookie, url=world.address)


def of_team(world: Any, team: str, phase: str) -> Any:
    return world.teams[team].submissions.get(phase=phase)


SCORES = ("0.752", "0.75", "75.2", "0.7524")  # of Rigi in the hidden phase: the mean of 6/7, 1 and 2/5
OTHER = ("0.578", "0.58", "57.8", "0.5778")  # of Pilatus there: of 2/5 and twice 2/3


@pytest.mark.parametrize("name", ["alice", "carol", "stranger", ""])
def test_in_a_hidden_phase_no_page_has_a_score_and_then_the_board_is_there(browser, played, name):
    enter(browser, played, name)
    one = of_team(played, "Rigi" if name == "alice" else "Pilatus", "test")
    pages = ["", "boards/", "boards/test/dice/", "progress/test/", "news/", "forum/", "rules/", "data/", "register/"]
    if name in ("alice", "carol"):
        pages += ["team/", "submissions/", f"submissions/{one.pk}/", "submit/test/", "compare/", "survey/"]
    api = ["", "/boards", "/boards/test/dice", "/boards/test/dice/history", "/submissions?phase=test"]
    api += [f"/submissions/{one.pk}", f"/submissions/{one.pk}/cases", "/phases/test/quota"]

    def everything() -> str:
        found = []
        for page in pages:
            browser.go(f"{played.address}/c/neck/{page}")
            found.append(browser.js("document.documentElement.outerHTML"))
        asked = [f"/api/v1/challenges/neck{path}" for path in api]
        asked += [f"/c/neck/boards/test/dice/board.{end}" for end in ("csv", "json")]
        asked += ["/c/neck/boards/test/dice/receipt.json", f"/c/neck/submissions/{one.pk}/scores.csv"]
        fetched = f"Promise.all({json.dumps(asked)}.map((path) => fetch(path).then((answer) => answer.text())))"
        browser.go(f"{played.address}/notifications/")
        return "\n".join([*found, browser.text(), *browser.js(fetched)])

    seen = re.sub(r"csrfmiddlewaretoken.{0,90}|[0-9a-f]{8}-[0-9a-f-]{27}", "", everything())
    for score in (*SCORES, *OTHER):
        assert score not in seen, (score, seen[max(0, seen.index(score) - 300) :][:400])
    played.at.move(days=40)
    browser.go(f"{played.address}/c/neck/boards/test/dice/")
    rows = browser.js("[...document.querySelectorAll('main table tbody tr')].map((row) => row.innerText)")
    assert len(rows) == 2
    assert "Rigi" in rows[0]
    assert "0.752" in rows[0]


# Addresses that do not begin with / are those of the challenge.
PAGES = {
    "": """/ /accounts/login/ /accounts/signup/ /accounts/password/reset/ /api/ ./ rules/ data/ design/ versions/
           boards/ boards/validation/dice/ progress/validation/ forum/ news/ pages/about/""",
    "stranger": "register/ /account/ /account/tokens/ /accounts/email/ /accounts/password/change/ /accounts/2fa/",
    "alice": """./ register/ terms/ team/ survey/ submissions/ submit/test/ submissions/{one}/ compare/ code/ forum/new/
                submissions/{one}/cases/CHUV002/ forum/{topic}/ /notifications/""",
    "organiser": """organise/ organise/setup/ organise/setup/dry-run/ organise/code/ organise/code/phases/test/
                    organise/code/policies/ organise/code/prizes/ organise/pages/ organise/pages/about/ organise/data/
                    organise/participants/ organise/roles/ organise/equity/ organise/teams/ organise/teams/{team}/
                    organise/requests/ organise/submissions/ organise/submissions/{one}/ organise/publishing/
                    organise/decisions/ organise/downloads/ news/new/ boards/test/dice/ submissions/{one}/""",
    "staff": "/staff/ /staff/users/ /staff/challenges/ /staff/mails/ /new/",
}

# What a page has to have for whoever hears it or has no mouse; each fault as a sentence.
FAULTS = """(() => {
  const faults = [], all = (selector) => [...document.querySelectorAll(selector)];
  const bad = (what, one) => faults.push(`${what}: ${one.outerHTML.slice(0, 160)}`);
  const ids = (one, name) => (one.getAttribute(name) ?? '').split(' ').filter(Boolean);
  const says = (one) => one?.textContent.trim();
  const named = (one) => one.getAttribute('aria-label')?.trim() || one.title
    || ids(one, 'aria-labelledby').some((id) => says(document.getElementById(id)));
  if (document.documentElement.lang !== 'en') faults.push('the page does not say its language');
  if (!document.title.trim()) faults.push('no title');
  for (const what of ['h1', 'main']) if (all(what).length !== 1) faults.push(`${all(what).length} ${what}`);
  const known = all('[id]').map((one) => one.id);
  known.filter((id, at) => known.indexOf(id) !== at).forEach((id) => faults.push(`id ${id} twice`));
  for (const one of all('input:not([type=hidden]), select, textarea'))
    if (![...(one.labels ?? [])].some(says) && !named(one)) bad('no label', one);
  for (const one of all('img:not([alt])')) bad('no alt', one);
  for (const one of all('svg'))
    if (!one.closest('[aria-hidden=true]') && !named(one) && !one.querySelector('title')) bad('no words', one);
  for (const one of all('button, a[href], summary'))
    if (!says(one) && !named(one) && !one.querySelector('img[alt]:not([alt=""])')) bad('says nothing', one);
  for (const name of ['aria-describedby', 'aria-labelledby', 'aria-controls', 'for', 'form'])
    for (const one of all(`[${name}]`))
      if (ids(one, name).some((id) => !document.getElementById(id))) bad(`${name} of nothing`, one);
  for (const one of all('th:not([scope])')) bad('th without scope', one);
  for (const one of all('table')) {
    let before = one.closest('.scroll') ?? one;
    while (before && !/^H[1-6]$/.test(before.tagName)) before = before.previousElementSibling ?? before.parentElement;
    if (!one.caption && !named(one) && !before) bad('a table without a name', one);
  }
  for (const one of all('fieldset')) if (!says(one.querySelector('legend'))) bad('no legend', one);
  let level = 0;
  for (const one of all('h1, h2, h3, h4, h5, h6')) {
    if (Number(one.tagName[1]) > level + 1) bad(`a heading below one of level ${level}`, one);
    level = Number(one.tagName[1]);
  }
  for (const one of all('[tabindex]')) if (one.tabIndex > 0) bad('an order of its own', one);
  for (const one of all('[onclick], [onchange], [onsubmit], a[href^="javascript:"]')) bad('inline script', one);
  return faults;
})()"""


@pytest.mark.parametrize("name", PAGES)
def test_pages_say_what_they_show_and_are_no_wider_than_a_phone(browser, played, name):
    enter(browser, played, name)
    browser.size(360, 800)
    one = of_team(played, "Rigi", "validation")
    found = {}
    for path in PAGES[name].split():
        page = path.format(one=one.pk, topic=played.challenge.topics.get().key, team=one.team.key)
        browser.go(urljoin(f"{played.address}/c/neck/", page))
        faults = browser.js(FAULTS)
        wide = browser.js("document.scrollingElement.scrollWidth")
        if wide > 360:
            faults.append(f"{wide} pixels wide")
        status = browser.js("performance.getEntriesByType('navigation')[0].responseStatus")
        if status != 200:
            faults.append(f"answers {status}")
        if faults:
            found[page] = faults
    assert found == {}
    assert browser.errors() == []
    assert browser.complaints() == []


FOCUSED = """(() => {
  const one = document.activeElement, style = getComputedStyle(one);
  const words = one.innerText || one.getAttribute('aria-label') || one.name || one.id || '';
  one.reached = true;
  const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
  return [one.tagName, words.trim().slice(0, 60), outlined || style.boxShadow !== 'none'];
})()"""
NOT_REACHED = """[...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
  .filter((one) => one.type !== 'hidden' && !one.disabled && one.checkVisibility() && !one.reached
    && !(one.type === 'radio' && [...document.getElementsByName(one.name)].some((other) => other.reached)))
  .map((one) => one.outerHTML.slice(0, 160))"""


@pytest.mark.parametrize(
    ("name", "path", "action"),
    [
        ("", "/", "Tumours of the neck"),
        ("", "/accounts/login/", "Sign in"),
        ("stranger", "/c/neck/register/", "Register"),
        ("alice", "/c/neck/submit/test/", "Hand in"),
        ("alice", "/c/neck/team/", "Invite"),
        ("alice", "/c/neck/boards/validation/dice/", "Receipt"),
        ("organiser", "/c/neck/organise/setup/", "Hide the challenge"),
    ],
)
def test_everything_is_reached_by_the_keyboard_and_is_seen_to_be(browser, played, name, path, action):
    enter(browser, played, name)
    browser.go(played.address + path)
    browser.js("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    reached = []
    for _ in range(200):
        browser.key("Tab")
        tag, words, seen = browser.js(FOCUSED)
        if tag == "BODY" or (reached and [tag, words] == reached[0][:2] and len(reached) > 3):
            break
        reached.append([tag, words, seen])
    assert reached[0][1] == "Skip to the content"
    assert [words for _, words, _ in reached if action in words], reached
    assert browser.js(NOT_REACHED) == []
    assert [words for _, words, seen in reached if not seen] == []


def test_the_first_link_skips_what_is_the_same_on_every_page(browser, played):
    enter(browser, played, "alice")
    browser.go(f"{played.address}/c/neck/submit/test/")
    browser.key("Tab")
    assert browser.js("getComputedStyle(document.activeElement).position") != ""
    box = browser.js(
        "(({x, y, width, height}) => [x, y, width, height])(document.activeElement.getBoundingClientRect())"
    )
    assert box[0] >= 0
    assert box[1] >= 0
    browser.key("Enter")
    browser.wait("document.activeElement.id === 'content'")
    browser.key("Tab")
    assert browser.js("document.querySelector('main').contains(document.activeElement)")
