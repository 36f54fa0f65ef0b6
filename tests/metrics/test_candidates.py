from __future__ import annotations

import contextlib
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage

from isocenter.metrics import _blobs, components
from isocenter.metrics._blobs import foreground, lesions
from isocenter.metrics._candidates import candidates, case_likelihood, extract_candidates

with contextlib.redirect_stdout(io.StringIO()):  # it greets with a banner
    from report_guided_annotation.extract_lesion_candidates import (
        extract_lesion_candidates,
        extract_lesion_candidates_static,
    )

GOLDEN = Path(__file__).parents[1] / "golden" / "detection"
RULES = ["dynamic-v2", "dynamic", "dynamic-fast", 0.1, 0.3]


def volume(*boxes: tuple[Any, float], shape: tuple[int, int, int] = (6, 12, 12)) -> np.ndarray:
    array = np.zeros(shape, np.float32)
    for box, value in boxes:
        array[box] = value
    return array


@given(
    hnp.arrays(bool, hnp.array_shapes(min_dims=3, max_dims=3, max_side=9)), st.sampled_from([6, 18, 26]), st.booleans()
)
@settings(deadline=None)
def test_blobs_are_numbered_as_scipy_numbers_components(mask: np.ndarray, connectivity: Any, fortran: bool) -> None:
    labels, count = components(mask, connectivity=connectivity)
    found = lesions(np.asfortranarray(mask) if fortran else mask, connectivity=connectivity)
    assert found.count == count
    assert found.voxels.tolist() == np.flatnonzero(mask).tolist()
    assert found.parts.tolist() == labels[mask].tolist()
    assert found.sizes.tolist() == np.bincount(labels.ravel(), minlength=count + 1)[1:].tolist()


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.float32, np.float64, ">f4", np.longdouble])
@pytest.mark.parametrize("shape", [(3, 5, 7), (1, 1, 1), (4, 8, 16), (11, 13, 17), (0, 3, 3)])
def test_the_foreground_is_found_in_any_type_and_size(dtype: Any, shape: tuple[int, int, int]) -> None:
    mask = np.random.default_rng(0).random(shape) < 0.05
    mask.reshape(-1)[-1:] = True  # where the last block of words is not full
    voxels, values = foreground(mask.astype(dtype))
    assert voxels.tolist() == np.flatnonzero(mask).tolist()
    assert values.all()


def test_minus_zero_is_background() -> None:
    heat = np.full((4, 8, 16), -0.0, np.float32)
    heat[1, 2, 3] = 0.5
    assert candidates(heat).blobs.sizes.tolist() == [1]


def test_each_component_is_one_candidate_with_its_single_precision_value() -> None:
    heat = volume((np.s_[1:3, 1:4, 1:4], 0.7), (np.s_[4, 8, 8], 0.3)).astype(np.float64)
    heat[heat == np.float32(0.7)] = 0.7
    found = candidates(heat)
    assert found.confidences.tolist() == [0.699999988079071, 0.30000001192092896]
    assert np.array_equal(found.detection_map(), heat.astype(np.float32))


def test_what_vanishes_in_single_precision_is_background() -> None:
    heat = np.zeros((3, 3, 3))
    heat[0, 0, 0], heat[2, 2, 2] = 1e-60, 0.5
    assert candidates(heat).blobs.voxels.tolist() == [26]


@pytest.mark.parametrize("checks", ["strict", "picai"])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (math.nan, "has nan at voxel .2, 5, 5., but a likelihood is a finite number"),
        (math.inf, "has inf at voxel .2, 5, 5."),
        (-0.1, "has -0.1 at voxel .2, 5, 5., but a likelihood is not negative"),
        (0.8, "has 0.7 at voxel .2, 5, 4. and 0.8 at voxel .2, 5, 5., but one candidate has one likelihood"),
    ],
)
def test_an_impossible_value_is_named_with_its_place(value: float, words: str, checks: Any) -> None:
    heat = volume((np.s_[2:4, 5:8, 4:8], 0.7), (np.s_[2, 5, 5], value))
    with pytest.raises(ValueError, match=r"1 of the 1 components .* component 1 \(24 voxels\) " + words):
        candidates(heat, checks=checks)


