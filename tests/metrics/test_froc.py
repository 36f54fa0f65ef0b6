from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.metrics._froc import CAMELYON_RATES, Froc, froc

GOLDEN = Path(__file__).parents[1] / "golden" / "detection"
VOLUMES = json.loads((GOLDEN / "expected_volumes.json").read_text())
TABLES = json.loads((GOLDEN / "expected_tables.json").read_text())
PEERS = json.loads((GOLDEN / "expected_froc_peers.json").read_text())
COHORTS = TABLES | {name: cohort for name, cohort in VOLUMES["configs"].items() if "lesion_results" in cohort}


def columns(cohort: dict[str, Any], subjects: list[str] | None = None) -> tuple[list[float], list[float]]:
    names = subjects or sorted(cohort["lesion_results"])
    rows = [row for name in names for row in cohort["lesion_results"][name]]
    return [row[0] for row in rows], [row[1] for row in rows]


def assert_as_picai_eval(curve: Froc, expected: dict[str, Any]) -> None:
    for found, key in (
        (curve.sensitivity, "lesion_TPR"),
        (curve.false_positives, "lesion_FPR"),
        (curve.thresholds, "thresholds"),
    ):
        np.testing.assert_allclose(found, [float(x) for x in expected[key]], rtol=1e-6, atol=1e-6)
    for rate, sensitivity in expected["lesion_TPR_at_FPR"].items():
        assert curve.sensitivity_at(float(rate)) == pytest.approx(float(sensitivity), abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("name", COHORTS)
def test_the_preset_gives_the_curve_of_picai_eval(name: str) -> None:
    cohort = COHORTS[name]
    assert_as_picai_eval(froc(*columns(cohort), cases=cohort["num_cases"], preset="picai"), cohort)


def test_a_subset_is_scored_as_if_there_were_no_other_cases() -> None:
    rows = columns(VOLUMES["configs"]["default"], VOLUMES["subset"])
    assert_as_picai_eval(froc(*rows, cases=23, preset="picai"), VOLUMES["configs"]["default_subset"])


@pytest.mark.parametrize("name", [name for name, cohort in COHORTS.items() if cohort["num_lesions"]])
def test_the_corrected_curve_has_every_real_point_of_picai_eval_and_the_last_one(name: str) -> None:
    cohort = COHORTS[name]
    is_lesion, confidence = columns(cohort)
    curve = froc(is_lesion, confidence, cases=cohort["num_cases"])
    real = len(cohort["lesion_TPR"]) - 1
    np.testing.assert_allclose(curve.sensitivity[1 : real + 1], cohort["lesion_TPR"][:-1], rtol=1e-6)
    missed = 0.0 in confidence
    assert curve.sensitivity.size == real + (1 if missed else 2)
    found = sum(1 for lesion, c in zip(is_lesion, confidence, strict=True) if lesion and c > 0)
    wrong = sum(1 for lesion in is_lesion if not lesion)
    assert curve.sensitivity[-1] == pytest.approx(found / cohort["num_lesions"])
    assert curve.false_positives[-1] == pytest.approx(wrong / cohort["num_cases"])
    assert (curve.false_positives[0], curve.sensitivity[0], curve.thresholds[0]) == (0, 0, math.inf)


def test_one_confidence_for_all_is_a_curve_and_not_nothing() -> None:
    rows = [1, 1, 0], [0.5, 0.5, 0.5]
    assert froc(*rows, cases=2).sensitivity_at(0.5) == 1
    peer = froc(*rows, cases=2, preset="picai")
    assert peer.sensitivity.tolist() == [0, 0]
    assert peer.false_positives.tolist() == [0, math.inf]
    assert peer.thresholds.size == 2


@pytest.mark.parametrize("expected", PEERS["monai_froc"])
def test_scores_are_those_of_monai(expected: dict[str, Any]) -> None:
    hits, wrong = expected["tp_probs"], expected["fp_probs"]
    curve = froc([1] * len(hits) + [0] * len(wrong), hits + wrong, cases=expected["num_images"])
    # MONAI leaves out the lowest threshold, and starts at the other end.
    size = len(expected["sensitivity"])
    np.testing.assert_allclose(curve.sensitivity[:size], expected["sensitivity"][::-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(curve.false_positives[:size], expected["fps_per_image"][::-1], rtol=0, atol=1e-12)
    rates = expected["eval_thresholds_default"]
    assert tuple(rates) == CAMELYON_RATES
    assert curve.cpm(rates) == pytest.approx(expected["score_default"], rel=0, abs=1e-12)
    assert curve.cpm() == pytest.approx(expected["score_cpm"], rel=0, abs=1e-12)


@pytest.mark.parametrize("expected", PEERS["nndet_froc"])
def test_scores_are_those_of_nndetection(expected: dict[str, Any]) -> None:
    matched, missed = expected["matched"], expected["num_gt"] - int(sum(expected["matched"]))
    curve = froc([*matched, *[1] * missed], [*expected["scores"], *[0] * missed], cases=expected["num_images"])
    found = [curve.sensitivity_at(rate, rule="linear") for rate in expected["fpi_thresholds"]]
    assert found == pytest.approx(expected["curve"], rel=0, abs=1e-12)
    assert curve.cpm(expected["fpi_thresholds"]) == pytest.approx(expected["score"], rel=0, abs=1e-12)


# Points (0, 1/4), (1/2, 1/4), (1/2, 3/4), (1, 3/4): lesion, false, two lesions, false, and a lesion missed; two cases.
CURVE = froc([1, 0, 1, 1, 0, 1], [0.9, 0.8, 0.7, 0.7, 0.6, 0], cases=2)


def test_the_rules_differ_between_the_points_only() -> None:
    assert [CURVE.sensitivity_at(k) for k in (0, 0.25, 0.5, 0.75, 1, 9)] == [0.25, 0.25, 0.75, 0.75, 0.75, 0.75]
    slope = froc([1, 0, 1], [0.9, 0.5, 0.5], cases=1)
    assert [slope.sensitivity_at(k) for k in (0, 0.5, 1)] == [0.5, 0.5, 1]
    assert [slope.sensitivity_at(k, rule="linear") for k in (0, 0.5, 1, 2)] == [0.5, 0.75, 1, 1]


def test_areas_by_hand() -> None:
    assert CURVE.partial_area(0.5) == CURVE.partial_area(0.5, rule="linear") == pytest.approx(1 / 8)
    assert CURVE.partial_area(2) == CURVE.partial_area(2, rule="linear") == pytest.approx(1 / 8 + 9 / 8)
    slope = froc([1, 0, 1], [0.9, 0.5, 0.5], cases=1)
    assert slope.partial_area(0.5) == pytest.approx(1 / 4)
    assert slope.partial_area(0.5, rule="linear") == pytest.approx((0.5 + 0.75) / 4)
    assert slope.partial_area(2, rule="linear") == pytest.approx(0.75 + 1)


def test_where_the_curve_starts_late_nothing_is_found_before() -> None:
    late = froc([0, 1, 1], [0.9, 0.8, 0.0], cases=1, preset="picai")
    assert late.false_positives.tolist() == [1, 1, math.inf]
    assert late.sensitivity_at(0.5) == 0
    assert late.sensitivity_at(1) == late.sensitivity_at(5, rule="linear") == 0.5
    assert late.partial_area(2) == late.partial_area(2, rule="linear") == 0.5


def test_weights_count_lesions_and_false_positives() -> None:
    curve = froc([1, 0, 1], [0.9, 0.8, 0.7], cases=4.0, weight=[3, 2, 1])
    assert curve.sensitivity.tolist() == [0, 0.75, 0.75, 1]
    assert curve.false_positives.tolist() == [0, 0, 0.5, 0.5]


def test_a_weighted_rate_is_met_although_sums_are_rounded() -> None:
    curve = froc([0, 0, 0, 1], [0.9, 0.9, 0.9, 0.9], cases=1.0, weight=[0.1, 0.1, 0.1, 1])
    assert curve.false_positives[-1] > 0.3
    assert curve.sensitivity_at(0.3) == curve.sensitivity_at(0.3, rule="linear") == 1


table = st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=12)


@given(table)
@settings(deadline=None)
def test_a_weight_is_how_often_a_row_is_there(rows: list[tuple[bool, int, int]]) -> None:
    is_lesion, confidence, weight = (list(column) for column in zip(*rows, strict=True))
    weighted = froc(is_lesion, confidence, cases=5, weight=weight)
    repeated = froc(np.repeat(is_lesion, weight), np.repeat(confidence, weight), cases=5)
    np.testing.assert_allclose(weighted.sensitivity, repeated.sensitivity)
    np.testing.assert_allclose(weighted.false_positives, repeated.false_positives)
    for i, threshold in enumerate(weighted.thresholds):
        wrong = sum(w for lesion, c, w in rows if not lesion and c >= threshold)
        assert weighted.false_positives[i] == pytest.approx(wrong / 5)


def test_without_lesions_there_is_no_sensitivity() -> None:
    for curve in (froc([0, 0], [0.5, 0.4], cases=3), froc([], [], cases=3), froc([0], [1], cases=1, preset="picai")):
        assert math.isnan(curve.sensitivity_at(1))
        assert math.isnan(curve.cpm())
        assert math.isnan(curve.partial_area(1))
        assert math.isnan(curve.partial_area(1, rule="linear"))


@pytest.mark.parametrize("cases", [0, -1, math.nan, math.inf])
def test_there_must_be_cases(cases: float) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        froc([1], [0.5], cases=cases)


def test_picai_eval_knows_no_weights() -> None:
    with pytest.raises(ValueError, match="unweighted"):
        froc([1], [0.5], cases=1, weight=[2], preset="picai")


def test_impossible_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="from 0 on, not -1"):
        CURVE.sensitivity_at(-1)
    with pytest.raises(ValueError, match="not at 0"):
        CURVE.partial_area(0)
    with pytest.raises(ValueError, match="not 'steps'"):
        CURVE.sensitivity_at(1, rule="steps")
    with pytest.raises(ValueError, match="not 'steps'"):
        CURVE.partial_area(1, rule="steps")
    with pytest.raises(ValueError, match="not 'luna16'"):
        froc([1], [0.5], cases=1, preset="luna16")
    with pytest.raises(ValueError, match="at least one rate"):
        CURVE.cpm([])
