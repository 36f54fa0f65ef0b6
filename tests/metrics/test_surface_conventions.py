"""Surface metrics in the conventions of other packages: equal to what those packages themselves say."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage

from isocenter.metrics import (
    SURFACE_CONVENTIONS,
    SurfaceConvention,
    average_surface_distance,
    average_symmetric_surface_distance,
    catalogue,
    hausdorff_distance,
    surface_dice,
    surface_distances,
    surface_scores,
)
from isocenter.volumes import read

GOLDEN = Path(__file__).parents[1] / "golden"
EXPECTED: dict[str, Any] = json.loads((GOLDEN / "surfaces" / "expected.json").read_text())
EMPTY = ("empty_truth", "empty_prediction", "both_empty")
FULL = [name for name in EXPECTED if name not in EMPTY]
OLD_PAIRS = sorted(path.name[5:-13] for path in (GOLDEN / "segmentation").glob("pair_*_truth.nii.gz"))

masks = hnp.array_shapes(min_dims=3, max_dims=3, max_side=6).flatmap(
    lambda shape: st.tuples(*[hnp.arrays(bool, shape)] * 2)
)
spacings = st.tuples(*[st.sampled_from([0.5, 1.0, 1.25, 3.0])] * 3)


def pair(name: str) -> tuple[np.ndarray, np.ndarray, tuple[float, float, float]]:
    shape = EXPECTED[name]["shape"]
    with np.load(GOLDEN / "surfaces" / "pairs.npz") as file:
        bits = np.unpackbits(file[name], count=2 * math.prod(shape)).astype(bool)
    truth, prediction = bits.reshape(2, *shape)
    return truth, prediction, tuple(EXPECTED[name]["spacing"])


@pytest.mark.parametrize("name", FULL)
def test_surface_elements_equal_surface_distance(name: str) -> None:
    truth, prediction, spacing = pair(name)
    theirs = EXPECTED[name]["surface_distance"]
    both = surface_distances(truth, prediction, spacing=spacing)
    assert {q: both.hausdorff(float(q)) for q in theirs["hd"]} == pytest.approx(theirs["hd"], abs=1e-9)
    assert both.average() == pytest.approx(theirs["asd"], abs=1e-9)
    assert both.symmetric_average() == pytest.approx(np.average(theirs["asd"], weights=theirs["area_mm2"]), abs=1e-9)
    for expected, limits in ((theirs["nsd"], {"abs": 1e-9}), (EXPECTED[name]["monai"]["nsd_subvoxel"], {"rel": 1e-5})):
        assert {mm: both.dice(float(mm)) for mm in expected} == pytest.approx(expected, **limits)


@pytest.mark.parametrize("name", FULL)
def test_boundary_voxels_equal_monai(name: str) -> None:
    truth, prediction, spacing = pair(name)
    theirs = EXPECTED[name]["monai"]
    both = surface_distances(truth, prediction, spacing=spacing, convention="monai")
    assert {q: both.hausdorff(float(q)) for q in theirs["hd"]} == pytest.approx(theirs["hd"], rel=1e-5, abs=1e-5)
    assert both.average() == pytest.approx(
        (theirs["asd_truth_to_prediction"], theirs["asd_prediction_to_truth"]), rel=1e-5
    )
    assert both.symmetric_average() == pytest.approx(theirs["assd"], rel=1e-5)
    assert {mm: both.dice(float(mm)) for mm in theirs["nsd"]} == pytest.approx(theirs["nsd"], rel=1e-5)


@pytest.mark.parametrize("name", FULL)
def test_boundary_voxels_equal_metrics_reloaded(name: str) -> None:
    truth, prediction, spacing = pair(name)
    theirs = EXPECTED[name]["metrics_reloaded"]
    both = surface_distances(truth, prediction, spacing=spacing, convention="metrics-reloaded")
    assert {q: both.hausdorff(float(q)) for q in theirs["hd"]} == pytest.approx(theirs["hd"], abs=1e-9)
    assert both.symmetric_average() == pytest.approx(theirs["assd"], abs=1e-9)
    assert sum(both.average()) / 2 == pytest.approx(theirs["masd"], abs=1e-9)
    assert {mm: both.dice(float(mm)) for mm in theirs["nsd"]} == pytest.approx(theirs["nsd"], abs=1e-9)


@pytest.mark.parametrize("connectivity", [1, 2, 3])
@pytest.mark.parametrize("name", FULL)
def test_pooled_boundary_voxels_equal_medpy_at_every_connectivity(name: str, connectivity: Any) -> None:
    truth, prediction, spacing = pair(name)
    theirs = EXPECTED[name]["medpy"][str(connectivity)]
    convention = replace(SURFACE_CONVENTIONS["medpy"], connectivity=connectivity)
    both = surface_distances(truth, prediction, spacing=spacing, convention=convention)
    assert both.hausdorff(100) == pytest.approx(theirs["hd"], abs=1e-9)
    assert both.hausdorff(95) == pytest.approx(theirs["hd95"], abs=1e-9)
    assert both.average() == pytest.approx((theirs["asd_back"], theirs["asd"]), abs=1e-9)
    assert both.symmetric_average() == pytest.approx(theirs["assd"], abs=1e-9)


@pytest.mark.parametrize("peer", ["panoptica", "gandlf"])
@pytest.mark.parametrize("name", FULL)
def test_shares_of_each_surface_equal_panoptica_and_gandlf(name: str, peer: str) -> None:
    truth, prediction, spacing = pair(name)
    theirs = EXPECTED[name][peer]
    asked = {"spacing": spacing, "convention": peer}
    assert hausdorff_distance(truth, prediction, percentile=100, **asked) == pytest.approx(theirs["hd"], abs=1e-9)
    assert hausdorff_distance(truth, prediction, **asked) == pytest.approx(theirs["hd95"], abs=1e-9)
    if "assd" in theirs:
        assert average_symmetric_surface_distance(truth, prediction, **asked) == pytest.approx(theirs["assd"], abs=1e-9)
    ours = {mm: surface_dice(truth, prediction, tolerance_mm=float(mm), **asked) for mm in theirs["nsd"]}
    assert ours == pytest.approx(theirs["nsd"], abs=1e-9)


@pytest.mark.parametrize("name", [name for name in OLD_PAIRS if not {"empty"} & set(name.split("_"))])
def test_the_named_metrics_equal_their_peers_on_the_golden_pairs(
    name: str, golden_segmentation: dict[str, Any]
) -> None:
    theirs = golden_segmentation["pairs"][name]
    truth, prediction = (
        read(GOLDEN / "segmentation" / f"pair_{name}_{side}.nii.gz").array.T > 0 for side in ("truth", "pred")
    )
    names = [metric for metric in catalogue.names() if metric.startswith(("hd", "asd_", "assd", "masd", "nsd"))]
    ours = surface_scores(truth, prediction, names, spacing=(3.0, 1.25, 1.25), tolerance_mm=2.0)
    elements, reloaded, medpy = theirs["surface_distance"], theirs["metrics_reloaded"], theirs["medpy"]
    forth, back = elements["avg_surface_distance"]
    expected = {
        "hd": elements["hd100"],
        "hd95": elements["hd95"],
        "asd_truth_to_prediction": forth,
        "asd_prediction_to_truth": back,
        "assd": np.average([forth, back], weights=elements["area_mm2"]),
        "masd": (forth + back) / 2,
        "nsd": elements["nsd"]["2.0"],
        "hd_boundary": reloaded["hd"],
        "hd95_boundary": reloaded["hd95"],
        "hd95_boundary_pooled": medpy["hd95"],
        "asd_prediction_to_truth_boundary": medpy["asd_pred_to_gt"],
        "asd_truth_to_prediction_boundary": 2 * reloaded["masd"] - medpy["asd_pred_to_gt"],
        "assd_boundary": medpy["assd"],
        "masd_boundary": reloaded["masd"],
        "nsd_boundary": reloaded["nsd_2.0"],
    }
    assert {key: ours[key] for key in expected} == pytest.approx(expected, abs=1e-9)
    assert set(ours) - set(expected) == {"nsd_boundary_mean"}
    assert ours["hd95_boundary"] == pytest.approx(theirs["monai"]["hd95"], rel=1e-5)
    assert all(catalogue.get(key).admits(value) for key, value in ours.items())


def plain_distances(
    truth: np.ndarray, prediction: np.ndarray, spacing: tuple[float, ...], connectivity: int
) -> list[np.ndarray]:
    """By scipy's erosion and distance transform, as medpy has it."""
    neighbours = ndimage.generate_binary_structure(3, connectivity)
    borders = [mask & ~ndimage.binary_erosion(mask, neighbours) for mask in (truth, prediction)]
    return [
        ndimage.distance_transform_edt(~target, sampling=spacing)[start] for start, target in (borders, borders[::-1])
    ]


