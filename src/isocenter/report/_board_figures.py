"""What a board has case by case: for the plots of a report, which draw it, and for who wants the values themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import polars as pl
from markupsafe import Markup

from isocenter.metrics import Metric, catalogue
from isocenter.ranking import Board
from isocenter.report import _cases, _plot
from isocenter.report._scale import axis_for, label_of


class CaseSpread(NamedTuple):
    """A case: the mean over the competing teams that have a finite value, the lowest and highest of them, how many."""

    case: str
    mean: float
    low: float
    high: float
    teams: int


def metric_label(metric: Metric, *, unit: bool = True) -> str:
    """A metric's name for readers: "Dice", "HD95 (mm)"."""
    label = label_of(metric)
    return label if unit or not metric.unit else label.removesuffix(f" ({metric.unit})")


def case_values(board: Board, scores: pl.DataFrame) -> dict[str, list[tuple[str, float]]]:
    """By listed team its finite values by case, of the metric of the board; empty where that belongs to no case."""
    cases = _cases.collect(board, scores)
    return {strip.name: list(strip.values) for strip in _cases.strips(board, cases) if strip.values}


def case_spreads(board: Board, scores: pl.DataFrame) -> list[CaseSpread]:
    """What those have in each case who compete, hardest first; if nobody does, all who are listed."""
    board = _competing(board)
    cases = _cases.collect(board, scores)
    better = catalogue.get(board.metric).better
    return [CaseSpread(s.case, s.mean, s.low, s.high, s.teams) for s in _cases.spreads(board, cases, better=better)]


def case_spread_plot(board: Board, scores: pl.DataFrame) -> Markup:
    """One line per case, from the worst to the best team, the mean as a dot; hardest first."""
    board = _competing(board)
    cases, metric = _cases.collect(board, scores), catalogue.get(board.metric)
    spreads = _cases.spreads(board, cases, better=metric.better)
    axis = axis_for(metric, [value for spread in spreads for value in (spread.low, spread.high)])
    return _plot.spreads_svg(spreads, metric, axis=axis)


def _competing(board: Board) -> Board:
    """The board without benchmarks and others that have no rank, unless there is nobody else."""
    ranked = tuple(row for row in board.rows if row.rank is not None)
    return replace(board, rows=ranked) if ranked else board
