"""What comes out: numbers of every reader, means of every panel, and tables of both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import polars as pl

from isocenter.metrics import LesionCounts
from isocenter.readers._reads import OPERATING_POINTS, Read
from isocenter.stats import Interval

_COUNTS = ("readers", "threshold", "cases", "positives", "lesions")


class ReaderPoint(NamedTuple):
    """A reader, or the mean of several, at one operating point. All rates are weighted by case.

    Attributes
    ----------
    sensitivity, specificity
        Share of the positive patients that are called positive, and of the negative ones that are not: Σwyb / Σwy and
        Σw(1−y)(1−b) / Σw(1−y). NaN without such patients.
    recall
        Share of the lesions that a mark hit, Σw·TP / Σw(TP+FN); NaN without lesions.
    precision
        Share of the marks that hit a lesion, Σw·TP / Σw(TP+FP), marks that hit one which another mark has already not
        counted; NaN without marks.
    false_positives_per_case
        Σw·FP / Σw.

    The last three are of cases with lesions that are drawn, if there are any. They are NaN for reads that say nothing
    of places.
    """

    sensitivity: float
    specificity: float
    recall: float
    precision: float
    false_positives_per_case: float


@dataclass(frozen=True)
class ReaderResult:
    """One reader in one modality, on the cases that this reader read.

    Attributes
    ----------
    cases, positives, lesions
        How many cases there were, how many of the patients are positive, and how many lesions they have.
    auroc
        Of the scores, with its 95 % interval: DeLong's, or where cases have different weights that of a bootstrap.
    points
        By operating point: PI-RADS 3, 4 and 5.
    undefined
        Why there is no "AUROC", no "interval" of it, or no "lesion-level result", where there is none.
    """

    reader: str
    modality: str
    cases: int
    positives: int
    lesions: int
    auroc: Interval
    points: Mapping[int, ReaderPoint]
    undefined: Mapping[str, str]


@dataclass(frozen=True)
class PanelResult:
    """The mean over the readers of a modality, every reader counting once, however many cases each has read.

    A number that is undefined for a reader is averaged over the others. How well a mean is known, for other readers and
    other cases, is a question for an analysis of variance and not answered here.

    Attributes
    ----------
    readers
        How many.
    cases, positives, lesions
        That at least one of them read; each counted once.
    auroc, points
        See `ReaderResult`.
    """

    modality: str
    readers: int
    cases: int
    positives: int
    lesions: int
    auroc: float
    points: Mapping[int, ReaderPoint]


class ScoredRead(NamedTuple):
    """A read beside the truth.

    Attributes
    ----------
    positive, lesions
        Whether the patient is positive, and how many lesions there are.
    weight
        Of the case.
    hits
        By operating point, lesions found, made up and missed; None for a read that says nothing of places, and where
        the lesions of a positive patient are not drawn.
    """

    read: Read
    positive: bool
    lesions: int
    weight: float
    hits: Mapping[int, LesionCounts] | None

    @property
    def drawn(self) -> bool:
        """Whether it is known where the lesions are, if there are any; if not, no mark can be right or wrong."""
        return self.lesions > 0 or not self.positive


@dataclass(frozen=True)
class ReaderScores:
    """What `score_reads` found.

    Attributes
    ----------
    readers
        In the order of readers and modalities.
    panels
        The mean over readers, by modality, where there are at least two.
    reads
        What all this was computed from.
    remarks
        What should be known beside the numbers.
    """

    readers: tuple[ReaderResult, ...]
    panels: tuple[PanelResult, ...]
    reads: tuple[ScoredRead, ...]
    remarks: tuple[str, ...] = ()

    def frame(self) -> pl.DataFrame:
        """One row per read, as analyses of several readers and cases take it.

        Columns are `reader_id`, `modality_id`, `case_id`, `truth` (0 or 1) and `score` (null if there is none). A row
        that is not there was not read.
        """
        schema = {"reader_id": pl.String, "modality_id": pl.String, "case_id": pl.String}
        rows = [(*scored.read.key, int(scored.positive), scored.read.score) for scored in self.reads]
        return pl.DataFrame(rows, schema={**schema, "truth": pl.Int64, "score": pl.Float64}, orient="row")

    def table(self) -> pl.DataFrame:
        """One row per reader, modality and operating point; panels are at the end, their `reader` is null.

        What is undefined is null.
        """
        names = ["reader", "modality", *_COUNTS, *ReaderPoint._fields, "auroc", "auroc_low", "auroc_high"]
        types = {name: pl.Int64 if name in _COUNTS else pl.Float64 for name in names}
        schema = {**types, "reader": pl.String, "modality": pl.String}
        return pl.DataFrame(list(self._rows()), schema=schema, orient="row").fill_nan(None)

    def _rows(self) -> Iterator[tuple[str | float | None, ...]]:
        for one in self.readers:
            for t in OPERATING_POINTS:
                yield one.reader, one.modality, 1, t, one.cases, one.positives, one.lesions, *one.points[t], *one.auroc
        for panel in self.panels:
            counts = (panel.cases, panel.positives, panel.lesions)
            for t in OPERATING_POINTS:
                area = (panel.auroc, math.nan, math.nan)
                yield None, panel.modality, panel.readers, t, *counts, *panel.points[t], *area

    def to_dict(self) -> dict[str, Any]:
        """All but the single reads, as JSON values; what is undefined is None."""
        return {
            "readers": [_plain(asdict(one)) for one in self.readers],
            "panels": [_plain(asdict(panel)) for panel in self.panels],
            "remarks": list(self.remarks),
        }


def _plain(value: Any) -> Any:
    """Named tuples as objects, keys as text, NaN as None."""
    if isinstance(value, ReaderPoint | Interval):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value
