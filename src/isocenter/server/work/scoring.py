"""From a submission to its scores: what a worker does with a run of the kind "score".

    reference in force ─┐
    code of the phase ──┼─▶ `isocenter.evaluation.evaluate`, cases in children ──▶ CaseResult, each as it is done
    the team's file ────┘                                       │
                                                                └─▶ Evaluation, board, word to the team: all or nothing

Where cases without a usable output would make it come to nothing, all outputs are looked at before any is measured.

A case is measured once per evaluator and reference. One that is there already is taken from there, after a worker died
as well as under a new reference that left this case as it was.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.urls import reverse

from isocenter.editions import phase_of
from isocenter.server import clock, files
from isocenter.server.editions import code_of
from isocenter.server.models import Evaluation, Reference, Run, Submission
from isocenter.server.work import children, given_tables, queue, reasons
from isocenter.server.work.case_store import DatabaseStore, Stopped
from isocenter.server.work.in_force import evaluation_of, evaluator_of, reference_of
from isocenter.server.work.score_tables import rules_of, table_bytes, table_of, values_of

if TYPE_CHECKING:
    from isocenter import evaluation
    from isocenter.submissions import Problem

__all__ = ["NoReference", "Stopped", "evaluation_of", "keep", "score", "table_of"]


class NoReference(LookupError):
    """There is nothing to measure against."""


def score(run: Run, *, stop: threading.Event | None = None) -> None:
    """Score the submission of a run, and finish the run.

    Raises
    ------
    LeaseLost, Cancelled
        Somebody else has the run, or nobody wants it; nothing more was written.
    Stopped
        The worker has to stop; what was measured is kept.
    """
    from isocenter.evaluation import CohortError
    from isocenter.submissions import SubmissionRefused

    submission = Submission.objects.select_related("challenge__version", "team").get(pk=run.submission_id)
    if given_tables.is_given(submission):
        given_tables.carry(run, submission)
        return
    try:
        found, reference, evaluator = _evaluated(run, submission, stop)
    except SubmissionRefused as error:
        problems = [reasons.as_problem(problem) for problem in error.problems]
        _fail(run, submission, "refused", problems=problems)
    except _Gaps as error:
        _spoil(run, submission, error.problems)
    except (CohortError, NoReference) as error:
        _fail(run, submission, "reference", detail=str(error))
    else:
        cases = found.record["cases"]
        if _must_be_whole(submission) and cases["measured"] != sum(cases.values()):
            _spoil(run, submission, found.problems)
        else:
            keep(run, submission, found, reference, evaluator)


class _Gaps(Exception):
    """What was found when all outputs were looked at: cases without a usable one."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = problems
        super().__init__()


def _must_be_whole(submission: Submission) -> bool:
    """Whether a case without a result makes it come to nothing: unless the team allowed gaps, or it was scored once."""
    return not submission.gaps and submission.state != Submission.State.SCORED


def _spoil(run: Run, submission: Submission, problems: Sequence[Problem]) -> None:
    """Let a submission come to nothing for its cases without a result.

    It is refused for outputs that cannot be used. Where all can, and measuring them was stopped or broke down, that is
    the reason; of several, the one that costs nothing.
    """
    codes = {reasons.code_of(problem.severity, problem.message) for problem in problems} - {""}
    reason = "refused"
    if codes and not codes - reasons.MEASURING:
        reason = min(codes, key=lambda code: (reasons.outcome_of(code) == "failed", code))
    _fail(run, submission, reason, problems=[reasons.as_problem(problem) for problem in problems])


