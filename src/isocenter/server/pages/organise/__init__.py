"""Pages of organisers: setting a challenge up, and running it.

setup         the way to a challenge that can be published
code          challenge.toml, pages, versions
guided        its phases, policies and prizes as forms
words         its title, terms and questions as forms
data          what submissions are measured against, and what is downloaded
people        participants, teams, requests, roles
reading       the reader study
submissions   what was handed in, and what is decided on it
publishing    results, prizes, code, reports
log           decisions and downloads
"""

from django.urls import path

from isocenter.server.pages.organise import (
    beginning,
    code,
    data,
    desk,
    guided,
    log,
    participants,
    profiles,
    publishing,
    reading,
    setup,
    submissions,
    teams,
    words,
    writing,
)

_HERE = "c/<slug:slug>/organise/"

urlpatterns = [
    path("new/", beginning.new_challenge, name="new_challenge"),
    path(_HERE, desk.desk, name="organise"),
    path(f"{_HERE}setup/", setup.setup, name="organise_setup"),
    path(f"{_HERE}setup/dry-run/", setup.dry_run, name="organise_dry_run"),
    path(f"{_HERE}setup/publish/", setup.publish, name="organise_publish"),
    path(f"{_HERE}code/", code.code, name="organise_code"),
    path(f"{_HERE}code/export/", code.export, name="organise_export"),
    path(f"{_HERE}code/import/", code.bring, name="organise_import"),
    path(f"{_HERE}code/phases/<str:phase>/", guided.phase, name="organise_phase"),
    path(f"{_HERE}code/policies/", guided.policies, name="organise_policies"),
    path(f"{_HERE}code/prizes/", guided.prizes, name="organise_prizes"),
    path(f"{_HERE}code/about/", words.about, name="organise_about"),
    path(f"{_HERE}code/terms/", words.terms, name="organise_terms"),
    path(f"{_HERE}code/questions/<str:form>/", words.questions, name="organise_questions"),
    path(f"{_HERE}code/questions/<str:form>/add/", words.question, name="organise_question_add"),
    path(f"{_HERE}code/questions/<str:form>/of/<str:name>/", words.question, name="organise_question"),
    path(f"{_HERE}pages/", writing.pages, name="organise_pages"),
    path(f"{_HERE}pages/<str:page>/", writing.page, name="organise_page"),
    path(f"{_HERE}data/", data.data, name="organise_data"),
    path(f"{_HERE}data/references/", data.reference, name="organise_reference"),
    path(f"{_HERE}data/releases/", data.release, name="organise_release"),
    path(f"{_HERE}data/releases/<uuid:key>/", data.edit_release, name="organise_release_edit"),
    path(f"{_HERE}participants/", participants.participants, name="organise_participants"),
    path(f"{_HERE}participants/participants.csv", participants.as_csv, name="organise_participants_csv"),
    path(f"{_HERE}roles/", participants.roles, name="organise_roles"),
    path(f"{_HERE}equity/", participants.equity, name="organise_equity"),
    path(f"{_HERE}teams/", teams.teams, name="organise_teams"),
    path(f"{_HERE}teams/<uuid:key>/", teams.team, name="organise_team"),
    path(f"{_HERE}requests/", teams.requests, name="organise_requests"),
    path(f"{_HERE}profiles/", profiles.profiles, name="organise_profiles"),
    path(f"{_HERE}requests/<uuid:key>/document/", teams.document, name="organise_document"),
    path(f"{_HERE}submissions/", submissions.submissions, name="organise_submissions"),
    path(f"{_HERE}submissions/again/", submissions.again, name="organise_again"),
    path(f"{_HERE}submissions/faults/", submissions.evaluator_faults, name="organise_faults"),
    path(f"{_HERE}submissions/benchmark/", submissions.benchmark, name="organise_benchmark"),
    path(f"{_HERE}submissions/<uuid:pk>/", submissions.submission, name="organise_submission"),
    path(f"{_HERE}reading/", reading.reading, name="organise_reading"),
    path(f"{_HERE}reading/cases/", reading.cases, name="organise_reading_cases"),
    path(f"{_HERE}reading/draw/", reading.draw, name="organise_reading_draw"),
    path(f"{_HERE}reading/close/", reading.close, name="organise_reading_close"),
    path(f"{_HERE}reading/key/", reading.key, name="organise_reading_key"),
    path(f"{_HERE}reading/export/", reading.download, name="organise_reading_export"),
    path(f"{_HERE}publishing/", publishing.publishing, name="organise_publishing"),
    path(f"{_HERE}decisions/", log.decided, name="organise_decisions"),
    path(f"{_HERE}decisions/decisions.csv", log.decided_csv, name="organise_decisions_csv"),
    path(f"{_HERE}decisions/decisions.json", log.decided_json, name="organise_decisions_json"),
    path(f"{_HERE}downloads/", log.downloads, name="organise_downloads"),
]
