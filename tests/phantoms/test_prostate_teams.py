"""Synthetic teams that detect prostate cancer: valid maps, graded skill, shared mistakes."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter import phantoms
from isocenter.metrics import (
    auroc,
    average_precision,
    candidates,
    case_likelihood,
    components,
    extract_candidates,
    lesions,
    match_lesions,
)
from isocenter.phantoms import TEAMS_PICAI, DetectionTeam, detect, prostate_exam, soft_map

NUMBERS = range(1, 151)
BY_NAME = {team.name: team for team in TEAMS_PICAI}
PERFECT = DetectionTeam(name="perfect", error=0.0, threshold=-100.0, false_alarms=0.0, shift=0.0, split=0.0)


@pytest.fixture(scope="module")
def exams():
    return {number: prostate_exam(number) for number in NUMBERS}


@pytest.fixture(scope="module")
def truth(exams):
    return np.array([bool(exam.lesions.array.any()) for exam in exams.values()])


@pytest.fixture(scope="module")
def made(exams):
    """Of every team: candidates and likelihood by number."""
    return {
        team.name: {
            n: (candidates((found := detect(exam, team, number=n)).map.array), found.likelihood)
            for n, exam in exams.items()
        }
        for team in TEAMS_PICAI
    }


@pytest.fixture(scope="module")
def rows(exams, made):
    """Of every team: lesions and false positives by number."""
    truths = {n: lesions(exam.lesions.array) for n, exam in exams.items()}
    return {
        name: {n: match_lesions(found, truths[n], preset="strict") for n, (found, _) in by_number.items()}
        for name, by_number in made.items()
    }


def area(truth, made, name):
    return auroc(truth, [likelihood for _, likelihood in made[name].values()])


def pooled(rows, name):
    return [row for case in rows[name].values() for row in case]


def test_the_teams_have_names_of_their_own():
    everybody = (*TEAMS_PICAI, *phantoms.TEAMS, *phantoms.TEAMS_LUNG, *phantoms.TEAMS_OPENKBP, *phantoms.TEAMS_DOSERAD)
    names = [team.name for team in everybody]
    assert len(set(names)) == len(names)


def test_each_special_part_is_played_by_one_team_only():
    """A baseline, a team of several instances, one that forgets a case, one that takes the maximum: four teams."""
    special = [
        [team.name for team in TEAMS_PICAI if team.role == "organiser"],
        [team.name for team in TEAMS_PICAI if team.instances > 1],
        [team.name for team in TEAMS_PICAI if team.leaves_out],
        [team.name for team in TEAMS_PICAI if team.likelihood == "max"],
    ]
    assert [len(names) for names in special] == [1, 1, 1, 1]
    assert len(set(itertools.chain(*special))) == 4


def test_skill_is_graded_at_the_level_of_patients(truth, made):
    ladder = [area(truth, made, name) for name in ("Limmat", "Ticino", "Linth", "Emme", "Birs")]
    assert all(better > worse + 0.02 for better, worse in itertools.pairwise(ladder))
    assert ladder[0] == pytest.approx(0.92, abs=0.03)
    assert ladder[-1] == pytest.approx(0.68, abs=0.06)


def test_skill_is_graded_at_the_level_of_lesions(rows):
    ladder = []
    for name in ("Limmat", "Ticino", "Linth", "Birs"):
        found = pooled(rows, name)
        ladder.append(average_precision([row.is_lesion for row in found], [row.confidence for row in found]))
    assert all(better > worse + 0.03 for better, worse in itertools.pairwise(ladder))
    assert ladder[0] == pytest.approx(0.77, abs=0.05)
    assert ladder[-1] == pytest.approx(0.22, abs=0.08)


def test_every_map_is_a_detection_map(exams):
    """`candidates` refuses what is not: two values in one component, or one outside (0, 1]."""
    for team in TEAMS_PICAI:
        for number in range(1, 13):
            found = detect(exams[number], team, number=number)
            assert found.map.array.dtype == np.float32
            assert found.map.grid == exams[number].grid
            assert 0.0 <= found.likelihood <= 1.0
            sizes = candidates(found.map.array).blobs.sizes
            assert (sizes > 10).all()


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.builds(
        DetectionTeam,
        name=st.just("any"),
        error=st.floats(0.0, 8.0),
        threshold=st.floats(-5.0, 1.0),
        false_alarms=st.floats(0.0, 6.0),
        shift=st.floats(0.0, 8.0),
        size=st.floats(-0.6, 1.5),
        split=st.floats(0.0, 1.0),
        likelihood=st.sampled_from(["max", "own"]),
    ),
)
def test_even_the_poorest_team_hands_in_a_valid_map(number, team):
    found = detect(prostate_exam(number), team, number=number)
    assert np.array_equal(candidates(found.map.array).detection_map(), found.map.array)
    assert 0.0 <= found.likelihood <= 1.0


def test_candidates_overlap_lesions_imperfectly(rows):
    overlaps = {name: np.mean([row.overlap for row in pooled(rows, name) if row.overlap]) for name in BY_NAME}
    assert overlaps["Limmat"] == pytest.approx(0.62, abs=0.06)
    assert overlaps["Birs"] < overlaps["Linth"] < overlaps["Limmat"]


def test_lesions_are_missed_and_made_up_by_all_but_more_by_the_poor(rows):
    missed, false = {}, {}
    for name in BY_NAME:
        found = pooled(rows, name)
        missed[name] = np.mean([row.confidence == 0 for row in found if row.is_lesion])
        false[name] = sum(row.is_lesion == 0 for row in found) / len(NUMBERS)
    assert missed["Limmat"] == pytest.approx(0.06, abs=0.04)
    assert missed["Birs"] == pytest.approx(0.35, abs=0.1)
    assert false["Limmat"] == pytest.approx(0.6, abs=0.15)
    assert false["Birs"] == pytest.approx(1.3, abs=0.25)


def test_most_false_positives_lie_on_mimics(exams, made):
    on = off = 0
    for number, (found, _) in made["Ticino"].items():
        heat = found.detection_map()
        numbers, count = components(heat > 0)
        for part in range(1, count + 1):
            if not exams[number].lesions.array[numbers == part].any():
                hit = bool(exams[number].mimics.array[numbers == part].any())
                on, off = on + hit, off + (not hit)
    assert on > 4 * off > 0


def test_teams_miss_the_same_lesions(rows):
    """Conspicuity is the lesion's: confidences of two teams in one lesion go together."""
    names = [name for name in BY_NAME if name != "Birs"]
    table = np.array(
        [[max((r.confidence for r in case if r.is_lesion), default=-1.0) for case in rows[n].values()] for n in names]
    )
    correlation = np.corrcoef(table[:, table[0] >= 0])[np.triu_indices(len(names), 1)]
    assert correlation.min() > 0.1
    assert correlation.mean() > 0.3


