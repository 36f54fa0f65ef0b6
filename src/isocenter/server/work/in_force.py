"""What submissions are measured with now: the reference, the evaluator, and the pair of them that a board is made of.

Results under different references or evaluators do not stand on one board. When one of them changes, submissions are
evaluated again; until that is over the board stays with what it was made of, and then changes as a whole.

Where a phase is named here, it may be one with a further cohort, such as "test.holdout".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from django.db.models import Count, Exists, Max, OuterRef, Q

from isocenter.editions import name_on_cohort, phase_of, split_cohort
from isocenter.problems import Problem
from isocenter.server.editions import code_of
from isocenter.server.models import Challenge, Evaluation, Reference, Run, Snapshot, Submission


class Standard(NamedTuple):
    """What results must have in common to be compared: the key of the reference, the fingerprint of the evaluator."""

    reference: int
    evaluator: str


def reference_of(challenge: Challenge, phase: str) -> Reference | None:
    """The reference in force: the last one of the phase, or of all phases if it has none of its own.

    A phase that continues another one has that one's. The reference of all phases is none of a further cohort.
    """
    first, cohort = phases_of_board(challenge, phase)[0], split_cohort(phase)[1]
    places = [name_on_cohort(first, cohort)] if cohort else [first, ""]
    found = Reference.objects.filter(challenge=challenge)
    return next(filter(None, (found.filter(phase=place).order_by("-number").first() for place in places)), None)


def phases_of_board(challenge: Challenge, phase: str) -> list[str]:
    """The phases whose submissions stand on the boards of a phase: before it the one that it continues."""
    name = split_cohort(phase)[0]
    before = [one.continues for one in challenge.edition.phases if one.name == name and one.continues is not None]
    return [*before, name]


def on_cohort(cohort: str) -> Q:
    """Those evaluations that were made on a further cohort; "" for those on the phase's own cases."""
    return Q(reference__phase__endswith=f".{cohort}") if cohort else ~Q(reference__phase__contains=".")


def cases_elsewhere(challenge: Challenge, phase: str) -> set[str]:
    """The cases that a submission has outputs of beside those of one cohort: of the phase and its other cohorts."""
    edition = challenge.edition
    own = reference_of(challenge, phase)
    found: set[str] = set()
    for one in phase_of(edition, split_cohort(phase)[0]).scored:
        if one.name != phase and (reference := reference_of(challenge, one.name)) is not None:
            found.update(reference.cases)
    return found - (set() if own is None else set(own.cases))


def leave_out_unknown(challenge: Challenge, phase: str, problems: Iterable[Problem]) -> list[Problem]:
    """The problems of a submission without files of unknown cases, where they may be those of a cohort to come.

    As long as a further cohort of the phase has no reference, nobody knows its cases.
    """
    scored = phase_of(challenge.edition, split_cohort(phase)[0]).scored
    references = [reference_of(challenge, one.name) for one in scored]
    known = {case for reference in references if reference is not None for case in reference.cases}
    if None not in references[1:]:
        return list(problems)
    return [one for one in problems if one.code != "bad_name" or one.case in known]


def evaluator_of(challenge: Challenge, phase: str) -> str:
    """What measures, as a fingerprint: the code, and what it does with outputs on other grids."""
    from isocenter.evaluation import fingerprint

    assert challenge.version_id is not None
    code, grid = fingerprint(code_of(challenge.version_id, phase)), challenge.edition.policies.grid
    return code if grid == "refuse" else hashlib.sha256(f"{code} {grid}".encode()).hexdigest()


NEWEST_FIRST = ("-reference__phase", "-reference__number", "-made", "-pk")
"""The order of the evaluations of a submission on one cohort; one of the phase before one of all phases."""


def evaluation_of(submission: Submission, cohort: str = "") -> Evaluation | None:
    """The evaluation of a submission that is in force: under the newest reference, by the newest evaluator."""
    made = submission.evaluations.filter(on_cohort(cohort)).select_related("reference")
    return made.order_by(*NEWEST_FIRST).first()


def standard_of(challenge: Challenge, phase: str) -> Standard | None:
    """What the boards of a phase are made of; None if nothing is evaluated.

    The newest reference that there are results of, and of its evaluators the one that most submissions have results
    of, then the newest. While submissions are evaluated again, it is what the last board was made of.
    """
    if being_reevaluated(challenge, phase) and (held := _of_the_last_board(challenge, phase)):
        return held
    found = (
        Evaluation.objects.filter(
            on_cohort(split_cohort(phase)[1]),
            submission__challenge=challenge,
            submission__phase__in=phases_of_board(challenge, phase),
            submission__state=Submission.State.SCORED,
        )
        .values("reference", "evaluator")
        .annotate(count=Count("submission"), newest=Max("made"))
        .order_by("-reference__phase", "-reference__number", "-count", "-newest")
        .first()
    )
    return None if found is None else Standard(found["reference"], found["evaluator"])


def being_reevaluated(challenge: Challenge, phase: str) -> bool:
    """Whether submissions of a phase that had results are evaluated again at present."""
    cohort = split_cohort(phase)[1]
    again = Run.objects.filter(
        challenge=challenge,
        kind=Run.Kind.SCORE,
        cohort=cohort,
        state__in=(Run.State.QUEUED, Run.State.RUNNING),
        submission__phase__in=phases_of_board(challenge, phase),
        submission__state=Submission.State.SCORED,
    )
    before = Evaluation.objects.filter(on_cohort(cohort), submission=OuterRef("submission"))
    return again.filter(Exists(before)).exists()


def _of_the_last_board(challenge: Challenge, phase: str) -> Standard | None:
    last = Snapshot.objects.filter(challenge=challenge, phase=phase, problem="").order_by("-made").first()
    for entry in [] if last is None else last.entries:
        made_of = Evaluation.objects.filter(pk=entry.get("evaluation")).first()
        if made_of is not None:
            return Standard(made_of.reference_id, made_of.evaluator)
    return None
