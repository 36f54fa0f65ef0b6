"""Files to download that can be gone on with: whole, or from a byte on (RFC 9110, section 14, one range)."""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass
from pathlib import Path

from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.http import content_disposition_header

_ONE_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


@dataclass(frozen=True)
class Sent:
    """An answer, and which bytes of the file it holds: from `start` to before `stop`."""

    response: HttpResponseBase
    start: int
    stop: int


def send(request: HttpRequest, path: Path, *, name: str, sha256: str) -> Sent:
    """The file, or the part of it that is asked for; one that it does not have is refused (416).

    A request for several parts gets all of it. So does one that goes on with a file that was another (`If-Range`).

    Parameters
    ----------
    name
        Of the file where it is saved.
    """
    size = path.stat().st_size
    tag = f'"{sha256}"'
    asked = request.headers.get("Range", "")
    if request.headers.get("If-Range", tag) != tag:
        asked = ""
    part = _part(asked, size)
    if part is None:
        refused = HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
        return Sent(refused, 0, 0)
    start, stop = part
    response = FileResponse(_Part(path, start, stop), content_type="application/octet-stream")
    if (start, stop) != (0, size):
        response.status_code = 206
        response.headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    response.headers["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name)
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["ETag"] = tag
    return Sent(response, start, stop)


def _part(asked: str, size: int) -> tuple[int, int] | None:
    """The first byte and the one after the last; all where no single range is asked for; None if there is no such."""
    found = _ONE_RANGE.fullmatch(asked.replace(" ", ""))
    if found is None or found[1] == found[2] == "":
        return 0, size
    if not found[1]:  # the last so many
        return (max(0, size - int(found[2])), size) if int(found[2]) and size else None
    start = int(found[1])
    stop = min(size, int(found[2]) + 1) if found[2] else size
    if found[2] and int(found[2]) < start:
        return 0, size
    return (start, stop) if start < size else None


class _Part(io.FileIO):
    """A part of a file as a file, which ends where the part does.

    A server sends a file by itself, however slowly it is read; what a view makes piece by piece holds a thread.
    """

    def __init__(self, path: Path, start: int, stop: int) -> None:
        super().__init__(path)
        self._stop = stop
        self.seek(start)

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, self._stop - self.tell())
        return super().read(left if size is None or size < 0 else min(size, left)) or b""

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        if whence == os.SEEK_END:
            return super().seek(self._stop + offset)
        return super().seek(offset, whence)
