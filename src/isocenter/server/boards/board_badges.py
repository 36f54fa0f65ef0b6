"""What is said of a row beside its numbers: whose it is, what it lacks, where its code is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isocenter.editions import missing, split_cohort
from isocenter.server.models import CodeLink, SurveyAnswers, Team

if TYPE_CHECKING:
    from isocenter.ranking import Board
    from isocenter.server.policy import Visit


@dataclass(frozen=True, slots=True)
class Badge:
    """A word beside a name; `kind` is one of the classes of chips, `url` where it leads."""

    text: str
    kind: str = ""
    url: str = ""
    about: str = ""


def badges(
    visit: Visit, phase: str, board: Board, teams: Mapping[str, str], *, outdated: Collection[str] = ()
) -> dict[str, tuple[Badge, ...]]:
    """By row, its badges. What would tell who somebody is stands only at rows that have their own name.

    Parameters
    ----------
    teams
        By row, the team that it is of; rows that are shown under another name are not among them.
    outdated
        Rows whose numbers were made elsewhere, against an earlier reference.
    """
    found: dict[str, list[Badge]] = {row.submission: [] for row in (*board.rows, *board.unlisted)}
    for row in (*board.rows, *board.unlisted):
        if row.role == "organiser":
            about = "Takes part, but wins no prize."
            found[row.submission].append(Badge("organisers", "info", about=about))
        if row.role == "benchmark":
            found[row.submission].append(Badge("benchmark", about="To compare with; has no rank."))
        if row.submission in outdated:
            about = "Its numbers were made elsewhere, against an earlier version of the reference."
            found[row.submission].append(Badge("earlier reference", "warn", about=about))
        if row.disqualified:
            found[row.submission].append(Badge("disqualified", "bad", about="Too much is missing or unusable."))
    named = {name: teams[name] for name in found if name in teams}
    handed_in_for = split_cohort(phase)[0]
    codes = released_code(visit, handed_in_for)
    lacking = _without_survey(visit, handed_in_for, set(named.values()))
    barred = _not_eligible(visit)
    for name, team in named.items():
        if team in codes:
            found[name].append(Badge("code", "good", codes[team], "The team's source code."))
        if team in barred:
            found[name].append(Badge("not eligible", "bad", about="The team was disqualified by the organisers."))
        if team in lacking:
            found[name].append(Badge("survey missing", "warn", about="Without the survey the submission is void."))
    return {name: tuple(said) for name, said in found.items()}


def released_code(visit: Visit, phase: str) -> dict[str, str]:
    """By team, the address of its code of a phase, where that is released to the visitor."""
    found = {}
    for link in CodeLink.objects.filter(team__challenge=visit.challenge, phase=phase).select_related("team"):
        out = link.released is not None and link.released <= visit.now
        meant = link.released_to == "" or visit.sight(link.released_to).downloads
        if visit.organises or (out and meant):
            found[link.team.name] = link.url
    return found


def _not_eligible(visit: Visit) -> set[str]:
    """Teams that were disqualified by decision; for organisers, and for the team itself."""
    if not visit.organises:
        return {visit.team.name} if visit.team is not None and visit.team.disqualified else set()
    return set(Team.objects.filter(challenge=visit.challenge, disqualified=True).values_list("name", flat=True))


def _without_survey(visit: Visit, phase: str, teams: set[str]) -> set[str]:
    """Which of the teams have not filled in the survey that the phase demands; others' only for organisers."""
    if not visit.edition.survey or visit.edition.last_phase.name != phase:
        return set()
    asked = teams if visit.organises else teams & {visit.team.name if visit.team is not None else ""}
    if not asked:
        return set()
    rows = SurveyAnswers.objects.filter(team__challenge=visit.challenge, team__name__in=asked)
    answered = dict(rows.values_list("team__name", "answers"))
    competing = Team.objects.filter(challenge=visit.challenge, name__in=asked, kind=Team.Kind.TEAM)
    return {
        name
        for name in competing.values_list("name", flat=True)
        if name not in answered or missing(visit.edition.survey, answered[name])
    }
