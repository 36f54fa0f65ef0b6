"""Teams: what they take part as, and what is decided on them; requests to take part in a phase."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Count, Max, Q
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from isocenter.server import files
from isocenter.server.models import Access, Download, Membership, SurveyAnswers, Team
from isocenter.server.organising import refereeing
from isocenter.server.organising.versioning import Refused
from isocenter.server.pages.organise.acting import act, back, key_in, page, paged, whole_number
from isocenter.server.pages.organise.participants import in_words
from isocenter.server.people.conflicts import conflicts_of, conflicts_of_all
from isocenter.server.policy import FORM, Door, Visit, door


@door(Door.ORGANISER)
def teams(request: HttpRequest, visit: Visit) -> HttpResponse:
    """All of them."""
    rows = Team.objects.filter(challenge=visit.challenge).annotate(
        sent=Count("submissions", distinct=True),
        people=Count("memberships", distinct=True),
        last=Max("submissions__made"),
    )
    if query := request.GET.get("q", "").strip()[:100]:
        rows = rows.filter(name__icontains=query)
    if (kind := request.GET.get("kind", "")) in Team.Kind.values:
        rows = rows.filter(kind=kind)
    shown = paged(request, rows.order_by("name"), per_page=25)  # each is compared with all organisers
    near = conflicts_of_all(visit.challenge.pk, [one for one in shown if one.kind == Team.Kind.TEAM])
    return page(
        request,
        visit,
        "teams",
        "teams",
        shown=shown,
        rows=[(one, near.get(one.pk, [])) for one in shown],
        kinds=Team.Kind.choices,
        chosen=kind,
        query=query,
    )


@door(Door.ORGANISER, FORM)
def team(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """One, with everything that can be decided on it."""
    found = get_object_or_404(Team, key=key, challenge=visit.challenge)
    if request.method == "POST":
        _decide(request, visit, found)
        return back(visit, "organise_team", key)
    survey = SurveyAnswers.objects.filter(team=found).first()
    return page(
        request,
        visit,
        "team",
        "teams",
        team=found,
        members=found.memberships.select_related("user").order_by("-leads", "joined", "pk"),
        conflicts=conflicts_of(found),
        kinds=Team.Kind.choices,
        phases=[_in_phase(visit, found, phase) for phase in visit.edition.phases],
        sent=visit.submissions().filter(team=found)[:20],
        others=Team.objects.filter(challenge=visit.challenge).exclude(pk=found.pk),
        survey=[(q.label, in_words(survey.answers.get(q.name))) for q in visit.edition.survey] if survey else [],
        people=found.memberships.count(),
        decided=visit.challenge.decisions.filter(
            Q(subject=found.name) | Q(subject__startswith=f"{found.name}, ")
        ).order_by("-number")[:20],
    )


def _in_phase(visit: Visit, team: Team, phase: Any) -> dict[str, Any]:
    """How a team stands in a phase."""
    from isocenter.server.submitting import intake

    return {
        "phase": phase,
        "quota": intake.quota(visit, phase.name, team).words,
        "granted": refereeing.granted_to(team, phase.name),
        "access": Access.objects.filter(team=team, phase=phase.name).first(),
    }


def _decide(request: HttpRequest, visit: Visit, team: Team) -> None:
    post = request.POST
    reason, phase = post.get("reason", ""), post.get("phase", "")

    def granted() -> bool:
        return refereeing.grant(
            visit, team, phase, whole_number(request, "extra"), reason, seen=whole_number(request, "seen")
        )

    act(
        request,
        {
            "disqualify": (
                lambda: refereeing.disqualify(visit, team, reason),
                f"{team.name} is disqualified, and told.",
            ),
            "reinstate": (lambda: refereeing.reinstate(visit, team, reason), f"{team.name} takes part again."),
            "kind": (lambda: refereeing.set_kind(visit, team, post.get("kind", ""), reason), "Changed; boards follow."),
            "rename": (
                lambda: refereeing.rename(visit, team, post.get("name", ""), reason),
                "The team has its new name.",
            ),
            "grant": (granted, "Granted; the team is told."),
            "invite": (lambda: refereeing.invite(visit, team, phase, reason), "Invited."),
            "move": (lambda: _moved(visit, post.get("member", ""), post.get("to", ""), reason), "Moved."),
        },
    )


def _moved(visit: Visit, member: str, to: str, reason: str) -> bool:
    if not (member and to):
        msg = "Choose a person and a team."
        raise Refused(msg)
    membership = get_object_or_404(Membership, key=key_in(member), challenge=visit.challenge)
    return refereeing.move(
        visit, membership, get_object_or_404(Team, key=key_in(to), challenge=visit.challenge), reason
    )


@door(Door.ORGANISER, FORM)
def requests(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Requests to take part in a phase, with their documents."""
    if request.method == "POST":
        key = key_in(request.POST.get("access", ""))
        access = get_object_or_404(Access, key=key, team__challenge=visit.challenge)
        reason = request.POST.get("reason", "")
        act(
            request,
            {
                "grant": (
                    lambda: refereeing.decide_access(visit, access, granted=True, reason=reason),
                    f"{access.team.name} takes part, and is told.",
                ),
                "refuse": (
                    lambda: refereeing.decide_access(visit, access, granted=False, reason=reason),
                    f"The request of {access.team.name} is refused, and the team told.",
                ),
            },
        )
        return back(visit, "organise_requests")
    rows = Access.objects.filter(team__challenge=visit.challenge, invited=False).select_related("team")
    titles = {phase.name: phase.title for phase in visit.edition.phases}
    return page(
        request,
        visit,
        "requests",
        "teams",
        rows=[(one, titles.get(one.phase, one.phase)) for one in rows.order_by("decided", "made", "pk")],
    )


@door(Door.ORGANISER)
def document(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """What a team sent with its request; every look at it is logged."""
    access = get_object_or_404(Access, key=key, team__challenge=visit.challenge)
    if not access.document or not (path := files.at(access.document)).is_file():
        raise Http404
    name = f"request-{access.phase}-{access.key.hex[:8]}{path.suffix}"
    what = f"document of {access.team.name} for {access.phase}"
    if request.method == "GET":
        Download.objects.create(
            challenge=visit.challenge, user=visit.user, what=what[:300], size=path.stat().st_size, made=visit.now
        )
    return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type="application/octet-stream")