def test_a_value_above_one_and_a_mixed_component_pass_only_the_checks_of_the_peer() -> None:
    high = volume((np.s_[2:4, 5:8, 4:8], 4.0))
    with pytest.raises(ValueError, match=r"has 4 at voxel \(2, 5, 4\), but a likelihood is at most 1"):
        candidates(high)
    assert candidates(high, checks="picai").confidences.tolist() == [4.0]
    mixed = volume((np.s_[1:3, 1:4, 1:4], 0.5), (np.s_[2, 2, 2], 0.75), (np.s_[5, 9, 9], 0.75))
    with pytest.raises(ValueError, match=r"component 1 .*a soft map"):
        candidates(mixed)
    assert candidates(mixed, checks="picai").confidences.tolist() == [0.75, 0.75]


def test_all_bad_components_are_counted_and_the_first_are_named() -> None:
    heat = np.zeros((1, 3, 30), np.float32)
    heat[0, 0, ::2] = 2.0
    with pytest.raises(ValueError, match=r"15 of the 15 components .* component 5 .*; and 10 more") as error:
        candidates(heat)
    assert "component 6" not in str(error.value)


def test_connectivity_decides_whether_touching_candidates_are_one() -> None:
    heat = volume((np.s_[1, 1, 1], 0.5), (np.s_[2, 2, 2], 0.75))
    assert candidates(heat, connectivity=18).confidences.tolist() == [0.5, 0.75]
    with pytest.raises(ValueError, match="component 1"):
        candidates(heat)
    with pytest.raises(ValueError, match="6, 18 or 26 neighbours, not 8"):
        candidates(heat, connectivity=8)  # type: ignore[arg-type]


def test_what_is_no_volume_of_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"three axes, not shape \(4, 4\)"):
        candidates(np.zeros((4, 4)))
    with pytest.raises(TypeError, match="real numbers, not of complex128"):
        candidates(np.zeros((4, 4, 4), complex))
    with pytest.raises(ValueError, match="'strict' or 'picai', not 'none'"):
        candidates(np.zeros((4, 4, 4)), checks="none")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0.5, math.nan, 1.5, -0.25])
def test_a_fractional_label_is_named_with_its_place(value: float) -> None:
    label = volume((np.s_[2, 3, 4], value), (np.s_[5, 5, 5], 1))
    with pytest.raises(ValueError, match=rf"1 voxels do not: {value:g} at voxel \(2, 3, 4\)"):
        lesions(label)


def test_the_likelihood_of_a_case() -> None:
    heat = volume((np.s_[1, 1, 1], 0.5), (np.s_[4, 4, 4], 0.75))
    assert case_likelihood(heat) == 0.75
    assert case_likelihood(heat, "bayesian") == case_likelihood(candidates(heat), "bayesian") == 0.875
    assert case_likelihood(volume()) == case_likelihood(volume(), "bayesian") == 0.0
    with pytest.raises(ValueError, match="not 'mean'"):
        case_likelihood(heat, "mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at most 1"):
        case_likelihood(heat * 2)


@pytest.mark.parametrize("name", ["default", "bayesian"])
def test_the_likelihoods_of_the_golden_cases(name: str) -> None:
    expected = json.loads((GOLDEN / "expected_volumes.json").read_text())["configs"][name]["case_pred"]
    how: Any = "bayesian" if name == "bayesian" else "max"
    with np.load(GOLDEN / "volumes.npz") as maps:
        found = {case: case_likelihood(candidates(maps[f"{case}__det"], checks="picai"), how) for case in expected}
    assert len(found) == 46
    assert found == expected


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("rule", RULES)
def test_the_candidates_of_the_golden_soft_maps(number: int, rule: Any) -> None:
    expected = json.loads((GOLDEN / "expected_softmax.json").read_text())[f"softmax_{number}|{rule}"]
    with np.load(GOLDEN / "softmax.npz") as maps:
        soft = maps[f"softmax_{number}"].astype(np.float32) / np.float32(1000)
        blobs = maps[f"blobs_{number}_{rule}"]
    heat = np.zeros_like(soft)
    for index, confidence in expected["confidences"]:
        heat[blobs == index] = confidence
    found = extract_candidates(soft, rule=rule)
    assert sorted(found.confidences) == sorted(confidence for _, confidence in expected["confidences"])
    assert np.array_equal(found.detection_map(), heat)


