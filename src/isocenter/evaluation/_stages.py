"""Stages of a case: a process that measures reports each one, so that whoever watches it knows where it died.

    child                                    parent
    ─────                                    ──────
    watch_stages(pipe.send)
    measure_case(task)
      report_stage("read")      ── pipe ──▶  the last stage that arrived is the one in which the child died
      report_stage("prepare")
      …

An output can be at fault while it is read; after that it is the evaluator. A challenge whose `inspect` or `measure`
still reads files of the output, as they are too large to be held, says so with `report_reading`.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from isocenter.problems import Origin, OutputError, Problem, Severity, describe_error, make_words, origin_of_error

Stage = Literal["read", "prepare", "inspect", "measure"]
"""What is being done for a case: its output is read; then the code of the challenge runs."""

_watcher: Callable[[Stage], object] | None = None
_stage: Stage = "read"


def watch_stages(watcher: Callable[[Stage], object] | None) -> None:
    """Have every stage that this process begins reported to a function; None ends that."""
    global _watcher  # noqa: PLW0603 (a process measures one case at a time, and has one parent)
    _watcher = watcher


def report_stage(stage: Stage) -> Stage:
    """Say that a stage begins; of no effect where nobody watches."""
    global _stage  # noqa: PLW0603
    _stage = stage
    if _watcher is not None:
        _watcher(stage)
    return stage


@contextmanager
def report_reading() -> Iterator[None]:
    """Report the stage "read" while more of the output is read in a later stage, and then that stage again."""
    interrupted = _stage
    report_stage("read")
    try:
        yield
    finally:
        report_stage(interrupted)


def origin_of_stage(stage: Stage) -> Origin:
    """Where it arose that a case took too long or too much memory: reading depends on the output, the rest on us."""
    return "output" if stage == "read" else "evaluator"


def blame_evaluator(stage: str, error: BaseException, *, case: str = "", file: str = "") -> Problem:
    """The problem that the code of a challenge raised an error which is not about the output.

    Its traceback goes into the detail, which only the organisers see. A machine that failed under the code is to blame
    itself, and memory that ran out has a code of its own.
    """
    origin = origin_of_error(error, reading="evaluator")
    code = "evaluator_failed" if origin == "evaluator" else "unreadable"
    if isinstance(error, MemoryError):
        code = "out_of_memory"
    return Problem(
        "unusable",
        make_words("evaluator_failed", stage=stage, detail=describe_error(error)),
        case=case,
        file=file,
        code=code,
        origin=origin,
        detail="".join(traceback.format_exception(error)),
    )


def blame_output(
    stage: str, error: OutputError, *, severity: Severity = "unusable", case: str = "", file: str = ""
) -> Problem:
    """The problem that the code of a challenge found in an output; an error that cannot say it is the evaluator's."""
    try:
        return Problem(severity, str(error), case=case, file=file, code=error.code)
    except Exception as defect:  # a subclass may have any `code` and any `__str__`
        return blame_evaluator(stage, defect, case=case, file=file)
