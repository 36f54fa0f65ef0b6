"""The chapter of HECKTOR 2020: tests, agreement, ensembles, centres and outlines, on masks counted by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.papers.masks import (
    GRID,
    Box,
    block,
    dice,
    everything,
    mask_of,
    notes,
    rows,
    study_of,
    write_edition,
    write_masks,
)

from isocenter.papers import Study
from isocenter.papers._mask_ensembles import _chosen
from isocenter.papers.hecktor2020 import chapter
from isocenter.papers.hecktor2020._centres import centres
from isocenter.ranking import LeaveOut, MeanThenRank
from isocenter.report import Chart, Report, Section, report_csvs, report_html
from isocenter.volumes import Volume, write

TRUTH: list[Box] = [(3, 9, 3, 9, 2, 5), (4, 8, 2, 8, 1, 6), (2, 10, 4, 9, 2, 6), (5, 9, 5, 9, 3, 6)]
TEAMS: dict[str, list[Box | None]] = {
    "Aare": [(3, 9, 3, 9, 2, 5), (4, 8, 2, 8, 1, 6), (3, 10, 4, 9, 2, 6), (5, 9, 4, 9, 3, 6)],
    "Inn": [(4, 10, 3, 9, 2, 5), (4, 8, 3, 9, 1, 6), (2, 10, 4, 9, 3, 7), (5, 9, 5, 10, 3, 6)],
    "Thur": [(3, 9, 5, 11, 2, 5), None, (4, 12, 4, 9, 2, 6), (6, 10, 6, 10, 3, 6)],
}
ALL = {**TEAMS, "Sarine": TRUTH}  # the organisers' own: perfect, and unlisted
LISTED = "team,table,role\n" + "".join(
    f"{team},scores/{team}.parquet,{'organiser' if team == 'Sarine' else 'team'}\n" for team in ALL
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four cases, three teams and one that nobody may see; two centres, one of them of a single case."""
    folder = tmp_path_factory.mktemp("hecktor") / "edition"
    write_edition(folder, "hecktor2020", TRUTH, ALL, submissions=LISTED)
    (folder / "cases.csv").write_text("case,centre\nP01,North\nP02,North\nP03,North\nP04,Lake\n")
    return folder


@pytest.fixture(scope="module")
def written(home: Path) -> list[Section]:
    """The chapter of it."""
    return chapter(study_of(home))


def dices(team: str) -> list[float]:
    """Of every case, a missing mask as 0."""
    return [
        0.0 if box is None else dice(mask_of(box) > 0, mask_of(truth) > 0)
        for box, truth in zip(TEAMS[team], TRUTH, strict=True)
    ]


def votes(case: int) -> np.ndarray:
    """Teams' masks of a case; who has none marks nothing."""
    return np.stack([mask_of(boxes[case] or (0, 0, 0, 0, 0, 0)) > 0 for boxes in TEAMS.values()])


def every_ensemble() -> list[tuple[tuple[int, ...], int]]:
    """Members and threshold; among equals fewer members, then the higher threshold, then the alphabet."""
    return [
        (members, threshold)
        for size in (1, 2, 3)
        for threshold in range(size, 0, -1)
        for members in combinations(range(3), size)
    ]


def of_ensemble(case: int, members: tuple[int, ...], threshold: int) -> float:
    return dice(votes(case)[list(members)].sum(axis=0) >= threshold, mask_of(TRUTH[case]) > 0)


def test_every_section_is_there_and_the_report_can_be_written(written: list[Section]) -> None:
    sections = list(written)
    assert [one.name for one in sections] == ["winner", "agreement", "ensembles", "centres", "contours"]
    report = Report("t", "", tuple(sections))
    assert "<svg" in report_html(report)
    assert "winner-tests" in report_csvs(report)


def test_an_unlisted_team_is_nowhere(written: list[Section]) -> None:
    assert "Sarine" not in everything(written)


