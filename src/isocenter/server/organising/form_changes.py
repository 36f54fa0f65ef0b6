"""What a change of terms and questions means for those who take part, and when it cannot be.

Terms are accepted by their version, so a version has one text for ever. Who has handed in has answered what was asked
then; a survey that a team can no longer fill in asks nothing new.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from isocenter.editions import Edition, EditionError, Question, Terms
from isocenter.server.editions import edition_of
from isocenter.server.models import Challenge


def form_changes(old: Edition, new: Edition) -> Iterator[tuple[str, str, str]]:
    """What is decided, on what, and the sentence that is told; only what asks something of those who take part."""
    yield from (("change the terms", "terms", text) for text in _terms(old, new))
    if asked := newly_required(old.survey, new.survey):
        yield "change the survey", "survey", f"The survey of your method has to answer, from now on: {_named(asked)}."
    if asked := newly_required(old.declarations, new.declarations):
        text = f"Every submission has to answer, from now on: {_named(asked)}."
        yield "change the declarations", "declarations", text


def _terms(old: Edition, new: Edition) -> Iterator[str]:
    if new.terms == old.terms:
        return
    if new.terms is None:
        yield "There are no terms to accept any more."
    elif old.terms is None:
        yield f"There are terms now, version “{new.terms.version}”; accept them before you submit again."
    elif new.terms.version != old.terms.version:
        yield f"The terms have a new version, “{new.terms.version}”; accept it before you submit again."
    elif new.terms.accepted_by != old.terms.accepted_by:
        who = "everybody in a team" if new.terms.accepted_by == "person" else "one member of each team"
        yield f"The terms have to be accepted by {who}."


def newly_required(old: Sequence[Question], new: Sequence[Question]) -> list[Question]:
    """The questions that need an answer and did not before."""
    before = {question.name for question in old if question.required}
    return [question for question in new if question.required and question.name not in before]


def _named(questions: Sequence[Question]) -> str:
    return ", ".join(f"“{question.label}”" for question in questions)


def form_breaks(challenge: Challenge, old: Edition, new: Edition, *, now: datetime) -> Iterator[str]:
    """Why a change of terms or questions cannot be."""
    if new.terms is not None and new.terms != old.terms and _worded_otherwise(challenge, old, new.terms):
        yield (
            f"The text of the terms changed, so their version must change too: people accepted {new.terms.version!r} "
            "in other words."
        )
    ends, asked = max(phase.closes for phase in new.phases), newly_required(old.survey, new.survey)
    if asked and now >= ends and challenge.submissions.exists():
        yield (
            f"The survey is closed with the last phase, so nobody can answer {_named(asked)}, and every submission to "
            "that phase would be void. Let it be optional."
        )


def _worded_otherwise(challenge: Challenge, old: Edition, terms: Terms) -> bool:
    """Whether the version has another text now, or had another one that somebody accepted."""
    if old.terms is not None and old.terms.version == terms.version:
        return old.terms.text != terms.text
    if not challenge.registrations.filter(terms_version=terms.version).exists():
        return False
    return any(
        one is not None and one.version == terms.version and one.text != terms.text for one in _terms_before(challenge)
    )


def _terms_before(challenge: Challenge) -> Iterator[Terms | None]:
    for key in challenge.versions.values_list("pk", flat=True):
        try:
            yield edition_of(key).terms
        except EditionError:  # a version that today's model does not read
            continue
