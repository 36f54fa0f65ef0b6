"""Lesions and marks of readers and algorithms, and what each finds of the lesions at an operating point.

One row per lesion, found or missed, and per false mark or candidate::

    reader_id,modality_id,case_id,is_lesion,confidence,point
    Ann,bpMRI,PCA001,1,5,
    Ann,bpMRI,PCA001,0,3,
    net,algorithm,PCA001,1,0.91,

Who read what, the truth and the weight of a case stand in the table of reads. A missed lesion has the confidence 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isocenter.stats._differences import Floats, Ints
from isocenter.stats._influence import share_influence
from isocenter.stats._matching import CONJUGATES, TIES, LesionMatch, Tie, match_operating_point
from isocenter.stats.mrmc._files import text_table
from isocenter.stats.mrmc._reads import ReadsError

_COLUMNS = ("reader_id", "modality_id", "case_id", "is_lesion", "confidence")
_KEYS = list(_COLUMNS[:3])
_TRUTHS = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "false": 0.0, "true": 1.0}
_NAMED = 5


class LesionCalls(NamedTuple):
    """What one reader, or one instance of an algorithm, says of lesions: one entry per row of the table.

    Attributes
    ----------
    case
        The position of the case.
    is_lesion, confidence
        Of each row.
    """

    case: Ints
    is_lesion: NDArray[np.bool_]
    confidence: Floats


def read_lesions(path: str | Path) -> pl.DataFrame:
    """The rows of lesions, marks and candidates from CSV; see `ai_against_panel` for the columns.

    Raises
    ------
    isocenter.stats.mrmc.ReadsError
        If it is no such table. What is in its cells is checked where it is used, beside the reads.
    """
    return text_table(Path(path), _COLUMNS, ("point",))


def checked_lesions(lesions: pl.DataFrame, reads: pl.DataFrame, source: str = "lesions") -> pl.DataFrame:
    """Rows with text names, is_lesion as bool, confidence and point as float64, all of them of reads that there are.

    Raises
    ------
    ReadsError
        If a column is missing, a cell empty or not what it should be, or a row is of no read.
    """
    missing = [f"column {name!r} is missing" for name in _COLUMNS if name not in lesions.columns]
    if missing or lesions.is_empty():
        raise ReadsError(missing or ["there are no rows"], source)
    given = lesions if "point" in lesions.columns else lesions.with_columns(point=pl.lit(None, pl.Float64))
    rows = given.select(
        *(pl.col(name).cast(pl.String) for name in _KEYS),
        pl.col("is_lesion").cast(pl.String).replace_strict(_TRUTHS, default=None, return_dtype=pl.Float64),
        pl.col("confidence").cast(pl.Float64, strict=False),
        pl.col("point").cast(pl.Float64, strict=False),
        pl.col("point").is_not_null().alias("pointed"),
    ).with_row_index("row", 1)
    problems = [*_bad_cells(rows), *_of_no_read(rows, reads)]
    if problems:
        raise ReadsError(problems, source)
    return rows.select(*_KEYS, pl.col("is_lesion") > 0, "confidence", "point")


def _bad_cells(rows: pl.DataFrame) -> Iterator[str]:
    good = pl.col("confidence").is_finite().fill_null(value=False) & (pl.col("confidence") >= 0)
    wrong = {
        "reader_id, modality_id and case_id are names": pl.any_horizontal(pl.col(_KEYS).is_null()),
        "is_lesion is 0 or 1": pl.col("is_lesion").is_null(),
        "a confidence is finite and from 0 on": ~good.fill_null(value=False),
        "a point is a finite number or empty": pl.col("pointed") & ~pl.col("point").is_finite().fill_null(value=False),
    }
    for rule, bad in wrong.items():
        yield from (f"row {row}: {rule}" for row in rows.filter(bad)["row"])


def _of_no_read(rows: pl.DataFrame, reads: pl.DataFrame) -> Iterator[str]:
    strangers = rows.drop_nulls(_KEYS).join(reads, on=_KEYS, how="anti").select(_KEYS).unique().sort(_KEYS)
    for reader, modality, case in strangers.iter_rows():
        yield f"reader {reader}, modality {modality}, case {case}: has rows of lesions, but is not among the reads"


def lesion_calls(
    lesions: pl.DataFrame, reads: pl.DataFrame, cases: tuple[str, ...], point: float
) -> dict[tuple[str, str], LesionCalls]:
    """The rows of an operating point by modality and reader: those that have it, and those that have none.

    Parameters
    ----------
    lesions, reads
        As checked; reads of the modalities in question.
    cases
        What positions are of; rows of other cases are left out.

    Raises
    ------
    ReadsError
        If a case has not the same number of lesions for all who read it.
    """
    here = pl.DataFrame({"case_id": cases}).with_row_index("at")
    rows = lesions.filter(pl.col("point").is_null() | (pl.col("point") == point)).join(here, on="case_id")
    read = reads.join(here, on="case_id")
    found = rows.group_by(_KEYS).agg(pl.col("is_lesion").sum().alias("count"))
    counts = read.select(_KEYS).join(found, on=_KEYS, how="left").with_columns(pl.col("count").fill_null(0))
    if problems := list(_other_numbers(counts)):
        raise ReadsError(problems, f"lesions at {point:g}")
    return {
        (modality, reader): LesionCalls(
            mine["at"].cast(pl.Int64).to_numpy(), mine["is_lesion"].to_numpy(), mine["confidence"].to_numpy()
        )
        for modality, reader in read.select("modality_id", "reader_id").unique().sort(pl.all()).iter_rows()
        for mine in (rows.filter(modality_id=modality, reader_id=reader),)
    }


def _other_numbers(counts: pl.DataFrame) -> Iterator[str]:
    for (case,), of_case in counts.sort("case_id", "count", *_KEYS).group_by("case_id", maintain_order=True):
        low, high = of_case.row(0, named=True), of_case.row(-1, named=True)
        if low["count"] != high["count"]:
            who = [f"{row['count']} for reader {row['reader_id']} in {row['modality_id']}" for row in (low, high)]
            yield f"case {case}: the number of lesions differs, {' and '.join(who)}"


def lesion_rates(
    calls: Mapping[str, LesionCalls], weight: Floats, point: float, *, modality: str
) -> dict[str, dict[str, float]]:
    """Recall and precision of each reader: Σw·TP / Σw·lesions and Σw·TP / Σw·marks, marks of at least the point.

    Raises
    ------
    ReadsError
        With every reader who has no lesions to find, or marks nothing.
    """
    found, problems = {}, []
    for reader, rows in calls.items():
        w = weight[rows.case]
        called = rows.confidence >= point
        hits = float(w[called & rows.is_lesion].sum())
        of_lesions, of_marks = float(w[rows.is_lesion].sum()), float(w[called].sum())
        if not of_lesions or not of_marks:
            what = "has no lesion among the cases read" if not of_lesions else f"marks nothing at {point:g} or above"
            problems.append(f"reader {reader}, modality {modality}: {what}; leave the reader out, or the point")
            continue
        found[reader] = {"recall": hits / of_lesions, "precision": hits / of_marks}
    if problems:
        raise ReadsError(problems)
    return found


def at_the_readers_point(
    instances: Mapping[str, LesionCalls],
    read: NDArray[np.bool_],
    weight: Floats,
    targets: Floats,
    *,
    match: LesionMatch,
    tie: Tie,
) -> Floats:
    """Reader × instance: the conjugate measure where an instance has the reader's recall (or precision).

    `read` is reader × case: instances are judged on the cases that the reader read.

    Raises
    ------
    ReadsError
        With every instance that has no candidate in the cases of some reader.
    """
    problems = [
        f"instance {name} has no candidate in the cases of {np.count_nonzero(empty)} readers"
        for name, rows in instances.items()
        for empty in (~(read[:, rows.case] & (rows.confidence > 0)).any(axis=1),)
        if empty.any()
    ]
    if problems:
        raise ReadsError(problems)
    found = np.empty((len(read), len(instances)))
    for j, (mine, target) in enumerate(zip(read, targets.tolist(), strict=True)):
        for k, (case, is_lesion, confidence) in enumerate(instances.values()):
            at = mine[case]
            found[j, k] = match_operating_point(
                is_lesion[at], confidence[at], target, match=match, weight=weight[case[at]], tie=tie
            ).value
    return found


def count_marks(rows: LesionCalls, cases: int, point: float) -> Floats:
    """Case × 3: lesions, those called at the point or above, and false marks there."""
    called = rows.confidence >= point
    kinds = (rows.is_lesion, rows.is_lesion & called, ~rows.is_lesion & called)
    return np.stack([np.bincount(rows.case[kind], minlength=cases) for kind in kinds], axis=1).astype(np.float64)


def lesion_influence(rows: LesionCalls, weight: Floats, point: float) -> dict[str, tuple[float, Floats]]:
    """Recall and precision of a reader, each with what every case contributes to it."""
    lesions, hits, wrong = count_marks(rows, weight.size, point).T
    return {
        "recall": share_influence(hits, lesions, weight),
        "precision": share_influence(hits, hits + wrong, weight),
    }


def lesion_gaps_of(
    readers: Sequence[LesionCalls],
    instances: Sequence[LesionCalls],
    read: NDArray[np.bool_],
    weight: Floats,
    *,
    point: float,
    match: LesionMatch,
    tie: Tie,
) -> Callable[[NDArray[np.int32] | None], Floats]:
    """What instances reach minus what readers do, in resamples of the cases; see `Resampled`."""
    from isocenter.stats._matched_kernels import LAST, TRUE
    from isocenter.stats._panel_kernels import lesion_gaps

    marks = np.stack([count_marks(rows, weight.size, point) for rows in readers])
    cases, kinds = [], []
    for rows in instances:
        confidence = rows.confidence.astype(np.float32)
        order = np.argsort(-confidence, kind="stable")
        order = order[confidence[order] > 0]
        ranked = confidence[order]
        last = np.append(ranked[1:] != ranked[:-1], True)
        cases.append(rows.case[order])
        kinds.append(TRUE * rows.is_lesion[order] + LAST * last)
    starts = np.cumsum([0, *(len(case) for case in cases)]).astype(np.int64)
    of_rows = np.concatenate(cases).astype(np.int64), np.concatenate(kinds).astype(np.int64), starts
    mode, rule = list(CONJUGATES).index(match), TIES.index(tie)

    def measure(counts: NDArray[np.int32] | None) -> Floats:
        drawn = np.ones((1, weight.size), np.int32) if counts is None else counts
        out = np.empty((len(drawn), len(readers) * len(instances)))
        return out[: lesion_gaps(drawn, weight, read, marks, *of_rows, mode, rule, out)]

    return measure
