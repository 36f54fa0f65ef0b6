"""Handing in, and what became of it: the form, the list, a submission, its cases, two of them side by side."""

from django.urls import path

from isocenter.server.pages.submissions import cases, comparison, detail, listing, submitting

urlpatterns = [
    path("c/<slug:slug>/submit/<str:phase>/", submitting.submit, name="submit"),
    path("c/<slug:slug>/submissions/", listing.submissions, name="submissions"),
    path("c/<slug:slug>/submissions/live/", listing.submissions_live, name="submissions_live"),
    path("c/<slug:slug>/submissions/nominate/", listing.nominate, name="nominate"),
    path("c/<slug:slug>/submissions/<uuid:key>/", detail.submission, name="submission"),
    path("c/<slug:slug>/submissions/<uuid:key>/cancel/", listing.cancel, name="cancel_submission"),
    path("c/<slug:slug>/submissions/<uuid:key>/file/", detail.file, name="submission_file"),
    path("c/<slug:slug>/submissions/<uuid:key>/scores.<str:form>", detail.scores, name="submission_scores"),
    path("c/<slug:slug>/submissions/<uuid:key>/problems.txt", detail.problems, name="submission_problems"),
    path("c/<slug:slug>/submissions/<uuid:key>/cases/<str:case>/", cases.case, name="case"),
    path("c/<slug:slug>/submissions/<uuid:key>/cases/<str:case>/sight.json", cases.case_sight, name="case_sight"),
    path(
        "c/<slug:slug>/submissions/<uuid:key>/cases/<str:case>/<str:layer>.nii.gz",
        cases.case_volume,
        name="case_volume",
    ),
    path("c/<slug:slug>/compare/", comparison.compare, name="compare"),
]
