"""One submission looked at closely: what its findings say beside the score that ranks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.detections import Detections
from isocenter.metrics._froc import LUNA16_RATES
from isocenter.resampling.blocks import Progress
from isocenter.stats._bootstrap import BY_BOOTSTRAP
from isocenter.stats._detection import DetectionIntervals, detection_intervals
from isocenter.stats._provenance import record

GRADE = "grade"
"""What groups are made by that come from the reference itself: the grade of the lesions."""

_HALF = 0.5


@dataclass(frozen=True, slots=True)
class Congruence:
    """How well candidates cover the lesions that they found, as IoU; it ranks nobody.

    Attributes
    ----------
    found
        How many lesions were found, over all instances.
    median, lower, upper
        Of their IoU, the median and the quartiles; NaN if none was found.
    half
        The share of them with an IoU of at least one half; NaN if none was found.
    """

    found: int
    median: float
    lower: float
    upper: float
    half: float


@dataclass(frozen=True, slots=True)
class DetectionSummary:
    """What `summarise_detections` found; numbers of several trained instances are means over them.

    As text, sentences of a paper.

    Attributes
    ----------
    instances, cases, positives, lesions
        How many there are.
    undefined
        Why there is no AUROC or no average precision, and no interval; "" if there are.
    intervals
        Of AUROC, average precision and their mean; None if `undefined` says why not, or no replicate was asked for.
    auroc, average_precision, score
        As on the board; NaN where undefined.
    sensitivity_at
        By false positives per case, the share of lesions found: at attained points of the FROC curve.
    cpm
        Mean sensitivity at 1/8, 1/4, 1/2, 1, 2, 4 and 8 false positives per case, read from straight lines between the
        points, as in LUNA16.
    specificity_at
        By the sensitivity for patients that is asked for at least, the best specificity.
    congruence
        IoU of the lesions found.
    """

    instances: int
    cases: int
    positives: int
    lesions: int
    undefined: str
    intervals: DetectionIntervals | None
    auroc: float
    average_precision: float
    score: float
    sensitivity_at: Mapping[float, float]
    cpm: float
    specificity_at: Mapping[float, float]
    congruence: Congruence

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: what is undefined is null."""
        of_curves = "AUROC by trapezia, average precision by steps, sensitivities at attained points"
        return record(asdict(self), method=of_curves if self.intervals is None else f"{of_curves}; {BY_BOOTSTRAP}")

    def __str__(self) -> str:
        who = f"{self.instances} trained instance{'s' * (self.instances != 1)}"
        if self.undefined:
            said = f"There is no score: {self.undefined}."
        elif self.intervals is None:
            said = f"AUROC {self.auroc:.4f}, average precision {self.average_precision:.4f}, mean {self.score:.4f}."
        else:
            said = str(self.intervals)
        return f"{self.cases} cases, {self.positives} of them positive, {self.lesions} lesions, {who}. {said}"


def summarise_detections(
    instances: Sequence[Detections],
    *,
    replicates: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
    strata: Literal["truth"] | None = None,
    workers: int = 1,
    rates: Sequence[float] = LUNA16_RATES,
    sensitivities: Sequence[float] = (0.8, 0.9, 0.95),
    progress: Progress | None = None,
) -> DetectionSummary:
    """Everything that is commonly said of the findings of one algorithm, of which `instances` were trained.

    Parameters
    ----------
    replicates, level, seed, strata, workers, progress
        See `detection_intervals`; no replicates, no intervals.
    rates
        False positives per case at which the sensitivity for lesions is given.
    sensitivities
        For patients, at which the specificity is given.
    """
    first = instances[0]
    intervals = None
    if replicates and not first.undefined:
        intervals = detection_intervals(
            instances, replicates=replicates, level=level, seed=seed, strata=strata, workers=workers, progress=progress
        )
    lesions = int(first.is_lesion.sum())
    curves = [found.froc() for found in instances]
    rocs = [found.roc() for found in instances] if 0 < first.truth.sum() < first.truth.size else []
    return DetectionSummary(
        instances=len(instances),
        cases=len(first.cases),
        positives=int(first.truth.sum()),
        lesions=lesions,
        undefined="; ".join(first.undefined.values()),
        intervals=intervals,
        auroc=_mean([found.auroc for found in instances]),
        average_precision=_mean([found.average_precision for found in instances]),
        score=_mean([found.detection_score for found in instances]),
        sensitivity_at={rate: _mean([curve.sensitivity_at(rate) for curve in curves]) for rate in rates},
        cpm=_mean([curve.cpm() for curve in curves]),
        specificity_at={
            least: _mean([roc.at_sensitivity(least).specificity for roc in rocs]) for least in sensitivities
        },
        congruence=_congruence(np.concatenate([found.iou[found.is_lesion & (found.iou > 0)] for found in instances])),
    )


def detection_subgroups(
    instances: Sequence[Detections], facts: Mapping[str, Mapping[str, str]], *, by: str
) -> dict[str, list[Detections]]:
    """The findings in every group of cases.

    Parameters
    ----------
    facts
        Of every case, what is known by column; see `read_facts`. A case without the fact is in the group "unknown".
    by
        The column; or "grade" for the grades of the lesions, see `Detections.of_grade`.
    """
    first = instances[0]
    if by == GRADE:
        grades = sorted({float(grade) for found in instances for grade in found.grade[~np.isnan(found.grade)]})
        if not grades:
            msg = "the reference has no grades: its labels are all 1"
            raise ValueError(msg)
        return {f"{grade:g}": [found.of_grade(grade) for found in instances] for grade in grades}
    if strange := [case for case in first.cases if case not in facts]:
        some = f"{', '.join(strange[:5])}{' …' if len(strange) > 5 else ''}"
        msg = f"groups by {by!r} need a table that says it of every case; nothing is said of {some}"
        raise ValueError(msg)
    columns = sorted({column for said in facts.values() for column in said})
    if by not in columns:
        msg = f"no case has a {by!r}; there are {', '.join(columns) or 'no columns'}, and {GRADE}"
        raise ValueError(msg)
    groups: dict[str, list[str]] = {}
    for case in first.cases:
        groups.setdefault(facts[case].get(by, "unknown"), []).append(case)
    return {name: [found.among(cases) for found in instances] for name, cases in sorted(groups.items(), key=_in_order)}


def _in_order(group: tuple[str, object]) -> tuple[bool, float, str]:
    """Numbers by their value, then words, then what is unknown."""
    name = group[0]
    try:
        return False, float(name), name
    except ValueError:
        return name == "unknown", float("inf"), name


def _congruence(iou: NDArray[np.float64]) -> Congruence:
    if iou.size == 0:
        return Congruence(0, np.nan, np.nan, np.nan, np.nan)
    lower, median, upper = np.percentile(iou, [25, 50, 75]).tolist()
    return Congruence(iou.size, median, lower, upper, float((iou >= _HALF).mean()))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else np.nan
