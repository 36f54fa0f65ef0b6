"""A synthetic challenge in prostate cancer on disk."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from isocenter.metrics import Mark, candidates, match_points
from isocenter.phantoms import (
    READERS,
    TEAMS_PICAI,
    detect,
    prostate_exam,
    read_exam,
    write_picai_cohort,
)
from isocenter.viewer._images import find_scans
from isocenter.volumes import read

IMAGES = ("t2w", "adc", "hbv", "dce")
SINGLE = [team for team in TEAMS_PICAI if team.instances == 1]


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    return write_picai_cohort(tmp_path_factory.mktemp("picai"), cases=6)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return write_picai_cohort(tmp_path_factory.mktemp("large"), cases=24, seed=3)


def listing(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def table(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_reference_holds_lesions_and_the_table_of_cases(cohort):
    assert cohort.cases == tuple(f"PCA{number:03d}" for number in range(1, 7))
    assert listing(cohort.reference) == [*(f"{case}.nii.gz" for case in cohort.cases), "cases.csv"]
    for number, case in enumerate(cohort.cases, start=1):
        stored, exam = read(cohort.reference / f"{case}.nii.gz"), prostate_exam(number)
        assert stored.array.dtype == np.uint8
        assert np.array_equal(stored.array, exam.lesions.array)
        assert stored.grid.same_as(exam.grid)


def test_the_table_of_cases_has_weights_and_facts(cohort):
    header = (cohort.reference / "cases.csv").read_text().partition("\n")[0]
    assert header == "case,weight,center,vendor,isup,psa,age"
    for number, row in enumerate(table(cohort.reference / "cases.csv"), start=1):
        assert row == {"case": f"PCA{number:03d}", "weight": "1", **prostate_exam(number).facts}


def test_every_team_has_maps_and_likelihoods_but_one_leaves_out_a_case(cohort):
    assert list(cohort.submissions) == [team.name for team in TEAMS_PICAI]
    for team in SINGLE:
        handed_in = [case for case in cohort.cases if (team.name, case) != ("Kander", "PCA005")]
        files = listing(cohort.submissions[team.name])
        assert files == [*(f"{case}{team.suffix}" for case in handed_in), "likelihoods.json"]
        told = json.loads((cohort.submissions[team.name] / "likelihoods.json").read_text())
        assert told == "max" if team.name == "Linth" else list(told) == handed_in
    assert {team.suffix for team in SINGLE} == {".mha", ".nii.gz"}


def test_one_team_has_a_folder_for_each_of_five_instances(cohort):
    folder = cohort.submissions["Ticino"]
    names = [f"instance-{number}" for number in range(1, 6)]
    assert sorted(path.name for path in folder.iterdir()) == names
    told = []
    for name in names:
        assert listing(folder / name) == [*(f"{case}.nii.gz" for case in cohort.cases), "likelihoods.json"]
        told.append(json.loads((folder / name / "likelihoods.json").read_text()))
        assert list(told[-1]) == list(cohort.cases)
    assert len({json.dumps(likelihoods) for likelihoods in told}) == 5


def test_the_files_hold_what_the_teams_detect(cohort):
    exam = prostate_exam(2)
    for team in TEAMS_PICAI:
        for instance in range(1, 6) if team.instances == 5 else [0]:
            folder = cohort.submissions[team.name] / (f"instance-{instance}" if instance else "")
            stored, made = read(folder / f"PCA002{team.suffix}"), detect(exam, team, number=2, instance=instance)
            assert stored.array.dtype == np.float32
            assert np.array_equal(stored.array, made.map.array)
            assert stored.grid.same_as(exam.grid)
            told = json.loads((folder / "likelihoods.json").read_text())
            assert (float(stored.array.max()) if told == "max" else told["PCA002"]) == made.likelihood


def test_every_written_map_is_a_detection_map(cohort):
    maps = [path for folder in cohort.submissions.values() for path in folder.rglob("PCA*")]
    assert len(maps) == 6 * (len(SINGLE) + 5) - 1
    for path in maps:
        candidates(read(path).array)


def test_the_roles_tell_the_organisers_from_the_teams(cohort):
    assert [name for name, role in cohort.roles.items() if role != "team"] == ["Moesa"]
    assert set(cohort.roles) == set(cohort.submissions)


def test_a_read_has_a_row_per_mark_or_one_without(cohort):
    assert cohort.reads == cohort.reference.parent / "reads.csv"
    assert cohort.reads.read_text().startswith("reader,modality,case,score,x,y,z,pirads\n")
    rows = table(cohort.reads)
    for number, case in enumerate(cohort.cases, start=1):
        exam = prostate_exam(number)
        for reader in READERS:
            own = [row for row in rows if (row["reader"], row["case"]) == (reader.name, case)]
            made = read_exam(exam, reader, number=number)
            assert {(row["modality"], row["score"]) for row in own} == {("bpMRI", str(made.score))}
            assert [(row["x"], row["y"], row["z"], row["pirads"]) for row in own] == [
                (*(f"{at:.2f}" for at in position), str(pirads)) for position, pirads in made.marks
            ] or (len(own) == 1 and not made.marks and own[0]["x"] == own[0]["pirads"] == "")


def test_marks_from_the_file_are_where_the_lesions_of_the_file_are(large):
    """Positions and label volumes went different ways to disk; they must meet in the patient."""
    hits = total = 0
    truths = {case: read(large.reference / f"{case}.nii.gz") for case in large.cases}
    for row in table(large.reads):
        truth = truths[row["case"]]
        if row["pirads"] in {"4", "5"} and truth.array.any():
            mark = Mark((float(row["x"]), float(row["y"]), float(row["z"])), int(row["pirads"]))
            found = match_points([mark], truth.array, grid=truth.grid)
            hits += any(each.is_lesion and each.confidence > 0 for each in found)
            total += 1
    assert total > 8
    assert hits > 0.6 * total


def test_from_twenty_cases_on_each_reader_reads_half_of_them(large):
    read_by = {}
    for row in table(large.reads):
        read_by.setdefault(row["reader"], set()).add(row["case"])
    assert set(read_by) == {reader.name for reader in READERS}
    blocks = {frozenset(cases) for cases in read_by.values()}
    assert len(blocks) == 2
    assert frozenset.union(*blocks) == set(large.cases)
    assert not frozenset.intersection(*blocks)
    assert all(abs(len(block) - 12) <= 1 for block in blocks)
    positive = {row["case"] for row in table(large.reference / "cases.csv") if int(row["isup"]) >= 2}
    one, other = (len(positive & block) for block in blocks)
    assert abs(one - other) <= 1
    experts = {reader.name for reader in READERS if reader.expert}
    for block in blocks:
        readers = {name for name, cases in read_by.items() if cases == block}
        assert len(readers) == 3
        assert 1 <= len(readers & experts) <= 2


def test_below_twenty_cases_each_reader_reads_all(cohort):
    pairs = {(row["reader"], row["case"]) for row in table(cohort.reads)}
    assert len(pairs) == len(READERS) * len(cohort.cases)


def test_a_smaller_cohort_is_the_beginning_of_a_larger_one(cohort, tmp_path):
    """Files are the same, tables begin the same, and likelihoods of the same cases are the same."""
    write_picai_cohort(tmp_path, cases=4)
    whole = cohort.reference.parent
    for name in listing(tmp_path):
        small, same = (tmp_path / name).read_bytes(), (whole / name).read_bytes()
        if name.endswith(".csv"):
            assert same.startswith(small)
        elif name.endswith(".json") and small != b'"max"\n':
            assert json.loads(small).items() <= json.loads(same).items()
        else:
            assert small == same


def test_with_four_cases_nobody_leaves_one_out(tmp_path):
    small = write_picai_cohort(tmp_path, cases=4)
    assert len(listing(small.submissions["Kander"])) == 5


def test_scans_are_written_if_asked_for_and_change_nothing_else(cohort, tmp_path):
    assert cohort.images is None
    scanned = write_picai_cohort(tmp_path / "scanned", cases=2, scans=True)
    write_picai_cohort(tmp_path / "plain", cases=2)
    assert scanned.images == tmp_path / "scanned" / "images"
    assert listing(scanned.images) == sorted(f"{case}_{name}.mha" for case in scanned.cases for name in IMAGES)
    plain = listing(tmp_path / "plain")
    assert plain == [name for name in listing(tmp_path / "scanned") if not name.startswith("images/")]
    for name in plain:
        assert (tmp_path / "plain" / name).read_bytes() == (tmp_path / "scanned" / name).read_bytes()


def test_scans_hold_the_images_rounded_and_the_viewer_finds_them_in_the_order_of_reading(tmp_path):
    scanned = write_picai_cohort(tmp_path, cases=1, seed=3, scans=True)
    (scans,) = find_scans(scanned.images, scanned.cases).values()
    assert [scan.name for scan in scans] == ["T2W", "ADC", "HBV", "DCE"]
    exam = prostate_exam(1, seed=3)
    for name, half_step in zip(IMAGES, (5, 10, 2, 4), strict=True):
        stored, made = read(scanned.images / f"PCA001_{name}.mha"), getattr(exam, name)
        assert stored.array.dtype == np.int16
        assert stored.grid.same_as(exam.grid)
        assert abs(stored.array - made.array).max() <= half_step
    assert sum(path.stat().st_size for path in scanned.images.iterdir()) < 10**6


def test_no_scans_are_written_where_others_lie(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "old_t2w.mha").write_text("old")
    with pytest.raises(FileExistsError, match="images is not empty"):
        write_picai_cohort(tmp_path, cases=1, scans=True)
    assert listing(tmp_path) == ["images/old_t2w.mha"]


def test_another_seed_gives_other_patients(cohort, large):
    assert (cohort.reference / "PCA001.nii.gz").read_bytes() != (large.reference / "PCA001.nii.gz").read_bytes()
    assert table(cohort.reference / "cases.csv") != table(large.reference / "cases.csv")[:6]


def test_progress_hears_of_every_case_once(tmp_path):
    heard = []
    write_picai_cohort(tmp_path, cases=2, progress=heard.append)
    assert heard == ["PCA001", "PCA002"]


@pytest.mark.parametrize("name", ["reference/old.nii.gz", "submissions/old/likelihoods.json", "reads.csv"])
def test_nothing_is_written_where_a_cohort_lies_already(tmp_path, name):
    old = tmp_path / name
    old.parent.mkdir(parents=True, exist_ok=True)
    old.write_text("old")
    with pytest.raises(FileExistsError, match=r"is not empty|is already there"):
        write_picai_cohort(tmp_path, cases=1)
    assert listing(tmp_path) == [name]
    assert old.read_text() == "old"


def test_a_cohort_without_cases_is_refused(tmp_path):
    with pytest.raises(ValueError, match="at least one case"):
        write_picai_cohort(tmp_path / "new", cases=0)
    assert not (tmp_path / "new").exists()
