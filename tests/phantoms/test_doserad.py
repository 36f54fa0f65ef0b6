"""Synthetic patients of DoseRAD: single beams, the plan that they make up, and their files."""

from __future__ import annotations

import json
import math
import uuid

import numpy as np
import pytest
import SimpleITK as sitk

from isocenter.phantoms import write_doserad, write_doserad_predictions
from isocenter.phantoms._dose_beams import (
    LEAVES,
    Pencil,
    bragg,
    pencil_dose,
    proton_energy,
    proton_range,
    segment_dose,
)
from isocenter.phantoms._dose_rays import rays
from isocenter.phantoms._doserad import doserad_patient, total
from isocenter.volumes import read

PHOTON, PROTON = {"modality": "photon"}, {"modality": "proton"}


@pytest.fixture(scope="module", params=[PHOTON, PROTON], ids=["photon", "proton"])
def patient(request):
    return doserad_patient(1, **request.param)


@pytest.fixture(scope="module")
def small():
    return [doserad_patient(number, size=(24, 20, 16), beams=4) for number in (1, 2)]


def points(plan):
    return [point for beam in plan["beams"] for point in beam["control_points"]]


def pencils(plan):
    return [(beam, ray, let) for beam in plan["beams"] for ray in beam["rays"] for let in ray["beamlets"]]


# Single beams in water


@pytest.mark.parametrize("energy", [70.0, 100.0, 150.0, 220.0])
def test_protons_peak_at_the_end_of_their_range_and_stop_there(energy):
    """The dose behind the peak is down to 80 % at the range: the definition that the range of a beam is measured by."""
    depth = np.linspace(0.0, 1.25 * proton_range(energy), 20_000)
    dose = bragg(depth, energy)
    peak = int(dose.argmax())
    behind = depth[peak:][dose[peak:] < 0.8 * dose[peak]][0]
    assert behind == pytest.approx(proton_range(energy), rel=0.01)
    assert dose[0] == pytest.approx(1.0, abs=0.01)
    assert 2.0 < dose[peak] < 5.0
    assert dose[depth > 1.12 * proton_range(energy)].max() < 1e-3
    rise = (depth > 0.6 * depth[peak]) & (depth < depth[peak] - 1.0)
    assert (np.diff(dose[rise]) > 0.0).all()
    assert abs(np.diff(dose)).max() < 0.02, "no seam between the two formulas"


def test_range_and_energy_are_inverse():
    assert proton_range(150.0) == pytest.approx(157.0, abs=2.0)  # mm of water, as tables have it
    assert proton_energy(proton_range(123.0)) == pytest.approx(123.0)


@pytest.fixture(scope="module")
def water():
    """A block of water, 120 mm along the beam, 160 mm across."""
    block = np.ones((60, 80, 30))
    beam = rays(block, (1.0, 0.0), spacing=(2.0, 2.0, 3.0), isocentre=(30.0, 40.0, 15.0), step=1.0)
    return block.shape, beam, (np.arange(30) - 15.0) * 3.0


def test_a_pencil_beam_is_narrow_widens_and_ends(water):
    shape, beam, heights = water
    energy = proton_energy(80.0)
    dose = pencil_dose(beam, heights, Pencil(0.0, 0.0, energy)).reshape(shape)
    axis = dose[:, 40, 15]
    assert axis.argmax() == pytest.approx(40, abs=2)
    assert axis[44:].max() < 0.01 * axis.max()

    def sigma(depth):
        profile = dose[depth, :, 15].astype(float)
        return math.sqrt((profile * ((np.arange(80) - 40) * 2.0) ** 2).sum() / profile.sum())

    assert sigma(3) == pytest.approx(4.5, rel=0.1)
    assert sigma(38) > sigma(20) > sigma(3)
    assert sigma(38) < 7.0
    off = pencil_dose(beam, heights, Pencil(20.0, -12.0, energy)).reshape(shape)
    assert np.unravel_index(int(off.sum(axis=0).argmax()), (80, 30)) == (30, 11)


