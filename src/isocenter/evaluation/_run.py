"""A submission against a cohort: check it, measure it, and say what came out."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from isocenter import __version__
from isocenter.evaluation._cache import cache_folder, prune
from isocenter.evaluation._case import CaseResult, CaseTask, check_case, measure_case
from isocenter.evaluation._challenge import Challenge
from isocenter.evaluation._code import fingerprint
from isocenter.evaluation._cohort import Cohort, CohortError, arrange_files, open_cohort
from isocenter.evaluation._evaluation import Evaluation
from isocenter.evaluation._journal import CaseStore, Journal
from isocenter.evaluation._workers import run_all
from isocenter.problems import EvaluationFailed, Problem, SubmissionRefused, report
from isocenter.scores import Row, frame
from isocenter.submissions import GridPolicy, Listing, is_folder, list_files, match

Progress = Callable[[int, int, str], None]
"""Called with (cases done, cases in all, the case just done)."""

# What a volume of the reference's size can need at most: 16 bytes a voxel, and room for headers.
_BYTES_PER_VOXEL = 16
_BYTES_PER_FILE = 1 << 24


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to be measured: every case of the cohort with the files that the submission has for it."""

    name: str
    tasks: tuple[CaseTask, ...]
    problems: tuple[Problem, ...]

    @property
    def refused(self) -> bool:
        return any(problem.severity == "refused" for problem in self.problems)


