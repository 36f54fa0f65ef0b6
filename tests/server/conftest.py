"""A small world: a challenge with three phases, people of every kind, teams, and results that boards are made of."""

from __future__ import annotations

import io
import secrets
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client

from isocenter import evaluation, scores
from isocenter.server import boards, clock
from isocenter.server.models import (
    Challenge,
    Evaluation,
    Membership,
    Reference,
    Registration,
    Role,
    Snapshot,
    Submission,
    Team,
    User,
    Version,
)
from isocenter.volumes import Grid, Volume, write

T0 = datetime(2026, 3, 2, 12, tzinfo=UTC)  # a Monday: the validation phase is open, nothing else
GRID = Grid((12, 10, 8), spacing=(1.0, 1.0, 3.0), origin=(-20.0, 5.0, 100.0))
CASES = ("CHUV001", "CHUV002", "CHUV003")
PEOPLE = ("organiser", "staff", "reader", "alice", "bob", "carol", "waiting", "stranger")
"""alice and bob are the team Rigi, carol is Pilatus; "waiting" asked to take part; "stranger" has an account only."""

TOML = """\
challenge = "hecktor2020"
title = "Tumours of the neck"

[[phases]]
name = "validation"
title = "Validation"
opens = 2026-03-01T00:00:00Z
closes = 2026-04-01T00:00:00Z
results = 2026-04-01T00:00:00Z
quota = 3
quota_per = "week"
counts = "best"
visibility = "public"

[[phases]]
name = "test"
title = "Test"
opens = 2026-04-01T00:00:00Z
closes = 2026-05-01T00:00:00Z
results = 2026-05-10T00:00:00Z
quota = 2
counts = "last"
visibility = "hidden"

[[phases]]
name = "final"
title = "Final"
announced = 2026-05-10T00:00:00Z
opens = 2026-05-12T00:00:00Z
closes = 2026-06-01T00:00:00Z
results = 2026-06-05T00:00:00Z
admission = "invited"
after = "test"
top = 1
quota = 1
visibility = "own"

[policies]
organisers = "unlisted"
announce = 1

[[prizes]]
place = 1
amount = "500"
currency = "EUR"

[terms]
version = "1"
text = "Be fair."
"""


@pytest.fixture(autouse=True)
def data(tmp_path: Path, settings: Any) -> Path:
    """Every test has a folder of data of its own."""
    settings.DATA = tmp_path / "data"
    settings.DATA.mkdir()
    return settings.DATA


@pytest.fixture(autouse=True)
def answers_may_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """`response.close()` in a test ends a request, with which Django would close the connection of its transaction."""
    close = BaseDatabaseWrapper.close_if_unusable_or_obsolete

    def unless_the_test_needs_it(connection: BaseDatabaseWrapper) -> None:
        if not connection.in_atomic_block:
            close(connection)

    monkeypatch.setattr(BaseDatabaseWrapper, "close_if_unusable_or_obsolete", unless_the_test_needs_it)


@dataclass
class Clock:
    """The moment of the site, which tests move."""

    now: datetime = T0

    def move(self, **span: float) -> None:
        self.now += timedelta(**span)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Clock:
    moment = Clock()
    monkeypatch.setattr(clock, "source", lambda: moment.now)
    return moment


def mask(size: int) -> np.ndarray:
    """A tumour of so many slices."""
    array = np.zeros(GRID.shape, dtype=np.uint8)
    array[2:8, 2:8, 1 : 1 + size] = 1
    return array


def zipped(sizes: Mapping[str, int], folder: Path) -> bytes:
    """A submission: a mask of every case, as a zip; the same bytes whenever it is made."""
    folder.mkdir(parents=True, exist_ok=True)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for case, size in sizes.items():
            write(Volume(mask(size), GRID), folder / f"{case}.nii.gz")
            archive.writestr(zipfile.ZipInfo(f"{case}.nii.gz"), (folder / f"{case}.nii.gz").read_bytes())
    return stream.getvalue()


