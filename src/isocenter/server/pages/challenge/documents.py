"""What is written about a challenge: its rules, its design, its pages, and how they changed."""

from __future__ import annotations

from functools import lru_cache

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from isocenter.editions import apply, parse
from isocenter.server.organising.bundle import Page
from isocenter.server.policy import Door, Visit, door
from isocenter.server.telling.known import history, known_edition, limited
from isocenter.server.telling.timeline import is_unannounced
from isocenter.server.telling.wording import Section, block_of, rules_of


@door(Door.CHALLENGE)
def rules(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The rules and metrics, made of the objects that carry them out."""
    sections = _rules(visit.challenge.version.toml, tuple(phase.name for phase in visit.phases))
    context = {
        "tab": "rules",
        "sections": sections,
        "terms": visit.edition.terms,
        "approval": visit.challenge.approval,
        "unannounced": [f"phase-{phase.name}" for phase in visit.phases if is_unannounced(phase, visit.now)],
    }
    return render(request, "isocenter/challenge/rules.html", context)


@lru_cache(maxsize=64)
def _rules(toml: str, known: tuple[str, ...]) -> list[Section]:
    """By what it depends on; a version never changes, and a phase is announced once."""
    from isocenter.evaluation import load_challenge

    edition = parse(toml)
    code = apply(edition, load_challenge(edition.challenge))
    return rules_of(limited(edition, known), code)


@door(Door.CHALLENGE)
def design(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The design record, item by item, as far as there is one and the visitor may know of it."""
    from isocenter.evaluation import load_challenge
    from isocenter.report import describe_edition

    edition = known_edition(visit)
    sections = []
    if edition.phases:
        code = apply(edition, load_challenge(edition.challenge))
        for section in describe_edition(edition, code).sections:
            items = [
                {
                    "number": item.number,
                    "title": item.title,
                    "question": item.question,
                    "blocks": [block_of(block.to_dict(), item.title) for block in item.answer],
                }
                for item in section.items
                if item.answer
            ]
            sections.append({"title": section.title, "items": items})
    return render(request, "isocenter/challenge/design.html", {"tab": "home", "sections": sections})


def pages_of(visit: Visit) -> list[Page]:
    """The pages of the organisers as visitors read them.

    The first heading of a text is its title, and not said twice; a page that has the title of the challenge itself is
    called by its own name.
    """
    return [_shown(page, visit.edition.title) for page in visit.challenge.version.pages]


def _shown(page: Page, challenge: str) -> Page:
    title = page["title"] or page["name"]
    heading, _, rest = page["text"].lstrip().partition("\n")
    text = rest if heading.startswith("# ") and heading[2:].strip() == title else page["text"]
    plain = page["name"].replace("-", " ").replace("_", " ").capitalize()
    return Page(name=page["name"], title=plain if title == challenge else title, text=text)


@door(Door.CHALLENGE)
def page(request: HttpRequest, visit: Visit, name: str) -> HttpResponse:
    """A page of the organisers."""
    pages = pages_of(visit)
    found = next((one for one in pages if one["name"] == name), None)
    if found is None:
        raise Http404
    return render(request, "isocenter/challenge/page.html", {"tab": "home", "page": found, "pages": pages})


@door(Door.CHALLENGE)
def versions(request: HttpRequest, visit: Visit) -> HttpResponse:
    """How the challenge changed."""
    return render(request, "isocenter/challenge/versions.html", {"tab": "home", "history": history(visit)})


@door(Door.CHALLENGE)
def version(request: HttpRequest, visit: Visit, key: str) -> HttpResponse:
    """One version, and what changed in it; organisers may call it by its number too."""
    for edited in history(visit):
        if key == edited.key or (visit.organises and key == str(edited.version.number)):
            return render(request, "isocenter/challenge/version.html", {"tab": "home", "edited": edited})
    raise Http404
