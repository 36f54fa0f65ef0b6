"""Synthetic PET/CT: the lesions of `head_and_neck`, in a head whose brain tells where they are."""

from __future__ import annotations

import numpy as np
import pytest

from isocenter.phantoms import head_and_neck, pet_ct
from isocenter.phantoms._fields import middle
from isocenter.preprocessing import crop_and_resample, oropharynx_box

COARSE = {"spacing": (4.0, 4.0, 5.0), "pet_spacing": (4.0, 4.0, 4.0)}


@pytest.fixture(scope="module")
def patients():
    return {number: pet_ct(number, **COARSE) for number in (*range(1, 13), 28)}


def centres(grid, index):
    return index @ grid.affine[:3, :3].T + grid.affine[:3, 3]


def test_images_have_the_units_and_types_of_a_scanner(patients):
    for patient in patients.values():
        assert patient.ct.array.dtype == np.int16
        assert patient.pet.array.dtype == np.float32
        assert patient.labels.array.dtype == np.uint8
        assert patient.labels.grid == patient.ct.grid
        assert patient.ct.array.min() >= -1024
        assert np.median(patient.ct.array[patient.ct.array > -200]) == pytest.approx(40, abs=15)
        assert patient.pet.array.min() >= 0.0
        assert 10.0 < patient.pet.array.max() < 25.0


def test_the_labels_are_those_of_head_and_neck_on_the_grid_of_the_ct(patients):
    for number in (1, 2, 3):
        expected = head_and_neck(number, grid=patients[number].ct.grid)
        assert np.array_equal(patients[number].labels.array, expected.array)


def test_the_lesions_are_in_the_place_where_head_and_neck_puts_them(patients):
    for number in (1, 2, 3):
        plain = head_and_neck(number)
        assert middle(patients[number].ct.grid) == pytest.approx(middle(plain.grid))
        assert middle(patients[number].pet.grid) == pytest.approx(middle(plain.grid))
        here = centres(plain.grid, np.argwhere(plain.array == 1)).mean(axis=0)
        there = centres(patients[number].labels.grid, np.argwhere(patients[number].labels.array == 1)).mean(axis=0)
        assert there == pytest.approx(here, abs=1.5)


def test_tumours_are_hot_on_the_pet(patients):
    for patient in patients.values():
        points = centres(patient.labels.grid, np.argwhere(patient.labels.array == 1))
        index = np.rint(np.linalg.solve(patient.pet.grid.affine[:3, :3], (points - patient.pet.grid.origin).T)).astype(
            int
        )
        assert np.median(patient.pet.array[tuple(index)]) > 2.5
        assert np.median(patient.pet.array) < 1.0


def test_the_box_found_from_the_brain_holds_all_of_tumour_and_nodes(patients):
    """From end to end: the rule of the challenge, on patients that know nothing of the rule."""
    for number, patient in patients.items():
        box = oropharynx_box(patient.pet)
        points = centres(patient.labels.grid, np.argwhere(patient.labels.array > 0))
        assert box.contains(points).all(), number
        assert np.add(box.low, box.high) / 2 == pytest.approx(middle(patient.ct.grid), abs=15.0)
        crop = crop_and_resample(box, ct=patient.ct, pet=patient.pet, mask=patient.labels)
        assert np.count_nonzero(crop.mask.array) == np.count_nonzero(patient.labels.array)


def test_in_some_patients_the_published_rule_takes_tumour_for_brain(patients):
    """Patient 28's large hot tumour lies just below the brain; blurred, they are one."""
    theirs, ours = (oropharynx_box(patients[28].pet, variant=v, size_mm=150.0) for v in ("published", "design"))
    assert theirs.low[2] < ours.low[2] - 30.0


def test_the_same_number_and_seed_give_the_same_images(patients):
    again = pet_ct(7, **COARSE)
    for kind in ("ct", "pet", "labels"):
        assert getattr(again, kind).array.tobytes() == getattr(patients[7], kind).array.tobytes()
    other = pet_ct(7, seed=1, **COARSE)
    assert (other.labels.array != again.labels.array).any()
    assert (patients[8].pet.array != again.pet.array).any()


def test_other_voxels_show_the_same_patient(patients):
    fine = pet_ct(2)
    assert fine.ct.grid.spacing == (2.5, 2.5, 3.0)
    volumes = [np.count_nonzero(p.labels.array) * p.labels.grid.voxel_volume for p in (fine, patients[2])]
    assert volumes[0] == pytest.approx(volumes[1], rel=0.1)
    boxes = [oropharynx_box(pet_ct(2, spacing=(9.0, 9.0, 9.0), pet_spacing=(s, s, s)).pet).corners for s in (3.0, 5.0)]
    assert boxes[0] == pytest.approx(boxes[1], abs=6.0)
