"""The four tasks of DoseRAD2026 side by side: each is a phase of the edition, with its own cohort and its own board."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import polars as pl

from isocenter.contest import Decision
from isocenter.editions import Phase
from isocenter.metrics import Metric, catalogue
from isocenter.papers._folder import Folder, open_folder
from isocenter.papers._listed import hidden
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.papers.doserad2026._errors import MOST_TEAMS, per_case
from isocenter.papers.doserad2026._ranks import label
from isocenter.report import (
    Block,
    BoxGroup,
    Chart,
    Paragraph,
    Section,
    boxes_plot,
    metric_label,
    rank_lines_plot,
)

_BOXED = ("gamma_pass_rate", "plan_mae")


@dataclass(frozen=True)
class _OfTask(Folder):
    """The folder of a phase that is not reported: run_times.csv is not of it, and would look just the same."""

    def file(self, name: str) -> Path | None:
        """As of any folder, but the run times are those of the phase: run_times-PHASE.csv."""
        return super().file(f"run_times-{self.phase}.csv" if name == "run_times.csv" else name)


class _Task(NamedTuple):
    phase: Phase
    decided: Decision


def tasks(study: Study) -> Section:
    """Ranks over the tasks, and what teams reach in each."""
    found, notes = _tasks(study)
    blocks: list[Block] = [Paragraph(note, note=True) for note in notes]
    if len(found) > 1:
        blocks = [*_bumps(found), *_boxes(found), *blocks]
    else:
        text = "Tasks are compared where submissions.csv lists score tables of several phases, in its column `phase`."
        blocks.insert(0, Paragraph(text, note=True))
    return Section("doserad-tasks", "The tasks side by side", tuple(blocks))


def _tasks(study: Study) -> tuple[list[_Task], list[str]]:
    """The main board of every phase that has one, in their order, and why others have none."""
    found, notes, secret = [], [], hidden(study)
    for phase in study.folder.edition.phases:
        if phase.name == study.folder.phase:
            found.append(_Task(phase, study.main))
        elif any(entry.team not in secret for entry in study.folder.of_phase(phase.name)):
            study.move(len(found), len(study.folder.edition.phases), f"ranking {phase.title}")
            board = _other(study, phase, secret)
            if board is None:
                # The reason may name teams that are not listed.
                notes.append(
                    f"{phase.title} is not compared: no board can be made of it, or it keeps scores back. Its run "
                    f"times are read from run_times-{phase.name}.csv, or from rows of the score tables."
                )
            else:
                found.append(_Task(phase, board))
    return found, notes


def _other(study: Study, phase: Phase, secret: set[str]) -> Decision | None:
    """The main board of another phase, as if some teams had not taken part; None if none can be made or shown."""
    try:
        opened = open_folder(study.folder.path, phase=phase.name)
        first = dict(islice(opened.challenge.boards.items(), 1))  # no other is looked at
        challenge = replace(opened.challenge, boards=first)
        entries = tuple(entry for entry in opened.entries if entry.team not in secret)
        folder = _OfTask(opened.path, opened.edition, challenge, opened.phase, entries)
        decided = Study(folder, replace(study.settings, replicates=0)).main
    except (ValueError, OSError):
        return None
    return None if folder.challenge.participation.discreet else decided


def _bumps(found: list[_Task]) -> Iterator[Block]:
    teams = list(dict.fromkeys(team for task in found for team in task.decided.ranked))
    of = [{row.submission: row.rank for row in task.decided.board.rows} for task in found]
    title = "Ranks in every task"
    rows = [
        (task.phase.name, team, rank)
        for task, ranks in zip(found, of, strict=True)
        for team in teams
        if (rank := ranks.get(team)) is not None
    ]
    everywhere = sum(all(ranks.get(team) is not None for ranks in of) for team in teams)
    yield Chart(
        "doserad-task-ranks",
        f"{title}, by the main board of each. A gap is a task in which the team has no rank. "
        f"n = {counted(len(teams), 'team')}, {everywhere} of them ranked in all {len(found)} tasks.",
        rank_lines_plot(
            {team: [ranks.get(team) for ranks in of] for team in teams},
            steps=[task.phase.name for task in found],
            title=title,
            name="doserad-task-lines",
        ),
        pl.DataFrame(rows, schema=["phase", "team", "rank"], orient="row"),
    )


def _boxes(found: list[_Task]) -> Iterator[Block]:
    for name in _BOXED:
        metric = catalogue.get(name)
        groups, rows = _groups(found, metric)
        if not rows:
            continue
        title = f"{metric_label(metric)} of every case, by task and team"
        some = any(len(task.decided.teams) > MOST_TEAMS for task in found)
        yield Chart(
            f"doserad-tasks-{name.replace('_', '-')}",
            f"{title}. Tasks have different patients: boxes of two tasks do not compare case by case."
            + (f" The first {MOST_TEAMS} of each board are shown." if some else ""),
            boxes_plot(
                groups,
                label=metric_label(metric, unit=False),
                unit=metric.unit,
                better=metric.better,
                title=title,
                name=f"doserad-task-{name.replace('_', '-')}",
            ),
            pl.DataFrame(rows, schema=["phase", "team", "case", name], orient="row"),
        )


def _groups(found: list[_Task], metric: Metric) -> tuple[list[BoxGroup], list[tuple[str, str, str, float]]]:
    groups, rows = [], []
    for phase, decided in found:
        shown = decided.board.rows[:MOST_TEAMS]
        by_team = per_case(decided.scores, metric.name)
        for row in shown:
            pairs = by_team[row.submission]
            groups.append(BoxGroup(label(row), tuple(pairs), heading=phase.title if row is shown[0] else ""))
            rows += [(phase.name, row.submission, case, value) for case, value in pairs]
    return groups, rows
