"""Who runs the site, for those who have its machine: when nobody can sign in, or nobody does yet."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.urls import reverse

from isocenter.server.hosting import first_admin
from isocenter.server.models import SiteDecision, User

ACTOR = "the command line"


@dataclass(frozen=True)
class Admin:
    """What became of a wish: `made` if the account runs the site from now on; `link` opens it, once."""

    made: bool
    link: str = ""


class NoAccount(LookupError):
    """There is no account that could run the site."""


def appoint(email: str, *, link: bool) -> Admin:
    """Let an account run the site; where nobody does and there is no such account, give the link that makes the first.

    Parameters
    ----------
    link
        Whether to give a link by which the password of the account is set anew.

    Raises
    ------
    NoAccount
        There is none with this address, or it is closed.
    """
    with transaction.atomic():
        user = User.objects.select_for_update().filter(email__iexact=email.strip()).first()
        if user is None and first_admin.is_needed():
            return Admin(made=False, link=f"/first/{first_admin.new_link()}/")
        if user is None or not user.is_active:
            what = "is closed; somebody who runs the site opens it again" if user else "does not exist"
            msg = f"The account {email.strip()!r} {what}."
            raise NoAccount(msg + ("" if user else " They create one on the site first."))
        made = not user.is_staff
        if made:
            user.is_staff = True
            user.save(update_fields=["is_staff"])
            SiteDecision.objects.create(
                actor=ACTOR, what="Let them run the site", subject=user.email, reason="isocenter site admin"
            )
        return Admin(made, _password_link(user) if link else "")


def _password_link(user: User) -> str:
    """The page on which the password of an account is set anew; valid once, for some days."""
    from allauth.account.forms import default_token_generator
    from allauth.account.utils import user_pk_to_url_str

    SiteDecision.objects.create(
        actor=ACTOR, what="Make a link for a new password", subject=user.email, reason="isocenter site admin --link"
    )
    key = default_token_generator.make_token(user)
    return str(reverse("account_reset_password_from_key", args=[user_pk_to_url_str(user), key]))
