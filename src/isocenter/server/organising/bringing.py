"""Challenges brought to a site without the browser: a new one, or a new version of one that is there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.utils.text import slugify

from isocenter.editions import EditionError
from isocenter.server import decisions
from isocenter.server.models import Challenge, Role, User, Version
from isocenter.server.organising import bundle, importing, versioning
from isocenter.server.organising.bundle import Bundle, BundleError
from isocenter.server.organising.versioning import Refused


@dataclass(frozen=True)
class Brought:
    """What became of it: `version` is the new one, None if nothing is different from the one in force."""

    challenge: Challenge
    version: Version | None
    organiser: bool
    """Whether somebody became its organiser."""


def bring(source: Path, *, slug: str = "", organiser: str = "", note: str = "") -> Brought:
    """A challenge from a folder or zip: a new one, which nobody knows of yet, or the next version of one that is there.

    Parameters
    ----------
    slug
        Its place in addresses; the name of the folder or zip, if not said.
    organiser
        The e-mail address of an account, which organises the challenge.
    note
        What changes, and why; participants read it.

    Raises
    ------
    Refused
        With everything that is wrong; nothing was changed.
    """
    slug = slug or slugify(source.resolve().name.removesuffix(".zip"))
    user, problems = _account(organiser)
    problems += filter(None, [importing.address_problem(slug)])
    content, wrong = _read(source)
    if content is None or problems:
        raise Refused([*problems, *wrong])
    note = note.strip() or f"Imported from {source.resolve().name}."
    with transaction.atomic():
        there = Challenge.objects.filter(slug=slug, version__isnull=False).select_related("version").first()
        if there is None:
            made = importing.make_challenge(content, user=user, slug=slug, note=note)
            return Brought(made, made.version, organiser=user is not None)
        assert there.version is not None
        saved = versioning.save(
            there,
            user,
            base=there.version.number,
            note=note[:500],
            toml=content.toml,
            pages=content.pages,
            cohort=content.cohort,
        )
        return Brought(there, saved, organiser=_organises(there, user))


def _account(email: str) -> tuple[User | None, list[str]]:
    user = User.objects.filter(email__iexact=email.strip(), is_active=True).first() if email.strip() else None
    if user is None and email.strip():
        return None, [f"There is no account with the address {email.strip()!r}; they create one on the site first."]
    return user, []


def _read(source: Path) -> tuple[Bundle | None, list[str]]:
    """What the folder holds, or everything that is wrong with it and with its `challenge.toml`."""
    problems: list[str] = []
    content: Bundle | None = None
    try:
        content = bundle.read(source)
    except BundleError as error:
        problems, toml = error.problems, error.toml
    else:
        toml = content.toml
    if toml is not None:
        try:
            versioning.checked(toml)
        except EditionError as error:
            problems += versioning.in_lines(error)
    return (None if problems else content), problems


def _organises(challenge: Challenge, user: User | None) -> bool:
    if user is None:
        return False
    _, made = Role.objects.get_or_create(user=user, challenge=challenge, kind=Role.Kind.ORGANISER)
    if made:
        reason = "Named when the challenge was imported."
        decisions.record(challenge, "the site", "make organiser", user.name or user.email, reason)
    return made


def exported(slug: str) -> bytes:
    """A challenge as a zip that imports to the same.

    Raises
    ------
    Refused
        There is no such challenge.
    """
    found = Challenge.objects.filter(slug=slug, version__isnull=False).select_related("version").first()
    if found is None:
        known = ", ".join(Challenge.objects.filter(version__isnull=False).values_list("slug", flat=True))
        msg = f"There is no challenge {slug!r}; there is {known or 'none yet'}."
        raise Refused(msg)
    return importing.export(found)
