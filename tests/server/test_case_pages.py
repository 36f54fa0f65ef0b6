"""The cases of a submission to look at: the reference is nowhere in them for who may not see it."""

from __future__ import annotations

import gzip
import json
import re
from datetime import timedelta
from urllib.parse import quote

import nibabel
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isocenter.editions import Sight
from isocenter.scores import Row, frame
from isocenter.server.models import Download, Evaluation, Reference, Release
from isocenter.server.people import licences
from isocenter.server.submitting import measured
from isocenter.volumes import Volume, read, write

SIZES = {"CHUV001": 4, "CHUV002": 2, "CHUV003": 3}  # of four slices; the worst is CHUV002


def at(one, case="CHUV002", file="") -> str:
    return f"/c/neck/submissions/{one.pk}/cases/{case}/{file}"


def voxels(response) -> np.ndarray:
    return np.asarray(nibabel.Nifti1Image.from_bytes(gzip.decompress(response.content)).dataobj)


def test_organisers_look_at_reference_and_output(world):
    one = world.scored("Rigi", "validation", SIZES)
    client = world.client("organiser")
    said = json.loads(client.get(at(one, file="sight.json")).content)
    assert said["compared"]
    assert [layer["role"] for layer in said["layers"]] == ["reference", "output"]
    assert said["slices"]["series"]["missed"]
    assert voxels(client.get(at(one, file="reference.nii.gz"))).sum() == 6 * 6 * 4
    page = client.get(at(one)).content.decode()
    assert "difference" in page
    assert "missed: reference only" in page


def test_a_team_looks_at_its_output_and_the_reference_is_nowhere(world):
    one = world.scored("Rigi", "validation", SIZES)
    client = world.client("alice")
    text = client.get(at(one, file="sight.json")).content.decode()
    said = json.loads(text)
    assert not said["compared"]
    assert [layer["role"] for layer in said["layers"]] == ["output"]
    assert said["slices"]["series"] == {"output": [0.0, 36.0, 36.0, 0.0, 0.0, 0.0, 0.0, 0.0]}
    assert "missed" not in text
    assert "Dice" not in text
    assert voxels(client.get(at(one, file="output.nii.gz"))).sum() == 6 * 6 * 2
    for layer in ("reference", "difference", "structure-0", "image-0", "..%2Freference", "reference.nii.gz%00"):
        assert client.get(at(one, file=f"{layer}.nii.gz")).status_code == 404, layer
    page = client.get(at(one)).content.decode()
    assert "The reference of this phase is not shown" in page
    pictures = page[page.index('id="stills"') :]
    assert "<svg" in pictures
    assert "missed" not in pictures
    assert 'class="mask1"' not in pictures  # one outline alone


def test_the_reference_does_not_move_what_a_team_is_shown(world):
    """The same output against two references: every byte but the scores is the same."""
    one = world.scored("Rigi", "validation", SIZES)
    client = world.client("alice")
    before = [client.get(at(one, file=file)).content for file in ("sight.json", "output.nii.gz")]
    folder = world.data / "references" / "neck" / "validation" / "2"
    folder.mkdir()
    for path in (world.data / world.references["validation"].folder).iterdir():
        volume = read(path)
        other = np.zeros_like(volume.array)
        other[0:2, 0:3, 6:8] = 1
        write(Volume(other, volume.grid), folder / path.name)
    reference = Reference.objects.create(
        challenge=world.challenge,
        phase="validation",
        number=2,
        folder="references/neck/validation/2",
        digest="",
        cases=[],
    )
    Evaluation.objects.filter(submission=one).update(reference=reference, digest="2" * 64)
    from isocenter.server.submitting import showing

    showing._sessions.clear()
    assert [client.get(at(one, file=file)).content for file in ("sight.json", "output.nii.gz")] == before


def test_one_who_may_see_the_reference_does_not_open_it_for_the_next(world):
    one = world.scored("Rigi", "validation", SIZES)
    for _ in range(2):
        assert world.client("organiser").get(at(one, file="reference.nii.gz")).status_code == 200
        assert world.client("alice").get(at(one, file="reference.nii.gz")).status_code == 404


