"""Synthetic dose challenges on disk, as the challenges read them."""

from __future__ import annotations

from pathlib import Path

import pytest

import isocenter
from isocenter.phantoms import TEAMS_DOSERAD, TEAMS_OPENKBP, write_doserad_cohort, write_openkbp_cohort


def listing(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("make", "challenge", "teams"),
    [(write_openkbp_cohort, "openkbp2020", TEAMS_OPENKBP), (write_doserad_cohort, "doserad2026", TEAMS_DOSERAD)],
)
def test_every_team_has_an_answer_that_can_be_scored(tmp_path: Path, make, challenge, teams) -> None:
    told: list[str] = []
    cohort = make(tmp_path, cases=2, progress=told.append)
    assert tuple(told) == cohort.cases
    assert set(cohort.submissions) == {team.name for team in teams}
    for submission in cohort.submissions.values():
        serious = [
            problem
            for problem in isocenter.check(challenge, reference=cohort.reference, submission=submission)
            if problem.severity != "note"
        ]
        assert serious == []


@pytest.mark.parametrize("make", [write_openkbp_cohort, write_doserad_cohort])
def test_more_cases_add_to_fewer_and_change_none(tmp_path: Path, make) -> None:
    one, two = make(tmp_path / "one", cases=1), make(tmp_path / "two", cases=2)
    for name in listing(one.reference):
        assert (one.reference / name).read_bytes() == (two.reference / name).read_bytes()
    team = next(iter(one.submissions))
    for name in listing(one.submissions[team]):
        assert (one.submissions[team] / name).read_bytes() == (two.submissions[team] / name).read_bytes()


def test_run_times_are_there_for_every_team(tmp_path: Path) -> None:
    cohort = write_doserad_cohort(tmp_path, cases=1)
    assert cohort.run_times is not None
    read = isocenter.challenge("doserad2026").run_times
    assert read is not None
    tables, remarks = read(cohort.run_times, [team.name for team in TEAMS_DOSERAD])
    assert list(remarks) == ["run times of photons: one image with 181 control points"]
    times = {team: dict(table.select("metric", "value").iter_rows())["run_time"] for team, table in tables.items()}
    assert sorted(times, key=times.__getitem__) == [
        team.name for team in sorted(TEAMS_DOSERAD, key=lambda team: team.seconds_per_beam)
    ]
    assert max(times.values()) < 1.0


@pytest.mark.parametrize("make", [write_openkbp_cohort, write_doserad_cohort])
def test_a_cohort_is_written_into_a_new_folder_and_has_a_case(tmp_path: Path, make) -> None:
    with pytest.raises(ValueError, match="at least one case"):
        make(tmp_path, cases=0)
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "old").write_text("old")
    with pytest.raises(FileExistsError, match="not empty"):
        make(tmp_path, cases=1)
