"""Licences of data: in which words somebody accepted them.

An acceptance is of the words, and stays when the data are withdrawn. Who accepted the words of data that were withdrawn
has accepted those of what takes their place, as long as the words are the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Q

from isocenter.server.models import LicenceAcceptance, Release, User


@dataclass(frozen=True)
class Accepted:
    """Whether the licence is accepted as it is worded now, and whether it ever was in any words."""

    now: bool
    ever: bool


def licence_hash(release: Release) -> str:
    """SHA-256 of the licence as it is worded now."""
    return hashlib.sha256(release.licence.encode()).hexdigest()


def accepted(user: User, releases: Collection[Release]) -> dict[int, Accepted]:
    """By the key of a release, what somebody has accepted; two questions to the database at most."""
    if not any(release.licence for release in releases):
        return {release.pk: Accepted(now=True, ever=False) for release in releases}
    challenges = {release.challenge_id for release in releases}
    mine = LicenceAcceptance.objects.filter(
        Q(release__in=[release.pk for release in releases]) | Q(release=None, challenge__in=challenges), user=user
    )
    rows = list(mine.values_list("release", "challenge", "licence_sha256"))
    found = {}
    for one in releases:
        own = {words for release, _, words in rows if release == one.pk}
        of_others = {words for release, where, words in rows if release is None and where == one.challenge_id}
        now = not one.licence or licence_hash(one) in own | of_others
        found[one.pk] = Accepted(now=now, ever=bool(own))
    return found


def accept(user: User, release: Release) -> None:
    """Keep that somebody accepts the licence as it is worded now."""
    LicenceAcceptance.objects.get_or_create(
        user=user,
        release=release,
        licence_sha256=licence_hash(release),
        defaults={"challenge": release.challenge, "title": release.title, "licence": release.licence},
    )