@given(masks, spacings, st.sampled_from([1, 2, 3]))
@settings(deadline=None)
def test_boundary_voxels_are_what_an_erosion_removes(
    pair: tuple[np.ndarray, np.ndarray], spacing: tuple[float, float, float], connectivity: Any
) -> None:
    if not (pair[0].any() and pair[1].any()):
        return
    forth, back = plain_distances(*pair, spacing, connectivity)
    convention = SurfaceConvention("boundary voxels", connectivity=connectivity)
    both = surface_distances(*pair, spacing=spacing, convention=convention)
    np.testing.assert_allclose(np.sort(both.truth_distances), np.sort(forth), rtol=1e-14)
    np.testing.assert_allclose(np.sort(both.prediction_distances), np.sort(back), rtol=1e-14)
    assert both.hausdorff(80) == pytest.approx(max(np.percentile(forth, 80), np.percentile(back, 80)), abs=1e-12)
    pooled = replace(both, convention=replace(convention, hausdorff="pooled"))
    assert pooled.hausdorff(80) == pytest.approx(np.percentile([*forth, *back], 80), abs=1e-12)


@pytest.mark.parametrize("convention", SURFACE_CONVENTIONS)
def test_empty_masks_mean_the_same_in_every_convention(convention: str) -> None:
    for name in EMPTY:
        truth, prediction, spacing = pair(name)
        asked = {"spacing": spacing, "convention": convention}
        agree = name == "both_empty"
        assert hausdorff_distance(truth, prediction, **asked) == (0 if agree else math.inf)
        assert hausdorff_distance(truth, prediction, percentile=0, **asked) == (0 if agree else math.inf)
        assert average_symmetric_surface_distance(truth, prediction, **asked) == (0 if agree else math.inf)
        assert surface_dice(truth, prediction, tolerance_mm=1e9, **asked) == (1 if agree else 0)
        forth, back = average_surface_distance(truth, prediction, **asked)
        there, missing = (forth, back) if name == "empty_prediction" else (back, forth)
        assert there == (0 if agree else math.inf)
        assert missing == 0 if agree else math.isnan(missing)


