"""Pages of people: their account, their registration in a challenge, their team and its survey."""

from django.urls import path

from isocenter.server.pages.people import account, registration, survey, team

urlpatterns = [
    path("account/", account.account, name="account"),
    path("account/tokens/", account.tokens, name="tokens"),
    path("account/tokens/<uuid:key>/revoke/", account.revoke, name="revoke_token"),
    path("account/delete/", account.erase, name="erase_account"),
    path("c/<slug:slug>/register/", registration.register, name="register"),
    path("c/<slug:slug>/register/voluntary/", registration.voluntary, name="voluntary"),
    path("c/<slug:slug>/register/withdraw/", registration.withdraw, name="withdraw"),
    path("c/<slug:slug>/terms/", registration.terms, name="terms"),
    path("c/<slug:slug>/team/", team.team, name="team"),
    path("c/<slug:slug>/team/access/<str:phase>/", team.access, name="access"),
    path("c/<slug:slug>/team/access/<uuid:key>/document/", team.document, name="access_document"),
    path("join/<str:secret>/", team.join, name="join"),
    path("c/<slug:slug>/survey/", survey.survey, name="survey"),
]
