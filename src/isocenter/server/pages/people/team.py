"""The page of a team: who is in it, what it may do, and what it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from isocenter.server import files, mail, people
from isocenter.server.models import Access, CodeLink, Download, Membership, Registration, Team
from isocenter.server.people import asking, teams
from isocenter.server.people.forms import AccessForm, CodeForm, InviteForm
from isocenter.server.people.teams import NotPossible
from isocenter.server.policy import FORM, Door, Visit, door, visit_to
from isocenter.server.submitting import intake


@door(Door.REGISTERED, FORM)
def team(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The visitor's team; who has none founds one here. `do` in a form says what is to be done."""
    if request.method == "POST":
        act = _ACTS.get(request.POST.get("do", ""))
        if act is None:
            raise Http404
        try:
            messages.success(request, act(request, visit))
        except NotPossible as why:
            messages.error(request, str(why))
        return redirect("team", visit.challenge.slug)
    if visit.team is None:
        return render(request, "isocenter/people/no_team.html", {"tab": "team"})
    return render(request, "isocenter/people/team.html", _context(visit, visit.team))


def _context(visit: Visit, one: Team) -> dict[str, Any]:
    codes = {link.phase: link for link in CodeLink.objects.filter(team=one)}
    asked = {access.phase: access for access in Access.objects.filter(team=one)}
    submitted = teams.has_submitted(one)
    last = visit.edition.last_phase
    return {
        "team": one,
        "members": _members(visit, one),
        "invitations": teams.open_invitations(one) if visit.leads else [],
        "submitted": submitted,
        "may_change": not submitted and not visit.is_over,
        "lacks": visit.standing(last.name, one).lacking,
        "survey_lacks": people.survey_lacks(visit, one),
        "last": last if last in visit.phases else None,
        "phases": [
            {
                "phase": phase,
                "admission": visit.admission(phase.name),
                "quota": intake.quota(visit, phase.name, one) if visit.now < phase.closes else None,
                "access": asked.get(phase.name),
                "may_ask": phase.admission == "request" and visit.now < phase.closes,
                "code": codes.get(phase.name),
                "opened": visit.now >= phase.opens,
            }
            for phase in visit.phases
        ],
        "few_named": _few_named(visit),
        "tab": "team",
    }


def _few_named(visit: Visit) -> dict[int, list[str]]:
    """By number of teams that are named, the titles of the phases where it is so; none where all are."""
    few: dict[int, list[str]] = {}
    for phase in visit.phases:
        if (first := visit.edition.named_in(phase)) is not None:
            few.setdefault(first, []).append(phase.title)
    return few


def _members(visit: Visit, one: Team) -> list[dict[str, Any]]:
    rows = Membership.objects.filter(team=one).select_related("user").order_by("-leads", "joined", "pk")
    found = Registration.objects.filter(challenge=visit.challenge, user__in=rows.values("user"))
    registrations = {row.user_id: row for row in found}
    terms = visit.edition.terms
    members = []
    for row in rows:
        registration = registrations.get(row.user_id)
        accepted = registration is not None and registration.state == Registration.State.ACCEPTED
        late = terms is not None and registration is not None and registration.terms_version != terms.version
        members.append({"row": row, "registration": registration, "accepted": accepted, "late": accepted and late})
    return members


def _found(request: HttpRequest, visit: Visit) -> str:
    made = teams.found(visit, request.POST.get("name", ""))
    more = " It is a team of the organisers, as you are one." if made.kind == Team.Kind.ORGANISER else ""
    return f"The team “{made.name}” is founded.{more}"


def _rename(request: HttpRequest, visit: Visit) -> str:
    if visit.team is None:
        raise Http404
    teams.rename(visit, visit.team, request.POST.get("name", ""), reason=request.POST.get("reason", ""))
    return "The team has its new name."


def _invite(request: HttpRequest, visit: Visit) -> str:
    form = InviteForm(request.POST)
    if not form.is_valid():
        raise NotPossible(" ".join(form.errors["email"]))
    made = teams.invite(
        visit, form.cleaned_data["email"], lambda secret: mail.link(request, reverse("join", args=[secret]))
    )
    return f"An invitation is on its way to {made.email}. It can be used once, within seven days."


def _take_back(request: HttpRequest, visit: Visit) -> str:
    found = (
        [] if visit.team is None else [one for one in visit.team.invitations.all() if str(one.key) == _which(request)]
    )
    if not found:
        raise Http404
    teams.take_back(visit, found[0])
    return "The invitation is taken back."


