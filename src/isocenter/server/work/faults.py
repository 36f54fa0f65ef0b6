"""Faults of the evaluator: `prepare`, `measure` or `inspect` raised, took too long, or killed its process.

    a run breaks ── record ──▶ Run.payload: causes with tracebacks ──▶ list_faults: the page of the organisers
                  └─ tell ──▶ one notification and mail per evaluator, whose number follows

A fault is open until its submission is scored. The team reads that the evaluator failed, and nothing of why: an
exception may tell of the reference. As long as submissions wait, the results of their phase are held back: `holding`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.urls import reverse

from isocenter.editions import split_cohort
from isocenter.problems import Code, Problem, find_code, report
from isocenter.server.models import Challenge, Notification, Run, Submission

CAUSES = "causes"
"""Where the payload of a run that broke has what it broke on."""

_MOST_CAUSES, _MOST_DETAILS, _LONGEST_DETAIL = 1000, 20, 8000
# These do not wait for the evaluator: their files are at fault, or nobody wants them any more.
_CLOSED = (Submission.State.REFUSED, Submission.State.FAILED, Submission.State.CANCELLED)


@dataclass(frozen=True)
class Fault:
    """One way in which the evaluator fails, in one phase or on one of its further cohorts.

    Attributes
    ----------
    message
        Stage, exception and place.
    detail
        The traceback; "" where the process was killed.
    cases
        By case, how many submissions it happened with; the most frequent first.
    submissions
        Those that wait for a mended evaluator, in the order they were made.
    """

    phase: str
    evaluator: str
    code: Code
    message: str
    detail: str
    cases: tuple[tuple[str, int], ...]
    submissions: tuple[Submission, ...]
    last: datetime | None

    @property
    def anchor(self) -> str:
        """The part of the page that notifications about this evaluator lead to."""
        return _anchor(self.evaluator)


def record(run: Run, causes: Sequence[Problem], *, evaluator: str, reference: int | None) -> None:
    """Keep what broke a run, with what it was measured by; call it in the transaction that lets the run fail."""
    kept: list[dict[str, str]] = []
    shown: set[tuple[str, str]] = set()
    for cause in causes[:_MOST_CAUSES]:
        row = cause.to_dict(detail=True)
        place = (cause.code, cause.message)
        if place in shown or len(shown) >= _MOST_DETAILS:
            row.pop("detail", None)  # one traceback of a kind is enough
        elif cause.detail:
            shown.add(place)
            row["detail"] = make_storable(cause.detail)
        kept.append(row)
    run.payload = {**run.payload, CAUSES: kept, "evaluator": evaluator, "reference": reference}
    run.save(update_fields=["payload"])


def describe(causes: Sequence[Problem]) -> str:
    """What broke a run, as text for `Run.detail` and mails: the cases, and every traceback once."""
    details = list(dict.fromkeys(make_storable(one.detail) for one in causes if one.detail))
    return "\n\n".join([report(causes[:_MOST_DETAILS]), *details[:_MOST_DETAILS]])


def make_storable(detail: str) -> str:
    """The end of a traceback, as every database takes it: without zeros and halves of characters."""
    plain = detail[-_LONGEST_DETAIL:].strip().replace("\0", r"\0")
    return plain.encode("utf-8", "backslashreplace").decode()


def open_runs(challenge: Challenge) -> QuerySet[Run]:
    """The runs that broke, of submissions that were not scored since; also of those that keep an older score."""
    scored = Run.objects.filter(
        kind=Run.Kind.SCORE,
        submission=OuterRef("submission"),
        cohort=OuterRef("cohort"),
        state=Run.State.DONE,
        finished__gte=OuterRef("finished"),
    )
    return Run.objects.filter(
        ~Exists(scored),
        challenge=challenge,
        kind=Run.Kind.SCORE,
        state=Run.State.FAILED,
        payload__has_key=CAUSES,
    ).exclude(submission__state__in=_CLOSED)


def runs_that_count(challenge: Challenge) -> QuerySet[Run]:
    """The open runs of submissions that count on boards: neither void, nor of a team that is disqualified."""
    return open_runs(challenge).filter(submission__void=False, submission__team__disqualified=False)


def list_faults(challenge: Challenge) -> list[Fault]:
    """All open faults; of every phase those that most submissions wait for first."""
    runs: dict[Any, Run] = {}
    for run in open_runs(challenge).select_related("submission__team").order_by("finished", "queued"):
        runs[run.submission_id, run.cohort] = run  # the last one of a submission, on each cohort
    groups: dict[tuple[str, str, str, str], list[tuple[Run, Mapping[str, str]]]] = {}
    for run in runs.values():
        for cause in run.payload[CAUSES]:
            key = (run.scored_phase, run.payload["evaluator"], cause["code"], cause["message"])
            groups.setdefault(key, []).append((run, cause))
    faults = [_fault(key, members) for key, members in groups.items()]
    return sorted(faults, key=lambda one: (one.phase, one.evaluator, -len(one.submissions), one.message))


def _fault(key: tuple[str, str, str, str], members: list[tuple[Run, Mapping[str, str]]]) -> Fault:
    phase, evaluator, code, message = key
    submissions = {run.submission_id: run.submission for run, _ in members}
    return Fault(
        phase=phase,
        evaluator=evaluator,
        code=find_code(code),
        message=message,
        detail=next((cause["detail"] for _, cause in reversed(members) if cause.get("detail")), ""),
        cases=tuple(Counter(cause["case"] for _, cause in members).most_common()),
        submissions=tuple(sorted(submissions.values(), key=lambda one: (one.made, str(one.pk)))),
        last=max((run.finished for run, _ in members if run.finished is not None), default=None),
    )


def has_failed(submission: Submission) -> bool:
    """Whether the evaluator failed on a submission before."""
    return submission.runs.filter(cohort="", state=Run.State.FAILED, payload__has_key=CAUSES).exists()


def waiting_in(challenge: Challenge, phase: str) -> list[Submission]:
    """The submissions of a phase that count and wait for a mended evaluator, in the order they were made.

    With a further cohort, those that wait for their score there.
    """
    name, cohort = split_cohort(phase)
    keys = runs_that_count(challenge).filter(submission__phase=name, cohort=cohort).values("submission")
    return list(Submission.objects.filter(pk__in=keys).select_related("team").order_by("made", "pk"))


def tell_organisers(challenge: Challenge, run: Run, causes: Sequence[Problem], *, evaluator: str) -> None:
    """Tell the organisers of a broken evaluator once; while it stays broken, the number in that notification follows.

    Call it in the transaction of `record`, after it.
    """
    from isocenter.server import notices

    # Two workers that break at once tell one after the other.
    Challenge.objects.select_for_update().get(pk=challenge.pk)
    broken = open_runs(challenge).filter(payload__evaluator=evaluator)
    idle = broken.exclude(submission__state__in=(Submission.State.QUEUED, Submission.State.RUNNING))
    others = idle.exclude(submission=run.submission_id).values("submission").distinct().count()
    url = f"{reverse('organise_faults', args=[challenge.slug])}#{_anchor(evaluator)}"
    text = _words(challenge, run, causes[0], others + 1)
    if not others:
        notices.to_organisers(challenge, text, url=url, mail=True, body=f"{_EFFECT}\n\n{describe(causes)}")
        return
    unread = Notification.objects.filter(challenge=challenge, url=url, read=None)
    unread.update(text=notices.shortened(text))


def _words(challenge: Challenge, run: Run, cause: Problem, number: int) -> str:
    scored = challenge.edition.find_scored(run.scored_phase)
    phase = "" if scored is None else scored.title
    concerned = f"{number} submission{'s'[: number != 1]} {'waits' if number == 1 else 'wait'} for it"
    where = f"{phase}, case {cause.case}" if cause.case else phase
    return f"{find_code(cause.code).title}; {concerned}. {where}: {cause.message}"


_EFFECT = """\
This is not about the files of a team, and teams are told so. It costs them no
attempt and no case; boards are made without these submissions. Mend the
evaluator. Then evaluate them again on the page below."""


def _anchor(evaluator: str) -> str:
    return f"e-{evaluator[:12]}"
