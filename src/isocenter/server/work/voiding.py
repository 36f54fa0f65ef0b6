"""Which submissions do not count on boards, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from isocenter.editions import Edition, EditionError, TeamState, void_reasons
from isocenter.server.editions import edition_of
from isocenter.server.models import Submission, Team
from isocenter.server.standing import team_states


def void_reasons_of(submission: Submission) -> list[str]:
    """Why a submission does not count, in sentences for its team; none if it does."""
    return voids([submission])[submission.pk]


def voids(submissions: Iterable[Submission]) -> dict[object, list[str]]:
    """The same for many submissions, by their keys; all teams are looked at together."""
    every = list(submissions)
    # What organisers put up to compare with is nobody's entry: there is nobody to agree to terms.
    states = team_states({one.team_id: one.team for one in every if one.team.kind != Team.Kind.BENCHMARK}.values())
    found: dict[object, list[str]] = {}
    for one in every:
        reasons = []
        if one.void:
            reasons.append("The organisers decided that this submission does not count.")
        if one.team.disqualified:
            reasons.append("The team is disqualified.")
        if one.team_id in states:
            state = replace(states[one.team_id], declarations=one.declarations)
            reasons += _asked(_as_it_was_asked(one), state, one.phase)
        found[one.pk] = reasons
    return found


def _as_it_was_asked(submission: Submission) -> Edition:
    """The edition in force, with the declarations that were asked for when the submission was handed in."""
    edition = submission.challenge.edition
    try:
        then = edition_of(submission.version_id).declarations
    except EditionError:  # a version that today's model does not read
        return edition
    return edition if edition.declarations == then else edition.model_copy(update={"declarations": then})


def _asked(edition: Edition, state: TeamState, phase: str) -> list[str]:
    if all(one.name != phase for one in edition.phases):
        return [f"The challenge has no phase {phase} any more."]
    return void_reasons(edition, state, phase=phase)
