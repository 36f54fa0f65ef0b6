"""The data of a challenge: what is released when and to whom, under which licence; and the files themselves."""

from __future__ import annotations

import functools
import hashlib
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from isocenter.editions import Phase
from isocenter.server import files
from isocenter.server.models import Download, LicenceAcceptance, Release, Role
from isocenter.server.policy import Door, Visit, door, refuse
from isocenter.server.submitting.bearer import UnknownCaller, caller
from isocenter.server.telling.known import key_of
from isocenter.server.telling.ranges import send
from isocenter.server.telling.wording import sentence


@dataclass(frozen=True)
class Offer:
    """A release as the visitor finds it.

    Attributes
    ----------
    whys
        Why they cannot have it, and what to do; empty if they can, once the licence is accepted.
    opens
        From when on, if that is not yet.
    to_accept
        Whether they have yet to accept the licence as it is worded now.
    again
        Whether they accepted another wording of it.
    """

    release: Release
    key: str
    whys: tuple[str, ...]
    opens: datetime | None
    to_accept: bool
    again: bool
    command: str

    @property
    def licence_hash(self) -> str:
        """The hash of the licence as it is worded now."""
        return licence_hash(self.release)


@dataclass(frozen=True)
class Shelf:
    """The releases of a phase, and the cases of it that the manifest has; `title` is "" for no phase."""

    title: str
    offers: list[Offer]
    head: tuple[str, ...]
    cases: list[tuple[str, ...]]


def releases_of(visit: Visit) -> list[Release]:
    """The releases that the visitor may know of."""
    known = ["", *(phase.name for phase in visit.phases)]
    return list(visit.challenge.releases.filter(phase__in=known))


@door(Door.CHALLENGE)
def data(request: HttpRequest, visit: Visit) -> HttpResponse:
    """All data, by phase."""
    releases = releases_of(visit)
    shelves = [_shelf(request, visit, None, releases), *(_shelf(request, visit, one, releases) for one in visit.phases)]
    shown = [shelf for shelf in shelves if shelf.offers or shelf.cases]
    return render(request, "isocenter/challenge/data.html", {"tab": "data", "shelves": shown})


def _shelf(request: HttpRequest, visit: Visit, phase: Phase | None, releases: list[Release]) -> Shelf:
    name, title = ("", "") if phase is None else (phase.name, phase.title)
    offers = [_offer(request, visit, one) for one in releases if one.phase == name]
    head, cases = cases_of(visit, name)
    return Shelf(title, offers, head, cases)


