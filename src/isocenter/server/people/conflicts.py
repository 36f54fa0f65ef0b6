"""Who is near the organisers. The site only points it out: what kind of team it is, the organisers say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isocenter.server.models import Membership, Registration, Role, Team, User
from isocenter.server.people.names import look

# Where anybody has an address; the same one says nothing of an institution.
_EVERYBODYS = frozenset(
    [
        *("126.com", "163.com", "bluewin.ch", "gmail.com", "gmx.ch", "gmx.de", "gmx.net", "googlemail.com"),
        *("hotmail.com", "icloud.com", "live.com", "mail.ru", "me.com", "outlook.com", "proton.me", "protonmail.com"),
        *("qq.com", "web.de", "yahoo.com", "yandex.ru"),
    ]
)


def conflicts_of(team: Team) -> list[str]:
    """Why a team may be one of the organisers', in sentences; none if nothing speaks for it."""
    return conflicts_of_all(team.challenge_id, [team])[team.pk]


def conflicts_of_all(challenge: int, teams: Iterable[Team]) -> dict[int, list[str]]:
    """The same of several teams of a challenge, by their keys, in three questions to the database."""
    said: dict[int, list[str]] = {team.pk: [] for team in teams}
    organisers = _organisers(challenge)
    people = Membership.objects.filter(team__in=list(said)).select_related("user").order_by("joined", "pk")
    found = Registration.objects.filter(challenge=challenge, user__in=people.values("user"))
    answers = {one.user_id: one.answers for one in found}
    for one in people:
        near = _near(one.user, answers.get(one.user_id, {}), organisers)
        said[one.team_id] += [f"{one.user.name} {why}." for why in near]
    return said


def flags_of(registration: Registration) -> list[str]:
    """The same of somebody who registered."""
    return flags_of_all(registration.challenge_id, [registration])[registration.pk]


def flags_of_all(challenge: int, registrations: Iterable[Registration]) -> dict[int, list[str]]:
    """The same of everybody who registered for a challenge, by the keys of their registrations."""
    organisers = _organisers(challenge)
    return {
        one.pk: [f"{one.user.name} {why}." for why in _near(one.user, one.answers, organisers)] for one in registrations
    }


def _organisers(challenge: int) -> list[User]:
    roles = Role.objects.filter(challenge=challenge, kind=Role.Kind.ORGANISER).select_related("user").order_by("pk")
    return [role.user for role in roles]


def _near(user: User, answers: dict[str, object], organisers: Sequence[User]) -> list[str]:
    """By institution, as the account or an answer has it; by the place of the address; and who sees what is hidden."""
    if any(one.pk == user.pk for one in organisers):
        return ["organises the challenge"]
    if user.is_staff:
        return ["runs the site, and sees what organisers see"]
    said = {look(text) for text in (user.institution, *answers.values()) if isinstance(text, str)} - {""}
    place = user.email.rpartition("@")[2].lower()
    found = []
    for one in organisers:
        if look(one.institution) in said:
            found.append(f"is of the same institution as {one.name}, who organises: {one.institution}")
        elif place == one.email.rpartition("@")[2].lower() and place not in _EVERYBODYS:
            found.append(f"has an address at {place}, as {one.name} has, who organises")
    return found
