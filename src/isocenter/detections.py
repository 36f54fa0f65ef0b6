"""Who has a lesion, and where: the findings of one algorithm in a cohort, as the score table holds them.

AUROC, average precision and FROC are numbers of a whole cohort, not means over its cases. So what is measured of a case
are its findings, and everything else is made of them:

=====================  =======================  ==============================================================
metric                 part                     value
=====================  =======================  ==============================================================
`case_positive`        instance                 1 if the patient has a lesion, 0 if not
`case_likelihood`      instance                 how likely the submission takes that to be
`lesion`               instance and number      1 for a lesion, found or not; 0 for a false positive
`lesion_confidence`    instance and number      the likelihood of the candidate; 0 for a lesion that was missed
`lesion_iou`           instance and number      overlap with the candidate that found it; 0 if none did
`lesion_grade`         instance and number      the grade of a lesion, where the reference has one
=====================  =======================  ==============================================================

The instance is one of several independently trained models of the same algorithm, which are kept together; where there
is one only, it is "".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isocenter.metrics import catalogue
from isocenter.metrics._average_precision import (
    PrecisionRecallCurve,
    average_precision,
    precision_recall_curve,
    why_no_average_precision,
)
from isocenter.metrics._froc import Froc, froc
from isocenter.metrics._roc import RocCurve, auroc, roc_curve, why_no_auroc
from isocenter.metrics.catalogue import Metric

__all__ = ["CASE_METRICS", "LESION_METRICS", "Detections", "Finding", "detections_of", "findings"]

Floats = NDArray[np.float64]

CASE_METRICS = ("case_positive", "case_likelihood")
LESION_METRICS = ("lesion", "lesion_confidence", "lesion_iou", "lesion_grade")

catalogue.register(Metric("case_positive", "", "neither", (0.0, 1.0), 0, "whether the patient has a lesion"))
catalogue.register(Metric("case_likelihood", "", "neither", (0.0, 1.0), 3, "likelihood given that the patient has one"))
catalogue.register(Metric("lesion", "", "neither", (0.0, 1.0), 0, "1 a lesion, found or missed; 0 a false positive"))
catalogue.register(Metric("lesion_confidence", "", "neither", (0.0, 1.0), 3, "likelihood given to it; 0 if missed"))
catalogue.register(Metric("lesion_iou", "", "neither", (0.0, 1.0), 3, "overlap of a lesion and what found it, as IoU"))
catalogue.register(Metric("lesion_grade", "", "neither", (1.0, 65535.0), 0, "grade of a lesion in the reference"))
catalogue.register(Metric("auroc", "", "higher", (0.0, 1.0), 4, "area under the ROC curve of the patients"))
catalogue.register(
    Metric("average_precision", "", "higher", (0.0, 1.0), 4, "area under the steps of precision by recall of lesions")
)
catalogue.register(
    Metric("detection_score", "", "higher", (0.0, 1.0), 4, "mean of auroc and average_precision, as in PI-CAI")
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A lesion, found or missed, or a false positive; `grade` is None where the reference has none."""

    is_lesion: bool
    confidence: float
    iou: float
    grade: float | None = None


def findings(
    positive: bool, likelihood: float, lesions: Iterable[Finding], *, instance: str = ""
) -> Iterator[tuple[str, float, str]]:
    """Metric, value and part of everything that the score table holds of a case."""
    yield "case_positive", float(positive), instance
    yield "case_likelihood", likelihood, instance
    for number, found in enumerate(lesions, start=1):
        part = f"{instance}#{number}"
        yield "lesion", float(found.is_lesion), part
        yield "lesion_confidence", found.confidence, part
        yield "lesion_iou", found.iou, part
        if found.grade is not None:
            yield "lesion_grade", found.grade, part


