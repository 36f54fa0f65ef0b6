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
        Who, kept with name and address; "the site" for what was decided before and happens now, such as a publication
        at its hour.
    """
    with transaction.atomic():
        Challenge.objects.select_for_update().get(pk=challenge.pk)  # one after the other
        last = Decision.objects.filter(challenge=challenge).order_by("-number").first()
        decision = audit.Decision(clock.now(), _signed(actor), what, subject, reason)
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


def _signed(actor: User | str) -> str:
    return actor.signed if isinstance(actor, User) else actor


def seal(challenge: Challenge) -> str:
    """How far the chain goes, for a mail: by a copy elsewhere, decisions are missed that were cut off at its end."""
    last = Decision.objects.filter(challenge=challenge).order_by("-number").first()
    if last is None:
        return ""
    return (
        f"Decision {last.number} is the last in the log now, with this hash:\n\n{last.hash}\n\n"
        "Keep this mail. The page of the log finds the hash, as long as nobody has changed or removed what was decided."
    )


def entries(challenge: Challenge) -> list[audit.Entry]:
    """The chain, for `audit.verify`."""
    return [
        audit.Entry(audit.Decision(row.when, row.actor, row.what, row.subject, row.reason), row.hash)
        for row in Decision.objects.filter(challenge=challenge).order_by("number")
    ]