def test_teams_are_fooled_by_the_same_exams(truth, made):
    table = np.array([[likelihood for _, likelihood in made[name].values()] for name in ("Limmat", "Ticino", "Kander")])
    assert np.corrcoef(table[:, ~truth])[np.triu_indices(3, 1)].min() > 0.3


def test_the_likelihood_is_the_maximum_for_one_team_and_an_opinion_for_the_others(made):
    for name, by_number in made.items():
        same = [likelihood == case_likelihood(found) for found, likelihood in by_number.values()]
        assert all(same) if name == "Linth" else np.mean(same) < 0.3
    empty = [likelihood for found, likelihood in made["Limmat"].values() if found.blobs.count == 0]
    assert len(empty) > 20
    assert 0.0 < min(empty) < max(empty) < 0.6


def test_a_perfect_team_hands_in_every_finding_where_it_is(exams):
    for number in range(1, 41):
        exam = exams[number]
        heat = detect(exam, PERFECT, number=number).map.array
        assert np.array_equal(heat > 0, (exam.lesions.array > 0) | (exam.mimics.array > 0))


def test_certain_mistakes_happen_always(exams):
    blind = dataclasses.replace(PERFECT, threshold=100.0)
    halving = dataclasses.replace(PERFECT, split=1.0)
    generous = dataclasses.replace(PERFECT, size=0.3)
    alarmed = dataclasses.replace(PERFECT, false_alarms=6.0)
    for number in (2, 4, 7):
        exam = exams[number]
        count = len(exam.findings)
        whole = detect(exam, PERFECT, number=number).map.array
        assert not detect(exam, blind, number=number).map.array.any()
        assert count < candidates(detect(exam, halving, number=number).map.array).blobs.count <= 2 * count
        assert np.count_nonzero(detect(exam, generous, number=number).map.array) > 1.5 * np.count_nonzero(whole)
        assert candidates(detect(exam, alarmed, number=number).map.array).blobs.count > count


