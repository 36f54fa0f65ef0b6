"""Who reads, and what they read now: what every page of readers asks first."""

from __future__ import annotations

from django.http import Http404

from isocenter.editions import Reading
from isocenter.server.models import Reader, Study, User
from isocenter.server.policy import Visit
from isocenter.server.reading import joining, own, protocol, turns
from isocenter.server.reading.turns import Turn, Waiting


def reading_of(visit: Visit) -> Reading:
    """What the edition says of the study; without one there is no page (404)."""
    if visit.edition.reading is None:
        raise Http404
    return visit.edition.reading


def study_of(visit: Visit) -> Study:
    """The study that the edition has; in a preview nothing is made."""
    reading_of(visit)
    if visit.preview:
        return Study.objects.filter(challenge=visit.challenge).first() or Study(challenge=visit.challenge)
    study = protocol.study_of(visit.challenge)
    assert study is not None
    study.challenge = visit.challenge
    return study


def reader_of(visit: Visit) -> Reader | None:
    """The reader that the visitor is; None for who has not joined, and in a preview."""
    if visit.preview:
        return None
    assert isinstance(visit.user, User)
    study = study_of(visit)
    reader = joining.reader_of(study, visit.user)
    if reader is not None:
        reader.study = study
    return reader


def turn_of(visit: Visit) -> Turn | Waiting | None:
    """What the visitor reads now, or why nothing; None for who has not joined."""
    reader = reader_of(visit)
    return None if reader is None else turns.turn_of(reader, visit.now)


def done_of(visit: Visit, reader: Reader | None) -> own.Done | None:
    """How far a reader is."""
    return None if reader is None else own.done(reader, reading_of(visit), len(visit.edition.stages))
