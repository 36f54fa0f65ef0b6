"""The forum: the one channel to the organisers, so that all see the same answers."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, Max, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from isocenter.server import clock, notices
from isocenter.server.models import Post, Role, Subscription, Topic, User
from isocenter.server.policy import FORM, POST, Door, Visit, door
from isocenter.server.submitting import limits

_TITLE = 200
_TEXT = 20_000
_TOPICS = 30
_POSTS = 25
_POSTING = limits.Limit("posts", 10, seconds=600)


def topics_of(visit: Visit) -> QuerySet[Topic]:
    """The topics that the visitor may see: one of which everything is hidden is there for organisers only."""
    seen = Q() if visit.organises else Q(posts__hidden=False)
    every = Topic.objects.filter(challenge=visit.challenge).select_related("author")
    counted = every.annotate(answers=Count("posts", filter=seen), last=Max("posts__made", filter=seen))
    return counted.filter(answers__gt=0)


def posts_of(visit: Visit, topic: Topic) -> QuerySet[Post]:
    """The posts on a topic that the visitor may see."""
    every = topic.posts.select_related("author").order_by("made", "pk")
    return every if visit.organises else every.filter(hidden=False)


def found(visit: Visit, key: UUID) -> Topic:
    """A topic that the visitor may see."""
    topic = topics_of(visit).filter(key=key).first()
    if topic is None:
        raise Http404
    return topic


@door(Door.CHALLENGE)
def forum(request: HttpRequest, visit: Visit) -> HttpResponse:
    """All topics: pinned ones first, then by the last answer."""
    topics = topics_of(visit).order_by("-pinned", "-last", "-pk")
    words = " ".join(request.GET.get("q", "").split())[:100]
    if words:
        within = Q(posts__text__icontains=words) & (Q() if visit.organises else Q(posts__hidden=False))
        matching = Topic.objects.filter(Q(title__icontains=words) | within, challenge=visit.challenge).values("pk")
        topics = topics.filter(pk__in=matching)
    page = Paginator(topics, _TOPICS).get_page(request.GET.get("page"))
    context = {
        "tab": "forum",
        "page": page,
        "q": words,
        "organisers": _organisers(visit),
        "may_write": may_write(visit),
    }
    return render(request, "isocenter/community/forum.html", context)


def may_write(visit: Visit) -> bool:
    """Whether the visitor may write here."""
    return not visit.preview and (visit.organises or visit.accepted)


def _organisers(visit: Visit) -> set[int]:
    """The keys of those whose posts have the badge."""
    roles = Role.objects.filter(challenge=visit.challenge, kind=Role.Kind.ORGANISER)
    return {*roles.values_list("user", flat=True), *User.objects.filter(is_staff=True).values_list("pk", flat=True)}


@door(Door.REGISTERED, FORM)
def new_topic(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Ask something."""
    title, text = " ".join(request.POST.get("title", "").split()), request.POST.get("text", "").strip()
    problems = []
    if request.method == "POST":
        if not title or len(title) > _TITLE:
            problems.append(f"The title has 1 to {_TITLE} characters.")
        problems += _wrong(text) or _too_often(request, visit) if not problems else _wrong(text)
        if not problems:
            return _asked(request, visit, title, text)
    context = {"tab": "forum", "title": title, "text": text, "problems": problems}
    return render(request, "isocenter/community/new_topic.html", context, status=400 if problems else 200)


def _wrong(text: str) -> list[str]:
    return [] if text and len(text) <= _TEXT else [f"The text has 1 to {_TEXT:,} characters."]


def _too_often(request: HttpRequest, visit: Visit) -> list[str]:
    """Count something written; organisers answer as often as they like."""
    if visit.organises:
        return []
    try:
        limits.count(_POSTING, request, visit.user)
    except limits.TooMany as error:
        return [f"That was much in a short time. Try again in {timedelta(seconds=error.wait)}."]
    return []


