"""How often somebody may ask: so many times in a window of time, counted in the cache.

A window begins at a round moment, so at worst twice as many requests come within its length. Who is signed in counts
as a person, whatever the address; others count by it, and addresses of IPv6 by the network that one customer has.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from django.core.cache import cache
from django.http import HttpRequest

from isocenter.server import clock
from isocenter.server.policy import Somebody


@dataclass(frozen=True, slots=True)
class Limit:
    """At most so many requests in so many seconds."""

    name: str
    most: int
    seconds: int = 60


API = Limit("api", 600)
API_OF_NOBODY = Limit("api-of-nobody", 60)
UPLOADS_BEGUN = Limit("uploads-begun", 60, seconds=600)
UPLOADS = Limit("uploads", 1200)
HANDED_IN = Limit("handed-in", 60, seconds=600)
FOR_NOTHING = Limit("for-nothing", 20, seconds=24 * 3600)
"""Submissions of a team that came to nothing by what it sent or did: they may cost no attempt, but work. They are
counted in the database (`intake`), in the time that ends now."""


class TooMany(Exception):
    """Somebody asks too often.

    Attributes
    ----------
    wait
        After how many seconds they may ask again.
    """

    def __init__(self, limit: Limit, wait: int) -> None:
        self.wait = wait
        span = "a minute" if limit.seconds == 60 else f"{limit.seconds / 60:g} minutes"
        super().__init__(f"Too many requests: at most {limit.most} in {span}. Try again in {wait} s.")


def count(limit: Limit, request: HttpRequest, user: Somebody) -> None:
    """Count a request, and refuse it with `TooMany` if there were enough."""
    second = int(clock.now().timestamp())
    window, gone = divmod(second, limit.seconds)
    key = f"limit:{limit.name}:{_whose(request, user)}:{window}"
    cache.add(key, 0, timeout=2 * limit.seconds)
    try:
        made = cache.incr(key)
    except ValueError:  # thrown out in between, as the cache was full
        return
    if made > limit.most:
        raise TooMany(limit, limit.seconds - gone)


def _whose(request: HttpRequest, user: Somebody) -> str:
    return f"user-{user.pk}" if user.is_authenticated else network_of(request)


def network_of(request: HttpRequest) -> str:
    """Where somebody asks from: an address, of IPv6 the network that one customer has."""
    try:
        address = ipaddress.ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return "nowhere"
    if address.version == 6:
        return str(ipaddress.ip_network((address, 64), strict=False).network_address)
    return str(address)
