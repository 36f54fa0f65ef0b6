"""How mails leave the site: through a table, so that nobody waits for a mail server, and none is lost while it is away.

page, worker ─┬─ Outbox ──▶ Mail: waiting ── a worker's postman (`work.delivering`) ──▶ sent | tried later | failed
              └─ Kept ────▶ Mail: kept, where the site has no mail server; staff read them
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.core import mail
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.http import HttpRequest

from isocenter.server import clock
from isocenter.server.environment import SERVER, SMTP

_log = logging.getLogger("isocenter.mail")


def link(request: HttpRequest, path: str) -> str:
    """The address of a page for a mail: on the host of the settings; where they name none, on that of the request."""
    return f"{settings.URL}{path}" if settings.URL else str(request.build_absolute_uri(path))


def are_kept() -> bool:
    """Whether mails stay here."""
    return _backend().endswith(f".{Kept.__name__}")


def are_delivered() -> bool:
    """Whether mails wait here for a worker that sends them."""
    return _backend().endswith(f".{Outbox.__name__}")


def _backend() -> str:
    """What takes mails. The setting that says so has another name from Django 6.1 on."""
    mailers = getattr(settings, "MAILERS", None)
    return str(settings.EMAIL_BACKEND if mailers is None else mailers["default"]["BACKEND"])


def server() -> Any:
    """The mail server, to speak to."""
    mailers: Any = getattr(mail, "mailers", None)  # from Django 6.1 on
    return mail.get_connection(SMTP) if mailers is None else mailers[SERVER]


def send(messages: Sequence[EmailMessage]) -> None:
    """Hand mails over. One that cannot be sent is told in the log: nothing else fails because of it."""
    mailers: Any = getattr(mail, "mailers", None)
    try:
        (mail.get_connection() if mailers is None else mailers.default).send_messages(messages)
    except (SMTPException, OSError) as error:
        _log.error("%d mails were not sent: %s", len(messages), error)


def send_along(messages: Sequence[EmailMessage]) -> None:
    """Hand mails over with what they tell of: rows in its transaction; by any other backend, once that has held."""
    if are_kept() or are_delivered():
        send(messages)
    else:
        transaction.on_commit(lambda: send(messages), robust=True)


def _written(messages: Sequence[EmailMessage], state: str) -> list[Any]:
    from isocenter.server.models import Mail

    now = clock.now()
    return Mail.objects.bulk_create(
        Mail(to=to, subject=message.subject[:300], text=message.body, state=state, made=now, due=now)
        for message in messages
        for to in message.recipients()
    )


class Outbox(BaseEmailBackend):
    """A backend that lets mails wait for a worker."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Write them down; each has one recipient."""
        _written(email_messages, "waiting")
        return len(email_messages)


class Kept(BaseEmailBackend):
    """A backend that sends nothing."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Keep them."""
        for one in _written(email_messages, "kept"):
            _log.info("mail to %s is kept under Staff, Mail: %s", one.to, one.subject)
        return len(email_messages)
