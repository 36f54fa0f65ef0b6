"""A dose and a structure on one grid or two, inside the dose or not; shapes whose histogram is known in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from isocenter.metrics.dvh import Request, dvh_in, supersample
from isocenter.volumes import Grid, LabelMap, Volume, resample

GRID = Grid((6, 5, 4), spacing=(2.0, 3.0, 4.0), origin=(-5.0, 10.0, 7.0))
OBLIQUE = tuple(np.linalg.qr(np.array([[3.0, 1.0, 0.5], [-1.0, 3.0, 0.2], [0.3, -0.4, 2.0]]))[0].ravel())


def linear(grid: Grid, *, slope=(1.0, 0.5, 0.25), at_origin: float = 40.0) -> Volume:
    """A dose that is linear in space, Gy per mm."""
    index = np.stack(np.meshgrid(*(np.arange(n) for n in grid.shape), indexing="ij"), axis=-1)
    points = index @ grid.affine[:3, :3].T + grid.affine[:3, 3]
    return Volume(points @ np.asarray(slope) + at_origin, grid)


def test_on_one_grid_the_voxels_of_the_structure_are_taken_as_they_are():
    rng = np.random.default_rng(1)
    dose = Volume(rng.uniform(0, 70, GRID.shape).astype(np.float32), GRID)
    mask = rng.random(GRID.shape) < 0.3
    for structure in (Volume(mask, GRID), Volume(mask.astype(np.uint8), GRID), Volume(mask.astype(float), GRID)):
        dvh = dvh_in(dose, structure)
        assert np.array_equal(dvh.doses, np.sort(dose.array[mask].astype(float))[::-1])
        assert dvh.volume == pytest.approx(mask.sum() * 24 / 1000)
        assert (dvh.outside, dvh.flags) == (0.0, ())
    assert np.array_equal(dvh_in(dose, LabelMap.from_array(mask.astype(np.uint8), GRID)).doses, dvh.doses)


def test_labels_say_which_part_of_a_map_is_meant():
    labels = np.zeros(GRID.shape, np.uint8)
    labels[1, 1, 1], labels[2, 2, 2], labels[3, 3, 3] = 1, 2, 3
    dose = linear(GRID)
    expected = sorted([dose.array[2, 2, 2], dose.array[3, 3, 3]], reverse=True)
    for structure in (Volume(labels, GRID), LabelMap.from_array(labels, GRID)):
        assert dvh_in(dose, structure, labels=[2, 3]).doses.tolist() == expected
        assert dvh_in(dose, structure, labels=[9]).flags == ("empty",)
        assert dvh_in(dose, structure).doses.size == 3


def test_an_empty_map_is_an_empty_structure():
    nothing = LabelMap.from_array(np.zeros(GRID.shape, np.uint8), GRID)
    assert dvh_in(linear(GRID), nothing).flags == ("empty",)


@pytest.mark.parametrize("direction", [GRID.direction, OBLIQUE])
def test_on_another_grid_a_linear_dose_is_interpolated_exactly(direction):
    fine = Grid((9, 9, 9), spacing=(0.7, 0.6, 0.5), origin=(-1.0, 14.0, 12.0), direction=direction)
    mask = Volume(np.ones(fine.shape, bool), fine)
    big = Grid((20, 20, 20), spacing=(2.0, 3.0, 4.0), origin=(-20.0, -10.0, -20.0))
    dvh = dvh_in(linear(big), mask)
    assert dvh.doses == pytest.approx(np.sort(linear(fine).array.ravel())[::-1])
    assert dvh.volume == pytest.approx(729 * 0.21 / 1000)


def test_interpolation_agrees_with_resampling_the_dose_up_to_the_rim():
    rng = np.random.default_rng(2)
    dose = Volume(rng.uniform(0, 70, GRID.shape), GRID)
    other = Grid((8, 9, 8), spacing=(1.3, 1.4, 1.7), origin=(-5.9, 8.6, 5.1))
    mask = Volume(np.ones(other.shape, bool), other)
    resampled = resample(dose, other, interpolation="linear").array
    assert dvh_in(dose, mask).doses == pytest.approx(np.sort(resampled.ravel())[::-1], abs=1e-6)


def overhanging() -> Volume:
    """Twelve slices of one voxel, of which the dose of GRID covers ten: it ends half a voxel above z = 19."""
    grid = Grid((1, 1, 12), spacing=(2.0, 3.0, 1.5), origin=(-1.0, 16.0, 6.0))
    return Volume(np.ones(grid.shape, bool), grid)


def test_a_structure_that_leaves_the_dose_grid_is_refused_unless_said_otherwise():
    with pytest.raises(ValueError, match=r"8\.3% of the structure lie outside the dose grid .* outside=\"zero\""):
        dvh_in(linear(GRID), overhanging())


def test_what_lies_outside_counts_as_zero_dose_or_not_at_all_by_name():
    zero, excluded = (dvh_in(linear(GRID), overhanging(), outside=policy) for policy in ("zero", "exclude"))
    assert zero.volume == pytest.approx(12 * 9 / 1000)
    assert excluded.volume == pytest.approx(11 * 9 / 1000)
    assert zero.min == 0.0
    assert excluded.min > 0.0
    for dvh in (zero, excluded):
        assert dvh.outside == pytest.approx(1 / 12)
        assert dvh.evaluate("Mean[Gy]").flags == ("outside-dose-grid",)


def test_the_share_outside_is_one_of_volume_where_voxels_have_weights():
    structure = overhanging()
    weights = np.ones(structure.grid.shape)
    weights[..., -1] = 0.5
    dvh = dvh_in(linear(GRID), Volume(weights, structure.grid), outside="exclude")
    assert dvh.outside == pytest.approx(0.5 / 11.5)


def test_a_part_of_a_thousandth_outside_is_flagged():
    grid = Grid((1001, 1, 1))
    dose = Volume(np.ones((1000, 1, 1)), Grid((1000, 1, 1)))
    dvh = dvh_in(dose, Volume(np.ones(grid.shape, np.uint8), grid), outside="exclude")
    assert dvh.outside == pytest.approx(1 / 1001)
    assert dvh.flags == ("outside-dose-grid",)
    with pytest.raises(ValueError, match=r"0\.1% of the structure lie outside"):
        dvh_in(dose, Volume(np.ones(grid.shape, np.uint8), grid))


def test_a_structure_wholly_outside_is_empty_if_excluded():
    far = Volume(np.ones((2, 2, 2), bool), Grid((2, 2, 2), origin=(500.0, 0.0, 0.0)))
    assert dvh_in(linear(GRID), far, outside="exclude").flags == ("empty", "outside-dose-grid")
    assert dvh_in(linear(GRID), far, outside="zero").mean == 0.0


def test_a_grid_that_differs_by_a_tenth_of_a_voxel_is_another_grid():
    shifted = Grid(GRID.shape, spacing=GRID.spacing, origin=(GRID.origin[0] + 0.2, *GRID.origin[1:]))
    mask = np.zeros(GRID.shape, bool)
    mask[2, 2, 2] = True
    dose = linear(GRID, slope=(1.0, 0.0, 0.0))
    assert dvh_in(dose, Volume(mask, shifted)).mean == pytest.approx(dose.array[2, 2, 2] + 0.2)


def test_a_dose_that_is_not_finite_matters_only_in_the_structure():
    dose = linear(GRID)
    dose.array[0, 0, 0] = np.nan
    mask = np.zeros(GRID.shape, bool)
    mask[3:5, 3, 2] = True
    assert dvh_in(dose, Volume(mask, GRID)).doses.size == 2
    dose.array[4, 3, 2] = np.inf
    with pytest.raises(ValueError, match=r"in 1 of 2 voxels of the structure, first inf at index \(4, 3, 2\)"):
        dvh_in(dose, Volume(mask, GRID))


def test_a_dose_that_is_not_finite_beside_the_structure_matters_if_it_is_interpolated_into_it():
    dose = linear(GRID)
    dose.array[4, 3, 2] = np.inf
    mask = np.zeros(GRID.shape, bool)
    mask[1, 3, 2] = mask[3, 3, 2] = True
    assert dvh_in(dose, Volume(mask, GRID)).doses.size == 2
    with pytest.raises(ValueError, match=r"in \d of 16 voxels of the structure, first .* at index \(3, 3, 2\)"):
        dvh_in(dose, Volume(mask, GRID), subsamples=2)


def test_parts_of_a_voxel_have_the_volume_of_the_voxel_and_its_mean_dose():
    mask = np.zeros(GRID.shape, bool)
    mask[2:4, 2, 2] = True
    whole, cut = (dvh_in(linear(GRID), Volume(mask, GRID), subsamples=n) for n in (1, 3))
    assert cut.doses.size == 27 * whole.doses.size
    assert cut.volume == pytest.approx(whole.volume)
    assert cut.mean == pytest.approx(whole.mean)
    assert cut.max - cut.min > whole.max - whole.min


@pytest.mark.parametrize(
    ("options", "message"),
    [({"outside": "ignore"}, "refuse, zero, exclude"), ({"subsamples": 0}, "at least 1"), ({"labels": [1]}, "weights")],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        dvh_in(linear(GRID), Volume(np.ones(GRID.shape), GRID), **options)


@pytest.mark.parametrize("array", [np.full(GRID.shape, 1.5), np.full(GRID.shape, np.nan), np.full(GRID.shape, -0.5)])
def test_weights_of_a_structure_lie_between_0_and_1(array):
    with pytest.raises(ValueError, match=r"from 0 to 1|not finite"):
        dvh_in(linear(GRID), Volume(array, GRID))


def test_a_structure_is_made_of_numbers():
    with pytest.raises(TypeError, match="a mask, labels or weights"):
        dvh_in(linear(GRID), Volume(np.full(GRID.shape, "x"), GRID))


# Shapes in a linear gradient, whose histogram is known ---------------------------------------------------------------


def cylinder(radius: float, height: float):
    """Around the z axis, from 0 to `height`; the share hotter than a level along x and along z."""

    def across(t):
        t = np.clip(t / radius, -1, 1)
        return (np.arccos(t) - t * np.sqrt(1 - t**2)) / math.pi

    inside = lambda x, y, z: (x**2 + y**2 <= radius**2) & (z >= 0) & (z <= height)  # noqa: E731
    return inside, {0: across, 2: lambda t: 1 - np.clip(t / height, 0, 1)}, math.pi * radius**2 * height


def cone(radius: float, height: float):
    """Its tip at 0, its base at `height` along z."""
    inside = lambda x, y, z: (x**2 + y**2 <= (radius * z / height) ** 2) & (z >= 0) & (z <= height)  # noqa: E731
    return inside, {2: lambda t: 1 - np.clip(t / height, 0, 1) ** 3}, math.pi * radius**2 * height / 3


def sphere(radius: float):
    def cap(t):
        height = np.clip(radius - t, 0, 2 * radius)
        return height**2 * (3 * radius - height) / (4 * radius**3)

    inside = lambda x, y, z: x**2 + y**2 + z**2 <= radius**2  # noqa: E731
    return inside, {0: cap, 1: cap, 2: cap}, 4 / 3 * math.pi * radius**3


SHAPES = {"cylinder": cylinder(12.0, 24.0), "cone": cone(12.0, 24.0), "sphere": sphere(12.0)}


@pytest.mark.parametrize(
    ("shape", "axis"), [(name, axis) for name, (_, shares, _) in SHAPES.items() for axis in shares]
)
def test_a_shape_in_a_gradient_has_the_histogram_of_the_textbook(shape, axis):
    """Everywhere within a quarter of a voxel, of 0.8 mm, of the true curve."""
    inside, shares, volume = SHAPES[shape]
    fine = Grid((35, 35, 49), spacing=(0.8, 0.8, 0.8), origin=(-13.7, -13.5, -13.3))
    coarse = Grid((15, 15, 20), spacing=(2.5, 2.5, 2.5), origin=(-17.0, -16.5, -16.0))
    slope = [0.0, 0.0, 0.0]
    slope[axis] = 1.5  # Gy per mm; what is interpolated from the coarse grid is exactly linear
    weights = supersample(inside, fine, factor=4)
    dvh = dvh_in(linear(coarse, slope=slope), Volume(weights, fine), subsamples=3)
    assert dvh.volume * 1000 == pytest.approx(volume, rel=0.0125)  # a flat face falls between points 0.2 mm apart
    for level in np.linspace(-10, 22, 17):
        found = dvh.evaluate(Request("V", 40 + 1.5 * level, "Gy", "%"), rule="partial-volume").value
        least, most = (100 * float(shares[axis](level + by)) for by in (0.2, -0.2))
        assert least - 0.1 <= found <= most + 0.1
    levels = np.linspace(-13, 25, 38_001)
    for share in (2, 5, 50, 95, 98):
        expected = 40 + 1.5 * levels[np.argmin(abs(100 * shares[axis](levels) - share))]
        found = dvh.evaluate(Request("D", share, "%", "Gy"), rule="partial-volume").value
        assert found == pytest.approx(expected, abs=1.5 * 0.2)


@pytest.mark.parametrize("radius", [2.5, 4.0])
def test_weights_beat_the_binary_mask_in_small_structures(radius):
    """Area between the histogram in cc and the true one, over the true volume: how far doses are off on average, Gy."""
    inside, shares, volume = sphere(radius)
    slope = np.array([0.9, 0.72, 0.96])  # 1.5 Gy per mm, along no axis
    levels = np.linspace(-radius - 2, radius + 2, 81)
    truth = volume * shares[0](levels)
    errors = []
    for shift in np.linspace(0, 2, 7):
        grid = Grid((10, 10, 10), spacing=(2.0, 2.0, 2.0), origin=(-9.3 + shift, -9.1 + shift, -8.8 + 0.7 * shift))
        weights = supersample(inside, grid, factor=7)
        pair = [Volume(supersample(inside, grid, factor=1) > 0, grid), Volume(weights, grid)]
        for structure in pair:
            dvh = dvh_in(linear(grid, slope=slope), structure)
            requests = [Request("V", 40 + 1.5 * level, "Gy", "cc") for level in levels]
            found = np.array([dvh.evaluate(request, rule="partial-volume").value for request in requests])
            errors.append(np.trapezoid(abs(found * 1000 - truth), 1.5 * levels) / volume)
    binary, weighted = np.mean(errors[::2]), np.mean(errors[1::2])
    assert weighted < binary / 2
    assert weighted < 0.3


def test_more_points_per_voxel_come_closer_to_the_dose_in_a_voxel():
    inside, shares, _ = sphere(4.0)
    grid = Grid((10, 10, 10), spacing=(2.0, 2.0, 2.0), origin=(-9.3, -9.1, -8.8))
    dose = linear(grid, slope=(1.5, 0.0, 0.0))
    weights = Volume(supersample(inside, grid, factor=7), grid)
    levels = np.linspace(-6, 6, 61)
    errors = []
    for subsamples in (1, 2, 4):
        dvh = dvh_in(dose, weights, subsamples=subsamples)
        found = np.array([dvh.evaluate(Request("V", 40 + 1.5 * level, "Gy", "%")).value for level in levels])
        errors.append(np.abs(found - 100 * shares[0](levels)).mean())
    assert errors[0] > 1.5 * errors[1]
    assert errors[1] > errors[2]


def test_weights_of_a_shape_add_up_to_its_volume():
    inside, _, volume = sphere(5.0)
    turned = Grid((16, 16, 16), spacing=(1.0, 1.2, 1.5), origin=(0.0, 0.0, 0.0), direction=OBLIQUE)
    centred = Grid(turned.shape, turned.spacing, tuple(-turned.corners().mean(axis=0)), OBLIQUE)
    weights = supersample(inside, centred, factor=5)
    assert weights.sum() * centred.voxel_volume == pytest.approx(volume, rel=5e-3)
    assert weights.max() == 1.0
    assert np.array_equal(supersample(inside, centred, factor=1) > 0, supersample(inside, centred, factor=1) == 1)
    with pytest.raises(ValueError, match="at least 1"):
        supersample(inside, centred, factor=0)
