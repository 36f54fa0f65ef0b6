"""Readers as callers: what each of them says of patients at an operating point, from a table of reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isocenter.stats._differences import Floats
from isocenter.stats.mrmc._reads import ReadsError

_NAMED = 5


class PatientCalls(NamedTuple):
    """What the readers of a modality call the patients that they read.

    Attributes
    ----------
    readers, cases
        By name; cases are those that at least one of the readers read.
    truth, weight
        Of each case.
    calls
        Reader × case: 1, 0, or NaN where the case was not read.
    """

    readers: tuple[str, ...]
    cases: tuple[str, ...]
    truth: NDArray[np.bool_]
    weight: Floats
    calls: Floats

    def rates(self) -> Mapping[str, dict[str, float]]:
        """Sensitivity and specificity of each reader on the cases that they read."""
        found = {}
        for reader, called in zip(self.readers, self.calls, strict=True):
            right = called == self.truth
            shares = [
                float(self.weight[read & right].sum() / self.weight[read].sum())
                for of_class in (self.truth, ~self.truth)
                for read in (of_class & ~np.isnan(called),)
            ]
            found[reader] = dict(zip(("sensitivity", "specificity"), shares, strict=True))
        return found


def patient_calls(reads: pl.DataFrame, modality: str, point: float) -> PatientCalls:
    """Calls of all readers of a modality: a rating, or where there are none a score, of at least the operating point.

    Parameters
    ----------
    reads
        As `checked` gives them.

    Raises
    ------
    ReadsError
        If some reads of the modality have a rating and others have none, or a reader read one class only.
    ValueError
        If the point is not finite.
    """
    if not math.isfinite(point):
        msg = f"an operating point is a finite number, not {point}"
        raise ValueError(msg)
    mine = reads.filter(modality_id=modality)
    rated = "rating" in mine.columns and mine["rating"].is_not_null().any()
    said = "rating" if rated else "score"
    problems = [
        f"reader {reader}, modality {modality}, case {case}: no rating, and other reads have one"
        for reader, case in mine.filter(pl.col(said).is_null()).select("reader_id", "case_id").iter_rows()
    ]
    classes = mine.group_by("reader_id").agg(pl.col("truth").n_unique()).filter(pl.col("truth") == 1)
    problems += [f"reader {name}, modality {modality}: read cases of one class only" for name in classes["reader_id"]]
    if problems:
        raise ReadsError(sorted(problems))
    cases = mine.select("case_id", "truth", "weight").unique().sort("case_id")
    readers = tuple(mine["reader_id"].unique().sort())
    calls = np.full((len(readers), cases.height), np.nan)
    at_reader = {name: n for n, name in enumerate(readers)}
    at_case = {name: n for n, name in enumerate(cases["case_id"])}
    for reader, case, value in mine.select("reader_id", "case_id", said).iter_rows():
        calls[at_reader[reader], at_case[case]] = value >= point
    return PatientCalls(readers, tuple(cases["case_id"]), np.array(cases["truth"]), np.array(cases["weight"]), calls)


def scores_on(reads: pl.DataFrame, modality: str, cases: tuple[str, ...]) -> Floats:
    """Scores of each reader of a modality, instances of an algorithm, in the order of the cases.

    Raises
    ------
    ReadsError
        If one has no score for a case.
    """
    mine = reads.filter(modality_id=modality)
    rows, problems = [], []
    for reader in mine["reader_id"].unique().sort():
        score = dict(mine.filter(reader_id=reader).select("case_id", "score").iter_rows())
        if lacking := [case for case in cases if case not in score]:
            more = " …" if len(lacking) > _NAMED else ""
            problems.append(
                f"reader {reader}, modality {modality}: no score for {len(lacking)} of {len(cases)} cases that the "
                f"panel read ({', '.join(lacking[:_NAMED])}{more})"
            )
        rows.append([score.get(case, np.nan) for case in cases])
    if problems:
        raise ReadsError(problems)
    return np.array(rows, dtype=np.float64)
