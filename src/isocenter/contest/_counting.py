"""Which entries count on a board: after quota and void, the last, the best, the chosen one, all, or the ladder's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from isocenter.contest._entry import Entry, group_by_team
from isocenter.contest._guard import guard_rule, rank_scores
from isocenter.metrics import catalogue
from isocenter.ranking import Note, Participation, Role, Rule, capabilities_of, climb, counting, rounded, within_quota
from isocenter.scores import SCHEMA

Unchosen = Literal["refuse", "wait"]
"""The fate of a team that has to choose a submission and has not.

"refuse": there is no board until it has. "wait": the team does not stand on the board yet.
"""

Read = Callable[[Sequence[Entry]], Sequence[pl.DataFrame]]
"""Reads the tables of entries, with the run times of their teams where these were metered."""


@dataclass(frozen=True, eq=False)
class Counted:
    """The entries that count on one board.

    Attributes
    ----------
    rows
        By the name of a row, its entry: the name of the team, or "team #2" where all submissions of a team count.
    scores
        Their tables as one, with the names of the rows in the column `submission`.
    shown
        By row, the score that a ladder shows in place of its own; empty without one.
    needed
        The entries that the counting rule has to see to come to this again, in their order.
    notes
        Teams that made more submissions than the quota admits.
    """

    rows: Mapping[str, Entry]
    scores: pl.DataFrame
    shown: Mapping[str, float]
    needed: tuple[Entry, ...]
    notes: tuple[Note, ...]

    def roles(self, rules: Participation) -> dict[str, Role]:
        """Roles of the rows that do not compete; organisers that may be ranked compete as teams."""
        return {
            name: entry.role
            for name, entry in self.rows.items()
            if entry.role == "benchmark" or (entry.role == "organiser" and rules.organisers != "ranked")
        }


def count_entries(
    entries: Sequence[Entry], rule: Rule, rules: Participation, *, board: str, read: Read, unchosen: Unchosen
) -> Counted:
    """The entries that count on a board.

    Parameters
    ----------
    rule, rules
        Of the board, and of taking part.
    board
        Its name, by which entries know their own score.
    """
    if rules.ladder is not None and rules.counts in ("all", "chosen"):
        msg = f"a ladder decides which submission is shown; it cannot be that {rules.counts!r} counts"
        raise ValueError(msg)
    pick = _Pick(rule, rules, board, read, unchosen)
    rows: dict[str, Entry] = {}
    shown: dict[str, float] = {}
    needed: list[Entry] = []
    notes: list[Note] = []
    for team, its in group_by_team(entries).items():
        admitted = admit_entries(its, rules)
        if len(admitted) < len(its):
            notes.append(_quota_note(team, len(its), len(admitted), rules))
        valid = [entry for entry in admitted if not entry.void]
        if rules.counts == "all" and valid:
            rows |= _name_all(team, its, valid)
            needed += its
        elif rules.ladder is not None and valid:
            rows[team], shown[team] = pick.climbed(valid)
            needed += valid
        elif valid and (one := pick.one(team, its, valid)) is not None:
            rows[team] = one
            needed.append(one)
    tables = read(list(rows.values()))
    named = [table.with_columns(pl.lit(name).alias("submission")) for name, table in zip(rows, tables, strict=True)]
    return Counted(
        rows=rows,
        scores=pl.concat(named) if named else pl.DataFrame(schema=SCHEMA),
        shown=shown,
        needed=tuple(needed),
        notes=tuple(notes),
    )


def admit_entries(entries: Sequence[Entry], rules: Participation) -> list[Entry]:
    """The entries of a team that its quota admits, in the order in which they were made."""
    moments = [entry.moment for entry in entries if entry.moment is not None]
    if len(moments) < len(entries):
        if moments and rules.quota is not None and rules.per != "phase":
            team = entries[0].team
            msg = f"some submissions of {team} have a time and some have none: a quota per {rules.per} needs all"
            raise ValueError(msg)
        return list(entries)[: rules.quota if rules.per == "phase" else None]
    admitted = within_quota(moments, quota=rules.quota, per=rules.per)
    order = sorted(range(len(entries)), key=lambda at: (moments[at], at))
    return [entries[at] for at in order if admitted[at]]


def _quota_note(team: str, made: int, admitted: int, rules: Participation) -> Note:
    others = "later ones" if rules.per == "phase" else "the others"
    return Note(f"{team}: {made} submissions, of which the quota admits {admitted}; {others} do not count", team)


def _name_all(team: str, its: Sequence[Entry], valid: Sequence[Entry]) -> dict[str, Entry]:
    """A row for each valid entry of a team: "team #2" is its second, whatever became of the first."""
    if len(its) == 1:
        return {team: its[0]}
    return {f"{team} #{number}": entry for number, entry in enumerate(its, start=1) if entry in valid}


@dataclass(frozen=True, slots=True)
class _Pick:
    """Picks the entry of a team that counts."""

    rule: Rule
    rules: Participation
    board: str
    read: Read
    unchosen: Unchosen

    def climbed(self, valid: Sequence[Entry]) -> tuple[Entry, float]:
        """The entry that a ladder shows, and as which score."""
        assert self.rules.ladder is not None
        tables = self.read(valid)
        with guard_rule(self.rule):
            at, score = climb(tables, self.rule, self.rules.ladder)
        return valid[at], score

    def one(self, team: str, its: Sequence[Entry], valid: Sequence[Entry]) -> Entry | None:
        """The one entry that counts; None for a team that waits, as it has not chosen."""
        match self.rules.counts:
            case "best":
                return self._best(valid)
            case "chosen":
                return self._chosen(team, its, valid)
            case _:
                return valid[-1]

    def _chosen(self, team: str, its: Sequence[Entry], valid: Sequence[Entry]) -> Entry | None:
        wishes = [at for at, entry in enumerate(its) if entry.chosen]
        wish = its[wishes[-1]] if wishes else None
        if wish in valid:
            return wish
        if wish is None and len(valid) == 1:  # a team that made a single one has chosen it
            return valid[0]
        if self.unchosen == "wait":
            return None
        if wish is not None:
            msg = f"{team} chose submission {wishes[-1] + 1}, which is none of those that count"
        else:
            msg = f"{team}: of {len(valid)} submissions the one counts that the team chose, and none is named"
        raise ValueError(msg)

    def _best(self, valid: Sequence[Entry]) -> Entry:
        """The best by the board's own score, of equals the later one."""
        if len(valid) == 1:
            return valid[0]
        with guard_rule(self.rule):
            relative = capabilities_of(self.rule).relative
        if relative:
            msg = (
                f"which submission is the best cannot be said by a score that depends on the other teams ({self.rule})"
            )
            raise ValueError(msg)
        better = catalogue.get(self.rule.metric).better
        values = [self._as_shown(score) for score in self._scores(valid)]
        return valid[counting(values, quota=None, counts="best", better=better)]

    def _scores(self, valid: Sequence[Entry]) -> list[float | None]:
        if all(self.board in entry.alone for entry in valid):
            return [entry.alone[self.board] for entry in valid]
        boards = [rank_scores(self.rule, table) for table in self.read(valid)]
        return [board[entry.team].score for board, entry in zip(boards, valid, strict=True)]

    def _as_shown(self, score: float | None) -> float | None:
        """A score as the board shows it: which one counts must not tell more digits than that."""
        if score is None or self.rules.decimals is None or not math.isfinite(score):
            return score
        return rounded(score, self.rules.decimals)
