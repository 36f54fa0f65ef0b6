"""What stands around synthetic cohorts: facts, earlier phases, observers."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path

from isocenter.metrics import dice
from isocenter.phantoms import OBSERVERS, write_hecktor_facts, write_lung_cohort, write_lung_contest
from isocenter.volumes import read


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_facts_of_hecktor_follow_from_the_seed(tmp_path: Path) -> None:
    cases = [f"CHUV{n:03d}" for n in range(1, 41)]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = write_hecktor_facts(tmp_path / "a", cases=cases, seed=3)
    assert first.read_bytes() == write_hecktor_facts(tmp_path / "b", cases=cases, seed=3).read_bytes()
    rows = rows_of(first)
    assert [row["case"] for row in rows] == cases
    assert len({row["centre"] for row in rows}) == 3
    assert all(35 <= int(row["age"]) <= 90 for row in rows)


def test_the_contest_lists_all_phases_and_what_they_grew_out_of(tmp_path: Path) -> None:
    cohort = write_lung_cohort(tmp_path, cases=2, seed=1)
    earlier = write_lung_contest(tmp_path, cohort, seed=1)
    rows = rows_of(tmp_path / "submissions.csv")
    assert {row["phase"] for row in rows} == {"phase-1", "phase-2", "phase-3"}
    assert {(tmp_path / row["table"]) for row in rows if row["phase"] != "phase-3"} == {one.table for one in earlier}
    assert all((tmp_path / row["outputs"]).is_dir() for row in rows)
    before: set[str] = set()
    for phase in ("phase-1", "phase-2", "phase-3"):
        mine = [row for row in rows if row["phase"] == phase]
        assert {team for row in mine for team in row["builds_on"].split(";") if team} <= before
        before |= {row["team"] for row in mine}
    assert {row["team"] for row in rows if row["role"] == "benchmark"} == {"Observer B", "Region growing"}


def test_six_observers_draw_every_case_and_every_case_has_its_facts(tmp_path: Path) -> None:
    cohort = write_lung_cohort(tmp_path, cases=2, seed=1)
    write_lung_contest(tmp_path, cohort, seed=1)
    drawn = {path.parent.name for path in tmp_path.glob("observers/*/*.nii.gz")}
    assert drawn == {observer.name for observer in OBSERVERS}
    assert len(list(tmp_path.glob("observers/*/*.nii.gz"))) == 12
    again = sorted(tmp_path.glob("second-pass/*/*.nii.gz"))
    assert [path.relative_to(tmp_path / "second-pass").as_posix() for path in again] == [
        "Observer A/LUNG001.nii.gz",
        "Observer C/LUNG001.nii.gz",
    ]
    for path in again:  # nobody draws twice the same, and nobody's second pass is far from the first
        first, second = (read(one).array > 0 for one in (tmp_path / "observers" / path.parent.name / path.name, path))
        assert 0.7 < dice(first, second) < 1
    assert [row["case"] for row in rows_of(tmp_path / "cases.csv")] == list(cohort.cases)
    assert all(row["stage"] in {"I", "II", "III", "IV"} for row in rows_of(tmp_path / "cases.csv"))
    times = rows_of(tmp_path / "run_times.csv")
    assert all(float(row["seconds"]) > 0 and row["images"] == "2" for row in times)


def test_submissions_have_moments_within_their_phases(tmp_path: Path) -> None:
    cohort = write_lung_cohort(tmp_path, cases=1, seed=1)
    write_lung_contest(tmp_path, cohort, seed=1)
    assert {row["time"] for row in rows_of(tmp_path / "submissions.csv")} == {""}
    start = datetime(2017, 2, 7, tzinfo=UTC)
    phases = {f"phase-{n}": (start + n * timedelta(days=30), start + (n * 30 + 21) * timedelta(days=1)) for n in (1, 2)}
    write_lung_contest(tmp_path, cohort, seed=1, phases=phases)
    for row in rows_of(tmp_path / "submissions.csv"):
        if row["phase"] == "phase-3":
            assert not row["time"]
            continue
        opens, closes = phases[row["phase"]]
        assert opens < datetime.fromisoformat(row["time"]) < closes
