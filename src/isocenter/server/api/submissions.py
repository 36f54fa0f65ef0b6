"""Files on their way, and submissions: handed in, listed, followed, cancelled, nominated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.urls import reverse
from ninja import Query, Router, Status

from isocenter.editions import split_cohort
from isocenter.problems import Problem
from isocenter.server.api import shapes
from isocenter.server.api.doors import behind
from isocenter.server.api.people import quota_of
from isocenter.server.models import Run, Submission, Upload
from isocenter.server.policy import Door, Visit
from isocenter.server.submitting import intake, limits, measured, uploads
from isocenter.server.work import queue
from isocenter.server.work.outlook import outlooks
from isocenter.server.work.reasons import from_row, reason_of

router = Router(tags=["Submissions"])


@router.get("/uploads", response=shapes.Part[shapes.Upload], tags=["Uploads"])
@behind(Door.SIGNED_IN)
def list_uploads(request: HttpRequest, page: Query[shapes.Page]) -> dict[str, Any]:
    """The own files on their way, the last first. They are sent to /uploads/ by the protocol tus 1.0."""
    found = Upload.objects.filter(user=request.user).select_related("challenge").order_by("-made", "pk")
    rows = found[page.offset : page.offset + page.limit]
    return {"count": found.count(), "items": [_upload(request, one) for one in rows]}


@router.get("/uploads/{key}", response=shapes.Upload, tags=["Uploads"])
@behind(Door.SIGNED_IN)
def upload(request: HttpRequest, key: UUID) -> dict[str, Any]:
    """An own file on its way; its hash, once all is there."""
    return _upload(request, _own_upload(request, key))


def _own_upload(request: HttpRequest, key: UUID) -> Upload:
    found = Upload.objects.filter(user=request.user, pk=key).select_related("challenge").first()
    if found is None:
        raise Http404
    return found


def _upload(request: HttpRequest, one: Upload) -> dict[str, Any]:
    known = ("id", "phase", "purpose", "name", "size", "sha256", "made")
    return {name: getattr(one, name) for name in known} | {
        "challenge": "" if one.challenge is None else one.challenge.slug,
        "received": uploads.offset_of(one),
        "taken": one.taken is not None,
        "url": request.build_absolute_uri(reverse("upload", args=[one.pk])),
    }


@router.post(
    "/challenges/{slug}/phases/{phase}/submissions",
    response={201: shapes.Accepted, 200: shapes.Accepted, 422: shapes.Failure},
)
@behind(Door.TEAM)
def submit(request: HttpRequest, visit: Visit, phase: str, handed: shapes.Handed) -> Status[Any]:
    """Hand in a finished upload. Asked again for the same one, the answer is the submission that it became (200)."""
    visit.phase(phase)
    sent = _own_upload(request, handed.upload)
    done, status = intake.became(visit, phase, sent), 200
    if done is None:
        limits.count(limits.HANDED_IN, request, visit.user)
        said: dict[str, Any] = {
            "declarations": handed.declarations,
            "comment": handed.comment,
            "again": handed.again,
            "gaps": handed.gaps,
        }
        try:
            done, status = intake.submit(visit, phase, sent, **said), 201
        except intake.Refused:
            done = intake.became(visit, phase, sent)  # the same was asked twice at once
            if done is None:
                raise
    return Status(status, _detail(request, visit, done) | {"quota": quota_of(visit, phase)})


@router.get("/challenges/{slug}/submissions", response=shapes.Part[shapes.Submission])
@behind(Door.TEAM)
def list_submissions(
    request: HttpRequest, visit: Visit, page: Query[shapes.Page], phase: str = "", state: str = ""
) -> dict[str, Any]:
    """The submissions of the own team, the last first; those of all teams, for organisers."""
    found = visit.submissions().select_related("author").order_by("-made", "pk")
    if phase:
        found = found.filter(phase=visit.phase(phase).name)
    if state:
        found = found.filter(state=state)
    rows = list(found[page.offset : page.offset + page.limit])
    return {"count": found.count(), "items": _short(request, visit, rows)}


@router.get("/challenges/{slug}/submissions/{key}", response=shapes.SubmissionDetail)
@behind(Door.TEAM)
def submission(request: HttpRequest, visit: Visit, key: UUID) -> dict[str, Any]:
    """A submission: its state, its place in the queue or how far it is, and its score if that may be seen."""
    return _detail(request, visit, _one(visit, key))


@router.get("/challenges/{slug}/submissions/{key}/problems", response=list[shapes.Problem])
@behind(Door.TEAM)
def problems(_: HttpRequest, visit: Visit, key: UUID) -> list[Any]:
    """What was found in its files."""
    return [as_json(from_row(row)) for row in _one(visit, key).problems]


@router.get("/challenges/{slug}/submissions/{key}/cases", response=shapes.Part[shapes.Case])
@behind(Door.TEAM)
def cases(_: HttpRequest, visit: Visit, key: UUID, page: Query[shapes.Page], cohort: str = "") -> dict[str, Any]:
    """What was measured of every case, where results of single cases may be seen; also on a further `cohort`."""
    one = _one(visit, key)
    phase = measured.phase_on(visit, one, cohort)
    if not visit.sight(phase).own_cases:
        msg = "Results of single cases are not shown in this phase."
        raise PermissionDenied(msg)
    evaluation = measured.in_force([one], split_cohort(phase)[1]).get(one.pk)
    if evaluation is None:
        return {"count": 0, "items": []}
    by_case: dict[str, list[dict[str, Any]]] = {}
    for row in measured.of(visit, one, evaluation).table.iter_rows(named=True):
        if row["case"]:
            by_case.setdefault(row["case"], []).append({name: row[name] for name in ("part", "metric", "value")})
    found = [{"case": case, "scores": scores} for case, scores in by_case.items()]
    return {"count": len(found), "items": found[page.offset : page.offset + page.limit]}


@router.post("/challenges/{slug}/submissions/{key}/cancel", response=shapes.SubmissionDetail)
@behind(Door.TEAM)
def cancel(request: HttpRequest, visit: Visit, key: UUID, reason: str = "") -> dict[str, Any]:
    """Stop a submission that waits or runs; organisers must give a `reason`, which is recorded and told to the team."""
    one = _one(visit, key)
    intake.cancel(visit, one, reason=reason)
    return _detail(request, visit, one)


@router.post("/challenges/{slug}/submissions/{key}/nominate", response=shapes.SubmissionDetail)
@behind(Door.TEAM)
def nominate(request: HttpRequest, visit: Visit, key: UUID) -> dict[str, Any]:
    """Choose the submission that counts, in a phase where teams choose."""
    one = _one(visit, key)
    intake.nominate(visit, one)
    return _detail(request, visit, one)


def _one(visit: Visit, key: UUID) -> Submission:
    found = visit.submissions().select_related("author").filter(pk=key).first()
    if found is None:
        raise Http404
    return found


def _short(request: HttpRequest, visit: Visit, rows: Sequence[Submission]) -> list[dict[str, Any]]:
    """Submissions that the visitor may see, with the scores that they may see."""
    known = ("id", "number", "phase", "made", "name", "size", "sha256", "comment", "state", "nominated")
    found = []
    every = measured.by_cohort(visit, rows)
    for one in rows:
        scores = {name: [_score(score) for score in shown] for name, shown in every[one.pk].items()}
        url = request.build_absolute_uri(reverse("submission", args=[visit.challenge.slug, one.pk]))
        found.append(
            {name: getattr(one, name) for name in known}
            | {
                "team": one.team.name,
                "author": "" if one.author is None else one.author.name,
                "reason": _reason(one),
                "scores": scores.pop(one.phase, []),
                "cohorts": [{"cohort": name, "scores": shown} for name, shown in scores.items()],
                "problems": len(one.problems),
                "url": url,
            }
        )
    return found


def _score(score: measured.BoardScore) -> dict[str, str]:
    metric = score.metric
    return {"board": score.board, "metric": metric.name, "better": metric.better, "value": score.text}


def _reason(one: Submission) -> dict[str, str] | None:
    reason = reason_of(one)
    if reason is None:
        return None
    return {name: getattr(reason, name) for name in ("code", "origin", "title", "advice", "blame", "cost")}


def as_json(problem: Problem) -> dict[str, str]:
    """A problem as the API gives it, with the words of its code."""
    return problem.to_dict() | {"title": problem.title, "advice": problem.advice, "blame": problem.blame}


def _detail(request: HttpRequest, visit: Visit, one: Submission) -> dict[str, Any]:
    from isocenter.server.submitting.attempts import line

    shown = line(visit, one)
    return _short(request, visit, [one])[0] | {
        "declarations": one.declarations,
        "progress": _progress(visit, one, shown.run),
        "void": shown.void,
        "hidden": shown.hidden,
    }


def _progress(visit: Visit, one: Submission, run: Run | None) -> dict[str, Any] | None:
    if run is None or not one.active:
        return None
    place, wait = outlooks(visit, [run])[run.pk]
    return {
        "position": place,
        "done": run.done,
        "total": run.total,
        "wait_seconds": None if wait is None else round(wait.total_seconds()),
        "note": queue.tried(run),
    }
