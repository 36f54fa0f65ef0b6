"""Whose turn it is: the one case, and its one stage, that a reader may see now.

    guide not confirmed ─▶ practice cases ─▶ the study is open and drawn ─▶ cases in the reader's order ─▶ done

Cases are opened in order, stages in order; nothing that was handed in comes back but as the copy a next stage begins
with. All of it is decided here: pages, scans and answers ask `turn_of`.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db import IntegrityError, transaction

from isocenter.editions import Stage
from isocenter.server import clock
from isocenter.server.models import Assignment, CaseRead, Reader, ReadEvent
from isocenter.server.reading import drawing, protocol

Why = Literal["withdrawn", "guide", "no cases", "not drawn", "not open", "over", "done"]


@dataclass(frozen=True)
class Waiting:
    """Why there is nothing to read for a reader now."""

    why: Why


@dataclass(frozen=True)
class Turn:
    """The case and stage that a reader reads now.

    Attributes
    ----------
    number, total
        Which of the reader's cases it is, from 1; practice cases are counted apart.
    stage_number, stages
        Which stage of how many, from 1.
    """

    assignment: Assignment
    stage: Stage
    number: int
    total: int
    stage_number: int
    stages: int

    @property
    def practice(self) -> bool:
        """Whether it is a case to get used to it."""
        return self.assignment.practice

    @property
    def last_stage(self) -> bool:
        """Whether the next case follows when it is handed in."""
        return self.stage_number == self.stages


def turn_of(reader: Reader, now: datetime) -> Turn | Waiting:
    """What a reader reads now, or why nothing."""
    study = reader.study
    reading, stages = protocol.reading_of(study), study.challenge.edition.stages
    state = protocol.state(study, study.challenge.edition, now)
    if reader.withdrawn is not None:
        return Waiting("withdrawn")
    if state == "closed":
        return Waiting("over")
    if reader.guide_version != reading.guide_version:
        return Waiting("guide")
    assigned = list(reader.assignments.select_related("case").order_by("position"))
    handed_in = _handed_in(reader)
    practice = [one for one in assigned if one.practice]
    if len(practice) < reading.practice:
        drawing.give_practice(study, reader)  # cases that came after the reader
        practice = list(reader.assignments.filter(practice=True).select_related("case").order_by("position"))
    if len(practice) < reading.practice:
        return Waiting("no cases")
    if (turn := _next(practice, handed_in, stages)) is not None:
        return turn
    if study.drawn is None:
        return Waiting("not drawn")
    if state != "open":
        return Waiting("not open")
    return _next([one for one in assigned if not one.practice], handed_in, stages) or Waiting("done")


def _handed_in(reader: Reader) -> dict[int, set[str]]:
    """By assignment, the stages that were handed in."""
    found: dict[int, set[str]] = {}
    for key, stage in CaseRead.objects.filter(assignment__reader=reader, submitted__isnull=False).values_list(
        "assignment", "stage"
    ):
        found.setdefault(key, set()).add(stage)
    return found


def _next(assigned: list[Assignment], handed_in: dict[int, set[str]], stages: tuple[Stage, ...]) -> Turn | None:
    for number, one in enumerate(assigned, start=1):
        done = handed_in.get(one.pk, set())
        for place, stage in enumerate(stages, start=1):
            if stage.name not in done:
                return Turn(one, stage, number, len(assigned), place, len(stages))
    return None


def begin(turn: Turn) -> CaseRead:
    """The draft of a turn: the one that was begun, or a new one; with `copies`, it begins with the stage before."""
    found = CaseRead.objects.filter(assignment=turn.assignment, stage=turn.stage.name).first()
    if found is not None:
        return found
    before = before_of(turn)
    try:
        with transaction.atomic():
            read = CaseRead.objects.create(
                assignment=turn.assignment,
                stage=turn.stage.name,
                opened=clock.now(),
                saved=clock.now(),
                marks=[] if before is None else copy.deepcopy(before.marks),
                score=None if before is None else before.score,
            )
            ReadEvent.objects.create(read=read, made=clock.now(), kind=ReadEvent.Kind.OPENED)
    except IntegrityError:  # another tab was faster
        return CaseRead.objects.get(assignment=turn.assignment, stage=turn.stage.name)
    return read


def before_of(turn: Turn) -> CaseRead | None:
    """What a turn begins with: the stage before it as it was handed in, if it copies."""
    if not turn.stage.copies or turn.stage_number == 1:
        return None
    stages = turn.assignment.reader.study.challenge.edition.stages
    name = stages[turn.stage_number - 2].name
    return CaseRead.objects.filter(assignment=turn.assignment, stage=name, submitted__isnull=False).first()


def case_title(turn: Turn) -> str:
    """What a reader is told instead of the name of the case."""
    return f"{'Practice case' if turn.practice else 'Case'} {turn.number} of {turn.total}"
