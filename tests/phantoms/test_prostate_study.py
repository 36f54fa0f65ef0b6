"""What an organiser hands over for a reader study."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from isocenter.phantoms import prostate_exam, write_picai_cohort, write_reading_study
from isocenter.volumes import read

SCANS = ["adc.mha", "dce.mha", "hbv.mha", "t2w.mha"]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_reading_study(tmp_path_factory.mktemp("study") / "new", cases=3, practice=3, seed=5)


def rows(table):
    with table.open(newline="") as stream:
        return {row["case"]: row for row in csv.DictReader(stream)}


def test_every_case_has_a_line_and_a_folder_of_four_scans(study):
    assert study.read_text().startswith("case,practice,positive,centre,age,psa,psad,volume\n")
    names = ["PCA001", "PCA002", "PCA003", "practice-1", "practice-2", "practice-3"]
    assert list(rows(study)) == names
    assert sorted(path.name for path in study.parent.iterdir()) == [*names[:3], "cases.csv", *names[3:]]
    for name in names:
        assert sorted(path.name for path in (study.parent / name).iterdir()) == SCANS


def test_the_facts_are_those_of_the_exam(study):
    for number in (1, 2, 3):
        exam, row = prostate_exam(number, seed=5), rows(study)[f"PCA{number:03d}"]
        assert row["practice"] == "no"
        assert row["positive"] == ("yes" if exam.lesions.array.any() else "no")
        assert (row["centre"], row["age"], row["psa"]) == tuple(exam.facts[name] for name in ("center", "age", "psa"))
        assert float(row["volume"]) == pytest.approx(exam.gland_volume, abs=0.5)
        assert float(row["psad"]) == pytest.approx(float(row["psa"]) / float(row["volume"]), abs=0.005)


def test_the_first_lines_never_change(tmp_path):
    assert write_reading_study(tmp_path, cases=2, practice=1).read_text().splitlines()[1:] == [
        "PCA001,no,yes,Cedar,68,6.7,0.17,40",
        "PCA002,no,yes,Alder,73,16.2,0.42,39",
        "practice-1,yes,yes,Cedar,67,3.4,0.10,35",
    ]


def test_the_reference_of_the_cohort_is_that_of_the_cases(study, tmp_path):
    """Of the same seed: reads of the study are scored with it."""
    cohort = write_picai_cohort(tmp_path, cases=2, seed=5, scans=True)
    for case in cohort.cases:
        truth = read(cohort.reference / f"{case}.nii.gz")
        assert rows(study)[case]["positive"] == ("yes" if truth.array.any() else "no")
        for scan in SCANS:
            assert (study.parent / case / scan).read_bytes() == (cohort.images / f"{case}_{scan}").read_bytes()
        assert read(study.parent / case / "t2w.mha").grid.same_as(truth.grid)


def test_practice_is_on_other_patients_with_and_without_cancer_in_turn(study):
    practice = [row for row in rows(study).values() if row["practice"] == "yes"]
    assert [(row["case"], row["positive"]) for row in practice] == [
        ("practice-1", "yes"),
        ("practice-2", "no"),
        ("practice-3", "yes"),
    ]
    grids = {read(folder / "t2w.mha").grid for folder in study.parent.iterdir() if folder.is_dir()}
    assert len(grids) == 6


def test_a_smaller_study_is_part_of_a_larger_one(study, tmp_path):
    small = write_reading_study(tmp_path, cases=1, practice=1, seed=5)
    assert rows(small).items() <= rows(study).items()
    for case in ("PCA001", "practice-1"):
        assert np.array_equal(read(tmp_path / case / "dce.mha").array, read(study.parent / case / "dce.mha").array)


def test_a_study_may_go_without_practice(tmp_path):
    assert list(rows(write_reading_study(tmp_path, cases=1, practice=0))) == ["PCA001"]


@pytest.mark.parametrize(("cases", "practice"), [(0, 2), (1, -1)])
def test_a_study_without_cases_is_refused(tmp_path, cases, practice):
    with pytest.raises(ValueError, match=f"not {cases} and {practice}"):
        write_reading_study(tmp_path / "new", cases=cases, practice=practice)
    assert not (tmp_path / "new").exists()


def test_nothing_is_written_where_something_lies(tmp_path):
    (tmp_path / "cases.csv").write_text("old")
    with pytest.raises(FileExistsError, match="is not empty"):
        write_reading_study(tmp_path, cases=1)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("cases.csv", "old")]
