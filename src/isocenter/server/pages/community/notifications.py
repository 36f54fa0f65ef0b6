"""What happened that a person should know."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme

from isocenter.server import clock
from isocenter.server.policy import FORM, POST, Door, door

_ON_A_PAGE = 30


@door(Door.SIGNED_IN, FORM)
def notifications(request: HttpRequest) -> HttpResponse:
    """All of them, the newest first; posted to, all count as read.

    They have numbers of their own for everybody: the keys of rows would tell how many others were told in between.
    """
    mine = request.user.notifications.select_related("challenge").order_by("-pk")
    if request.method == "POST":
        mine.filter(read=None).update(read=clock.now())
        return redirect("notifications")
    page = Paginator(mine, _ON_A_PAGE).get_page(request.GET.get("page"))
    newest = page.paginator.count - page.start_index() + 1
    rows = [(newest - at, one) for at, one in enumerate(page)]
    return render(request, "isocenter/community/notifications.html", {"page": page, "rows": rows})


@door(Door.SIGNED_IN, POST)
def opened(request: HttpRequest, number: int) -> HttpResponse:
    """Count one as read, and go to what it is about."""
    mine = request.user.notifications.order_by("pk")
    if not 1 <= number <= mine.count():
        raise Http404
    one = mine[number - 1]
    if one.read is None:
        one.read = clock.now()
        one.save(update_fields=["read"])
    if one.url and "stay" not in request.POST and url_has_allowed_host_and_scheme(one.url, allowed_hosts=None):
        return redirect(one.url)
    return redirect("notifications")
