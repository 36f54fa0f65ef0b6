"""A reader in a real browser: from joining to the second stage, with the keyboard, and with a reload in between."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import opened
from reading_world import IN_SCAN, study_world

from isocenter.server.models import CaseRead

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
DRAWN = "document.querySelector('#reading')?.dataset.state === 'drawn'"
SAVED = "document.querySelector('#saved').textContent === 'Saved.'"
RING = [0xFF, 0xB4, 0x54]


@pytest.fixture
def browser(live_server, world, tmp_path: Path) -> Iterator[Any]:
    """A browser in which a reader is signed in; its connections end before the database does."""
    with opened(tmp_path / "browser") as found:
        found.fresh(tmp_path)
        cookie = world.client("reader").cookies["sessionid"].value
        found.call("Network.setCookie", name="sessionid", value=cookie, url=live_server.url)
        yield found
    for thread in [thread for thread in threading.enumerate() if "process_request_thread" in thread.name]:
        thread.join(30)
        assert not thread.is_alive()


def slides(browser: Any, value: int) -> None:
    browser.js(f"slider.value = {value}; slider.dispatchEvent(new Event('input', {{bubbles: true}}))")


def shows_a_ring(browser: Any, scan: str) -> bool:
    seen = browser.picture(f"[data-name={scan}] canvas")
    return bool((abs(seen - RING).sum(axis=2) < 60).any())


def test_a_reader_joins_practises_marks_a_lesion_and_hands_in_both_stages(browser, live_server, world):
    study_world(world)
    browser.go(f"{live_server.url}/c/neck/reading/")
    browser.fill({"#q-expert-0": "yes", "#q-centre": "Bern"})
    browser.press("Join the study")
    browser.press("I have read it")
    browser.press("Read practice case 1 of 1")
    browser.wait(DRAWN)
    assert not shows_a_ring(browser, "t2w")
    assert browser.js("score.value") == ""
    assert len({tuple(row) for row in browser.picture("[data-name=adc] canvas").reshape(-1, 3)}) > 20

    # A mark at a place that is known: the cross goes there by a click, and one slice towards the head by a key.
    browser.js("document.querySelector('[data-name=t2w] canvas').focus()")
    before = browser.js("document.querySelector('#where').textContent")
    browser.key("ArrowUp")
    assert before.startswith("T2W, slice 4 of 6")
    assert browser.js("document.querySelector('#where').textContent").startswith("T2W, slice 5 of 6")
    box = browser.js("(({x, y, width, height}) => [x, y, width, height])"
                     "(document.querySelector('[data-name=t2w] canvas').getBoundingClientRect())")  # fmt: skip
    scale = min(box[2] / 32, box[3] / 28)  # pixels per millimetre of a scan that just fits
    # The patient's left is on the right, the back below; the middle is at 0, 0.
    x, y = box[0] + box[2] / 2 + 6 * scale, box[1] + box[3] / 2 + 4 * scale
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    browser.key("m")
    assert browser.text().count("Lesion 1") >= 1
    assert shows_a_ring(browser, "t2w")
    assert shows_a_ring(browser, "adc")
    browser.wait(SAVED)
    browser.js("document.querySelector('#marks input[value=\"4\"]').click()")
    slides(browser, 70)
    browser.wait(SAVED)

    read = CaseRead.objects.get()
    (mark,) = read.marks
    assert (mark["on"], mark["pirads"], read.score) == ("t2w", 4, 70)
    assert np.allclose([mark["x"], mark["y"], mark["z"]], [6, 4, 52], atol=0.6)

    # After a reload everything is there again.
    browser.leaving()
    browser.call("Page.reload")
    browser.arrived()
    browser.wait(DRAWN)
    assert browser.js("[score.value, document.querySelector('#marks :checked').value]") == ["70", "4"]
    browser.js("document.querySelector('#marks [aria-label=\"Show lesion 1\"]').click()")
    assert shows_a_ring(browser, "adc")
    browser.press("Hand in – you cannot come back")
    assert "You begin with what you handed in" in browser.text()
    browser.wait(DRAWN)
    assert browser.js("[...document.querySelectorAll('.pane')].map((one) => one.dataset.name)") == ["t2w", "dce"]
    assert browser.js("score.value") == "70"
    slides(browser, 0)
    browser.press("Hand in – you cannot come back")
    assert "please look once more" in browser.text()
    browser.press("Hand in as it is – you cannot come back")
    assert "Cases are dealt to readers when all have joined" in browser.text()

    first, second = CaseRead.objects.order_by("submitted")
    assert (first.score, second.score, second.unchanged) == (70, 0, False)
    assert first.marks == second.marks == [mark]
    assert set(mark) == set(IN_SCAN)
    assert browser.errors() == []
    assert browser.complaints() == []


def test_a_narrow_screen_shows_all_of_it_and_a_lost_connection_loses_nothing(browser, live_server, world):
    study = study_world(world)
    study.joins("reader")
    browser.size(360, 780)
    browser.go(f"{live_server.url}/c/neck/reading/case/")
    browser.wait(DRAWN)
    assert browser.js("document.documentElement.scrollWidth") <= 360
    browser.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
    slides(browser, 42)
    browser.wait("document.querySelector('#saved').textContent.startsWith('Not saved: no connection')")
    assert CaseRead.objects.get().score is None
    browser.call(
        "Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1
    )
    browser.wait(SAVED)
    assert CaseRead.objects.get().score == 42
    other = world.client("reader")
    page = other.get("/c/neck/reading/case/").text
    turn = page.partition('name="turn" value="')[2].partition('"')[0]
    body = {"turn": turn, "revision": CaseRead.objects.get().revision, "seconds": 0, "marks": [], "score": 7}
    assert other.post("/c/neck/reading/draft/", body, content_type="application/json").status_code == 200
    slides(browser, 43)
    browser.wait("document.querySelector('#trouble').textContent.includes('Another window')")
    assert CaseRead.objects.get().score == 7
    assert browser.errors() == []
