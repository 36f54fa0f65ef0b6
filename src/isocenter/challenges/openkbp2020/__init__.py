"""OpenKBP 2020: the dose of head-and-neck patients, predicted from CT and contours.

A team submits one dose per patient, and competes in two streams with it: the *dose score* is the mean over the
patients of the mean absolute difference of the dose, the *DVH score* the mean absolute difference of all points of all
dose-volume histograms, pooled. Who only predicts points of the DVH competes in the second stream alone. Beside them
stand the same with squares, by which the published paper asked how much the ranking owes to the choice of the absolute
value. A submission that lacks a patient stands on no board. docs/explanation/openkbp2020.md has the readings taken.

References
----------
Babier A, Zhang B, Mahmood R, et al. OpenKBP: the open-access knowledge-based planning grand challenge and dataset.
Med Phys 48 (2021) 5549-5561.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isocenter.challenges.openkbp2020._files import ORGANS, TARGETS, Criterion, Patient, PatientFolder, Prediction
from isocenter.challenges.openkbp2020._forms import EQUITY, REGISTRATION, SURVEY
from isocenter.evaluation import Case, Challenge, DosePicture, OutputError, Remark, Score
from isocenter.metrics import SparseDose, dose_difference
from isocenter.metrics.dvh import is_smaller_than, openkbp_criteria
from isocenter.ranking import Disqualify, MeanThenRank, Participation
from isocenter.volumes import Grid, Volume
from isocenter.volumes.sparse import SHAPE

__all__ = ["ORGANS", "TARGETS", "Criterion", "Prepared", "challenge"]

METRICS = (
    "dose_error",
    "dvh_error",
    "dose_squared_error",
    "dvh_squared_error",
    "leaked_dose",
    "dvh_value",
    "dvh_reference",
)
Output = SparseDose | Mapping[Criterion, float]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A patient's reference: its dose, where dose can be, its structures as voxels, and the points of their DVHs."""

    dose: SparseDose
    possible: NDArray[np.int64]
    spacing: tuple[float, float, float]
    structures: Mapping[str, NDArray[np.int64]]
    criteria: Mapping[Criterion, float]

    @property
    def voxel_volume(self) -> float:
        """mm³."""
        return math.prod(self.spacing)


def prepare(case: Case) -> Prepared:
    """Everything that does not depend on the prediction."""
    patient: Patient = case.reference["patient"]
    assert patient.dose.values is not None
    dose = SparseDose(patient.dose.index, patient.dose.values)
    points = criteria(dose, patient.structures, math.prod(patient.spacing))
    # Nearly always the same voxels; one array of them is kept once.
    possible = dose.voxels if np.array_equal(dose.voxels, patient.possible.index) else patient.possible.index
    return Prepared(dose, possible, patient.spacing, patient.structures, points)


def criteria(
    dose: SparseDose, structures: Mapping[str, NDArray[np.int64]], voxel_volume: float
) -> dict[Criterion, float]:
    """The points of all DVHs, Gy: D_0.1_cc and mean of organs at risk; D_99, D_95 and D_1 of targets."""
    return {
        (name, criterion): value
        for name, voxels in structures.items()
        for criterion, value in openkbp_criteria(
            dose.at(voxels), voxel_volume=voxel_volume, target=name in TARGETS
        ).items()
    }


def measure(reference: Prepared, output: Mapping[str, Output]) -> Iterator[Score]:
    """The dose error of the patient and the errors of every point of its DVHs.

    dose_error = Σ |reference - prediction| over all voxels / number of voxels where dose can be. The sum is not limited
    to these: dose that leaks to where none can be costs as much as any other, and its share is `leaked_dose`.
    """
    found = output["prediction"]
    if isinstance(found, SparseDose):
        voxels = len(reference.possible)
        difference = dose_difference(reference.dose, found)
        yield Score("dose_error", difference.absolute / voxels)
        yield Score("dose_squared_error", difference.squared / voxels)
        yield Score("leaked_dose", found.outside(reference.possible) / voxels)
        points: Mapping[Criterion, float] = criteria(found, reference.structures, reference.voxel_volume)
    else:
        for metric in ("dose_error", "dose_squared_error", "leaked_dose"):
            yield Score(metric, None)
        points = _complete(found, reference)
    for (structure, criterion), truth in reference.criteria.items():
        part, value = f"{structure}|{criterion}", points[structure, criterion]
        yield Score("dvh_error", abs(value - truth), part)
        yield Score("dvh_squared_error", (value - truth) ** 2, part)
        yield Score("dvh_value", value, part)
        yield Score("dvh_reference", truth, part)


def _complete(points: Mapping[Criterion, float], reference: Prepared) -> Mapping[Criterion, float]:
    """Exactly the points that are asked for: one that is left out would make the score better."""
    lacking = [f"{name} {criterion}" for name, criterion in reference.criteria if (name, criterion) not in points]
    unknown = [f"{name} {criterion}" for name, criterion in points if (name, criterion) not in reference.criteria]
    troubles = [f"lacks {', '.join(lacking)}"] * bool(lacking)
    troubles += [f"has {', '.join(unknown)}, not asked for in this patient"] * bool(unknown)
    if troubles:
        msg = f"the list of DVH points {'; and it '.join(troubles)}"
        raise OutputError(msg, code="missing_output" if lacking else "bad_values")
    return points


