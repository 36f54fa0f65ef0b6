from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from isocenter.metrics import dice
from isocenter.viewer import dose_strip, mask_strip
from isocenter.volumes import Grid

GRID = Grid((4, 4, 3), spacing=(0.5, 2.0, 3.0))  # a pixel has 1 mm²


def test_areas_and_dice_counted_by_hand() -> None:
    truth, output = np.zeros((2, 4, 4, 3), bool)
    truth[:2, :2, 1] = True
    output[1:3, :2, 1] = True
    output[3, 3, 2] = True
    strip = mask_strip(truth, output, grid=GRID)
    assert strip.series == {"missed": (0.0, 2.0, 0.0), "extra": (0.0, 2.0, 1.0)}
    assert strip.said == (
        "nothing in the reference, nothing in the submission",
        "Dice 0.500, missed 2 mm², extra 2 mm²",
        "Dice 0.000, missed 0 mm², extra 1 mm²",
    )
    assert strip.worst == 1


def test_where_nothing_is_wrong_the_middle_is_shown() -> None:
    empty = np.zeros(GRID.shape, bool)
    assert mask_strip(empty, empty, grid=GRID).worst == 1


@given(arrays(bool, (2, 4, 4, 3)))
def test_slices_add_up_to_the_volume(masks: np.ndarray) -> None:
    truth, output = masks
    strip = mask_strip(truth, output, grid=GRID)
    assert sum(strip.series["missed"]) == pytest.approx((truth & ~output).sum())
    assert sum(strip.series["extra"]) == pytest.approx((output & ~truth).sum())
    for k, said in enumerate(strip.said):
        if (truth | output)[:, :, k].any():
            assert said.startswith(f"Dice {dice(truth[:, :, k], output[:, :, k]):.3f}")


def test_doses_are_compared_where_there_is_dose() -> None:
    truth, output = np.zeros((2, 4, 4, 3))
    truth[0, 0], output[0, 0] = (60.0, 40.0, 0.0), (50.0, 43.0, 0.0)
    truth[1, 1], output[1, 1] = (1.0, 1.0, 1.0), (2.0, 2.0, 2.0)  # below a twentieth of 60 Gy
    strip = dose_strip(truth, output)
    assert strip.series == {"difference": (10.0, 3.0, 0.0)}
    assert strip.said[0] == "differs by 10.00 Gy on average, at most 10.0 Gy"
    assert strip.said[2] == "no dose to compare"


@given(st.floats(0, 1e-300))
def test_no_dose_at_all_is_no_division_by_zero(value: float) -> None:
    strip = dose_strip(np.zeros((2, 2, 3)), np.full((2, 2, 3), value))
    assert np.isfinite(strip.series["difference"]).all()
