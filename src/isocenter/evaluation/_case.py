"""One case of one submission: read, check, measure. This is what runs in a worker."""

from __future__ import annotations

import math
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from isocenter.evaluation._cache import prepared, reference_digest
from isocenter.evaluation._challenge import Case, Challenge, OutputError, Score
from isocenter.evaluation._cohort import CohortCase, CohortError
from isocenter.evaluation._depict import Picture
from isocenter.metrics import catalogue
from isocenter.submissions import GridPolicy, Problem
from isocenter.volumes import File, VolumeError, digest


@dataclass(frozen=True, slots=True)
class CaseTask:
    """All that a worker needs to measure one case; it travels to another process or machine."""

    challenge: Challenge
    case: CohortCase
    output: Mapping[str, File]
    grid: GridPolicy
    code: str
    cache: Path | None

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
    """What came out for one case: its scores, or why there are none."""

    case: str
    state: Literal["measured", "missing", "failed", "no reference"]
    scores: tuple[Score, ...] = ()
    problems: tuple[Problem, ...] = ()
    key: Mapping[str, Any] | None = None


def check_case(task: CaseTask) -> CaseResult:
    """Read and check the outputs of a case without measuring them."""
    return _done(task, measuring=False)


def measure_case(task: CaseTask) -> CaseResult:
    """Measure a case. Whatever goes wrong is in the result, so that one case never sinks the others."""
    return _done(task, measuring=True)


def _done(task: CaseTask, *, measuring: bool) -> CaseResult:
    challenge = task.challenge
    try:
        key = task.key() if measuring or challenge.inspect else None
        output, result = _read_output(task)
    except Exception as error:
        return failed(task.case.name, _explain(error))
    if result.state != "measured" or key is None:
        return replace(result, scores=(), key=key)
    try:
        reference = prepared(task.cache, _cache_key(task, key), lambda: _prepare(task))
    except Exception as error:
        problem = Problem("refused", _explain(error), case=task.case.name)
        return CaseResult(task.case.name, "no reference", (), (problem,))
    try:
        remarks = challenge.inspect(reference, output) if challenge.inspect else ()
        problems = (*result.problems, *(Problem(*remark, case=task.case.name) for remark in remarks))
        scores = _measured(challenge, reference, output) if measuring else []
    except OutputError as error:
        return failed(task.case.name, str(error))
    except Exception as error:
        return failed(task.case.name, f"could not be measured: {_explain(error, always_where=True)}")
    return CaseResult(result.case, "measured", (*result.scores, *scores), problems, key)


def picture_of(task: CaseTask) -> Picture:
    """What the challenge shows of a case; a `ValueError` says why there is nothing to show."""
    assert task.challenge.depict is not None
    output, result = _read_output(task)
    if result.state != "measured":
        reasons = "; ".join(problem.message for problem in result.problems) or "there is no output"
        msg = f"{task.case.name} cannot be shown: {reasons}"
        raise ValueError(msg)
    return task.challenge.depict(prepared(task.cache, _cache_key(task, task.key()), lambda: _prepare(task)), output)


def failed(case: str, reason: str) -> CaseResult:
    """The result of a case that could not be measured."""
    return CaseResult(case, "failed", (), (Problem("unusable", reason, case=case),))


def _read_output(task: CaseTask) -> tuple[dict[str, Any], CaseResult]:
    """What the submission holds for the case, and a result without measurements that says how it was read."""
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    observations: list[Score] = []
    broken = False
    for slot, spec in task.challenge.output.items():
        file = task.output.get(slot)
        if file is None:
            continue
        grid = task.case.grids.get(spec.grid_of) if spec.grid_of else None
        try:
            reading = spec.read(file, grid=grid, policy=task.grid)
        except (ValueError, OSError) as error:
            problems.append(Problem("unusable", _explain(error), case=task.case.name, file=file.name))
            broken = True
            continue
        values[slot] = reading.value
        problems += reading.problems(case=task.case.name, file=file.name)
        observations += [Score(metric, value) for metric, value in reading.observations]
    state: Literal["measured", "missing", "failed"] = "measured"
    if len(values) < len(task.challenge.output):
        state = "failed" if broken else "missing"
    return values, CaseResult(task.case.name, state, tuple(observations), tuple(problems))


def _prepare(task: CaseTask) -> Any:
    try:
        read = {
            slot: spec.read(task.case.files[slot], grid=None, policy="refuse").value
            for slot, spec in task.challenge.reference.items()
        }
    except (ValueError, OSError) as error:
        msg = f"cannot be read: {error}"
        raise ValueError(msg) from error
    try:
        return task.challenge.prepare(Case(task.case.name, read, task.case.facts))
    except Exception as error:
        msg = f"cannot be prepared: {_explain(error, always_where=True)}"
        raise ValueError(msg) from error


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
    if score.value is None or math.isnan(score.value):
        return Score(score.metric, None, score.part)
    metric = catalogue.get(score.metric)
    if not metric.admits(float(score.value)):
        msg = f"measure yielded {score.metric} = {score.value}, outside of {list(metric.bounds)}"
        raise ValueError(msg)
    return Score(score.metric, float(score.value), score.part)


def _explain(error: Exception, *, always_where: bool = False) -> str:
    """The reason of a failure; of an unforeseen one also its place, for whoever wrote the code."""
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"  # without the path, which is nobody's business
    meant = isinstance(error, VolumeError | OutputError | CohortError)
    if meant or (isinstance(error, ValueError | OSError) and not always_where):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"