def inspect(reference: Prepared, output: Mapping[str, Output]) -> Iterator[Remark]:
    """Doses in other units, and organs too small for the criterion they have."""
    found = output["prediction"]
    target = next((name for name in reversed(TARGETS) if name in reference.structures), None)
    if target is not None and isinstance(found, SparseDose):
        median, prescribed = float(np.median(found.at(reference.structures[target]))), float(target.removeprefix("PTV"))
        if not 0.5 * prescribed <= median <= 1.5 * prescribed:
            yield Remark(
                "warning",
                f"the median dose of {target} is {median:,.5g} Gy, prescribed is {prescribed:g} Gy; is the file in Gy?",
            )
    for name, voxels in reference.structures.items():
        if name in ORGANS and is_smaller_than(len(voxels), reference.voxel_volume, 0.1):
            yield Remark("note", f"{name} is smaller than 0.1 cc; its D_0.1_cc is its lowest dose")


def depict(reference: Prepared, output: Mapping[str, Output]) -> DosePicture:
    """Both doses, with the targets first.

    The first axis of the published arrays runs from front to back, so the first two are swapped: the picture is
    upright. Which side is the patient's left is not known.
    """
    found = output["prediction"]
    if not isinstance(found, SparseDose):
        msg = "a list of DVH points has no dose to show"
        raise OutputError(msg, code="unusable_output")
    sx, sy, sz = reference.spacing
    grid = Grid(SHAPE, spacing=(sy, sx, sz))
    names = [name for name in (*reversed(TARGETS), *ORGANS) if name in reference.structures]
    return DosePicture(
        Volume(_upright(reference.dose), grid),
        Volume(_upright(found), grid),
        {name: _upright(SparseDose(reference.structures[name], np.ones(1))) > 0 for name in names},
        oriented=False,
    )


def _upright(dose: SparseDose) -> NDArray[np.float64]:
    array = np.zeros(SHAPE)
    np.put(array, dose.voxels, dose.values)
    return array.swapaxes(0, 1)


def _stream(metric: str) -> MeanThenRank:
    return MeanThenRank(metric, missing=Disqualify(), undefined="unlisted")


def _pooled(metric: str) -> MeanThenRank:
    return MeanThenRank(metric, missing=Disqualify(), over="parts")


challenge = Challenge(
    name="openkbp2020",
    title="OpenKBP 2020: dose prediction for head and neck radiotherapy",
    reference={"patient": PatientFolder()},
    output={"prediction": Prediction()},
    metrics=METRICS,
    prepare=prepare,
    measure=measure,
    inspect=inspect,
    depict=depict,
    boards={
        "dose": _stream("dose_error"),
        "dvh": _pooled("dvh_error"),
        "dose-squared": _stream("dose_squared_error"),
        "dvh-squared": _pooled("dvh_squared_error"),
    },
    participation=Participation(quota=None, counts="last"),
    edition={
        "phases": [
            {
                "name": "validation",
                "title": "Validation: 40 patients, public board",
                "opens": "2020-02-21T00:00:00Z",
                "closes": "2020-05-21T23:59:59Z",
                "results": "2020-05-21T23:59:59Z",
                "counts": "best",
                "visibility": "public",
            },
            {
                "name": "test",
                "title": "Testing: 100 patients, hidden",
                "opens": "2020-05-22T00:00:00Z",
                "closes": "2020-06-01T23:59:59Z",
                "results": "2020-06-05T12:00:00Z",
                "visibility": "hidden",
            },
        ],
        "summary": {"acronym": "OpenKBP", "keywords": ["knowledge-based planning", "dose prediction", "radiotherapy"]},
        "organisation": {
            "life_cycle": "One-time event; the data stay public.",
            "event": "AAPM Grand Challenge 2020",
            "platform": "CodaLab",
            "submission": "One CSV per patient: the dose of every voxel that has any, or a list of points of the DVHs, "
            "which competes in the DVH stream alone. Who submits in the test phase answers a survey on the model.",
            "dates": "Training and validation cases: 21 February 2020. Test cases: 22 May 2020.",
            "ethics": "Research Ethics Board of the University of Toronto.",
            "code": "https://github.com/ababier/open-kbp",
        },
        "mission": {
            "application": "Treatment planning",
            "category": "Prediction",
            "challenge_cohort": "Patients with head-and-neck cancer from four public collections, twelve institutions.",
            "modality": "CT, with contours",
            "data_origin": "Head and neck.",
            "algorithm_target": "The dose of a plan with 70, 63 and 56 Gy to its targets.",
            "aims": "A dose as close as possible to that of the plan, everywhere and in the points of its DVHs.",
        },
        "datasets": {
            "centres": "Four collections of The Cancer Imaging Archive, from twelve institutions, 1999 to 2014.",
            "case": "One patient: CT, masks of up to seven organs and three targets, where dose can be, and the dose.",
            "numbers": "200 training, 40 validation and 100 test cases, parted at random.",
            "reference": "Synthetic plans of nine 6 MV fields, made by an automated pipeline that was trained on 217 "
            "clinical plans, and kept if their quality lies within that of the clinical ones.",
            "preprocessing": "Structures renamed, targets expanded by 5 mm where they had no margin, all arrays framed "
            "in 128 × 128 × 128 voxels.",
        },
        "registration": REGISTRATION,
        "equity": EQUITY,
        "survey": SURVEY,
    },
)
