"""Where the code of teams is, once it is released: to everybody, or to those whom a later phase is for."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.validators import URLValidator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from isocenter.server.models import CodeLink
from isocenter.server.people import asking
from isocenter.server.people.teams import NotPossible
from isocenter.server.policy import FORM, Door, Visit, door

_MOST = 300
_address = URLValidator(schemes=["http", "https"])


@dataclass(frozen=True)
class Shown:
    """A link as the visitor sees it."""

    link: CodeLink
    team: str
    phase: str
    released_to: str
    own: bool


def links_of(visit: Visit) -> list[Shown]:
    """The links that the visitor may follow, with names as the boards have them."""
    found = CodeLink.objects.filter(team__challenge=visit.challenge).select_related("team").order_by("made", "pk")
    titles = {phase.name: phase.title for phase in visit.phases}
    return [
        Shown(
            link,
            _name(visit, link),
            titles[link.phase],
            _released_to(link, titles),
            link.team == visit.team,
        )
        for link in found
        if link.phase in titles and _may_see(visit, link)
    ]


def _released_to(link: CodeLink, titles: dict[str, str]) -> str:
    """To whom it is released; to a phase that the visitor does not know of is, for them, not at all."""
    if link.released is None:
        return ""
    return titles.get(link.released_to, "") if link.released_to else "everybody"


def _may_see(visit: Visit, link: CodeLink) -> bool:
    if visit.organises or link.team == visit.team:
        return True
    if link.released is None or link.released > visit.now:
        return False
    return link.released_to == "" or visit.sight(link.released_to).downloads


def _name(visit: Visit, link: CodeLink) -> str:
    """The name of the team, where the board of the phase names everybody or the team consented."""
    seen = visit.sight(link.phase)
    named = seen.names and (seen.first is None or link.team.consents)
    return link.team.name if visit.organises or link.team == visit.team or named else "A team"


@door(Door.CHALLENGE, FORM)
def code(request: HttpRequest, visit: Visit) -> HttpResponse:
    """All links, and those of one's own team to give; posted to, one of them is kept."""
    if request.method == "POST":
        return _save(request, visit)
    context = {"tab": "code", "links": links_of(visit), "may_add": visit.team is not None}
    return render(request, "isocenter/community/code.html", context)


def _save(request: HttpRequest, visit: Visit) -> HttpResponse:
    if visit.team is None:
        msg = "Links to code are given by teams. Found a team or join one first."
        raise PermissionDenied(msg)
    phase = visit.phase(request.POST.get("phase", ""))
    url, licence = request.POST.get("url", "").strip(), " ".join(request.POST.get("licence", "").split())[:100]
    back = redirect("code", visit.challenge.slug)
    if not url:
        CodeLink.objects.filter(team=visit.team, phase=phase.name, released=None).delete()
        messages.success(request, f"There is no link for {phase.title} now, unless it was released before.")
        return back
    try:
        _address(url)
    except ValidationError:
        url = ""
    if not url or len(url) > _MOST:
        messages.error(request, f"That is no address. Write https://… with at most {_MOST} characters.")
        return back
    try:
        asking.link_code(visit, phase, url, licence)
    except NotPossible as why:
        messages.error(request, str(why))
    else:
        messages.success(request, "The link is kept. The organisers see it, and others once they release it.")
    return back
