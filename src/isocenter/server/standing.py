"""What a team has done beside submitting, and what it lacks: the people in it, their registrations, the terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from isocenter.editions import Edition, TeamState
from isocenter.server.models import Membership, Registration, SurveyAnswers, Team

Members = list[tuple[str, Registration | None]]


def members_of(team: Team) -> Members:
    """The people of a team who have not withdrawn, by names that differ, with their registrations; first who led."""
    return members_of_all([team])[team.pk]


def members_of_all(teams: Iterable[Team]) -> dict[int, Members]:
    """The same of several teams, by their keys, in two questions to the database."""
    challenges = {team.pk: team.challenge_id for team in teams}
    people = Membership.objects.filter(team__in=list(challenges)).select_related("user")
    registered = Registration.objects.filter(challenge__in=set(challenges.values()), user__in=people.values("user"))
    found = {(one.challenge_id, one.user_id): one for one in registered}
    members: dict[int, dict[str, Registration | None]] = {key: {} for key in challenges}
    for one in people.order_by("-leads", "joined", "pk"):
        registration = found.get((challenges[one.team_id], one.user_id))
        if registration is not None and registration.state == Registration.State.WITHDRAWN:
            continue
        named = members[one.team_id]
        name, number = one.user.name or "somebody", 2
        while name in named:
            name, number = f"{one.user.name or 'somebody'} ({number})", number + 1
        named[name] = registration
    return {key: list(named.items()) for key, named in members.items()}


def team_state(team: Team) -> TeamState:
    """What a team has done beside submitting, for `isocenter.editions.void_reasons`."""
    return team_states([team])[team.pk]


def team_states(teams: Iterable[Team]) -> dict[int, TeamState]:
    """The same of several teams, by their keys, in three questions to the database."""
    members = members_of_all(teams)
    surveys = dict(SurveyAnswers.objects.filter(team__in=list(members)).values_list("team", "answers"))
    return {key: _state(its, surveys.get(key)) for key, its in members.items()}


def _state(members: Members, survey: Mapping[str, Any] | None) -> TeamState:
    accepted = {name: one.terms_version for name, one in members if one is not None and one.terms_version}
    return TeamState(tuple(name for name, _ in members), accepted, survey)


def lacking(edition: Edition, team: Team) -> list[str]:
    """What a team has yet to do before it may submit; see `TeamStanding`."""
    reasons = ["the team is disqualified"] if team.disqualified else []
    members = members_of(team)
    reasons += [
        f"{name} is not registered" if one is None else f"the organisers have not accepted {name}"
        for name, one in members
        if one is None or one.state != Registration.State.ACCEPTED
    ]
    if edition.terms is None:
        return reasons
    version = edition.terms.version
    late = [name for name, one in members if one is None or one.terms_version != version]
    if late and edition.terms.accepted_by == "person":
        reasons.append(f'version "{version}" of the terms is not accepted by {", ".join(late)}')
    elif late and len(late) == len(members):
        reasons.append(f'version "{version}" of the terms is not accepted by anybody of the team')
    return reasons
