"""The submissions of an edition: as submissions.csv lists them, or as the tables in scores/ are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from isocenter import contest
from isocenter.editions import Edition, Phase
from isocenter.papers._rows import read_rows

_COLUMNS = {"team", "table", "phase", "time", "role", "outputs", "void", "chosen", "builds_on"}
_ROLES = ("team", "organiser", "benchmark")


@dataclass(frozen=True, eq=False, kw_only=True)
class Entry(contest.Entry):
    """A submission of an edition: with its phase, its outputs where they are at hand, and what it builds on.

    `builds_on` names teams whose solutions of an earlier phase it was made from.
    """

    table: Path
    phase: str
    outputs: Path | None = None
    builds_on: tuple[str, ...] = ()


def entries_listed(path: Path, edition: Edition) -> tuple[list[Entry], list[str]]:
    """The submissions as submissions.csv has them, in its order, and everything that is wrong with it."""
    rows = read_rows(path)
    if not rows:
        return [], [f"{path.name} lists no submission"]
    problems = [f"{path.name} has no column {name!r}" for name in ("team", "table") if name not in rows[0]]
    problems += [
        f"{path.name}: {name!r} is none of its columns ({', '.join(sorted(_COLUMNS))})"
        for name in rows[0]
        if name not in _COLUMNS
    ]
    if problems:
        return [], problems
    phases = {phase.name: phase for phase in edition.phases}
    entries = [
        _entry(row, path.parent, phases, edition.last_phase.name, where=f"{path.name}, row {number}", problems=problems)
        for number, row in enumerate(rows, start=1)
    ]
    return entries, problems + _contradictions(entries)


def entries_found(home: Path, phase: str) -> list[Entry]:
    """A team for every table in scores/, and for every folder of tables there: its submissions in their order."""
    entries = []
    for path in sorted((home / "scores").glob("*")):
        tables = sorted(path.glob("*.parquet")) if path.is_dir() else [path] if path.suffix == ".parquet" else []
        team = path.name if path.is_dir() else path.stem
        entries += [
            Entry(team=team, table=table, file=table.name, phase=phase, outputs=find_outputs(home, team))
            for table in tables
        ]
    return entries


def _entry(
    row: Mapping[str, str], home: Path, phases: Mapping[str, Phase], last: str, *, where: str, problems: list[str]
) -> Entry:
    """A row of the list; what is wrong with it is added to the problems."""
    phase, role = row.get("phase") or last, row.get("role") or "team"
    if not row["team"] or not row["table"]:
        problems.append(f"{where}: a submission has a team and a table")
    if phase not in phases:
        problems.append(f"{where}: there is no phase {phase!r}; there are {', '.join(phases)}")
    if role not in _ROLES:
        problems.append(f"{where}: {role!r} is none of {', '.join(_ROLES)}")
    void, chosen = (_yes(row.get(name, ""), where, problems) for name in ("void", "chosen"))
    if void and chosen:
        problems.append(f"{where}: a submission that does not count cannot be the chosen one")
    return Entry(
        team=row["team"] or "…",  # a list without it is refused
        table=home / row["table"],
        file=Path(row["table"]).name,
        phase=phase,
        moment=_time(row.get("time", ""), None if void else phases.get(phase), where, problems),
        role="organiser" if role == "organiser" else "benchmark" if role == "benchmark" else "team",
        outputs=home / row["outputs"] if row.get("outputs") else find_outputs(home, row["team"]),
        void=void,
        chosen=chosen,
        builds_on=tuple(filter(None, (part.strip() for part in row.get("builds_on", "").split(";")))),
    )


def _time(text: str, phase: Phase | None, where: str, problems: list[str]) -> datetime | None:
    """When a submission was made: within its phase, unless it does not count."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        problems.append(f"{where}: {text!r} is no time, such as 2020-06-01T12:00:00Z")
        return None
    if time.utcoffset() is None:
        problems.append(f"{where}: {text} has no time zone, such as 2020-06-01T12:00:00Z")
    elif phase is not None and not phase.opens <= time < phase.closes:
        problems.append(
            f"{where}: {text} is not in the phase {phase.name}, which is open from {phase.opens.isoformat()} to "
            f"{phase.closes.isoformat()}; what came too late is void"
        )
    return time


def _contradictions(entries: Sequence[Entry]) -> list[str]:
    """What no single row says."""
    roles: dict[tuple[str, str], set[str]] = {}
    for entry in entries:
        roles.setdefault((entry.team, entry.phase), set()).add(entry.role)
    said = [
        f"{team} is {' and '.join(sorted(both))} in {phase}: a team has one role"
        for (team, phase), both in roles.items()
        if len(both) > 1
    ]
    chosen = Counter((entry.team, entry.phase) for entry in entries if entry.chosen)
    said += [f"{team} chose {n} submissions of {phase}, not one" for (team, phase), n in chosen.items() if n > 1]
    rows = Counter((entry.team, str(entry.table), entry.phase) for entry in entries)
    said += [f"{team}: {table} is listed {n} times in {phase}" for (team, table, phase), n in rows.items() if n > 1]
    return said


def find_outputs(home: Path, team: str) -> Path | None:
    """The files of a team, directly in submissions/: its name is no path."""
    folder = home / "submissions"
    at_hand = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    return next((folder / name for name in (team, f"{team}.zip") if name in at_hand), None)


def _yes(text: str, where: str, problems: list[str]) -> bool:
    if text.lower() not in ("", "yes", "no", "true", "false", "1", "0"):
        problems.append(f"{where}: {text!r} is neither yes nor no")
    return text.lower() in ("yes", "true", "1")
