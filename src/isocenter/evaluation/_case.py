"""One case of one submission: read, check, measure. This is what runs in a worker."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from isocenter.evaluation._cache import prepared, reference_digest
from isocenter.evaluation._challenge import Case, Challenge, Score
from isocenter.evaluation._cohort import CohortCase, CohortError
from isocenter.evaluation._depict import Picture
from isocenter.evaluation._stages import blame_evaluator, blame_output, report_stage
from isocenter.metrics import catalogue
from isocenter.problems import (
    Origin,
    OutputError,
    Problem,
    Remark,
    Severity,
    code_of_error,
    describe_error,
    make_words,
    origin_of_error,
)
from isocenter.submissions import GridPolicy
from isocenter.volumes import File, VolumeError, digest, hold

_MOST_HELD = 1 << 26  # bytes of the files of one slot of a case that are kept from hashing to reading


@dataclass(frozen=True, slots=True)
class CaseTask:
    """All that a worker needs to measure one case; it travels to another process or machine."""

    challenge: Challenge
    case: CohortCase
    output: Mapping[str, File]
    grid: GridPolicy
    code: str
    cache: Path | None

    def held(self) -> CaseTask:
        """The same task, whose files are read once: hashed, and then read from memory."""
        files = {slot: hold(file, most=_MOST_HELD) for slot, file in self.case.files.items()}
        output = {slot: hold(file, most=_MOST_HELD) for slot, file in self.output.items()}
        return replace(self, case=replace(self.case, files=files), output=output)

    def key(self) -> dict[str, Any]:
        """What the result depends on, by content: the same key, the same result."""
        return {
            "case": self.case.name,
            "weight": self.case.weight,
            "facts": dict(self.case.facts),
            "challenge": self.challenge.name,
            "code": self.code,
            "grid": self.grid,
            "reference": {slot: reference_digest(self.cache, file) for slot, file in sorted(self.case.files.items())},
            "output": {slot: _digest(file) for slot, file in sorted(self.output.items())},
        }


def _digest(file: File) -> str:
    """The hash of a file, or that it has none: an output that cannot be read is still an output."""
    try:
        return digest(file)
    except OSError:
        return "unreadable"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What came out for one case: its scores, or why there are none.

    ============  =============================================================================================
    measured      there are scores
    missing       the submission has no output for it
    failed        its output cannot be used
    no reference  its reference cannot be used
    unmeasured    nobody could measure it through no fault of the output: the evaluator failed, or the machine
    ============  =============================================================================================
    """

    case: str
    state: Literal["measured", "missing", "failed", "no reference", "unmeasured"]
    scores: tuple[Score, ...] = ()
    problems: tuple[Problem, ...] = ()
    key: Mapping[str, Any] | None = None

    @classmethod
    def stopped_by(cls, problem: Problem) -> Self:
        """The result of a case that could not be measured; its state follows from where the problem arose."""
        states: dict[Origin, Literal["failed", "no reference"]] = {"output": "failed", "reference": "no reference"}
        return cls(problem.case, states.get(problem.origin, "unmeasured"), (), (problem,))


@cache
def retain_freed_memory() -> None:
    """Let the process keep the memory that a case frees for the next one.

    glibc takes large blocks from the system and gives them back when they are freed, so that every page of every case
    is cleared anew; that took a tenth of the time of OpenKBP. It learns from the largest block that was freed so far,
    up to 32 MiB: smaller blocks are reused from then on. This one is never touched, so it costs nothing.
    """
    with suppress(MemoryError):  # a process with little memory does without
        np.empty((1 << 25) - (1 << 16), np.uint8)


