"""Which submission of every team counts on a board: the same that `isocenter.rank` would take of all of them.

A phase may have thousands of submissions. Their scores alone are kept with them, so their tables need not be read to
know which is the best of a team.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isocenter.server.models import Evaluation, Submission
from isocenter.server.work.score_tables import tables_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from isocenter.evaluation import Challenge as Code


@dataclass(frozen=True)
class Entry:
    """A submission with its evaluation, and whether it counts at all."""

    submission: Submission
    evaluation: Evaluation
    void: bool = False


@dataclass(frozen=True)
class Counted:
    """What a board is made of.

    Attributes
    ----------
    given
        By team, the entries whose tables are ranked, in the order they were made; void ones only where every entry has
        a row, which is named by its number.
    rows
        By the name of a row, the entry that it is about.
    """

    given: dict[str, list[Entry]] = field(default_factory=dict)
    rows: dict[str, Entry] = field(default_factory=dict)

    @property
    def void(self) -> dict[str, list[int]]:
        """By team, the positions of void entries, as `isocenter.rank` is told of them."""
        found = {team: [at for at, entry in enumerate(its) if entry.void] for team, its in self.given.items()}
        return {team: positions for team, positions in found.items() if positions}


def counted(code: Code, board: str, entries: Sequence[Entry]) -> Counted:
    """What of the entries of a phase, in the order they were made, a board is made of.

    A team that has to choose and has not, or whose choice is void, does not stand on the board yet.
    """
    found = Counted()
    rules = code.participation
    by_team: dict[str, list[Entry]] = {}
    for entry in entries:
        by_team.setdefault(entry.submission.team.name, []).append(entry)
    for team, every in by_team.items():
        its = [entry for entry in every if not entry.void]
        if not its:
            continue
        if rules.ladder is not None:
            found.given[team] = its
            if rules.counts not in ("all", "chosen"):
                found.rows[team] = its[_climbed(code, board, its)]
        elif rules.counts == "all":
            found.given[team] = every
            names = [f"{team} #{number}" if len(every) > 1 else team for number in range(1, len(every) + 1)]
            found.rows.update((name, entry) for name, entry in zip(names, every, strict=True) if not entry.void)
        elif one := _one(code, board, its):
            found.given[team] = one
            found.rows[team] = one[-1]
    return found


def _one(code: Code, board: str, its: list[Entry]) -> list[Entry]:
    """The one entry of a team that counts; all, where only `isocenter.rank` can say why none does."""
    from isocenter.metrics import catalogue
    from isocenter.ranking import counting, rounded

    match code.participation.counts:
        case "chosen":
            chosen = [entry for entry in its if entry.submission.nominated]
            return chosen or (its if len(its) == 1 and not _chose_another(its[0]) else [])
        case "best" if len(its) > 1:
            if any(board not in entry.evaluation.values for entry in its):
                return its
            better = catalogue.get(code.boards[board].metric).better
            values, few = [entry.evaluation.values[board] for entry in its], code.participation.decimals
            if few is not None:  # a team sees which one counts: by more digits than are shown it would learn them
                values = [None if value is None else rounded(value, few) for value in values]
            return [its[counting(values, quota=None, counts="best", better=better)]]
        case _:
            return [its[-1]]


def _chose_another(entry: Entry) -> bool:
    one = entry.submission
    return Submission.objects.filter(team=one.team_id, phase=one.phase, nominated=True).exclude(pk=one.pk).exists()


def _climbed(code: Code, board: str, its: list[Entry]) -> int:
    from isocenter.ranking import climb

    tables = tables_of([entry.evaluation for entry in its])
    assert code.participation.ladder is not None
    return climb([_named(tables[entry.evaluation.pk]) for entry in its], code.boards[board], code.participation.ladder)[
        0
    ]


def _named(table: pl.DataFrame) -> pl.DataFrame:
    """A table with the column that tells submissions apart."""
    import polars as pl

    return table.select(pl.lit("one").alias("submission"), pl.exclude("submission"))
