"""Synthetic patients: plausible, and the same for ever."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.phantoms import head_and_neck
from isocenter.phantoms._fields import bounds, pieces
from isocenter.volumes import Grid


@pytest.fixture(scope="module")
def patients():
    return {number: head_and_neck(number) for number in range(1, 61)}


def ml(patient, label):
    return np.count_nonzero(patient.array == label) * patient.grid.voxel_volume / 1000.0


def lesions(patient, label):
    mask = patient.array == label
    return pieces(mask[bounds(mask)]) if mask.any() else []


def test_a_patient_is_a_label_volume_of_a_box_of_144_mm(patients):
    for patient in patients.values():
        assert patient.array.dtype == np.uint8
        assert patient.grid.shape == (72, 72, 72)
        assert patient.grid.spacing == (2.0, 2.0, 2.0)
        assert patient.grid.direction == (1, 0, 0, 0, 1, 0, 0, 0, 1)
        assert set(np.unique(patient.array)) <= {0, 1, 2}


def test_patients_lie_at_different_places_in_the_scanner(patients):
    assert len({patient.grid.origin for patient in patients.values()}) == len(patients)


def test_every_patient_has_one_tumour_between_half_a_millilitre_and_80(patients):
    volumes = [ml(patient, 1) for patient in patients.values()]
    assert 0.5 <= min(volumes) < 3.0
    assert 25.0 < max(volumes) <= 80.0
    assert 7.0 < np.median(volumes) < 14.0
    assert all(len(lesions(patient, 1)) == 1 for patient in patients.values())


def test_nodes_are_none_to_three_and_smaller_than_the_tumour(patients):
    counts = [len(lesions(patient, 2)) for patient in patients.values()]
    assert set(counts) == {0, 1, 2, 3}
    for patient in patients.values():
        tumour = np.count_nonzero(patient.array == 1)
        assert all(piece.sum() < 0.9 * tumour for piece in lesions(patient, 2))  # two that meet count as one piece


def test_nodes_lie_to_the_side_of_the_tumour(patients):
    for patient in patients.values():
        if (patient.array == 2).any():
            across = np.abs(np.argwhere(patient.array == 2)[:, 0] - 35.5) * 2.0
            assert across.mean() > 30.0


def test_no_lesion_is_cut_off_by_the_border(patients):
    for patient in patients.values():
        inner = patient.array[1:-1, 1:-1, 1:-1]
        assert np.count_nonzero(inner) == np.count_nonzero(patient.array)


def test_tumours_are_no_balls(patients):
    """The longest extent over the shortest, of a ball 1."""
    elongation = []
    for patient in patients.values():
        points = np.argwhere(patient.array == 1) * 2.0
        spread = np.linalg.eigvalsh(np.cov(points.T))
        elongation.append(np.sqrt(spread[-1] / spread[0]))
    assert np.median(elongation) > 1.25
    assert max(elongation) < 4.0


def test_the_same_number_and_seed_give_the_same_patient(patients):
    again = head_and_neck(17)
    assert again.array.tobytes() == patients[17].array.tobytes()
    assert again.grid == patients[17].grid


def test_another_number_or_seed_gives_another_patient(patients):
    assert (head_and_neck(17, seed=1).array != patients[17].array).any()
    assert (patients[16].array != patients[17].array).any()


def test_another_grid_shows_the_same_patient(patients):
    fine = head_and_neck(3, grid=Grid((144, 144, 48), (1.0, 1.0, 3.0), (5.0, -40.0, 900.0)))
    assert ml(fine, 1) == pytest.approx(ml(patients[3], 1), rel=0.05)
    assert ml(fine, 2) == pytest.approx(ml(patients[3], 2), rel=0.15)


def test_a_turned_grid_turns_the_patient_with_it(patients):
    turned = head_and_neck(9, grid=Grid((72, 72, 72), (2.0, 2.0, 2.0), (0, 0, 0), (0, 1, 0, 1, 0, 0, 0, 0, -1)))
    assert np.array_equal(turned.array.transpose(1, 0, 2)[:, :, ::-1], patients[9].array)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.tuples(*[st.integers(1, 12)] * 3),
    st.tuples(*[st.sampled_from([0.3, 2.0, 40.0])] * 3),
)
def test_even_the_poorest_grid_shows_a_tumour(number, shape, spacing):
    patient = head_and_neck(number, grid=Grid(shape, spacing))
    assert np.count_nonzero(patient.array == 1) >= 1
