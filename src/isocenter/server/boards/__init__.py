"""Boards as the site keeps and shows them: made whole by workers, filtered for every viewer when they are looked at."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from isocenter.editions import show_board
from isocenter.server.models import Challenge, Snapshot

if TYPE_CHECKING:
    from isocenter.ranking import Board, BoardRow
    from isocenter.server.policy import Visit


def freeze(board: Board) -> dict[str, Any]:
    """A board as JSON values, with its unlisted rows."""
    return asdict(board)


def thaw(content: dict[str, Any]) -> Board:
    """The board that was frozen."""
    from isocenter.ranking import Board, Note

    return Board(
        name=content["name"],
        metric=content["metric"],
        rule=content["rule"],
        rows=tuple(_row(row) for row in content["rows"]),
        unlisted=tuple(_row(row) for row in content["unlisted"]),
        notes=tuple(map(Note, content["notes"])),
    )


def _row(row: dict[str, Any]) -> BoardRow:
    from isocenter.ranking import BoardRow, Component

    return BoardRow(**{**row, "components": tuple(Component(**part) for part in row["components"])})


def latest(
    challenge: Challenge, phase: str, board: str | None = None, *, at: datetime | None = None
) -> Snapshot | None:
    """The last snapshot of a board (the main one, if none is named), or the last that was made by a moment."""
    from isocenter.server.editions import code_of

    assert challenge.version_id is not None
    name = board or next(iter(code_of(challenge.version_id, phase).boards))
    found = Snapshot.objects.filter(challenge=challenge, phase=phase, board=name)
    if at is not None:
        found = found.filter(made__lte=at)
    return found.order_by("-made").first()


def shown(visit: Visit, snapshot: Snapshot) -> Board:
    """What the visitor may see of a board; the only way by which one leaves the database for a page, a file or a mail.

    Raises `LookupError` where the visitor knows of no such phase.
    """
    return show_board(thaw(snapshot.content), visit.sight(snapshot.phase), salt=bytes(visit.challenge.salt))
