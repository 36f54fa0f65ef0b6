"""Which boards of the past a visitor may look at.

A board that everybody could see at its time is no secret later. One that nobody could see is shown after the results
only where the phase has no names to keep: whoever led for a week in April would else be told apart by the name that the
final board leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils import timezone

from isocenter.server.models import Snapshot
from isocenter.server.work.holding import out_since

if TYPE_CHECKING:
    from isocenter.editions import Phase
    from isocenter.server.policy import Visit

_MOST = 60  # moments in a list; of more, the last of every day


@dataclass(frozen=True, slots=True)
class Past:
    """A board of the past, without what stands on it.

    Attributes
    ----------
    made
        Since when it looks so.
    digest
        Its permanent address. Who sees unlisted rows has one for every board that was made; for all others boards that
        differ only in what is not listed are one, or they would tell when such a submission came.
    """

    id: UUID
    made: datetime
    digest: str


def sees(visit: Visit, phase: str) -> bool:
    """Whether there may be anything on a board of the phase for them: all rows, or those of their own team."""
    seen = visit.sight(phase)
    return seen.other_scores or seen.own_scores


def newest(visit: Visit, phase: str, board: str) -> Snapshot | None:
    """The board in force; None where there is none yet, and where they may see nothing of it."""
    if not sees(visit, phase):
        return None
    return _made(visit.challenge.pk, phase, board).order_by("-made").first()


def history(visit: Visit, phase: Phase, board: str) -> list[Past]:
    """The boards that they may look at, newest first; none for who sees but an own row."""
    seen = visit.sight(phase.name)
    if not seen.other_scores:
        return []
    last = _made(visit.challenge.pk, phase.name, board).order_by("-made").values_list("pk", flat=True).first()
    if last is None:
        return []
    every = _until(last, visit.challenge.pk, phase.name, board, whole=seen.unlisted)
    since = _since(visit, phase)
    if since is None:
        return list(every)
    later = [past for past in every if past.made >= since]
    return list(every[: len(later) + 1])  # the one that was in force at that moment is the last of them


@lru_cache(maxsize=32)
def _until(_last: UUID, challenge: int, phase: str, board: str, *, whole: bool) -> tuple[Past, ...]:
    """All boards until the last, newest first. Boards are added and never changed, so until then nothing expires."""
    every: list[Past] = []
    found = _made(challenge, phase, board).order_by("made")
    for key, made, digest, face in found.values_list("id", "made", "digest", "face"):
        if not whole and every and every[-1].digest == face:
            every[-1] = Past(key, every[-1].made, face)
        else:
            every.append(Past(key, made, digest if whole else face))
    return tuple(reversed(every))


def _made(challenge: int, phase: str, board: str) -> QuerySet[Snapshot]:
    return Snapshot.objects.filter(challenge=challenge, phase=phase, board=board, problem="")


def _since(visit: Visit, phase: Phase) -> datetime | None:
    """From when on the board was there to be seen; None where it does not matter."""
    seen = visit.sight(phase.name)
    if seen.unlisted or (seen.progress and seen.first is None):
        return None
    return phase.opens if phase.visibility == "public" else out_since(visit.challenge, phase)


def thinned(past: Sequence[Past]) -> list[Past]:
    """No more moments than a list can hold: all, or the last of every day on the viewer's clock."""
    if len(past) <= _MOST:
        return list(past)
    zone = timezone.get_current_timezone()
    of_days: dict[date, Past] = {}
    for one in past:
        of_days.setdefault(one.made.astimezone(zone).date(), one)
    return list(of_days.values())


def by_digest(visit: Visit, digest: str) -> Snapshot:
    """The board that a permanent address names, if they may look at it; else there is none (404)."""
    known = {phase.name: phase for phase in visit.scored}
    found = Snapshot.objects.filter(
        Q(digest=digest) | Q(face=digest), challenge=visit.challenge, problem="", phase__in=list(known)
    )
    if visit.organises and (last := found.order_by("-made").first()) is not None:
        return last  # also by an address that a team found, and shared
    for phase, board in dict.fromkeys(found.order_by("-made").values_list("phase", "board")):
        for past in history(visit, known[phase], board):
            if past.digest == digest:
                return Snapshot.objects.get(pk=past.id)
    raise Http404


def rows_of(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """By row of a board, what is known of the submission that it is about: its team, its key."""
    return {entry["row"]: entry for entry in snapshot.entries if entry["row"]}


def teams_of(snapshot: Snapshot) -> dict[str, str]:
    """By row of a board, the team that it is of."""
    return {row: entry["team"] for row, entry in rows_of(snapshot).items()}
