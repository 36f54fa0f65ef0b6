"""What submissions are measured against, and what is downloaded."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone

from isocenter.editions import split_cohort
from isocenter.server import decisions
from isocenter.server.editions import code_of
from isocenter.server.models import Evaluation, Reference, Release, Submission, Upload
from isocenter.server.organising import importing, readiness
from isocenter.server.organising.refereeing import reasoned
from isocenter.server.organising.versioning import Refused
from isocenter.server.pages.organise.acting import attempt, back, page, sent_file, text_of, under_its_name
from isocenter.server.policy import FORM, POST, Door, Visit, door
from isocenter.server.submitting.expected import described


@door(Door.ORGANISER)
def data(request: HttpRequest, visit: Visit) -> HttpResponse:
    """References by phase and version, and releases."""
    challenge = visit.challenge
    code = code_of(challenge.version_id, visit.edition.last_phase.name)
    phases = []
    for one in readiness.data_of(challenge):
        name, cohort = split_cohort(one.phase.name)
        scored = Submission.objects.filter(challenge=challenge, phase=name, state=Submission.State.SCORED)
        done = Evaluation.objects.filter(submission__in=scored, reference=one.reference).values("submission").distinct()
        behind = scored.count() - done.count() if one.reference else 0
        phases.append({"data": one, "behind": behind, "further": cohort != ""})
    return page(
        request,
        visit,
        "data",
        "data",
        phases=phases,
        references=challenge.references.order_by("phase", "-number"),
        releases=challenge.releases.all(),
        expected=[described(spec) for spec in code.reference.values()],
        code=code,
    )


@door(Door.ORGANISER, POST)
def reference(request: HttpRequest, visit: Visit) -> HttpResponse:
    """A new version of the reference of a phase, from a zip."""
    with attempt(request):
        phase, note = request.POST.get("phase", ""), reasoned(request.POST.get("reason", ""))
        upload = sent_file(request, visit.challenge, Upload.Purpose.REFERENCE, phase)
        with under_its_name(upload) as path:
            if request.POST.get("what") == "run_times":
                key = request.POST.get("reference", "")
                chosen = get_object_or_404(Reference, pk=key if key.isdecimal() else 0, challenge=visit.challenge)
                importing.set_run_times(chosen, path, user=visit.user, note=note)
                messages.success(request, "The run times are in force; boards are made anew.")
                return back(visit, "organise_data")
            made = importing.add_reference(visit.challenge, phase, path, note=note, user=visit.user)
        messages.success(
            request,
            f"Version {made.number} of the reference is in force: {len(made.cases)} cases, all of them readable.",
        )
    return back(visit, "organise_data")


@door(Door.ORGANISER, POST)
def release(request: HttpRequest, visit: Visit) -> HttpResponse:
    """A file to download."""
    with attempt(request):
        phase = request.POST.get("phase", "")
        if not request.POST.get("title", "").strip():
            msg = "Data need a title, by which people find them."
            raise Refused(msg)
        released = _moment(request)
        upload = sent_file(request, visit.challenge, Upload.Purpose.RELEASE, phase)
        importing.add_release(
            visit.challenge,
            upload,
            phase=phase,
            released=released,
            title=request.POST["title"],
            text=text_of(request, "text"),
            licence=text_of(request, "licence"),
        )
        when = " as soon as its phase is open and its moment has come" if phase or released else ""
        messages.success(request, f"The file can be downloaded{when}.")
    return back(visit, "organise_data")


@door(Door.ORGANISER, FORM)
def edit_release(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """Change the words, licence or moment of a release, or withdraw it."""
    found = get_object_or_404(Release, key=key, challenge=visit.challenge)
    if request.method != "POST":
        return page(request, visit, "release", "data", release=found)
    with attempt(request):
        reason = reasoned(request.POST.get("reason", ""))
        if "withdraw" in request.POST:
            _withdraw(visit, found, reason)
            messages.success(request, "The file cannot be downloaded any more.")
            return back(visit, "organise_data")
        if not request.POST.get("title", "").strip():
            msg = "Data need a title, by which people find them."
            raise Refused(msg)
        found.title, found.text = request.POST["title"].strip()[:200], text_of(request, "text")
        found.licence, found.released = text_of(request, "licence").strip(), _moment(request)
        found.save(update_fields=["title", "text", "licence", "released"])
        decisions.record(visit.challenge, visit.user, "change a release", found.title, reason)
        messages.success(request, "Saved. Who accepted a licence in other words is asked again.")
    return back(visit, "organise_data")


def _withdraw(visit: Visit, release: Release, reason: str) -> None:
    """Take a file away. The row goes with it; downloads that were logged stay, and who accepted its licence."""
    from django.db import transaction

    from isocenter.server import files

    with transaction.atomic():
        decisions.record(visit.challenge, visit.user, "withdraw data", f"{release.title} ({release.name})", reason)
        file = files.at(release.file)
        release.delete()
        transaction.on_commit(lambda: file.unlink(missing_ok=True))


def _moment(request: HttpRequest) -> datetime | None:
    """The moment of a form, on the clock of who sent it."""
    text = request.POST.get("released", "").strip()
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        msg = f"{text!r} is no date and time."
        raise Refused(msg) from None
    return found if found.tzinfo else timezone.make_aware(found)
