"""What readers are told of their own reads: how many, and how long they took; nothing of what they said, or what is so.

Their tasks are the same everywhere: join ─▶ guide ─▶ practice ─▶ cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count, Q, Sum
from django.utils.crypto import salted_hmac

from isocenter.editions import Reading
from isocenter.server.models import CaseRead, Reader
from isocenter.server.reading.turns import Turn


@dataclass(frozen=True)
class Done:
    """How far a reader is.

    Attributes
    ----------
    cases, of_cases
        Those of the study that are handed in with all their stages, and those that the reader was dealt.
    practice, of_practice
        The same of practice cases.
    seconds
        How long the cases of the study were looked at, without pauses.
    """

    cases: int
    of_cases: int
    practice: int
    of_practice: int
    seconds: float

    @property
    def time(self) -> str:
        """The time as people say it."""
        minutes = round(self.seconds / 60)
        if minutes < 1:
            return "less than a minute"
        hours, rest = divmod(minutes, 60)
        said = [_counted(hours, "hour") if hours else "", _counted(rest, "minute") if rest else ""]
        return " and ".join(filter(None, said))


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def done(reader: Reader, reading: Reading, stages: int) -> Done:
    """How far a reader is; with so many stages in a case."""
    handed_in = Count("reads", filter=Q(reads__submitted__isnull=False))
    rows = list(reader.assignments.annotate(handed_in=handed_in).values_list("practice", "handed_in"))
    reads = CaseRead.objects.filter(assignment__reader=reader, assignment__practice=False, submitted__isnull=False)
    return Done(
        cases=sum(not practice and found >= stages for practice, found in rows),
        of_cases=sum(not practice for practice, _ in rows),
        practice=sum(practice and found >= stages for practice, found in rows),
        of_practice=reading.practice,
        seconds=reads.aggregate(total=Sum("seconds"))["total"] or 0.0,
    )


@dataclass(frozen=True)
class Task:
    """Something that a reader does; `page` is the name of its address."""

    title: str
    text: str
    page: str
    done: bool


def tasks(reader: Reader | None, reading: Reading, so_far: Done | None) -> Iterator[Task]:
    """What there is to do for a reader, in order."""
    if reader is not None and reader.withdrawn is not None:
        yield Task("You have withdrawn from the study", "", "reading", done=True)
        return
    yield Task("Join the study", "With some questions about your experience.", "reading", done=reader is not None)
    guided = reader is not None and reader.guide_version == reading.guide_version
    yield Task("Read the guide", f"Version {reading.guide_version}.", "reading_guide", done=guided)
    if reading.practice:
        at = 0 if so_far is None else so_far.practice
        text = f"{at} of {reading.practice} done. They are in no result."
        yield Task("Read the practice cases", text, "reading_case", done=guided and at >= reading.practice)
    if so_far is None or not so_far.of_cases:
        yield Task("Read your cases", "They are dealt when all have joined.", "reading_case", done=False)
        return
    text = f"{so_far.cases} of {so_far.of_cases} done."
    yield Task("Read your cases", text, "reading_case", done=so_far.cases >= so_far.of_cases)


def seal(turn: Turn) -> str:
    """What a page carries, so that it is known which case and stage it was made for; it tells nothing of either."""
    what = f"{turn.assignment.key} {turn.stage.name}"
    return salted_hmac("isocenter.reading.turn", what, algorithm="sha256").hexdigest()
