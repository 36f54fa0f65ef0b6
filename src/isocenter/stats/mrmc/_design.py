"""A study as arrays: one column per reader and modality, one place per case, and who has read what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isocenter.stats._weights import near_one
from isocenter.stats.mrmc._reads import ReadsError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Design:
    """Scores of a study, columns × cases.

    Attributes
    ----------
    modality, reader
        The names of each column.
    case
        The names of the cases.
    positive, weight
        Per case: whether it is diseased, and how much it counts, in a unit near the largest.
    score
        Columns × cases; NaN where the case was not read.
    """

    modality: tuple[str, ...]
    reader: tuple[str, ...]
    case: tuple[str, ...]
    positive: NDArray[np.bool_]
    weight: Floats
    score: Floats

    @cached_property
    def read(self) -> NDArray[np.bool_]:
        """Columns × cases: whether the case was read."""
        return ~np.isnan(self.score)

    @cached_property
    def modalities(self) -> tuple[str, ...]:
        """The modalities, sorted."""
        return tuple(sorted(set(self.modality)))

    def columns(self, modality: str) -> list[int]:
        """The columns of a modality, by exact name."""
        return [k for k, name in enumerate(self.modality) if name == modality]

    def readers(self, modality: str) -> tuple[str, ...]:
        """The readers of a modality, sorted."""
        return tuple(self.reader[k] for k in self.columns(modality))

    @cached_property
    def balanced(self) -> bool:
        """Whether every reader read every case in each modality they read in."""
        return bool(self.read.all())

    @cached_property
    def fully_crossed(self) -> bool:
        """Whether every reader read every case in every modality."""
        return self.balanced and len({self.readers(m) for m in self.modalities}) == 1


def design_of(rows: pl.DataFrame) -> Design:
    """The arrays of checked reads; columns in the order of modality and reader."""
    columns = rows.select("modality_id", "reader_id").unique().sort("modality_id", "reader_id").with_row_index("k")
    cases = rows.select("case_id", "truth", "weight").unique().sort("case_id").with_row_index("c")
    placed = rows.join(columns, on=["modality_id", "reader_id"]).join(cases.select("case_id", "c"), on="case_id")
    score = np.full((columns.height, cases.height), np.nan)
    score[placed["k"].to_numpy(), placed["c"].to_numpy()] = placed["score"].to_numpy()
    return Design(
        modality=tuple(columns["modality_id"]),
        reader=tuple(columns["reader_id"]),
        case=tuple(cases["case_id"]),
        positive=np.array(cases["truth"]),
        weight=near_one(np.array(cases["weight"])),
        score=score,
    )


def check_classes(design: Design, *, normal: bool, diseased: bool, source: str = "reads") -> None:
    """Refuse readers with fewer than two cases of a class that is needed: a variance needs two.

    Raises
    ------
    ReadsError
        With each such reader, modality and class.
    """
    needed = [("normal", ~design.positive)] * normal + [("diseased", design.positive)] * diseased
    problems = [
        f"reader {reader}, modality {modality}: {count} {word} case{'s' * (count != 1)} read, at least 2 are needed"
        for k, (modality, reader) in enumerate(zip(design.modality, design.reader, strict=True))
        for word, of_class in needed
        if (count := int(np.count_nonzero(design.read[k] & of_class))) < 2
    ]
    if problems:
        raise ReadsError(problems, source)