def cases_of(visit: Visit, phase: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The manifest of a phase as far as the visitor may see it: names of cases with the data, facts with the results.

    What is said of a case beside its name may tell what its reference is like, so it is seen by those who see their
    results case by case.
    """
    seen = visit.sight(phase)
    whole = visit.organises or not phase or seen.own_cases
    if not (visit.organises or (seen.downloads if phase else visit.accepted)):
        return (), []
    rows = [row for row in visit.challenge.version.cohort if row.get("phase", "") == phase]
    facts = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in ("phase", "case")]
    head = ("case", *(facts if whole else ()))
    return head, [tuple(str(row.get(name, "")) for name in head) for row in rows]


def why_not(visit: Visit, release: Release) -> tuple[list[str], datetime | None]:
    """Why the visitor cannot have a release, apart from its licence, and from when on they can."""
    if visit.organises:
        return [], None
    reasons = [refused] if (refused := refuse(visit, Door.REGISTERED)) else []
    phase = visit.phase(release.phase) if release.phase else None
    moments: list[datetime | None] = [release.released, None if phase is None else phase.opens]
    later = max((moment for moment in moments if moment is not None and visit.now < moment), default=None)
    barred = phase is not None and visit.now >= phase.opens and not visit.sight(phase.name).downloads
    if phase is not None and barred and not reasons:
        reads = Role.Kind.READER in visit.roles
        reason = "readers see no more than everybody" if reads else visit.admission(phase.name).reason
        reasons.append(sentence(f"these data are for those whom {phase.title} is for: {reason}"))
    return reasons, later


def licence_hash(release: Release) -> str:
    """SHA-256 of the licence as it is worded now."""
    return hashlib.sha256(release.licence.encode()).hexdigest()


def _accepted(visit: Visit, release: Release) -> tuple[bool, bool]:
    """Whether the licence as it is worded now is accepted or need not be, and whether any wording of it was."""
    if not release.licence or visit.organises:
        return True, False
    if not visit.user.is_authenticated:
        return False, False
    mine = LicenceAcceptance.objects.filter(user=visit.user, release=release)
    words = set(mine.values_list("licence_sha256", flat=True))
    return licence_hash(release) in words, bool(words)


def _offer(request: HttpRequest, visit: Visit, release: Release) -> Offer:
    key = key_of(visit.challenge, "release", release.pk)
    whys, opens = why_not(visit, release)
    accepted, ever = _accepted(visit, release)
    address = request.build_absolute_uri(reverse("download", args=[visit.challenge.slug, key]))
    name = shlex.quote(safe_name(release.name))
    command = f'curl --fail -C - -H "Authorization: Bearer $ISOCENTER_TOKEN" -o {name} {shlex.quote(address)}'
    return Offer(release, key, tuple(whys), opens, not accepted, ever and not accepted, command)


def safe_name(name: str) -> str:
    """The name of a file without folders, and without what a shell or a terminal would read."""
    plain = re.sub(r"[^\w.+ ()-]", "_", re.split(r"[/\\]", name)[-1]).strip(". -")
    return plain or "data"


def _by_token(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A view for programs too, which show a token."""

    @functools.wraps(view)
    def known(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            caller(request)
        except UnknownCaller as error:
            return HttpResponse(f"{error}\n", status=401, content_type="text/plain; charset=utf-8")
        return view(request, *args, **kwargs)

    return known


@require_safe
@_by_token
@door(Door.REGISTERED)
def download(request: HttpRequest, visit: Visit, key: str) -> HttpResponseBase:
    """A file, or the rest of one; who took it is kept."""
    release = _found(visit, key)
    whys, opens = why_not(visit, release)
    if opens is not None:
        whys.append(f"These data are released on {opens:%-d %B %Y, %H:%M %Z}.")
    accepted, _ = _accepted(visit, release)
    if not accepted:
        whys.append("Accept the licence on the page of the data first.")
    if visit.preview:
        whys.append("A preview is for looking.")
    if whys:
        raise PermissionDenied(" ".join(whys))
    path = files.at(release.file)
    if not path.is_file():
        raise Http404
    sent = send(request, path, name=safe_name(release.name), sha256=release.sha256)
    if request.method == "GET" and sent.stop > sent.start:
        part = "" if (sent.start, sent.stop) == (0, path.stat().st_size) else f", bytes {sent.start}–{sent.stop - 1}"
        Download.objects.create(
            challenge=visit.challenge,
            user=visit.user,
            what=f"{release.title[:150]}: {release.name[:100]}{part}"[:300],
            size=sent.stop - sent.start,
        )
    return sent.response


def _found(visit: Visit, key: str) -> Release:
    """A release by the key of its address, or by its number."""
    for release in releases_of(visit):
        if key in (key_of(visit.challenge, "release", release.pk), str(release.pk)):
            return release
    raise Http404


@require_POST
@door(Door.REGISTERED)
def accept(request: HttpRequest, visit: Visit, key: str) -> HttpResponse:
    """Accept the licence of a release in the words that were shown."""
    release = _found(visit, key)
    back = redirect(f"{reverse('data', args=[visit.challenge.slug])}#{key}")
    if request.POST.get("licence") != licence_hash(release):
        messages.warning(request, "The licence has changed since you opened the page. Read it again, please.")
    elif request.POST.get("accepted") != "yes":
        messages.warning(request, "Tick the box to accept the licence.")
    else:
        LicenceAcceptance.objects.get_or_create(user=visit.user, release=release, licence_sha256=licence_hash(release))
        messages.success(request, f"You accepted the licence of {release.title}.")
    return back
