"""Synthetic patients in every layout: what is written there is what is read here."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from isocenter.challenges.doserad2026._truth import read_truth
from isocenter.phantoms import doserad_patient, write_doserad, write_doserad_predictions
from isocenter.volumes import DiskFile, Folder


@pytest.mark.parametrize("modality", ["photon", "proton"])
def test_all_layouts_give_the_same_scores(modality: Literal["photon", "proton"], tools: Any, tmp_path: Path) -> None:
    patients = [doserad_patient(number, modality=modality, size=(40, 36, 16), beams=5) for number in (1, 2)]
    answers = [(p, {uuid: (1.02 * beam).astype(np.float32) for uuid, beam in p.beams.items()}) for p in patients]
    write_doserad(tmp_path / "package", patients)
    write_doserad(tmp_path / "plain", patients, layout="plain")
    write_doserad_predictions(tmp_path / "folders", answers)
    write_doserad_predictions(tmp_path / "platform", answers, layout="platform")
    found = []
    for reference in ("package", "plain"):
        for submission in ("folders", "platform"):
            result = tools.score(tmp_path / reference, tmp_path / submission)
            assert [problem for problem in result.problems if problem.severity != "note"] == []
            found.append(result.scores)
    for patient in patients:
        expected = tools.by_part(found[0], patient.name)
        assert len([part for metric, part in expected if metric == "beam_mae" and part]) == len(patient.beams)
        assert expected["idd_distance_z", ""] > 0
        for table in found[1:]:
            assert tools.by_part(table, patient.name) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("modality", ["photon", "proton"])
def test_directions_and_plan_are_those_of_the_patient(modality: Literal["photon", "proton"], tmp_path: Path) -> None:
    patient = doserad_patient(3, modality=modality, size=(40, 36, 16), beams=5)
    write_doserad(tmp_path, [patient])
    top = tmp_path / patient.name
    files = {path.relative_to(top).as_posix(): DiskFile(path) for path in top.rglob("*") if path.is_file()}
    truth = read_truth(Folder(patient.name, files))
    assert (truth.modality, truth.prescription) == (modality, patient.prescription)
    assert {beam.uuid: beam.weight for beam in truth.beams} == patient.weights
    for beam in truth.beams:
        assert beam.direction == pytest.approx(patient.directions[beam.uuid], abs=1e-9)
