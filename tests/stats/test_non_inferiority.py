from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from isocenter.stats._non_inferiority import non_inferiority


@pytest.mark.parametrize(
    ("difference", "label"),
    [(0.05, "superior"), (0.0, "non-inferior"), (-0.03, "inconclusive"), (-0.1, "inferior")],
)
def test_the_interval_decides_the_label(difference: float, label: str) -> None:
    found = non_inferiority(difference, 0.02, margin=0.05)
    assert found.label == label
    assert found.non_inferior == found.accepted == (label in ("superior", "non-inferior"))
    assert found.low == pytest.approx(difference - 1.959963984540054 * 0.02)


def test_the_margin_enters_with_a_minus_sign() -> None:
    assert non_inferiority(0.0, 0.02, margin=0.05).non_inferior  # low is −0.039: above −0.05, far below +0.05


def test_it_is_that_of_google_health_on_the_data_of_nico() -> None:
    """One CAD against nine radiologists: `model_vs_readers_orh` with a margin of 0.05, one-sided."""
    difference, error = -0.03173611111111119, 0.03173611111111119 / 0.9928688833840852
    found = non_inferiority(difference, error, 877.886378333128, margin=0.05)
    assert (found.low, found.high) == pytest.approx((-0.09447099099677565, 0.03099876877455328), rel=1e-9)
    assert found.p_one_sided == pytest.approx(0.2839413076498562, rel=1e-9)
    assert found.label == "inconclusive"


def test_both_conventions_of_p_are_given() -> None:
    found = non_inferiority(0.0, 0.04, 20, margin=0.05)
    assert found.p_one_sided == pytest.approx(stats.t.sf(1.25, 20), rel=1e-12)
    assert found.p_doubled == 2 * found.p_one_sided
    assert non_inferiority(-1.0, 0.1, margin=0.05).p_doubled == 1.0


@given(st.floats(-0.2, 0.2), st.floats(0.001, 0.1), st.floats(1.0, 500.0), st.floats(0.01, 0.1), st.floats(0.5, 0.99))
def test_a_bound_above_the_margin_and_a_small_p_are_the_same(
    difference: float, error: float, df: float, margin: float, level: float
) -> None:
    found = non_inferiority(difference, error, df, margin=margin, level=level)
    bar = (1 - level) / 2
    if abs(found.p_one_sided - bar) > 1e-9:
        assert found.non_inferior == (found.p_one_sided < bar)
    assert (found.low, found.high) == pytest.approx(stats.t.interval(level, df, difference, error), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("difference", "accepted"), [(0.01, True), (-0.005, False), (-0.1, False)])
def test_picai_asks_for_a_gain_as_well(difference: float, accepted: bool) -> None:
    found = non_inferiority(difference, 0.015, 60.0, preset="picai")
    assert (found.margin, found.needs_gain, found.accepted) == (0.05, True, accepted)
    assert found.label == non_inferiority(difference, 0.015, 60.0, margin=0.05).label
    assert non_inferiority(difference, 0.015, margin=0.02, preset="picai").margin == 0.02


def test_the_error_of_the_first_kind_is_half_alpha() -> None:
    rng = np.random.default_rng(3)
    accepted = 0
    for sample in rng.normal(-0.05, 0.1, size=(4000, 12)):
        error = sample.std(ddof=1) / math.sqrt(12)
        accepted += non_inferiority(float(sample.mean()), float(error), 11, margin=0.05).accepted
    assert accepted / 4000 == pytest.approx(0.025, abs=3 * math.sqrt(0.025 * 0.975 / 4000))


def test_everything_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(ValueError, match=r"difference.*standard error.*degrees of freedom.*margin.*level"):
        non_inferiority(math.nan, 0.0, -1, margin=-0.05, level=1.0)
    with pytest.raises(ValueError, match="margin is finite and above 0"):
        non_inferiority(0.0, 0.1)
    with pytest.raises(ValueError, match="preset is one of"):
        non_inferiority(0.0, 0.1, margin=0.05, preset="openkbp")  # type: ignore[arg-type]


def test_it_reads_as_a_sentence_and_exports_json() -> None:
    found = non_inferiority(0.01, 0.02, 30, margin=0.05)
    assert str(found) == (
        "Difference +0.0100 (95 % CI -0.0308 to 0.0508; t, 30.0 degrees of freedom), margin 0.05: non-inferior "
        "(non-inferiority, one-sided p = 0.00269, doubled 0.00539)."
    )
    exported: dict[str, Any] = json.loads(json.dumps(non_inferiority(0.01, 0.02, preset="picai").to_dict()))
    assert (exported["df"], exported["preset"], exported["label"]) == (None, "picai", "non-inferior")
    assert json.dumps(non_inferiority(np.float64(0.01), np.float64(0.02), np.int64(9), margin=0.05).to_dict())
    assert str(non_inferiority(-0.005, 0.01, preset="picai")).endswith("above 0: not accepted.")


def test_the_preset_asks_for_more_than_no_difference() -> None:
    """PI-CAI accepts a difference above 0; exactly 0 is not, and without the preset it is non-inferior."""
    assert not non_inferiority(0.0, 0.01, preset="picai").accepted
    assert non_inferiority(0.0, 0.01, preset="picai").non_inferior
    assert non_inferiority(0.0, 0.01, margin=0.05).accepted
    assert non_inferiority(1e-12, 0.01, preset="picai").accepted
