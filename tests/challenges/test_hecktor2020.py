"""HECKTOR 2020 as it was described."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import isocenter
from isocenter.volumes import Volume, read, write

GOLDEN = Path(__file__).parents[1] / "golden" / "segmentation"


def evaluate(reference: Path, submission: Path) -> pl.DataFrame:
    return isocenter.evaluate("hecktor2020", reference=reference, submission=submission)


def test_a_missing_mask_scores_zero_stays_in_the_mean_and_is_counted(
    reference: Path, submission: Path, expected_dice: dict[str, float]
) -> None:
    (submission / "CHUV002.nii.gz").unlink()
    board = isocenter.rank("hecktor2020", {"team": evaluate(reference, submission)})
    rest = sum(value for case, value in expected_dice.items() if case != "CHUV002")
    assert board["team"].score == pytest.approx(rest / 4, rel=1e-15)
    assert (board["team"].missing, board["team"].cases) == (1, 4)


def test_tumour_and_nodes_are_scored_as_one(reference: Path, submission: Path) -> None:
    """Calling the tumour a node costs nothing; leaving the node out does."""
    volume = read(reference / "CHUV003.nii.gz")
    swapped = np.array([0, 2, 1], np.uint8)[volume.array]
    write(Volume(swapped, volume.grid), submission / "CHUV003.nii.gz")
    table = evaluate(reference, submission)
    assert table.filter(case="CHUV003")["value"].to_list() == [1.0]


@pytest.mark.parametrize("suffix", [".nii", ".mha", ".nrrd"])
def test_masks_may_come_in_any_of_four_formats(reference: Path, submission: Path, suffix: str) -> None:
    expected = evaluate(reference, submission)
    for path in sorted(submission.iterdir()):
        write(read(path), path.with_name(path.name.removesuffix(".nii.gz") + suffix))
        path.unlink()
    assert evaluate(reference, submission).equals(expected)


def test_the_golden_patients_in_one_cohort(tmp_path: Path, golden_segmentation: dict[str, Any]) -> None:
    """Sixteen pairs, scored through the front door: the mean is that of the golden counts."""
    for side in ("truth", "pred"):
        (tmp_path / side).mkdir()
        for path in GOLDEN.glob(f"pair_*_{side}.nii.gz"):
            (tmp_path / side / f"{path.name.removesuffix(f'_{side}.nii.gz')}.nii.gz").write_bytes(path.read_bytes())
    table = evaluate(tmp_path / "truth", tmp_path / "pred")
    expected = {}
    for name, pair in golden_segmentation["pairs"].items():
        size = 2 * pair["counts"]["tp"] + pair["counts"]["fp"] + pair["counts"]["fn"]
        expected[f"pair_{name}"] = 2 * pair["counts"]["tp"] / size if size else 1.0
    assert dict(table.select("case", "value").iter_rows()) == pytest.approx(expected, abs=1e-15)


def test_the_golden_patients_with_two_labels_are_scored_on_the_union(tmp_path: Path) -> None:
    for side in ("truth", "pred"):
        (tmp_path / side).mkdir()
        for path in GOLDEN.glob(f"multilabel_*_{side}.nii.gz"):
            (tmp_path / side / f"{path.name.removesuffix(f'_{side}.nii.gz')}.nii.gz").write_bytes(path.read_bytes())
    table = evaluate(tmp_path / "truth", tmp_path / "pred")
    for case, value in table.select("case", "value").iter_rows():
        truth, prediction = (read(tmp_path / side / f"{case}.nii.gz").array > 0 for side in ("truth", "pred"))
        assert value == 2 * (truth & prediction).sum() / (truth.sum() + prediction.sum())
    assert table.height == 6


def test_the_rules_of_2020() -> None:
    challenge = isocenter.challenge("hecktor2020")
    assert challenge.participation.quota == 5
    assert challenge.participation.counts == "last"
    assert challenge.participation.organisers == "unlisted"
    assert str(challenge.boards["dice"]) == (
        "mean dice over all cases, higher is better; a missing or unusable case counts as 0; "
        "equals share the better rank"
    )
