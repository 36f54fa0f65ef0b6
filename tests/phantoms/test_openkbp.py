"""Synthetic patients of OpenKBP: anatomy, the dose of nine fields, and their files."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.phantoms import openkbp_patient, write_openkbp, write_openkbp_predictions
from isocenter.phantoms._dose_frame import Frame
from isocenter.phantoms._dose_imrt import Aim, fit, plan
from isocenter.phantoms._dose_neck import ORGANS
from isocenter.phantoms._dose_rays import bilinear, rays
from isocenter.volumes import sparse

NUMBERS = range(1, 9)
TARGETS = {"PTV56": 56.0, "PTV63": 63.0, "PTV70": 70.0}


@pytest.fixture(scope="module")
def patients():
    return [openkbp_patient(number) for number in NUMBERS]


def millilitres(patient, name):
    return patient.structures[name].sum() * math.prod(patient.spacing) / 1000.0


def percentiles(patient, name, *which):
    return np.percentile(patient.dose[patient.structures[name]], which)


# What a patient is


def test_all_is_on_the_published_grid(patients):
    for patient in patients:
        arrays = [patient.ct, patient.dose, patient.possible, *patient.structures.values()]
        assert {array.shape for array in arrays} == {(128, 128, 128)}
        assert {mask.dtype for mask in (patient.possible, *patient.structures.values())} == {np.dtype(bool)}


def test_voxels_are_as_large_as_the_real_ones(patients):
    for patient in patients:
        assert 2.7 <= patient.spacing[0] == patient.spacing[1] <= 5.5
        assert 1.5 <= patient.spacing[2] <= 3.3
    assert len({patient.spacing for patient in patients}) > 3


def test_ct_is_whole_numbers_that_show_air_tissue_and_bone(patients):
    for patient in patients:
        assert patient.ct.min() >= 0
        assert patient.ct.max() <= 4095
        assert (patient.ct == np.rint(patient.ct)).all()
        inside = patient.ct[patient.possible]
        assert np.median(inside) == pytest.approx(1035.0, abs=25.0)
        assert (inside < 200).mean() > 0.002
        assert (inside > 1400).mean() > 0.02
        assert patient.ct[0, 0].max() == 0


def test_names_are_the_published_ones_and_some_structures_are_missing(patients):
    known = {*ORGANS, *TARGETS}
    assert all(set(patient.structures) <= known for patient in patients)
    assert all("PTV70" in patient.structures for patient in patients)
    assert any(len(patient.structures) < len(known) for patient in patients)
    assert all(mask.any() for patient in patients for mask in patient.structures.values())


def test_targets_are_disjoint(patients):
    for patient in patients:
        present = [patient.structures[name] for name in TARGETS if name in patient.structures]
        assert not any((first & second).any() for first, second in itertools.combinations(present, 2))


SIZES = {  # ml, about the range of the real ones
    "Brainstem": (10, 50),
    "SpinalCord": (9, 45),
    "RightParotid": (8, 60),
    "LeftParotid": (8, 60),
    "Esophagus": (3, 32),
    "Larynx": (10, 75),
    "Mandible": (30, 115),
    "PTV56": (40, 700),
    "PTV63": (5, 560),
    "PTV70": (40, 1000),
}


@pytest.mark.parametrize("name", SIZES)
def test_structures_are_about_as_large_as_real_ones(patients, name):
    low, high = SIZES[name]
    assert all(low < millilitres(patient, name) < high for patient in patients if name in patient.structures)


def test_array_axes_run_to_the_back_to_the_left_and_to_the_feet(patients):
    def middle(patient, name):
        return np.argwhere(patient.structures[name]).mean(axis=0)

    for patient in patients:
        has = patient.structures
        if {"SpinalCord", "Mandible"} <= set(has):
            assert middle(patient, "SpinalCord")[0] > middle(patient, "Mandible")[0] + 10
        if {"LeftParotid", "RightParotid"} <= set(has):
            assert middle(patient, "LeftParotid")[1] > middle(patient, "RightParotid")[1] + 15
        if {"Brainstem", "SpinalCord"} <= set(has):
            assert middle(patient, "SpinalCord")[2] > middle(patient, "Brainstem")[2] + 10


# The dose


def test_dose_lies_in_the_mask_has_three_decimals_and_is_never_negative(patients):
    for patient in patients:
        assert 25_000 < patient.possible.sum() < 350_000
        assert not patient.dose[~patient.possible].any()
        assert patient.dose.min() >= 0.0
        assert np.array_equal(patient.dose, patient.dose.round(3))


def test_targets_get_what_is_prescribed(patients):
    for patient in patients:
        d99, d95, d1 = percentiles(patient, "PTV70", 1, 5, 99)
        assert 58.0 < d99 < d95
        assert 62.0 < d95 < 72.5
        assert 71.0 < d1 < 80.0
        assert patient.dose.max() < 86.0
        means = [patient.dose[patient.structures[name]].mean() for name in TARGETS if name in patient.structures]
        assert means == sorted(means)
        for name, level in TARGETS.items():
            if name in patient.structures:
                assert np.median(patient.dose[patient.structures[name]]) > level


def test_organs_are_spared(patients):
    for patient in patients:
        if "SpinalCord" in patient.structures:
            assert percentiles(patient, "SpinalCord", 99)[0] < 46.0
        for name in ("RightParotid", "LeftParotid"):
            if name in patient.structures:
                assert patient.dose[patient.structures[name]].mean() < 55.0


def test_most_of_the_body_gets_little(patients):
    """In real plans the 25th, 50th and 75th percentile of a typical patient are 2.3, 16.8 and 43.4 Gy."""
    found = np.median([np.percentile(patient.dose[patient.possible], (25, 50, 75)) for patient in patients], axis=0)
    assert 0.01 < found[0] < 10.0
    assert 6.0 < found[1] < 28.0
    assert 25.0 < found[2] < 52.0


def test_nine_beams_make_nine_streaks():
    """A cylinder of water with a target in its middle: around the target the dose goes up and down nine times."""
    i, j = np.indices((81, 81)) - 40
    radius = np.hypot(i, j)[:, :, None] * 3.0
    water = np.repeat(radius < 110.0, 11, axis=2).astype(float)
    target = np.flatnonzero((radius < 12.0) & (abs(np.arange(11) - 5) < 4))
    dose = plan(water, [Aim(target, 70.0, 70.0, 1.0)], spacing=(3.0, 3.0, 3.0), isocentre=(40.0, 40.0, 5.0))
    angles = np.arange(360) * math.pi / 180.0
    x, y = 40.0 + 60.0 / 3.0 * np.cos(angles), 40.0 + 60.0 / 3.0 * np.sin(angles)
    ring = bilinear(x, y, (81, 81)) @ dose[:, :, 5].ravel()
    waves = np.abs(np.fft.rfft(ring - ring.mean()))
    assert int(waves[1:30].argmax()) + 1 == 9
    assert dose.ravel()[target].mean() == pytest.approx(70.0, rel=0.02)


def test_depth_of_a_block_of_water_is_the_way_through_it():
    water = np.ones((40, 30, 4))
    for direction, axis, flip in (((1.0, 0.0), 0, 1), ((-1.0, 0.0), 0, -1), ((0.0, 1.0), 1, 1), ((0.0, -1.0), 1, -1)):
        beam = rays(water, direction, spacing=(2.0, 2.0, 3.0), isocentre=(20.0, 15.0, 2.0), step=1.0)
        depth = beam.depth.reshape(water.shape)
        line = depth[:, 15, 1] if axis == 0 else depth[20, :, 1]
        expected = (np.arange(len(line)) + 0.5) * 2.0
        assert line[::flip][2:-2] == pytest.approx(expected[2:-2], abs=0.6)


def test_depth_counts_water_not_millimetres():
    lung = np.ones((60, 21, 1))
    lung[20:40] = 0.25
    beam = rays(lung, (1.0, 0.0), spacing=(2.0, 2.0, 2.0), isocentre=(30.0, 10.0, 0.0), step=1.0)
    depth = beam.depth.reshape(lung.shape)[:, 10, 0]
    assert depth[55] - depth[5] == pytest.approx(2.0 * (30 + 20 * 0.25), abs=0.7)


def test_rays_fan_out_from_a_source_a_metre_away():
    beam = rays(np.ones((3, 101, 1)), (1.0, 0.0), spacing=(100.0, 1.0, 1.0), isocentre=(1.0, 50.0, 0.0), step=2.0)
    across = beam.across.reshape(3, 101)
    assert across[1, 90] == pytest.approx(-40.0)  # in the plane of the isocentre; positive is to the right of the beam
    assert across[2, 90] == pytest.approx(-40.0 / 1.1)
    assert across[0, 90] == pytest.approx(-40.0 / 0.9)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_fit_is_never_negative_and_finds_what_can_be_found(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(0.0, 1.0, size=(40, 6))
    truth = rng.uniform(0.5, 2.0, size=6)
    dose = matrix @ truth
    aims = [Aim(np.arange(n, n + 1), float(value), float(value), 1.0) for n, value in enumerate(dose)]
    found = fit(lambda w: matrix @ w, lambda v: matrix.T @ v, aims, rounds=3000)
    assert (found >= 0.0).all()
    assert matrix @ found == pytest.approx(dose, rel=0.02)


def test_a_tube_is_as_wide_as_its_knots_say():
    ticks = np.arange(-50.0, 51.0)
    frame = Frame(ticks, ticks, ticks, ("back", "left", "up"))
    tube = frame.tube(((-20.0, 5.0, 0.0, 10.0, 20.0), (20.0, 5.0, 0.0, 30.0, 20.0))) > 0.0
    assert tube.any(axis=(0, 1)).nonzero()[0].tolist() == list(range(30, 71))
    lowest, highest = tube[:, :, 30], tube[:, :, 70]
    assert np.ptp(lowest.any(axis=0).nonzero()[0]) == pytest.approx(20, abs=2)
    assert np.ptp(highest.any(axis=0).nonzero()[0]) == pytest.approx(60, abs=2)
    assert lowest.any(axis=0).nonzero()[0].mean() == pytest.approx(55.0)
    assert np.ptp(highest.any(axis=1).nonzero()[0]) == pytest.approx(40, abs=2)


def test_a_ball_has_its_volume():
    ticks = np.arange(-40.0, 41.0)
    frame = Frame(ticks, ticks, ticks, ("left", "back", "up"))
    ball = frame.ball((3.0, -2.0, 5.0), (12.0, 15.0, 20.0)) > 0.0
    assert ball.sum() == pytest.approx(4.0 / 3.0 * math.pi * 12.0 * 15.0 * 20.0, rel=0.01)
    assert np.argwhere(ball).mean(axis=0) == pytest.approx([43.0, 38.0, 45.0])


# Seeds


def test_a_patient_is_a_function_of_number_and_seed(patients):
    again = openkbp_patient(2)
    assert np.array_equal(again.dose, patients[1].dose)
    assert np.array_equal(again.ct, patients[1].ct)
    assert list(again.structures) == list(patients[1].structures)
    assert not np.array_equal(openkbp_patient(2, seed=1).dose, again.dose)


def test_threads_do_not_change_a_patient(patients):
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(openkbp_patient, (3, 4)))
    assert np.array_equal(together[0].dose, patients[2].dose)
    assert np.array_equal(together[1].dose, patients[3].dose)


# Files


def test_files_are_the_published_ones(tmp_path, patients):
    patient = patients[0]
    assert write_openkbp(tmp_path, [patient]) == ["pt_1"]
    written = {path.name for path in (tmp_path / "pt_1").iterdir()}
    fixed = {"dose.csv", "ct.csv", "possible_dose_mask.csv", "voxel_dimensions.csv"}
    assert written == fixed | {f"{name}.csv" for name in patient.structures}


def test_files_hold_the_patient(tmp_path, patients):
    patient = patients[0]
    write_openkbp(tmp_path, [patient])
    place = tmp_path / "pt_1"
    dose = sparse.read_sparse(place / "dose.csv")
    assert np.array_equal(dose.dense(), patient.dose)
    assert np.array_equal(dose.index, np.flatnonzero(patient.possible)), "every voxel of the mask has a line"
    assert np.array_equal(sparse.read_sparse(place / "ct.csv").dense(), patient.ct)
    assert np.array_equal(sparse.read_mask(place / "possible_dose_mask.csv").dense(), patient.possible)
    for name, mask in patient.structures.items():
        assert np.array_equal(sparse.read_mask(place / f"{name}.csv").dense(), mask)
    assert sparse.read_voxel_dimensions(place / "voxel_dimensions.csv") == patient.spacing
    first = (place / "dose.csv").read_text().splitlines()[:2]
    assert first[0] == ",data"
    assert len(first[1].split(",")[1].split(".")[1]) <= 3


def test_predictions_are_one_file_per_patient(tmp_path, patients):
    write_openkbp_predictions(tmp_path / "team", {p.name: p.dose * 0.5 for p in patients[:2]})
    assert {path.name for path in (tmp_path / "team").iterdir()} == {"pt_1.csv", "pt_2.csv"}
    read = sparse.read_sparse(tmp_path / "team" / "pt_2.csv").dense()
    assert np.array_equal(read.astype(np.float32), (patients[1].dose * 0.5).astype(np.float32))


def test_a_patient_is_not_written_over_another(tmp_path, patients):
    write_openkbp(tmp_path, patients[:1])
    with pytest.raises(FileExistsError, match="pt_1 is not empty"):
        write_openkbp(tmp_path, patients[:1])
