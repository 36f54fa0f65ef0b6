"""What those who wait are told: their place in the queue, and how long it takes.

A place tells how much others do. So it is counted among what whoever looks may know of: the score runs of their
challenge, in phases of which they may see how many submissions there are (`Sight.counts`), and those of their own team.
Phases that are hidden from them, other challenges, boards and reports count neither for the place nor for the wait.
That work may still come first. Then it takes longer than was said, which is all that can be learned of it, and cannot
be kept from somebody who has a clock.

Asked for many runs at once, as a list of submissions does every few seconds, it costs as many questions to the database
as for one.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import F, Q, QuerySet

from isocenter.server import clock
from isocenter.server.models import Run, Worker

if TYPE_CHECKING:
    from isocenter.server.policy import Visit

# How many of the last runs say how long the next one takes.
_RECENT = 20
_UNKNOWN = float("nan")


class Outlook(NamedTuple):
    """What is to come for a run.

    Attributes
    ----------
    place
        Among the score runs that wait and that the visitor may know of, 1 for the first; 0 for what does not wait.
    wait
        Until it is done, at the earliest, as recent score runs of its phase went. None if that cannot be said: no such
        run yet, one of a phase without any before it, or no worker.
    """

    place: int
    wait: timedelta | None


def outlooks(visit: Visit, runs: Sequence[Run]) -> dict[UUID, Outlook]:
    """By key, what is to come for score runs of submissions that the visitor may see."""
    usual = cache(lambda phase: _usual(visit.challenge.pk, phase))
    told = _told(visit)
    lines = {queue: _Line(told, queue, usual) for queue in {run.queue for run in runs if run.state == Run.State.QUEUED}}
    return {
        run.pk: lines[run.queue].outlook(run) if run.state == Run.State.QUEUED else Outlook(0, _rest(run, usual))
        for run in runs
    }


def _told(visit: Visit) -> QuerySet[Run]:
    """The score runs that the visitor may know of."""
    counted = [phase.name for phase in visit.edition.phases if visit.sight(phase.name).counts]
    known = Q(submission__phase__in=counted)
    if visit.team is not None:
        known |= Q(submission__team=visit.team)
    return Run.objects.filter(known, challenge=visit.challenge, kind=Run.Kind.SCORE)


class _Line:
    """What waits and runs in a queue, as far as it is told, in the order in which it is claimed."""

    def __init__(self, told: QuerySet[Run], queue: str, usual: Any) -> None:
        here = told.filter(queue=queue)
        fields = ("priority", "queued", "pk", "submission__phase")
        waiting = sorted(map(_order, here.filter(state=Run.State.QUEUED).values_list(*fields)))
        running = here.filter(state=Run.State.RUNNING).values_list("submission__phase", flat=True)
        self._usual = usual
        self._order = [entry[:3] for entry in waiting]
        begun = sum(map(usual, running))
        self._before = list(accumulate((usual(entry[3]) for entry in waiting), initial=begun))
        lately = clock.now() - timedelta(seconds=3 * settings.LEASE)
        alive = Worker.objects.filter(stopped=None, seen__gt=lately).values_list("queue", flat=True)
        self._hands = sum(queue in queues.split(",") for queues in alive)

    def outlook(self, run: Run) -> Outlook:
        assert run.submission is not None
        at = bisect_left(self._order, (-run.priority, run.queued, run.pk))
        if not self._hands:
            return Outlook(at + 1, None)
        return Outlook(at + 1, _span(self._before[at] / self._hands + self._usual(run.submission.phase)))


def _order(row: tuple[Any, ...]) -> tuple[Any, ...]:
    priority, *rest = row
    return (-priority, *rest)


def _rest(run: Run, usual: Any) -> timedelta | None:
    """How long what runs will run."""
    if run.state != Run.State.RUNNING or run.started is None:
        return None
    gone = (clock.now() - run.started).total_seconds()
    if 0 < run.done <= run.total:
        return timedelta(seconds=gone * (run.total - run.done) / run.done)
    assert run.submission is not None
    return _span(usual(run.submission.phase) - gone)


def _usual(challenge: int, phase: str) -> float:
    """The median of how many seconds recent runs took; NaN if there is none, which makes every sum unknown."""
    scored = Run.objects.filter(challenge=challenge, kind=Run.Kind.SCORE, submission__phase=phase, cohort="")
    spans = (
        scored.filter(state=Run.State.DONE, started__isnull=False)
        .order_by("-finished")
        .annotate(took=F("finished") - F("started"))
        .values_list("took", flat=True)[:_RECENT]
    )
    seconds = [span.total_seconds() for span in spans]
    return statistics.median(seconds) if seconds else _UNKNOWN


def _span(seconds: float) -> timedelta | None:
    return None if seconds != seconds else timedelta(seconds=max(seconds, 0.0))  # noqa: PLR0124 (NaN)
