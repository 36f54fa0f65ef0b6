"""The organisers' side: what a case must hold, what may be unusual about it, and what becomes of it once prepared."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isocenter.challenges.doserad2026._prepare import prepare
from isocenter.challenges.doserad2026._truth import TruthFolder, read_truth
from isocenter.evaluation import Case, CohortError
from isocenter.volumes import DiskFile, Folder, Grid, Volume, write

CASE = "1ABB001"
FIRST, SECOND, THIRD = (f"{CASE}-beam{i}" for i in range(3))


def folder_of(root: Path, case: str = CASE) -> Folder:
    top = root / case
    paths = (path for path in sorted(top.rglob("*")) if path.is_file())
    return Folder(case, {path.relative_to(top).as_posix(): DiskFile(path) for path in paths})


def edit(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


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


# Wrong ----------------------------------------------------------------------------------------------------------------


def put(key: str, value: Any) -> Callable[[Path], None]:
    """Change a field of case.json."""

    def change(folder: Path) -> None:
        edit(folder / "case.json", lambda said: said.pop(key, None) if value == "absent" else said.update({key: value}))

    return change


def weight(value: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        edit(folder / "case.json", lambda said: said["beams"][1].update({"weight": value}))

    return change


def text(name: str, content: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text(content) and None


def structures(array: np.ndarray) -> Callable[[Path], None]:
    return lambda folder: np.save(folder / "structures.npy", array, allow_pickle=True)


def gone(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def dose(name: str, grid: Grid) -> Callable[[Path], None]:
    return lambda folder: write(Volume(np.ones(grid.shape, np.float32), grid), folder / name)


GRID = Grid((14, 12, 8), spacing=(2.0, 2.0, 2.0), origin=(-13.0, -11.0, 50.0))
MASKS = np.zeros((8, 12, 14, 5), np.uint8)
RAY = {"ray_source": [0, -9, 0], "ray_target": [0, 0, 1], "beamlets": [{"beamlet_uuid": FIRST}]}

WRONG: list[tuple[Callable[[Path], None], str]] = [
    (gone("case.json"), "case.json is missing"),
    (text("case.json", "{"), "case.json is not JSON"),
    (text("case.json", "[]"), "case.json is no JSON object"),
    (put("prescription_dose_gy", "absent"), "prescription_dose_gy is None; expected a dose in Gy, it has no default"),
    (put("prescription_dose_gy", 0), "prescription_dose_gy is 0"),
    (put("prescription_dose_gy", "60"), "prescription_dose_gy is '60'"),
    (put("prescription_dose_gy", True), "prescription_dose_gy is True"),
    (text("case.json", '{"prescription_dose_gy": NaN}'), "NaN is no number"),
    (put("structure_names", "PTV"), "structure_names is 'PTV'; expected a list of names"),
    (put("structure_names", ["PTV", "A", "A", "B", "C"]), "lists a name twice"),
    (put("ptv_index", 5), "ptv_index is 5; expected a place in structure_names, 0 to 4"),
    (put("ptv_index", True), "ptv_index is True"),
    (put("oar_indices", [0, 1]), r"oar_indices is \[0, 1\]; expected places in structure_names other than the PTV's"),
    (put("oar_indices", [1, 1]), "lists an organ twice"),
    (put("oar_indices", [9]), r"oar_indices is \[9\]"),
    (put("beams", []), r"beams is \[\]; expected a list"),
    (put("beams", "absent"), "beams is None; expected a list"),
    (put("beams", [{"weight": 1.0}]), "beam 0 has the uuid None"),
    (put("beams", [{"uuid": "../x", "weight": 1.0}]), "beam 0 has the uuid '../x'"),
    (put("beams", [{"uuid": FIRST, "weight": 1.0}] * 2), f"beam {FIRST} is listed twice"),
    (put("beams", [{"uuid": FIRST, "weight": 0}]), "the weights of all beams are 0"),
    (weight(-1.0), f"beam {SECOND} has the weight -1.0; expected a number of 0 or more"),
    (weight(None), f"beam {SECOND} has the weight None"),
    (weight("much"), f"beam {SECOND} has the weight 'much'"),
    (put("modality", "proton"), "modality is 'proton', but the plan is of photons"),
    (gone(f"{CASE}.json"), f"{CASE}.json is missing"),
    (text(f"{CASE}.json", '{"beams": 1}'), "the plan has no list 'beams'"),
    (text(f"{CASE}.json", '{"beams": []}'), "found neither"),
    (text(f"{CASE}.json", '{"beams": [{"control_points": [{}]}]}'), "a control point has gantry_angle None"),
    (
        text(f"{CASE}.json", '{"beams": [{"control_points": [{"gantry_angle": 0}]}]}'),
        "1 beams without uuids, case.json",
    ),
    (text(f"{CASE}.json", '{"beams": [{"control_points": [{"gantry_angle": 0, "cp_uuid": "x"}]}]}'), "does not have 3"),
    (text(f"{CASE}.json", '{"beams": [{"rays": [{"ray_source": 1}]}]}'), "expected points in mm"),
    (text(f"{CASE}.json", '{"beams": [{"rays": []}, {"control_points": []}]}'), "found photon and proton"),
    (text(f"{CASE}.json", json.dumps({"beams": [{"rays": [RAY]}]})), f"beam {FIRST} does not lie across z"),
    (gone(f"beams/{SECOND}.mha"), f"there is no dose of beam {SECOND}; expected gt_beam_doses.mha or beams/<uuid>.mha"),
    (text(f"beams/{SECOND}.mha", "nonsense"), f"{SECOND}.mha: not a MetaImage file"),
    (dose(f"beams/{SECOND}.mha", Grid((9, 9, 9))), f"{SECOND}.mha lies on another grid than the other beams"),
    (dose(f"beams/{SECOND}.nii.gz", GRID), f"there are two files of beam {SECOND}"),
    (dose("gt_beam_doses.mha", GRID), "which one is meant"),
    (dose("plan_dose.mha", Grid((9, 9, 9))), "plan_dose.mha lies on another grid than the beams"),
    (text("plan_dose.mha", ""), "plan_dose.mha: not a MetaImage file"),
    (dose("plan_dose.mha", GRID), "is not the sum of the weighted beams: they differ by up to"),
    (gone("structures.npy"), "structures.npy is missing; case.json lists 5 structures"),
    (structures(MASKS[..., :4]), r"has shape \(8, 12, 14, 4\); expected \(z, y, x, structure\) = \(8, 12, 14, 5\)"),
    (structures(MASKS.astype(float)), "holds float64; expected uint8 or bool"),
    (structures(np.asfortranarray(MASKS)), "stored in Fortran order"),
    (structures(MASKS + 2), "holds 2; a mask holds only 0 and 1"),
    (structures(np.full((8, 12, 14, 5), None)), "holds object"),
    (text("structures.npy", "text"), "is not a NumPy array of masks"),
]


@pytest.mark.parametrize(("change", "said"), WRONG, ids=[said[:40] for _, said in WRONG])
def test_a_reference_that_cannot_be_used_is_nobody_s_failure_but_the_organisers(
    tools: Any, reference: Path, team: Path, *, change: Callable[[Path], None], said: str
) -> None:
    change(reference / CASE)
    with pytest.raises(CohortError, match=said) as caught:
        tools.score(reference, team)
    assert CASE in str(caught.value)


def test_a_truncated_array_of_masks_is_noticed_before_it_is_read(tools: Any, reference: Path, team: Path) -> None:
    path = reference / CASE / "structures.npy"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CohortError, match="would hold its masks"):
        tools.score(reference, team)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_reference_with_a_voxel_that_is_no_number_is_none(
    one: Any, tools: Any, reference: Path, team: Path, value: float
) -> None:
    beam = one.beams[FIRST].copy()
    beam[0, 0, 0] = value
    write(Volume(beam, one.grid), reference / CASE / "beams" / f"{FIRST}.mha")
    with pytest.raises(CohortError, match=f"the dose of beam {FIRST} holds values that are no finite dose"):
        tools.score(reference, team)


def test_all_that_is_wrong_with_a_case_is_said_at_once(tools: Any, reference: Path, team: Path) -> None:
    put("prescription_dose_gy", "absent")(reference / CASE)
    weight(-2.0)(reference / CASE)
    gone("structures.npy")(reference / CASE)
    with pytest.raises(CohortError) as caught:
        tools.score(reference, team)
    assert all(
        word in str(caught.value) for word in ("prescription_dose_gy", "weight -2.0", "structures.npy is missing")
    )


def test_photons_and_protons_are_no_cohort(tools: Any, tmp_path: Path) -> None:
    for patient in (tools.patient("1ABB001"), tools.patient("1ABB002", seed=1, protons=True)):
        patient.save(tmp_path / "reference")
        patient.answer(tmp_path / "team", patient.beams)
    with pytest.raises(CohortError, match=r"photons \(1ABB001, for one\) and protons \(1ABB002, for one\)"):
        tools.score(tmp_path / "reference", tmp_path / "team")


def test_a_uuid_names_one_beam_of_one_case(one: Any, tools: Any, tmp_path: Path) -> None:
    twin = tools.replace(one, name="1ABB002")
    for patient in (one, twin):
        patient.save(tmp_path / "reference")
        patient.answer(tmp_path / "team", patient.beams)
    with pytest.raises(CohortError, match=r"3 beams .* of 1ABB002 also in 1ABB001; uuids tell beams apart"):
        tools.score(tmp_path / "reference", tmp_path / "team")
