"""Where the weighted ranks of DoseRAD2026 come from: metrics and their weights, readings of the rules, tie-breaks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import polars as pl

from isocenter.contest import Decision
from isocenter.metrics import catalogue
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.ranking import BoardRow, RankingRule, capabilities_of
from isocenter.report import (
    Block,
    Cell,
    Chart,
    Paragraph,
    Section,
    bars_plot,
    matrix_plot,
    metric_label,
    rank_lines_plot,
    table,
)


class Weighted(NamedTuple):
    """A board that ranks by several metrics, with its rule."""

    name: str
    decided: Decision
    rule: RankingRule


def weighted_boards(study: Study) -> list[Weighted]:
    """The boards that rank by several metrics, in their order."""
    boards = [Weighted(name, decided, capabilities_of(decided.rule)) for name, decided in study.boards.items()]
    return [board for board in boards if board.rule.weights]


def label(row: BoardRow) -> str:
    """A row as a picture names it: with what it is, if it does not compete."""
    return row.submission if row.role == "team" else f"{row.submission} ({row.role})"


def ranks(boards: list[Weighted]) -> Section:
    """Ranks by metric, what each adds to the score, ranks by reading, and ties."""
    if not boards:
        text = "No board of this phase weighs ranks by several metrics, so there is nothing to take apart."
        return Section("doserad-ranks", "Where the ranks come from", (Paragraph(text, note=True),))
    blocks: list[Block] = [*_taken_apart(boards[0]), *_readings(boards), _ties(boards)]
    return Section("doserad-ranks", "Where the ranks come from", tuple(blocks))


def _taken_apart(board: Weighted) -> Iterator[Block]:
    """The heat map of ranks, and the shares of the score."""
    rows = [row for row in board.decided.board.rows if row.score is not None]
    if not rows:
        yield Paragraph(f"Nobody has a score on the board {board.name}.", note=True)
        return
    metrics = list(board.rule.weights)
    of = {row.submission: {part.metric: part.rank for part in row.components} for row in rows}
    title = f"Rank by each metric of the board {board.name}"
    values = [[of[row.submission].get(name) for name in metrics] for row in rows]
    yield Chart(
        "doserad-rank-map",
        f"{title}, in the order of the board. 1 is best. n = {counted(len(board.decided.ranked), 'ranked team')}.",
        matrix_plot(
            [[None if rank is None else -rank for rank in line] for line in values],
            rows=[label(row) for row in rows],
            columns=[metric_label(catalogue.get(name), unit=False) for name in metrics],
            show=lambda value: f"{-value:g}",
            legend="rank, darker is better",
            title=title,
            name="doserad-ranks-by-metric",
        ),
        pl.DataFrame(
            [(row.submission, *line) for row, line in zip(rows, values, strict=True)],
            schema={"team": pl.String, **dict.fromkeys(metrics, pl.Float64)},
            orient="row",
        ),
    )
    yield _stack(board, rows, of)


def _stack(board: Weighted, rows: list[BoardRow], of: dict[str, dict[str, float | None]]) -> Chart:
    weights = list(board.rule.weights.items())
    total = math.fsum(weight for _, weight in weights)
    shares = {
        row.submission: {
            name: weight * rank / total
            for name, weight in weights
            if (rank := of[row.submission].get(name)) is not None
        }
        for row in rows
    }
    shown = {
        label(row): {_with_weight(name, weight): shares[row.submission].get(name, 0.0) for name, weight in weights}
        for row in rows
    }
    title = f"What each metric adds to the score of the board {board.name}"
    data = [(team, name, value) for team, parts in shares.items() for name, value in parts.items()]
    return Chart(
        "doserad-rank-shares",
        f"{title}: weight × rank, divided by the sum of the weights, {total:g}. A bar is as long as the score; "
        "lower is better.",
        bars_plot(
            shown,
            label="weighted mean of the ranks",
            title=title,
            name="doserad-stack",
            show=lambda value: f"{value:.2f}",
            stacked=True,
        ),
        pl.DataFrame(data, schema=["team", "metric", "share"], orient="row"),
    )


def _with_weight(name: str, weight: float) -> str:
    text = metric_label(catalogue.get(name), unit=False)
    return text if weight == 1 else f"{text} ×{weight:g}"


def _readings(boards: list[Weighted]) -> Iterator[Block]:
    """Ranks under every reading of the rules that has a board."""
    if len(boards) < 2:
        return
    teams = list(dict.fromkeys(team for board in boards for team in board.decided.ranked))
    if not teams:
        return
    of = [{row.submission: row.rank for row in board.decided.board.rows} for board in boards]
    found = {team: [one.get(team) for one in of] for team in teams}
    changed = sum(len(set(line)) > 1 for line in found.values())
    title = "Ranks under every reading of the rules"
    rows = [
        (board.name, team, rank)
        for board, one in zip(boards, of, strict=True)
        for team in teams
        if (rank := one.get(team)) is not None
    ]
    yield Chart(
        "doserad-readings",
        f"{title} that has a board: {counted(changed, 'team') if changed else 'no team'} of {len(teams)} would have "
        "another rank, or none, under another reading. A gap is a team without a rank.",
        rank_lines_plot(found, steps=[board.name for board in boards], title=title, name="doserad-reading-lines"),
        pl.DataFrame(rows, schema=["board", "team", "rank"], orient="row"),
    )


def _ties(boards: list[Weighted]) -> Block:
    """The log of tie-breaks: neighbours with one score, and what told them apart."""
    rows = [line for board in boards for line in _decisions(board)]
    if not rows:
        return Paragraph("No two ranked teams have the same score: no tie had to be broken on any board.")
    return table(
        "doserad-ties",
        "Equal scores of neighbours on a board, and what decided between them.",
        ["Board", "Ahead", "Behind", "Score #", "Decided by", "Ahead has #", "Behind has #"],
        rows,
    )


def _decisions(board: Weighted) -> Iterator[tuple[str | Cell, ...]]:
    rule, metric = board.rule, board.decided.metric
    tolerance = getattr(rule, "tolerance", 0.0)
    ranked = [row for row in board.decided.board.rows if row.rank is not None]
    for ahead, behind in pairwise(ranked):
        assert ahead.score is not None
        assert behind.score is not None
        if not math.isclose(ahead.score, behind.score, rel_tol=tolerance):
            continue
        score = Cell(metric.show(ahead.score), ahead.score)
        mine, other = ({part.metric: part.score for part in row.components} for row in (ahead, behind))
        for name in rule.tie_breaks:
            if not math.isclose(mine[name], other[name], rel_tol=tolerance):
                told = [Cell(f"{value:.6g}", value) for value in (mine[name], other[name])]
                yield board.name, ahead.submission, behind.submission, score, name, *told
                break
        else:
            yield board.name, ahead.submission, behind.submission, score, "nothing: they share the rank", "–", "–"
