"""What the script of a case asks for: its scans, and that a draft is kept."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare

from isocenter.server.pages.reading.case import read_of
from isocenter.server.pages.reading.given import given_of
from isocenter.server.pages.reading.visiting import turn_of
from isocenter.server.policy import POST, Door, Visit, door
from isocenter.server.reading import answering, own, scans
from isocenter.server.reading.marks import Unreadable
from isocenter.server.reading.turns import Turn

_AGAIN = 1  # seconds after which it is worth asking for a scan again
_GONE = "This case is handed in already, or cannot be read any more."


@door(Door.READER, POST)
def draft(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Keep a draft; says which revision it is.

    With 409 it says what another window has saved since, with 410 that it is not the turn of the case any more.
    """
    given, turn = given_of(request), turn_of(visit)
    if not isinstance(turn, Turn) or not constant_time_compare(given.seal, own.seal(turn)):
        return JsonResponse({"problems": [_GONE]}, status=410)
    try:
        answer = read_of(visit, turn, given, graded=False)
        read = answering.save(turn, answer, revision=given.revision, seconds=given.seconds)
    except Unreadable as why:
        return JsonResponse({"problems": why.problems}, status=400)
    except answering.Older as why:
        newer = {"revision": why.read.revision, "marks": why.read.marks, "score": why.read.score}
        return JsonResponse(newer, status=409)
    except answering.NotNow:
        return JsonResponse({"problems": [_GONE]}, status=410)
    return JsonResponse({"revision": read.revision, "seconds": round(read.seconds, 1)})


@door(Door.READER)
def scan(request: HttpRequest, visit: Visit, name: str) -> HttpResponse:
    """A scan of the case and stage that the page was made for, as long as it is their turn."""
    turn = turn_of(visit)
    if not isinstance(turn, Turn) or not constant_time_compare(request.GET.get("turn", ""), own.seal(turn)):
        raise Http404
    try:
        content = scans.scan(turn, name)
    except scans.Busy:
        words = {"problems": ["Others open scans just now."]}
        return JsonResponse(words, status=503, headers={"Retry-After": str(_AGAIN)})
    except (OSError, ValueError):
        return JsonResponse({"problems": ["The scan cannot be opened. Tell the organisers."]}, status=500)
    if content is None:
        raise Http404
    return HttpResponse(content, "application/gzip")
