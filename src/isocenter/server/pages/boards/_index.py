"""All boards of a challenge."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse

from isocenter.server.archiving import artefacts
from isocenter.server.boards.progressing import Participation, participation
from isocenter.server.pages.boards._conditional import page
from isocenter.server.pages.boards._words import Named, Outlook, board_names, outlook
from isocenter.server.policy import Door, Visit, door


@dataclass(frozen=True, slots=True)
class Entry:
    """A phase on the list."""

    outlook: Outlook
    boards: dict[str, Named]
    counts: Participation | None
    progress: bool


@door(Door.CHALLENGE)
def boards(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Every phase that they know of and each further cohort, with its boards, and what can be seen from when on."""
    counted = {one.phase.name: one for one in participation(visit)}
    phases = [
        Entry(
            outlook(visit, phase),
            board_names(visit, phase.name),
            counted.get(phase.name),
            visit.sight(phase.name).progress,
        )
        for phase in visit.scored
    ]
    context = {
        "tab": "boards",
        "phases": phases,
        "reports": artefacts.published(visit),
        "title": visit.edition.title,
        "slug": visit.challenge.slug,
    }
    return page(request, "isocenter/boards/boards.html", context, title=visit.edition.title)
