"""What those who wait are told: their place in the queue, and how long it takes.

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
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db.models import F

from isocenter.server import clock
from isocenter.server.models import Run, Worker

# How many of the last runs say how long the next one takes.
_RECENT = 20
_UNKNOWN = float("nan")


class Outlook(NamedTuple):
    """What is to come for a run.

    Attributes
    ----------
    place
        In the queue, 1 for the next; 0 for what does not wait.
    wait
        Until it is done, as recent runs of its challenge and kind went. None if that cannot be said: no such run yet,
        one of them before it in the queue, or no worker.
    """

    place: int
    wait: timedelta | None


def outlooks(runs: Sequence[Run]) -> dict[UUID, Outlook]:
    """By key, what is to come for runs."""
    usual = cache(_usual)
    lines = {queue: _Line(queue, usual) for queue in {run.queue for run in runs if run.state == Run.State.QUEUED}}
    return {
        run.pk: lines[run.queue].outlook(run) if run.state == Run.State.QUEUED else Outlook(0, _rest(run, usual))
        for run in runs
    }


class _Line:
    """All that waits and runs in a queue, in the order in which it is claimed."""

    def __init__(self, queue: str, usual: Any) -> None:
        here = Run.objects.filter(queue=queue)
        fields = ("priority", "queued", "pk", "challenge", "kind")
        waiting = sorted(map(_order, here.filter(state=Run.State.QUEUED).values_list(*fields)))
        running = here.filter(state=Run.State.RUNNING).values_list("challenge", "kind")
        self._usual = usual
        self._order = [entry[:3] for entry in waiting]
        begun = sum(usual(*which) for which in running)
        self._before = list(accumulate((usual(*entry[3:]) for entry in waiting), initial=begun))
        lately = clock.now() - timedelta(seconds=3 * settings.LEASE)
        alive = Worker.objects.filter(stopped=None, seen__gt=lately).values_list("queue", flat=True)
        self._hands = sum(queue in queues.split(",") for queues in alive)

    def outlook(self, run: Run) -> Outlook:
        at = bisect_left(self._order, (-run.priority, run.queued, run.pk))
        if not self._hands:
            return Outlook(at + 1, None)
        return Outlook(at + 1, _span(self._before[at] / self._hands + self._usual(run.challenge_id, run.kind)))


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
    return _span(usual(run.challenge_id, run.kind) - gone)


def _usual(challenge: int, kind: str) -> float:
    """The median of how many seconds recent runs took; NaN if there is none, which makes every sum unknown."""
    spans = (
        Run.objects.filter(challenge=challenge, kind=kind, state=Run.State.DONE, started__isnull=False)
        .order_by("-finished")
        .annotate(took=F("finished") - F("started"))
        .values_list("took", flat=True)[:_RECENT]
    )
    seconds = [span.total_seconds() for span in spans]
    return statistics.median(seconds) if seconds else _UNKNOWN


def _span(seconds: float) -> timedelta | None:
    return None if seconds != seconds else timedelta(seconds=max(seconds, 0.0))  # noqa: PLR0124 (NaN)
