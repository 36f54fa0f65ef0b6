"""The doors of the API: the same as those of pages, for operations, and for programs as well as browsers.

    @router.get("/challenges/{slug}/team", response=shapes.Team)
    @behind(Door.TEAM)
    def team(request, visit): …

An operation of a challenge has `slug` in its address, and gets the `Visit` in its place. Who asks is known by a token
or a session; nobody is led to a page to sign in.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from isocenter.server.policy import SECOND_FACTOR, Door, Somebody, lacks_second_factor, refuse, visit_to
from isocenter.server.submitting import bearer, limits

Operation = Callable[..., Any]

_WITHOUT_CHALLENGE = (Door.ANYBODY, Door.SIGNED_IN, Door.STAFF)


def behind(which: Door) -> Callable[[Operation], Operation]:
    """An operation behind a door, which it has as its attribute `door`."""
    of_challenge = which not in _WITHOUT_CHALLENGE

    def wrapped(operation: Operation) -> Operation:
        @functools.wraps(operation)
        def opened(request: HttpRequest, **kwargs: Any) -> Any:
            user = bearer.counted_caller(request)
            limits.count(limits.API if user.is_authenticated else limits.API_OF_NOBODY, request, user)
            if not of_challenge:
                _admit(user, which)
                return operation(request, **kwargs)
            visit = visit_to(user, kwargs.pop("slug"))
            if which is not Door.CHALLENGE:
                _admit(user, which)
            if why := refuse(visit, which):
                raise PermissionDenied(why)
            return operation(request, visit, **kwargs)

        opened.__signature__ = _signature(operation, of_challenge=of_challenge)  # type: ignore[attr-defined]
        opened.door = which  # type: ignore[attr-defined]
        return opened

    return wrapped


def _admit(user: Somebody, which: Door) -> None:
    """Refuse who is nobody, not one of the staff, or has no second factor where one is needed."""
    if which is Door.ANYBODY:
        return
    if not user.is_authenticated or not user.is_active:
        msg = "Sign in, or send a token as the header “Authorization: Bearer iso_…”."
        raise bearer.UnknownCaller(msg)
    if which is Door.STAFF and not user.is_staff:
        msg = "This is for those who run the site."
        raise PermissionDenied(msg)
    if which is Door.STAFF and lacks_second_factor(user):
        raise PermissionDenied(SECOND_FACTOR)


def _signature(operation: Operation, *, of_challenge: bool) -> inspect.Signature:
    """What the framework reads: the parameters as types, and `slug` where the operation takes a visit."""
    hints = typing.get_type_hints(operation, include_extras=True)
    given = list(inspect.signature(operation).parameters.values())
    rest = [one.replace(annotation=hints.get(one.name, one.annotation)) for one in given[1 + of_challenge :]]
    slug = inspect.Parameter("slug", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=str)
    asked = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=HttpRequest)
    return inspect.Signature([asked, *([slug] if of_challenge else []), *rest])
