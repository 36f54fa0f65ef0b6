"""Boards to download."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse

from isocenter.server.boards import board_files
from isocenter.server.boards.board_history import by_digest, newest, sees
from isocenter.server.boards.board_receipts import receipt_of
from isocenter.server.boards.board_table import board_table
from isocenter.server.models import Snapshot
from isocenter.server.pages.boards._conditional import file
from isocenter.server.pages.boards._words import board_names
from isocenter.server.policy import Door, Visit, door


@door(Door.CHALLENGE)
def board_csv(request: HttpRequest, visit: Visit, phase: str, board: str) -> HttpResponse:
    """The board as a table for spreadsheets; `?at=` names one of the past."""
    table = board_table(visit, _found(request, visit, phase, board))
    content = board_files.as_csv(table)
    return file(request, content, name=_name(visit, phase, board, "csv"), kind="text/csv; charset=utf-8")


@door(Door.CHALLENGE)
def board_json(request: HttpRequest, visit: Visit, phase: str, board: str) -> HttpResponse:
    """The board for programs."""
    table = board_table(visit, _found(request, visit, phase, board))
    content = board_files.as_json(table, challenge=visit.challenge.slug, phase=phase)
    return file(request, content, name=_name(visit, phase, board, "json"), kind="application/json")


@door(Door.CHALLENGE)
def board_receipt(request: HttpRequest, visit: Visit, phase: str, board: str) -> HttpResponse:
    """What `isocenter verify` makes the board again from, together with the score tables."""
    content = receipt_of(visit, _found(request, visit, phase, board))
    if content is None:
        msg = "The receipt names everything that took part, so it is for the organisers."
        raise PermissionDenied(msg)
    return file(request, content, name=_name(visit, phase, board, "receipt.json"), kind="application/json")


def _found(request: HttpRequest, visit: Visit, phase: str, board: str) -> Snapshot:
    """The board in force, or that of a permanent address."""
    found = visit.scored_phase(phase)
    if board not in board_names(visit, phase):
        raise Http404
    if not sees(visit, phase):
        if visit.is_held(phase):
            msg = f"The results of “{found.title}” are held back until all submissions are evaluated. Come back then."
            raise PermissionDenied(msg)
        msg = f"Nobody sees results of “{found.title}” before {found.results:%-d %B %Y, %H:%M %Z}. Come back then."
        raise PermissionDenied(msg)
    if digest := request.GET.get("at", ""):
        snapshot = by_digest(visit, digest)
        if (snapshot.phase, snapshot.board) == (phase, board):
            return snapshot
        raise Http404
    last = newest(visit, phase, board)
    if last is None:
        raise Http404
    return last


def _name(visit: Visit, phase: str, board: str, suffix: str) -> str:
    kept = "".join(sign if sign.isalnum() and sign.isascii() else "-" for sign in f"{phase}-{board}")
    return f"{visit.challenge.slug}-{kept}.{suffix}"
