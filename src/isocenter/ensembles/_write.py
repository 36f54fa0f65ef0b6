"""Masks of an ensemble, as a submission that can be scored like any other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from isocenter.ensembles._error import EnsembleError
from isocenter.ensembles._fusion import Rule
from isocenter.ensembles._labels import vote
from isocenter.ensembles._open import AsksForMasks, CaseTask, Cohort, Progress, Roll, each_case, open_votes
from isocenter.ensembles._paint import Hierarchical, fuse
from isocenter.ensembles._votes import read_ballots
from isocenter.submissions import GridPolicy, MaskFile
from isocenter.volumes import write


def write_masks(
    challenge: AsksForMasks,
    cohort: Cohort,
    submissions: Mapping[str, str | os.PathLike[str]],
    rule: Rule | Hierarchical,
    folder: str | os.PathLike[str],
    *,
    grid: GridPolicy = "refuse",
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Write what a rule makes of every case into a folder, under the names that a submission has.

    Masks lie on the grid of the reference. Those of an `Ensemble` or of STAPLE have the first label that the challenge
    knows, those of the hierarchical vote all of theirs. Each file appears complete or not at all.

    Raises
    ------
    FileExistsError
        If the folder holds anything; nothing is overwritten.
    """
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        msg = f"{folder} is not empty; masks of an ensemble go into a folder of their own"
        raise FileExistsError(msg)
    if strangers := [member for member in rule.members if member not in submissions]:
        msg = f"{rule}: {', '.join(strangers)} is not among the submissions {', '.join(submissions)}"
        raise EnsembleError(msg)
    tasks, _ = open_votes(challenge, cohort, {member: submissions[member] for member in rule.members}, grid=grid)
    folder.mkdir(parents=True, exist_ok=True)
    return list(each_case(_Write(rule, folder), tasks, executor=executor, progress=progress))


@dataclass(frozen=True)
class _Write:
    """One case: read, vote, write."""

    rule: Rule | Hierarchical
    folder: Path

    def __call__(self, task: CaseTask) -> Path:
        if isinstance(self.rule, Hierarchical):
            fused, _ = vote(self.rule, task)
        else:
            label = task.spec.labels[0][1] if isinstance(task.spec, MaskFile) else 1
            fused = fuse(self.rule, read_ballots(task, Roll()), task.grid, label=label)
        path = self.folder / task.spec.name(task.case, task.spec.suffixes[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        write(fused, path)
        return path
