"""The way to a challenge that can be published, in seven steps."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from isocenter.server.boards.board_titles import rule_in_words, titles_of
from isocenter.server.editions import code_of
from isocenter.server.organising import readiness, running
from isocenter.server.organising.moments import anywhere, in_utc, on_its_clock
from isocenter.server.pages.organise.acting import act, back, page
from isocenter.server.policy import POST, Door, Visit, door


@door(Door.ORGANISER)
def setup(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The checklist, the time line, the evaluator."""
    from isocenter.metrics import catalogue

    edition, challenge = visit.edition, visit.challenge
    code = code_of(challenge.version_id, edition.last_phase.name)
    bars, today = readiness.timeline(edition, visit.now)
    moments = [
        {
            "phase": phase,
            "what": what,
            "when": when,
            "own": on_its_clock(when),
            "utc": in_utc(when),
            "aoe": anywhere(when),
        }
        for phase in edition.phases
        for what, when in (("opens", phase.opens), ("closes", phase.closes), ("results", phase.results))
    ]
    steps = readiness.steps(challenge, visit.now)
    return page(
        request,
        visit,
        "setup",
        "setup",
        steps=steps,
        ready=all(step.done for step in steps),
        bars=bars,
        today=today,
        moments=moments,
        data=readiness.data_of(challenge),
        code=code,
        metrics=[catalogue.get(name) for name in code.metrics],
        boards=[(titles_of(code)[name], name, rule_in_words(rule)) for name, rule in code.boards.items()],
    )


@door(Door.ORGANISER)
def dry_run(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The boards as synthetic teams would stand on them."""
    from isocenter.metrics import catalogue
    from isocenter.server.organising.dryrun import dry_run as run

    edition = visit.edition
    phase = visit.phase(request.GET.get("phase") or edition.last_phase.name)
    found = run(code_of(visit.challenge.version_id, phase.name), cases=phase.cases)
    runs = [(one, None if one.board is None else catalogue.get(one.board.metric)) for one in found]
    return page(request, visit, "dry_run", "setup", phase=phase, runs=runs)


@door(Door.ORGANISER, POST)
def publish(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Let everybody know of the challenge, or hide it again."""
    reason = request.POST.get("reason", "")
    act(
        request,
        {
            "publish": (lambda: running.publish(visit, reason), "The challenge is published."),
            "hide": (lambda: running.unpublish(visit, reason), "The challenge is hidden again."),
        },
    )
    return back(visit, "organise_setup")
