"""Where the masks of many submissions are, case by case, and how each is read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeVar

from isocenter.ensembles._error import EnsembleError
from isocenter.problems import Problem, SubmissionRefused, code_of_error, origin_of_error, report
from isocenter.submissions import FileSpec, GridPolicy, Listing, list_files, match
from isocenter.volumes import File, Grid, LabelMap, digest

Path = str | os.PathLike[str]
Progress = Callable[[int, int, str], None]
"""Called with (cases done, cases in all, the case just done)."""

REFERENCE = "reference"
"""What the truth is called where it stands beside voters."""

# Names stand in "2of(a,b,c)", in "a|b" and in a=folder.
_NAME = re.compile(r"[^\s,()|=](?:[^,()|=]*[^\s,()|=])?")
T = TypeVar("T")


class AsksForMasks(Protocol):
    """What is needed of a challenge; `evaluation.Challenge` has it."""

    @property
    def name(self) -> str:
        """For messages."""
        ...

    @property
    def reference(self) -> Mapping[str, FileSpec]:
        """The files of a case."""
        ...

    @property
    def output(self) -> Mapping[str, FileSpec]:
        """The files of a submission."""
        ...


class CaseFiles(Protocol):
    """What is needed of a case; those of `evaluation.open_cohort` have it."""

    @property
    def name(self) -> str:
        """The case."""
        ...

    @property
    def files(self) -> Mapping[str, File]:
        """Its reference files; none if it has no truth."""
        ...

    @property
    def grids(self) -> Mapping[str, Grid]:
        """The grids of those that are volumes."""
        ...

    @property
    def weight(self) -> float:
        """Its sampling weight."""
        ...


class Cohort(Protocol):
    """What is needed of a cohort."""

    @property
    def cases(self) -> Sequence[CaseFiles]:
        """All cases, in order."""
        ...


State = Literal["voted", "missing", "failed"]


@dataclass
class Roll:
    """Who voted in a case, written while the masks are read.

    Attributes
    ----------
    states
        By voter: it "voted", has no mask ("missing"), or one that could not be used ("failed").
    digests
        SHA-256 of the files that were there.
    problems
        What was wrong with them; each says whose it is.
    """

    states: dict[str, State] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class TruthError(EnsembleError):
    """References that cannot be read; the message lists all of them."""


@dataclass(frozen=True, slots=True)
class CaseTask:
    """All that a worker needs of one case: where its masks are, and how they are read."""

    case: str
    weight: float
    grid: Grid
    truth: File | None
    truth_spec: FileSpec
    files: Mapping[str, File]
    spec: FileSpec
    policy: GridPolicy
    voters: tuple[str, ...]
    spoilt: frozenset[str] = frozenset()
    """Voters whose file is there but was not accepted by its name or kind."""

    def maps(self, roll: Roll) -> Iterator[tuple[str, LabelMap | None]]:
        """The voters' maps, read one after the other; None for one that is missing or unusable."""
        for voter in self.voters:
            roll.states[voter] = "failed" if voter in self.files or voter in self.spoilt else "missing"
            file = self.files.get(voter)
            yield voter, None if file is None else self._read(voter, file, roll)

    def _read(self, voter: str, file: File, roll: Roll) -> LabelMap | None:
        try:
            roll.digests[voter] = digest(file)
            reading = self.spec.read(file, grid=self.grid, policy=self.policy)
        except (ValueError, OSError) as error:
            if origin_of_error(error, reading="output") == "machine":
                raise  # a disk that fails is not a voter who has no mask
            problem = Problem("unusable", _reason(error), self.case, file.name, code=code_of_error(error))
            roll.problems.append(of_voter(voter, problem))
            return None
        roll.states[voter] = "voted"
        roll.problems += [of_voter(voter, problem) for problem in reading.problems(case=self.case, file=file.name)]
        return _as_map(reading.value)

    def read_truth(self) -> LabelMap | None:
        """The reference mask; None if the case has none."""
        if self.truth is None:
            return None
        try:
            return _as_map(self.truth_spec.read(self.truth, grid=None, policy="refuse").value)
        except (ValueError, OSError) as error:
            origin, code = origin_of_error(error, reading="reference"), code_of_error(error)
            problem = Problem("unusable", _reason(error), self.case, self.truth.name, code=code, origin=origin)
            raise TruthError(report([problem])) from error


