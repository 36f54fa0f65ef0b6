"""A leaderboard as one HTML file that needs nothing else: no network, no script, no font."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from isocenter.metrics import Metric, catalogue
from isocenter.ranking import Board
from isocenter.report import _cases, _plot
from isocenter.report._figures import Figure
from isocenter.report._record import flat
from isocenter.report._scale import Axis, axis_for, label_of
from isocenter.report._templates import fill

_WORDS = {"missing": "no output", "failed": "unusable", "undefined": "undefined"}


def leaderboard_page(
    title: str,
    board: Board,
    scores: pl.DataFrame,
    *,
    record: Mapping[str, Any] | None = None,
    subtitle: str = "",
    figures: Sequence[Figure] = (),
    discreet: bool = False,
) -> str:
    """The page of a board: the table, the cases of each team, the difficulty of each case, and all numbers.

    Parameters
    ----------
    title, subtitle
        Of the challenge, and of the phase or stream.
    scores
        The score table behind the board, with its `submission` column, one submission per team. Only what the board
        lists is shown; nothing of any other submission is in the page, not even in its data.
    figures
        Pictures to show below the plots, such as `dose_figures` makes.
    discreet
        Whether nothing is shown but the board itself, because its scores are rounded or held back for a reason.
    record
        How the board was made (versions, hashes, policies), shown at the end. Entries that name a submission which
        the board does not list are left out.

    Returns
    -------
    str
        The same text for the same input: the page carries no date of its own.
    """
    metric = catalogue.get(board.metric)
    if discreet:
        scores, figures = scores.clear(), ()
    cases = _cases.collect(board, scores)
    strips = _cases.strips(board, cases)
    spreads = _cases.spreads(board, cases, better=metric.better)
    values = [value for strip in strips for _, value in strip.values]
    axis = axis_for(metric, values)
    # Scores may lie far from the cases they are means of, where a missing case counts as something large.
    ends = [end for row in board.rows for end in (row.score, row.low, row.high) if end is not None]
    scale = axis_for(metric, ends)
    return fill(
        "leaderboard.html.j2",
        title=title,
        subtitle=subtitle,
        board=board,
        metric=metric,
        label=label_of(metric),
        rows=_rows(board, metric, axis=scale),
        uncertain="p_first" in board.legend,
        legend=board.legend,
        counts="p_first" not in board.legend or any(r.missing + r.failed for r in board.rows),
        components=_components(board),
        # A score of ranks, or of all cases together, belongs to no case: there is nothing to say case by case.
        by_case=not discreet
        and (bool(values) or not (any(row.components for row in board.rows) or "lesion" in set(scores["metric"]))),
        size=max([row.cases for row in board.rows], default=len(cases.names)),
        strips=_plot.strips_svg(strips, metric, axis=axis) if values else "",
        kinds=[kind for kind in _WORDS if any(dict(strip.without)[kind] for strip in strips)],
        few=any(0 < len(strip.values) < _plot.FEWEST_FOR_BOX for strip in strips),
        boxes=any(len(strip.values) >= _plot.FEWEST_FOR_BOX for strip in strips),
        spreads=_plot.spreads_svg(spreads, metric, axis=axis) if spreads else "",
        named=_plot.NAMED if len(spreads) > _plot.ALL_NAMED else 0,
        one_team=len(board.rows) == 1,
        gaps=_gaps(board, cases, drawn={spread.case for spread in spreads}),
        numbers=_numbers(board, cases, means={spread.case: spread.mean for spread in spreads}),
        figures=figures,
        record=list(flat(record or {}, hidden=_naming(board, scores))),
    )


def _rows(board: Board, metric: Metric, *, axis: Axis) -> list[dict[str, Any]]:
    """The lines of the leaderboard."""
    return [
        {
            "place": row.place,
            "name": row.submission,
            "long": len(row.submission) > 60,
            "tag": "disqualified" if row.disqualified else "" if row.role == "team" else row.role,
            "score": metric.show(row.score),
            "bounds": _bounds(metric, row.low, row.high),
            "rank_set": row.rank_set,
            "p_first": row.first_share,
            "p_best": row.best_chance,
            "group": row.group or "–",
            "mark": _plot.score_svg(row.score, axis=axis, low=row.low, high=row.high) if row.score is not None else "",
            "missing": row.missing,
            "failed": row.failed,
        }
        for row in board.rows
    ]


def _bounds(metric: Metric, low: float | None, high: float | None) -> str:
    """An interval in brackets; "" if there is none."""
    return "" if low is None or high is None else f"[{metric.show(low)}, {metric.show(high)}]"


def _components(board: Board) -> dict[str, Any]:
    """Teams by metrics, where a rule ranks by several: value, rank, and how dark its cell is."""
    names = list(dict.fromkeys(part.metric for row in board.rows for part in row.components))
    lowest = max([part.rank for row in board.rows for part in row.components if part.rank is not None], default=1.0)
    lines = []
    for row in board.rows:
        found = {part.metric: part for part in row.components}
        cells = []
        for name in names:
            part = found.get(name)
            shown = catalogue.get(name).show(part.score if part else None)
            rank = part.rank if part else None
            bounds = _bounds(catalogue.get(name), part.low, part.high) if part else ""
            shade = 0 if rank is None else round(45 * (1 - (rank - 1) / max(lowest - 1, 1)))
            cells.append(
                {
                    "text": shown if rank is None else f"{shown} ({part.place if part else rank})",
                    "bounds": bounds,
                    "shade": shade,
                }
            )
        lines.append({"team": row.submission, "cells": cells})
    return {"names": [label_of(catalogue.get(name)) for name in names], "lines": lines}


def _gaps(board: Board, cases: _cases.Cases, *, drawn: set[str]) -> list[str]:
    """Sentences about what the plots cannot show."""
    said = []
    unseen = [case for case in cases.names if case not in drawn]
    if unseen and drawn:
        named = ", ".join(unseen[:5]) + (f" and {len(unseen) - 5} more" if len(unseen) > 5 else "")
        said.append(f"No team has a value in {named}; not drawn.")
    infinite = sum(cell.value is not None and not cell.drawable for cell in cases.cells.values())
    if infinite:
        said.append(f"{infinite} infinite {'value has' if infinite == 1 else 'values have'} no place on the axis.")
    unnamed = max([row.cases for row in board.rows], default=0) - len(cases.names)
    if unnamed > 0 and cases.names:
        said.append(
            f"{unnamed} further {'case' if unnamed == 1 else 'cases'} of the cohort have no row from these teams."
        )
    return said


def _numbers(board: Board, cases: _cases.Cases, *, means: Mapping[str, float]) -> list[dict[str, Any]]:
    """The lines of the table of all numbers: a case, the mean over the teams, and each team's value."""
    metric = catalogue.get(board.metric)
    lines = []
    for case in cases.names:
        cells = [cases.cells[row.submission, case] for row in board.rows]
        texts = [_WORDS.get(cell.state) or metric.show(cell.value) for cell in cells]
        shown = [{"text": text, "value": cell.state == "value"} for text, cell in zip(texts, cells, strict=True)]
        lines.append({"case": case, "mean": metric.show(means.get(case)), "cells": shown})
    return lines


def _naming(board: Board, scores: pl.DataFrame) -> re.Pattern[str]:
    """What finds, as a word of its own, the name of any submission that is known here and must not be shown."""
    known = {str(name) for name in scores["submission"].unique()} | {row.submission for row in board.unlisted}
    hidden = sorted(known - {row.submission for row in board.rows} - {""})
    words = "|".join(re.escape(name) for name in hidden)
    return re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])" if words else r"(?!)", re.IGNORECASE)
