"""Whether a team may submit to a phase, and if not, why, in words for the team."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from isocenter.editions._clock import in_words, zone_of, zoned
from isocenter.editions._model import Edition
from isocenter.editions._phase import Phase
from isocenter.editions._sight import Viewer, is_known, sight
from isocenter.editions._standing import places, team_of
from isocenter.schema import show

if TYPE_CHECKING:
    from isocenter.ranking import Board

_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@dataclass(frozen=True, slots=True)
class TeamStanding:
    """What is known of a team that wants to take part in a phase.

    Attributes
    ----------
    invited
        The organisers named it for this phase.
    request
        What became of its request to take part.
    lacking
        What it has yet to do before it may submit, as it is told: "survey missing", "terms version 2 not accepted".
    """

    name: str
    invited: bool = False
    request: Literal["none", "waiting", "granted", "refused"] = "none"
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a team may submit now, and why not, all reasons at once; or until when."""

    yes: bool
    reason: str


def admitted(
    edition: Edition,
    phase: str,
    team: TeamStanding,
    *,
    board_of: Callable[[str], Board | None],
    now: datetime,
) -> Admission:
    """Whether a team may submit to a phase at a moment; how often, `quota_left` says.

    Who is admitted by the board of another phase is known no sooner than that board: the best of it from the moment of
    its results, who has a result there from the moment that a team sees its own. So nobody learns from an invitation
    what the board still hides. Whom the organisers name is admitted without it.

    Parameters
    ----------
    phase
        Its name. One that is not yet announced is answered like one that does not exist.
    board_of
        Gives the main board of a phase by its name; None if nothing was scored.

    Examples
    --------
    >>> edition = Edition.model_validate({
    ...     "challenge": "hecktor2020", "title": "HECKTOR 2020", "phases": [{
    ...         "name": "test", "title": "Test phase", "admission": "request",
    ...         "opens": "2020-08-10T00:00:00+02:00", "closes": "2020-09-11T00:00:00+02:00",
    ...         "results": "2020-10-04T09:00:00+02:00",
    ...     }],
    ... })
    >>> september = datetime.fromisoformat("2020-09-01T12:00:00Z")
    >>> admitted(edition, "test", TeamStanding("Doubs", request="waiting"), board_of=lambda _: None, now=september)
    Admission(yes=False, reason="waiting for the organisers' decision")
    """
    zoned(now)
    found = next((one for one in edition.phases if one.name == phase and is_known(one, now)), None)
    if found is None:
        return Admission(yes=False, reason=f"there is no phase {show(phase)}")
    zone, reasons = zone_of(found), []
    if now < found.opens:
        reasons.append(f"not open yet: opens {in_words(found.opens, zone)}")
    elif now >= found.closes:
        reasons.append(f"closed since {in_words(found.closes, zone)}")
    if why := _barred(edition, found, team, board_of, now):
        reasons.append(why)
    reasons += team.lacking
    if reasons:
        return Admission(yes=False, reason="; ".join(reasons))
    return Admission(yes=True, reason=f"open until {in_words(found.closes, zone)}")


def barred(
    edition: Edition,
    phase: str,
    team: TeamStanding,
    *,
    board_of: Callable[[str], Board | None],
    now: datetime,
) -> str:
    """Why a team is not among those whom a phase is for, whether it is open or not; "" if it is.

    Who is among them has its data, and keeps them when the phase is over; see `Viewer.admitted`.
    """
    found = next((one for one in edition.phases if one.name == phase and is_known(one, now)), None)
    return f"there is no phase {show(phase)}" if found is None else _barred(edition, found, team, board_of, now)


def _barred(
    edition: Edition, phase: Phase, team: TeamStanding, board_of: Callable[[str], Board | None], now: datetime
) -> str:
    """Why a team is not among those whom the phase is for; "" if it is."""
    if phase.admission == "open" or team.invited:
        return ""
    if phase.admission == "request":
        return _ASKED[team.request]
    before = next((one for one in edition.phases if one.name == phase.after and is_known(one, now)), None)
    if before is None:
        return "only teams that the organisers invite take part"
    known_from = f"who that is, is known from {in_words(before.results, zone_of(before))}"
    if phase.top is None:
        if not sight(edition, before.name, Viewer("participant", team=team.name), now).own_scores:
            return f"only teams with a result in {show(before.title)} take part; {known_from}"
        board = board_of(before.name)
        return (
            ""
            if _has_result(board, team.name, before)
            else f"only teams with a result in {show(before.title)} take part"
        )
    invited = f"only {_the_best(phase.top)} of {show(before.title)} {'is' if phase.top == 1 else 'are'} invited"
    if now < before.results:
        return f"{invited}; {known_from}"
    board = board_of(before.name)
    place = {} if board is None else places(board, several=before.counts == "all")
    return "" if place.get(team.name, phase.top + 1) <= phase.top else invited


_ASKED = {
    "none": "only on request; ask the organisers",
    "waiting": "waiting for the organisers' decision",
    "refused": "the organisers did not grant the request",
    "granted": "",
}


def _has_result(board: Board | None, team: str, phase: Phase) -> bool:
    """Whether a team was scored, also if it stands on no board because it is of the organisers.

    Who is disqualified has no score.
    """
    return board is not None and any(
        row.score is not None
        for row in (*board.rows, *board.unlisted)
        if team_of(row.submission, several=phase.counts == "all") == team
    )


def _the_best(top: int) -> str:
    """So many from the top, in words.

    Examples
    --------
    >>> _the_best(1), _the_best(5), _the_best(20)
    ('the best', 'the five best', 'the 20 best')
    """
    if top == 1:
        return "the best"
    return f"the {_NUMBERS[top - 2] if top - 2 < len(_NUMBERS) else top} best"
