"""News of a challenge, as far as they are for whoever reads them."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed

from isocenter.server.markdown import rendered
from isocenter.server.models import Announcement, Registration
from isocenter.server.policy import Door, Visit, door

_IN_FEED = 30


def news_of(visit: Visit) -> list[Announcement]:
    """The announcements that are for the visitor, the newest first."""
    every = visit.challenge.announcements.select_related("author")
    if not visit.organises:
        known = ["", *(phase.name for phase in visit.phases)]
        every = every.filter(audience__in=audiences_of(visit), phase__in=known)
    return list(every)


def audiences_of(visit: Visit) -> list[str]:
    """Whose news somebody reads who does not organise."""
    audiences = [Announcement.Audience.PUBLIC]
    if visit.accepted:
        audiences.append(Announcement.Audience.REGISTERED)
        if visit.team is not None:
            audiences.append(Announcement.Audience.TEAMS)
    elif visit.registration is not None and visit.registration.state == Registration.State.WAITING:
        audiences.append(Announcement.Audience.WAITING)
    return [str(one) for one in audiences]


@door(Door.CHALLENGE)
def news(request: HttpRequest, visit: Visit) -> HttpResponse:
    """All news."""
    return render(request, "isocenter/community/news.html", {"tab": "news", "news": news_of(visit)})


@door(Door.CHALLENGE)
def item(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """One announcement."""
    for one in news_of(visit):
        if one.key == key:
            return render(request, "isocenter/community/news_item.html", {"tab": "news", "one": one})
    raise Http404


@door(Door.CHALLENGE)
def feed(request: HttpRequest, visit: Visit) -> HttpResponse:
    """What everybody may read, for programs that look for news; the same for whoever asks."""
    public = news_of(Visit(AnonymousUser(), visit.challenge, visit.now))[:_IN_FEED]

    def address(name: str, *args: str) -> str:
        return request.build_absolute_uri(reverse(name, args=[visit.challenge.slug, *args]))

    made = Atom1Feed(
        title=visit.edition.title,
        link=address("news"),
        feed_url=address("news_feed"),
        description=f"News of {visit.edition.title}",
        language="en",
    )
    for one in public:
        made.add_item(
            title=one.title,
            link=address("news_item", one.key),
            description=rendered(one.text),
            pubdate=one.made,
            updateddate=one.made,
            unique_id=address("news_item", one.key),
        )
    # Without news the generator would write the moment of the request.
    made.latest_post_date = lambda: public[0].made if public else visit.challenge.made
    return HttpResponse(made.writeString("utf-8"), content_type=made.content_type)
