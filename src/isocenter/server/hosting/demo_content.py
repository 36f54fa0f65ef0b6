"""What a challenge of the demo has in it: people and teams, what they hand in, data to download, talk, a report."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from isocenter.editions import Question
from isocenter.server import clock


class HandedIn(NamedTuple):
    """An attempt of a team: when, and the folder of its outputs."""

    team: str
    phase: str
    role: str
    made: datetime
    outputs: Path


def fill(challenge: Any, handed: Sequence[HandedIn], organiser: Any, guest: Any) -> None:
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


def _answers(questions: Sequence[Question], email: str) -> dict[str, object]:
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


def submit(challenge: Any, one: HandedIn) -> None:
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


def example(challenge: Any, one: HandedIn, scratch: Path) -> None:
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


def training(challenge: Any, scratch: Path, *, seed: int) -> None:
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


def talk(challenge: Any, organiser: Any, guest: Any) -> None:
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


def publish_report(challenge: Any, home: Path, phase: str) -> None:
    """The report that the demo has made already."""
    from isocenter.server import files
    from isocenter.server.models import Artefact

    one = Artefact(challenge=challenge, kind=Artefact.Kind.REPORT, phase=phase, published=True)
    one.folder = f"artefacts/{one.id}"
    shutil.copytree(home / "report", files.at(one.folder))
    one.save()