def test_scans_that_the_organisers_gave_lie_behind_the_output(world):
    one = world.scored("Rigi", "validation", SIZES)
    reference = world.references["validation"]
    grid = read(world.data / reference.folder / "CHUV002.nii.gz").grid
    (world.data / "scans").mkdir()
    scan = np.linspace(-1000, 1000, grid.voxels).reshape(grid.shape).astype(np.float32)
    write(Volume(scan, grid), world.data / "scans" / "CHUV002.nii.gz")
    Reference.objects.filter(pk=reference.pk).update(images="scans")
    client = world.client("alice")
    layers = json.loads(client.get(at(one, file="sight.json")).content)["layers"]
    assert [layer["role"] for layer in layers] == ["image", "output"]
    response = client.get(at(one, file="image-0.nii.gz"))
    assert response["Cache-Control"] == client.get(at(one, file="sight.json"))["Cache-Control"] == "private, no-store"
    assert voxels(response).shape == (12, 10, 8)


def scanned(world, phase: str = "validation") -> None:
    reference = world.references[phase]
    grid = read(world.data / reference.folder / "CHUV002.nii.gz").grid
    (world.data / "scans").mkdir()
    for case in SIZES:
        write(Volume(np.ones(grid.shape, dtype=np.float32), grid), world.data / "scans" / f"{case}.nii.gz")
    Reference.objects.filter(pk=reference.pk).update(images="scans")


def offered(world, phase: str, **fields) -> Release:
    return Release.objects.create(
        challenge=world.challenge, phase=phase, title="Images", name="i", file="x", size=1, sha256="0" * 64, **fields
    )


def shown(world, one, who: str = "alice") -> tuple[list[str], int, bool]:
    """The kinds of layers, the answer to who asks for the scan, and whether the page says what to do."""
    client = world.client(who)
    roles = [layer["role"] for layer in json.loads(client.get(at(one, file="sight.json")).content)["layers"]]
    scan = client.get(at(one, file="image-0.nii.gz"))
    return roles, scan.status_code, "To see the scans, accept the licence" in client.get(at(one)).content.decode()


@pytest.mark.parametrize("phase", ["validation", ""])
def test_scans_are_data_of_the_phase_and_come_under_its_licence(world, phase):
    scanned(world)
    one = world.scored("Rigi", "validation", SIZES)
    release = offered(world, phase, licence="For this challenge only.")
    assert shown(world, one) == (["output"], 404, True)
    assert shown(world, one, "organiser")[1] == 200
    assert shown(world, one) == (["output"], 404, True)  # what is open for the one is not for the other
    licences.accept(world.people["alice"], release)
    assert shown(world, one) == (["image", "output"], 200, False)
    assert shown(world, one, "bob") == (["output"], 404, True)
    Release.objects.update(licence="Other words.")
    assert shown(world, one) == (["output"], 404, True)


def test_scans_are_shown_when_the_data_are_released(world):
    scanned(world)
    one = world.scored("Rigi", "validation", SIZES)
    offered(world, "validation", released=world.at.now + timedelta(days=1))
    offered(world, "", licence="Of other data.")
    assert shown(world, one) == (["output"], 404, False)
    world.at.move(days=2)
    assert shown(world, one) == (["image", "output"], 200, False)


def test_who_took_scans_is_kept_once_a_day(world):
    scanned(world)
    first, second = (world.scored("Rigi", "validation", SIZES) for _ in range(2))
    client = world.client("alice")
    for one in (first, second, first):
        assert client.get(at(one, file="image-0.nii.gz")).status_code == 200
        assert client.get(at(one, file="output.nii.gz")).status_code == 200
        assert client.head(at(one, "CHUV003", "image-0.nii.gz")).status_code == 200
    (row,) = Download.objects.all()
    assert (row.user, row.what) == (world.people["alice"], "Scans of CHUV002 in validation, to look at")
    world.at.move(hours=25)
    client.get(at(first, file="image-0.nii.gz"))
    client.get(at(first, "CHUV001", "image-0.nii.gz"))
    world.client("organiser").get(at(first, file="image-0.nii.gz"))
    assert Download.objects.count() == 4
    assert Download.objects.get(user=world.people["organiser"]).what == row.what


