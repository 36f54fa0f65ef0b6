"""The queue: rows that workers lease, so that what becomes of a piece of work is where all other truth is.

    enqueue ──▶ queued ──── claim ────▶ running ── finish ──▶ done | failed
                  ▲                       │  └── cancel ──▶ cancelled
                  └ release, sweep, bury ─┘

Every claim has a lease of its own, a random number, and every write of a worker names it: who lost the lease, because
the machine slept or the network was away, finds no row to write to. A lease that is over puts the work back; when its
attempts are used up, it failed because workers were lost (`worker_lost`), which never costs a team anything. Where it
is known that a worker died, nobody waits for its lease (`bury`).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q

from isocenter.server import clock
from isocenter.server.models import Challenge, Run, Submission, Worker

_ACTIVE = (Submission.State.QUEUED, Submission.State.RUNNING)
_WAITING_OR_RUNNING = (Run.State.QUEUED, Run.State.RUNNING)


class LeaseLost(Exception):
    """Another worker has this piece of work, or nobody has it any more: whoever had it must not write."""


class Cancelled(LeaseLost):
    """Nobody wants this piece of work any more."""


def enqueue(
    kind: str,
    challenge: Challenge,
    *,
    submission: Submission | None = None,
    cohort: str = "",
    payload: Mapping[str, Any] | None = None,
    key: str = "",
    priority: int = 0,
) -> Run:
    """Add a piece of work.

    Parameters
    ----------
    key
        Names work that need not wait twice: if a run with this key waits, that one is given back. It sees what the
        transaction of the caller writes, as it cannot be claimed before that is there.
    priority
        Higher goes first; of equals, the older.
    """
    while True:
        with transaction.atomic():
            if key:
                waiting = Run.objects.select_for_update().filter(key=key, state=Run.State.QUEUED).first()
                if waiting is not None:
                    return waiting
            try:
                with transaction.atomic():
                    return Run.objects.create(
                        kind=kind,
                        challenge=challenge,
                        submission=submission,
                        cohort=cohort,
                        payload=dict(payload or {}),
                        key=key,
                        priority=priority,
                    )
            except IntegrityError:
                if not key:
                    raise
                # Somebody else added it in the meantime; look again.


def claim(
    worker: str, queues: Sequence[str], lease: timedelta | None = None, *, kinds: Sequence[str] = tuple(Run.Kind)
) -> Run | None:
    """Take the next piece of work of these kinds, if there is any, for so long; `beat` prolongs it.

    Work of which another run with the same key goes on has to wait for that one.
    """
    span = lease or timedelta(seconds=settings.LEASE)
    lost = Q(state=Run.State.RUNNING, lease_until__lt=clock.now())
    if not Run.objects.filter(Q(state=Run.State.QUEUED, kind__in=kinds) | lost, queue__in=list(queues)).exists():
        return None  # who only looks takes no lock from those who write
    with transaction.atomic():
        sweep(queues)
        same = Run.objects.filter(key=OuterRef("key"), state=Run.State.RUNNING).exclude(key="")
        run = (
            Run.objects.select_for_update(skip_locked=True, of=("self",))
            .select_related("challenge", "submission")
            .filter(Q(state=Run.State.QUEUED), ~Exists(same), queue__in=list(queues), kind__in=kinds)
            .order_by("-priority", "queued", "pk")
            .first()
        )
        if run is None:
            return None
        now = clock.now()
        run.state, run.attempt, run.worker = Run.State.RUNNING, run.attempt + 1, worker
        run.lease, run.lease_until, run.started, run.finished = uuid.uuid4(), now + span, now, None
        run.done = run.total = 0
        run.save(update_fields=_CLAIMED)
        if run.submission_id is not None:
            Submission.objects.filter(pk=run.submission_id, state=Submission.State.QUEUED).update(
                state=Submission.State.RUNNING
            )
        run.span = span
        return run


_CLAIMED = ["state", "attempt", "worker", "lease", "lease_until", "started", "finished", "done", "total"]


def sweep(queues: Sequence[str] | None = None) -> int:
    """Put back what workers lost, or give it up; how much that was. All queues, unless some are named."""
    lost = Q(lease_until__lt=clock.now())
    return _taken_away(lost if queues is None else lost & Q(queue__in=list(queues)))


def bury(mark: str) -> int:
    """Put back what a worker had that is known to be dead, or give it up, before its lease is over; how much that was.

    Parameters
    ----------
    mark
        The word with which its name ends, and that of no other worker.
    """
    Worker.objects.filter(name__endswith=f" {mark}", stopped=None).update(stopped=clock.now())
    return _taken_away(Q(worker__endswith=f" {mark}"))


def _taken_away(lost: Q) -> int:
    """Put back those of the runs under way, or give them up when their attempts are used; how many there were."""
    with transaction.atomic():
        found = list(Run.objects.select_for_update(skip_locked=True).filter(lost, state=Run.State.RUNNING))
        for run in found:
            if run.attempt < run.most_attempts:
                _put_back(run, reason="worker_lost")
                continue
            run.state, run.reason, run.finished, run.lease = Run.State.FAILED, "worker_lost", clock.now(), None
            run.save(update_fields=["state", "reason", "finished", "lease"])
            _submission_ends(run, str(Submission.State.INFRASTRUCTURE), "worker_lost")
        return len(found)


def beat(run: Run, *, done: int | None = None, total: int | None = None) -> None:
    """Say that a worker still has the work, and how far it is.

    Raises
    ------
    Cancelled
        Nobody wants it any more.
    LeaseLost
        Another worker has it.
    """
    said = {name: value for name, value in (("done", done), ("total", total)) if value is not None}
    if not _mine(run).update(lease_until=clock.now() + _span(run), **said):
        raise _lost(run)


def finish(run: Run, *, state: str = Run.State.DONE, reason: str = "", detail: str = "") -> None:
    """Say that the work is over. Call it first in the transaction that writes what came out; see `beat` for errors."""
    now = clock.now()
    if not _mine(run).update(state=state, reason=reason, detail=detail, finished=now, lease=None, lease_until=None):
        raise _lost(run)
    run.state, run.reason, run.detail, run.finished = state, reason, detail, now


def fail(run: Run, outcome: str, reason: str, *, detail: str = "", problems: Sequence[Any] = ()) -> None:
    """Say that the work came to nothing, and what that means for its submission, if it still waited for it."""
    with transaction.atomic():
        finish(run, state=Run.State.FAILED, reason=reason, detail=detail)
        _submission_ends(run, outcome, reason, problems=list(problems))


def release(run: Run) -> None:
    """Put the work back on an orderly stop; the attempt is not counted."""
    with transaction.atomic():
        found = _mine(run).select_for_update().first()
        if found is None:
            raise _lost(run)
        found.attempt -= 1
        _put_back(found, reason=found.reason)


def cancel(submission: Submission) -> bool:
    """Cancel what is to be done for a submission; whether there was anything.

    What waits never begins. What runs can write nothing from now on, and its worker stops when it next says that it is
    there, at the latest after the case that it measures.
    """
    with transaction.atomic():
        runs = Run.objects.select_for_update().filter(submission=submission, state__in=_WAITING_OR_RUNNING)
        found = runs.update(state=Run.State.CANCELLED, reason="cancelled", finished=clock.now(), lease=None)
        changed = Submission.objects.filter(pk=submission.pk, state__in=_ACTIVE).update(
            state=Submission.State.CANCELLED, reason="cancelled"
        )
        return bool(found or changed)


def tried(run: Run) -> str:
    """What became of earlier attempts, for who waits: "worker lost, attempt 2 of 3"; "" as long as nothing happened."""
    if run.reason != "worker_lost" or run.state not in _WAITING_OR_RUNNING:
        return ""
    attempt = run.attempt if run.state == Run.State.RUNNING else run.attempt + 1
    return f"worker lost, attempt {attempt} of {run.most_attempts}"


def _put_back(run: Run, *, reason: str) -> None:
    """Let a run wait again; if another one waits for the same thing, that one is enough."""
    run.state, run.reason, run.lease, run.lease_until = Run.State.QUEUED, reason, None, None
    fields = ["state", "reason", "lease", "lease_until", "attempt"]
    try:
        with transaction.atomic():
            run.save(update_fields=fields)
    except IntegrityError:
        run.state, run.finished = Run.State.CANCELLED, clock.now()
        run.save(update_fields=[*fields, "finished"])
        return
    if run.submission_id is not None:
        Submission.objects.filter(pk=run.submission_id, state=Submission.State.RUNNING).update(
            state=Submission.State.QUEUED
        )


def _submission_ends(run: Run, outcome: str, reason: str, *, problems: Sequence[Any] = ()) -> None:
    """What becomes of a submission that waited for this run; one that has a result already keeps it."""
    if run.submission_id is not None:
        Submission.objects.filter(pk=run.submission_id, state__in=_ACTIVE).update(
            state=outcome, reason=reason, problems=list(problems)
        )


def _mine(run: Run) -> Any:
    return Run.objects.filter(pk=run.pk, lease=run.lease, state=Run.State.RUNNING)


def _span(run: Run) -> timedelta:
    return getattr(run, "span", None) or timedelta(seconds=settings.LEASE)


def _lost(run: Run) -> LeaseLost:
    """Why a worker may not write any more."""
    now = Run.objects.filter(pk=run.pk).first()
    if now is None or now.state == Run.State.CANCELLED:
        return Cancelled(f"run {run.pk} was cancelled")
    return LeaseLost(f"run {run.pk} is {now.state}, and not under the lease {run.lease}")
