"""Scored reads and findings of algorithms as one study: the tables that the statistics of readers take."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from isocenter.detections import Detections
from isocenter.readers._reads import OPERATING_POINTS, Read, Reads
from isocenter.readers._reference import ReferenceCase
from isocenter.readers._results import ReaderScores, ScoredRead
from isocenter.readers._score import score_reads
from isocenter.stats import AgainstPanel, ai_against_panel
from isocenter.volumes import Grid

AI, PANEL = "algorithm", "readers"
"""The names of the two modalities, which are those of nobody who submits or reads."""

_NAMED = 5
_READS = {
    "reader_id": pl.String,
    "modality_id": pl.String,
    "case_id": pl.String,
    "truth": pl.Int64,
    "score": pl.Float64,
    "weight": pl.Float64,
    "rating": pl.Float64,
}
_LESIONS = {
    "reader_id": pl.String,
    "modality_id": pl.String,
    "case_id": pl.String,
    "is_lesion": pl.Int64,
    "confidence": pl.Float64,
    "point": pl.Float64,
}
_ReadRow = tuple[str, str, str, int, float | None, float, float | None]
_LesionRow = tuple[str, str, str, int, float, float | None]


class PanelStudy(NamedTuple):
    """An algorithm and the readers of one modality, on the cases that somebody of them read.

    Attributes
    ----------
    modality
        Of the reads; "" if they have none.
    reads, lesions
        As `isocenter.stats.ai_against_panel` takes them; lesions are None where the reads say nothing of places.
    scored
        What the readers are compared by: "score", or "PI-RADS" where not every read has a score.
    """

    modality: str
    reads: pl.DataFrame
    lesions: pl.DataFrame | None
    scored: str

    @property
    def readers(self) -> int:
        """How many there are."""
        return self.reads.filter(modality_id=PANEL)["reader_id"].n_unique()


class ReadTables(NamedTuple):
    """Reads of all modalities, as `isocenter.stats.compare_readers` takes them; see `PanelStudy`."""

    reads: pl.DataFrame
    lesions: pl.DataFrame | None
    scored: str


def rate_patient(read: Read) -> int:
    """The PI-RADS of the patient: that of the highest mark, 1 if there was nothing to mark."""
    if read.marks is None:
        return read.pirads or 1
    return max((int(mark.pirads) for mark in read.marks), default=1)


def name_reader(reader: str) -> str:
    """A reader in the tables of a study, where trained instances are readers too."""
    return f"read by {reader}"


def describe_error(error: Exception) -> str:
    """What went wrong, in a sentence without its end: the first problems of many."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    more = f"; and {len(lines) - 1 - _NAMED} more" if len(lines) - 1 > _NAMED else ""
    return " ".join(lines[: 1 + _NAMED]).rstrip(".") + more


def score_patients(reads: Reads, truth: Detections) -> ReaderScores:
    """Score reads by what they say of patients, against the truth of a score table; places are not looked at."""
    plain = [replace(read, marks=None, pirads=rate_patient(read)) for read in reads]
    grid = Grid((1, 1, 1))
    cases = zip(truth.cases, truth.weight.tolist(), truth.truth.tolist(), strict=True)
    reference = {name: ReferenceCase(np.zeros((1, 1, 1), np.uint8), grid, weight, ill) for name, weight, ill in cases}
    return score_reads(Reads(tuple(plain), reads.name), reference)


def list_modalities(readers: ReaderScores) -> list[str]:
    """The modalities of the reads, in their order."""
    return list(dict.fromkeys(one.read.modality for one in readers.reads))


