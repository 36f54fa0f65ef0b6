"""What was decided, and who took which file: both only grow."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse

from isocenter.editions import audit
from isocenter.server import decisions
from isocenter.server.pages.organise.acting import csv_file, page, paged
from isocenter.server.policy import Door, Visit, door


@door(Door.ORGANISER)
def decided(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The chain of decisions, and whether it is as it was written."""
    rows = visit.challenge.decisions.order_by("-number")
    entries = decisions.entries(visit.challenge)
    known = request.GET.get("hash", "").strip().lower()
    return page(
        request,
        visit,
        "decisions",
        "log",
        shown=paged(request, rows),
        total=len(entries),
        last=rows.first(),
        known=known,
        problems=audit.verify(entries, last=known or None),
    )


@door(Door.ORGANISER)
def decided_csv(_: HttpRequest, visit: Visit) -> HttpResponse:
    """The chain as a table."""
    rows = [
        [row.number, row.when.isoformat(), row.actor, row.what, row.subject, row.reason, row.hash]
        for row in visit.challenge.decisions.order_by("number")
    ]
    head = ["number", "when", "actor", "what", "subject", "reason", "hash"]
    return csv_file(f"{visit.challenge.slug}-decisions.csv", head, rows)


@door(Door.ORGANISER)
def decided_json(_: HttpRequest, visit: Visit) -> HttpResponse:
    """The chain as it is hashed, for whoever wants to check it elsewhere."""
    rows = [
        {
            "when": entry.decision.when.isoformat(timespec="microseconds"),
            "actor": entry.decision.actor,
            "what": entry.decision.what,
            "subject": entry.decision.subject,
            "reason": entry.decision.reason,
            "hash": entry.hash,
        }
        for entry in decisions.entries(visit.challenge)
    ]
    response = JsonResponse({"challenge": visit.challenge.slug, "decisions": rows})
    response["Content-Disposition"] = f'attachment; filename="{visit.challenge.slug}-decisions.json"'
    return response


@door(Door.ORGANISER)
def downloads(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Who took which file when, and who accepted which licence."""
    accepted = visit.challenge.acceptances.order_by("-made", "-pk")
    if request.GET.get("format") == "licences":
        table = [[one.made.isoformat(), one.who, one.title, one.licence_sha256, one.licence] for one in accepted]
        head = ["when", "who", "data", "licence_sha256", "licence"]
        return csv_file(f"{visit.challenge.slug}-licences.csv", head, table)
    rows = visit.challenge.downloads.order_by("-made", "-pk")
    if request.GET.get("format") == "csv":
        table = [[row.made.isoformat(), row.who, row.what, row.size] for row in rows]
        return csv_file(f"{visit.challenge.slug}-downloads.csv", ["when", "who", "what", "bytes"], table)
    return page(request, visit, "downloads", "log", shown=paged(request, rows), accepted=accepted.count())
