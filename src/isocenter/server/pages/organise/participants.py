"""People: who registers, who organises, who reads; and what they were asked on equity, in numbers only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from isocenter.server.models import Membership, Registration, Role
from isocenter.server.organising import admitting
from isocenter.server.pages.organise.acting import act, attempt, back, csv_file, page, paged
from isocenter.server.people import conflicts
from isocenter.server.people import equity as tallies_of
from isocenter.server.policy import FORM, Door, Visit, door


@door(Door.ORGANISER, FORM)
def participants(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Everybody who registered, with what they answered beside what is decided on them."""
    if request.method == "POST":
        return _decide(request, visit)
    shown = paged(request, _found(request, visit))
    flags = conflicts.flags_of_all(visit.challenge.pk, shown)
    rows = [
        {
            "one": one,
            "answers": list(_answers(visit, one)),
            "flags": flags[one.pk],
            "team": next((m.team for m in one.user.here), None),
        }
        for one in shown
    ]
    return page(
        request,
        visit,
        "participants",
        "participants",
        rows=rows,
        shown=shown,
        states=Registration.State.choices,
        chosen=request.GET.get("state", ""),
        query=request.GET.get("q", ""),
    )


def _found(request: HttpRequest, visit: Visit) -> QuerySet:
    here = Membership.objects.filter(challenge=visit.challenge).select_related("team")
    rows = (
        Registration.objects.filter(challenge=visit.challenge)
        .select_related("user")
        .prefetch_related(Prefetch("user__memberships", here, to_attr="here"))
        .order_by("-made", "pk")
    )
    if (state := request.GET.get("state", "")) in Registration.State.values:
        rows = rows.filter(state=state)
    if query := request.GET.get("q", "").strip()[:100]:
        rows = rows.filter(
            Q(user__name__icontains=query) | Q(user__email__icontains=query) | Q(user__institution__icontains=query)
        )
    return rows


def _answers(visit: Visit, registration: Registration) -> Iterator[tuple[str, str]]:
    for question in visit.edition.registration:
        yield question.label, in_words(registration.answers.get(question.name))


def in_words(answer: object) -> str:
    """An answer as a text."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if isinstance(answer, list):
        return ", ".join(map(str, answer))
    return "" if answer is None else str(answer)


def _decide(request: HttpRequest, visit: Visit) -> HttpResponse:
    keys = [key for key in request.POST.getlist("registration") if key.isdecimal()]
    chosen = Registration.objects.filter(challenge=visit.challenge, pk__in=keys)
    accepted = request.POST.get("action") == "accept"
    reason = request.POST.get("reason", "") or ("takes part" if accepted else "")
    with attempt(request):
        done = admitting.decide(visit, chosen, accepted=accepted, reason=reason)
        what = "accepted" if accepted else "refused"
        if done:
            messages.success(request, f"{done} registration{'s' * (done != 1)} {what}; they are told by mail.")
        else:
            messages.info(request, "Nobody was chosen, or all were decided on before.")
    return back(visit, "organise_participants")


@door(Door.ORGANISER)
def as_csv(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The same as a table; without the answers on equity, which belong to nobody."""
    questions = visit.edition.registration
    head = ["name", "email", "institution", "state", "team", "registered", *(one.name for one in questions)]
    rows = [
        [
            one.user.name,
            one.user.email,
            one.user.institution,
            one.state,
            next((m.team.name for m in one.user.here), ""),
            one.made.isoformat(timespec="seconds"),
            *(in_words(one.answers.get(question.name)) for question in questions),
        ]
        for one in _found(request, visit)
    ]
    return csv_file(f"{visit.challenge.slug}-participants.csv", head, rows)


@door(Door.ORGANISER, FORM)
def roles(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Organisers and readers, and whether registration needs a decision."""
    if request.method == "POST":
        given: dict[str, Any] = {key: request.POST.get(key, "") for key in ("email", "kind", "reason", "role")}
        reason = given["reason"]
        act(
            request,
            {
                "add": (
                    lambda: admitting.add_role(visit, given["email"], given["kind"], reason),
                    "Added, and told by mail.",
                ),
                "remove": (lambda: _remove(visit, given["role"], reason), "Removed."),
                "approve": (
                    lambda: admitting.set_approval(visit, approval=True, reason=reason),
                    "You decide from now on.",
                ),
                "open": (
                    lambda: admitting.set_approval(visit, approval=False, reason=reason),
                    "Everybody comes in at once.",
                ),
            },
        )
        return back(visit, "organise_roles")
    found = Role.objects.filter(challenge=visit.challenge).select_related("user").order_by("kind", "user__name")
    return page(request, visit, "roles", "participants", roles=found, kinds=Role.Kind.choices)


def _remove(visit: Visit, key: str, reason: str) -> bool:
    role = get_object_or_404(Role, pk=key if key.isdecimal() else 0, challenge=visit.challenge)
    return admitting.remove_role(visit, role, reason)


@door(Door.ORGANISER)
def equity(request: HttpRequest, visit: Visit) -> HttpResponse:
    """What people answered voluntarily, counted; once registration is over, and with small numbers pooled."""
    return page(request, visit, "equity", "participants", tallies=tallies_of.tallies(visit))
