"""The words of an edition as forms: title and contact, terms, and the questions of its forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse

from isocenter.editions import EquityQuestion, Question
from isocenter.server.models import Reader, Registration, Submission, SurveyAnswers
from isocenter.server.pages.organise.fields import Noted
from isocenter.server.pages.organise.guided import shown, weighed
from isocenter.server.pages.organise.word_fields import KINDS, AboutForm, QuestionForm, TermsForm
from isocenter.server.people import questions_form
from isocenter.server.policy import FORM, Door, Visit, door


@dataclass(frozen=True)
class Asked:
    """One of the forms of an edition: what it is called, who is asked what, and what follows from a change."""

    title: str
    text: str
    effect: str


FORMS = {
    "registration": Asked(
        "Registration",
        "What everybody is asked who registers.",
        "Who has registered already is not asked again, and finds the new form on the page of the registration.",
    ),
    "equity": Asked(
        "Voluntary questions",
        "What people are asked on equity after they registered. Nobody has to answer; answers are kept apart from who "
        "gave them, and are told in numbers only.",
        "Who was asked already is not asked again.",
    ),
    "survey": Asked(
        "Survey",
        "What every team says of its method, once. Without the answers that must be there, its submissions to the last "
        "phase do not count.",
        "Teams that have filled it in are told of new questions that need an answer.",
    ),
    "declarations": Asked(
        "Declarations",
        "What is asked with every submission.",
        "What was handed in before is not asked again, and counts as before.",
    ),
    "readers": Asked(
        "Readers",
        "What everybody is asked who joins the reader study.",
        "Who has joined already is not asked again. Once cases are dealt, these questions stay as they are.",
    ),
}


@door(Door.ORGANISER, FORM)
def about(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Title, short description, organisers, contact."""
    data = request.POST if request.method == "POST" else None
    form = AboutForm(data, edition=visit.edition, initial={"base": visit.challenge.version.number})
    context: dict[str, Any] = {"form": form}
    if form.is_bound and form.is_valid():
        response = weighed(request, visit, form.changed(), context, place=r"(summary\.)?")
        if response is not None:
            return response
    return shown(request, visit, "about", form, context)


@door(Door.ORGANISER, FORM)
def terms(request: HttpRequest, visit: Visit) -> HttpResponse:
    """What has to be accepted; a text that changes gets a new version."""
    data = request.POST if request.method == "POST" else None
    form = TermsForm(data, terms=visit.edition.terms, initial={"base": visit.challenge.version.number})
    accepted = Registration.objects.filter(challenge=visit.challenge).exclude(terms_version="")
    now = visit.edition.terms
    context: dict[str, Any] = {
        "form": form,
        "accepted": 0 if now is None else accepted.filter(terms_version=now.version).count(),
    }
    if form.is_bound and form.is_valid():
        context["preview"] = form.cleaned_data["text"]
        edition = visit.edition.model_copy(update={"terms": form.given()})
        if response := weighed(request, visit, edition, context, place=r"terms\."):
            return response
    return shown(request, visit, "terms", form, context)


@door(Door.ORGANISER, FORM)
def questions(request: HttpRequest, visit: Visit, form: str) -> HttpResponse:
    """The questions of a form: in another order, or without some."""
    asked, now = _form(form), _questions(visit, form)
    data = request.POST if request.method == "POST" else None
    noted = Noted(data, initial={"base": visit.challenge.version.number})
    removed = set(request.POST.getlist("remove"))
    rows = [
        {
            "question": one,
            "kind": KINDS[one.kind].replace(" below", ""),
            "place": request.POST.get(f"place-{one.name}", f"{number}0"),
            "removed": one.name in removed,
            "answers": _answers(visit, form, one.name),
        }
        for number, one in enumerate(now, start=1)
    ]
    context: dict[str, Any] = {
        "form": noted,
        "name": form,
        "asked": asked,
        "forms": {key: one for key, one in FORMS.items() if key != "readers" or form == key or visit.edition.reading},
        "rows": rows,
        "preview": questions_form(now, prefix="preview-"),
    }
    if noted.is_bound and noted.is_valid():
        kept = [row["question"] for row in sorted(rows, key=lambda row: _place(row["place"])) if not row["removed"]]
        edition = visit.edition.model_copy(update={form: tuple(kept)})
        if response := weighed(request, visit, edition, context, place="", then=("organise_questions", form)):
            return response
        context["preview"] = questions_form(kept, prefix="preview-")
    return shown(request, visit, "questions", noted, context)


@door(Door.ORGANISER, FORM)
def question(request: HttpRequest, visit: Visit, form: str, name: str = "") -> HttpResponse:
    """A question to change, or without a name a new one, which comes last."""
    asked, now = _form(form), _questions(visit, form)
    old = next((one for one in now if one.name == name), None)
    if old is None and name:
        raise Http404
    fields = QuestionForm(
        request.POST if request.method == "POST" else None,
        question=old,
        equity=form == "equity",
        taken=[one.name for one in now],
        initial={"base": visit.challenge.version.number},
    )
    context: dict[str, Any] = {"form": fields, "name": form, "asked": asked, "old": old}
    if old is not None:
        context["answers"] = _answers(visit, form, old.name)
    if fields.is_bound and fields.is_valid():
        given = fields.given()
        context["preview"] = questions_form([given], prefix="preview-")
        found = tuple(given if one is old else one for one in now) + (() if old else (given,))
        number = found.index(given) + 1
        edition = visit.edition.model_copy(update={form: found})
        place = rf"{form}\[{number}\]\."
        if response := weighed(request, visit, edition, context, place=place, then=("organise_questions", form)):
            return response
    return shown(request, visit, "question", fields, context)


def _form(name: str) -> Asked:
    if name not in FORMS:
        raise Http404
    return FORMS[name]


def _questions(visit: Visit, form: str) -> tuple[Question | EquityQuestion, ...]:
    found: tuple[Question | EquityQuestion, ...] = getattr(visit.edition, form)
    return found


def _place(text: str) -> float:
    """Where a question goes, by the number beside it; last if that is none."""
    return int(text) if text.isdecimal() and len(text) < 6 else float("inf")


def _answers(visit: Visit, form: str, name: str) -> int | None:
    """How many answers there are to a question; None where nobody may know, as answers are kept apart."""
    rows: QuerySet
    match form:
        case "registration":
            rows = Registration.objects.filter(challenge=visit.challenge, answers__has_key=name)
        case "survey":
            rows = SurveyAnswers.objects.filter(team__challenge=visit.challenge, answers__has_key=name)
        case "declarations":
            rows = Submission.objects.filter(challenge=visit.challenge, declarations__has_key=name)
        case "readers":
            rows = Reader.objects.filter(study__challenge=visit.challenge, answers__has_key=name)
        case _:
            return None
    return int(rows.count())
