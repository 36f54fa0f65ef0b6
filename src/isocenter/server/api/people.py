"""Who asks, their registration, their team, what they may hand in; and for staff, the machines."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Min, Q
from django.http import Http404, HttpRequest
from ninja import Router

from isocenter.server import clock
from isocenter.server.api import shapes
from isocenter.server.api.challenges import known_challenges
from isocenter.server.api.doors import behind
from isocenter.server.models import Membership, Registration, Role, Run, Worker
from isocenter.server.policy import Door, Visit
from isocenter.server.submitting import intake

router = Router(tags=["People"])


@router.get("/me", response=shapes.Me)
@behind(Door.SIGNED_IN)
def me(request: HttpRequest) -> dict[str, Any]:
    """Who asks, and where they take part."""
    user = request.user
    registered = dict(Registration.objects.filter(user=user).values_list("challenge", "state"))
    teams = dict(Membership.objects.filter(user=user).values_list("challenge", "team__name"))
    organised = set(Role.objects.filter(user=user, kind=Role.Kind.ORGANISER).values_list("challenge", flat=True))
    places = known_challenges(user).filter(Q(pk__in=registered) | Q(pk__in=organised))
    return {
        "name": user.name,
        "email": user.email,
        "institution": user.institution,
        "zone": user.zone,
        "staff": user.is_staff,
        "challenges": [
            {
                "slug": one.slug,
                "title": one.edition.title,
                "registration": registered.get(one.pk, "none"),
                "team": teams.get(one.pk, ""),
                "organises": one.pk in organised,
            }
            for one in places
        ],
    }


@router.get("/challenges/{slug}/registration", response=shapes.Registration)
@behind(Door.PERSON)
def registration(_: HttpRequest, visit: Visit) -> dict[str, Any]:
    """Whether who asks takes part."""
    found = visit.registration
    return {
        "state": "none" if found is None else found.state,
        "made": None if found is None else found.made,
        "terms_version": "" if found is None else found.terms_version,
        "terms_accepted": None if found is None else found.terms_accepted,
    }


@router.get("/challenges/{slug}/team", response=shapes.Team)
@behind(Door.TEAM)
def team(_: HttpRequest, visit: Visit) -> dict[str, Any]:
    """The own team."""
    if visit.team is None:
        raise Http404
    members = visit.team.memberships.select_related("user").order_by("-leads", "joined", "pk")
    return {
        "name": visit.team.name,
        "kind": visit.team.kind,
        "disqualified": visit.team.disqualified,
        "consents": visit.team.consents,
        "members": [{"name": one.user.name, "leads": one.leads} for one in members],
    }


@router.get("/challenges/{slug}/phases/{phase}/quota", response=shapes.Quota)
@behind(Door.TEAM)
def quota(_: HttpRequest, visit: Visit, phase: str) -> dict[str, Any]:
    """Whether the own team may submit to a phase, how often, and when next."""
    if visit.team is None:
        raise Http404
    return quota_of(visit, phase)


def quota_of(visit: Visit, phase: str) -> dict[str, Any]:
    """The same, for other operations too."""
    left, admission = intake.quota(visit, phase), visit.admission(phase)
    return {
        "phase": phase,
        "admitted": admission.yes,
        "reason": admission.reason,
        "left": left.left,
        "next_slot": left.next_slot,
        "used": left.used,
        "given_back": left.given_back,
        "words": left.words,
    }


@router.get("/workers", response=shapes.Health, tags=["Staff"])
@behind(Door.STAFF)
def workers(_: HttpRequest) -> dict[str, Any]:
    """The workers that are there, and what waits for them."""
    alive = clock.now() - timedelta(seconds=3 * settings.LEASE)
    rows = Worker.objects.filter(stopped=None).order_by("-seen", "-pk")[:200]
    waiting = Run.objects.filter(state=Run.State.QUEUED).aggregate(count=Count("pk"), oldest=Min("queued"))
    running = Run.objects.filter(state=Run.State.RUNNING).count()
    known = ("name", "queue", "version", "started", "seen")
    found = [{name: getattr(row, name) for name in known} | {"alive": row.seen > alive} for row in rows]
    return {"workers": found, "queued": waiting["count"], "running": running, "oldest_queued": waiting["oldest"]}
