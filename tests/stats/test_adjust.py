from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from isocenter.stats import adjust

EXPECTED = json.loads((Path(__file__).parents[1] / "golden" / "paired" / "expected.json").read_text())["p_adjust"]
METHODS: Any = ("holm", "bonferroni", "bh", "none")

families = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("holm", [0.05, 0.08, 0.09, 0.09, 0.09]),
        ("bonferroni", [0.05, 0.10, 0.15, 0.20, 0.25]),
        ("bh", [0.05, 0.05, 0.05, 0.05, 0.05]),
        ("none", [0.01, 0.02, 0.03, 0.04, 0.05]),
    ],
)
def test_five_equally_spaced_p_values_by_hand(method: Any, expected: list[float]) -> None:
    p = np.array([0.01, 0.02, 0.03, 0.04, 0.05])
    order = [3, 0, 4, 2, 1]
    np.testing.assert_allclose(adjust(p, method), expected)
    np.testing.assert_allclose(adjust(p[order], method), np.array(expected)[order])


@pytest.mark.parametrize(("method", "name"), [("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "BH")])
def test_it_is_p_adjust_of_r(method: Any, name: str) -> None:
    np.testing.assert_allclose(adjust(EXPECTED["raw"], method), EXPECTED[name], rtol=1e-12)


@given(families)
def test_bh_is_that_of_scipy(p: list[float]) -> None:
    np.testing.assert_allclose(adjust(p, "bh"), false_discovery_control(p), rtol=1e-12)


@given(families)
def test_holm_rejects_step_by_step(p: list[float]) -> None:
    """As the procedure is told: the smallest against α/m, the next against α/(m − 1), until one is not rejected."""
    found, m = adjust(p, "holm"), len(p)
    for alpha in (0.01, 0.05, 0.3):
        rejected = set()
        for step, i in enumerate(np.argsort(p, kind="stable")):
            if p[i] * (m - step) > alpha:
                break
            rejected.add(int(i))
        assert set(np.flatnonzero(found <= alpha).tolist()) == rejected


@given(families, st.sampled_from(METHODS))
def test_adjusted_p_values_keep_their_order_and_are_probabilities(p: list[float], method: Any) -> None:
    given_, found = np.array(p), adjust(p, method)
    order = np.argsort(given_)
    assert (np.diff(found[order]) >= 0).all()
    assert ((found >= given_ * (1 - 1e-12)) & (found <= 1)).all()
    if len(p) == 1:
        assert found == given_


@given(families)
def test_holm_lies_between_bh_and_bonferroni(p: list[float]) -> None:
    bh, holm, bonferroni = (adjust(p, method) for method in ("bh", "holm", "bonferroni"))
    assert (holm <= bonferroni).all()
    assert (bh <= holm * (1 + 1e-12)).all()


@given(families, st.sampled_from(METHODS), st.integers(0, 12))
def test_what_was_not_tested_stays_undefined_and_does_not_count(p: list[float], method: Any, place: int) -> None:
    at = min(place, len(p))
    found = adjust([*p[:at], math.nan, *p[at:]], method)
    assert math.isnan(found[at])
    np.testing.assert_array_equal(np.delete(found, at), adjust(p, method))


def test_a_matrix_is_one_family_and_keeps_its_shape() -> None:
    p = np.array([[math.nan, 0.01], [0.9, math.nan]])
    np.testing.assert_allclose(adjust(p, "holm"), [[math.nan, 0.02], [0.9, math.nan]])
    assert p[0, 1] == 0.01  # the argument is left alone
    assert adjust(np.full((2, 2), math.nan)).shape == (2, 2)
    assert adjust([]).size == 0
    assert adjust(0.2) == 0.2


def test_what_is_no_probability_or_no_method_is_refused() -> None:
    with pytest.raises(ValueError, match=r"2 of 3 are not \(-0.1\)"):
        adjust([-0.1, 0.5, math.inf])
    with pytest.raises(ValueError, match="one of 'holm', 'bonferroni', 'bh', 'none'; not 'fdr'"):
        adjust([0.1], "fdr")  # type: ignore[arg-type]
