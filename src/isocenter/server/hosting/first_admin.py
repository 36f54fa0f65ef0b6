"""The link by which the first account that runs a site is made: valid once, for a day, as long as there is none."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.db import transaction

from isocenter.server import clock
from isocenter.server.models import AdminLink, User

VALID = timedelta(days=1)


class VoidLink(LookupError):
    """A link that was used, is too old, was replaced by a newer one or never was."""


def is_needed() -> bool:
    """Whether nobody runs the site yet."""
    return not User.objects.filter(is_staff=True, is_active=True).exists()


def new_link() -> str:
    """The secret of a new link; those that were made before are void."""
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        AdminLink.objects.all().delete()
        AdminLink.objects.create(hash=_hashed(secret), expires=clock.now() + VALID)
    return secret


def is_valid(secret: str) -> bool:
    """Whether an account can be made with it."""
    return is_needed() and AdminLink.objects.filter(hash=_hashed(secret), expires__gt=clock.now()).exists()


def use(secret: str, *, email: str, name: str, password: str) -> User:
    """Make the account, whose address counts as verified, and make the link void; both or nothing."""
    from allauth.account.models import EmailAddress

    with transaction.atomic():
        link = AdminLink.objects.select_for_update().filter(hash=_hashed(secret), expires__gt=clock.now()).first()
        if link is None or not is_needed():
            msg = "this link is void"
            raise VoidLink(msg)
        user = User.objects.create_user(email, password, name=name, is_staff=True)
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
        AdminLink.objects.all().delete()
        return user


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
