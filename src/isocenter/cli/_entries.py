"""TEAM=TABLE arguments of the command line → a contest, for every command that ranks or compares teams."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from isocenter.cli._arguments import setting

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import polars as pl

    from isocenter.cli._arguments import Setting
    from isocenter.contest import Contest, Counted, Entry
    from isocenter.evaluation import Challenge
    from isocenter.ranking import Role, Rule

_HINT = "TEAM=TABLE"
_ROLE_OPTIONS: tuple[tuple[str, Role], ...] = (("--organiser", "organiser"), ("--benchmark", "benchmark"))

TeamTables = Annotated[
    list[str],
    typer.Argument(
        metavar="TEAM=TABLE…",
        help="Score tables by team, as `isocenter score` wrote them; of several, the one that counts.",
    ),
]
BoardName = Annotated[str | None, typer.Option(help="Which board of the challenge.", show_default="the first")]
Organiser = Annotated[
    list[str] | None, typer.Option(help="A team of the organisers' institutes, which does not compete.")
]
Benchmark = Annotated[list[str] | None, typer.Option(help="A row that does not compete.")]


class Named(NamedTuple):
    """An argument TEAM=TABLE or TEAM@TIME=TABLE, taken apart."""

    team: str
    moment: datetime | None
    path: str


@dataclass(frozen=True)
class Opened:
    """A contest read from the command line.

    Attributes
    ----------
    board
        The board that is meant.
    record
        What the score tables have in common: challenge, version, policies, reference.
    remarks
        What an organiser should know, and does not belong on a board.
    """

    contest: Contest
    board: str
    record: dict[str, Any]
    remarks: list[str] = field(default_factory=list)

    @property
    def challenge(self) -> Challenge:
        """The challenge, with the rules of the phase in force."""
        return self.contest.challenge

    @property
    def rule(self) -> Rule:
        """The rule of the board."""
        return self.challenge.boards[self.board]

    @cached_property
    def counted(self) -> Counted:
        """The submissions that count on the board; where none of a team's does, the command ends."""
        from isocenter.cli._tables import give_up

        try:
            return self.contest.count(self.board)
        except ValueError as error:
            give_up(str(error), self.remarks)

    @property
    def scores(self) -> pl.DataFrame:
        """Their score tables as one."""
        return self.counted.scores

    @property
    def roles(self) -> dict[str, Role]:
        """Roles of the rows that do not take part as teams."""
        return self.counted.roles(self.challenge.participation)


def open_contest(
    challenge: str,
    arguments: Sequence[str],
    *,
    board: str | None = None,
    organiser: Sequence[str] | None = None,
    benchmark: Sequence[str] | None = None,
    chosen: Sequence[str] | None = None,
    void: Sequence[str] | None = None,
    phase: str | None = None,
    run_times: Path | None = None,
) -> Opened:
    """Read the tables that arguments name; what is wrong with them ends the command."""
    from isocenter.contest import Contest

    in_force = setting(challenge, phase=phase)
    which = in_force.challenge
    named, outside = _keep_those_of_the_phase(in_force, parse_arguments(arguments))
    marked = {
        option: _find_named(option, names or [], named) for option, names in (("--chosen", chosen), ("--void", void))
    }
    _refuse_several_choices(marked["--chosen"], named)
    teams = {one.team for one in named}
    roles = _roles_of({"--organiser": organiser, "--benchmark": benchmark}, teams)
    if board is not None and board not in which.boards:
        msg = f"{which.name} has no board {board!r}; it has {', '.join(which.boards)}"
        raise typer.BadParameter(msg, param_hint="--board")
    if run_times is not None and which.run_times is None:
        msg = f"{which.name} does not rank by run time"
        raise typer.BadParameter(msg, param_hint="--run-times")
    tables, record, remarks = _read_tables(named, challenge=which.name)
    _refuse_other_cohorts(in_force, named, tables)
    entries = [
        _make_entry(
            one, table, role=roles.get(one.team, "team"), chosen=at in marked["--chosen"], void=at in marked["--void"]
        )
        for at, (one, table) in enumerate(zip(named, tables, strict=True))
    ]
    contest = Contest(which, entries, run_times)
    remarks += [*outside, *_quota_remarks(which, named)]
    try:
        remarks += contest.remarks
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    return Opened(contest, contest.find_board(board), record, remarks)


def parse_arguments(arguments: Sequence[str]) -> list[Named]:
    """Arguments taken apart; the submissions of a team all have a time, or none has."""
    named = [_parse_argument(argument) for argument in arguments]
    timed = {one.team for one in named if one.moment is not None}
    if mixed := sorted(timed & {one.team for one in named if one.moment is None}):
        msg = f"some submissions of {mixed[0]} have a time and some have none"
        raise typer.BadParameter(msg, param_hint="TEAM@TIME=TABLE")
    return named


def _parse_argument(argument: str) -> Named:
    named, equals, path = argument.partition("=")
    team, _, time = named.rpartition("@")
    try:
        moment = datetime.fromisoformat(time) if team else None
    except ValueError as error:
        if re.match(r"[0-9]{4}-[0-9]{2}", time):
            msg = f"{time} is no time: {error}"
            raise typer.BadParameter(msg, param_hint="TEAM@TIME=TABLE") from None
        moment = None  # an @ in the name of a team
    if moment is not None and moment.utcoffset() is None:
        msg = f"{time} has no zone; add the difference to UTC, as in 2022-06-01T12:00:00+02:00"
        raise typer.BadParameter(msg, param_hint="TEAM@TIME=TABLE")
    team = named if moment is None else team
    if not (equals and team and path):
        msg = f"{argument!r} should be TEAM=TABLE, for example radlab=radlab.parquet"
        raise typer.BadParameter(msg, param_hint=_HINT)
    return Named(team, moment, path)


