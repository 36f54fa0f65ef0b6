"""The folder of an edition: what organisers keep of a challenge, and what a report is made of.

    DIR/
      challenge.toml      the edition
      submissions.csv     who submitted what when; without it, every table in scores/ is the submission of a team
      scores/             score tables, as `isocenter score` writes them
      cases.csv           facts about cases, for subgroups: a column `case`, then any others
      reference/          the organisers' files, and
      submissions/        those of the teams: with both there are pictures, agreement and ensembles
      run_times.csv       run times that were metered, where the challenge ranks by them
      reads.csv           reads of a reader study
      participants.csv    what people said of themselves when they registered, one row each
      survey.csv          what teams said of their methods, one row each
      …                   and what the chapter of a challenge reads besides

All but the first two lines may be absent: the report says what it therefore cannot show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from isocenter import scores
from isocenter.editions import Edition, in_force, phase_of
from isocenter.evaluation import Challenge, load_challenge
from isocenter.papers._entries import Entry, entries_found, entries_listed
from isocenter.papers._rows import FolderError, read_rows


@dataclass(frozen=True, slots=True)
class Folder:
    """What lies in the folder of an edition, read and checked; the phase that is reported, and its rules in force.

    Facts about cases are as good as absent unless `told`.
    """

    path: Path
    edition: Edition
    challenge: Challenge
    phase: str
    entries: tuple[Entry, ...]
    told: bool = True

    def file(self, name: str) -> Path | None:
        """A file or folder beside the edition; None if it is not there."""
        found = self.path / name
        return found if found.exists() else None

    def rows(self, name: str) -> list[dict[str, str]] | None:
        """The rows of a CSV file beside the edition, without blanks around its texts; None if it is not there."""
        return read_rows(path) if (path := self.file(name)) else None

    def of_phase(self, phase: str | None = None) -> list[Entry]:
        """The submissions of a phase, by default the one that is reported."""
        return [entry for entry in self.entries if entry.phase == (phase or self.phase)]

    def facts(self) -> dict[str, dict[str, str]]:
        """By case what is known of it, from cases.csv beside the edition or in the reference; empty without one."""
        for name in ("cases.csv", "reference/cases.csv") if self.told else ():
            if rows := self.rows(name):
                key = next((column for column in ("case", "case_id", "patient") if column in rows[0]), None)
                if key is None:
                    continue
                cases = [row[key] for row in rows]
                if again := sorted({case for case in cases if cases.count(case) > 1})[:5]:
                    raise FolderError(self.path, [f"{name}: {case!r} has more than one line" for case in again])
                return {row[key]: {column: text for column, text in row.items() if column != key} for row in rows}
        return {}


def open_folder(path: str | Path, *, phase: str | None = None, facts: bool = True) -> Folder:
    """Read what the report is made of, and name everything that is wrong at once.

    Parameters
    ----------
    phase
        The one whose boards are reported; that which closes last if not said.
    facts
        Whether facts about cases may be told.

    Raises
    ------
    EditionError
        challenge.toml is missing or wrong, or has no such phase.
    FolderError
        The submissions, or the facts of cases, cannot be used.
    """
    home = Path(path)
    edition, challenge = in_force(home, find=load_challenge, phase=phase)
    name = phase_of(edition, phase).name
    listed = home / "submissions.csv"
    entries, problems = entries_listed(listed, edition) if listed.is_file() else (entries_found(home, name), [])
    problems += [
        f"{entry.team}: there is no score table {entry.table}; `isocenter score … --out` writes one"
        for entry in entries
        if not entry.table.is_file()
    ]
    if not problems:
        problems = _mixed([entry for entry in entries if entry.phase == name], challenge)
    if not problems and not any(entry.phase == name for entry in entries):
        problems = [f"there are no score tables of the phase {name}: `isocenter score … --out scores/TEAM.parquet`"]
    if problems:
        raise FolderError(home, problems)
    found = Folder(home, edition, challenge, name, tuple(entries), facts)
    found.facts()
    return found


def _mixed(entries: Sequence[Entry], challenge: Challenge) -> list[str]:
    """Whether the tables of a phase are of one challenge and one reference."""
    records: Mapping[Path, Mapping[str, object]] = {entry.table: scores.read_record(entry.table) for entry in entries}
    problems = [
        f"{path} holds scores of {record['challenge']}, not of {challenge.name}"
        for path, record in records.items()
        if record.get("challenge", challenge.name) != challenge.name
    ]
    references = {str(record.get("reference", "")) for record in records.values()}
    if len(references) > 1:
        problems += [
            f"{path} was scored against the reference {str(record.get('reference', ''))[:12] or 'unknown'}, "
            "others against another"
            for path, record in records.items()
        ]
    return problems
