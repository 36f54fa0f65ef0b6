"""From a submission to its scores: what a worker does with a run of the kind "score".

    reference in force ─┐
    code of the phase ──┼─▶ `isocenter.evaluation.evaluate`, cases in children ──▶ CaseResult, each as it is done
    the team's file ────┘                                       │
                                                                └─▶ Evaluation, board, word to the team: all or nothing

Where cases without a usable output would make it come to nothing, all outputs are looked at before any is measured,
those for further cohorts of the phase too. If the evaluator fails on a case, the submission waits for the organisers,
and its other cases keep what was measured.

    scored in its phase ──▶ a run for every further cohort that has a reference ──▶ Evaluation and boards of the cohort

A run for a further cohort changes nothing about the submission: whatever breaks there is between the site and the
organisers. It says nothing to the team either, as the cohort may be hidden.

A case is measured once per evaluator and reference. One that is there already is taken from there, after a worker died
as well as under a new reference that left this case as it was.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.urls import reverse

from isocenter.editions import phase_of
from isocenter.problems import EvaluationFailed, Problem, SubmissionRefused
from isocenter.server import clock, files
from isocenter.server.editions import code_of
from isocenter.server.models import Evaluation, Reference, Run, Submission
from isocenter.server.work import children, faults, given_tables, queue, reasons
from isocenter.server.work.case_store import DatabaseStore, Stopped
from isocenter.server.work.in_force import (
    cases_elsewhere,
    evaluation_of,
    evaluator_of,
    leave_out_unknown,
    on_cohort,
    reference_of,
)
from isocenter.server.work.reasons import Reason
from isocenter.server.work.score_tables import rules_of, table_bytes, table_of, values_of

if TYPE_CHECKING:
    from isocenter import evaluation
    from isocenter.evaluation import Challenge as Code

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

    submission = Submission.objects.select_related("challenge__version", "team").get(pk=run.submission_id)
    if given_tables.is_given(submission):
        given_tables.carry(run, submission)
        return
    try:
        found, reference, evaluator = _evaluated(run, submission, stop)
    except SubmissionRefused as error:
        _fail(run, submission, Reason("refused", "output"), problems=error.problems)
    except _Gaps as error:
        _fail(run, submission, reasons.reason_for_cases(error.problems), problems=error.problems)
    except EvaluationFailed as error:
        _stop_for_causes(run, submission, error)
    except (CohortError, NoReference) as error:
        _fail(run, submission, Reason("reference", "reference"), detail=str(error))
    else:
        cases = found.record["cases"]
        if _must_be_whole(submission) and cases["measured"] != sum(cases.values()):
            _fail(run, submission, reasons.reason_for_cases(found.problems), problems=found.problems)
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


def _stop_for_causes(run: Run, submission: Submission, error: EvaluationFailed) -> None:
    """Let a submission wait that could not be measured through no fault of its output.

    If it also has outputs that cannot be used, and may have none, it is refused for those: its team can mend them.
    """
    if _must_be_whole(submission) and any(map(reasons.is_about_output, error.problems)):
        _fail(run, submission, reasons.reason_for_cases(error.problems), problems=error.problems)
        return
    _fail(
        run,
        submission,
        reasons.reason_for_causes(error.causes),
        detail=faults.describe(error.causes),
        problems=error.problems,
        faults_of=[one for one in error.causes if one.origin == "evaluator"],
    )


def _evaluated(
    run: Run, submission: Submission, stop: threading.Event | None
) -> tuple[evaluation.Evaluation, Reference, str]:
    from isocenter.evaluation import check, evaluate, sort_problems

    challenge, name = submission.challenge, run.scored_phase
    code = code_of(challenge.version_id, name)
    reference = reference_of(challenge, name)
    if reference is None:
        msg = f"the phase {name} has no reference; add one"
        raise NoReference(msg)
    evaluator = evaluator_of(challenge, name)
    store = DatabaseStore(run, submission, evaluator, reference, stop=stop)
    executor = children.pool()
    try:
        # What will come to nothing for one output is not measured: that may take hours, and cost the team nothing.
        if _must_be_whole(submission) and not store.has_results:
            problems = check(code, **_given(submission, name, reference), executor=executor)
            every = sort_problems(problems, *_check_cohorts(submission, code, executor))
            problems = tuple(leave_out_unknown(challenge, name, every))
            if any(map(reasons.is_about_output, problems)):
                raise _Gaps(problems)
        given = _given(submission, name, reference)
        found = evaluate(code, **given, executor=executor, progress=store.progress, journal=store)
    except children.Aborted:
        queue.beat(run)
        raise Stopped from None
    except _Gaps:
        raise
    except BaseException:
        executor.abort()
        raise
    return found, reference, evaluator


def _given(submission: Submission, phase: str, reference: Reference) -> dict[str, Any]:
    """What a submission is checked and measured with, in a phase or on a further cohort of it."""
    challenge = submission.challenge
    return {
        "reference": files.at(reference.folder),
        "submission": files.at(submission.file),
        "grid": challenge.edition.policies.grid,
        "cases": phase_of(challenge.edition, phase).cases,
        "elsewhere": cases_elsewhere(challenge, phase),
    }


def _check_cohorts(submission: Submission, code: Code, executor: children.Children) -> Iterator[tuple[Problem, ...]]:
    """What is wrong with the outputs for the further cohorts of a phase, as far as these have a reference."""
    from isocenter.evaluation import CohortError, check

    for one in phase_of(submission.challenge.edition, submission.phase).scored[1:]:
        reference = reference_of(submission.challenge, one.name)
        if reference is None:
            continue
        try:
            yield check(code, **_given(submission, one.name, reference), executor=executor)
        except CohortError:  # the organisers hear of it when the submission is scored there
            continue


def broke(run: Run, detail: str) -> None:
    """Say that a run ended by an error of the site; its submission, if it waited, is told to be free of charge."""
    submission = Submission.objects.select_related("challenge__version", "team").filter(pk=run.submission_id).first()
    if submission is None:
        queue.fail(run, "", "internal_error", detail=detail)
    else:
        _fail(run, submission, Reason("internal_error", "machine"), detail=detail)


def _fail(
    run: Run,
    submission: Submission,
    reason: Reason,
    *,
    detail: str = "",
    problems: Sequence[Problem] = (),
    faults_of: Sequence[Problem] = (),
) -> None:
    """Finish a run that came to nothing, and tell whose turn it is.

    A submission that had a result keeps it, and its team is not told.
    """
    again = submission.state == Submission.State.SCORED
    with transaction.atomic():
        rows = [reasons.as_row(problem) for problem in problems]
        queue.fail(run, reason.outcome, reason.code, detail=detail, problems=rows)
        if not again:
            _tell_team(submission, reasons.say_to_team(reason))
        if faults_of:
            _report_faults(run, submission, faults_of)
    if not faults_of and (again or reason.outcome != "refused"):
        again = again and not run.cohort
        _tell_organisers(submission, run.scored_phase, reasons.say_to_organisers(reason, again=again))


def _report_faults(run: Run, submission: Submission, causes: Sequence[Problem]) -> None:
    """Keep what the evaluator failed on, tell the organisers once, and let the board say that submissions wait."""
    from isocenter.server.work import making

    challenge, phase = submission.challenge, run.scored_phase
    reference, evaluator = reference_of(challenge, phase), evaluator_of(challenge, phase)
    making.refresh(challenge, phase)
    faults.record(run, causes, evaluator=evaluator, reference=None if reference is None else reference.pk)
    faults.tell_organisers(challenge, run, causes, evaluator=evaluator)


def keep(
    run: Run, submission: Submission, found: evaluation.Evaluation, reference: Reference, evaluator: str
) -> Evaluation:
    """Write what came out, finish the run and order the board: all of it, or, if the lease is lost, nothing."""
    from isocenter.ranking import table_digest
    from isocenter.server.work import making, reevaluation

    code = code_of(submission.challenge.version_id, submission.phase)
    content = {
        "table": table_bytes(found.scores, found.record),
        "digest": table_digest(found.scores),
        "record": found.record | {"rules": rules_of(code)},
        "values": values_of(code, found.scores),
    }
    with transaction.atomic():
        queue.finish(run)
        first = not submission.evaluations.filter(on_cohort(run.cohort)).exists()
        done, _ = Evaluation.objects.update_or_create(
            submission=submission,
            evaluator=evaluator,
            reference=reference,
            defaults=content,
            create_defaults=content | {"made": clock.now()},
        )
        changes: dict[str, Any] = {"problems": _merge_problems(run, submission, found, reference)}
        if not run.cohort:
            first = submission.state != Submission.State.SCORED
            changes |= {"state": Submission.State.SCORED, "reason": ""}
        Submission.objects.filter(pk=submission.pk).update(**changes)
        making.refresh(submission.challenge, run.scored_phase)
        if first:
            reevaluation.follow(done, run.cohort)
        if not run.cohort:
            reevaluation.score_cohorts(submission)
            _tell_team(submission, _say_scored(submission, first=first))
    if any(problem.cost == "attempt" for problem in found.problems):
        said = "Outputs could not be read within the limits of time and memory"
        _tell_organisers(submission, run.scored_phase, said)
    return done


def _merge_problems(
    run: Run, submission: Submission, found: evaluation.Evaluation, reference: Reference
) -> list[dict[str, str]]:
    """What is said of the outputs of all cohorts, of which those of one are new."""
    problems = leave_out_unknown(submission.challenge, run.scored_phase, found.problems)
    rows = [reasons.as_row(problem) for problem in problems]
    before = Submission.objects.select_for_update().values_list("problems", flat=True).get(pk=submission.pk)
    own = {*reference.cases, *([] if run.cohort else [""])}  # what is about no case, the run of the phase says
    return [*rows, *(row for row in before if row.get("case", "") not in own and row not in rows)]


def _say_scored(submission: Submission, *, first: bool) -> str:
    """That a submission has scores, in words for its team; and why only now, if it had to wait for the organisers."""
    if not first:
        return "was evaluated again"
    waited = faults.has_failed(submission)
    return f"{reasons.say_to_team(None)}{', now that the organisers have mended the evaluator' if waited else ''}"


def _tell_team(submission: Submission, what: str) -> None:
    """A word that says no score, as the phase may hide it."""
    from isocenter.server import notices

    title = next((p.title for p in submission.challenge.edition.phases if p.name == submission.phase), submission.phase)
    url = reverse("submission", args=[submission.challenge.slug, submission.pk])
    notices.to_team(submission.team, f"{title}: submission {submission.number} {what}.", url=url, mail=False)


def _tell_organisers(submission: Submission, phase: str, what: str) -> None:
    from isocenter.server import notices

    url = reverse("submission", args=[submission.challenge.slug, submission.pk])
    text = f"{what}: {submission.team.name}, {phase}, submission {submission.number}."
    notices.to_organisers(submission.challenge, text, url=url, mail=True)