def _evaluated(
    run: Run, submission: Submission, stop: threading.Event | None
) -> tuple[evaluation.Evaluation, Reference, str]:
    from isocenter.evaluation import check, evaluate

    challenge = submission.challenge
    phase = phase_of(challenge.edition, submission.phase)
    code = code_of(challenge.version_id, submission.phase)
    reference = reference_of(challenge, submission.phase)
    if reference is None:
        msg = f"the phase {submission.phase} has no reference; add one"
        raise NoReference(msg)
    evaluator = evaluator_of(challenge, submission.phase)
    store = DatabaseStore(run, submission, evaluator, reference, stop=stop)
    executor = children.pool()
    given: dict[str, Any] = {
        "reference": files.at(reference.folder),
        "submission": files.at(submission.file),
        "grid": challenge.edition.policies.grid,
        "cases": phase.cases,
        "executor": executor,
    }
    try:
        # What will come to nothing for one output is not measured: that may take hours, and cost the team nothing.
        if _must_be_whole(submission) and not store.has_results:
            problems = check(code, **given)
            if any(problem.severity in ("unusable", "missing") for problem in problems):
                raise _Gaps(problems)
        found = evaluate(code, **given, progress=store.progress, journal=store)
    except children.Aborted:
        queue.beat(run)
        raise Stopped from None
    except _Gaps:
        raise
    except BaseException:
        executor.abort()
        raise
    return found, reference, evaluator


def broke(run: Run, detail: str) -> None:
    """Say that a run ended by an error of the site; its submission, if it waited, is told to be free of charge."""
    submission = Submission.objects.select_related("challenge__version", "team").filter(pk=run.submission_id).first()
    if submission is None:
        queue.fail(run, "", "internal_error", detail=detail)
    else:
        _fail(run, submission, "internal_error", detail=detail)


def _fail(
    run: Run, submission: Submission, reason: str, *, detail: str = "", problems: Sequence[dict[str, str]] = ()
) -> None:
    """Finish a run that came to nothing, and tell whose turn it is. Who had a result keeps it, and need not know."""
    again = submission.state == Submission.State.SCORED
    outcome = reasons.outcome_of(reason)
    with transaction.atomic():
        queue.fail(run, outcome, reason, detail=detail, problems=problems)
        if not again:
            _tell_team(submission, _ENDS[outcome])
    if again or outcome != "refused":
        _tell_organisers(submission, f"{reasons.REASONS[reason].title}{' (evaluated again)' if again else ''}")


_ENDS = {
    "refused": "was not accepted. No attempt was used",
    "failed": "could not be measured within the limits of time and memory; the organisers are told",
    "infrastructure": "could not be scored; the organisers are told. No attempt was used",
}


def keep(
    run: Run, submission: Submission, found: evaluation.Evaluation, reference: Reference, evaluator: str
) -> Evaluation:
    """Write what came out, finish the run and order the board: all of it, or, if the lease is lost, nothing."""
    from isocenter.ranking import table_digest
    from isocenter.server.work import making, reevaluation

    code = code_of(submission.challenge.version_id, submission.phase)
    problems = [reasons.as_problem(problem) for problem in found.problems]
    content = {
        "table": table_bytes(found.scores, found.record),
        "digest": table_digest(found.scores),
        "record": found.record | {"rules": rules_of(code)},
        "values": values_of(code, found.scores),
    }
    with transaction.atomic():
        queue.finish(run)
        done, _ = Evaluation.objects.update_or_create(
            submission=submission,
            evaluator=evaluator,
            reference=reference,
            defaults=content,
            create_defaults=content | {"made": clock.now()},
        )
        first = submission.state != Submission.State.SCORED
        Submission.objects.filter(pk=submission.pk).update(state=Submission.State.SCORED, reason="", problems=problems)
        making.refresh(submission.challenge, submission.phase)
        if first:
            reevaluation.follow(done)
        _tell_team(submission, "was scored" if first else "was evaluated again")
    if any(problem["reason"] in reasons.MEASURING for problem in problems):
        _tell_organisers(submission, "Cases broke the evaluator, or its limits of time or memory")
    return done


def _tell_team(submission: Submission, what: str) -> None:
    """A word that says no score, as the phase may hide it."""
    from isocenter.server import notices

    title = next((p.title for p in submission.challenge.edition.phases if p.name == submission.phase), submission.phase)
    url = reverse("submission", args=[submission.challenge.slug, submission.pk])
    notices.to_team(submission.team, f"{title}: submission {submission.number} {what}.", url=url, mail=False)


def _tell_organisers(submission: Submission, what: str) -> None:
    from isocenter.server import notices

    url = reverse("submission", args=[submission.challenge.slug, submission.pk])
    text = f"{what}: {submission.team.name}, {submission.phase}, submission {submission.number}."
    notices.to_organisers(submission.challenge, text, url=url, mail=True)
