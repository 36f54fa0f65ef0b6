"""The editions of challenges as objects, each version parsed once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from isocenter.editions import Edition, apply, parse

if TYPE_CHECKING:
    from isocenter.evaluation import Challenge as Code


@lru_cache(maxsize=256)
def edition_of(version: int) -> Edition:
    """The edition of a version, by its key. Versions never change, so this never expires."""
    from isocenter.server.models import Version

    found = Version.objects.select_related("challenge").get(pk=version)
    return parse(found.toml, name=f"{found.challenge.slug}, version {found.number}")


@lru_cache(maxsize=256)
def code_of(version: int, phase: str) -> Code:
    """The challenge as code with the rules of a phase in force."""
    from isocenter.evaluation import load_challenge

    edition = edition_of(version)
    return apply(edition, load_challenge(edition.challenge), phase=phase)
