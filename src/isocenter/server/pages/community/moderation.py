"""Organisers keep the forum: what they pin, close or hide is a decision, with its reason."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from isocenter.server import decisions
from isocenter.server.models import Post, Topic
from isocenter.server.pages.community.forum import found
from isocenter.server.policy import POST, Door, Visit, door

_DOES = {
    "pin": ("pinned", True),
    "unpin": ("pinned", False),
    "close": ("closed", True),
    "reopen": ("closed", False),
}
_NO_REASON = "Say why; the reason is kept with the decision."


@door(Door.ORGANISER, POST)
def moderate(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """Pin, close or hide a topic, or the other way round."""
    topic = found(visit, key)
    does, reason = request.POST.get("does", ""), request.POST.get("reason", "").strip()
    back = redirect("topic", visit.challenge.slug, topic.key)
    if does not in (*_DOES, "hide", "show"):
        raise Http404
    if not reason:
        messages.error(request, _NO_REASON)
        return back
    with transaction.atomic():
        if does in _DOES:
            field, value = _DOES[does]
            changed = Topic.objects.filter(pk=topic.pk, **{field: not value}).update(**{field: value})
        else:
            changed = topic.posts.filter(hidden=does == "show").update(hidden=does == "hide")
        if changed:
            decisions.record(visit.challenge, visit.user, f"{does} a topic", topic.title, reason)
    messages.success(request, "Done." if changed else "Nothing changed: it was so already.")
    return back


@door(Door.ORGANISER, POST)
def hide(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """Hide a post, or show it again; it stays for organisers to see."""
    post = Post.objects.filter(key=key, topic__challenge=visit.challenge).select_related("topic", "author").first()
    if post is None:
        raise Http404
    reason, hidden = request.POST.get("reason", "").strip(), request.POST.get("does") == "hide"
    if not reason:
        messages.error(request, _NO_REASON)
    else:
        with transaction.atomic():
            changed = Post.objects.filter(pk=post.pk, hidden=not hidden).update(hidden=hidden)
            if changed:
                whose = "somebody" if post.author is None else str(post.author)
                what = "hide a post" if hidden else "show a post"
                decisions.record(visit.challenge, visit.user, what, f"of {whose} on {post.topic.title}"[:300], reason)
        messages.success(request, "Done." if changed else "Nothing changed: it was so already.")
    return redirect(f"{reverse('topic', args=[visit.challenge.slug, post.topic.key])}#post-{post.key}")
