"""Boards that give little away while a phase is open: a ladder per team, and scores with few decimals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from isocenter.metrics import catalogue
from isocenter.ranking._board import Board, Note
from isocenter.ranking._cells import read_cells
from isocenter.ranking._ladder import Ladder, ladder_scores, rounded
from isocenter.ranking._ties import Ties
from isocenter.ranking.rules._base import Rule, capabilities_of, place

Rungs = float | Literal["parameter-free"]
"""How much better a submission must be to be shown: by a step, or by the standard error of the difference."""


def climb(tables: Sequence[pl.DataFrame], rule: Rule, rungs: Rungs) -> tuple[int, float]:
    """Which of a team's submissions a ladder shows, and as which score.

    Parameters
    ----------
    tables
        Score tables with a `submission` column, in the order in which the submissions were made.
    rule
        A mean over cases without sampling weights; of other scores a ladder knows no standard error.
    """
    known = capabilities_of(rule)
    if not known.laddered:
        msg = f"a ladder needs a mean over cases; the board ranks by {rule}"
        raise ValueError(msg)
    values = known.case_values()
    rows = []
    for number, table in enumerate(tables, start=1):
        cohort = read_cells(table, values.metric.name, values.missing, undefined=values.undefined)
        total, count = cohort.sums()
        if cohort.weight_vector() is not None or not len(total) or not (count == 1).all():
            lack = "has no number in some case, or its cases have sampling weights"
            msg = f"submission {number} {lack}: no ladder shows it"
            raise ValueError(msg)
        rows.append(total[0])
    better = values.metric.better
    assert better != "neither"
    ladder = Ladder(step=None if rungs == "parameter-free" else float(rungs), better=better)
    found = ladder_scores(np.array(rows), ladder)
    return int(np.flatnonzero(found.updated)[-1]), float(found.shown[-1])


def as_shown(board: Board, rule: Rule, *, shown: Mapping[str, float], decimals: int | None) -> Board:
    """The board with scores as the public sees them, ranked by what it sees: who shows the same is equal."""

    def seen(submission: str, score: float | None) -> float | None:
        if score is None:
            return None
        score = shown.get(submission, score)
        return score if decimals is None else rounded(score, decimals)

    rows = [
        replace(row, score=seen(row.submission, row.score), rank=None, components=())
        for row in (*board.rows, *board.unlisted)
    ]
    ties: Ties = getattr(rule, "ties", "min")
    found = place(rows, metric=catalogue.get(board.metric), ties=ties, tolerance=1e-9, name=board.name, rule=board.rule)
    said = []
    if shown:
        said.append(Note("A team's score moves only when a submission is better by enough."))
    if decimals is not None:
        said.append(Note(f"Scores are rounded to {decimals} decimals, and ranked so."))
    return replace(found, notes=(*board.notes, *said))
