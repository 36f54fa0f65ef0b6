"""Synthetic observers: they disagree as experts do, with each other more than with themselves."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from isocenter.metrics import dice
from isocenter.phantoms import OBSERVERS, Observer, head_and_neck, observe
from isocenter.phantoms._lung import lung_tumour
from isocenter.phantoms._observers import lesions_of, redraw
from isocenter.volumes import Grid, Volume

CASES = range(1, 22)  # as many scans as the contest's study had
EXACT = Observer(name="exact", reading=0.0, repeat=0.0)


@pytest.fixture(scope="module")
def truths():
    return {number: lung_tumour(number) for number in CASES}


@pytest.fixture(scope="module")
def drawn(truths):
    """Masks by case, observer and session."""
    found = {number: lesions_of(truth) for number, truth in truths.items()}
    return {
        (n, o.name, repeat): redraw(found[n], o, grid=truths[n].grid, number=n, seed=0, repeat=repeat).array > 0
        for n in CASES
        for o in OBSERVERS
        for repeat in (0, 1)
    }


def test_there_are_six_and_each_has_a_name():
    assert len({observer.name for observer in OBSERVERS}) == 6


def test_two_observers_agree_as_in_the_contest(drawn):
    """Mean Dice over 15 pairs and 21 scans; 0.80 with a standard deviation of 0.04 over pairs is published."""
    pairs = list(itertools.combinations([observer.name for observer in OBSERVERS], 2))
    means = [np.mean([dice(drawn[n, a, 0], drawn[n, b, 0]) for n in CASES]) for a, b in pairs]
    assert np.mean(means) == pytest.approx(0.80, abs=0.02)
    assert 0.01 < np.std(means, ddof=1) < 0.05


def test_an_observer_agrees_better_with_himself(drawn):
    """0.83 and 0.87 are published for one expert."""
    means = {o.name: np.mean([dice(drawn[n, o.name, 0], drawn[n, o.name, 1]) for n in CASES]) for o in OBSERVERS}
    assert np.mean(list(means.values())) == pytest.approx(0.88, abs=0.025)
    assert min(means, key=means.get) == "Observer E"  # the one who is less steady
    assert max(means, key=means.get) == "Observer C"


def test_each_observer_has_a_style_of_size(drawn):
    sizes = {o.name: np.mean([np.log(np.count_nonzero(drawn[n, o.name, 0])) for n in CASES]) for o in OBSERVERS}
    assert max(sizes, key=sizes.get) == "Observer D"
    assert min(sizes, key=sizes.get) == "Observer C"


def test_a_volume_bias_is_one_of_the_volume(truths):
    large = [number for number in CASES if np.count_nonzero(truths[number].array) > 1000]
    assert len(large) > 5
    for bias in (-0.3, 0.4):
        other = dataclasses.replace(EXACT, volume_bias=bias)
        ratios = [
            np.count_nonzero(observe(truths[n], other, number=n).array) / np.count_nonzero(truths[n].array)
            for n in large
        ]
        assert np.mean(ratios) == pytest.approx(1.0 + bias, abs=0.12)


def test_what_is_read_into_a_case_stays_and_only_the_session_differs(truths):
    steady = Observer(name="steady", reading=2.0, repeat=0.0)
    first, second = (observe(truths[2], steady, number=2, repeat=repeat).array for repeat in (0, 1))
    assert np.array_equal(first, second)
    assert (first != truths[2].array).any()
    shaky = dataclasses.replace(steady, reading=0.0, repeat=2.0)
    first, second = (observe(truths[2], shaky, number=2, repeat=repeat).array for repeat in (0, 1))
    assert (first != second).any()


def test_an_observer_without_error_draws_the_truth(truths):
    for number in (1, 2, 3):
        assert np.array_equal(observe(truths[number], EXACT, number=number).array, truths[number].array)


def test_the_same_observer_case_session_and_seed_give_the_same_drawing(truths, drawn):
    again = observe(truths[5], OBSERVERS[2], number=5)
    assert np.array_equal(again.array > 0, drawn[5, "Observer C", 0])
    assert (observe(truths[5], OBSERVERS[2], number=5, seed=1).array != again.array).any()
    assert (observe(truths[5], OBSERVERS[2], number=6).array != again.array).any()


def test_no_observer_overlooks_a_lesion_however_small():
    labels = np.zeros((20, 20, 20), np.uint8)
    labels[10, 10, 10], labels[3, 3, 3] = 1, 2
    truth = Volume(labels, Grid(labels.shape, (2.0, 2.0, 2.0)))
    tight = Observer(name="tight", volume_bias=-0.9)
    for number in range(5):
        found = observe(truth, tight, number=number).array
        assert found[10, 10, 10] == 1
        assert found[3, 3, 3] == 2


def test_tumours_and_nodes_of_the_neck_can_be_observed_too():
    truth = head_and_neck(2)
    found = observe(truth, OBSERVERS[0], number=2)
    assert set(np.unique(found.array)) == set(np.unique(truth.array))
    assert found.grid == truth.grid
    assert dice(found.array > 0, truth.array > 0) > 0.8


def test_an_empty_truth_has_nothing_to_draw():
    grid = Grid((8, 8, 8))
    assert not observe(Volume(np.zeros(grid.shape, np.uint8), grid), OBSERVERS[0], number=1).array.any()
