"""The box around the oropharynx: the published one number for number, and one that does what the design says."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from isocenter.preprocessing import Box, NoBrainError, oropharynx_box
from isocenter.volumes import Grid, Volume, read

GOLDEN = Path(__file__).parents[1] / "golden" / "segmentation"
PETS = [f"pet_{number}.nii.gz" for number in range(4)]
CENTRE = np.array([10.0, -150.0, 80.0])
AXES = np.array([66.0, 80.0, 60.0])


def scan(
    *, size=(260.0, 300.0, 420.0), spacing=(4.0, 4.0, 4.0), centre=CENTRE, suv=8.0, body=0.8, low=(-120, -290, -260)
):
    """A PET with a brain that is an ellipsoid, in a body that fills the field of view."""
    shape = tuple(round(extent / step) for extent, step in zip(size, spacing, strict=True))
    grid = Grid(shape, spacing, tuple(corner + step / 2 for corner, step in zip(low, spacing, strict=True)))
    points = np.indices(shape).reshape(3, -1).T * spacing + grid.origin
    inside = (((points - centre) / AXES) ** 2).sum(axis=1) < 1.0
    return Volume(np.where(inside, suv, body).reshape(shape).astype(np.float32), grid)


def stored_otherwise(volume, order, flips):
    """The same image with its array axes in another order and direction."""
    array, matrix = volume.array.transpose(order), volume.grid.affine[:3, :3][:, order]
    origin = volume.grid.affine[:3, 3].copy()
    for axis in flips:
        array = np.flip(array, axis)
        origin = origin + matrix[:, axis] * (array.shape[axis] - 1)
        matrix[:, axis] *= -1.0
    affine = np.eye(4)
    affine[:3, :3], affine[:3, 3] = matrix, origin
    return Volume(np.ascontiguousarray(array), Grid.from_affine(affine, array.shape))


def field_of_view(volume):
    corners = volume.grid.corners()
    return corners.min(axis=0), corners.max(axis=0)


@pytest.mark.parametrize("name", PETS)
@pytest.mark.parametrize(("size", "key"), [(None, "x1x2y1y2z1z2"), (150.0, "150mm")])
def test_the_published_variant_is_the_published_script_number_for_number(name, size, key, golden_segmentation):
    expected = golden_segmentation["pet_bbox"][name][f"hecktor_bbox_auto_{key}"]
    box = oropharynx_box(read(GOLDEN / name), variant="published", size_mm=size)
    assert box.interleaved == pytest.approx(expected, abs=1e-6)


def test_the_published_script_falls_back_to_a_threshold_at_which_the_body_is_one_piece():
    box = oropharynx_box(read(GOLDEN / "pet_2.nii.gz"), variant="published")
    assert box.threshold == 0.1
    assert box.brain_ml > 10_000
    assert oropharynx_box(read(GOLDEN / "pet_0.nii.gz"), variant="published").threshold == 3.0


@pytest.mark.parametrize("name", ["pet_0.nii.gz", "pet_1.nii.gz", "pet_3.nii.gz"])
def test_where_both_find_the_brain_the_variants_agree_within_two_voxels(name):
    pet = read(GOLDEN / name)
    ours, theirs = oropharynx_box(pet), oropharynx_box(pet, variant="published", size_mm=150.0)
    apart = np.abs(np.subtract(ours.low, theirs.low))
    stuck_out = np.any(np.less(theirs.low, field_of_view(pet)[0]) | np.greater(theirs.high, field_of_view(pet)[1]))
    assert stuck_out or (apart <= 2.0 * np.asarray(pet.grid.spacing)).all()


def test_the_design_variant_finds_the_brain_that_the_script_takes_for_the_body():
    """In pet_2 the brain has an SUV of 2 in a body of 0.9."""
    pet = read(GOLDEN / "pet_2.nii.gz")
    box = oropharynx_box(pet)
    assert 0.9 < box.threshold < 2.0
    assert 500 < box.brain_ml < 2500
    hot = np.argwhere(pet.array > 1.5) * pet.grid.spacing + pet.grid.origin
    brain = hot[hot[:, 2] > hot[:, 2].max() - 110.0]
    assert box.high[2] == pytest.approx(brain[:, 2].min() + 30.0, abs=16.0)


def test_the_box_is_where_the_design_says():
    """150 mm; 30 mm above the lowest brain; 30 mm before its middle; level with it sideways."""
    box = oropharynx_box(scan())
    assert box.size == pytest.approx((150.0, 150.0, 150.0))
    assert box.method == "design"
    assert (box.low[0] + box.high[0]) / 2 == pytest.approx(CENTRE[0], abs=2.0)
    assert (box.low[1] + box.high[1]) / 2 == pytest.approx(CENTRE[1] - 30.0, abs=2.0)
    assert box.high[2] == pytest.approx(CENTRE[2] - AXES[2] + 30.0, abs=6.0)
    assert box.brain_ml == pytest.approx(4 / 3 * np.pi * AXES.prod() / 1000.0, rel=0.25)


@pytest.mark.parametrize("size", [100.0, 144.0])
def test_another_size_keeps_the_top_and_the_middle(size):
    box, usual = oropharynx_box(scan(), size_mm=size), oropharynx_box(scan())
    assert box.size == pytest.approx((size,) * 3)
    assert box.high[2] == usual.high[2]
    assert np.add(box.low, box.high)[:2] == pytest.approx(np.add(usual.low, usual.high)[:2])


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("flips", [(), (0,), (2,), (0, 1, 2)])
def test_how_an_image_is_stored_does_not_move_the_box(order, flips):
    pet = scan(spacing=(6.0, 5.0, 7.0))
    box = oropharynx_box(stored_otherwise(pet, order, flips))
    assert box.corners == pytest.approx(oropharynx_box(pet).corners, abs=1e-6)


def test_the_published_variant_goes_astray_when_slices_are_stored_from_head_to_foot():
    pet = scan()
    turned = oropharynx_box(stored_otherwise(pet, (0, 1, 2), (2,)), variant="published")
    assert abs(turned.low[2] - oropharynx_box(pet, variant="published").low[2]) > 50.0


def test_a_tilted_image_has_the_box_of_an_upright_one():
    upright = scan()
    angle = np.deg2rad(12.0)
    direction = (1, 0, 0, 0, np.cos(angle), -np.sin(angle), 0, np.sin(angle), np.cos(angle))
    grid = Grid((70, 90, 115), (4.0, 4.0, 4.0), (-130.0, -250.0, -290.0), direction)
    points = np.indices(grid.shape).reshape(3, -1).T @ grid.affine[:3, :3].T + grid.affine[:3, 3]
    inside = (((points - CENTRE) / AXES) ** 2).sum(axis=1) < 1.0
    tilted = Volume(np.where(inside, 8.0, 0.8).reshape(grid.shape), grid)
    assert oropharynx_box(tilted).corners == pytest.approx(oropharynx_box(upright).corners, abs=6.0)


def test_finer_voxels_do_not_move_the_box():
    coarse, fine = oropharynx_box(scan()), oropharynx_box(scan(spacing=(2.0, 2.0, 2.0)))
    assert fine.corners == pytest.approx(coarse.corners, abs=4.0)
    # Three voxels are 12 mm of blur in one image and 6 mm in the other, and the shift is 28 mm and 30 mm.
    published = [oropharynx_box(scan(spacing=(s, s, s)), variant="published") for s in (4.0, 2.0)]
    assert published[0].corners != pytest.approx(published[1].corners, abs=0.1)


@pytest.mark.parametrize("x", [-100.0, 0.0, 130.0])
@pytest.mark.parametrize("y", [-270.0, -150.0, 0.0])
@pytest.mark.parametrize("z", [-20.0, 80.0, 150.0])
def test_wherever_the_brain_is_the_box_stays_in_the_field_of_view(x, y, z):
    pet = scan(centre=np.array([x, y, z]))
    start, end = field_of_view(pet)
    box = oropharynx_box(pet)
    assert (np.asarray(box.low) >= start - 1e-9).all()
    assert (np.asarray(box.high) <= end + 1e-9).all()
    assert box.size == pytest.approx((150.0,) * 3)


def test_the_published_clamp_looks_at_the_wrong_edge_on_the_high_side():
    pet = scan(centre=np.array([130.0, -150.0, 80.0]))
    box = oropharynx_box(pet, variant="published")
    assert box.high[0] > field_of_view(pet)[1][0] + 20.0


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (14, 39, 4.0 * (26.5 - 18.0)),  # far from the border: the middle, less half of 36 voxels
        (5, 30, 4.0 * (17.5 - 18.0)),  # half a voxel sticks out, and is let
        (4, 29, 0.0),  # one and a half would
    ],
)
def test_the_published_clamp_lets_less_than_a_voxel_stick_out(first, last, expected):
    """All six numbers by hand, for a brain that is a block: its flat faces stay where they are when blurred."""
    array = np.zeros((60, 60, 90), np.float32)
    array[first : last + 1, 20:51, 65:86] = 6.0
    box = oropharynx_box(Volume(array, Grid(array.shape, (4.0, 4.0, 4.0))), variant="published")
    assert box.low == pytest.approx((expected, 4.0 * (35 - 7 - 18), 4.0 * (65 + 7 - 36)))
    assert box.high == pytest.approx((expected + 144.0, 4.0 * (35 - 7 + 18), 4.0 * (65 + 7)))


def test_along_an_axis_that_is_shorter_than_the_box_the_box_is_centred():
    pet = scan(size=(140.0, 300.0, 420.0), low=(-60, -290, -260))
    box = oropharynx_box(pet)
    assert (box.low[0] + box.high[0]) / 2 == pytest.approx(10.0)
    assert box.size == pytest.approx((150.0,) * 3)


def test_a_threshold_given_by_hand_is_the_only_one_tried():
    pet = scan(suv=2.4, body=0.3)
    assert oropharynx_box(pet, threshold=1.2).threshold == 1.2
    with pytest.raises(NoBrainError, match=r"SUV > 3: nothing; a brain"):
        oropharynx_box(pet, threshold=3.0)


def test_auto_follows_a_scan_whose_values_are_scaled_wrongly():
    right, wrong = scan(), scan(suv=8.0 * 0.05, body=0.8 * 0.05)
    box = oropharynx_box(wrong)
    assert box.threshold == pytest.approx(0.4 / 2.6, rel=0.05)
    assert box.corners == pytest.approx(oropharynx_box(right, threshold="auto").corners, abs=1e-6)
    assert oropharynx_box(wrong, variant="published", threshold="auto").threshold == pytest.approx(0.4 / 2.6)


def test_a_hot_tumour_just_below_the_brain_does_not_pull_the_box_down():
    """Blurred, the two are one piece at an SUV of 3: taller than any brain, so the next threshold is tried."""
    pet = scan()
    points = np.indices(pet.grid.shape).reshape(3, -1).T * pet.grid.spacing + pet.grid.origin
    tumour = np.linalg.norm(points - (10.0, -170.0, -15.0), axis=1) < 22.0
    array = np.where(tumour.reshape(pet.grid.shape), 11.0, pet.array)
    box = oropharynx_box(Volume(array, pet.grid))
    assert box.threshold > 3.0
    assert box.corners == pytest.approx(oropharynx_box(pet).corners, abs=6.0)
    published = [oropharynx_box(Volume(a, pet.grid), variant="published") for a in (pet.array, array)]
    assert published[1].low[2] < published[0].low[2] - 50.0


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((40, 40, 60)), r"at SUV > 3: nothing; at SUV > 0: nothing"),
        (np.full((40, 40, 60), 0.9), r"SUV > 0.346: 6144 ml, 236 mm tall"),
        (np.full((40, 40, 60), 9000.0), r"largest value of the image is 9e\+03: is it in SUV"),
    ],
)
def test_without_a_brain_the_error_says_what_was_found(array, words):
    with pytest.raises(NoBrainError, match=words):
        oropharynx_box(Volume(array, Grid(array.shape, (4.0, 4.0, 4.0))))


def test_what_is_larger_than_any_brain_is_none():
    """A hot slab of 7 litres, no taller than a brain."""
    pet = scan(suv=0.0, body=0.0)
    pet.array[2:-2, 2:-2, -25:] = 8.0
    with pytest.raises(NoBrainError, match=r"SUV > 3: 7\d\d\d ml"):
        oropharynx_box(pet)


def test_a_hot_spot_alone_is_no_brain():
    pet = scan(suv=0.8)
    pet.array[30:33, 30:33, 80:83] = 30.0
    with pytest.raises(NoBrainError, match="ml"):
        oropharynx_box(pet)


def test_an_image_of_nothing_has_no_published_box_either():
    with pytest.raises(NoBrainError, match=r"nothing at SUV > 3 and nothing at SUV > 0\.1"):
        oropharynx_box(Volume(np.zeros((20, 20, 30), np.float32), Grid((20, 20, 30))), variant="published")


@pytest.mark.parametrize("variant", ["design", "published"])
def test_values_that_are_not_finite_are_refused(variant):
    pet = scan()
    pet.array[0, 0, 0] = np.nan
    with pytest.raises(NoBrainError, match="not finite"):
        oropharynx_box(pet, variant=variant)


def test_a_box_without_an_edge_is_refused():
    with pytest.raises(ValueError, match="edge"):
        oropharynx_box(scan(), size_mm=0.0)


def test_the_two_orders_of_the_six_numbers():
    box = Box((1.0, 2.0, 3.0), (10.0, 20.0, 30.0))
    assert box.corners == (1.0, 2.0, 3.0, 10.0, 20.0, 30.0)
    assert box.interleaved == (1.0, 10.0, 2.0, 20.0, 3.0, 30.0)


def test_a_box_contains_its_border_and_nothing_beyond():
    box = Box((0.0, 0.0, 0.0), (1.0, 2.0, 3.0))
    points = np.array([(0.0, 0.0, 0.0), (1.0, 2.0, 3.0), (0.5, 2.1, 1.0), (-0.1, 1.0, 1.0)])
    assert box.contains(points).tolist() == [True, True, False, False]


@pytest.mark.parametrize("high", [(0.0, 1.0, 1.0), (-1.0, 1.0, 1.0), (np.nan, 1.0, 1.0), (np.inf, 1.0, 1.0)])
def test_a_box_has_room_inside(high):
    with pytest.raises(ValueError, match="lower to higher"):
        Box((0.0, 0.0, 0.0), high)