def test_the_winner_is_tested_by_paired_t_on_differences_as_they_are_with_missing_as_zero(
    written: list[Section],
) -> None:
    found = {row[0]: row for row in rows(written, "winner-tests")}
    assert list(found) == ["Inn", "Thur"]
    for team, row in found.items():
        expected = stats.ttest_rel(dices("Aare"), dices(team))
        mean = np.mean(dices("Aare")) - np.mean(dices(team))
        assert row[3] == f"{mean:+.4f}"
        low, high = expected.confidence_interval(0.95)
        assert row[4] == f"{low:+.4f} to {high:+.4f}".replace("-", "−")
        assert row[5] == f"{expected.pvalue:.3f}"
        assert row[6] == f"{min(1.0, 2 * expected.pvalue):.3f}"
    assert [found[team][2] for team in ("Inn", "Thur")] == ["0", "1"]


def test_holm_is_never_larger_than_bonferroni(written: list[Section]) -> None:
    for row in rows(written, "winner-tests"):
        assert float(row[5]) <= float(row[7]) <= float(row[6])


def test_agreement_is_the_dice_of_pairs_that_both_have_a_mask(written: list[Section]) -> None:
    chart = block(written, "agreement-map")
    assert isinstance(chart, Chart)
    assert chart.data is not None
    found = {(one, other): (mean, n) for one, other, mean, n in chart.data.iter_rows()}
    expected = [dice(votes(case)[0], votes(case)[2]) for case in (0, 2, 3)]
    assert found["Aare", "Thur"] == (pytest.approx(np.mean(expected)), 3)
    assert found["Thur", "Aare"] == found["Aare", "Thur"]
    assert found["reference standard", "Aare"] == (pytest.approx(np.mean(dices("Aare"))), 4)


@pytest.mark.parametrize(("name", "row"), [("Reference", "reference standard"), ("reference standard", None)])
def test_no_team_is_taken_for_the_reference(tmp_path: Path, name: str, row: str | None) -> None:
    write_edition(tmp_path / "e", "hecktor2020", TRUTH, {name: TEAMS["Aare"], "Inn": TEAMS["Inn"]})
    chart = block(chapter(study_of(tmp_path / "e")), "agreement-map")
    assert isinstance(chart, Chart)
    assert chart.data is not None
    assert set(chart.data["one"]) == {name, "Inn", row or "reference standard *"}


def test_combinations_are_those_counted_on_voxels(written: list[Section]) -> None:
    found = {row[0]: float(row[1]) for row in rows(written, "combinations")}
    cases = range(len(TRUTH))
    assert found["Aare alone"] == pytest.approx(np.mean(dices("Aare")), abs=5e-5)
    assert found["Majority of all"] == pytest.approx(np.mean([of_ensemble(c, (0, 1, 2), 2) for c in cases]), abs=5e-5)
    limit = np.mean([max(dices(team)[c] for team in TEAMS) for c in cases])
    assert found["Limit: best team per case"] == pytest.approx(limit, abs=5e-5)
    limit = np.mean([max(of_ensemble(c, *one) for one in every_ensemble()) for c in cases])
    assert found["Limit: best ensemble per case"] == pytest.approx(limit, abs=5e-5)
    best = max(np.mean([of_ensemble(c, *one) for c in cases]) for one in every_ensemble())
    assert found["Best ensemble, chosen here"] == pytest.approx(best, abs=5e-5)


def labelled(box: Box | None, first: int) -> np.ndarray:
    """A mask whose voxels from `first` on along x are nodes (2), the others tumour (1)."""
    mask = np.zeros(GRID.shape, np.uint8) if box is None else mask_of(box)
    mask[first:] *= 2
    return mask


