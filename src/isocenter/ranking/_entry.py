"""Who takes part, as what, and which of a team's submissions counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

Role = Literal["team", "organiser", "benchmark"]
Counts = Literal["last", "best", "chosen", "all"]
Per = Literal["phase", "week", "day"]

_SPANS = {"week": timedelta(days=7), "day": timedelta(days=1)}


@dataclass(frozen=True, slots=True)
class Participation:
    """The rules of taking part that decide what a board shows.

    Attributes
    ----------
    quota
        How many submissions a team has in all, or in every span of time that `per` says; more are refused and never
        count. None: no limit.
    counts
        Which of them counts: the "last", the "best" by the board's own score (of equals, the later), or the one that
        the team has "chosen" (PI-CAI); who made a single one has chosen it. "all": each has a row of its own.
    organisers
        "unlisted": members of the organisers' institutes take part but stand on no board (HECKTOR 2020);
        "unranked": they are listed without a rank (PI-CAI); "ranked": they have one, but win no prize.
    per
        What the quota is for: the whole "phase", or any seven days ("week") or 24 hours ("day") in a row.
    ladder
        How much better a submission must be than the one that is shown of its team to be shown instead: by so much, or
        by the standard error of the difference ("parameter-free"); it then decides which one counts. None: no ladder.
    decimals
        To how many decimals scores are shown, ranked, and compared to find the best of a team. None: to all.
    """

    quota: int | None = None
    counts: Counts = "last"
    organisers: Literal["unlisted", "unranked", "ranked"] = "unlisted"
    per: Per = "phase"
    ladder: float | Literal["parameter-free"] | None = None
    decimals: int | None = None

    @property
    def discreet(self) -> bool:
        """Whether a board gives little away: then nothing is shown that would tell more than its scores."""
        return self.ladder is not None or self.decimals is not None

    def lists(self, role: Role) -> bool:
        """Whether a row in this role is shown at all."""
        return role != "organiser" or self.organisers != "unlisted"


def within_quota(moments: Sequence[datetime], *, quota: int | None, per: Per) -> list[bool]:
    """Which of a team's submissions, made at these moments, the quota admits.

    One is refused if so many as the quota allows were admitted before it, in the phase or in the span of time that ends
    with it. What was refused uses up nothing. A week after a submission, to the second, the next one is admitted.

    Examples
    --------
    >>> days = [datetime(2022, 6, day) for day in (1, 5, 8, 14)]
    >>> within_quota(days, quota=1, per="week")
    [True, False, True, False]
    """
    if per not in ("phase", *_SPANS) or (quota is not None and quota < 1):
        msg = f"a quota is of at least 1 per phase, {' or '.join(_SPANS)}, not of {quota} per {per!r}"
        raise ValueError(msg)
    if len({moment.utcoffset() is None for moment in moments}) > 1:
        msg = "some moments have a time zone and some have none"
        raise ValueError(msg)
    admitted: list[datetime] = []
    taken: dict[int, bool] = {}
    for number, moment in sorted(enumerate(moments), key=lambda pair: (pair[1], pair[0])):
        recent = [other for other in admitted if per == "phase" or moment - other < _SPANS[per]]
        taken[number] = quota is None or len(recent) < quota
        if taken[number]:
            admitted.append(moment)
    return [taken[number] for number in range(len(moments))]


def counting(
    scores: Sequence[float | None],
    *,
    quota: int | None,
    counts: Counts,
    better: str,
    chosen: int | None = None,
) -> int:
    """Index of the submission that counts, of a team's submissions in the order they were made.

    Parameters
    ----------
    chosen
        The index of the one that the team chose, where that decides.

    Examples
    --------
    >>> counting([0.7, 0.8, 0.6], quota=5, counts="last", better="higher")
    2
    >>> counting([0.7, 0.8, 0.6], quota=5, counts="best", better="higher")
    1
    >>> counting([0.7, 0.8, 0.6], quota=5, counts="chosen", better="higher", chosen=0)
    0
    """
    if not scores:
        msg = "a team without a submission has none that counts"
        raise ValueError(msg)
    if counts not in ("last", "best", "chosen") or (quota is not None and quota < 1):
        msg = f"of a quota of {quota} the last, the best or the chosen one counts, not {counts!r}"
        raise ValueError(msg)
    allowed = scores[:quota]
    if counts == "chosen":
        if chosen is None and len(allowed) > 1:
            msg = f"of {len(allowed)} submissions the one counts that the team chose, and none is named"
            raise ValueError(msg)
        at = 0 if chosen is None else chosen
        if not 0 <= at < len(allowed):
            msg = f"submission {at + 1} was chosen, but only {len(allowed)} count"
            raise ValueError(msg)
        return at
    if counts == "last":
        return len(allowed) - 1
    sign = 1.0 if better == "higher" else -1.0
    at = 0
    for i, score in enumerate(allowed):
        before = allowed[at]
        if before is None or (
            score is not None and (sign * score >= sign * before or math.isclose(score, before, rel_tol=1e-9))
        ):
            at = i
    return at
