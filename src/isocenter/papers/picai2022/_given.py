"""What the chapter of PI-CAI 2022 is made of: findings of the teams, reads of a reader study, reads of the routine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from isocenter.detections import Detections
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.ranking import capabilities_of
from isocenter.readers import (
    Measure,
    PanelStudy,
    ReaderScores,
    Reads,
    ReferenceCase,
    StudyComparisons,
    compare_study,
    describe_error,
    list_modalities,
    make_panel_study,
    open_reference,
    read_reads,
    read_routine,
    score_patients,
    score_reads,
)
from isocenter.stats import read_panels

CALLS = (3, 4)
"""PI-RADS from which on a patient or a lesion is called, of the operating points that are compared."""

TOP = 5
"""Teams that are compared with everybody: as many as PI-CAI invites to its last phase."""

MARGIN = 0.05
"""Of non-inferiority in AUROC."""

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
    panels
        By the name of a panel its readers, by their numbers; empty if there are none.
    routine
        The reads of clinical routine; None if there are none.
    readers_notes, panels_notes, routine_notes
        What to know of each, and why there is none.
    """

    study: Study
    teams: Mapping[str, list[Detections]]
    readers: ReaderScores | None
    panels: Mapping[str, tuple[str, ...]]
    routine: ReaderScores | None
    readers_notes: tuple[str, ...]
    panels_notes: tuple[str, ...]
    routine_notes: tuple[str, ...]

    @property
    def best(self) -> str:
        """The first team of the board, which readers and routine are compared with; "" if there is none."""
        ranked = [team for team in self.study.main.ranked if team in self.teams]
        return next(iter(ranked or self.teams), "")

    @property
    def top(self) -> list[str]:
        """The teams that are compared with each other, with readers and with routine: as many as PI-CAI invites."""
        ranked = [team for team in self.study.main.ranked if team in self.teams]
        return (ranked or list(self.teams))[:TOP]

    @cached_property
    def compared(self) -> StudyComparisons:
        """The four comparisons of these teams."""
        metric, settings = self.study.main.board.metric, self.study.settings
        measures: dict[str, Measure] = {"auroc": "auroc", "average_precision": "average_precision"}
        return compare_study(
            {team: self.teams[team] for team in self.top},
            readers=self.readers,
            routine=self.routine,
            panels=self.panels,
            measures=[measures.get(metric, "score")],
            points=CALLS,
            margin=MARGIN,
            replicates=settings.replicates,
            level=settings.level,
            seed=settings.seed,
            progress=self.study.move,
        )


def given(study: Study) -> Given:
    """Read all of it; what cannot be read is a note."""
    teams = _findings(study)
    if not teams:
        return Given(study, teams, None, {}, None, (), (), ())
    first = next(iter(teams.values()))[0]
    readers, number, about_readers = _readers(study, first)
    panels, about_panels = _panels(study, number) if readers is not None else ({}, [])
    routine, about_routine = _routine(study, first)
    return Given(
        study, teams, readers, panels, routine, tuple(about_readers), tuple(about_panels), tuple(about_routine)
    )


def _findings(study: Study) -> dict[str, list[Detections]]:
    """By team, as far as the board ranks by findings."""
    rule, table = capabilities_of(study.main.rule), study.main.scores
    if not rule.has_findings:
        return {}
    return {team: list(rule.findings(table.filter(submission=team)).values()) for team in study.main.teams}


def _readers(study: Study, truth: Detections) -> tuple[ReaderScores | None, dict[str, str], list[str]]:
    """What readers found, by numbers instead of their names; the numbers; and notes."""
    path = study.folder.file("reads.csv")
    if path is None:
        return None, {}, ["Readers of the same cases would be shown and compared from a file reads.csv."]
    try:
        every = read_reads(path)
    except (ValueError, OSError) as error:
        return None, {}, [f"No reader is shown: {describe_error(error)}."]
    known = set(truth.cases)
    number = _number_readers([read.reader for read in every if read.case in known])
    kept = [replace(read, reader=number[read.reader]) for read in every if read.case in known]
    notes = []
    if len(kept) < len(every):
        others = counted(len(every) - len(kept), "read")
        notes.append(f"Left out of reads.csv: {others} of cases that are not in the score tables.")
    if not kept:
        return None, {}, [*notes, "No reader is shown: no read is of a case of this phase."]
    scored, why = _score(study, Reads(tuple(kept), every.name), truth)
    if why:
        notes.append(f"Of readers only what they say of patients is shown, not of lesions: {why}.")
    return scored, number, [*notes, *scored.remarks]


def _score(study: Study, reads: Reads, truth: Detections) -> tuple[ReaderScores, str]:
    """Reads with their places where there are any and the reference is at hand; else by patients only, and why."""
    if all(read.marks is None for read in reads):
        return score_patients(reads, truth), ""
    try:
        return score_reads(reads, _reference(study, reads, truth)), ""
    except (ValueError, OSError) as error:
        return replace(score_patients(reads, truth), remarks=()), describe_error(error)


def _number_readers(names: Iterable[str]) -> dict[str, str]:
    """Readers by numbers, in the order of their names, which are nobody's business."""
    ordered = sorted(set(names))
    digits = len(str(len(ordered)))
    return {reader: f"Reader {n:0{digits}d}" for n, reader in enumerate(ordered, start=1)}


def _panels(study: Study, number: Mapping[str, str]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The panels of panels.csv, as far as their readers have read."""
    path = study.folder.file("panels.csv")
    if path is None:
        return {}, ["Panels of readers, such as experts, would be compared from a file panels.csv."]
    try:
        every = read_panels(path)
    except (ValueError, OSError) as error:
        return {}, [f"Panels of readers are not compared: {describe_error(error)}."]
    groups = {name: tuple(number[one] for one in members if one in number) for name, members in every.items()}
    lost = sum(one not in number for one in {one for members in every.values() for one in members})
    notes = [f"Left out of panels.csv: {counted(lost, 'reader')} without a read of this phase."] if lost else []
    return {name: members for name, members in groups.items() if members}, notes


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


def _routine(study: Study, truth: Detections) -> tuple[ReaderScores | None, list[str]]:
    path = study.folder.file("routine.csv")
    if path is None:
        text = "Reads of clinical routine would be compared from a file routine.csv with the columns case and pirads."
        return None, [text]
    try:
        every = read_routine(path)
    except (ValueError, OSError) as error:
        return None, [f"Clinical routine is not compared: {describe_error(error)}."]
    known = set(truth.cases)
    kept = [read for read in every if read.case in known]
    notes = []
    if strange := len(every) - len(kept):
        notes.append(f"Left out of routine.csv: {counted(strange, 'case')} that the score tables do not have.")
    if lacking := len(known) - len(kept):
        notes.append(f"Not compared with the routine: {counted(lacking, 'case')} that routine.csv does not have.")
    if not kept:
        return None, notes
    scored, why = _score(study, Reads(tuple(kept), every.name), truth)
    if why:
        notes.append(f"Lesions are not compared with the routine: {why}.")
    return scored, notes


def panels(given: Given) -> Iterator[PanelStudy]:
    """A study for every modality, of the best team against its readers."""
    for modality in list_modalities(given.readers) if given.readers is not None else ():
        assert given.readers is not None
        yield make_panel_study(given.readers, modality, given.teams[given.best])