def make_panel_study(readers: ReaderScores, modality: str, instances: Sequence[Detections]) -> PanelStudy:
    """The reads of a modality, and what the trained instances of an algorithm say of the same cases."""
    reads = [one for one in readers.reads if one.read.modality == modality]
    complete = all(one.read.score is not None for one in reads)
    rows = [_read_row(one, PANEL, complete=complete) for one in reads]
    lesions = list(_list_marks(reads, {modality: PANEL}))
    known = {one.read.case for one in reads}
    for number, found in enumerate(instances, start=1):
        mine, name = found.among(known), f"instance {number}"
        of_cases = zip(mine.cases, mine.truth.tolist(), mine.likelihood.tolist(), mine.weight.tolist(), strict=True)
        rows += [(name, AI, case, int(ill), score, weight, None) for case, ill, score, weight in of_cases]
        of_rows = zip(mine.case.tolist(), mine.is_lesion.tolist(), mine.confidence.tolist(), strict=True)
        lesions += [(name, AI, mine.cases[at], int(lesion), score, None) for at, lesion, score in of_rows]
    return PanelStudy(modality, *_make_tables(rows, lesions, reads, complete=complete))


def make_read_tables(readers: ReaderScores) -> ReadTables:
    """The reads of all modalities; one without a name is called "readers"."""
    complete = all(one.read.score is not None for one in readers.reads)
    names = {modality: modality or PANEL for modality in list_modalities(readers)}
    rows = [_read_row(one, names[one.read.modality], complete=complete) for one in readers.reads]
    return ReadTables(*_make_tables(rows, list(_list_marks(readers.reads, names)), readers.reads, complete=complete))


def _make_tables(
    rows: Sequence[_ReadRow], lesions: Sequence[_LesionRow], reads: Sequence[ScoredRead], *, complete: bool
) -> tuple[pl.DataFrame, pl.DataFrame | None, str]:
    placed = any(one.hits for one in reads) and all(one.hits is not None or not one.drawn for one in reads)
    return (
        pl.DataFrame(rows, schema=_READS, orient="row"),
        pl.DataFrame(lesions, schema=_LESIONS, orient="row") if placed else None,
        "score" if complete else "PI-RADS",
    )


def _read_row(one: ScoredRead, modality: str, *, complete: bool) -> _ReadRow:
    rating = float(rate_patient(one.read))
    score = one.read.score if complete else rating
    return name_reader(one.read.reader), modality, one.read.case, int(one.positive), score, one.weight, rating


def _list_marks(reads: Sequence[ScoredRead], names: dict[str, str]) -> Iterator[_LesionRow]:
    """What readers found, made up and missed, at each operating point anew."""
    for one in reads:
        for point, hits in (one.hits or {}).items():
            start = (name_reader(one.read.reader), names[one.read.modality], one.read.case)
            yield from [(*start, 1, float(point), float(point))] * hits.tp
            yield from [(*start, 0, float(point), float(point))] * hits.fp
            yield from [(*start, 1, 0.0, float(point))] * hits.fn


def compare_with_study(
    study: PanelStudy,
    *,
    level: float,
    points: Sequence[int] = OPERATING_POINTS[:2],
    readers: Collection[str] | None = None,
    margin: float | None = None,
) -> tuple[AgainstPanel | None, list[str]]:
    """The algorithm against the readers, with as much as the reads allow, and why there is no more.

    Areas need readers who saw both classes; operating points a match for each reader; lesions marks of all readers.
    """
    notes = [] if study.lesions is not None else ["Lesions are not compared: the reads say nothing of places."]
    at, lesions = tuple(map(float, points)), study.lesions
    names = None if readers is None else [name_reader(one) for one in readers]
    while True:
        try:
            found = ai_against_panel(
                study.reads, lesions, ai=AI, panel=PANEL, readers=names, points=at, margin=margin, level=level
            )
        except ValueError as error:
            what = "Lesions are" if lesions is not None else "Operating points are" if at else "Readers are"
            notes.append(f"{what} not compared: {describe_error(error)}.")
            if lesions is None and not at:
                return None, notes
            lesions, at = (None, at) if lesions is not None else (None, ())
        else:
            return found, notes