def test_a_segment_is_open_where_its_leaves_are(water):
    shape, beam, heights = water
    left, right = np.zeros(LEAVES), np.zeros(LEAVES)
    left[36:44], right[36:44] = -30.0, 10.0  # 40 mm wide and high, to one side
    dose = segment_dose(beam, heights, left, right).reshape(shape)
    across = dose[30, ::-1, 15]  # positive across is towards smaller indices here
    wide = np.flatnonzero(across > 0.5 * across.max())
    x = (np.arange(80) - 39.0) * 2.0
    assert x[wide[0]] == pytest.approx(-30.0, abs=2.5)
    assert x[wide[-1]] == pytest.approx(10.0, abs=2.5)
    high = np.flatnonzero(dose[30, 44, :] > 0.5 * dose[30, 44, :].max())
    assert heights[high[0]] == pytest.approx(-20.0, abs=3.1)
    assert heights[high[-1]] == pytest.approx(20.0, abs=3.1)
    assert 0.0 < dose[30, 5, 15] < 0.03 * dose[30, 44, 15]


def test_photons_build_up_and_fall_off(water):
    shape, beam, heights = water
    left, right = np.full(LEAVES, -40.0), np.full(LEAVES, 40.0)
    axis = segment_dose(beam, heights, left, right).reshape(shape)[:, 40, 15]
    peak = int(axis.argmax())
    assert 10.0 <= (peak + 0.5) * 2.0 <= 25.0
    assert axis[0] < 0.75 * axis[peak]
    assert axis[peak + 25] / axis[peak] == pytest.approx(math.exp(-0.0046 * 50.0) * (1000 / 1050) ** 2, rel=0.05)


# Patients


def test_grids_are_those_of_the_challenge(patient):
    expected = {"photon": (2.0, 2.0, 2.0), "proton": (1.0, 1.0, 3.0)}
    assert patient.grid.spacing == expected[patient.modality]
    arrays = [patient.image, *patient.beams.values(), *patient.structures.values()]
    assert {array.shape for array in arrays} == {patient.grid.shape}
    assert {beam.dtype for beam in patient.beams.values()} == {np.dtype(np.float32)}


def test_beams_are_small_numbers_and_weights_large_ones(patient):
    for name, beam in patient.beams.items():
        assert 5e-5 < beam.max() < 5e-3
        assert beam.min() >= 0.0
        assert 50.0 < patient.weights[name] < 5e5


def test_the_plan_covers_the_target(patient):
    dose = patient.plan_dose()
    assert np.array_equal(dose, total(patient.beams, patient.weights))
    target = dose[patient.structures[patient.target]] / patient.prescription
    assert target.mean() == pytest.approx(1.02, abs=0.01)
    assert np.percentile(target, 5) > 0.85
    assert np.percentile(target, 98) < 1.2
    outside = dose[~patient.structures[patient.target]]
    assert np.median(outside) < 0.3 * patient.prescription


def test_there_are_five_organs_or_more(patient):
    assert patient.target in patient.structures
    assert len(patient.structures) >= 6
    assert all(mask.any() for mask in patient.structures.values())


def test_no_dose_in_the_air_around_the_patient(patient):
    assert not patient.plan_dose()[:, 0, :].any()
    assert patient.image[:, 0, :].mean() == pytest.approx(-1000, abs=5)


def test_uuids_are_uuids_and_each_belongs_to_one_beam(patient):
    names = list(patient.beams)
    assert all(str(uuid.UUID(name)) == name for name in names)
    listed = (
        [point["cp_uuid"] for point in points(patient.plan)]
        if patient.modality == "photon"
        else [let["beamlet_uuid"] for *_, let in pencils(patient.plan)]
    )
    assert len(set(names)) == len(names)
    assert sorted(listed) == sorted(names)
    assert set(patient.weights) == set(patient.directions) == set(names)


def test_photon_plans_have_the_published_fields():
    patient = doserad_patient(2, beams=7)
    for beam in patient.plan["beams"]:
        assert set(beam) == {"beam_idx", "SAD", "iso_center", "num_mlc_leaf_pairs", "control_points"}
    for point in points(patient.plan):
        assert set(point) == {"cp_idx", "gantry_angle", "mlc_left_int_mm", "mlc_right_int_mm", "cp_uuid"}
        left, right = point["mlc_left_int_mm"], point["mlc_right_int_mm"]
        assert len(left) == len(right) == 80
        assert all(isinstance(value, int) for value in (*left, *right))
        assert all(a <= b for a, b in zip(left, right, strict=True))
        angle = math.radians(point["gantry_angle"])
        assert patient.directions[point["cp_uuid"]] == pytest.approx((-math.sin(angle), math.cos(angle), 0.0))
    assert len(points(patient.plan)) == 7


