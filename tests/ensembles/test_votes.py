"""From files to votes: who has a mask, on which grid, and what becomes of those who have none."""

from __future__ import annotations

import shutil
import tracemalloc
import zipfile
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from isocenter import ensembles, evaluation
from isocenter.ensembles import EnsembleError, TruthError, Votes, count_votes
from isocenter.evaluation import Challenge, worker_pool
from isocenter.problems import SubmissionRefused
from isocenter.submissions import GridPolicy
from isocenter.volumes import Grid, Volume, read, write


def count(challenge: Challenge, reference: Path, submissions: dict[str, Path], grid: GridPolicy = "refuse") -> Votes:
    return count_votes(challenge, evaluation.open_cohort(challenge, reference), submissions, grid=grid)


@pytest.fixture
def other(tmp_path: Path, submission: Path) -> Path:
    """A second team, with the same masks."""
    return Path(shutil.copytree(submission, tmp_path / "other"))


def marked(votes: Votes, case: str) -> dict[str, int]:
    """Voxels that each voter marked in a case."""
    (found,) = (c.patterns for c in votes.cases if c.case == case)
    voxels = (found.inside + found.outside) @ found.votes
    return dict(zip(found.voters, voxels.tolist(), strict=True))


def test_tumour_and_nodes_are_united_before_they_are_voted_on(
    hecktor: Challenge, reference: Path, submission: Path
) -> None:
    votes = count(hecktor, reference, {"all": reference, "team": submission})
    assert marked(votes, "CHUV003") == {"all": 64 + 8, "team": 64}
    assert votes.cases[2].patterns.positives == 72
    assert votes.turnout.states["team"] == {"voted": 4, "missing": 0, "failed": 0}


def test_who_has_no_mask_votes_background_and_is_counted(
    hecktor: Challenge, reference: Path, submission: Path, other: Path
) -> None:
    (other / "CHUV001.nii.gz").unlink()
    votes = count(hecktor, reference, {"team": submission, "other": other})
    assert marked(votes, "CHUV001") == {"other": 0, "team": 64}
    assert votes.turnout.states["other"] == {"voted": 3, "missing": 1, "failed": 0}
    assert votes.cases[0].states() == ("missing", "voted")
    (problem,) = votes.turnout.problems
    assert (problem.severity, problem.case, problem.file) == ("missing", "CHUV001", "other")
    assert ensembles.MISSING_VOTES == "background"


@pytest.mark.parametrize("how", ["damaged", "ending", "label"])
def test_a_mask_that_cannot_be_used_is_a_failed_one(
    hecktor: Challenge, reference: Path, submission: Path, other: Path, how: str
) -> None:
    path = other / "CHUV002.nii.gz"
    if how == "damaged":
        path.write_bytes(b"x")
    elif how == "ending":
        path.rename(other / "CHUV002.NII.GZ")
    else:
        write(Volume(np.full((12, 10, 8), 7, np.uint8), read(path).grid), path)
    votes = count(hecktor, reference, {"team": submission, "other": other})
    assert votes.turnout.states["other"] == {"voted": 3, "missing": 0, "failed": 1}
    assert marked(votes, "CHUV002")["other"] == 0
    (problem,) = (p for p in votes.turnout.problems if p.severity == "unusable")
    assert problem.case == "CHUV002"
    assert problem.file.startswith("other: CHUV002")


def test_masks_on_another_grid_go_by_the_policy(hecktor: Challenge, reference: Path, submission: Path) -> None:
    path = submission / "CHUV001.nii.gz"
    volume = read(path)
    moved = Grid(volume.grid.shape, volume.grid.spacing, tuple(o + 4.0 for o in volume.grid.origin))
    write(Volume(volume.array, moved), path)
    assert count(hecktor, reference, {"team": submission}).turnout.states["team"]["failed"] == 1
    trusted = count(hecktor, reference, {"team": submission}, "trust-index")
    assert trusted.turnout.states["team"]["voted"] == 4
    assert ensembles.overlap_of(ensembles.Ensemble(("team",), 1), trusted.cases[0].patterns).fp == 0
    resampled = count(hecktor, reference, {"team": submission}, "resample")
    assert ensembles.overlap_of(ensembles.Ensemble(("team",), 1), resampled.cases[0].patterns).fp > 0


def test_a_submission_that_is_no_submission_stops_everything_and_is_named(
    hecktor: Challenge, reference: Path, submission: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SubmissionRefused) as refusal:
        count(hecktor, reference, {"team": submission, "nobody": tmp_path / "empty"})
    (problem,) = refusal.value.problems
    assert problem.file == "nobody: empty"


def test_a_flood_of_files_is_refused_before_its_names_are_compared(
    hecktor: Challenge, reference: Path, submission: Path
) -> None:
    for i in range(1100):
        (submission / f"note{i}.txt").touch()
    with pytest.raises(SubmissionRefused, match="1,104 files; an answer to 4 cases has at most 1,040"):
        count(hecktor, reference, {"team": submission})


def test_references_that_cannot_be_read_are_named_all_at_once(
    hecktor: Challenge, reference: Path, submission: Path
) -> None:
    cohort = evaluation.open_cohort(hecktor, reference)
    for case in ("CHUV001", "CHUV003"):
        path = reference / f"{case}.nii.gz"
        path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(TruthError) as error:
        count_votes(hecktor, cohort, {"team": submission})
    assert "CHUV001.nii.gz" in str(error.value)
    assert "CHUV003.nii.gz" in str(error.value)


