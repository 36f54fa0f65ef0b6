"""What every answer of the site is held to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from urllib.parse import unquote
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.cache import patch_vary_headers

Answer = Callable[[HttpRequest], HttpResponse]

# Scripts come from here and from nowhere else, and none stands in a page. Styles may: plots bring theirs along.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self' blob:; font-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "worker-src 'self' blob:; manifest-src 'self'"
)
HEADERS = {
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class ContentPolicy:
    """A content security policy without inline scripts, and what else browsers should hold to.

    A view that shows a report in a frame of its own may set a policy itself; then that one stands. What somebody sees
    who is signed in is kept by no cache, so that nobody finds it with the button "back" after they signed out.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response
        self._policy = POLICY + ("; upgrade-insecure-requests" if settings.PUBLIC else "")

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, with headers."""
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", self._policy)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        user = getattr(request, "user", None)
        if user is not None and user.is_authenticated:
            response.headers.setdefault("Cache-Control", "private, no-store")
        else:
            response.headers.setdefault("Cache-Control", "no-cache")
        patch_vary_headers(response, ["Cookie"])
        return response


class NoZeros:
    """Refuses a request with the character of the code 0 in it (400): no text has one, and databases break on it."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, if there is none in the address or a cookie. Nothing has such an address (404)."""
        if "%00" in request.META.get("QUERY_STRING", "") or _ZERO in "".join(request.COOKIES.values()):
            return _zero_refused(request)
        if _ZERO in request.path and not request.path.startswith(_API):
            raise Http404
        return _zero_refused(request) if _ZERO in request.path else self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], _args: object, _kwargs: object
    ) -> HttpResponse | None:
        """Look into a form, or what is sent to the API, too. Files that are sent may hold what they like."""
        try:
            if not getattr(view, "csrf_exempt", False):
                found = any(_ZERO in text for name, values in request.POST.lists() for text in (name, *values))
            else:
                found = request.path.startswith(_API) and _ZERO_IN_JSON.search(request.body) is not None
        except UnreadablePostError:  # who sends is gone
            return None
        return _zero_refused(request) if found else None


_API = "/api/"
_ZERO = "\0"
_ZERO_IN_JSON = re.compile(rb"\x00|(?<!\\)(?:\\\\)*\\u0000")


def _zero_refused(request: HttpRequest) -> HttpResponse:
    said = "The request holds a character that no text has (the one of the code 0)."
    if request.path.startswith(_API):
        return JsonResponse({"detail": said, "problems": []}, status=400)
    return HttpResponse(f"{said}\n", status=400, content_type="text/plain; charset=utf-8")


class SecondFactor:
    """Organisers and staff set up a second factor before anything else, where the site demands it."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, or lead to the page where a second factor is set up."""
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], _: object, kwargs: Mapping[str, object]
    ) -> HttpResponse | None:
        """Whatever shows organisers more than others needs it: their pages, and every page of their challenge."""
        from isocenter.server.policy import lacks_second_factor

        if not settings.REQUIRE_MFA or not request.user.is_authenticated:
            return None
        if not _is_trusted(request, view, kwargs) or not lacks_second_factor(request.user):
            return None
        messages.warning(request, "Organisers sign in with a second factor here. Set one up; it takes a minute.")
        return redirect("mfa_index")


def _is_trusted(request: HttpRequest, view: Callable[..., HttpResponse], kwargs: Mapping[str, object]) -> bool:
    """Whether somebody sees or does more on this page than others, or tries to."""
    from isocenter.server.models import Role
    from isocenter.server.policy import Door

    door = getattr(view, "door", None)
    if door in (Door.ORGANISER, Door.STAFF):
        return True
    if "slug" not in kwargs or door in (None, Door.ANYBODY):
        return False
    roles = Role.objects.filter(user=request.user, challenge__slug=kwargs["slug"], kind=Role.Kind.ORGANISER)
    return request.user.is_staff or roles.exists()


class Zone:
    """Moments are shown on the clock of whoever looks: the one of their account, or of the browser's cookie."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer on that clock."""
        name = getattr(request.user, "zone", "") or unquote(request.COOKIES.get("zone", ""))
        if name in _zones():
            with timezone.override(ZoneInfo(name)):
                return self.get_response(request)
        return self.get_response(request)


@cache
def _zones() -> set[str]:
    return available_timezones()
