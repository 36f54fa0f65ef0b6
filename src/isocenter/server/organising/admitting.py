"""Who comes in: registrations, and those who run a challenge. Every decision is recorded once, and told."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.urls import reverse

from isocenter.server import decisions
from isocenter.server.models import Challenge, Registration, Role, User
from isocenter.server.organising.refereeing import reasoned
from isocenter.server.organising.versioning import Refused
from isocenter.server.policy import Visit


def decide(visit: Visit, registrations: Iterable[Registration], *, accepted: bool, reason: str) -> int:
    """Accept or refuse people who asked to take part; how many were decided on, as some may have been before."""
    from isocenter.server import notices
    from isocenter.server.people import returning

    reason, done = reasoned(reason), 0
    state = Registration.State.ACCEPTED if accepted else Registration.State.REFUSED
    with transaction.atomic():
        wanted = [registration.pk for registration in registrations]
        rows = Registration.objects.select_for_update().filter(pk__in=wanted, challenge=visit.challenge)
        for row in rows.exclude(state__in=[state, Registration.State.WITHDRAWN]).select_related("user"):
            row.state, row.decided = state, visit.now
            row.save(update_fields=["state", "decided"])
            if accepted:
                returning.take_place(row)
            what = "accept a registration" if accepted else "refuse a registration"
            decisions.record(visit.challenge, _actor(visit), what, row.user.name or row.user.email, reason)
            text = (
                f"You take part in {visit.edition.title}."
                if accepted
                else f"Your registration for {visit.edition.title} was refused: {reason}"
            )
            url = reverse("challenge", args=[visit.challenge.slug])
            notices.notify([row.user], text[:300], url=url, challenge=visit.challenge, mail=True)
            done += 1
    return done


def add_role(visit: Visit, email: str, kind: str, reason: str) -> bool:
    """Make somebody who has an account an organiser or a reader."""
    from isocenter.server import notices

    reason, kind = reasoned(reason), _kind(kind)
    user = User.objects.filter(email__iexact=email.strip(), is_active=True).first()
    if user is None:
        msg = f"There is no account with the address {email.strip()!r}. They create one first, then you add them."
        raise Refused(msg)
    with transaction.atomic():
        Challenge.objects.select_for_update().get(pk=visit.challenge.pk)
        _, made = Role.objects.get_or_create(user=user, challenge=visit.challenge, kind=kind)
        if made:
            decisions.record(visit.challenge, _actor(visit), f"make {kind}", user.name or user.email, reason)
            url = reverse("challenge", args=[visit.challenge.slug])
            text = f"You are now {kind} of {visit.edition.title}."
            notices.notify([user], text, url=url, challenge=visit.challenge, mail=True)
    return made


def remove_role(visit: Visit, role: Role, reason: str) -> bool:
    """Take a role away; at least one organiser stays."""
    reason = reasoned(reason)
    with transaction.atomic():
        Challenge.objects.select_for_update().get(pk=visit.challenge.pk)
        found = Role.objects.filter(pk=role.pk, challenge=visit.challenge).select_related("user").first()
        if found is None:
            return False
        organisers = Role.objects.filter(challenge=visit.challenge, kind=Role.Kind.ORGANISER)
        if found.kind == Role.Kind.ORGANISER and organisers.count() == 1:
            msg = "This is the last organiser, and a challenge has at least one. Add another one first."
            raise Refused(msg)
        subject = found.user.name or found.user.email
        decisions.record(visit.challenge, _actor(visit), f"remove {found.kind}", subject, reason)
        found.delete()
        return True


def set_approval(visit: Visit, *, approval: bool, reason: str) -> bool:
    """Whether organisers decide who takes part."""
    reason = reasoned(reason)
    with transaction.atomic():
        challenge = Challenge.objects.select_for_update().get(pk=visit.challenge.pk)
        if challenge.approval == approval:
            return False
        challenge.approval = approval
        challenge.save(update_fields=["approval"])
        what = "decide on registrations" if approval else "open registration to all"
        decisions.record(challenge, _actor(visit), what, challenge.slug, reason)
        return True


def _kind(kind: str) -> str:
    if kind not in Role.Kind.values:
        msg = f"A role is one of {', '.join(Role.Kind.values)}, not {kind!r}."
        raise Refused(msg)
    return kind


def _actor(visit: Visit) -> User:
    assert isinstance(visit.user, User)
    return visit.user
