"""The page to hand in on: whether one may, what is asked for, and what is wrong with a file that was not taken."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from isocenter.editions import Phase, check_answers
from isocenter.server import people
from isocenter.server.editions import code_of
from isocenter.server.models import Upload
from isocenter.server.policy import FORM, Door, Visit, door
from isocenter.server.submitting import intake, limits, uploads
from isocenter.server.submitting.expected import example, expected
from isocenter.server.work.in_force import cases_elsewhere, reference_of

_MOST_CASES = 200


@door(Door.PERSON, FORM)
def submit(request: HttpRequest, visit: Visit, phase: str) -> HttpResponse:
    """The page, and what is sent from it. A file stays if only the form is to be corrected."""
    found = visit.phase(phase)
    given: dict[str, Any] = {"upload": _waiting(visit, found, request.GET.get("upload", ""))}
    if request.method != "POST":
        return render(request, "isocenter/submissions/submit.html", _context(request, visit, found, given))
    if (done := _done(request, visit, phase)) is not None:
        return done
    given = {
        "upload": _waiting(visit, found, request.POST.get("upload", "")),
        "declarations": people.read_answers(visit.edition.declarations, request.POST, prefix="declared-"),
        "comment": request.POST.get("comment", ""),
        "again": request.POST.get("again", "") == "yes",
        "gaps": request.POST.get("gaps", "") == "yes",
    }
    try:
        limits.count(limits.HANDED_IN, request, visit.user)
        if sent := request.FILES.get("file"):
            given["upload"] = uploads.of_form(
                request.user, sent, challenge=visit.challenge, phase=phase, purpose=Upload.Purpose.SUBMISSION
            )
        if given["upload"] is None:
            raise intake.Refused(["Choose a file first; it is a zip with a file for every case."])
        made = intake.submit(
            visit,
            phase,
            given["upload"],
            declarations=given["declarations"],
            comment=given["comment"],
            again=given["again"],
            gaps=given["gaps"],
        )
    except intake.Refused as refused:
        if (done := _done(request, visit, phase)) is not None:
            return done
        if refused.problems and not refused.gaps:  # no form makes this file better
            given["upload"] = None
        context = _context(request, visit, found, given) | {"refused": refused}
        return render(request, "isocenter/submissions/submit.html", context, status=422)
    except (uploads.UploadRefused, limits.TooMany) as error:
        context = _context(request, visit, found, given) | {"refused": intake.Refused([str(error)])}
        status = error.status if isinstance(error, uploads.UploadRefused) else 429
        return render(request, "isocenter/submissions/submit.html", context, status=status)
    messages.success(request, f"Submission no. {made.number} to {found.title} is handed in, and waits to be scored.")
    return redirect("submission", visit.challenge.slug, made.pk)


def _done(request: HttpRequest, visit: Visit, phase: str) -> HttpResponse | None:
    """To the submission that the file is already: a button that is clicked twice hands in once, and says so."""
    key = request.POST.get("upload", "")
    if not key or request.FILES:
        return None
    try:
        found = intake.became(visit, phase, Upload(pk=UUID(key)))
    except ValueError:
        raise Http404 from None
    return None if found is None else redirect("submission", visit.challenge.slug, found.pk)


def _waiting(visit: Visit, phase: Phase, key: str) -> Upload | None:
    """A file of this person that came for this phase and was not used yet; None if there is none of this key."""
    if not key:
        return None
    try:
        wanted = UUID(key)
    except ValueError:
        raise Http404 from None
    return Upload.objects.filter(
        pk=wanted,
        user=visit.user,
        challenge=visit.challenge,
        phase=phase.name,
        purpose=Upload.Purpose.SUBMISSION,
        taken=None,
    ).first()


def _context(request: HttpRequest, visit: Visit, phase: Phase, given: dict[str, Any]) -> dict[str, Any]:
    admission = visit.admission(phase.name)
    assert visit.challenge.version_id is not None
    code = code_of(visit.challenge.version_id, phase.name)
    seen = visit.sight(phase.name)
    # The names of cases are part of the data: who may not have these does not learn them here.
    reference = reference_of(visit.challenge, phase.name) if seen.downloads or visit.organises else None
    # Which cases are of a further cohort is not said: teams answer to all of them alike.
    further = set() if reference is None else cases_elsewhere(visit.challenge, phase.name)
    cases = [] if reference is None else sorted({*reference.cases, *further})
    address = (settings.URL or request.build_absolute_uri("/")).rstrip("/")
    return {
        "tab": "submissions",
        "visit": visit,
        "phase": phase,
        "admission": admission,
        "next_step": "" if admission.yes else _next_step(visit, phase),
        "quota": intake.quota(visit, phase.name) if visit.team is not None else None,
        "expected": expected(code),
        "example": example(code, cases),
        "cases": cases[:_MOST_CASES],
        "more_cases": max(0, len(cases) - _MOST_CASES),
        "count": len(cases),
        "form": _form(visit, given),
        "comment": given.get("comment", ""),
        "upload": given["upload"],
        "address": address,
        "command": _command(visit, phase, address),
        "most": settings.MOST_UPLOAD_BYTES,
    }


def _command(visit: Visit, phase: Phase, address: str) -> str:
    """What hands in the same from the command line."""
    asked = [f'--declaration "{question.name}=…"' for question in visit.edition.declarations if question.required]
    where = [f"--site {address}", f"--challenge {visit.challenge.slug} --phase {phase.name}"]
    return " \\\n  ".join(["isocenter submit submission.zip", *where, *asked])


def _form(visit: Visit, given: dict[str, Any]) -> people.QuestionsForm:
    """The declarations: what was typed, else what the team declared last."""
    questions = visit.edition.declarations
    if "declarations" in given:
        found = check_answers(questions, given["declarations"])
        problems: Any = found if isinstance(found, list) else ()
        return people.questions_form(questions, given["declarations"], problems=problems, prefix="declared-")
    last = None
    if visit.team is not None:
        last = visit.submissions().filter(team=visit.team, declarations__isnull=False).order_by("-made").first()
    return people.questions_form(questions, {} if last is None else last.declarations, prefix="declared-")


def _next_step(visit: Visit, phase: Phase) -> str:
    """Where whoever may not submit goes; "" where there is nothing to do but wait."""
    slug = visit.challenge.slug
    if not visit.accepted:
        return reverse("register", args=[slug])
    if visit.team is None or phase.admission == "request":
        return reverse("team", args=[slug])
    return ""
