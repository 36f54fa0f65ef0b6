"""The front: all challenges, the state of the site for machines, and the link that makes its first account."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django import forms
from django.contrib import messages
from django.contrib.auth import login, password_validation
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.cache import never_cache

import isocenter
from isocenter.server import clock
from isocenter.server.api.challenges import known_challenges
from isocenter.server.hosting import checks, first_admin
from isocenter.server.models import Role, User
from isocenter.server.people.forms import PersonName
from isocenter.server.people.names import MOST_OF_A_PERSON
from isocenter.server.policy import FORM, Door, Somebody, Visit, door, lacks_second_factor


@dataclass(frozen=True)
class Card:
    """A challenge on the front page: what it is, and the next moment that matters."""

    visit: Visit
    state: str
    phase: str
    what: str
    when: datetime | None

    @property
    def task(self) -> str:
        """What is asked, in a few words: kind of task and imaging."""
        mission = self.visit.edition.mission
        return " · ".join(filter(None, (mission.category, mission.modality)))


def card(visit: Visit) -> Card:
    """A challenge as somebody may know of it: from the phases that are announced to them, and no others."""
    now, phases = visit.now, visit.phases
    if is_open := [phase for phase in phases if phase.opens <= now < phase.closes]:
        phase = min(is_open, key=lambda phase: phase.closes)
        return Card(visit, "open", phase.title, "closes", phase.closes)
    if to_come := [phase for phase in phases if now < phase.opens]:
        phase = min(to_come, key=lambda phase: phase.opens)
        return Card(visit, "coming", phase.title, "opens", phase.opens)
    if waiting := [phase for phase in phases if now < phase.results]:
        phase = min(waiting, key=lambda phase: phase.results)
        return Card(visit, "over", phase.title, "results", phase.results)
    if not phases:
        return Card(visit, "coming", "", "", None)
    phase = max(phases, key=lambda phase: phase.closes)
    return Card(visit, "over", phase.title, "closed", phase.closes)


def cards(user: Somebody, query: str = "") -> Iterator[Card]:
    """The challenges that somebody knows of and that have all words of the query."""
    words, now = query.lower().split(), clock.now()
    for challenge in known_challenges(user):
        visit = Visit(user, challenge, now)
        if all(word in _text(visit) for word in words):
            yield card(visit)


def _text(visit: Visit) -> str:
    """What a search looks at."""
    edition = visit.edition
    told = (edition.summary.acronym, edition.summary.abstract, edition.mission.category, edition.mission.modality)
    parts = (visit.challenge.slug, edition.title, *edition.organisers, *(edition.summary.keywords or ()), *told)
    return " ".join(filter(None, parts)).lower()


GROUPS = (("open", "Open now"), ("coming", "Coming up"), ("over", "Over"))


@door(Door.ANYBODY)
def home(request: HttpRequest) -> HttpResponse:
    """All challenges, what is open first."""
    query = request.GET.get("q", "").strip()[:100]
    found = list(cards(request.user, query))
    context = {
        "query": query,
        "groups": [(title, _sorted(found, state)) for state, title in GROUPS],
        "count": len(found),
        "fresh": not found and not query,
        "searchable": bool(query) or len(found) > 6,
        "locked": lacks_second_factor(request.user) and _is_trusted(request.user),
    }
    return render(request, "isocenter/front/home.html", context)


def _is_trusted(user: Somebody) -> bool:
    """Whether they run the site or organise a challenge, of which they see more than others."""
    return user.is_authenticated and (user.is_staff or user.roles.filter(kind=Role.Kind.ORGANISER).exists())


def _sorted(found: Iterable[Card], state: str) -> list[Card]:
    """What comes next first; what is over, the last first; without a date last."""
    chosen = [one for one in found if one.state == state]
    dated = sorted((one for one in chosen if one.when), key=lambda one: one.when, reverse=state == "over")  # type: ignore[arg-type,return-value]
    return dated + [one for one in chosen if not one.when]


@never_cache
@door(Door.ANYBODY)
def health(_: HttpRequest) -> HttpResponse:
    """Whether the site works, for what watches it: 200, or 503 without a database."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        workers = checks.workers_alive().count()
    except DatabaseError:
        return JsonResponse({"database": False}, status=503)
    return JsonResponse({"database": True, "workers": workers, "version": isocenter.__version__})


class FirstAdminForm(forms.Form):
    """The account of whoever runs the site."""

    email = forms.EmailField(label="E-mail address", widget=forms.EmailInput(attrs={"autocomplete": "username"}))
    name = PersonName(max_length=MOST_OF_A_PERSON, label="Name", help_text="As others see it.")
    password = forms.CharField(
        label="Password",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Twelve characters or more.",
        min_length=12,
    )

    def clean_email(self) -> str:
        """An address that no account has."""
        email: str = self.cleaned_data["email"].lower()
        if User.objects.filter(email__iexact=email).exists():
            msg = "There is an account with this address already; take another one."
            raise forms.ValidationError(msg)
        return email

    def clean(self) -> None:
        """The password suits, also beside name and address."""
        given = self.cleaned_data
        if "password" in given:
            user = User(email=given.get("email", ""), name=given.get("name", ""))
            try:
                password_validation.validate_password(given["password"], user)
            except forms.ValidationError as error:
                self.add_error("password", error)


@never_cache
@door(Door.ANYBODY, FORM)
def make_first_admin(request: HttpRequest, secret: str) -> HttpResponse:
    """Make the first account of staff with the link that the terminal showed."""
    if not first_admin.is_valid(secret):
        return render(request, "isocenter/front/void_link.html", status=410)
    form = FirstAdminForm(request.POST or None, label_suffix="")
    if request.method == "POST" and form.is_valid():
        try:
            user = first_admin.use(secret, **form.cleaned_data)
        except first_admin.VoidLink:
            return render(request, "isocenter/front/void_link.html", status=410)
        login(request, user, backend="allauth.account.auth_backends.AuthenticationBackend")
        messages.success(request, "This is your site. The link has done its work and is void.")
        return redirect("home")
    return render(request, "isocenter/front/first_admin.html", {"form": form})


urlpatterns = [
    path("", home, name="home"),
    path("health/", health, name="health"),
    path("first/<str:secret>/", make_first_admin, name="first_admin"),
]
