"""Running cases on an executor, and surviving the death of a worker."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, as_completed
from multiprocessing.connection import Connection

from isocenter.evaluation._case import CaseResult, CaseTask
from isocenter.evaluation._stages import Stage, blame_evaluator, watch_stages
from isocenter.problems import Problem

Work = Callable[[CaseTask], CaseResult]


def worker_pool(workers: int) -> ProcessPoolExecutor:
    """A pool of fresh processes; interrupting the program stops them through their parent, without tracebacks."""
    # Forking a process that runs threads (polars does) may copy a held lock and hang.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin)


def available_cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def run_all(work: Work, tasks: Sequence[CaseTask], executor: Executor | None) -> Iterator[CaseResult]:
    """Do the work for all tasks, in whatever order they finish; here if there is no executor.

    A task whose pool broke, as a worker died (killed for its memory, say), is tried once more, alone in a new process.
    So a dead worker costs a retry, and a case that kills its worker costs only itself. That process has no limits, so
    no other error leads there: a task or a result that cannot be sent is the evaluator's fault.
    """
    if executor is None:
        yield from map(work, tasks)
        return
    futures: dict[Future[CaseResult], CaseTask] = {}
    lost: list[CaseTask] = []
    try:
        for task in tasks:
            try:
                futures[executor.submit(work, task)] = task
            except BrokenExecutor:  # the pool broke while it was being filled
                lost.append(task)
        for future in as_completed(futures):
            try:
                result = future.result()
            except BrokenExecutor:
                lost.append(futures[future])
                continue
            except Exception as error:
                result = CaseResult.stopped_by(blame_evaluator("measure", error, case=futures[future].case.name))
            yield result
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    for task in sorted(lost, key=lambda task: task.case.name):
        yield _alone(work, task)


def _alone(work: Work, task: CaseTask) -> CaseResult:
    """Do the work in a process of its own, which reports its stages: the last one tells where it died."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work_alone, args=(theirs, work, task))
    try:
        process.start()
    except Exception as error:  # a task that cannot be sent: the challenge is not one that another process can import
        return CaseResult.stopped_by(blame_evaluator("read", error, case=task.case.name))
    theirs.close()
    stage: Stage | None = None
    try:
        while True:
            kind, content = ours.recv()
            if kind == "result":
                result: CaseResult = content
                return result
            stage = content
    except (EOFError, OSError):
        process.join()
        return CaseResult.stopped_by(_death(task.case.name, stage, process.exitcode))
    finally:
        process.kill()
        process.join()
        ours.close()


def _work_alone(pipe: Connection, work: Work, task: CaseTask) -> None:
    _begin()
    watch_stages(lambda stage: pipe.send(("stage", stage)))
    pipe.send(("result", work(task)))


def _death(case: str, stage: Stage | None, exit_code: int | None) -> Problem:
    """The problem of a process that died: of an output that took all memory to be read, else of the evaluator."""
    # The kernel kills what takes the last memory of the machine; a process that is alone is killed by nobody else.
    exhausted = stage == "read" and exit_code == -signal.SIGKILL
    return Problem(
        "unusable",
        f"its worker process died twice, in the stage {stage or 'start'} (exit code {exit_code})",
        case=case,
        code="out_of_memory" if exhausted else "crashed",
        origin="output" if exhausted else "evaluator",
    )


def _begin() -> None:
    """A worker leaves interrupts to its parent, and does not outlive it, however the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