def test_proton_plans_have_the_published_fields():
    patient = doserad_patient(2, **PROTON)
    assert set(patient.plan) == {"SAD", "beams"}
    assert 48 < len(patient.beams) <= 96
    for beam, ray, let in pencils(patient.plan):
        assert set(beam) == {"beam_idx", "gantry_angle", "iso_center", "rays"}
        assert set(ray) == {"ray_idx", "ray_source", "ray_target", "beamlets"}
        assert 30.0 < let["energy"] < 250.0
        way = np.subtract(ray["ray_target"], ray["ray_source"])
        assert way[2] == 0.0, "a ray stays in its axial plane"
        assert patient.directions[let["beamlet_uuid"]] == pytest.approx(way / np.linalg.norm(way))


def test_a_beam_goes_where_its_direction_says(patient):
    """The further along, the less dose for photons; protons end between the skin and the far side of the target."""
    grid = patient.grid
    axes = [o + s * np.arange(n) for o, s, n in zip(grid.origin, grid.spacing, grid.shape, strict=True)]
    x, y, _ = np.meshgrid(*axes, indexing="ij")
    target = patient.structures[patient.target]
    for name, beam in list(patient.beams.items())[::5]:
        dx, dy, _ = patient.directions[name]
        along = x * dx + y * dy
        first, last = along[target].min(), along[target].max()
        before, behind = beam[along < first - 4.0], beam[along > last + 8.0]
        assert before.max() > 0.2 * beam.max()
        if patient.modality == "proton":
            assert behind.sum() < 0.5 * beam.sum()
        else:
            assert behind.max() < before.max()


def test_ct_and_mr_show_the_same_patient():
    ct, mr = (doserad_patient(3, image=kind, size=(30, 24, 16), beams=4) for kind in ("ct", "mr"))
    assert list(ct.beams) == list(mr.beams)
    assert all(np.array_equal(ct.beams[name], mr.beams[name]) for name in ct.beams)
    assert ct.image.min() < -900
    assert mr.image.min() >= 0


def test_chests_and_abdomens_occur_and_have_their_prescriptions():
    found = {p.region: p for p in (doserad_patient(n, size=(24, 20, 16), beams=3) for n in range(1, 9))}
    assert found["thorax"].prescription == 70.0
    assert found["abdomen"].prescription == 60.0
    assert {"Lung_L", "Lung_R", "Heart", "Esophagus", "SpinalCord"} <= set(found["thorax"].structures)
    assert {"Liver", "Kidney_L", "Kidney_R", "Stomach", "SpinalCord"} <= set(found["abdomen"].structures)


def test_a_patient_is_a_function_of_number_and_seed(small):
    again = doserad_patient(1, size=(24, 20, 16), beams=4)
    assert list(again.beams) == list(small[0].beams)
    assert again.weights == small[0].weights
    assert all(np.array_equal(again.beams[name], small[0].beams[name]) for name in again.beams)
    other = doserad_patient(1, size=(24, 20, 16), beams=4, seed=1)
    assert set(other.beams).isdisjoint(again.beams)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"beams": 0}, "at least 1 beams, not 0"),
        ({"modality": "proton", "beams": 2}, "at least 3 beams, not 2"),
        ({"size": (60, 50, 4)}, "16 voxels along each axis, not 60×50×4"),
    ],
)
def test_what_cannot_be_made_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        doserad_patient(1, **wrong)


# Files


def test_the_package_holds_the_patient(tmp_path, small):
    names = write_doserad(tmp_path, small)
    assert names == [patient.name for patient in small]
    patient, place = small[0], tmp_path / small[0].name
    case = json.loads((place / "case.json").read_text())
    assert case["prescription_dose_gy"] == patient.prescription
    assert case["structure_names"][case["ptv_index"]] == "PTV"
    assert sorted([case["ptv_index"], *case["oar_indices"]]) == list(range(len(patient.structures)))
    assert {beam["uuid"]: beam["weight"] for beam in case["beams"]} == patient.weights
    assert json.loads((place / f"{patient.name}.json").read_text()) == patient.plan
    masks = np.load(place / "structures.npy", allow_pickle=False)
    assert masks.dtype == np.uint8
    for number, mask in enumerate(patient.structures.values()):
        assert np.array_equal(masks[..., number].transpose().astype(bool), mask)
    image = read(place / "image" / "ct.mha")
    assert image.grid.same_as(patient.grid)
    assert np.array_equal(image.array, patient.image)


