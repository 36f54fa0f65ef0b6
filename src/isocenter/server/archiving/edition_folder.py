"""The folder of an edition, written from the database: what `isocenter report`, `rank` and `verify` read.

    DIR/
      challenge.toml      as it is in force
      submissions.csv     every scored submission: team, table, phase, time, role, outputs, void, chosen
      scores/PHASE/ID.parquet
      cohorts/NAME/       scores/, cases.csv and reference/ of a further cohort of phases
      cases.csv           facts about the cases of the phase
      survey.csv          what teams said of their methods
      reads.csv           what readers said, under their pseudonyms, once their study is closed
      participants.csv    what people said of themselves; never in what leaves the site
      run_times.csv       of the phase, and run_times-PHASE.csv of others
      reference/, images/, submissions/ID.zip    links to the files, where pictures are wanted

No file names a person, and none has what was answered on equity.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from uuid import UUID

from isocenter.editions import Phase, phase_of, render, split_cohort
from isocenter.server import files
from isocenter.server.boards.names_told import Names, public_visit
from isocenter.server.models import Challenge, Evaluation, Membership, Registration, Submission, SurveyAnswers, Team
from isocenter.server.people.closed_answers import closed, in_cells
from isocenter.server.reading import export
from isocenter.server.telling.known import limited
from isocenter.server.work.in_force import reference_of, standard_of
from isocenter.server.work.voiding import voids

Tell = Callable[[int, int], None]
"""Progress: how many of how many tables are written."""

_ROLES = {Team.Kind.TEAM: "team", Team.Kind.ORGANISER: "organiser", Team.Kind.BENCHMARK: "benchmark"}


@dataclass(frozen=True, slots=True)
class Listed:
    """A submission with the scores that count, as a row of submissions.csv; `cohorts` has those on further cohorts."""

    submission: Submission
    evaluation: int
    void: bool
    chosen: bool
    timed: bool
    cohorts: Mapping[str, int] = field(default_factory=dict)

    @property
    def table(self) -> str:
        """Where its scores lie in the folder."""
        return f"scores/{self.submission.phase}/{self.submission.pk}.parquet"

    @property
    def tables(self) -> dict[str, int]:
        """By place in the folder, the evaluations of all its tables."""
        further = {f"cohorts/{cohort}/{self.table}": evaluation for cohort, evaluation in self.cohorts.items()}
        return {self.table: self.evaluation, **further}

    @property
    def time(self) -> str:
        """When it was made; "" where a team was let in outside of the phase, which `isocenter report` would mind."""
        return self.submission.made.isoformat() if self.timed else ""


def listed(challenge: Challenge, phases: Sequence[str], cohorts: Collection[str] | None = None) -> list[Listed]:
    """The submissions of some phases that have scores of the kind that boards are made of, as they were made.

    With their scores on all further cohorts, or on some, which are named as in "test.holdout".
    """
    known = {phase.name: phase for phase in challenge.edition.phases}
    found: list[Listed] = []
    for name in phases:
        keys = _evaluations(challenge, name)
        further = {
            split_cohort(one.name)[1]: _evaluations(challenge, one.name)
            for one in known[name].scored[1:]
            if cohorts is None or one.name in cohorts
        }
        every = list(
            Submission.objects.filter(pk__in=list(keys))
            .select_related("team", "challenge__version")
            .order_by("made", "number", "pk")
        )
        void = {key for key, reasons in voids(every).items() if reasons}
        if known[name].counts == "chosen":
            void |= _undecided(every, void)
        outside = {one.team_id for one in every if not known[name].opens <= one.made < known[name].closes}
        for one in every:
            chosen = known[name].counts == "chosen" and one.nominated and one.pk not in void
            on_cohorts = {cohort: made[one.pk] for cohort, made in further.items() if one.pk in made}
            found.append(Listed(one, keys[one.pk], one.pk in void, chosen, one.team_id not in outside, on_cohorts))
    return found


def _evaluations(challenge: Challenge, phase: str) -> dict[UUID, int]:
    """By submission to a phase, its evaluation of the kind that boards are made of; there or on a further cohort."""
    standard = standard_of(challenge, phase)
    if standard is None:
        return {}
    rows = Evaluation.objects.filter(
        submission__challenge=challenge,
        submission__phase=split_cohort(phase)[0],
        submission__state=Submission.State.SCORED,
        reference=standard.reference,
        evaluator=standard.evaluator,
    )
    return dict(rows.values_list("submission_id", "pk"))


def _undecided(every: Sequence[Submission], void: set[object]) -> set[object]:
    """The submissions of teams that have to choose one and have not, or chose one that is void: none counts yet."""
    found: set[object] = set()
    for team in {one.team_id for one in every}:
        mine = [one for one in every if one.team_id == team]
        left = [one for one in mine if one.pk not in void]
        chosen = [one for one in mine if one.nominated]
        if not any(one in left for one in chosen) and (chosen or len(left) > 1):
            found |= {one.pk for one in mine}
    return found


def write_folder(
    challenge: Challenge,
    phase: str,
    home: Path,
    *,
    phases: Sequence[str],
    names: Names,
    cohorts: Collection[str] | None = None,
    pictures: bool = False,
    people: bool = False,
    facts: bool = True,
    tell: Tell = lambda _done, _total: None,
) -> list[Listed]:
    """Write the folder, and give back what it lists.

    Parameters
    ----------
    phase, phases
        The phase that is reported, and all whose submissions are listed.
    cohorts
        Those of their further cohorts that are told of, as in "test.holdout"; all if not said.
    pictures
        Whether the files of the reference and of the teams are linked too.
    people
        Whether there is a participants.csv, one row per person: only for a report, which tells it in numbers.
    facts
        Whether there is a cases.csv.
    """
    found = listed(challenge, phases, cohorts)
    home.mkdir(parents=True, exist_ok=True)
    (home / "challenge.toml").write_text(_toml(challenge, found, phases if names.announced else None), encoding="utf-8")
    for number, one in enumerate(found):
        tell(number, len(found))
        for place, key in one.tables.items():
            path = home / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes(Evaluation.objects.values_list("table", flat=True).get(pk=key)))
    tell(len(found), len(found))
    _write_rows(home / "submissions.csv", _COLUMNS, [_row(one, names, files_too=pictures) for one in found])
    further = [one.name for one in phase_of(challenge.edition, phase).scored[1:]]
    places = {name: home / "cohorts" / split_cohort(name)[1] for name in further}
    places = {name: place for name, place in places.items() if place.exists()}
    if facts:
        _write_cases(challenge, ("", phase), home)
        for name, cohort_home in places.items():
            _write_cases(challenge, (name,), cohort_home)
    _write_survey(challenge, phase, home, names)
    _write_reads(challenge, home)
    if people:
        _write_participants(challenge, phase, home, names)
    _link_run_times(challenge, phase, phases, home)
    if pictures:
        _link_files(challenge, phase, home, found)
        for name, cohort_home in places.items():
            _link_reference(challenge, name, cohort_home)
    return found


_COLUMNS = ("team", "table", "phase", "time", "role", "outputs", "void", "chosen")


def _row(one: Listed, names: Names, *, files_too: bool) -> dict[str, str]:
    team = one.submission.team
    return {
        "team": names.of(one.submission.phase, team),
        "table": one.table,
        "phase": one.submission.phase,
        "time": one.time,
        "role": _ROLES[team.kind],
        "outputs": f"submissions/{one.submission.pk}.zip" if files_too else "",
        "void": "yes" if one.void else "",
        "chosen": "yes" if one.chosen else "",
    }


def _toml(challenge: Challenge, found: Sequence[Listed], phases: Sequence[str] | None) -> str:
    """The challenge.toml in force, as it stands there unless something has to be left out.

    That is the quota of a phase in which the organisers granted more: what the site let in was within it, and whoever
    ranks again must not leave it out. And, where phases are given, all others that nobody has heard of yet.
    """
    assert challenge.version is not None
    whole = challenge.edition
    announced = [phase.name for phase in public_visit(challenge, ()).phases]
    edition = whole if phases is None else limited(whole, {*phases, *announced})
    beyond = {phase.name for phase in edition.phases if _beyond_quota(phase, found)}
    if beyond:
        changed = [p.model_copy(update={"quota": None}) if p.name in beyond else p for p in edition.phases]
        edition = edition.model_copy(update={"phases": tuple(changed)})
    return str(challenge.version.toml) if edition is whole else render(edition)


def _beyond_quota(phase: Phase, found: Sequence[Listed]) -> bool:
    from isocenter.ranking import within_quota

    moments: dict[int, list[datetime]] = {}
    for one in found:
        if one.submission.phase == phase.name:
            moments.setdefault(one.submission.team_id, []).append(one.submission.made)
    if phase.quota_per not in ("phase", "week", "day"):
        return False  # a quota by the calendar is kept where submissions are taken, and nowhere else
    return any(not all(within_quota(one, quota=phase.quota, per=phase.quota_per)) for one in moments.values())


def _write_rows(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, columns, restval="", extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_cases(challenge: Challenge, phases: Sequence[str], home: Path) -> None:
    """Facts about the cases of the phase, from the cohort of the version in force."""
    assert challenge.version is not None
    rows = [row for row in challenge.version.cohort if row.get("phase", "") in phases and row.get("case")]
    if rows:
        columns = dict.fromkeys(["case", *(name for row in rows for name in row if name != "phase")])
        _write_rows(home / "cases.csv", list(columns), rows)


def _write_survey(challenge: Challenge, phase: str, home: Path, names: Names) -> None:
    """The answers of teams that are not in own words: those may name people."""
    questions = closed(challenge.edition.survey)
    answers = (
        SurveyAnswers.objects.filter(team__challenge=challenge).select_related("team").order_by("team__name", "pk")
    )
    if questions and answers:
        rows = [{"team": names.of(phase, one.team), **in_cells(questions, one.answers)} for one in answers]
        _write_rows(home / "survey.csv", ["team", *(question.name for question in questions)], rows)


def _write_reads(challenge: Challenge, home: Path) -> None:
    """What readers said of cases, where their study is closed: a report of PI-CAI compares them with teams."""
    if reads := export.reads_for_report(challenge):
        (home / "reads.csv").write_text(reads, encoding="utf-8", newline="")


def _write_participants(challenge: Challenge, phase: str, home: Path, names: Names) -> None:
    questions = closed(challenge.edition.registration)
    teams = {
        member.user_id: names.of(phase, member.team)
        for member in Membership.objects.filter(challenge=challenge).select_related("team")
    }
    accepted = Registration.objects.filter(challenge=challenge, state=Registration.State.ACCEPTED).order_by(
        "made", "pk"
    )
    rows = [{"team": teams.get(one.user_id, ""), **in_cells(questions, one.answers)} for one in accepted]
    if rows:
        _write_rows(home / "participants.csv", ["team", *(question.name for question in questions)], rows)


def _link_run_times(challenge: Challenge, phase: str, phases: Sequence[str], home: Path) -> None:
    for name in phases:
        reference = reference_of(challenge, name)
        if reference is not None and reference.run_times:
            target = home / ("run_times.csv" if name == phase else f"run_times-{name}.csv")
            target.symlink_to(files.at(reference.run_times).resolve())


def _link_reference(challenge: Challenge, phase: str, home: Path) -> None:
    reference = reference_of(challenge, phase)
    if reference is not None:
        (home / "reference").symlink_to(files.at(reference.folder).resolve())
        if reference.images:
            (home / "images").symlink_to(files.at(reference.images).resolve())


def _link_files(challenge: Challenge, phase: str, home: Path, found: Sequence[Listed]) -> None:
    _link_reference(challenge, phase, home)
    (home / "submissions").mkdir(exist_ok=True)
    for one in found:
        source = files.at(one.submission.file)
        if source.exists():
            (home / "submissions" / f"{one.submission.pk}.zip").symlink_to(source.resolve())
