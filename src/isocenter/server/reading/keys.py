"""The key of a study: who is behind which pseudonym. Whoever opens it says why, which is recorded."""

from __future__ import annotations

from typing import NamedTuple

from django.db import transaction

from isocenter.server import decisions
from isocenter.server.models import ReaderKey, User
from isocenter.server.organising.refereeing import reasoned
from isocenter.server.organising.versioning import Refused
from isocenter.server.policy import Visit
from isocenter.server.reading import protocol

GONE = "(has no account any more)"


class Known(NamedTuple):
    """Who a reader is; the address is "" where the account is gone."""

    pseudonym: str
    name: str
    address: str


def open_key(visit: Visit, reason: str) -> list[Known]:
    """Who everybody is who reads, in the order of the pseudonyms, those who withdrew too.

    Raises
    ------
    Refused
        There is no reason, or cases are not dealt yet.
    """
    reason = reasoned(reason)
    study = protocol.study_of(visit.challenge)
    if study is None or study.drawn is None:
        msg = "Cases are not dealt yet, and before that nobody needs to know who is who."
        raise Refused(msg)
    assert isinstance(visit.user, User)
    with transaction.atomic():
        keys = ReaderKey.objects.filter(study=study).select_related("reader", "user").order_by("reader__pseudonym")
        found = [
            Known(one.reader.pseudonym, GONE, "")
            if one.user is None
            else Known(one.reader.pseudonym, one.user.name, one.user.email)
            for one in keys
        ]
        subject = f"{len(found)} pseudonyms"
        decisions.record(visit.challenge, visit.user, "open the key of the reader study", subject, reason)
    return found