@dataclass
class World:
    """See the fixture `world`."""

    challenge: Challenge
    people: dict[str, User]
    teams: dict[str, Team]
    data: Path
    at: Clock
    scratch: Path
    references: dict[str, Reference] = field(default_factory=dict)

    def client(self, name: str = "") -> Client:
        """A browser: of nobody, or of somebody who signed in."""
        client = Client()
        if name:
            client.force_login(self.people[name], backend="allauth.account.auth_backends.AuthenticationBackend")
        return client

    def submission(self, team: str, phase: str, sizes: Mapping[str, int] | int = 4, **fields: Any) -> Submission:
        """A submission as it was handed in: its file is there, and nothing was done with it yet."""
        given = dict.fromkeys(CASES, sizes) if isinstance(sizes, int) else sizes
        content = zipped(given, self.scratch / secrets.token_hex(4))
        one = Submission(
            challenge=self.challenge,
            team=self.teams[team],
            phase=phase,
            number=Submission.objects.filter(team=self.teams[team], phase=phase).count() + 1,
            version=self.challenge.version,
            made=self.at.now,
            name=f"{team}.zip",
            size=len(content),
            sha256="0" * 64,
            declarations={"external_data": "none", "pretrained_networks": "none"},
            **fields,
        )
        one.file = f"submissions/{one.id}.zip"
        (self.data / one.file).parent.mkdir(exist_ok=True)
        (self.data / one.file).write_bytes(content)
        one.save()
        return one

    def scored(self, team: str, phase: str, sizes: Mapping[str, int] | int = 4, **fields: Any) -> Submission:
        """A submission with its scores, made by the library and put where a worker would put them."""
        one = self.submission(team, phase, sizes, state=Submission.State.SCORED, **fields)
        code = evaluation.load_challenge("hecktor2020")
        found = evaluation.evaluate(
            code, reference=self.data / self.references[phase].folder, submission=self.data / one.file
        )
        path = self.scratch / f"{one.id}.parquet"
        scores.write(found.scores, path, record=found.record)
        Evaluation.objects.create(
            submission=one,
            evaluator=found.record["code"],
            reference=self.references[phase],
            table=path.read_bytes(),
            digest="0" * 64,
            record=found.record,
            made=self.at.now,
        )
        return one


@pytest.fixture
def world(db: object, data: Path, at: Clock, tmp_path: Path) -> World:
    """A published challenge with references for all its phases; see `PEOPLE` and `TOML`."""
    people = {
        name: User.objects.create_user(f"{name}@example.org", "pass", name=name.title(), is_staff=name == "staff")
        for name in PEOPLE
    }
    from allauth.account.models import EmailAddress

    EmailAddress.objects.bulk_create(
        EmailAddress(user=user, email=user.email, verified=True, primary=True) for user in people.values()
    )
    challenge = Challenge.objects.create(slug="neck", published=True, salt=b"a secret of the edition", made=at.now)
    pages = [{"name": "about", "title": "About", "text": "# About\n\nTumours on **PET/CT**."}]
    version = Version.objects.create(challenge=challenge, number=1, toml=TOML, pages=pages, made=at.now)
    challenge.version = version
    challenge.save()
    Role.objects.create(user=people["organiser"], challenge=challenge, kind=Role.Kind.ORGANISER)
    Role.objects.create(user=people["reader"], challenge=challenge, kind=Role.Kind.READER)
    for name in ("alice", "bob", "carol"):
        Registration.objects.create(
            user=people[name], challenge=challenge, state="accepted", terms_version="1", terms_accepted=at.now
        )
    Registration.objects.create(user=people["waiting"], challenge=challenge)
    teams = {name: Team.objects.create(challenge=challenge, name=name) for name in ("Rigi", "Pilatus")}
    for name, team in (("alice", "Rigi"), ("bob", "Rigi"), ("carol", "Pilatus")):
        Membership.objects.create(
            user=people[name], team=teams[team], challenge=challenge, leads=name in ("alice", "carol")
        )
    made = World(challenge, people, teams, data, at, tmp_path / "scratch")
    for phase in ("validation", "test", "final"):
        folder = data / "references" / "neck" / phase / "1"
        folder.mkdir(parents=True)
        for case in CASES:
            write(Volume(mask(4), GRID), folder / f"{case}.nii.gz")
        made.references[phase] = Reference.objects.create(
            challenge=challenge,
            phase=phase,
            number=1,
            folder=f"references/neck/{phase}/1",
            digest="0" * 64,
            cases=list(CASES),
        )
    return made


def snapshot(world: World, phase: str, board: Any) -> Snapshot:
    """A board put where a worker would put it."""
    return Snapshot.objects.create(
        challenge=world.challenge,
        phase=phase,
        board=board.name,
        version=world.challenge.version,
        content=boards.freeze(board),
        digest="0" * 64,
        made=world.at.now,
    )
