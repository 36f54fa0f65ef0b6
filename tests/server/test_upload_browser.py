"""Sending a file from a real browser: in pieces, after failures, after a reload, with a pause; then the form."""

from __future__ import annotations

import os
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import opened
from django.core.cache import cache

from conftest import CASES, zipped
from isocenter.server import files
from isocenter.server.models import Submission, Upload
from isocenter.server.submitting import tus, uploads

MB = 1 << 20
PAGE = "/c/neck/submit/validation/"

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def browser(live_server, world, tmp_path: Path) -> Iterator[Any]:
    """A browser in which alice is signed in, on the page where she hands in."""
    cache.clear()
    with opened(tmp_path / "browser") as found:
        found.fresh(tmp_path)
        cookie = world.client("alice").cookies["sessionid"].value
        found.call("Network.setCookie", name="sessionid", value=cookie, url=live_server.url)
        found.go(f"{live_server.url}{PAGE}")
        yield found
    for thread in [thread for thread in threading.enumerate() if "process_request_thread" in thread.name]:
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture
def file(world, tmp_path: Path) -> Path:
    """A good submission of three pieces."""
    path = tmp_path / "rigi.zip"
    path.write_bytes(zipped(dict.fromkeys(CASES, 4), world.scratch / "good"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("notes.bin", os.urandom(17 * MB))
    return path


class Pieces:
    """Where the pieces begin that come, and what to do with them: fail so often, or wait."""

    def __init__(self, plain: Any) -> None:
        self.plain, self.offsets, self.failures = plain, list[int](), 0
        self.go_on = threading.Event()
        self.go_on.set()

    def __call__(self, request: Any, upload: Upload) -> Any:
        self.go_on.wait(60)
        offset = int(request.headers["Upload-Offset"])
        if self.failures and offset:
            self.failures -= 1
            raise uploads.UploadRefused("The site is tired", 503)
        self.offsets.append(offset // MB)
        return self.plain(request, upload)


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> Pieces:
    found = Pieces(tus._piece)
    monkeypatch.setattr(tus, "_piece", found)
    return found


def choose(browser: Any, file: Path) -> None:
    """Choose a file, and send the form."""
    root = browser.call("DOM.getDocument")["root"]["nodeId"]
    form = "form[data-upload] input[type=file]"
    node = browser.call("DOM.querySelector", nodeId=root, selector=form)["nodeId"]
    browser.call("DOM.setFileInputFiles", files=[str(file)], nodeId=node)
    browser.js("document.querySelector('form[data-upload]').requestSubmit()")


def arrived(browser: Any, file: Path) -> None:
    """The submission is there, whole, and its page is open."""
    browser.wait("/submissions\\/[0-9a-f-]{36}/.test(location.pathname) && document.readyState === 'complete'")
    one = Submission.objects.get()
    assert str(one.pk) in browser.js("location.pathname")
    assert files.at(one.file).read_bytes() == file.read_bytes()
    assert one.name == "rigi.zip"


def test_a_file_goes_in_pieces_and_then_the_form(browser, file, pieces):
    choose(browser, file)
    arrived(browser, file)
    assert pieces.offsets == [0, 8, 16]
    assert browser.js("localStorage.length") == 0
    assert browser.errors() == []


def test_a_failure_costs_one_piece(browser, file, pieces):
    pieces.failures = 1
    choose(browser, file)
    browser.wait("document.querySelector('[role=status]')?.textContent.includes('tries again in 1 s')")
    arrived(browser, file)
    assert pieces.offsets == [0, 8, 16]


def test_after_a_reload_the_same_file_goes_on_where_it_was(browser, file, pieces, live_server):
    pieces.failures = 10**9
    choose(browser, file)
    browser.wait("document.querySelector('[role=status]')?.textContent.includes('tries again')")
    pieces.failures = 0
    browser.open(
        f"{live_server.url}{PAGE}?anew", until="location.search === '?anew' && document.readyState === 'complete'"
    )
    choose(browser, file)
    arrived(browser, file)
    assert pieces.offsets == [0, 8, 16]
    assert Upload.objects.count() == 1


def press(browser: Any, text: str) -> None:
    """Press one of the buttons that are there while a file is sent."""
    every = "[...document.querySelectorAll('form[data-upload] button[type=button]')]"
    button = f"{every}.find((one) => one.textContent === '{text}')"
    browser.wait(f"Boolean({button})")
    browser.js(f"{button}.click()")


def says(browser: Any, words: str) -> None:
    """The page comes to say so, and still does when what was on its way has been given up."""
    said = "document.querySelector('[role=status]')?.textContent"
    browser.wait(f"{said}?.startsWith('{words}')")
    browser.js("new Promise((done) => setTimeout(done, 200))")
    assert browser.js(said).startswith(words)


def test_an_upload_is_paused_and_waits_for_the_network_and_says_so(browser, file, pieces):
    line = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    pieces.go_on.clear()
    choose(browser, file)
    says(browser, "Sending rigi.zip")
    press(browser, "Pause")
    says(browser, "Paused at 0.0 of")
    press(browser, "Continue")
    says(browser, "Sending rigi.zip")
    browser.call("Network.emulateNetworkConditions", offline=True, **line)
    says(browser, "Waiting for the network, tries again in ")
    browser.call("Network.emulateNetworkConditions", offline=False, **line)
    pieces.go_on.set()
    arrived(browser, file)


def test_a_cancelled_upload_leaves_nothing(browser, file, pieces):
    pieces.go_on.clear()
    choose(browser, file)
    press(browser, "Cancel")
    pieces.go_on.set()
    browser.wait("document.querySelector('[role=status]')?.textContent === 'Cancelled; nothing was handed in.'")
    assert not Submission.objects.exists()
    assert not Upload.objects.exists()
    assert browser.js("localStorage.length") == 0


def test_what_the_site_refuses_is_said_on_the_page(browser, world, pieces, tmp_path, settings):
    settings.MOST_UPLOAD_BYTES = 100
    path = tmp_path / "rigi.zip"
    path.write_bytes(bytes(101))
    choose(browser, path)
    browser.wait("document.querySelector('[role=status]')?.textContent.includes('at most 100 are taken')")
    assert not browser.js("document.querySelector('form[data-upload]').dataset.uploading")
