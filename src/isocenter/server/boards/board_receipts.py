"""Who gets the receipt of a board: it names every table that took part, also those of teams that no board lists."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from isocenter.server import boards
from isocenter.server.boards.board_history import teams_of
from isocenter.server.models import Snapshot

if TYPE_CHECKING:
    from isocenter.server.policy import Visit


def receipt_of(visit: Visit, snapshot: Snapshot) -> str | None:
    """The receipt as it was sealed; None for who must not have it, or if there is none.

    Organisers have it always. Everybody has it when the results are out and it tells nothing beside the page: all teams
    are named, all submissions count or could be counted, nobody is unlisted, and no score is kept back. A receipt with
    something left out would prove nothing, so there is none. That of a further cohort is for organisers.
    """
    if not snapshot.receipt or not (visit.organises or _tells_nothing_new(visit, snapshot)):
        return None
    return json.dumps(snapshot.receipt, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _tells_nothing_new(visit: Visit, snapshot: Snapshot) -> bool:
    seen, phase = visit.sight(snapshot.phase), visit.scored_phase(snapshot.phase)
    everything = seen.other_scores and seen.ranks and seen.names and seen.details and seen.progress
    if not everything or seen.first is not None or not visit.is_out(phase):
        return False
    board = boards.thaw(snapshot.content)
    teams = teams_of(snapshot)
    listed = {teams.get(row.submission, row.submission) for row in board.rows}
    tables = snapshot.receipt.get("tables", [])
    return not board.unlisted and all(table["team"] in listed and not table["void"] for table in tables)
