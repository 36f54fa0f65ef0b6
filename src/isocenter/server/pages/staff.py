"""Pages for those who run the site: its state, accounts, mails, challenges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path

from isocenter.server import clock
from isocenter.server.hosting import checks
from isocenter.server.mail import are_delivered
from isocenter.server.models import (
    Challenge,
    Mail,
    Release,
    Run,
    SiteDecision,
    Submission,
    Upload,
    User,
    Worker,
)
from isocenter.server.pages.front import card
from isocenter.server.policy import POST, Door, Visit, door
from isocenter.server.work import delivering

PER_PAGE = 50


@door(Door.STAFF)
def overview(request: HttpRequest) -> HttpResponse:
    """Whether all is well, what works and waits, what failed, and how much is kept."""
    alive = set(checks.workers_alive().values_list("pk", flat=True))
    workers = Worker.objects.filter(stopped=None).order_by("-seen", "-pk")[:30]
    running = {run.worker: run for run in Run.objects.filter(state=Run.State.RUNNING).select_related("challenge")}
    context = {
        "here": "overview",
        "now": clock.now(),
        "findings": checks.findings(),
        "workers": [(one, one.pk in alive, running.get(one.name)) for one in workers],
        "queues": _counted(
            Run.objects.filter(state__in=(Run.State.QUEUED, Run.State.RUNNING)), "queue", "kind", "state"
        ),
        "failed": _failed(),
        "kept": _kept(),
    }
    return render(request, "isocenter/staff/overview.html", context)


def _counted(runs: Any, *by: str) -> list[dict[str, Any]]:
    return list(runs.values(*by).annotate(count=Count("pk")).order_by("-count", *by))


def _failed() -> list[dict[str, Any]]:
    """What failed how often, by kind of work and reason, as people call it."""
    from isocenter.server.work.reasons import reason_in

    rows = _counted(Run.objects.filter(state=Run.State.FAILED), "kind", "reason")[:20]
    for row in rows:
        known = reason_in(row["reason"], "")
        row["title"] = known.title if known else row["reason"] or "not said"
    return rows


def _kept() -> list[tuple[str, int, int]]:
    """What is kept of every challenge: its address, the bytes of submissions, and of data to download."""
    sent = dict(Submission.objects.values_list("challenge__slug").annotate(Sum("size")).order_by())
    given = dict(Release.objects.values_list("challenge__slug").annotate(Sum("size")).order_by())
    rows = [(slug, sent.get(slug, 0), given.get(slug, 0)) for slug in sent.keys() | given.keys()]
    waiting = Upload.objects.filter(taken=None).aggregate(total=Sum("received"))["total"] or 0
    return [*sorted(rows, key=lambda row: -row[1] - row[2]), *([("files on their way", waiting, 0)] if waiting else [])]


@door(Door.STAFF)
def users(request: HttpRequest) -> HttpResponse:
    """All accounts, and what was decided about them."""
    query = request.GET.get("q", "").strip()[:100]
    found = User.objects.order_by("-is_staff", "-joined", "-pk")
    for word in query.split():
        found = found.filter(Q(email__icontains=word) | Q(name__icontains=word) | Q(institution__icontains=word))
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    context = {"here": "users", "query": query, "page": page, "decisions": SiteDecision.objects.all()[:20]}
    return render(request, "isocenter/staff/users.html", context)


@door(Door.STAFF)
def user(request: HttpRequest, number: int) -> HttpResponse:
    """An account, and what can be decided about it."""
    from allauth.account.models import EmailAddress
    from allauth.mfa.utils import is_mfa_enabled

    whose = get_object_or_404(User, pk=number)
    context = {
        "here": "users",
        "whose": whose,
        "verified": EmailAddress.objects.filter(user=whose, email__iexact=whose.email, verified=True).exists(),
        "second_factor": is_mfa_enabled(whose),
        "acts": [act for name, act in ACTS.items() if not _refused(name, request.user, whose)],
        "roles": whose.roles.select_related("challenge"),
        "memberships": whose.memberships.select_related("team", "challenge"),
    }
    return render(request, "isocenter/staff/user.html", context)


@dataclass(frozen=True)
class Act:
    """Something that staff may do to an account."""

    name: str
    title: str
    help: str
    field: str
    value: bool


ACTS = {
    act.name: act
    for act in (
        Act(
            "promote",
            "Let them run the site",
            "They see what organisers of all challenges see.",
            "is_staff",
            value=True,
        ),
        Act("demote", "Let them run the site no longer", "Their account stays.", "is_staff", value=False),
        Act("close", "Close the account", "They cannot sign in; what they did stays.", "is_active", value=False),
        Act("reopen", "Open the account again", "They can sign in again.", "is_active", value=True),
    )
}


def _refused(name: str, actor: User, whose: User) -> str:
    """Why something cannot be done to an account; "" if it can. Nobody shuts the door behind themselves."""
    act = ACTS[name]
    if getattr(whose, act.field) == act.value:
        return "That is so already."
    if whose == actor:
        return "Somebody else who runs the site does this for you."
    if name == "promote" and not whose.is_active:
        return "Open the account first."
    return ""


class ActForm(forms.Form):
    """What is done, and why."""

    act = forms.ChoiceField(choices=[(name, act.title) for name, act in ACTS.items()])
    reason = forms.CharField(max_length=500)


@door(Door.STAFF, POST)
def decide(request: HttpRequest, number: int) -> HttpResponse:
    """Do something to an account, and write down who did and why."""
    form = ActForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Nothing was changed: say what and why.")
        return redirect("staff_user", number)
    act = ACTS[form.cleaned_data["act"]]
    with transaction.atomic():
        whose = get_object_or_404(User.objects.select_for_update(), pk=number)
        if why := _refused(act.name, request.user, whose):
            raise PermissionDenied(why)
        setattr(whose, act.field, act.value)
        whose.save(update_fields=[act.field])
        SiteDecision.objects.create(
            actor=request.user.signed, what=act.title, subject=whose.email, reason=form.cleaned_data["reason"]
        )
    messages.success(request, f"Done: {act.title} ({whose.email}).")
    return redirect("staff_user", number)


@door(Door.STAFF)
def mails(request: HttpRequest) -> HttpResponse:
    """The mails that the site wrote, the last first, and what became of them."""
    query, state = request.GET.get("q", "").strip()[:100], request.GET.get("state", "")
    found = Mail.objects.filter(Q(to__icontains=query) | Q(subject__icontains=query)) if query else Mail.objects.all()
    if state in Mail.State.values:
        found = found.filter(state=state)
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    counted = dict(Mail.objects.order_by().values_list("state").annotate(Count("pk")))
    states = [(value, label, counted[value]) for value, label in Mail.State.choices if value in counted]
    context = {"here": "mails", "query": query, "state": state, "states": states, "page": page}
    return render(request, "isocenter/staff/mails.html", context)


@door(Door.STAFF)
def mail(request: HttpRequest, number: int) -> HttpResponse:
    """A mail."""
    one = get_object_or_404(Mail, pk=number)
    stuck = one.state in (Mail.State.KEPT, Mail.State.FAILED) and are_delivered()
    return render(request, "isocenter/staff/mail.html", {"here": "mails", "mail": one, "stuck": stuck})


@door(Door.STAFF, POST)
def mail_again(request: HttpRequest, number: int) -> HttpResponse:
    """Send a mail that was kept, or could not be sent."""
    one = get_object_or_404(Mail, pk=number)
    if are_delivered() and delivering.again(one):
        messages.success(request, "It is sent in a moment.")
    else:
        messages.info(request, "It is on its way already, was sent, or the site has no mail server.")
    return redirect("staff_mail", number)


@door(Door.STAFF)
def challenges(request: HttpRequest) -> HttpResponse:
    """All challenges, also those that are not published."""
    counted = Challenge.objects.annotate(
        people=Count("registrations", filter=Q(registrations__state="accepted"), distinct=True),
        groups=Count("teams", distinct=True),
        attempts=Count("submissions", distinct=True),
    )
    rows = [(one, card(Visit(request.user, one)) if one.version_id else None) for one in counted]
    return render(request, "isocenter/staff/challenges.html", {"here": "challenges", "rows": rows})


urlpatterns = [
    path("", overview, name="staff"),
    path("users/", users, name="staff_users"),
    path("users/<int:number>/", user, name="staff_user"),
    path("users/<int:number>/decide/", decide, name="staff_decide"),
    path("mails/", mails, name="staff_mails"),
    path("mails/<int:number>/", mail, name="staff_mail"),
    path("mails/<int:number>/again/", mail_again, name="staff_mail_again"),
    path("challenges/", challenges, name="staff_challenges"),
]
