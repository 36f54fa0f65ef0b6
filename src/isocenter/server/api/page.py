"""The page that explains the API to people."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from isocenter.server.api.v1 import Listed, failure, operations
from isocenter.server.policy import EVERY, Door, door
from isocenter.server.submitting import limits

_FOR = {
    Door.ANYBODY: "everybody",
    Door.SIGNED_IN: "everybody with an account",
    Door.CHALLENGE: "everybody",
    Door.PERSON: "everybody with an account",
    Door.REGISTERED: "participants",
    Door.TEAM: "members of a team",
    Door.ORGANISER: "organisers",
    Door.STAFF: "those who run the site",
}


@door(Door.ANYBODY)
def page(request: HttpRequest) -> HttpResponse:
    """All operations by what they are about, with examples."""
    groups: dict[str, list[tuple[Listed, str]]] = {}
    for one in operations():
        groups.setdefault(one.group, []).append((one, _FOR[one.door]))
    site = request.build_absolute_uri("/").rstrip("/")
    context = {"groups": groups.items(), "site": site, "own": limits.API.most, "nobody": limits.API_OF_NOBODY.most}
    return render(request, "isocenter/api/page.html", context)


@door(Door.ANYBODY, EVERY)
def nothing(request: HttpRequest, **_: str) -> HttpResponse:
    """What is asked of an address that is none, in the form that programs read."""
    return failure(request, "There is no such thing here.", 404)
