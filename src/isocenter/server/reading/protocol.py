"""What the edition says of a reader study, and where the study stands."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from django.db import transaction

from isocenter.editions import Edition, Reading
from isocenter.server import clock, decisions
from isocenter.server.models import Challenge, Study, User
from isocenter.server.organising.study_changes import tell_readers
from isocenter.server.organising.versioning import Refused

State = Literal["none", "joining", "open", "closed"]


def study_of(challenge: Challenge) -> Study | None:
    """The study of a challenge; None if its edition has none, and nothing was read before."""
    found = Study.objects.filter(challenge=challenge).first()
    if found is None and challenge.edition.reading is not None:
        found, _ = Study.objects.get_or_create(challenge=challenge)
    return found


def state(study: Study | None, edition: Edition, now: datetime) -> State:
    """Where a study stands: people join and practise, cases are read, or it is over."""
    if study is None or edition.reading is None:
        return "none"
    if study.closed is not None or now >= edition.reading.closes:
        return "closed"
    return "open" if study.drawn is not None and now >= edition.reading.opens else "joining"


def reading_of(study: Study) -> Reading:
    """The settings under `[reading]`."""
    reading = study.challenge.edition.reading
    if reading is None:
        msg = "The challenge has no reader study any more: challenge.toml has no heading [reading]."
        raise Refused(msg)
    return reading


def close(study: Study, *, user: User, reason: str) -> bool:
    """End a study before its time, or after it: nothing is handed in any more, and it can be exported."""
    with transaction.atomic():
        found = Study.objects.select_for_update().get(pk=study.pk)
        if found.closed is not None:
            return False
        if found.drawn is None:
            msg = "Nothing was dealt yet, so there is nothing to close."
            raise Refused(msg)
        found.closed = clock.now()
        found.save(update_fields=["closed"])
        decisions.record(study.challenge, user, "close the reader study", study.challenge.slug, reason)
        tell_readers(study.challenge, [f"{reading_of(found).title} is closed. Thank you for your reads."])
    return True


def is_over(study: Study, now: datetime) -> bool:
    """Whether nothing can be handed in any more."""
    return state(study, study.challenge.edition, now) == "closed"
