"""Who wins what, from the board that decides: for organisers as it stands, for everybody once the results are out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db import transaction

from isocenter.editions import Award, Bonus, Edition, Phase, alias, awards
from isocenter.server import boards, clock, decisions
from isocenter.server.boards.board_history import teams_of
from isocenter.server.boards.progressing import names_on
from isocenter.server.editions import code_of
from isocenter.server.models import Challenge, Decision, Snapshot, Team
from isocenter.server.people.verification import verdicts_of, wants_verification

if TYPE_CHECKING:
    from isocenter.ranking import Board, BoardRow
    from isocenter.server.policy import Visit

BONUS = "bonus"
"""What a decision is called that hands out a bonus."""


@dataclass(frozen=True, slots=True)
class Winnings:
    """The prizes of a phase.

    Attributes
    ----------
    awards
        Who gets what, best first.
    open
        Bonuses that nobody is named for yet.
    leading
        Bonuses for the leader at a moment that has not come, or at which nobody led.
    final
        Whether the results are out: before that the numbers are a calculation, for organisers alone.
    problem
        Why nothing could be computed; "" if it could.
    """

    phase: Phase
    board: str
    awards: tuple[Award, ...]
    open: tuple[Bonus, ...]
    final: bool
    leading: tuple[Bonus, ...] = ()
    problem: str = ""

    @property
    def totals(self) -> dict[str, Decimal]:
        """By currency, what is handed out in all; what is held is not among it."""
        found: dict[str, Decimal] = {}
        for award in self.awards:
            if not award.held:
                found[award.currency] = found.get(award.currency, Decimal(0)) + award.amount
        return found

    @property
    def held(self) -> bool:
        """Whether anything waits for profiles to be verified."""
        return any(award.held for award in self.awards)


def promised(edition: Edition, phase: str) -> bool:
    """Whether there is anything to win in a phase."""
    last = edition.last_phase.name
    phases = [entry.phase for entry in edition.prizes] + [entry.phase for entry in edition.bonuses]
    phases += [] if edition.payout is None else [edition.payout.phase]
    return phase in [name or last for name in phases]


def of(challenge: Challenge, phase: str) -> list[Award]:
    """What the teams win in a phase, by their own names, as the board that decides stands now: for organisers.

    Teams of the organisers win nothing and take no place from others; nor do teams that were disqualified. Before
    there is a board nobody wins anything.

    Raises
    ------
    ValueError
        The prizes cannot be computed, such as a payout by scores on a board of ranks.
    """
    snapshot = _deciding(challenge, phase)
    if snapshot is None:
        return []
    board = _of_competitors(challenge, boards.thaw(snapshot.content), snapshot)
    teams = teams_of(snapshot)
    on_board = {
        teams.get(row.submission, row.submission) for row in (*board.rows, *board.unlisted) if row.role == "team"
    }
    named = {title: team for title, team in named_bonuses(challenge, phase).items() if team in on_board}
    leaders = {
        title: teams for title, teams in leaders_of(challenge, phase, snapshot).items() if on_board >= set(teams)
    }
    verdicts = verdicts_of(challenge) if wants_verification(challenge.edition) else {}
    return awards(challenge.edition, board, phase=phase, named=named, leaders=leaders, verdicts=verdicts)


def leaders_of(challenge: Challenge, phase: str, snapshot: Snapshot) -> dict[str, list[str]]:
    """By title of a bonus, who led at its moment, as far as that has passed.

    A bonus whose leader was disqualified since waits for the board to be made again.
    """
    now = clock.now()
    return {
        bonus.title: snapshot.leaders[bonus.title]
        for bonus in challenge.edition.bonuses_of(phase)
        if bonus.at is not None and bonus.at <= now and bonus.title in snapshot.leaders
    }


def shown(visit: Visit, phase: Phase) -> Winnings | None:
    """The prizes of a phase with names as they are announced; None for who may not know them, or if there are none."""
    seen = visit.sight(phase.name)
    final = visit.is_out(phase) and seen.other_scores
    if not promised(visit.edition, phase.name) or not (final or visit.organises):
        return None
    snapshot = _deciding(visit.challenge, phase.name)
    if snapshot is None:
        return None
    try:
        found = of(visit.challenge, phase.name)
    except ValueError as error:
        return Winnings(phase, snapshot.board, (), (), final, problem=str(error)) if visit.organises else None
    if not seen.unlisted:
        names, teams = names_on(visit, snapshot), teams_of(snapshot)
        found = [replace(award, submission=_name(award, names, teams, visit)) for award in found]
    given = named_bonuses(visit.challenge, phase.name)
    bonuses = visit.edition.bonuses_of(phase.name)
    waiting = tuple(bonus for bonus in bonuses if bonus.to == "named" and not given.get(bonus.title))
    known = leaders_of(visit.challenge, phase.name, snapshot)
    leading = tuple(bonus for bonus in bonuses if bonus.to == "leader" and bonus.title not in known)
    return Winnings(phase, snapshot.board, tuple(found), waiting, final, leading)


def named_bonuses(challenge: Challenge, phase: str) -> dict[str, str]:
    """Who gets the bonuses that no board decides, by title, as was decided last."""
    found: dict[str, str] = {}
    said = Decision.objects.filter(challenge=challenge, what=BONUS).order_by("number")
    for subject in said.values_list("subject", flat=True):
        for bonus in challenge.edition.bonuses:
            if subject.startswith(begin := _subject(phase, bonus.title, "")):
                found[bonus.title] = subject.removeprefix(begin)
    return found


def name_bonus(visit: Visit, phase: str, title: str, team: str, reason: str) -> None:
    """Decide who gets a bonus.

    Raises
    ------
    ValueError
        There is no such bonus to be handed out in the phase, or no such team that may win it.
    """
    titles = [bonus.title for bonus in visit.edition.bonuses_of(phase) if bonus.to == "named"]
    if title not in titles:
        msg = f"There is no bonus “{title}” in this phase that somebody is named for."
        raise ValueError(msg)
    eligible = Team.objects.filter(challenge=visit.challenge, kind=Team.Kind.TEAM, disqualified=False, name=team)
    with transaction.atomic():
        if not eligible.exists():
            msg = f"There is no team “{team}” that may win a bonus."
            raise ValueError(msg)
        decisions.record(visit.challenge, visit.user, BONUS, _subject(phase, title, team), reason)


def _subject(phase: str, title: str, team: str) -> str:
    return f"{phase}: {title} → {team}"


def _deciding(challenge: Challenge, phase: str) -> Snapshot | None:
    """The last snapshot of the main board."""
    assert challenge.version_id is not None
    main = next(iter(code_of(challenge.version_id, phase).boards))
    found = Snapshot.objects.filter(challenge=challenge, phase=phase, board=main, problem="")
    return found.order_by("-made").first()


def _of_competitors(challenge: Challenge, board: Board, snapshot: Snapshot) -> Board:
    """The board as prizes see it: whoever is of the organisers, or disqualified since, is no competitor."""
    rows = Team.objects.filter(challenge=challenge).values_list("name", "kind", "disqualified")
    out = {name for name, kind, disqualified in rows if kind == Team.Kind.ORGANISER or disqualified}
    teams = teams_of(snapshot)

    def competing(row: BoardRow) -> BoardRow:
        is_out = row.role == "team" and teams.get(row.submission, row.submission) in out
        return replace(row, role="organiser") if is_out else row

    return replace(board, rows=tuple(map(competing, board.rows)), unlisted=tuple(map(competing, board.unlisted)))


def _name(award: Award, names: dict[str, str], teams: dict[str, str], visit: Visit) -> str:
    """The name that a winner has for the visitor."""
    team = teams.get(award.submission, award.submission)
    suffix = award.submission.removeprefix(team)
    return names.get(team, alias(team, bytes(visit.challenge.salt))) + suffix
