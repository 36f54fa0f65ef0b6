"""The page in a real browser: it is drawn, it answers keys, and it asks nobody but its own server."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isocenter import phantoms
from isocenter.volumes import write

SLICE = "Number(document.getElementById('slice').value)"
STILLS = "getComputedStyle(document.getElementById('stills')).display !== 'none'"


def colours(picture: np.ndarray) -> int:
    return len(np.unique(picture.reshape(-1, 3), axis=0))


def extent(where: np.ndarray) -> np.ndarray:
    """First and last row and column."""
    rows, columns = np.flatnonzero(where.any(axis=1)), np.flatnonzero(where.any(axis=0))
    return np.array([rows[0], rows[-1], columns[0], columns[-1]])


def test_a_synthetic_hecktor_patient_on_its_ct(browser, opened, served, tmp_path: Path) -> None:
    files = phantoms.write_cohort(tmp_path / "cohort", cases=3)
    (tmp_path / "scans").mkdir()
    for number in (1, 2, 3):
        scan = phantoms.pet_ct(number)
        write(scan.ct, tmp_path / "scans" / f"CHUV{number:03d}_ct.nii.gz")
        write(scan.pet, tmp_path / "scans" / f"CHUV{number:03d}_pt.nii.gz")
    session = opened("hecktor2020", files.reference, files.submissions["Inn"], images=tmp_path / "scans")
    address = served(session)
    browser.open(address)
    values = [float(v) for v in browser.js("[...document.querySelectorAll('#cases .value')].map(v => v.textContent)")]
    assert len(values) == 3
    assert values == sorted(values)  # Dice: the worst first
    browser.js("document.getElementById('lines').style.visibility = 'hidden'")
    ct = browser.picture("#stage")
    assert colours(ct) > 20
    browser.js("document.getElementById('image').value = 'image-1';"
               "document.getElementById('image').dispatchEvent(new Event('change'))")  # fmt: skip
    browser.wait("document.getElementById('here').textContent.includes('PT ')")
    assert (abs(browser.picture("#stage") - ct).sum(axis=2) > 30).any()
    browser.js("document.getElementById('lines').style.visibility = ''")
    seen = browser.picture("#stage")
    assert (abs(seen - [0x56, 0xD4, 0xFF]).sum(axis=2) < 30).any()  # the outline of the reference
    assert (abs(seen - [0xFF, 0xA6, 0x4D]).sum(axis=2) < 30).any()  # and of the team
    first = browser.js("document.querySelector('h1').textContent")
    browser.key("n")
    browser.wait(f"document.querySelector('h1')?.textContent !== {first!r}")
    browser.wait("document.querySelector('#viewer')?.dataset.state === 'drawn'")
    assert browser.js("document.querySelector('.place').textContent").startswith("2 of 3")
    assert all(url.startswith((address, "data:")) for url in browser.requests())
    assert browser.errors() == []


def test_outlines_lie_where_the_voxels_are(browser, session, served) -> None:
    browser.open(served(session) + "case/CHUV001")
    browser.js("document.getElementById('planes').value = 'axial';"
               "document.getElementById('planes').dispatchEvent(new Event('change'))")  # fmt: skip
    browser.js("document.getElementById('lines').style.visibility = 'hidden'")
    plain = browser.picture("#stage")[40:-40, 40:-40]
    grey = (np.ptp(plain, axis=2) < 4) & (plain[..., 0] > 40)  # without a scan the reference is filled lightly
    browser.js("document.getElementById('lines').style.visibility = ''")
    drawn = browser.picture("#stage")[40:-40, 40:-40]
    voxel = (grey.sum() / 16) ** 0.5  # pixels: the square of the reference has four by four voxels
    line = abs(drawn - plain).sum(axis=2) > 60
    line &= np.ptp(drawn, axis=2) > 40
    np.testing.assert_allclose(extent(line), extent(grey), atol=voxel)


def test_keys_and_the_strip_go_through_slices(browser, session, served) -> None:
    browser.open(served(session) + "case/CHUV004")
    assert browser.js(SLICE) == 4  # the first slice that the team left out
    browser.key("ArrowUp")
    browser.key("ArrowUp")
    assert browser.js(SLICE) == 6
    browser.key("ArrowDown")
    assert browser.js("document.getElementById('said').textContent").startswith("Slice 5: Dice 0.000, missed 120 mm²")
    browser.key("w")
    assert browser.js(SLICE) == 4
    browser.js("document.querySelector('[value=filled]').focus()")  # a radio button keeps its arrows, not the letters
    browser.key("3")
    assert browser.js("document.querySelector('[name=mode]:checked').value") == "difference"
    assert browser.js("document.querySelectorAll('#strip .missed').length") == 4
    browser.js("document.getElementById('filter').value = '001';"
               "document.getElementById('filter').dispatchEvent(new Event('input'))")  # fmt: skip
    assert browser.js("[...document.querySelectorAll('#cases li:not([hidden])')].map(i => i.dataset.name)") == [
        "CHUV001"
    ]


def test_doses_of_openkbp_and_their_difference(browser, doses, served) -> None:
    address = served(doses)
    browser.open(address)
    assert browser.js("document.querySelectorAll('#structure option').length") > 3
    pictures = []
    for key in "123":
        browser.key(key)
        pictures.append(browser.picture("#stage"))
        assert colours(pictures[-1]) > 20
    assert (abs(pictures[0] - pictures[1]).sum(axis=2) > 30).any()
    assert (abs(pictures[1] - pictures[2]).sum(axis=2) > 30).any()
    assert browser.js("document.querySelectorAll('svg.dvh path').length") > 4
    assert all(url.startswith((address, "data:")) for url in browser.requests())
    assert browser.errors() == []


def test_nothing_is_wider_than_a_phone(browser, doses, served) -> None:
    browser.size(390, 844)
    browser.open(served(doses))
    assert browser.js("document.documentElement.scrollWidth") <= 390
    assert browser.js("document.getElementById('planes').value") == "axial"


@pytest.mark.parametrize("kind", ["session", "doses"])
def test_without_webgl_there_are_still_pictures(browser, served, kind: str, request: pytest.FixtureRequest) -> None:
    off = "HTMLCanvasElement.prototype.getContext = () => null"
    browser.call("Page.addScriptToEvaluateOnNewDocument", source=off)
    browser.open(served(request.getfixturevalue(kind)), until="document.querySelector('#stills.shown') !== null")
    assert browser.js(STILLS)
    assert browser.js("document.querySelectorAll('#stills svg').length") >= 1
    assert "no WebGL2" in browser.js("document.getElementById('why').textContent")
    assert browser.js("document.getElementById('viewer').hidden")


def test_without_javascript_there_are_still_pictures(browser, session, served) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(served(session), until="document.querySelector('#stills svg') !== null")
    assert browser.js(STILLS)
    assert browser.js("document.getElementById('viewer').hidden")
    assert len(browser.js("[...document.querySelectorAll('#cases a')].map(a => a.href)")) == 4
