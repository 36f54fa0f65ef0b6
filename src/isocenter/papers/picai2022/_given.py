"""What the chapter of PI-CAI 2022 is made of: findings of the teams, reads of a reader study, reads of the routine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from isocenter.detections import Detections
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.ranking import capabilities_of
from isocenter.readers import (
    PanelStudy,
    Read,
    ReaderScores,
    Reads,
    ReferenceCase,
    describe_error,
    list_modalities,
    make_panel_study,
    open_reference,
    read_reads,
    score_patients,
    score_reads,
)

_PIRADS = ("1", "2", "3", "4", "5")
_NAMED = 5


@dataclass(frozen=True)
class Given:
    """Everything that the sections share.

    Attributes
    ----------
    study
        The edition.
    teams
        By listed team, in the order of the main board, the findings of its trained instances.
    readers
        What the readers of reads.csv found, by numbers instead of their names; None if there are none.
    routine
        By case the PI-RADS of clinical routine; empty if there is none.
    readers_notes, routine_notes
        What to know of either, and why there is none.
    """

    study: Study
    teams: Mapping[str, list[Detections]]
    readers: ReaderScores | None
    routine: Mapping[str, int]
    readers_notes: tuple[str, ...]
    routine_notes: tuple[str, ...]

    @property
    def best(self) -> str:
        """The first team of the board, which readers and routine are compared with; "" if there is none."""
        ranked = [team for team in self.study.main.ranked if team in self.teams]
        return next(iter(ranked or self.teams), "")


def given(study: Study) -> Given:
    """Read all of it; what cannot be read is a note."""
    teams = _findings(study)
    if not teams:
        return Given(study, teams, None, {}, (), ())
    first = next(iter(teams.values()))[0]
    readers, about_readers = _readers(study, first)
    routine, about_routine = _routine(study, first)
    return Given(study, teams, readers, routine, tuple(about_readers), tuple(about_routine))


def _findings(study: Study) -> dict[str, list[Detections]]:
    """By team, as far as the board ranks by findings."""
    rule, table = capabilities_of(study.main.rule), study.main.scores
    if not rule.has_findings:
        return {}
    return {team: list(rule.findings(table.filter(submission=team)).values()) for team in study.main.teams}


def _readers(study: Study, truth: Detections) -> tuple[ReaderScores | None, list[str]]:
    path = study.folder.file("reads.csv")
    if path is None:
        return None, ["Readers of the same cases would be shown and compared from a file reads.csv."]
    try:
        every = read_reads(path)
    except (ValueError, OSError) as error:
        return None, [f"No reader is shown: {describe_error(error)}."]
    known = set(truth.cases)
    kept = _numbered([read for read in every if read.case in known], every.name)
    notes = []
    if len(kept) < len(every):
        others = counted(len(every) - len(kept), "read")
        notes.append(f"Left out of reads.csv: {others} of cases that are not in the score tables.")
    if not len(kept):
        return None, [*notes, "No reader is shown: no read is of a case of this phase."]
    if all(read.marks is None for read in kept):
        return score_patients(kept, truth), notes
    try:
        found = score_reads(kept, _reference(study, kept, truth))
    except (ValueError, OSError) as error:
        notes.append(f"Of readers only what they say of patients is shown, not of lesions: {describe_error(error)}.")
        return score_patients(kept, truth), notes
    return found, [*notes, *found.remarks]


def _numbered(reads: list[Read], name: str) -> Reads:
    """Readers by numbers, in the order of their names, which are nobody's business."""
    names = sorted({read.reader for read in reads})
    digits = len(str(len(names)))
    number = {reader: f"Reader {n:0{digits}d}" for n, reader in enumerate(names, start=1)}
    return Reads(tuple(replace(read, reader=number[read.reader]) for read in reads), name)


def _reference(study: Study, reads: Reads, truth: Detections) -> dict[str, ReferenceCase]:
    """Lesions of the cases that were read, with the weights of the score tables."""
    path = study.folder.file("reference")
    if path is None:
        msg = "the organisers' files are not in reference/"
        raise ValueError(msg)
    found = open_reference(
        study.challenge,
        path,
        cases=set(reads.cases),
        progress=lambda done, total, case: study.move(done, total, f"reading the reference of {case}"),
    )
    of_table = dict(zip(truth.cases, truth.truth.tolist(), strict=True))
    weight = dict(zip(truth.cases, truth.weight.tolist(), strict=True))
    if other := sorted(case for case, one in found.items() if bool(one.positive) != of_table[case]):
        some = ", ".join(other[:_NAMED])
        msg = f"reference/ is not what the scores were made with; it says something else of {some}"
        raise ValueError(msg)
    return {case: one._replace(weight=weight[case]) for case, one in found.items()}


def _routine(study: Study, truth: Detections) -> tuple[dict[str, int], list[str]]:
    path = study.folder.file("routine.csv")
    if path is None:
        text = "Reads of clinical routine would be compared from a file routine.csv with the columns case and pirads."
        return {}, [text]
    try:
        rows = study.folder.rows(path.name) or []
    except (ValueError, OSError) as error:
        return {}, [f"Clinical routine is not compared: {describe_error(error)}."]
    problems = list(_wrong_routine(rows))
    if problems:
        more = f"; and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
        return {}, [f"Clinical routine is not compared: routine.csv: {'; '.join(problems[:_NAMED])}{more}."]
    known = set(truth.cases)
    found = {row["case"]: int(row["pirads"]) for row in rows if row["case"] in known}
    notes = []
    if strange := len(rows) - len(found):
        notes.append(f"Left out of routine.csv: {counted(strange, 'case')} that the score tables do not have.")
    if lacking := len(known) - len(found):
        notes.append(f"Not compared with the routine: {counted(lacking, 'case')} that routine.csv does not have.")
    return found, notes


def _wrong_routine(rows: list[dict[str, str]]) -> Iterator[str]:
    if not rows:
        yield "there are no rows"
        return
    lacking = [name for name in ("case", "pirads") if name not in rows[0]]
    yield from (f"there is no column {name!r}" for name in lacking)
    if lacking:
        return
    seen: set[str] = set()
    for number, row in enumerate(rows, start=2):
        if row["pirads"] not in _PIRADS:
            yield f"line {number}: PI-RADS {row['pirads']!r}; expected 1, 2, 3, 4 or 5"
        if row["case"] in seen:
            yield f"line {number}: {row['case']!r} is there twice; the routine has one PI-RADS per case"
        seen.add(row["case"])


def panels(given: Given) -> Iterator[PanelStudy]:
    """A study for every modality, of the best team against its readers."""
    for modality in list_modalities(given.readers) if given.readers is not None else ():
        assert given.readers is not None
        yield make_panel_study(given.readers, modality, given.teams[given.best])
