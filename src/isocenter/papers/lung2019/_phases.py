"""The boards of all phases of an edition, as far as they may be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from isocenter.contest import find_bonus_leaders
from isocenter.editions import Phase
from isocenter.papers._folder import open_folder
from isocenter.papers._listed import hidden
from isocenter.papers._study import Settings, Study
from isocenter.ranking import Board, BoardRow


@dataclass(frozen=True)
class PhaseBoard:
    """The main board of a phase; teams that the reported phase does not list had no part in it."""

    phase: Phase
    board: Board
    leaders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By title of a bonus for the leader at a moment, who led then; none where the log does not tell."""
    unknown: str = ""
    """Why nobody is known to have led."""

    @property
    def ranked(self) -> list[BoardRow]:
        """The rows that have a rank, best first."""
        return [row for row in self.board.rows if row.rank is not None]


def phase_boards(study: Study) -> tuple[list[PhaseBoard], list[str]]:
    """The boards of the phases in their order, and why others are not among them."""
    found, notes, secret = [], [], hidden(study)
    for phase in sorted(study.folder.edition.phases, key=lambda one: one.closes):
        if phase.name == study.folder.phase:
            found.append(_with_leaders(study, phase))
        elif isinstance(other := _other(study, phase, secret), str):
            notes.append(f"{phase.title}: {other}")
        else:
            found.append(other)
    return found, notes


def _with_leaders(study: Study, phase: Phase) -> PhaseBoard:
    """The main board of a study with those who led at the moments of its bonuses."""
    edition = study.folder.edition
    if not study.decisive or not any(bonus.to == "leader" for bonus in edition.bonuses_of(phase.name)):
        return PhaseBoard(phase, study.main.board)
    try:
        leaders = find_bonus_leaders(edition, study.contest, phase=phase.name)
    except ValueError:  # which may name teams that are not listed
        return PhaseBoard(phase, study.main.board, unknown="not every submission has a time, or no board can be made")
    return PhaseBoard(phase, study.main.board, leaders)


def _other(study: Study, phase: Phase, secret: set[str]) -> PhaseBoard | str:
    """The board of another phase as if the secret teams had not taken part, or why there is none."""
    if all(entry.team in secret for entry in study.folder.of_phase(phase.name)):
        return "submissions.csv lists no submission of this phase."
    if (phase.ladder, phase.decimals) != (None, None):
        return "its board keeps scores back, so it is not shown here."
    try:
        folder = open_folder(study.folder.path, phase=phase.name)
        entries = tuple(entry for entry in folder.entries if entry.team not in secret)
        return _with_leaders(Study(replace(folder, entries=entries), Settings(replicates=0)), phase)
    except (ValueError, OSError):  # which may name teams that are not listed
        return "no board can be made of its score tables; a report of this phase says why."
