"""Workers as processes of their own, on a database that all of them share: killed, stopped, several at once."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from conftest import GRID, mask
from isocenter.server import people
from isocenter.server.models import CaseResult, Evaluation, Run, Snapshot, Submission, Worker
from isocenter.server.organising import running
from isocenter.server.work import making, queue, working
from isocenter.volumes import Volume, write

MANY = tuple(f"CHUV{number:03d}" for number in range(1, 13))

TOLD = '''
"""HECKTOR that takes its time and writes down what it measured."""
import os, time
from dataclasses import replace
from pathlib import Path
from isocenter import evaluation
from isocenter.evaluation import Score

def prepare(case):
    return case.name

def measure(name, output):
    with Path(os.environ["SLOW_LOG"]).open("a") as stream:
        stream.write(name + "\\n")
    time.sleep(float(os.environ["SLOW_SECONDS"]))
    yield Score("dice", 0.5)
    for metric in challenge.metrics[1:]:
        yield Score(metric, None)

challenge = replace(evaluation.load_challenge("hecktor2020"), prepare=prepare, measure=measure, inspect=None)
'''

WORKER = """
import signal, sys, threading
from datetime import timedelta

def main():
    import django
    django.setup()
    import slow_challenge
    from isocenter import evaluation
    from isocenter.server.work import working
    evaluation.load_challenge = lambda name: slow_challenge.challenge
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    working.work(stop, name=sys.argv[1], lease=timedelta(seconds=float(sys.argv[2])), once=sys.argv[3] == "once")

if __name__ == "__main__":
    main()
"""

CLAIMER = """
import sys, time

def main():
    import django
    django.setup()
    from datetime import timedelta
    from isocenter.server.work import queue
    print("ready", flush=True)
    sys.stdin.readline()
    start, mine = time.monotonic(), []
    while (run := queue.claim(sys.argv[1], ["default"], timedelta(seconds=60))) is not None:
        queue.finish(run)
        mine.append(str(run.pk))
    print(time.monotonic() - start, *mine)

main()
"""


@contextlib.contextmanager
def shared(folder: Path) -> Iterator[dict[str, str]]:
    """The environment of processes that work on the database of this test.

    That of SQLite is in memory: it is copied to a file, and what became of it is copied back.
    """
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "server_test_settings",
        "PYTHONPATH": f"{Path(__file__).parent}{os.pathsep}{folder}",
        "ISOCENTER_DATA": str(folder / "data"),
        "SLOW_LOG": str(folder / "log"),
        "SLOW_SECONDS": "0.05",
    }
    if connection.vendor == "sqlite":
        path = folder / "shared.sqlite3"
        copy(connection.connection, path)
        yield env | {"DATABASE_URL": f"sqlite://{path}"}
        with contextlib.closing(sqlite3.connect(path)) as there:
            there.backup(connection.connection)
    else:
        at = connection.settings_dict
        yield env | {"DATABASE_URL": f"postgres://{at['USER']}@/{at['NAME']}?host={at['OPTIONS']['host']}"}


def copy(source: sqlite3.Connection, path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as there:
        source.backup(there)


def asked(env: dict[str, str], text: str) -> int:
    """A number from the shared database, while others work on it."""
    if env["DATABASE_URL"].startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(env["DATABASE_URL"].removeprefix("sqlite://"), timeout=20)) as there:
            return int(there.execute(text).fetchone()[0])
    with connection.cursor() as cursor:
        cursor.execute(text)
        return int(cursor.fetchone()[0])


@pytest.fixture
def slow(transactional_db: object, world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The world with twelve cases, and a challenge that takes its time."""
    from django.utils import timezone

    from isocenter.server import clock

    monkeypatch.setattr(clock, "source", timezone.now)  # processes have no other clock
    (tmp_path / "slow_challenge.py").write_text(TOLD)
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "claimer.py").write_text(CLAIMER)
    reference = world.references["validation"]
    for case in MANY:
        write(Volume(mask(4), GRID), world.data / reference.folder / f"{case}.nii.gz")
    reference.cases = list(MANY)
    reference.save()
    return world


def start(
    env: dict[str, str], folder: Path, name: str, *, lease: float = 2, once: bool = False
) -> subprocess.Popen[str]:
    command = [sys.executable, str(folder / "worker.py"), name, str(lease), "once" if once else "on"]
    return subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)


