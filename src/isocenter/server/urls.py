"""Where everything is."""

from django.urls import include, path

from isocenter.server import api
from isocenter.server.hosting import fetching
from isocenter.server.pages import boards, challenge, community, front, organise, people, reading, staff, submissions
from isocenter.server.submitting import tus

urlpatterns = [
    path("", include(front)),
    path("accounts/", include("allauth.urls")),
    path("", include(people)),
    path("", include(challenge)),
    path("", include(submissions)),
    path("", include(boards)),
    path("", include(community)),
    path("", include(reading)),
    path("", include(organise)),
    path("staff/", include(staff)),
    path("", include(tus)),
    path("", include(api)),
    path("", include(fetching)),
]
