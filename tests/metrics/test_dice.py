from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isocenter.metrics import dice
from isocenter.volumes import read, read_labels, side_by_side

pairs = hnp.array_shapes(max_dims=3, max_side=5).flatmap(
    lambda shape: st.tuples(hnp.arrays(bool, shape), hnp.arrays(bool, shape))
)
GOLDEN = Path(__file__).parents[1] / "golden" / "segmentation"


@given(pairs)
def test_dice_is_what_sets_of_voxels_say(pair: tuple[np.ndarray, np.ndarray]) -> None:
    truth, prediction = (set(zip(*np.nonzero(mask), strict=True)) for mask in pair)
    size = len(truth) + len(prediction)
    assert dice(*pair) == (2 * len(truth & prediction) / size if size else 1.0)


@given(pairs)
def test_dice_is_symmetric_and_bounded(pair: tuple[np.ndarray, np.ndarray]) -> None:
    assert dice(*pair) == dice(*pair[::-1])
    assert 0 <= dice(*pair) <= 1
    assert dice(pair[0], pair[0]) == 1


def test_empty_masks() -> None:
    empty, full = np.zeros((2, 2), bool), np.ones((2, 2), bool)
    assert dice(empty, empty) == 1
    assert dice(empty, full) == dice(full, empty) == 0


def test_integers_are_taken_if_they_are_only_zero_and_one() -> None:
    assert dice(np.array([0, 1, 1]), np.array([0, 1, 0], np.uint8)) == 2 / 3
    for wrong in ([0, 2], [-1, 1]):
        with pytest.raises(TypeError, match="truth == label"):
            dice(np.array(wrong), np.array([0, 1]))
    with pytest.raises(TypeError, match="prediction"):
        dice(np.array([True]), np.array([0.5]))


def test_masks_of_different_shape_are_not_compared() -> None:
    with pytest.raises(ValueError, match="voxel by voxel"):
        dice(np.zeros((2, 3), bool), np.zeros((3, 2), bool))


def golden_pairs() -> list[str]:
    return sorted(path.name[5:-13] for path in GOLDEN.glob("pair_*_truth.nii.gz"))


@pytest.mark.parametrize("pair", golden_pairs())
def test_the_golden_pairs(pair: str, golden_segmentation: dict[str, Any]) -> None:
    """Whole arrays and cropped label maps both give what surface-distance gave, and what the counts say."""
    expected = golden_segmentation["pairs"][pair]
    files = [GOLDEN / f"pair_{pair}_{side}.nii.gz" for side in ("truth", "pred")]
    whole = dice(*(read(file).array > 0 for file in files))
    assert dice(*side_by_side(*(read_labels(file) for file in files))) == whole
    peer = expected["surface_distance"]["dice"]
    if peer == "nan":  # both empty: undefined there, 1 by our definition
        assert whole == 1
    else:
        assert whole == pytest.approx(peer, abs=1e-12)
        counts = expected["counts"]
        assert whole == 2 * counts["tp"] / (2 * counts["tp"] + counts["fp"] + counts["fn"])


def test_sixteen_golden_pairs_are_there() -> None:
    assert len(golden_pairs()) == 16
