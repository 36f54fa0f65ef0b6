"""The forty validation patients of OpenKBP, against the plain evaluator."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from benchmarks import plain_openkbp

import isocenter
from isocenter.volumes.sparse import read_mask, read_sparse, write_sparse


@pytest.fixture(scope="module")
def patients(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("openkbp")
    with zipfile.ZipFile(data / "openkbp-validation.zip") as archive:
        archive.extractall(folder)
    return folder / "validation-pats"


@pytest.fixture(scope="module")
def predictions(patients: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Doses that are scaled, shifted by a voxel and noisy, in single precision as networks write them."""
    folder = tmp_path_factory.mktemp("predictions")
    rng = np.random.default_rng(2020)
    for patient in sorted(patients.iterdir()):
        possible = read_mask(patient / "possible_dose_mask.csv").dense()
        dose = np.roll(read_sparse(patient / "dose.csv").dense(), 1, axis=rng.integers(3))
        noisy = possible * dose * rng.uniform(0.9, 1.1) * rng.normal(1, 0.03, dose.shape)
        write_sparse(folder / f"{patient.name}.csv", noisy.astype(np.float32), where=possible)
    return folder


def test_forty_real_patients_have_748_criteria_and_the_plain_scores(patients: Path, predictions: Path) -> None:
    table = isocenter.evaluate("openkbp2020", reference=patients, submission=predictions)
    plain = plain_openkbp.evaluate(patients, predictions)
    for metric, errors in (("dose_error", plain.dose_errors), ("dose_squared_error", plain.dose_squared_errors)):
        found = dict(table.filter(pl.col("metric") == metric).select("case", "value").iter_rows())
        assert found == pytest.approx(errors, rel=1e-12)
    dvh = {(case, part): value for case, part, metric, value, _ in table.iter_rows() if metric == "dvh_error"}
    assert dvh == pytest.approx(plain.dvh_errors, rel=1e-12, abs=1e-12)
    assert len(dvh) == 748
    board = isocenter.rank("openkbp2020", {"team": table}, board="dvh")
    assert board["team"].score == pytest.approx(plain.dvh_score, rel=1e-12)
    assert board.notes[0] == "748 values in 40 cases"


def test_a_perfect_prediction_of_real_patients_is_perfect(patients: Path, tmp_path: Path) -> None:
    for patient in sorted(patients.iterdir()):
        (tmp_path / f"{patient.name}.csv").hardlink_to(patient / "dose.csv")
    table = isocenter.evaluate("openkbp2020", reference=patients, submission=tmp_path)
    for board in ("dose", "dvh", "dose-squared", "dvh-squared"):
        assert isocenter.rank("openkbp2020", {"team": table}, board=board)["team"].score == 0
