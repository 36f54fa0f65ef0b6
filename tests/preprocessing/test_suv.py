"""Uptake by body weight."""

from __future__ import annotations

import pytest

from isocenter.preprocessing import suv_factor


def test_activity_that_is_spread_evenly_has_an_uptake_of_one():
    weight, injected = 80.0, 320e6
    concentration = injected / (weight * 1000.0)  # Bq per ml, at 1 g per ml
    assert concentration * suv_factor(weight, injected) == pytest.approx(1.0)


def test_after_one_half_life_half_the_activity_gives_the_same_uptake():
    assert suv_factor(70.0, 350e6, delay_s=6586.2) == pytest.approx(2.0 * suv_factor(70.0, 350e6))
    assert suv_factor(70.0, 350e6, delay_s=60.0, half_life_s=60.0) == pytest.approx(suv_factor(70.0, 175e6))


@pytest.mark.parametrize(("weight", "dose"), [(0.0, 1e6), (70.0, 0.0), (-70.0, 1e6), (float("nan"), 1e6)])
def test_a_patient_without_weight_or_dose_is_refused(weight, dose):
    with pytest.raises(ValueError, match="positive"):
        suv_factor(weight, dose)
