"""A released case to look at: scans, outlines of labels, dose; as slices, or where there is no WebGL as pictures."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from isocenter.server.models import Download, Release
from isocenter.server.pages.challenge.data import permitted
from isocenter.server.policy import Door, Visit, door
from isocenter.server.telling import released

if TYPE_CHECKING:
    from isocenter.viewer import Look, Sight

_A_DAY = timedelta(days=1)
_BUSY = "Several cases are being opened at this moment, each of which takes much memory. Ask again in a few seconds."


@door(Door.REGISTERED)
def case(request: HttpRequest, visit: Visit, key: UUID, case: str) -> HttpResponse:
    """The page of a case, between the one before and the one after it by name."""
    release = permitted(visit, key)
    try:
        look = _look(visit, release, case)
    except released.Busy:
        words = {"tab": "data", "release": release, "why": _BUSY, "wait": released.WAIT}
        return _later(render(request, "isocenter/challenge/busy.html", words))
    training = released.training_of(visit, release)
    names = [] if training is None else list(training.cases)
    at = names.index(case)
    layers = () if look.sight is None else look.sight.layers
    return render(
        request,
        "isocenter/challenge/training_case.html",
        {
            "tab": "data",
            "visit": visit,
            "release": release,
            "title": release.title,
            "case": case,
            "place": at + 1,
            "count": len(names),
            "before": _link(visit, release, names[at - 1]) if at else "",
            "after": _link(visit, release, names[at + 1]) if at + 1 < len(names) else "",
            "cases": [(name, _link(visit, release, name)) for name in names],
            "look": look,
            "modes": () if look.sight is None else look.sight.modes,
            "source": _link(visit, release, case),
            "images": [layer for layer in layers if layer.role == "image"],
            "structures": [layer for layer in layers if layer.role == "structure"],
            "stills": look.figures,
            "truth": "plan" if look.sight and look.sight.kind == "dose" else "label",
        },
    )


@door(Door.REGISTERED)
def sight(_: HttpRequest, visit: Visit, key: UUID, case: str) -> HttpResponse:
    """What a page must know before it loads any volume."""
    try:
        found = _sight(visit, permitted(visit, key), case)
    except released.Busy:
        return _later(HttpResponse(f"{_BUSY}\n", content_type="text/plain; charset=utf-8"))
    return HttpResponse(json.dumps(found.description(), allow_nan=False), "application/json")


@door(Door.REGISTERED)
def volume(request: HttpRequest, visit: Visit, key: UUID, case: str, layer: str) -> HttpResponse:
    """A volume of a case, as NIfTI; that somebody looks at a release is kept, once a day."""
    release = permitted(visit, key)
    try:
        content = _sight(visit, release, case).nifti(layer)
    except released.Busy:
        return _later(HttpResponse(f"{_BUSY}\n", content_type="text/plain; charset=utf-8"))
    if content is None:
        raise Http404
    if request.method == "GET":
        _keep(visit, release, len(content))
    return HttpResponse(content, "application/gzip")


def _keep(visit: Visit, release: Release, size: int) -> None:
    what = f"{release.title[:150]}: {release.name[:100]}, cases to look at"[:300]
    taken = Download.objects.filter(challenge=visit.challenge, user=visit.user, what=what)
    if not taken.filter(made__gt=visit.now - _A_DAY).exists():
        Download.objects.create(challenge=visit.challenge, user=visit.user, what=what, size=size, made=visit.now)


def _look(visit: Visit, release: Release, case: str) -> Look:
    found = released.look(visit, release, case)
    if found is None:
        raise Http404
    return found


def _sight(visit: Visit, release: Release, case: str) -> Sight:
    found = _look(visit, release, case).sight
    if found is None:
        raise Http404
    return found


def _link(visit: Visit, release: Release, case: str) -> str:
    return reverse("training_case", args=[visit.challenge.slug, release.key, case])


def _later(response: HttpResponse) -> HttpResponse:
    response.status_code = 503
    response.headers["Retry-After"] = str(released.WAIT)
    return response
