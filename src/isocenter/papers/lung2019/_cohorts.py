"""The same submissions on several cohorts, side by side (eTables 3, 5 and 6), and what their methods are (eTable 4)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isocenter.ensembles import Ensemble, EnsembleError, majority, select
from isocenter.metrics import catalogue
from isocenter.papers._listed import hidden
from isocenter.papers._mask_votes import Panel, read_panel, said_of_missing
from isocenter.papers._rows import FolderError
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.papers.lung2019._observers import Observers, read_observers
from isocenter.papers.lung2019._phases import PhaseBoard
from isocenter.papers.lung2019._second_passes import LACKS, WITHIN, SecondPasses, read_second_passes
from isocenter.report import Block, Cell, Paragraph, Section, metric_label, table
from isocenter.stats import in_brackets, mean_and_error, parse_brackets

_LONGEST = 60  # characters of an answer; a longer one is told in somebody's own words
_CHOSEN = "Best ensemble, chosen on this phase"
_VOTE = "Majority of all (ensemble)"
_BETWEEN = "Between observers"


@dataclass(frozen=True, eq=False)
class _Cohort:
    """A cohort: its name, how many cases it has, by metric and row what is printed, and what is to be said of it."""

    name: str
    cases: int
    cells: Mapping[str, Mapping[str, Cell]]
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.name} ({counted(self.cases, 'scan')})"


def cohorts(study: Study, panel: Panel | str, experts: Observers | str, again: SecondPasses | str) -> Section:
    """Means with standard errors of all submissions, ensembles and observers, by cohort."""
    name, title = "cohorts", "The cohorts side by side"
    if not study.cohorts:
        text = (
            "Further cohorts, such as a holdout set and an external one, would stand side by side with this one: the "
            "same submissions' score tables in cohorts/NAME/scores/."
        )
        return Section(name, title, (Paragraph(text, note=True),))
    chosen = _choose(panel, study.main.board.metric)
    found = [_read(study, "This phase", panel, experts, again, chosen=chosen)]
    notes = []
    for number, (cohort, other) in enumerate(study.cohorts.items()):
        study.move(number, len(study.cohorts), f"reading the cohort {cohort}")
        try:
            masks = read_panel(other)
            drawn = read_observers(other, masks)
            found.append(_read(other, cohort, masks, drawn, read_second_passes(other), chosen=chosen))
        except FolderError:  # which may name teams that are not listed
            notes.append(f"{cohort}: no board can be made of its score tables.")
    metrics = [metric for metric in study.challenge.metrics if any(metric in one.cells for one in found)]
    blocks: list[Block] = [_side_by_side(study, found, metrics)]
    blocks += [Paragraph(note, note=True) for note in (*notes, *(note for one in found for note in one.notes))]
    return Section(name, title, tuple(blocks))


def _choose(panel: Panel | str, metric: str) -> tuple[tuple[str, ...], int] | None:
    """The teams and the threshold of the ensemble that is best on this cohort."""
    if isinstance(panel, str) or len(panel.teams) < 2:
        return None
    try:
        ensemble = select(panel.votes, metric=metric).ensemble
    except EnsembleError:
        return None
    return tuple(panel.team(voter) for voter in ensemble.members), ensemble.threshold


def _read(
    study: Study,
    name: str,
    panel: Panel | str,
    experts: Observers | str,
    again: SecondPasses | str,
    *,
    chosen: tuple[tuple[str, ...], int] | None,
) -> _Cohort:
    decided = study.main
    cells = {
        metric: {row: _read_cell(shown) for row, shown in by_row.items()} for metric, by_row in decided.means().items()
    }
    cases = len({case for case in decided.scores["case"].unique() if case})
    notes = []
    if not isinstance(panel, str) and len(panel.teams) > 1:
        rules = {_VOTE: majority(panel.votes.voters)}
        voters = {panel.team(voter): voter for voter in panel.votes.voters}
        if chosen is not None and all(team in voters for team in chosen[0]):
            rules[_CHOSEN] = Ensemble(tuple(voters[team] for team in chosen[0]), chosen[1])
        elif chosen is not None:
            text = "the ensemble chosen on this phase is not measured, as files of a member are not at hand."
            notes.append(f"{name}: {text}")
        for metric, by_row in cells.items():
            for label, rule in rules.items():
                by_row[label] = _average(panel.scores_of(rule, metric), panel.weights)
    if not isinstance(experts, str):
        for metric, by_row in cells.items():
            values = experts.between(metric)
            if len(values) > 1:
                mean = math.fsum(values) / len(values)
                by_row[_BETWEEN] = Cell(in_brackets(mean, statistics.stdev(values)), mean)
    if isinstance(again, str):
        notes.append(f"{name}: {'there are no second passes of observers.' if again == LACKS else again}")
    else:
        notes.append(f"{name}: {again.describe()}")
        for metric, by_row in cells.items():
            by_row[WITHIN] = again.cell(metric)
    return _Cohort(name, cases, cells, tuple(notes))


def _average(values: Sequence[float], weights: Sequence[float]) -> Cell:
    if any(math.isnan(value) for value in values):
        return Cell("–")
    mean, error = mean_and_error(values, weights)
    return Cell(in_brackets(round(mean, 4), error), mean)


def _read_cell(shown: str) -> Cell:
    mean = parse_brackets(shown)[0] if shown != "–" else math.nan
    return Cell(shown, None if math.isnan(mean) else mean)


def _labels(study: Study) -> dict[str, str]:
    """The rows of the tables and what they are called: submissions in the order of the board, then what is made."""
    rows = {
        row.submission: row.submission if row.role == "team" else f"{row.submission} ({row.role})"
        for row in study.main.board.rows
    }
    for other in study.cohorts.values():
        try:
            more = other.main.board.rows
        except FolderError:
            continue
        rows |= {row.submission: row.submission for row in more if row.submission not in rows}
    return rows | {label: label for label in (_VOTE, _CHOSEN, _BETWEEN, WITHIN)}


def _side_by_side(study: Study, found: Sequence[_Cohort], metrics: Sequence[str]) -> Block:
    rows: list[tuple[str | Cell, ...]] = []
    labels = _labels(study)
    for metric in metrics:
        for row, label in labels.items():
            cells = [cohort.cells.get(metric, {}).get(row, Cell("–")) for cohort in found]
            if any(cell.value is not None for cell in cells):
                rows.append((metric_label(catalogue.get(metric)), label, *cells))
    return table(
        "cohorts-side-by-side",
        "All metrics on all cohorts: means over the scans, in brackets the standard error in units of the last digit; "
        "between observers the standard deviation of pairs. Within observers n scans were drawn twice. "
        + said_of_missing(study),
        ["Metric", "Submission", *(f"{one.title} #" for one in found)],
        rows,
        notes=[
            (
                "Which submission of a team counts, and which ensemble is the best, was decided on this phase alone; "
                "the other cohorts confirm it."
            )
        ],
    )


def methods(study: Study, boards: Sequence[PhaseBoard]) -> Section:
    """What the placed teams of every phase said of their methods, in the columns of survey.csv."""
    name, title = "placed-methods", "Methods of the placed teams"
    rows = study.folder.rows("survey.csv")
    if not rows or "team" not in rows[0] or len(rows[0]) < 2:
        text = "A table survey.csv, with the column `team` and one for each question, would show methods side by side."
        return Section(name, title, (Paragraph(text, note=True),))
    secret = hidden(study)
    labels = {question.name: question.label for question in study.folder.edition.survey}
    questions = [column for column in rows[0] if column not in ("team", "phase")]
    answers = {(row["team"], row.get("phase", "")): row for row in rows if row["team"] not in secret}
    lines: list[list[str | Cell]] = []
    for one in boards:
        for row in one.ranked:
            said = answers.get((row.submission, one.phase.name)) or answers.get((row.submission, ""))
            if said is not None:
                place = Cell(f"{row.rank:g}", row.rank)
                lines.append([one.phase.title, place, row.submission, *(_answer(said[column]) for column in questions)])
    if not lines:
        return Section(name, title, (Paragraph("survey.csv has no row of a ranked team.", note=True),))
    block = table(
        "methods-table",
        "Methods and data of the placed teams, as they said themselves.",
        ["Phase", "Place #", "Team", *(labels.get(column, column) for column in questions)],
        lines,
        notes=[f"Answers of more than {_LONGEST} characters, and those with an address, are not printed."],
    )
    return Section(name, title, (block,))


def _answer(text: str) -> str:
    if len(text) > _LONGEST or "@" in text:
        return "in their own words"
    return text or "–"
