"""Reports and archives, and their files.

A report is a page with scripts of its own, made of what teams sent. It is served into a sandbox: its scripts run, but
as those of no site at all, so they see no cookie, send no request and reach no other page.
"""

from __future__ import annotations

from uuid import UUID

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from isocenter.server import files
from isocenter.server.archiving import artefacts
from isocenter.server.models import Artefact, Download
from isocenter.server.policy import Door, Visit, door

SANDBOX = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_KINDS = {
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".pdf": "application/pdf",
    ".zip": "application/zip",
}


@door(Door.CHALLENGE)
def artefact(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """What there is to download."""
    found = _found(visit, key)
    titles = {phase.name: phase.title for phase in visit.phases}
    listed = artefacts.files_of(found)
    context = {
        "tab": "boards",
        "artefact": found,
        "phase": titles.get(found.phase, ""),
        "note": artefacts.note_of(found),
        "page": next((name for name, _ in listed if name == "report.html"), ""),
        "files": [(name, size) for name, size in listed if not name.startswith("data/")],
        "data": [(name, size) for name, size in listed if name.startswith("data/")],
    }
    return render(request, "isocenter/boards/artefact.html", context)


@door(Door.CHALLENGE)
def artefact_file(request: HttpRequest, visit: Visit, key: UUID, name: str) -> HttpResponse:
    """One of its files: the report to read, everything else to keep."""
    found = _found(visit, key)
    sizes = dict(artefacts.files_of(found))
    if name not in sizes:  # what is not on the list is not there, whatever path it names
        raise Http404
    suffix = name[name.rfind(".") :]
    path = files.at(f"{found.folder}/{name}")
    as_page = suffix == ".html"
    response = FileResponse(
        path.open("rb"),
        as_attachment=not as_page,
        filename=f"{visit.challenge.slug}-{name.rpartition('/')[2]}",
        content_type=_KINDS.get(suffix, "application/octet-stream"),
    )
    if as_page:
        response.headers["Content-Security-Policy"] = SANDBOX
    if request.method == "GET":
        user = visit.user if visit.user.is_authenticated else None
        what = f"{found.kind} of {found.made:%Y-%m-%d}: {name}"
        Download.objects.create(challenge=visit.challenge, user=user, what=what, size=sizes[name])
    return response


def _found(visit: Visit, key: UUID) -> Artefact:
    found = Artefact.objects.filter(challenge=visit.challenge, pk=key).first()
    if found is None or not artefacts.may_see(visit, found):
        raise Http404
    return found
