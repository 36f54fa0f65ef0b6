"""The forms of an edition, filled in: what was answered, what is missing, and when a submission is void for it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from isocenter.editions._answers import AnswerError, Value, is_blank, text_of, value_of
from isocenter.editions._challenge import phase_of
from isocenter.editions._model import Edition
from isocenter.editions._questions import AnyQuestion, Terms
from isocenter.schema import show

Asked = TypeVar("Asked", bound=AnyQuestion)


@dataclass(frozen=True, slots=True)
class Answers:
    """A form that is filled in as it should be.

    Attributes
    ----------
    values
        What is kept, by the names of the questions and in their order; a question without an answer is not there.
    """

    values: Mapping[str, Value]

    def texts(self) -> dict[str, str]:
        """The answers as the cells of a row of `participants.csv` or `survey.csv`; checked again, they are the same."""
        return {name: text_of(value) for name, value in self.values.items()}


@dataclass(frozen=True, slots=True)
class AnswerProblem:
    """One thing to put right in a form.

    Attributes
    ----------
    name, label
        Of the question; for an answer to no question of the form, its name and "".
    message
        A sentence with what was found and what may be written instead.
    """

    name: str
    label: str
    message: str


def check_answers(
    questions: Sequence[AnyQuestion], answers: Mapping[str, object], *, account_email: str = ""
) -> Answers | list[AnswerProblem]:
    """The answers to a form as they are kept, or everything that is wrong with them, in the order of the questions.

    Parameters
    ----------
    answers
        What was typed or sent, by the names of the questions.
    account_email
        The address of the account; given, an answer of the kind "email" must be the same, whatever its capitals.

    Examples
    --------
    >>> from isocenter.editions import Question
    >>> area = Question(name="area", label="Area", kind="choice", choices=("Physics", "Other…"), required=True)
    >>> check_answers([area], {"area": "other: dosimetry"})
    Answers(values={'area': 'Other: dosimetry'})
    >>> check_answers([area], {})
    [AnswerProblem(name='area', label='Area', message='is missing; this question needs an answer')]
    """
    values: dict[str, Value] = {}
    lacking = {question.name for question in missing(questions, answers)}
    problems: list[AnswerProblem] = []
    for question in questions:
        given = answers.get(question.name)
        if question.name in lacking:
            message = "is missing; this question needs an answer"
            problems.append(AnswerProblem(question.name, question.label, message))
        elif not is_blank(given):
            try:
                values[question.name] = value_of(question, given, account_email=account_email)
            except AnswerError as error:
                problems.append(AnswerProblem(question.name, question.label, str(error)))
    problems += _strangers(questions, answers)
    return problems or Answers(values)


def missing(questions: Sequence[Asked], answers: Mapping[str, object]) -> list[Asked]:
    """The questions that need an answer and have none."""
    return [question for question in questions if question.required and is_blank(answers.get(question.name))]


def _strangers(questions: Sequence[AnyQuestion], answers: Mapping[str, object]) -> Iterator[AnswerProblem]:
    names = [question.name for question in questions]
    for name in answers:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            meant = f"; did you mean {show(close[0])}?" if close else ""
            yield AnswerProblem(name, "", f"{show(name)} is no question of this form{meant}")


@dataclass(frozen=True, slots=True)
class TeamState:
    """What a team has done beside submitting.

    Attributes
    ----------
    members
        The names of the people in the team, as reasons call them.
    accepted
        The version of the terms that each of them has accepted last; who is not there has accepted none.
    survey
        The team's answers to the survey; None if it was never filled in.
    declarations
        The answers that came with the submission; None if there were none.
    """

    members: tuple[str, ...] = ()
    accepted: Mapping[str, str] = field(default_factory=dict)
    survey: Mapping[str, object] | None = None
    declarations: Mapping[str, object] | None = None


def void_reasons(edition: Edition, state: TeamState, *, phase: str | None = None) -> list[str]:
    """Why a submission does not count, in sentences; none if it does.

    Terms and declarations are asked for in every phase. The survey is asked for in the phase that closes last, whose
    board decides: earlier ones are there to try things out, and a method is described when it is finished.

    Parameters
    ----------
    phase
        The phase of the submission; the one that closes last if not said.

    Raises
    ------
    EditionError
        The edition has no such phase.
    """
    reasons = [] if edition.terms is None else [*_terms_reasons(edition.terms, state)]
    if phase_of(edition, phase) == edition.last_phase:
        reasons += _form_reasons("survey of the team", edition.survey, state.survey)
    return [*reasons, *_form_reasons("declaration of the submission", edition.declarations, state.declarations)]


def _terms_reasons(terms: Terms, state: TeamState) -> Iterator[str]:
    lacking = [name for name in state.members if state.accepted.get(name) != terms.version]
    everybody = terms.accepted_by == "person"
    if lacking and everybody:
        yield f"Version {show(terms.version)} of the terms is not accepted by {', '.join(lacking)}."
    elif len(lacking) == len(state.members):
        yield f"Version {show(terms.version)} of the terms is not accepted by anybody of the team."


def _form_reasons(form: str, questions: Sequence[AnyQuestion], answers: Mapping[str, object] | None) -> Iterator[str]:
    if questions and answers is None:
        yield f"The {form} is not filled in."
    elif lacking := missing(questions, answers or {}):
        yield f"The {form} lacks an answer to: {'; '.join(question.label for question in lacking)}."
