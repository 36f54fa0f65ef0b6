"""How accounts are made here, and how they end."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse

from isocenter.server.models import Invitation, Mail, Membership, Role, User
from isocenter.server.people import teams
from isocenter.server.submitting import uploads


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

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:  # noqa: ARG002
        """Back to the account."""
        return str(reverse("account"))


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
    for membership in Membership.objects.filter(user=user).select_related("team"):
        teams.step_out(membership)
    addresses = {user.email, *EmailAddress.objects.filter(user=user).values_list("email", flat=True)}
    for address in addresses:
        Mail.objects.filter(to__iexact=address).delete()
        Invitation.objects.filter(email__iexact=address).delete()
    for upload in user.uploads.filter(taken=None):
        uploads.drop(upload)
    user.delete()
