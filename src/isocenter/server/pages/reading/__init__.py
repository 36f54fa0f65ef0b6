"""Pages of readers: their desk, the guide, and the case that they read now.

No address names a case: which one it is follows from who asks, and when.
"""

from django.urls import path

from isocenter.server.pages.reading import case, desk, drafts

urlpatterns = [
    path("c/<slug:slug>/reading/", desk.desk, name="reading"),
    path("c/<slug:slug>/reading/guide/", desk.guide, name="reading_guide"),
    path("c/<slug:slug>/reading/withdraw/", desk.withdraw, name="reading_withdraw"),
    path("c/<slug:slug>/reading/case/", case.case, name="reading_case"),
    path("c/<slug:slug>/reading/draft/", drafts.draft, name="reading_draft"),
    path("c/<slug:slug>/reading/scan/<str:name>/", drafts.scan, name="reading_scan"),
]
