"""How far the readers of a study are, by their pseudonyms: for organisers, once cases are dealt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING, Literal

from isocenter.server.models import Assignment, CaseRead, Reader, Study
from isocenter.server.reading.drawing import answers_of, facts_of
from isocenter.server.reading.protocol import reading_of

if TYPE_CHECKING:
    from isocenter.readers import Balance

Kind = Literal["quick", "usual", "long", "begun", "waiting"]
"""A case in the picture: done in less than half the usual time, about as long, or more than twice; or not done."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Where a reader is with a case.

    Attributes
    ----------
    handed_in
        How many stages; `state` says the same in words: "not begun", "stage 2" (in which the reader is), or "done".
    seconds
        Looked at so far, over all stages, without pauses.
    """

    position: int
    state: str
    handed_in: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Span:
    """Cases in a row that look the same in the picture: from `start` on, counted from 0."""

    start: int
    length: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Line:
    """A reader: the cases in their order."""

    pseudonym: str
    block: int
    """From 1."""
    cells: tuple[Cell, ...]
    practised: int
    """Practice cases that are done."""
    withdrawn: bool

    @property
    def done(self) -> int:
        """Cases that are done."""
        return sum(cell.state == "done" for cell in self.cells)

    @property
    def usual(self) -> float | None:
        """The median time of the cases that are done, s; None before the first."""
        times = [cell.seconds for cell in self.cells if cell.state == "done"]
        return median(times) if times else None

    @property
    def words(self) -> str:
        """The picture in a sentence."""
        now = next((cell for cell in self.cells if cell.state.startswith("stage")), None)
        at = "" if now is None else f", case {now.position} in {now.state}"
        left = sum(cell.state == "not begun" for cell in self.cells)
        return f"{self.done} of {len(self.cells)} cases done{at}, {left} not begun"

    def spans(self, usual: float | None) -> list[Span]:
        """The picture, given the usual time of a case among all readers, s."""
        kinds = [(number, _kind(cell, usual)) for number, cell in enumerate(self.cells)]
        runs = [list(run) for _, run in groupby(kinds, key=lambda one: one[1])]
        return [Span(run[0][0], len(run), run[0][1]) for run in runs]


@dataclass(frozen=True, slots=True)
class StageTime:
    """How long a stage takes: the median over all reads that were handed in, s."""

    name: str
    title: str
    reads: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Progress:
    """The study as a whole.

    Attributes
    ----------
    due, handed_in
        Reads, one per case and stage, of readers who have not withdrawn: all there are to be, and those that are there.
    usual
        The median time of a case, over its stages, s.
    cases, readers
        How even the blocks are now, after late readers and withdrawals.
    """

    lines: tuple[Line, ...]
    stages: tuple[StageTime, ...]
    due: int
    handed_in: int
    usual: float | None
    cases: Balance
    readers: Balance

    @property
    def finished(self) -> int:
        """Readers who have read all their cases, and have not withdrawn."""
        return sum(line.done == len(line.cells) for line in self.lines if not line.withdrawn)


def progress(study: Study) -> Progress | None:
    """How far everybody is; None before cases are dealt, when nobody may even be listed."""
    if study.drawn is None:
        return None
    stages = study.challenge.edition.stages
    readers = list(study.readers.filter(block__isnull=False).order_by("pseudonym"))
    reads = _reads(study)
    lines = _lines(study, readers, reads, len(stages))
    here = [line for line in lines if not line.withdrawn]
    times = [cell.seconds for line in lines for cell in line.cells if cell.state == "done"]
    return Progress(
        lines=tuple(lines),
        stages=tuple(_stage_time(stage.name, stage.title, reads) for stage in stages),
        due=sum(len(line.cells) for line in here) * len(stages),
        handed_in=sum(cell.handed_in for line in here for cell in line.cells),
        usual=median(times) if times else None,
        cases=case_balance(study),
        readers=reader_balance(study, [reader for reader in readers if reader.withdrawn is None]),
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    """Of a read: which, whether it was handed in, and for how long it was looked at."""

    assignment: int
    practice: bool
    stage: str
    handed_in: bool
    seconds: float


def _reads(study: Study) -> list[_Seen]:
    rows = CaseRead.objects.filter(assignment__reader__study=study).order_by("pk")
    fields = ("assignment_id", "assignment__practice", "stage", "submitted", "seconds")
    return [
        _Seen(key, practice, stage, submitted is not None, seconds)
        for key, practice, stage, submitted, seconds in rows.values_list(*fields)
    ]


def _lines(study: Study, readers: Sequence[Reader], reads: Iterable[_Seen], stages: int) -> list[Line]:
    of_assignment: dict[int, list[_Seen]] = {}
    for read in reads:
        of_assignment.setdefault(read.assignment, []).append(read)
    cells: dict[int, list[Cell]] = {}
    practised: dict[int, int] = {}
    rows = Assignment.objects.filter(reader__study=study).order_by("reader", "practice", "position")
    for key, reader, practice, position in rows.values_list("pk", "reader_id", "practice", "position"):
        cell = _cell(position, of_assignment.get(key, ()), stages)
        if practice:
            practised[reader] = practised.get(reader, 0) + (cell.state == "done")
        else:
            cells.setdefault(reader, []).append(cell)
    return [
        Line(
            reader.pseudonym,
            (reader.block or 0) + 1,
            tuple(cells.get(reader.pk, ())),
            practised.get(reader.pk, 0),
            reader.withdrawn is not None,
        )
        for reader in readers
    ]


def _cell(position: int, reads: Sequence[_Seen], stages: int) -> Cell:
    done = sum(read.handed_in for read in reads)
    state = "done" if done == stages else f"stage {done + 1}" if reads else "not begun"
    return Cell(position, state, done, sum(read.seconds for read in reads))


def _kind(cell: Cell, usual: float | None) -> Kind:
    if cell.state == "not begun":
        return "waiting"
    if cell.state != "done":
        return "begun"
    if not usual:
        return "usual"
    return "quick" if cell.seconds < usual / 2 else "long" if cell.seconds > usual * 2 else "usual"


def _stage_time(name: str, title: str, reads: Iterable[_Seen]) -> StageTime:
    times = [read.seconds for read in reads if read.stage == name and read.handed_in and not read.practice]
    return StageTime(name, title, len(times), median(times) if times else None)


def case_balance(study: Study) -> Balance:
    """How even the blocks of cases are."""
    from isocenter.readers import balance_of

    reading = reading_of(study)
    every = list(study.cases.filter(practice=False, block__isnull=False).order_by("name"))
    units = {case.name: facts_of(case, reading) for case in every}
    blocks = [[case.name for case in every if case.block == number] for number in range(reading.blocks)]
    return balance_of(units, blocks, by=reading.cases_by)


def reader_balance(study: Study, readers: Sequence[Reader]) -> Balance:
    """How even the blocks of some readers are."""
    from isocenter.readers import balance_of

    reading = reading_of(study)
    units = {reader.pseudonym: answers_of(reader, reading) for reader in readers}
    blocks = [[one.pseudonym for one in readers if one.block == number] for number in range(reading.blocks)]
    return balance_of(units, blocks, by=reading.readers_by if units else ())
