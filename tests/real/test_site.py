"""Real patients on the site: what boards show is what the library says of the same files, and what is wrong is named.

Every challenge is imported from a folder, gets its references from files as they were published, and two teams hand in.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.urls import reverse

import isocenter
from isocenter.server import boards, clock
from isocenter.server.models import Challenge, Membership, Registration, Run, Submission, Team, User
from isocenter.server.organising import importing
from isocenter.server.organising.versioning import Refused
from isocenter.server.policy import Visit
from isocenter.server.submitting import intake, uploads
from isocenter.server.work import working
from isocenter.server.work.making import LEVEL, REPLICATES, SEED
from isocenter.volumes import Grid, Volume, read, write
from isocenter.volumes.sparse import read_mask, read_sparse, write_sparse

pytestmark = pytest.mark.slow
PHASE = "validation"
TOML = """\
challenge = "{code}"
title = "Real patients"

[[phases]]
name = "{phase}"
title = "Validation"
opens = {opens}
closes = {closes}
results = {closes}
quota = 2
counts = "last"
visibility = "public"
"""


@dataclass(frozen=True)
class Material:
    """Files of a challenge: a reference, what two teams have, and how a file of theirs is brought onto a wrong grid."""

    code: str
    reference: Path
    teams: dict[str, Path]
    suffix: str
    regrid: Callable[[Path], None]
    says: tuple[str, str]
    """What is found in a file that was cut off, and in one on the wrong grid."""

    @property
    def cases(self) -> list[str]:
        return sorted(path.name.removesuffix(".nii.gz") for path in self.reference.iterdir())


def openkbp(data: Path, folder: Path) -> Material:
    """Six patients; one team is noisy, the other a voxel off."""
    rng = np.random.default_rng(2020)
    teams = {name: folder / name for name in ("Noisy", "Shifted")}
    for team in teams.values():
        team.mkdir()
    with zipfile.ZipFile(data / "openkbp-validation.zip") as archive:
        patients = sorted({name.split("/")[1] for name in archive.namelist() if name.count("/") == 2})[:6]
        for name in archive.namelist():
            if name.split("/")[1] in patients and not name.endswith(("/", "ct.csv")):
                archive.extract(name, folder)
    reference = folder / "validation-pats"
    for patient in patients:
        dose = read_sparse(reference / patient / "dose.csv").dense()
        where = read_mask(reference / patient / "possible_dose_mask.csv").dense()
        noisy = where * dose * rng.normal(1.02, 0.05, dose.shape)
        write_sparse(teams["Noisy"] / f"{patient}.csv", noisy.astype(np.float32), where=where)
        write_sparse(teams["Shifted"] / f"{patient}.csv", where * np.roll(dose, 1, axis=0), where=where)

    def regrid(path: Path) -> None:
        path.write_text(path.read_text() + f"{128**3},1.0\n")

    return Material("openkbp2020", reference, teams, ".csv", regrid, ("line ", "an index outside of 128×128×128"))


def picai(data: Path, folder: Path) -> Material:
    """Exams with and without cancer; an algorithm with the routine reads, and the same seen in a mirror."""
    with (data / "picai" / "marksheet.csv").open() as stream:
        rows = [row | {"case": f"{row['patient_id']}_{row['study_id']}"} for row in csv.DictReader(stream)]
    there = {path.name.removesuffix(".nii.gz") for path in (data / "picai" / "reference").iterdir()}
    there -= {"10057_1000057", "10161_1000164"}  # with wrong directions
    known = [row for row in rows if row["case"] in there]
    chosen = [row for said in ("YES", "NO") for row in [one for one in known if one["case_csPCa"] == said][:8]]
    scores = {row["case"]: [int(one) for one in row["lesion_PIRADS"].split(",") if one.isdigit()] for row in chosen}
    reads = {case: max(found, default=1) for case, found in scores.items()}
    reference, teams = folder / "reference", {name: folder / name for name in ("Bosma22a", "Mirror")}
    for place in (reference, *teams.values()):
        place.mkdir()
    for case in reads:
        name = f"{case}.nii.gz"
        shutil.copy(data / "picai" / "reference" / name, reference)
        shutil.copy(data / "picai" / "ai_bosma22a" / name, teams["Bosma22a"])
        found = read(data / "picai" / "ai_bosma22a" / name)
        write(Volume(np.ascontiguousarray(found.array[::-1]), found.grid), teams["Mirror"] / name)
    for name, team in teams.items():
        said = {case: read_ / 5 if name == "Bosma22a" else (6 - read_) / 5 for case, read_ in reads.items()}
        (team / "likelihoods.json").write_text(json.dumps(said))
    return Material("picai2022", reference, teams, ".nii.gz", _crop, ("cut off", "grid"))


def prostates(data: Path, folder: Path) -> Material:
    """Whole glands by two algorithms, one of them as the reference; the other team is that reference a slice off."""
    names = sorted(path.name for path in (data / "prostate" / "bosma22b").iterdir())[:8]
    reference, teams = folder / "reference", {name: folder / name for name in ("Guerbet23", "Slice off")}
    for place in (reference, *teams.values()):
        place.mkdir()
    for name in names:
        shutil.copy(data / "prostate" / "bosma22b" / name, reference)
        shutil.copy(data / "prostate" / "guerbet23" / name, teams["Guerbet23"])
        truth = read(reference / name)
        write(Volume(np.roll(truth.array, 1, axis=2), truth.grid), teams["Slice off"] / name)
    return Material("hecktor2020", reference, teams, ".nii.gz", _crop, ("cut off", "grid"))


def _crop(path: Path) -> None:
    """Leave out the first slice, and forget that the origin moves with it."""
    whole = read(path)
    shape = (*whole.array.shape[:2], whole.array.shape[2] - 1)
    grid = Grid(shape, spacing=whole.grid.spacing, origin=whole.grid.origin, direction=whole.grid.direction)
    write(Volume(np.ascontiguousarray(whole.array[:, :, 1:]), grid), path)


@pytest.fixture(scope="module", params=[openkbp, picai, prostates], ids=lambda make: make.__name__)
def material(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Material:
    return request.param(data, tmp_path_factory.mktemp(request.param.__name__))


@pytest.fixture
def challenge(material: Material, db: object, settings: Any, tmp_path: Path) -> Challenge:
    """The challenge as organisers bring it to the site: open, published, with its reference."""
    settings.DATA = tmp_path / "site"
    settings.DATA.mkdir()
    now = clock.now().replace(microsecond=0)
    folder = tmp_path / "bundle"
    folder.mkdir()
    dates = {"opens": (now - timedelta(days=1)).isoformat(), "closes": (now + timedelta(days=1)).isoformat()}
    (folder / "challenge.toml").write_text(TOML.format(code=material.code, phase=PHASE, **dates))
    organiser = User.objects.create_user("organiser@example.org", "pass", name="Organiser")
    brought = importing.import_challenge(folder, user=organiser, slug="real")
    reference = importing.add_reference(brought, PHASE, material.reference, user=organiser)
    assert reference.cases == material.cases
    brought.published = True
    brought.save()
    return brought


def founded(challenge: Challenge, name: str) -> User:
    """Somebody who takes part with a team of their own."""
    user = User.objects.create_user(f"{name[:5].lower()}@example.org", "pass", name=f"Who leads {name}")
    Registration.objects.create(user=user, challenge=challenge, state="accepted")
    team = Team.objects.create(challenge=challenge, name=name)
    Membership.objects.create(user=user, team=team, challenge=challenge, leads=True)
    return user


def handed_in(challenge: Challenge, user: User, folder: Path) -> Submission:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    content = stream.getvalue()
    said = {"challenge": challenge, "phase": PHASE, "purpose": "submission", "name": f"{folder.name}.zip"}
    upload = uploads.begin(user, size=len(content), **said)
    uploads.append(upload, io.BytesIO(content), offset=0, length=len(content))
    return intake.submit(Visit(user, challenge), PHASE, upload, declarations={})


def of_author(one: Submission) -> str:
    """The page of a submission, as who handed it in sees it."""
    client = Client()
    client.force_login(one.author, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client.get(reverse("submission", args=["real", one.pk])).content.decode()


def worked() -> None:
    """A worker does what waits, with cases in processes of their own."""
    working.work(threading.Event(), name="w", once=True)
    assert not Run.objects.filter(state__in=("queued", "running")).exists()


def test_boards_show_what_the_library_says_of_the_same_files(material: Material, challenge: Challenge) -> None:
    handed = {name: handed_in(challenge, founded(challenge, name), folder) for name, folder in material.teams.items()}
    worked()
    assert {Submission.objects.get(pk=one.pk).state for one in handed.values()} == {"scored"}
    code = isocenter.challenge(material.code)
    scores = {
        name: isocenter.evaluate(code, reference=material.reference, submission=folder)
        for name, folder in material.teams.items()
    }
    browser = Client()
    for name in code.boards:
        sure = isocenter.rank(code, scores, board=name, resamples=REPLICATES, seed=SEED, level=LEVEL)
        snapshot = boards.latest(challenge, PHASE, name)
        assert snapshot is not None
        assert boards.shown(Visit(AnonymousUser(), challenge), snapshot).rows == sure.rows
        found = browser.get(reverse("board_json", args=["real", PHASE, name])).json()["rows"]
        assert [row["team"] for row in found] == [row.submission for row in sure.rows]
        for key in ("score", "low", "high"):
            assert [row[key] for row in found] == pytest.approx([getattr(row, key) for row in sure.rows], abs=5.01e-4)
        assert found[0]["score"] != found[1]["score"]
        page = browser.get(reverse("board", args=["real", PHASE, name])).content.decode()
        assert page.index(sure.rows[0].submission) < page.index(sure.rows[1].submission)
        for row in sure.rows:
            own = of_author(handed[row.submission])
            assert all(
                reverse("case", args=["real", handed[row.submission].pk, case]) in own for case in material.cases
            )
            assert any(f"{row.low:.{digits}f} – {row.high:.{digits}f}" in own for digits in (3, 4)), (name, row)


@pytest.mark.parametrize("wrong", ["cut off", "wrong grid"])
def test_a_real_file_that_is_wrong_is_named_and_costs_nothing(
    material: Material, challenge: Challenge, tmp_path: Path, wrong: str
) -> None:
    team, good = next(iter(material.teams.items()))
    case = material.cases[2]
    folder = tmp_path / "spoilt"
    shutil.copytree(good, folder)
    spoilt = folder / f"{case}{material.suffix}"
    if wrong == "cut off":
        _cut(spoilt)
    else:
        material.regrid(spoilt)
    user = founded(challenge, team)
    one = handed_in(challenge, user, folder)
    worked()
    one.refresh_from_db()
    assert one.state == "refused"
    problems = [problem for problem in one.problems if problem["severity"] == "unusable"]
    assert [problem["case"] for problem in problems] == [case]
    assert spoilt.name in f"{problems[0]['file']} {problems[0]['message']}"
    assert material.says[wrong == "wrong grid"] in problems[0]["message"]
    assert intake.quota(Visit(user, challenge), PHASE).left == 2
    page = of_author(one)
    assert case in page
    assert spoilt.name in page
    assert "no attempt was used" in page
    handed_in(challenge, user, good)
    worked()
    assert Submission.objects.filter(team__name=team, state="scored").count() == 1


def _cut(path: Path) -> None:
    """The first half of a file; of a text up to the comma of a line, so that it can be told."""
    content = path.read_bytes()
    half = content[: len(content) // 2]
    path.write_bytes(half if path.name.endswith(".gz") else half[: half.rindex(b",") + 1])


def test_a_real_reference_that_was_cut_off_is_refused_and_the_one_before_stays(
    material: Material, challenge: Challenge, tmp_path: Path
) -> None:
    folder = tmp_path / "spoilt"
    shutil.copytree(material.reference, folder)
    case = material.cases[1]
    spoilt = folder / case / "dose.csv" if (folder / case).is_dir() else folder / f"{case}.nii.gz"
    spoilt.chmod(0o644)
    _cut(spoilt)
    with pytest.raises(Refused) as caught:
        importing.add_reference(challenge, PHASE, folder)
    (said,) = caught.value.problems
    assert said.startswith(case)
    assert spoilt.name in said
    assert challenge.references.get().number == 1
