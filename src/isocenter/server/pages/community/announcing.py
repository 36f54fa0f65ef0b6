"""Organisers announce: who reads it, who gets a mail, and how many they are before it is sent."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from isocenter.editions import Viewer, sight
from isocenter.server import decisions, notices
from isocenter.server.models import Announcement, Membership, Registration, User
from isocenter.server.policy import FORM, Door, Visit, door

_TITLE = 200
_TEXT = 20_000

_STATUSES = {
    "teams": "members of teams",
    "alone": "registered, and in no team yet",
    "waiting": "waiting for a decision",
}
"""The statuses that a person who takes part, or asks to, can have: each has one of them."""

_READERS = {
    Announcement.Audience.PUBLIC: ("teams", "alone", "waiting"),
    Announcement.Audience.REGISTERED: ("teams", "alone"),
    Announcement.Audience.TEAMS: ("teams",),
    Announcement.Audience.WAITING: ("waiting",),
}
"""Of whom it can be read: nobody gets a mail about what they cannot read."""


@dataclass(frozen=True)
class Draft:
    """What the form holds, and what is wrong with it."""

    title: str = ""
    text: str = ""
    audience: str = "public"
    phase: str = ""
    mail: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Status:
    """People of a status: how many there are, and whether they get a mail."""

    name: str
    title: str
    people: int
    chosen: bool


def people_of(visit: Visit, status: str) -> list[User]:
    """The people of a status in a challenge; see `_STATUSES`."""
    state = Registration.State.WAITING if status == "waiting" else Registration.State.ACCEPTED
    registered = Registration.objects.filter(challenge=visit.challenge, state=state, user__is_active=True)
    in_teams = Membership.objects.filter(challenge=visit.challenge).values("user")
    if status == "teams":
        registered = registered.filter(user__in=in_teams)
    elif status == "alone":
        registered = registered.exclude(user__in=in_teams)
    return [one.user for one in registered.select_related("user").order_by("user__pk")]


def recipients(visit: Visit, draft: Draft) -> list[User]:
    """Who gets a mail: of the statuses that were chosen, those who can read it. Nobody while its phase is unknown."""
    if draft.phase and not sight(visit.edition, draft.phase, Viewer("participant"), visit.now).known:
        return []
    able = _READERS[Announcement.Audience(draft.audience)]
    return [user for status in draft.mail if status in able for user in people_of(visit, status)]


@door(Door.ORGANISER, FORM)
def announce(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Write an announcement, look at it, and publish it."""
    draft = _read(request, visit) if request.method == "POST" else Draft()
    action = request.POST.get("action", "")
    if action == "publish" and not draft.problems:
        return _published(request, visit, draft)
    statuses = [
        Status(name, title, len(people_of(visit, name)), name in draft.mail) for name, title in _STATUSES.items()
    ]
    context = {
        "tab": "news",
        "draft": draft,
        "statuses": statuses,
        "audiences": Announcement.Audience.choices,
        "phases": visit.phases,
        "preview": action == "preview" and not draft.problems,
        "mails": len(recipients(visit, draft)) if not draft.problems else 0,
        "reader": dict(Announcement.Audience.choices).get(draft.audience, ""),
        "titles": [one.title for one in statuses if one.chosen],
        "phase_title": next((one.title for one in visit.phases if one.name == draft.phase), ""),
        "unknown": bool(draft.phase) and not sight(visit.edition, draft.phase, Viewer("anonymous"), visit.now).known,
    }
    return render(request, "isocenter/community/announce.html", context, status=400 if draft.problems else 200)


def _read(request: HttpRequest, visit: Visit) -> Draft:
    form = request.POST
    title, text = " ".join(form.get("title", "").split()), form.get("text", "").strip()
    audience, phase = form.get("audience", ""), form.get("phase", "")
    mail = tuple(status for status in _STATUSES if status in form.getlist("mail"))
    problems = []
    if not title or len(title) > _TITLE:
        problems.append(f"The title has 1 to {_TITLE} characters.")
    if not text or len(text) > _TEXT:
        problems.append(f"The text has 1 to {_TEXT:,} characters.")
    if audience not in Announcement.Audience.values:
        problems.append("Say who reads it.")
        audience = str(Announcement.Audience.PUBLIC)
    if phase and phase not in [one.name for one in visit.phases]:
        problems.append("There is no such phase.")
        phase = ""
    able = _READERS[Announcement.Audience(audience)]
    if unable := [_STATUSES[status] for status in mail if status not in able]:
        problems.append(f"Nobody gets a mail about what they cannot read: {', '.join(unable)}.")
    return Draft(title, text, audience, phase, mail, tuple(problems))


def _published(request: HttpRequest, visit: Visit, draft: Draft) -> HttpResponse:
    people = recipients(visit, draft)
    with transaction.atomic():
        made = Announcement.objects.create(
            challenge=visit.challenge,
            title=draft.title,
            text=draft.text,
            audience=draft.audience,
            phase=draft.phase,
            author=visit.user,
            made=visit.now,
        )
        whom = dict(Announcement.Audience.choices)[draft.audience]
        to = ", ".join(_STATUSES[status] for status in draft.mail) or "nobody"
        reason = f"for {whom}; mails to {len(people)} people ({to})"
        decisions.record(visit.challenge, visit.user, "announce", draft.title, reason)
        url = reverse("news_item", args=[visit.challenge.slug, made.key])
        notices.notify(people, draft.title, url=url, challenge=visit.challenge, mail=True, body=draft.text)
    mails = "No mail was sent." if not people else f"{len(people)} people get a mail."
    messages.success(request, f"The announcement is published. {mails}")
    return redirect(url)
