"""The reads of a panel and the scores of an algorithm as one study: the tables that the statistics take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl

from isocenter.detections import Detections
from isocenter.papers.picai2022._curves import CALLS
from isocenter.papers.picai2022._given import Given, rating, why
from isocenter.readers import ScoredRead
from isocenter.stats import AgainstPanel, ai_against_panel

AI, PANEL = "algorithm", "readers"
"""The names of the two modalities, which are those of nobody who submits or reads."""

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


class PanelStudy(NamedTuple):
    """An algorithm and the readers of one modality, on the cases that somebody of them read.

    Attributes
    ----------
    modality
        Of reads.csv; "" if it has none.
    reads, lesions
        As `ai_against_panel` takes them; lesions are None where the reads say nothing of places.
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


def panels(given: Given) -> Iterator[PanelStudy]:
    """A study for every modality, of the best team against its readers."""
    if given.readers is None:
        return
    for modality in dict.fromkeys(one.read.modality for one in given.readers.reads):
        mine = [one for one in given.readers.reads if one.read.modality == modality]
        yield _panel(modality, mine, given.teams[given.best])


def _panel(modality: str, reads: Sequence[ScoredRead], instances: Sequence[Detections]) -> PanelStudy:
    complete = all(one.read.score is not None for one in reads)
    rows: list[tuple[str, str, str, int, float | None, float, float | None]] = [
        (
            f"read by {one.read.reader}",
            PANEL,
            one.read.case,
            int(one.positive),
            one.read.score if complete else float(rating(one.read)),
            one.weight,
            float(rating(one.read)),
        )
        for one in reads
    ]
    known = {one.read.case for one in reads}
    lesions = list(_marked(reads))
    for number, found in enumerate(instances, start=1):
        mine, name = found.among(known), f"instance {number}"
        of_cases = zip(mine.cases, mine.truth.tolist(), mine.likelihood.tolist(), mine.weight.tolist(), strict=True)
        rows += [(name, AI, case, int(ill), score, weight, None) for case, ill, score, weight in of_cases]
        of_rows = zip(mine.case.tolist(), mine.is_lesion.tolist(), mine.confidence.tolist(), strict=True)
        lesions += [(name, AI, mine.cases[at], int(lesion), score, None) for at, lesion, score in of_rows]
    placed = any(one.hits for one in reads) and all(one.hits is not None or not one.drawn for one in reads)
    return PanelStudy(
        modality,
        pl.DataFrame(rows, schema=_READS, orient="row"),
        pl.DataFrame(lesions, schema=_LESIONS, orient="row") if placed else None,
        "score" if complete else "PI-RADS",
    )


def _marked(reads: Sequence[ScoredRead]) -> Iterator[tuple[str, str, str, int, float, float | None]]:
    """What readers found, made up and missed, at each operating point anew."""
    for one in reads:
        for point in CALLS if one.hits else ():
            assert one.hits is not None
            hits = one.hits[point]
            start = (f"read by {one.read.reader}", PANEL, one.read.case)
            yield from [(*start, 1, float(point), float(point))] * hits.tp
            yield from [(*start, 0, float(point), float(point))] * hits.fp
            yield from [(*start, 1, 0.0, float(point))] * hits.fn


def against(study: PanelStudy, *, level: float) -> tuple[AgainstPanel | None, list[str]]:
    """The comparison with as much as the reads allow, and why there is no more.

    Areas need readers who saw both classes; operating points a match for each reader; lesions marks of all readers.
    """
    notes = [] if study.lesions is not None else ["Lesions are not compared: the reads say nothing of places."]
    points, lesions = tuple(map(float, CALLS)), study.lesions
    while True:
        try:
            found = ai_against_panel(study.reads, lesions, ai=AI, panel=PANEL, points=points, level=level)
        except ValueError as error:
            what = "Lesions are" if lesions is not None else "Operating points are" if points else "Readers are"
            notes.append(f"{what} not compared: {why(error)}.")
            if lesions is None and not points:
                return None, notes
            lesions, points = (None, points) if lesions is not None else (None, ())
        else:
            return found, notes
