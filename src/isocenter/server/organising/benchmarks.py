"""Rows to compare with: a human reader, a commercial tool, an ensemble. They are listed, and have no rank.

A benchmark is a team without people. Organisers hand in for it, at any time and as often as they like: its outputs,
which are scored like any, or a score table that was made elsewhere. When the reference changes, outputs are measured
anew, and a table stays as it is, with a note; see `given_tables`.
"""

from __future__ import annotations

import uuid
from pathlib import Path

from django.db import IntegrityError, transaction
from django.db.models import Max

from isocenter.server import clock, decisions
from isocenter.server.editions import code_of
from isocenter.server.models import Challenge, Evaluation, Reference, Run, Submission, Team, Upload, User
from isocenter.server.organising.refereeing import name_of, reasoned
from isocenter.server.organising.versioning import Refused
from isocenter.server.people.names import NameProblem, team_name
from isocenter.server.policy import Visit
from isocenter.server.submitting import uploads
from isocenter.server.work import given_tables, in_force, queue


def add(visit: Visit, name: str, reason: str) -> Team:
    """A new benchmark."""
    reason = reasoned(reason)
    with transaction.atomic():
        Challenge.objects.select_for_update().get(pk=visit.challenge.pk)
        try:
            given = team_name(name, visit.challenge.teams.values_list("name", flat=True))
            with transaction.atomic():
                team = Team.objects.create(challenge=visit.challenge, name=given, kind=Team.Kind.BENCHMARK)
        except NameProblem as problem:
            raise Refused(str(problem)) from None
        except IntegrityError:
            msg = f"There is a team {name} already."
            raise Refused(msg) from None
        decisions.record(visit.challenge, _actor(visit), "add a benchmark", given, reason)
        return team


def hand_in(visit: Visit, team: Team, phase: str, upload: Upload, reason: str) -> Submission:
    """What a benchmark is measured by: a zip of outputs, or a score table (`.parquet`).

    Raises
    ------
    Refused
        This is no benchmark, or the table is not one of this challenge and phase.
    """
    reason, chosen = reasoned(reason), visit.phase(phase)
    if team.kind != Team.Kind.BENCHMARK or team.challenge_id != visit.challenge.pk:
        msg = f"{team.name} is no benchmark; its people hand in themselves."
        raise Refused(msg)
    uploads.finished(upload)
    table = _is_table(uploads.path_of(upload))
    reference = in_force.reference_of(visit.challenge, phase)
    if table and reference is None:
        msg = f"{chosen.title} has no reference yet, so a table cannot be compared with it."
        raise Refused(msg)
    content = _table(visit, phase, uploads.path_of(upload), reference) if table and reference else None
    key = uuid.uuid4()
    name = f"submissions/{key}{given_tables.SUFFIX if table else '.zip'}"
    place: Path | None = None
    try:
        with transaction.atomic():
            team = Team.objects.select_for_update().get(pk=team.pk)
            place = uploads.take(upload, name)
            last = Submission.objects.filter(team=team, phase=phase).aggregate(most=Max("number"))["most"] or 0
            submission = Submission.objects.create(
                id=key,
                challenge=visit.challenge,
                team=team,
                phase=phase,
                number=last + 1,
                author=visit.user,
                version=visit.challenge.version,
                made=visit.now,
                name=upload.name,
                file=name,
                size=upload.size,
                sha256=upload.sha256,
                nominated=False,
                state=Submission.State.SCORED if table else Submission.State.QUEUED,
                gaps=True,
            )
            _nominate(submission, chosen.counts)
            if content is not None:
                _keep(visit, submission, reference, content)
            else:
                queue.enqueue(Run.Kind.SCORE, visit.challenge, submission=submission)
            decisions.record(visit.challenge, _actor(visit), "hand in for a benchmark", name_of(submission), reason)
    except BaseException:
        if place is not None:
            place.unlink(missing_ok=True)
        raise
    return submission


def _nominate(submission: Submission, counts: str) -> None:
    """Where teams choose, the last of a benchmark is the one that counts."""
    if counts == "chosen":
        Submission.objects.filter(team=submission.team, phase=submission.phase).update(nominated=False)
        Submission.objects.filter(pk=submission.pk).update(nominated=True)


def _is_table(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(4) == b"PAR1"


def _table(visit: Visit, phase: str, path: Path, reference: Reference) -> dict[str, object]:
    """The contents of an evaluation of a table that was made elsewhere, checked."""
    from isocenter import scores

    code = code_of(visit.challenge.version_id, phase)
    try:
        table = scores.read(path)
    except (ValueError, OSError) as error:
        raise Refused(str(error).splitlines()) from None
    if "submission" in table.columns:
        if table["submission"].n_unique() > 1:
            msg = "The table has results of several submissions; hand in one with a single one."
            raise Refused(msg)
        table = table.drop("submission")
    if problems := given_tables.problems_of(code, table, reference.cases):
        raise Refused(problems)
    return given_tables.content_of(code, table)


def _keep(visit: Visit, submission: Submission, reference: Reference | None, content: dict[str, object]) -> None:
    from isocenter.server.work import making

    Evaluation.objects.create(
        submission=submission,
        reference=reference,
        evaluator=in_force.evaluator_of(visit.challenge, submission.phase),
        made=clock.now(),
        **content,
    )
    making.refresh(visit.challenge, submission.phase)


def _actor(visit: Visit) -> User:
    assert isinstance(visit.user, User)
    return visit.user