def test_zips_count_as_folders_do(hecktor: Challenge, reference: Path, submission: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "team.zip", "w") as archive:
        for path in submission.iterdir():
            archive.write(path, f"team/{path.name}")
    votes = count(hecktor, reference, {"folder": submission, "zip": tmp_path / "team.zip"})
    for case in votes.cases:
        assert set(case.patterns.codes.tolist()) <= {0, 3}
    assert votes.turnout.digests["folder"] == votes.turnout.digests["zip"]


@pytest.mark.parametrize("make", [lambda: ThreadPoolExecutor(3), lambda: worker_pool(2)], ids=["threads", "processes"])
def test_votes_are_the_same_on_any_executor(
    hecktor: Challenge, reference: Path, submission: Path, make: type[Executor]
) -> None:
    cohort, submissions = evaluation.open_cohort(hecktor, reference), {"all": reference, "team": submission}
    seen: list[tuple[int, int, str]] = []
    with make() as pool:
        there = count_votes(hecktor, cohort, submissions, executor=pool, progress=lambda *step: seen.append(step))
    here = count_votes(hecktor, cohort, submissions)
    assert seen == [(i + 1, 4, case.case) for i, case in enumerate(here.cases)]
    assert there.turnout == here.turnout
    for one, two in zip(there.cases, here.cases, strict=True):
        for name in ("codes", "inside", "outside"):
            np.testing.assert_array_equal(getattr(one.patterns, name), getattr(two.patterns, name))
        assert (one.case, one.weight, one.patterns.truth) == (two.case, two.weight, two.patterns.truth)


@pytest.mark.parametrize("name", ["a,b", "a(b", "a|b", "a=b", " a", "", "reference"])
def test_names_that_could_not_be_told_apart_in_the_name_of_an_ensemble_are_refused(
    hecktor: Challenge, reference: Path, submission: Path, name: str
) -> None:
    with pytest.raises(EnsembleError, match="cannot be the name of a voter"):
        count(hecktor, reference, {name: submission})


def test_without_a_reference_the_cases_are_those_that_anybody_has(
    hecktor: Challenge, submission: Path, other: Path
) -> None:
    (submission / "CHUV001.nii.gz").unlink()
    (submission / "CHUV002.nii.gz").write_bytes(b"x")  # its grid is told by the other
    (other / "CHUV003.nii.gz").unlink()
    submissions = {"team": submission, "other": other}
    cohort = ensembles.gather_cases(hecktor, submissions)
    assert [case.name for case in cohort.cases] == ["CHUV001", "CHUV002", "CHUV003", "CHUV004"]
    votes = count_votes(hecktor, cohort, submissions)
    assert [case.states() for case in votes.cases] == [
        ("voted", "missing"), ("voted", "failed"), ("missing", "voted"), ("voted", "voted"),
    ]  # fmt: skip
    assert {case.patterns.truth for case in votes.cases} == {None}


def test_without_a_reference_the_first_who_is_named_sets_the_grid(
    hecktor: Challenge, submission: Path, other: Path
) -> None:
    volume = read(other / "CHUV001.nii.gz")
    moved = Grid(volume.grid.shape, volume.grid.spacing, tuple(o + 4.0 for o in volume.grid.origin))
    write(Volume(volume.array, moved), other / "CHUV001.nii.gz")
    for submissions, failing in (
        ({"team": submission, "other": other}, "other"),
        ({"other": other, "team": submission}, "team"),
    ):
        votes = count_votes(hecktor, ensembles.gather_cases(hecktor, submissions), submissions)
        assert [voter for voter, states in votes.turnout.states.items() if states["failed"]] == [failing]


def test_without_any_mask_there_is_nothing_to_gather(hecktor: Challenge, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(EnsembleError, match="no submission holds a mask"):
        ensembles.gather_cases(hecktor, {"a": tmp_path / "empty"})


def test_a_challenge_with_several_outputs_has_no_one_mask_to_vote_on(hecktor: Challenge, submission: Path) -> None:
    from dataclasses import replace

    both = replace(hecktor, output={"mask": hecktor.output["mask"], "more": hecktor.output["mask"]})
    with pytest.raises(EnsembleError, match="asks for mask, more"):
        ensembles.gather_cases(both, {"a": submission})


@pytest.mark.parametrize("kind", ["everything", "scattered"])
def test_ten_voters_take_less_memory_than_three_masks(
    hecktor: Challenge, reference: Path, tmp_path: Path, kind: str
) -> None:
    grid = Grid((320, 320, 64))
    for voter in range(10):
        mask = np.full(grid.shape, kind == "everything", dtype=np.uint8, order="F")
        mask[0, 0, 0] = mask[-1, -1, -1 - voter] = mask[voter, -1, 7] = 1
        (tmp_path / f"v{voter:02}").mkdir()
        write(Volume(mask, grid), tmp_path / f"v{voter:02}" / "CHUV001.nii.gz")

    def everything(truth: Path, submissions: dict[str, Path], out: Path) -> None:
        cohort = evaluation.open_cohort(hecktor, truth)
        count_votes(hecktor, cohort, submissions)
        for rule in ensembles.majority(submissions), ensembles.Hierarchical(tuple(submissions), (2, 1)):
            ensembles.write_masks(hecktor, cohort, submissions, rule, out / str(rule)[:5])

    everything(reference, {"a": reference, "b": reference}, tmp_path / "small")  # compiles, which takes more
    tracemalloc.start()
    try:
        everything(tmp_path / "v00", {path.name: path for path in tmp_path.glob("v*")}, tmp_path / "large")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * grid.voxels