def _asked(request: HttpRequest, visit: Visit, title: str, text: str) -> HttpResponse:
    with transaction.atomic():
        topic = Topic.objects.create(
            challenge=visit.challenge, title=title, author=visit.user, made=visit.now, touched=visit.now
        )
        Post.objects.create(topic=topic, author=visit.user, text=text, made=visit.now)
        Subscription.objects.create(topic=topic, user=visit.user)
        url = reverse("topic", args=[visit.challenge.slug, topic.key])
        others = [role.user for role in notices.organisers_of(visit.challenge) if role.user != visit.user]
        notices.notify(others, f"New in the forum: {title}", url=url, challenge=visit.challenge, mail=True)
    messages.success(request, "Your question is in the forum. You get a mail when somebody answers.")
    return redirect(url)


@door(Door.CHALLENGE)
def topic(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """A topic with its posts."""
    one = found(visit, key)
    paginator = Paginator(posts_of(visit, one), _POSTS)
    page = paginator.get_page(request.GET.get("page"))
    signed_in = visit.user.is_authenticated
    context = {
        "tab": "forum",
        "topic": one,
        "page": page,
        "organisers": _organisers(visit),
        "may_write": may_write(visit) and (not one.closed or visit.organises),
        "subscribed": signed_in and Subscription.objects.filter(topic=one, user=visit.user).exists(),
    }
    return render(request, "isocenter/community/topic.html", context)


@door(Door.REGISTERED, POST)
def reply(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """Answer; who follows the topic is told."""
    one = found(visit, key)
    if one.closed and not visit.organises:
        msg = "The organisers closed this topic; begin a new one."
        raise PermissionDenied(msg)
    text = request.POST.get("text", "").strip()
    back = reverse("topic", args=[visit.challenge.slug, one.key])
    if problems := _wrong(text) or _too_often(request, visit):
        messages.error(request, " ".join(problems))
        return redirect(back)
    with transaction.atomic():
        post = Post.objects.create(topic=one, author=visit.user, text=text, made=visit.now)
        Topic.objects.filter(pk=one.pk).update(touched=visit.now)
        following = Subscription.objects.filter(topic=one).exclude(user=visit.user).select_related("user")
        url = f"{back}{last_page(visit, one)}#post-{post.key}"
        said = f"New answer in the forum: {one.title}"
        notices.notify([each.user for each in following], said, url=url, challenge=visit.challenge, mail=True)
        Subscription.objects.get_or_create(topic=one, user=visit.user)
    return redirect(url)


def last_page(visit: Visit, topic: Topic) -> str:
    """The query of the page on which the last post stands."""
    pages = Paginator(posts_of(visit, topic), _POSTS).num_pages
    return f"?page={pages}" if pages > 1 else ""


@door(Door.REGISTERED, FORM)
def edit(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """Change what one wrote oneself."""
    post = (
        Post.objects.filter(key=key, topic__challenge=visit.challenge, author=visit.user)
        .select_related("topic")
        .first()
    )
    if post is None or (post.hidden and not visit.organises):
        raise Http404
    one = found(visit, post.topic.key)
    if one.closed and not visit.organises:
        msg = "The organisers closed this topic; nothing in it changes."
        raise PermissionDenied(msg)
    text = request.POST.get("text", post.text).strip()
    problems = _wrong(text) if request.method == "POST" else []
    if request.method == "POST" and not problems:
        if text != post.text:
            post.text, post.edited = text, clock.now()
            post.save(update_fields=["text", "edited"])
        return redirect(f"{reverse('topic', args=[visit.challenge.slug, one.key])}#post-{post.key}")
    context = {"tab": "forum", "topic": one, "text": text, "problems": problems}
    return render(request, "isocenter/community/edit_post.html", context, status=400 if problems else 200)


@door(Door.PERSON, POST)
def subscribe(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """Get mails about a topic, or no more."""
    one = found(visit, key)
    if request.POST.get("mails") == "yes":
        Subscription.objects.get_or_create(topic=one, user=visit.user)
    else:
        Subscription.objects.filter(topic=one, user=visit.user).delete()
    return redirect("topic", visit.challenge.slug, one.key)
