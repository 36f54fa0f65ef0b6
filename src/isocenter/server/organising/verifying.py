"""Organisers verify names and affiliations, or refuse them: a decision with a reason, which the person is told."""

from __future__ import annotations

from django.db import transaction
from django.urls import reverse

from isocenter.server import decisions
from isocenter.server.models import Membership, User, Verification
from isocenter.server.organising.refereeing import reasoned
from isocenter.server.organising.versioning import Refused
from isocenter.server.policy import Visit


def decide_profile(
    visit: Visit, membership: Membership, verdict: Verification.Verdict, reason: str, *, seen: tuple[str, str]
) -> bool:
    """Verify or refuse name and affiliation of a member; whether anything changed.

    Parameters
    ----------
    seen
        Name and affiliation that the organiser looked at: a profile that changed in between is not decided on.

    Raises
    ------
    Refused
        There is no reason, or the profile is another one now.
    """
    from isocenter.server import notices

    reason = reasoned(reason)
    with transaction.atomic():
        row = Membership.objects.select_related("user", "team").get(pk=membership.pk, challenge=visit.challenge)
        user = User.objects.select_for_update().get(pk=row.user_id)
        if (user.name, user.institution) != seen:
            msg = f"The profile changed while you looked at it: it is {user.name}, {user.institution or 'none'} now."
            raise Refused(msg)
        known = Verification.objects.filter(user=user, challenge=visit.challenge).first()
        if known is not None and (known.name, known.affiliation, known.verdict) == (*seen, verdict):
            return False
        values = {"name": user.name, "affiliation": user.institution, "verdict": verdict, "made": visit.now}
        Verification.objects.update_or_create(user=user, challenge=visit.challenge, defaults=values)
        what = "verify a profile" if verdict == Verification.Verdict.VERIFIED else "refuse a profile"
        looked_at = f"{user.name}, {user.institution or 'no affiliation'}"
        assert isinstance(visit.user, User)
        decisions.record(visit.challenge, visit.user, what, f"{row.team.name}, {user.name}", f"{looked_at}: {reason}")
        said = "are verified" if verdict == Verification.Verdict.VERIFIED else "could not be verified"
        text = f"{visit.edition.title}: your name and affiliation {said}: {reason}"
        notices.notify(
            [user], text[:280], url=reverse("team", args=[visit.challenge.slug]), challenge=visit.challenge, mail=True
        )
        return True
