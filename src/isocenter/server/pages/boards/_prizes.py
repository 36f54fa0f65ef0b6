"""Who gets a bonus that no board decides."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from isocenter.server.boards import prizes
from isocenter.server.boards.progressing import main_board
from isocenter.server.policy import POST, Door, Visit, door


@door(Door.ORGANISER, POST)
def bonus(request: HttpRequest, visit: Visit, phase: str) -> HttpResponse:
    """Name a team."""
    found = visit.phase(phase)
    title, team = request.POST.get("title", ""), request.POST.get("team", "")
    reason = request.POST.get("reason", "").strip()
    try:
        if not reason:
            msg = "Say why: the reason is kept with the decision."
            raise ValueError(msg)
        prizes.name_bonus(visit, found.name, title, team, reason)
        messages.success(request, f"“{title}” goes to {team}.")
    except ValueError as error:
        messages.error(request, str(error))
    return redirect("board", visit.challenge.slug, found.name, main_board(visit, found.name))
