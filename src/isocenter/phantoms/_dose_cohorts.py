"""Whole synthetic challenges of dose on disk: references, submissions, and run times where they count."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

from isocenter.atomic import write_text
from isocenter.phantoms._cohort import CohortFiles, make_room
from isocenter.phantoms._dose_files import write_doserad, write_doserad_predictions
from isocenter.phantoms._dose_teams import TEAMS_DOSERAD, TEAMS_OPENKBP, predict_beams, predict_dose
from isocenter.phantoms._doserad import doserad_patient
from isocenter.phantoms._openkbp import openkbp_patient, write_openkbp, write_openkbp_predictions

_Progress = Callable[[str], object]

# Jobs of a platform: images and control points of each. A fit of run times needs some that differ in both.
_JOBS = ((1, 181), (5, 905), (10, 900))
_START_SECONDS, _IMAGE_SECONDS = 4.0, 1.5


def write_openkbp_cohort(
    folder: str | os.PathLike[str], *, cases: int = 6, seed: int = 0, progress: _Progress | None = None
) -> CohortFiles:
    """Write patients as OpenKBP published them, and what each of `TEAMS_OPENKBP` predicts; see `write_cohort`."""
    reference, submissions = make_room(folder, [team.name for team in TEAMS_OPENKBP], cases=cases)
    names = []
    for number in range(1, cases + 1):
        patient = openkbp_patient(number, seed=seed)
        names += write_openkbp(reference, [patient])
        for team in TEAMS_OPENKBP:
            write_openkbp_predictions(submissions[team.name], {patient.name: predict_dose(patient, team, seed=seed)})
        if progress is not None:
            progress(patient.name)
    return CohortFiles(reference, submissions, {team.name: team.role for team in TEAMS_OPENKBP}, tuple(names))


def write_doserad_cohort(
    folder: str | os.PathLike[str], *, cases: int = 6, seed: int = 0, progress: _Progress | None = None
) -> CohortFiles:
    """Write photon patients on CT as DoseRAD2026 published them, and what each of `TEAMS_DOSERAD` predicts.

    Beside references and submissions lies `run_times.csv`, the jobs of every team on a platform.
    """
    reference, submissions = make_room(folder, [team.name for team in TEAMS_DOSERAD], cases=cases)
    names = []
    for number in range(1, cases + 1):
        patient = doserad_patient(number, seed=seed)
        names += write_doserad(reference, [patient])
        for team in TEAMS_DOSERAD:
            doses = predict_beams(patient, team, seed=seed)
            write_doserad_predictions(submissions[team.name], [(patient, doses)])
        if progress is not None:
            progress(patient.name)
    jobs = []
    for team, (images, beams) in itertools.product(TEAMS_DOSERAD, _JOBS):
        seconds = _START_SECONDS + images * _IMAGE_SECONDS + beams * team.seconds_per_beam
        jobs.append(f"{team.name},photon,{seconds:.3f},{images},{beams}")
    run_times = Path(folder, "run_times.csv")
    write_text("\n".join(["submission,modality,seconds,images,beams", *jobs]) + "\n", run_times)
    roles = {team.name: team.role for team in TEAMS_DOSERAD}
    return CohortFiles(reference, submissions, roles, tuple(names), run_times)
