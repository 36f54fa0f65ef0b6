"""The boards of all phases of an edition, as far as they may be shown."""

from __future__ import annotations

from dataclasses import dataclass

from isocenter.editions import Phase
from isocenter.papers._files import first_line
from isocenter.papers._folder import open_folder
from isocenter.papers._listed import hidden
from isocenter.papers._study import Settings, Study
from isocenter.ranking import Board, BoardRow


@dataclass(frozen=True)
class PhaseBoard:
    """The main board of a phase.

    Attributes
    ----------
    secret
        Teams that the reported phase does not list: they are shown in no phase.
    """

    phase: Phase
    board: Board
    secret: frozenset[str]

    @property
    def ranked(self) -> list[BoardRow]:
        """The rows that may be shown and have a rank, best first."""
        return [row for row in self.board.rows if row.rank is not None and row.submission not in self.secret]


def phase_boards(study: Study) -> tuple[list[PhaseBoard], list[str]]:
    """The boards of the phases in their order, and why others are not among them."""
    found, notes, secret = [], [], frozenset(hidden(study))
    for phase in sorted(study.folder.edition.phases, key=lambda one: one.closes):
        if phase.name == study.folder.phase:
            found.append(PhaseBoard(phase, study.main.board, secret))
        elif not study.folder.of_phase(phase.name):
            notes.append(f"{phase.title}: submissions.csv lists no submission of this phase.")
        elif (phase.ladder, phase.decimals) != (None, None):
            notes.append(f"{phase.title}: its board keeps scores back, so it is not shown here.")
        else:
            try:
                other = Study(open_folder(study.folder.path, phase=phase.name), Settings(replicates=0))
                board = other.main.board
            except ValueError as error:
                notes.append(f"{phase.title} has no board: {first_line(error, study)}")
                continue
            if other.challenge.participation.discreet:
                notes.append(f"{phase.title}: its board is not public.")
            else:
                found.append(PhaseBoard(phase, board, secret))
    return found, notes
