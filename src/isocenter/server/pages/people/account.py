"""A person's own account."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from allauth.account.decorators import reauthentication_required
from allauth.mfa.utils import is_mfa_enabled
from django.contrib import messages
from django.contrib.auth import logout
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from isocenter.server import clock
from isocenter.server.models import Challenge, Membership, Registration, Role, Token, User
from isocenter.server.people import accounts
from isocenter.server.people.forms import ProfileForm, TokenForm
from isocenter.server.people.teams import NotPossible
from isocenter.server.policy import FORM, POST, Door, Visit, door

MOST_TOKENS = 20


@door(Door.SIGNED_IN, FORM)
def account(request: HttpRequest) -> HttpResponse:
    """Name, institution and clock; the way to everything else; and what they take part in."""
    form = ProfileForm(request.POST or None, instance=User.objects.get(pk=request.user.pk))
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect("account")
    context = {
        "form": form,
        "second_factor": is_mfa_enabled(request.user),
        "tokens": request.user.tokens.count(),
        "challenges": _challenges(request.user),
    }
    return render(request, "isocenter/people/account.html", context, status=400 if form.errors else 200)


def _challenges(user: User) -> list[dict[str, object]]:
    """The challenges that a person has to do with, with roles, registration and team."""
    registrations = {one.challenge_id: one for one in Registration.objects.filter(user=user)}
    teams = {one.challenge_id: one for one in Membership.objects.filter(user=user).select_related("team")}
    roles: dict[int, list[str]] = {}
    for role in Role.objects.filter(user=user).order_by("kind"):
        roles.setdefault(role.challenge_id, []).append(role.kind)
    found = Challenge.objects.filter(pk__in={*registrations, *roles}, version__isnull=False).select_related("version")
    return [
        {
            "challenge": one,
            "title": one.edition.title,
            "roles": roles.get(one.pk, []),
            "registration": registrations.get(one.pk),
            "team": teams.get(one.pk),
        }
        for one in found
        if Visit(user, one).knows
    ]


@door(Door.SIGNED_IN, FORM)
@reauthentication_required(allow_get=True)
def tokens(request: HttpRequest) -> HttpResponse:
    """Tokens that programs sign in with; a new one is shown in the answer that makes it, and never again."""
    form, secret = TokenForm(request.POST or None), ""
    if request.method == "POST" and form.is_valid():
        if request.user.tokens.count() >= MOST_TOKENS:
            form.add_error(None, f"You have {MOST_TOKENS} tokens; revoke one that is no longer needed.")
        else:
            made, secret = Token.make(request.user, form.cleaned_data["title"])
            if days := form.cleaned_data["days"]:
                made.expires = clock.now() + timedelta(days=int(days))
                made.save(update_fields=["expires"])
            form = TokenForm()
    mine = request.user.tokens.order_by("-made", "-pk")
    context = {"form": form, "secret": secret, "tokens": mine, "now": clock.now()}
    return render(request, "isocenter/people/tokens.html", context, status=400 if form.errors else 200)


@door(Door.SIGNED_IN, POST)
def revoke(request: HttpRequest, key: UUID) -> HttpResponse:
    """Make a token useless."""
    token = request.user.tokens.filter(key=key).first()
    if token is None:
        raise Http404
    token.delete()
    messages.success(request, f"The token “{token.title}” is revoked; programs that use it are signed out.")
    return redirect("tokens")


@door(Door.SIGNED_IN, FORM)
@reauthentication_required(allow_get=True)
def erase(request: HttpRequest) -> HttpResponse:
    """Delete the account, after the password; says before what is deleted and what stays."""
    user = User.objects.get(pk=request.user.pk)
    if request.method == "POST":
        try:
            accounts.erase(user)
        except NotPossible:
            return redirect("erase_account")
        logout(request)
        messages.success(request, "Your account is deleted.")
        return redirect("home")
    return render(request, "isocenter/people/erase.html", {"obstacles": accounts.obstacles(user)})