def peer(soft: np.ndarray, rule: Any, likelihood: str) -> np.ndarray:
    """The detection map of report_guided_annotation 0.3.4."""
    if isinstance(rule, str):
        variant = rule if likelihood == "max" else f"{rule}-mean"
        return extract_lesion_candidates(soft, threshold=variant)[0]
    how = {"max": np.max, "mean": np.mean}[likelihood]
    return extract_lesion_candidates_static(
        soft, rule, max_prob_round_decimals=None, lesion_confidence_aggregation=how
    )[0]


def soft_noise(seed: int) -> np.ndarray:
    """A smooth random map, of few or many hills, faint or not; every other one rounded, so that there are ties."""
    rng = np.random.default_rng(seed)
    field = ndimage.gaussian_filter(rng.standard_normal((8, 28, 28)), rng.uniform(0.7, 1.8))
    field = (field - field.min()) / (field.max() - field.min())
    soft = (field ** rng.uniform(1, 5) * rng.uniform(0.05, 1)).astype(np.float32)
    return (soft * 20).round() / np.float32(20) if seed % 2 else soft


@pytest.mark.parametrize("likelihood", ["max", "mean"])
@pytest.mark.parametrize("rule", RULES)
def test_random_soft_maps_have_bit_for_bit_the_candidates_of_the_peer(rule: Any, likelihood: Any) -> None:
    counts = set()
    for seed in range(24):
        soft = soft_noise(seed)
        found = extract_candidates(soft, rule=rule, likelihood=likelihood)
        assert np.array_equal(found.detection_map(), peer(soft, rule, likelihood)), seed
        counts.add(found.blobs.count)
    assert len(counts) > 2  # none, one and several


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("rule", RULES)
def test_the_golden_soft_maps_by_their_means(number: int, rule: Any) -> None:
    with np.load(GOLDEN / "softmax.npz") as maps:
        soft = maps[f"softmax_{number}"].astype(np.float32) / np.float32(1000)
    found = extract_candidates(soft, rule=rule, likelihood="mean")
    assert np.array_equal(found.detection_map(), peer(soft, rule, "mean"))
    assert found.blobs.count > 0


def test_by_its_mean_a_part_is_as_likely_as_its_voxels_are_together() -> None:
    soft = volume((np.s_[1:4, 1:4, 1:4], 0.5), (np.s_[2, 2, 2], 0.875))
    assert extract_candidates(soft, rule=0.1, likelihood="mean").confidences.tolist() == [
        float(np.float32((26 * 0.5 + 0.875) / 27))
    ]
    assert extract_candidates(soft, rule=0.1).confidences.tolist() == [0.875]


def test_by_their_means_another_part_is_the_most_likely() -> None:
    # Six rows of one peak each; the last has the highest mean and the lowest peak, the first the lowest mean.
    rows = [np.s_[z, y, :] for z in (0, 3) for y in (0, 4, 8)]
    soft = volume(*((row, 0.5 + 0.01 * n) for n, row in enumerate(rows)))
    for n, row in enumerate(rows):
        soft[(*row[:2], 6)] = 0.9 - 0.02 * n
    by_peak, by_mean = (extract_candidates(soft, likelihood=how).detection_map() for how in ("max", "mean"))
    assert [bool(by_peak[row].any()) for row in rows] == [True] * 5 + [False]
    assert [bool(by_mean[row].any()) for row in rows] == [False] + [True] * 5


def test_an_unknown_likelihood_is_refused() -> None:
    with pytest.raises(ValueError, match="'max' or 'mean', not 'median'"):
        extract_candidates(volume(), likelihood="median")  # type: ignore[arg-type]


def test_a_lonely_voxel_hides_a_lesion_from_all_but_the_robust_rule() -> None:
    soft = volume((np.s_[1:4, 1:7, 1:7], 0.3), (np.s_[5, 11, 11], 0.9))
    found = {rule: extract_candidates(soft, rule=rule).confidences.tolist() for rule in RULES}
    lesion = [float(np.float32(0.3))]
    assert found == {"dynamic-v2": lesion, "dynamic": [], "dynamic-fast": [], 0.1: lesion, 0.3: lesion}
    assert extract_candidates(soft).confidences.tolist() == lesion


