"""Routine reads of 400 patients of PI-CAI: the radiologists of the clinic as one reader.

The marksheet has the PI-RADS of every lesion that was seen, "N/A" for one that only a biopsy found. The read of a
patient is the highest PI-RADS; "N/A" says nothing of the MRI and is left out. A patient without any number would be one
whom nobody read, not a PI-RADS 1: among these 400 there is none.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import isocenter
from isocenter.readers import ReaderScores, import_reads, open_reference, read_reads, score_reads
from isocenter.stats import delong


@pytest.fixture(scope="module")
def marksheet(data: Path) -> list[dict[str, str]]:
    with (data / "picai" / "marksheet.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def highest(marksheet: list[dict[str, str]]) -> dict[str, int]:
    """The highest PI-RADS by case, which is a study: six patients have two."""
    found = {}
    for row in marksheet:
        if numbers := [int(q) for q in row["lesion_PIRADS"].split(",") if q not in ("", "N/A")]:
            found[f"{row['patient_id']}_{row['study_id']}"] = max(numbers)
    return found


@pytest.fixture(scope="module")
def scores(data: Path, highest: dict[str, int], tmp_path_factory: pytest.TempPathFactory) -> ReaderScores:
    table = tmp_path_factory.mktemp("reads") / "reads.csv"
    # PI-RADS has an order, which is all that an AUROC needs: it serves as the score as well.
    rows = [f"routine,{case},{pirads},{pirads}\n" for case, pirads in highest.items()]
    table.write_text("reader,case,score,pirads\n" + "".join(rows))
    reads = read_reads(table)
    reference = open_reference(isocenter.challenge("picai2022"), data / "picai" / "reference", cases=reads.cases)
    return score_reads(reads, reference)


@pytest.fixture(scope="module")
def counted(marksheet: list[dict[str, str]], highest: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
    """Who has significant cancer by the marksheet, and the PI-RADS."""
    ill = [row["case_csPCa"] == "YES" for row in marksheet]
    return np.array(ill), np.array(list(highest.values()))


def test_the_marksheet_is_an_export_as_it_is(data: Path, highest: dict[str, int]) -> None:
    found = import_reads([data / "picai" / "marksheet.csv"])
    assert {read.case: read.pirads for read in found.reads} == highest
    assert dict(found.kinds) == {"marksheet.csv": "marksheet"}


def test_all_patients_have_a_read_and_labels_agree_with_histology(
    scores: ReaderScores, counted: tuple[np.ndarray, np.ndarray]
) -> None:
    ill, _ = counted
    (routine,) = scores.readers
    assert (routine.cases, routine.positives) == (400, 99) == (ill.size, ill.sum())
    assert scores.frame()["truth"].to_list() == ill.astype(int).tolist()


def test_sensitivity_and_specificity_are_those_of_plain_counting(
    scores: ReaderScores, counted: tuple[np.ndarray, np.ndarray]
) -> None:
    ill, pirads = counted
    (routine,) = scores.readers
    for t in (3, 4, 5):
        assert routine.points[t].sensitivity == np.count_nonzero(pirads[ill] >= t) / 99
        assert routine.points[t].specificity == np.count_nonzero(pirads[~ill] < t) / 301
        assert np.isnan(routine.points[t].recall)


def test_auroc_of_the_pirads_is_that_of_scikit_learn(
    scores: ReaderScores, counted: tuple[np.ndarray, np.ndarray]
) -> None:
    ill, pirads = counted
    (routine,) = scores.readers
    assert routine.auroc.value == pytest.approx(roc_auc_score(ill, pirads), abs=1e-12)
    assert routine.auroc[1:] == delong(ill, pirads).interval()
