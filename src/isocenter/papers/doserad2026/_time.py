"""Run time in DoseRAD2026: what accuracy costs, and who was too slow to compete."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from isocenter.metrics import Metric, catalogue
from isocenter.papers.doserad2026._ranks import Weighted, label
from isocenter.ranking import BoardRow, Limit
from isocenter.report import (
    Block,
    Cell,
    Chart,
    Paragraph,
    PlotAxis,
    PlotLine,
    PlotPoint,
    Section,
    metric_label,
    scatter_plot,
    table,
)

_ACCURACY = ("plan_mae", "gamma_pass_rate", "gamma_pass_rate_rx")
_MISSING = (
    "Accuracy against run time, and exclusions, need the jobs of every team: run_times.csv with the columns "
    "submission, modality, seconds, images and beams; or rows of run_time and run_time_mean in the score tables."
)


def run_times(boards: list[Weighted]) -> Section:
    """Accuracy against run time, with the limit; and the measured times of all."""
    timed = [board for board in boards if board.rule.given]
    if not timed or not any(_times(board) for board in timed):
        return Section("doserad-time", "Accuracy and run time", (Paragraph(_MISSING, note=True),))
    return Section("doserad-time", "Accuracy and run time", (*_scatters(timed[0]), *_limits(timed)))


def _times(board: Weighted) -> dict[str, float]:
    """Seconds per beam of every row that has them, by the board's own measure."""
    (given, *_) = board.rule.given
    return {
        row.submission: part.score
        for row in board.decided.board.rows
        for part in row.components
        if part.metric == given
    }


def _limit(board: Weighted) -> Limit | None:
    return next((limit for limit in board.rule.limits if limit.metric in board.rule.given), None)


def _state(board: Weighted, row: BoardRow, seconds: float) -> str:
    limit = _limit(board)
    if row.role != "team":
        return row.role
    return "excluded" if limit is not None and limit.excludes(seconds) else "ranked"


def _scatters(board: Weighted) -> Iterator[Block]:
    names = [name for name in board.rule.weights if name in _ACCURACY]
    for name in names:
        yield _scatter(board, catalogue.get(name))


def _scatter(board: Weighted, accuracy: Metric) -> Chart:
    (given, *_) = board.rule.given
    time, limit, times = catalogue.get(given), _limit(board), _times(board)
    rows = []
    points = []
    for row in board.decided.board.rows:
        reached = {part.metric: part.score for part in row.components}
        if row.submission in times and accuracy.name in reached:
            seconds, value = times[row.submission], reached[accuracy.name]
            points.append(PlotPoint(label(row), seconds, value, kind=_state(board, row, seconds)))
            rows.append((row.submission, seconds, value, points[-1].kind))
    title = f"{metric_label(accuracy)} against run time per beam, board {board.name}"
    caption = f"{title}. Ringed and joined: nobody is both faster and more accurate, ranked or not. n = {len(points)}."
    lines = []
    x, y = PlotAxis("run time per beam", time.unit, log=True), _axis(accuracy, points)
    if limit is not None and y.low is not None and y.high is not None:
        lines.append(PlotLine(f"limit {limit.value:g} {time.unit}", [limit.value] * 2, [y.low, y.high]))
        if max(times.values()) < 2 * limit.value:
            x = replace(x, high=2 * limit.value)
        caption += f" Vertical line: {limit} is excluded."
    return Chart(
        f"doserad-time-{accuracy.name.replace('_', '-')}",
        caption,
        scatter_plot(
            points,
            x=x,
            y=y,
            title=title,
            name=f"doserad-pareto-{accuracy.name.replace('_', '-')}",
            frontier="upper-left" if accuracy.better == "higher" else "lower-left",
            curves=lines,
        ),
        pl.DataFrame(rows, schema=["team", given, accuracy.name, "state"], orient="row"),
    )


def _axis(accuracy: Metric, points: list[PlotPoint]) -> PlotAxis:
    """From 0 to above the largest error; of a share in per cent, from the next ten below the lowest to 100."""
    values = [point.y for point in points if math.isfinite(point.y)]
    axis = PlotAxis(metric_label(accuracy, unit=False), accuracy.unit)
    if accuracy.better == "higher":
        return replace(axis, low=min(10.0 * math.floor(min(values, default=0.0) / 10), 90.0), high=accuracy.bounds[1])
    most = max(values, default=0.0)
    return replace(axis, low=0.0, high=1.1 * most) if most > 0 else axis


def _limits(boards: list[Weighted]) -> Iterator[Block]:
    """All measured times, and what each board makes of them."""
    measures = list(dict.fromkeys(board.rule.given[0] for board in boards))
    times = {board.rule.given[0]: _times(board) for board in reversed(boards)}
    rows: list[tuple[str | Cell, ...]] = []
    out = []
    for row in boards[0].decided.board.rows:
        found = [times[name].get(row.submission) for name in measures]
        cells = [
            Cell("–") if seconds is None else Cell(catalogue.get(name).show(seconds), seconds)
            for name, seconds in zip(measures, found, strict=True)
        ]
        verdicts = [_verdict(board, row) for board in boards]
        rows.append((label(row), *cells, *verdicts))
        out += [label(row)] if "excluded" in verdicts else []
    limits = "; ".join(f"on {board.name}, {limit}" for board in boards if (limit := _limit(board)) is not None)
    yield Paragraph(
        f"Too slow to be ranked on a board: {', '.join(out)}." if out else "Nobody is too slow to be ranked."
    )
    heads = [f"{catalogue.get(name).text[:1].upper()}{catalogue.get(name).text[1:]} (s) #" for name in measures]
    yield table(
        "doserad-run-times",
        f"Measured run time in seconds per beam, and what each board makes of it. Excluded: {limits}."
        if limits
        else "Measured run time in seconds per beam. No board has a limit.",
        ["Team", *heads, *(board.name for board in boards)],
        rows,
    )


def _verdict(board: Weighted, row: BoardRow) -> str:
    """What a board makes of the run time of a row of the first board; nothing where it does not list it."""
    mine = next((one for one in board.decided.board.rows if one.submission == row.submission), None)
    seconds = _times(board).get(row.submission)
    return "–" if mine is None or seconds is None else _state(board, mine, seconds)
