"""How a phase went on."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from isocenter.editions import Phase
from isocenter.server.boards import plots
from isocenter.server.boards.board_table import label
from isocenter.server.boards.progressing import Course, course, lead_steps, participation, people, per_day
from isocenter.server.pages.boards._conditional import page
from isocenter.server.pages.boards._words import board_names, outlook
from isocenter.server.policy import Door, Visit, door

_MOST_CHANGES = 40


@door(Door.CHALLENGE)
def progress(request: HttpRequest, visit: Visit, phase: str) -> HttpResponse:
    """Best scores so far, who led when, submissions per day, who takes part; nothing before it may be known."""
    found = visit.phase(phase)
    names = board_names(visit, phase)
    asked = request.GET.get("board", "")
    name = asked if asked in names else next(iter(names))
    context: dict[str, Any] = {
        "tab": "boards",
        "slug": visit.challenge.slug,
        "outlook": outlook(visit, found),
        "name": name,
        "title": names[name].title,
        "boards": names,
        "phases": visit.phases,
        "seen": visit.sight(phase).progress,
    }
    if visit.sight(phase).progress:
        context |= _drawn(visit, found, course(visit, phase, name))
        context |= {"participation": participation(visit), "people": people(visit)}
    return page(request, "isocenter/boards/progress.html", context, title=visit.edition.title)


def _drawn(visit: Visit, phase: Phase, found: Course) -> dict[str, Any]:
    """The figures, each with its numbers."""
    from isocenter.report import metric_label

    days = per_day(found.scored, phase, visit.now)
    text, metric = found.digits.text, found.metric
    name = metric_label(metric, unit=False)
    context: dict[str, Any] = {
        "metric": label(metric),
        "submissions": len(found.scored),
        "teams": len({one.team for one in found.scored}),
        "days": days,
        "days_plot": plots.daily_counts(days) if found.scored else "",
        "valued": found.valued,
    }
    if not found.valued:
        return context
    steps = lead_steps(found.scored, phase, better=metric.better)
    changes = [(one.moment, one.team, one.before, text(metric, one.score)) for one in found.changes]
    context |= {
        "changes": changes[-_MOST_CHANGES:],
        "changes_in_all": len(changes),
        "lead_plot": plots.lead([(day, _rounded(found, score)) for day, score in steps], metric, name),
        "steps": [(f"{day:.1f}", text(metric, score)) for day, score in steps],
    }
    curve = found.progress
    if curve is not None and curve.teams:
        rows = zip(curve.shares, curve.mean, curve.low, curve.high, curve.best, strict=True)
        context |= {
            "curve_plot": plots.progress_curve(curve, metric, name),
            "curve_teams": len(curve.teams),
            "curve": [(f"{share:.2f}", *(text(metric, float(value)) for value in values)) for share, *values in rows],
        }
    return context


def _rounded(found: Course, score: float) -> float:
    value = found.digits.number(found.metric, score)
    return score if value is None else value
