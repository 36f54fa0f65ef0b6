"""Taking part: the form, the terms, the voluntary part, and the way out."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from isocenter.editions import check_answers
from isocenter.server import people
from isocenter.server.models import Registration
from isocenter.server.policy import FORM, POST, Door, Visit, door


@door(Door.PERSON, FORM)
def register(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The form of the edition with the terms; who has registered sees what became of it."""
    asked = visit.edition.registration
    if request.method == "POST":
        given = people.read_answers(asked, request.POST)
        shown = request.POST.get("terms_version", "") if request.POST.get("terms") else None
        try:
            found = people.register(visit, given, terms=shown)
        except people.NotPossible as why:
            messages.error(request, str(why))
            return redirect("register", visit.challenge.slug)
        if isinstance(found, Registration):
            return _onwards(request, visit, found)
        of_terms = [one for one in found if one.name == "terms"]
        form = people.questions_form(
            asked, given, problems=[one for one in found if one.name != "terms"], others=of_terms
        )
        return _shown(request, visit, form, accepted=shown is not None, status=400)
    mine = visit.registration
    start: dict[str, object] = {} if mine is None else dict(mine.answers)
    for question in asked:
        if question.kind == "email":
            start.setdefault(question.name, getattr(visit.user, "email", ""))
        elif question.kind == "text" and question.name == "institution":
            start.setdefault(question.name, getattr(visit.user, "institution", ""))
    return _shown(request, visit, people.questions_form(asked, start), accepted=False, status=200)


def _shown(
    request: HttpRequest, visit: Visit, form: people.QuestionsForm, *, accepted: bool, status: int
) -> HttpResponse:
    mine = visit.registration
    context = {
        "form": form,
        "terms_lack": people.terms_lack(visit),
        "terms_accepted": accepted,
        "new": mine is None or mine.state == Registration.State.WITHDRAWN,
        "ask_equity": bool(visit.edition.equity) and mine is not None and not mine.equity_asked,
        "next": _next(request),
        "tab": "register",
    }
    return render(request, "isocenter/people/register.html", context, status=status)


def _onwards(request: HttpRequest, visit: Visit, made: Registration) -> HttpResponse:
    """After the form: the voluntary part, where there is one; else where they came from, or the team."""
    if made.state == Registration.State.WAITING:
        messages.success(request, "Thank you. The organisers decide, and you get a notification.")
    elif made.state == Registration.State.REFUSED:
        messages.error(request, "The organisers refused you before you deleted your account, and that still holds.")
    else:
        messages.success(request, "You are registered.")
    slug, then = visit.challenge.slug, _next(request)
    if visit.edition.equity and not made.equity_asked:
        return redirect(reverse("voluntary", args=[slug]) + (f"?{urlencode({'next': then})}" if then else ""))
    return redirect(then or reverse("team" if made.state == Registration.State.ACCEPTED else "register", args=[slug]))


def _next(request: HttpRequest) -> str:
    """A page of this site that asked to come back to it; "" for none."""
    given = request.POST.get("next") or request.GET.get("next") or ""
    return given if given.startswith("/") and url_has_allowed_host_and_scheme(given, allowed_hosts=None) else ""


@door(Door.PERSON, FORM)
def voluntary(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The part on equity: answered or not, once, and kept apart from the person."""
    mine, asked = visit.registration, visit.edition.equity
    then = _next(request) or reverse("register", args=[visit.challenge.slug])
    if mine is None or not asked or mine.equity_asked:
        return redirect(then)
    if request.method == "POST":
        given = {} if "skip" in request.POST else people.read_answers(asked, request.POST)
        found = check_answers(asked, given)
        if isinstance(found, list):
            form = people.questions_form(asked, given, problems=found)
            return render(request, "isocenter/people/voluntary.html", {"form": form, "next": then}, status=400)
        people.put_equity(mine, found.values)
        messages.success(request, "Thank you. You are not asked again.")
        return redirect(then)
    form = people.questions_form(asked)
    return render(request, "isocenter/people/voluntary.html", {"form": form, "next": then, "tab": "register"})


@door(Door.PERSON, POST)
def withdraw(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Take part no longer."""
    try:
        people.withdraw(visit)
    except people.NotPossible as why:
        messages.error(request, str(why))
    else:
        messages.success(request, "You no longer take part in this challenge.")
    return redirect("register", visit.challenge.slug)


@door(Door.CHALLENGE, FORM)
def terms(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The terms as they are now; who is registered accepts them here when they have changed."""
    if request.method == "POST":
        try:
            people.accept_terms(visit, request.POST.get("terms_version", ""))
        except people.NotPossible as why:
            messages.error(request, str(why))
        else:
            messages.success(request, "Thank you; you accepted the terms.")
        return redirect("terms", visit.challenge.slug)
    lack = people.terms_lack(visit)
    return render(request, "isocenter/people/terms.html", {"terms_lack": lack, "tab": "register"})
