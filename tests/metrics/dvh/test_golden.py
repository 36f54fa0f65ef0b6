"""Numbers that others computed: OpenKBP by its own evaluator, DoseRAD by a transcription of its functions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from isocenter.metrics.dvh import dvh_in, dvh_of, openkbp_criteria
from isocenter.volumes import Grid, Volume

GOLDEN = Path(__file__).parents[2] / "golden" / "dose"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
KBP = EXPECTED["openkbp"]["patients"]
REQUESTS = {"D_0.1_cc": "D0.1cc[Gy]", "mean": "Mean[Gy]", "D_99": "D99%[Gy]", "D_95": "D95%[Gy]", "D_1": "D1%[Gy]"}
RAD = EXPECTED["doserad"]


def sparse(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, index_col=0)


def dense(path: Path) -> np.ndarray:
    rows = sparse(path)
    volume = np.zeros(128**3)
    volume[rows.index.to_numpy()] = rows["data"].to_numpy()
    return volume


@pytest.mark.parametrize("side", ["reference", "prediction"])
@pytest.mark.parametrize("patient", KBP)
def test_openkbp_values_are_those_of_the_official_evaluator(patient, side):
    folder = GOLDEN / "openkbp" / "reference" / patient
    dose = dense(folder / "dose.csv" if side == "reference" else GOLDEN / "openkbp" / "prediction" / f"{patient}.csv")
    voxel_volume = float(np.prod(np.loadtxt(folder / "voxel_dimensions.csv")))
    fast, read = {}, {}
    for structure in sorted({key.split("|")[0] for key in KBP[patient][side]}):
        doses = dose[sparse(folder / f"{structure}.csv").index.to_numpy()]
        criteria = openkbp_criteria(doses, voxel_volume=voxel_volume, target=structure.startswith("PTV"))
        dvh = dvh_of(doses, voxel_volume=voxel_volume)
        for name, found in criteria.items():
            fast[f"{structure}|{name}"] = found
            read[f"{structure}|{name}"] = dvh.evaluate(REQUESTS[name], rule="openkbp").value
    assert len(fast) == KBP[patient]["n_criteria"]
    assert fast == pytest.approx(KBP[patient][side], rel=0, abs=1e-12)
    assert read == pytest.approx(KBP[patient][side], rel=0, abs=1e-12)


def plans(case: str) -> tuple[dict, list[Volume], np.ndarray]:
    about = json.loads((GOLDEN / "doserad" / f"{case}.json").read_text())
    with np.load(GOLDEN / "doserad" / f"{case}.npz") as stored:
        arrays = {name: stored[name] for name in stored.files}
    weights = np.asarray(about["beam_weights"])
    composed = [np.tensordot(weights, arrays[name].astype(float), 1) for name in ("gt_beams", "pred_beams")]
    grid = Grid(composed[0].T.shape, spacing=tuple(about["spacing_xyz_mm"]))
    return about, [Volume(plan.T, grid) for plan in (composed[0], composed[1].clip(0))], arrays["structures"]


@pytest.mark.parametrize("case", RAD)
def test_doserad_errors_are_those_of_its_functions(case):
    about, doses, structures = plans(case)
    prescription = about["prescription_dose_gy"]
    expected = RAD[case]["dvh"]
    asked = {"PTV": {"d98": "D98%[%]", "v95": "V95%[%]"}} | {
        name: {"d2": "D2%[%]", "dmean": "Mean[%]"} for name in RAD[case]["oars_selected_voxel_centroid_distance"]
    }
    assert len(asked) == 4
    for name, requests in asked.items():
        mask = Volume(structures[..., about["structure_names"].index(name)].T, doses[0].grid)
        histograms = [dvh_in(dose, mask) for dose in doses]
        for metric, request in requests.items():
            truth, found = (
                dvh.evaluate(request, prescription=prescription, rule="doserad").value for dvh in histograms
            )
            key = f"{'ptv' if name == 'PTV' else name}_{metric}_error"
            assert abs(found - truth) == pytest.approx(expected[key], rel=0, abs=1e-12), key
