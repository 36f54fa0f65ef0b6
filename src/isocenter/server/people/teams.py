"""Teams: found, joined, left, led.

Everything counts per team, so nobody may have the attempts of two. The rule is simple: once a team has submitted, its
people stay in it. Who withdraws keeps the place, and finds it again when they come back; organisers can move somebody,
with a reason that is recorded. Teams are as they are when the last phase closes.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, TypeVar

from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import QuerySet

from isocenter.server import clock, decisions, mail
from isocenter.server.models import Challenge, Invitation, Membership, Registration, Team, Token, User
from isocenter.server.people.names import NameProblem, team_name
from isocenter.server.policy import Visit

VALID = timedelta(days=7)
"""For how long an invitation is."""

MOST_OPEN = 10
"""Invitations of a team that wait for an answer."""

MOST_A_DAY = 30
"""Invitations that a team may send in 24 hours, whatever became of them: the site is no way to mail strangers."""


class NotPossible(Exception):
    """Why something cannot be done, and what can, as a sentence for the person."""


Done = TypeVar("Done")


def _one_at_a_time(act: Callable[..., Done]) -> Callable[..., Done]:
    """Teams of a challenge change one after the other, so that what was checked still holds when it is done.

    Nor does the team of the visitor hand in meanwhile. Who hands in holds the team, and then writes a row that refers
    to the challenge; so the team comes first here, too, and the challenge is not held against such rows.
    """

    @wraps(act)
    def locked(visit: Visit, *args: Any, **kwargs: Any) -> Done:
        with transaction.atomic():
            own = Membership.objects.filter(user=visit.user.pk, challenge=visit.challenge)
            Team.objects.select_for_update().filter(pk__in=own.values("team")).first()
            Challenge.objects.select_for_update(no_key=True).get(pk=visit.challenge.pk)
            return act(visit, *args, **kwargs)

    return locked


def has_submitted(team: Team) -> bool:
    """Whether the team handed anything in, in whichever phase."""
    return team.submissions.exists()


def active_members(team: Team) -> QuerySet[Membership]:
    """The members who take part, in the order in which they came."""
    taking_part = Registration.objects.filter(challenge=team.challenge_id, state=Registration.State.ACCEPTED)
    return team.memberships.filter(user__in=taking_part.values("user")).order_by("joined", "pk")


@_one_at_a_time
def found(visit: Visit, name: str) -> Team:
    """A new team with the visitor as its leader; a team of the organisers if they are one, or run the site."""
    _may_join(visit)
    team = Team(challenge=visit.challenge, name=_free_name(visit, name))
    if visit.organises:
        team.kind = Team.Kind.ORGANISER
    team.save()
    Membership.objects.create(user=visit.user, team=team, challenge=visit.challenge, leads=True)
    return team


@_one_at_a_time
def rename(visit: Visit, team: Team, name: str, *, reason: str = "") -> None:
    """Give a team another name: its leader until it has submitted, organisers always, with a reason.

    Boards are made with names: whoever renames a team that has submitted has them made again.
    """
    given = _free_name(visit, name, but=team)
    if not _leads(visit, team) or has_submitted(team):
        otherwise = "Who leads a team renames it, until it has submitted; after that only the organisers do."
        _organisers_only(visit, otherwise, reason)
        decisions.record(visit.challenge, _actor(visit), "rename", f"team {team.name}", f"{given}: {reason}")
    team.name = given
    team.save(update_fields=["name"])


@_one_at_a_time
def invite(visit: Visit, email: str, link: Callable[[str], str]) -> Invitation:
    """Send somebody a link by which they, and nobody else, can join the team of the visitor.

    Parameters
    ----------
    link
        Gives the address of the page for a secret.
    """
    team = _led(visit)
    _not_fixed(visit)
    now, email = clock.now(), email.strip().lower()
    if not has_room(team):
        msg = f"{MOST_OPEN} invitations are open, or {MOST_A_DAY} were sent within a day; take one back, or wait."
        raise NotPossible(msg)
    team.invitations.filter(email=email, used=None, expires__gt=now).update(expires=now)
    secret = secrets.token_urlsafe(32)
    made = Invitation.objects.create(team=team, email=email, hash=Token.hashed(secret), made=now, expires=now + VALID)
    _mail(visit, team, email, link(secret))
    return made


def has_room(team: Team) -> bool:
    """Whether the team may send another invitation now."""
    today = team.invitations.filter(made__gt=clock.now() - timedelta(days=1)).count()
    return open_invitations(team).count() < MOST_OPEN and today < MOST_A_DAY


def open_invitations(team: Team) -> QuerySet[Invitation]:
    """Those that can still be used."""
    return team.invitations.filter(used=None, expires__gt=clock.now()).order_by("made", "pk")


@_one_at_a_time
def take_back(visit: Visit, invitation: Invitation) -> None:
    """Make an invitation of the team that the visitor leads useless."""
    Invitation.objects.filter(pk=invitation.pk, team=_led(visit), used=None).update(expires=clock.now())


def invitation_of(secret: str) -> Invitation | None:
    """The invitation of a link; None if there is none, or not any more."""
    found = Invitation.objects.filter(hash=Token.hashed(secret), used=None, expires__gt=clock.now())
    return found.select_related("team__challenge__version").first()


def is_for(invitation: Invitation, user: User) -> bool:
    """Whether it was sent to an address of theirs that is confirmed."""
    from allauth.account.models import EmailAddress

    return EmailAddress.objects.filter(user=user, email__iexact=invitation.email, verified=True).exists()


@_one_at_a_time
def join(visit: Visit, secret: str) -> Team:
    """Become a member by an invitation, which is then used up."""
    invitation = invitation_of(secret)
    if invitation is None or invitation.team.challenge_id != visit.challenge.pk:
        msg = "This invitation was used, taken back, or is older than a week; ask the team for another one."
        raise NotPossible(msg)
    if not isinstance(visit.user, User) or not is_for(invitation, visit.user):
        msg = "This invitation was sent to another address; sign in with that one, or ask the team for another link."
        raise NotPossible(msg)
    _may_join(visit)
    team = invitation.team
    if team.disqualified:
        msg = "This team is disqualified; nobody joins it any more."
        raise NotPossible(msg)
    Membership.objects.create(
        user=visit.user, team=team, challenge=visit.challenge, leads=not active_members(team).exists()
    )
    invitation.used = clock.now()
    invitation.save(update_fields=["used"])
    if visit.organises and team.kind == Team.Kind.TEAM:
        team.kind = Team.Kind.ORGANISER
        team.save(update_fields=["kind"])
    return team


@_one_at_a_time
def leave(visit: Visit) -> None:
    """Go, while the team has not submitted; a team without people is gone, too."""
    membership = visit.membership
    if membership is None:
        msg = "You are in no team."
        raise NotPossible(msg)
    _may_change(visit, membership.team)
    step_out(membership)


@_one_at_a_time
def remove(visit: Visit, membership: Membership) -> None:
    """Take somebody out of the team that the visitor leads, while it has not submitted."""
    team = _led(visit)
    if membership.team_id != team.pk or membership.user_id == visit.user.pk:
        msg = "This person is not in your team."
        raise NotPossible(msg)
    _may_change(visit, team)
    membership.delete()


@_one_at_a_time
def hand_over(visit: Visit, membership: Membership) -> None:
    """Let another member lead."""
    team = _led(visit)
    if membership.team_id != team.pk or membership not in active_members(team):
        msg = "Only somebody who takes part can lead the team."
        raise NotPossible(msg)
    team.memberships.update(leads=False)
    team.memberships.filter(pk=membership.pk).update(leads=True)


@_one_at_a_time
def move(visit: Visit, membership: Membership, team: Team | None, reason: str) -> None:
    """Put somebody into another team, or into none: for organisers, with a reason, whatever was submitted."""
    _organisers_only(visit, "Only organisers move people between teams.", reason)
    if team is not None and team.challenge_id != visit.challenge.pk:
        msg = "This team is not of this challenge."
        raise NotPossible(msg)
    before = membership.team
    where = "no team" if team is None else f"team {team.name}"
    decisions.record(
        visit.challenge, _actor(visit), "move", f"{membership.user.name}: {before.name} to {where}", reason
    )
    if team is None:
        step_out(membership)
        return
    _hand_on(membership)
    membership.team, membership.leads = team, not active_members(team).exists()
    membership.save(update_fields=["team", "leads"])
    _clear(before)


def _hand_on(membership: Membership) -> None:
    """Who goes leaves the lead to the member who has been there longest."""
    heir = active_members(membership.team).exclude(pk=membership.pk).first()
    if membership.leads and heir is not None:
        heir.leads = True
        heir.save(update_fields=["leads"])


def step_out(membership: Membership) -> None:
    """End a membership, whatever the rules say; the lead goes on, and a team of nobody that never submitted is gone."""
    _hand_on(membership)
    membership.delete()
    _clear(membership.team)


def _clear(team: Team) -> None:
    if not team.memberships.exists() and not has_submitted(team):
        team.delete()


def _may_join(visit: Visit) -> None:
    _not_fixed(visit)
    if not visit.accepted:
        msg = "Register for the challenge first; then you can be in a team."
        raise NotPossible(msg)
    mine = Membership.objects.filter(user=visit.user, challenge=visit.challenge).select_related("team").first()
    if mine is not None:
        msg = f"You are in the team “{mine.team.name}”, and nobody is in two teams of a challenge; leave it first."
        raise NotPossible(msg)


def _may_change(visit: Visit, team: Team) -> None:
    _not_fixed(visit)
    if has_submitted(team):
        msg = (
            "The team has submitted, and attempts count per team; so its people stay until the end. "
            "If somebody has to go, ask the organisers."
        )
        raise NotPossible(msg)


def _not_fixed(visit: Visit) -> None:
    if visit.is_over or (visit.is_decided and visit.team is not None and has_submitted(visit.team)):
        msg = "All phases have closed; teams stay as they are."
        raise NotPossible(msg)


def _leads(visit: Visit, team: Team) -> bool:
    return visit.leads and visit.team is not None and visit.team.pk == team.pk


def _led(visit: Visit) -> Team:
    if visit.team is None or not visit.leads:
        msg = "Only who leads the team can do this."
        raise NotPossible(msg)
    return visit.team


def _organisers_only(visit: Visit, otherwise: str, reason: str) -> None:
    if not visit.organises:
        raise NotPossible(otherwise)
    if not reason.strip():
        msg = "Say why; the reason is recorded."
        raise NotPossible(msg)


def _actor(visit: Visit) -> User:
    assert isinstance(visit.user, User)
    return visit.user


def _free_name(visit: Visit, name: str, *, but: Team | None = None) -> str:
    others = visit.challenge.teams.exclude(pk=None if but is None else but.pk)
    try:
        return team_name(name, others.values_list("name", flat=True))
    except NameProblem as problem:
        raise NotPossible(str(problem)) from None


def _mail(visit: Visit, team: Team, email: str, address: str) -> None:
    text = (
        f"{visit.user.name} invites you to the team “{team.name}” in the challenge “{visit.edition.title}”.\n\n"
        f"To join, open this page and sign in with an account for this address ({email}); there you can also make "
        f"one:\n\n{address}\n\n"
        "The link can be used once, within seven days. If you do not know what this is about, do nothing.\n"
    )
    mail.send_along([EmailMessage(f"Invitation to the team “{team.name}”", text, to=[email])])