def test_the_hierarchical_vote_keeps_labels_and_is_its_rule_voxel_by_voxel(tmp_path: Path) -> None:
    home, cuts = tmp_path / "edition", {"reference": 7, "Aare": 7, "Inn": 6, "Thur": 8}
    names = write_edition(home, "hecktor2020", TRUTH, TEAMS)
    # Dice is that of tumour and nodes together, so that other labels of the same voxels have the same scores.
    for who, boxes in {"reference": TRUTH, **TEAMS}.items():
        folder = home / "reference" if who == "reference" else home / "submissions" / who
        for name, box in zip(names, boxes, strict=True):
            if box is not None:
                write(Volume(labelled(box, cuts[who]), GRID), folder / f"{name}.nii.gz")
    sections = chapter(study_of(home))
    expected: dict[str, list[float]] = {"all labels united": [], "nodes": [], "tumour": []}
    for case, truth in enumerate(TRUTH):
        votes = np.stack([labelled(boxes[case], cuts[team]) for team, boxes in TEAMS.items()])
        nodes_or_worse, tumour = ((votes > 0).sum(axis=0) >= 2), ((votes == 1).sum(axis=0) >= 2)
        fused = np.where(tumour, 1, np.where(nodes_or_worse, 2, 0))
        right = labelled(truth, cuts["reference"])
        expected["all labels united"].append(dice(right > 0, fused > 0))
        expected["nodes"].append(dice(right == 2, fused == 2))
        expected["tumour"].append(dice(right == 1, fused == 1))
    found = {row[0]: float(row[1]) for row in rows(sections, "hierarchical-vote")}
    assert found == {label: pytest.approx(np.mean(values), abs=5e-5) for label, values in expected.items()}
    combined = {row[0]: float(row[1]) for row in rows(sections, "combinations")}
    assert combined["Hierarchical majority of all"] == pytest.approx(np.mean(expected["all labels united"]), abs=5e-5)


def test_a_choice_is_confirmed_on_the_case_that_had_no_part_in_it(written: list[Section]) -> None:
    found = {row[0]: float(row[1]) for row in rows(written, "combinations")}
    cases, reached = range(len(TRUTH)), []
    for case in cases:
        others = [c for c in cases if c != case]
        totals = [sum(of_ensemble(c, *one) for c in others) for one in every_ensemble()]
        chosen = next(one for one, total in zip(every_ensemble(), totals, strict=True) if total >= max(totals) - 1e-9)
        reached.append(of_ensemble(case, *chosen))
    assert found["Best ensemble, chosen on other cases"] == pytest.approx(np.mean(reached), abs=5e-5)
    assert found["Best ensemble, chosen on other cases"] <= found["Best ensemble, chosen here"]


def test_the_luckiest_ensemble_is_not_what_a_choice_is_worth() -> None:
    every = np.array([[1.0, 0.0], [0.0, 0.6], [0.0, 0.3]])
    best, honest = _chosen(every, np.ones(3))
    assert best == 0
    assert honest.tolist() == [0.0, 0.0, 0.0]


def test_the_curve_over_sizes_ends_in_the_vote_of_all_and_starts_with_the_best_team(written: list[Section]) -> None:
    chart = block(written, "ensembles-by-size")
    assert isinstance(chart, Chart)
    assert chart.data is not None
    assert chart.data["teams"].to_list() == [1.0, 2.0, 3.0]
    assert chart.data["best"][0] == pytest.approx(max(np.mean(dices(team)) for team in TEAMS))
    assert (chart.data["best"] >= chart.data["vote"] - 1e-12).all()
    assert (chart.data["best"] >= chart.data["confirmed"] - 1e-12).all()


def test_the_majority_of_an_even_number_is_at_least_half_of_it(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "hecktor2020", TRUTH, {team: TEAMS[team] for team in ("Aare", "Inn")})
    sections = chapter(study_of(tmp_path / "e"))
    found = {row[0]: (float(row[1]), row[4]) for row in rows(sections, "combinations")}
    mean = np.mean([of_ensemble(case, (0, 1), 1) for case in range(4)])
    assert found["Majority of all"] == (pytest.approx(mean, abs=5e-5), "a voxel that at least 1 of 2 mark")
    assert "vote: what at least half of the best so many teams mark" in block(sections, "ensembles-by-size").caption
    assert "What at least half of 2 teams mark" in everything(sections)


