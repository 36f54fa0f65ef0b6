"""What those who run a site should know of its state, each with what to do about it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from django.conf import settings
from django.db import connection
from django.db.models import Q, QuerySet

from isocenter.server import clock
from isocenter.server.mail import are_kept
from isocenter.server.models import Challenge, Mail, Reference, Run, User, Worker

ALIVE = timedelta(minutes=2)
"""A worker that was not seen for longer is taken for gone."""

_LONG_WAIT = timedelta(minutes=15)
_LATELY = timedelta(days=7)
_LITTLE = 5e9


def workers_alive() -> QuerySet[Worker]:
    """The workers that are there: seen lately, or with work whose lease they keep."""
    now = clock.now()
    busy = Run.objects.filter(state=Run.State.RUNNING, lease_until__gt=now).values("worker")
    return Worker.objects.filter(Q(seen__gt=now - ALIVE) | Q(name__in=busy), stopped=None)


@dataclass(frozen=True)
class Finding:
    """Something that was looked at: `good`, `warn` where it can wait, `bad` where it cannot; and what helps."""

    state: Literal["good", "warn", "bad"]
    title: str
    advice: str = ""
    command: str = ""


def findings() -> list[Finding]:
    """All of them, the urgent ones first."""
    order = ("bad", "warn", "good")
    return sorted(_all(), key=lambda one: order.index(one.state))


def _all() -> Iterator[Finding]:
    yield _workers()
    yield _queue()
    yield _disk()
    yield _mail()
    yield _address()
    yield from _second_factors()
    yield from _challenges()
    yield _backup()


def _workers() -> Finding:
    alive = workers_alive().count()
    if alive:
        return Finding("good", f"{alive} worker{'s' * (alive != 1)} at work or waiting for it")
    advice = "Submissions wait. The server starts workers, unless it was told --workers 0; its terminal says more."
    return Finding("bad", "No worker was seen for two minutes", advice, "isocenter worker")


def _queue() -> Finding:
    oldest = Run.objects.filter(state=Run.State.QUEUED).order_by("queued").first()
    if oldest is None or clock.now() - oldest.queued < _LONG_WAIT:
        return Finding("good", "Nothing waits for long")
    minutes = int((clock.now() - oldest.queued).total_seconds() // 60)
    return Finding("warn", f"Something waits since {minutes} minutes", "More workers help.", "isocenter worker")


def _disk() -> Finding:
    space = shutil.disk_usage(settings.DATA)
    free = f"{space.free / 1e9:.1f} of {space.total / 1e9:.0f} GB free for data"
    if space.free < _LITTLE / 5:
        return Finding("bad", free, "Uploads will fail soon. Remove what is not needed, or move the folder of data.")
    if space.free < max(_LITTLE, space.total / 20):
        return Finding("warn", free, "Think of a larger disk before the next deadline.")
    return Finding("good", free)


def _mail() -> Finding:
    if are_kept():
        advice = "People cannot confirm their address by themselves; you find their links under Mail. Set EMAIL_URL."
        return Finding("warn", "Mails are kept here, not sent", advice)
    late = Mail.objects.filter(state=Mail.State.WAITING, made__lt=clock.now() - _LONG_WAIT)
    if number := late.count():
        said = late.exclude(problem="").order_by("-made").values_list("problem", flat=True).first()
        advice = f"The mail server said: {said}" if said else "A worker sends them; is one there?"
        return Finding("bad", f"{number} mail{'s' * (number != 1)} could not be sent for 15 minutes", advice)
    failed = Mail.objects.filter(state=Mail.State.FAILED, made__gt=clock.now() - _LATELY).count()
    if failed:
        title = f"{failed} mail{'s' * (failed != 1)} of the last week came to nothing"
        return Finding("warn", title, "Staff, Mail says why; there they can be sent again.")
    return Finding("good", "Mails are sent")


def _address() -> Finding:
    if settings.PUBLIC:
        return Finding("good", f"People reach the site at {settings.URL}")
    advice = "For others than you, put a proxy with https before it and set ISOCENTER_URL."
    return Finding("warn", "The site has no https address", advice)


def _second_factors() -> Iterator[Finding]:
    from allauth.mfa.models import Authenticator

    if settings.PUBLIC and not settings.REQUIRE_MFA:
        yield Finding("warn", "Organisers sign in without a second factor", "Set ISOCENTER_REQUIRE_MFA=yes.")
    trusted = User.objects.filter(is_active=True, is_staff=True)
    lacking = trusted.exclude(pk__in=Authenticator.objects.filter(type=Authenticator.Type.TOTP).values("user"))
    names = ", ".join(lacking.values_list("name", flat=True))
    if names:
        yield Finding("warn", f"Staff without a second factor: {names}", "Each sets it up under their account.")
    else:
        yield Finding("good", "All who run the site have a second factor")


def _challenges() -> Iterator[Finding]:
    """Phases that take submissions which nothing can score."""
    now = clock.now()
    for challenge in Challenge.objects.filter(version__isnull=False, published=True):
        has = set(Reference.objects.filter(challenge=challenge).values_list("phase", flat=True))
        for phase in challenge.edition.phases:
            if phase.opens <= now < phase.closes and not {"", phase.name, phase.continues} & has:
                title = f"{challenge.edition.title}: {phase.title} is open and has no reference"
                yield Finding("bad", title, "Its organisers add one; until then nothing is scored.")
            for scored in phase.scored[1:]:
                if phase.closes <= now and not {scored.name, scored.continues} & has:
                    title = f"{challenge.edition.title}: {scored.title} has no reference, and the phase is closed"
                    yield Finding("warn", title, "Its organisers add one; then everything is scored on it.")


def _backup() -> Finding:
    kept = "Also copy secret.key and the folders; static and uploads need no copy."
    command = "sqlite3 isocenter.sqlite3 '.backup copy.sqlite3'" if connection.vendor == "sqlite" else "pg_dump"
    return Finding("good", f"Back up {settings.DATA} often", kept, command)
