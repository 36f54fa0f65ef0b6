"""Overlap metrics: what sets of voxels say, what the field's software says, and every empty case."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isocenter.metrics import (
    Overlap,
    aggregated_dice,
    count_overlap,
    dice,
    jaccard,
    precision,
    recall,
    volume_error,
    volume_similarity,
)
from isocenter.volumes import read

GOLDEN = Path(__file__).parents[1] / "golden" / "segmentation"
PAIRS = sorted(path.name[5:-13] for path in GOLDEN.glob("pair_*_truth.nii.gz"))
METRICS = (dice, jaccard, precision, recall, volume_similarity)

Pair = tuple[np.ndarray, np.ndarray]
pairs = hnp.array_shapes(max_dims=3, max_side=5).flatmap(
    lambda shape: st.tuples(hnp.arrays(bool, shape), hnp.arrays(bool, shape))
)
both_full = pairs.filter(lambda pair: pair[0].any() and pair[1].any())


def golden(pair: str) -> Pair:
    truth, prediction = (read(GOLDEN / f"pair_{pair}_{side}.nii.gz").array > 0 for side in ("truth", "pred"))
    return truth, prediction


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("share", [0.0, 0.0005, 0.4, 1.0])
def test_counts_and_boxes_are_those_of_numpy_however_they_are_found(
    share: float, order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isocenter.metrics import _mask_kernels, _overlap, cropped

    assert _mask_kernels  # so that numba is there
    rng = np.random.default_rng(7)
    for shape in ((31, 17, 23), (5, 64, 8), (1, 3, 700), (40, 1, 1), (0, 4, 4)):
        truth, prediction = (np.asarray(rng.random(shape) < share, order=order) for _ in range(2))
        both = int((truth & prediction).sum())
        expected = Overlap(both, int(prediction.sum()) - both, int(truth.sum()) - both)
        for piece in (-1, 50, 10**9):  # compiled; by numpy in pieces; by numpy at once
            monkeypatch.setattr(_overlap, "_PIECE", max(piece, 1))
            monkeypatch.setattr(_overlap, "sys", SimpleNamespace(modules={"numba": None} if piece < 0 else {}))
            assert count_overlap(truth, prediction) == expected
        monkeypatch.undo()
        where = np.nonzero(truth | prediction)
        box = tuple(slice(axis.min(), axis.max() + 1) if axis.size else slice(0, 1) for axis in where)
        for cut, mask in zip(cropped(truth, prediction), (truth, prediction), strict=True):
            np.testing.assert_array_equal(cut, mask[box])


def test_any_byte_but_0_is_foreground(monkeypatch: pytest.MonkeyPatch) -> None:
    from isocenter.metrics import _mask_kernels

    truth, prediction = (
        np.array(values, np.uint8).view(np.uint64) for values in ([255] * 8, [0, 2, 128, 1, 0, 0, 3, 7])
    )
    assert _mask_kernels.count_foreground(truth, prediction) == (5, 8, 5)


@given(pairs)
def test_counts_are_those_of_sets_of_voxels(pair: Pair) -> None:
    truth, prediction = (set(zip(*np.nonzero(mask), strict=True)) for mask in pair)
    counts = count_overlap(*pair)
    assert counts == Overlap(len(truth & prediction), len(prediction - truth), len(truth - prediction))
    assert (counts.truth, counts.prediction) == (len(truth), len(prediction))
    assert counts.size == len(truth) + len(prediction)


@given(both_full)
def test_scores_are_the_formulas_of_sets(pair: Pair) -> None:
    t, p = (set(zip(*np.nonzero(mask), strict=True)) for mask in pair)
    assert jaccard(*pair) == len(t & p) / len(t | p)
    assert precision(*pair) == len(t & p) / len(p)
    assert recall(*pair) == len(t & p) / len(t)
    assert volume_similarity(*pair) == pytest.approx(1 - abs(len(t) - len(p)) / (len(t) + len(p)), abs=1e-15)


@given(pairs)
def test_scores_lie_between_none_and_all_and_equal_masks_have_all(pair: Pair) -> None:
    for metric in METRICS:
        assert metric(pair[0], pair[0]) == 1
        if metric is not recall or pair[0].any():
            assert 0 <= metric(*pair) <= 1


@given(both_full)
def test_three_scores_are_symmetric_and_precision_is_the_recall_of_the_exchanged(pair: Pair) -> None:
    for metric in (dice, jaccard, volume_similarity):
        assert metric(*pair) == metric(*pair[::-1])
    assert precision(*pair) == recall(*pair[::-1])


@given(both_full)
def test_the_scores_of_one_pair_of_masks_are_tied_to_each_other(pair: Pair) -> None:
    d, j, p, r = (metric(*pair) for metric in (dice, jaccard, precision, recall))
    assert j == pytest.approx(d / (2 - d), abs=1e-15)
    assert d == pytest.approx(2 * p * r / (p + r) if p + r else 0, abs=1e-15)
    assert j <= d <= volume_similarity(*pair) + 1e-15
    # Holds for every scan, and so for means over scans: a table that breaks it mixes several models in one row.
    assert d >= p + r - 1 - 1e-15


EMPTY, SOME = np.zeros((2, 3), bool), np.array([[True, False, False], [False, True, False]])


@pytest.mark.parametrize(
    ("metric", "only_prediction", "only_truth"),
    [
        (dice, 0.0, 0.0),
        (jaccard, 0.0, 0.0),
        (precision, 0.0, 0.0),
        (recall, math.nan, 0.0),
        (volume_similarity, 0.0, 0.0),
    ],
)
def test_empty_masks(metric: Callable[..., float], only_prediction: float, only_truth: float) -> None:
    assert metric(EMPTY, SOME) == pytest.approx(only_prediction, abs=0, nan_ok=True)
    assert metric(SOME, EMPTY) == only_truth
    assert metric(EMPTY, EMPTY) == 1
    for policy in (1.0, 0.0, math.nan):
        assert metric(EMPTY, EMPTY, both_empty=policy) == pytest.approx(policy, abs=0, nan_ok=True)
        # The policy is about two empty masks and touches nothing else.
        assert metric(EMPTY, SOME, both_empty=policy) == pytest.approx(only_prediction, abs=0, nan_ok=True)
        assert metric(SOME, EMPTY, both_empty=policy) == only_truth
        assert metric(SOME, SOME, both_empty=policy) == 1


@pytest.mark.parametrize("metric", [count_overlap, *METRICS])
def test_what_is_no_pair_of_masks_is_refused(metric: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="voxel by voxel"):
        metric(np.zeros((2, 3), bool), np.zeros((3, 2), bool))
    with pytest.raises(TypeError, match="prediction == label"):
        metric(SOME, np.full(SOME.shape, 2))


def test_memory_order_does_not_matter() -> None:
    truth, prediction = golden("blob")
    assert count_overlap(np.ascontiguousarray(truth), np.asfortranarray(prediction)) == count_overlap(truth, prediction)
    assert count_overlap(truth[::-1], prediction[::-1]) == count_overlap(truth, prediction)


def test_sixteen_golden_pairs_are_there() -> None:
    assert len(PAIRS) == 16


@pytest.mark.parametrize("pair", PAIRS)
def test_golden_counts(pair: str, golden_segmentation: dict[str, Any]) -> None:
    counts = golden_segmentation["pairs"][pair]["counts"]
    assert count_overlap(*golden(pair)) == Overlap(counts["tp"], counts["fp"], counts["fn"])


# Where a peer and our definition differ, and why; everything else must agree.
UNDEFINED_BY_PEER = {
    ("both_empty", "simpleitk"): "inf or the largest float, ITK's own word for undefined",
    ("both_empty", "metrics_reloaded"): "Dice 1 as here, the others nan",
    ("both_empty", "medpy"): "precision and recall 0 although Dice is 1",
    ("empty_truth", "medpy"): "recall 0, which is 0/0",
}


@pytest.mark.parametrize("pair", PAIRS)
def test_simpleitk_says_the_same(pair: str, golden_segmentation: dict[str, Any]) -> None:
    if (pair, "simpleitk") in UNDEFINED_BY_PEER:
        assert golden_segmentation["pairs"][pair]["simpleitk_overlap_source_truth_target_pred"]["dice"] == "inf"
        return
    peer = golden_segmentation["pairs"][pair]["simpleitk_overlap_source_truth_target_pred"]
    masks = golden(pair)
    assert dice(*masks) == pytest.approx(peer["dice"], abs=1e-9)
    assert jaccard(*masks) == pytest.approx(peer["jaccard"], abs=1e-9)
    assert volume_similarity(*masks) == pytest.approx(1 - abs(peer["volume_similarity"]) / 2, abs=1e-9)
    if masks[1].any():  # errors there are relative to the second image, so what is called FN is missing precision
        assert precision(*masks) == pytest.approx(1 - peer["fn_error"], abs=1e-9)


@pytest.mark.parametrize("pair", PAIRS)
def test_medpy_says_the_same(pair: str, golden_segmentation: dict[str, Any]) -> None:
    peer, masks = golden_segmentation["pairs"][pair]["medpy"], golden(pair)
    assert dice(*masks) == pytest.approx(peer["dc"], abs=1e-9)
    assert jaccard(*masks) == pytest.approx(peer["jc"], abs=1e-9)
    if (pair, "medpy") not in UNDEFINED_BY_PEER:
        assert precision(*masks) == pytest.approx(peer["precision"], abs=1e-9)
        assert recall(*masks) == pytest.approx(peer["recall"], abs=1e-9)


@pytest.mark.parametrize("pair", PAIRS)
def test_metricsreloaded_says_the_same(pair: str, golden_segmentation: dict[str, Any]) -> None:
    peer, masks = golden_segmentation["pairs"][pair]["metrics_reloaded"], golden(pair)
    assert dice(*masks) == pytest.approx(peer["dsc"], abs=1e-9)
    undefined = 1.0 if (pair, "metrics_reloaded") not in UNDEFINED_BY_PEER else math.nan
    assert jaccard(*masks, both_empty=undefined) == pytest.approx(float(peer["iou"]), abs=1e-9, nan_ok=True)
    # Theirs are in single precision.
    assert precision(*masks, both_empty=undefined) == pytest.approx(float(peer["ppv"]), abs=1e-7, nan_ok=True)
    assert recall(*masks, both_empty=undefined) == pytest.approx(float(peer["recall"]), abs=1e-7, nan_ok=True)


@pytest.mark.parametrize(("label", "name"), [(1, "GTVp"), (2, "GTVn")])
def test_golden_aggregated_dice(label: int, name: str, golden_segmentation: dict[str, Any]) -> None:
    """Six patients of whom one lacks the nodes in both masks: the evaluator of HECKTOR 2022 on the same files."""
    expected = golden_segmentation["multilabel_hecktor2022"]
    overlaps, sizes = [], []
    for patient, values in expected["per_case"].items():
        files = [read(GOLDEN / f"multilabel_{patient}_{side}.nii.gz") for side in ("truth", "pred")]
        counts = count_overlap(*(file.array == label for file in files))
        voxel = files[0].grid.voxel_volume
        overlaps.append(counts.tp * voxel)
        sizes.append(counts.size * voxel)
        theirs = values["hecktor2022_intermediate"]
        assert overlaps[-1] == pytest.approx(theirs[f"TP{label}"], abs=1e-9)
        assert sizes[-1] == pytest.approx(theirs[f"vol_sum{label}"], abs=1e-9)
    assert len(overlaps) == 6
    published = expected["hecktor2022_compute_agg_dice"]["AggregatedDsc"][name]
    assert aggregated_dice(overlaps, sizes) == pytest.approx(published, abs=1e-12)


def test_aggregated_dice_is_no_mean_of_dice() -> None:
    """A small tumour that was missed costs its volume, not a case."""
    assert aggregated_dice([0.0, 950.0], [100.0, 1900.0]) == 0.95
    # In voxels of different size the same patients would score differently: millimetres decide.
    assert aggregated_dice([0, 950 / 8], [100, 1900 / 8]) != pytest.approx(0.95, abs=0.1)


def test_aggregated_dice_of_nothing_is_undefined() -> None:
    assert math.isnan(aggregated_dice([], []))
    assert math.isnan(aggregated_dice([0.0, 0.0], [0.0, 0.0]))
    assert math.isnan(aggregated_dice([5.0], [10.0], weights=[0.0]))
    assert aggregated_dice([0.0, 0.0], [0.0, 7.5]) == 0


cases = st.tuples(st.integers(0, 999), st.integers(0, 999), st.integers(0, 4)).map(
    lambda c: (c[0], 2 * c[0] + c[1], c[2])
)


@given(st.lists(cases, min_size=1, max_size=6))
def test_an_integer_weight_is_that_many_copies_of_the_case(given_cases: list[tuple[int, int, int]]) -> None:
    copies = [case for case in given_cases for _ in range(case[2])]
    assume(any(size for _, size, _ in copies))
    tp, size, weight = zip(*given_cases, strict=True)
    exact = Fraction(2 * sum(c[0] for c in copies), sum(c[1] for c in copies))
    assert aggregated_dice(tp, size, weights=weight) == pytest.approx(float(exact), rel=1e-15)
    assert aggregated_dice([c[0] for c in copies], [c[1] for c in copies]) == pytest.approx(float(exact), rel=1e-15)


@pytest.mark.parametrize(
    ("tp", "size", "weight"),
    [(6, 10, 1), (-1, 10, 1), (1, math.nan, 1), (1, 10, -1), (1, math.inf, 1), (1, 10, math.nan)],
)
def test_volumes_that_no_pair_of_masks_has_are_refused(tp: float, size: float, weight: float) -> None:
    with pytest.raises(ValueError, match="not those of a case"):
        aggregated_dice([5, tp], [10, size], weights=[1, weight])


def test_lists_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="1 overlaps, 2 sizes and 1 weights"):
        aggregated_dice([1.0], [2.0, 2.0])


def test_the_volume_error_is_signed_and_in_cubic_millimetres() -> None:
    truth, prediction = np.zeros((2, 4, 4, 4), bool)
    truth[:2], prediction[:1] = True, True
    assert volume_error(truth, prediction, spacing=(1, 2, 3)) == -16 * 6
    assert volume_error(prediction, truth, spacing=(1, 2, 3)) == 16 * 6
    assert volume_error(truth, np.zeros_like(truth), spacing=(1, 1, 1)) == -32
    assert volume_error(truth, truth[::-1], spacing=(1, 1, 1)) == 0
