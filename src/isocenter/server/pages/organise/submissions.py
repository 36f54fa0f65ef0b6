"""What was handed in, and what is decided on it."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from isocenter.editions import split_cohort
from isocenter.server.models import Evaluation, Run, Submission, Team, Upload
from isocenter.server.organising import benchmarks, refereeing
from isocenter.server.organising.refereeing import reasoned
from isocenter.server.organising.versioning import Refused
from isocenter.server.pages.organise.acting import act, attempt, back, key_in, page, paged, sent_file
from isocenter.server.policy import FORM, POST, Door, Visit, door
from isocenter.server.submitting import intake
from isocenter.server.submitting.measured import board_scores, code_for
from isocenter.server.work import faults, holding, reevaluation
from isocenter.server.work.reasons import reason_of


@door(Door.ORGANISER)
def submissions(request: HttpRequest, visit: Visit) -> HttpResponse:
    """All of them; by phase, state or team."""
    rows = visit.submissions()
    phase, state = request.GET.get("phase", ""), request.GET.get("state", "")
    query = request.GET.get("q", "").strip()[:100]
    if phase in [one.name for one in visit.edition.phases]:
        rows = rows.filter(phase=phase)
    if state in Submission.State.values:
        rows = rows.filter(state=state)
    if query:
        rows = rows.filter(team__name__icontains=query)
    return page(
        request,
        visit,
        "submissions",
        "submissions",
        shown=paged(request, rows.order_by("-made", "pk")),
        states=Submission.State.choices,
        phase=phase,
        state=state,
        query=query,
        benchmarks=visit.challenge.teams.filter(kind=Team.Kind.BENCHMARK),
    )


@door(Door.ORGANISER, FORM)
def submission(request: HttpRequest, visit: Visit, pk: uuid.UUID) -> HttpResponse:
    """One, with its runs and evaluations, and everything that can be decided on it."""
    from isocenter.server.work.voiding import void_reasons_of

    one = get_object_or_404(visit.submissions(), pk=pk)
    if request.method == "POST":
        _decide(request, visit, one)
        return back(visit, "organise_submission", pk)
    code, sight = code_for(visit, one), visit.sight(one.phase)
    evaluations = (
        Evaluation.objects.filter(submission=one).defer("table").select_related("reference").order_by("-made", "-pk")
    )
    return page(
        request,
        visit,
        "submission",
        "submissions",
        one=one,
        reason=reason_of(one),
        void_reasons=void_reasons_of(one),
        runs=one.runs.order_by("-queued", "-pk")[:20],
        evaluations=[(row, board_scores(row, sight, code)) for row in evaluations],
        cohorts=bool(visit.edition.find_scored(one.phase) and visit.phase(one.phase).cohorts),
        people=one.team.memberships.count(),
        decided=visit.challenge.decisions.filter(subject=refereeing.name_of(one)).order_by("-number")[:20],
    )


def _decide(request: HttpRequest, visit: Visit, one: Submission) -> None:
    reason = request.POST.get("reason", "")

    def stopped() -> bool:
        try:
            intake.cancel(visit, one, reason=reasoned(reason))
        except intake.Refused as refused:
            raise Refused(refused.reasons) from None
        return True

    act(
        request,
        {
            "refund": (lambda: refereeing.refund(visit, one, reason), "The attempt is given back; the team is told."),
            "void": (lambda: refereeing.void(visit, one, reason), "It does not count on boards; the team is told."),
            "count": (lambda: refereeing.void(visit, one, reason, on=False), "It counts again; the team is told."),
            "again": (lambda: _again(visit, one.phase, [one], reason), "It is evaluated again."),
            "cancel": (stopped, "It is stopped, and costs the team nothing."),
        },
    )


def _again(visit: Visit, phase: str, chosen: list[Submission] | None, reason: str) -> list[Run]:
    """Evaluate again what is not being evaluated already, in a phase or on a further cohort."""
    name, cohort = split_cohort(phase)
    busy = Run.objects.filter(kind=Run.Kind.SCORE, cohort=cohort, state__in=(Run.State.QUEUED, Run.State.RUNNING))
    rows = visit.submissions().filter(phase=name).exclude(pk__in=busy.values("submission"))
    rows = rows.exclude(state__in=(Submission.State.REFUSED, Submission.State.CANCELLED))
    if chosen is not None:
        rows = rows.filter(pk__in=[one.pk for one in chosen])
    return reevaluation.reevaluate(visit.user, visit.challenge, phase, list(rows), reasoned(reason))


@door(Door.ORGANISER, FORM)
def evaluator_faults(request: HttpRequest, visit: Visit) -> HttpResponse:
    """What the evaluator failed on, with its tracebacks; and the button that evaluates all of it again."""
    if request.method == "POST":
        _again_after_faults(request, visit)
        return back(visit, "organise_faults")
    listed, held = faults.list_faults(visit.challenge), holding.held_phases(visit.challenge)
    waiting: dict[str, set[uuid.UUID]] = {}
    for fault in listed:
        waiting.setdefault(fault.phase, set()).update(one.pk for one in fault.submissions)
    phases = [
        {
            "phase": phase,
            "waiting": len(waiting[phase.name]),
            "held": held.get(phase.name, 0),
            "faults": [fault for fault in listed if fault.phase == phase.name],
        }
        for phase in visit.edition.scored
        if phase.name in waiting
    ]
    return page(request, visit, "faults", "submissions", phases=phases)


def _again_after_faults(request: HttpRequest, visit: Visit) -> None:
    phase, reason = visit.scored_phase(request.POST.get("phase", "")), request.POST.get("reason", "")
    listed = faults.list_faults(visit.challenge)
    chosen = [one for fault in listed if fault.phase == phase.name for one in fault.submissions]
    with attempt(request):
        runs = _again(visit, phase.name, chosen, reason)
        if runs:
            number = f"{len(runs)} submission{'s'[: len(runs) != 1]}"
            messages.success(request, f"{number} to {phase.title} {'is' if len(runs) == 1 else 'are'} evaluated again.")
        else:
            messages.info(request, "There is nothing to evaluate again, or it is being done already.")


@door(Door.ORGANISER, POST)
def again(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Evaluate everything of a phase again, or on one of its further cohorts."""
    phase = visit.scored_phase(request.POST.get("phase", ""))
    with attempt(request):
        runs = _again(visit, phase.name, None, request.POST.get("reason", ""))
        if runs:
            messages.success(request, f"{len(runs)} submissions to {phase.title} are evaluated again.")
        else:
            messages.info(request, "There is nothing to evaluate again, or it is being done already.")
    return back(visit, "organise_submissions")


@door(Door.ORGANISER, POST)
def benchmark(request: HttpRequest, visit: Visit) -> HttpResponse:
    """A row to compare with: what it is called, and what was handed in for it."""
    with attempt(request):
        reason, phase = reasoned(request.POST.get("reason", "")), visit.phase(request.POST.get("phase", ""))
        key, name = request.POST.get("team", ""), request.POST.get("name", "").strip()
        if not key and not name:
            msg = "Choose a benchmark, or name a new one."
            raise Refused(msg)
        upload = sent_file(request, visit.challenge, Upload.Purpose.REFERENCE)
        with transaction.atomic():  # no benchmark without anything that was handed in for it
            if key:
                team = get_object_or_404(Team, key=key_in(key), challenge=visit.challenge)
            else:
                team = benchmarks.add(visit, name, reason)
            sent = benchmarks.hand_in(visit, team, phase.name, upload, reason)
        said = "stands on the board" if sent.state == Submission.State.SCORED else "waits to be scored"
        messages.success(request, f"{team.name} {said}.")
    return back(visit, "organise_submissions")
