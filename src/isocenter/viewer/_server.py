"""A server for one person on one machine: it answers 127.0.0.1 alone, to whoever knows its token, with known cases."""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from isocenter.problems import printable
from isocenter.viewer._order import worst_first, yardstick
from isocenter.viewer._pages import case_page
from isocenter.viewer._session import Session

_HOST = "127.0.0.1"
_STATIC = {
    "view.css": ("static/view.css", "text/css; charset=utf-8"),
    "scene.css": ("static/scene.css", "text/css; charset=utf-8"),
    "view.js": ("static/view.js", "text/javascript; charset=utf-8"),
    "scene.js": ("static/scene.js", "text/javascript; charset=utf-8"),
    "list.js": ("static/list.js", "text/javascript; charset=utf-8"),
    "contours.js": ("static/contours.js", "text/javascript; charset=utf-8"),
    "vendor/niivue.umd.js": ("vendor/niivue.umd.js", "text/javascript; charset=utf-8"),
}
# Scripts and styles come from here and from nowhere else; only styles, which plots bring along, may stand in the page.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; font-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class Answer(NamedTuple):
    """What is sent back."""

    body: bytes
    kind: str = "text/plain; charset=utf-8"
    status: HTTPStatus = HTTPStatus.OK
    location: str = ""
    lasting: bool = False
    """Whether a browser may keep it: programs, but nothing of patients."""


class ViewServer(ThreadingHTTPServer):
    """The server of one session; `address` is where its pages begin."""

    daemon_threads = True

    def __init__(self, session: Session, held: socket.socket) -> None:
        super().__init__((_HOST, 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = held
        self.server_address = held.getsockname()
        self.server_name, self.server_port = _HOST, int(held.getsockname()[1])
        self.session = session
        self.token = secrets.token_urlsafe(16)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes to the next case before this one has come is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """With the token, without which nothing is answered."""
        return f"http://{_HOST}:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a browser calls this server that was not lured here under another name."""
        return tuple(f"{name}:{self.server_port}" for name in (_HOST, "localhost"))


def listen(port: int = 0) -> socket.socket:
    """Take a port of this machine, 0 for any that is free; who calls waits until a server answers.

    Raises `OSError` if it cannot be had.
    """
    return socket.create_server((_HOST, port))


def make_server(session: Session, *, at: socket.socket | None = None) -> ViewServer:
    """A server that listens already; `serve_forever` answers. It has the port that `listen` took, or any free one."""
    return ViewServer(session, listen() if at is None else at)


def answer(session: Session, token: str, target: str) -> Answer:
    """The answer to a request for a target, such as "/token/case/CHUV001". Files are never looked for by its name."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return Answer(b"This is no address.\n", status=HTTPStatus.BAD_REQUEST)
    given, *path = parts.path.removeprefix("/").split("/")
    if not hmac.compare_digest(given.encode(), token.encode()):
        return Answer(b"Not found. The address is printed by `isocenter view`.\n", status=HTTPStatus.NOT_FOUND)
    root, by = f"/{token}/", parse_qs(parts.query).get("by", [""])[0]
    match [unquote(part, errors="replace") for part in path if part]:
        case []:
            return _first(session, root, by)
        case ["static", *name] if "/".join(name) in _STATIC:
            file, kind = _STATIC["/".join(name)]
            return Answer(resources.files("isocenter.viewer").joinpath(file).read_bytes(), kind, lasting=True)
        case ["case", case] if case in session.cases:
            return _html(case_page(session, case, root=root, by=by))
        case ["case", case]:
            known = f"{len(session.cases)} cases, which are listed"
            problem = f"There is no case {printable(case)!r} in the reference; it has {known}."
            return _html(case_page(session, None, root=root, by=by, problem=problem), HTTPStatus.NOT_FOUND)
        case ["case", case, "sight.json"] if case in session.cases and (sight := session.look(case).sight):
            return Answer(json.dumps(sight.description(), allow_nan=False).encode(), "application/json")
        case ["case", case, file] if case in session.cases and (sight := session.look(case).sight):
            volume = sight.nifti(file.removesuffix(".nii.gz")) if file.endswith(".nii.gz") else None
            if volume is not None:
                return Answer(volume, "application/gzip")
    return _html(
        case_page(session, None, root=root, by=by, problem="There is no such page."), status=HTTPStatus.NOT_FOUND
    )


def _first(session: Session, root: str, by: str) -> Answer:
    """The worst case is where one begins."""
    worst = worst_first(session.cases.values(), yardstick(session.challenge, by))[0]
    return _html(case_page(session, worst.name, root=root, by=by))


def _html(page: str, status: HTTPStatus = HTTPStatus.OK) -> Answer:
    return Answer(page.encode(), "text/html; charset=utf-8", status)


class _Handler(BaseHTTPRequestHandler):
    server: ViewServer
    protocol_version = "HTTP/1.1"
    server_version = "isocenter"
    sys_version = ""

    def do_GET(self) -> None:
        """Pages, programs and volumes."""
        self._send(self._answer(), body=True)

    def do_HEAD(self) -> None:
        """The same without what it is about."""
        self._send(self._answer(), body=False)

    def _answer(self) -> Answer:
        # A page of a stranger can make its own name point here; its browser then says that name.
        if self.headers.get("Host") not in self.server.hosts:
            return Answer(b"This server answers 127.0.0.1 only.\n", status=HTTPStatus.FORBIDDEN)
        try:
            return answer(self.server.session, self.server.token, self.path)
        except Exception as error:  # one bad case costs one case, and the person at the terminal is told
            said = printable(f"{type(error).__name__}: {error}")
            where = printable(self.path.replace(f"/{self.server.token}/", "/"))
            sys.stderr.write(f"isocenter view: {where} could not be answered: {said}\n")
            text = f"This could not be answered, because of a defect or of a file nobody thought of: {said}\n"
            return Answer(text.encode(), status=HTTPStatus.INTERNAL_SERVER_ERROR)

    def _send(self, found: Answer, *, body: bool) -> None:
        self.send_response(found.status)
        headers = {
            "Content-Type": found.kind,
            "Content-Length": str(len(found.body)),
            "Cache-Control": "private, max-age=3600" if found.lasting else "no-store",
            "Content-Security-Policy": _POLICY,
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(found.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name in the library)
        """The terminal stays with the address; a person looks, nobody audits."""
