"""Synthetic teams: what they get wrong, and how much."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from isocenter.metrics import dice
from isocenter.phantoms import TEAMS, Team, head_and_neck, segment
from isocenter.phantoms._fields import bounds, pieces, signed_distance
from isocenter.phantoms._teams import draw, targets
from isocenter.volumes import Grid, Volume

CASES = range(1, 25)
PERFECT = Team(name="perfect", boundary=0.0)


@pytest.fixture(scope="module")
def truths():
    return {number: head_and_neck(number) for number in CASES}


@pytest.fixture(scope="module")
def outputs(truths):
    found = {number: targets(truth) for number, truth in truths.items()}
    return {
        team.name: {n: draw(found[n], team, grid=truths[n].grid, number=n, seed=0) for n in CASES} for team in TEAMS
    }


@pytest.fixture(scope="module")
def scores(truths, outputs):
    return {
        team: {n: dice(truths[n].array > 0, made.array > 0) for n, made in made_of.items() if made is not None}
        for team, made_of in outputs.items()
    }


def mean(values):
    return sum(values.values()) / len(values)


def test_skill_is_graded_from_very_good_to_poor(scores):
    ladder = [mean(scores[name]) for name in ("Aare", "Doubs", "Inn", "Thur")]
    assert all(better > worse + 0.03 for better, worse in itertools.pairwise(ladder))
    assert ladder[0] == pytest.approx(0.86, abs=0.04)
    assert ladder[-1] == pytest.approx(0.60, abs=0.06)


def test_cases_differ_within_a_team_and_are_hard_for_all(scores):
    steady = [name for name in scores if len(scores[name]) == len(CASES)]
    assert all(np.std(list(scores[name].values())) > 0.05 for name in steady)
    table = np.array([list(scores[name].values()) for name in steady])
    correlation = np.corrcoef(table)[np.triu_indices(len(steady), 1)]
    assert correlation.mean() > 0.2


def test_small_lesions_score_worse():
    """One lesion alone, a small and a large ball, the same error in millimetres."""
    grid = Grid((48, 48, 48), (2.0, 2.0, 2.0))
    distance = np.linalg.norm((np.indices(grid.shape) - 23.5) * 2.0, axis=0)
    team = Team(name="steady", boundary=2.5)
    found = {}
    for radius in (7.0, 28.0):
        truth = Volume((distance < radius).astype(np.uint8), grid)
        drawn = [segment(truth, team, number=number) for number in range(12)]
        found[radius] = np.mean([dice(truth.array > 0, made.array > 0) for made in drawn])
    assert found[7.0] < found[28.0] - 0.1


def test_one_team_leaves_out_about_a_quarter_of_the_cases(scores):
    assert 3 <= len(CASES) - len(scores["Reuss"]) <= 9
    assert all(len(scores[team.name]) == len(CASES) for team in TEAMS if team.name != "Reuss")


def test_twelve_cases_hold_three_without_an_output(outputs):
    assert [outputs["Reuss"][number] is None for number in range(1, 13)].count(True) == 3


def test_the_teams_are_named_once_and_one_is_the_organisers(scores):
    assert len({team.name for team in TEAMS}) == len(TEAMS) >= 6
    assert [team.role for team in TEAMS].count("organiser") == 1


def test_an_output_keeps_the_grid_and_the_labels(truths, outputs):
    for made_of in outputs.values():
        for number, made in made_of.items():
            if made is not None:
                assert made.array.dtype == np.uint8
                assert made.grid == truths[number].grid
                assert set(np.unique(made.array)) <= {0, 1, 2}


def test_tumours_and_nodes_keep_their_names(truths, outputs):
    """Where a team and the truth both see a lesion, they nearly always agree which."""
    agree = total = 0
    for number, made in outputs["Aare"].items():
        both = (truths[number].array > 0) & (made.array > 0)
        agree += np.count_nonzero(truths[number].array[both] == made.array[both])
        total += np.count_nonzero(both)
    assert agree > 0.99 * total


def test_mistakes_are_bulges_and_dents_not_speckles(truths, outputs):
    """Nearly everything drawn hangs together with a true lesion, and a lesion is drawn without holes."""
    for number in CASES:
        made = outputs["Inn"][number].array > 0
        hanging = sum(piece.sum() for piece in pieces(made[bounds(made)]) if piece.sum() >= 10)
        assert hanging >= 0.97 * made.sum()
        lesion = truths[number].array == 1
        deep = signed_distance(lesion[bounds(lesion, (1, 1, 1))], (2.0, 2.0, 2.0)) > 12.0
        assert (outputs["Aare"][number].array[bounds(lesion, (1, 1, 1))][deep] > 0).all()


def test_the_boundary_is_displaced_by_the_millimetres_that_the_team_declares():
    """On a flat boundary, which has no size of its own to temper the error."""
    grid = Grid((60, 60, 40), (1.0, 1.0, 1.0))
    truth = Volume((np.indices(grid.shape)[2] < 20).astype(np.uint8), grid)
    team = Team(name="declared", boundary=2.0)
    heights = [segment(truth, team, number=number).array.sum(axis=2) - 20.0 for number in range(40)]
    assert np.sqrt(np.mean(np.square(heights))) == pytest.approx(2.0, rel=0.25)


def test_a_team_without_error_hands_in_the_truth(truths):
    for number in (1, 5, 9):
        assert np.array_equal(segment(truths[number], PERFECT, number=number).array, truths[number].array)


def test_a_volume_bias_is_one_of_the_volume(truths):
    large = [number for number in CASES if np.count_nonzero(truths[number].array) > 2000]
    for bias in (-0.3, 0.4):
        team = dataclasses.replace(PERFECT, volume_bias=bias)
        ratios = [
            np.count_nonzero(segment(truths[n], team, number=n).array) / np.count_nonzero(truths[n].array)
            for n in large
        ]
        assert np.mean(ratios) == pytest.approx(1.0 + bias, abs=0.15)


def test_certain_mistakes_happen_always(truths):
    for number in CASES:
        truth = truths[number]
        blind = segment(truth, dataclasses.replace(PERFECT, missed_tumour=1.0), number=number)
        assert np.array_equal(blind.array, np.where(truth.array == 2, 2, 0))
        careless = segment(truth, dataclasses.replace(PERFECT, missed_node=1.0), number=number)
        assert np.array_equal(careless.array, np.where(truth.array == 1, 1, 0))
        eager = segment(truth, dataclasses.replace(PERFECT, false_node=1.0), number=number)
        assert np.array_equal(eager.array == 1, truth.array == 1)
        assert (eager.array[truth.array == 2] == 2).all()
        assert segment(truth, dataclasses.replace(PERFECT, no_output=1.0), number=number) is None
    assert np.count_nonzero(eager.array) > np.count_nonzero(truth.array)


def test_the_same_team_case_and_seed_give_the_same_output(truths, outputs):
    again = segment(truths[7], TEAMS[3], number=7)
    assert again.array.tobytes() == outputs[TEAMS[3].name][7].array.tobytes()
    assert (segment(truths[7], TEAMS[3], number=7, seed=1).array != again.array).any()
    assert (segment(truths[7], TEAMS[3], number=8).array != again.array).any()


def test_two_teams_of_one_skill_make_different_mistakes(truths):
    one, other = (segment(truths[7], Team(name=name, boundary=2.0), number=7) for name in ("one", "other"))
    assert (one.array != other.array).any()


def test_an_empty_truth_has_nothing_to_draw():
    grid = Grid((20, 20, 20), (2.0, 2.0, 2.0))
    assert not segment(Volume(np.zeros(grid.shape, np.uint8), grid), PERFECT, number=1).array.any()
