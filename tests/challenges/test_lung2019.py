"""The lung-tumour contest as its supplement describes it, and as its tables print it."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import isocenter
from isocenter import editions, scores
from isocenter.metrics import catalogue
from isocenter.ranking import Board, rank_values
from isocenter.volumes import Grid, Volume, write

GOLDEN = Path(__file__).parents[1] / "golden"
GRID = Grid((20, 12, 8), spacing=(1.0, 1.0, 2.5), origin=(-20.0, 5.0, 100.0))
METRICS = ("s_score", "dice", "jaccard", "precision", "recall")


def box(*edges: tuple[int, int]) -> np.ndarray:
    array = np.zeros(GRID.shape, np.uint8)
    array[tuple(slice(*edge) for edge in edges)] = 1
    return array


def save(folder: Path, masks: Mapping[str, np.ndarray]) -> Path:
    folder.mkdir()
    for scan, array in masks.items():
        write(Volume(array, GRID), folder / f"{scan}.nii.gz")
    return folder


TUMOUR = box((2, 10), (2, 10), (2, 6))
TWO = TUMOUR + box((14, 18), (2, 6), (2, 6))
EMPTY = np.zeros(GRID.shape, np.uint8)


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    return save(tmp_path / "reference", {"scan1": TUMOUR, "scan2": TUMOUR, "scan3": TWO})


def evaluate(reference: Path, submission: Path) -> pl.DataFrame:
    return isocenter.evaluate("lung2019", reference=reference, submission=submission)


def of_scan(table: pl.DataFrame, scan: str) -> dict[str, float]:
    return dict(table.filter(case=scan).select("metric", "value").iter_rows())


def test_a_scan_has_five_scores_from_one_mask(reference: Path, tmp_path: Path) -> None:
    half = box((2, 6), (2, 10), (2, 6))
    table = evaluate(reference, save(tmp_path / "team", {"scan1": TUMOUR, "scan2": half, "scan3": TUMOUR}))
    assert of_scan(table, "scan1") == dict.fromkeys(METRICS, 1.0)
    volume = 8 * 8 * 4 * 2.5  # mm³; a half of it is missed, so that E = V
    s = math.exp(-0.5 * (1 + (volume / (4 / 3 * math.pi * 30**3)) ** (1 / 3)))
    expected = {"s_score": s, "dice": 2 / 3, "jaccard": 1 / 2, "precision": 1.0, "recall": 1 / 2}
    assert of_scan(table, "scan2") == pytest.approx(expected, rel=1e-12)
    # Two tumours are one volume: 256 of 256 + 64 voxels were found.
    assert of_scan(table, "scan3")["recall"] == 256 / 320


def test_a_missing_scan_counts_as_zero_on_every_board_and_is_counted(reference: Path, tmp_path: Path) -> None:
    table = evaluate(reference, save(tmp_path / "team", {"scan1": TUMOUR, "scan3": TWO}))
    for name in METRICS:
        row = isocenter.rank("lung2019", {"team": table}, board=name)["team"]
        assert row.score == 2 / 3
        assert (row.cases, row.missing, row.failed) == (3, 1, 0)


def test_leaving_missed_scans_out_would_raise_the_mean_as_the_contest_projected() -> None:
    """The winner of phase 2 failed on 8 of 96 scans; the goal set for phase 3, with none missed, was 9 % more."""
    rows = [scores.Row(f"scan{i:02}", "", "s_score", None if i < 8 else 0.574 * 96 / 88) for i in range(96)]
    rows += [scores.Row(f"scan{i:02}", "", "missing", 1.0) for i in range(8)]
    row = isocenter.rank("lung2019", {"winner": scores.frame(rows)})["winner"]
    assert row.score == pytest.approx(0.574)
    assert row.missing / row.cases == pytest.approx(0.08, abs=0.005)
    found = scores.frame(rows).filter(pl.col("value").is_not_null(), metric="s_score")["value"].mean()
    assert found == pytest.approx(1.09 * 0.574, abs=0.001)


def test_an_empty_mask_is_no_missing_one_but_scores_as_little_and_is_told(reference: Path, tmp_path: Path) -> None:
    team = save(tmp_path / "team", {"scan1": TUMOUR, "scan2": EMPTY, "scan3": TWO})
    table = evaluate(reference, team)
    assert of_scan(table, "scan2") == dict.fromkeys(METRICS, 0.0)
    assert isocenter.rank("lung2019", {"team": table})["team"].missing == 0
    (problem,) = isocenter.check("lung2019", reference=reference, submission=team)
    assert (problem.severity, problem.case) == ("warning", "scan2")


def test_a_scan_without_tumour_has_no_score_and_no_mean_hides_it(tmp_path: Path) -> None:
    reference = save(tmp_path / "reference", {"scan1": TUMOUR, "scan2": EMPTY})
    table = evaluate(reference, save(tmp_path / "team", {"scan1": TUMOUR, "scan2": TUMOUR}))
    expected = {"s_score": None, "dice": 0.0, "jaccard": 0.0, "precision": 0.0, "recall": None}
    assert of_scan(table, "scan2") == expected
    with pytest.raises(ValueError, match="s_score is undefined for 'team' in scan2"):
        isocenter.rank("lung2019", {"team": table})


def test_golden_pairs_through_the_front_door(tmp_path: Path, golden_segmentation: dict[str, Any]) -> None:
    for side in ("truth", "pred"):
        (tmp_path / side).mkdir()
        for path in (GOLDEN / "segmentation").glob(f"pair_*_{side}.nii.gz"):
            (tmp_path / side / f"{path.name.removesuffix(f'_{side}.nii.gz')}.nii.gz").write_bytes(path.read_bytes())
    table = evaluate(tmp_path / "truth", tmp_path / "pred")
    measured = dict(table.filter(metric="s_score").select("case", "value").iter_rows())
    expected = {f"pair_{name}": pair["derived_s_score"] for name, pair in golden_segmentation["pairs"].items()}
    assert len(expected) == 16
    for case, derived in expected.items():
        score = derived["fn_over_tp_plus_fp"]
        # An oblique grid has its spacing in single precision.
        assert measured[case] == (None if score == "nan" else pytest.approx(score, abs=1e-8)), case


def test_the_s_score_decides_and_the_others_stand_beside_it() -> None:
    challenge = isocenter.challenge("lung2019")
    assert list(challenge.boards) == list(METRICS)
    assert str(challenge.boards["s_score"]) == (
        "mean s_score over all cases, higher is better; a missing or unusable case counts as 0; "
        "equals share the better rank"
    )
    assert (challenge.participation.quota, challenge.participation.counts) == (None, "best")


# eTable 3, printed with two decimals.


def printed() -> list[dict[str, str]]:
    with (GOLDEN / "ranking" / "lung_etable3.csv").open() as stream:
        return list(csv.DictReader(stream))


def board_of(phase: str, column: str, metric: str, *, benchmarks: bool = False) -> Board:
    """A board of the printed means: every algorithm has one scan, with the mean as its score."""
    teams = {
        row["algorithm"]: scores.frame([scores.Row("mean", "", metric, float(row[f"{column}_mean"]))])
        for row in printed()
        if row["phase"] == phase or (benchmarks and row["phase"] == "Benchmarks" and row[f"{column}_mean"])
    }
    others = [name for name in teams if not name.isdigit()]
    return isocenter.rank("lung2019", teams, board=metric, benchmarks=others)


RANKINGS = [
    (phase, column, metric, key)
    for phase in "123"
    for column, metric, key in (
        ("holdout_s", "s_score", "rank_holdout_s_min"),
        ("validation_s", "s_score", "rank_validation_s_min"),
        ("holdout_dice", "dice", "rank_holdout_dice_min"),
        ("external_s", "s_score", "rank_external_s_min"),
    )
    if phase == "3" or column != "external_s"
]


@pytest.mark.parametrize(("phase", "column", "metric", "key"), RANKINGS)
def test_the_printed_table_is_ranked_with_the_ties_of_its_two_decimals(
    phase: str, column: str, metric: str, key: str, golden_ranking: dict[str, Any]
) -> None:
    expected = golden_ranking["lung_etable3"][f"phase{phase}"]
    board = board_of(phase, column, metric)
    teams = [str(place) for place in expected["place"]]
    assert [board[team].rank for team in teams] == expected[key]
    values = [float(row[f"{column}_mean"]) for row in printed() if row["phase"] == phase and row["algorithm"].isdigit()]
    assert rank_values(values, catalogue.get(metric).better, ties="min") == expected[key]


@pytest.mark.parametrize("phase", "123")
def test_and_with_average_ranks_where_the_rule_says_so(phase: str, golden_ranking: dict[str, Any]) -> None:
    expected = golden_ranking["lung_etable3"][f"phase{phase}"]
    values = [float(row["holdout_s_mean"]) for row in printed() if row["phase"] == phase and row["algorithm"].isdigit()]
    assert rank_values(values, "higher", ties="average") == expected["rank_holdout_s_average"]


def test_ensembles_and_observers_are_listed_without_moving_a_rank() -> None:
    alone, beside = board_of("3", "holdout_s", "s_score"), board_of("3", "holdout_s", "s_score", benchmarks=True)
    assert [row.submission for row in beside][:2] == ["Intra-obs", "Ensemble"]
    assert [row.submission for row in beside][-2:] == ["5", "Comm"]
    assert all(beside[str(team)].rank == alone[str(team)].rank for team in range(1, 6))
    assert {row.submission for row in beside if row.rank is None} == {"Ensemble", "Comm", "Comm+Exp", "Intra-obs"}


# What was to be won: eTable 1.


@pytest.fixture
def edition() -> editions.Edition:
    return editions.new(isocenter.challenge("lung2019"))


def test_three_phases_of_which_two_give_seed_points(edition: editions.Edition) -> None:
    days = [(phase.name, f"{phase.opens:%Y-%m-%d}", f"{phase.closes:%Y-%m-%d}") for phase in edition.phases]
    assert days == [
        ("phase-1", "2017-02-07", "2017-03-01"),
        ("phase-2", "2017-03-28", "2017-04-18"),
        ("phase-3", "2017-07-27", "2017-08-31"),
    ]
    assert ["seed points" in phase.title for phase in edition.phases] == [False, True, True]
    assert all(phase.visibility == "public" and phase.quota is None for phase in edition.phases)


def test_the_edition_is_written_and_read_back(edition: editions.Edition) -> None:
    assert editions.parse(editions.render(edition)) == edition
    challenge = isocenter.challenge("lung2019")
    assert editions.apply(edition, challenge) == challenge


def won(edition: editions.Edition, phase: str, **more: Any) -> list[editions.Award]:
    return editions.awards(edition, board_of(phase, "holdout_s", "s_score"), phase=f"phase-{phase}", **more)


def test_the_totals_of_the_printed_table(edition: editions.Edition, golden_ranking: dict[str, Any]) -> None:
    """From the printed scores, in which places tie that did not: shared prizes keep their sum."""
    expected = golden_ranking["lung_prizes"]
    assert sum(award.amount for award in won(edition, "1")) == expected["phase1_places_sum"]
    weeks = {bonus.title: ("1",) for bonus in edition.bonuses if bonus.phase == "phase-1"}
    totals = {
        "phase1_total": sum(award.amount for award in won(edition, "1", leaders=weeks)),
        "phase2_total": sum(award.amount for award in won(edition, "2")),
        # The scores behind the payouts are known only to lie in these intervals, of which the upper end is included.
        "phase3_total": sum(award.amount for award in won(edition, "3", scores=implied(golden_ranking))),
    }
    assert totals == {key: expected[key] for key in totals}
    assert sum(totals.values()) == expected["grand_total"]
    assert totals["phase1_total"] + totals["phase2_total"] == expected["phase1_plus_phase2_total"]


def implied(golden_ranking: dict[str, Any]) -> dict[str, Decimal]:
    intervals = golden_ranking["lung_prizes"]["phase3_implied_score_intervals"]
    ends = [Decimal(f"{intervals[amount]['score_at_most']:.6f}") for amount in ("750", "600", "200")]
    return dict(zip("12345", [*ends, Decimal("0.48"), Decimal("0.48")], strict=True))


def test_every_line_of_the_printed_table(edition: editions.Edition, golden_ranking: dict[str, Any]) -> None:
    with (GOLDEN / "ranking" / "lung_prizes.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    by_place = {(prize.phase, prize.place): prize.amount for prize in edition.prizes}
    third = won(edition, "3", scores=implied(golden_ranking))
    for row in rows:
        place = int(row["place"])
        for phase in "12":
            assert by_place.get((f"phase-{phase}", place)) == (int(row[f"phase{phase}_usd"] or 0) or None)
        paid = {award.title: award.amount for award in third if award.submission == row["place"]}
        assert paid.get("Proposal for an improvement", "") == (row["phase3_proposal_usd"] and 500)
        assert paid.get("Solution handed in", "") == (row["phase3_submission_usd"] and 100)
        assert paid.get("performance", 0) == int(row["phase3_performance_usd"] or 0)
    assert {award.currency for award in third} == {"USD"}
