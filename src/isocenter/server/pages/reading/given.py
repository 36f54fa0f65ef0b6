"""What a page of a case sends: as a form, or as JSON from its script. Nothing of it is checked here but its shape."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from django.http import HttpRequest


@dataclass(frozen=True)
class Given:
    """See the fields of the page; `seconds` are those since it was saved last."""

    seal: str
    revision: int
    seconds: float
    marks: object
    score: object
    sure: bool


def given_of(request: HttpRequest) -> Given:
    """What was sent; what has no sense is as if it had not been sent."""
    found = _json(request) if request.content_type == "application/json" else request.POST
    return Given(
        seal=str(found.get("turn", "")).encode("ascii", "replace").decode(),  # JSON may hold half a character
        revision=_whole(found.get("revision")),
        seconds=_number(found.get("seconds")),
        marks=found.get("marks", ""),
        score=found.get("score"),
        sure=found.get("sure") == "yes",
    )


def _json(request: HttpRequest) -> Mapping[str, object]:
    try:
        found = json.loads(request.body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _whole(value: object) -> int:
    """A revision; -1, which none is, for what is no number."""
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1


def _number(value: object) -> float:
    try:
        found = float(value) if isinstance(value, str | int | float) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return found if math.isfinite(found) else 0.0
