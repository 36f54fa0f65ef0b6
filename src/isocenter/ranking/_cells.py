"""What every submission has in every case of a cohort: the numbers that rules aggregate, with those that stand in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from isocenter.metrics import catalogue
from isocenter.ranking._board import BoardRow, Note
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import Missing
from isocenter.resampling.matrices import Floats

Cell = tuple[str, str]
"""Case and part: what one number is about."""

Over = Literal["cases", "parts", "parts-within-cases"]
"""What is aggregated: one number per case, every part of every case, or the mean of the parts of each case."""

Undefined = Literal["refuse", "unlisted"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A submission: its row, without score and rank, and by cell the numbers that count; None if it has no score."""

    row: BoardRow
    numbers: Mapping[Cell, float] | None
    ranked_last: frozenset[str] = frozenset()
    """Cases in which it has no number, but the last rank."""


@dataclass(frozen=True, slots=True)
class Cohort:
    """What all submissions are measured on."""

    weights: Mapping[str, float]
    entries: tuple[Entry, ...]

    @property
    def cases(self) -> tuple[str, ...]:
        """Their names, in alphabetical order."""
        return tuple(self.weights)

    @property
    def scored(self) -> tuple[Entry, ...]:
        """Those that have numbers."""
        return tuple(entry for entry in self.entries if entry.numbers is not None)

    def weight_vector(self) -> Floats | None:
        """The weights of the cases; None if they are all alike."""
        found = np.array(list(self.weights.values()))
        return None if np.ptp(found) == 0 else found

    def sums(self) -> tuple[Floats, Floats]:
        """Submissions × cases: the sum of the numbers that a submission has in a case, and how many they are."""
        at = {case: i for i, case in enumerate(self.weights)}
        shape = (len(self.scored), len(at))
        total, count = np.zeros(shape), np.zeros(shape)
        for k, entry in enumerate(self.scored):
            for (case, _), number in (entry.numbers or {}).items():
                total[k, at[case]] += number
                count[k, at[case]] += 1
        return total, count


def cohort_of(scores: pl.DataFrame) -> dict[str, float]:
    """Every case that any submission of a table was asked for, with its weight, in alphabetical order."""
    cases = scores.filter(pl.col("case") != "").select("case", "weight").unique().sort("case", "weight")
    if cases["case"].is_duplicated().any():
        case = cases.filter(cases["case"].is_duplicated())["case"][0]
        msg = f"case {case!r} has different weights in different submissions; they were not scored on one cohort"
        raise ValueError(msg)
    if cases.is_empty():
        msg = "the score table has no cases"
        raise ValueError(msg)
    return dict(cases.iter_rows())


def read_cells(
    scores: pl.DataFrame,
    metric: str,
    missing: Missing,
    *,
    over: Over = "cases",
    undefined: Undefined = "refuse",
    part: str = "",
    roles: Mapping[str, Role] | None = None,
) -> Cohort:
    """The numbers of every submission of a score table, as a rule will aggregate them.

    The cohort is every case that any of the submissions was asked for: a case absent from one table is missing there,
    not left out. Numbers that stand in for missing cases are among them.

    Parameters
    ----------
    undefined
        What becomes of a submission with a case that was measured, but for which the metric is undefined: "refuse" to
        go on, or leave it without numbers ("unlisted").
    part
        The part whose number is that of the case; "" for the case as a whole. A case that was measured, but not in this
        part, is undefined there.
    roles
        Who only stands beside the teams; what they have never stands in for anything.
    """
    reader = _Reader(metric, missing, over, undefined, part)
    return reader.read(scores, roles or {})


