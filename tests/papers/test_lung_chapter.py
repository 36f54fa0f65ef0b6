"""The chapter of the lung contest: what its supplement shows, on masks counted by hand; and what must not be shown."""

from __future__ import annotations

import csv
import math
import shutil
import statistics
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.papers.masks import GRID, Box, block, everything, mask_of, notes, rows, study_of, write_edition, write_masks

from isocenter import editions, scores
from isocenter.ensembles import count_votes, pair_table
from isocenter.evaluation import evaluate, load_challenge, open_cohort
from isocenter.metrics import Overlap, s_score, s_score_of
from isocenter.papers import make_report
from isocenter.papers.lung2019 import chapter
from isocenter.papers.lung2019._volumes import V0, s_of
from isocenter.phantoms import write_lung_cohort, write_lung_contest
from isocenter.report import Chart, Report, Section, report_csvs, report_html
from isocenter.stats import in_brackets, mean_and_error

TRUTH: list[Box] = [(3, 9, 3, 9, 2, 5), (4, 8, 2, 8, 1, 6), (2, 10, 4, 9, 2, 6), (5, 9, 5, 9, 3, 6)]
RIGI: list[Box | None] = [(3, 9, 3, 9, 2, 5), (4, 8, 2, 8, 1, 6), (3, 10, 4, 9, 2, 6), (5, 9, 4, 9, 3, 6)]
NAPF: list[Box | None] = [(4, 10, 3, 9, 2, 5), (4, 8, 3, 9, 1, 6), (2, 10, 4, 9, 3, 7), None]
WEAK: list[Box | None] = [(5, 11, 3, 9, 2, 5), (4, 8, 4, 10, 1, 6), (4, 12, 4, 9, 3, 7), None]
TEAMS = {"Rigi": RIGI, "Napf": NAPF, "Eiger": WEAK, "Secret": list(TRUTH), "Region growing": WEAK}
SECTIONS = [
    "scores", "cohorts", "placed-methods", "examples", "volumes", "strata", "ensembles", "observers", "lineage",
    "prizes",
]  # fmt: skip