@dataclass(frozen=True, eq=False)
class Detections:
    """The findings of one trained algorithm in all cases of a cohort.

    Attributes
    ----------
    cases
        In alphabetical order.
    truth, likelihood, weight
        Of each case.
    case
        Of each row of lesions and candidates, the position of its case.
    is_lesion, confidence, iou, grade
        Of each row; the grade is NaN where there is none.
    """

    cases: tuple[str, ...]
    truth: NDArray[np.bool_]
    likelihood: Floats
    weight: Floats
    case: NDArray[np.int64]
    is_lesion: NDArray[np.bool_]
    confidence: Floats
    iou: Floats
    grade: Floats

    @property
    def _row_weight(self) -> Floats:
        return self.weight[self.case]

    @cached_property
    def undefined(self) -> dict[str, str]:
        """Why there is no "auroc", or no "average_precision"; empty if there are both."""
        reasons = {
            "auroc": ("AUROC", why_no_auroc(self.truth, weight=self.weight)),
            "average_precision": (
                "average precision",
                why_no_average_precision(self.is_lesion, weight=self._row_weight),
            ),
        }
        return {name: f"there is no {what}: {reason}" for name, (what, reason) in reasons.items() if reason}

    @cached_property
    def auroc(self) -> float:
        """Area under the ROC curve of the patients; NaN if they are all of one kind."""
        return auroc(self.truth, self.likelihood, weight=self.weight)

    @cached_property
    def average_precision(self) -> float:
        """Of the lesions, Σ (Rₖ − Rₖ₋₁) Pₖ; NaN if there are none."""
        return average_precision(self.is_lesion, self.confidence, weight=self._row_weight)

    @property
    def detection_score(self) -> float:
        """(AUROC + AP) / 2."""
        return (self.auroc + self.average_precision) / 2

    def roc(self) -> RocCurve:
        """The ROC curve of the patients."""
        return roc_curve(self.truth, self.likelihood, weight=self.weight)

    def precision_recall(self) -> PrecisionRecallCurve:
        """The precision–recall curve of the lesions."""
        return precision_recall_curve(self.is_lesion, self.confidence, weight=self._row_weight)

    def froc(self) -> Froc:
        """Sensitivity for lesions against false positives per case, both weighted.

        An ill patient whose lesions are not drawn is no case here: there a candidate can be neither right nor wrong.
        """
        drawn = ~self.truth
        drawn[self.case[self.is_lesion]] = True
        cases = float(self.weight[drawn].sum())
        return froc(self.is_lesion, self.confidence, cases=cases, weight=self._row_weight)

    def among(self, cases: Collection[str]) -> Detections:
        """The same in some of the cases."""
        return self._restricted(np.isin(np.array(self.cases), list(cases)), np.ones(self.case.size, np.bool_))

    def of_grade(self, grade: float) -> Detections:
        """What is there to say of lesions of one grade.

        The cases are those without a lesion, and those whose highest grade it is. Lesions of other grades in them are
        left out, with what found them: they are neither hits nor misses, nor false positives.
        """
        highest = np.full(len(self.cases), -np.inf)
        graded = self.is_lesion & ~np.isnan(self.grade)
        np.maximum.at(highest, self.case[graded], self.grade[graded])
        return self._restricted(~self.truth | (highest == grade), ~self.is_lesion | (self.grade == grade))

    def _restricted(self, cases: NDArray[np.bool_], rows: NDArray[np.bool_]) -> Detections:
        rows = rows & cases[self.case]
        return Detections(
            cases=tuple(name for name, kept in zip(self.cases, cases, strict=True) if kept),
            truth=self.truth[cases],
            likelihood=self.likelihood[cases],
            weight=self.weight[cases],
            case=(np.cumsum(cases) - 1)[self.case[rows]],
            is_lesion=self.is_lesion[rows],
            confidence=self.confidence[rows],
            iou=self.iou[rows],
            grade=self.grade[rows],
        )


def detections_of(table: pl.DataFrame) -> dict[str, Detections]:
    """The findings of a submission by trained instance, from its score table.

    Raises `ValueError` if a case has none, since a number of the cohort without it would be one of another cohort.
    """
    of_cases = table.filter(pl.col("metric").is_in(CASE_METRICS) & pl.col("value").is_not_null())
    whole = _wide(of_cases, CASE_METRICS)
    all_cases = set(table.filter(pl.col("case") != "")["case"])
    rows = _wide(table.filter(pl.col("metric").is_in(LESION_METRICS)), LESION_METRICS).with_columns(
        pl.col("part").str.extract(r"(?s)^(.*)#[0-9]+$").alias("instance"),
        pl.col("part").str.extract(r"#([0-9]+)$").cast(pl.Int64).alias("number"),
    )
    if whole.is_empty():
        msg = "the table holds no findings: no case has a likelihood"
        raise ValueError(msg)
    found = {}
    for instance in whole["part"].unique().sort():
        mine = whole.filter(pl.col("part") == instance).sort("case")
        if lacking := sorted(all_cases - set(mine["case"])):
            of = f" of {instance}" if instance else ""
            more = " …" if len(lacking) > 5 else ""
            msg = f"there is no likelihood{of} in {', '.join(lacking[:5])}{more}: a score of the rest would hide that"
            raise ValueError(msg)
        cases = tuple(mine["case"])
        place = pl.DataFrame({"case": cases, "at": np.arange(len(cases))}, schema={"case": pl.String, "at": pl.Int64})
        its = rows.filter(pl.col("instance") == instance).join(place, on="case").sort("at", "number")
        found[instance] = Detections(
            cases=cases,
            truth=mine["case_positive"].to_numpy() > 0.5,
            likelihood=mine["case_likelihood"].to_numpy(),
            weight=mine["weight"].to_numpy(),
            case=its["at"].to_numpy(),
            is_lesion=its["lesion"].to_numpy() > 0.5,
            confidence=its["lesion_confidence"].to_numpy(),
            iou=its["lesion_iou"].to_numpy(),
            grade=its["lesion_grade"].fill_null(np.nan).to_numpy(),
        )
    return found


def _wide(table: pl.DataFrame, metrics: tuple[str, ...]) -> pl.DataFrame:
    """A column for each metric, one row for each case and part."""
    columns = [pl.col("value").filter(pl.col("metric") == metric).first().alias(metric) for metric in metrics]
    return table.group_by("case", "part").agg(pl.col("weight").first(), *columns)