def _leave(_: HttpRequest, visit: Visit) -> str:
    teams.leave(visit)
    return "You left the team."


def _remove(request: HttpRequest, visit: Visit) -> str:
    row = _member(request, visit)
    teams.remove(visit, row)
    return f"{row.user.name} is no longer in the team."


def _hand_over(request: HttpRequest, visit: Visit) -> str:
    row = _member(request, visit)
    teams.hand_over(visit, row)
    return f"{row.user.name} leads the team now."


def _consent(request: HttpRequest, visit: Visit) -> str:
    if visit.team is None or not visit.leads:
        msg = "Only who leads the team can do this."
        raise NotPossible(msg)
    yes = request.POST.get("consents") == "yes"
    Team.objects.filter(pk=visit.team.pk).update(consents=yes)
    return "The team may be named." if yes else "The team is named only where its place or the rules demand it."


def _code(request: HttpRequest, visit: Visit) -> str:
    form = CodeForm(request.POST)
    if not form.is_valid():
        raise NotPossible(" ".join(text for texts in form.errors.values() for text in texts))
    phase = visit.phase(request.POST.get("phase", ""))
    asking.link_code(visit, phase, form.cleaned_data["url"], form.cleaned_data["licence"])
    return "The link to the code is saved; the organisers see it."


def _which(request: HttpRequest) -> str:
    return str(request.POST.get("which", ""))


def _member(request: HttpRequest, visit: Visit) -> Membership:
    rows = Membership.objects.filter(team=visit.team).select_related("user")
    found = next((row for row in rows if str(row.key) == _which(request)), None)
    if found is None:
        raise Http404
    return found


_ACTS: dict[str, Callable[[HttpRequest, Visit], str]] = {
    "found": _found,
    "rename": _rename,
    "invite": _invite,
    "take-back": _take_back,
    "leave": _leave,
    "remove": _remove,
    "hand-over": _hand_over,
    "consent": _consent,
    "code": _code,
}


@door(Door.SIGNED_IN, FORM)
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """What a link of an invitation leads to: which team, which challenge, and the button."""
    invitation = teams.invitation_of(secret)
    if invitation is None or not teams.is_for(invitation, request.user):
        # To who has no right to it an invitation is as one that never was.
        return render(request, "isocenter/people/no_invitation.html", status=404)
    visit = visit_to(request.user, invitation.team.challenge.slug)
    if request.method == "POST":
        try:
            joined = teams.join(visit, secret)
        except NotPossible as why:
            messages.error(request, str(why))
            return redirect("join", secret)
        messages.success(request, f"Welcome to the team “{joined.name}”.")
        return redirect("team", visit.challenge.slug)
    context = {"invitation": invitation, "visit": visit, "secret": secret}
    return render(request, "isocenter/people/join.html", context)


@door(Door.TEAM, FORM)
def access(request: HttpRequest, visit: Visit, phase: str) -> HttpResponse:
    """Ask to take part in a phase that is open on request."""
    found = visit.phase(phase)
    if found.admission != "request":
        raise Http404
    asked = Access.objects.filter(team=visit.team, phase=phase).first() if visit.team is not None else None
    form = AccessForm(
        request.POST or None, request.FILES or None, initial=None if asked is None else {"text": asked.text}
    )
    if request.method == "POST" and form.is_valid():
        try:
            asking.ask(visit, found, form.cleaned_data["text"], form.cleaned_data["document"])
        except NotPossible as why:
            messages.error(request, str(why))
        else:
            messages.success(request, "The organisers have your request, and you get a notification when they decide.")
        return redirect("team", visit.challenge.slug)
    context = {"form": form, "phase": found, "access": asked, "tab": "team"}
    return render(request, "isocenter/people/access.html", context, status=400 if form.errors else 200)


@door(Door.REGISTERED)
def document(request: HttpRequest, visit: Visit, key: UUID) -> FileResponse:
    """The document of a request, for the team that sent it and for organisers, whose look is logged; else none."""
    rows = Access.objects.filter(team__challenge=visit.challenge).exclude(document="")
    mine = rows if visit.organises else rows.filter(team=visit.team)
    one = mine.filter(key=key).first()
    if one is None:
        raise Http404
    path = files.at(one.document)
    if request.method == "GET" and one.team != visit.team:
        what = f"document of {one.team.name} for {one.phase}"
        Download.objects.create(challenge=visit.challenge, user=visit.user, what=what[:300], size=path.stat().st_size)
    return FileResponse(path.open("rb"), as_attachment=True, filename="request.pdf", content_type="application/pdf")
