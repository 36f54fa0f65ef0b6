"""Real lesions in a reader study on the site: a mark in the patient comes out of the export where it was set.

Six exams of PI-CAI are read through the pages. There are no MR scans here, so the reference itself is shown as the T2w
scan: its grids are those of the patients, oblique as they were scanned. Where a mark lies says SimpleITK.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk
from django.test import Client

import isocenter
from isocenter.metrics import LesionCounts
from isocenter.readers import open_reference, read_reads, score_reads
from isocenter.server import clock
from isocenter.server.models import Assignment, CaseRead, Role, User
from isocenter.server.organising import importing
from isocenter.server.reading import cases as study_cases
from isocenter.server.reading import protocol

pytestmark = pytest.mark.slow
TOML = """\
challenge = "picai2022"
title = "Real patients"

[[phases]]
name = "testing"
title = "Testing"
opens = {opens}
closes = {closes}
results = {closes}

[reading]
title = "Reader study"
opens = {opens}
closes = {closes}
guide = "Mark every lesion."

[[stages]]
name = "bpmri"
title = "Biparametric MRI"
images = ["t2w"]
"""
READING, CASE, ORGANISE = "/c/real/reading/", "/c/real/reading/case/", "/c/real/organise/reading/"
Index = tuple[int, int, int]


@dataclass(frozen=True)
class Exam:
    """A label image of PI-CAI, and a voxel in the middle of each of its lesions."""

    path: Path
    image: sitk.Image
    middles: tuple[Index, ...]

    def place(self, index: Index) -> dict[str, Any]:
        """A mark there, as pages send it."""
        x, y, z = self.image.TransformIndexToPhysicalPoint(index)
        return {"x": x, "y": y, "z": z, "pirads": 4, "on": "t2w"}

    def mirrored(self, index: Index) -> dict[str, Any]:
        """A mark as far from the other edge of the picture: what a viewer sets that mixes up left and right."""
        return self.place((self.image.GetSize()[0] - 1 - index[0], *index[1:]))


@pytest.fixture(scope="module")
def exams(data: Path) -> dict[str, Exam]:
    """Three patients with significant cancer and three without; the first of the data."""
    with (data / "picai" / "marksheet.csv").open() as stream:
        rows = [(row["case_csPCa"], f"{row['patient_id']}_{row['study_id']}") for row in csv.DictReader(stream)]
    chosen = [case for said in ("YES", "NO") for case in [case for ill, case in rows if ill == said][:3]]
    return {case: exam(data / "picai" / "reference" / f"{case}.nii.gz") for case in chosen}


def exam(path: Path) -> Exam:
    image = sitk.ReadImage(str(path))
    parts = sitk.GetArrayFromImage(sitk.ConnectedComponent(image > 0, True))
    middles = []
    for number in range(1, int(parts.max()) + 1):
        voxels = np.argwhere(parts == number)  # (z, y, x)
        z, y, x = voxels[np.argmin(((voxels - voxels.mean(axis=0)) ** 2).sum(axis=1))].tolist()
        middles.append((x, y, z))
    return Exam(path, image, tuple(middles))


@dataclass(frozen=True)
class Site:
    """An open study with one reader, who has not joined yet."""

    reader: Client
    organiser: Client


@pytest.fixture
def site(exams: dict[str, Exam], db: object, settings: Any, tmp_path: Path) -> Site:
    settings.DATA = tmp_path / "site"
    settings.DATA.mkdir()
    now = clock.now().replace(microsecond=0)
    folder = tmp_path / "bundle"
    folder.mkdir()
    dates = {"opens": (now - timedelta(days=1)).isoformat(), "closes": (now + timedelta(days=1)).isoformat()}
    (folder / "challenge.toml").write_text(TOML.format(**dates))
    organiser, reader = (User.objects.create_user(f"{name}@example.org") for name in ("organiser", "reader"))
    challenge = importing.import_challenge(folder, user=organiser, slug="real")
    challenge.published = True
    challenge.save()
    Role.objects.create(user=reader, challenge=challenge, kind=Role.Kind.READER)
    with zipfile.ZipFile(tmp_path / "cases.zip", "w") as archive:
        lines = [f"{case},{'yes' if one.middles else 'no'}\n" for case, one in exams.items()]
        archive.writestr("cases.csv", "case,positive\n" + "".join(lines))
        for case, one in exams.items():
            archive.write(one.path, f"{case}/t2w.nii.gz")
    study = protocol.study_of(challenge)
    assert study is not None
    assert study_cases.bring(study, tmp_path / "cases.zip", user=organiser, reason="Real patients.") == 6
    return Site(signed_in(reader), signed_in(organiser))


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


def sent(page: Any) -> dict[str, str]:
    """What the form of a case holds."""
    form = page.text.partition('id="answer"')[2]
    tags = [dict(re.findall(r'(\w+)="([^"]*)"', tag)) for tag in re.findall(r"<input[^>]*>", form)]
    return {tag["name"]: html.unescape(tag.get("value", "")) for tag in tags if "name" in tag}


def shown(reader: Client, page: Any, folder: Path) -> sitk.Image:
    """The scan that a page draws."""
    (url,) = re.findall(r'data-url="([^"]+)"', page.text)
    (folder / "scan.nii.gz").write_bytes(reader.get(url).content)
    return sitk.ReadImage(str(folder / "scan.nii.gz"))


def read_all(site: Site, exams: dict[str, Exam], mark: Callable[[Exam, Index], dict[str, Any]], folder: Path) -> Any:
    """Join, confirm the guide, read every case, close, export, and score what came out."""
    reader, organiser = site.reader, site.organiser
    assert reader.post(READING).status_code == 302
    assert organiser.post(f"{ORGANISE}draw/", {"reason": "All have joined."}).status_code == 302
    assert reader.get(CASE).url == READING  # the guide first
    reader.post(f"{READING}guide/", {"version": "1"})
    for assignment in Assignment.objects.select_related("case").order_by("position"):
        one, page = exams[assignment.case.name], reader.get(CASE)
        assert f"Case {assignment.position} of 6" in page.text
        assert assignment.case.name not in page.text
        scan = shown(reader, page, folder)
        for index in one.middles:  # a lesion lies in the patient where the browser shows it
            there = scan.TransformPhysicalPointToIndex(one.image.TransformIndexToPhysicalPoint(index))
            assert scan[there] == one.image[index] > 0
        marks = [mark(one, index) for index in one.middles]
        answer = sent(page) | {"marks": json.dumps(marks), "score": 90 if marks else 5}
        assert reader.post(CASE, answer).status_code == 302
    assert CaseRead.objects.filter(submitted__isnull=False).count() == 6
    organiser.post(f"{ORGANISE}close/", {"reason": "All have read."})
    with zipfile.ZipFile(io.BytesIO(organiser.get(f"{ORGANISE}export/").content)) as archive:
        archive.extract("reads.csv", folder)
    reads = read_reads(folder / "reads.csv")
    home = next(iter(exams.values())).path.parent
    return score_reads(reads, open_reference(isocenter.challenge("picai2022"), home, cases=reads.cases))


def test_a_mark_in_every_real_lesion_finds_it_and_nobody_else_is_ill(
    site: Site, exams: dict[str, Exam], tmp_path: Path
) -> None:
    found = read_all(site, exams, Exam.place, tmp_path)
    (reader,) = found.readers
    lesions = sum(len(one.middles) for one in exams.values())
    assert (reader.cases, reader.positives, reader.lesions) == (6, 3, lesions)
    assert lesions >= 3
    for one in found.reads:
        image, middles = exams[one.read.case].image, exams[one.read.case].middles
        assert one.hits[3] == LesionCounts(tp=len(middles), fp=0, fn=0), one.read.case
        assert tuple(image.TransformPhysicalPointToIndex(mark.position) for mark in one.read.marks) == middles
    point = reader.points[3]
    assert (point.sensitivity, point.specificity, point.recall, point.precision) == (1.0, 1.0, 1.0, 1.0)
    assert reader.auroc.value == 1.0


def test_marks_that_mix_up_left_and_right_find_nothing(site: Site, exams: dict[str, Exam], tmp_path: Path) -> None:
    (reader,) = read_all(site, exams, Exam.mirrored, tmp_path).readers
    assert (reader.points[3].recall, reader.points[3].precision) == (0.0, 0.0)
    assert reader.points[3].sensitivity == 1.0  # patients are called by any mark
