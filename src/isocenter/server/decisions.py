"""Decisions are recorded here, and nowhere else."""

from __future__ import annotations

from django.db import transaction

from isocenter.editions import audit
from isocenter.server import clock
from isocenter.server.models import Challenge, Decision, User


def record(challenge: Challenge, actor: User | str, what: str, subject: str, reason: str) -> Decision:
    """Add a decision to the chain of a challenge. Call it in the transaction that does what was decided.

    Parameters
    ----------
    actor
        Who; "the site" for what was decided before and happens now, such as a publication at its hour.
    """
    with transaction.atomic():
        Challenge.objects.select_for_update().get(pk=challenge.pk)  # one after the other
        last = Decision.objects.filter(challenge=challenge).order_by("-number").first()
        decision = audit.Decision(clock.now(), str(actor), what, subject, reason)
        return Decision.objects.create(
            challenge=challenge,
            number=1 if last is None else last.number + 1,
            when=decision.when,
            actor=decision.actor,
            what=what,
            subject=subject,
            reason=reason,
            hash=audit.chained(audit.START if last is None else last.hash, decision),
        )


def entries(challenge: Challenge) -> list[audit.Entry]:
    """The chain, for `audit.verify`."""
    return [
        audit.Entry(audit.Decision(row.when, row.actor, row.what, row.subject, row.reason), row.hash)
        for row in Decision.objects.filter(challenge=challenge).order_by("number")
    ]