def test_cases_are_walked_through_the_worst_first(world):
    one = world.scored("Rigi", "validation", SIZES)
    client = world.client("alice")
    page = client.get(at(one, "CHUV003")).content.decode()
    assert "2 of 3, worst first" in page
    assert re.search(r'id="before"[^>]*CHUV002', page)
    assert re.search(r'id="after"[^>]*CHUV001', page)
    assert "0.8571" in page
    listed = page[page.index('id="cases"') :]
    assert re.findall(r'data-name="(\w+)"', listed) == ["CHUV002", "CHUV003", "CHUV001"]


def test_an_output_that_is_missing_is_said(world):
    one = world.scored("Rigi", "validation", {"CHUV001": 4, "CHUV002": 4})
    client = world.client("alice")
    response = client.get(at(one, "CHUV003"))
    assert response.status_code == 200
    page = response.content.decode()
    assert "no output" in page
    assert "nothing to look at" in page
    assert client.get(at(one, "CHUV003", "sight.json")).status_code == 404


def test_files_that_are_gone_break_nothing_and_no_path_is_told(world):
    one = world.scored("Rigi", "validation", SIZES)
    (world.data / one.file).unlink()
    page = world.client("alice").get(at(one)).content.decode()
    assert "cannot be made" in page
    assert str(world.data) not in page


@pytest.mark.parametrize(
    "case",
    [
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "CHUV002%00",
        "%ff",
        "%F0%9F%92%A9",
        "<script>",
        "CHUV002%2f",
        "x" * 3000,
        "CHUV999",
    ],
)
def test_a_case_is_looked_up_and_never_a_file(world, case):
    one = world.scored("Rigi", "validation", SIZES)
    for name in ("alice", "organiser"):
        client = world.client(name)
        for file in ("", "sight.json", "output.nii.gz"):
            response = client.get(f"/c/neck/submissions/{one.pk}/cases/{case}/{file}")
            assert response.status_code == 404, (case, file)
            assert "<script>" not in response.content.decode().replace("<script src", "")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(case=st.text(max_size=30), file=st.text(max_size=30))
def test_no_address_breaks_anything(world, case, file):
    one = world.__dict__.get("hypothesis") or world.scored("Rigi", "validation", SIZES)
    world.__dict__["hypothesis"] = one
    parts = "/".join(quote(part, safe="", errors="replace") for part in (case, file))
    assert world.client("alice").get(f"/c/neck/submissions/{one.pk}/cases/{parts}").status_code in (301, 404)


# Observations: what tells of the reference, whoever measured it


def observed() -> pl.DataFrame:
    return frame(
        [
            Row("10005", "", "case_positive", 1.0),
            Row("10005", "", "case_likelihood", 0.7),
            Row("10005", "#1", "lesion", 1.0),
            Row("10005", "#1", "lesion_grade", 3.0),
            Row("10006", "", "missing", 1.0),
            Row("10006", "", "dice", 0.5),
        ]
    )


@pytest.mark.parametrize(("reference", "kept"), [(False, {"missing", "dice"}), (True, None)])
def test_what_says_the_truth_is_no_score_and_left_out(monkeypatch, reference, kept):
    from isocenter.evaluation import load_challenge

    monkeypatch.setattr(measured, "table_of", lambda _: observed())
    found = measured.Measured(Evaluation(), Sight(known=True, own_cases=True, reference=reference), 0)
    found.__dict__["code"] = load_challenge("picai2022")
    metrics = set(found.table["metric"].to_list())
    assert metrics == (kept or set(observed()["metric"].to_list()))
    assert [metric.name for metric in found.metrics] == (["likelihood_error"] if reference else [])
    assert (found.metric() is None) is not reference