@dataclass(frozen=True, slots=True)
class _Reader:
    metric: str
    missing: Missing
    over: Over
    undefined: Undefined
    part: str = ""

    def read(self, scores: pl.DataFrame, roles: Mapping[str, Role]) -> Cohort:
        weights = cohort_of(scores)
        tables = {
            str(submission): table
            for (submission,), table in sorted(scores.group_by("submission"), key=lambda group: str(group[0][0]))
        }
        self._refuse_unknown_part(scores)
        values = {submission: self._values(submission, table) for submission, table in tables.items()}
        cells = self._cells(weights, values)
        strangers = self._strangers(tables, roles)
        if strangers:
            msg = f"{strangers[0]!r} is of no team, and has the case {strangers[1]!r}, which no team has; one cohort?"
            raise ValueError(msg)
        teams = {
            submission: found
            for submission, found in values.items()
            if roles.get(submission, "team") == "team" and not self._lacks(found, tables[submission], cells)
        }
        worst = _Worst(self.metric, self.missing, teams)
        entries = [
            self._entry(submission, table, values[submission], cells, worst, role=roles.get(submission, "team"))
            for submission, table in tables.items()
        ]
        return Cohort(weights, tuple(entries))

    @staticmethod
    def _strangers(tables: Mapping[str, pl.DataFrame], roles: Mapping[str, Role]) -> tuple[str, str] | None:
        """Who is no team and brings a case that no team was asked for."""
        of_teams = [set(table["case"]) for name, table in tables.items() if roles.get(name, "team") == "team"]
        if not of_teams:
            return None
        known = set.union(*of_teams)
        for name, table in tables.items():
            if extra := sorted(set(table["case"]) - known):
                return name, extra[0]
        return None

    def _lacks(
        self, value: Mapping[Cell, float | None], table: pl.DataFrame, cells: Mapping[str, tuple[Cell, ...]]
    ) -> bool:
        """Whether a submission stands on other boards only, so that what it has here stands in for nothing."""
        if self.undefined == "refuse":
            return False
        absent = set(table.filter(pl.col("metric").is_in(["missing", "failed"]))["case"])
        return any(
            cell in value and value[cell] is None for case in cells if case not in absent for cell in cells[case]
        )

    def _values(self, submission: str, table: pl.DataFrame) -> dict[Cell, float | None]:
        """What the submission has for every cell."""
        rows = table.filter((pl.col("metric") == self.metric) & (pl.col("case") != ""))
        if self.part:
            rows = rows.filter(pl.col("part") == self.part).with_columns(part=pl.lit(""))
        elif self.over == "cases":
            self._refuse_parts(submission, rows)
            rows = rows.filter(pl.col("part") == "")
        else:
            rows = rows.filter(pl.col("part") != "")
        return {(case, part): value for case, part, value in rows.select("case", "part", "value").iter_rows()}

    def _refuse_unknown_part(self, scores: pl.DataFrame) -> None:
        """A part that no case of anybody has is a slip of the pen, not undefined everywhere."""
        rows = scores.filter((pl.col("metric") == self.metric) & (pl.col("case") != ""))
        if self.part and rows.height and self.part not in rows["part"]:
            parts = sorted(set(rows["part"]) - {""})
            there = f"there are {', '.join(parts[:10])}{' …' if len(parts) > 10 else ''}" if parts else "there are none"
            msg = f"no case has a part {self.part!r} with a {self.metric}; {there}"
            raise ValueError(msg)

    def _refuse_parts(self, submission: str, rows: pl.DataFrame) -> None:
        """A case that was measured only in parts is not missing; a rule over cases cannot rank it."""
        whole = rows.filter(pl.col("part") == "").select("case")
        partial = rows.join(whole, on="case", how="anti")
        if partial.height:
            case, part = partial.select("case", "part").row(0)
            msg = f"{self.metric} of {submission!r} in {case!r} is there for {part!r}, but not for the case as a whole"
            raise ValueError(msg)

    def _cells(
        self, cases: Mapping[str, float], values: Mapping[str, Mapping[Cell, object]]
    ) -> dict[str, tuple[Cell, ...]]:
        """By case, its cells: the case as a whole, or the parts that any submission has there."""
        if self.over == "cases":
            return {case: ((case, ""),) for case in cases}
        cells: dict[str, list[Cell]] = {case: [] for case in cases}
        for cell in sorted({cell for found in values.values() for cell in found}):
            cells[cell[0]].append(cell)
        return {case: tuple(found) for case, found in cells.items()}

    def _entry(
        self,
        submission: str,
        table: pl.DataFrame,
        value: Mapping[Cell, float | None],
        cells: Mapping[str, tuple[Cell, ...]],
        worst: _Worst,
        *,
        role: Role,
    ) -> Entry:
        whole = table.filter(pl.col("part") == "")
        known = set(table.filter(pl.col("metric") == self.metric)["case"])
        missing = set(whole.filter(pl.col("metric") == "missing")["case"]) | (cells.keys() - known)
        failed = set(whole.filter(pl.col("metric") == "failed")["case"]) - missing
        unusable = missing | failed
        undefined = [
            case
            for case in cells
            if case not in unusable and (not cells[case] or any(value.get(cell) is None for cell in cells[case]))
        ]
        if undefined and self.undefined == "refuse":
            msg = (
                f"{self.metric} is undefined for {submission!r} in {', '.join(undefined[:5])}"
                f"{' …' if len(undefined) > 5 else ''}; a score of the rest would hide that"
            )
            raise ValueError(msg)
        nothing_left = self.missing.leaves_out and len(unusable) == len(cells)
        disqualified = bool(unusable) and (self.missing.disqualifies or nothing_left)
        row = BoardRow(
            submission=submission,
            score=None,
            rank=None,
            role=role,
            cases=len(cells),
            missing=len(missing),
            failed=len(failed),
            disqualified=disqualified,
        )
        if disqualified or undefined:
            return Entry(row, None)
        numbers = self._numbers(submission, value, unusable, cells, worst)
        last = frozenset(unusable) if self.missing.ranks_last else frozenset()
        return Entry(row, self._within_cases(numbers) if self.over == "parts-within-cases" else numbers, last)

    def _numbers(
        self,
        submission: str,
        value: Mapping[Cell, float | None],
        unusable: set[str],
        cells: Mapping[str, tuple[Cell, ...]],
        worst: _Worst,
    ) -> dict[Cell, float]:
        numbers: dict[Cell, float] = {}
        for case, its in cells.items():
            if case not in unusable:
                numbers |= {cell: number for cell in its if (number := value.get(cell)) is not None}
            elif self.missing.has_number:
                stand_ins = {cell: worst.stand_in(cell) for cell in its}
                if not stand_ins or None in stand_ins.values():
                    msg = (
                        f"{submission!r} lacks {case!r}, and what {self.metric} counts there is unknown: nobody has one"
                    )
                    raise ValueError(msg)
                numbers |= {cell: number for cell, number in stand_ins.items() if number is not None}
        for (case, part), number in numbers.items():
            if not math.isfinite(number):
                where = f"case {case!r}" + (f", {part}" if part else "")
                msg = f"{self.metric} of {submission!r} in {where} is {number}; an infinite value has no mean"
                raise ValueError(msg)
        return numbers

    @staticmethod
    def _within_cases(numbers: Mapping[Cell, float]) -> dict[Cell, float]:
        """One number per case, the mean of its parts."""
        by_case: dict[str, list[float]] = {}
        for (case, _), number in numbers.items():
            by_case.setdefault(case, []).append(number)
        return {(case, ""): math.fsum(found) / len(found) for case, found in by_case.items()}


