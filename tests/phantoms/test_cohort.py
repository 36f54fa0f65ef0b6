"""A synthetic challenge on disk."""

from __future__ import annotations

import time

import numpy as np
import pytest

from isocenter.phantoms import (
    OBSERVERS,
    TEAMS,
    TEAMS_LUNG,
    head_and_neck,
    observe,
    segment,
    write_cohort,
    write_lung_cohort,
)
from isocenter.phantoms._lung import lung_tumour
from isocenter.volumes import read


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return write_cohort(tmp_path_factory.mktemp("cohort"))


def listing(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_there_is_a_reference_for_every_case_and_nothing_else(cohort):
    assert cohort.cases == tuple(f"CHUV{number:03d}" for number in range(1, 13))
    assert listing(cohort.reference) == [f"{case}.nii.gz" for case in cohort.cases]


def test_every_team_has_its_folder_of_outputs(cohort):
    assert list(cohort.submissions) == [team.name for team in TEAMS]
    for team in TEAMS:
        assert cohort.submissions[team.name] == cohort.reference.parent / "submissions" / team.name
        assert len(listing(cohort.submissions[team.name])) == (9 if team.name == "Reuss" else 12)


def test_the_roles_tell_the_organisers_from_the_teams(cohort):
    assert [name for name, role in cohort.roles.items() if role == "organiser"] == ["Sarine"]
    assert set(cohort.roles) == set(cohort.submissions)


def test_the_files_hold_the_patients_and_the_outputs(cohort):
    truth = head_and_neck(2)
    stored = read(cohort.reference / "CHUV002.nii.gz")
    assert np.array_equal(stored.array, truth.array)
    assert stored.grid.same_as(truth.grid)
    for team in TEAMS:
        output = segment(truth, team, number=2)
        path = cohort.submissions[team.name] / "CHUV002.nii.gz"
        assert path.exists() == (output is not None)
        if output is not None:
            assert np.array_equal(read(path).array, output.array)


def test_a_smaller_cohort_is_the_beginning_of_a_larger_one(cohort, tmp_path):
    small = write_cohort(tmp_path, cases=2)
    for name in listing(small.reference.parent):
        assert (tmp_path / name).read_bytes() == (cohort.reference.parent / name).read_bytes()


@pytest.fixture(scope="module")
def lungs(tmp_path_factory):
    return write_lung_cohort(tmp_path_factory.mktemp("lungs"), cases=4)


def test_a_lung_cohort_has_teams_and_benchmarks(lungs):
    assert lungs.cases == ("LUNG001", "LUNG002", "LUNG003", "LUNG004")
    assert {name for name, role in lungs.roles.items() if role == "team"} == {team.name for team in TEAMS_LUNG}
    assert [name for name, role in lungs.roles.items() if role == "benchmark"] == ["Observer B", "Region growing"]
    for folder in (lungs.reference, *lungs.submissions.values()):
        assert listing(folder) == [f"{case}.nii.gz" for case in lungs.cases]


def test_the_files_of_a_lung_cohort_hold_the_patients_and_what_was_drawn(lungs):
    truth = lung_tumour(2)
    stored = read(lungs.reference / "LUNG002.nii.gz")
    assert np.array_equal(stored.array, truth.array)
    assert stored.grid.same_as(truth.grid)
    second = read(lungs.submissions["Observer B"] / "LUNG002.nii.gz")
    assert np.array_equal(second.array, observe(truth, OBSERVERS[1], number=2).array)
    for folder in lungs.submissions.values():
        assert set(np.unique(read(folder / "LUNG002.nii.gz").array)) <= {0, 1}


def test_a_smaller_lung_cohort_is_the_beginning_of_a_larger_one(lungs, tmp_path):
    small = write_lung_cohort(tmp_path, cases=2)
    for name in listing(small.reference.parent):
        assert (tmp_path / name).read_bytes() == (lungs.reference.parent / name).read_bytes()


def test_progress_hears_of_every_case_once(tmp_path):
    heard = []
    write_cohort(tmp_path, cases=3, progress=heard.append)
    assert heard == ["CHUV001", "CHUV002", "CHUV003"]


def test_two_cohorts_never_mix(tmp_path):
    write_cohort(tmp_path, cases=1)
    before = {name: (tmp_path / name).read_bytes() for name in listing(tmp_path)}
    with pytest.raises(FileExistsError, match="reference is not empty"):
        write_cohort(tmp_path, cases=2, seed=1)
    assert {name: (tmp_path / name).read_bytes() for name in listing(tmp_path)} == before


def test_other_files_beside_a_cohort_are_left_alone(tmp_path):
    (tmp_path / "challenge.toml").write_text("title = 'x'")
    write_cohort(tmp_path, cases=1)
    assert (tmp_path / "challenge.toml").read_text() == "title = 'x'"


def test_a_cohort_without_cases_is_refused(tmp_path):
    with pytest.raises(ValueError, match="at least one case"):
        write_cohort(tmp_path / "new", cases=0)
    assert not (tmp_path / "new").exists()


def test_a_demonstration_does_not_keep_anybody_waiting(tmp_path):
    start = time.process_time()
    write_cohort(tmp_path)
    assert time.process_time() - start < 15.0
