"""Scores of the hierarchical vote, whose maps have several labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import polars as pl

from isocenter.ensembles._error import EnsembleError
from isocenter.ensembles._open import AsksForMasks, CaseTask, Cohort, Path, Progress, Roll, each_case, open_votes
from isocenter.ensembles._paint import Hierarchical, hierarchical_vote
from isocenter.ensembles._scores import METRICS, score_from_counts
from isocenter.ensembles._votes import Turnout, turnout
from isocenter.metrics import count_overlap, measure_masks
from isocenter.scores import Row, frame
from isocenter.submissions import GridPolicy
from isocenter.volumes import LabelMap, side_by_side


def hierarchical_table(
    challenge: AsksForMasks,
    cohort: Cohort,
    submissions: Mapping[str, Path],
    *,
    rule: Hierarchical,
    metrics: Sequence[str],
    names: Mapping[int, str],
    grid: GridPolicy = "refuse",
    tolerance_mm: float | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> tuple[pl.DataFrame, Turnout]:
    """The scores of the hierarchical vote, and who voted.

    Parameters
    ----------
    names
        The labels by name. Beside the scores of all labels united, in part "", every label has its own, in the part
        of its name, if there is more than one.
    """
    tasks, problems = open_votes(challenge, cohort, submissions, grid=grid)
    work = _Score(rule, tuple(metrics), dict(names), tolerance_mm)
    results = list(each_case(work, tasks, executor=executor, progress=progress))
    table = frame(row for rows, _ in results for row in rows)
    rolls = {task.case: roll for task, (_, roll) in zip(tasks, results, strict=True)}
    voted = turnout(sorted(submissions), rolls, problems)
    return table.select(pl.lit(str(rule)).alias("submission"), pl.all()), voted


@dataclass(frozen=True)
class _Score:
    """One case: read, vote, count."""

    rule: Hierarchical
    metrics: tuple[str, ...]
    names: dict[int, str]
    tolerance_mm: float | None = None

    def __call__(self, task: CaseTask) -> tuple[list[Row], Roll]:
        truth = task.read_truth()
        if truth is None:
            msg = f"there is no reference to score against in {task.case}"
            raise EnsembleError(msg)
        fused, roll = vote(self.rule, task)
        parts: dict[str, tuple[int, ...] | None] = {"": None}
        if len(self.rule.severity) > 1:
            parts |= {self.names[label]: (label,) for label in self.rule.severity}
        rows = []
        for part, labels in parts.items():
            masks = side_by_side(truth, fused, labels=labels)
            counts, volume = count_overlap(*masks), task.grid.voxel_volume
            others = [metric for metric in self.metrics if metric not in METRICS]
            values = measure_masks(*masks, others, spacing=task.grid.spacing, tolerance_mm=self.tolerance_mm)
            for metric in self.metrics:
                value = values[metric] if metric in values else score_from_counts(metric, counts, voxel_volume=volume)
                rows.append(Row(task.case, part, metric, value, task.weight))
        return rows, roll


def vote(rule: Hierarchical, task: CaseTask) -> tuple[LabelMap, Roll]:
    """The map that the hierarchical vote makes of a case, and who voted."""
    roll = Roll()
    return hierarchical_vote(_one_by_one(task, roll), severity=rule.severity, grid=task.grid, ties=rule.ties), roll


def _one_by_one(task: CaseTask, roll: Roll) -> Iterator[LabelMap | None]:
    for _, labels in task.maps(roll):
        yield labels
        del labels  # before the next is read
