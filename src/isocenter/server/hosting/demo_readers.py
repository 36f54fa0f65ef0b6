"""The reader study of the demo's PI-CAI: five synthetic readers, each somewhere else in their cases, and a newcomer.

Everything goes the way that organisers and readers go, with the clock put back to when it would have been. Who signs in
as the newcomer is named as a reader and has not joined: joining, guide, practice and cases are all before them.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from isocenter import phantoms
from isocenter.server import clock
from isocenter.server.models import Challenge, Reader, Role, User
from isocenter.server.policy import Visit
from isocenter.server.reading import answering, cases, drawing, joining, marks, protocol, turns
from isocenter.server.reading.turns import Turn

_CASES = 12
_SHARES = (1.0, 0.75, 0.55, 0.3, 0.0)
"""How much of their cases the readers have read; who is at 0.55 stands between two stages of a case."""
_BEFORE = timedelta(days=14)  # that cases are brought, and readers join
_YEARS = {True: "More than 10", False: "5 to 10"}
_CONTRAST = 0.8  # by which factor errors are smaller with the contrast-enhanced scan
_UNCHANGED = 0.4  # how often a reader leaves the answer of the stage before as it is
_PRACTISED = phantoms.Reading(marks=(), score=20)  # what everybody says of a practice case


@dataclass
class _Clock:
    now: datetime

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@contextmanager
def _put_back(moment: datetime) -> Iterator[_Clock]:
    """The clock of the site at another moment, which can be moved."""
    at, source = _Clock(moment), clock.source
    clock.source = lambda: at.now
    try:
        yield at
    finally:
        clock.source = source


@contextmanager
def _quietly() -> Iterator[None]:
    """Without a line on the terminal for every mail: nobody sent one."""
    log = logging.getLogger("isocenter.mail")
    level = log.level
    log.setLevel(logging.WARNING)
    try:
        yield
    finally:
        log.setLevel(level)


def begin_study(challenge: Challenge, folder: Path, *, organiser: User, newcomer: User, seed: int) -> None:
    """Bring the cases, let the readers join, draw, and let them read up to now.

    Call it before anything is decided in the challenge: what is decided here lies weeks back, and a log goes forward.

    Parameters
    ----------
    folder
        Where the cases are written, as organisers would have them; must be new or empty.
    newcomer
        Is named as a reader, and no more.
    seed
        Of the patients, which are those of the cohort of the demo, and of what the readers say.
    """
    study, until = protocol.study_of(challenge), clock.now()
    assert study is not None
    reading = protocol.reading_of(study)
    phantoms.write_reading_study(folder, cases=_CASES, practice=reading.practice, seed=seed)
    Role.objects.create(user=newcomer, challenge=challenge, kind=Role.Kind.READER)
    with _quietly(), _put_back(reading.opens - _BEFORE) as at:
        cases.bring(study, folder, user=organiser, reason="Synthetic patients.")
        readers = [_joined(challenge, one, at) for one in phantoms.READERS[: len(_SHARES)]]
        at.now = reading.opens - timedelta(days=1)
        drawing.draw(study, user=organiser, reason="All readers have joined.")
        for share, reader, who in zip(_SHARES, readers, phantoms.READERS, strict=False):
            _read_share(Reader.objects.get(pk=reader.pk), who, share, at, until=until, seed=seed)


def _joined(challenge: Challenge, who: phantoms.ExamReader, at: _Clock) -> Reader:
    """Somebody whom the organisers named joins, and confirms the guide."""
    letter = who.name.split()[-1]
    user = User.objects.create_user(f"reader-{letter.lower()}@{challenge.slug}.demo.example", name=f"Dr {letter}")
    Role.objects.create(user=user, challenge=challenge, kind=Role.Kind.READER)
    at.move(86_400)
    answers = {
        "centre": f"Centre {letter}",
        "country": "CH",
        "years": _YEARS[who.expert],
        "expert": who.expert,
        "reports": True,
    }
    study = protocol.study_of(challenge)
    assert study is not None
    found = joining.join(Visit(user, challenge), study, answers)
    assert isinstance(found, Reader), found
    joining.confirm_guide(found, protocol.reading_of(study).guide_version)
    return found


def _read_share(
    reader: Reader, who: phantoms.ExamReader, share: float, at: _Clock, *, until: datetime, seed: int
) -> None:
    """The practice cases before the study opens, and then a share of the stages of all cases, until now."""
    rng = random.Random(f"{seed} {who.name}")
    reading, stages = protocol.reading_of(reader.study), len(reader.study.challenge.edition.stages)
    total = stages * reader.assignments.filter(practice=False).count()
    at.now = reading.opens - timedelta(hours=8)
    for _ in range(stages * reading.practice):
        _read(reader, who, at, rng, seed=seed)
    days = sorted(rng.uniform(0.0, 0.98) for _ in range(total // stages))  # shares of the time since it opened
    for done in range(round(share * total)):
        at.now = max(at.now, reading.opens + days[done // stages] * (until - reading.opens))
        _read(reader, who, at, rng, seed=seed)


def _read(reader: Reader, who: phantoms.ExamReader, at: _Clock, rng: random.Random, *, seed: int) -> None:
    """The stage that it is the turn of: opened, saved, and handed in a few minutes later; some stay with the copy."""
    turn = turns.turn_of(reader, at.now)
    assert isinstance(turn, Turn), turn
    read = turns.begin(turn)
    copied = turn.stage_number > 1 and rng.random() < _UNCHANGED
    answer = marks.Said(read.marks, read.score) if copied else _said(turn, who, seed=seed)
    for finish in (answering.save, answering.hand_in):
        looked = rng.uniform(20.0, 110.0)
        at.move(looked)
        read = finish(turn, answer, revision=read.revision, seconds=looked)


def _said(turn: Turn, who: phantoms.ExamReader, *, seed: int) -> marks.Said:
    """What a reader says of the case of a turn; with contrast it is the same opinion, and a little better."""
    said = _PRACTISED
    if not turn.practice:
        number = int(turn.assignment.case.name.removeprefix("PCA"))
        who = who if turn.stage_number == 1 else replace(who, error=_CONTRAST * who.error)
        said = phantoms.read_exam(_exam(number, seed), who, number=number, seed=seed)
    on = turn.stage.images[0]
    return marks.said(
        [{**dict(zip("xyz", mark.position, strict=True)), "pirads": mark.pirads, "on": on} for mark in said.marks],
        said.score,
        case=turn.assignment.case,
        images=turn.stage.images,
        most=protocol.reading_of(turn.assignment.reader.study).most_marks,
    )


@cache
def _exam(number: int, seed: int) -> phantoms.ProstateExam:
    return phantoms.prostate_exam(number, seed=seed)
