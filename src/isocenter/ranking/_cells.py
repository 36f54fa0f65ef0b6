"""What every submission has in every case of a cohort: the numbers that rules aggregate, with those that stand in."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isocenter.metrics import catalogue
from isocenter.ranking._board import Board, BoardRow, Note
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import Missing, Undefined, leaves_undefined_out
from isocenter.resampling.counts import Reject, Resamples
from isocenter.resampling.matrices import Floats, refuse_cells

Cell = tuple[str, str]
"""Case and part: what one number is about."""

Over = Literal["cases", "parts", "parts-within-cases"]
"""What is aggregated: one number per case, every part of every case, or the mean of the parts of each case."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A submission: its row, without score and rank, and by cell the numbers that count; None if it has no score."""

    row: BoardRow
    numbers: Mapping[Cell, float] | None
    ranked_last: frozenset[str] = frozenset()
    """Cases in which it has no number, but the last rank."""


@dataclass(frozen=True, slots=True)
class Cohort:
    """What all submissions are measured on.

    Attributes
    ----------
    metric
        Whose numbers they are.
    weights
        By case that counts its weight, in alphabetical order: the cases of the table without those in which the metric
        is undefined, where these are left out.
    every
        All cases of the table, in alphabetical order: what resamples are made of.
    undefined
        The cases in which the metric is undefined in some part: left out, or with the value that the policy says.
    undefined_value
        That value; None if they are left out.
    """

    metric: str
    weights: Mapping[str, float]
    entries: tuple[Entry, ...]
    every: tuple[str, ...]
    undefined: tuple[str, ...] = ()
    undefined_value: float | None = None

    @property
    def cases(self) -> tuple[str, ...]:
        """Their names, in alphabetical order."""
        return tuple(self.weights)

    @property
    def scored(self) -> tuple[Entry, ...]:
        """Those that have numbers."""
        return tuple(entry for entry in self.entries if entry.numbers is not None)

    @property
    def counting(self) -> NDArray[np.bool_]:
        """Which of all cases count."""
        return np.array([case in self.weights for case in self.every], np.bool_)

    def weight_vector(self) -> Floats | None:
        """The weights of the cases that count; None if they are all alike."""
        found = np.array(list(self.weights.values()))
        return None if np.ptp(found) == 0 else found

    def among_all(self, columns: Floats) -> Floats:
        """A column for every case of the table, from one for every case that counts: the others are 0."""
        if len(self.weights) == len(self.every):
            return columns
        full = np.zeros((*columns.shape[:-1], len(self.every)))
        full[..., self.counting] = columns
        return full

    def weights_of_all(self) -> Floats | None:
        """The weights of all cases, 0 for one that does not count; None if they are all alike."""
        if len(self.weights) == len(self.every):
            return self.weight_vector()
        return self.among_all(np.array(list(self.weights.values())))

    def resamples(self, draws: Resamples) -> Resamples:
        """Resamples of all cases as such of those that count; each must have one."""
        if len(self.weights) == len(self.every):
            return draws
        kept = draws.among(self.counting)
        what = f"every resample has one of the {len(self.weights)} cases in which {self.metric} is defined"
        refuse_cells(kept.sizes == 0, kept.sizes, what)
        return kept

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
        What becomes of a case with a usable output for which the metric is undefined. "refuse": nothing goes on.
        "unlisted": the submission has no numbers. "leave-out": if no team has a value there, the reference leaves it
        undefined, and it counts for nobody, not even for those who lack it; if some have one, nothing goes on.
        "leave-out-or-missing": as before, but if some have a value, it is a missing case of those without. A number:
        the metric counts as this there.
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
        every = self._cells(weights, values)
        usable = {submission: self._usable(table, values[submission]) for submission, table in tables.items()}
        blank = self._blank(every, values, usable, roles)
        cells = self._without(every, blank)
        if isinstance(self.undefined, float | int):
            blank = self._fill(every, values, usable)
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
            self._entry(
                submission,
                table,
                values[submission],
                cells,
                every=weights,
                worst=worst,
                role=roles.get(submission, "team"),
            )
            for submission, table in tables.items()
        ]
        return Cohort(
            metric=self.metric,
            weights={case: weight for case, weight in weights.items() if case in cells},
            entries=tuple(entries),
            every=tuple(weights),
            undefined=tuple(sorted({case for case, _ in blank})),
            undefined_value=None if isinstance(self.undefined, str) else float(self.undefined),
        )

    def _blank(
        self,
        cells: Mapping[str, tuple[Cell, ...]],
        values: Mapping[str, Mapping[Cell, float | None]],
        usable: Mapping[str, set[str]],
        roles: Mapping[str, Role],
    ) -> set[Cell]:
        """What the reference leaves undefined and the policy leaves out: there is an output, but no team has a value.

        What only stands beside the teams decides nothing here, unless there are no teams.
        """
        if not leaves_undefined_out(self.undefined):
            return set()
        teams = [name for name in values if roles.get(name, "team") == "team"] or list(values)
        measured = set.union(*(usable[name] for name in teams))
        known = {cell for name in teams for cell, number in values[name].items() if number is not None}
        return {
            cell
            for case, its in cells.items()
            for cell in its or ((case, ""),)
            if case in measured and cell not in known
        }

    def _without(
        self, cells: Mapping[str, tuple[Cell, ...]], blank: Collection[Cell]
    ) -> Mapping[str, tuple[Cell, ...]]:
        """The cells that count, by case that has one."""
        if not blank:
            return cells
        kept = {case: tuple(cell for cell in its if cell not in blank) for case, its in cells.items()}
        left = {case: its for case, its in kept.items() if its or ((case, "") not in blank and not cells[case])}
        if not left:
            msg = f"{self.metric} is undefined in all {len(cells)} cases: there is nothing to rank by"
            raise ValueError(msg)
        return left

    def _fill(
        self,
        cells: Mapping[str, tuple[Cell, ...]],
        values: Mapping[str, dict[Cell, float | None]],
        usable: Mapping[str, set[str]],
    ) -> set[Cell]:
        """Put the value of the policy where an output is usable and the metric undefined; where that was."""
        filled = set()
        for name, value in values.items():
            for case in usable[name] & cells.keys():
                for cell in cells[case]:
                    if value.get(cell) is None:
                        value[cell] = float(self.undefined)
                        filled.add(cell)
        return filled

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
        if self.undefined != "unlisted":
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
        *,
        every: Mapping[str, float],
        worst: _Worst,
        role: Role,
    ) -> Entry:
        whole = table.filter(pl.col("part") == "")
        known = set(table.filter(pl.col("metric") == self.metric)["case"]) | {case for case, _ in value}
        missing = set(whole.filter(pl.col("metric") == "missing")["case"]) | (every.keys() - known)
        failed = set(whole.filter(pl.col("metric") == "failed")["case"]) - missing
        unusable = missing | failed
        undefined = [
            case
            for case in cells
            if case not in unusable and (not cells[case] or any(value.get(cell) is None for cell in cells[case]))
        ]
        if undefined and self.undefined == "leave-out-or-missing":
            failed, unusable, undefined = failed | set(undefined), unusable | set(undefined), []
        elif undefined and self.undefined != "unlisted":
            raise ValueError(self._refusal(submission, undefined))
        nothing_left = self.missing.leaves_out and cells.keys() <= unusable
        disqualified = bool(unusable) and (self.missing.disqualifies or nothing_left)
        row = BoardRow(
            submission=submission,
            score=None,
            rank=None,
            role=role,
            cases=len(every),
            missing=len(missing),
            failed=len(failed),
            disqualified=disqualified,
        )
        if disqualified or undefined:
            return Entry(row, None)
        numbers = self._numbers(submission, value, unusable, cells, worst)
        last = frozenset(unusable) if self.missing.ranks_last else frozenset()
        return Entry(row, self._within_cases(numbers) if self.over == "parts-within-cases" else numbers, last)

    def _usable(self, table: pl.DataFrame, value: Mapping[Cell, float | None]) -> set[str]:
        """The cases of which a submission has an output that was measured."""
        whole = table.filter((pl.col("part") == "") & (pl.col("case") != ""))
        marked = whole.filter(pl.col("metric").is_in(["missing", "failed"]))["case"]
        known = set(whole.filter(pl.col("metric") == self.metric)["case"]) | {case for case, _ in value}
        return known - set(marked)

    def _refusal(self, submission: str, undefined: Sequence[str]) -> str:
        """Why there is no score where a metric is undefined, and what may be decided."""
        where = f"{', '.join(undefined[:5])}{' …' if len(undefined) > 5 else ''}"
        if self.undefined == "refuse":
            return f"{self.metric} is undefined for {submission!r} in {where}; a score of the rest would hide that"
        return (
            f"{self.metric} is undefined for {submission!r} in {where}, where others have a value: it is not the "
            f"reference that leaves it undefined; score them all again, or let it count as missing "
            f'("leave-out-or-missing") or as a value'
        )

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


def with_undefined(board: Board, cohorts: Iterable[Cohort]) -> Board:
    """The board with a note and a record for every metric that is undefined in some cases."""
    notes, undefined = [], {}
    for cohort in cohorts:
        if cohort.undefined:
            undefined[cohort.metric] = len(cohort.undefined)
            value = cohort.undefined_value
            what = "they are left out of it for everybody" if value is None else f"it counts as {value:g} there"
            many = f"{len(cohort.undefined)} of {len(cohort.every)} cases"
            notes.append(Note(f"{cohort.metric} is undefined in {many}: {what}"))
    return replace(board, notes=(*notes, *board.notes), undefined=undefined) if notes else board


def reject_undefined(cohorts: Iterable[Cohort]) -> Reject | None:
    """Which resamples have no case in which one of the metrics is defined; None if every case defines all of them."""
    partial = [cohort.counting for cohort in cohorts if len(cohort.weights) < len(cohort.every)]
    if not partial:
        return None
    counting = np.array(partial).T.astype(np.int64)
    return lambda counts: ((counts @ counting) == 0).any(axis=1)
