"""DoseRAD2026: dose of single photon segments and proton pencil beams, on CT and MR, and of the plans they make up.

Four tasks, photons or protons on CT or MR, are measured in the same way and ranked each for itself: they are four
phases of an edition, each with a cohort of its own. A case is a patient. Its reference is the folder that `_truth`
draws; its output a folder with a dose per beam, named by uuid, or the platform's stacks (`_arrange`).

Level 1 looks at every beam: masked mean absolute error, and distance of the integrated depth doses; the mean over the
beams is the patient's. Level 2 looks at the plan, the sum of the beams by their weights: error in three strata of dose,
local gamma, DVH points of the target and the three closest organs. A beam that is missing, on another grid or not
finite fails the case, and a failed case disqualifies: there is no mean over what is left.

The page and the evaluation, as far as copies of it are public, differ. Where they do, both numbers are measured, and a
board says which it takes:

===============  =================================  ====================================  ==========================
                 as-run                             as-described                          as-run-until-august
===============  =================================  ====================================  ==========================
depth dose       along the beam                     along the beam                        along z
gamma, voxels    ≥ 10 % of the plan's maximum       ≥ 10 % of the prescription            ≥ 10 % of the maximum
DVH errors       by prescription                    by the reference's own values         by prescription
run time         a fit over all jobs                all time by all beams                 a fit over all jobs
at 1 s per beam  excluded                           allowed; only what exceeds it is not  excluded
===============  =================================  ====================================  ==========================

docs/explanation/doserad2026.md has the other readings that were taken. Evidence for "as run" is indirect: it is no
claim of official parity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from isocenter.challenges.doserad2026._arrange import arrange
from isocenter.challenges.doserad2026._measure import depict, inspect, measure
from isocenter.challenges.doserad2026._metrics import LEVEL_1, LEVEL_2
from isocenter.challenges.doserad2026._output import BeamFolder
from isocenter.challenges.doserad2026._prepare import prepare, prepare_floored
from isocenter.challenges.doserad2026._run_time import Job, JobList, read_jobs, run_time, run_time_tables, run_times
from isocenter.challenges.doserad2026._truth import TruthFolder
from isocenter.evaluation import Challenge
from isocenter.ranking import Disqualify, Limit, MeanThenRank, Participation, WeightedRanks

__all__ = ["Job", "JobList", "challenge", "floored", "read_jobs", "run_time", "run_time_tables", "run_times"]


def _weighted(idd: str, gamma: str, dvh: str, limit: Limit) -> WeightedRanks:
    """Five metrics of accuracy with one weight each, run time with two."""
    accuracy = ("beam_mae", idd, "plan_mae", gamma, dvh)
    return WeightedRanks(
        metrics=(*((name, 1.0) for name in accuracy), (limit.metric, 2.0)),
        missing=Disqualify(),
        given=(limit.metric,),
        exclude=(limit,),
        tie_breaks=(limit.metric, "plan_mae", dvh),
    )


_AS_RUN = Limit("run_time", 1.0, at="excluded")
_AS_DESCRIBED = Limit("run_time_mean", 1.0, at="allowed")


def _run_times(path: Path, teams: Sequence[str]) -> tuple[dict[str, pl.DataFrame], list[str]]:
    return run_time_tables(read_jobs(path), teams)


def _phase(name: str, title: str) -> dict[str, Any]:
    """A task of the test phase, of whole days."""
    return {
        "name": name,
        "title": title,
        "opens": "2026-07-16T00:00:00Z",
        "closes": "2026-08-31T23:59:59Z",
        "results": "2026-09-15T00:00:00Z",
        "visibility": "hidden",
    }


challenge = Challenge(
    name="doserad2026",
    title="DoseRAD2026: dose of single beams and plans, photons and protons, on CT and MR",
    reference={"truth": TruthFolder()},
    output={"beams": BeamFolder()},
    metrics=(*LEVEL_1, *LEVEL_2),
    prepare=prepare,
    inspect=inspect,
    depict=depict,
    arrange=arrange,
    measure=measure,
    boards={
        "as-run": _weighted("idd_distance", "gamma_pass_rate", "dvh_score", _AS_RUN),
        "as-described": _weighted("idd_distance", "gamma_pass_rate_rx", "dvh_score_relative", _AS_DESCRIBED),
        "as-run-until-august": _weighted("idd_distance_z", "gamma_pass_rate", "dvh_score", _AS_RUN),
        **{metric: MeanThenRank(metric, missing=Disqualify(), ties="min") for metric in (*LEVEL_1, *LEVEL_2)},
    },
    participation=Participation(quota=2, counts="last"),
    run_times=_run_times,
    edition={
        "phases": [
            _phase("photon-ct", "Task 1: photons on CT"),
            _phase("photon-mr", "Task 2: photons on MR"),
            _phase("proton-ct", "Task 3: protons on CT"),
            _phase("proton-mr", "Task 4: protons on MR"),
        ],
        "summary": {"acronym": "DoseRAD", "keywords": ["dose calculation", "photons", "protons", "CT", "MR"]},
        "organisation": {
            "platform": "grand-challenge.org",
            "submission": "An algorithm that computes the dose of every beam. Its output is a folder per case with one "
            "volume per beam, named by the beam's uuid, or the platform's stacks of such volumes.",
            "licence": "CC BY-NC",
        },
        "mission": {
            "application": "Treatment planning",
            "category": "Prediction",
            "modality": "CT and MR",
            "data_origin": "Abdomen and thorax.",
            "algorithm_target": "The dose of single photon segments and proton pencil beams.",
            "aims": "Accuracy of the dose, of single beams and of plans; short run time.",
        },
        "datasets": {
            "case": "One patient: a CT or MR, its beams, and the dose of each.",
            "numbers": "75 training cases (36 abdomen, 39 thorax), 40 hidden and 7 external test cases.",
        },
        "assessment": {
            "ranking_reason": "Run time has twice the weight of a metric, so that five metrics of accuracy do not "
            "drown it; accuracy as a whole still weighs more.",
        },
    },
)

floored = replace(
    challenge,
    name="doserad2026-floored",
    title="DoseRAD2026 with dose at or below each beam's cutoff taken for none",
    prepare=prepare_floored,
)
"""The same with dose at or below each beam's `minimum_cutoff` taken for none, in reference and output alike."""
