"""Observers: how far experts agree with each other, and teams with each of them as the truth (eFigure 6, eTable 3)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from isocenter import scores
from isocenter.ensembles import SYMMETRIC, against, all_pairs, count_votes, pair_table
from isocenter.evaluation import open_cohort
from isocenter.metrics import catalogue
from isocenter.papers._files import find_masks, first_line, grid_policy, name_of_masks
from isocenter.papers._mask_votes import Panel
from isocenter.papers._study import Study
from isocenter.papers._words import anchor, counted
from isocenter.papers.lung2019._second_passes import SecondPasses
from isocenter.report import Block, Cell, Chart, MeanRow, Paragraph, Section, means_plot, metric_label, table
from isocenter.stats import in_brackets, mean_and_error

METRICS = ("s_score", "dice", "jaccard")
_BEST = 5  # teams that are compared with observers
_MOST_OBSERVERS = 12
_MOST_ROWS = 36  # of the picture, that it fits on a page

_LACKS = (
    "Observers need their masks, a folder observers/NAME/ each with some or all cases of reference/; or, for other "
    "cases, a table observers.parquet of all pairs of observers and teams, as `isocenter agreement … --out` writes it."
)
Values = Mapping[str, float]
"""By case."""


@dataclass(frozen=True)
class Observers:
    """Scores by metric, by who is taken for the truth, and by who is measured against it.

    Attributes
    ----------
    beyond
        Observers that are left out because there would be too many.
    """

    names: tuple[str, ...]
    teams: tuple[str, ...]
    scores: Mapping[str, Mapping[tuple[str, str], Values]]
    beyond: int = 0

    def of(self, metric: str, truth: str, other: str) -> list[float]:
        """One pair's scores of all cases; either order does where the metric is symmetric."""
        pairs = self.scores.get(metric, {})
        found = pairs.get((truth, other))
        if found is None and metric in SYMMETRIC:
            found = pairs.get((other, truth))
        return list((found or {}).values())

    def between(self, metric: str) -> list[float]:
        """Scores of all pairs of observers in all cases: both ways, unless the metric is symmetric."""
        pairs = all_pairs(self.names, ordered=metric not in SYMMETRIC)
        return [value for pair in pairs for value in self.of(metric, *pair)]


def read_observers(study: Study, panel: Panel | str) -> Observers | str:
    """What observers drew, compared; a sentence that says why not, if that cannot be.

    Whoever is in submissions.csv is no observer. Masks of teams are those of the panel, which are the scored ones.
    """
    teams = study.main.ranked[:_BEST]
    taking_part = {entry.team for entry in study.folder.entries}
    try:
        if (path := study.folder.file("observers.parquet")) is not None:
            found = scores.read(path)
            everybody = {name: name for part in found["part"].unique() for name in part.split("|") if "|" in part}
            names = sorted(everybody.keys() - taking_part - {"reference"})
        elif (folder := study.folder.file("observers")) is not None and study.folder.file("reference") is not None:
            names = sorted({name_of_masks(path) for path in folder.iterdir()} - taking_part - {""})
            teams = [] if isinstance(panel, str) else list(panel.teams[:_BEST])
            found, everybody = _measured(study, names[:_MOST_OBSERVERS], teams)
        else:
            return _LACKS
    except (ValueError, OSError) as error:
        return f"Observers cannot be compared: {first_line(error, study)}"
    if not names:
        return _LACKS
    by_metric: dict[str, dict[tuple[str, str], dict[str, float]]] = {}
    rows = found.filter(pl.col("metric").is_in(METRICS) & pl.col("value").is_not_null())
    for case, part, metric, value in rows.select("case", "part", "metric", "value").iter_rows():
        truth, bar, other = part.partition("|")
        if bar and math.isfinite(value):
            pair = (everybody[truth], everybody[other])
            by_metric.setdefault(metric, {}).setdefault(pair, {})[case] = value
    known = tuple(team for team in teams if team in everybody.values())
    return Observers(tuple(names[:_MOST_OBSERVERS]), known, by_metric, len(names[_MOST_OBSERVERS:]))


