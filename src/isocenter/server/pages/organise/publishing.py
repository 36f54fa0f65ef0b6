"""Results, prizes, code and reports: what becomes public, and when."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404

from isocenter.editions import Phase, split_cohort
from isocenter.server.boards import prizes
from isocenter.server.models import Artefact, CodeLink, Decision, Registration, Run
from isocenter.server.organising import running
from isocenter.server.organising.refereeing import reasoned
from isocenter.server.organising.versioning import Refused
from isocenter.server.pages.organise.acting import act, back, page, whole_number
from isocenter.server.policy import FORM, Door, Visit, door
from isocenter.server.work import holding

_OPTIONS = {
    Artefact.Kind.REPORT: {"pictures", "all_names"},
    Artefact.Kind.ARCHIVE: {"submissions", "references"},
}


@door(Door.ORGANISER, FORM)
def publishing(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The schedule of results, and what can be published by hand."""
    if request.method == "POST":
        _do(request, visit)
        return back(visit, "organise_publishing")
    from isocenter.server.archiving.artefacts import note_of

    challenge = visit.challenge
    titles = {phase.name: phase.title for phase in visit.edition.phases}
    told = dict(Decision.objects.filter(challenge=challenge, what=holding.OUT).values_list("subject", "when"))
    held = holding.held_phases(challenge)
    making = Run.objects.filter(
        challenge=challenge,
        kind__in=(Run.Kind.REPORT, Run.Kind.ARCHIVE),
        state__in=(Run.State.QUEUED, Run.State.RUNNING),
    )
    return page(
        request,
        visit,
        "publishing",
        "publishing",
        phases=[_phase(visit, phase, told.get(phase.name), held) for phase in visit.edition.scored],
        links=CodeLink.objects.filter(team__challenge=challenge).select_related("team").order_by("phase", "team__name"),
        artefacts=[(one, titles.get(one.phase, one.phase), note_of(one)) for one in challenge.artefacts.all()],
        making=making,
        people=challenge.registrations.filter(state=Registration.State.ACCEPTED).count(),
        base=challenge.version.number,
    )


def _phase(visit: Visit, phase: Phase, told: Any, held: dict[str, int]) -> dict[str, Any]:
    from isocenter.server.models import Submission

    soon = visit.now + timedelta(seconds=1)  # what was closed just now, closes at the next whole second
    name, cohort = split_cohort(phase.name)
    sent = visit.submissions().filter(phase=name)
    return {
        "phase": phase,
        "further": cohort != "",
        "told": told,
        "open": phase.opens <= visit.now and soon < phase.closes,
        "closed": soon >= phase.closes,
        "out": visit.is_out(phase),
        "held": held.get(phase.name, 0),
        "sent": sent.count(),
        "active": sent.filter(state__in=(Submission.State.QUEUED, Submission.State.RUNNING)).count(),
        "winnings": prizes.shown(visit, phase),
    }


def _do(request: HttpRequest, visit: Visit) -> None:
    post = request.POST
    reason, phase = post.get("reason", ""), post.get("phase", "")
    act(
        request,
        {
            "results": (
                lambda: running.results_now(visit, phase, reason, base=whole_number(request, "base")),
                "The results are out, and everybody who takes part is told.",
            ),
            "without": (
                lambda: running.publish_without(visit, phase, reason),
                "The results come out without the submissions that wait, at their moment or at once.",
            ),
            "close": (
                lambda: running.close_now(visit, phase, reason, base=whole_number(request, "base")),
                "The phase is closed, and everybody who takes part is told.",
            ),
            "code": (lambda: _code(visit, post.get("link", ""), post.get("to", ""), reason), "The link is released."),
            "bonus": (lambda: _bonus(visit, phase, post, reason), "The bonus is handed out."),
            "report": (lambda: _order(visit, Artefact.Kind.REPORT, post), "The report is being made."),
            "archive": (lambda: _order(visit, Artefact.Kind.ARCHIVE, post), "The archive is being made."),
            "publish": (lambda: _publish(visit, post.get("artefact", ""), reason), "Everybody can see it."),
        },
    )


def _code(visit: Visit, key: str, to: str, reason: str) -> bool:
    link = get_object_or_404(CodeLink, pk=key if key.isdecimal() else 0, team__challenge=visit.challenge)
    return running.release_code(visit, link, to, reason)


def _bonus(visit: Visit, phase: str, post: QueryDict, reason: str) -> bool:
    title, team = post.get("title", ""), post.get("team", "")
    if prizes.named_bonuses(visit.challenge, visit.phase(phase).name).get(title) == team:
        return False
    try:
        prizes.name_bonus(visit, phase, title, team, reasoned(reason))
    except ValueError as error:
        raise Refused(str(error)) from None
    return True


def _order(visit: Visit, kind: str, post: QueryDict) -> bool:
    """Have a report or an archive made, with what was ticked."""
    from isocenter.server.archiving import artefacts

    phase = visit.phase(post["phase"]).name if post.get("phase") else ""
    ticked = _OPTIONS[kind] & set(post)
    artefacts.order(visit, kind, phase, **dict.fromkeys(ticked, True))
    return True


def _publish(visit: Visit, key: str, reason: str) -> bool:
    import uuid

    try:
        artefact = get_object_or_404(Artefact, pk=uuid.UUID(key), challenge=visit.challenge)
    except ValueError:
        msg = "Choose a report or an archive."
        raise Refused(msg) from None
    return running.publish_artefact(visit, artefact, reason)
