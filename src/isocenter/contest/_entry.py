"""An entry: one submission of one team, with all that decides whether and how it counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import get_args

import polars as pl

from isocenter import scores
from isocenter.ranking import Role


@dataclass(frozen=True, eq=False, kw_only=True)
class Entry:
    """One submission to a contest.

    Attributes
    ----------
    team
        Whose it is.
    table
        Its score table, or the Parquet file that holds it; None where the contest reads tables in its own way.
    moment
        When it was made, for quotas by the week or day. A team whose entries all have one is counted in their order,
        any other in the order in which they are listed.
    role
        What the team takes part as.
    chosen
        Whether the team chose it of its several, where that decides; the last one chosen is meant.
    void
        Whether it does not count, such as one without a survey that is asked for. It uses up the quota all the same.
    file
        The name of its table in a receipt.
    digest
        The hash of its table, where it is known; see `isocenter.ranking.table_digest`.
    alone
        By board, the score that it has without others, where that is known; see `score_alone`.
    """

    team: str
    table: pl.DataFrame | Path | None = None
    moment: datetime | None = None
    role: Role = "team"
    chosen: bool = False
    void: bool = False
    file: str = ""
    digest: str = ""
    alone: Mapping[str, float | None] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            msg = f"{self.team} takes part as one of {', '.join(get_args(Role))}, not as {self.role!r}"
            raise ValueError(msg)
        if not self.team:
            msg = "an entry has the name of its team"
            raise ValueError(msg)


Tables = pl.DataFrame | Path | Sequence[pl.DataFrame | Path]
"""The score table of a team, or those of all its submissions; as tables, or as Parquet files."""


def make_entries(
    tables: Mapping[str, Tables] | Iterable[Entry],
    *,
    organisers: Collection[str] = (),
    benchmarks: Collection[str] = (),
) -> list[Entry]:
    """The entries of teams whose tables are given by name; entries are given back as they are.

    Parameters
    ----------
    tables
        By team its table or the file that holds it, or those of all its submissions in the order they were made.
    organisers, benchmarks
        Teams of the organisers' institutes, and rows to compare with. Entries say so themselves.
    """
    if not isinstance(tables, Mapping):
        entries = list(tables)
        _check_entries(entries)
        if organisers or benchmarks:
            msg = "entries say themselves what their team takes part as: Entry(team=…, role='organiser')"
            raise ValueError(msg)
        return entries
    roles = assign_roles(tables, organisers=organisers, benchmarks=benchmarks)
    return [
        Entry(team=team, table=table, role=roles.get(team, "team"))
        for team, its in tables.items()
        for table in ([its] if isinstance(its, pl.DataFrame | Path) else its)
    ]


def _check_entries(entries: Sequence[Entry]) -> None:
    for entry in entries:
        if not isinstance(entry, Entry):
            msg = f"a contest is made of entries, Entry(team=…, table=…), or of tables by team; not of {entry!r:.60}"
            raise TypeError(msg)
    if len(set(entries)) < len(entries):
        twice = next(entry for at, entry in enumerate(entries) if entry in entries[:at])
        msg = f"an entry is listed twice: one of {twice.team!r}"
        raise ValueError(msg)


def assign_roles(
    teams: Collection[str], *, organisers: Collection[str], benchmarks: Collection[str]
) -> dict[str, Role]:
    """Roles of teams that do not take part as such; a role of a team that has no scores is an error."""
    for role, names in (("organiser", organisers), ("benchmark", benchmarks)):
        if unknown := sorted(set(names) - set(teams)):
            msg = f"there are no scores of the {role} {', '.join(unknown)}"
            raise ValueError(msg)
    roles: dict[str, Role] = dict.fromkeys(benchmarks, "benchmark")
    roles |= dict.fromkeys(organisers, "organiser")
    return roles


def group_by_team(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """The entries of every team in their order; a team has one role, and no name that a row of another could have."""
    by_team: dict[str, list[Entry]] = {}
    for entry in entries:
        by_team.setdefault(entry.team, []).append(entry)
    for team, its in by_team.items():
        if len(roles := {entry.role for entry in its}) > 1:
            msg = f"{team} is {' and '.join(sorted(roles))}: a team has one role"
            raise ValueError(msg)
        # Where all submissions have rows, they are called "team #1"; nobody else may be called so.
        other, _, number = team.rpartition(" #")
        if number.isdecimal() and other in by_team:
            msg = f"a team cannot be called {team!r}: so is a submission of {other!r}"
            raise ValueError(msg)
    return by_team


def read_tables(entries: Sequence[Entry]) -> list[pl.DataFrame]:
    """The checked tables of entries, each with the name of its team in the first column."""
    return [label_table(_read_table(entry), entry.team) for entry in entries]


def label_table(table: pl.DataFrame, team: str) -> pl.DataFrame:
    """A checked table of one submission with the name of its team in the first column."""
    if not isinstance(table, pl.DataFrame):
        msg = f"the scores of {team!r} are a {type(table).__name__}; isocenter.scores.read(path) reads a table"
        raise TypeError(msg)
    table = scores.check(table, name=f"the score table of {team!r}")
    count = table["submission"].n_unique() if "submission" in table.columns else 1
    if count > 1:
        msg = f"the score table of {team!r} holds {count} submissions; give each as its own team"
        raise ValueError(msg)
    return table.select(pl.lit(team).alias("submission"), pl.exclude("submission"))


def _read_table(entry: Entry) -> pl.DataFrame:
    if entry.table is None:
        msg = f"an entry of {entry.team!r} has no table, and the contest has no other way to read it"
        raise TypeError(msg)
    return scores.read(entry.table) if isinstance(entry.table, Path) else entry.table
