"""How many may wait at the door of the site, for how long, and what they may put down there.

waitress reads every request whole before a view is asked who sends it, and keeps what is large in files. So strangers
are held off here: many connections, which cost nothing while they wait; none that stands still; of bodies larger than
a piece of an upload, a few at a time.
"""

from __future__ import annotations

import resource
from typing import Any, ClassVar
from weakref import WeakSet

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.utilities import Error

CONNECTIONS = 1000
STANDSTILL = 60
"""Seconds after which a connection is closed on which nothing moves and nothing is being answered."""
PIECE = 9 * 2**20
"""The largest body that anybody may send at any time: a piece of an upload has 8 MiB."""
LARGE_AT_ONCE = 8
"""Larger ones, which are files in a form, that are on their way or being answered."""


class _Busy(Error):
    code = 503
    reason = "Service Unavailable"


class _Request(HTTPRequestParser):
    """A request as it comes in; one with a large body has to be one of a few."""

    error: Error | None
    _large: ClassVar[WeakSet[_Request]] = WeakSet()

    def received(self, data: bytes) -> int:
        """Take more bytes of it, and say how many."""
        taken: int = super().received(data)
        large = max(self.content_length, self.body_bytes_received) > PIECE
        if large and self.error is None and self not in self._large:
            if len(self._large) < LARGE_AT_ONCE:
                self._large.add(self)
            else:
                self.error = _Busy("Too many large files are being sent at once. Try again in a minute.")
                self.completed = True
        return taken

    def close(self) -> None:
        """Let go what came."""
        self._large.discard(self)
        super().close()


class Channel(HTTPChannel):
    """A connection."""

    parser_class = _Request


def adjustments(largest: int) -> dict[str, Any]:
    """What to tell waitress, of a site where the largest body has so many bytes.

    A connection needs two files, itself and what it sends or gets. So the process is given as many as it may have.
    """
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * CONNECTIONS
    if now != resource.RLIM_INFINITY and now < wanted:
        now = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (now, most))
    return {
        "connection_limit": CONNECTIONS if now == resource.RLIM_INFINITY else min(CONNECTIONS, now // 4),
        "channel_timeout": STANDSTILL,
        "cleanup_interval": STANDSTILL // 4,
        "asyncore_use_poll": True,
        "max_request_body_size": largest,
    }
