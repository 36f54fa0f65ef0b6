"""Names and affiliations of those who take part, and what organisers found of them; prizes may depend on it.

A verdict is on a profile as it was. Whoever changes name or affiliation afterwards waits again; the rule is
`isocenter.editions.verdict_on`.
"""

from __future__ import annotations

from isocenter.editions import Edition, Profile, Verdict, verdict_on
from isocenter.server.models import Challenge, Membership, Team, User, Verification


def wants_verification(edition: Edition) -> bool:
    """Whether prizes of any phase need verified profiles."""
    return any(phase.verification is not None for phase in edition.phases)


def verdicts_of(challenge: Challenge) -> dict[str, Verdict]:
    """By name of a team, what holds for it."""
    by_team: dict[str, list[Profile]] = {name: [] for name in challenge.teams.values_list("name", flat=True)}
    for membership, profile in profiles_of(challenge):
        by_team[membership.team.name].append(profile)
    return {team: verdict_on(members) for team, members in by_team.items()}


def profiles_of(challenge: Challenge, team: Team | None = None) -> list[tuple[Membership, Profile]]:
    """Those who are in a team, or in any, each with their profile; who leads first."""
    rows = Membership.objects.filter(challenge=challenge).select_related("user", "team")
    rows = rows if team is None else rows.filter(team=team)
    found = Verification.objects.filter(challenge=challenge)
    known = {one.user_id: one for one in found}
    return [(row, _profile(row.user, known.get(row.user_id))) for row in rows.order_by("-leads", "joined", "pk")]


def _profile(user: User, known: Verification | None) -> Profile:
    if known is None:
        return Profile(user.name, user.institution)
    verdict: Verdict = "verified" if known.verdict == Verification.Verdict.VERIFIED else "refused"
    return Profile(user.name, user.institution, (known.name, known.affiliation), verdict)
