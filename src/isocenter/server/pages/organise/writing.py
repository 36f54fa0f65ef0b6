"""Pages that the organisers write, in Markdown."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse

from isocenter.server.organising import versioning
from isocenter.server.organising.bundle import Page, page_problems
from isocenter.server.organising.versioning import Refused
from isocenter.server.pages.organise.acting import attempt, back, text_of, whole_number
from isocenter.server.pages.organise.acting import page as show
from isocenter.server.policy import FORM, Door, Visit, door

NEW = "new-page"


@door(Door.ORGANISER, FORM)
def pages(request: HttpRequest, visit: Visit) -> HttpResponse:
    """All of them, in their order, which can be changed here."""
    version = visit.challenge.version
    if request.method == "POST":
        with attempt(request):
            names = [name for name in request.POST.getlist("order") if name]
            known = {one["name"]: one for one in version.pages}
            if sorted(names) != sorted(known):
                msg = "The pages have changed while you were sorting them; look again."
                raise Refused(msg)
            found = [known[name] for name in _sorted(request, names)]
            base = whole_number(request, "base")
            note = request.POST.get("note", "") or "The pages are in another order."
            if versioning.save(visit.challenge, visit.user, base=base, note=note, pages=found):
                messages.success(request, "The pages are in their new order.")
        return back(visit, "organise_pages")
    return show(request, visit, "pages", "pages", pages=version.pages, base=version.number, new=NEW)


def _sorted(request: HttpRequest, names: list[str]) -> list[str]:
    """Names in the order of the numbers beside them; of equal numbers, as they were."""

    def place(name: str) -> float:
        text = request.POST.get(f"place-{name}", "")
        return int(text) if text.isdecimal() and len(text) < 6 else float("inf")

    return sorted(names, key=place)


@door(Door.ORGANISER, FORM)
def page(request: HttpRequest, visit: Visit, page: str) -> HttpResponse:
    """One to write, look at and save; or a new one."""
    version = visit.challenge.version
    old = next((one for one in version.pages if one["name"] == page), None)
    if old is None and page != NEW:
        raise Http404
    given: dict[str, Any] = dict(old or {"name": "", "title": "", "text": ""})
    context: dict[str, Any] = {"old": old, "base": version.number, "given": given}
    if request.method == "POST":
        name = old["name"] if old else request.POST.get("name", "").strip()
        given |= {"name": name, "title": request.POST.get("title", "").strip(), "text": text_of(request, "text")}
        if old and given["text"] == old["text"].replace("\r\n", "\n"):
            given["text"] = old["text"]
        context |= {"note": request.POST.get("note", ""), "previewed": True}
        if "preview" not in request.POST and (response := _saved(request, visit, old, given, context)):
            return response
    response = show(request, visit, "page", "pages", **context)
    response.status_code = 422 if context.get("problems") else 200
    return response


def _saved(
    request: HttpRequest, visit: Visit, old: Page | None, given: dict[str, Any], context: dict[str, Any]
) -> HttpResponse | None:
    """Save or remove a page; None, with the problems in the context, if it cannot be."""
    rest, remove = list(visit.challenge.version.pages), "remove" in request.POST
    problems = [] if remove else page_problems(**given)
    if old is None and (given["name"] == NEW or any(one["name"] == given["name"] for one in rest)):
        problems.append(f"There is a page {given['name']} already; choose another name.")
    if not problems:
        new = Page(name=given["name"], title=given["title"], text=given["text"])
        found = [new if one is old else one for one in rest] + ([] if old else [new])
        if remove:
            found = [one for one in rest if one is not old]
        what = "removed" if remove else "changed" if old else "added"
        note = context["note"].strip() or f"Page {given['title'] or given['name']}: {what}."
        try:
            saved = versioning.save(
                visit.challenge, visit.user, base=whole_number(request, "base"), note=note[:500], pages=found
            )
        except Refused as error:
            problems = error.problems
        else:
            said = "Nothing is different, so nothing was saved." if saved is None else f"The page is {what}."
            messages.success(request, said)
            return back(visit, "organise_pages")
    context["problems"] = problems
    context["base"] = request.POST.get("base", context["base"])
    return None
