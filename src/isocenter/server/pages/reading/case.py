"""The case that a reader reads now: shown, and handed in.

A page carries a seal of the case and stage that it was made for. What comes with another one is not handed in: that
page is of a turn that has passed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.crypto import constant_time_compare

from isocenter.server.models import CaseRead
from isocenter.server.pages.reading.given import Given, given_of
from isocenter.server.pages.reading.visiting import reading_of, turn_of
from isocenter.server.policy import FORM, Door, Visit, door
from isocenter.server.reading import answering, own, scans, turns
from isocenter.server.reading.marks import Said, Unreadable, doubts, said
from isocenter.server.reading.turns import Turn


@dataclass(frozen=True)
class _Answer:
    """What the form holds: as it was saved, or as it was sent."""

    marks: str
    score: object
    revision: int
    seconds: float


@door(Door.READER, FORM)
def case(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The case and stage that it is the turn of; sent, it is handed in."""
    turn = turn_of(visit)
    if request.method == "POST":
        given = given_of(request)
        if not isinstance(turn, Turn) or not constant_time_compare(given.seal, own.seal(turn)):
            return _gone(request, turn)
        return _hand_in(request, visit, turn, given)
    if not isinstance(turn, Turn):
        return redirect("reading", visit.challenge.slug)
    if request.method == "HEAD":  # looks, and begins nothing
        return HttpResponse()
    begun = CaseRead.objects.filter(assignment=turn.assignment, stage=turn.stage.name).exists()
    read = turns.begin(turn)
    if begun:
        answering.resumed(read)
    return _shown(request, visit, turn, _saved(read))


def _hand_in(request: HttpRequest, visit: Visit, turn: Turn, given: Given) -> HttpResponse:
    try:
        answer = read_of(visit, turn, given)
    except Unreadable as why:
        return _shown(request, visit, turn, _sent(turn, given), problems=why.problems, status=400)
    revision, seconds = given.revision, given.seconds
    try:
        if (slips := doubts(answer, reading_of(visit).likelihood_of)) and not given.sure:
            read = answering.save(turn, answer, revision=revision, seconds=seconds)
            return _asked_again(request, turn, read, slips)
        answering.hand_in(turn, answer, revision=revision, seconds=seconds)
    except ValueError as why:
        return _shown(request, visit, turn, _sent(turn, given), problems=[str(why)], status=400)
    except answering.Older as why:
        return _shown(request, visit, turn, _saved(why.read), older=True, status=409)
    except answering.NotNow:
        return _gone(request, turn_of(visit))
    messages.success(request, f"{turns.case_title(turn)}, {turn.stage.title}, is handed in.")
    following = turn_of(visit)
    onwards = isinstance(following, Turn) and following.practice == turn.practice
    return redirect("reading_case" if onwards else "reading", visit.challenge.slug)


def read_of(visit: Visit, turn: Turn, given: Given, *, graded: bool = True) -> Said:
    """What a page sent, checked; in a draft the grade of a mark may come later."""
    most = reading_of(visit).most_marks
    images = scans.names(turn)
    return said(given.marks, given.score, case=turn.assignment.case, images=images, most=most, graded=graded)


def _saved(read: CaseRead) -> _Answer:
    return _Answer(json.dumps(read.marks), read.score, read.revision, read.seconds)


def _sent(turn: Turn, given: Given) -> _Answer:
    """What was sent, so that it can be put right; time goes on from where it was saved."""
    read = turns.begin(turn)
    marks = given.marks if isinstance(given.marks, str) else json.dumps(read.marks)
    return _Answer(marks, given.score, read.revision, read.seconds)


def _shown(
    request: HttpRequest,
    visit: Visit,
    turn: Turn,
    answer: _Answer,
    *,
    problems: list[str] | None = None,
    older: bool = False,
    status: int = 200,
) -> HttpResponse:
    reading, known = reading_of(visit), turn.assignment.case.facts
    context: dict[str, Any] = {
        "tab": "reading",
        "reading": reading,
        "turn": turn,
        "title": turns.case_title(turn),
        "seal": own.seal(turn),
        "scans": scans.names(turn),
        "facts": [(name, _told(known.get(name))) for name in reading.facts],
        "answer": answer,
        "before": "" if turns.before_of(turn) is None else visit.edition.stages[turn.stage_number - 2].title,
        "problems": problems or [],
        "older": older,
    }
    return render(request, "isocenter/reading/case.html", context, status=status)


def _told(value: object) -> str:
    """What is known; 0 is, nothing is not."""
    return "not known" if value is None or value == "" else str(value)


def _asked_again(request: HttpRequest, turn: Turn, read: CaseRead, why: list[str]) -> HttpResponse:
    """What may be a slip; nothing is handed in until the reader says that it is none."""
    context = {
        "tab": "reading",
        "turn": turn,
        "title": turns.case_title(turn),
        "seal": own.seal(turn),
        "answer": _saved(read),
        "marked": len(read.marks),
        "doubts": why,
    }
    return render(request, "isocenter/reading/sure.html", context)


def _gone(request: HttpRequest, turn: object) -> HttpResponse:
    """That the case of the page cannot be handed in any more, and why."""
    context = {"tab": "reading", "why": getattr(turn, "why", ""), "goes_on": isinstance(turn, Turn)}
    return render(request, "isocenter/reading/gone.html", context, status=410)
