"""Ranking rules: frozen descriptions of how a score table becomes a board."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import polars as pl

from isocenter.metrics import catalogue
from isocenter.metrics.catalogue import Metric
from isocenter.ranking._board import Board, BoardRow
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import Disqualify, FixedValue, LeaveOut, Missing, WorstObserved, WorstPossible
from isocenter.ranking._ties import TIES_IN_WORDS, Ties, rank_values


class Rule(Protocol):
    """What a board needs of its rule."""

    @property
    def metric(self) -> str:
        """The metric that decides."""
        ...

    @property
    def reads(self) -> tuple[str, ...]:
        """The metrics that it needs of every case."""
        ...

    def check(self) -> None:
        """Raise ValueError if the rule cannot work, before anybody is scored."""
        ...

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """The board of a score table with a `submission` column."""
        ...


Cell = tuple[str, str]
"""Case and part: what one number of the mean is about."""


@dataclass(frozen=True, slots=True)
class _Cohort:
    """What all submissions are measured on: case weights, the cells of every case, the worst of each if it counts."""

    weights: Mapping[str, float]
    cells: Mapping[str, tuple[Cell, ...]]
    worst: Mapping[Cell, float]


@dataclass(frozen=True, slots=True)
class MeanThenRank:
    """Mean over the cases, or over all their parts, then rank by the mean.

    Attributes
    ----------
    metric
        What is averaged, and by its direction in the catalogue ranked.
    missing
        What a case counts as that has no output, or one that could not be measured.
    ties
        What equal means get; see `rank_values`.
    tolerance
        Means closer than this × the largest one are equal.
    over
        "cases": one number per case. "parts": every part of every case is one number, so that a case with more parts
        has more say (the DVH score of OpenKBP).
    undefined
        What becomes of a submission with a case that was measured, but for which the metric is undefined: "refuse" to
        make a board, or leave the submission off this board ("unlisted") because it competes on others only.

    Notes
    -----
    score = Σ wᵢ xᵢ / Σ wᵢ over all cases i of the cohort, wᵢ the case weights; over parts, each part has the weight of
    its case. It is summed exactly, so that neither the order of the cases nor the number of workers can move its last
    bit. The cohort is every case that any of the submissions was asked for: a case absent from one table is missing
    there, not left out.

    A metric that is undefined for a case (its value is null, though the output was there and could be read) has no
    place in a mean, so the rule does not guess, and says which case it is.
    """

    metric: str
    missing: Missing
    ties: Ties = "min"
    tolerance: float = 1e-9
    over: Literal["cases", "parts"] = "cases"
    undefined: Literal["refuse", "unlisted"] = "refuse"

    def __post_init__(self) -> None:
        if self.ties not in TIES_IN_WORDS:
            msg = f"ties are one of {', '.join(TIES_IN_WORDS)}, not {self.ties!r}"
            raise ValueError(msg)
        if not isinstance(self.missing, Missing):
            msg = (
                "a missing case counts as FixedValue(…), WorstPossible(), WorstObserved(), LeaveOut() or Disqualify(), "
                f"not {self.missing!r}"
            )
            raise TypeError(msg)

    @property
    def reads(self) -> tuple[str, ...]:
        """The one metric that is averaged."""
        return (self.metric,)

    def check(self) -> None:
        """Whether the metric can be ranked, and can have the value that a missing case counts as."""
        metric = catalogue.get(self.metric)
        if metric.better == "neither":
            msg = f"{self.metric} is an observation and has no better or worse"
            raise ValueError(msg)
        if isinstance(self.missing, FixedValue | WorstPossible):
            self.missing.stand_in(metric)

    def __str__(self) -> str:
        metric = catalogue.get(self.metric)
        unit = f" {metric.unit}" if metric.unit and isinstance(self.missing, FixedValue) else ""
        counted = f"a missing or unusable case {self.missing}{unit}"
        equals = f"equals {TIES_IN_WORDS[self.ties]}"
        over = "all cases" if self.over == "cases" else "all parts of all cases"
        return f"mean {self.metric} over {over}, {metric.better} is better; {counted}; {equals}"

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """Rank the submissions of a score table.

        Parameters
        ----------
        name
            What the board is called.
        roles
            Organisers' and benchmark rows by submission: scored like the others, but without a rank, and without
            moving anybody else's.
        """
        roles = roles or {}
        self.check()
        metric = catalogue.get(self.metric)
        weights = cohort_of(scores)
        tables = {
            str(submission): table
            for (submission,), table in sorted(scores.group_by("submission"), key=lambda group: str(group[0][0]))
        }
        values = {submission: self._values(submission, table) for submission, table in tables.items()}
        worst = _worst_of(values, metric) if isinstance(self.missing, WorstObserved) else {}
        cohort = _Cohort(weights, self._cells(weights, values), worst)
        rows = [
            self._row(submission, table, values[submission], cohort, roles.get(submission, "team"))
            for submission, table in tables.items()
        ]
        board = place(
            rows, metric=metric, ties=self.ties, tolerance=self.tolerance, name=name or self.metric, rule=str(self)
        )
        absent = [row for row in rows if row.score is None and not row.disqualified]
        notes = [f"{row.submission} is not on this board: it has no {self.metric} in some cases" for row in absent]
        if self.over == "parts":
            notes.insert(0, f"{sum(map(len, cohort.cells.values())):,} values in {len(weights)} cases")
        if isinstance(self.missing, LeaveOut):
            notes += [
                f"{row.submission}: mean over {row.cases - row.missing - row.failed} of {row.cases} cases"
                for row in rows
                if row.missing + row.failed
            ]
        return replace(board, notes=tuple(notes))

    def _values(self, submission: str, table: pl.DataFrame) -> dict[Cell, float | None]:
        """What the submission has for every cell that the mean is over."""
        rows = table.filter((pl.col("metric") == self.metric) & (pl.col("case") != ""))
        if self.over == "parts":
            rows = rows.filter(pl.col("part") != "")
        else:
            self._refuse_parts(submission, rows)
            rows = rows.filter(pl.col("part") == "")
        return {(case, part): value for case, part, value in rows.select("case", "part", "value").iter_rows()}

    def _cells(
        self, cases: Mapping[str, float], values: Mapping[str, Mapping[Cell, object]]
    ) -> dict[str, tuple[Cell, ...]]:
        """By case, the cells of the mean: the case as a whole, or the parts that any submission has there."""
        if self.over == "cases":
            return {case: ((case, ""),) for case in cases}
        cells: dict[str, list[Cell]] = {case: [] for case in cases}
        for cell in sorted({cell for found in values.values() for cell in found}):
            cells[cell[0]].append(cell)
        return {case: tuple(found) for case, found in cells.items()}

    def _row(
        self,
        submission: str,
        table: pl.DataFrame,
        value: Mapping[Cell, float | None],
        cohort: _Cohort,
        role: Role,
    ) -> BoardRow:
        cases = cohort.weights.keys()
        whole = table.filter(pl.col("part") == "")
        known = set(whole.filter(pl.col("metric") == self.metric)["case"]) | {case for case, _ in value}
        missing = set(whole.filter(pl.col("metric") == "missing")["case"]) | (cases - known)
        failed = set(whole.filter(pl.col("metric") == "failed")["case"]) - missing
        unusable = missing | failed
        undefined = [
            case
            for case in cases
            if case not in unusable
            and (not cohort.cells[case] or any(value.get(cell) is None for cell in cohort.cells[case]))
        ]
        if undefined and self.undefined == "refuse":
            msg = (
                f"{self.metric} is undefined for {submission!r} in {', '.join(undefined[:5])}"
                f"{' …' if len(undefined) > 5 else ''}; a mean over the rest would hide that"
            )
            raise ValueError(msg)
        nothing_left = isinstance(self.missing, LeaveOut) and len(unusable) == len(cases)
        disqualified = bool(unusable) and (isinstance(self.missing, Disqualify) or nothing_left)
        score = None
        if not (disqualified or undefined):
            score = self._mean(submission, self._terms(submission, value, unusable, cohort))
        return BoardRow(
            submission=submission,
            score=score,
            rank=None,
            role=role,
            cases=len(cases),
            missing=len(missing),
            failed=len(failed),
            disqualified=disqualified,
        )

    def _refuse_parts(self, submission: str, rows: pl.DataFrame) -> None:
        """A case that was measured only in parts is not missing; a mean over cases cannot rank it."""
        whole = rows.filter(pl.col("part") == "").select("case")
        partial = rows.join(whole, on="case", how="anti")
        if partial.height:
            case, part = partial.select("case", "part").row(0)
            msg = f"{self.metric} of {submission!r} in {case!r} is there for {part!r}, but not for the case as a whole"
            raise ValueError(msg)

    def _terms(
        self,
        submission: str,
        value: Mapping[Cell, float | None],
        unusable: set[str],
        cohort: _Cohort,
    ) -> list[tuple[Cell, float, float]]:
        """Cell, number and weight of everything that enters the mean."""
        terms: list[tuple[Cell, float, float]] = []
        for case, weight in cohort.weights.items():
            cells = cohort.cells[case]
            if case not in unusable:
                terms += [(cell, number, weight) for cell in cells if (number := value.get(cell)) is not None]
            elif isinstance(self.missing, FixedValue | WorstPossible | WorstObserved):
                stand_ins = {cell: self._stand_in(cell, cohort.worst) for cell in cells}
                if not stand_ins or None in stand_ins.values():
                    msg = (
                        f"{submission!r} lacks {case!r}, and what {self.metric} counts there is unknown: nobody has one"
                    )
                    raise ValueError(msg)
                terms += [(cell, number, weight) for cell, number in stand_ins.items() if number is not None]
        return terms

    def _stand_in(self, cell: Cell, worst: Mapping[Cell, float]) -> float | None:
        if isinstance(self.missing, FixedValue | WorstPossible):
            return self.missing.stand_in(catalogue.get(self.metric))
        return worst.get(cell)

    def _mean(self, submission: str, terms: Sequence[tuple[Cell, float, float]]) -> float:
        for (case, part), number, _ in terms:
            if not math.isfinite(number):
                where = f"case {case!r}" + (f", {part}" if part else "")
                msg = f"{self.metric} of {submission!r} in {where} is {number}; an infinite value has no mean"
                raise ValueError(msg)
        total = math.fsum(number * weight for _, number, weight in terms)
        return total / math.fsum(weight for _, _, weight in terms)


def cohort_of(scores: pl.DataFrame) -> dict[str, float]:
    """Every case that any submission of a table was asked for, with its weight."""
    cases = scores.filter(pl.col("case") != "").select("case", "weight").unique().sort("case", "weight")
    if cases["case"].is_duplicated().any():
        case = cases.filter(cases["case"].is_duplicated())["case"][0]
        msg = f"case {case!r} has different weights in different submissions; they were not scored on one cohort"
        raise ValueError(msg)
    if cases.is_empty():
        msg = "the score table has no cases"
        raise ValueError(msg)
    return dict(cases.iter_rows())


def place(rows: Sequence[BoardRow], *, metric: Metric, ties: Ties, tolerance: float, name: str, rule: str) -> Board:
    """A board of rows that have their score: ranked, in order, and those without a score unlisted."""
    assert metric.better != "neither"
    scored = [row for row in rows if row.score is not None]
    competing = [row for row in scored if row.role == "team"]
    ranks = rank_values([row.score for row in competing], metric.better, ties=ties, tolerance=tolerance)
    ranked = {row.submission: rank for row, rank in zip(competing, ranks, strict=True)}
    sign = -1.0 if metric.better == "higher" else 1.0
    placed = sorted(
        (replace(row, rank=ranked.get(row.submission)) for row in scored),
        key=lambda row: (sign * (row.score or 0.0), row.rank or 0.0, row.submission),
    )
    return Board(
        name=name,
        metric=metric.name,
        rule=rule,
        rows=tuple(_tied_by_name(placed)),
        unlisted=tuple(row for row in rows if row.score is None),
    )


def _worst_of(values: Mapping[str, Mapping[Cell, float | None]], metric: Metric) -> dict[Cell, float]:
    """The worst number that any submission has, cell by cell."""
    worse = min if metric.better == "higher" else max
    worst: dict[Cell, float] = {}
    for found in values.values():
        for cell, number in found.items():
            if number is not None:
                worst[cell] = worse(worst.get(cell, number), number)
    return worst


def _tied_by_name(rows: list[BoardRow]) -> list[BoardRow]:
    """Rows of one shared rank in alphabetical order: rounding noise must not decide who is named first."""
    first: dict[float, int] = {}
    for i, row in enumerate(rows):
        if row.rank is not None:
            first.setdefault(row.rank, i)
    places = [i if row.rank is None else first[row.rank] for i, row in enumerate(rows)]
    return [row for _, _, row in sorted(zip(places, (row.submission for row in rows), rows, strict=True))]
