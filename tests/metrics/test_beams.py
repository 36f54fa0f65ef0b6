"""Beams and the plans they make, against golden numbers, SimpleITK, and what must hold of any dose."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.metrics._beams import (
    StratifiedMae,
    beam_mae,
    compose_plan,
    curve_distance,
    idd_distance,
    idd_distance_z,
    integrated_depth_dose,
    photon_direction,
    plan_mae,
    proton_direction,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "dose"
EXPECTED: dict[str, Any] = json.loads((GOLDEN / "expected.json").read_text())["doserad"]


class Golden:
    """A golden case with its arrays turned to (x, y, z)."""

    def __init__(self, name: str) -> None:
        arrays = np.load(GOLDEN / "doserad" / f"{name}.npz")
        self.meta = json.loads((GOLDEN / "doserad" / f"{name}.json").read_text())
        self.expected = EXPECTED[name]
        self.reference = [beam.T for beam in arrays["gt_beams"]]
        self.prediction = [beam.T for beam in arrays["pred_beams"]]
        self.spacing = tuple(self.meta["spacing_xyz_mm"])
        self.prescription = self.meta["prescription_dose_gy"]
        self.weights = self.meta["beam_weights"]
        self.pairs = list(zip(self.reference, self.prediction, strict=True))

    def directions(self) -> list[tuple[float, float, float]]:
        found = []
        for beam in self.meta["plan"]["beams"]:
            found += [photon_direction(point["gantry_angle"]) for point in beam.get("control_points", [])]
            found += [
                proton_direction(ray["ray_source"], ray["ray_target"])
                for ray in beam.get("rays", [])
                for _ in ray["beamlets"]
            ]
        return found


@pytest.fixture(params=sorted(EXPECTED))
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(request.param)


# Golden numbers -------------------------------------------------------------------------------------------------------


def test_the_golden_masked_errors(golden: Golden) -> None:
    found = [beam_mae(*pair) for pair in golden.pairs]
    assert found == pytest.approx(golden.expected["beam_mae_per_beam"], rel=1e-12)
    assert np.mean(found) == pytest.approx(golden.expected["beam_mae_mean"], rel=1e-12)


def test_the_golden_directions(golden: Golden) -> None:
    assert np.allclose(golden.directions(), golden.expected["beam_directions_xyz"], rtol=0, atol=1e-12)


def test_the_golden_depth_doses(golden: Golden) -> None:
    ways = golden.directions()
    curve = integrated_depth_dose(golden.reference[0], spacing=golden.spacing, direction=ways[0])
    expected = np.array(golden.expected["idd_curve_gt_beam0"])
    assert curve.shape == expected.shape
    assert np.abs(curve - expected).max() <= 1e-12 * expected.max()
    found = [
        idd_distance(*pair, spacing=golden.spacing, direction=way) for pair, way in zip(golden.pairs, ways, strict=True)
    ]
    assert found == pytest.approx(golden.expected["idd_distance_per_beam"], rel=1e-12)


def test_the_golden_profiles_along_z(golden: Golden) -> None:
    found = [idd_distance_z(*pair) for pair in golden.pairs]
    assert found == pytest.approx(golden.expected["idd_distance_z_legacy_per_beam"], rel=1e-12)


def test_the_golden_plans(golden: Golden) -> None:
    reference = compose_plan(iter(golden.reference), golden.weights)
    prediction = np.maximum(compose_plan(iter(golden.prediction), golden.weights), 0.0)
    assert reference.dtype == np.float64
    assert reference.max() == pytest.approx(golden.expected["plan_gt_max"], rel=1e-14)
    assert reference.sum() == pytest.approx(golden.expected["plan_gt_sum"], rel=1e-13)
    mae = plan_mae(reference, prediction, prescription=golden.prescription)
    expected = [golden.expected[f"mae_{stratum}"] for stratum in ("high", "mid", "low")]
    assert list(mae) == pytest.approx(expected, rel=1e-12)
    assert mae.mean == pytest.approx(golden.expected["mae_stratified"], rel=1e-12)


# The depth dose is SimpleITK's ----------------------------------------------------------------------------------------


def depth_dose_of_simpleitk(
    dose: np.ndarray, *, spacing: tuple[float, float, float], direction: tuple[float, float, float]
) -> np.ndarray:
    """The turned grid as SimpleITK resamples it."""
    plane = dose.sum(axis=2, dtype=np.float64)
    (nx, ny), (sx, sy, _) = plane.shape, spacing
    image = sitk.GetImageFromArray(np.ascontiguousarray(plane.T))
    image.SetSpacing((sx, sy))
    step = max(sx, sy)
    n = math.ceil(math.hypot(nx * sx, ny * sy) / step) + 1
    cos, sin, half = direction[0], direction[1], (n - 1) / 2 * step
    origin = ((nx - 1) * sx / 2 - (cos * half - sin * half), (ny - 1) * sy / 2 - (sin * half + cos * half))
    turned = sitk.Resample(
        image, (n, n), sitk.Transform(), sitk.sitkLinear, origin, (step, step), (cos, -sin, sin, cos), 0.0
    )
    return np.asarray(sitk.GetArrayFromImage(turned)).sum(axis=0)


@given(
    shape=st.tuples(st.integers(2, 25), st.integers(2, 25), st.integers(1, 4)),
    spacing=st.tuples(*[st.sampled_from([0.7, 1.0, 2.0, 2.5, 3.0])] * 3),
    gantry=st.integers(-1800, 1800).filter(lambda tenth: tenth % 450 != 0),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=120, deadline=None, derandomize=True)
def test_the_depth_dose_is_that_of_simpleitk_also_where_dose_touches_the_border(
    shape: tuple[int, int, int], spacing: tuple[float, float, float], gantry: int, seed: int
) -> None:
    dose = np.random.default_rng(seed).random(shape).astype(np.float32)
    way = photon_direction(gantry / 10 + 0.0317)  # no sample on the border itself, where its rounding decides
    expected = depth_dose_of_simpleitk(dose, spacing=spacing, direction=way)
    found = integrated_depth_dose(dose, spacing=spacing, direction=way)
    assert np.abs(found - expected).max() <= 1e-12 * expected.max()


@pytest.mark.parametrize("gantry", [0.0, 45.0, 90.0, 180.0, 270.0, -90.0, 360.0])
@pytest.mark.parametrize("shape", [(9, 12, 3), (10, 11, 2), (12, 12, 1)])
def test_beams_along_an_axis_agree_too_if_the_border_is_free_of_dose(
    gantry: float, shape: tuple[int, int, int]
) -> None:
    dose = np.zeros(shape)
    dose[2:-2, 2:-2] = np.random.default_rng(7).random((shape[0] - 4, shape[1] - 4, shape[2]))
    way = photon_direction(gantry)
    expected = depth_dose_of_simpleitk(dose, spacing=(2.0, 1.0, 3.0), direction=way)
    found = integrated_depth_dose(dose, spacing=(2.0, 1.0, 3.0), direction=way)
    assert np.abs(found - expected).max() <= 1e-12 * expected.max()


def test_along_an_axis_the_lower_border_is_inside_and_the_upper_outside() -> None:
    # 3 × 4 voxels: the turned grid has 5 + 1 samples a side, half a voxel off along x and on the voxels along y.
    dose = np.ones((3, 4, 1))
    curve = integrated_depth_dose(dose, spacing=(1.0, 1.0, 1.0), direction=(0.0, 1.0, 0.0))
    assert curve.tolist() == [0.0, 3.0, 3.0, 3.0, 3.0, 0.0]
    # −0.5, 0.5, 1.5 and 2.5 across: the first counts, the last does not, and rounding has no say.
    nearly = integrated_depth_dose(dose, spacing=(1.0, 1.0, 1.0), direction=photon_direction(360.0))
    assert nearly == pytest.approx(curve, abs=1e-12)


# Depth ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        ((0.0, 1.0, 0.0), [1.0, 2.0, 3.0, 4.0, 5.0]),
        ((0.0, -1.0, 0.0), [5.0, 4.0, 3.0, 2.0, 1.0]),
        ((1.0, 0.0, 0.0), [15.0]),  # across the beam, all of it lies at one depth
        ((-1.0, 0.0, 0.0), [15.0]),
    ],
)
def test_depth_runs_with_the_beam(direction: tuple[float, float, float], expected: list[float]) -> None:
    dose = np.zeros((11, 11, 3))
    dose[5, 3:8, 1] = [1.0, 2.0, 3.0, 4.0, 5.0]
    curve = integrated_depth_dose(dose, spacing=(1.0, 1.0, 1.0), direction=direction)
    assert curve[curve > 0].tolist() == expected


def test_a_gantry_at_90_degrees_sends_photons_to_the_right_and_at_0_to_the_back() -> None:
    assert photon_direction(0.0) == (0.0, 1.0, 0.0)
    assert photon_direction(90.0) == pytest.approx((-1.0, 0.0, 0.0), abs=1e-15)
    assert proton_direction((0.0, -1000.0, 5.0), (0.0, 0.0, 5.0)) == (0.0, 1.0, 0.0)


def test_doses_on_top_of_each_other_in_z_are_one_curve_but_not_one_profile() -> None:
    low, high = np.zeros((2, 9, 9, 4))
    low[3:6, 3:6, 1] = high[3:6, 3:6, 2] = 1.0
    assert idd_distance(low, high, spacing=(1.0, 1.0, 3.0), direction=(0.6, 0.8, 0.0)) == 0.0
    assert idd_distance_z(low, high) == pytest.approx(math.sqrt(2 / 4))


@given(scale=st.floats(0.01, 100.0), gantry=st.floats(0.0, 360.0), seed=st.integers(0, 1000))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_unit_of_dose_does_not_matter_to_relative_numbers(scale: float, gantry: float, seed: int) -> None:
    first, second = np.random.default_rng(seed).random((2, 7, 6, 3))
    way = photon_direction(gantry)
    for metric in (
        beam_mae,
        idd_distance_z,
        lambda r, p: idd_distance(r, p, spacing=(1.0, 2.0, 3.0), direction=way),
        lambda r, p: plan_mae(r, p, prescription=float(r.max())).mean,
    ):
        assert metric(scale * first, scale * second) == pytest.approx(metric(first, second), rel=1e-9)
        assert metric(first, first) == 0.0


def test_a_beam_without_dose_has_no_relative_error() -> None:
    empty, some = np.zeros((4, 4, 4)), np.ones((4, 4, 4))
    assert math.isnan(beam_mae(empty, some))
    assert math.isnan(idd_distance(empty, some, spacing=(1.0, 1.0, 1.0), direction=(1.0, 0.0, 0.0)))
    assert math.isnan(idd_distance_z(empty, some))
    # A prediction without dose is wrong, but defined.
    assert beam_mae(some, empty) == 1.0
    assert idd_distance_z(some, empty) == 1.0


def test_the_region_of_a_beam_includes_its_threshold() -> None:
    reference = np.array([10.0, 1.0, 0.999])
    assert beam_mae(reference, reference + np.array([0.0, 1.0, 50.0])) == pytest.approx(0.05)


def test_the_strata_include_their_lower_edges_and_an_empty_one_is_left_out() -> None:
    reference = np.array([48.0, 47.999, 18.0, 17.999, 6.0, 5.999])
    error = np.array([6.0, 12.0, 12.0, 18.0, 18.0, 600.0])
    assert plan_mae(reference, reference + error, prescription=60.0) == pytest.approx((0.1, 0.2, 0.3))
    only_high = plan_mae(reference[:1], reference[:1] - 6.0, prescription=60.0)
    assert math.isnan(only_high.mid)
    assert only_high.mean == pytest.approx(0.1)
    assert math.isnan(StratifiedMae(math.nan, math.nan, math.nan).mean)


def test_a_plan_sums_single_precision_beams_in_double_precision() -> None:
    beam = np.full((2, 2, 2), 0.1, np.float32)
    plan = compose_plan((beam for _ in range(1000)), [1.0] * 1000)
    assert plan[0, 0, 0] == pytest.approx(1000 * float(np.float32(0.1)), rel=1e-12)


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("direction", "spacing"),
    [((0.0, 0.6, 0.8), (1.0, 1.0)), ((0.0, 0.0, 0.0), (1.0, 1.0)), ((math.nan, 1.0, 0.0), (1.0, 1.0))],
)
def test_a_beam_out_of_the_plane_has_no_depth_dose(
    direction: tuple[float, float, float], spacing: tuple[float, float]
) -> None:
    with pytest.raises(ValueError, match="along a unit vector across z"):
        integrated_depth_dose(np.ones((3, 3, 3)), spacing=(*spacing, 1.0), direction=direction)


def test_a_ray_needs_two_different_points() -> None:
    for source, target in (((0, 0, 0), (0, 0, 0)), ((0, 0), (1, 1)), ((0, 0, math.inf), (0, 1, 0))):
        with pytest.raises(ValueError, match="a ray goes from one point"):
            proton_direction(source, target)
    with pytest.raises(ValueError, match="finite number of degrees"):
        photon_direction(math.nan)


@pytest.mark.parametrize(
    "value",
    [10**400, -(10**400), math.inf, math.nan, True, "0", None, [0.0], 1e308],
    ids=lambda value: repr(value)[:8],
)
def test_a_direction_is_made_of_finite_numbers(value: Any) -> None:
    for ends in (([0, 0, 0], [value, 1, 0]), ([-1e308, 0, value], [value, 1, 0]), (value, [0, 1, 0])):
        with pytest.raises(ValueError, match="a ray goes from one point of three finite coordinates") as caught:
            proton_direction(*ends)
        assert len(str(caught.value)) < 300
    if value != 1e308:
        with pytest.raises(ValueError, match="finite number of degrees") as caught:
            photon_direction(value)
        assert len(str(caught.value)) < 150


def test_a_direction_may_be_of_numpy_numbers() -> None:
    ends: Any = np.array([0, -1000, 5]), np.array([0, 0, 5], np.float32)
    angle: Any = np.float32(0)
    assert proton_direction(*ends) == photon_direction(angle) == (0.0, 1.0, 0.0)


def test_doses_of_different_shapes_are_not_compared() -> None:
    first, second = np.ones((3, 3, 3)), np.ones((3, 3, 1))
    for metric in (beam_mae, idd_distance_z, curve_distance):
        with pytest.raises(ValueError, match="shapes differ"):
            metric(first, second)
    with pytest.raises(ValueError, match="shapes differ"):
        compose_plan([first, second], [1.0, 1.0])
    with pytest.raises(ValueError, match="shapes differ"):
        plan_mae(first, second, prescription=60.0)


def test_beams_and_weights_must_be_as_many() -> None:
    beam = np.ones((2, 2, 2))
    for beams, weights in (([beam, beam], [1.0]), ([beam], [1.0, 1.0]), ([], [])):
        with pytest.raises(ValueError, match="weights"):
            compose_plan(beams, weights)


@pytest.mark.parametrize("prescription", [0.0, -60.0, math.nan, math.inf])
def test_a_prescription_is_a_positive_dose(prescription: float) -> None:
    with pytest.raises(ValueError, match="a prescription is a positive dose"):
        plan_mae(np.ones(3), np.ones(3), prescription=prescription)