def test_every_name_of_the_catalogue_says_its_convention_and_has_a_definition() -> None:
    truth, prediction, spacing = pair("blobs_1")
    for name in ("hd", "hd95", "asd_truth_to_prediction", "asd_prediction_to_truth", "assd", "masd", "nsd"):
        for suffix, words in (("", "surface elements"), ("_boundary", "boundary voxels")):
            metric = catalogue.get(name + suffix)
            assert words in metric.text
            assert (metric.unit, metric.better) == (("", "higher") if name == "nsd" else ("mm", "lower"))
            assert metric.bounds == ((0, 1) if name == "nsd" else (0, math.inf))
    one_by_one = {
        "hd_boundary": hausdorff_distance(truth, prediction, spacing=spacing, percentile=100, convention="monai"),
        "nsd_boundary_mean": surface_dice(truth, prediction, spacing=spacing, tolerance_mm=1.5, convention="panoptica"),
        "masd_boundary": average_symmetric_surface_distance(truth, prediction, spacing=spacing, convention="panoptica"),
        "assd": average_symmetric_surface_distance(truth, prediction, spacing=spacing),
    }
    assert surface_scores(truth, prediction, one_by_one, spacing=spacing, tolerance_mm=1.5) == one_by_one


def test_impossible_conventions_and_names_are_refused() -> None:
    truth, prediction, spacing = pair("blobs_1")
    with pytest.raises(ValueError, match="unknown surface convention 'simpleitk'; there are surface-distance, monai"):
        surface_distances(truth, prediction, spacing=spacing, convention="simpleitk")
    with pytest.raises(ValueError, match=r"connectivity of a surface convention is one of \(1, 2, 3\), not 6"):
        SurfaceConvention("boundary voxels", connectivity=6)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown surface metric 'hd96', 'asd'; there are hd, hd95"):
        surface_scores(truth, prediction, ["hd96", "hd95", "asd"], spacing=spacing)
    with pytest.raises(ValueError, match="nsd_boundary: surface Dice needs a tolerance"):
        surface_scores(truth, prediction, ["hd95", "nsd_boundary"], spacing=spacing)


def test_a_convention_prints_a_sentence_for_a_methods_section() -> None:
    assert str(SURFACE_CONVENTIONS["medpy"]) == (
        "boundary voxels (6 neighbours) of equal weight, percentiles interpolated; Hausdorff distance: pooled "
        "percentile; symmetric average: mean over both surfaces; surface Dice: share of both surfaces together"
    )
