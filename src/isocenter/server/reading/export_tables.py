"""The tables of an export, each as text: sorted, so that the same study gives the same bytes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from isocenter.editions import Question, Stage
from isocenter.server.models import Assignment, CaseRead, Reader, ReadEvent, StudyCase
from isocenter.server.people.closed_answers import closed, in_cells
from isocenter.submissions import as_cell

if TYPE_CHECKING:
    from isocenter.readers import Reads


@dataclass(frozen=True)
class Kept:
    """What is exported of a study.

    Attributes
    ----------
    readers, cases
        By pseudonym and name.
    assignments
        By reader, the practice cases first, then position.
    reads
        What was handed in, in the order of the assignments and stages.
    """

    stages: tuple[Stage, ...]
    opens: datetime
    readers: Sequence[Reader]
    cases: Sequence[StudyCase]
    assignments: Sequence[Assignment]
    reads: Sequence[CaseRead]

    def of_study(self) -> list[CaseRead]:
        """The reads without practice."""
        return [read for read in self.reads if not read.assignment.practice]


def as_reads(reads: Iterable[CaseRead], name: str) -> Reads:
    """Reads as `isocenter.readers` has them; the modality is the name of the stage."""
    from isocenter.metrics import Mark
    from isocenter.readers import Read, Reads

    return Reads(
        tuple(
            Read(
                read.assignment.reader.pseudonym,
                read.assignment.case.name,
                marks=tuple(Mark((mark["x"], mark["y"], mark["z"]), mark["pirads"]) for mark in read.marks),
                score=read.score,
                modality=read.stage,
            )
            for read in reads
        ),
        name=name,
    )


def design(kept: Kept) -> str:
    """Who reads which case as which of theirs."""
    rows = [
        (one.reader.pseudonym, _block(one.reader), one.position, one.case.name)
        for one in kept.assignments
        if not one.practice
    ]
    return _table(("reader", "block", "position", "case"), rows)


def readers(kept: Kept, questions: Iterable[Question]) -> str:
    """Readers with their blocks, whether they withdrew, and what they chose as answers; nothing in own words."""
    asked = closed(questions)
    rows = []
    for one in kept.readers:
        given = in_cells(asked, one.answers)
        answers = [safe(given.get(question.name, "")) for question in asked]
        rows.append((one.pseudonym, _block(one), _yes(one.withdrawn is not None), one.guide_version, *answers))
    return _table(("reader", "block", "withdrawn", "guide", *(question.name for question in asked)), rows)


def cases(kept: Kept) -> str:
    """Cases with their blocks, truth and facts."""
    facts = sorted({name for case in kept.cases for name in case.facts})
    rows = [
        (
            case.name,
            _block(case),
            _yes(case.practice),
            "" if case.positive is None else _yes(case.positive),
            *(safe(str(case.facts.get(name, ""))) for name in facts),
        )
        for case in kept.cases
    ]
    return _table(("case", "block", "practice", "positive", *(safe(name) for name in facts)), rows)


def times(kept: Kept) -> str:
    """How long reads took, and when: whole minutes since the study opened."""
    rows = [
        (
            *_names(read),
            f"{read.seconds:.1f}",
            _minutes(kept, read.opened),
            _minutes(kept, read.submitted),
            "" if read.unchanged is None else _yes(read.unchanged),
        )
        for read in kept.of_study()
    ]
    return _table(("reader", "case", "stage", "seconds", "opened_min", "handed_in_min", "unchanged"), rows)


def events(kept: Kept) -> str:
    """What happened while cases were read: seconds since the stage was opened, pauses included."""
    of_read: dict[int, list[ReadEvent]] = {}
    readers = [reader.pk for reader in kept.readers]
    for event in ReadEvent.objects.filter(read__assignment__reader__in=readers).order_by("pk"):
        of_read.setdefault(event.read_id, []).append(event)
    rows = []
    for read in kept.of_study():
        for number, event in enumerate(of_read.get(read.pk, ()), start=1):
            passed = (event.made - read.opened).total_seconds()
            detail = json.dumps(event.detail, sort_keys=True) if event.detail else ""
            rows.append((*_names(read), number, f"{passed:.1f}", event.kind, detail))
    return _table(("reader", "case", "stage", "number", "seconds", "event", "detail"), rows)


def missing(kept: Kept) -> list[tuple[str, str, str]]:
    """What was dealt and not handed in: reader, case and stage."""
    there = {(read.assignment_id, read.stage) for read in kept.reads}
    return [
        (one.reader.pseudonym, one.case.name, stage.name)
        for one in kept.assignments
        if not one.practice
        for stage in kept.stages
        if (one.pk, stage.name) not in there
    ]


def missing_table(rows: Iterable[tuple[str, str, str]]) -> str:
    """The same as a table."""
    return _table(("reader", "case", "stage"), rows)


def _names(read: CaseRead) -> tuple[str, str, str]:
    return read.assignment.reader.pseudonym, read.assignment.case.name, read.stage


def _minutes(kept: Kept, when: datetime | None) -> int:
    assert when is not None
    return int((when - kept.opens).total_seconds() // 60)


def _block(one: Reader | StudyCase) -> int | str:
    return "" if one.block is None else one.block + 1


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def safe(text: str) -> str:
    """A cell that no spreadsheet runs as a formula; numbers stay as they are."""
    try:
        float(text)
    except ValueError:
        return as_cell(text)
    return text


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return stream.getvalue()


def as_json(value: Mapping[str, object]) -> str:
    """JSON as files have it."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
