"""For programs: /api/v1, and a page that explains it.

    request ──▶ `doors.behind` ──▶ an operation ──▶ what a page would show of it, as JSON
                 token or session, limits, the same doors as pages

An answer that is no success is {"detail": a sentence, "problems": […]}. What somebody may not know of is 404.
"""

from django.urls import path

from isocenter.server.api.page import nothing, page
from isocenter.server.api.v1 import api

urlpatterns = [
    path("api/", page, name="api"),
    path("api/v1/", api.urls),
    path("api/v1/<path:rest>", nothing),
]
