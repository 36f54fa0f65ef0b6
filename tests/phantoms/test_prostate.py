"""Synthetic exams of the prostate: plausible, and the same for ever."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from isocenter.metrics import components
from isocenter.phantoms import prostate_exam
from isocenter.phantoms._fields import coordinates, middle
from isocenter.phantoms._prostate_findings import near

WHOLE = (slice(0, 120), slice(0, 120), slice(0, 20))
NUMBERS = range(1, 151)
TOUCHING = np.ones((3, 3, 3))
IMAGES = ("t2w", "adc", "hbv", "dce")


@pytest.fixture(scope="module")
def exams():
    return {number: prostate_exam(number) for number in NUMBERS}


def points(exam):
    """Millimetres from the middle of the image, LPS."""
    return coordinates(exam.grid, WHOLE) - middle(exam.grid)[:, None, None, None]


def test_all_volumes_are_on_one_grid_and_have_their_types():
    exam = prostate_exam(2)
    assert exam.grid.shape == (120, 120, 20)
    assert exam.grid.spacing == (0.5, 0.5, 3.0)
    images = [getattr(exam, name) for name in IMAGES]
    assert [v.array.dtype for v in images] == [np.float32] * 4
    assert [v.array.dtype for v in (exam.lesions, exam.mimics)] == [np.uint8] * 2
    assert {v.grid for v in (*images, exam.lesions, exam.mimics)} == {exam.grid}


def test_the_first_exams_never_change(exams):
    """A cohort that was written last year is the one that is written today."""
    assert exams[1].facts == {"center": "Cedar", "vendor": "B", "isup": "2", "psa": "6.7", "age": "68"}
    assert exams[2].facts == {"center": "Alder", "vendor": "B", "isup": "4", "psa": "16.2", "age": "73"}
    assert exams[3].facts == {"center": "Alder", "vendor": "B", "isup": "0", "psa": "4.6", "age": "67"}


def test_the_first_images_never_change(exams):
    """Every image has random numbers of its own: a new one would change none of these."""
    at = {name: float(image.array[60, 60, 10]) for name, image in exams[2].images().items()}
    assert at == pytest.approx({"t2w": 324.429, "adc": 868.317, "hbv": 226.435, "dce": 447.198}, abs=1e-3)
    means = {name: float(image.array.mean(dtype=float)) for name, image in exams[1].images().items()}
    assert means == pytest.approx({"t2w": 387.628, "adc": 1151.565, "hbv": 83.188, "dce": 258.798}, abs=1e-3)


def test_the_same_number_and_seed_give_the_same_exam(exams):
    again = prostate_exam(7)
    for name in ("lesions", "mimics", *IMAGES):
        assert getattr(again, name).array.tobytes() == getattr(exams[7], name).array.tobytes()
    assert (again.grid, again.facts) == (exams[7].grid, exams[7].facts)
    other = prostate_exam(7, seed=1)
    assert other.grid != again.grid
    assert (other.t2w.array != again.t2w.array).any()


def test_no_image_depends_on_which_was_made_first():
    one, other = prostate_exam(4), prostate_exam(4)
    first = {name: getattr(one, name) for name in IMAGES}
    second = {name: getattr(other, name) for name in reversed(IMAGES)}
    together = one.images()
    assert tuple(together) == IMAGES
    for name in IMAGES:
        assert np.array_equal(first[name].array, second[name].array)
        assert np.array_equal(first[name].array, together[name].array)


def test_about_a_third_of_the_exams_have_one_to_three_significant_lesions(exams):
    counts = [components(exam.lesions.array > 0)[1] for exam in exams.values()]
    assert np.mean([count > 0 for count in counts]) == pytest.approx(0.35, abs=0.08)
    assert set(counts) == {0, 1, 2, 3}
    assert counts.count(1) > counts.count(2) > counts.count(3)


def test_every_lesion_has_one_grade(exams):
    for exam in exams.values():
        numbers, count = components(exam.lesions.array > 0)
        for number in range(1, count + 1):
            (grade,) = set(exam.lesions.array[numbers == number].tolist())
            assert grade in {2, 3, 4, 5}


def test_the_facts_agree_with_the_labels(exams):
    for exam in exams.values():
        assert set(exam.facts) == {"center", "vendor", "isup", "psa", "age"}
        highest = int(exam.lesions.array.max())
        if highest == 0 and (exam.mimics.array == 3).any():
            highest = 1
        assert exam.facts["isup"] == str(highest)
        assert 45 <= int(exam.facts["age"]) <= 85
        assert 1.0 <= float(exam.facts["psa"]) < 100.0


def test_all_centres_vendors_grades_and_kinds_of_mimics_occur(exams):
    for fact, values in (("center", {"Alder", "Birch", "Cedar"}), ("vendor", {"A", "B"}), ("isup", set("012345"))):
        assert {exam.facts[fact] for exam in exams.values()} == values
    assert set(itertools.chain(*(np.unique(exam.mimics.array).tolist() for exam in exams.values()))) == {0, 1, 2, 3}


def test_patients_with_cancer_have_more_psa(exams):
    psa = {True: [], False: []}
    for exam in exams.values():
        psa[bool(exam.lesions.array.any())].append(float(exam.facts["psa"]))
    assert np.median(psa[True]) > np.median(psa[False]) + 1.0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_every_finding_is_one_piece_and_no_two_touch(number, seed):
    exam = prostate_exam(number, seed=seed)
    lesions, mimics = exam.lesions.array > 0, exam.mimics.array > 0
    significant = sum(finding.grade >= 2 for finding in exam.findings)
    assert components(lesions)[1] == significant
    assert components(mimics)[1] == len(exam.findings) - significant
    assert not (mimics & ndimage.binary_dilation(lesions, structure=TOUCHING)).any()


def test_the_inside_of_a_shape_is_where_its_depth_is_positive(exams):
    for exam in list(exams.values())[:12]:
        for finding in exam.findings:
            _, at = near(exam.grid, finding.shape, reach=2.0)
            assert finding.shape.inside(at).any()
            assert np.array_equal(finding.shape.inside(at), finding.shape.depth(at) > 0.0)


def test_the_share_of_a_shape_follows_from_its_depth(exams):
    for exam in list(exams.values())[:6]:
        for shape in (exam.gland.whole, *(finding.shape for finding in exam.findings)):
            _, at = near(exam.grid, shape, reach=2.0)
            expected = (0.5 + shape.depth(at) * float(shape.axes.min()) / 2.0).clip(0.0, 1.0)
            assert np.array_equal(shape.share(at), expected)


def test_the_volume_of_the_gland_is_that_of_its_voxels(exams):
    for exam in list(exams.values())[:6]:
        voxels = np.count_nonzero(exam.gland.whole.inside(points(exam)))
        assert exam.gland_volume == pytest.approx(voxels * exam.grid.voxel_volume / 1000.0, rel=0.01)


def test_lesions_are_of_a_size_that_is_seen_and_never_at_the_border(exams):
    sizes = []
    for exam in exams.values():
        numbers, count = components(exam.lesions.array > 0)
        sizes += (np.bincount(numbers.ravel(), minlength=count + 1)[1:] * exam.grid.voxel_volume / 1000.0).tolist()
        inner = exam.lesions.array[1:-1, 1:-1, 1:-1]
        assert np.count_nonzero(inner) == np.count_nonzero(exam.lesions.array)
    assert min(sizes) > 0.05
    assert max(sizes) < 8.0
    assert 0.4 < np.median(sizes) < 2.0


def test_exams_lie_in_different_places_and_are_slightly_oblique(exams):
    origins = {exam.grid.origin for exam in exams.values()}
    assert len(origins) == len(exams)
    tilts = [np.degrees(np.arccos(exam.grid.direction[8])) for exam in exams.values()]
    assert 2.0 < np.median(tilts) < 8.0
    assert max(tilts) < 13.0


def test_the_peripheral_zone_is_bright_and_the_transition_zone_darker(exams):
    for exam in list(exams.values())[:8]:
        free = (exam.lesions.array == 0) & (exam.mimics.array == 0)
        whole, transition = (shape.depth(points(exam)) for shape in (exam.gland.whole, exam.gland.transition))
        inner, outer = transition > 0.15, (whole > 0.1) & (transition < -0.1)
        assert np.median(exam.t2w.array[outer & free]) > 1.3 * np.median(exam.t2w.array[inner & free])
        assert np.median(exam.adc.array[outer & free]) > 1.1 * np.median(exam.adc.array[inner & free])
        assert exam.t2w.array.min() >= 0.0


@pytest.mark.parametrize(("image", "sign"), [("adc", -1), ("hbv", 1), ("dce", 1)])
def test_a_conspicuous_lesion_stands_out_from_what_surrounds_it(exams, image, sign):
    """By more in conspicuous ones: readers and algorithms see what is in the image."""
    contrast, conspicuity = [], []
    for exam in exams.values():
        if [finding.mimic for finding in exam.findings] != [0]:
            continue
        inside = exam.lesions.array > 0
        shell = ndimage.binary_dilation(inside, structure=np.ones((9, 9, 1))) & ~inside
        shell &= exam.gland.whole.depth(points(exam)) > 0.1
        values = getattr(exam, image).array
        contrast.append(sign * np.log(np.median(values[inside]) / np.median(values[shell])))
        conspicuity.append(exam.findings[0].conspicuity)
    assert len(contrast) > 8
    assert min(contrast) > 0.0
    assert np.corrcoef(contrast, conspicuity)[0, 1] > 0.6


def test_the_high_b_value_image_is_what_the_diffusion_coefficient_leaves_of_the_signal(exams):
    """S = S0·exp(−b·ADC), b = 1400 s/mm², in lesions as elsewhere in the gland; on the mean, as both are noisy."""
    checked = 0
    for exam in list(exams.values())[:10]:
        left = np.exp(-1400.0 * 1e-6 * exam.adc.array.astype(float))
        gland = exam.gland.whole.depth(points(exam)) > 0.1
        for where in (exam.lesions.array > 0, exam.lesions.array == 0):
            if (where & gland).any():
                assert exam.hbv.array[where & gland].mean() == pytest.approx(
                    1000.0 * left[where & gland].mean(), rel=0.03
                )
                checked += 1
    assert checked > 12


def test_vendor_b_is_noisier(exams):
    """In a corner, where there is no tissue of interest."""
    noise = {"A": [], "B": []}
    for exam in list(exams.values())[:24]:
        noise[exam.facts["vendor"]].append(np.diff(exam.adc.array[:10, :10], axis=0).std())
    assert min(noise["B"]) > max(noise["A"])
