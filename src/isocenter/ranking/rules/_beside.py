"""What stands beside the scores of a board: what every submission reached by other rules, such as means of metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from isocenter.ranking._board import Board, BoardRow, Component, Note
from isocenter.ranking._drawn import Drawable, Drawn, Rejecting
from isocenter.ranking._entry import Role
from isocenter.ranking.rules._base import Rule, capabilities_of
from isocenter.resampling.counts import Resamples

Ranks = Mapping[str, Mapping[str, float]]
"""By metric and submission."""


def with_components(
    board: Board,
    rules: Sequence[Rule],
    scores: pl.DataFrame,
    roles: Mapping[str, Role] | None,
    ranks: Ranks | None = None,
) -> Board:
    """The board with what its rows reached by other rules, one component each.

    Parameters
    ----------
    ranks
        What stands as the rank by a metric; left out, the rank on the board of its rule.
    """
    boards = [(rule.metric, rule.rank(scores, roles=roles)) for rule in rules]

    def components(row: BoardRow) -> tuple[Component, ...]:
        parts = []
        for metric, other in boards:
            found = other[row.submission]
            place = found.rank if ranks is None else ranks[metric].get(row.submission)
            if found.score is not None:
                parts.append(Component(metric, found.score, place))
        return tuple(parts)

    # Whoever has no score stands on no board: what it reached by a part of the rule would be the mean of other cases.
    filled = [replace(row, components=components(row)) if row.score is not None else row for row in board.rows]
    about = {note: note.team for _, other in boards for note in other.notes if note.team}
    notes = [Note(f"Metrics beside the score, {text}", team) for text, team in about.items()]
    return replace(board, rows=tuple(filled), notes=(*board.notes, *notes))


def show_beside(board: Board, rule: Rule, scores: pl.DataFrame, roles: Mapping[str, Role] | None) -> Board:
    """The board with what its rule wants beside the score, unless it brought components itself."""
    rules = capabilities_of(rule).beside
    if not rules or any(row.components for row in board.rows):
        return board
    return with_components(board, rules, scores, roles)


def draw_beside(
    drawn: Drawn, rule: Rule, scores: pl.DataFrame, draws: Resamples, roles: Mapping[str, Role] | None
) -> Drawn:
    """The draws of a rule with those of what stands beside its score; NaN where a submission has no number there."""
    found = dict(drawn.components)
    for other in capabilities_of(rule).beside:
        if other.metric in found or not isinstance(other, Drawable):
            continue
        # A resample that has something to rank by may have no case in which this one of the metrics is defined.
        reject = other.rejects(scores, roles=roles) if isinstance(other, Rejecting) else None
        rejected = None if reject is None else np.asarray(reject(draws.counts.astype(np.int32)), np.bool_)
        usable = np.ones(draws.replicates, np.bool_) if rejected is None else ~rejected
        if not usable.any():
            continue
        its = other.draw(scores, draws if usable.all() else Resamples(draws.by_case[:, usable]), roles=roles)
        at = {submission: place for place, submission in enumerate(its.submissions)}
        beside = np.full((len(drawn.submissions), draws.replicates), np.nan)
        for row, submission in enumerate(drawn.submissions):
            if submission in at:
                beside[row, usable] = its.scores[at[submission]]
        found[other.metric] = beside
    return replace(drawn, components=found)
