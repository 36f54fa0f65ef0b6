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
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from isocenter.editions import Edition, Phase, Reading, load, render
from isocenter.editions import Question as EditionQuestion
from isocenter.server import clock

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


class HandedIn(NamedTuple):
    """An attempt of a team: when, and the folder of its outputs."""

    team: str
    phase: str
    role: str
    made: datetime
    outputs: Path


def shifted(edition: Edition, stage: Stage, now: datetime) -> Edition:
    """The edition with its dates moved by whole days, so that it stands where it should now."""
    phase = next(one for one in edition.phases if one.name == stage.phase)
    anchor = phase.opens + stage.share * (phase.closes - phase.opens)
    if stage.results_out is not None:
        anchor = phase.results + timedelta(days=stage.results_out)
    by = timedelta(days=(now - anchor).days)
    phases = tuple(_moved(one, by) for one in edition.phases)
    reading = None if edition.reading is None else _under_way(edition.reading, now)
    return edition.model_copy(update={"phases": phases, "reading": reading})


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
        _fill(challenge, handed, organiser, guest)
        for one in handed:
            _submit(challenge, one)
        _example(challenge, next(one for one in reversed(handed) if one.team != handed[0].team), Path(scratch))
        _training(challenge, Path(scratch), seed=seed)
    challenge.published = True
    challenge.save(update_fields=["published"])
    _talk(challenge, organiser, guest)
    if STAGES[name].results_out is not None:
        _publish_report(challenge, home)
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


def _fill(challenge: Any, handed: Sequence[HandedIn], organiser: Any, guest: Any) -> None:
    """People, teams, and what they answered."""
    from isocenter.server.models import Membership, Registration, SurveyAnswers, Team, User

    edition, roles = challenge.edition, {one.team: one.role for one in handed}
    for at, (name, role) in enumerate(roles.items()):
        team = Team.objects.create(challenge=challenge, name=name, kind=role, consents=at % 2 == 0)
        SurveyAnswers.objects.create(team=team, answers=_answers(edition.survey, ""))
        if role != "team":
            Membership.objects.create(user=organiser, team=team, challenge=challenge) if role == "organiser" else None
            continue
        address = f"{name.lower().replace(' ', '-')}@{challenge.slug}.demo.example"
        people = [User.objects.create_user(address, name=f"Member of {name}", institution=f"Institute of {name}")]
        if not guest.memberships.filter(challenge=challenge).exists():
            people.append(guest)
        for user in people:
            Registration.objects.create(
                user=user,
                challenge=challenge,
                state=Registration.State.ACCEPTED,
                answers=_answers(edition.registration, user.email),
                terms_version="" if edition.terms is None else edition.terms.version,
                terms_accepted=None if edition.terms is None else clock.now(),
                equity_asked=True,
            )
            Membership.objects.create(user=user, team=team, challenge=challenge, leads=user is people[0])


def _answers(questions: Sequence[EditionQuestion], email: str) -> dict[str, object]:
    """Something valid for every question that has to be answered."""
    given: dict[str, object] = {
        "email": email,
        "yes-no": True,
        "country": "CH",
        "number": 1,
        "url": "https://example.org",
    }
    for question in (one for one in questions if one.choices):
        first = (question.choices or ("",))[0]
        given[question.name] = [first] if question.kind == "several" else first
    return {
        question.name: given.get(question.name, given.get(question.kind, "synthetic"))
        for question in questions
        if question.required
    }


def _submit(challenge: Any, one: HandedIn) -> None:
    """Put an attempt where `intake.submit` would have put it at that time, and in the queue."""
    from isocenter.server import files
    from isocenter.server.models import Run, Submission, Team
    from isocenter.server.work import queue

    team = Team.objects.get(challenge=challenge, name=one.team)
    member = team.memberships.first()
    submission = Submission(
        challenge=challenge,
        team=team,
        phase=one.phase,
        number=Submission.objects.filter(team=team, phase=one.phase).count() + 1,
        author=None if member is None else member.user,
        version=challenge.version,
        made=one.made,
        name=f"{one.team}.zip",
        declarations=_answers(challenge.edition.declarations, ""),
        gaps=True,
        nominated=next(p for p in challenge.edition.phases if p.name == one.phase).counts == "chosen",
    )
    submission.file = f"submissions/{submission.id}.zip"
    path = files.at(submission.file)
    path.parent.mkdir(parents=True, exist_ok=True)
    zip_folder(one.outputs, path)
    submission.size, submission.sha256 = path.stat().st_size, files.sha256_of(path)
    submission.save()
    queue.enqueue(Run.Kind.SCORE, challenge, submission=submission, priority=2)  # boards once, when all are scored


def zip_folder(folder: Path, path: Path) -> None:
    """The files of a folder as a zip; one that is a zip is copied."""
    if folder.is_file():
        shutil.copyfile(folder, path)
        return
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in sorted(one for one in folder.rglob("*") if one.is_file()):
            archive.write(file, file.relative_to(folder).as_posix())


def _example(challenge: Any, one: HandedIn, scratch: Path) -> None:
    """Something to download: what a submission looks like."""
    from isocenter.server.organising import importing

    path = scratch / "example-submission.zip"
    zip_folder(one.outputs, path)
    importing.add_release(
        challenge,
        path,
        title="An example of a submission",
        text="Every file that a submission has, with the names that it must have.",
        licence="Synthetic data, made by isocenter. Do with them what you like.",
    )


def _training(challenge: Any, scratch: Path, *, seed: int) -> None:
    """Two patients to look at, with their reference, where there is something to look at."""
    from isocenter.server.hosting.demo_training import write_training
    from isocenter.server.organising import importing

    folder, path = scratch / "training", scratch / "training-cases.zip"
    if write_training(challenge.slug, folder, seed=seed):
        zip_folder(folder, path)
        importing.add_release(
            challenge,
            path,
            title="Two training cases",
            text="Scans and reference of two patients, as they would be given to train on.",
            licence="Synthetic data, made by isocenter. Do with them what you like.",
        )


def _talk(challenge: Any, organiser: Any, guest: Any) -> None:
    """A question that was answered, and news."""
    from isocenter.server.models import Announcement, Post, Topic

    Announcement.objects.create(
        challenge=challenge,
        title="Welcome",
        text="Patients and teams of this challenge are synthetic.",
        author=organiser,
    )
    topic = Topic.objects.create(challenge=challenge, title="Does an empty mask count as missing?", author=guest)
    Post.objects.create(topic=topic, author=guest, text="One of our outputs marks nothing. Is it scored?")
    Post.objects.create(
        topic=topic, author=organiser, text="A file that is there is scored as it is. *Rules & metrics* has an example."
    )


def _publish_report(challenge: Any, home: Path) -> None:
    """The report that the demo has made already."""
    from isocenter.server import files
    from isocenter.server.models import Artefact

    one = Artefact(challenge=challenge, kind=Artefact.Kind.REPORT, phase=STAGES[challenge.slug].phase, published=True)
    one.folder = f"artefacts/{one.id}"
    shutil.copytree(home / "report", files.at(one.folder))
    one.save()


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
