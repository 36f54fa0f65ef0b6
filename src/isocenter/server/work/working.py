"""A worker: takes work from the queue, does it, and keeps house once a minute.

    claim ──▶ score │ boards │ report, archive ──▶ done, failed with a reason, or put back
      ▲            heart: prolongs the lease, every third of it
      └── nothing to do: wait a little, a little longer          postman: sends mails, see `delivering`

Told to stop, it lets the case in hand finish for a moment, and puts the rest back. A run that breaks says so with a
code; what went wrong in detail is for organisers only.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connection

import isocenter
from isocenter.server import clock
from isocenter.server.models import Challenge, Run, Worker
from isocenter.server.work import children, delivering, making, queue, scoring

_log = logging.getLogger("isocenter.worker")

_SHORTEST, _LONGEST = 0.1, 2.0
_HOUSE = timedelta(minutes=1)
_FORGET = timedelta(days=7)
# For how long the case in hand may finish when the worker is told to stop.
_GRACE = 3.0


def work(
    stop: threading.Event,
    *,
    queues: Sequence[str] = ("default",),
    name: str,
    lease: timedelta | None = None,
    once: bool = False,
) -> None:
    """Work the queue until told to stop.

    Parameters
    ----------
    name
        Of this worker, and of no other: machine, process, start.
    lease
        For how long work is claimed at a time; `ISOCENTER_LEASE`, if not said.
    once
        End when nothing waits.
    """
    span = lease or timedelta(seconds=settings.LEASE)
    # Who fetches files from the site has no folder to put files for it.
    kinds = [Run.Kind.SCORE, Run.Kind.BOARD] if settings.SITE else list(Run.Kind)
    house = _House(name)
    if not once:
        delivering.start(stop)
    idle = _SHORTEST
    try:
        while not stop.is_set():
            try:
                _register(name, queues)
                house.keep()
                run = queue.claim(name, queues, span, kinds=kinds)
                if run is not None:
                    _do(run, stop)
            except (DatabaseError, InterfaceError) as error:
                _log.warning("the database does not answer, trying again: %s", error)
                run = None
            _let_go()
            if run is None and once:
                delivering.deliver_all()
                return
            idle = _SHORTEST if run is not None else min(idle * 1.5, _LONGEST)
            if run is None:
                stop.wait(idle)
    finally:
        children.end()
        with contextlib.suppress(DatabaseError, InterfaceError):
            Worker.objects.filter(name=name).update(stopped=clock.now(), seen=clock.now())
        _let_go()


def _let_go() -> None:
    """Close a connection that is old or broken, unless somebody else's transaction is on it."""
    if not connection.in_atomic_block:
        close_old_connections()


def _do(run: Run, stop: threading.Event) -> None:
    """Do a piece of work, whatever becomes of it."""
    try:
        with _heart(run, stop):
            _dispatch(run, stop)
    except scoring.Stopped:
        with contextlib.suppress(queue.LeaseLost):
            queue.release(run)
    except queue.LeaseLost as lost:
        _log.info("%s", lost)
    except (DatabaseError, InterfaceError):
        raise  # the lease runs out, and somebody tries again
    except KeyboardInterrupt:
        raise
    except BaseException:  # also `sys.exit` in the code of a challenge, which must not end the worker
        _log.exception("run %s of %s failed", run.kind, run.challenge)
        with contextlib.suppress(queue.LeaseLost):
            scoring.broke(run, traceback.format_exc())


def _dispatch(run: Run, stop: threading.Event) -> None:
    match run.kind:
        case Run.Kind.SCORE:
            scoring.score(run, stop=stop)
            return
        case Run.Kind.BOARD:
            making.make_boards(run.challenge, run.payload["phase"], run=run)
        case Run.Kind.REPORT | Run.Kind.ARCHIVE:
            from isocenter.server.archiving import artefacts

            artefacts.make(run)
    with contextlib.suppress(queue.LeaseLost):  # who made it may have finished the run with what it wrote
        queue.finish(run)


@contextlib.contextmanager
def _heart(run: Run, stop: threading.Event) -> Iterator[None]:
    """Keeps a lease while work is done, and ends the work when the lease is lost or the worker has to stop."""
    over = threading.Event()

    def beats() -> None:
        every = run.span.total_seconds() / 3
        due, stopping = time.monotonic() + every, None
        while not over.wait(min(0.2, every)):
            now = time.monotonic()
            if stop.is_set() and stopping is None:
                stopping = now
            if stopping is not None and now - stopping > _GRACE:
                children.abort()
            if now < due:
                continue
            try:
                queue.beat(run)
                due = now + every
            except queue.LeaseLost:
                children.abort()
                break
            except (DatabaseError, InterfaceError):
                connection.close()  # try again with another one, as long as the lease lasts
        connection.close()

    thread = threading.Thread(target=beats, name="heart", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _register(name: str, queues: Sequence[str]) -> None:
    """Say that the worker is there, not more than every few seconds."""
    now = clock.now()
    known = Worker.objects.filter(name=name)
    if not known.filter(seen__gt=now - timedelta(seconds=5)).exists():
        Worker.objects.update_or_create(
            name=name,
            defaults={"seen": now, "stopped": None},
            create_defaults={"seen": now, "started": now, "queue": ",".join(queues), "version": isocenter.__version__},
        )


class _House:
    """What has to be done now and then; by one worker, the one that has been there longest."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._kept = clock.now() - _HOUSE
        self._day: date | None = None

    def keep(self) -> None:
        """Do it, if it is time."""
        now = clock.now()
        if now - self._kept < _HOUSE:
            return
        self._kept = now
        alive = Worker.objects.filter(stopped=None, seen__gt=now - 2 * _HOUSE).order_by("started", "pk").first()
        if alive is not None and alive.name != self._name:
            return
        for chore in (self._leases, self._moments, self._daily):
            try:
                chore()
            except (DatabaseError, InterfaceError):
                raise
            except Exception:
                _log.exception("a chore failed: %s", chore.__name__)

    def _leases(self) -> None:
        queue.sweep()
        Worker.objects.filter(seen__lt=clock.now() - _FORGET).delete()

    def _moments(self) -> None:
        from isocenter.server.organising import running

        running.due(clock.now())

    def _daily(self) -> None:
        from isocenter.server import people
        from isocenter.server.submitting import uploads

        today = clock.now().date()
        if self._day != today:
            if not settings.SITE:  # the folder of data is here
                uploads.tidy(clock.now())
            for challenge in Challenge.objects.exclude(version=None):
                people.release_equity(challenge)
            delivering.forget()
            self._day = today
