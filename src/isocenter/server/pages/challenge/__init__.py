"""What a challenge is: its home, rules, pages, versions, design and data."""

from __future__ import annotations

from django.urls import path

from isocenter.server.pages.challenge import data, documents, home, inside, training

urlpatterns = [
    path("c/<slug:slug>/", home.challenge, name="challenge"),
    path("c/<slug:slug>/rules/", documents.rules, name="rules"),
    path("c/<slug:slug>/design/", documents.design, name="design"),
    path("c/<slug:slug>/pages/<str:name>/", documents.page, name="page"),
    path("c/<slug:slug>/versions/", documents.versions, name="versions"),
    path("c/<slug:slug>/versions/<str:key>/", documents.version, name="version"),
    path("c/<slug:slug>/data/", data.data, name="data"),
    path("c/<slug:slug>/data/<uuid:key>/", data.download, name="download"),
    path("c/<slug:slug>/data/<uuid:key>/licence/", data.accept, name="accept_licence"),
    path("c/<slug:slug>/data/<uuid:key>/inside/", inside.inside, name="inside"),
    path("c/<slug:slug>/data/<uuid:key>/cases/<path:case>/", training.case, name="training_case"),
    path("c/<slug:slug>/data/<uuid:key>/cases/<path:case>/sight.json", training.sight, name="training_sight"),
    path("c/<slug:slug>/data/<uuid:key>/cases/<path:case>/<str:layer>.nii.gz", training.volume, name="training_volume"),
]