class _Stopped(ValueError):
    """Carries the problem that stopped a case."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(problem.message)


def check_case(task: CaseTask) -> CaseResult:
    """Read and check the outputs of a case without measuring them."""
    return _done(task, measuring=False)


def measure_case(task: CaseTask) -> CaseResult:
    """Measure a case. Whatever goes wrong is in the result, so that one case never sinks the others."""
    return _done(task, measuring=True)


def _done(task: CaseTask, *, measuring: bool) -> CaseResult:
    challenge = task.challenge
    stage = report_stage("read")
    retain_freed_memory()
    try:
        task = task.held()
        key = _key(task) if measuring or challenge.inspect else None
        output, result = _read_output(task)
        if result.state != "measured" or key is None:
            return replace(result, scores=(), key=key)
        stage = report_stage("prepare")
        reference = prepared(task.cache, _cache_key(task, key), lambda: _prepare(task))
        stage = report_stage("inspect")
        problems = (*result.problems, *_inspected(task, reference, output))
        stage = report_stage("measure")
        scores = _measured(challenge, reference, output) if measuring else []
    except _Stopped as stop:
        return CaseResult.stopped_by(stop.problem)
    except OutputError as error:
        return CaseResult.stopped_by(blame_output(stage, error, case=task.case.name))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also `sys.exit`, and whatever else a hook makes up
        return CaseResult.stopped_by(blame_evaluator(stage, error, case=task.case.name))
    return CaseResult(result.case, "measured", (*result.scores, *scores), problems, key)


def _key(task: CaseTask) -> dict[str, Any]:
    """The key of a task; what cannot be hashed is the reference, as an output without a hash is still an output."""
    try:
        return task.key()
    except OSError as error:
        origin = origin_of_error(error, reading="reference")
        raise _Stopped(_unreadable(error, "refused", origin, case=task.case.name)) from error


def _inspected(task: CaseTask, reference: Any, output: Mapping[str, Any]) -> Iterator[Problem]:
    """What `inspect` has to say of the output."""
    if task.challenge.inspect is not None:
        for remark in (Remark(*parts) for parts in task.challenge.inspect(reference, output)):
            if remark.severity not in ("warning", "note"):
                msg = f"inspect yielded the severity {remark.severity!r}; a remark is a 'warning' or a 'note'"
                raise ValueError(msg)
            yield Problem(remark.severity, remark.text, case=task.case.name, code=remark.code)


def picture_of(task: CaseTask) -> Picture:
    """What the challenge shows of a case; a `ValueError` says why there is nothing to show."""
    assert task.challenge.depict is not None
    output, result = _read_output(task)
    if result.state != "measured":
        reasons = "; ".join(problem.message for problem in result.problems) or "there is no output"
        msg = f"{task.case.name} cannot be shown: {reasons}"
        raise ValueError(msg)
    return task.challenge.depict(prepared(task.cache, _cache_key(task, task.key()), lambda: _prepare(task)), output)


def _read_output(task: CaseTask) -> tuple[dict[str, Any], CaseResult]:
    """What the submission holds for the case, and a result without measurements that says how it was read."""
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    observations: list[Score] = []
    for slot, spec in task.challenge.output.items():
        file = task.output.get(slot)
        if file is None:
            continue
        grid = task.case.grids.get(spec.grid_of) if spec.grid_of else None
        try:
            reading = spec.read(file, grid=grid, policy=task.grid)
            remarks = reading.problems(case=task.case.name, file=file.name)
        except (ValueError, OSError, MemoryError) as error:
            origin = origin_of_error(error, reading="output")
            problems.append(_unreadable(error, "unusable", origin, case=task.case.name, file=file.name))
            continue
        except Exception as error:  # a defect of the reader, which the challenge brings
            problems.append(blame_evaluator("read", error, case=task.case.name, file=file.name))
            continue
        values[slot] = reading.value
        problems += remarks
        observations += [Score(metric, value) for metric, value in reading.observations]
    state: Literal["measured", "missing", "failed", "unmeasured"] = "measured"
    if len(values) < len(task.challenge.output):
        broken = [problem for problem in problems if problem.severity == "unusable"]
        # Where the evaluator failed, too, the output is not known to be at fault in the end: nobody pays.
        innocent = any(problem.origin != "output" for problem in broken)
        state = "unmeasured" if innocent else "failed" if broken else "missing"
    return values, CaseResult(task.case.name, state, tuple(observations), tuple(problems))


def _prepare(task: CaseTask) -> Any:
    """What `prepare` makes of a case; `_Stopped` if the reference, or `prepare` itself, is at fault."""
    case = task.case.name
    try:
        read = {
            slot: spec.read(task.case.files[slot], grid=None, policy="refuse").value
            for slot, spec in task.challenge.reference.items()
        }
    except (ValueError, OSError) as error:
        origin = origin_of_error(error, reading="reference")
        message, code = f"cannot be read: {error}", code_of_error(error, otherwise="reference")
        problem = Problem("refused", message, case=case, code=code, origin=origin)
        raise _Stopped(problem) from error
    except Exception as error:
        raise _Stopped(blame_evaluator("prepare", error, case=case)) from error
    try:
        return task.challenge.prepare(Case(case, read, task.case.facts))
    except (CohortError, VolumeError) as error:  # some read their files, or a part of them, only now
        code = error.code if isinstance(error, VolumeError) else "reference"
        message = f"cannot be prepared: {error}"
        raise _Stopped(Problem("refused", message, case=case, code=code, origin="reference")) from error
    except Exception as error:
        raise _Stopped(blame_evaluator("prepare", error, case=case)) from error


def _cache_key(task: CaseTask, key: Mapping[str, Any]) -> tuple[str, ...]:
    said = (*key["reference"].items(), *sorted(task.case.facts.items()))
    return (task.challenge.name, task.code, task.case.name, *(f"{name}={content}" for name, content in said))


def _measured(challenge: Challenge, reference: Any, output: Mapping[str, Any]) -> list[Score]:
    """What `measure` yields, if it is what the challenge declares: every metric, none twice."""
    found = challenge.measure(reference, output)
    if isinstance(found, Score):
        msg = "measure returned one Score; it must yield them"
        raise TypeError(msg)
    scores = [_checked(score, challenge) for score in found]
    places = Counter((score.metric, score.part) for score in scores)
    if twice := sorted(place for place, count in places.items() if count > 1):
        msg = f"measure yielded {twice[0][0]!r} twice for part {twice[0][1]!r}"
        raise ValueError(msg)
    if lacking := [metric for metric in challenge.metrics if metric not in {metric for metric, _ in places}]:
        msg = f"measure yielded no {lacking[0]!r}; one that is undefined for a case is Score({lacking[0]!r}, None)"
        raise ValueError(msg)
    return scores


def _checked(score: Score, challenge: Challenge) -> Score:
    """A score that the table will take: declared, a float, possible; NaN means undefined and is None."""
    score = Score(*score)
    declared = (*challenge.metrics, *challenge.observations)
    if score.metric not in declared:
        msg = f"measure yielded {score.metric!r}, which the challenge does not declare ({', '.join(declared)})"
        raise ValueError(msg)
    if not isinstance(score.part, str):
        msg = f"measure yielded {score.metric!r} for part {score.part!r}; a part is a text, '' for the whole case"
        raise TypeError(msg)
    if score.value is None or math.isnan(score.value):
        return Score(score.metric, None, score.part)
    metric = catalogue.get(score.metric)
    if not metric.admits(float(score.value)):
        msg = f"measure yielded {score.metric} = {score.value}, outside of {list(metric.bounds)}"
        raise ValueError(msg)
    return Score(score.metric, float(score.value), score.part)


def _unreadable(error: Exception, severity: Severity, origin: Origin, *, case: str, file: str = "") -> Problem:
    """What kept a file from being read."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = make_words("unreadable", detail=error.strerror)  # without the path, which is nobody's business
    elif isinstance(error, MemoryError):
        text = describe_error(error)
    return Problem(severity, text, case=case, file=file, code=code_of_error(error), origin=origin)