LISTED = """\
phase,team,table,role,builds_on
phase-1,Rigi,scores/Napf.parquet,team,
phase-1,Secret,scores/Rigi.parquet,organiser,
phase-1,Ghost,scores/Secret.parquet,organiser,
phase-1,Turncoat,scores/Eiger.parquet,team,
phase-1,Bernina,scores/Eiger.parquet,team,
phase-2,Napf,scores/Napf.parquet,team,Bernina;Secret
phase-2,Rigi,scores/Rigi.parquet,team,Rigi;Turncoat
phase-3,Rigi,scores/Rigi.parquet,team,Rigi;Napf
phase-3,Napf,scores/Napf.parquet,team,Rigi
phase-3,Eiger,scores/Eiger.parquet,team,Secret
phase-3,Secret,scores/Secret.parquet,organiser,Rigi
phase-3,Turncoat,scores/Secret.parquet,organiser,
phase-3,Region growing,scores/Region growing.parquet,benchmark,
"""
FILES = {
    "submissions.csv": LISTED,
    "cases.csv": "case,stage,contrast\nP01,I,yes\nP02,III,no\nP03,III,no\nP04,III,yes\n",
    "survey.csv": "team,method\nRigi,network\nNapf,forest\nEiger,clusters\nBernina,forest\nSecret,magic wand\n",
    "run_times.csv": "submission,seconds,images\nRigi,30,2\nRigi,70,2\nNapf,oops,4\nNapf,16,4\nSecret,1,4\n",
}
OBSERVERS: dict[str, list[Box | None]] = {"A": list(TRUTH), "B|=(": [*RIGI[:2], None, None]}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four scans in three phases, two observers, a benchmark, and a team of the organisers that nobody may see."""
    folder = tmp_path_factory.mktemp("lung") / "edition"
    names = write_edition(folder, "lung2019", TRUTH, TEAMS)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    for observer, boxes in OBSERVERS.items():
        write_masks(folder / "observers" / observer, boxes, names=names)
    return folder


@pytest.fixture(scope="module")
def written(home: Path) -> list[Section]:
    """The chapter of it."""
    return chapter(study_of(home))


def s_of_boxes(truth: Box, other: Box | None) -> float:
    if other is None:
        return 0.0
    return s_score(mask_of(truth) > 0, mask_of(other) > 0, spacing=GRID.spacing)


def test_every_section_is_there_and_the_report_can_be_written(written: list[Section]) -> None:
    sections = list(written)
    assert [one.name for one in sections] == SECTIONS
    report = Report("t", "", tuple(sections))
    assert "<svg" in report_html(report)
    assert "awards" in report_csvs(report)


def test_the_csv_of_means_has_a_column_of_standard_errors(written: list[Section]) -> None:
    head, *lines = csv.reader(report_csvs(Report("t", "", tuple(written)))["in-brackets"].splitlines())
    at = next(place for place, title in enumerate(head) if "standard error" in title)
    assert head[at] == f"{head[at - 1]}, standard error"
    shown = {row[0]: str(row[1]) for row in rows(written, "in-brackets")}
    for line in lines:
        if "(" in shown[line[0]] and line[at]:
            assert in_brackets(float(line[at - 1]), float(line[at])) == shown[line[0]]
    assert sum(bool(line[at]) for line in lines) >= 3


def test_means_have_their_standard_error_in_brackets(written: list[Section]) -> None:
    found = {row[0]: row[1:] for row in rows(written, "in-brackets")}
    expected = [s_of_boxes(truth, mine) for truth, mine in zip(TRUTH, NAPF, strict=True)]
    assert found["Napf"][0] == in_brackets(*mean_and_error(expected))
    assert "Region growing (benchmark)" in found
    assert "Majority of 3 teams (ensemble)" in found


def test_run_times_are_seconds_by_scans_and_a_bad_line_is_said(written: list[Section]) -> None:
    sections = list(written)
    assert rows(sections, "seconds-per-scan") == [["Rigi", "25", "4"], ["Napf", "4", "4"]]
    assert "line 4" in notes(sections[0])


# Cohorts, methods, examples


EXTERNAL: list[Box] = [(2, 8, 3, 9, 2, 5), (4, 9, 2, 8, 1, 6), (3, 9, 4, 9, 2, 6)]
ELSEWHERE: dict[str, list[Box | None]] = {
    "Rigi": [(2, 8, 3, 9, 2, 5), (4, 9, 3, 8, 1, 6), (3, 10, 4, 9, 2, 6)],
    "Napf": [(3, 8, 3, 9, 2, 5), None, (3, 9, 4, 9, 3, 7)],
    "Eiger": [(2, 9, 3, 9, 2, 6), (4, 9, 2, 8, 2, 6), (4, 9, 4, 9, 2, 6)],
    "Secret": list(EXTERNAL),
}


@pytest.fixture(scope="module")
def beside(home: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Section]:
    """The same edition with an external cohort, volumes of a public data set and more questions."""
    folder = tmp_path_factory.mktemp("cohorts") / "edition"
    shutil.copytree(home, folder)
    write_edition(folder / "cohorts" / "external", "lung2019", EXTERNAL, ELSEWHERE)
    write_masks(folder / "cohorts/external/observers/A", list(EXTERNAL), names=["P01", "P02", "P03"])
    write_masks(folder / "cohorts/external/observers/C", ELSEWHERE["Rigi"], names=["P01", "P02", "P03"])
    (folder / "volumes.csv").write_text("dataset,volume_ml\nLIDC,0.5\nLIDC,2\nLIDC,8\nLIDC,zero\n", encoding="utf-8")
    text = f"team,phase,method,seed points\nRigi,,network,Yes\nNapf,phase-3,forest,{'x' * 61}\nSecret,,magic wand,Yes\n"
    (folder / "survey.csv").write_text(text, encoding="utf-8")
    return chapter(study_of(folder))


def test_every_submission_stands_side_by_side_on_all_cohorts(beside: list[Section]) -> None:
    found = {(row[0], row[1]): row[2:] for row in rows(beside, "cohorts-side-by-side")}
    for team in ("Rigi", "Napf"):
        there = [s_of_boxes(truth, box) for truth, box in zip(EXTERNAL, ELSEWHERE[team], strict=True)]
        here = [s_of_boxes(truth, box) for truth, box in zip(TRUTH, TEAMS[team], strict=True)]
        assert found["S score", team] == [in_brackets(*mean_and_error(values)) for values in (here, there)]
    assert found["S score", "Region growing (benchmark)"][1] == "–"
    assert {metric for metric, _ in found} == {"S score", "Dice", "Jaccard", "Precision", "Recall"}
    assert "Secret" not in everything(beside)


def dice_of(a: np.ndarray, b: np.ndarray) -> float:
    return 2 * int((a & b).sum()) / (int(a.sum()) + int(b.sum()))


def test_ensembles_are_chosen_on_this_phase_and_confirmed_on_the_others(beside: list[Section]) -> None:
    found = {(row[0], row[1]): row[2:] for row in rows(beside, "cohorts-side-by-side")}
    teams = [ELSEWHERE[team] for team in ("Rigi", "Napf", "Eiger")]
    voted = [np.sum([mask_of(box) > 0 for mine in teams if (box := mine[n])], axis=0) >= 2 for n in range(3)]
    dices = [dice_of(mask_of(truth) > 0, mask) for truth, mask in zip(EXTERNAL, voted, strict=True)]
    assert found["Dice", "Majority of all (ensemble)"][1] == in_brackets(*mean_and_error(dices))
    # Rigi alone is the best of all ensembles here, and is taken as it is there.
    assert found["Dice", "Best ensemble, chosen on this phase"] == found["Dice", "Rigi"]
    drawn = zip(EXTERNAL, ELSEWHERE["Rigi"], strict=True)
    pairs = [dice_of(mask_of(a) > 0, mask_of(b) > 0) for a, b in drawn if b is not None]
    assert found["Dice", "Between observers"][1] == in_brackets(statistics.fmean(pairs), statistics.stdev(pairs))


def test_methods_are_those_of_the_placed_teams_without_long_words(beside: list[Section]) -> None:
    found = rows(beside, "methods-table")
    assert [row[1:] for row in found if row[2] == "Napf"] == [["2", "Napf", "forest", "in their own words"]]
    assert {row[2] for row in found} == {"Rigi", "Napf"}


def test_volumes_stand_beside_those_of_other_data_sets(beside: list[Section]) -> None:
    found = {row[0]: row[1:] for row in rows(beside, "volume-statistics")}
    assert list(found) == ["This phase", "external", "LIDC"]
    logs = [math.log(1000 * volume) for volume in (0.5, 2, 8)]
    assert found["LIDC"] == ["3", f"{statistics.fmean(logs):.2f} ({statistics.stdev(logs):.2f})", "2"]
    voxel = math.prod(GRID.spacing)
    logs = [math.log(int(mask_of(box).sum()) * voxel) for box in EXTERNAL]
    assert found["external"][1] == f"{statistics.fmean(logs):.2f} ({statistics.stdev(logs):.2f})"
    chart = block(beside, "volume-distributions")
    assert isinstance(chart, Chart)
    assert chart.data is not None
    assert dict(chart.data.group_by("dataset").sum().select("dataset", "scans").iter_rows()) == {
        "This phase": 4, "external": 3, "LIDC": 3,
    }  # fmt: skip
    assert "not so in line 5" in everything(beside)


def test_four_examples_go_from_the_worst_to_the_best(beside: list[Section]) -> None:
    section = next(one for one in beside if one.name == "examples")
    charts = [one for one in section.blocks if isinstance(one, Chart)]
    assert [one.name for one in charts] == [f"example-{n}" for n in range(1, 5)]
    scores = [s_of_boxes(truth, mine) for truth, mine in zip(TRUTH, RIGI, strict=True)]
    order = sorted(range(4), key=lambda case: (scores[case], f"P{case + 1:02d}"))
    assert [one.caption[:8] for one in charts] == [f"Case P{case + 1:02d}" for case in order]
    assert "Expert" in charts[0].picture
    assert any("Region growing" in one.picture for one in charts)


def test_the_chapter_fits_into_a_whole_report(home: Path) -> None:
    assert {one.name for one in make_report(study_of(home)).sections} >= set(SECTIONS)


def test_without_other_cohorts_it_is_said_what_would_show_them(written: list[Section]) -> None:
    section = next(one for one in written if one.name == "cohorts")
    assert "cohorts/NAME/scores/" in everything([section])


@given(tp=st.integers(1, 10**6), fp=st.integers(0, 10**6), fn=st.integers(0, 10**6), voxel=st.floats(0.1, 50))
def test_curves_of_equal_error_are_the_metric_itself(tp: int, fp: int, fn: int, voxel: float) -> None:
    truth = tp + fn
    error = fn / tp + fp / truth
    assert s_of(error, truth * voxel / V0) == pytest.approx(s_score_of(Overlap(tp, fp, fn), voxel_volume=voxel))


def test_volumes_come_from_the_reference_in_units_of_a_sphere_of_30_mm(written: list[Section]) -> None:
    chart = block(written, "score-by-volume")
    assert isinstance(chart, Chart)
    assert chart.data is not None
    found = dict(chart.data.select("case", "volume_ml").iter_rows())
    assert found["P01"] == pytest.approx(6 * 6 * 3 * 0.125)
    ratios = dict(chart.data.select("case", "v_v0").iter_rows())
    assert ratios["P01"] == pytest.approx(13.5 / (4 / 3 * math.pi * 27.0))
    values = dict(chart.data.select("case", "s_score").iter_rows())
    assert values["P03"] == pytest.approx(s_of_boxes(TRUTH[2], RIGI[2]))


def test_volumes_of_cases_csv_come_first(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "lung2019", TRUTH, {"Rigi": RIGI}, keep=False)
    (tmp_path / "e" / "cases.csv").write_text("case,volume_ml\nP01,113.1\nP02,unknown\nP03,-4\nP04,11.31\n")
    chart = block(chapter(study_of(tmp_path / "e")), "score-by-volume")
    assert isinstance(chart, Chart)
    assert chart.data is not None
    assert chart.data["v_v0"].to_list() == [pytest.approx(1.0, abs=1e-3), pytest.approx(0.1, abs=1e-4)]


def test_volumes_that_cannot_be_are_said_and_those_of_other_cases_are_not_used(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "lung2019", TRUTH, {"Rigi": RIGI})
    (tmp_path / "e" / "cases.csv").write_text("case,volume_ml\nP01,113.1\nP02,0\nP03,113097\nP04,\nP99,11.31\n")
    sections = chapter(study_of(tmp_path / "e"))
    chart = block(sections, "score-by-volume")
    assert isinstance(chart, Chart)
    assert chart.data is not None
    assert chart.data["case"].to_list() == ["P01"]
    said = "a volume is above 0 and at most 10000 ml; left out is what is not (0 of P02, 113097 of P03)."
    assert said in notes(sections[SECTIONS.index("volumes")])


def test_volumes_are_measured_where_no_given_one_can_be(tmp_path: Path) -> None:
    names = write_edition(tmp_path / "e", "lung2019", TRUTH, {"Rigi": RIGI}, keep=False)
    (tmp_path / "e" / "cases.csv").write_text("case,volume_ml\nP01,nan\nP99,11.31\n")
    write_masks(tmp_path / "e" / "reference", TRUTH[:1], names=["P98"])
    sections = chapter(study_of(tmp_path / "e"))
    chart = block(sections, "score-by-volume")
    assert isinstance(chart, Chart)
    assert chart.data is not None
    assert chart.data["case"].to_list() == names
    assert "(nan of P01)" in notes(sections[SECTIONS.index("volumes")])


def test_strata_have_shares_and_benchmarks(written: list[Section]) -> None:
    sections = list(written)
    chart = block(sections, "strata-s-score")
    assert isinstance(chart, Chart)
    assert "Dashed lines: means of Region growing, inter-observer." in chart.caption
    picture = str(chart.picture)
    assert "25 %" in picture  # stage I
    assert "75 %" in picture  # stage III
    assert "50 %" in picture  # with contrast
    assert chart.data is not None
    votes = {case: value for stratum, case, value in chart.data.iter_rows() if stratum == "all cases"}
    marked = np.sum([mask_of(boxes[3] or (0, 0, 0, 0, 0, 0)) for boxes in (RIGI, NAPF, WEAK)], axis=0) >= 2
    assert votes["P04"] == s_score(mask_of(TRUTH[3]) > 0, marked, spacing=GRID.spacing) == 0.0
    assert len(votes) == 4


def test_without_masks_strata_are_those_of_the_winner(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "lung2019", TRUTH, {"Rigi": RIGI, "Napf": NAPF}, keep=False)
    (tmp_path / "e" / "cases.csv").write_text(FILES["cases.csv"])
    chart = block(chapter(study_of(tmp_path / "e")), "strata-dice")
    assert "Rigi, the first of the board" in chart.caption


def test_observers_are_the_truth_in_turn(written: list[Section]) -> None:
    sections = list(written)
    found = {row[0]: row[1:] for row in rows(sections, "observers-s-score")}
    assert list(found) == ["Rigi", "Napf", "Eiger", "A", "B|=("]
    against_a = [s_of_boxes(truth, mine) for truth, mine in zip(TRUTH, RIGI, strict=True)]
    assert found["Rigi"][0] == in_brackets(*mean_and_error(against_a))
    against_b = [s_of_boxes(truth, mine) for truth, mine in zip(RIGI[:2], NAPF[:2], strict=True) if truth]
    assert found["Napf"][1] == in_brackets(*mean_and_error(against_b))
    assert found["A"][0] == "–"


def test_observers_among_themselves_have_a_standard_deviation(tmp_path: Path) -> None:
    names = write_edition(tmp_path / "e", "lung2019", TRUTH, {"Rigi": RIGI})
    for observer, boxes in {"A": TRUTH, "B": [*NAPF[:3], TRUTH[3]]}.items():
        write_masks(tmp_path / "e" / "observers" / observer, boxes, names=names)
    pairs = list(zip(TRUTH, [*NAPF[:3], TRUTH[3]], strict=True))
    both = [s_of_boxes(*pair) for pair in pairs] + [s_of_boxes(b, a) for a, b in pairs if b]
    text = everything(chapter(study_of(tmp_path / "e")))
    assert f"S score {in_brackets(statistics.mean(both), statistics.stdev(both))}" in text


AGAIN: list[Box | None] = [(3, 9, 3, 9, 2, 6), None, (3, 10, 4, 9, 2, 6), (5, 9, 5, 9, 3, 6)]


def test_second_passes_are_measured_against_the_first_as_the_truth(tmp_path: Path) -> None:
    home = tmp_path / "e"
    names = write_edition(home, "lung2019", TRUTH, {"Rigi": RIGI, "Napf": NAPF})
    (home / "cases.csv").write_text(FILES["cases.csv"])
    write_masks(home / "observers" / "A", [*RIGI[:2], None, None], names=names)
    write_masks(home / "second-pass" / "A", AGAIN, names=names)
    write_masks(home / "second-pass" / "reference", AGAIN, names=names)
    write_masks(home / "second-pass" / "Stranger", AGAIN, names=names)
    write_masks(home / "second-pass" / "Rigi", AGAIN, names=names)
    sections = chapter(study_of(home))
    drawn = [(TRUTH[n], box) for n, box in enumerate(AGAIN) if box is not None] + [(RIGI[0], AGAIN[0])]
    values = [s_of_boxes(first, second) for first, second in drawn]
    assert len(values) == 4
    found = {row[0]: row[1] for row in rows(sections, "in-brackets")}
    assert found["Within observers"] == f"{in_brackets(*mean_and_error(values))}, n = 4"
    text = everything(sections)
    assert "by A (1 scan), the observer of the reference (3 scans)." in text
    assert "Without a first pass of the same scans: Stranger." in text
    chart = block(sections, "strata-s-score")
    assert "Dashed lines: means of intra-observer." in chart.caption
    shown = rows(sections, "in-brackets")[-1]
    dices = [dice_of(mask_of(first) > 0, mask_of(second) > 0) for first, second in drawn]
    assert shown[:1] + shown[2:3] == ["Within observers", f"{in_brackets(*mean_and_error(dices))}, n = 4"]
    table = csv.DictReader(report_csvs(Report("t", "", tuple(sections)))["in-brackets"].splitlines())
    last = list(table)[-1]
    mean, error = mean_and_error(values)
    assert (float(last["S score"]), float(last["S score, standard error"])) == pytest.approx((mean, error))


def test_the_second_pass_of_every_cohort_stands_beside_that_of_the_others(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "edition"
    shutil.copytree(home, folder)
    write_edition(folder / "cohorts" / "external", "lung2019", EXTERNAL, ELSEWHERE)
    write_edition(folder / "cohorts" / "holdout", "lung2019", EXTERNAL, ELSEWHERE)
    write_masks(folder / "cohorts/holdout/second-pass/reference", ELSEWHERE["Rigi"][:2], names=["P01", "P02"])
    sections = chapter(study_of(folder))
    found = {(row[0], row[1]): row[2:] for row in rows(sections, "cohorts-side-by-side")}
    drawn = list(zip(EXTERNAL[:2], ELSEWHERE["Rigi"][:2], strict=True))
    scores = in_brackets(*mean_and_error([s_of_boxes(first, second) for first, second in drawn]))
    assert found["S score", "Within observers"] == ["–", "–", f"{scores}, n = 2"]
    assert {metric for metric, row in found if row == "Within observers"} == {metric for metric, _ in found}
    text = notes(next(one for one in sections if one.name == "cohorts"))
    for cohort in ("This phase", "external"):
        assert f"{cohort}: there are no second passes of observers." in text
    assert "holdout: Within observers: second passes against the first" in text


def test_without_second_passes_it_is_said_what_would_show_them(written: list[Section], tmp_path: Path) -> None:
    observers = next(one for one in written if one.name == "observers")
    assert "second-pass/NAME/ would hold the scans" in notes(observers)
    assert "Within observers" not in {row[0] for row in rows(written, "in-brackets")}
    names = write_edition(tmp_path / "e", "lung2019", TRUTH, {"Rigi": RIGI})
    write_masks(tmp_path / "e" / "second-pass" / "A", AGAIN, names=names)
    assert "No scan of second-pass/ has a first pass of the same observer." in everything(
        chapter(study_of(tmp_path / "e"))
    )


def test_a_table_of_pairs_stands_for_other_scans(tmp_path: Path) -> None:
    names = write_edition(tmp_path / "e", "lung2019", TRUTH, {"Rigi": RIGI, "Napf": NAPF})
    other = tmp_path / "e" / "other"
    files = {"Rigi": RIGI, "Dr A": TRUTH, "Dr B": [*RIGI[:2], None, None], "Sarine": TRUTH, "Region growing": WEAK}
    for name, boxes in files.items():
        write_masks(other / name, boxes, names=names)
    which = load_challenge("lung2019")
    cohort = open_cohort(which, tmp_path / "e" / "reference")
    votes = count_votes(which, cohort, {name: other / name for name in files})
    (tmp_path / "e" / "submissions.csv").write_text(
        "team,table,role\nRigi,scores/Rigi.parquet,team\nNapf,scores/Napf.parquet,team\n"
        "Sarine,scores/Rigi.parquet,organiser\nRegion growing,scores/Napf.parquet,benchmark\n"
    )
    scores.write(pair_table(votes, metrics=["s_score", "dice"]), tmp_path / "e" / "observers.parquet", record={})
    sections = chapter(study_of(tmp_path / "e"))
    assert [row[0] for row in rows(sections, "observers-dice")] == ["Rigi", "Dr A", "Dr B"]
    assert [row[0] for row in rows(sections, "observers-s-score")] == ["Rigi", "Dr A", "Dr B"]


def test_only_folders_and_zips_of_those_who_take_no_part_are_observers(tmp_path: Path) -> None:
    home = tmp_path / "e"
    names = write_edition(home, "lung2019", TRUTH, {"Rigi": RIGI, "Region growing": WEAK})
    (home / "submissions.csv").write_text(
        "team,table,role\nRigi,scores/Rigi.parquet,team\nRegion growing,scores/Region growing.parquet,benchmark\n"
    )
    for observer, boxes in {"A": TRUTH, "B": RIGI, "Rigi": RIGI, "Region growing": WEAK}.items():
        write_masks(home / "observers" / observer, boxes, names=names)
    shutil.make_archive(str(home / "observers" / "B"), "zip", home / "observers" / "B")
    shutil.make_archive(str(home / "observers" / "C"), "zip", home / "observers" / "B")
    (home / "observers" / "README.txt").write_text("who they are")
    (home / "observers" / ".DS_Store").write_text("")
    assert [row[0] for row in rows(chapter(study_of(home)), "observers-dice")] == ["Rigi", "A", "B", "C"]


def test_observers_are_not_compared_with_files_that_were_not_scored(tmp_path: Path) -> None:
    names = write_edition(tmp_path / "e", "lung2019", TRUTH, {"Rigi": RIGI, "Napf": NAPF})
    for observer in ("A", "B"):
        write_masks(tmp_path / "e" / "observers" / observer, TRUTH, names=names)
    write_masks(tmp_path / "e" / "submissions" / "Napf", TRUTH[:1], names=names[:1])
    sections = chapter(study_of(tmp_path / "e"))
    assert [row[0] for row in rows(sections, "observers-s-score")] == ["Rigi", "A", "B"]


def test_a_broken_table_of_pairs_is_said(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "lung2019", TRUTH, {"Rigi": RIGI})
    (tmp_path / "e" / "observers.parquet").write_text("no table")
    section = {one.name: one for one in chapter(study_of(tmp_path / "e"))}["observers"]
    assert "observers.parquet is not a Parquet file" in notes(section)
    assert str(tmp_path) not in notes(section)


def test_lineage_leads_to_the_latest_solution_of_an_earlier_phase(written: list[Section]) -> None:
    chart = block(written, "lineage-of-solutions")
    assert isinstance(chart, Chart)
    picture = str(chart.picture)
    assert picture.count('class="link"') == 5
    assert "Rigi builds on Napf" in picture
    assert "Napf builds on Bernina" in picture
    assert chart.data is not None
    built = {(phase, team): on for phase, team, _, _, on, _ in chart.data.iter_rows()}
    assert built["phase-3", "Rigi"] == "Rigi; Napf"
    assert built["phase-3", "Eiger"] == ""


def listed(home: Path, *lines: str) -> dict[str, Section]:
    """The sections of the chapter with other submissions."""
    (home / "submissions.csv").write_text("phase,team,table,role,void,builds_on\n" + "\n".join(lines) + "\n")
    return {one.name: one for one in chapter(study_of(home))}


def test_all_that_share_the_first_place_are_named(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "lung2019", TRUTH, {"Rigi": RIGI, "Napf": NAPF}, keep=False)
    rigi, napf = "scores/Rigi.parquet", "scores/Napf.parquet"
    found = listed(
        tmp_path / "e",
        *(f"phase-2,{team},{rigi},team,," for team in ("Rigi", "Eiger")),
        f"phase-2,Napf,{napf},team,,",
        f"phase-3,Rigi,{rigi},team,,",
    )
    assert "in Phase 2: CT and seed points (Eiger and Rigi);" in everything([found["lineage"]])


def test_what_a_void_submission_was_built_on_is_not_drawn(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "lung2019", TRUTH, {"Rigi": RIGI, "Napf": NAPF}, keep=False)
    rigi, napf = "scores/Rigi.parquet", "scores/Napf.parquet"
    found = listed(
        tmp_path / "e",
        f"phase-2,Rigi,{rigi},team,,",
        f"phase-2,Napf,{napf},team,,",
        f"phase-3,Rigi,{napf},team,yes,Napf",
        f"phase-3,Rigi,{rigi},team,,Rigi",
    )
    picture = everything([found["lineage"]])
    assert "Rigi builds on Rigi" in picture
    assert "Rigi builds on Napf" not in picture


def test_phases_in_which_nobody_is_ranked_have_no_lineage(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "lung2019", TRUTH, {"Rigi": RIGI}, keep=False)
    lines = [f"{phase},Rigi,scores/Rigi.parquet,benchmark,," for phase in ("phase-2", "phase-3")]
    found = listed(tmp_path / "e", *lines)
    assert notes(found["lineage"]) == "No phase has a ranked team."
    team = "phase-3,Napf,scores/Rigi.parquet,team,,"
    assert ": 0.9341 in Phase 3" in everything([listed(tmp_path / "e", *lines, team)["lineage"]])


def test_an_unlisted_team_leaves_no_hole_in_the_places_and_prizes_of_other_phases(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "lung2019", TRUTH, {"Best": list(TRUTH), "Rigi": RIGI, "Napf": NAPF}, keep=False)
    lines = [
        f"{phase},{team},scores/{team}.parquet,team,," for phase in ("phase-1", "phase-3") for team in ("Rigi", "Napf")
    ]
    secret = [
        "phase-1,Turncoat,scores/Best.parquet,team,,",
        "phase-2,Turncoat,scores/Best.parquet,team,,",
        "phase-3,Turncoat,scores/Best.parquet,organiser,,",
    ]
    found = listed(tmp_path / "e", *lines, *secret)
    assert ["Phase 1: CT alone", "Rigi", "place 1", "10,000 USD"] in rows(list(found.values()), "awards")
    assert "Phase 2: CT and seed points: submissions.csv lists no submission" in notes(found["lineage"])
    without = listed(tmp_path / "e", *lines)
    assert everything(list(found.values())) == everything(list(without.values()))


def test_why_a_phase_has_no_board_names_neither_unlisted_teams_nor_folders(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "lung2019", TRUTH, {"Rigi": RIGI, "Napf": NAPF}, keep=False)
    table = scores.read(tmp_path / "e" / "scores" / "Rigi.parquet")
    scores.write(table.filter(table["case"] != "P01"), tmp_path / "e" / "scores" / "Ghost.parquet", record={})
    found = listed(
        tmp_path / "e",
        "phase-1,Rigi,scores/Rigi.parquet,team,,",
        "phase-1,Ghost,scores/Ghost.parquet,organiser,,",
        *(f"{phase},Rigi,scores/Rigi.parquet,team,," for phase in ("phase-2", "phase-3")),
    )
    text = everything(list(found.values()))
    assert "Phase 1: CT alone: no board can be made" in text
    assert "Ghost" not in text
    assert str(tmp_path) not in text


def test_prizes_are_those_of_every_phase(written: list[Section]) -> None:
    found = rows(written, "awards")
    assert ["Phase 1: CT alone", "Rigi", "place 1", "10,000 USD"] in found
    assert ["Phase 2: CT and seed points", "Rigi", "place 1", "7,000 USD"] in found
    score = float(f"{math.fsum(s_of_boxes(t, m) for t, m in zip(TRUTH, RIGI, strict=True)) / 4:.12g}")
    pays = math.ceil(round((score - 0.574) * 1000 * 15, 9) / 25) * 25
    assert [row[3] for row in found if row[2] == "performance" and row[1] == "Rigi"] == [f"{pays:,} USD"]


def test_bonuses_on_the_way_are_won_by_the_leaders_of_the_log(tmp_path: Path) -> None:
    home = tmp_path / "edition"
    write_edition(home, "lung2019", TRUTH, TEAMS)
    text = """\
