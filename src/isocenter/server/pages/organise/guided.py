"""Settings of an edition as forms. What they change is written back as challenge.toml, and saved as any change is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.forms import Form, formset_factory
from django.http import HttpRequest, HttpResponse

from isocenter.editions import Edition, EditionError, Prize, render
from isocenter.server.organising import versioning
from isocenter.server.organising.running import with_phase
from isocenter.server.organising.versioning import Refused
from isocenter.server.pages.organise.acting import back, page
from isocenter.server.pages.organise.fields import Noted, PhaseForm, PoliciesForm, PrizeForm
from isocenter.server.policy import FORM, Door, Visit, door


@door(Door.ORGANISER, FORM)
def phase(request: HttpRequest, visit: Visit, phase: str) -> HttpResponse:
    """Dates, quota, visibility and admission of a phase."""
    chosen = visit.phase(phase)
    data = request.POST if request.method == "POST" else None
    form = PhaseForm(data, edition=visit.edition, phase=chosen, initial={"base": visit.challenge.version.number})
    number = list(visit.edition.phases).index(chosen) + 1
    context: dict[str, Any] = {"form": form, "chosen": chosen}
    if form.is_bound and form.is_valid():
        edition = with_phase(visit.edition, phase, form.update())
        if response := weighed(request, visit, edition, context, place=rf"phases\[{number}\]\."):
            return response
    return shown(request, visit, "phase", form, context)


@door(Door.ORGANISER, FORM)
def policies(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Missing cases, ties, grids, organisers, and who is named."""
    data = request.POST if request.method == "POST" else None
    form = PoliciesForm(data, policies=visit.edition.policies, initial={"base": visit.challenge.version.number})
    context: dict[str, Any] = {"form": form}
    if form.is_bound and form.is_valid():
        update = {"policies": visit.edition.policies.model_copy(update=form.update())}
        edition = visit.edition.model_copy(update=update)
        if response := weighed(request, visit, edition, context, place=r"policies\."):
            return response
    return shown(request, visit, "policies", form, context)


@door(Door.ORGANISER, FORM)
def prizes(request: HttpRequest, visit: Visit) -> HttpResponse:
    """What there is to win, place by place."""
    data = request.POST if request.method == "POST" else None
    initial = [{**dict(prize), "phase": prize.phase or ""} for prize in visit.edition.prizes]
    kind = formset_factory(PrizeForm, extra=2, max_num=100, absolute_max=100)
    rows = kind(data, initial=initial, form_kwargs={"edition": visit.edition})
    form = Noted(data, initial={"base": visit.challenge.version.number})
    context: dict[str, Any] = {"form": form, "rows": rows}
    if form.is_bound and form.is_valid() and rows.is_valid():
        given = [row.cleaned_data for row in rows if row.cleaned_data.get("place")]
        found = tuple(
            Prize.model_construct(**{**one, "currency": one["currency"].upper(), "phase": one["phase"] or None})
            for one in given
        )
        edition = visit.edition.model_copy(update={"prizes": found})
        if response := weighed(request, visit, edition, context, place=""):
            return response
    return shown(request, visit, "prizes", form, context)


def weighed(
    request: HttpRequest,
    visit: Visit,
    edition: Edition,
    context: dict[str, Any],
    *,
    place: str,
    then: Sequence[str] = ("organise_code",),
) -> HttpResponse | None:
    """Save a changed edition, or say what it would do; None if the form is to be shown again.

    Problems of the settings below `place`, a pattern, are shown beside their fields. What is saved leads to the page
    `then`.
    """
    form = context["form"]
    if edition == visit.edition:
        messages.info(request, "Nothing is different, so nothing was saved.")
        return back(visit, *then)
    text, note = render(edition), form.cleaned_data["note"]
    try:
        if "save" in request.POST:
            base = form.cleaned_data["base"]
            saved = versioning.save(visit.challenge, visit.user, base=base, note=note, toml=text)
            if saved is not None:
                messages.success(request, f"Version {saved.number} is in force.")
            return back(visit, *then)
        new = versioning.checked(text)
    except EditionError as error:
        for problem in error.problems:
            field = re.sub(f"^{place}", "", problem.where).partition("[")[0] if place else ""
            form.add_error(field if field in form.fields else None, problem.message)
        return None
    except Refused as error:
        for sentence in error.problems:
            form.add_error(None, sentence)
        return None
    for sentence in versioning.breaks(visit.challenge, visit.edition, new, now=visit.now):
        form.add_error(None, sentence)
    changes = versioning.changes(visit.edition, new, now=visit.now)
    context |= {
        "checked": True,
        "changes": changes,
        "told": len(versioning.told(visit.challenge)) if any(change.known for change in changes) else 0,
    }
    return None


def shown(request: HttpRequest, visit: Visit, template: str, form: Form, context: dict[str, Any]) -> HttpResponse:
    """The page of a form; with the status that says so, if something is wrong with what was sent."""
    response = page(request, visit, template, "code", **context)
    response.status_code = 422 if form.is_bound and form.errors else 200
    return response
