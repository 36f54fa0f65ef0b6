"""Challenges, their phases, rules, boards and data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Query, Router

from isocenter import editions
from isocenter.server import clock
from isocenter.server.api import shapes
from isocenter.server.api.doors import behind
from isocenter.server.boards import board_history
from isocenter.server.editions import code_of
from isocenter.server.models import Challenge, Release, Role, Snapshot
from isocenter.server.policy import Door, Somebody, Visit, lacks_second_factor

router = Router(tags=["Challenges"])


@router.get("/challenges", response=shapes.Part[shapes.ChallengeLine])
@behind(Door.ANYBODY)
def challenges(request: HttpRequest, page: Query[shapes.Page]) -> dict[str, Any]:
    """All challenges, by their addresses."""
    found = known_challenges(request.user)
    rows = found.select_related("version")[page.offset : page.offset + page.limit]
    return {"count": found.count(), "items": [_line(request, one) for one in rows]}


def known_challenges(user: Somebody) -> Any:
    """Those that exist for somebody; to organisers and staff without their second factor, what exists for others."""
    found = Challenge.objects.filter(version__isnull=False).order_by("slug")
    if not user.is_authenticated or lacks_second_factor(user):
        return found.filter(published=True)
    if user.is_staff:
        return found
    organised = Role.objects.filter(user=user, kind=Role.Kind.ORGANISER).values("challenge")
    return found.filter(Q(published=True) | Q(pk__in=organised))


def _line(request: HttpRequest, challenge: Challenge) -> dict[str, Any]:
    now, edition = clock.now(), challenge.edition
    # Only what is announced can be open, so nothing that is hidden is named here.
    return {
        "slug": challenge.slug,
        "title": edition.title,
        "open": [phase.name for phase in edition.phase_at(now)],
        "url": request.build_absolute_uri(reverse("challenge", args=[challenge.slug])),
    }


@router.get("/challenges/{slug}", response=shapes.Challenge)
@behind(Door.CHALLENGE)
def challenge(request: HttpRequest, visit: Visit) -> dict[str, Any]:
    """A challenge: who runs it, its phases, and what is asked with every submission."""
    edition = visit.edition
    return {
        "slug": visit.challenge.slug,
        "title": edition.title,
        "organisers": list(edition.organisers),
        "contact": edition.contact,
        "website": edition.url,
        "phases": [_phase(visit, phase) for phase in visit.phases],
        "declarations": [_question(question) for question in edition.declarations],
        "terms": "" if edition.terms is None else edition.terms.version,
        "url": request.build_absolute_uri(reverse("challenge", args=[visit.challenge.slug])),
    }


@router.get("/challenges/{slug}/phases", response=list[shapes.Phase])
@behind(Door.CHALLENGE)
def phases(_: HttpRequest, visit: Visit) -> list[dict[str, Any]]:
    """The phases that are announced."""
    return [_phase(visit, phase) for phase in visit.phases]


def _phase(visit: Visit, phase: editions.Phase) -> dict[str, Any]:
    state = "to come" if visit.now < phase.opens else "open" if visit.now < phase.closes else "closed"
    known = ("name", "title", "opens", "closes", "results", "admission", "quota", "quota_per", "counts", "visibility")
    return {
        "state": "over" if visit.is_out(phase) else state,
        "announce": visit.edition.named_in(phase),
        "cohorts": [
            {"name": scored.name, "title": cohort.title, "out": visit.is_out(scored)}
            | {name: getattr(scored, name) for name in ("visibility", "results")}
            for cohort, scored in zip(phase.cohorts, phase.scored[1:], strict=True)
        ],
        **{name: getattr(phase, name) for name in known},
    }


def _question(question: editions.Question) -> dict[str, Any]:
    return {
        "name": question.name,
        "label": question.label,
        "help": question.help or "",
        "kind": question.kind,
        "choices": list(question.offered),
        "required": question.required,
    }


@router.get("/challenges/{slug}/rules", response=list[shapes.Section])
@behind(Door.CHALLENGE)
def rules(_: HttpRequest, visit: Visit) -> list[dict[str, Any]]:
    """The rules and metrics in words."""
    from isocenter.evaluation import load_challenge
    from isocenter.server.telling.known import known_edition
    from isocenter.server.telling.wording import rules_of

    code = editions.apply(visit.edition, load_challenge(visit.edition.challenge))
    return [
        {"name": one.name, "title": one.title, "blocks": [_block(block) for block in one.blocks]}
        for one in rules_of(known_edition(visit), code)
    ]


def _block(block: Any) -> dict[str, Any]:
    found = {"kind": block.kind} | asdict(block)
    if block.kind == "fold":
        found["blocks"] = [_block(inner) for inner in block.blocks]
    return found


@router.get("/challenges/{slug}/boards", response=list[shapes.BoardLine], tags=["Boards"])
@behind(Door.CHALLENGE)
def boards(request: HttpRequest, visit: Visit) -> list[dict[str, Any]]:
    """The boards of which something may be seen now."""
    found = []
    for phase in visit.scored:
        if not board_history.sees(visit, phase.name):
            continue
        for number, name in enumerate(_boards(visit, phase.name)):
            address = reverse("api-1:board", args=[visit.challenge.slug, phase.name, name])
            url = request.build_absolute_uri(address)
            found.append({"phase": phase.name, "board": name, "main": number == 0, "url": url})
    return found


def _boards(visit: Visit, phase: str) -> list[str]:
    assert visit.challenge.version_id is not None
    return list(code_of(visit.challenge.version_id, phase).boards)


@router.get("/challenges/{slug}/boards/{phase}/{board}", response=dict, url_name="board", tags=["Boards"])
@behind(Door.CHALLENGE)
def board(_: HttpRequest, visit: Visit, phase: str, board: str, version: str = "") -> HttpResponse:
    """A board, as far as it may be seen: the same file as on its page. With `version`, as it was then.

    That of a further cohort is called by the phase, a dot and the cohort, as in "test.holdout".
    """
    from isocenter.server.boards.board_files import as_json
    from isocenter.server.boards.board_table import board_table

    snapshot = _snapshot(visit, visit.scored_phase(phase).name, board, version)
    text = as_json(board_table(visit, snapshot), challenge=visit.challenge.slug, phase=phase)
    return HttpResponse(text, content_type="application/json")


def _snapshot(visit: Visit, phase: str, board: str, version: str) -> Snapshot:
    found = board_history.by_digest(visit, version) if version else board_history.newest(visit, phase, board)
    if found is None or (found.phase, found.board) != (phase, board):
        raise Http404
    return found


@router.get("/challenges/{slug}/boards/{phase}/{board}/history", response=shapes.Part[shapes.Snapshot], tags=["Boards"])
@behind(Door.CHALLENGE)
def history(request: HttpRequest, visit: Visit, phase: str, board: str, page: Query[shapes.Page]) -> dict[str, Any]:
    """The board as it was, newest first; none for who sees but the row of their own team."""
    found = board_history.history(visit, visit.scored_phase(phase), board)
    address = reverse("api-1:board", args=[visit.challenge.slug, phase, board])
    items = [
        {"made": one.made, "version": one.digest, "url": request.build_absolute_uri(f"{address}?version={one.digest}")}
        for one in found[page.offset : page.offset + page.limit]
    ]
    return {"count": len(found), "items": items}


@router.get("/challenges/{slug}/releases", response=list[shapes.Release], tags=["Data"])
@behind(Door.CHALLENGE)
def releases(request: HttpRequest, visit: Visit) -> list[dict[str, Any]]:
    """The data that are released, or will be; and what is in the way of having them."""
    from isocenter.server.pages.challenge.data import releases_of
    from isocenter.server.people.licences import accepted

    found = releases_of(visit)
    mine = accepted(visit.user, found) if visit.user.is_authenticated else {}
    return [
        _release(request, visit, one, accepted=mine[one.pk].now if one.pk in mine else not one.licence) for one in found
    ]


def _release(request: HttpRequest, visit: Visit, release: Release, *, accepted: bool) -> dict[str, Any]:
    from isocenter.server.pages.challenge.data import why_not

    whys, opens = why_not(visit, release)
    if not accepted and not visit.organises:
        whys = [*whys, "Accept the licence on the page of the data first."]
    known = ("title", "text", "phase", "name", "size", "sha256", "licence")
    return {name: getattr(release, name) for name in known} | {
        "key": release.key,
        "licence_accepted": accepted,
        "available": not whys and opens is None,
        "opens": opens,
        "whys": whys,
        "url": request.build_absolute_uri(reverse("api-1:release", args=[visit.challenge.slug, release.key])),
    }


@router.get("/challenges/{slug}/releases/{key}/file", url_name="release", tags=["Data"], response=None)
@behind(Door.REGISTERED)
def release(request: HttpRequest, visit: Visit, key: UUID) -> Any:
    """The file itself, or with the header Range a part of it; who took it is kept."""
    from isocenter.server.pages.challenge.data import download

    return download(request, slug=visit.challenge.slug, key=key)
