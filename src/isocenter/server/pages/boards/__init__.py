"""Boards, how a phase went on, prizes, and what was made of a challenge afterwards."""

from django.urls import path

from isocenter.server.pages.boards import _artefacts, _board, _files, _index, _prizes, _progress

urlpatterns = [
    path("c/<slug:slug>/boards/", _index.boards, name="boards"),
    path("c/<slug:slug>/boards/at/<str:digest>/", _board.snapshot, name="snapshot"),
    path("c/<slug:slug>/boards/<str:phase>/<str:board>/", _board.board, name="board"),
    path("c/<slug:slug>/boards/<str:phase>/<str:board>/board.csv", _files.board_csv, name="board_csv"),
    path("c/<slug:slug>/boards/<str:phase>/<str:board>/board.json", _files.board_json, name="board_json"),
    path("c/<slug:slug>/boards/<str:phase>/<str:board>/receipt.json", _files.board_receipt, name="board_receipt"),
    path("c/<slug:slug>/progress/<str:phase>/", _progress.progress, name="progress"),
    path("c/<slug:slug>/prizes/<str:phase>/bonus/", _prizes.bonus, name="bonus"),
    path("c/<slug:slug>/artefacts/<uuid:key>/", _artefacts.artefact, name="artefact"),
    path("c/<slug:slug>/artefacts/<uuid:key>/files/<path:name>", _artefacts.artefact_file, name="artefact_file"),
]
