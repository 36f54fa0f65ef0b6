"""Teams and their places on a board."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isocenter.ranking import Board


def team_of(submission: str, *, several: bool) -> str:
    """The team of a row; where every submission has a row of its own, a number follows its name.

    Examples
    --------
    >>> team_of("Limmat #2", several=True), team_of("Limmat #2", several=False)
    ('Limmat', 'Limmat #2')
    """
    team, _, number = submission.rpartition(" #")
    return team if several and number.isdecimal() else submission


def places(board: Board, *, several: bool) -> dict[str, int]:
    """By team that competes, its place: one more than the number of teams with a better rank.

    Organisers and benchmarks take no place, and of several rows of a team the best one counts. So teams that tie share
    the best of their places, whichever way the board counts its ranks.
    """
    best: dict[str, float] = {}
    for row in board.rows:
        if row.role == "team" and row.rank is not None:
            team = team_of(row.submission, several=several)
            best[team] = min(row.rank, best.get(team, row.rank))
    return {team: 1 + sum(other < rank for other in best.values()) for team, rank in best.items()}