def check(
    challenge: Challenge,
    *,
    reference: str | os.PathLike[str],
    submission: str | os.PathLike[str],
    grid: GridPolicy = "refuse",
    cases: int | None = None,
    elsewhere: Collection[str] = (),
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> tuple[Problem, ...]:
    """Everything that is wrong with a submission, without scoring it or changing anything.

    What the evaluator or the machine failed at is among it, with that origin. A reference that cannot be used is a
    `CohortError`. See `evaluate` for the parameters.
    """
    try:
        cohort = _cohort(challenge, reference, cases)
        plan = _plan(challenge, cohort, list_files(submission), grid=grid, elsewhere=elsewhere)
    except EvaluationFailed as failure:
        return failure.problems
    if plan.refused:
        return sort_problems(plan.problems)
    results = _finish(plan, run_all(check_case, plan.tasks, executor), progress)
    _blame_the_reference(challenge, reference, results)
    return sort_problems(plan.problems, cohort.remarks, (problem for result in results for problem in result.problems))


def look(
    challenge: Challenge, *, cohort: Cohort, submission: str | os.PathLike[str], elsewhere: Collection[str] = ()
) -> tuple[Problem, ...]:
    """What the names and sizes of its files already say against a submission; none of them is opened.

    It is what `check` and `evaluate` find first. Problems of the severity "refused" are a refusal there, too.
    """
    listing = list_files(submission)
    try:
        return sort_problems(_plan(challenge, cohort, listing, grid="refuse", elsewhere=elsewhere).problems)
    except EvaluationFailed as failure:
        return failure.problems


def evaluate(
    challenge: Challenge,
    *,
    reference: str | os.PathLike[str],
    submission: str | os.PathLike[str],
    grid: GridPolicy = "refuse",
    cases: int | None = None,
    elsewhere: Collection[str] = (),
    executor: Executor | None = None,
    progress: Progress | None = None,
    journal: Path | CaseStore | None = None,
) -> Evaluation:
    """Score a submission: the same check first, then every case that passes it.

    Raises `SubmissionRefused` if the submission as a whole cannot be used; a case that cannot is in the table without
    values, and in `problems` with the reason. Raises `EvaluationFailed` if the evaluator or the machine failed in any
    case, once all others are done: there is no table then, and the journal keeps what was measured.

    Parameters
    ----------
    cases
        How many cases the reference must have, so that nobody is scored on the cohort of another phase.
    elsewhere
        Cases of other cohorts, whose files may be in the submission, too.
    journal
        Where finished cases are kept, so that a run that was stopped continues: a file, which it is for the caller to
        remove once the result is safe (`Path.unlink`), or an object that keeps them elsewhere.
    """
    cohort = _cohort(challenge, reference, cases)
    plan = _plan(challenge, cohort, list_files(submission), grid=grid, elsewhere=elsewhere)
    if plan.refused:
        problems = sort_problems(plan.problems)
        if any(problem.is_failure for problem in problems):
            raise EvaluationFailed(challenge.name, problems)
        raise SubmissionRefused(plan.name, problems)
    prune(cache_folder())
    kept: CaseStore = Journal(journal) if journal is None or isinstance(journal, Path) else journal
    before = [
        result
        for task in plan.tasks
        if task.case.name in kept and (result := kept.find(task.case.name, task.key())) is not None
    ]
    known = {result.case for result in before}
    rest = [task for task in plan.tasks if task.case.name not in known]

    def fresh() -> Iterable[CaseResult]:
        yield from before
        for result in run_all(measure_case, rest, executor):
            kept.add(result)
            yield result

    results = _finish(plan, fresh(), progress)
    _blame_the_reference(challenge, reference, results)
    problems = sort_problems(plan.problems, (problem for result in results for problem in result.problems))
    if any(result.state == "unmeasured" for result in results):
        raise EvaluationFailed(challenge.name, problems)
    return Evaluation(_table(challenge, cohort, results), problems, _record(plan, results))


def plan_for(
    challenge: Challenge,
    *,
    reference: str | os.PathLike[str],
    submission: str | os.PathLike[str],
    grid: GridPolicy,
) -> _Plan:
    """What there is to do for a submission."""
    return _plan(challenge, open_cohort(challenge, reference), list_files(submission), grid=grid)


def _cohort(challenge: Challenge, reference: str | os.PathLike[str], cases: int | None) -> Cohort:
    cohort = open_cohort(challenge, reference)
    if cases is not None and len(cohort.cases) != cases:
        found = f"the reference {os.fspath(reference)} has {len(cohort.cases)} cases"
        msg = f"{challenge.name}: {found}; the phase has {cases}"
        raise CohortError(msg)
    return cohort


def _plan(
    challenge: Challenge, cohort: Cohort, listing: Listing, *, grid: GridPolicy, elsewhere: Collection[str] = ()
) -> _Plan:
    if absurd := _too_many(challenge, cohort, listing, len(elsewhere)):
        return _Plan(listing.name, (), absurd)
    if challenge.arrange is not None and not any(problem.severity == "refused" for problem in listing.problems):
        files = {case.name: case.files for case in cohort.cases}
        listing = arrange_files(challenge, challenge.arrange, listing, files)
    found = match(listing, challenge.output, cases=[case.name for case in cohort.cases], elsewhere=elsewhere)
    blamed = {problem.case for problem in listing.problems if problem.severity == "unusable"}
    missing = [problem for problem in found.problems if problem.severity != "missing" or problem.case not in blamed]
    problems = (*listing.problems, *_too_large(challenge, cohort, listing, len(elsewhere)), *missing)
    code, cache = fingerprint(challenge), cache_folder()
    tasks = tuple(CaseTask(challenge, case, found.files[case.name], grid, code, cache) for case in cohort.cases)
    return _Plan(listing.name, tasks, problems)


def _blame_the_reference(challenge: Challenge, path: str | os.PathLike[str], results: list[CaseResult]) -> None:
    """A case whose reference cannot be used is no team's fault: there is no table until the organisers mend it."""
    problems = [problem for result in results if result.state == "no reference" for problem in result.problems]
    if problems:
        msg = f"{challenge.name}: the reference {os.fspath(path)} cannot be used:\n{report(problems)}"
        raise CohortError(msg, problems)


def most_files(challenge: Challenge, cases: int) -> int:
    """How many files an answer to so many cases has at most, with plenty of room for what else is packed with it."""
    files = sum(spec.most_files if is_folder(spec) else 1 for spec in challenge.output.values())
    return 1000 + 10 * cases * files


def _too_many(challenge: Challenge, cohort: Cohort, listing: Listing, elsewhere: int) -> tuple[Problem, ...]:
    """Far more files than an answer has: comparing all their names would take long, and listing them help nobody."""
    files, cases = len(listing.entries), len(cohort.cases) + elsewhere
    limit = most_files(challenge, cases)
    if files <= limit:
        return ()
    return (Problem.of("too_many_files", "refused", file=listing.name, files=files, cases=cases, most=limit),)


def _too_large(challenge: Challenge, cohort: Cohort, listing: Listing, elsewhere: int) -> list[Problem]:
    """A submission far larger than any answer could be: a bomb, or not an answer.

    The cases of other cohorts count as the largest of this one.
    """
    sizes = [max((grid.voxels for grid in case.grids.values()), default=0) for case in cohort.cases]
    cases, voxels = len(sizes) + elsewhere, sum(sizes) + elsewhere * max(sizes, default=0)
    files = (1 + cases) * len(challenge.output)
    told = cases * sum(spec.most_bytes or 0 for spec in challenge.output.values())
    limit = _BYTES_PER_VOXEL * voxels * len(challenge.output) + _BYTES_PER_FILE * files + told
    if listing.size <= limit:
        return []
    largest = max(listing.entries, key=lambda entry: entry.size)
    message = (
        f"{listing.size / 1e6:,.0f} MB when unpacked, of which {largest.name} has {largest.size / 1e6:,.0f}; "
        f"an answer to {cases} cases has at most {limit / 1e6:,.0f} MB"
    )
    return [Problem("refused", message, file=listing.name, code="too_large")]


def _finish(plan: _Plan, results: Iterable[CaseResult], progress: Progress | None) -> list[CaseResult]:
    """Results in the order of the cohort, reported as they come."""
    done: dict[str, CaseResult] = {}
    for result in results:
        done[result.case] = result
        if progress is not None:
            progress(len(done), len(plan.tasks), result.case)
    return [_with_state(done[task.case.name], plan) for task in plan.tasks]


def _with_state(result: CaseResult, plan: _Plan) -> CaseResult:
    """A case whose file was refused by its name or kind has nothing to read, but failed rather than be missing."""
    spoilt = any(p.case == result.case and p.severity == "unusable" for p in plan.problems)
    if result.state == "missing" and spoilt:
        return CaseResult(result.case, "failed", result.scores, result.problems, result.key)
    return result


def sort_problems(*groups: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems of one submission, worst first, then by case; each once."""
    weight = {"refused": 0, "unusable": 1, "missing": 2, "warning": 3, "note": 4}
    problems = dict.fromkeys(problem for group in groups for problem in group)
    return tuple(sorted(problems, key=lambda p: (weight[p.severity], p.case, p.file, p.message)))


def _table(challenge: Challenge, cohort: Cohort, results: list[CaseResult]) -> pl.DataFrame:
    rows = []
    for case, result in zip(cohort.cases, results, strict=True):
        scores: list[tuple[str, str, float | None]] = [(s.part, s.metric, s.value) for s in result.scores]
        if result.state != "measured":
            scores = [("", metric, None) for metric in challenge.metrics] + [("", result.state, 1.0)]
        rows += [Row(case.name, part, metric, value, case.weight) for part, metric, value in scores]
    return frame(rows)


def _record(plan: _Plan, results: list[CaseResult]) -> dict[str, Any]:
    """What made the table: nothing that differs between two runs on the same content."""
    # The result of a case whose worker died has no key; the table must still say what it was made from.
    keys = [result.key or task.key() for task, result in zip(plan.tasks, results, strict=True)]
    states = [result.state for result in results]
    return {
        "challenge": keys[0]["challenge"],
        "isocenter": __version__,
        "code": keys[0]["code"],
        "policies": {"grid": keys[0]["grid"]},
        "reference": _hash({key["case"]: key["reference"] for key in keys}),
        "submission": _hash({key["case"]: key["output"] for key in keys}),
        "cases": {state: states.count(state) for state in ("measured", "missing", "failed")},
        "problems": [problem.to_dict() for result in results for problem in result.problems],
    }


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
