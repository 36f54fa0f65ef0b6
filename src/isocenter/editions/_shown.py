"""A board as one viewer sees it."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isocenter.editions._sight import Sight
from isocenter.editions._standing import places, team_of

if TYPE_CHECKING:
    from isocenter.ranking import Board, BoardRow

# No vowels, so that no alias is a word, and no signs that are taken for one another.
_SIGNS = "23456789BCDFGHJKMNPQRSTVWXZ"
_LENGTH = 6

# Scores that are made of comparisons with other teams: whoever sees the own one learns about the others.
_RELATIVE = frozenset({"mean_rank", "weighted_rank", "win_share", "normalised_sum"})

# What tells how sure a rank is, and so the rank.
_UNKNOWN: dict[str, Any] = dict.fromkeys(("rank_low", "rank_high", "p_first", "p_best", "resamples", "group"))


def show_board(board: Board, sight: Sight, *, salt: bytes = b"") -> Board:
    """The board with what a viewer may see of it, and nothing else.

    Boards that differ only in what the viewer may not see become equal. Where ranks are hidden, rows stand in the
    order of their names; a score that compares teams, such as a mean rank, is hidden with them. Of rows that stand on
    no board, a team keeps its own, under `unlisted`. Notes speak of teams, so they stay only where all teams are named.

    Parameters
    ----------
    salt
        A secret of the edition, for the names of teams that are not to be named; see `alias`.

    Raises
    ------
    LookupError
        The viewer knows of no such phase.
    """
    if not sight.known:
        msg = "there is no such phase"
        raise LookupError(msg)
    if sight.unlisted:
        return board
    place = places(board, several=sight.several)
    rows = [_shown(row, board, sight, place, salt) for row in board.rows if sight.other_scores or _own(row, sight)]
    if not sight.ranks:
        rows.sort(key=lambda row: (len(row.submission), row.submission))
    unlisted = [_shown(row, board, sight, place, salt) for row in board.unlisted if _own(row, sight)]
    everybody = sight.other_scores and sight.names and sight.first is None and sight.details
    return replace(board, rows=tuple(rows), unlisted=tuple(unlisted), notes=board.notes if everybody else ())


def alias(team: str, salt: bytes) -> str:
    """A name for a team that is not to be named: always the same, and no hint of who it is or how good.

    It is made of a keyed hash (HMAC-SHA-256), so whoever knows all teams, but not the salt, cannot find out by trying.

    Examples
    --------
    >>> alias("Doubs", b"a secret of the edition")
    'Team MF2WZR'
    """
    if not salt:
        msg = "teams without a name need a salt, a secret of the edition; without one anybody could find out who is who"
        raise ValueError(msg)
    number = int.from_bytes(hmac.new(salt, team.encode("utf-8", "surrogatepass"), hashlib.sha256).digest())
    signs = []
    for _ in range(_LENGTH):
        number, at = divmod(number, len(_SIGNS))
        signs.append(_SIGNS[at])
    return f"Team {''.join(signs)}"


def _own(row: BoardRow, sight: Sight) -> bool:
    """Whether a row is of the viewer's team, which may see it."""
    return sight.own_scores and sight.team != "" and team_of(row.submission, several=sight.several) == sight.team


def _shown(row: BoardRow, board: Board, sight: Sight, place: dict[str, int], salt: bytes) -> BoardRow:
    row = replace(row, submission=_name(row, sight, place, salt))
    if not sight.ranks:
        parts = tuple(replace(part, rank=None) for part in row.components)
        row = replace(row, rank=None, **_UNKNOWN, components=parts)
        if board.metric in _RELATIVE:
            row = replace(row, score=None, low=None, high=None)
    if not sight.details:
        row = replace(row, components=(), low=None, high=None, **_UNKNOWN)
    if sight.decimals is not None and row.score is not None:
        from isocenter.ranking import rounded

        row = replace(row, score=rounded(row.score, sight.decimals))
    return row


def _name(row: BoardRow, sight: Sight, place: dict[str, int], salt: bytes) -> str:
    """The name that a row has for the viewer; benchmarks are no teams, and always named."""
    team = team_of(row.submission, several=sight.several)
    among_the_first = sight.first is None or place.get(team, sight.first + 1) <= sight.first
    if row.role == "benchmark" or _own(row, sight) or (sight.names and (among_the_first or team in sight.consents)):
        return row.submission
    return alias(team, salt) + row.submission.removeprefix(team)
