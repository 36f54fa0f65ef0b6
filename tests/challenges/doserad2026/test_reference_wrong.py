"""The organisers' side: what makes a case unusable, said once, with what follows from it left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isocenter.challenges.doserad2026._truth import read_truth
from isocenter.evaluation import CohortError
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

HUGE = 10**400


def plan(*beams: Any) -> Callable[[Path], None]:
    return text(f"{CASE}.json", json.dumps({"beams": beams}))


WRONG: list[tuple[Callable[[Path], None], str]] = [
    (gone("case.json"), "case.json is missing"),
    (text("case.json", "{"), "case.json is not JSON"),
    (text("case.json", "[]"), "case.json is no JSON object"),
    (put("prescription_dose_gy", "absent"), "prescription_dose_gy is None; expected a dose in Gy, it has no default"),
    (put("prescription_dose_gy", 0), "prescription_dose_gy is 0"),
    (put("prescription_dose_gy", "60"), "prescription_dose_gy is '60'"),
    (put("prescription_dose_gy", True), "prescription_dose_gy is True"),
    (put("prescription_dose_gy", HUGE), r"prescription_dose_gy is 10+\.\.\.0+; expected a dose in Gy"),
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
    (weight(HUGE), rf"beam {SECOND} has the weight 10+\.\.\.0+; expected a number"),
    (weight(False), f"beam {SECOND} has the weight False"),
    (put("beams", [{"uuid": ["a"], "weight": 1.0}]), r"beam 0 has the uuid \['a'\]; expected a name without /"),
    (put("beams", [{"uuid": {}, "weight": 1.0}] * 5), r"5 beams \(0, 1, 2 …\) have the uuid {} \(the first\)"),
    (put("modality", "proton"), "modality is 'proton', but the plan is of photons"),
    (gone(f"{CASE}.json"), f"{CASE}.json is missing"),
    (text(f"{CASE}.json", "{}"), "the plan has no list 'beams'"),
    (plan({"control_points": [{"gantry_angle": HUGE}]}), r"gantry_angle 10+\.\.\.0+; expected a finite number of degr"),
    (plan({"control_points": [{"gantry_angle": True}]}), "gantry_angle True; expected a finite number of degrees"),
    (
        plan({"rays": [{**RAY, "ray_target": [HUGE, 0, 0]}]}),
        r"to ray_target \[10+\.\.\.0+, 0, 0\]; expected points in mm",
    ),
    (plan({"rays": [{**RAY, "ray_target": [True, 0, 0]}]}), "of three finite numbers each, that differ"),
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


def complaints(folder: Path) -> list[str]:
    """All that is wrong with a case."""
    with pytest.raises(ValueError, match=r".") as caught:
        read_truth(folder_of(folder.parent))
    return str(caught.value).split("; ")


FOLLOWS: list[tuple[Callable[[Path], None], str]] = [
    (gone(f"{CASE}.json"), f"{CASE}.json is missing"),
    (text(f"{CASE}.json", "{"), f"{CASE}.json is not JSON"),
    (text(f"{CASE}.json", '{"beams": []}'), "a plan has control points"),
    (weight(-1.0), "case.json: beam 1ABB001-beam1 has the weight -1.0"),
    (put("beams", "absent"), "case.json: beams is None"),
    (text("case.json", "{"), "case.json is not JSON"),
    (gone("case.json"), "case.json is missing"),
]


@pytest.mark.parametrize("as_stack", [True, False])
@pytest.mark.parametrize(("change", "said"), FOLLOWS, ids=[said for _, said in FOLLOWS])
def test_one_thing_that_is_wrong_is_one_complaint(
    one: Any, tools: Any, tmp_path: Path, *, as_stack: bool, change: Callable[[Path], None], said: str
) -> None:
    folder = tools.replace(one, case={"modality": "photon"}).save(tmp_path / "r", as_stack=as_stack) / CASE
    change(folder)
    first, *expectation = complaints(folder)
    assert first.startswith(said)
    assert all(text.startswith(("expected", "found")) for text in expectation)


def test_a_stack_with_too_few_doses_is_told_even_if_a_weight_is_wrong(one: Any, tools: Any, tmp_path: Path) -> None:
    folder = one.save(tmp_path / "r", as_stack=True) / CASE
    tools.stack(folder / "gt_beam_doses.mha", list(one.beams.values())[:2], one.grid)
    weight(-1.0)(folder)
    assert complaints(folder)[-2:] == ["gt_beam_doses.mha holds 2 doses", "expected 3"]


def test_what_is_wrong_with_many_beams_is_one_complaint(one: Any, tools: Any, tmp_path: Path) -> None:
    names = f"3 beams ({FIRST}, {SECOND}, {THIRD})"
    rays = [{**RAY, "beamlets": [{"beamlet_uuid": uuid}]} for uuid in one.beams]
    folder = tools.replace(one, plan={"beams": [{"rays": rays}]}).save(tmp_path / "a") / CASE
    assert complaints(folder) == [f"{names} do not lie across z: the first goes along (0.0000, 0.9939, 0.1104)"]
    folder = tools.replace(one, weights=dict.fromkeys(one.beams, -1)).save(tmp_path / "b") / CASE
    assert complaints(folder)[0] == f"case.json: {names} have the weight -1 (the first)"
    folder = one.save(tmp_path / "c") / CASE
    for uuid in one.beams:
        text(f"beams/{uuid}.mha", "nonsense")(folder)
    (said,) = complaints(folder)
    assert said.startswith(f"each of 3 files ({FIRST}.mha, {SECOND}.mha, {THIRD}.mha): not a MetaImage file")


@pytest.mark.parametrize("as_stack", [True, False])
def test_a_dose_that_is_cut_off_is_named(one: Any, tools: Any, tmp_path: Path, team: Path, *, as_stack: bool) -> None:
    folder = one.save(tmp_path / "r", as_stack=as_stack) / CASE
    path = folder / ("gt_beam_doses.mha" if as_stack else f"beams/{SECOND}.mha")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CohortError, match=f"{path.name}: (damaged or )?cut off"):
        tools.score(folder.parent, team)


def test_a_plan_dose_that_is_cut_off_is_named(one: Any, tools: Any, reference: Path, team: Path) -> None:
    path = reference / CASE / "plan_dose.mha"
    tools.stack(path, [one.plan_dose().astype(np.float32)], one.grid)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CohortError, match=r"plan_dose\.mha: (damaged or )?cut off"):
        tools.score(reference, team)


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
