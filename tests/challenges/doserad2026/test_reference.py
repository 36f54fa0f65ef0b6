"""The organisers' side: what a case holds, what may be unusual about it, and what becomes of it once prepared."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isocenter.challenges.doserad2026._prepare import prepare
from isocenter.challenges.doserad2026._truth import TruthFolder, read_truth
from isocenter.evaluation import Case
from isocenter.volumes import DiskFile, Folder, Grid, Volume, write

CASE = "1ABB001"
FIRST, SECOND, THIRD = (f"{CASE}-beam{i}" for i in range(3))


def folder_of(root: Path, case: str = CASE) -> Folder:
    top = root / case
    paths = (path for path in sorted(top.rglob("*")) if path.is_file())
    return Folder(case, {path.relative_to(top).as_posix(): DiskFile(path) for path in paths})


@pytest.fixture
def reference(one: Any, tmp_path: Path) -> Path:
    return Path(one.save(tmp_path / "reference"))


@pytest.fixture
def team(one: Any, tools: Any, tmp_path: Path) -> Path:
    return Path(one.answer(tmp_path / "team", tools.off(one.beams)))


# Whole ----------------------------------------------------------------------------------------------------------------


def test_the_folder_of_a_case_is_read_without_its_voxels(reference: Path) -> None:
    truth = read_truth(folder_of(reference))
    assert (truth.case, truth.modality, truth.prescription, truth.target) == (CASE, "photon", 60.0, 0)
    assert [beam.uuid for beam in truth.beams] == [FIRST, SECOND, THIRD]
    assert truth.beams[0].direction == (0.0, 1.0, 0.0)
    assert truth.organs == (1, 2, 3, 4)


def test_beams_are_told_by_uuid_and_by_order_where_the_plan_has_none(one: Any, tools: Any, tmp_path: Path) -> None:
    by_uuid = read_truth(folder_of(one.save(tmp_path / "a"))).beams
    turned = json.loads(json.dumps(one.plan))
    turned["beams"][0]["control_points"].reverse()
    assert read_truth(folder_of(tools.replace(one, plan=turned).save(tmp_path / "b"))).beams == by_uuid
    nameless = tools.photon_plan(["", "", ""], [0.0, 270.0, 101.3])
    assert read_truth(folder_of(tools.replace(one, plan=nameless).save(tmp_path / "c"))).beams == by_uuid


def test_protons_have_rays(tools: Any, tmp_path: Path) -> None:
    truth = read_truth(folder_of(tools.patient(protons=True).save(tmp_path / "r")))
    assert truth.modality == "proton"
    assert truth.beams[1].direction == pytest.approx((1e-3, 1.0, 0.0), abs=1e-6)


def test_directions_are_those_of_the_array_however_the_grid_is_turned(one: Any, tools: Any, tmp_path: Path) -> None:
    """The same patient, stored from the other end along x and y."""
    answer = tools.off(one.beams)
    expected = tools.score(one.save(tmp_path / "r1"), one.answer(tmp_path / "t1", answer))
    far = [o + s * (n - 1) for o, s, n in zip(one.grid.origin, one.grid.spacing, one.grid.shape, strict=True)]
    grid = Grid(one.grid.shape, one.grid.spacing, (far[0], far[1], 50.0), (-1, 0, 0, 0, -1, 0, 0, 0, 1))
    flip = lambda arrays: {name: array[::-1, ::-1].copy() for name, array in arrays.items()}  # noqa: E731
    turned = tools.replace(one, beams=flip(one.beams), structures=flip(one.structures), grid=grid)
    found = tools.score(turned.save(tmp_path / "r2"), turned.answer(tmp_path / "t2", flip(answer)))
    for key, value in tools.by_part(expected.scores).items():
        assert tools.by_part(found.scores)[key] == pytest.approx(value, rel=1e-9), key


def test_what_is_prepared_is_small_and_holds_no_paths(one: Any, reference: Path) -> None:
    truth = TruthFolder().read(folder_of(reference), grid=None, policy="refuse").value
    prepared = prepare(Case(CASE, {"truth": truth}))
    packed = pickle.dumps(prepared)
    assert str(reference).encode() not in packed
    again = pickle.loads(packed).beams[SECOND]
    beam = one.beams[SECOND]
    region = beam >= 0.1 * beam.max()
    assert np.array_equal(again.values, beam.T[region.T])
    assert np.array_equal(np.sort(again.voxels()), np.flatnonzero(region.ravel(order="F")))
    assert again.starts.size < region.sum() / 3


def test_the_plan_is_that_of_the_package_if_it_has_one(one: Any, tools: Any, reference: Path, team: Path) -> None:
    composed = tools.by_part(tools.score(reference, team).scores)
    plan = one.plan_dose()
    write(Volume((plan + 0.3 * (plan > 0)).astype(np.float32), one.grid), reference / CASE / "plan_dose.mha")
    given = tools.by_part(tools.score(reference, team).scores)
    assert given["beam_mae", ""] == composed["beam_mae", ""]
    assert given["plan_mae", ""] != composed["plan_mae", ""]


def test_level_2_looks_at_a_box_but_finds_what_the_whole_grid_has(one: Any, tools: Any, tmp_path: Path) -> None:
    """A small dose in a large grid: the box is much smaller, the numbers are the same."""
    grid = Grid((34, 32, 28), one.grid.spacing, (-33.0, -31.0, 30.0))
    wide = lambda array: np.pad(array, ((10, 10), (10, 10), (10, 10)))  # noqa: E731
    answer = tools.off(one.beams)
    large = tools.replace(
        one,
        beams={uuid: wide(beam) for uuid, beam in one.beams.items()},
        structures={name: wide(mask) for name, mask in one.structures.items()},
        grid=grid,
    )
    near = tools.by_part(tools.score(one.save(tmp_path / "r1"), one.answer(tmp_path / "t1", answer)).scores)
    reference = large.save(tmp_path / "r2")
    far = tools.by_part(
        tools.score(reference, large.answer(tmp_path / "t2", {u: wide(b) for u, b in answer.items()})).scores
    )
    truth = TruthFolder().read(folder_of(reference), grid=None, policy="refuse").value
    assert prepare(Case(CASE, {"truth": truth})).plan.size < grid.voxels / 8
    for metric in ("plan_mae", "dvh_score", "dvh_score_relative", "beam_mae"):
        assert far[metric, ""] == pytest.approx(near[metric, ""], rel=1e-9)


# Unusual --------------------------------------------------------------------------------------------------------------


def notes(result: Any) -> list[str]:
    return [problem.message for problem in result.problems if problem.severity == "note"]


def test_a_beam_without_dose_has_no_error_and_is_left_out_of_the_mean(one: Any, tools: Any, tmp_path: Path) -> None:
    beams = dict(one.beams) | {SECOND: np.zeros_like(one.beams[SECOND])}
    empty = tools.replace(one, beams=beams, weights=dict.fromkeys(beams, 60.0 / 1.8e-3))
    result = tools.score(empty.save(tmp_path / "r"), empty.answer(tmp_path / "t", tools.off(one.beams)))
    found = tools.by_part(result.scores)
    assert found["beam_mae", SECOND] is None
    assert found["beam_mae", ""] == pytest.approx(np.mean([found["beam_mae", FIRST], found["beam_mae", THIRD]]))
    assert notes(result) == [f"the reference gives beam {SECOND} no dose"]


def test_beams_without_dose_are_told_together(one: Any, tools: Any, tmp_path: Path) -> None:
    beams = {uuid: beam if uuid == FIRST else np.zeros_like(beam) for uuid, beam in one.beams.items()}
    empty = tools.replace(one, beams=beams, weights=dict.fromkeys(beams, 60.0 / 9e-4))
    result = tools.score(empty.save(tmp_path / "r"), empty.answer(tmp_path / "t", one.beams))
    assert notes(result) == [f"the reference gives 2 beams ({SECOND}, {THIRD}) no dose"]


@pytest.mark.parametrize(
    ("keep", "said", "parts"),
    [
        (["PTV", "Near", "Side"], ["the case has 2 organs at risk with voxels, of three"], {"PTV", "Near", "Side"}),
        (["PTV"], ["the case has 0 organs at risk with voxels, of three"], {"PTV"}),
        (["Near", "Side"], ["the case has no target: the DVH score is that of all its organs"], {"Near", "Side"}),
        ([], ["the case has no structures: there is no DVH score"], set()),
    ],
)
def test_fewer_organs_or_no_target_leave_what_there_is(
    one: Any, tools: Any, tmp_path: Path, *, keep: list[str], said: list[str], parts: set[str]
) -> None:
    fewer = tools.replace(one, structures={name: one.structures[name] for name in keep})
    result = tools.score(fewer.save(tmp_path / "r"), fewer.answer(tmp_path / "t", tools.off(one.beams)))
    assert notes(result) == said
    found = tools.by_part(result.scores)
    assert {part.partition("|")[0] for metric, part in found if metric == "dvh_score" and part} == parts
    assert (found["dvh_score", ""] is None) == (not parts)
    if len(keep) == 1:
        assert found["dvh_score", ""] == pytest.approx(
            (found["dvh_score", "PTV|D98%"] + found["dvh_score", "PTV|V95%"]) / 2
        )


def test_empty_structures_are_as_if_they_were_not_there(one: Any, tools: Any, tmp_path: Path) -> None:
    nothing = np.zeros(one.grid.shape, bool)
    hollow = tools.replace(one, structures=dict(one.structures) | {"PTV": nothing, "Near": nothing})
    result = tools.score(hollow.save(tmp_path / "r"), hollow.answer(tmp_path / "t", tools.off(one.beams)))
    assert notes(result) == ["the case has no target: the DVH score is that of all its organs"]
    parts = {part.partition("|")[0] for metric, part in tools.by_part(result.scores) if metric == "dvh_score" and part}
    assert parts == {"Side", "Other", "Corner"}


def test_without_any_voxel_of_a_structure_there_is_no_dvh_score(one: Any, tools: Any, tmp_path: Path) -> None:
    hollow = tools.replace(one, structures=dict.fromkeys(one.structures, np.zeros(one.grid.shape, bool)))
    result = tools.score(hollow.save(tmp_path / "r"), hollow.answer(tmp_path / "t", tools.off(one.beams)))
    assert notes(result) == ["the case has neither a target nor an organ at risk with voxels: there is no DVH score"]
    assert tools.by_part(result.scores)["dvh_score", ""] is None


def test_an_organ_without_dose_has_no_relative_error(one: Any, tools: Any, tmp_path: Path) -> None:
    far = tools.replace(one, structures={name: one.structures[name] for name in ("PTV", "Near", "Corner")})
    found = tools.by_part(tools.score(far.save(tmp_path / "r"), far.answer(tmp_path / "t", one.beams)).scores)
    assert found["dvh_score", "Corner|mean"] == 0.0
    assert found["dvh_score_relative", "Corner|mean"] is None
    assert found["dvh_score_relative", ""] is None
    assert found["dvh_score", ""] == 0.0


def test_a_plan_far_from_its_prescription_is_measured_with_a_warning(one: Any, tools: Any, tmp_path: Path) -> None:
    """Weights of one of twenty fractions, say."""
    small = tools.replace(one, weights={uuid: weight / 20 for uuid, weight in one.weights.items()})
    result = tools.score(small.save(tmp_path / "r"), small.answer(tmp_path / "t", one.beams))
    assert [problem.severity for problem in result.problems] == ["warning", "warning"]
    assert {problem.message.partition(" plan")[0] for problem in result.problems} == {"the reference", "the predicted"}
    found = tools.by_part(result.scores)
    # Nothing reaches a tenth of the prescription: neither strata nor gamma on that base are defined.
    assert (found["plan_mae", ""], found["gamma_pass_rate_rx", ""], found["gamma_pass_rate", ""]) == (None, None, 100.0)
