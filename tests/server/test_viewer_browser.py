"""Submissions in a real browser: a file is sent, and cases are drawn under the site's policy, without the reference."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import opened

from isocenter.server.models import Reference, Submission
from isocenter.volumes import Volume, read, write

REFERENCE, OUTPUT = [0x56, 0xD4, 0xFF], [0xFF, 0xA6, 0x4D]
SIZES = {"CHUV001": 4, "CHUV002": 2, "CHUV003": 3}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def browser(live_server, world, tmp_path: Path) -> Iterator[Any]:
    """A browser that is gone before the database is: its open connections end with it, and their threads."""
    with opened(tmp_path / "browser") as found:
        found.fresh(tmp_path)
        yield found
    answering = [thread for thread in threading.enumerate() if "process_request_thread" in thread.name]
    for thread in answering:
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture
def one(world) -> Any:
    """A scored submission, with a scan behind it."""
    reference = world.references["validation"]
    (world.data / "scans").mkdir()
    for case in SIZES:
        grid = read(world.data / reference.folder / f"{case}.nii.gz").grid
        scan = np.add.outer(np.add.outer(np.arange(12.0), np.arange(10.0)), np.arange(8.0)) * 40 - 1000
        write(Volume(scan.astype(np.float32), grid), world.data / "scans" / f"{case}_ct.nii.gz")
    Reference.objects.filter(pk=reference.pk).update(images="scans")
    return world.scored("Rigi", "validation", SIZES)


def sign_in(browser, world, name: str, address: str) -> None:
    cookie = world.client(name).cookies["sessionid"].value
    browser.call("Network.setCookie", name="sessionid", value=cookie, url=address)


def near(picture: np.ndarray, colour: list[int]) -> bool:
    return bool((abs(picture - colour).sum(axis=2) < 40).any())


def refused(browser) -> list[str]:
    """What the policy of the site stopped, and what was not found."""
    said = [event["params"] for event in browser.events if event.get("method") == "Log.entryAdded"]
    return [entry["entry"]["text"] for entry in said]


def test_a_team_sees_its_outline_on_the_scan_and_nothing_of_the_reference(browser, live_server, world, one):
    sign_in(browser, world, "alice", live_server.url)
    browser.call("Log.enable")
    browser.open(f"{live_server.url}/c/neck/submissions/{one.pk}/cases/CHUV002/")
    seen = browser.picture("#stage")
    assert len(np.unique(seen.reshape(-1, 3), axis=0)) > 20
    assert near(seen, OUTPUT)
    assert not near(seen, REFERENCE)
    assert browser.js("document.getElementById('said').textContent") == "Slice 1: outlined 36 mm²."
    loaded = [url.rpartition("/")[2] for url in browser.requests() if url.endswith(".nii.gz")]
    assert set(loaded) == {"image-0.nii.gz", "output.nii.gz"}
    browser.key("ArrowUp")
    assert browser.js("Number(document.getElementById('slice').value)") == 2
    browser.key("n")
    browser.wait("document.querySelector('h1')?.textContent === 'CHUV003'")
    browser.wait("document.querySelector('#viewer')?.dataset.state === 'drawn'")
    assert all(url.startswith((live_server.url, "data:", "blob:")) for url in browser.requests())
    assert browser.errors() == []
    assert refused(browser) == []


def test_organisers_see_both(browser, live_server, world, one):
    sign_in(browser, world, "organiser", live_server.url)
    browser.open(f"{live_server.url}/c/neck/submissions/{one.pk}/cases/CHUV002/")
    seen = browser.picture("#stage")
    assert near(seen, OUTPUT)
    assert near(seen, REFERENCE)
    browser.key("3")
    assert browser.js("document.querySelector('[name=mode]:checked').value") == "difference"
    assert browser.errors() == []


def test_without_webgl_there_is_a_picture(browser, live_server, world, one):
    sign_in(browser, world, "alice", live_server.url)
    off = "HTMLCanvasElement.prototype.getContext = () => null"
    browser.call("Page.addScriptToEvaluateOnNewDocument", source=off)
    address = f"{live_server.url}/c/neck/submissions/{one.pk}/cases/CHUV002/"
    browser.open(address, until="document.querySelector('#stills.shown') !== null")
    assert browser.js("document.querySelectorAll('#stills svg image').length") == 1
    assert "no WebGL2" in browser.js("document.getElementById('why').textContent")


def test_a_file_is_sent_in_pieces_and_then_handed_in(browser, live_server, world, tmp_path: Path):
    (tmp_path / "ours.zip").write_bytes((world.data / world.submission("Pilatus", "validation").file).read_bytes())
    sign_in(browser, world, "alice", live_server.url)
    browser.open(f"{live_server.url}/c/neck/submit/validation/", until="document.readyState === 'complete'")
    root = browser.call("DOM.getDocument")["root"]["nodeId"]
    field = browser.call("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
    browser.call("DOM.setFileInputFiles", nodeId=field, files=[str(tmp_path / "ours.zip")])
    browser.js("document.querySelector('form[data-upload] button:not([type])').click()")
    browser.wait("document.querySelector('h1')?.textContent.startsWith('Validation, no. 1')")
    assert "is handed in" in browser.js("document.querySelector('.notice').textContent")
    assert any(url.endswith("/uploads/") for url in browser.requests())
    made = Submission.objects.get(team=world.teams["Rigi"])
    assert (made.state, made.name) == ("queued", "ours.zip")
    assert browser.errors() == []


def test_nothing_is_wider_than_a_phone(browser, live_server, world, one):
    sign_in(browser, world, "alice", live_server.url)
    browser.size(360, 800)
    other = world.scored("Rigi", "validation", 3)
    for address in (
        "submissions/",
        "submit/validation/",
        f"submissions/{one.pk}/",
        f"submissions/{one.pk}/cases/CHUV002/",
        f"compare/?a={one.pk}&b={other.pk}",
    ):
        browser.open(f"{live_server.url}/c/neck/{address}", until="document.readyState === 'complete'")
        assert browser.js("document.documentElement.scrollWidth") <= 360, address
