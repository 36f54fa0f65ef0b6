"""All metrics as tables of papers print them, 0.52(4), and run times per scan (eTables 3 and 5)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from isocenter.ensembles import majority
from isocenter.metrics import catalogue
from isocenter.papers._mask_votes import Panel, said_of_missing
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.papers.lung2019._second_passes import WITHIN, SecondPasses
from isocenter.report import (
    Block,
    Cell,
    Chart,
    Paragraph,
    PlotAxis,
    PlotPoint,
    Section,
    metric_label,
    scatter_plot,
    table,
)
from isocenter.stats import in_brackets, mean_and_error, parse_brackets


def scores_in_brackets(study: Study, panel: Panel | str, again: SecondPasses | str) -> Section:
    """Means with standard errors of teams, their majority vote, benchmarks, and observers' second passes."""
    decided = study.main
    means = decided.means()
    metrics = [metric for metric in study.challenge.metrics if metric in means]
    rows: list[tuple[str | Cell, ...]] = [
        (
            f"{row.submission} ({row.role})" if row.role != "team" else row.submission,
            *(_text(means[metric].get(row.submission, "–")) for metric in metrics),
        )
        for row in decided.board.rows
    ]
    if not isinstance(panel, str) and len(panel.teams) > 1:
        rule = majority(panel.votes.voters)
        cells = [_of_values(panel.scores_of(rule, metric), panel.weights) for metric in metrics]
        rows.append((f"Majority of {counted(len(panel.teams), 'team')} (ensemble)", *cells))
    notes = [again] if isinstance(again, str) else [again.describe()]
    if not isinstance(again, str):
        rows.append((WITHIN, *(again.cell(metric) for metric in metrics)))
    columns = ["Submission", *(f"{metric_label(catalogue.get(metric))} #" for metric in metrics)]
    blocks: list[Block] = [
        table(
            "in-brackets",
            "Means over the cases; in brackets the standard error in units of the last digit. "
            + said_of_missing(study),
            columns,
            rows,
            notes=notes,
        )
    ]
    blocks += _run_times(study)
    return Section("scores", "All scores, and run times", tuple(blocks))


def _text(shown: str) -> Cell:
    mean, error = parse_brackets(shown)
    return Cell(shown, _known(mean), error=_known(error))


def _of_values(values: list[float], weights: list[float]) -> Cell:
    if any(math.isnan(value) for value in values):
        return Cell("–")
    mean, error = mean_and_error(values, weights)
    return Cell(in_brackets(round(mean, 4), error), mean, error=_known(error))


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number


def _run_times(study: Study) -> Iterator[Block]:
    """Seconds per scan, from run_times.csv: columns submission, seconds, images."""
    rows = study.folder.rows("run_times.csv")
    if not rows or not {"submission", "seconds", "images"} <= set(rows[0]):
        text = "Run times need a table run_times.csv with the columns submission, seconds and images, a row per job."
        yield Paragraph(text, note=True)
        return
    spent: dict[str, tuple[float, float]] = {}
    lost = []
    for number, row in enumerate(rows, start=2):
        try:
            seconds, images = float(row["seconds"]), float(row["images"])
        except ValueError:
            seconds = images = math.nan
        if not (math.isfinite(seconds) and seconds >= 0 and math.isfinite(images) and images > 0):
            lost.append(str(number))
            continue
        before = spent.get(row["submission"], (0.0, 0.0))
        spent[row["submission"]] = (before[0] + seconds, before[1] + images)
    decided = study.main
    known = [row for row in decided.board.rows if row.submission in spent]
    if known:
        per_scan = {row.submission: spent[row.submission][0] / spent[row.submission][1] for row in known}
        metric = decided.metric
        title = f"{metric_label(metric)} against the run time per scan"
        data = pl.DataFrame(
            [(row.submission, per_scan[row.submission], spent[row.submission][1], row.score) for row in known],
            schema=["submission", "seconds_per_scan", "scans", metric.name],
            orient="row",
        )
        yield Chart(
            "run-times",
            f"{title}: all seconds of a team's jobs by all their scans. Joined by steps: those that nobody beats in "
            f"both. n = {counted(len(known), 'submission')}.",
            scatter_plot(
                [
                    PlotPoint(row.submission, per_scan[row.submission], row.score, row.role)
                    for row in known
                    if row.score is not None
                ],
                x=PlotAxis("run time per scan", "s", log=True),
                y=PlotAxis(metric_label(metric, unit=False), metric.unit),
                title=title,
                name="run-time-points",
                frontier="upper-left",
            ),
            data,
        )
        shown = [
            (
                row.submission,
                Cell(f"{per_scan[row.submission]:.3g}", per_scan[row.submission]),
                spent[row.submission][1],
            )
            for row in known
        ]
        yield table("seconds-per-scan", "Run time per scan.", ["Submission", "Seconds per scan #", "Scans #"], shown)
    else:
        yield Paragraph("run_times.csv names nobody who is on the board.", note=True)
    if lost:
        text = f"run_times.csv: seconds and images are positive numbers, not so in line {', '.join(lost[:10])}."
        yield Paragraph(text, note=True)
