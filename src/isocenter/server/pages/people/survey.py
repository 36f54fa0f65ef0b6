"""What a team says of its method."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from isocenter.server import people
from isocenter.server.models import SurveyAnswers
from isocenter.server.policy import FORM, Door, Visit, door


@door(Door.TEAM, FORM)
def survey(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The survey, one per team, to be saved as often as needed until the last phase closes."""
    asked = visit.edition.survey
    saved = SurveyAnswers.objects.filter(team=visit.team).first() if visit.team is not None else None
    form = people.questions_form(asked, None if saved is None else saved.answers)
    status = 200
    if request.method == "POST":
        given = people.read_answers(asked, request.POST)
        try:
            found = people.save_survey(visit, given)
        except people.NotPossible as why:
            messages.error(request, str(why))
            return redirect("survey", visit.challenge.slug)
        if isinstance(found, SurveyAnswers):
            messages.success(request, "The survey is saved.")
            return redirect("survey", visit.challenge.slug)
        form, status = people.questions_form(asked, given, problems=found), 400
    last = visit.edition.last_phase
    context = {
        "form": form,
        "saved": saved,
        "lacks": [] if visit.team is None else people.survey_lacks(visit, visit.team),
        "last": last if last in visit.phases else None,
        "tab": "team",
    }
    return render(request, "isocenter/people/survey.html", context, status=status)
