"""The reader study as organisers run it: cases, readers in numbers, the draw, how far everybody is, and the export."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse

from isocenter.server.models import Study, Upload, User
from isocenter.server.organising.refereeing import reasoned
from isocenter.server.organising.versioning import Refused
from isocenter.server.pages.organise.acting import attempt, back, csv_file, page, sent_file, under_its_name
from isocenter.server.policy import POST, Door, Visit, door
from isocenter.server.reading import cases as study_cases
from isocenter.server.reading import drawing, export, keys, overview, protocol
from isocenter.server.reading.progress import Line, Progress, progress


@door(Door.ORGANISER)
def reading(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Where the study stands, and what is to be done; without one, how to begin."""
    study = protocol.study_of(visit.challenge)
    if study is None or visit.edition.reading is None:
        return page(request, visit, "reading_none", "reading")
    steps = overview.steps(study, visit.now)
    every = list(study.cases.order_by("name"))
    context: dict[str, Any] = {
        "study": study,
        "reading": visit.edition.reading,
        "stages": visit.edition.stages,
        "state": protocol.state(study, visit.edition, visit.now),
        "steps": steps,
        "next": next((step.key for step in steps if not step.done), ""),
        "cases": sum(not one.practice for one in every),
        "practice": sum(one.practice for one in every),
        "known": sum(one.positive is not None for one in every if not one.practice),
        "facts": sorted({name for one in every for name in one.facts}),
        "names": list(dict.fromkeys(name for stage in visit.edition.stages for name in stage.images)),
        "chosen": overview.chosen_answers(study),
    }
    found = progress(study)
    if found is not None:
        context |= {"progress": found, "rows": [_row(line, found) for line in found.lines], "usual": spent(found.usual)}
        context["times"] = [(stage, spent(stage.seconds)) for stage in found.stages]
        context["blocks"] = _blocks(study, [one for one in every if not one.practice], found)
    elif "preview" in request.GET:
        with attempt(request):
            context["preview"] = drawing.preview(study)
    return page(request, visit, "reading", "reading", **context)


def _row(line: Line, found: Progress) -> dict[str, Any]:
    return {"line": line, "spans": line.spans(found.usual), "usual": spent(line.usual)}


def _blocks(study: Study, every: list[Any], found: Progress) -> list[dict[str, Any]]:
    """Who reads what, block by block."""
    return [
        {
            "number": number + 1,
            "cases": [one.name for one in every if one.block == number],
            "readers": [line.pseudonym for line in found.lines if line.block == number + 1],
        }
        for number in range(protocol.reading_of(study).blocks)
    ]


def spent(seconds: float | None) -> str:
    """A time as minutes and seconds; "–" if there is none.

    Examples
    --------
    >>> spent(125.4), spent(None)
    ('2:05', '–')
    """
    if seconds is None:
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


@door(Door.ORGANISER, POST)
def cases(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The cases, from a zip."""
    with attempt(request):
        study, reason = _study(visit), reasoned(request.POST.get("reason", ""))
        upload = sent_file(request, visit.challenge, Upload.Purpose.READING)
        with under_its_name(upload) as path:
            count = study_cases.bring(study, path, user=_user(visit), reason=reason)
        messages.success(request, f"{count} cases are there, and all their scans can be read.")
    return back(visit, "organise_reading")


@door(Door.ORGANISER, POST)
def draw(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Deal the cases to the readers, for good."""
    with attempt(request):
        reason = reasoned(request.POST.get("reason", ""))
        _say(
            request,
            drawing.draw(_study(visit), user=_user(visit), reason=reason),
            "The cases are dealt, and the readers are told by mail.",
        )
    return back(visit, "organise_reading")


@door(Door.ORGANISER, POST)
def close(request: HttpRequest, visit: Visit) -> HttpResponse:
    """End the study."""
    with attempt(request):
        reason = reasoned(request.POST.get("reason", ""))
        _say(
            request,
            protocol.close(_study(visit), user=_user(visit), reason=reason),
            "The study is closed: nothing can be handed in any more, and it can be exported.",
        )
    return back(visit, "organise_reading")


@door(Door.ORGANISER, POST)
def key(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Who is who; shown once for every reason that is given, and kept nowhere."""
    with attempt(request):
        found = keys.open_key(visit, request.POST.get("reason", ""))
        if request.POST.get("as") == "csv":
            response = csv_file(f"{visit.challenge.slug}-readers-key.csv", keys.Known._fields, found)
        else:
            response = page(request, visit, "reading_key", "reading", found=found)
        response["Cache-Control"] = "no-store"
        return response
    return back(visit, "organise_reading")


@door(Door.ORGANISER)
def download(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The export, once the study is closed."""
    with attempt(request):
        response = HttpResponse(export.package(_study(visit)), content_type="application/zip")
        response["Content-Disposition"] = f'attachment; filename="{visit.challenge.slug}-readers.zip"'
        return response
    return back(visit, "organise_reading")


def _study(visit: Visit) -> Study:
    study = protocol.study_of(visit.challenge)
    if study is None:
        msg = "The challenge has no reader study; write its settings in challenge.toml, under the heading [reading]."
        raise Refused(msg)
    return study


def _user(visit: Visit) -> User:
    assert isinstance(visit.user, User)
    return visit.user


def _say(request: HttpRequest, done: bool, said: str) -> None:
    if done:
        messages.success(request, said)
    else:
        messages.info(request, "That was so already, or somebody was faster; nothing was changed.")
