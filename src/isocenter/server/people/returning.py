"""Who deletes the account and comes back: what was decided of them still holds, and their place is still theirs.

A team that has submitted keeps its people (see `teams`), and who was refused stays refused; otherwise a new account
with the same address would have fresh attempts. Of the address only a hash is kept, made with the key of the site.
"""

from __future__ import annotations

from django.utils.crypto import salted_hmac

from isocenter.server.models import Challenge, Departed, Membership, Registration, User
from isocenter.server.people import teams


def remember(user: User) -> None:
    """Keep what challenges have to know of somebody whose account is about to be deleted."""
    from isocenter.server.reading import joining  # which needs organising, which needs people

    known: dict[int, dict[str, object]] = {}
    for one in Registration.objects.filter(user=user, state=Registration.State.REFUSED):
        known.setdefault(one.challenge_id, {})["refused"] = True
    for place in Membership.objects.filter(user=user).select_related("team"):
        if teams.has_submitted(place.team):
            known.setdefault(place.challenge_id, {})["team"] = place.team
    joining.remember(user)
    for challenge, facts in known.items():
        for one_hash in _hashes(challenge, user):
            Departed.objects.update_or_create(challenge_id=challenge, hash=one_hash, defaults=facts)


def is_refused(challenge: Challenge, user: User) -> bool:
    """Whether the organisers refused them when they had another account."""
    return Departed.objects.filter(challenge=challenge, hash__in=_hashes(challenge.pk, user), refused=True).exists()


def take_place(registration: Registration) -> None:
    """Put somebody who was accepted back into the team that they were in before; call it in a transaction."""
    user, challenge = registration.user, registration.challenge
    known = Departed.objects.filter(challenge=challenge, hash__in=_hashes(challenge.pk, user))
    known.update(refused=False)
    before = known.exclude(team=None).select_related("team").first()
    if before is None or Membership.objects.filter(user=user, challenge=challenge).exists():
        return
    leads = not teams.active_members(before.team).exists()
    Membership.objects.create(user=user, team=before.team, challenge=challenge, leads=leads)


def _hashes(challenge: int, user: User) -> set[str]:
    """Of every address that is theirs, for one challenge."""
    from allauth.account.models import EmailAddress

    confirmed = EmailAddress.objects.filter(user=user, verified=True).values_list("email", flat=True)
    return {
        salted_hmac("isocenter.departed", f"{challenge} {address.lower()}", algorithm="sha256").hexdigest()
        for address in (user.email, *confirmed)
    }