class _Worst:
    """What stands in for a missing case."""

    def __init__(self, metric: str, missing: Missing, teams: Mapping[str, Mapping[Cell, float | None]]) -> None:
        self._metric, self._missing = catalogue.get(metric), missing
        worse = min if self._metric.better == "higher" else max
        self._of_cell: dict[Cell, float] = {}
        if missing.relative:
            for found in teams.values():
                for cell, number in found.items():
                    if number is not None:
                        self._of_cell[cell] = worse(self._of_cell.get(cell, number), number)
        self._of_all = worse(self._of_cell.values(), default=None)

    def stand_in(self, cell: Cell) -> float | None:
        return self._missing.counts_as(self._metric, here=self._of_cell.get(cell), anywhere=self._of_all)


def mean_of(numbers: Mapping[Cell, float], weights: Mapping[str, float]) -> float:
    """Σ w x / Σ w, summed exactly, so that neither the order nor the number of workers can move its last bit."""
    total = math.fsum(number * weights[case] for (case, _), number in numbers.items())
    return total / math.fsum(weights[case] for case, _ in numbers)


def left_out_notes(entries: Sequence[Entry]) -> list[Note]:
    """Over how many cases a mean is that leaves some out."""
    return [
        Note(
            f"{entry.row.submission}: mean over {entry.row.cases - entry.row.missing - entry.row.failed} of "
            f"{entry.row.cases} cases",
            entry.row.submission,
        )
        for entry in entries
        if entry.row.missing + entry.row.failed
    ]
