"""How somebody becomes a reader: named by the organisers, they join, confirm the guide, and get a pseudonym.

Who deletes the account and comes back with the same address is the same reader: of the address a hash is kept.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.crypto import salted_hmac

from isocenter.editions import AnswerProblem, check_answers
from isocenter.server import clock
from isocenter.server.models import Reader, ReaderKey, Role, Study, User
from isocenter.server.organising.versioning import Refused
from isocenter.server.reading import drawing, protocol

if TYPE_CHECKING:
    from isocenter.server.policy import Visit


def reader_of(study: Study, user: User) -> Reader | None:
    """The reader that somebody is in a study, also if they withdrew; None if they have not joined."""
    found = ReaderKey.objects.filter(study=study, user=user).select_related("reader").first()
    return None if found is None else found.reader


def join(visit: Visit, study: Study, answers: Mapping[str, object]) -> Reader | list[AnswerProblem]:
    """Join the study with the answers to its questions; or what is wrong with these.

    Before cases are dealt, a reader waits; afterwards they get the block that needs one like them most, and their
    cases at once.

    Raises
    ------
    Refused
        The study is over, or they withdrew from it.
    """
    if protocol.is_over(study, visit.now):
        msg = "The study is over, so nobody joins it any more."
        raise Refused(msg)
    assert isinstance(visit.user, User)
    found = check_answers(visit.edition.readers, answers, account_email=visit.user.email)
    if isinstance(found, list):
        return found
    with transaction.atomic():
        study = Study.objects.select_for_update().get(pk=study.pk)  # one after the other
        before = reader_of(study, visit.user) or _returned(study, visit.user)
        if before is not None and before.withdrawn is not None:
            msg = "You withdrew from the study, and who withdrew does not come back: you have seen some of its cases."
            raise Refused(msg)
        if before is not None:
            return before
        reader = Reader.objects.create(
            study=study, pseudonym=_pseudonym(study), answers=dict(found.values), joined=clock.now()
        )
        ReaderKey.objects.create(reader=reader, study=study, user=visit.user, hash=_hash(study, visit.user.email))
        if study.drawn is not None:
            drawing.place(study, reader)
        drawing.give_practice(study, reader)
    return reader


def _pseudonym(study: Study) -> str:
    from isocenter.readers import pseudonyms

    taken = tuple(study.readers.values_list("pseudonym", flat=True))
    return pseudonyms(1, seed=secrets.randbits(62), taken=taken)[0]


def _returned(study: Study, user: User) -> Reader | None:
    """The reader that somebody was when they had another account with one of these addresses; now they are again."""
    from allauth.account.models import EmailAddress

    confirmed = EmailAddress.objects.filter(user=user, verified=True).values_list("email", flat=True)
    hashes = {_hash(study, address) for address in (user.email, *confirmed)}
    found = ReaderKey.objects.filter(study=study, user=None, hash__in=hashes).select_related("reader").first()
    if found is None:
        return None
    found.user = user
    found.save(update_fields=["user"])
    return found.reader


def remember(user: User) -> None:
    """Keep the hash of the address that somebody has now, as their account is about to be deleted."""
    for key in ReaderKey.objects.filter(user=user).select_related("study"):
        key.hash = _hash(key.study, user.email)
        key.save(update_fields=["hash"])


def _hash(study: Study, address: str) -> str:
    return salted_hmac("isocenter.reader", f"{study.pk} {address.lower()}", algorithm="sha256").hexdigest()


def confirm_guide(reader: Reader, version: str) -> bool:
    """Keep that the reader has read the guide; False if it is not the version in force any more."""
    if version != protocol.reading_of(reader.study).guide_version:
        return False
    reader.guide_version = version
    reader.save(update_fields=["guide_version"])
    return True


def withdraw(reader: Reader) -> bool:
    """Take a reader out of the study, at their own wish and for good; what becomes of their reads says the edition.

    False if they had withdrawn before, or the study is over: then reads may have been exported.
    """
    if protocol.is_over(reader.study, clock.now()):
        return False
    done = Reader.objects.filter(pk=reader.pk, withdrawn=None).update(withdrawn=clock.now())
    return bool(done)


def joined(study: Study) -> int:
    """How many readers there are who have not withdrawn."""
    return study.readers.filter(withdrawn=None).count()


def named(study: Study) -> int:
    """How many people the organisers have named as readers."""
    return Role.objects.filter(challenge=study.challenge, kind=Role.Kind.READER).count()
