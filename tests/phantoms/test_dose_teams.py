"""Synthetic teams that predict dose: what they get wrong, and in which order they come."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from isocenter.phantoms import openkbp_patient
from isocenter.phantoms._dose_teams import (
    TEAMS_DOSERAD,
    TEAMS_OPENKBP,
    DoseTeam,
    _lumps,
    predict_beams,
    predict_dose,
)
from isocenter.phantoms._doserad import doserad_patient, total

PERFECT = DoseTeam(name="perfect", blur=0.0)
LADDER = ["Thun", "Zug", "Sempach", "Walen", "Biel"]
LADDER_BEAMS = ["Gotthard", "Furka", "Grimsel", "Albula"]


@pytest.fixture(scope="module")
def patients():
    return [openkbp_patient(number) for number in (1, 2, 3)]


@pytest.fixture(scope="module")
def treated():
    return [doserad_patient(number, size=(44, 36, 24), beams=8) for number in (1, 2, 3)]


@pytest.fixture(scope="module")
def errors(patients):
    """Of every team the mean absolute error in the mask, and of the points of the histograms, Gy."""
    found = {}
    for team in TEAMS_OPENKBP:
        dose, points = [], []
        for patient in patients:
            made = predict_dose(patient, team)
            dose.append(abs(made - patient.dose)[patient.possible].mean())
            for name, mask in patient.structures.items():
                which = (1, 5, 99) if name.startswith("PTV") else (50, 98)
                points.extend(abs(np.percentile(made[mask], which) - np.percentile(patient.dose[mask], which)))
        found[team.name] = (np.mean(dose), np.mean(points))
    return found


@pytest.fixture(scope="module")
def beam_errors(treated):
    """Of every team the error of beams, relative to their maximum, and of the mean doses of structures, Gy."""
    found = {}
    for team in TEAMS_DOSERAD:
        single, points = [], []
        for patient in treated:
            made = predict_beams(patient, team)
            for name, truth in patient.beams.items():
                inside = truth >= 0.1 * truth.max()
                single.append(abs(made[name] - truth)[inside].mean() / truth.max())
            plan = total(made, patient.weights)
            points += [abs(plan[m].mean() - patient.plan_dose()[m].mean()) for m in patient.structures.values()]
        found[team.name] = (np.mean(single), np.mean(points))
    return found


# OpenKBP


def test_skill_is_graded_in_dose_and_in_histograms(errors):
    for which in (0, 1):
        ladder = [errors[name][which] for name in LADDER]
        assert all(worse > 1.08 * better for better, worse in itertools.pairwise(ladder)), ladder


def test_the_best_are_as_good_as_the_best_of_the_challenge_and_the_worst_are_poor(errors):
    assert 1.5 < errors["Thun"][0] < 4.0
    assert errors["Biel"][0] > 6.0


def test_one_team_has_a_good_dose_but_bad_histograms(errors):
    assert errors["Murten"][0] < errors["Sempach"][0]
    assert errors["Murten"][1] > 1.3 * errors["Zug"][1]


def test_a_perfect_team_predicts_the_truth(patients):
    made = predict_dose(patients[0], PERFECT)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, patients[0].dose, rtol=1e-6, atol=1e-6)


def test_nothing_is_predicted_where_no_dose_is_possible(patients):
    made = predict_dose(patients[0], TEAMS_OPENKBP[4])
    assert not made[~patients[0].possible].any()
    assert made.min() >= 0.0


def test_a_scale_is_a_scale(patients):
    made = predict_dose(patients[0], DoseTeam(name="hot", blur=0.0, scale=0.1))
    np.testing.assert_allclose(made, 1.1 * patients[0].dose, rtol=1e-5, atol=1e-5)


def test_a_mistake_in_structures_raises_organs_and_lowers_targets(patients):
    patient = patients[0]
    made = predict_dose(patient, DoseTeam(name="odd", blur=0.0, structures=0.2))
    target = np.any([mask for name, mask in patient.structures.items() if name.startswith("PTV")], axis=0)
    organ = patient.structures["SpinalCord"]
    untouched = ~np.any(list(patient.structures.values()), axis=0)
    np.testing.assert_allclose(made[untouched], patient.dose[untouched], rtol=1e-5, atol=1e-5)
    assert made[organ].sum() == pytest.approx(1.2 * patient.dose[organ].sum(), rel=1e-4)
    assert made[target].sum() < 0.95 * patient.dose[target].sum()


def test_mistakes_follow_from_the_names_and_the_seed(patients):
    patient, team = patients[0], TEAMS_OPENKBP[1]
    assert np.array_equal(predict_dose(patient, team), predict_dose(patient, team))
    assert not np.array_equal(predict_dose(patient, team), predict_dose(patient, team, seed=1))
    twin = DoseTeam(name="twin", blur=team.blur, shift=team.shift, noise=team.noise, scale=team.scale)
    assert not np.array_equal(predict_dose(patient, team), predict_dose(patient, twin))


def test_uneven_errors_have_mean_0_and_variance_1():
    field = np.concatenate([_lumps(np.random.default_rng(n), (60, 60, 60), (4.0, 4.0, 3.0)).ravel() for n in range(8)])
    assert field.mean() == pytest.approx(0.0, abs=0.1)
    assert field.std() == pytest.approx(1.0, abs=0.1)


# DoseRAD


def test_skill_is_graded_in_beams_and_in_structures(beam_errors):
    for which in (0, 1):
        ladder = [beam_errors[name][which] for name in LADDER_BEAMS]
        assert all(worse > 1.2 * better for better, worse in itertools.pairwise(ladder)), ladder


def test_one_team_has_good_beams_but_is_wrong_in_the_structures(beam_errors):
    assert beam_errors["Klausen"][0] < beam_errors["Grimsel"][0]
    assert beam_errors["Klausen"][1] > beam_errors["Furka"][1]


def test_one_team_is_coarse_but_ten_times_as_fast_as_any_other(beam_errors):
    fast = min(TEAMS_DOSERAD, key=lambda team: team.seconds_per_beam)
    others = [team for team in TEAMS_DOSERAD if team != fast]
    assert all(team.seconds_per_beam > 10.0 * fast.seconds_per_beam for team in others)
    assert beam_errors[fast.name][0] > beam_errors["Grimsel"][0]
    assert all(0.0 < team.seconds_per_beam < 1.0 for team in TEAMS_DOSERAD)


def test_a_perfect_team_predicts_every_beam(treated):
    made = predict_beams(treated[0], PERFECT)
    assert list(made) == list(treated[0].beams)
    for name, truth in treated[0].beams.items():
        assert made[name].dtype == np.float32
        np.testing.assert_allclose(made[name], truth, rtol=1e-5, atol=1.1e-4 * truth.max())


def test_a_displacement_is_along_the_beam():
    patient = doserad_patient(1, modality="proton", size=(60, 54, 20), beams=6)
    made = predict_beams(patient, DoseTeam(name="deep", blur=0.0, shift=3.0))
    axes = [step * np.arange(n) for step, n in zip(patient.grid.spacing, patient.grid.shape, strict=True)]
    places = np.stack(np.meshgrid(*axes, indexing="ij")).reshape(3, -1)
    signs = set()
    for name, truth in patient.beams.items():
        inner = np.zeros(patient.grid.shape, bool)
        inner[8:-8, 8:-8, 2:-2] = True
        if truth[~inner].max() > 0.3 * truth.max():
            continue  # cut off by the border, where a displacement takes dose away
        moved = places @ (made[name].ravel() / made[name].sum()) - places @ (truth.ravel() / truth.sum())
        along = float(moved @ patient.directions[name])
        assert abs(along) > 0.5
        assert np.linalg.norm(moved - along * np.array(patient.directions[name])) < 0.3 * abs(along)
        signs.add(np.sign(along))
    assert len(signs) == 1, "all beams of a patient are too deep, or all too shallow"


def test_a_beam_without_dose_is_predicted_without_dose():
    patient = doserad_patient(1, size=(24, 20, 16), beams=3)
    name = next(iter(patient.beams))
    patient.beams[name][:] = 0.0
    assert not predict_beams(patient, TEAMS_DOSERAD[3])[name].any()
