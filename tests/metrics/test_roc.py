from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.metrics._roc import RocCurve, auroc, operating_point, roc_curve, why_no_auroc

GOLDEN = Path(__file__).parents[1] / "golden" / "detection"
VOLUMES = json.loads((GOLDEN / "expected_volumes.json").read_text())
TABLES = json.loads((GOLDEN / "expected_tables.json").read_text())
STATISTICS = json.loads((GOLDEN / "expected_statistics.json").read_text())
COHORTS = TABLES | {name: cohort for name, cohort in VOLUMES["configs"].items() if "case_pred" in cohort}


def columns(cohort: dict[str, Any], subjects: list[str] | None = None) -> tuple[list[Any], ...]:
    names = subjects or sorted(cohort["case_pred"])
    return tuple([cohort[key][name] for name in names] for key in ("case_target", "case_pred", "case_weight"))


def numbers(values: list[Any]) -> list[float]:
    return [float(value) for value in values]


@pytest.mark.parametrize("name", COHORTS)
def test_area_and_curve_are_those_of_picai_eval(name: str) -> None:
    truth, score, weight = columns(COHORTS[name])
    assert auroc(truth, score, weight=weight) == pytest.approx(
        float(COHORTS[name]["auroc"]), rel=0, abs=1e-12, nan_ok=True
    )
    curve = roc_curve(truth, score, weight=weight, drop_collinear=True)
    np.testing.assert_allclose(curve.sensitivity, numbers(COHORTS[name]["case_TPR"]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(curve.false_positive_rate, numbers(COHORTS[name]["case_FPR"]), rtol=0, atol=1e-12)


def test_a_subset_is_scored_as_if_there_were_no_other_cases() -> None:
    expected = VOLUMES["configs"]["default_subset"]
    truth, score, _ = columns(VOLUMES["configs"]["default"], VOLUMES["subset"])
    assert auroc(truth, score) == pytest.approx(expected["auroc"], rel=0, abs=1e-12)
    assert roc_curve(truth, score, drop_collinear=True).sensitivity == pytest.approx(numbers(expected["case_TPR"]))


tables = st.lists(
    st.tuples(st.booleans(), st.integers(0, 5), st.sampled_from([0.0, 0.5, 1.0, 3.0])), min_size=1, max_size=12
)


@given(tables)
@settings(deadline=None)
def test_the_area_is_the_share_of_pairs_in_the_right_order(rows: list[tuple[bool, int, float]]) -> None:
    truth, score, weight = (list(column) for column in zip(*rows, strict=True))
    pairs = [
        (w * v, 1.0 if s > r else 0.5 if s == r else 0.0)
        for t, s, w in rows
        if t
        for u, r, v in rows
        if not u and w * v
    ]
    found = auroc(truth, score, weight=weight)
    curve = roc_curve(truth, score, weight=weight)
    if not pairs:
        assert math.isnan(found)
        assert math.isnan(curve.area)
        assert why_no_auroc(truth, weight=weight) is not None
        return
    assert why_no_auroc(truth, weight=weight) is None
    assert found == pytest.approx(sum(w * right for w, right in pairs) / sum(w for w, _ in pairs))
    assert curve.area == pytest.approx(found)
    assert roc_curve(truth, score, weight=weight, drop_collinear=True).area == pytest.approx(found)
    for threshold, sensitivity, rate in zip(
        curve.thresholds, curve.sensitivity, curve.false_positive_rate, strict=True
    ):
        point = operating_point(truth, score, threshold=threshold, weight=weight)
        assert (point.sensitivity, point.specificity) == pytest.approx((sensitivity, 1 - rate))


@given(tables.filter(lambda rows: all(weight in (0, 1, 3) for _, _, weight in rows)))
@settings(deadline=None)
def test_a_weight_is_how_often_a_case_is_there(rows: list[tuple[bool, int, float]]) -> None:
    truth, score, weight = (list(column) for column in zip(*rows, strict=True))
    times = np.array(weight, int)
    assert auroc(truth, score, weight=weight) == pytest.approx(
        auroc(np.repeat(truth, times), np.repeat(score, times)), nan_ok=True
    )


@pytest.mark.parametrize(
    ("truth", "weight", "reason"),
    [
        ([1, 1], None, "no negative cases"),
        ([0, 0], None, "no positive cases"),
        ([], None, "no cases"),
        ([0, 1], [1, 0], "no positive cases"),
        ([0, 1], [0, 1], "no negative cases"),
        ([0, 1], [0, 0], "no cases"),
        ([0, 1], [1, 1], None),
    ],
)
def test_an_area_that_is_not_there_says_why(truth: list[int], weight: list[float] | None, reason: str | None) -> None:
    assert why_no_auroc(truth, weight=weight) == reason
    assert math.isnan(auroc(truth, [0.5] * len(truth), weight=weight)) == (reason is not None)


def test_scores_tie_as_they_are_given() -> None:
    close = np.array([0.7, np.nextafter(0.7, 1)])
    assert auroc([0, 1], close) == 1.0
    assert auroc([0, 1], close.astype(np.float32)) == 0.5


@pytest.mark.parametrize("expected", STATISTICS["pauc"])
def test_partial_areas_are_those_of_picai_eval(expected: dict[str, Any]) -> None:
    x, y = np.array(expected["x"]), np.array(expected["y"])
    curve = RocCurve(x, y, np.arange(x.size)[::-1])
    found = curve.partial_area(specificity=(1 - expected["end"], 1 - expected["start"]))
    assert found == pytest.approx(expected["value"], rel=0, abs=1e-9)  # the peer moves vertical steps by 1e-10


STEPS = roc_curve([1, 0, 1, 1, 0, 0, 1, 0], [9, 8, 7, 6, 5, 4, 3, 2])


def test_parts_of_the_area_add_up() -> None:
    # By hand: sensitivity 1/4 up to FPR 1/4, 3/4 up to 3/4, then 1.
    assert STEPS.area == pytest.approx(1 / 16 + 3 / 8 + 1 / 4)
    assert STEPS.partial_area(specificity=(0.5, 1.0)) == pytest.approx(1 / 16 + 3 / 16)
    assert STEPS.partial_area(specificity=(0.25, 0.75)) == pytest.approx(3 / 8)
    # Specificity 1 up to sensitivity 1/4, 3/4 up to 3/4, then 1/4.
    assert STEPS.partial_area(sensitivity=(0.75, 1.0)) == pytest.approx(1 / 16)
    assert STEPS.partial_area(sensitivity=(0.0, 0.5)) == pytest.approx(1 / 4 + 3 / 16)
    for kind in ("specificity", "sensitivity"):
        halves = [STEPS.partial_area(**{kind: part}) for part in ((0, 0.4), (0.4, 1))]
        assert sum(halves) == pytest.approx(STEPS.partial_area(**{kind: (0, 1)})) == pytest.approx(STEPS.area)


@pytest.mark.parametrize("kind", ["specificity", "sensitivity"])
def test_a_standardised_area_is_half_by_chance_and_one_if_perfect(kind: str) -> None:
    chance, perfect = roc_curve([0, 1], [1, 1]), roc_curve([0, 1], [1, 2])
    assert chance.partial_area(**{kind: (0.8, 1.0)}, standardised=True) == pytest.approx(0.5)
    assert perfect.partial_area(**{kind: (0.8, 1.0)}, standardised=True) == pytest.approx(1.0)
    assert chance.partial_area(**{kind: (0.8, 1.0)}) == pytest.approx(0.02)


def test_operating_points_are_attained_ones() -> None:
    assert STEPS.at_specificity(0.7) == (6.0, 0.75, 0.75)
    assert STEPS.at_specificity(0.76) == (9.0, 0.25, 1.0)
    assert STEPS.at_sensitivity(0.3) == (7.0, 0.5, 0.75)
    assert STEPS.at_sensitivity(0.0) == (math.inf, 0.0, 1.0)
    assert STEPS.at_sensitivity(1.0) == (3.0, 1.0, 0.25)


def test_a_weighted_rate_is_met_although_sums_are_rounded() -> None:
    curve = roc_curve([1] + [0] * 10, [0, *range(1, 11)], weight=[1.0] + [0.1] * 10)
    assert curve.false_positive_rate[3] != 0.3
    assert curve.at_specificity(0.7).threshold == 8.0


def test_without_a_class_there_is_no_operating_point() -> None:
    curve = roc_curve([1, 1], [0.2, 0.8])
    assert all(map(math.isnan, curve.at_specificity(0.5)))
    assert all(map(math.isnan, curve.at_sensitivity(0.5)))
    assert math.isnan(curve.partial_area(specificity=(0.5, 1.0)))
    sensitivity, specificity = operating_point([1, 1], [0.2, 0.8], threshold=0.5)[1:]
    assert sensitivity == 0.5
    assert math.isnan(specificity)


@pytest.mark.parametrize("row", [row for row in STATISTICS["match_reader"] if row["threshold"] is not None])
def test_rates_at_a_threshold_are_those_of_picai_eval(row: dict[str, Any]) -> None:
    weight = None if row["sample_weight"] is None else row["sample_weight"]
    point = operating_point(row["y_true"], row["y_pred_ai"], threshold=row["threshold"], weight=weight)
    assert point[1:] == pytest.approx((row["sensitivity"], row["specificity"]), rel=0, abs=1e-12)


@pytest.mark.parametrize(
    ("truth", "score", "weight", "message"),
    [
        ([0, 2], [1, 2], None, "only 0 and 1; found 2"),
        ([0, 0.5], [1, 2], None, "found 0.5"),
        ([0, 1], [1, math.nan], None, "row 1 is nan"),
        ([0, 1], [math.inf, 1], None, "row 0 is inf"),
        ([0, 1], [1, 2], [1, -1], "row 1 has -1.0"),
        ([0, 1], [1, 2, 3], None, r"\(2,\), \(3,\)"),
        ([0, 1], [1, 2], [1], "one length"),
        ([[0, 1]], [[1, 2]], None, "one length"),
    ],
)
def test_impossible_columns_are_refused(truth: Any, score: Any, weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        auroc(truth, score, weight=weight)


@pytest.mark.parametrize("ranges", [{}, {"specificity": (0, 1), "sensitivity": (0, 1)}])
def test_a_partial_area_has_one_range(ranges: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="and not both"):
        STEPS.partial_area(**ranges)


@pytest.mark.parametrize("bounds", [(0.5, 0.5), (0.9, 0.1), (-0.1, 1), (0, 1.1)])
def test_a_range_goes_up_within_0_and_1(bounds: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="a range goes from"):
        STEPS.partial_area(sensitivity=bounds)


@pytest.mark.parametrize("ask", [STEPS.at_sensitivity, STEPS.at_specificity])
def test_a_rate_lies_between_0_and_1(ask: Any) -> None:
    with pytest.raises(ValueError, match="between 0 and 1, not at 95"):
        ask(95)


def test_curves_are_imported_without_numba_and_scipy() -> None:
    code = (
        "import sys, isocenter.metrics._froc, isocenter.stats._bootstrap; print({'numba', 'scipy'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
