"""The site of the demo: its five editions as challenges that run now, each at another point of its life.

| challenge | where it stands |
| --- | --- |
| OpenKBP 2020 | the validation phase is open, its board is live |
| PI-CAI 2022 | tuning is open, its board is live; the hidden phase is to come; its reader study is under way |
| HECKTOR 2020 | the test phase is open and hidden: nobody but the organisers sees a score |
| DoseRAD2026 | results are out since three days |
| lung contest | all three phases are over; the report is published |

Dates of the editions are moved for that, by whole days; nothing else of them is changed, but that the phases of PI-CAI
have as many cases as there are synthetic patients, and that its reader study has two practice cases and two blocks, so
that it is quick to try. What teams hand in goes the way of every submission: through the queue, and through the
workers' scoring; what readers hand in goes the way of every read.
"""

from __future__ import annotations

import csv
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from isocenter.editions import Edition, Phase, Reading, load, render
from isocenter.server import clock
from isocenter.server.hosting.demo_content import (
    HandedIn,
    example,
    fill,
    publish_report,
    submit,
    talk,
    training,
    zip_folder,
)

Move = Callable[[int, int, str], None]

_MOMENTS = ("announced", "opens", "closes", "results")
_ATTEMPTS = {"Thun": 22, "Zug": 23, "Sempach": 9, "Walen": 7, "Biel": 4}
"""How often the teams of OpenKBP submit to its validation phase."""
_PATIENTS = 5
_READ = 0.6
"""Which share of the time of a reader study has gone by."""


@dataclass(frozen=True)
class Stage:
    """Where a challenge stands: of a phase, which share has gone by; above 1, days since its results."""

    phase: str
    share: float = 0.6
    results_out: int | None = None


STAGES = {
    "openkbp2020": Stage("validation", 0.8),
    "picai2022": Stage("tuning", 0.5),
    "hecktor2020": Stage("test", 0.6),
    "doserad2026": Stage("photon-ct", results_out=3),
    "lung2019": Stage("phase-3", results_out=20),
}


class Account(NamedTuple):
    """Somebody to sign in as."""

    email: str
    what: str
    password: str


class People(NamedTuple):
    """Whose password is printed: an organiser, a member of teams, and a reader who has not joined the study yet."""

    organiser: Any
    guest: Any
    reader: Any


def shifted(edition: Edition, stage: Stage, now: datetime) -> Edition:
    """The edition with its dates moved by whole days, so that it stands where it should now."""
    phase = next(one for one in edition.phases if one.name == stage.phase)
    anchor = phase.opens + stage.share * (phase.closes - phase.opens)
    if stage.results_out is not None:
        anchor = phase.results + timedelta(days=stage.results_out)
    by = timedelta(days=(now - anchor).days)
    phases = tuple(_moved(one, by) for one in edition.phases)
    bonuses = tuple(
        bonus if bonus.at is None else bonus.model_copy(update={"at": bonus.at + by}) for bonus in edition.bonuses
    )
    reading = None if edition.reading is None else _under_way(edition.reading, now)
    return edition.model_copy(update={"phases": phases, "bonuses": bonuses, "reading": reading})


def _moved(phase: Phase, by: timedelta) -> Phase:
    moments = {name: getattr(phase, name) for name in _MOMENTS}
    moved = {name: when + by for name, when in moments.items() if when is not None}
    return phase.model_copy(update={**moved, "cases": None})


def _under_way(reading: Reading, now: datetime) -> Reading:
    """A reader study that is open now, and quick to try."""
    by = timedelta(days=(now - reading.opens - _READ * (reading.closes - reading.opens)).days)
    moved = {"opens": reading.opens + by, "closes": reading.closes + by}
    return reading.model_copy(update={**moved, "practice": 2, "blocks": 2})


def build(folder: Path, *, seed: int = 0, move: Move = lambda *_: None) -> list[Account]:
    """Make the site of a demo, in the folder of data that the settings name.

    Parameters
    ----------
    folder
        What `isocenter demo` made: a folder per challenge.
    move
        Told about progress: how many submissions are scored, of how many, and the last one.
    """
    from isocenter.server.models import Notification

    accounts, people = _accounts()
    total = sum(_challenge(name, folder / name, people, seed=seed) for name in STAGES)
    _work(total, move)
    Notification.objects.update(read=clock.now())  # nobody needs to be told of what they did not do
    return accounts


def _accounts() -> tuple[list[Account], People]:
    from allauth.account.models import EmailAddress

    from isocenter.server.models import User

    password = secrets.token_urlsafe(9)
    accounts, found = [], []
    for name, what in (
        ("organiser", "organises all challenges and runs the site"),
        ("participant", "is in a team of every challenge"),
        ("reader", "reads for PI-CAI"),
    ):
        email = f"{name}@demo.example"
        user = User.objects.create_user(email, password, name=f"Demo {name}", is_staff=name == "organiser")
        EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
        accounts.append(Account(email, what, password))
        found.append(user)
    return accounts, People(*found)


