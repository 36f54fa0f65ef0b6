"""Synthetic radiologists: what they mark, and how often they are right."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.metrics import Mark, auroc, lesions, match_points, patient_call
from isocenter.phantoms import READERS, TEAMS_PICAI, ExamReader, detect, prostate_exam, read_exam

NUMBERS = range(1, 201)
SHARP = ExamReader(name="sharp", expert=True, error=0.0, threshold=-100.0, false_alarms=0.0, aim=0.0)


@pytest.fixture(scope="module")
def exams():
    return {number: prostate_exam(number) for number in NUMBERS}


@pytest.fixture(scope="module")
def truth(exams):
    return np.array([bool(exam.lesions.array.any()) for exam in exams.values()])


@pytest.fixture(scope="module")
def readings(exams):
    return {reader.name: [read_exam(exam, reader, number=n) for n, exam in exams.items()] for reader in READERS}


@pytest.fixture(scope="module")
def rows(exams, readings):
    """`match_points` refuses more than four marks, PI-RADS other than 3 to 5, and marks outside the image."""
    truths = [(lesions(exam.lesions.array), exam.grid) for exam in exams.values()]
    return {
        name: [match_points(made.marks, label, grid=grid) for made, (label, grid) in zip(read, truths, strict=True)]
        for name, read in readings.items()
    }


def of(values, expert):
    return [values[reader.name] for reader in READERS if reader.expert is expert]


def sensitivity(cases):
    return np.mean([row.confidence > 0 for case in cases for row in case if row.is_lesion])


def test_half_of_six_readers_are_experts():
    assert len({reader.name for reader in READERS}) == 6
    assert [reader.expert for reader in READERS].count(True) == 3


def test_scores_tell_patients_apart_and_those_of_experts_better(truth, readings):
    areas = {name: auroc(truth, [made.score for made in read]) for name, read in readings.items()}
    assert np.mean(of(areas, True)) == pytest.approx(0.88, abs=0.03)
    assert np.mean(of(areas, False)) == pytest.approx(0.80, abs=0.04)
    assert min(of(areas, True)) > max(of(areas, False))


def test_experts_find_nine_lesions_of_ten_and_others_three_of_four(rows):
    found = {name: sensitivity(cases) for name, cases in rows.items()}
    assert np.mean(of(found, True)) == pytest.approx(0.9, abs=0.04)
    assert np.mean(of(found, False)) == pytest.approx(0.75, abs=0.05)


def test_a_higher_operating_point_trades_sensitivity_for_specificity(truth, readings):
    for read in readings.values():
        calls = np.array([[patient_call(made.marks, threshold=t) for made in read] for t in (3, 4, 5)])
        sensitivities, specificities = calls[:, truth].mean(axis=1), 1.0 - calls[:, ~truth].mean(axis=1)
        assert (np.diff(sensitivities) < -0.05).all()
        assert (np.diff(specificities) > 0.05).all()
        assert sensitivities[0] > 0.8
        assert specificities[1] > 0.65


def test_marks_are_at_most_four_in_order_of_suspicion_and_to_a_hundredth_of_a_millimetre(readings):
    everything = [made for read in readings.values() for made in read]
    assert max(len(made.marks) for made in everything) == 4
    for made in everything:
        assert [mark.pirads for mark in made.marks] == sorted((mark.pirads for mark in made.marks), reverse=True)
        assert all(isinstance(mark, Mark) and round(x, 2) == x for mark in made.marks for x in mark.position)
    assert {mark.pirads for made in everything for mark in made.marks} == {3, 4, 5}


def test_the_score_goes_from_0_to_100_and_is_low_without_a_mark(readings):
    everything = [made for read in readings.values() for made in read]
    assert all(type(made.score) is int and 0 <= made.score <= 100 for made in everything)
    unmarked = [made.score for made in everything if not made.marks]
    assert max(unmarked) <= 30
    assert np.median(unmarked) < 20
    assert np.median([made.score for made in everything if made.marks]) > 50


def test_a_perfect_aim_hits_the_middle_of_every_finding_in_the_patient(exams):
    """World coordinates: the grids are oblique and lie in different places."""
    for number in range(1, 25):
        exam = exams[number]
        made = read_exam(exam, SHARP, number=number)
        found = match_points(made.marks, exam.lesions.array, grid=exam.grid, max_marks=None)
        missed = [row for row in found if row.is_lesion and row.confidence == 0]
        assert len(made.marks) == min(len(exam.findings), 4)
        assert not missed
        assert all(row.distance < 0.5 for row in found if row.is_lesion)


def test_readers_mistake_what_algorithms_mistake(exams, truth, readings):
    """Both look at the same exams, of which some are hard."""
    told = np.array([detect(exam, TEAMS_PICAI[0], number=n).likelihood for n, exam in exams.items()])
    for reader in READERS:
        scores = np.array([made.score for made in readings[reader.name]])
        for part in (truth, ~truth):
            assert np.corrcoef(told[part], scores[part])[0, 1] > 0.15


def test_habits_are_the_readers_own(exams):
    """A cautious reader marks all that a bold one marks, and never with fewer PI-RADS."""
    bold = dataclasses.replace(READERS[0], threshold=0.5, false_alarms=0.0)
    cautious = dataclasses.replace(bold, threshold=-0.5)
    more = 0
    for number in range(1, 60):
        few, many = (read_exam(exams[number], reader, number=number).marks for reader in (bold, cautious))
        assert [mark.position for mark in few] == [mark.position for mark in many[: len(few)]]
        assert all(a.pirads <= b.pirads for a, b in zip(few, many, strict=False))
        more += len(many) - len(few)
    assert more >= 15


def test_the_same_reader_exam_and_seed_give_the_same_reading(exams):
    one = read_exam(exams[7], READERS[3], number=7)
    assert read_exam(exams[7], READERS[3], number=7) == one
    assert read_exam(exams[7], READERS[3], number=7, seed=1) != one
    assert read_exam(exams[7], READERS[1], number=7) != one


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 8.0), st.floats(-5.0, 1.0), st.floats(0.0, 6.0), st.floats(0.0, 50.0))
def test_even_the_poorest_reader_marks_points_in_the_image(number, error, threshold, false_alarms, aim):
    reader = ExamReader(name="any", expert=False, error=error, threshold=threshold, false_alarms=false_alarms, aim=aim)
    exam = prostate_exam(number)
    made = read_exam(exam, reader, number=number)
    match_points(made.marks, exam.lesions.array, grid=exam.grid)
    assert 0 <= made.score <= 100