def open_votes(
    challenge: AsksForMasks, cohort: Cohort, submissions: Mapping[str, Path], *, grid: GridPolicy
) -> tuple[list[CaseTask], tuple[Problem, ...]]:
    """Find the masks of all submissions, without reading any."""
    slot, reference = slots(challenge)
    voters = check_names(submissions)
    names = [case.name for case in cohort.cases]
    spec = challenge.output[slot]
    listed = {voter: _reasonable(list_files(submissions[voter]), len(names)) for voter in voters}
    found = {voter: match(listed[voter], {slot: spec}, cases=names) for voter in voters}
    problems = [of_voter(voter, p) for voter in voters for p in (*listed[voter].problems, *found[voter].problems)]
    if refused := [problem for problem in problems if problem.severity == "refused"]:
        raise SubmissionRefused(" + ".join(voters), refused)
    unusable = {(v, p.case) for v in voters for p in found[v].problems if p.severity == "unusable"}
    tasks = [
        CaseTask(
            case=case.name,
            weight=case.weight,
            grid=case.grids[reference],
            truth=case.files.get(reference),
            truth_spec=challenge.reference[reference],
            files={v: files[slot] for v in voters if slot in (files := found[v].files[case.name])},
            spec=spec,
            policy=grid,
            voters=voters,
            spoilt=frozenset(v for v in voters if (v, case.name) in unusable),
        )
        for case in cohort.cases
    ]
    return tasks, tuple(problems)


def _reasonable(listing: Listing, cases: int) -> Listing:
    """The listing, or, with far more files than an answer has, a refusal: comparing all names would take long."""
    if len(listing.entries) <= (limit := 1000 + 10 * cases):
        return listing
    files = len(listing.entries)
    problem = Problem.of("too_many_files", "refused", file=listing.name, files=files, cases=cases, most=limit)
    return Listing(listing.name, (), (problem,))


def slots(challenge: AsksForMasks) -> tuple[str, str]:
    """The one output of a challenge that asks for masks, and the reference that it is compared with."""
    if len(challenge.output) != 1:
        msg = f"{challenge.name} asks for {', '.join(challenge.output)}; votes are taken on one mask per case"
        raise EnsembleError(msg)
    ((slot, spec),) = challenge.output.items()
    return slot, spec.grid_of or next(iter(challenge.reference))


def check_names(submissions: Iterable[str]) -> tuple[str, ...]:
    """The names in alphabetical order, if all of them can stand in the name of an ensemble."""
    names = sorted(submissions)
    if bad := [name for name in names if not _NAME.fullmatch(name) or name == REFERENCE]:
        msg = f"{bad[0]!r} cannot be the name of a voter: no commas, parentheses, bars or =, and not {REFERENCE!r}"
        raise EnsembleError(msg)
    return tuple(names)


def each_case(
    work: Callable[[CaseTask], T],
    tasks: Sequence[CaseTask],
    *,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Iterator[T]:
    """What the work makes of every case, in their order; references that cannot be read are named all at once."""
    troubles: list[str] = []
    attempts = (executor.map if executor else map)(_Attempt(work), tasks)
    for done, (task, result) in enumerate(zip(tasks, attempts, strict=True), start=1):
        if progress is not None:
            progress(done, len(tasks), task.case)
        if isinstance(result, TruthError):
            troubles.append(str(result))
        else:
            yield result
    if troubles:
        msg = "references that cannot be used:\n" + "\n".join(troubles)
        raise TruthError(msg)


@dataclass(frozen=True)
class _Attempt:
    """The work, with a bad reference as its result rather than as its end; it travels to other processes."""

    work: Callable[[CaseTask], Any]

    def __call__(self, task: CaseTask) -> Any:
        try:
            return self.work(task)
        except TruthError as error:
            return error


def of_voter(voter: str, problem: Problem) -> Problem:
    """A problem that says whose it is."""
    return replace(problem, file=f"{voter}: {problem.file}" if problem.file else voter)


def _as_map(value: Any) -> LabelMap:
    if not isinstance(value, LabelMap):
        msg = f"votes are taken on masks, not on a {type(value).__name__}"
        raise TypeError(msg)
    return value


def _reason(error: Exception) -> str:
    """Why a file could not be read; without its path, which is nobody's business."""
    return f"cannot be read: {error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)
