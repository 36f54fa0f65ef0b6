"""Where cases are measured: processes with limits, so that an output that is a bomb takes its process and nothing else.

    worker ── task ──▶ child: one case at a time, so much memory, so many seconds
       ▲                 │ ── every stage that it begins: read, prepare, inspect, measure
       └── a result, or what killed the child, and at which stage: `out_of_memory`, `timeout`, `crashed`

| variable | meaning | without it |
| --- | --- | --- |
| `ISOCENTER_CASE_GB` | the memory that measuring a case may take | 8 |
| `ISOCENTER_CASE_SECONDS` | the time that it may take | 600 |
| `ISOCENTER_CASES_AT_ONCE` | how many cases a worker measures at the same time | 1 |

The code that measures is the organisers' and trusted; what it reads is not. So what killed a child that read an output
is the output's fault, and later it is the evaluator's. A child stays for the next case, as to start one takes a second;
it ends with its worker, however that ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from isocenter.evaluation import CaseResult, Stage, available_cores, blame_evaluator, origin_of_stage, watch_stages
from isocenter.problems import Problem

_SPAWN = multiprocessing.get_context("spawn")  # a fork would copy locks that other threads hold
_FILE_BYTES = 16 * 2**30
_SECRETS = ("ISOCENTER_SECRET_KEY", "DATABASE_URL", "EMAIL_URL", "PGPASSWORD")  # nobody who measures needs them


@dataclass(frozen=True, slots=True)
class Limits:
    """What measuring a case may take: bytes of memory, seconds on the clock."""

    memory: int
    seconds: float

    @classmethod
    def of_the_environment(cls) -> Limits:
        """As the variables say."""
        return cls(
            memory=int(float(os.environ.get("ISOCENTER_CASE_GB") or 8) * 2**30),
            seconds=float(os.environ.get("ISOCENTER_CASE_SECONDS") or 600),
        )


class Aborted(BaseException):
    """The cases are not wanted any more. No `Exception`: nobody shall take it for the failure of a case."""


class Children(Executor):
    """An executor for `isocenter.evaluation.evaluate` whose processes have limits.

    A case that kills its process is tried once more, as somebody else may have killed it, unless it took too long; then
    its result says why there is none. So one bad case costs one case.
    """

    def __init__(self, limits: Limits, count: int = 1) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="case")
        self._idle: list[_Child] = []
        self._busy: set[_Child] = set()
        self._lock = threading.Lock()
        self._aborted = False

    def submit(self, work: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        """Do the work for a task in a child."""
        return self._threads.submit(self._done, work, *args)

    def abort(self) -> None:
        """Stop at once what is being done, and begin nothing; whoever waits gets `Aborted`. `ready` ends that."""
        with self._lock:
            self._aborted = True
            for child in self._busy:
                child.kill()

    def ready(self) -> None:
        """Begin again."""
        with self._lock:
            self._aborted = False

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all children."""
        self.abort()
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        for child in self._idle:
            child.end()
        self._idle.clear()

    def _done(self, work: Callable[..., Any], task: Any) -> Any:
        for last in (False, True):
            child = self._take()
            try:
                answer = child.answer(work, task, self._limits.seconds)
            except BaseException:  # a task that cannot be sent
                child.end()
                raise
            finally:
                with self._lock:
                    self._busy.discard(child)
            with self._lock:
                if child.alive and not self._aborted:
                    self._idle.append(child)
                    return answer
                if self._aborted:
                    child.end()
                    raise Aborted
            assert isinstance(answer, _Death)
            if answer.code == "timeout" or last:
                return CaseResult.stopped_by(_problem_of(task.case.name, answer, self._limits))
        raise AssertionError

    def _take(self) -> _Child:
        with self._lock:
            if self._aborted:
                raise Aborted
            child = self._idle.pop() if self._idle else _Child(self._limits)
            self._busy.add(child)
            return child


@dataclass(frozen=True, slots=True)
class _Death:
    """What killed a child, and what it was doing: a code of the registry, and a stage; None before the first."""

    code: str
    stage: Stage | None


