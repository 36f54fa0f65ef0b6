"""Who reads which cases, and in which order: drawn once, from a seed that is kept.

Cases and readers are dealt into blocks that are as alike as can be (`isocenter.readers.deal`); a reader reads the cases
of their own block, in an order of their own (`isocenter.readers.order`). Practice cases are read by all, in one order.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.db import transaction

from isocenter.editions import Reading
from isocenter.server import clock, decisions
from isocenter.server.models import Assignment, Reader, Study, StudyCase, User
from isocenter.server.organising.study_changes import tell_readers
from isocenter.server.organising.versioning import Refused
from isocenter.server.reading.cases import unfit
from isocenter.server.reading.protocol import reading_of

if TYPE_CHECKING:
    from isocenter.readers import Deal


def deals(study: Study, seed: int) -> tuple[Deal, Deal]:
    """How cases and readers would be dealt with a seed.

    Raises
    ------
    Refused
        There are too few of them.
    """
    from isocenter.readers import deal, find_design_problems

    reading = reading_of(study)
    cases = {one.name: facts_of(one, reading) for one in study.cases.filter(practice=False)}
    readers = {one.pseudonym: answers_of(one, reading) for one in study.readers.filter(withdrawn=None)}
    problems = unfit(study) if cases else ["There are no cases yet; bring them first."]
    problems += [
        f"{text[0].upper()}{text[1:]}."
        for text in find_design_problems(reading.blocks, cases=len(cases) or reading.blocks, readers=len(readers))
    ]
    if problems:
        raise Refused(problems)
    return (
        deal(cases, reading.blocks, seed=seed, by=reading.cases_by),
        deal(readers, reading.blocks, seed=seed + 1, by=reading.readers_by),
    )


def preview(study: Study) -> tuple[Deal, Deal]:
    """How even the blocks can be: an example, as the draw has a seed of its own."""
    return deals(study, 0)


def draw(study: Study, *, user: User, reason: str) -> bool:
    """Deal the cases to the readers, for good; False if that was done before."""
    with transaction.atomic():
        study = Study.objects.select_for_update().select_related("challenge").get(pk=study.pk)
        if study.drawn is not None:
            return False
        seed = secrets.randbits(52)
        cases, readers = deals(study, seed)
        study.seed, study.drawn = seed, clock.now()
        study.save(update_fields=["seed", "drawn"])
        _keep_blocks(study, cases, readers)
        for reader in study.readers.filter(withdrawn=None).order_by("pseudonym"):
            _assign(study, reader)
        decisions.record(study.challenge, user, "draw the reader study", f"{study.challenge.slug}, seed {seed}", reason)
        tell_readers(study.challenge, [f"Your cases of {reading_of(study).title} are drawn."])
    return True


def _keep_blocks(study: Study, cases: Deal, readers: Deal) -> None:
    for number, names in enumerate(cases.blocks):
        study.cases.filter(practice=False, name__in=names).update(block=number)
    for number, names in enumerate(readers.blocks):
        study.readers.filter(pseudonym__in=names).update(block=number)


def place(study: Study, reader: Reader) -> None:
    """Give who joins after the draw the block that needs them most, and its cases; call it in a transaction."""
    from isocenter.readers import place_late

    reading = reading_of(study)
    assert study.seed is not None
    others = list(study.readers.filter(withdrawn=None, block__isnull=False).order_by("pseudonym"))
    blocks = tuple(tuple(one.pseudonym for one in others if one.block == number) for number in range(reading.blocks))
    units = {one.pseudonym: answers_of(one, reading) for one in others}
    seed, by = study.seed + len(others), reading.readers_by
    reader.block = place_late(answers_of(reader, reading), blocks, units, seed=seed, by=by)
    reader.save(update_fields=["block"])
    _assign(study, reader)


def _assign(study: Study, reader: Reader) -> None:
    """The cases of a reader's block, in the reader's own order."""
    from isocenter.readers import order

    assert study.seed is not None
    cases = {one.name: one for one in study.cases.filter(practice=False, block=Reader.objects.get(pk=reader.pk).block)}
    Assignment.objects.bulk_create(
        Assignment(reader=reader, case=cases[name], position=position)
        for position, name in enumerate(order(tuple(cases), seed=study.seed, reader=reader.pseudonym), start=1)
    )


def give_practice(study: Study, reader: Reader) -> None:
    """The practice cases that a reader does not have yet, as far as the edition asks for; call it in a transaction."""
    have = set(reader.assignments.filter(practice=True).values_list("case", flat=True))
    wanted = list(study.cases.filter(practice=True).order_by("name")[: reading_of(study).practice])
    new = [
        Assignment(reader=reader, case=case, practice=True, position=position)
        for position, case in enumerate(wanted, start=1)
        if case.pk not in have
    ]
    Assignment.objects.bulk_create(new, ignore_conflicts=True)  # another window may be as fast


def facts_of(case: StudyCase, reading: Reading) -> Mapping[str, str]:
    """What a case is dealt by; a fact that is not known is ""."""
    positive = {True: "yes", False: "no", None: ""}[case.positive]
    return {name: positive if name == "positive" else str(case.facts.get(name, "")) for name in reading.cases_by}


def answers_of(reader: Reader, reading: Reading) -> Mapping[str, str]:
    """What a reader is dealt by: answers of questions with choices, "" where there is none."""
    words = {True: "yes", False: "no"}
    given = {name: reader.answers.get(name, "") for name in reading.readers_by}
    return {name: words[value] if isinstance(value, bool) else str(value) for name, value in given.items()}
