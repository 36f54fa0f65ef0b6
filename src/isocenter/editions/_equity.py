"""The voluntary part of a registration: answers that belong to nobody, told in numbers only.

What is promised to whoever answers is that no answer can be led back to a person. So the answers are kept apart from
the registration, which knows only that somebody was asked:

    a person ──▶ pending ── once a day, if there are enough: `sealed` ──▶ store ── once, at the end: `tally` ──▶ tables

- Nothing is stored beside an answer: no person, no team, no address, no time but the day of its batch.
- A batch is released when it has at least k sets of answers, all at once and in random order. Somebody who registers
  alone on a day waits until others have.
- Whoever gives no answer puts an empty set into the batch, so its size tells only how many registered.
- The answers to each question are put in an order of their own: a row of the store is no person, and nobody can cross
  one question with another.
- Two tallies of a list that grows tell what came between. Make one, when registration is over; what is still pending
  then is erased, and counts as no answer.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from isocenter.editions._answers import text_of
from isocenter.editions._pooling import LEAST, pool
from isocenter.editions._questions import AnyQuestion

NO_ANSWER = "no answer"
_COUNTED = ("choice", "several", "yes-no", "country")


class Batch(NamedTuple):
    """Answers that go into the store now, and those that wait; see `sealed`."""

    released: list[dict[str, object]]
    pending: list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class Tally:
    """How many people gave which answer to one question.

    Attributes
    ----------
    name, label
        Of the question.
    people
        How many were asked; all numbers add up to it.
    shown
        Answers that enough people gave, with their numbers, the most frequent first.
    rest
        How many gave any other answer; which those are is not told.
    withheld
        Whether there are too few people for any number; `shown` is empty then and `rest` 0.
    """

    name: str
    label: str
    people: int
    shown: Mapping[str, int]
    rest: int
    withheld: bool = False


def sealed(pending: Sequence[Mapping[str, object]], *, rng: random.Random, least: int = LEAST) -> Batch:
    """Release all pending answers if there are at least `least` sets of them, or else none; see the module's notes.

    Parameters
    ----------
    pending
        A set of answers for each person who was asked, by the names of the questions; empty for one who gave none.
    rng
        Puts the answers to each question in an order of their own, those that stay pending too. Outside of tests:
        `random.SystemRandom()`, which nobody can replay.

    Examples
    --------
    >>> sealed([{"gender": "Woman"}, {}], rng=random.Random(0)).released
    []
    """
    _reasonable(least)
    rows: list[dict[str, object]] = [{} for _ in pending]
    for name in sorted({name for answers in pending for name in answers}):
        given = [(name in answers, answers.get(name)) for answers in pending]
        rng.shuffle(given)
        for row, (answered, value) in zip(rows, given, strict=True):
            if answered:
                row[name] = value
    return Batch(rows, []) if len(rows) >= least else Batch([], rows)


def tally(
    answers: Sequence[Mapping[str, object]], questions: Sequence[AnyQuestion], *, least: int = LEAST
) -> list[Tally]:
    """How many people gave which answer, one question at a time; small numbers are put together as `pool` does.

    Several answers of one person are an answer of their own kind, so that all numbers of a question add up to the
    number of people; no answer is one too. Questions that are answered in own words, or by a number, are left out.

    Examples
    --------
    >>> from isocenter.editions import EquityQuestion
    >>> question = EquityQuestion(name="gender", label="Gender", kind="choice", choices=("Woman", "Man", "Other"))
    >>> given = [{"gender": "Woman"}] * 12 + [{"gender": "Man"}] * 20 + [{}] * 3 + [{"gender": "Other"}]
    >>> [(one.shown, one.rest) for one in tally(given, [question])]
    [({'Man': 20}, 16)]
    """
    _reasonable(least)
    return [_counted(answers, question, least) for question in questions if question.kind in _COUNTED]


def _counted(answers: Sequence[Mapping[str, object]], question: AnyQuestion, least: int) -> Tally:
    given = Counter(text_of(row.get(question.name)) or NO_ANSWER for row in answers)
    found = pool(given, least=least)
    if found is None:
        return Tally(question.name, question.label, len(answers), {}, 0, withheld=True)
    return Tally(question.name, question.label, len(answers), found.shown, found.rest)


def _reasonable(least: int) -> None:
    if least < 2:
        msg = f"least is {least}; a number that hides anybody is 2 or more"
        raise ValueError(msg)
