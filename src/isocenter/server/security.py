"""What every answer of the site is held to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import unquote
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
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
        from allauth.mfa.utils import is_mfa_enabled

        if not settings.REQUIRE_MFA or not request.user.is_authenticated:
            return None
        if not _is_trusted(request, view, kwargs) or is_mfa_enabled(request.user):
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
        self._known = available_timezones()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer on that clock."""
        name = getattr(request.user, "zone", "") or unquote(request.COOKIES.get("zone", ""))
        if name in self._known:
            with timezone.override(ZoneInfo(name)):
                return self.get_response(request)
        return self.get_response(request)