@pytest.mark.parametrize("change", ["other mask", "mask gone", "mask that was missing"])
def test_files_that_were_not_scored_are_left_out_and_said(tmp_path: Path, change: str) -> None:
    folder = tmp_path / "e"
    write_edition(folder, "hecktor2020", TRUTH, TEAMS)
    team, case = {"other mask": ("Inn", 0), "mask gone": ("Inn", 2), "mask that was missing": ("Thur", 1)}[change]
    if change == "mask gone":
        (folder / "submissions" / team / f"P{case + 1:02d}.nii.gz").unlink()
    else:
        write_masks(folder / "submissions" / team, [TRUTH[case]], names=[f"P{case + 1:02d}"])
    sections = {one.name: one for one in chapter(study_of(folder))}
    said = f"their files do not give the scores of their tables: {team}."
    assert said in notes(sections["ensembles"])
    assert said in notes(sections["agreement"])
    chart = block(list(sections.values()), "agreement-map")
    assert isinstance(chart, Chart)
    assert chart.data is not None
    assert set(chart.data["one"]) == {"reference standard", *TEAMS} - {team}
    assert f"{team}:" not in everything([sections["contours"]])
    assert team in everything([sections["winner"]])


def test_another_reference_under_the_same_names_is_not_used(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "hecktor2020", TRUTH, TEAMS)
    write_masks(tmp_path / "e" / "reference", TRUTH[::-1], names=["P01", "P02", "P03", "P04"])
    sections = {one.name: one for one in chapter(study_of(tmp_path / "e"))}
    assert "either reference/ or the files of Aare, Inn, Thur have changed" in notes(sections["ensembles"])
    assert not [one for one in sections["contours"].blocks if isinstance(one, Chart)]


def test_means_of_a_centre_have_the_weights_of_the_cases(tmp_path: Path) -> None:
    folder = tmp_path / "e"
    write_edition(folder, "hecktor2020", TRUTH, TEAMS, weights=[1, 3, 1, 1])
    (folder / "cases.csv").write_text("case,centre\nP01,North\nP02,North\nP03,Lake\nP04,Lake\n")
    chart = block(chapter(study_of(folder)), "centre-ranks")
    assert isinstance(chart, Chart)
    assert chart.data is not None
    found = {(step, team): mean for step, team, mean, _ in chart.data.iter_rows()}
    assert found["North (2)", "Inn"] == pytest.approx((dices("Inn")[0] + 3 * dices("Inn")[1]) / 4)
    assert found["North (2)", "Thur"] == pytest.approx(dices("Thur")[0] / 4)
    assert found["all (4)", "Inn"] == pytest.approx(np.average(dices("Inn"), weights=[1, 3, 1, 1]))
    assert "its cases, weighted as on the board;" in chart.caption


def test_where_a_missing_case_has_no_value_it_is_left_out_of_its_centre_and_that_is_said(home: Path) -> None:
    study = study_of(home)
    rule = MeanThenRank("dice", missing=LeaveOut())
    challenge = replace(study.challenge, boards={"dice": rule})
    chart = block([centres(Study(replace(study.folder, challenge=challenge), study.settings))], "centre-ranks")
    assert isinstance(chart, Chart)
    assert chart.data is not None
    north = {team: mean for step, team, mean, _ in chart.data.iter_rows() if step == "North (3)"}
    assert north["Thur"] == pytest.approx((dices("Thur")[0] + dices("Thur")[2]) / 2)
    assert "A case without a usable mask is left out." in chart.caption


def test_a_centre_of_one_case_is_said(written: list[Section]) -> None:
    sections = {one.name: one for one in written}
    assert "Of one case only" in notes(sections["centres"])
    assert "Lake" in notes(sections["centres"])
    chart = block(list(sections.values()), "centre-ranks")
    assert isinstance(chart, Chart)
    assert chart.data is not None
    north = {team: mean for step, team, mean, _ in chart.data.iter_rows() if step == "North (3)"}
    assert north["Thur"] == pytest.approx(sum(dices("Thur")[:3]) / 3)


