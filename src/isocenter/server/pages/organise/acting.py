"""What the pages of organisers share: doing what a form says, saying what came of it, files that were sent."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from isocenter.editions import EditionError
from isocenter.server.models import Challenge, Upload
from isocenter.server.organising.bundle import BundleError
from isocenter.server.organising.versioning import Refused
from isocenter.server.policy import Visit
from isocenter.submissions import as_cell

_PER_PAGE = 50


def page(request: HttpRequest, visit: Visit, template: str, part: str, **context: Any) -> HttpResponse:
    """A page of the organisers; `part` is where it is in their navigation."""
    context = {"tab": "organise", "part": part, "visit": visit, "now": visit.now, **context}
    return render(request, f"isocenter/organise/{template}.html", context)


def back(visit: Visit, name: str, *args: object) -> HttpResponse:
    """To a page of the challenge, after something was done."""
    return redirect(reverse(name, args=[visit.challenge.slug, *args]))


@contextmanager
def attempt(request: HttpRequest) -> Iterator[None]:
    """Something that may be refused; then the page says why."""
    from isocenter.server.submitting.uploads import UploadRefused

    try:
        yield
    except Refused as error:
        for problem in error.problems:
            messages.error(request, problem)
    except UploadRefused as error:
        messages.error(request, str(error))
    except EditionError as error:  # such as a phase that cannot close before the moment of one of its bonuses
        for wrong in error.problems:
            messages.error(request, f"{wrong.where}: {wrong.message}")


def act(request: HttpRequest, actions: Mapping[str, tuple[Callable[[], Any], str]]) -> None:
    """Do what the button of a form says, once: each action has its words for when something changed.

    An action that returns nothing, or False, changed nothing, as it was done before.
    """
    chosen = actions.get(request.POST.get("action", ""))
    if chosen is None:
        messages.error(request, "The form did not say what to do; nothing was changed.")
        return
    do, said = chosen
    with attempt(request):
        if do():
            messages.success(request, said)
        else:
            messages.info(request, "That was so already, or somebody was faster; nothing was changed.")


def whole_number(request: HttpRequest, field: str) -> int:
    """A whole number from a form."""
    text = request.POST.get(field, "").strip()
    if not text.isdecimal() or len(text) > 9:
        msg = f"{text or 'Nothing'!r} is no whole number."
        raise Refused(msg)
    return int(text)


def key_in(text: str) -> UUID:
    """A key from a form; what is none is the key of nothing."""
    try:
        return UUID(text)
    except ValueError:
        raise Http404 from None


def sent_file(request: HttpRequest, challenge: Challenge | None, purpose: str, phase: str = "") -> Upload:
    """The file of a form: sent with it (`file`), or in pieces before (`upload`, see upload.js)."""
    from isocenter.server.submitting import uploads

    if file := request.FILES.get("file"):
        return uploads.of_form(request.user, file, challenge=challenge, phase=phase, purpose=purpose)
    key = request.POST.get("upload", "")
    if not key:
        msg = "Choose a file."
        raise Refused(msg)
    mine = Upload.objects.filter(user=request.user, challenge=challenge, purpose=purpose, taken=None)
    try:
        return uploads.finished(mine.get(pk=key))
    except (Upload.DoesNotExist, ValidationError, ValueError):
        msg = "This file is not there any more, or was used already. Send it again."
        raise Refused(msg) from None


@contextmanager
def under_its_name(upload: Upload) -> Iterator[Path]:
    """A file that was sent, and is gone afterwards; what is refused of it is said of the name that its owner knows."""
    from isocenter.server.submitting import uploads

    path = uploads.path_of(upload)
    try:
        yield path
    except (Refused, BundleError) as error:
        raise Refused([problem.replace(path.name, upload.name) for problem in error.problems]) from None
    finally:
        uploads.drop(upload)


def text_of(request: HttpRequest, field: str) -> str:
    """A text from a form, with line ends as files have them; browsers send others."""
    return request.POST.get(field, "").replace("\r\n", "\n")


def paged(request: HttpRequest, rows: QuerySet | Sequence[Any], *, per_page: int = _PER_PAGE) -> Page:
    """The part of a long list that was asked for with `?page=`."""
    return Paginator(rows, per_page).get_page(request.GET.get("page"))


def csv_file(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> HttpResponse:
    """A table to download, safe to open in a spreadsheet."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    writer = csv.writer(response)
    writer.writerow(head)
    writer.writerows([as_cell("" if value is None else str(value)) for value in row] for row in rows)
    return response
