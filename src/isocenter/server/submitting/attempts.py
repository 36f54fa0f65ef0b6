"""Submissions as lists show them: where they stand, what they cost, what they reached, what can be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from isocenter.editions import Attempt, Phase, quota_left
from isocenter.server.models import Evaluation, Run, Submission
from isocenter.server.submitting.measured import BoardScore, board_scores, code_for, hides_own, in_force
from isocenter.server.work import queue
from isocenter.server.work.outlook import Outlook, outlooks
from isocenter.server.work.reasons import Reason, reason_of

if TYPE_CHECKING:
    from isocenter.server.policy import Visit

_CHIPS = {
    "queued": ("info", "waiting"),
    "running": ("info", "being scored"),
    "scored": ("good", "scored"),
    "refused": ("bad", "refused"),
    "failed": ("bad", "failed"),
    "infrastructure": ("warn", "failure of our machines"),
    "cancelled": ("", "cancelled"),
}


@dataclass(frozen=True)
class Line:
    """A submission in a list.

    Attributes
    ----------
    chip, state
        The class of its chip, and the words in it.
    place
        Its place in the queue, as far as that is told (see `outlooks`); 0 if it does not wait.
    wait
        In how long it will be scored at the earliest, as far as that can be said; "" if it cannot.
    share
        How many per cent of its cases are done, while it is being scored.
    lost
        "worker lost, attempt 2 of 3", if it was begun more than once.
    scores
        By board, as far as they may be seen; empty if they may not.
    hidden
        Why there is no score, where there is one that is not shown.
    costs
        Whether it counts towards the quota; None where there is no quota.
    spoilt
        "2 cases unusable, 1 case without an output", if any are.
    """

    submission: Submission
    phase: Phase | None
    chip: str
    state: str
    run: Run | None
    place: int
    wait: str
    share: int | None
    lost: str
    reason: Reason | None
    scores: list[BoardScore]
    hidden: str
    costs: bool | None
    void: list[str]
    may_cancel: bool
    cancelling: str
    may_nominate: bool
    has_cases: bool
    spoilt: str

    @property
    def number(self) -> str:
        """What it is called where its phase is said."""
        return f"No. {self.submission.number}"

    @property
    def title(self) -> str:
        """What it is called on pages."""
        name = self.submission.phase if self.phase is None else self.phase.title
        return f"{name}, no. {self.submission.number}"


def lines(visit: Visit, submissions: Sequence[Submission]) -> list[Line]:
    """The lines of submissions that the visitor may see."""
    runs: dict[Any, Run] = {}
    work = Run.objects.filter(submission__in=submissions, kind=Run.Kind.SCORE, cohort="").order_by("queued")
    mine = {one.pk: one for one in submissions}
    for run in work.defer("detail", "payload"):
        run.submission = mine[run.submission_id]
        runs[run.submission_id] = run
    for one in submissions:
        one.challenge = visit.challenge  # the same for all, and asked for once
    evaluations = in_force(submissions)
    phases = {phase.name: phase for phase in visit.edition.phases}
    void = _voids(submissions)
    active = [runs[one.pk] for one in submissions if one.active and one.pk in runs]
    to_come = outlooks(visit, active)
    return [
        _line(
            visit,
            one,
            phases.get(one.phase),
            run=runs.get(one.pk),
            to_come=to_come.get(runs[one.pk].pk) if one.pk in runs else None,
            evaluation=evaluations.get(one.pk),
            void=void.get(one.pk, []),
        )
        for one in submissions
    ]


def line(visit: Visit, submission: Submission) -> Line:
    """The line of one."""
    return lines(visit, [submission])[0]


def _line(
    visit: Visit,
    submission: Submission,
    phase: Phase | None,
    *,
    run: Run | None,
    to_come: Outlook | None,
    evaluation: Evaluation | None,
    void: list[str],
) -> Line:
    reason = reason_of(submission)
    chip, state = _CHIPS[submission.state]
    if submission.state == Submission.State.INFRASTRUCTURE and reason is not None and reason.origin == "evaluator":
        state = "waits for the organisers"
    seen = visit.sight(submission.phase)
    own = visit.team is not None and visit.team.pk == submission.team_id
    active = run if submission.active and run is not None else None
    scores: list[BoardScore] = []
    if evaluation is not None and seen.own_scores and not hides_own(visit, submission.phase):
        scores = board_scores(evaluation, seen, code_for(visit, submission))
    return Line(
        submission=submission,
        phase=phase,
        chip=chip,
        state=state,
        run=run,
        place=0 if to_come is None else to_come.place,
        wait="" if to_come is None or to_come.wait is None else in_words(to_come.wait),
        share=None if active is None or not active.total else 100 * active.done // active.total,
        lost="" if active is None else queue.tried(active),
        reason=reason,
        scores=scores,
        hidden=_hidden(visit, submission, phase) if evaluation is not None else "",
        costs=None if phase is None or phase.quota is None else costs(phase, submission),
        void=void,
        may_cancel=submission.active and own,
        cancelling="" if phase is None else _cancelling(phase, submission),
        may_nominate=own
        and phase is not None
        and phase.counts == "chosen"
        and submission.state in ("queued", "running", "scored")
        and visit.now < phase.closes,
        has_cases=evaluation is not None and seen.own_cases,
        spoilt="" if evaluation is None else _spoilt(submission, evaluation),
    )


def _spoilt(submission: Submission, evaluation: Evaluation) -> str:
    """How many cases have no result, in words; "" if all have one. A file of no case spoils none."""
    cases = set(evaluation.reference.cases)
    found = {
        words: len(cases & {one["case"] for one in submission.problems if one["severity"] == severity})
        for severity, words in (("unusable", "unusable"), ("missing", "without an output"))
    }
    return ", ".join(f"{count} case{'s'[: count != 1]} {words}" for words, count in found.items() if count)


def in_words(span: timedelta) -> str:
    """A span of time as people say it.

    Examples
    --------
    >>> in_words(timedelta(seconds=40)), in_words(timedelta(minutes=1, seconds=40)), in_words(timedelta(hours=5))
    ('less than a minute', 'about 2 minutes', 'about 5 hours')
    """
    seconds = max(0.0, span.total_seconds())
    if seconds < 55:
        return "less than a minute"
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 0.9 * size:
            count = max(1, round(seconds / size))
            return f"about {count} {unit}{'' if count == 1 else 's'}"
    return "about a minute"


def _hidden(visit: Visit, submission: Submission, phase: Phase | None) -> str:
    seen = visit.sight(submission.phase)
    if seen.own_scores and not hides_own(visit, submission.phase):
        return ""
    if phase is not None and seen.own_scores:
        return "this phase shows on its board what counts, and single scores nowhere"
    return "scores are hidden until the results are out"


def costs(phase: Phase, submission: Submission) -> bool:
    """Whether an attempt takes from the quota of its phase, as things stand."""
    outcome: Any = "running" if submission.active else submission.state
    attempt = Attempt(submission.made, outcome, excepted=submission.excepted)
    return quota_left(phase, [attempt], submission.made).used > 0


def _cancelling(phase: Phase, submission: Submission) -> str:
    """What cancelling does to the quota, in words."""
    if phase.quota is None:
        return "There is no limit to attempts, so it costs nothing."
    given_back = quota_left(phase, [Attempt(submission.made, "cancelled")], submission.made).used == 0
    return "The attempt is given back." if given_back else "The attempt counts all the same in this phase."


def _voids(submissions: Sequence[Submission]) -> dict[Any, list[str]]:
    """By key, why it does not count on boards, of those that could."""
    from isocenter.server.work.voiding import voids

    found: dict[Any, list[str]] = voids(one for one in submissions if one.state in ("queued", "running", "scored"))
    return found
