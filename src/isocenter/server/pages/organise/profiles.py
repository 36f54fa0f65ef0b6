"""Names and affiliations of members: what prizes wait for, and the forms by which they are verified or refused."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from isocenter.editions import verdict_on
from isocenter.server.boards import prizes
from isocenter.server.models import Membership, Team, Verification
from isocenter.server.organising import verifying
from isocenter.server.organising.versioning import Refused
from isocenter.server.pages.organise.acting import act, back, page
from isocenter.server.people.verification import profiles_of
from isocenter.server.policy import FORM, Door, Visit, door


class ProfileForm(forms.Form):
    """A verdict on what a profile showed."""

    member = forms.UUIDField(widget=forms.HiddenInput)
    name = forms.CharField(widget=forms.HiddenInput, max_length=120, strip=False)
    affiliation = forms.CharField(widget=forms.HiddenInput, max_length=200, required=False, strip=False)
    reason = forms.CharField(max_length=500, label="What it rests on")


@door(Door.ORGANISER, FORM)
def profiles(request: HttpRequest, visit: Visit) -> HttpResponse:
    """All teams with their members, those first that win something that is held."""
    if request.method == "POST":
        _decide(request, visit)
        return back(visit, "organise_profiles")
    winners = _winners(visit)
    teams = Team.objects.filter(challenge=visit.challenge, kind=Team.Kind.TEAM, disqualified=False)
    members = profiles_of(visit.challenge)
    rows = [
        {
            "team": team,
            "wins": winners.get(team.name, []),
            "verdict": verdict_on(profile for row, profile in members if row.team_id == team.pk),
            "members": [
                {"row": row, "profile": profile, "form": _form(row)}
                for row, profile in members
                if row.team_id == team.pk
            ],
        }
        for team in teams
    ]
    return page(
        request,
        visit,
        "profiles",
        "teams",
        rows=sorted(rows, key=lambda one: (not one["wins"], one["team"].name)),
        wanting=[phase for phase in visit.edition.phases if phase.verification is not None],
    )


def _form(row: Membership) -> ProfileForm:
    given = {"member": row.key, "name": row.user.name, "affiliation": row.user.institution}
    return ProfileForm(initial=given, auto_id=f"%s-{row.key}")


def _winners(visit: Visit) -> dict[str, list[str]]:
    """By team, what it wins in phases that want verified profiles, as their boards stand now."""
    found: dict[str, list[str]] = {}
    for phase in visit.edition.phases:
        winnings = prizes.shown(visit, phase) if phase.verification is not None else None
        for award in () if winnings is None else winnings.awards:
            told = f"{award.title}, {award.amount} {award.currency} ({phase.title})"
            found.setdefault(award.submission, []).append(told)
    return found


def _decide(request: HttpRequest, visit: Visit) -> None:
    def decided(verdict: str) -> bool:
        form = ProfileForm(request.POST)
        if not form.is_valid():
            problems: Any = form.errors
            raise Refused(
                " ".join(f"{form.fields[name].label or name}: {' '.join(texts)}" for name, texts in problems.items())
            )
        given = form.cleaned_data
        row = get_object_or_404(Membership, key=given["member"], challenge=visit.challenge)
        seen = (given["name"], given["affiliation"])
        return verifying.decide_profile(visit, row, Verification.Verdict(verdict), given["reason"], seen=seen)

    act(
        request,
        {
            "verify": (lambda: decided(Verification.Verdict.VERIFIED), "Verified; the person is told."),
            "refuse": (lambda: decided(Verification.Verdict.REFUSED), "Refused; the person is told."),
        },
    )
