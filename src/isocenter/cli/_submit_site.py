"""A site as `isocenter submit` speaks with it: questions, and files in pieces that survive a broken connection.

Only the standard library, so that a cluster needs nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

PIECE = 8 << 20
PAUSES = (1, 2, 4, 8, 15, 30, 60, 60, 60, 60)
"""Seconds to wait after a failure, after the next one, and so on; then it is given up."""
_FIRST = 3  # failures before the site ever answered: the address may be wrong
_AGAIN = (423, 429, 500, 502, 503, 504)
_PATIENCE = 600  # seconds for an answer; with the last piece, the site reads the whole file

Moved = Callable[[int, int], None]
"""Called with (bytes that are there, bytes in all)."""


class SiteError(OSError):
    """A site that cannot be reached, or does not answer as one."""


class Refusal(Exception):
    """What a site says no to; the message is its sentence.

    Attributes
    ----------
    status
        The number of HTTP that says the same.
    problems
        What is wrong in detail: severity, message, case, file.
    wait
        For how many seconds not to ask again, if the site says so.
    """

    def __init__(self, status: int, detail: str, problems: list[dict[str, str]], *, wait: int = 0) -> None:
        self.status, self.problems, self.wait = status, problems, wait
        super().__init__(detail)


class _Straight(HTTPRedirectHandler):
    """Follows nowhere: a token must not go to whom another site names."""

    def redirect_request(self, req: Request, *_: Any) -> None:  # noqa: ARG002
        return None


class Site:
    """A site, and the token of who speaks with it."""

    def __init__(self, url: str, token: str, *, tell: Callable[[str], None]) -> None:
        self.url = url.rstrip("/")
        self._token, self._tell = token, tell
        self._open = build_opener(_Straight).open
        self._reached = False

    def get(self, path: str) -> Any:
        """What there is at an address below /api/v1."""
        return self._json("GET", f"/api/v1{path}")

    def post(self, path: str, content: Mapping[str, Any]) -> Any:
        """Ask for something to be done."""
        body = json.dumps(content).encode()
        return self._json("POST", f"/api/v1{path}", body, {"Content-Type": "application/json"})

    def _json(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Any:
        _, content = self._patiently(lambda: self._ask(method, path, body, headers or {}))
        try:
            return json.loads(content)
        except ValueError:
            msg = f"{self.url} answers, but not as a site of isocenter does; look at the address"
            raise SiteError(msg) from None

    def begin(self, size: int, said: Mapping[str, str]) -> str:
        """Begin to send a file, and say where to."""
        metadata = ",".join(f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in said.items())
        headers = {"Upload-Length": str(size), "Upload-Metadata": metadata}
        found, _ = self._patiently(lambda: self._tus("POST", "/uploads/", headers=headers))
        return urlsplit(urljoin(f"{self.url}/", str(found["Location"]))).path

    def offset(self, place: str) -> int | None:
        """How much of a file is there; None if the site knows of none."""
        try:
            found, _ = self._patiently(lambda: self._tus("HEAD", place))
        except Refusal as error:
            if error.status in (403, 404, 410):
                return None
            raise
        return int(found["Upload-Offset"])

    def send(self, file: Path, place: str, start: int, moved: Moved) -> None:
        """Send the rest of a file. After every failure the site is asked how much came."""
        size, there, failures = file.stat().st_size, start, 0
        with file.open("rb") as stream:
            while there < size:
                moved(there, size)
                try:
                    there = self._piece(stream, place, there)
                    failures = 0
                except (OSError, http.client.HTTPException, Refusal) as error:
                    self._pause(error, failures)
                    failures += 1
                    found = self.offset(place)
                    if found is None:
                        msg = f"{self.url} has removed the upload; start again"
                        raise SiteError(msg) from error
                    failures = failures if found <= there else 0
                    there = found
        moved(size, size)

    def _piece(self, stream: IO[bytes], place: str, there: int) -> int:
        stream.seek(there)
        block = stream.read(PIECE)
        headers = {
            "Upload-Offset": str(there),
            "Content-Type": "application/offset+octet-stream",
            "Upload-Checksum": f"sha256 {base64.b64encode(hashlib.sha256(block).digest()).decode()}",
        }
        found, _ = self._tus("PATCH", place, block, headers)
        return int(found["Upload-Offset"])

    def drop(self, place: str) -> None:
        """Remove an upload."""
        self._patiently(lambda: self._tus("DELETE", place))

    def _tus(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Any:
        return self._ask(method, path, body, {"Tus-Resumable": "1.0.0", **(headers or {})})

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        failures = 0
        while True:
            try:
                return ask()
            except (OSError, http.client.HTTPException, Refusal) as error:
                self._pause(error, failures)
                failures += 1

    def _pause(self, error: Exception, failures: int) -> None:
        """Wait before the next try, or give up: at once, if the site said no."""
        said_no = isinstance(error, Refusal)
        if isinstance(error, Refusal):
            if error.status == 460 or (error.status == 409 and not failures):
                return  # a piece is to be sent again, from where the site is
            if error.status not in _AGAIN:
                raise error
        hopeless = isinstance(getattr(error, "reason", None), ssl.SSLCertVerificationError)
        most = len(PAUSES) if self._reached else _FIRST
        if hopeless or failures >= most:
            if said_no:
                raise error
            goes_on = "; the same command continues where it stopped" if self._reached else ""
            msg = f"{self.url} cannot be reached: {_reason(error)}{goes_on}"
            raise SiteError(msg) from error
        seconds = max(PAUSES[failures], getattr(error, "wait", 0))
        self._tell(f"{_reason(error)}; again in {seconds:g} s")
        time.sleep(seconds)

    def _ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[Mapping[str, str], bytes]:
        """The headers and the content of an answer that is a success."""
        request = Request(f"{self.url}{path}", data=body or None, method=method)  # noqa: S310 (http or https, see `address`)
        for name, value in (*headers.items(), ("Authorization", f"Bearer {self._token}")):
            request.add_unredirected_header(name, value)
        try:
            with self._open(request, timeout=_PATIENCE) as response:
                self._reached = True
                return response.headers, response.read()
        except HTTPError as error:
            self._reached = True
            with error:
                raise self._refusal(error) from None

    def _refusal(self, error: HTTPError) -> Exception:
        if error.code in (301, 302, 303, 307, 308):
            return SiteError(f"{self.url} leads to {error.headers.get('Location', 'elsewhere')}; use that address")
        try:
            said = json.loads(error.read() or b"{}")
            detail, problems = str(said.get("detail") or error.reason), list(said.get("problems") or [])
        except (ValueError, AttributeError):
            detail, problems = f"{self.url} answers {error.code} {error.reason}", []
        wait = error.headers.get("Retry-After", "")
        return Refusal(error.code, detail, problems, wait=int(wait) if wait.isdecimal() else 0)


def _reason(error: Exception) -> str:
    """What went wrong, in a few words."""
    if isinstance(error, URLError):
        return str(getattr(error.reason, "strerror", None) or error.reason)
    return str(getattr(error, "strerror", None) or error) or type(error).__name__
