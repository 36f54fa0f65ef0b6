"""A small reader study in the world of `conftest`: two stages, two blocks, four cases, one practice case."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from django.test import Client

from conftest import TOML, World
from isocenter.server.models import Reader, Role, Study, StudyCase, User, Version
from isocenter.server.reading import joining, protocol
from isocenter.volumes import Grid, Volume, write

READING = """
[reading]
title = "Reader study"
opens = 2026-03-10T00:00:00Z
closes = 2026-04-10T00:00:00Z
guide = "Mark what you suspect."
practice = 1
most_marks = 2
facts = ["age"]
blocks = 2
cases_by = ["positive"]
readers_by = ["expert"]

[[stages]]
name = "first"
title = "Without contrast"
images = ["t2w", "adc"]

[[stages]]
name = "second"
title = "With contrast"
images = ["t2w", "dce"]
copies = true

[[readers]]
name = "expert"
label = "Are you an expert?"
kind = "yes-no"
required = true

[[readers]]
name = "centre"
label = "Your centre"
kind = "text"
"""
SCAN = Grid((16, 14, 6), spacing=(2.0, 2.0, 3.0), origin=(-15.0, -13.0, 40.0))
FINE = Grid((32, 28, 6), spacing=(1.0, 1.0, 3.0), origin=(-15.5, -13.5, 40.0))
GRIDS = {"t2w": FINE, "adc": SCAN, "dce": SCAN}
IN_SCAN = {"x": 1.0, "y": 2.0, "z": 46.0, "pirads": 4, "on": "t2w"}
"""A mark that lies inside every scan."""
STUDY_CASES = ("PCA001", "PCA002", "PCA003", "PCA004")


@dataclass
class StudyWorld:
    """See `study_world`."""

    world: World
    study: Study
    readers: dict[str, Reader] = field(default_factory=dict)

    def client(self, name: str) -> Client:
        """A browser of somebody who signed in."""
        return self.world.client(name)

    def person(self, name: str, *, reads: bool = True) -> User:
        """Somebody with an account, whom the organisers named as a reader."""
        from allauth.account.models import EmailAddress

        user = User.objects.create_user(f"{name}@example.org", "pass", name=name.title())
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
        self.world.people[name] = user
        if reads:
            Role.objects.create(user=user, challenge=self.world.challenge, kind=Role.Kind.READER)
        return user

    def joins(self, name: str, *, expert: bool = True, guide: bool = True) -> Reader:
        """Somebody joins the study, and confirms the guide."""
        from isocenter.server.policy import Visit

        user = self.world.people.get(name) or self.person(name)
        found = joining.join(Visit(user, self.world.challenge), self.study, {"expert": expert, "centre": "Bern"})
        assert isinstance(found, Reader), found
        if guide:
            joining.confirm_guide(found, protocol.reading_of(self.study).guide_version)
        self.readers[name] = found
        return found

    def opens(self) -> None:
        """Two readers join, cases are dealt, and the study opens."""
        from isocenter.server.reading import drawing

        for name in ("reader", "rahel"):
            if name not in self.readers:
                self.joins(name)
        drawing.draw(self.study, user=self.world.people["organiser"], reason="All have joined.")
        self.study.refresh_from_db()
        self.world.at.now = datetime.fromisoformat("2026-03-10T08:00:00Z")

    def reads(self, name: str, *, marks: list[dict[str, Any]] | None = None, score: int = 30) -> None:
        """Somebody hands in the stage that it is the turn of."""
        from isocenter.server.reading import answering, turns
        from isocenter.server.reading.marks import Said

        reader = Reader.objects.get(pk=self.readers[name].pk)
        turn = turns.turn_of(reader, self.world.at.now)
        assert isinstance(turn, turns.Turn), turn
        read = turns.begin(turn)
        self.world.at.move(seconds=40)
        answering.hand_in(turn, Said(list(marks or []), score), revision=read.revision, seconds=30.0)


def study_world(world: World, *, cases: bool = True) -> StudyWorld:
    """The challenge of the world with a reader study, which "reader" is named for; it is the time of joining."""
    challenge = world.challenge
    challenge.version = Version.objects.create(challenge=challenge, number=2, toml=TOML + READING, made=world.at.now)
    challenge.save()
    study = protocol.study_of(challenge)
    assert study is not None
    if cases:
        add_cases(world, study)
    return StudyWorld(world, study)


def add_cases(world: World, study: Study) -> None:
    """The cases of the study and one to practise, as if organisers had brought them."""
    study.folder = "studies/neck/1"
    study.save(update_fields=["folder"])
    for number, name in enumerate((*STUDY_CASES, "practice-1")):
        _case(world, study, name, number)


def _case(world: World, study: Study, name: str, number: int) -> None:
    images = {}
    for at, (scan, grid) in enumerate(GRIDS.items()):
        path = world.data / study.folder / name / f"{scan}.mha"
        path.parent.mkdir(parents=True, exist_ok=True)
        values = np.random.default_rng(10 * number + at).normal(300, 40, grid.shape).astype(np.int16)
        write(Volume(values, grid), path)
        images[scan] = {
            "file": f"{name}/{scan}.mha",
            "shape": list(grid.shape),
            "spacing": list(grid.spacing),
            "origin": list(grid.origin),
            "direction": list(grid.direction),
        }
    StudyCase.objects.create(
        study=study,
        name=name,
        practice=name.startswith("practice"),
        positive=number % 2 == 0,
        facts={"age": str(60 + number), "ISUP": "2"},
        images=images,
    )
