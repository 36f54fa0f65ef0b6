"""Whose submissions may be shown, in the phase that is reported and in those before it."""

from __future__ import annotations

from isocenter.papers._entries import Entry
from isocenter.papers._study import Study


def hidden(study: Study) -> set[str]:
    """Teams of the reported phase that no board lists: they are in no number of the report, whatever the phase.

    A submission that is void is no reason: its team is as good as absent from that phase, and stays in the others.
    """
    listed = {name for decided in study.boards.values() for name in decided.teams}
    # Where all submissions have rows, those of a team are called "team #1", "team #2".
    listed |= {team for team, _, number in (name.rpartition(" #") for name in listed) if number.isdecimal()}
    return {entry.team for entry in study.folder.of_phase() if not entry.void} - listed


def shown(study: Study, phase: str) -> list[Entry]:
    """The submissions of a phase that may be shown, in their order: no benchmarks, none that is void."""
    lists, secret = study.challenge.participation.lists, hidden(study)
    return [
        entry
        for entry in study.folder.of_phase(phase)
        if entry.role != "benchmark" and lists(entry.role) and not entry.void and entry.team not in secret
    ]


def competitor(study: Study) -> str:
    """What a row of a board is called: a team, or where each of its submissions has a row, a submission."""
    return "submission" if study.challenge.participation.counts == "all" else "team"