def _keep_those_of_the_phase(in_force: Setting, named: Sequence[Named]) -> tuple[list[Named], list[str]]:
    """Submissions that were made while the named phase was open, and a remark on the others."""
    phase = in_force.phase
    if phase is None:
        return list(named), []
    outside = [one for one in named if one.moment is not None and not phase.opens <= one.moment < phase.closes]
    return [one for one in named if one not in outside], [
        f"{one.team}: the submission of {one.moment.isoformat()} is not of the phase {phase.name}."
        for one in outside
        if one.moment is not None
    ]


def _find_named(option: str, arguments: Sequence[str], named: Sequence[Named]) -> set[int]:
    """The positions of the tables that an option names as TEAM=TABLE."""
    positions = set()
    for argument in arguments:
        team, _, path = argument.partition("=")
        mine = {one.path: at for at, one in reversed(list(enumerate(named))) if one.team == team}
        if path not in mine:
            paths = ", ".join(one.path for one in named if one.team == team)
            msg = f"{argument!r} is none of the tables of {team} ({paths or 'none'})"
            raise typer.BadParameter(msg, param_hint=option)
        positions.add(mine[path])
    return positions


def _refuse_several_choices(chosen: Collection[int], named: Sequence[Named]) -> None:
    teams = [named[at].team for at in sorted(chosen)]
    for team in teams:
        if teams.count(team) > 1:
            msg = f"{team} has chosen {teams.count(team)} submissions; it has one to choose"
            raise typer.BadParameter(msg, param_hint="--chosen")


def _roles_of(options: dict[str, Sequence[str] | None], teams: Collection[str]) -> dict[str, Role]:
    """Roles of teams that an option names."""
    roles: dict[str, Role] = {}
    for option, role in _ROLE_OPTIONS:
        names = options[option] or ()
        if unknown := sorted(set(names) - set(teams)):
            msg = f"no table is given for {', '.join(unknown)}"
            raise typer.BadParameter(msg, param_hint=option)
        roles = dict.fromkeys(names, role) | roles
    return roles


def _make_entry(one: Named, table: pl.DataFrame, *, role: Role, chosen: bool, void: bool) -> Entry:
    from isocenter.contest import Entry

    return Entry(
        team=one.team, table=table, moment=one.moment, role=role, chosen=chosen, void=void, file=Path(one.path).name
    )


def _quota_remarks(challenge: Challenge, named: Sequence[Named]) -> list[str]:
    """That a quota by the week or day is not enforced for submissions without a time."""
    rules = challenge.participation
    teams = [one.team for one in named if one.moment is None]
    if rules.per == "phase" or all(teams.count(team) == 1 for team in teams):
        return []
    unenforced = "it is not enforced for teams whose submissions have no time (TEAM@2022-06-01T12:00:00Z=TABLE)"
    return [f"Note: the quota is {rules.quota} per {rules.per}; {unenforced}."]


def _refuse_other_cohorts(in_force: Setting, named: Sequence[Named], tables: Sequence[pl.DataFrame]) -> None:
    """Tables of another cohort than the phase's are of another phase."""
    phase = in_force.phase
    if phase is None or phase.cases is None:
        return
    sizes: dict[str, set[int]] = {}
    for one, table in zip(named, tables, strict=True):
        sizes.setdefault(one.team, set()).add(table["case"].n_unique() - ("" in table["case"]))
    if wrong := [team for team, counts in sizes.items() if counts != {phase.cases}]:
        counted = " and ".join(map(str, sorted(sizes[wrong[0]])))
        typer.echo(f"The phase {phase.name} has {phase.cases} cases, the tables of {wrong[0]} {counted}.", err=True)
        raise typer.Exit(1)


def _read_tables(named: Sequence[Named], *, challenge: str) -> tuple[list[pl.DataFrame], dict[str, Any], list[str]]:
    """Tables, what they have in common, and what an organiser should know of what they have not.

    Tables of another challenge or cohort do not belong together at all.
    """
    from isocenter import scores
    from isocenter.problems import printable

    tables: list[pl.DataFrame] = []
    records: dict[str, dict[str, Any]] = {}
    for team, _, path in named:
        if team != printable(team) or team != team.strip():
            msg = f"{printable(team)!r} is no name: it has blanks at its ends, or signs that cannot be printed"
            raise typer.BadParameter(msg, param_hint=_HINT)
        if not Path(path).is_file():
            msg = f"{team}: there is no table {path}; `isocenter score … --out {path}` writes one"
            raise typer.BadParameter(msg, param_hint=_HINT)
        record = records[path] = scores.read_record(path)
        if record.get("challenge", challenge) != challenge:
            typer.echo(f"{path} holds scores of {record['challenge']}, not of {challenge}", err=True)
            raise typer.Exit(1)
        tables.append(scores.read(path))
    _refuse_other_references(records)
    remarks = [
        f"Note: the tables were made {how}; score them all again to be sure that they compare."
        for how, name in (("by different versions of the code", "code"), ("under different policies", "policies"))
        if len({str(record.get(name)) for record in records.values()}) > 1
    ]
    common = next(iter(records.values()), {})
    return tables, {name: common.get(name, "") for name in ("challenge", "isocenter", "policies", "reference")}, remarks


def _refuse_other_references(records: dict[str, dict[str, Any]]) -> None:
    references = {path: record.get("reference", "") for path, record in records.items()}
    if len(set(references.values())) > 1:
        lines = "\n".join(f"  {path}: reference {digest[:12] or 'unknown'}" for path, digest in references.items())
        typer.echo(f"The tables were not scored against one and the same reference:\n{lines}", err=True)
        raise typer.Exit(1)
