"""A site from nothing: folder, tables, styles, the first link, workers, and then the pages.

serve ──▶ listen (port taken? say so first) ──▶ prepare ──▶ Crew ──▶ waitress
work  ──▶ is the database ready? ──▶ `working.work` until it is told to stop
"""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from isocenter.server.hosting import crew

Say = Callable[[str], None]
THREADS = 8


_OLD = "The database is not ready for this version of isocenter; start `isocenter serve` first"


class NotReady(OSError):
    """Why a site or a worker cannot start, in a sentence."""


def default_workers() -> int:
    """One core is left for the pages; more than four workers are for who asks for them."""
    return max(1, min(4, (os.cpu_count() or 1) - 1))


def serve(data: Path, *, host: str, port: int, workers: int, lease: float | None, say: Say) -> None:
    """Serve the site of a folder of data until it is told to stop."""
    with listen(host, port) as held:
        setup(data, lease=lease)
        prepare()
        here = f"http://{_spoken(host)}:{held.getsockname()[1]}"
        _greet(here, host, say)
        _run(held, workers, lease, say)


def listen(host: str, port: int) -> socket.socket:
    """The socket that the site answers on; held from the beginning, so that a port that is taken is told at once."""
    try:
        (family, kind, proto, _, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        held = socket.socket(family, kind, proto)
    except OSError as error:
        msg = f"There is no address {host} on this machine: {error.strerror}"
        raise NotReady(msg) from None
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(address)
        held.listen(1024)
    except OSError as error:
        held.close()
        taken = error.errno == errno.EADDRINUSE
        why = "is taken by another program" if taken else f"cannot be used: {os.strerror(error.errno or 0)}"
        msg = f"Port {port} {why}; choose another with --port"
        raise NotReady(msg) from None
    return held


def setup(data: Path, *, lease: float | None = None, site: str = "") -> None:
    """Make the folder of data and let Django read its settings."""
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"The folder of data {data} cannot be made: {error.strerror}"
        raise NotReady(msg) from None
    os.environ["ISOCENTER_DATA"] = str(data.absolute())
    os.environ["DJANGO_SETTINGS_MODULE"] = "isocenter.server.settings"
    if lease is not None:
        os.environ["ISOCENTER_LEASE"] = str(lease)
    os.environ["ISOCENTER_SITE"] = site
    import django

    try:
        django.setup()
    except PermissionError as error:
        msg = f"The folder of data {data} cannot be written to: {error.strerror}"
        raise NotReady(msg) from None


def enter(data: Path, *, begin: bool = False) -> None:
    """Let this process work on the site of a folder of data, which may be served at the same time.

    Parameters
    ----------
    begin
        Whether a site that does not exist yet is made.
    """
    if not begin and not data.is_dir():
        msg = f"There is no site in {data}; name its folder of data with --data"
        raise NotReady(msg)
    setup(data)
    from isocenter.server.hosting import schema

    with _database():
        if begin and schema.is_empty():
            schema.bring_up_to_date()
        ready = schema.are_up_to_date()
    if not ready:
        raise NotReady(_OLD)


def prepare() -> None:
    """Bring the tables up to date and put styles and scripts where they are served from."""
    from isocenter.server.hosting import schema

    with _database():
        schema.bring_up_to_date()
    collect()


@contextmanager
def _database() -> Iterator[None]:
    """Say in a sentence that a database cannot be used."""
    from django.db import DatabaseError

    try:
        yield
    except DatabaseError as error:
        msg = f"The database cannot be used: {str(error).strip()}"
        raise NotReady(msg) from None


def collect() -> bool:
    """Collect static files, if any of them changed since they last were; whether they did."""
    from django.conf import settings
    from django.core.management import call_command

    mark = Path(settings.STATIC_ROOT) / ".collected"
    found = _fingerprint()
    if mark.exists() and mark.read_text() == found:
        return False
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    mark.write_text(found)
    return True


def _fingerprint() -> str:
    """What the static files are, by name and content: files of a package may all bear the same date."""
    from django.contrib.staticfiles.finders import get_finders

    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list([]):
            content = Path(storage.path(name)).read_bytes()
            digest.update(f"{getattr(storage, 'prefix', None)}/{name}:{hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()


def _greet(here: str, host: str, say: Say) -> None:
    from django.conf import settings

    from isocenter.server.hosting import first_admin

    address = settings.URL or here
    say(f"The site is at {address}/ (data in {settings.DATA}). Ctrl-C ends it.")
    if host not in ("127.0.0.1", "::1", "localhost") and not settings.URL:
        say("It answers to localhost only: say in ISOCENTER_URL by which address others reach it.")
    if first_admin.is_needed():
        say(
            f"Nobody runs it yet. Make your account within a day, once, at\n  {address}/first/{first_admin.new_link()}/"
        )


def _spoken(host: str) -> str:
    """An address of this machine as a browser takes it."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 (compared, not bound)
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _run(held: socket.socket, workers: int, lease: float | None, say: Say) -> None:
    """Answer requests until a signal comes; then let workers finish. A second signal ends everything at once."""
    from isocenter.server.work import delivering

    server = _server(held)
    command = [sys.executable, "-m", "isocenter", "worker", "--data", os.environ["ISOCENTER_DATA"]]
    if lease is not None:
        command += ["--lease", f"{lease:g}"]
    hands = crew.Crew(workers, command, say, _bury)
    told = threading.Event()

    def stop(*_: object) -> None:
        if told.is_set():
            hands.kill()
            os._exit(130)
        told.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    if not workers:  # those elsewhere may not reach the mail server
        delivering.start(told)
    try:
        server.run()
    finally:
        say("Stopping: workers finish what they do, or put it back. Ctrl-C again stops at once.")
        hands.stop()
        say("Stopped.")


def _bury(mark: str) -> None:
    """Put back what a worker had that died; where the database does not answer, that is done when its lease is over."""
    from django.db import DatabaseError, InterfaceError, connection

    from isocenter.server.work import queue

    with suppress(DatabaseError, InterfaceError):
        try:
            queue.bury(mark)
        finally:
            connection.close()


def _server(held: socket.socket) -> Any:
    """The site behind waitress, which tells it the visitor's own address where a trusted proxy stands before it."""
    from django.conf import settings
    from django.urls import get_resolver
    from waitress.server import create_server

    from isocenter.server.hosting import waiting
    from isocenter.server.wsgi import application

    _ = (
        get_resolver().url_patterns
    )  # all pages are loaded before anybody asks for one, and before workers want the machine
    behind: dict[str, Any] = {}
    if settings.PROXY:
        behind = {
            "trusted_proxy": settings.PROXY,
            "trusted_proxy_count": 1,
            "trusted_proxy_headers": {"x-forwarded-for", "x-forwarded-proto"},
        }
    server = create_server(
        application,
        sockets=[held],
        threads=THREADS,
        clear_untrusted_proxy_headers=True,
        ident="",
        **waiting.adjustments(settings.MOST_FORM_BYTES + 2**20),  # a file, and what a form has beside it
        **behind,
    )
    server.channel_class = waiting.Channel
    return server


def work(data: Path, *, queues: Iterable[str], once: bool, lease: float | None, site: str, say: Say) -> None:
    """Work the queue of a site until told to stop."""
    stop = threading.Event()
    crew.heed(stop)
    setup(data, lease=lease, site=site)
    from isocenter.server.hosting import schema

    with _database():
        ready = schema.are_up_to_date()
    if not ready:
        raise NotReady(_OLD)
    from isocenter.server.work import working

    name = f"{socket.gethostname()} {os.getpid()} {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())}"
    name = f"{name} {os.environ.get(crew.MARK, '')}".rstrip()
    if not once and crew.PARENT not in os.environ:
        say(f"Working the queue as {name}. Ctrl-C ends it.")
    working.work(stop, queues=tuple(queues) or ("default",), name=name, once=once)
