"""Who takes part, as what, and which of a team's submissions counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Role = Literal["team", "organiser", "benchmark"]


@dataclass(frozen=True, slots=True)
class Participation:
    """The rules of taking part that decide what a board shows.

    Attributes
    ----------
    quota
        How many submissions a team has in all; later ones are refused and never count. None: no limit.
    counts
        Which of them counts: the "last", or the "best" by the board's own score (of equals, the later).
    organisers
        "unlisted": members of the organisers' institutes take part but stand on no board (HECKTOR 2020);
        "unranked": they are listed without a rank (PI-CAI).
    """

    quota: int | None = None
    counts: Literal["last", "best"] = "last"
    organisers: Literal["unlisted", "unranked"] = "unlisted"

    def lists(self, role: Role) -> bool:
        """Whether a row in this role is shown at all."""
        return role != "organiser" or self.organisers == "unranked"


def counting(
    scores: Sequence[float | None],
    *,
    quota: int | None,
    counts: Literal["last", "best"],
    better: str,
) -> int:
    """Index of the submission that counts, of a team's submissions in the order they were made.

    Examples
    --------
    >>> counting([0.7, 0.8, 0.6], quota=5, counts="last", better="higher")
    2
    >>> counting([0.7, 0.8, 0.6], quota=5, counts="best", better="higher")
    1
    """
    if not scores:
        msg = "a team without a submission has none that counts"
        raise ValueError(msg)
    allowed = scores[:quota]
    if counts == "last":
        return len(allowed) - 1
    sign = 1.0 if better == "higher" else -1.0
    worth = [(score is not None, sign * score if score is not None else 0.0, i) for i, score in enumerate(allowed)]
    return max(worth)[2]
