"""Who asks, where programs ask as well as browsers: by a token in the header, or by the session."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

from isocenter.server import clock
from isocenter.server.models import Token
from isocenter.server.policy import Somebody
from isocenter.server.submitting import limits

_REMEMBERED = timedelta(minutes=1)  # how exactly the last use of a token is known
_SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")


class UnknownCaller(Exception):
    """A token that is none, or none any more; says what to do."""


class _Check(CsrfViewMiddleware):
    """Django's own check, for views that it is not made for by itself as some of their callers have no cookies."""

    def _reject(self, _request: HttpRequest, reason: str) -> HttpResponse:
        return HttpResponse(reason, status=403)


def caller(request: HttpRequest) -> Somebody:
    """Who asks: the owner of the token, or whoever is signed in; `request.user` is the same from here on.

    Raises
    ------
    UnknownCaller
        There is a token, and it is not good.
    PermissionDenied
        A browser wants to change something, and does not show that the page it comes from is ours.
    """
    given = request.headers.get("Authorization", "")
    if given:
        request.user = _owner(given)
    elif request.method not in _SAFE:
        check = _Check(lambda _: HttpResponse())
        check.process_request(request)
        if (refused := check.process_view(request, None, (), {})) is not None:
            msg = f"The request does not come from a page of this site: {refused.content.decode()} Load the page again."
            raise PermissionDenied(msg)
    return request.user


def counted_caller(request: HttpRequest) -> Somebody:
    """The same; tokens that are none count as requests of nobody, so that guessing has to wait (`limits.TooMany`)."""
    try:
        return caller(request)
    except UnknownCaller:
        limits.count(limits.API_OF_NOBODY, request, AnonymousUser())
        raise


def _owner(header: str) -> Somebody:
    kind, _, secret = header.partition(" ")
    if kind.lower() != "bearer" or not secret.strip():
        msg = "Send the token as the header “Authorization: Bearer iso_…”."
        raise UnknownCaller(msg)
    token = Token.objects.select_related("user").filter(hash=Token.hashed(secret.strip())).first()
    if token is None or not token.user.is_active:
        msg = "The token is not known; make one on the page of your account."
        raise UnknownCaller(msg)
    now = clock.now()
    if token.expires is not None and token.expires <= now:
        msg = f"The token expired on {token.expires:%-d %B %Y}; make a new one on the page of your account."
        raise UnknownCaller(msg)
    _remember(token, now)
    return token.user


def _remember(token: Token, now: datetime) -> None:
    """Keep when it was used, at most once a minute: a program may ask a hundred times in one."""
    if token.used is None or now - token.used >= _REMEMBERED:
        longer_ago = Q(used=None) | Q(used__lte=now - _REMEMBERED)
        Token.objects.filter(longer_ago, pk=token.pk).update(used=now)
