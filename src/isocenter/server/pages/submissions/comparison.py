"""Two submissions to one phase, case by case."""

from __future__ import annotations

from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from isocenter.server.models import Submission
from isocenter.server.pages.submissions.detail import CASES_HIDDEN
from isocenter.server.policy import Door, Visit, door
from isocenter.server.submitting import comparing, measured
from isocenter.server.submitting.measured import Measured
from isocenter.server.work.in_force import evaluation_of

_MOST = 200


@door(Door.PERSON)
def compare(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The page; without two submissions, the form to choose them with."""
    shown = [phase.name for phase in visit.edition.phases if visit.sight(phase.name).own_cases]
    choice = list(
        visit.submissions().filter(phase__in=shown, state=Submission.State.SCORED).order_by("phase", "-made")[:_MOST]
    )
    keys = [request.GET.get(name, "") for name in ("a", "b")]
    context = {
        "tab": "submissions",
        "visit": visit,
        "choice": [(one, _name(visit, one)) for one in choice],
        "keys": keys,
    }
    if not all(keys):
        return render(request, "isocenter/submissions/compare.html", context)
    (one, first), (other, second) = (_found(visit, key) for key in keys)
    context |= {
        "a": one,
        "b": other,
        "names": (_name(visit, one), _name(visit, other)),
        "reference": first.sight.reference,
    }
    if one.pk == other.pk:
        context["trouble"] = "These are one and the same submission. Choose two."
    elif one.phase != other.phase:
        context["trouble"] = "These submissions are to two phases, which have other cases. Choose two to one phase."
    elif (metric := first.metric(request.GET.get("by", ""))) is None:
        context["trouble"] = (
            "The results of this challenge are numbers of all cases together; no case has one to compare."
        )
    else:
        names = (f"no. {one.number}", f"no. {other.number}")
        if one.team_id != other.team_id:
            names = (f"{one.team.name} {names[0]}", f"{other.team.name} {names[1]}")
        context |= {
            "found": comparing.compare(first, second, metric, names),
            "short": names,
            "by": metric,
            "metrics": first.metrics,
            "versions": _versions(first, second),
        }
    return render(request, "isocenter/submissions/compare.html", context)


def _found(visit: Visit, key: str) -> tuple[Submission, Measured]:
    """A submission that may be seen case by case, and its scores."""
    try:
        one = get_object_or_404(visit.submissions(), pk=UUID(key))
    except ValueError:
        one = get_object_or_404(visit.submissions().none())
    if not visit.sight(one.phase).own_cases:
        raise PermissionDenied(CASES_HIDDEN)
    evaluation = evaluation_of(one)
    if evaluation is None:
        msg = f"Submission no. {one.number} has no scores, so there is nothing to compare."
        raise PermissionDenied(msg)
    return one, measured.of(visit, one, evaluation)


def _versions(first: Measured, second: Measured) -> str:
    """What to know where the two were not measured in the same way."""
    a, b = first.evaluation, second.evaluation
    if (a.evaluator, a.reference_id) == (b.evaluator, b.reference_id):
        return ""
    return "They were measured by two versions of the evaluator or of the reference; differences may be due to that."


def _name(visit: Visit, one: Submission) -> str:
    phase = next((phase.title for phase in visit.edition.phases if phase.name == one.phase), one.phase)
    team = f"{one.team.name}, " if visit.organises else ""
    return f"{team}{phase}, no. {one.number}"
