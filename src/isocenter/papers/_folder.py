"""The folder of an edition: what organisers keep of a challenge, and what a report is made of.

    DIR/
      challenge.toml      the edition
      submissions.csv     who submitted what when; without it, every table in scores/ is the submission of a team
      scores/             score tables, as `isocenter score` writes them
      cases.csv           facts about cases, for subgroups: a column `case`, then any others
      cohorts/NAME/       the same submissions on further cases, such as holdout or external:
        scores/             tables with the file names of scores/ above; those of some submissions may be absent
        cases.csv           facts about its cases
        reference/, submissions/  as above
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
from dataclasses import dataclass, field, replace
from pathlib import Path

from isocenter import scores
from isocenter.editions import Edition, in_force, phase_of
from isocenter.evaluation import Challenge, load_challenge
from isocenter.papers._entries import Entry, entries_found, entries_listed, find_outputs
from isocenter.papers._rows import FolderError, read_rows

COHORTS = "cohorts"


@dataclass(frozen=True, slots=True)
class Folder:
    """What lies in the folder of an edition, read and checked; the phase that is reported, and its rules in force.

    Facts about cases are as good as absent unless `told`. `cohorts` holds a folder for each cohort of further cases
    that the same submissions were scored on: its `path` is cohorts/NAME, and its `entries` are the submissions that
    have a table there, in their order and with the same facts.
    """

    path: Path
    edition: Edition
    challenge: Challenge
    phase: str
    entries: tuple[Entry, ...]
    told: bool = True
    cohorts: Mapping[str, Folder] = field(default_factory=dict)

    def file(self, name: str) -> Path | None:
        """A file or folder beside the edition; None if it is not there."""
        found = self.path / name
        return found if found.exists() else None

    def rows(self, name: str) -> list[dict[str, str]] | None:
        """The rows of a CSV file beside the edition, without blanks around its texts; None if it is not there."""
        return read_rows(path) if (path := self.file(name)) else None

    def of_phase(self, phase: str | None = None) -> list[Entry]:
        """The submissions of a phase, by default the one that is reported; before them those of one it continues."""
        names = [one.continues for one in self.edition.phases if one.name == (phase or self.phase)]
        names.append(phase or self.phase)
        return [entry for name in names if name is not None for entry in self.entries if entry.phase == name]

    def facts(self) -> dict[str, dict[str, str]]:
        """By case what is known of it, from cases.csv beside the edition or in the reference; empty without one."""
        return _read_facts(self.path) if self.told else {}


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
    folder = Folder(home, edition, challenge, name, tuple(entries), facts)
    cohorts, problems = _read_cohorts(folder)
    if problems:
        raise FolderError(home, problems)
    for part in (folder, *cohorts.values()):
        part.facts()
    return replace(folder, cohorts=cohorts)


def _read_facts(path: Path) -> dict[str, dict[str, str]]:
    """By case what cases.csv in a folder, or in its reference, says of it; empty without one."""
    for name in ("cases.csv", "reference/cases.csv"):
        if (path / name).exists() and (rows := read_rows(path / name)):
            key = next((column for column in ("case", "case_id", "patient") if column in rows[0]), None)
            if key is None:
                continue
            cases = [row[key] for row in rows]
            if again := sorted({case for case in cases if cases.count(case) > 1})[:5]:
                raise FolderError(path, [f"{name}: {case!r} has more than one line" for case in again])
            return {row[key]: {column: text for column, text in row.items() if column != key} for row in rows}
    return {}


def _read_cohorts(folder: Folder) -> tuple[dict[str, Folder], list[str]]:
    """The further cohorts by name, and everything that is wrong with them."""
    cohorts: dict[str, Folder] = {}
    problems: list[str] = []
    for path in sorted(path for path in (folder.path / COHORTS).glob("*") if path.is_dir()):
        places = {entry: path / "scores" / _below_scores(entry.table, folder.path) for entry in folder.entries}
        entries = tuple(
            replace(entry, table=table, outputs=find_outputs(path, entry.team))
            for entry, table in places.items()
            if table.is_file()
        )
        cohorts[path.name] = cohort = replace(folder, path=path, entries=entries)
        problems += [
            f"{table.relative_to(folder.path)} is the table of no submission: there is none of this name in scores/"
            for table in sorted((path / "scores").rglob("*.parquet"))
            if table not in places.values()
        ]
        if not entries:
            problems.append(
                f"{COHORTS}/{path.name} has no score table of a submission: "
                f"`isocenter score … --out {COHORTS}/{path.name}/scores/TEAM.parquet`"
            )
        for phase in dict.fromkeys(entry.phase for entry in entries):
            problems += _mixed(cohort.of_phase(phase), folder.challenge)
    return cohorts, problems


def _below_scores(table: Path, home: Path) -> Path:
    """The name that a table has in scores/, with the folder of its team; or its place below the edition."""
    for above in (home / "scores", home):
        if table.is_relative_to(above):
            return table.relative_to(above)
    return Path(table.name)


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
