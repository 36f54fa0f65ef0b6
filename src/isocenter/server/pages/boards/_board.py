"""One board: in force, or as it was."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect

from isocenter.editions import Phase, split_cohort
from isocenter.server.boards import prizes
from isocenter.server.boards.board_history import by_digest, history, newest, thinned
from isocenter.server.boards.board_receipts import receipt_of
from isocenter.server.boards.board_table import BoardTable, board_table, chosen_columns, label
from isocenter.server.boards.board_titles import rule_in_words
from isocenter.server.boards.progressing import main_board
from isocenter.server.boards.what_if import reweighted, weights_of
from isocenter.server.editions import code_of
from isocenter.server.models import Run, Snapshot, Team
from isocenter.server.pages.boards._conditional import page
from isocenter.server.pages.boards._words import board_names, cohorts_of, outlook
from isocenter.server.policy import Door, Visit, door

if TYPE_CHECKING:
    from isocenter.ranking import Board, BoardRow

_WEIGHT = "weight:"


@dataclass(frozen=True, slots=True)
class Weight:
    """A weight that can be changed: by its field, of which metric, as it is in force and as it was asked for."""

    field: str
    label: str
    official: str
    asked: str


@dataclass(frozen=True, slots=True)
class Guess:
    """A board under other weights; not a result."""

    weights: tuple[Weight, ...]
    rows: tuple[tuple[BoardRow, str, str], ...]
    problem: str
    asked: bool


@door(Door.CHALLENGE)
def board(request: HttpRequest, visit: Visit, phase: str, board: str) -> HttpResponse:
    """The board in force."""
    found = visit.scored_phase(phase)
    if board not in board_names(visit, phase):
        raise Http404
    if digest := request.GET.get("at", ""):
        return redirect("snapshot", visit.challenge.slug, digest)
    return _page(request, visit, found, board)


@door(Door.CHALLENGE)
def snapshot(request: HttpRequest, visit: Visit, digest: str) -> HttpResponse:
    """A board as it was, by its permanent address."""
    found = by_digest(visit, digest)
    return _page(request, visit, visit.scored_phase(found.phase), found.board, found)


def _page(request: HttpRequest, visit: Visit, phase: Phase, board: str, named: Snapshot | None = None) -> HttpResponse:
    moments = history(visit, phase, board)
    found = named or newest(visit, phase.name, board)
    table = None if found is None else board_table(visit, found, moments=moments)
    wanted = request.GET.getlist("columns") if "columns" in request.GET else None
    columns = [] if table is None else chosen_columns(table, wanted)
    names = board_names(visit, phase.name)
    context: dict[str, Any] = {
        "tab": "boards",
        "slug": visit.challenge.slug,
        "outlook": outlook(visit, phase),
        "continued": visit.edition.continued_by(phase),
        "continuing": [one for one in visit.scored if one.continues == phase.name and visit.now >= one.opens],
        "name": board,
        "title": names[board].title if board in names else board.replace("_", " "),
        "rule": "" if table is None else _rule(visit, phase.name, table.board),
        "boards": names,
        "handed_in_for": split_cohort(phase.name)[0],
        "cohorts": cohorts_of(visit, phase.name),
        "table": table,
        "columns": columns,
        "shares": [column.about for column in columns if column.key in ("p_first", "p_best")],
        "lines": [] if table is None else [(line, line.chosen(columns)) for line in table.lines],
        "aside": [] if table is None else [(line, line.chosen(columns)) for line in table.aside],
        "ranks": table is not None and table.sight.ranks,
        "moments": thinned(moments) if len(moments) > 1 else [],
        "is_newest": found is not None and bool(moments) and moments[0].id == found.pk,
        "past": named is not None,
        "guess": None if table is None else _guess(visit, phase.name, table, request.GET),
        "receipt": found is not None and receipt_of(visit, found) is not None,
        "winnings": prizes.shown(visit, phase) if board == main_board(visit, phase.name) and named is None else None,
        "bonus_teams": _eligible(visit),
        "problem": _problem(visit, phase.name, board),
        "making": (table is None or not table.lines) and _is_made(visit, phase.name),
    }
    return page(request, "isocenter/boards/board.html", context, title=visit.edition.title)


def _rule(visit: Visit, phase: str, board: Board) -> str:
    """The rule of a board in words; of a board that was made by another rule than today's, as it was recorded."""
    assert visit.challenge.version_id is not None
    rule = code_of(visit.challenge.version_id, phase).boards.get(board.name)
    return rule_in_words(rule) if rule is not None and str(rule) == board.rule else board.rule


def _guess(visit: Visit, phase: str, table: BoardTable, asked: QueryDict) -> Guess | None:
    """The question what the board would be with other weights, and its answer, for who sees all that it is made of."""
    if not (table.sight.details and table.sight.other_scores):
        return None
    assert visit.challenge.version_id is not None
    rule = code_of(visit.challenge.version_id, phase).boards[table.board.name]
    official = weights_of(rule, table.board)
    if not official:
        return None
    of = {metric.name: metric for metric in table.metrics}
    weights = tuple(
        Weight(_WEIGHT + name, label(of[name]), f"{weight:g}", asked.get(_WEIGHT + name, f"{weight:g}")[:20])
        for name, weight in official.items()
    )
    was_asked = any(weight.field in asked for weight in weights)
    try:
        given = {name: _number(weight.asked) for name, weight in zip(official, weights, strict=True)}
        rows = reweighted(rule, table.board, given) if was_asked else ()
    except ValueError as error:
        return Guess(weights, (), str(error), was_asked)
    before = {row.submission: row.place for row in table.board.rows}
    told = tuple((row, table.digits.text(table.metric, row.score), before[row.submission]) for row in rows)
    return Guess(weights, told, "", was_asked)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        msg = f"“{text}” is no number"
        raise ValueError(msg)
    return value


def _eligible(visit: Visit) -> list[str]:
    """The teams that may be named for a bonus; for organisers."""
    if not visit.organises or not visit.edition.bonuses:
        return []
    found = Team.objects.filter(challenge=visit.challenge, kind=Team.Kind.TEAM, disqualified=False)
    return list(found.values_list("name", flat=True))


def _is_made(visit: Visit, phase: str) -> bool:
    """Whether boards of a phase are being made; who sees no other team is not told that another one was scored."""
    active = Run.objects.filter(challenge=visit.challenge, kind=Run.Kind.BOARD, payload__phase=phase)
    return visit.sight(phase).other_scores and active.filter(state__in=(Run.State.QUEUED, Run.State.RUNNING)).exists()


def _problem(visit: Visit, phase: str, board: str) -> str:
    """Why the last board could not be made: it may name anybody, so it is for organisers."""
    if not visit.organises:
        return ""
    last = Snapshot.objects.filter(challenge=visit.challenge, phase=phase, board=board).order_by("-made")
    return last.values_list("problem", flat=True).first() or ""