class _Child:
    """A process that does one thing after the other."""

    def __init__(self, limits: Limits) -> None:
        self._pipe, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(theirs, limits), daemon=True)
        self._process.start()
        theirs.close()
        self.alive = True
        self._stage: Stage | None = None

    def answer(self, work: Callable[..., Any], task: Any, seconds: float) -> Any:
        """What the child says, or a `_Death`. Then it is not alive."""
        self._stage = None
        try:
            self._hear(None)  # that it is ready: to start takes its time, which is not the case's
            self._pipe.send((work, task))
            return self._hear(seconds)
        except TimeoutError:
            return self._bury(timeout=True)
        except (EOFError, OSError):
            return self._bury()

    def kill(self) -> None:
        """Strike it, whoever waits for it; they learn of it by themselves."""
        with contextlib.suppress(ValueError):  # it ended a moment ago
            self._process.kill()

    def end(self, *, kill: bool = True) -> int | None:
        """End it, or wait for its end, and say with which code it ended."""
        if not self.alive:
            return None
        self.alive = False
        if kill:
            self._process.kill()
        self._process.join()
        code = self._process.exitcode
        self._pipe.close()
        self._process.close()
        return code

    def _hear(self, seconds: float | None) -> Any:
        """What the child says, past the stages that it began.

        A `TimeoutError` if that takes too long, an `EOFError` if the child has ended.
        """
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            left = None if until is None else max(0.0, until - time.monotonic())
            ready = wait([self._pipe, self._process.sentinel], left)
            if not ready:
                raise TimeoutError
            if self._pipe not in ready:
                raise EOFError
            kind, content = self._pipe.recv()
            if kind != _STAGE:
                return content
            self._stage = content

    def _bury(self, *, timeout: bool = False) -> _Death:
        """What killed the child."""
        exit_code = self.end(kill=timeout)
        if timeout or exit_code == -signal.SIGXCPU:
            return _Death("timeout", self._stage)
        # The kernel kills what takes the last memory of the machine. Any other signal says nothing of memory.
        exhausted = exit_code in (-signal.SIGKILL, _NO_MEMORY)
        return _Death("out_of_memory" if exhausted else "crashed", self._stage)


_NO_MEMORY = 77
_STAGE, _ANSWER = "stage", "answer"


def _serve(pipe: Connection, limits: Limits) -> None:
    """The life of a child."""
    import resource

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    for secret in _SECRETS:
        os.environ.pop(secret, None)
    _limit(resource.RLIMIT_AS, limits.memory)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, _FILE_BYTES)
    watch_stages(lambda stage: pipe.send((_STAGE, stage)))
    with contextlib.suppress(EOFError, ConnectionError):  # the worker is gone, and nobody waits for an answer
        while True:
            pipe.send((_ANSWER, "ready"))
            work, task = pipe.recv()
            # A child whose worker hangs ends by itself.
            _limit(resource.RLIMIT_CPU, int(time.process_time() + (limits.seconds + 1) * available_cores()) + 1)
            try:
                pipe.send((_ANSWER, _answered(work, task)))
            except MemoryError:
                os._exit(_NO_MEMORY)


def _answered(work: Callable[[Any], Any], task: Any) -> Any:
    """What the work gives; an error becomes a result here, where its traceback is, as nobody else may try it again."""
    try:
        return work(task)
    except MemoryError:
        raise
    except BaseException as error:
        return CaseResult.stopped_by(blame_evaluator("measure", error, case=task.case.name))


def _limit(which: int, most: int) -> None:
    import resource

    _, hard = resource.getrlimit(which)
    resource.setrlimit(which, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _problem_of(case: str, death: _Death, limits: Limits) -> Problem:
    """Why a case has no result that killed its process.

    Time and memory that reading took depend on the output. A program that breaks down is never the team's fault, nor is
    one that does not come to read anything.
    """
    return Problem.of(
        death.code,
        "unusable",
        case=case,
        origin="evaluator" if death.code == "crashed" or death.stage is None else origin_of_stage(death.stage),
        stage=death.stage or "start",
        seconds=limits.seconds,
        gigabytes=limits.memory / 2**30,
    )


_pool: Children | None = None


def pool() -> Children:
    """The children of this process, kept from run to run."""
    global _pool  # noqa: PLW0603 (one per process, as its children are)
    if _pool is None:
        count = int(os.environ.get("ISOCENTER_CASES_AT_ONCE") or 1)
        _pool = Children(Limits.of_the_environment(), count)
    _pool.ready()
    return _pool


def abort() -> None:
    """Stop what the children of this process do."""
    if _pool is not None:
        _pool.abort()


def end() -> None:
    """End the children of this process."""
    global _pool  # noqa: PLW0603
    if _pool is not None:
        _pool.shutdown()
        _pool = None
