"""The queue as a machine: whatever happens in whatever order, work is done, once, by one who holds its lease."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from isocenter.server.models import Challenge, Run, Submission, Worker
from isocenter.server.policy import Visit
from isocenter.server.submitting import intake
from isocenter.server.work import queue, working
from isocenter.server.work.outlook import Outlook, outlooks

LEASE = timedelta(seconds=30)
TERMINAL = {"done", "failed", "cancelled"}


def claim(worker: str = "w") -> Run | None:
    return queue.claim(worker, ["default"], LEASE)


def quota_left(world) -> int | None:
    return intake.quota(Visit(world.people["alice"], world.challenge), "validation").left


class Machine(RuleBasedStateMachine):
    """Workers that claim, beat, finish, put back, sleep and die, in any order; `held` has every claim ever made."""

    world = None
    held = Bundle("held")

    @initialize()
    def begin(self):
        self.block = transaction.atomic()
        self.block.__enter__()
        self.finished: dict[object, int] = {}
        self.released: dict[object, int] = {}
        self.added: set[object] = set()

    @rule(key=st.sampled_from(["", "", "a", "b"]), priority=st.integers(-1, 1), scored=st.booleans())
    def enqueue(self, key, priority, scored):
        one = None
        if scored:
            one = self.world.submission("Rigi", "validation")
            key = ""
        self.added.add(
            queue.enqueue(
                "score" if scored else "board", self.world.challenge, submission=one, key=key, priority=priority
            ).pk
        )

    @rule(target=held, worker=st.sampled_from("xyz"))
    def claim(self, worker):
        waiting = Run.objects.filter(state="queued").order_by("-priority", "queued", "pk")
        best = max((run.priority for run in waiting if not self._blocked(run)), default=None)
        run = claim(f"machine {worker}")
        if run is None:
            assert best is None
            return multiple()
        assert best is None or run.priority >= best
        return run

    def _blocked(self, run):
        return run.key != "" and Run.objects.filter(key=run.key, state="running").exists()

    @rule(run=held, done=st.integers(0, 5))
    def beat(self, run, done):
        self._only_with_the_lease(run, lambda: queue.beat(run, done=done, total=5))

    @rule(run=held, well=st.booleans())
    def finish(self, run, well):
        def end():
            if well:
                queue.finish(run)
            else:
                queue.fail(run, "failed", "internal_error")

        if self._only_with_the_lease(run, end):
            self.finished[run.pk] = self.finished.get(run.pk, 0) + 1

    @rule(run=held)
    def release(self, run):
        if self._only_with_the_lease(run, lambda: queue.release(run)):
            self.released[run.pk] = self.released.get(run.pk, 0) + 1

    @rule(seconds=st.sampled_from([1, 20, 31, 100]))
    def time_passes(self, seconds):
        self.world.at.move(seconds=seconds)

    @rule()
    def sweep(self):
        queue.sweep()

    @rule(worker=st.sampled_from("xyz"))
    def bury(self, worker):
        running = Run.objects.filter(state="running")
        held = running.filter(worker=f"machine {worker}").count()
        others = set(running.exclude(worker=f"machine {worker}").values_list("pk", "lease"))
        assert queue.bury(worker) == held
        assert set(running.values_list("pk", "lease")) == others

    @rule(which=st.integers(0, 10))
    def cancel(self, which):
        submissions = list(Submission.objects.order_by("number"))
        if submissions:
            one = submissions[which % len(submissions)]
            before = set(one.runs.values_list("state", flat=True))
            assert queue.cancel(one) == (one.active or bool(before & {"queued", "running"}))

    def _only_with_the_lease(self, run, act):
        """Do something as the holder of a claim; it must work if and only if the claim is the one in force."""
        now = Run.objects.get(pk=run.pk)
        mine = now.state == "running" and now.lease == run.lease
        before = Run.objects.filter(pk=run.pk).values().get()
        try:
            act()
        except queue.Cancelled:
            assert not mine
            assert now.state == "cancelled"
        except queue.LeaseLost:
            assert not mine
        else:
            assert mine
            return True
        assert Run.objects.filter(pk=run.pk).values().get() == before
        return False

    @invariant()
    def nothing_is_lost_or_doubled(self):
        if not hasattr(self, "added"):
            return
        runs = list(Run.objects.select_related("submission"))
        assert {run.pk for run in runs} == self.added
        assert all(count == 1 for count in self.finished.values())
        for run in runs:
            assert run.attempt <= run.most_attempts
            assert (run.lease is not None) == (run.state == "running")
            if run.submission is not None and run.state in ("queued", "running"):
                assert run.submission.state == run.state
            if run.submission is not None and run.state == "failed" and run.reason == "worker_lost":
                assert run.submission.state == "infrastructure"
        for state in ("queued", "running"):
            keys = [run.key for run in runs if run.key and run.state == state]
            assert len(keys) == len(set(keys))

    def teardown(self):
        if hasattr(self, "block"):
            for _ in range(4 * len(self.added) + 4):
                self.world.at.move(seconds=31)
                if (run := claim("last")) is not None:
                    queue.finish(run)
            assert set(Run.objects.values_list("state", flat=True)) <= TERMINAL
            transaction.set_rollback(True)
            self.block.__exit__(None, None, None)


def test_the_queue_in_any_order_of_events(world):
    class Here(Machine):
        pass

    Here.world = world
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=40,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )


def test_higher_priority_goes_first_then_the_older(world):
    names = []
    for priority in (0, 5, 0, -1):
        names.append(queue.enqueue("board", world.challenge, payload={"n": len(names)}, priority=priority).pk)
        world.at.move(seconds=1)
    assert [claim().pk for _ in names] == [names[1], names[0], names[2], names[3]]
    assert claim() is None


def test_a_worker_takes_from_its_own_queues_only(world):
    run = queue.enqueue("score", world.challenge)
    Run.objects.update(queue="gpu")
    assert claim() is None
    assert queue.claim("w", ["default", "gpu"], LEASE).pk == run.pk


def test_a_worker_without_the_folder_of_the_site_leaves_reports_to_others(world, settings):
    settings.SITE = "https://challenge.example.org"
    run = queue.enqueue("report", world.challenge)
    working.work(threading.Event(), name="far away", once=True)
    run.refresh_from_db()
    assert (run.state, run.attempt) == (Run.State.QUEUED, 0)


def test_a_lost_worker_costs_a_retry_and_the_team_is_told(world):
    one = world.submission("Rigi", "validation")
    run = queue.enqueue("score", world.challenge, submission=one)
    assert queue.tried(run) == ""
    first = claim("first")
    assert queue.tried(first) == ""
    world.at.move(seconds=31)
    queue.sweep()
    run.refresh_from_db()
    assert (run.state, run.reason, queue.tried(run)) == ("queued", "worker_lost", "worker lost, attempt 2 of 3")
    second = claim("second")
    assert (second.attempt, second.worker, queue.tried(second)) == (2, "second", "worker lost, attempt 2 of 3")
    assert first.lease != second.lease
    with pytest.raises(queue.LeaseLost):
        queue.beat(first, done=3)
    with pytest.raises(queue.LeaseLost):
        queue.finish(first)
    queue.finish(second)
    run.refresh_from_db()
    assert (run.state, run.reason, queue.tried(run)) == ("done", "", "")


def test_when_attempts_are_used_up_the_machines_failed_and_no_quota_is_used(world):
    one = world.submission("Rigi", "validation")
    queue.enqueue("score", world.challenge, submission=one)
    assert quota_left(world) == 2
    for attempt in (1, 2, 3):
        assert claim().attempt == attempt
        world.at.move(seconds=31)
    assert claim() is None
    one.refresh_from_db()
    run = one.runs.get()
    assert (run.state, run.reason, run.attempt) == ("failed", "worker_lost", 3)
    assert (one.state, one.reason) == ("infrastructure", "worker_lost")
    assert quota_left(world) == 3


def test_who_had_a_result_keeps_it_when_the_machines_fail_to_evaluate_it_again(world):
    one = world.scored("Rigi", "validation")
    queue.enqueue("score", world.challenge, submission=one)
    for _ in range(3):
        claim()
        one.refresh_from_db()
        assert one.state == "scored"
        world.at.move(seconds=31)
    assert claim() is None
    one.refresh_from_db()
    assert (one.state, one.reason) == ("scored", "")


def test_a_lease_that_is_over_but_that_nobody_took_is_still_ones_own(world):
    queue.enqueue("score", world.challenge)
    run = claim()
    world.at.move(seconds=100)
    queue.beat(run, done=1, total=3)
    assert claim() is None
    queue.finish(run)


def test_put_back_on_an_orderly_stop_it_is_the_same_attempt_and_the_same_place(world):
    one = world.submission("Rigi", "validation")
    run = queue.enqueue("score", world.challenge, submission=one)
    world.at.move(seconds=5)
    queue.enqueue("score", world.challenge)
    queue.release(claim())
    one.refresh_from_db()
    assert one.state == "queued"
    again = claim()
    assert (again.pk, again.attempt, again.reason) == (run.pk, 1, "")


def test_what_waits_is_cancelled_at_once_and_what_runs_cannot_write_any_more(world):
    waiting, running = (world.submission("Rigi", "validation") for _ in range(2))
    queue.enqueue("score", world.challenge, submission=running)
    run = claim()
    queue.enqueue("score", world.challenge, submission=waiting)
    for one in (waiting, running):
        assert queue.cancel(one)
        one.refresh_from_db()
        assert (one.state, one.reason) == ("cancelled", "cancelled")
        assert not queue.cancel(one)
    assert claim() is None
    for act in (queue.beat, queue.finish, queue.release):
        with pytest.raises(queue.Cancelled):
            act(run)
    assert quota_left(world) == 3


def test_the_same_work_waits_once_and_once_more_while_it_is_done(world):
    first = queue.enqueue("board", world.challenge, key="board:1")
    assert queue.enqueue("board", world.challenge, key="board:1").pk == first.pk
    running = claim("x")
    second = queue.enqueue("board", world.challenge, key="board:1")
    third = queue.enqueue("board", world.challenge, key="board:1")
    assert first.pk == running.pk != second.pk == third.pk
    assert claim("y") is None  # not while the other makes it
    other = queue.enqueue("board", world.challenge, key="board:2")
    assert claim("y").pk == other.pk
    queue.finish(running)
    assert claim("y").pk == second.pk


def test_work_that_is_put_back_while_the_same_waits_is_not_done_twice(world):
    queue.enqueue("board", world.challenge, key="k")
    lost = claim()
    waits = queue.enqueue("board", world.challenge, key="k")
    world.at.move(seconds=31)
    again = claim()
    assert again.pk == waits.pk
    lost.refresh_from_db()
    assert lost.state == "cancelled"
    queue.finish(again)
    assert claim() is None


def test_an_unknown_challenge_is_an_error_and_no_endless_loop(world):
    with pytest.raises(IntegrityError), transaction.atomic():
        queue.enqueue(None, world.challenge)


def waits(world, team: str = "Rigi", phase: str = "validation", **fields) -> Run:
    """A submission in the queue, a second after the last one."""
    run = queue.enqueue("score", world.challenge, submission=world.submission(team, phase), **fields)
    world.at.move(seconds=1)
    return run


def seen(world, run: Run, name: str = "alice") -> Outlook:
    return outlooks(Visit(world.people[name], world.challenge), [run])[run.pk]


def test_places_in_the_queue(world):
    runs = [waits(world, priority=priority) for priority in (0, 0, 1)]
    assert [seen(world, run).place for run in runs] == [2, 3, 1]
    taken = claim()
    assert seen(world, taken).place == 0
    assert [seen(world, run).place for run in runs[:2]] == [1, 2]


def test_a_place_counts_submissions_and_no_other_work(world):
    for kind in ("board", "report", "archive"):
        queue.enqueue(kind, world.challenge, priority=9)
    assert seen(world, waits(world)).place == 1


@pytest.mark.parametrize("phase", ["final", "test"])  # nobody knows of the one, nobody counts the other
def test_a_place_and_a_wait_tell_nothing_of_what_others_do_in_a_phase_that_is_hidden(world, phase):
    done_in(world, 10)
    world.at.move(hours=1)
    Worker.objects.create(name="w", version="0", started=world.at.now, seen=world.at.now)
    alone = waits(world)
    before = seen(world, alone)
    for _ in range(3):
        waits(world, "Pilatus", phase, priority=9)
    done_in(world, 5000, phase=phase)
    claim()
    Worker.objects.update(seen=world.at.now)
    assert seen(world, alone) == before == (1, timedelta(seconds=10))
    assert seen(world, alone, "organiser").place == 3


def test_a_place_in_a_hidden_phase_is_one_among_those_of_the_team(world):
    world.at.move(days=31)
    waits(world, "Pilatus", "test")
    own = [waits(world, "Rigi", "test") for _ in range(2)]
    assert [seen(world, run).place for run in own] == [1, 2]
    assert [seen(world, run, "organiser").place for run in own] == [2, 3]


def test_a_place_tells_nothing_of_other_challenges(world):
    other = Challenge.objects.create(slug="other", version=world.challenge.version, salt=b"s" * 32)
    one = world.submission("Pilatus", "validation")
    Submission.objects.filter(pk=one.pk).update(challenge=other)
    queue.enqueue("score", other, submission=one, priority=9)
    assert seen(world, waits(world)).place == 1


def done_in(world, seconds: float, phase: str = "validation") -> None:
    run = queue.enqueue("score", world.challenge, submission=world.submission("Pilatus", phase), priority=10)
    assert claim().pk == run.pk
    world.at.move(seconds=seconds)
    queue.finish(Run.objects.get(pk=run.pk))


def test_how_long_it_takes_is_said_only_if_it_is_known(world):
    waiting = waits(world)
    assert seen(world, waiting).wait is None  # no run yet, no worker
    for seconds in (10, 12, 60):
        done_in(world, seconds)
    assert seen(world, waiting).wait is None  # no worker
    Worker.objects.create(name="w", queue="default,gpu", version="0", started=world.at.now, seen=world.at.now)
    assert seen(world, waiting).wait == timedelta(seconds=12)
    other = waits(world, "Rigi", "test", priority=1)
    assert seen(world, waiting).wait is None  # there is no knowing how long what comes first takes
    done_in(world, 4, "test")
    Worker.objects.update(seen=world.at.now)
    assert seen(world, waiting).wait == timedelta(seconds=16)
    Worker.objects.create(name="v", queue="default", version="0", started=world.at.now, seen=world.at.now)
    assert seen(world, waiting).wait == timedelta(seconds=14)
    Worker.objects.update(stopped=world.at.now)
    assert seen(world, waiting).wait is None
    assert queue.cancel(world.submission("Rigi", "validation"))
    assert seen(world, other).place == 1


def test_how_long_it_takes_is_told_from_its_progress(world):
    done_in(world, 20)
    waits(world)
    run = claim()
    world.at.move(seconds=5)
    assert seen(world, run).wait == timedelta(seconds=15)
    queue.beat(run, done=2, total=6)
    run.refresh_from_db()
    assert seen(world, run).wait == timedelta(seconds=10)
    world.at.move(seconds=60)
    queue.beat(run, done=6, total=6)
    run.refresh_from_db()
    assert seen(world, run).wait == timedelta(0)
    queue.finish(run)
    assert seen(world, run).wait is None