def until(condition: Any, process: subprocess.Popen[str], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            pytest.fail(f"it did not come to that: {process.communicate()[1]}")
        time.sleep(0.01)


def ended(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


def measured(folder: Path) -> list[str]:
    return (folder / "log").read_text().split()


@pytest.mark.slow
@pytest.mark.database
def test_a_killed_worker_costs_a_retry_and_no_case_is_measured_twice(slow, tmp_path):
    one = slow.submission("Rigi", "validation", dict.fromkeys(MANY, 4))
    queue.enqueue("score", slow.challenge, submission=one)
    with shared(tmp_path) as env:
        first = start(env | {"SLOW_SECONDS": "0.3"}, tmp_path, "first")
        until(lambda: asked(env, "SELECT count(*) FROM site_caseresult") >= 3, first)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        before = asked(env, "SELECT count(*) FROM site_caseresult")
        assert 3 <= before < 12
        done = set(measured(tmp_path))
        time.sleep(2.2)  # the lease
        ended(start(env, tmp_path, "second", once=True))
    one.refresh_from_db()
    run = one.runs.get()
    assert (one.state, run.state, run.attempt, run.worker) == ("scored", "done", 2, "second")
    assert CaseResult.objects.filter(submission=one).count() == 12
    assert Evaluation.objects.filter(submission=one).count() == 1
    # Only the case that was in hand when the worker died was begun twice.
    twice = [case for case in MANY if measured(tmp_path).count(case) > 1]
    assert len(twice) <= 1
    assert set(twice) <= done
    assert Snapshot.objects.filter(board="dice").count() == 1


@pytest.mark.slow
@pytest.mark.database
def test_a_worker_that_is_told_to_stop_puts_its_work_back(slow, tmp_path):
    one = slow.submission("Rigi", "validation", dict.fromkeys(MANY, 4))
    queue.enqueue("score", slow.challenge, submission=one)
    with shared(tmp_path) as env:
        first = start(env | {"SLOW_SECONDS": "0.3"}, tmp_path, "first", lease=60)
        until(lambda: asked(env, "SELECT count(*) FROM site_caseresult") >= 2, first)
        first.send_signal(signal.SIGTERM)
        ended(first)
        assert asked(env, "SELECT count(*) FROM site_run WHERE state = 'queued' AND attempt = 0") == 1
        ended(start(env, tmp_path, "second", lease=60, once=True))
    one.refresh_from_db()
    assert one.state == "scored"
    assert one.runs.get().attempt == 1
    begun = measured(tmp_path)
    assert set(begun) == set(MANY)
    assert len(begun) <= 13  # the case that was just begun is begun again; no finished one is
    assert Worker.objects.get(name="first").stopped is not None


@pytest.mark.slow
@pytest.mark.database
def test_a_case_that_takes_long_does_not_keep_a_worker_from_stopping(slow, tmp_path):
    one = slow.submission("Rigi", "validation", dict.fromkeys(MANY, 4))
    queue.enqueue("score", slow.challenge, submission=one)
    with shared(tmp_path) as env:
        first = start(env | {"SLOW_SECONDS": "300"}, tmp_path, "first", lease=60)
        until((tmp_path / "log").exists, first)
        first.send_signal(signal.SIGTERM)
        ended(first)
    one.refresh_from_db()
    run = one.runs.get()
    assert (one.state, run.state, run.attempt, run.reason) == ("queued", "queued", 0, "")


@pytest.mark.slow
@pytest.mark.database
def test_the_heart_keeps_the_lease_through_a_long_case(slow, tmp_path):
    one = slow.submission("Rigi", "validation", {"CHUV001": 4}, gaps=True)
    queue.enqueue("score", slow.challenge, submission=one)
    with shared(tmp_path) as env:
        first = start(env | {"SLOW_SECONDS": "4"}, tmp_path, "first", lease=1.5, once=True)
        until((tmp_path / "log").exists, first)
        ended(start(env, tmp_path, "second", lease=1.5, once=True))  # finds nothing to do
        ended(first)
    run = one.runs.get()
    assert (run.state, run.attempt, run.worker) == ("done", 1, "first")


def test_several_workers_claim_every_run_once(slow, tmp_path):
    for _ in range(120):
        queue.enqueue("score", slow.challenge)
    with shared(tmp_path) as env:
        crew = [
            subprocess.Popen([sys.executable, str(tmp_path / "claimer.py"), f"w{number}"], env=env, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for number in range(3)
        ]  # fmt: skip
        for one in crew:
            assert one.stdout.readline() == "ready\n"
        for one in crew:
            one.stdin.write("go\n")
            one.stdin.flush()
        claimed = [one.communicate(timeout=60)[0].split()[1:] for one in crew]
    every = [key for keys in claimed for key in keys]
    assert len(every) == len(set(every)) == 120
    assert set(Run.objects.values_list("state", "attempt")) == {("done", 1)}


@pytest.mark.slow
@pytest.mark.database
def test_workers_that_are_killed_again_and_again_lose_nothing_and_score_nothing_twice(slow, tmp_path):
    few = MANY[:3]
    handed_in = [
        slow.submission(team, "validation", dict.fromkeys(few, 4), gaps=True) for team in ("Rigi", "Pilatus") * 2
    ]
    for one in handed_in:
        queue.enqueue("score", slow.challenge, submission=one)
    Run.objects.update(most_attempts=50)
    with shared(tmp_path) as env:
        for round_ in range(3):
            victim = start(env, tmp_path, f"victim {round_}", lease=1)
            seen = asked(env, "SELECT count(*) FROM site_caseresult")
            more = seen + round_
            until(lambda more=more: asked(env, "SELECT count(*) FROM site_caseresult") > more, victim)
            victim.kill()
            victim.communicate()
        time.sleep(1.1)
        ended(start(env, tmp_path, "last", lease=5, once=True))
    assert set(Submission.objects.values_list("state", flat=True)) == {"scored"}
    assert Evaluation.objects.count() == 4
    assert set(Run.objects.values_list("state", flat=True)) <= {"done", "cancelled"}
    assert CaseResult.objects.count() == 4 * 12
    assert len(Snapshot.objects.filter(board="dice").order_by("-made").first().entries) == 2


def test_a_worker_says_that_it_is_there(world):
    working.work(threading.Event(), queues=("default", "gpu"), name="machine 1", once=True)
    worker = Worker.objects.get()
    assert (worker.name, worker.queue, worker.seen) == ("machine 1", "default,gpu", world.at.now)
    assert worker.stopped == world.at.now
    assert worker.version


def test_the_eldest_worker_keeps_house(world, monkeypatch):
    asked_for = []
    monkeypatch.setattr(running, "due", lambda now: asked_for.append(("due", now)))
    monkeypatch.setattr(people, "release_equity", lambda challenge: asked_for.append(("equity", challenge.slug)))
    queue.enqueue("score", world.challenge, submission=world.submission("Rigi", "validation"))
    Run.objects.update(queue="gpu")
    queue.claim("lost", ["gpu"], timedelta(seconds=1))
    world.at.move(hours=1)
    Worker.objects.create(name="elder", version="0", started=world.at.now - timedelta(hours=1), seen=world.at.now)
    working.work(threading.Event(), name="younger", once=True)
    assert asked_for == []
    assert Run.objects.get().state == "running"
    Worker.objects.filter(name="elder").update(stopped=world.at.now)
    working.work(threading.Event(), name="younger", once=True)
    assert asked_for == [("due", world.at.now), ("equity", "neck")]
    assert Run.objects.get().state == "queued"  # although nobody works that queue


def test_a_chore_that_fails_keeps_nobody_from_working(world, monkeypatch, caplog):
    def broken(now):
        raise RuntimeError("the clock is wrong")

    monkeypatch.setattr(running, "due", broken)
    making.refresh(world.challenge, "validation")
    working.work(threading.Event(), name="w", once=True)
    assert Run.objects.get().state == "done"
    assert "a chore failed" in caplog.text


def test_reports_and_archives_are_made_by_their_own_part(world, monkeypatch):
    from isocenter.server.archiving import artefacts

    made = []
    monkeypatch.setattr(artefacts, "make", lambda run: made.append(run.kind))
    for kind in ("report", "archive"):
        queue.enqueue(kind, world.challenge)
    working.work(threading.Event(), name="w", once=True)
    assert sorted(made) == ["archive", "report"]
    assert set(Run.objects.values_list("state", flat=True)) == {"done"}


def test_a_run_that_exits_does_not_end_the_worker(world, monkeypatch):
    from isocenter.server.archiving import artefacts

    def leave(run):
        raise SystemExit(f"{run.kind} leaves")

    monkeypatch.setattr(artefacts, "make", leave)
    for kind in ("report", "archive"):
        queue.enqueue(kind, world.challenge)
    working.work(threading.Event(), name="w", once=True)
    assert set(Run.objects.values_list("state", "reason")) == {("failed", "internal_error")}
    assert all(f"{run.kind} leaves" in run.detail for run in Run.objects.all())


def test_a_report_that_breaks_fails_and_says_why_to_organisers(world, monkeypatch):
    from isocenter.server.archiving import artefacts

    def broken(run):
        raise KeyError("no such phase")

    monkeypatch.setattr(artefacts, "make", broken)
    queue.enqueue("report", world.challenge)
    working.work(threading.Event(), name="w", once=True)
    run = Run.objects.get()
    assert (run.state, run.reason) == ("failed", "internal_error")
    assert "no such phase" in run.detail
