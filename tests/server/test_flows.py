"""The ways of people through the site, in a real browser: from nothing to a result, from nothing to a challenge.

They lead through `isocenter serve` with its worker, as processes of their own.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, opened
from places import Place, place_in
from test_serve import running, wait_for

from conftest import CASES, GRID, mask, zipped
from isocenter.volumes import Volume, write

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc"),
]
PASSWORD = "a sentence that is long enough"
TOML = """\
challenge = "hecktor2020"
title = "Tumours of the neck"

[[phases]]
name = "validation"
title = "Validation"
opens = {opens}
closes = {closes}
results = {closes}
quota = 2
counts = "best"
visibility = "public"

[[registration]]
name = "area"
label = "Primary area"
kind = "choice"
choices = ["Medical physics", "Machine learning"]
required = true

[[equity]]
name = "gender"
label = "Gender identity"
kind = "choice"
choices = ["Woman", "Man", "Other"]

[[declarations]]
name = "external_data"
label = "Data from elsewhere"
kind = "text"
required = true

[terms]
version = "1"
text = "Be fair."
"""


# What is done in the folder of the site, by processes of their own.


def furnish() -> None:
    """A challenge that is open, and somebody with a team who can sign in."""
    from allauth.account.models import EmailAddress

    from isocenter.server import clock, files
    from isocenter.server.models import Membership, Registration, Team, User
    from isocenter.server.organising import importing
    from isocenter.server.organising.bundle import Bundle

    now = clock.now().replace(microsecond=0)
    opens, closes = ((now + timedelta(days=days)).isoformat() for days in (-1, 1))
    challenge = importing.make_challenge(
        Bundle(TOML.format(opens=opens, closes=closes)), user=None, slug="neck", note="The beginning."
    )
    folder = files.at("incoming")
    folder.mkdir()
    for case in CASES:
        write(Volume(mask(4), GRID), folder / f"{case}.nii.gz")
    importing.add_reference(challenge, "", folder)
    challenge.published = True
    challenge.save()
    user = User.objects.create_user("sam@example.org", PASSWORD, name="Sam")
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    Registration.objects.create(
        user=user, challenge=challenge, state="accepted", terms_version="1", terms_accepted=now, equity_asked=True
    )
    team = Team.objects.create(challenge=challenge, name="Säntis")
    Membership.objects.create(user=user, team=team, challenge=challenge, leads=True)


def mailed_to(address: str) -> str:
    """The text of the last mail to an address."""
    from isocenter.server.models import Mail

    return Mail.objects.filter(to=address).order_by("-made").first().text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with place_in(tmp_path_factory.mktemp("flows") / "site") as there:
        there.do(furnish)
        yield there


@pytest.fixture(scope="module")
def site(place: Place) -> Iterator[Any]:
    with running(place.data, "--workers", "1", **place.env) as found:
        wait_for(lambda: found.workers_are_there(1))
        yield found


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
def answers(tmp_path: Path) -> Path:
    """A submission: masks of two, three and four slices, of four."""
    path = tmp_path / "answers.zip"
    path.write_bytes(zipped(dict(zip(CASES, (2, 3, 4), strict=True)), tmp_path / "masks"))
    return path


BOARD = "/c/neck/boards/validation/dice/"
DICE = "0.841"  # the mean of 2·2/6, 2·3/7 and 1


def shows(browser: Browser, address: str, words: str) -> bool:
    """Whether a page says something, when it is loaded now."""
    browser.go(address)
    return words in browser.text()


def sign_in(browser: Browser, address: str, email: str) -> None:
    browser.go(f"{address}/accounts/login/")
    browser.fill({"#id_login": email, "#id_password": PASSWORD})
    browser.press("Sign in")


def test_a_participant_goes_from_no_account_to_a_place_on_the_board(browser, site, place, answers):
    browser.go(site.address)
    browser.press("Tumours of the neck")
    browser.press("Create an account", within="header")
    me = {"#id_email": "kim@example.org", "#id_name": "Kim", "#id_password1": PASSWORD, "#id_password2": PASSWORD}
    browser.fill(me)
    browser.press("Create the account")
    assert "Look into your mail" in browser.text()
    link = re.search(r"http\S+/accounts/confirm-email/\S+", place.do(mailed_to, "kim@example.org"))
    assert link
    browser.go(link[0])
    browser.press("Yes, confirm it")
    sign_in(browser, site.address, "kim@example.org")
    assert "Kim" in browser.text()

    browser.go(f"{site.address}/c/neck/register/")
    browser.press("Register")
    assert "Primary area" in browser.text()  # refused: nothing was answered, and the terms were not accepted
    assert browser.js("document.querySelectorAll('main .problem').length") >= 2
    browser.fill({"input[name=area][value='Medical physics']": "", "#terms": ""})
    browser.press("Register")
    assert browser.path() == "/c/neck/register/voluntary/"
    browser.fill({"input[name=gender][value=Woman]": ""})
    browser.press("Send")
    browser.go(f"{site.address}/c/neck/team/")
    browser.fill({"#name": "Eiger"})
    browser.press("Found the team")
    assert browser.js("document.querySelector('h1').innerText").startswith("Eiger")

    browser.press("Submit")
    browser.attach("#file", answers)
    browser.fill({"[name=declared-external_data]": "none"})
    browser.press("Hand in")
    assert "Submission no. 1 to Validation is handed in" in browser.text()
    assert any(url == f"{site.address}/uploads/" for url in browser.requests())  # it went in pieces
    one = browser.path()
    browser.wait(f"document.querySelector('#scores') && document.body.innerText.includes('{DICE}')")
    assert browser.path() == one

    wait_for(lambda: shows(browser, f"{site.address}{BOARD}", "Eiger"))
    assert DICE in browser.text()
    assert browser.errors() == []
    assert [one for one in browser.complaints() if "400 (Bad Request)" not in one] == []  # the form that was refused


def test_the_list_of_submissions_follows_the_queue_without_a_reload(browser, site, place, answers, tmp_path):
    sign_in(browser, site.address, "sam@example.org")
    (worker,) = [pid for pid in site.workers() if b"worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(worker, signal.SIGSTOP)  # so that there is time to see it wait
    try:
        browser.go(f"{site.address}/c/neck/submit/validation/")
        browser.attach("#file", answers)
        browser.fill({"[name=declared-external_data]": "none", "#comment": "stopped"})
        browser.press("Hand in")
        browser.go(f"{site.address}/c/neck/submissions/")
        browser.js("window.same = 'page'")
        assert "waiting" in browser.text()
    finally:
        os.kill(worker, signal.SIGCONT)
    browser.wait(f"document.querySelector('#submissions').innerText.includes('{DICE}')")
    assert browser.js("window.same") == "page"
    before = len(browser.requests())
    browser.js("new Promise((done) => setTimeout(done, 4000))")
    assert len(browser.requests()) == before  # nothing goes on any more, so nothing is asked
    assert browser.errors() == []


def test_without_javascript_the_plain_form_hands_in(browser, site, answers, tmp_path):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    sign_in(browser, site.address, "sam@example.org")
    other = tmp_path / "other.zip"
    other.write_bytes(zipped(dict.fromkeys(CASES, 3), tmp_path / "more"))
    browser.go(f"{site.address}/c/neck/submit/validation/")
    browser.attach("#file", other)
    browser.fill({"[name=declared-external_data]": "none"})
    browser.press("Hand in")
    assert "is handed in, and waits to be scored" in browser.text()
    assert not any("/uploads/" in url for url in browser.requests())
    page = browser.path()
    wait_for(lambda: shows(browser, site.address + page, "0.857"))
    wait_for(lambda: shows(browser, f"{site.address}{BOARD}", "Säntis"))


def test_an_organiser_goes_from_the_first_link_to_a_challenge_that_others_find(browser, site, tmp_path):
    browser.go(site.link)
    head = {"#id_email": "head@example.org", "#id_name": "Head", "#id_password": PASSWORD}
    browser.fill(head)
    browser.press("Make the account")
    assert "This is your site" in browser.text()
    browser.go(f"{site.address}/new/")
    browser.fill({"#code": "hecktor2020", "#slug": "spine-2027"})
    browser.press("Begin")
    assert browser.path() == "/c/spine-2027/organise/setup/"

    reference = tmp_path / "reference.zip"
    reference.write_bytes(zipped(dict.fromkeys(CASES, 4), tmp_path / "truth"))
    browser.go(f"{site.address}/c/spine-2027/organise/data/")
    browser.attach("#file-ref", reference)
    browser.fill({"#ref-reason": "the first reading"})
    browser.press("Upload")
    browser.wait("document.body.innerText.includes('version 1')")

    now = datetime.now(UTC)
    days = {"opens": -1, "closes": 30, "results": 40}
    dates = {f"#id_{name}": f"{now + timedelta(days=add):%Y-%m-%dT%H:%M:%S}" for name, add in days.items()}
    browser.go(f"{site.address}/c/spine-2027/organise/code/phases/test/")
    browser.fill({"#id_title": "Test of 2027", "#id_clock": "0", **dates, "#id_note": "The dates are set."})
    browser.press("Save")
    assert "Version 2 is in force" in browser.text(), browser.text()

    browser.go(f"{site.address}/c/spine-2027/organise/setup/")
    browser.fill({"#why-publish-0": "It begins."})
    browser.press("Publish")
    assert "The challenge is published" in browser.text()
    browser.go(f"{site.address}/c/spine-2027/organise/decisions/")
    assert "It begins." in browser.text()
    assert browser.errors() == []

    browser.fresh(tmp_path)  # an outsider
    browser.go(site.address)
    title = "HECKTOR 2020"
    browser.js(f"[...document.querySelectorAll('main a')].find((a) => a.innerText.startsWith('{title}')).click()")
    browser.wait("location.pathname === '/c/spine-2027/' && document.readyState === 'complete'")
    assert "Test of 2027" in browser.text()
    assert "Organise" not in browser.js("document.querySelector('nav.tabs').innerText")
