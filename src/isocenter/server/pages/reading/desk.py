"""The desk of a reader: joining, the guide, where the study stands, what comes next, and the way out."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from isocenter.server import people
from isocenter.server.models import CaseRead, Reader, User
from isocenter.server.organising.versioning import Refused
from isocenter.server.pages.challenge.home import steps
from isocenter.server.pages.reading.visiting import done_of, reader_of, reading_of, study_of
from isocenter.server.policy import FORM, POST, Door, Visit, door
from isocenter.server.reading import joining, protocol, turns
from isocenter.server.reading.turns import Turn, Waiting


@door(Door.READER, FORM)
def desk(request: HttpRequest, visit: Visit) -> HttpResponse:
    """What the study is, where the reader stands, and what is next; who has not joined gets the form."""
    reader = reader_of(visit)
    if request.method == "POST":
        return _join(request, visit)
    form = None if reader is not None else people.questions_form(visit.edition.readers, _known(visit))
    return _shown(request, visit, reader, form)


def _known(visit: Visit) -> dict[str, object]:
    """Answers that the account gives."""
    return {one.name: getattr(visit.user, "email", "") for one in visit.edition.readers if one.kind == "email"}


def _join(request: HttpRequest, visit: Visit) -> HttpResponse:
    asked = visit.edition.readers
    given = people.read_answers(asked, request.POST)
    try:
        found = joining.join(visit, study_of(visit), given)
    except Refused as why:
        messages.error(request, str(why))
        return redirect("reading", visit.challenge.slug)
    if isinstance(found, list):
        return _shown(request, visit, None, people.questions_form(asked, given, problems=found), status=400)
    messages.success(request, "You have joined the study.")
    to_the_guide = found.guide_version != reading_of(visit).guide_version
    return redirect("reading_guide" if to_the_guide else "reading", visit.challenge.slug)


def _shown(
    request: HttpRequest, visit: Visit, reader: Reader | None, form: people.QuestionsForm | None, status: int = 200
) -> HttpResponse:
    study, reading = study_of(visit), reading_of(visit)
    now = None if reader is None else turns.turn_of(reader, visit.now)
    turn = now if isinstance(now, Turn) else None
    context: dict[str, Any] = {
        "tab": "reading",
        "reading": reading,
        "stages": visit.edition.stages,
        "state": protocol.state(study, visit.edition, visit.now),
        "reader": reader,
        "form": form,
        "steps": steps(visit),
        "done": done_of(visit, reader),
        "turn": turn,
        "title": "" if turn is None else turns.case_title(turn),
        "begun": turn is not None and _is_begun(turn),
        "waiting": now.why if isinstance(now, Waiting) else "",
    }
    return render(request, "isocenter/reading/desk.html", context, status=status)


def _is_begun(turn: Turn) -> bool:
    """Whether the case was opened before."""
    return CaseRead.objects.filter(assignment=turn.assignment).exists()


@door(Door.READER, FORM)
def guide(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The guide, which readers confirm to have read."""
    reader, reading = reader_of(visit), reading_of(visit)
    if request.method == "POST":
        if reader is None or reader.withdrawn is not None:
            return redirect("reading", visit.challenge.slug)
        if not joining.confirm_guide(reader, request.POST.get("version", "")):
            messages.warning(request, "The guide has changed while you read it. This is the version in force.")
            return redirect("reading_guide", visit.challenge.slug)
        messages.success(request, "Thank you.")
        return redirect("reading", visit.challenge.slug)
    asked = reader is not None and reader.withdrawn is None and reader.guide_version != reading.guide_version
    context = {"tab": "reading", "reading": reading, "reader": reader, "asked": asked}
    return render(request, "isocenter/reading/guide.html", context)


@door(Door.READER, POST)
def withdraw(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Read no longer, for good."""
    reader = reader_of(visit)
    assert isinstance(visit.user, User)
    if reader is None or reader.withdrawn is not None:
        messages.error(request, "You do not read in this study, so there is nothing to withdraw from.")
    elif protocol.is_over(reader.study, visit.now):
        messages.error(request, "The study is over, so nobody withdraws from it any more. Write to the organisers.")
    elif request.POST.get("confirm") != "yes":
        messages.error(request, "Tick the box to say that you want to withdraw; nothing was changed.")
    else:
        joining.withdraw(reader)
        messages.success(request, "You have withdrawn from the study.")
    return redirect("reading", visit.challenge.slug)
