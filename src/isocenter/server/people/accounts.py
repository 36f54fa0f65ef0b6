"""How accounts are made here, and how they end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.http import HttpRequest
from django.urls import is_valid_path, reverse
from django.utils.http import url_has_allowed_host_and_scheme

from isocenter.server.models import Invitation, Mail, Membership, Role, User
from isocenter.server.people import returning, teams
from isocenter.server.submitting import limits, uploads


class Adapter(DefaultAccountAdapter):
    """Accounts by address, with a name that others see."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "account_inactive": "This account is closed; ask those who run the site.",
        "cannot_remove_primary_email": "This is the address that you sign in with; make another one that first.",
        "duplicate_email": "This address is one of yours already.",
        "email_password_mismatch": "The address or the password is not right.",
        "email_taken": "This address cannot be used; it may belong to another account.",
        "enter_current_password": "This is not your present password.",
        "incorrect_password": "The password is not right.",
        "too_many_login_attempts": "That was wrong too often. Wait five minutes, then try again.",
        "unverified_primary_email": "Confirm the address first; we sent you a mail.",
        "rate_limited": "That was too often in a short time. Wait a minute, then try again.",
    }

    def save_user(self, request: HttpRequest, user: Any, form: Any, commit: bool = True) -> Any:
        """Keep what the form asked besides."""
        user.name = form.cleaned_data["name"]
        user.institution = form.cleaned_data["institution"]
        return super().save_user(request, user, form, commit)

    def set_password(self, user: Any, password: str) -> None:
        """With a new password the tokens of programs end, as sessions do: who had the old one may have made some."""
        super().set_password(user, password)
        user.tokens.all().delete()

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Wrong passwords count per account and network, so that nobody is locked out by somebody elsewhere."""
        login = str(credentials.get("email") or credentials.get("username") or "").lower()
        return f"{login} {limits.network_of(request)}"

    def render_mail(
        self, template_prefix: str, email: Any, context: dict[str, Any], headers: dict[str, str] | None = None
    ) -> EmailMessage:
        """A mail whose links lead to the address of the site, whichever host the request named."""
        return super().render_mail(template_prefix, email, _at_home(context), headers)

    def is_safe_url(self, url: str) -> bool:
        """Whether a page may ask to be come back to: only by its path, so never on another host."""
        return bool(url) and url.startswith("/") and url_has_allowed_host_and_scheme(url, allowed_hosts=None)

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        """The link in the mail, with the page that the person came from: it may be opened in another browser.

        Who signs up may do so with somebody else's address, so nothing else that they wrote goes with it.
        """
        link = str(super().get_email_confirmation_url(request, emailconfirmation))
        wanted = request.POST.get("next") or request.GET.get("next") or ""
        path = urlsplit(wanted).path if self.is_safe_url(wanted) else ""
        return f"{link}?{urlencode({'next': path})}" if path and is_valid_path(path) else link

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:  # noqa: ARG002
        """Back to the account."""
        return str(reverse("account"))


def _at_home(context: dict[str, Any]) -> dict[str, Any]:
    """What a mail is made of, with the host of the settings, if there is one, in place of that of the request."""
    if not settings.URL:
        return context
    own = {
        name: settings.URL + urlunsplit(("", "", *urlsplit(value)[2:]))
        for name, value in context.items()
        if name.endswith("_url") and isinstance(value, str)
    }
    return context | own | {"current_site": SimpleNamespace(domain=urlsplit(settings.URL).netloc)}


def obstacles(user: User) -> list[str]:
    """What somebody has to hand over before their account can be deleted, in sentences; none if it can."""
    found = []
    for one in _led_with_others(user):
        team = f"“{one.team.name}” in {one.challenge.slug}"
        found.append(f"You lead the team {team}, which has submitted: let another member lead it first.")
    for role in Role.objects.filter(user=user, kind=Role.Kind.ORGANISER).select_related("challenge"):
        if not Role.objects.filter(challenge=role.challenge, kind=role.kind).exclude(user=user).exists():
            found.append(f"You are the only organiser of {role.challenge.slug}: add another one first.")
    if user.is_staff and not User.objects.filter(is_staff=True, is_active=True).exclude(pk=user.pk).exists():
        found.append("You are the only one who runs the site: make somebody else staff first.")
    return found


def _led_with_others(user: User) -> list[Membership]:
    led = Membership.objects.filter(user=user, leads=True).select_related("team", "challenge")
    return [
        one
        for one in led
        if teams.has_submitted(one.team) and teams.active_members(one.team).exclude(user=user).exists()
    ]


@transaction.atomic
def erase(user: User) -> None:
    """Delete an account and what is only of this person; see the page `erase.html` for what stays.

    Raises
    ------
    NotPossible
        Something has to be handed over first.
    """
    from allauth.account.models import EmailAddress

    if found := obstacles(user):
        raise teams.NotPossible(" ".join(found))
    returning.remember(user)
    for membership in Membership.objects.filter(user=user).select_related("team"):
        teams.step_out(membership)
    addresses = {user.email, *EmailAddress.objects.filter(user=user).values_list("email", flat=True)}
    for address in addresses:
        Mail.objects.filter(to__iexact=address).delete()
        Invitation.objects.filter(email__iexact=address).delete()
    for upload in user.uploads.filter(taken=None):
        uploads.drop(upload)
    user.delete()
