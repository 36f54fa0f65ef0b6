"""The score table as a page needs it: every listed team × every case, each with a value or the reason for none."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from isocenter.ranking import Board
from isocenter.report._plot import Spread, Strip

State = Literal["value", "missing", "failed", "undefined"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One team in one case; the value is finite or infinite where the state is "value", and None elsewhere."""

    state: State
    value: float | None = None

    @property
    def drawable(self) -> bool:
        """Whether the value has a place on an axis."""
        return self.value is not None and math.isfinite(self.value)


@dataclass(frozen=True, slots=True)
class Cases:
    """All cells of the listed teams, in the order of the board, and the names of the cases in theirs."""

    names: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]

    def of_team(self, submission: str) -> list[tuple[str, Cell]]:
        """A team's cells by case."""
        return [(case, self.cells[submission, case]) for case in self.names]


def collect(board: Board, scores: pl.DataFrame) -> Cases:
    """Read the cells of a board out of a score table.

    Rows of submissions that the board does not list are dropped before anything is looked at, so that nothing of
    them can reach a page. Within a listed team a case without a row is missing, as it is for the ranking rules.
    """
    lost = {"submission", "case", "part", "metric", "value"} - set(scores.columns)
    if lost:
        msg = (
            f"a page needs a score table with the columns {', '.join(sorted(lost))}; it has {', '.join(scores.columns)}"
        )
        raise ValueError(msg)
    listed = [row.submission for row in board.rows]
    table = scores.filter(pl.col("submission").is_in(listed) & (pl.col("case") != ""))
    names = tuple(sorted(set(table["case"].to_list()), key=_natural))
    whole = table.filter(pl.col("part") == "")
    rows = whole.select("submission", "case", "metric", "value").rows()
    value = {(team, case): number for team, case, metric, number in rows if metric == board.metric}
    if not any(number is not None for number in value.values()):
        value |= _means_of_parts(table.filter(pl.col("metric") == board.metric))
    marked: dict[tuple[str, str], State] = {}
    for team, case, metric, _ in rows:
        if metric == "missing" or (metric == "failed" and (team, case) not in marked):
            marked[team, case] = "missing" if metric == "missing" else "failed"
    # Where nobody has the metric for a whole case, its absence is no omission of a team.
    absent: State = "missing" if value else "undefined"
    cells = {}
    for team in listed:
        for case in names:
            state = marked.get((team, case)) or ("value" if (team, case) in value else absent)
            number = value.get((team, case)) if state == "value" else None
            known = number is not None and not math.isnan(number)
            cells[team, case] = Cell(state, number) if known else Cell("undefined" if state == "value" else state)
    return Cases(names, cells)


def _means_of_parts(table: pl.DataFrame) -> dict[tuple[str, str], float]:
    """Where a board is over the parts of cases, a case is drawn as the mean of its own."""
    parts = table.filter((pl.col("part") != "") & pl.col("value").is_not_null())
    means = parts.group_by("submission", "case").agg(pl.col("value").mean())
    return {(team, case): number for team, case, number in means.iter_rows()}


def strips(board: Board, cases: Cases) -> list[Strip]:
    """What is drawn of each team."""
    drawn = []
    for row in board.rows:
        cells = cases.of_team(row.submission)
        without = Counter(cell.state for _, cell in cells)
        drawn.append(
            Strip(
                row.submission,
                row.place,
                tuple((case, cell.value) for case, cell in cells if cell.value is not None and cell.drawable),
                tuple((kind, without[kind]) for kind in ("missing", "failed", "undefined")),
            )
        )
    return drawn


def spreads(board: Board, cases: Cases, *, better: Literal["higher", "lower", "neither"]) -> list[Spread]:
    """What the teams reached in each case, hardest first; cases in which nobody has a value are left out."""
    found = []
    for case in cases.names:
        values = finite([cases.cells[row.submission, case] for row in board.rows])
        if values:
            mean = math.fsum(value / len(values) for value in values)
            found.append(Spread(case, mean, min(values), max(values), len(values)))
    sign = -1.0 if better == "lower" else 1.0
    return sorted(found, key=lambda spread: (sign * spread.mean, spread.case))


def finite(cells: Sequence[Cell]) -> list[float]:
    """The values among some cells that can be drawn and averaged."""
    return [cell.value for cell in cells if cell.value is not None and cell.drawable]


def _natural(name: str) -> tuple[str, str]:
    """A sort key that puts case 9 before case 10."""
    return re.sub(r"\d+", lambda digits: digits.group().zfill(12), name), name
