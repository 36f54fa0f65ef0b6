"""The postman of a worker: sends the mails that wait, in a thread of its own, so that no work waits for a mail server.

    waiting ── claim (`due` is put off, so that no other takes it) ──▶ sent
       ▲                                                          ├─▶ failed: nobody takes it at that address
       └── the server is away, or says later: again after 1, 2, 4 … 240 minutes, for three days; then failed

A mail that was taken by the server just when the worker died is sent again, with the same Message-ID.
"""

from __future__ import annotations

import logging
import smtplib
import threading
from datetime import timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import DatabaseError, InterfaceError, connection, transaction

from isocenter.server import clock, mail
from isocenter.server.models import Mail

MOST_ATTEMPTS = 25
"""About three days of trying."""

_BATCH = 20
_CLAIM = timedelta(minutes=10)
_LONGEST = timedelta(hours=4)
_FORGET = timedelta(days=30)
_LOOK, _AWAY = 2.0, 60.0
_PERMANENT = 500
_log = logging.getLogger("isocenter.mail")


class Away(OSError):
    """The mail server cannot be reached, or does not let us in."""


def deliver() -> int:
    """Send what is due, a few at a time; how many were sent.

    Raises
    ------
    Away
        The server is; what was due is tried later.
    """
    batch = _claim()
    if not batch:
        return 0
    server, sent = mail.server(), 0
    try:
        server.open()
        while batch:
            sent += _sent(server, batch[0])
            batch.pop(0)
    except (smtplib.SMTPException, OSError) as error:
        _put_off(batch, error)
        raise Away(str(error)) from error
    finally:
        _close(server)
    return sent


def _claim() -> list[Mail]:
    now = clock.now()
    waiting = Mail.objects.filter(state=Mail.State.WAITING, due__lte=now)
    if not waiting.exists():
        return []  # who only looks takes no lock from those who write
    with transaction.atomic():
        batch = list(waiting.select_for_update(skip_locked=True).order_by("due", "pk")[:_BATCH])
        for one in batch:
            one.due, one.attempts = now + _CLAIM, one.attempts + 1
        Mail.objects.bulk_update(batch, ["due", "attempts"])
    return batch


def _sent(server: Any, one: Mail) -> bool:
    """Send a mail, and say what became of it; an error is one of the connection, which ends the round."""
    try:
        server.send_messages([_message(one)])
    except smtplib.SMTPRecipientsRefused as error:
        code, said = next(iter(error.recipients.values()), (_PERMANENT, b""))
        _refused(one, code, said)
    except smtplib.SMTPDataError as error:
        _refused(one, error.smtp_code, error.smtp_error)
    except ValueError as error:  # an address or a subject that cannot be written as a mail
        _end(one, str(Mail.State.FAILED), problem=str(error))
    else:
        _end(one, str(Mail.State.SENT), sent=clock.now(), text="")
        return True
    return False


def _message(one: Mail) -> EmailMessage:
    host = urlsplit(settings.URL).hostname or "localhost"
    headers = {
        "Message-ID": f"<{one.made:%Y%m%d%H%M%S}.{one.pk}@{host}>",
        "Date": format_datetime(one.made),
        "Auto-Submitted": "auto-generated",
    }
    return EmailMessage(one.subject, one.text, to=[one.to], headers=headers)


def _refused(one: Mail, code: int, said: bytes | str) -> None:
    words = said.decode(errors="replace") if isinstance(said, bytes) else said
    problem = f"{code} {words}"
    if code >= _PERMANENT:
        _end(one, str(Mail.State.FAILED), problem=problem)
    else:
        _put_off([one], problem)


def _put_off(batch: list[Mail], error: Exception | str) -> None:
    """Try again later, each mail as much later as it was tried often."""
    now, problem = clock.now(), str(error) or type(error).__name__
    _log.warning("%d mails are tried again later: %s", len(batch), problem)
    for one in batch:
        if one.attempts >= MOST_ATTEMPTS:
            _end(one, str(Mail.State.FAILED), problem=problem)
            continue
        wait = min(_LONGEST, timedelta(minutes=2 ** min(one.attempts - 1, 10)))
        Mail.objects.filter(pk=one.pk).update(due=now + wait, problem=problem[:500])


def _end(one: Mail, state: str, *, problem: str = "", **fields: Any) -> None:
    if problem:
        _log.error("mail to %s could not be sent: %s", one.to, problem)
    Mail.objects.filter(pk=one.pk).update(state=state, problem=problem[:500], **fields)


def _close(server: Any) -> None:
    try:
        server.close()
    except (smtplib.SMTPException, OSError):
        _log.info("the mail server did not say goodbye")


def again(one: Mail) -> bool:
    """Let a mail that was kept, or could not be sent, wait to be sent; whether it was such a one."""
    stuck = Mail.objects.filter(pk=one.pk, state__in=(Mail.State.KEPT, Mail.State.FAILED))
    return bool(stuck.update(state=Mail.State.WAITING, due=clock.now(), attempts=0, problem=""))


def forget() -> int:
    """Take what was sent long ago off the list; how much that was."""
    return Mail.objects.filter(state=Mail.State.SENT, sent__lt=clock.now() - _FORGET).delete()[0]


class Postman(threading.Thread):
    """Delivers until told to stop."""

    def __init__(self, stop: threading.Event) -> None:
        super().__init__(name="postman", daemon=True)
        self._stop_told = stop

    def run(self) -> None:
        """Look for mails every few seconds, and less often while the server is away."""
        wait = 0.0
        while not self._stop_told.wait(wait):
            try:
                wait = 0.0 if deliver() else _LOOK
            except Away:
                wait = _AWAY
            except (DatabaseError, InterfaceError) as error:
                _log.warning("the database does not answer, trying again: %s", error)
                connection.close()
                wait = _LOOK
            except Exception:
                _log.exception("mails could not be delivered")
                wait = _AWAY
        connection.close()


def deliver_all() -> None:
    """Send everything that is due, for who does not stay; where mails go another way, there is nothing to do."""
    try:
        while mail.are_delivered() and deliver():
            pass
    except Away:
        return


def start(stop: threading.Event) -> None:
    """Let a postman work in this process until it is told to stop, where mails wait for one."""
    if mail.are_delivered():
        Postman(stop).start()
