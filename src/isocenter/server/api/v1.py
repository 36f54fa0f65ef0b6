"""The first version of the API: its operations, and how it says that something is not done."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from isocenter.server.api import challenges, people, submissions
from isocenter.server.api.doors import behind
from isocenter.server.api.submissions import as_json
from isocenter.server.policy import Door
from isocenter.server.submitting.bearer import UnknownCaller
from isocenter.server.submitting.intake import Refused
from isocenter.server.submitting.limits import TooMany
from isocenter.server.submitting.uploads import UploadRefused

_log = logging.getLogger("isocenter.api")

api = NinjaAPI(
    title="isocenter",
    version="1",
    urls_namespace="api-1",
    description="Challenges, boards, data and submissions for programs, which find what their owner's pages show.",
    docs_url=None,
    openapi_url="",
)
for _router in (challenges.router, people.router, submissions.router):
    api.add_router("", _router)


@api.get("/openapi.json", include_in_schema=False, response=dict)
@behind(Door.ANYBODY)
def openapi(_: HttpRequest) -> dict[str, Any]:
    """The description of all operations, for programs that write programs."""
    return dict(api.get_openapi_schema())


@dataclass(frozen=True, slots=True)
class Listed:
    """An operation as the page for people lists it, and as a test walks it."""

    method: str
    path: str
    door: Door
    about: str
    group: str


def operations() -> Iterator[Listed]:
    """All operations, in their order; that of the API itself comes last."""
    routers = [router for _, router in api._routers]  # noqa: SLF001 (there is no public way to them)
    for router in (*routers[1:], routers[0]):
        for path, view in router.path_operations.items():
            for one in view.operations:
                about = (one.view_func.__doc__ or "").replace("`", "").strip()
                tags = one.tags or router.tags or ["The API itself"]
                for method in one.methods:
                    yield Listed(method, path, getattr(one.view_func, "door", Door.STAFF), about, tags[0])


def failure(request: HttpRequest, detail: str, status: int, problems: Sequence[Any] = ()) -> HttpResponse:
    """An answer that says why not."""
    return api.create_response(request, {"detail": detail, "problems": list(problems)}, status=status)


@api.exception_handler(Http404)
def _missing(request: HttpRequest, _: Http404) -> HttpResponse:
    return failure(request, "There is no such thing here.", 404)


@api.exception_handler(PermissionDenied)
def _denied(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
    return failure(request, str(error) or "You may not do this.", 403)


@api.exception_handler(Refused)
def _refused(request: HttpRequest, error: Refused) -> HttpResponse:
    return failure(request, str(error), 422, [as_json(problem) for problem in error.problems])


@api.exception_handler(UploadRefused)
def _upload_refused(request: HttpRequest, error: UploadRefused) -> HttpResponse:
    return failure(request, str(error), error.status)


@api.exception_handler(UnknownCaller)
def _unknown(request: HttpRequest, error: UnknownCaller) -> HttpResponse:
    response = failure(request, str(error), 401)
    response.headers["WWW-Authenticate"] = "Bearer"
    return response


@api.exception_handler(TooMany)
def _too_many(request: HttpRequest, error: TooMany) -> HttpResponse:
    response = failure(request, str(error), 429)
    response.headers["Retry-After"] = str(error.wait)
    return response


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    problems = [
        {"severity": "refused", "code": "refused", "message": str(one["msg"]), "file": ".".join(map(str, one["loc"]))}
        for one in error.errors
    ]
    said = "; ".join(f"{problem['file']}: {problem['message']}" for problem in problems)
    return failure(request, f"The request is not as it should be: {said}.", 422, problems)


@api.exception_handler(HttpError)
def _http(request: HttpRequest, error: HttpError) -> HttpResponse:
    return failure(request, str(error), error.status_code)


@api.exception_handler(Exception)
def _broken(request: HttpRequest, error: Exception) -> HttpResponse:
    _log.error("%s %s", request.method, request.path, exc_info=error)
    return failure(request, "An error of this site; it is in its log. Try again later.", 500)
