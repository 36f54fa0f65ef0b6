"""The submissions of a team; of all teams, for organisers. Kept up to date while something is going on."""

from __future__ import annotations

import hashlib
import re
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from isocenter.server.models import Submission, Team
from isocenter.server.policy import POST, Door, Visit, door
from isocenter.server.submitting.attempts import lines

_ON_A_PAGE = 50
_TOKEN = re.compile(rb'name="csrfmiddlewaretoken" value="[^"]*"')
_FILTERS = ("phase", "state", "team", "page")


@door(Door.TEAM)
def submissions(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The page."""
    from isocenter.server.submitting import intake

    open_phases = [(phase, visit.admission(phase.name)) for phase in visit.phases] if visit.team is not None else []
    quotas = [
        (phase, admission, intake.quota(visit, phase.name))
        for phase, admission in open_phases
        if phase.opens <= visit.now < phase.closes
    ]
    return render(
        request,
        "isocenter/submissions/list.html",
        {
            **_context(request, visit),
            "tab": "submissions",
            "quotas": quotas,
            "phases": visit.phases,
            "states": Submission.State.choices,
            "teams": _teams(visit),
        },
    )


@door(Door.TEAM)
def submissions_live(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The rows alone, for a page that is open; with its mark (ETag), so that what did not change is not sent again."""
    response = render(request, "isocenter/submissions/rows.html", _context(request, visit))
    content = _TOKEN.sub(b"", response.content)  # it is written differently every time, and is always the same
    mark = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    if request.headers.get("If-None-Match", "") == mark:
        response = HttpResponseNotModified()
    response.headers["ETag"] = mark
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def _teams(visit: Visit) -> list[Team]:
    return list(visit.challenge.teams.all()) if visit.organises else []


def _context(request: HttpRequest, visit: Visit) -> dict[str, Any]:
    """The rows that are asked for, and the way to the next ones."""
    found = visit.submissions()
    chosen = {name: request.GET.get(name, "") for name in _FILTERS}
    if chosen["phase"]:
        found = found.filter(phase__in=[one.name for one in visit.phases if one.name == chosen["phase"]])
    if chosen["state"]:
        found = found.filter(state__in=[one for one in Submission.State.values if one == chosen["state"]])
    if chosen["team"]:
        found = found.filter(team__in=[one for one in _teams(visit) if str(one.key) == chosen["team"]])
    page = Paginator(found.order_by("-made", "-number", "pk"), _ON_A_PAGE).get_page(chosen["page"] or 1)
    rows = lines(visit, list(page))
    query = "&".join(f"{name}={value}" for name, value in _asked(chosen).items() if name != "page")
    return {
        "visit": visit,
        "rows": rows,
        "page": page,
        "query": query,
        "chosen": chosen,
        "comparable": sum(row.has_cases for row in rows) > 1,
        "one_phase": len({row.submission.phase for row in rows}) == 1,
        "filtered": any(chosen[name] for name in ("phase", "state", "team")),
        "active": any(row.submission.active for row in rows),
        "live": f"{reverse('submissions_live', args=[visit.challenge.slug])}?{query}&page={page.number}",
        "with_scores": any(row.scores or row.hidden for row in rows),
        "with_quota": any(row.costs is not None for row in rows),
        "nominations": {row.phase.name: row.phase for row in rows if row.may_nominate and row.phase is not None},
    }


def _asked(chosen: dict[str, str]) -> dict[str, str]:
    """What is asked for, as it may stand in an address."""
    from urllib.parse import quote

    return {name: quote(value, safe="") for name, value in chosen.items() if value}


@door(Door.TEAM, POST)
def nominate(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Say which of the team's submissions is the final one of its phase."""
    from isocenter.server.submitting import intake

    one = get_object_or_404(visit.submissions(), pk=_key(request.POST.get("submission", "")))
    try:
        intake.nominate(visit, one)
    except intake.Refused as refused:
        messages.error(request, str(refused))
    else:
        title = visit.phase(one.phase).title
        messages.success(request, f"Submission no. {one.number} of {title} is your final one now.")
    return redirect("submissions", visit.challenge.slug)


def _key(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Http404 from None


@door(Door.PERSON, POST)
def cancel(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """Cancel a submission that waits or is being scored. Organisers say why (`reason`); the team need not."""
    from isocenter.server.submitting import intake

    one = get_object_or_404(visit.submissions(), pk=key)
    try:
        intake.cancel(visit, one, reason=request.POST.get("reason", ""))
    except intake.Refused as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, f"Submission no. {one.number} is cancelled.")
    return redirect("submissions", visit.challenge.slug)
