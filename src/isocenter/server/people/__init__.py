"""People in a challenge: registration, terms, the voluntary part, the survey of a team, and who is near the organisers.

Other parts of the site take from here what they need of forms and answers, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.urls import reverse

from isocenter.editions import AnswerProblem, Question, check_answers, missing
from isocenter.server import clock
from isocenter.server.models import Challenge, Registration, SurveyAnswers, Team, User
from isocenter.server.people import returning, teams
from isocenter.server.people.conflicts import conflicts_of, flags_of
from isocenter.server.people.equity import put as put_equity
from isocenter.server.people.equity import release as release_equity
from isocenter.server.people.equity import tallies as equity_tallies
from isocenter.server.people.people_forms import QuestionsForm, questions_form, read_answers
from isocenter.server.people.teams import NotPossible, has_submitted
from isocenter.server.policy import Visit
from isocenter.server.standing import members_of, team_state

__all__ = [
    "NotPossible",
    "QuestionsForm",
    "accept_terms",
    "conflicts_of",
    "equity_tallies",
    "flags_of",
    "members_of",
    "put_equity",
    "questions_form",
    "read_answers",
    "register",
    "release_equity",
    "save_survey",
    "survey_lacks",
    "team_state",
    "terms_lack",
    "withdraw",
]

_TOLD_AGAIN = timedelta(days=1)  # who withdraws and asks again and again is one line a day


def register(visit: Visit, given: Mapping[str, object], *, terms: str | None) -> Registration | list[AnswerProblem]:
    """Register somebody, or save what they changed; or everything that is wrong with what they wrote.

    Parameters
    ----------
    given
        The answers to the questions of the edition, as they were sent.
    terms
        The version of the terms that was shown and accepted; None if they were not.

    Raises
    ------
    NotPossible
        Registration is over, or the organisers decided.
    """
    _may_register(visit)
    user, edition = _person(visit), visit.edition
    found = check_answers(edition.registration, given, account_email=user.email)
    problems = found if isinstance(found, list) else []
    if edition.terms is not None and not terms_lack(visit) and terms is None:
        terms = edition.terms.version  # accepted before
    if edition.terms is not None and terms != edition.terms.version:
        old = "they have changed since you opened this page; read them and accept them again"
        message = "accept them to take part" if terms is None else old
        problems = [*problems, AnswerProblem("terms", "Terms", message)]
    if isinstance(found, list) or problems:
        return problems
    answers = {name: list(value) if isinstance(value, tuple) else value for name, value in found.values.items()}
    return _registered(visit, user, answers)


def _registered(visit: Visit, user: User, answers: dict[str, Any]) -> Registration:
    now, terms = clock.now(), visit.edition.terms
    with transaction.atomic():
        Challenge.objects.select_for_update().get(pk=visit.challenge.pk)
        one, new = Registration.objects.get_or_create(user=user, challenge=visit.challenge, defaults={"made": now})
        asks = new or one.state == Registration.State.WITHDRAWN
        if asks:
            one.state = _first_state(visit, user)
            one.decided = None if one.state == Registration.State.WAITING else now
        one.answers = answers
        if terms is not None and one.terms_version != terms.version:
            one.terms_version, one.terms_accepted = terms.version, now
        if asks and one.state == Registration.State.ACCEPTED:
            returning.take_place(one)
        elif asks and one.state == Registration.State.WAITING and (one.told is None or now - one.told >= _TOLD_AGAIN):
            one.told = now
            _tell_organisers(visit, f"{user.name} asks to take part.")
        one.save()
    return one


def _first_state(visit: Visit, user: User) -> str:
    if returning.is_refused(visit.challenge, user):
        return Registration.State.REFUSED
    return Registration.State.WAITING if visit.challenge.approval else Registration.State.ACCEPTED


def accept_terms(visit: Visit, version: str) -> None:
    """That somebody who is registered accepts the terms, in the version that they were shown."""
    terms, one = visit.edition.terms, visit.registration
    if terms is None or one is None:
        msg = "Register for the challenge first."
        raise NotPossible(msg)
    if version != terms.version:
        msg = "The terms have changed since you opened the page; read them and accept them again."
        raise NotPossible(msg)
    one.terms_version, one.terms_accepted = terms.version, clock.now()
    one.save(update_fields=["terms_version", "terms_accepted"])


def terms_lack(visit: Visit) -> bool:
    """Whether somebody has yet to accept the terms as they are now."""
    terms, one = visit.edition.terms, visit.registration
    return terms is not None and (one is None or one.terms_version != terms.version)


def withdraw(visit: Visit) -> None:
    """Take part no longer. Who is in a team that has submitted keeps the place, see `teams`; else they leave it."""
    one = visit.registration
    if one is None or one.state not in (Registration.State.ACCEPTED, Registration.State.WAITING):
        msg = "You do not take part."
        raise NotPossible(msg)
    with transaction.atomic():
        if visit.membership is not None:
            team = visit.membership.team
            others = teams.active_members(team).exclude(pk=visit.membership.pk)
            if has_submitted(team) and visit.leads and others.exists():
                msg = f"You lead the team “{team.name}”, which has submitted; let another member lead it first."
                raise NotPossible(msg)
            if not has_submitted(team):
                teams.leave(visit)
        one.state, one.decided = Registration.State.WITHDRAWN, clock.now()
        one.save(update_fields=["state", "decided"])


def _may_register(visit: Visit) -> None:
    one = visit.registration
    if one is not None and one.state == Registration.State.REFUSED:
        msg = "The organisers did not accept your registration."
        raise NotPossible(msg)
    if visit.is_over:
        msg = "Registration is over: the last phase has closed."
        raise NotPossible(msg)


def _person(visit: Visit) -> User:
    assert isinstance(visit.user, User)
    return visit.user


def _tell_organisers(visit: Visit, text: str) -> None:
    from isocenter.server import notices

    notices.to_organisers(visit.challenge, text, url=reverse("organise", args=[visit.challenge.slug]))


def save_survey(visit: Visit, given: Mapping[str, object]) -> SurveyAnswers | list[AnswerProblem]:
    """Save what a team says of its method, as far as it is there; or what is wrong with what it wrote.

    An answer that is missing is no problem yet: it is asked for, until the survey is complete or the last phase closes.
    """
    if visit.team is None:
        msg = "Found a team or join one first; the survey is of a team."
        raise NotPossible(msg)
    if visit.is_decided:
        msg = "The last phase has closed; the survey stays as it is."
        raise NotPossible(msg)
    asked = [question.model_copy(update={"required": False}) for question in visit.edition.survey]
    found = check_answers(asked, given)
    if isinstance(found, list):
        return found
    answers = {name: list(value) if isinstance(value, tuple) else value for name, value in found.values.items()}
    saved, _ = SurveyAnswers.objects.update_or_create(
        team=visit.team, defaults={"answers": answers, "saved": clock.now()}
    )
    return saved


def survey_lacks(visit: Visit, team: Team) -> list[Question]:
    """The questions of the survey that a team has yet to answer."""
    saved = SurveyAnswers.objects.filter(team=team).first()
    return missing(visit.edition.survey, {} if saved is None else saved.answers)
