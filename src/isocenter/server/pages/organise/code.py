"""challenge.toml as text: all problems with their lines, what a change would do, versions, export and import."""

from __future__ import annotations

import difflib

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from isocenter.editions import EditionError
from isocenter.server.models import Upload, Version
from isocenter.server.organising import importing, versioning
from isocenter.server.organising.versioning import Overtaken, Refused
from isocenter.server.pages.organise.acting import (
    attempt,
    back,
    page,
    sent_file,
    text_of,
    under_its_name,
    whole_number,
)
from isocenter.server.policy import FORM, POST, Door, Visit, door


@door(Door.ORGANISER, FORM)
def code(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The text to edit. "Check" says what is wrong and what would happen; "Save" does it."""
    version = visit.challenge.version
    if request.method != "POST":
        return _editor(request, visit, version.toml, base=version.number)
    text, note = text_of(request, "toml"), request.POST.get("note", "")
    if text == version.toml.replace("\r\n", "\n"):
        text = version.toml
    return submitted(request, visit, text, note, save="save" in request.POST)


def submitted(request: HttpRequest, visit: Visit, text: str, note: str, *, save: bool) -> HttpResponse:
    """Check or save a text; the answer shows what is wrong with it, or what it would change."""
    base = _base(request, visit)
    try:
        if save:
            return _saved(request, visit, versioning.save(visit.challenge, visit.user, base=base, note=note, toml=text))
        edition = versioning.checked(text)
    except EditionError as error:
        return _editor(request, visit, text, base=base, note=note, problems=error.problems)
    except Overtaken as error:
        diff = difference(_version(visit, base), error.version)
        return _editor(request, visit, text, base=base, note=note, refused=error.problems, theirs=diff)
    except Refused as error:
        return _editor(request, visit, text, base=base, note=note, refused=error.problems)
    refused = versioning.breaks(visit.challenge, visit.edition, edition, now=visit.now)
    changes = versioning.changes(visit.edition, edition, now=visit.now)
    return _editor(
        request,
        visit,
        text,
        base=base,
        note=note,
        refused=refused,
        checked=True,
        changes=changes,
        told=len(versioning.told(visit.challenge)) if any(change.known for change in changes) else 0,
        ours=_diff(visit.challenge.version.toml, text, "in force", "your text"),
    )


def _editor(request: HttpRequest, visit: Visit, text: str, **context: object) -> HttpResponse:
    wrong = bool(context.get("problems") or context.get("refused"))
    response = page(
        request,
        visit,
        "code",
        "code",
        toml=text,
        versions=visit.challenge.versions.select_related("author")[:20],
        **context,
    )
    response.status_code = 422 if wrong else 200
    return response


def _saved(request: HttpRequest, visit: Visit, version: Version | None) -> HttpResponse:
    if version is None:
        messages.info(request, "Nothing is different, so nothing was saved.")
    else:
        messages.success(request, f"Version {version.number} is in force.")
    return back(visit, "organise_code")


def _base(request: HttpRequest, visit: Visit) -> int:
    try:
        return whole_number(request, "base")
    except Refused:
        return visit.challenge.version.number


def _version(visit: Visit, number: int) -> Version | None:
    return visit.challenge.versions.filter(number=number).first()


def difference(old: Version | None, new: Version) -> list[str]:
    """The lines in which the text of two versions differs."""
    return _diff(
        "" if old is None else old.toml, new.toml, f"version {old.number if old else 0}", f"version {new.number}"
    )


def _diff(old: str, new: str, before: str, after: str) -> list[str]:
    return list(difflib.unified_diff(old.splitlines(), new.splitlines(), before, after, lineterm="", n=2))


@door(Door.ORGANISER)
def export(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The challenge as a zip that can be imported again, here or elsewhere."""
    number = request.GET.get("version", "")
    chosen = _version(visit, int(number)) if number.isdecimal() else visit.challenge.version
    if chosen is None:
        return redirect("organise_export", visit.challenge.slug)
    response = HttpResponse(importing.export(visit.challenge, chosen), content_type="application/zip")
    name = f"{visit.challenge.slug}-{chosen.number}.zip"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@door(Door.ORGANISER, POST)
def bring(request: HttpRequest, visit: Visit) -> HttpResponse:
    """A new version from a zip."""
    with attempt(request):
        upload = sent_file(request, visit.challenge, Upload.Purpose.CHALLENGE)
        try:
            with under_its_name(upload) as path:
                version = importing.import_version(
                    visit.challenge,
                    path,
                    user=visit.user,
                    base=_base(request, visit),
                    note=request.POST.get("note", ""),
                )
        except EditionError as error:
            raise Refused(versioning.in_lines(error)) from None
        return _saved(request, visit, version)
    return back(visit, "organise_code")