def _measured(study: Study, names: Sequence[str], teams: Sequence[str]) -> tuple[pl.DataFrame, dict[str, str]]:
    """All pairs from the masks; voters have numbers, as names may hold what the name of a pair cannot."""
    folder = study.folder.path / "observers"
    experts = {f"o{n:02d}": name for n, name in enumerate(names, start=1)}
    others = {f"t{n:02d}": team for n, team in enumerate(teams, start=1)}
    files = {key: path for key, name in experts.items() if (path := find_masks(folder, name))}
    files |= {key: path for key, team in others.items() if (path := study.outputs[team].outputs)}
    votes = count_votes(
        study.challenge,
        open_cohort(study.challenge, study.folder.path / "reference"),
        files,
        grid=grid_policy(study),
        progress=lambda done, total, case: study.move(done, total, f"reading observers' masks of {case}"),
    )
    pairs = [*against(experts, others), *all_pairs(experts, ordered=True)]
    return pair_table(votes, metrics=METRICS, pairs=pairs), {**experts, **others}


def observers(study: Study, found: Observers | str, again: SecondPasses | str) -> Section:
    """Agreement of observers with each other and with themselves, and the best teams with each of them as the truth."""
    blocks = (Paragraph(found, note=True),) if isinstance(found, str) else _blocks(study, found)
    return Section("observers", "Teams and observers", (*blocks, _describe_second_passes(again)))


def _describe_second_passes(again: SecondPasses | str) -> Paragraph:
    if isinstance(again, str):
        return Paragraph(again, note=True)
    means = [f"{metric_label(catalogue.get(metric))} {again.cell(metric).text}" for metric in METRICS]
    return Paragraph(
        f"{again.describe()} Means with their standard error in units of the last digit: {'; '.join(means)}."
    )


def _blocks(study: Study, found: Observers) -> Iterator[Block]:
    texts = []
    for metric in METRICS:
        values = found.between(metric)
        if len(values) > 1:
            shown = in_brackets(math.fsum(values) / len(values), statistics.stdev(values))
            texts.append(f"{metric_label(catalogue.get(metric))} {shown}")
    if texts:
        yield Paragraph(
            f"{counted(len(found.names), 'observer')} agree with each other by a mean {', '.join(texts)}; in brackets "
            "the standard deviation of pairs in single cases, in units of the last digit."
        )
    else:
        yield Paragraph("No two observers drew the same case.", note=True)
    if found.beyond:
        yield Paragraph(f"The first {len(found.names)} by name; {found.beyond} more are left out.", note=True)
    main = study.main.board.metric
    for metric in METRICS:
        rows = list(_rows(found, metric))
        if not rows:
            continue
        label = metric_label(catalogue.get(metric))
        if metric == main:
            yield _chart(found, metric)
        cells: list[tuple[str | Cell, ...]] = [
            (
                who,
                *(
                    Cell("–") if not values else _cell(values)
                    for values in (found.of(metric, o, who) for o in found.names)
                ),
            )
            for who in rows
        ]
        yield table(
            anchor(f"observers-{metric}"),
            f"Mean {label} with each observer as the truth; in brackets the standard error in units of the last digit.",
            ["Measured", *(f"{name} #" for name in found.names)],
            cells,
        )


def _rows(found: Observers, metric: str) -> Iterator[str]:
    """Teams, then observers, that were measured against any observer."""
    for who in (*found.teams, *found.names):
        if any(found.of(metric, truth, who) for truth in found.names if truth != who):
            yield who


def _cell(values: Sequence[float]) -> Cell:
    mean, error = mean_and_error(values)
    return Cell(in_brackets(round(mean, 4), error), mean, error=None if math.isnan(error) else error)


def _chart(found: Observers, metric: str) -> Chart:
    what = catalogue.get(metric)
    rows, data = [], []
    teams = found.teams[: max(1, _MOST_ROWS // len(found.names))]
    for team in teams:
        for place, truth in enumerate(found.names):
            values = found.of(metric, truth, team)
            mean, error = mean_and_error(values) if values else (math.nan, math.nan)
            text = f"{in_brackets(round(mean, 4), error)}, n = {len(values)}" if values else "no case"
            rows.append(MeanRow(truth, mean, error, text, heading=team if place == 0 else ""))
            data.append((team, truth, mean, error, len(values)))
    between = found.between(metric)
    lines = {"inter-observer": math.fsum(between) / len(between)} if between else {}
    title = f"{metric_label(what)} of the best teams with each observer as the truth"
    picture = means_plot(
        rows,
        label=f"mean {metric_label(what, unit=False)}",
        unit=what.unit,
        better=what.better,
        title=title,
        name="observer-means",
        lines=lines,
    )
    caption = (
        f"{title}: mean over the cases that both drew, and one standard error to both sides. n = "
        f"{counted(len(teams), 'team')}, {counted(len(found.names), 'observer')}."
    )
    columns = ["team", "observer", f"mean_{metric}", "standard_error", "cases"]
    return Chart("observer-truths", caption, picture, pl.DataFrame(data, schema=columns, orient="row").fill_nan(None))
