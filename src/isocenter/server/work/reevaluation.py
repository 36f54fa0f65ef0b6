"""Evaluating again, when the reference or the code has changed: old results stay, to be compared with the new ones.

Only what is different is measured: the result of a case whose files, reference and code are as before is taken over;
see `case_store`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from django.db import transaction
from django.db.models import Exists, Min, OuterRef, Q

from isocenter.editions import name_on_cohort, phase_of, split_cohort
from isocenter.server import decisions
from isocenter.server.models import Challenge, Evaluation, Run, Submission, User
from isocenter.server.work import faults, given_tables, queue
from isocenter.server.work.in_force import evaluator_of, reference_of
from isocenter.server.work.score_tables import table_of

# Whoever hands in something new does not wait for what has a result already, be it on another cohort.
_PRIORITY = -1


class Difference(NamedTuple):
    """A number that is another one than before; None is one that is not there."""

    case: str
    part: str
    metric: str
    old: float | None
    new: float | None


def reevaluate(
    user: User | str, challenge: Challenge, phase: str, submissions: Iterable[Submission] | None, reason: str
) -> list[Run]:
    """Evaluate submissions of a phase again, all that were not refused or cancelled if none are named.

    Those that wait or run already are left alone. One that had a result keeps it until there is a new one; others wait
    like new ones, and are told of as such. With a further cohort, as in "test.holdout", those that are scored in the
    phase are evaluated there.

    Parameters
    ----------
    user
        Who decided it.
    """
    with transaction.atomic():
        name, cohort = split_cohort(phase)
        found = Submission.objects.select_for_update().filter(challenge=challenge, phase=name)
        if cohort:
            found = found.filter(state=Submission.State.SCORED).exclude(file__endswith=given_tables.SUFFIX)
        if submissions is None:
            found = found.exclude(state__in=(Submission.State.REFUSED, Submission.State.CANCELLED))
        else:
            found = found.filter(pk__in=[one.pk for one in submissions])
        chosen = [one for one in found.order_by("made", "pk") if not one.active]
        if not chosen:
            return []
        which = f"{chosen[0].team}, {phase}, submission {chosen[0].number}"
        subject = which if len(chosen) == 1 else f"{phase}, {len(chosen)} submissions"
        decisions.record(challenge, user, "re-evaluate", subject, reason)
        if cohort:
            return [_score_on(one, cohort) for one in chosen]
        runs = []
        for one in chosen:
            priority = _PRIORITY
            if one.state != Submission.State.SCORED:
                one.state, one.reason, one.problems, priority = Submission.State.QUEUED, "", [], 0
                one.save(update_fields=["state", "reason", "problems"])
            runs.append(queue.enqueue("score", challenge, submission=one, key=f"score:{one.pk}", priority=priority))
        return runs


def score_cohorts(submission: Submission) -> list[Run]:
    """Have a submission that is scored in its phase scored on those further cohorts that it has no score on yet.

    A cohort without a reference is left out; it is scored when the reference is there.
    """
    challenge, runs = submission.challenge, []
    if given_tables.is_given(submission):  # there are no outputs to measure
        return []
    for cohort in phase_of(challenge.edition, submission.phase).cohorts:
        name = name_on_cohort(submission.phase, cohort.name)
        reference = reference_of(challenge, name)
        standard = {"reference": reference, "evaluator": evaluator_of(challenge, name)}
        if reference is not None and not submission.evaluations.filter(**standard).exists():
            runs.append(_score_on(submission, cohort.name))
    return runs


def _score_on(submission: Submission, cohort: str) -> Run:
    key = f"score:{submission.pk}:{cohort}"
    return queue.enqueue(
        "score", submission.challenge, submission=submission, cohort=cohort, key=key, priority=_PRIORITY
    )


def follow(done: Evaluation, cohort: str = "") -> list[Run]:
    """Evaluate again what cannot stand on one board with a new result, as it was measured by other code or reference.

    Happens when a submission is the first of its phase that is scored after such a change. Submissions that an earlier
    evaluator failed on are among them: whoever mends it heals all of them.
    """
    submission = done.submission
    same = Evaluation.objects.filter(reference=done.reference, evaluator=done.evaluator)
    since = same.filter(submission__challenge=submission.challenge, submission__phase=submission.phase).aggregate(
        first=Min("made")
    )["first"]
    runs = Run.objects.filter(kind=Run.Kind.SCORE, submission=OuterRef("pk"), cohort=cohort)
    tried = runs.filter(
        Q(state__in=(Run.State.QUEUED, Run.State.RUNNING)) | Q(state=Run.State.FAILED, finished__gte=since)
    )
    late = set(
        Submission.objects.filter(
            ~Exists(same.filter(submission=OuterRef("pk"))),
            ~Exists(tried),
            challenge=submission.challenge,
            phase=submission.phase,
            state=Submission.State.SCORED,
        )
    )
    if cohort:
        late = {one for one in late if not given_tables.is_given(one)}
    # What another evaluator or reference broke on may be well by this one; what this one broke on is not.
    standard = {"payload__evaluator": done.evaluator, "payload__reference": done.reference_id}
    broken = faults.open_runs(submission.challenge).filter(submission__phase=submission.phase, cohort=cohort)
    again = broken.exclude(submission__in=broken.filter(**standard).values("submission")).values("submission")
    late |= {one for one in Submission.objects.filter(pk__in=again) if not one.active}
    if not late:
        return []
    why = "The reference or the code that measures is another one than before; results must have the same to be ranked."
    phase = name_on_cohort(submission.phase, cohort) if cohort else submission.phase
    return reevaluate("the site", submission.challenge, phase, late, why)


def compare(old: Evaluation, new: Evaluation) -> list[Difference]:
    """The numbers that differ between two evaluations, by case, part and metric; cases that only one has, too."""
    before, after = _numbers(old), _numbers(new)
    return [
        Difference(case, part, metric, before.get((case, part, metric)), after.get((case, part, metric)))
        for case, part, metric in sorted({*before, *after})
        if not _same((case, part, metric), before, after)
    ]


_Numbers = dict[tuple[str, str, str], float | None]


def _numbers(evaluation: Evaluation) -> _Numbers:
    rows = table_of(evaluation).select("case", "part", "metric", "value").iter_rows()
    return {(case, part, metric): value for case, part, metric, value in rows}


def _same(name: tuple[str, str, str], before: _Numbers, after: _Numbers) -> bool:
    """Whether a number is there, or not there, in both, and the same."""
    return (name in before) == (name in after) and before.get(name) == after.get(name)
