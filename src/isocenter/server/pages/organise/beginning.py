"""A new challenge: from one that is installed, or from a folder."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from isocenter.editions import EditionError
from isocenter.server.models import Challenge, Upload
from isocenter.server.organising import importing
from isocenter.server.organising.bundle import BundleError
from isocenter.server.organising.versioning import Refused
from isocenter.server.pages.organise.acting import sent_file, under_its_name
from isocenter.server.policy import FORM, Door, door


@door(Door.STAFF, FORM)
def new_challenge(request: HttpRequest) -> HttpResponse:
    """Begin one; who does becomes its first organiser."""
    from isocenter.evaluation import UnknownChallengeError

    problems: list[str] = []
    if request.method == "POST":
        try:
            challenge = _made(request)
        except BundleError as error:
            problems = error.problems
        except EditionError as error:
            problems = [f"{'' if p.line is None else f'Line {p.line}: '}{p.where}: {p.message}" for p in error.problems]
        except (Refused, UnknownChallengeError) as error:
            problems = getattr(error, "problems", [str(error)])
        else:
            messages.success(request, "The challenge is made, and nobody but you and the staff knows of it yet.")
            return redirect("organise_setup", challenge.slug)
    context = {"codes": _codes(), "problems": problems, "given": request.POST}
    return render(request, "isocenter/organise/new.html", context, status=422 if problems else 200)


def _made(request: HttpRequest) -> Challenge:
    from isocenter.server.submitting import uploads

    slug = request.POST.get("slug", "").strip()
    if request.POST.get("from") != "folder":
        return importing.begin_challenge(request.POST.get("code", ""), user=request.user, slug=slug)
    try:
        upload = sent_file(request, None, Upload.Purpose.CHALLENGE)
    except uploads.UploadRefused as error:
        raise Refused(str(error)) from None
    with under_its_name(upload) as path:
        return importing.import_challenge(path, user=request.user, slug=slug)


def _codes() -> list[tuple[str, str]]:
    """The challenges that are installed, and what people call them; one that cannot be loaded is left out."""
    from isocenter.evaluation import UnknownChallengeError, challenge_names, load_challenge

    found = []
    for name in challenge_names():
        try:
            found.append((name, load_challenge(name).title))
        except UnknownChallengeError:
            continue
    return found
