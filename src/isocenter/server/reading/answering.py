"""Drafts are saved as often as readers change something, and handed in once.

A draft carries a revision: who saves says which one they began with. If another window has saved since, the older one
is told, and nothing is overwritten. What was handed in is hashed, and never changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC
from typing import Any

from django.db import transaction

from isocenter.server import clock
from isocenter.server.models import CaseRead, Reader, ReadEvent
from isocenter.server.reading import protocol, turns
from isocenter.server.reading.marks import Marks, Said
from isocenter.server.reading.turns import Turn

MOST_SECONDS = 120.0
"""What one save may add to the time of reading, at most: pages save at least once a minute while somebody reads."""


class NotNow(Exception):
    """It is not the turn of this case and stage any more: handed in from another window, or the study is over."""


class Older(Exception):
    """Another window has saved since; `read` is what it saved."""

    def __init__(self, read: CaseRead) -> None:
        super().__init__("Another window has saved since.")
        self.read = read


def save(turn: Turn, said: Said, *, revision: int, seconds: float) -> CaseRead:
    """Keep a draft.

    Parameters
    ----------
    revision
        Of the draft that the page began with.
    seconds
        For how long the page was looked at since it was saved last; more than has gone by is not believed.

    Raises
    ------
    NotNow, Older
        See there; nothing was saved.
    """
    with transaction.atomic():
        read = _locked(turn, revision)
        _keep(read, said, seconds)
        read.save()
    return read


def hand_in(turn: Turn, said: Said, *, revision: int, seconds: float) -> CaseRead:
    """Hand a stage in: it is locked, and the next stage or case is there.

    Raises
    ------
    NotNow, Older
        See there.
    ValueError
        There is no likelihood for the patient.
    """
    if said.score is None:
        what = protocol.reading_of(turn.assignment.reader.study).likelihood_of
        msg = f"Say how likely {what} is, from 0 to 100."
        raise ValueError(msg)
    with transaction.atomic():
        read = _locked(turn, revision)
        _keep(read, said, seconds)
        before = turns.before_of(turn)
        read.unchanged = None if before is None else (before.marks, before.score) == (read.marks, read.score)
        read.submitted = clock.now()
        read.hash = hash_of(read)
        read.save()
        ReadEvent.objects.create(read=read, made=read.submitted, kind=ReadEvent.Kind.SUBMITTED)
    return read


def hash_of(read: CaseRead) -> str:
    """SHA-256 of what was handed in: reader, case, stage, marks, score and moment."""
    assert read.submitted is not None
    told = {
        "reader": read.assignment.reader.pseudonym,
        "case": read.assignment.case.name,
        "stage": read.stage,
        "marks": read.marks,
        "score": read.score,
        "submitted": read.submitted.astimezone(UTC).isoformat(timespec="microseconds"),
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _locked(turn: Turn, revision: int) -> CaseRead:
    """The draft of a turn, held until the end of the transaction."""
    study = turn.assignment.reader.study
    read = (
        CaseRead.objects.select_for_update(of=("self",))
        .select_related("assignment__reader", "assignment__case")
        .filter(assignment=turn.assignment, stage=turn.stage.name)
        .first()
    )
    withdrawn = Reader.objects.filter(pk=turn.assignment.reader_id, withdrawn__isnull=False).exists()
    study.refresh_from_db(fields=["closed"])
    if read is None or read.submitted is not None or withdrawn or protocol.is_over(study, clock.now()):
        raise NotNow
    if read.revision != revision:
        raise Older(read)
    return read


def _keep(read: CaseRead, said: Said, seconds: float) -> None:
    now = clock.now()
    events = [ReadEvent(read=read, made=now, kind=kind, detail=detail) for kind, detail in _happened(read, said)]
    ReadEvent.objects.bulk_create(events)
    passed = (now - read.saved).total_seconds()
    believed = min(seconds, passed, MOST_SECONDS) if seconds > 0 else 0.0
    read.marks, read.score = said.marks, said.score
    read.seconds += max(0.0, believed)
    read.revision += 1
    read.saved = now


def _happened(read: CaseRead, said: Said) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a save changed, as events."""
    old, new = list(read.marks), list(said.marks)
    kept = [mark for mark in old if mark in new]
    gone, come = _without(old, kept), _without(new, kept)
    for mark in list(gone):
        place = {axis: mark[axis] for axis in "xyz"}
        same = next((one for one in come if {axis: one[axis] for axis in "xyz"} == place), None)
        if same is not None:
            gone.remove(mark)
            come.remove(same)
            yield ReadEvent.Kind.GRADED, same
    for before, after in zip(list(gone), list(come), strict=False):
        gone.remove(before)
        come.remove(after)
        yield ReadEvent.Kind.MOVED, {"from": before, "to": after}
    for mark in gone:
        yield ReadEvent.Kind.REMOVED, mark
    for mark in come:
        yield ReadEvent.Kind.ADDED, mark
    if said.score != read.score:
        yield ReadEvent.Kind.SCORED, {"score": said.score}


def _without(marks: Marks, some: Marks) -> Marks:
    left = list(marks)
    for mark in some:
        left.remove(mark)
    return left


def resumed(read: CaseRead) -> None:
    """Keep that a page of a draft was opened again."""
    ReadEvent.objects.create(read=read, made=clock.now(), kind=ReadEvent.Kind.RESUMED)