def test_ten_voxels_are_too_small_and_the_threshold_is_inclusive() -> None:
    soft = volume((np.s_[0, 0, :11], 0.5), (np.s_[3, 3, :10], 0.5))
    assert extract_candidates(soft, rule=0.5).blobs.sizes.tolist() == [11]
    assert extract_candidates(soft, rule=0.51).blobs.count == 0


def test_what_is_at_the_threshold_stays_when_parts_too_small_are_removed() -> None:
    # 0.2 is exactly 0.5 / 2.5: the voxel of 0.5 goes, the part around it stays for the next round.
    soft = volume((np.s_[2, 2, 2:6], 0.2), (np.s_[2, 2, 6], 0.5), (np.s_[1:4, 1:4, :2], 0.1))
    assert np.float32(0.5) / np.float32(2.5) == np.float32(0.2)
    assert extract_candidates(soft).blobs.sizes.tolist() == [22]


def test_a_part_that_touches_one_taken_before_is_not_taken() -> None:
    soft = volume((np.s_[1:4, 1:4, 1:4], 0.9), (np.s_[1:4, 1:4, 4:7], 0.2), (np.s_[1:4, 8:11, 1:4], 0.05))
    found = extract_candidates(soft)
    assert found.confidences.tolist() == [float(np.float32(0.9)), float(np.float32(0.05))]
    assert found.blobs.sizes.tolist() == [27, 27]


def test_at_most_five_are_taken_one_by_one_and_nothing_below_one_percent() -> None:
    rows = [(np.s_[z, y, :], 0.9 / 3**n) for n, (z, y) in enumerate((z, y) for z in (0, 3) for y in (0, 4, 8))]
    soft = volume(*rows)
    assert extract_candidates(soft).blobs.count == 5
    assert extract_candidates(soft, rule="dynamic-fast").blobs.count == 1
    faint = volume((np.s_[0, 0, :], 0.0099), (np.s_[3, 3, :], 0.0))
    assert extract_candidates(faint).blobs.count == 0
    assert extract_candidates(volume()).blobs.count == 0


@pytest.mark.parametrize("value", [1.01, 1.0000001, -0.01, math.nan])
def test_a_soft_map_out_of_range_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=rf"1 voxels do not: {value} at voxel \(1, 2, 3\)"):
        extract_candidates(volume((np.s_[1, 2, 3], value)))


@pytest.mark.parametrize("rule", ["static", 0.0, 1.5, math.nan])
def test_an_unknown_rule_is_refused(rule: Any) -> None:
    with pytest.raises(ValueError, match=f"not .*{rule}"):
        extract_candidates(volume(), rule=rule)


@pytest.mark.parametrize("connectivity", [6, 18, 26])
def test_runs_joined_and_voxels_flooded_give_the_same_parts(connectivity: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(connectivity)
    reach = {6: 1, 18: 2, 26: 3}[connectivity]
    for share in (0.02, 0.1, 0.2, 0.3, 0.5, 0.9) * 8:
        mask = rng.random(rng.integers(1, 14, 3)) < share
        voxels = np.flatnonzero(mask)
        expected, count = ndimage.label(mask, ndimage.generate_binary_structure(3, reach))
        for most in (mask.size, -1):
            monkeypatch.setattr(_blobs, "_FEW_VOXELS", most)
            blobs = _blobs.connect(voxels, mask.shape, connectivity=connectivity)
            assert blobs.count == count
            assert blobs.parts.tolist() == expected[mask].tolist()


def test_a_winding_part_is_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snake of one voxel in width, which no rule that looks at neighbours alone can join at once."""
    snake = np.zeros((1, 101, 101), bool)
    snake[0, ::2] = True
    snake[0, 1::4, -1] = snake[0, 3::4, 0] = True
    for most in (snake.size, -1):
        monkeypatch.setattr(_blobs, "_FEW_VOXELS", most)
        assert lesions(snake.astype(np.uint8), connectivity=6).count == 1