def _challenge(name: str, home: Path, people: People, *, seed: int) -> int:
    """Import one, with its people and what they handed in; how many submissions wait then."""
    from isocenter.server.hosting.demo_readers import begin_study
    from isocenter.server.organising import importing

    organiser, guest = people.organiser, people.guest
    edition = shifted(load(home), STAGES[name], clock.now())
    with tempfile.TemporaryDirectory(prefix="isocenter-demo-") as scratch:
        bundle = Path(scratch, "bundle")
        (bundle / "pages").mkdir(parents=True)
        (bundle / "challenge.toml").write_text(render(edition), encoding="utf-8")
        (bundle / "pages" / "about.md").write_text(_ABOUT.format(title=edition.title), encoding="utf-8")
        challenge = importing.import_challenge(bundle, user=organiser, slug=name, note="The synthetic edition.")
        if edition.reading is not None:
            begin_study(challenge, Path(scratch, "study"), organiser=organiser, newcomer=people.reader, seed=seed)
        images, times = home / "images", home / "run_times.csv"
        extra = {"run_times": times} if name == "doserad2026" and times.exists() else {}
        if images.is_dir():
            extra["images"] = images
        importing.add_reference(challenge, "", home / "reference", note="Synthetic patients.", user=organiser, **extra)
        handed = list(_handed_in(name, home, edition, Path(scratch), seed=seed, challenge=challenge))
        fill(challenge, handed, organiser, guest)
        for one in handed:
            submit(challenge, one)
        example(challenge, next(one for one in reversed(handed) if one.team != handed[0].team), Path(scratch))
        training(challenge, Path(scratch), seed=seed)
    challenge.published = True
    challenge.save(update_fields=["published"])
    talk(challenge, organiser, guest)
    if STAGES[name].results_out is not None:
        publish_report(challenge, home, STAGES[name].phase)
    return len(handed)


def _handed_in(
    name: str, home: Path, edition: Edition, scratch: Path, *, seed: int, challenge: Any
) -> Iterator[HandedIn]:
    """What `submissions.csv` lists and has files of; of OpenKBP, the attempts of its validation phase."""
    from isocenter.editions import phase_of

    stage = STAGES[name]
    if name == "openkbp2020":
        yield from _validation(edition, scratch, seed=seed, challenge=challenge)
        return
    with (home / "submissions.csv").open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["outputs"]]
    for at, row in enumerate(rows):
        given = row["phase"] or edition.last_phase.name
        phase = phase_of(edition, stage.phase if stage.results_out is None else given)
        until = min(phase.closes, clock.now())
        made = phase.opens + (at + 1) / (len(rows) + 1) * (until - phase.opens)
        yield HandedIn(row["team"], phase.name, row["role"] or "team", made, home / row["outputs"])


def _validation(edition: Edition, scratch: Path, *, seed: int, challenge: Any) -> Iterator[HandedIn]:
    from isocenter import phantoms
    from isocenter.editions import phase_of
    from isocenter.server.organising import importing

    reference, attempts = phantoms.write_openkbp_validation(
        scratch / "validation", counts=_ATTEMPTS, patients=_PATIENTS, seed=seed
    )
    importing.add_reference(challenge, "validation", reference, note="Synthetic patients of the validation phase.")
    phase = phase_of(edition, "validation")
    span = clock.now() - phase.opens
    handed = []
    for at, attempt in enumerate(attempts):  # each is written in place of the one before it
        zip_folder(Path(attempt.folder), scratch / f"{at}.zip")
        made = phase.opens + (attempt.number - 0.5) / attempt.of * span
        handed.append(HandedIn(attempt.team, "validation", "team", made, scratch / f"{at}.zip"))
    yield from sorted(handed, key=lambda one: (one.made, one.team))


def _work(total: int, move: Move) -> None:
    """Do what waits, as a worker does, and tell how far it is."""
    from isocenter.server.work import working

    over = threading.Event()
    teller = threading.Thread(target=_tell, args=(total, move, over), daemon=True)
    teller.start()
    try:
        working.work(threading.Event(), name="demo", once=True)
    finally:
        over.set()
        teller.join()


def _tell(total: int, move: Move, over: threading.Event) -> None:
    from django.db import connection

    from isocenter.server.models import Run

    try:
        while not over.wait(0.5):
            done = Run.objects.filter(kind=Run.Kind.SCORE).exclude(state__in=["queued", "running"]).count()
            move(done, total, "" if done < total else "boards")
    finally:
        connection.close()


_ABOUT = """\
# {title}

This is a synthetic edition: patients, teams and results are made up. Rules, metrics and boards are those of the
published challenge.

Sign in as the participant of the demo to submit, or as its organiser to see what the others do not.
"""
