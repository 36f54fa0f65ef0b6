"""How files are sent: the protocol tus 1.0 with its extensions creation, termination and checksum, at /uploads/.

    POST   /uploads/     Upload-Length, Upload-Metadata        201, Location
    HEAD   /uploads/ID                                         Upload-Offset: how much is there
    PATCH  /uploads/ID   Upload-Offset, the next bytes         204, Upload-Offset
    DELETE /uploads/ID                                         204

The metadata say what the file is for: `challenge`, `phase`, `purpose` (submission, if not said), `filename`. A server
reads a request whole before it is answered, so clients send pieces of some megabytes. Only the owner of an upload
knows that there is one.

References
----------
tus, the protocol for resumable uploads, version 1.0.0, https://tus.io.
"""

from __future__ import annotations

import base64
import functools
import re
import uuid
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import path, reverse
from django.views.decorators.csrf import csrf_exempt

from isocenter.server.models import Upload
from isocenter.server.policy import Door, Somebody, visit_to
from isocenter.server.submitting import bearer, limits, uploads

VERSION = "1.0.0"
_CHECKSUMS = {"sha1": 20, "sha256": 32}
_KNOWN = {"challenge", "phase", "purpose", "filename"}
_PIECES = "application/offset+octet-stream"

View = Callable[..., HttpResponse]


def _tus(view: View) -> View:
    """A view that speaks the protocol: who asks is known, and every refusal is a sentence with its number."""

    @csrf_exempt
    @functools.wraps(view)
    def spoken(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        try:
            response = _answer(view, request, **kwargs)
        except uploads.UploadRefused as error:
            response = _refusal(str(error), error.status)
        except bearer.UnknownCaller as error:
            response = _refusal(str(error), 401)
            response.headers["WWW-Authenticate"] = "Bearer"
        except PermissionDenied as error:
            response = _refusal(str(error), 403)
        except Http404:
            response = _refusal("There is no such upload.", 404)
        except limits.TooMany as error:
            response = _refusal(str(error), 429)
            response.headers["Retry-After"] = str(error.wait)
        response.headers["Tus-Resumable"] = VERSION
        response.headers["Cache-Control"] = "no-store"
        return response

    spoken.door = Door.SIGNED_IN
    return spoken


def _answer(view: View, request: HttpRequest, **kwargs: Any) -> HttpResponse:
    user = bearer.counted_caller(request)
    method = (
        request.headers.get("X-HTTP-Method-Override", request.method) if request.method == "POST" else request.method
    )
    if method == "OPTIONS":
        return HttpResponse(
            status=204,
            headers={
                "Tus-Version": VERSION,
                "Tus-Extension": "creation,termination,checksum",
                "Tus-Max-Size": str(settings.MOST_UPLOAD_BYTES),
                "Tus-Checksum-Algorithm": ",".join(_CHECKSUMS),
            },
        )
    if not user.is_authenticated:
        msg = "Sign in, or send a token as the header “Authorization: Bearer iso_…”."
        raise bearer.UnknownCaller(msg)
    limits.count(limits.UPLOADS, request, user)
    if request.headers.get("Tus-Resumable") != VERSION:
        response = _refusal(f"Files are sent by tus {VERSION}; say so with the header Tus-Resumable.", 412)
        response.headers["Tus-Version"] = VERSION
        return response
    return view(request, user, method, **kwargs)


def _refusal(detail: str, status: int) -> HttpResponse:
    return JsonResponse({"detail": detail}, status=status)


@_tus
def create(request: HttpRequest, user: Somebody, method: str) -> HttpResponse:
    """Begin to send a file."""
    if method != "POST":
        return _refusal("Begin to send a file with POST.", 405)
    limits.count(limits.UPLOADS_BEGUN, request, user)
    size = _number(request, "Upload-Length")
    said = _metadata(request.headers.get("Upload-Metadata", ""))
    challenge = visit_to(user, said["challenge"]).challenge if said.get("challenge") else None
    upload = uploads.begin(
        user,
        challenge=challenge,
        phase=said.get("phase", ""),
        purpose=said.get("purpose") or Upload.Purpose.SUBMISSION,
        name=said.get("filename", ""),
        size=size,
    )
    return HttpResponse(status=201, headers={"Location": reverse("upload", args=[upload.pk])})


@_tus
def one(request: HttpRequest, user: Somebody, method: str, *, key: uuid.UUID) -> HttpResponse:
    """How much of a file is there; its next piece; or its end."""
    upload = Upload.objects.filter(pk=key, user=user).first()
    if upload is None:
        raise Http404
    match method:
        case "HEAD":
            there = uploads.offset_of(upload)
            return HttpResponse(headers={"Upload-Offset": str(there), "Upload-Length": str(upload.size)})
        case "PATCH":
            return _piece(request, upload)
        case "DELETE":
            uploads.drop(upload)
            return HttpResponse(status=204)
    return _refusal("An upload is asked for with HEAD, continued with PATCH and removed with DELETE.", 405)


def _piece(request: HttpRequest, upload: Upload) -> HttpResponse:
    if request.content_type != _PIECES:
        return _refusal(f"A piece has the content type {_PIECES}.", 415)
    there = uploads.append(
        upload,
        request,
        offset=_number(request, "Upload-Offset"),
        length=int(request.META.get("CONTENT_LENGTH") or 0),
        checksum=_checksum(request.headers.get("Upload-Checksum", "")),
    )
    return HttpResponse(status=204, headers={"Upload-Offset": str(there)})


def _number(request: HttpRequest, header: str) -> int:
    given = request.headers.get(header, "")
    if not re.fullmatch(r"[0-9]{1,18}", given):
        msg = f"The header {header} is a number of bytes."
        raise uploads.UploadRefused(msg)
    return int(given)


def _metadata(header: str) -> dict[str, str]:
    """What the file is for: pairs of a name and a text in base64, between commas."""
    said: dict[str, str] = {}
    for pair in filter(None, (pair.strip() for pair in header.split(","))):
        name, _, value = pair.partition(" ")
        if name in said:
            msg = f"Upload-Metadata says {name!r} twice."
            raise uploads.UploadRefused(msg)
        if name not in _KNOWN:
            continue
        try:
            said[name] = base64.b64decode(value.strip(), validate=True).decode()
        except ValueError:
            msg = f"Upload-Metadata: the value of {name} is no text in base64."
            raise uploads.UploadRefused(msg) from None
    if any("\0" in value for name, value in said.items() if name != "filename"):
        raise Http404
    return said


def _checksum(header: str) -> tuple[str, bytes] | None:
    if not header:
        return None
    name, _, value = header.partition(" ")
    try:
        expected = base64.b64decode(value, validate=True)
    except ValueError:
        expected = b""
    if name not in _CHECKSUMS or len(expected) != _CHECKSUMS[name]:
        msg = f"Upload-Checksum names {' or '.join(_CHECKSUMS)}, and what it gives in base64."
        raise uploads.UploadRefused(msg)
    return name, expected


urlpatterns = [
    path("uploads/", create, name="uploads"),
    path("uploads/<uuid:key>", one, name="upload"),
]
