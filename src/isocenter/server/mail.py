"""How mails leave the site; without a mail server they are kept, for staff to read."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.core import mail
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

_log = logging.getLogger("isocenter.mail")


def are_kept() -> bool:
    """Whether mails stay here. The setting that says so has another name from Django 6.1 on."""
    mailers = getattr(settings, "MAILERS", None)
    backend: str = settings.EMAIL_BACKEND if mailers is None else mailers["default"]["BACKEND"]
    return backend.endswith(f".{Kept.__name__}")


def send(messages: Sequence[EmailMessage]) -> None:
    """Hand mails over. One that cannot be sent is told in the log: nothing else fails because of it."""
    mailers: Any = getattr(mail, "mailers", None)  # from Django 6.1 on
    try:
        (mail.get_connection() if mailers is None else mailers.default).send_messages(messages)
    except (SMTPException, OSError) as error:
        _log.error("%d mails were not sent: %s", len(messages), error)


class Kept(BaseEmailBackend):
    """A backend that sends nothing."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Keep them."""
        from isocenter.server.models import Mail

        for message in email_messages:
            to = ", ".join(message.recipients())
            Mail.objects.create(to=to[:300], subject=message.subject[:300], text=message.body)
            _log.info("mail to %s is kept under Staff, Mail: %s", to, message.subject)
        return len(email_messages)
