"""The golden cases through the front door: files in, score table out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isocenter.challenges.doserad2026._closest import closest
from isocenter.volumes import Grid

GOLDEN = Path(__file__).parents[2] / "golden" / "dose"
EXPECTED: dict[str, Any] = json.loads((GOLDEN / "expected.json").read_text())["doserad"]


@pytest.fixture(params=sorted(EXPECTED))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def golden(name: str, tools: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """A golden case with its arrays turned to (x, y, z), and what was predicted for it."""
    arrays = np.load(GOLDEN / "doserad" / f"{name}.npz")
    meta = json.loads((GOLDEN / "doserad" / f"{name}.json").read_text())
    uuids = [f"beam-{i}" for i in range(len(meta["beam_weights"]))]
    patient = tools.Patient(
        name,
        {uuid: beam.T for uuid, beam in zip(uuids, arrays["gt_beams"], strict=True)},
        dict(zip(uuids, meta["beam_weights"], strict=True)),
        {s: arrays["structures"][..., i].T for i, s in enumerate(meta["structure_names"])},
        meta["plan"],
        meta["prescription_dose_gy"],
        Grid(arrays["gt_beams"].shape[:0:-1], spacing=tuple(meta["spacing_xyz_mm"]), origin=(-20.0, 5.0, 100.0)),
        {"ptv_index": meta["ptv_index"], "oar_indices": meta["oar_indices"]},
    )
    return patient, {uuid: beam.T for uuid, beam in zip(uuids, arrays["pred_beams"], strict=True)}


@pytest.mark.parametrize("as_stack", [False, True])
def test_every_golden_number(name: str, as_stack: bool, tmp_path: Path, tools: Any) -> None:
    patient, predicted = golden(name, tools)
    reference = patient.save(tmp_path / "reference", as_stack=as_stack)
    team = patient.answer(tmp_path / "team", predicted)
    result = tools.score(reference, team)
    assert result.problems == ()
    found = tools.by_part(result.scores, name)
    expected = EXPECTED[name]
    wanted = {
        ("beam_mae", ""): expected["beam_mae_mean"],
        ("idd_distance", ""): expected["idd_distance_mean"],
        ("idd_distance_z", ""): float(np.mean(expected["idd_distance_z_legacy_per_beam"])),
        ("plan_mae", ""): expected["mae_stratified"],
        ("plan_mae", "high"): expected["mae_high"],
        ("plan_mae", "mid"): expected["mae_mid"],
        ("plan_mae", "low"): expected["mae_low"],
        ("gamma_pass_rate", ""): expected["gamma_pass_rate_cut_10pct_of_plan_max"],
        ("gamma_pass_rate_rx", ""): expected["gamma_cut_10pct_of_prescription"]["pass_rate_percent_le_1"],
        ("dvh_score", ""): expected["dvh"]["dvh_score"],
        ("dvh_score", "PTV|D98%"): expected["dvh"]["ptv_d98_error"],
        ("dvh_score", "PTV|V95%"): expected["dvh"]["ptv_v95_error"],
        ("dvh_score_relative", ""): expected["not_peer_computed_relative_dvh"]["score"],
    }
    for i, uuid in enumerate(patient.beams):
        wanted["beam_mae", uuid] = expected["beam_mae_per_beam"][i]
        wanted["idd_distance", uuid] = expected["idd_distance_per_beam"][i]
        wanted["idd_distance_z", uuid] = expected["idd_distance_z_legacy_per_beam"][i]
    for organ in expected["oars_selected_voxel_centroid_distance"]:
        wanted["dvh_score", f"{organ}|D2%"] = expected["dvh"][f"{organ}_d2_error"]
        wanted["dvh_score", f"{organ}|mean"] = expected["dvh"][f"{organ}_dmean_error"]
    for structure, (first, second) in expected["not_peer_computed_relative_dvh"]["per_structure"].items():
        names = ("D98%", "V95%") if structure == "PTV" else ("D2%", "mean")
        wanted["dvh_score_relative", f"{structure}|{names[0]}"] = first
        wanted["dvh_score_relative", f"{structure}|{names[1]}"] = second
    assert found.keys() == wanted.keys()
    assert found == pytest.approx(wanted, rel=1e-11)


def test_the_closest_organs_in_voxels_and_in_mm(name: str, tools: Any) -> None:
    patient, _ = golden(name, tools)
    target, *organs = ((structure, np.argwhere(mask)) for structure, mask in patient.structures.items())
    for spacing, unit in (((1.0, 1.0, 1.0), "voxel"), (patient.grid.spacing, "mm")):
        expected = EXPECTED[name][f"oars_selected_{unit}_centroid_distance"]
        assert closest(target[1], dict(organs), spacing=spacing) == expected


def test_a_perfect_answer(name: str, tmp_path: Path, tools: Any) -> None:
    patient, _ = golden(name, tools)
    result = tools.score(patient.save(tmp_path / "reference"), patient.answer(tmp_path / "team", patient.beams))
    found = tools.by_part(result.scores, name)
    rates = {key: value for key, value in found.items() if key[0].startswith("gamma")}
    assert set(rates.values()) == {100.0}
    assert {value for key, value in found.items() if key not in rates} == {0.0}
