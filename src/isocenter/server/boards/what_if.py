"""A board under other weights of its metrics: a question that anybody may ask, and no result of the challenge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from isocenter.ranking import Board, BoardRow
    from isocenter.ranking import Rule as AnyRule


def weights_of(rule: AnyRule, board: Board) -> dict[str, float]:
    """The weights that can be changed, by metric; empty where the board has none, or does not show what it weighs."""
    from isocenter.ranking import capabilities_of

    return capabilities_of(rule).weights if any(row.components for row in board.rows) else {}


def reweighted(rule: AnyRule, board: Board, weights: Mapping[str, float]) -> tuple[BoardRow, ...]:
    """The ranked rows of a board in the order, and with the scores and ranks, that other weights would give them.

    The rule itself is asked, on what the board shows: what every submission reached by each metric. So whoever may not
    see the metrics behind a score cannot ask, and no name appears that the board does not have. Rows without a rank
    stay without one, and are left out. A metric of weight 0 does not count.

    Raises
    ------
    ValueError
        No weight is left, or one is negative.
    """
    from isocenter.ranking import capabilities_of

    other = capabilities_of(rule).reweighted(weights)
    ranked = {row.submission: row for row in board.rows if row.rank is not None}
    found = other.rank(_table(ranked.values(), capabilities_of(other).given), name=board.name)
    return tuple(
        replace(ranked[row.submission], score=row.score, rank=row.rank, components=row.components)
        for row in found.rows
        if row.submission in ranked
    )


def _table(rows: Iterable[BoardRow], names: tuple[str, ...]) -> pl.DataFrame:
    """What the rows reached, as numbers of whole submissions."""
    import polars as pl

    from isocenter.scores import SCHEMA

    values = [
        (row.submission, "", "", part.metric, part.score, 1.0)
        for row in rows
        for part in row.components
        if part.metric in names
    ]
    return pl.DataFrame(values, schema=SCHEMA, orient="row")