def test_who_has_no_mask_of_a_case_costs_nobody_the_picture(written: list[Section]) -> None:
    chart = block(written, "contours-easiest")
    assert isinstance(chart, Chart)
    assert "Case P02" in chart.caption
    assert "Thur: no mask" in str(chart.picture)


def test_outlines_lie_on_images_where_there_are_some(written: list[Section], tmp_path: Path) -> None:
    sections = list(written)
    assert "images/CASE_ct.nii.gz" in notes(sections[-1])
    assert str(block(sections, "contours-hardest").picture).count("<image") == 0  # type: ignore[union-attr]
    rng = np.random.default_rng(0)
    write_edition(tmp_path / "e", "hecktor2020", TRUTH, TEAMS)
    (tmp_path / "e" / "images").mkdir()
    for name in ("P01", "P02", "P03", "P04"):
        write(Volume(rng.normal(size=GRID.shape).astype(np.float32), GRID), tmp_path / "e/images" / f"{name}_pt.nii.gz")
    sections = chapter(study_of(tmp_path / "e"))
    picture = str(block(sections, "contours-hardest").picture)  # type: ignore[union-attr]
    assert "data:image/png" in picture
    assert "PET, slice" in picture


def test_without_files_each_section_says_which_would_help(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "hecktor2020", TRUTH, TEAMS, keep=False)
    sections = {one.name: one for one in chapter(study_of(tmp_path / "e"))}
    for name in ("agreement", "ensembles", "contours"):
        assert "submissions/" in notes(sections[name])
    assert "cases.csv" in notes(sections["centres"])
    assert len(rows(list(sections.values()), "winner-tests")) == 2


def test_another_reference_is_not_taken_for_that_of_the_scores(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "hecktor2020", TRUTH, TEAMS)
    (tmp_path / "e" / "reference" / "P04.nii.gz").unlink()
    sections = {one.name: one for one in chapter(study_of(tmp_path / "e"))}
    assert "1 case scored but not in reference/ (P04)" in notes(sections["ensembles"])


def test_one_team_and_one_case_are_no_error(tmp_path: Path) -> None:
    write_edition(tmp_path / "e", "hecktor2020", TRUTH[:1], {"Aare": TEAMS["Aare"][:1]})
    sections = {one.name: one for one in chapter(study_of(tmp_path / "e"))}
    assert "two teams" in notes(sections["winner"])
    assert "two teams with files" in notes(sections["ensembles"])
    assert "contours-only" in report_html(Report("t", "", tuple(sections.values())))


def test_hostile_names_and_teams_that_found_nothing(tmp_path: Path) -> None:
    nasty = ["<script>alert(1)</script>", "a,b=c(d)|e 🫁", "n" * 150]
    empty: list[Box | None] = [(0, 0, 0, 0, 0, 0)] * 4
    teams = dict(zip(nasty, [empty, TEAMS["Inn"], [None, None, None, TRUTH[3]]], strict=True))
    rows_of = "".join(f'"{team}",scores/{n}.parquet,masks/{n}\n' for n, team in enumerate(nasty))
    folder = tmp_path / "e"
    write_edition(folder, "hecktor2020", TRUTH, {str(n): boxes for n, boxes in enumerate(teams.values())})
    (folder / "submissions").rename(folder / "masks")
    (folder / "submissions.csv").write_text("team,table,outputs\n" + rows_of, encoding="utf-8")
    sections = chapter(study_of(folder))
    page = report_html(Report("t", "", tuple(sections)))
    assert "<script>alert" not in page
    assert {row[0] for row in rows(sections, "combinations")} >= {"a,b=c(d)|e 🫁 alone", "STAPLE of all"}
