"""The masks of an ensemble are a submission."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isocenter
from isocenter import ensembles, evaluation
from isocenter.ensembles import Ensemble, EnsembleError, Hierarchical, StapleRule, majority, score_table, write_masks
from isocenter.evaluation import Challenge, worker_pool
from isocenter.volumes import Volume, read, write


@pytest.fixture
def three(tmp_path: Path, reference: Path, submission: Path) -> dict[str, Path]:
    """Three teams: one is right, one has the masks of `submission`, one lacks a case and moved another."""
    third = Path(shutil.copytree(submission, tmp_path / "third"))
    (third / "CHUV002.nii.gz").unlink()
    volume = read(third / "CHUV001.nii.gz")
    write(Volume(np.roll(volume.array, 1, axis=0), volume.grid), third / "CHUV001.nii.gz")
    return {"right": reference, "team": submission, "third": third}


@pytest.mark.parametrize(
    "rule",
    [
        majority(["right", "team", "third"]),
        Ensemble(("team", "third"), 1),
        Ensemble(("team", "third"), 2),
        Ensemble(("third",), 1),
        StapleRule(("right", "team", "third")),
        StapleRule(("right", "team", "third"), "box"),
    ],
    ids=str,
)
def test_written_masks_score_as_the_votes_said(
    hecktor: Challenge, reference: Path, three: dict[str, Path], tmp_path: Path, rule: Any
) -> None:
    cohort = evaluation.open_cohort(hecktor, reference)
    table = score_table(ensembles.count_votes(hecktor, cohort, three), [rule], metrics=["dice"])
    paths = write_masks(hecktor, cohort, three, rule, tmp_path / "out")
    assert [path.name for path in paths] == [f"CHUV00{i}.nii.gz" for i in range(1, 5)]
    problems = isocenter.check(hecktor, reference=reference, submission=tmp_path / "out")
    assert [p for p in problems if p.severity not in ("note", "warning")] == []
    scored = isocenter.evaluate(hecktor, reference=reference, submission=tmp_path / "out")
    assert table.drop("submission").equals(scored)


def test_masks_lie_on_the_grid_of_the_reference_and_have_one_label(
    hecktor: Challenge, reference: Path, three: dict[str, Path], tmp_path: Path
) -> None:
    cohort = evaluation.open_cohort(hecktor, reference)
    write_masks(hecktor, cohort, three, majority(three), tmp_path / "out")
    for case in cohort.cases:
        volume = read(tmp_path / "out" / f"{case.name}.nii.gz")
        assert volume.grid.same_as(case.grids["mask"])
        assert set(np.unique(volume.array)) <= {0, 1}


def test_the_hierarchical_vote_keeps_labels_and_its_table_scores_them(
    hecktor: Challenge, reference: Path, three: dict[str, Path], tmp_path: Path
) -> None:
    cohort = evaluation.open_cohort(hecktor, reference)
    both = {"right": reference, "again": reference, "team": three["team"]}
    rule = Hierarchical(tuple(both), severity=(2, 1))
    write_masks(hecktor, cohort, both, rule, tmp_path / "out")
    assert set(np.unique(read(tmp_path / "out" / "CHUV003.nii.gz").array)) == {0, 1, 2}
    table, turnout = ensembles.hierarchical_table(
        hecktor, cohort, both, rule=rule, metrics=["dice"], names={1: "tumour", 2: "nodes"}
    )
    scored = isocenter.evaluate(hecktor, reference=reference, submission=tmp_path / "out")
    assert table.filter(part="").drop("submission").equals(scored)
    assert table["submission"].unique().to_list() == ["hierarchical(again,right,team)"]
    nodes = dict(table.filter(part="nodes").select("case", "value").iter_rows())
    assert nodes == {f"CHUV00{i}": 1.0 for i in range(1, 5)}  # none and none predicted, but in the third
    assert turnout.states["team"]["voted"] == 4


def test_workers_write_the_same_bytes(
    hecktor: Challenge, reference: Path, three: dict[str, Path], tmp_path: Path
) -> None:
    cohort = evaluation.open_cohort(hecktor, reference)
    with worker_pool(2) as pool:
        there = write_masks(hecktor, cohort, three, majority(three), tmp_path / "there", executor=pool)
    here = write_masks(hecktor, cohort, three, majority(three), tmp_path / "here")
    assert [path.read_bytes() for path in there] == [path.read_bytes() for path in here]


def test_nothing_is_overwritten(hecktor: Challenge, reference: Path, three: dict[str, Path], tmp_path: Path) -> None:
    cohort = evaluation.open_cohort(hecktor, reference)
    before = {path: path.read_bytes() for path in three["team"].iterdir()}
    with pytest.raises(FileExistsError, match="not empty"):
        write_masks(hecktor, cohort, three, majority(three), three["team"])
    assert {path: path.read_bytes() for path in three["team"].iterdir()} == before
    with pytest.raises(EnsembleError, match="nobody is not among the submissions"):
        write_masks(hecktor, cohort, three, Ensemble(("nobody",), 1), tmp_path / "out")
    assert not (tmp_path / "out").exists()