def test_a_split_lesion_is_found_once_and_counts_no_false_positive(exams):
    """As a rule: half of a small lesion may be too little."""
    team = dataclasses.replace(PERFECT, split=1.0)
    alone = [number for number, exam in exams.items() if [finding.mimic for finding in exam.findings] == [0]]
    assert len(alone) > 5
    clean = 0
    for number in alone:
        found = match_lesions(detect(exams[number], team, number=number).map.array, exams[number].lesions.array)
        assert found[0].confidence > 0
        clean += len(found) == 1
    assert clean > 0.7 * len(alone)


def test_the_same_team_exam_and_seed_give_the_same_output(exams):
    team = BY_NAME["Emme"]
    one, again = (detect(exams[7], team, number=7) for _ in range(2))
    assert one.map.array.tobytes() == again.map.array.tobytes()
    assert one.likelihood == again.likelihood
    for other in (
        detect(exams[7], team, number=7, seed=1),
        detect(exams[7], team, number=8),
        detect(exams[7], dataclasses.replace(team, name="other"), number=7),
        detect(exams[7], team, number=7, instance=1),
    ):
        assert (other.map.array != one.map.array).any()


def test_instances_of_a_team_differ_but_less_than_teams(exams, made):
    team = BY_NAME["Ticino"]
    stranger = dataclasses.replace(team, name="of the same skill")
    told = [[likelihood for _, likelihood in made["Ticino"].values()]]
    for who in (team, stranger):
        told.append([detect(exam, who, number=n, instance=1).likelihood for n, exam in exams.items()])
    siblings, strangers = np.corrcoef(told)[0, 1:]
    assert 0.98 > siblings > 0.85
    assert siblings > strangers + 0.08


def test_a_soft_map_holds_the_candidates_as_hills(exams):
    team, seen = BY_NAME["Ticino"], 0
    for number in range(1, 16):
        hard = detect(exams[number], team, number=number).map.array
        soft = soft_map(exams[number], team, number=number)
        assert soft.array.dtype == np.float32
        assert soft.grid == exams[number].grid
        assert 0.0 <= soft.array.min() < soft.array.max() <= 1.0
        extracted = extract_candidates(soft.array).detection_map()
        for likelihood in np.unique(hard[hard > 0]):
            assert 0.6 * likelihood < soft.array[hard == likelihood].max()
            seen += 1
        if hard.any():
            assert extracted.max() == pytest.approx(hard.max(), rel=0.25)
            assert (extracted[hard == hard.max()] > 0).mean() > 0.6
    assert seen > 10


def test_a_soft_map_is_smooth_and_no_detection_map(exams):
    soft = soft_map(exams[2], BY_NAME["Limmat"], number=2).array
    assert np.abs(np.diff(soft, axis=0)).max() < 0.15
    assert np.abs(np.diff(soft, axis=1)).max() < 0.15
    with pytest.raises(ValueError, match="a soft map"):
        candidates(soft)


def test_the_instances_have_soft_maps_of_their_own(exams):
    maps = [soft_map(exams[3], BY_NAME["Ticino"], number=3, instance=instance).array for instance in (1, 1, 2)]
    assert np.array_equal(maps[0], maps[1])
    assert (maps[0] != maps[2]).any()
