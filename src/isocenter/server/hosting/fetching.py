"""Files for workers on machines that do not have the folder of data: asked for by a signed link that is short-lived.

    worker: files.at(name) ── not there ──▶ GET SITE/internal/files/TOKEN/ ──▶ a list of files
                                            GET SITE/internal/files/TOKEN/?file=NAME ──▶ one of them

The token is made with the key that worker and site share (`ISOCENTER_SECRET_KEY`); nobody else can make one.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

from django.conf import settings
from django.core import signing
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import path

from isocenter.server import files
from isocenter.server.policy import Door, door

FOLDERS = ("references", "submissions")
VALID = 300
_SALT = "isocenter.internal.files"


def fetch(name: str, to: Path) -> None:
    """Fetch a file or a folder by its name within the folder of data; it appears whole, or not if there is none."""
    if name.split("/", 1)[0] not in FOLDERS:
        return
    listing = _get(name)
    if listing is None:
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=".fetched-") as scratch:
        whole = Path(scratch, "whole")
        with listing:
            entries = json.load(listing)
        for entry in entries:
            target = whole / entry["file"] if entry["file"] else whole
            if not target.resolve().is_relative_to(whole.resolve()):
                msg = f"{settings.SITE} offers {entry['file']!r}, which is no file within {name}"
                raise OSError(msg)
            _download(name, entry, target)
        try:
            whole.rename(to)
        except OSError:
            if not to.exists():  # else another worker was first
                raise


def _download(name: str, entry: dict[str, Any], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    stream = _get(name, entry["file"])
    if stream is not None:
        with stream, target.open("wb") as out:
            shutil.copyfileobj(stream, out, 2**20)
    if stream is None or target.stat().st_size != entry["size"]:
        msg = f"{settings.SITE} broke off while it sent {name}; try again"
        raise OSError(msg)


def _get(name: str, file: str | None = None) -> Any:
    query = "" if file is None else "?" + urlencode({"file": file})
    address = f"{settings.SITE}/internal/files/{signing.dumps(name, salt=_SALT)}/{query}"
    try:
        return urlopen(address, timeout=60)  # noqa: S310 (its scheme is checked by the settings)
    except HTTPError as error:
        if error.code == 404:
            return None
        msg = f"{settings.SITE} does not give the file {name} ({error.code}); is ISOCENTER_SECRET_KEY the site's?"
        raise OSError(msg) from None


@door(Door.ANYBODY)
def give(request: HttpRequest, token: str) -> HttpResponse:
    """Give a file, or say which there are, to who has a token; who has none learns nothing."""
    try:
        name = signing.loads(token, salt=_SALT, max_age=VALID)
        root = files.place(name)
    except (signing.BadSignature, ValueError):
        return HttpResponse(status=403)
    if name.split("/", 1)[0] not in FOLDERS or not root.exists():
        raise Http404
    if "file" not in request.GET:
        return JsonResponse(_listing(root), safe=False)
    path = root / request.GET["file"] if request.GET["file"] else root
    if not path.resolve().is_relative_to(root.resolve()) or not path.is_file():
        raise Http404
    return FileResponse(path.open("rb"))


def _listing(root: Path) -> list[dict[str, Any]]:
    """The files of a folder with their sizes, or the one file, whose name is "" then."""
    if root.is_file():
        return [{"file": "", "size": root.stat().st_size}]
    found = sorted(path for path in root.rglob("*") if path.is_file())
    return [{"file": path.relative_to(root).as_posix(), "size": path.stat().st_size} for path in found]


urlpatterns = [path("internal/files/<str:token>/", give, name="internal_file")]
