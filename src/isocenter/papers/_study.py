"""A folder with its boards made: what all chapters of a report draw from.

Everything here is about what may be shown. A team that the boards do not list is in no table, no count and no picture
of a report: `Study.scores` holds the listed submissions only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from isocenter import doors
from isocenter.evaluation import Challenge
from isocenter.metrics import Metric, catalogue
from isocenter.papers._entries import Entry
from isocenter.papers._folder import Folder, read_table
from isocenter.papers._rows import FolderError
from isocenter.ranking import Board, RankUncertainty, Rule

Move = Callable[[int, int, str], None]
"""Progress: how many of how many steps are done, and what is being done."""


def _nothing(_done: int, _total: int, _what: str) -> None:
    """Progress that nobody watches."""


def _within(table: pl.DataFrame, counted: pl.DataFrame) -> bool:
    """Whether all rows of a table are among those that counted, which may have run times besides."""
    rows = table.drop("submission", strict=False)
    return rows.join(counted, on=rows.columns, how="anti", nulls_equal=True).is_empty()


@dataclass(frozen=True, slots=True)
class Settings:
    """What the numbers that are drawn at random depend on."""

    replicates: int = 10_000
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class Decided:
    """One board, the scores behind it, and what it does not know.

    Attributes
    ----------
    board
        With intervals, rank sets and chances of being first, where the rule knows them.
    scores
        The submission of every listed team that counts, as one table.
    uncertainty
        All draws; None where the rule knows none, or the phase shows little. It also holds teams that are not listed.
    """

    board: Board
    rule: Rule
    scores: pl.DataFrame
    uncertainty: RankUncertainty | None

    @property
    def metric(self) -> Metric:
        """What the score of the board is."""
        return catalogue.get(self.board.metric)

    @property
    def ranked(self) -> list[str]:
        """The listed teams that have a rank, best first."""
        return [row.submission for row in self.board.rows if row.rank is not None]

    @property
    def teams(self) -> list[str]:
        """All listed submissions, in the order of the board."""
        return [row.submission for row in self.board.rows]


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

    @property
    def boards(self) -> dict[str, Decided]:
        """Every board of the phase that can be made, the main one first."""
        return self._made[0]

    @property
    def decisive(self) -> bool:
        """Whether the main board is the one that the challenge declares as such: only it says who won."""
        return next(iter(self.challenge.boards)) in self.boards

    @property
    def unmade(self) -> dict[str, str]:
        """By board that cannot be made of the tables, why: for the organisers, as it may name who is not listed."""
        return self._made[1]

    @cached_property
    def _made(self) -> tuple[dict[str, Decided], dict[str, str]]:
        boards, unmade = {}, {}
        for name in self.challenge.boards:
            try:
                boards[name] = self._decided(name)
            except (ValueError, OverflowError) as error:
                unmade[name] = str(error)
        if not boards:
            raise FolderError(self.folder.path, [f"board {name}: {reason}" for name, reason in unmade.items()])
        return boards, unmade

    @property
    def main(self) -> Decided:
        """The board that decides; the first that can be made, where that one cannot."""
        return next(iter(self.boards.values()))

    @cached_property
    def outputs(self) -> dict[str, Entry]:
        """By listed team of the main board, the entry that counts, where its files are at hand."""
        found: dict[str, Entry] = {}
        for team in self.main.teams:
            mine = [entry for entry in self.folder.of_phase() if entry.team == team and not entry.void]
            counted = self.main.scores.filter(pl.col("submission") == team).drop("submission")
            # Which of several counts, the counting rule has decided; its table tells.
            entry = next((e for e in reversed(mine) if len(mine) == 1 or _within(read_table(e), counted)), None)
            if entry is not None and entry.outputs is not None and entry.outputs.exists():
                found[team] = entry
        return found

    @cached_property
    def _tables(self) -> dict[str, list[pl.DataFrame]]:
        """The tables of the phase by team, with run times where they were metered."""
        tables: dict[str, list[pl.DataFrame]] = {}
        for entry in self.folder.of_phase():
            tables.setdefault(entry.team, []).append(read_table(entry))
        metered = self.folder.file(f"run_times-{self.folder.phase}.csv") or self.folder.file("run_times.csv")
        if self.challenge.run_times is not None and metered is not None:
            rows, _ = self.challenge.run_times(metered, list(tables))
            tables = {team: [pl.concat([one, rows[team]]) for one in many] for team, many in tables.items()}
        return tables

    def _decided(self, name: str) -> Decided:
        entries = self.folder.of_phase()
        by_role = {role: {e.team for e in entries if e.role == role} for role in ("organiser", "benchmark")}
        how: dict[str, Any] = {
            "chosen": {team: at for team, at in self._positions(chosen=True).items() if at},
            "void": {team: at for team, at in self._positions(chosen=False).items() if at},
            "moments": self._moments(),
        }
        how["chosen"] = {team: at[-1] for team, at in how["chosen"].items()}
        roles: dict[str, Any] = {"organisers": by_role["organiser"], "benchmarks": by_role["benchmark"]}
        board = doors.rank(self.challenge, self._tables, board=name, **how, **roles)
        counted = doors.counting_scores(self.challenge, self._tables, board=name, **how)
        uncertainty = None
        if self.settings.replicates:
            board, uncertainty = doors.with_uncertainty(
                self.challenge,
                board,
                counted,
                replicates=self.settings.replicates,
                level=self.settings.level,
                seed=self.settings.seed,
                progress=lambda done, total: self.move(done, total, f"drawing cases for the board {name}"),
                **roles,
            )
        listed = [row.submission for row in board.rows]
        shown = counted.filter(pl.col("submission").is_in(listed))
        if self.challenge.participation.discreet:
            shown = shown.clear()
        return Decided(board, self.challenge.boards[name], shown, uncertainty)

    def _positions(self, *, chosen: bool) -> dict[str, list[int]]:
        """By team, which of its submissions are chosen, or void."""
        found: dict[str, list[int]] = {}
        for team in self._tables:
            mine = [entry for entry in self.folder.of_phase() if entry.team == team]
            found[team] = [at for at, entry in enumerate(mine) if (entry.chosen if chosen else entry.void)]
        return found

    def _moments(self) -> Mapping[str, list[Any]]:
        """By team the times of its submissions, where each has one."""
        found = {}
        for team in self._tables:
            times = [entry.time for entry in self.folder.of_phase() if entry.team == team]
            if all(time is not None for time in times):
                found[team] = times
        return found
