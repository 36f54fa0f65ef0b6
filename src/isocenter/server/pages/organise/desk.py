"""The desk of organisers: what goes on, what waits for them, what went wrong."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

from django.db.models import Count, Sum
from django.http import HttpRequest, HttpResponse

from isocenter.server.models import Access, Grant, Registration, Run, Submission, Team, Worker
from isocenter.server.organising import readiness
from isocenter.server.pages.organise.acting import page
from isocenter.server.policy import Door, Visit, door
from isocenter.server.reading import overview
from isocenter.server.work import faults, holding
from isocenter.server.work.given_tables import lacking
from isocenter.server.work.reasons import reason_in

_ALIVE = timedelta(minutes=2)
_UNSCORED, _NOT_SCORED = Submission.State.INFRASTRUCTURE, "evaluator or machine failure"


@door(Door.ORGANISER)
def desk(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Everything on one page."""
    challenge = visit.challenge
    steps = readiness.steps(challenge, visit.now)
    return page(
        request,
        visit,
        "desk",
        "desk",
        steps=steps,
        glance=overview.glance(challenge, visit.now) if visit.edition.reading else None,
        undone=sum(not step.done for step in steps),
        waiting=_waiting(visit),
        benchmarks=lacking(challenge),
        people=dict(Counter(challenge.registrations.values_list("state", flat=True))),
        teams=challenge.teams.filter(kind=Team.Kind.TEAM).count(),
        states=[_NOT_SCORED if state == _UNSCORED else label for state, label in Submission.State.choices],
        phases=_by_phase(visit),
        failures=_failures(visit),
        faults=faults.list_faults(challenge),
        held=[(visit.scored_phase(name), number) for name, number in holding.held_phases(challenge).items()],
        queue=_queue(visit),
        grants=Grant.objects.filter(team__challenge=challenge)
        .values("team__name", "phase")
        .annotate(extra=Sum("extra"))
        .order_by("team__name", "phase"),
        excepted=Submission.objects.filter(challenge=challenge, excepted=True).count(),
        decided=challenge.decisions.order_by("-number")[:8],
    )


def _waiting(visit: Visit) -> dict[str, int]:
    """What nobody but an organiser can do."""
    challenge = visit.challenge
    return {
        "registrations": challenge.registrations.filter(state=Registration.State.WAITING).count(),
        "requests": Access.objects.filter(team__challenge=challenge, state=Access.State.WAITING, invited=False).count(),
        "topics": challenge.topics.filter(closed=False).annotate(said=Count("posts")).filter(said=1).count(),
    }


def _by_phase(visit: Visit) -> list[dict[str, Any]]:
    counted: dict[tuple[str, str], int] = Counter(visit.submissions().values_list("phase", "state"))
    return [
        {
            "phase": phase,
            "counts": [counted[phase.name, state] for state in Submission.State.values],
            "total": sum(number for (name, _), number in counted.items() if name == phase.name),
        }
        for phase in visit.edition.phases
    ]


def _failures(visit: Visit) -> list[dict[str, Any]]:
    """Why submissions came to nothing, the most frequent first, with the last run of each reason."""
    failed = (Submission.State.FAILED, Submission.State.INFRASTRUCTURE)
    rows = (
        visit.submissions().filter(state__in=failed).order_by().values("reason", "state").annotate(number=Count("pk"))
    )
    failures = []
    for row in rows.order_by("-number", "reason", "state"):
        code, state = row["reason"], row["state"]
        runs = Run.objects.filter(challenge=visit.challenge, submission__reason=code, submission__state=state)
        last = runs.exclude(detail="").select_related("submission__team").order_by("-queued").first()
        failures.append({"reason": reason_in(code, state), "code": code, "number": row["number"], "last": last})
    return failures


def _queue(visit: Visit) -> dict[str, Any]:
    active = Run.objects.filter(challenge=visit.challenge, state__in=(Run.State.QUEUED, Run.State.RUNNING))
    oldest = active.filter(state=Run.State.QUEUED).order_by("queued").first()
    return {
        "queued": active.filter(state=Run.State.QUEUED).count(),
        "running": active.filter(state=Run.State.RUNNING).count(),
        "oldest": oldest,
        "workers": Worker.objects.filter(stopped=None, seen__gt=visit.now - _ALIVE).count(),
        "last": Worker.objects.order_by("-seen", "-pk").first(),
    }
