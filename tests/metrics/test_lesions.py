from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isocenter.metrics import LesionCounts, aggregated_f1, components, match_components
from isocenter.metrics._lesions import _assignment, _greedy
from isocenter.volumes import read

GOLDEN = Path(__file__).parents[1] / "golden" / "segmentation"
PAIRS = sorted(path.name[5:-13] for path in GOLDEN.glob("pair_*_truth.nii.gz"))


def golden(pair: str) -> list[np.ndarray]:
    return [read(GOLDEN / f"pair_{pair}_{side}.nii.gz").array > 0 for side in ("truth", "pred")]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("key", ["iou_ge_0.3", "iou_gt_0.3", "iou_ge_0.5", "iou_gt_0.5"])
def test_the_golden_pairs_as_panoptica_counts_them(pair: str, key: str, golden_segmentation: dict[str, Any]) -> None:
    expected = golden_segmentation["pairs"][pair]["panoptica_instances_cc26"]
    if "error" in expected or "error" in expected.get(key, {}):
        pytest.skip("the peer raised")
    found = match_components(*golden(pair), min_iou=float(key[-3:]), strict="gt" in key)
    assert (found.tp, found.fp, found.fn) == tuple(expected[key][name] for name in ("tp", "fp", "fn"))


def test_connectivity_decides_how_many_lesions_there_are() -> None:
    mask = np.zeros((3, 3, 3), bool)
    mask[0, 0, 0] = mask[1, 1, 0] = mask[2, 2, 1] = True  # an edge, then a corner
    assert [components(mask, connectivity=c)[1] for c in (6, 18, 26)] == [3, 2, 1]


def test_exactly_at_the_threshold_strictness_decides() -> None:
    truth, prediction = np.zeros((2, 4, 4, 4), bool)
    truth[0, 0, :2] = True
    prediction[0, 0, 0] = True  # IoU 1/2
    assert match_components(truth, prediction, min_iou=0.5).tp == 0
    assert match_components(truth, prediction, min_iou=0.5, strict=False).tp == 1
    assert match_components(truth, truth, min_iou=0, strict=False) == LesionCounts(1, 0, 0)


def test_one_prediction_over_two_lesions_finds_one() -> None:
    truth, prediction = np.zeros((2, 9, 3, 3), bool)
    truth[0:4, 1, 1] = truth[5:9, 1, 1] = True
    prediction[:, 1, 1] = True
    assert match_components(truth, prediction, min_iou=0.3) == LesionCounts(tp=1, fp=0, fn=1)


def test_taking_the_best_pair_first_may_cost_a_match() -> None:
    iou = np.array([[0.6, 0.5], [0.55, 0.0]])
    assert (_greedy(iou), _assignment(iou)) == (1, 2)


@given(hnp.arrays(float, st.tuples(st.integers(0, 4), st.integers(0, 4)), elements=st.floats(0, 1)))
@settings(deadline=None)
def test_the_assignment_has_the_largest_sum_of_ious(iou: np.ndarray) -> None:
    rows, columns = iou.shape
    best = 0.0
    for size in range(min(rows, columns) + 1):
        for chosen in itertools.combinations(range(rows), size):
            for targets in itertools.permutations(range(columns), size):
                best = max(best, sum(iou[i, j] for i, j in zip(chosen, targets, strict=True)))
    from scipy.optimize import linear_sum_assignment

    i, j = linear_sum_assignment(iou, maximize=True)
    assert iou[i, j].sum() == pytest.approx(best)
    assert _assignment(iou) == np.count_nonzero(iou[i, j])
    assert _greedy(iou) <= min(rows, columns)


masks = hnp.arrays(bool, (4, 4, 4))


@given(masks, masks, st.sampled_from([6, 18, 26]), st.sampled_from(["greedy", "assignment"]))
@settings(deadline=None)
def test_every_lesion_is_found_or_missed_and_every_finding_true_or_false(
    truth: np.ndarray, prediction: np.ndarray, connectivity: Any, rule: Any
) -> None:
    found = match_components(truth, prediction, min_iou=0.1, connectivity=connectivity, rule=rule)
    assert found.tp + found.fn == components(truth, connectivity=connectivity)[1]
    assert found.tp + found.fp == components(prediction, connectivity=connectivity)[1]
    same = match_components(truth, truth, min_iou=0.999, connectivity=connectivity, rule=rule)
    assert (same.fp, same.fn) == (0, 0)


def test_counts_of_a_test_set_are_added_before_they_are_divided() -> None:
    cases = [LesionCounts(1, 0, 0), LesionCounts(0, 2, 1), LesionCounts(0, 0, 0)]
    assert aggregated_f1(cases) == 2 / 5
    assert [case.f1 for case in cases] == [1.0, 0.0, 1.0]
    assert math.isnan(aggregated_f1([]))
    assert math.isnan(aggregated_f1([LesionCounts(0, 0, 0)]))


def test_an_impossible_threshold_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        match_components(np.ones((2, 2, 2), bool), np.ones((2, 2, 2), bool), min_iou=30)
