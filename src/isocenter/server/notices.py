"""What people are told: a line in their notifications, and where it matters a mail. The one place that writes mails.

    something happened ── notify ──┬──▶ Notification ┐ at once, in the same transaction;
                                   └──▶ Mail         ┘ a worker sends it, and who published does not wait for that

A mail says that there is something to see, and where; never a score, never whose. What may be seen there the page
decides when it is opened, by the sight of who opens it. Each mail has one recipient, and is plain text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from django.conf import settings
from django.core.mail import EmailMessage

from isocenter.server import clock
from isocenter.server import mail as mails
from isocenter.server.models import Challenge, Membership, Notification, Registration, Role, Team, User

_LONGEST = 300
_WIDTH = 78
_GONE = (Registration.State.WITHDRAWN, Registration.State.REFUSED)


def notify(
    users: Iterable[User],
    text: str,
    *,
    url: str = "",
    challenge: Challenge | None = None,
    mail: bool = False,
    body: str = "",
) -> int:
    """Tell people something, each once; gives how many they are.

    Parameters
    ----------
    text
        A sentence. It may hold nothing that one of them must not see: no score, no name that a board would hide.
    url
        Where there is more, as a path on this site.
    mail
        Whether they get a mail too.
    body
        What the mail says besides, such as the text of an announcement.
    """
    people = list({user.pk: user for user in users if user.is_active}.values())
    said = shortened(text)
    now = clock.now()
    Notification.objects.bulk_create(
        Notification(user=user, challenge=challenge, text=said, url=url[:_LONGEST], made=now) for user in people
    )
    if mail and people:
        messages = [composed(user, text, url=url, challenge=challenge, body=body) for user in people]
        mails.send_along(messages)
    return len(people)


def to_team(team: Team, text: str, *, url: str = "", mail: bool = False, but: User | None = None) -> int:
    """Tell the members of a team, or all but one; not those who withdrew from the challenge, or were refused."""
    gone = Registration.objects.filter(challenge=team.challenge_id, state__in=_GONE)
    members = Membership.objects.filter(team=team).exclude(user__in=gone.values("user")).select_related("user")
    people = (one.user for one in members if one.user != but)
    return notify(people, text, url=url, challenge=team.challenge, mail=mail)


def to_organisers(challenge: Challenge, text: str, *, url: str = "", mail: bool = False, body: str = "") -> int:
    """Tell the organisers of a challenge; those who run the site, where it has none."""
    people = [role.user for role in organisers_of(challenge)] or User.objects.filter(is_staff=True)
    return notify(people, text, url=url, challenge=challenge, mail=mail, body=body)


def organisers_of(challenge: Challenge) -> Iterable[Role]:
    """The roles of its organisers."""
    return Role.objects.filter(challenge=challenge, kind=Role.Kind.ORGANISER).select_related("user").order_by("pk")


def composed(user: User, text: str, *, url: str, challenge: Challenge | None, body: str = "") -> EmailMessage:
    """The mail to one person."""
    line = " ".join(text.split())
    about = "isocenter" if challenge is None else " ".join(challenge.edition.title.split())
    parts = [f"Hello {user.name or user.email},", line]
    if body:
        parts.append(body.strip())
    if url:
        parts.append(f"{settings.URL}{url}" if settings.URL else f"On the site: {url}")
    parts.append(f"--\n{about}\nYou get this mail because you have an account on this site.")
    wrapped = "\n\n".join(part if part.startswith("--") or part == body.strip() else _wrapped(part) for part in parts)
    subject = line if about in line else f"[{about}] {line}"
    return EmailMessage(subject=shortened(subject), body=wrapped + "\n", to=[user.email])


def shortened(text: str) -> str:
    """A text as one line that fits where it is kept.

    Examples
    --------
    >>> shortened(" a  line ")
    'a line'
    """
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
