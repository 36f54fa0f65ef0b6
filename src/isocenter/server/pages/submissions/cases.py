"""A case of a submission to look at: slices where the browser draws volumes, pictures where it does not."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse

from isocenter.editions import split_cohort
from isocenter.server.models import Download, Evaluation, Submission
from isocenter.server.pages.submissions.detail import CASES_HIDDEN
from isocenter.server.policy import Door, Visit, door
from isocenter.server.submitting import measured, showing
from isocenter.server.submitting.measured import Measured
from isocenter.server.work.in_force import evaluation_of

if TYPE_CHECKING:
    from isocenter.viewer import CaseScores, Sight

_A_DAY = timedelta(days=1)


@door(Door.PERSON)
def case(request: HttpRequest, visit: Visit, key: UUID, case: str) -> HttpResponse:
    """The page of a case, between the next worse and the next better one."""
    from isocenter.viewer import worst_first

    one, evaluation = _permitted(visit, key, case)
    now = measured.of(visit, one, evaluation)
    metric = now.metric(request.GET.get("by", ""))
    order = worst_first(now.cases, metric)
    at = next((number for number, found in enumerate(order) if found.name == case), None)
    if at is None:
        raise Http404
    look = showing.look(visit, one, evaluation, case)
    layers = () if look.sight is None else look.sight.layers
    asked = "" if metric is None else f"?by={quote(metric.name, safe='')}"
    address = reverse("case", args=[visit.challenge.slug, one.pk, case])
    return render(
        request,
        "isocenter/submissions/case.html",
        {
            "tab": "submissions",
            "visit": visit,
            "one": one,
            "title": _title(visit, one),
            "case": case,
            "place": at + 1,
            "count": len(order),
            "before": _link(visit, one, order[at - 1], asked) if at else "",
            "after": _link(visit, one, order[at + 1], asked) if at + 1 < len(order) else "",
            "cases": [(found, _link(visit, one, found, asked), _shown(found, metric)) for found in order],
            "by": metric,
            "metrics": now.metrics,
            "look": look,
            "modes": () if look.sight is None else look.sight.modes,
            "source": address,
            "images": [layer for layer in layers if layer.role == "image"],
            "structures": [layer for layer in layers if layer.role == "structure"],
            "stills": [figure for figure in look.figures if not figure.name.endswith("-dvh")],
            "dvh": [figure for figure in look.figures if figure.name.endswith("-dvh")],
            "problems": order[at].problems,
            "numbers": _numbers(order[at], now),
            "parts": _parts(order[at], now),
        },
    )


@door(Door.PERSON)
def case_sight(_: HttpRequest, visit: Visit, key: UUID, case: str) -> HttpResponse:
    """What a page must know before it loads any volume."""
    _phase, sight = _sight(visit, key, case)
    found = json.dumps(sight.description(), allow_nan=False)
    return HttpResponse(found, "application/json")


@door(Door.PERSON)
def case_volume(request: HttpRequest, visit: Visit, key: UUID, case: str, layer: str) -> HttpResponse:
    """A volume of a case, as NIfTI; one that may not be seen does not exist. Who took scans is kept."""
    phase, sight = _sight(visit, key, case)
    found, content = sight.layer(layer), sight.nifti(layer)
    if found is None or content is None:
        raise Http404
    if found.role == "image" and request.method == "GET":
        _keep(visit, f"Scans of {case} in {phase}, to look at", len(content))
    return HttpResponse(content, "application/gzip")


def _keep(visit: Visit, what: str, size: int) -> None:
    """Keep who looked at what, once a day."""
    taken = Download.objects.filter(challenge=visit.challenge, user=visit.user, what=what[:300])
    if not taken.filter(made__gt=visit.now - _A_DAY).exists():
        Download.objects.create(challenge=visit.challenge, user=visit.user, what=what[:300], size=size, made=visit.now)


def _permitted(visit: Visit, key: UUID, case: str) -> tuple[Submission, Evaluation]:
    """A submission whose cases may be seen, and its evaluation in force on the cohort that has this case."""
    one = get_object_or_404(visit.submissions(), pk=key)
    phase = visit.edition.find_scored(one.phase)
    names = [one.phase] if phase is None else [scored.name for scored in phase.scored]
    seen = [name for name in names if visit.sight(name).own_cases]
    if not seen:
        raise PermissionDenied(CASES_HIDDEN)
    for name in seen:
        evaluation = evaluation_of(one, split_cohort(name)[1])
        if evaluation is not None and any(found.name == case for found in measured.of(visit, one, evaluation).cases):
            return one, evaluation
    raise Http404


def _sight(visit: Visit, key: UUID, case: str) -> tuple[str, Sight]:
    """The phase of a submission, and what there is to see of a case."""
    one, evaluation = _permitted(visit, key, case)
    if all(found.name != case for found in measured.of(visit, one, evaluation).cases):
        raise Http404
    sight = showing.look(visit, one, evaluation, case).sight
    if sight is None:
        raise Http404
    return one.phase, sight


def _title(visit: Visit, one: Submission) -> str:
    phase = next((phase.title for phase in visit.edition.phases if phase.name == one.phase), one.phase)
    return f"{one.team.name}, {phase}, no. {one.number}"


def _link(visit: Visit, one: Submission, found: CaseScores, asked: str) -> str:
    return f"{reverse('case', args=[visit.challenge.slug, one.pk, found.name])}{asked}"


def _shown(found: CaseScores, metric: Any) -> str:
    if found.state != "measured":
        return {"missing": "no output", "failed": "unusable"}[found.state]
    return "" if metric is None else metric.show(found.value(metric.name))


def _numbers(found: CaseScores, now: Measured) -> list[tuple[Any, str]]:
    if found.state != "measured":
        return []
    return [(metric, metric.show(found.value(metric.name))) for metric in now.metrics]


def _parts(found: CaseScores, now: Measured) -> dict[str, Any]:
    """What was measured of parts of the case: a row for each, a column for each metric that may be seen."""
    rows = {part: values for part, values in found.values.items() if part}
    columns = [one for one in now.metrics if any(one.name in values for values in rows.values())]
    table = [
        (part.replace("|", " "), [one.show(values.get(one.name)) for one in columns])
        for part, values in rows.items()
        if any(one.name in values for one in columns)
    ]
    return {"columns": columns, "rows": table}
