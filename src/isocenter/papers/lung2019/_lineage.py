"""How solutions came about over the phases: who won, and on whose earlier solution it was built (eFigure 4)."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from isocenter.metrics import catalogue
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.papers.lung2019._phases import PhaseBoard
from isocenter.report import Block, Chart, Paragraph, Section, Solution, lineage_plot, metric_label

_METHODS = ("method", "model", "algorithm")


def lineage(study: Study, boards: Sequence[PhaseBoard], notes: Sequence[str]) -> Section:
    """The ranked solutions of every phase, and which were built on which."""
    blocks: list[Block] = []
    solutions = _solutions(study, boards)
    if len(boards) < 2:
        text = (
            "How solutions came about needs submissions.csv with the submissions of all phases (column `phase`), and "
            "whose earlier solutions they were built on (column `builds_on`, several parted by semicolons)."
        )
        blocks.append(Paragraph(text, note=True))
    elif not solutions:
        blocks.append(Paragraph("No phase has a ranked team.", note=True))
    else:
        blocks += [Paragraph(_in_words(solutions, boards)), _chart(solutions, boards)]
        if not any(one.builds_on for one in solutions):
            text = "No lines: the column `builds_on` of submissions.csv names no earlier solution."
            blocks.append(Paragraph(text, note=True))
        if not any(one.kind for one in solutions):
            text = "A table survey.csv with the columns `team` and `method` would show classes of methods."
            blocks.append(Paragraph(text, note=True))
        blocks += [Paragraph(note, note=True) for note in notes]
    return Section("lineage", "From phase to phase", tuple(blocks))


def _solutions(study: Study, boards: Sequence[PhaseBoard]) -> list[Solution]:
    method = _methods(study)
    found = []
    for step, one in enumerate(boards):
        metric = catalogue.get(one.board.metric)
        entries = study.folder.of_phase(one.phase.name)
        for row in one.ranked:
            built = [
                team for entry in entries if entry.team == row.submission and not entry.void for team in entry.builds_on
            ]
            may = {other.submission for before in boards[:step] for other in before.ranked}
            parents = tuple(dict.fromkeys(team for team in built if team in may))
            assert row.rank is not None
            found.append(
                Solution(
                    row.submission, step, row.rank, metric.show(row.score), parents, method.get(row.submission, "")
                )
            )
    return found


def _methods(study: Study) -> dict[str, str]:
    """By team the class of its method, as survey.csv has it."""
    rows = study.folder.rows("survey.csv") or []
    column = next((name for name in _METHODS if rows and name in rows[0]), None)
    if column is None or "team" not in rows[0]:
        return {}
    return {row["team"]: row[column] for row in rows if row[column]}


def _in_words(solutions: Sequence[Solution], boards: Sequence[PhaseBoard]) -> str:
    firsts = []
    for step, one in enumerate(boards):
        here = [s for s in solutions if s.step == step]
        best = [s for s in here if s.rank == min(other.rank for other in here)]
        if best:
            firsts.append(f"{best[0].score} in {one.phase.title} ({' and '.join(s.team for s in best)})")
    built = sum(bool(one.builds_on) for one in solutions if one.step)
    later = sum(one.step > 0 for one in solutions)
    label = metric_label(catalogue.get(boards[0].board.metric))
    text = f"The best {label}: {'; '.join(firsts)}."
    return f"{text} Of {counted(later, 'solution')} after the first phase {built} were built on an earlier one."


def _chart(solutions: Sequence[Solution], boards: Sequence[PhaseBoard]) -> Chart:
    label = metric_label(catalogue.get(boards[0].board.metric))
    title = "Solutions of every phase, and what they were built on"
    rows = [
        (boards[s.step].phase.name, s.team, s.rank, float(s.score), "; ".join(s.builds_on), s.kind) for s in solutions
    ]
    columns = ["phase", "team", "rank", boards[0].board.metric, "builds_on", "method"]
    return Chart(
        "lineage-of-solutions",
        f"{title}. Under each symbol its rank and {label}; scores of different columns compare only where phases "
        f"have the same cases. n = {len({s.team for s in solutions})} teams, {counted(len(boards), 'phase')}.",
        lineage_plot(solutions, steps=[one.phase.title for one in boards], title=title, name="lineage-columns"),
        pl.DataFrame(rows, schema=columns, orient="row"),
    )