def test_the_stack_is_beam_z_y_x_in_the_order_of_the_case(tmp_path, small):
    patient = small[0]
    write_doserad(tmp_path, [patient])
    image = sitk.ReadImage(str(tmp_path / patient.name / "gt_beam_doses.mha"))
    assert image.GetSize() == (*patient.grid.shape, 4)
    assert image.GetPixelID() == sitk.sitkFloat32
    assert image.GetSpacing()[:3] == patient.grid.spacing
    assert image.GetOrigin()[:3] == pytest.approx(patient.grid.origin)
    stack = sitk.GetArrayFromImage(image)
    case = json.loads((tmp_path / patient.name / "case.json").read_text())
    for frame, beam in zip(stack, case["beams"], strict=True):
        assert np.array_equal(frame.transpose(), patient.beams[beam["uuid"]])


def test_the_plain_layout_has_a_file_per_beam(tmp_path, small):
    write_doserad(tmp_path, small[:1], layout="plain")
    place = tmp_path / small[0].name
    assert not (place / "gt_beam_doses.mha").exists()
    assert {path.stem for path in (place / "beams").iterdir()} == set(small[0].beams)
    name, beam = next(iter(small[0].beams.items()))
    assert np.array_equal(read(place / "beams" / f"{name}.mha").array, beam)


def test_plain_predictions(tmp_path, small):
    write_doserad_predictions(tmp_path, [(patient, patient.beams) for patient in small])
    for patient in small:
        assert {path.name for path in (tmp_path / patient.name).iterdir()} == {f"{name}.mha" for name in patient.beams}


@pytest.mark.parametrize("modality", ["photon", "proton"])
def test_on_the_platform_every_beam_is_where_the_metadata_say(tmp_path, modality):
    made = [doserad_patient(n, modality=modality, size=(24, 20, 16), beams=6) for n in (1, 2)]
    write_doserad_predictions(tmp_path, [(patient, patient.beams) for patient in made], layout="platform")
    stacks = [
        sitk.GetArrayFromImage(
            sitk.ReadImage(str(tmp_path / "images" / f"stacked-radiation-dose-map-{n}" / "output.mha"))
        )
        for n in range(1, 11)
    ]
    assert all(stack.size == 1 for stack in stacks[2:])
    metadata = json.loads((tmp_path / f"stacked-{modality}-beam-level-metadata.json").read_text())
    assert [entry["image_file_idx"] for entry in metadata] == [0, 1]
    for patient, entry in zip(made, metadata, strict=True):
        assert entry["anatomical_region"] in {"thoracic", "abdominal"}
        single = points(entry) if modality == "photon" else [let for *_, let in pencils(entry)]
        assert len(single) == len(patient.beams)
        for beam in single:
            info = beam["output_info"]
            frame = stacks[info["output_file_idx"]][info["idx_in_output"]]
            name = beam["cp_uuid" if modality == "photon" else "beamlet_uuid"]
            assert np.array_equal(frame.transpose(), patient.beams[name])
    assert "output_info" not in json.dumps(made[0].plan), "the plan of the patient itself is left as it is"


def test_the_platform_takes_ten_patients_of_one_kind(tmp_path, small):
    pair = (small[0], small[0].beams)
    with pytest.raises(ValueError, match="1 to 10 patients"):
        write_doserad_predictions(tmp_path, [pair] * 11, layout="platform")
    with pytest.raises(ValueError, match="1 to 10 patients"):
        write_doserad_predictions(tmp_path, [], layout="platform")
    assert not list(tmp_path.iterdir())


def test_a_patient_is_not_written_over_another(tmp_path, small):
    write_doserad(tmp_path, small[:1])
    with pytest.raises(FileExistsError, match="is not empty"):
        write_doserad(tmp_path, small[:1])
