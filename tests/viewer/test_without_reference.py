"""A submission shown to somebody who may not see the reference: it is in no volume, picture, number or note."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from isocenter.evaluation import LesionPicture
from isocenter.viewer import Session, output_sight
from isocenter.viewer import _session as rooms
from isocenter.viewer._server import answer
from isocenter.viewer._strip import area_strip, mean_dose_strip
from isocenter.volumes import Grid, Volume, read, write

TOKEN = "secret"
GRID = Grid((6, 5, 4), spacing=(2.0, 2.0, 3.0))


def get(session: Session, path: str) -> tuple[int, str]:
    found = answer(session, TOKEN, f"/{TOKEN}/{path}")
    return found.status, found.body.decode("latin-1")


@pytest.fixture
def blind(opened, reference: Path, submission: Path) -> Session:
    return opened("hecktor2020", reference, submission, reference_visible=False)


@pytest.fixture
def blind_doses(opened, doses: Session) -> Session:
    return opened("openkbp2020", doses.reference, doses.submission, reference_visible=False)


def test_a_mask_is_shown_alone(blind: Session) -> None:
    status, text = get(blind, "case/CHUV004/sight.json")
    assert status == 200
    said = json.loads(text)
    assert [layer["key"] for layer in said["layers"]] == ["output"]
    assert not said["compared"]
    assert set(said["slices"]["series"]) == {"output"}
    assert get(blind, "case/CHUV004/output.nii.gz")[0] == 200
    for layer in ("reference", "difference", "structure-0"):
        assert get(blind, f"case/CHUV004/{layer}.nii.gz")[0] == 404
    page = get(blind, "case/CHUV004")[1]
    assert "Fullest slice" in page
    for word in ("missed", "extra", "Reference", 'value="difference"'):
        assert word not in page


def test_the_reference_moves_nothing(opened, blind: Session, submission: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for path in blind.reference.iterdir():
        volume = read(path)
        write(Volume(np.roll(volume.array, 2, axis=(0, 1, 2)), volume.grid), other / path.name)
    moved = opened("hecktor2020", other, submission, reference_visible=False)
    for case in blind.cases:
        ours, theirs = blind.look(case), moved.look(case)
        assert ours.sight.description() == theirs.sight.description()
        assert ours.sight.nifti("output") == theirs.sight.nifti("output")
        assert ours.figures == theirs.figures
        assert ours.notes == theirs.notes


def test_a_dose_is_shown_without_structures_and_histograms(doses: Session, blind_doses: Session) -> None:
    said = json.loads(get(blind_doses, "case/pt_365/sight.json")[1])
    assert [layer["key"] for layer in said["layers"]] == ["output"]
    page = get(blind_doses, "case/pt_365")[1]
    assert 'class="plot dvh"' not in page
    assert "Dose-volume" not in page
    assert "PTV70</option>" not in page
    assert "dvh reference" in get(doses, "case/pt_365")[1]
    assert "dvh reference" not in page
    (still,) = blind_doses.look("pt_365").figures
    assert str(still.picture).count("<path") == 6
    # The scale is that of the output: twice the reference would not move it.
    dose = blind_doses.look("pt_365").sight.layer("output").array
    assert said["ceiling"]["dose"] >= 0.999 * dose.max()


def test_candidates_are_shown_without_lesions(blind: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    label, found = np.zeros((2, *GRID.shape))
    label[4, 4, 3] = 3
    found[1:3, 1:3, 1] = 0.7
    picture = LesionPicture(Volume(label.astype(np.uint8), GRID), Volume(found, GRID))
    monkeypatch.setattr(rooms, "_mask_slots", lambda _: None)
    monkeypatch.setattr(rooms, "depict", lambda *_, **__: picture)
    look = blind.look("CHUV001")
    assert [layer.key for layer in look.sight.layers] == ["output"]
    assert look.sight.description()["slices"]["worst"] == 1
    assert look.sight.layer("output").array.sum() == 4


def test_what_has_no_output_has_nothing_to_show(opened, reference: Path, submission: Path) -> None:
    (submission / "CHUV001.nii.gz").unlink()
    session = opened("hecktor2020", reference, submission, reference_visible=False)
    page = get(session, "case/CHUV001")[1]
    assert "There is no output to show" in page
    assert get(session, "case/CHUV001/sight.json")[0] == 404


def test_no_error_tells_where_the_reference_is_or_what_it_holds(
    blind: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (ValueError("the reference /secret/place has 7 lesions"), KeyError("lesion 7")):

        def fails(*_: object, error: Exception = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(rooms, "_mask_slots", lambda _: None)
        monkeypatch.setattr(rooms, "depict", fails)
        blind._looks.clear()
        assert blind.look("CHUV001").notes == ("CHUV001 cannot be shown.",)


def test_files_beside_the_reference_are_no_scans(opened, doses: Session, tmp_path: Path) -> None:
    everything = tmp_path / "everything"
    shutil.copytree(doses.reference, everything)
    shutil.copy(everything / "pt_365" / "dose.csv", everything / "pt_365" / "ct.csv")  # whatever it calls itself
    assert opened("openkbp2020", everything, doses.submission).look("pt_365").sight.layer("image-0") is not None
    blind = opened("openkbp2020", everything, doses.submission, reference_visible=False)
    assert blind.look("pt_365").sight.layer("image-0") is None
    given = opened("openkbp2020", everything, doses.submission, images=everything, reference_visible=False)
    assert given.look("pt_365").sight.layer("image-0") is not None


def test_strips_say_what_there_is() -> None:
    mask = np.zeros(GRID.shape, bool)
    mask[1:3, 1, 2] = True
    strip = area_strip(mask, grid=GRID)
    assert (strip.series["output"], strip.worst) == ((0.0, 0.0, 8.0, 0.0), 2)
    assert strip.said[2:] == ("outlined 8 mm²", "nothing outlined")
    dose = np.zeros(GRID.shape)
    dose[1, 1, 1], dose[2, 2, 1], dose[0, 0, 3] = 60.0, 40.0, 1.0
    strip = mean_dose_strip(dose)
    assert strip.said == ("no dose", "50.0 Gy on average, at most 60.0 Gy", "no dose", "no dose")
    assert mean_dose_strip(np.zeros(GRID.shape)).worst == 2


def test_a_sight_begins_in_the_middle_of_what_there_is() -> None:
    dose = np.zeros(GRID.shape)
    dose[1, 3, 2] = 50.0
    x, y, z = output_sight(Volume(dose, GRID), kind="dose").description()["start"]
    assert (5 - x, 4 - y, z) == (1, 3, 2)
    nothing = output_sight(Volume(np.zeros(GRID.shape), GRID), kind="masks").description()
    assert nothing["zoom"] == 1.0


@pytest.mark.parametrize(("kind", "case"), [("blind", "CHUV004"), ("blind_doses", "pt_365")])
def test_a_browser_draws_it(browser, served, kind: str, case: str, request: pytest.FixtureRequest) -> None:
    session = request.getfixturevalue(kind)
    browser.open(served(session) + f"case/{case}")
    seen = browser.picture("#stage")
    assert len(np.unique(seen.reshape(-1, 3), axis=0)) > 20
    assert not (abs(seen - [0x56, 0xD4, 0xFF]).sum(axis=2) < 10).any() or kind == "blind_doses"
    assert "reference" not in browser.js("document.getElementById('key').textContent")
    assert "reference" not in browser.js("document.getElementById('here').textContent")
    volumes = {url.rpartition("/")[2] for url in browser.requests() if url.endswith(".nii.gz")}
    assert volumes == {"output.nii.gz"}
    assert browser.errors() == []
