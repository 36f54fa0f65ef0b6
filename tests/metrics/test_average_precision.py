from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.metrics._average_precision import (
    average_precision,
    precision_recall_curve,
    why_no_average_precision,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "detection"
VOLUMES = json.loads((GOLDEN / "expected_volumes.json").read_text())
TABLES = json.loads((GOLDEN / "expected_tables.json").read_text())
COHORTS = TABLES | {name: cohort for name, cohort in VOLUMES["configs"].items() if "lesion_results" in cohort}
WITH_LESIONS = [name for name, cohort in COHORTS.items() if cohort["num_lesions"]]


def columns(cohort: dict[str, Any], subjects: list[str] | None = None) -> tuple[list[float], list[float], list[float]]:
    names = subjects or sorted(cohort["lesion_results"])
    rows = [row for name in names for row in cohort["lesion_results"][name]]
    weight = [w for name in names for w in cohort["lesion_weight"][name]]
    return [row[0] for row in rows], [row[1] for row in rows], weight


@pytest.mark.parametrize("name", WITH_LESIONS)
def test_number_and_curve_are_those_of_picai_eval(name: str) -> None:
    is_lesion, confidence, weight = columns(COHORTS[name])
    expected = COHORTS[name]
    assert average_precision(is_lesion, confidence, weight=weight) == pytest.approx(expected["AP"], rel=0, abs=1e-12)
    curve = precision_recall_curve(is_lesion, confidence, weight=weight)
    np.testing.assert_allclose(curve.precision, expected["precision"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(curve.recall, expected["recall"], rtol=0, atol=1e-12)
    assert curve.thresholds.size == curve.precision.size - 1


def test_a_subset_is_scored_as_if_there_were_no_other_cases() -> None:
    is_lesion, confidence, _ = columns(VOLUMES["configs"]["default"], VOLUMES["subset"])
    expected = VOLUMES["configs"]["default_subset"]["AP"]
    assert average_precision(is_lesion, confidence) == pytest.approx(expected, rel=0, abs=1e-12)


def test_without_lesions_there_is_no_number_where_picai_eval_says_minus_zero() -> None:
    is_lesion, confidence, _ = columns(COHORTS["all_negative"])
    assert len(is_lesion) > 0
    assert math.copysign(1, COHORTS["all_negative"]["AP"]) == -1
    assert math.isnan(average_precision(is_lesion, confidence))
    assert why_no_average_precision(is_lesion) == "no lesions"
    curve = precision_recall_curve(is_lesion, confidence)
    assert np.isnan(curve.recall[:-1]).all()
    assert (curve.precision[-1], curve.recall[-1]) == (1, 0)


def test_without_any_row_there_is_no_number_where_picai_eval_crashes() -> None:
    assert math.isnan(average_precision([], []))
    assert why_no_average_precision([]) == "no lesions"


def test_lesions_of_weight_0_are_no_lesions() -> None:
    assert math.isnan(average_precision([1, 0], [0.5, 0.4], weight=[0, 1]))
    assert why_no_average_precision([1, 0], weight=[0, 1]) == "no lesions"
    assert why_no_average_precision([1, 0], weight=[1, 0]) is None


def test_lesions_that_nobody_found_give_a_plain_zero() -> None:
    found = average_precision([1, 1, 0], [0, 0, 0.5])
    assert found == 0
    assert math.copysign(1, found) == 1


def test_missed_lesions_limit_the_recall() -> None:
    assert average_precision([1], [0.3]) == 1
    assert average_precision([1, 1], [0.3, 0]) == 0.5


def test_ties_are_one_step_and_judged_in_single_precision() -> None:
    assert average_precision([1, 0], [0.5, 0.5]) == 0.5
    assert average_precision([1, 0], [0.7, float(np.float32(0.7))]) == 0.5
    assert average_precision([1, 0], [0.7, 0.7 - 1e-6]) == 1


rows = st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.sampled_from([0, 1, 3])), min_size=1, max_size=12)


def by_definition(table: list[tuple[bool, int, float]]) -> float:
    """AP as the sum over the distinct confidences, with no sorting and no running sums."""
    lesions = sum(w for t, _, w in table if t)
    total, above = 0.0, 0.0
    for threshold in sorted({c for _, c, w in table if w and c > 0}, reverse=True):
        hits = sum(w for t, c, w in table if t and c >= threshold)
        every = sum(w for _, c, w in table if c >= threshold)
        total += (hits - above) / lesions * hits / every
        above = hits
    return total


@given(rows)
@settings(deadline=None)
def test_weighted_or_repeated_it_is_the_sum_of_the_definition(table: list[tuple[bool, int, float]]) -> None:
    is_lesion, confidence, weight = (list(column) for column in zip(*table, strict=True))
    found = average_precision(is_lesion, confidence, weight=weight)
    repeated = average_precision(np.repeat(is_lesion, weight), np.repeat(confidence, weight))
    if not any(t and w for t, _, w in table):
        assert math.isnan(found)
        assert math.isnan(repeated)
        return
    assert found == pytest.approx(by_definition(table))
    assert repeated == pytest.approx(found)


@pytest.mark.parametrize("wrong", [-0.1, math.nan, math.inf, 1e39])
def test_impossible_confidences_are_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="finite number from 0 on; row 1"):
        average_precision([1, 0], [0.5, wrong])
