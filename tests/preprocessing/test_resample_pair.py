"""CT, PET and mask inside a box, on one grid."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.metrics import dice
from isocenter.preprocessing import Box, crop_and_resample, crop_grid
from isocenter.preprocessing._resample_pair import overhang
from isocenter.volumes import Grid, LabelMap, Volume, read

GOLDEN = Path(__file__).parents[1] / "golden" / "segmentation"
CT = Grid((60, 64, 40), (1.25, 1.25, 3.0), (-40.0, -90.0, 100.0))
PET = Grid((24, 26, 32), (4.0, 4.0, 4.0), (-46.0, -95.0, 97.0))
BOX = Box((-20.0, -70.0, 120.0), (20.0, -30.0, 180.0))
DIRECTIONS = [
    (1, 0, 0, 0, 1, 0, 0, 0, 1),
    (-1, 0, 0, 0, -1, 0, 0, 0, 1),
    (0, 0, 1, 1, 0, 0, 0, 1, 0),
    (1, 0, 0, 0, 1, 0, 0, 0, -1),
]


def centres(grid):
    """World coordinates of all voxel centres, in the order of the flat array."""
    return np.indices(grid.shape).reshape(3, -1).T @ grid.affine[:3, :3].T + grid.affine[:3, 3]


def noise(grid, dtype=np.float32, seed=0):
    return Volume(np.random.default_rng(seed).normal(40.0, 300.0, grid.shape).astype(dtype), grid)


def ramp(grid, slope=(0.5, -0.25, 0.125)):
    """A PET that rises evenly in space: every interpolation reproduces it where it has neighbours."""
    return Volume((centres(grid) @ slope).reshape(grid.shape), grid)


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(*[st.floats(-60.0, 60.0)] * 3),
    st.tuples(*[st.floats(5.0, 60.0)] * 3),
    st.tuples(*[st.sampled_from([0.9, 1.0, 2.5, 3.3])] * 3),
    st.sampled_from(DIRECTIONS),
)
def test_the_grid_is_that_of_the_voxels_whose_centres_lie_in_the_box(low, size, spacing, direction):
    box = Box(low, tuple(a + b for a, b in zip(low, size, strict=True)))
    ct = Grid((150, 150, 150), spacing, (-70.0, -75.0, -80.0), direction)
    found = crop_grid(box, ct)
    assert found.spacing == ct.spacing
    assert found.direction == ct.direction
    inside = centres(found)
    assert (inside >= np.subtract(low, 0.01)).all()
    assert (inside <= np.add(box.high, 0.01)).all()
    # One voxel more on any side would lie outside.
    for axis, end in itertools.product(range(3), (0, -1)):
        index = [0, 0, 0]
        index[axis] = -1 if end == 0 else found.shape[axis]
        beyond = found.affine[:3, :3] @ index + found.affine[:3, 3]
        assert not box.contains(beyond[None])[0]


def test_of_a_tilted_ct_no_voxel_in_the_box_is_left_out():
    angle = np.deg2rad(20.0)
    direction = (1, 0, 0, 0, np.cos(angle), -np.sin(angle), 0, np.sin(angle), np.cos(angle))
    ct = Grid((80, 80, 60), (1.25, 1.25, 3.0), (-50.0, -60.0, 60.0), direction)
    found = crop_grid(BOX, ct)
    wanted = centres(ct)[BOX.contains(centres(ct))]
    index = np.linalg.solve(found.affine[:3, :3], (wanted - found.affine[:3, 3]).T).T
    assert len(wanted) > 1000
    assert (index > -0.01).all()
    assert (index < np.array(found.shape) - 0.99).all()


def test_a_ct_is_copied_not_interpolated():
    ct = noise(CT, np.int16)
    crop = crop_and_resample(BOX, ct=ct, pet=ramp(PET))
    inside = BOX.contains(centres(CT)).reshape(CT.shape)
    assert crop.ct.array.dtype == np.int16
    assert crop.ct.array.ravel().tolist() == ct.array[inside].tolist()


def test_all_three_are_on_one_grid():
    mask = Volume((np.random.default_rng(1).random(PET.shape) > 0.9).astype(np.uint8), PET)
    crop = crop_and_resample(BOX, ct=noise(CT, np.int16), pet=ramp(PET), mask=mask)
    assert crop.grid == crop.ct.grid == crop.pet.grid == crop.mask.grid
    assert crop.ct.array.shape == crop.pet.array.shape == crop.mask.array.shape == crop.grid.shape


@pytest.mark.parametrize("interpolation", ["bspline", "linear"])
def test_an_even_rise_stays_what_it_is(interpolation):
    crop = crop_and_resample(BOX, ct=noise(CT), pet=ramp(PET), interpolation=interpolation)
    assert crop.pet.array.dtype == np.float32
    # A spline feels the border of the image a few voxels into it.
    assert crop.pet.array.ravel() == pytest.approx(ramp(crop.grid).array.ravel(), abs=2e-2)


def test_a_pet_that_begins_where_the_crop_does_but_has_other_voxels_is_interpolated():
    pet = Grid((20, 20, 20), (2.5, 2.5, 3.0), crop_grid(BOX, CT).origin)
    crop = crop_and_resample(BOX, ct=noise(CT), pet=ramp(pet), interpolation="linear")
    inner = (slice(0, 30), slice(0, 30), slice(0, 18))
    assert crop.pet.array[inner] == pytest.approx(ramp(crop.grid).array[inner], abs=1e-3)


def test_the_spline_is_simpleitk_s_over_the_whole_image():
    """Only what is near the box is fitted; the answer is the same as if everything were."""
    grid = Grid((90, 90, 90), (2.0, 2.0, 2.0), (-90.0, -140.0, 60.0))
    pet = noise(grid, seed=3)
    crop = crop_and_resample(BOX, ct=noise(CT), pet=pet)
    image = sitk.GetImageFromArray(np.ascontiguousarray(pet.array.T))
    image.SetSpacing(grid.spacing)
    image.SetOrigin(grid.origin)
    shape = [int(n) for n in crop.grid.shape]
    whole = sitk.Resample(image, shape, sitk.Transform(), sitk.sitkBSpline3, crop.grid.origin, crop.grid.spacing)
    assert crop.pet.array == pytest.approx(sitk.GetArrayFromImage(whole).T, abs=2e-3)
    assert crop.pet.array.std() > 100.0


def test_linear_interpolation_never_overshoots_and_the_spline_does():
    pet = Volume(np.zeros(PET.shape, np.float32), PET)
    pet.array[11:13, 11:13, 12:14] = 20.0
    by = {
        how: crop_and_resample(BOX, ct=noise(CT), pet=pet, interpolation=how).pet.array for how in ("linear", "bspline")
    }
    assert by["linear"].min() == 0.0
    assert by["bspline"].min() < -0.1


def test_a_mask_keeps_its_labels_and_takes_the_nearest():
    labels = np.zeros(PET.shape, np.uint8)
    labels[8:12, 8:12, 8:14], labels[13:15, 8:12, 8:14] = 1, 2
    crop = crop_and_resample(BOX, ct=noise(CT), pet=ramp(PET), mask=Volume(labels, PET))
    assert crop.mask.array.dtype == np.uint8
    index = np.rint((centres(crop.grid) - PET.origin) / PET.spacing).astype(int)
    assert crop.mask.array.ravel().tolist() == labels[tuple(index.T)].tolist()


def test_a_label_map_will_do_as_a_mask():
    labels = np.zeros(CT.shape, np.uint8)
    labels[25:30, 25:30, 12:16] = 2
    crops = [
        crop_and_resample(BOX, ct=noise(CT), pet=ramp(PET), mask=mask).mask.array
        for mask in (Volume(labels, CT), LabelMap.from_array(labels, CT))
    ]
    assert np.array_equal(*crops)
    assert np.count_nonzero(crops[0]) == np.count_nonzero(labels)


def test_outside_of_its_image_a_ct_is_air_and_the_others_are_nothing():
    box = Box((-60.0, -70.0, 120.0), (0.0, -30.0, 180.0))
    mask = Volume(np.ones(CT.shape, np.uint8), CT)
    for spacing in (None, 2.0):
        crop = crop_and_resample(
            box, ct=Volume(np.full(CT.shape, 50, np.int16), CT), pet=ramp(PET), mask=mask, spacing=spacing
        )
        x = centres(crop.grid)[:, 0].reshape(crop.grid.shape)
        assert (crop.ct.array[x < -41.0] == -1024).all()
        assert crop.ct.array[x > -39.0] == pytest.approx(50, abs=1e-3)
        assert (crop.mask.array[x < -41.0] == 0).all()
        assert (crop.mask.array[x > -39.0] == 1).all()
        assert (crop.pet.array[x < -48.1] == 0).all()


@pytest.mark.parametrize(
    "name", ["same_grid/inner_box", "same_grid/odd_box", "other_grid/inner_box", "other_grid/odd_box"]
)
def test_the_published_grid_and_masks_on_it_are_those_of_the_published_evaluation(name, golden_segmentation):
    expected = golden_segmentation["hecktor2020_crop"][name]
    truth, prediction = (read(GOLDEN / expected[key]) for key in ("truth", "pred"))
    numbers = expected["bbox_x1y1z1x2y2z2"]
    box = Box(tuple(numbers[:3]), tuple(numbers[3:]))
    crops = [
        crop_and_resample(box, ct=truth, pet=truth, mask=mask, spacing=truth.grid.spacing, interpolation="linear").mask
        for mask in (truth, prediction)
    ]
    assert list(crops[0].grid.shape) == expected["output_shape_xyz"]
    assert crops[0].grid.origin == pytest.approx(numbers[:3])
    assert [np.count_nonzero(crop.array) for crop in crops] == [expected["n_truth"], expected["n_pred"]]
    assert dice(crops[0].array > 0, crops[1].array > 0) == pytest.approx(expected["dice"], abs=1e-12)


def test_a_box_of_144_mm_has_144_voxels_of_one_millimetre_whatever_rounding_did_to_it():
    low = (-93.21200561523438, -160.30499267578125, -90.54800605773926)
    for rounding in (-1e-5, 0.0, 1e-5):
        box = Box(low, tuple(np.add(low, 144.0 + rounding)))
        assert crop_grid(box, CT, spacing=1.0).shape == (144, 144, 144)


@pytest.mark.parametrize("spacing", [0.0, -1.0, 41.0, float("nan")])
def test_voxels_that_do_not_fit_are_refused(spacing):
    with pytest.raises(ValueError, match="do not fit a box of 40 × 40 × 60 mm"):
        crop_grid(BOX, CT, spacing=spacing)


def test_a_box_between_two_slices_is_refused():
    with pytest.raises(ValueError, match="no voxel"):
        crop_grid(Box((-20.0, -70.0, 100.5), (20.0, -30.0, 102.5)), CT)


def test_overhang_is_how_far_the_box_sticks_out():
    assert overhang(BOX, CT) == 0.0
    assert overhang(Box((-50.625, -70.0, 120.0), (0.0, -30.0, 180.0)), CT) == pytest.approx(10.0)
    assert overhang(Box((500.0, -70.0, 120.0), (600.0, -30.0, 180.0)), CT) == float("inf")
