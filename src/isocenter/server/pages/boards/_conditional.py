"""Answers that need not be sent again: the tag of an answer is made of what it shows, never of what it hides."""

from __future__ import annotations

import hashlib
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import get_conditional_response

import isocenter


def tag_of(*made_of: object) -> str:
    """A tag that is equal for answers with the same content."""
    return f'"{hashlib.sha256(repr(made_of).encode()).hexdigest()[:32]}"'


def page(request: HttpRequest, template: str, context: dict[str, Any], *, title: str) -> HttpResponse:
    """A page. Who is not signed in and has it already is told so, before it is rendered.

    All that the page shows beside the `title` of the challenge must be in the context, as values whose `repr` is the
    same if they are. The version of the challenge is not in the tag: one may differ in nothing that may be known. Pages
    of people who are signed in have their name and their unread messages on them, and are not kept by browsers at all.
    """
    if request.user.is_authenticated:
        return render(request, template, context)
    zone = timezone.get_current_timezone_name()
    tag = tag_of(isocenter.__version__, title, zone, request.get_full_path(), template, context)
    answer = get_conditional_response(request, etag=tag)
    if answer is None:
        answer = render(request, template, context)
    answer.headers["ETag"] = tag
    return answer


def file(request: HttpRequest, content: str, *, name: str, kind: str) -> HttpResponse:
    """A small file to download, or the news that it is still the same."""
    tag = tag_of(content)
    response = HttpResponse(content, content_type=kind)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["ETag"] = tag
    answer: HttpResponse = get_conditional_response(request, etag=tag, response=response)
    return answer
