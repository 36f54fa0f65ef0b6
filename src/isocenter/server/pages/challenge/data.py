"""The data of a challenge: what is released when and to whom, under which licence; and the files themselves."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from isocenter.editions import Phase
from isocenter.server import files
from isocenter.server.models import Download, Release, Role
from isocenter.server.people import licences
from isocenter.server.people.licences import Accepted, licence_hash
from isocenter.server.policy import POST, Door, Visit, door, refuse
from isocenter.server.submitting.bearer import UnknownCaller, counted_caller
from isocenter.server.submitting.limits import TooMany
from isocenter.server.telling.ranges import send
from isocenter.server.telling.released import training_of
from isocenter.server.telling.wording import sentence

if TYPE_CHECKING:
    from isocenter.viewer import Training


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
    inside
        What the file holds, for who may have it now.
    """

    release: Release
    whys: tuple[str, ...]
    opens: datetime | None
    to_accept: bool
    again: bool
    command: str
    inside: Training | None

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
    own = [one for one in releases if one.phase == name]
    accepted = _accepted(visit, own)
    offers = [_offer(request, visit, one, accepted[one.pk]) for one in own]
    head, cases = cases_of(visit, name)
    return Shelf(title, offers, head, cases)


def cases_of(visit: Visit, phase: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The manifest of a phase as far as the visitor may see it: names of cases with the data, facts with the results.

    What is said of a case beside its name may tell what its reference is like, so it is seen by those who see their
    results case by case.
    """
    every = [row for row in visit.challenge.version.cohort if row.get("phase", "") == phase]
    seen = _seen(visit, phase, [row["case"] for row in every])
    rows = [row for row in every if row["case"] in seen]
    whole = [row for row in rows if seen[row["case"]]]
    head = ("case", *(name for name in dict.fromkeys(name for row in whole for name in row) if name not in _COLUMNS))
    return head if rows else (), [
        tuple(str(row.get(name, "")) if name == "case" or seen[row["case"]] else "" for name in head) for row in rows
    ]


_COLUMNS = ("phase", "case")


def _seen(visit: Visit, phase: str, cases: list[str]) -> dict[str, bool]:
    """Of the cases of a phase those whose names the visitor may see, with whether they may see more.

    A case of no phase is one of all phases that are measured on it: on those that have a reference without it, it is
    not. Of several phases the one that shows least decides.
    """
    if visit.organises:
        return dict.fromkeys(cases, True)
    if phase:
        seen = visit.sight(phase)
        return dict.fromkeys(cases, seen.own_cases) if seen.downloads else {}
    if not cases or not visit.accepted:
        return {}
    references = visit.challenge.references.order_by("number").values_list("phase", "cases")
    own = {name: frozenset(found) for name, found in references}
    found = {}
    for case in cases:
        on = [
            visit.sight(one.name)
            for one in visit.edition.scored
            if one.continues is None and (one.name not in own or case in own[one.name])
        ]
        known = [seen for seen in on if seen.known]  # where it is in one that is not announced, the others decide
        if (known or not on) and all(seen.downloads for seen in known):
            found[case] = all(seen.own_cases for seen in known)
    return found


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


def _accepted(visit: Visit, releases: Collection[Release]) -> dict[int, Accepted]:
    """By the key of a release, whether the visitor may have it as far as its licence goes."""
    if visit.organises or not visit.user.is_authenticated:
        return {one.pk: Accepted(now=visit.organises or not one.licence, ever=False) for one in releases}
    return licences.accepted(visit.user, releases)


def _offer(request: HttpRequest, visit: Visit, release: Release, licence: Accepted) -> Offer:
    whys, opens = why_not(visit, release)
    address = request.build_absolute_uri(reverse("download", args=[visit.challenge.slug, release.key]))
    name = shlex.quote(safe_name(release.name))
    command = f'curl --fail -C - -H "Authorization: Bearer $ISOCENTER_TOKEN" -o {name} {shlex.quote(address)}'
    theirs = licence.now and not whys and opens is None and not visit.preview
    inside = training_of(visit, release) if theirs else None
    return Offer(release, tuple(whys), opens, not licence.now, licence.ever and not licence.now, command, inside)


def safe_name(name: str) -> str:
    """The name of a file without folders, and without what a shell or a terminal would read."""
    plain = re.sub(r"[^\w.+ ()-]", "_", re.split(r"[/\\]", name)[-1]).strip(". -")
    return plain or "data"


def _by_token(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A view for programs too, which show a token."""

    @functools.wraps(view)
    def known(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            counted_caller(request)
        except UnknownCaller as error:
            return HttpResponse(f"{error}\n", status=401, content_type="text/plain; charset=utf-8")
        except TooMany as error:
            wait = {"Retry-After": str(error.wait)}
            return HttpResponse(f"{error}\n", status=429, content_type="text/plain; charset=utf-8", headers=wait)
        return view(request, *args, **kwargs)

    return known


@_by_token
@door(Door.REGISTERED)
def download(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponseBase:
    """A file, or the rest of one; who took it is kept."""
    release = permitted(visit, key)
    path = files.at(release.file)
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


def permitted(visit: Visit, key: UUID) -> Release:
    """A release that the visitor may have, licence and all, and whose file is there; else 403 with the reasons."""
    release = _found(visit, key)
    whys, opens = why_not(visit, release)
    if opens is not None:
        whys.append(f"These data are released on {opens:%-d %B %Y, %H:%M %Z}.")
    if not _accepted(visit, [release])[release.pk].now:
        whys.append("Accept the licence on the page of the data first.")
    if visit.preview:
        whys.append("A preview is for looking.")
    if whys:
        raise PermissionDenied(" ".join(whys))
    if not files.at(release.file).is_file():
        raise Http404
    return release


def _found(visit: Visit, key: UUID) -> Release:
    """A release that the visitor may know of."""
    for release in releases_of(visit):
        if release.key == key:
            return release
    raise Http404


@door(Door.REGISTERED, POST)
def accept(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """Accept the licence of a release in the words that were shown."""
    release = _found(visit, key)
    back = redirect(f"{reverse('data', args=[visit.challenge.slug])}#{key}")
    if request.POST.get("licence") != licence_hash(release):
        messages.warning(request, "The licence has changed since you opened the page. Read it again, please.")
    elif request.POST.get("accepted") != "yes":
        messages.warning(request, "Tick the box to accept the licence.")
    else:
        licences.accept(visit.user, release)
        messages.success(request, f"You accepted the licence of {release.title}.")
    return back
