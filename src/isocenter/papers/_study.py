"""A folder with its boards made: what all chapters of a report draw from.

Everything here is about what may be shown. A team that the boards do not list is in no table, no count and no picture
of a report: `Study.scores` holds the listed submissions only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from isocenter.contest import Contest, Decision
from isocenter.editions import phase_of
from isocenter.evaluation import Challenge
from isocenter.papers._entries import Entry
from isocenter.papers._folder import Folder
from isocenter.papers._rows import FolderError
from isocenter.ranking import BoardRow

Move = Callable[[int, int, str], None]
"""Progress: how many of how many steps are done, and what is being done."""


def _nothing(_done: int, _total: int, _what: str) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the numbers that are drawn at random depend on."""

    replicates: int = 10_000
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class Study:
    """An edition whose phase is over, for chapters to be written about.

    Attributes
    ----------
    folder, settings
        What it is made of.
    move
        What chapters tell their progress to.
    """

    folder: Folder
    settings: Settings = Settings()
    move: Move = field(default=_nothing, compare=False)

    @property
    def challenge(self) -> Challenge:
        """With the rules of the phase in force."""
        return self.folder.challenge

    @cached_property
    def boards(self) -> dict[str, Decision]:
        """Every board of the phase that can be made, the main one first; nothing in it is of unlisted teams."""
        return {name: decision.listed() for name, decision in self._made[0].items()}

    @property
    def disqualified(self) -> list[BoardRow]:
        """The rows of the main board that are disqualified: their numbers may be told, not whose they are."""
        whole = next(iter(self._made[0].values()))
        return [row for row in whole.board.unlisted if row.disqualified]

    @property
    def decisive(self) -> bool:
        """Whether the main board is the one that the challenge declares as such: only it says who won."""
        return next(iter(self.challenge.boards)) in self.boards

    @property
    def unmade(self) -> dict[str, str]:
        """By board that cannot be made of the tables, why: for the organisers, as it may name who is not listed."""
        return self._made[1]

    @cached_property
    def _made(self) -> tuple[dict[str, Decision], dict[str, str]]:
        boards, unmade = {}, {}
        for name in self.challenge.boards:
            try:
                boards[name] = self._decide(name)
            except (ValueError, OverflowError) as error:
                unmade[name] = str(error)
        if not boards:
            raise FolderError(self.folder.path, [f"board {name}: {reason}" for name, reason in unmade.items()])
        return boards, unmade

    @property
    def main(self) -> Decision:
        """The board that decides; the first that can be made, where that one cannot."""
        return next(iter(self.boards.values()))

    @cached_property
    def outputs(self) -> dict[str, Entry]:
        """By listed team of the main board, the entry that counts, where its files are at hand."""
        rows = self.main.counted.rows
        entries = {team: entry for team, entry in rows.items() if isinstance(entry, Entry) and team == entry.team}
        return {team: one for team, one in entries.items() if one.outputs is not None and one.outputs.exists()}

    @cached_property
    def contest(self) -> Contest:
        """The submissions of the phase, with run times where they were metered."""
        challenge = self.challenge
        if phase_of(self.folder.edition, self.folder.phase).continues is not None:
            # Submissions of two phases stand here; the quota of each was kept when they were taken.
            rules = replace(challenge.participation, quota=None, per="phase")
            challenge = replace(challenge, participation=rules)
        metered = self.folder.file(f"run_times-{self.folder.phase}.csv") or self.folder.file("run_times.csv")
        return Contest(challenge, self.folder.of_phase(), metered if challenge.run_times is not None else None)

    @cached_property
    def cohorts(self) -> dict[str, Study]:
        """By name of a further cohort, the same edition on its cases.

        Which of several submissions of a team counts, the main board says once: nobody's best is chosen on a holdout
        set. Only where that one has no table in the cohort, those that have one are counted as the phase does.
        """
        counting = {(entry.team, entry.file) for entry in self.main.counted.rows.values()}
        studies = {}
        for name, folder in self.folder.cohorts.items():
            decided = {entry.team for entry in folder.of_phase() if (entry.team, entry.file) in counting}
            entries = [
                entry
                for entry in folder.entries
                if entry.phase != folder.phase or entry.team not in decided or (entry.team, entry.file) in counting
            ]
            studies[name] = replace(self, folder=replace(folder, entries=tuple(entries)))
        return studies

    def _decide(self, name: str) -> Decision:
        return self.contest.decide(
            name,
            resamples=self.settings.replicates,
            level=self.settings.level,
            seed=self.settings.seed,
            progress=lambda done, total: self.move(done, total, f"bootstrap of the cases for the board {name}"),
        )
