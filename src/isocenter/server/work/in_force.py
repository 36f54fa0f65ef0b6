"""What submissions are measured with now: the reference, the evaluator, and the pair of them that a board is made of.

Results under different references or evaluators do not stand on one board. When one of them changes, submissions are
evaluated again; until that is over the board stays with what it was made of, and then changes as a whole.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from django.db.models import Count, Max

from isocenter.server.editions import code_of
from isocenter.server.models import Challenge, Evaluation, Reference, Run, Snapshot, Submission


class Standard(NamedTuple):
    """What results must have in common to be compared: the key of the reference, the fingerprint of the evaluator."""

    reference: int
    evaluator: str


def reference_of(challenge: Challenge, phase: str) -> Reference | None:
    """The reference in force: the last one of the phase, or of all phases if it has none of its own.

    A phase that continues another one has that one's.
    """
    phase = phases_of_board(challenge, phase)[0]
    found = Reference.objects.filter(challenge=challenge)
    return found.filter(phase=phase).order_by("-number").first() or found.filter(phase="").order_by("-number").first()


def phases_of_board(challenge: Challenge, phase: str) -> list[str]:
    """The phases whose submissions stand on the boards of a phase: before it the one that it continues."""
    before = [one.continues for one in challenge.edition.phases if one.name == phase and one.continues is not None]
    return [*before, phase]


def evaluator_of(challenge: Challenge, phase: str) -> str:
    """What measures, as a fingerprint: the code, and what it does with outputs on other grids."""
    from isocenter.evaluation import fingerprint

    assert challenge.version_id is not None
    code, grid = fingerprint(code_of(challenge.version_id, phase)), challenge.edition.policies.grid
    return code if grid == "refuse" else hashlib.sha256(f"{code} {grid}".encode()).hexdigest()


def evaluation_of(submission: Submission) -> Evaluation | None:
    """The evaluation of a submission that is in force: under the newest reference, by the newest evaluator."""
    order = ("-reference__phase", "-reference__number", "-made", "-pk")  # one of the phase before one of all phases
    return submission.evaluations.select_related("reference").order_by(*order).first()


def standard_of(challenge: Challenge, phase: str) -> Standard | None:
    """What the boards of a phase are made of; None if nothing is evaluated.

    The newest reference that there are results of, and of its evaluators the one that most submissions have results
    of, then the newest. While submissions are evaluated again, it is what the last board was made of.
    """
    if being_reevaluated(challenge, phase) and (held := _of_the_last_board(challenge, phase)):
        return held
    found = (
        Evaluation.objects.filter(
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
    return Run.objects.filter(
        challenge=challenge,
        kind=Run.Kind.SCORE,
        state__in=(Run.State.QUEUED, Run.State.RUNNING),
        submission__phase__in=phases_of_board(challenge, phase),
        submission__state=Submission.State.SCORED,
    ).exists()


def _of_the_last_board(challenge: Challenge, phase: str) -> Standard | None:
    last = Snapshot.objects.filter(challenge=challenge, phase=phase, problem="").order_by("-made").first()
    for entry in [] if last is None else last.entries:
        made_of = Evaluation.objects.filter(pk=entry.get("evaluation")).first()
        if made_of is not None:
            return Standard(made_of.reference_id, made_of.evaluator)
    return None