phase,team,table,time,role,void
phase-1,Eiger,scores/Eiger.parquet,2017-02-08T00:00:00Z,,
phase-1,Secret,scores/Secret.parquet,2017-02-08T00:00:00Z,organiser,
phase-1,Napf,scores/Rigi.parquet,2017-02-09T00:00:00Z,,yes
phase-1,Napf,scores/Napf.parquet,2017-02-14T00:00:00Z,,
phase-1,Rigi,scores/Rigi.parquet,2017-02-21T00:00:00Z,,
"""
    phases = "".join(f"phase-3,{team},scores/{team}.parquet,2017-08-01T00:00:00Z,,\n" for team in ("Rigi", "Napf"))
    (home / "submissions.csv").write_text(text + phases, encoding="utf-8")
    won = [(row[1], row[2], row[3]) for row in rows(chapter(study_of(home)), "awards") if row[0].startswith("Phase 1")]
    assert ("Eiger", "Best solution after the first week", "1,500 USD") in won
    assert ("Napf", "Best solution after the second week", "1,500 USD") in won
    assert ("Rigi", "place 1", "10,000 USD") in won
    # Without times nobody knows who led.
    untimed = text.replace("2017-02-08T00:00:00Z,,\n", ",,\n")
    (home / "submissions.csv").write_text(untimed + phases, encoding="utf-8")
    written = chapter(study_of(home))
    assert not any("week" in row[2] for row in rows(written, "awards"))
    assert "Best solution after the first week: nobody is known to have led" in everything(written)


def test_an_unlisted_team_is_in_no_phase(written: list[Section]) -> None:
    text = everything(written)
    for secret in ("Secret", "Ghost", "Turncoat", "magic wand"):
        assert secret not in text


def test_without_files_each_section_says_which_would_help(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "lung2019", TRUTH, {"Rigi": RIGI, "Napf": NAPF}, keep=False)
    sections = {one.name: one for one in chapter(study_of(tmp_path / "e"))}
    said = {
        "scores": "run_times.csv",
        "strata": "cases.csv",
        "ensembles": "submissions/",
        "observers": "observers/NAME/",
        "lineage": "builds_on",
    }
    for name, file in said.items():
        assert file in notes(sections[name])
    report_html(Report("t", "", tuple(sections.values())))


def test_two_teams_in_one_case(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "lung2019", TRUTH[:1], {"<b>bold": [(0, 0, 0, 0, 0, 0)], "Rigi": RIGI[:1]})
    sections = chapter(study_of(tmp_path / "e"))
    assert "<b>bold" not in report_html(Report("t", "", tuple(sections)))
    found = {row[0]: row[1] for row in rows(sections, "combinations")}
    assert found["Rigi alone"] == "1.0000"
    assert "Best ensemble, chosen on other cases" not in found


def test_a_team_alone_that_found_nothing(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "lung2019", TRUTH[:1], {"Rigi": [(0, 0, 0, 0, 0, 0)]})
    sections = {one.name: one for one in chapter(study_of(tmp_path / "e"))}
    assert "two teams with files" in notes(sections["ensembles"])
    assert rows(list(sections.values()), "in-brackets")[0][1] == "0.0000(–)"


def test_the_synthetic_contest_has_all_that_the_chapter_reads(tmp_path: Path) -> None:
    which = load_challenge("lung2019")
    cohort = write_lung_cohort(tmp_path, cases=2, seed=1)
    earlier = write_lung_contest(tmp_path, cohort, seed=1)
    editions.write(editions.new(which), tmp_path)
    tables = {tmp_path / "scores" / f"{team}.parquet": path for team, path in cohort.submissions.items()}
    for table, outputs in (tables | {one.table: one.outputs for one in earlier}).items():
        table.parent.mkdir(parents=True, exist_ok=True)
        result = evaluate(which, reference=cohort.reference, submission=outputs)
        scores.write(result.scores, table, record=result.record)
    sections = chapter(study_of(tmp_path))
    names = {getattr(one, "name", "") for section in sections for one in section.blocks}
    assert names >= {"run-times", "strata-s-score", "combinations", "observer-truths", "lineage-of-solutions", "awards"}
