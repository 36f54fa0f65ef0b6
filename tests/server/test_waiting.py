"""Strangers at the door: half requests, large bodies, connections that stand still."""

from __future__ import annotations

import contextlib
import resource
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from isocenter.server.hosting import serving, waiting

LARGEST = 40 * 2**20


def answer(environ: dict[str, Any], start: Callable[..., object]) -> Iterable[bytes]:
    start("200 OK", [("Content-Type", "text/plain")])
    return [b"read %d" % len(environ["wsgi.input"].read())]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[tuple[str, int]]:
    """Where a server answers that is made as that of the site is."""
    monkeypatch.setattr("isocenter.server.wsgi.application", answer)
    settings.MOST_FORM_BYTES = LARGEST - 2**20
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with serving.listen("127.0.0.1", 0) as held:
        address = held.getsockname()
        server = serving._server(held)
        over = threading.Event()

        def run() -> None:
            while not over.is_set():
                server.asyncore.loop(timeout=0.05, map=server._map, use_poll=True, count=1)

        thread = threading.Thread(target=run)
        thread.start()
        yield address
        over.set()
        thread.join()
        server.task_dispatcher.shutdown()
        server.asyncore.close_all(server._map)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def sent(site: tuple[str, int], text: str, body: bytes = b"") -> socket.socket:
    held = socket.create_connection(site, timeout=60)
    held.sendall(text.replace("\n", "\r\n").encode())
    with contextlib.suppress(ConnectionError):  # the answer is there, and nobody reads on
        held.sendall(body)
    return held


def told(held: socket.socket) -> bytes:
    """The answer, of which nothing is left to come; none, if it was lost as the server did not read to the end."""
    found = b""
    with held, contextlib.suppress(ConnectionError):
        while block := held.recv(1 << 16):
            found += block
    return found


def post(site: tuple[str, int], length: int, body: bytes) -> socket.socket:
    head = f"POST / HTTP/1.1\nHost: localhost\nConnection: close\nContent-Length: {length}\n\n"
    return sent(site, head, body)


def chunked(site: tuple[str, int], count: int) -> socket.socket:
    """So many MiB of a body that does not say how long it is, and does not end."""
    chunk = b"100000\r\n" + bytes(2**20) + b"\r\n"
    return sent(site, "POST / HTTP/1.1\nHost: localhost\nTransfer-Encoding: chunked\n\n", chunk * count)


def get(site: tuple[str, int]) -> bytes:
    return told(sent(site, "GET / HTTP/1.1\nHost: localhost\nConnection: close\n\n"))


def test_half_requests_keep_nobody_out(site):
    half = [sent(site, "GET / HTTP/1.1\nHost: localhost\nX: ") for _ in range(110)]
    assert get(site).endswith(b"read 0")
    for one in half:
        one.close()


def test_a_body_that_no_form_has_is_not_read(site):
    assert b"413 Request Entity Too Large" in told(post(site, LARGEST, b""))
    assert told(chunked(site, 41))[:12] in (b"HTTP/1.1 413", b"")


def test_of_large_bodies_a_few_come_at_once_and_pieces_always(site, monkeypatch):
    monkeypatch.setattr(waiting, "LARGE_AT_ONCE", 2)
    large = waiting.PIECE + 1
    waits = [post(site, large, bytes(10)) for _ in range(2)]
    assert b"503 Service Unavailable" in told(post(site, large, b""))
    piece = 8 * 2**20
    assert told(post(site, piece, bytes(piece))).endswith(b"read %d" % piece)
    assert told(chunked(site, 10))[:12] in (b"HTTP/1.1 503", b"")
    waits[0].sendall(bytes(large - 10))  # one that is done makes room
    assert told(waits[0]).endswith(b"read %d" % large)
    assert told(post(site, large, bytes(large))).endswith(b"read %d" % large)
    waits[1].close()


def test_who_goes_away_makes_room(site, monkeypatch):
    monkeypatch.setattr(waiting, "LARGE_AT_ONCE", 1)
    large = waiting.PIECE + 1
    post(site, large, bytes(10)).close()
    for _ in range(100):  # until the server has noticed
        found = told(post(site, large, bytes(large)))
        if b"200 OK" in found:
            break
    assert found.endswith(b"read %d" % large)
