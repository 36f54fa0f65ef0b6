"""How teams came on over the phases: best scores so far, and who led (figure 5 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime

import polars as pl

from isocenter.contest import Decision, read_tables
from isocenter.editions import Phase
from isocenter.metrics import Metric
from isocenter.papers._entries import Entry
from isocenter.papers._listed import shown
from isocenter.papers._study import Study
from isocenter.papers._words import anchor, counted, moment
from isocenter.ranking import Moment, Progress, capabilities_of, lead_changes, normalised_progress
from isocenter.report import Block, Cell, Chart, Paragraph, PlotAxis, PlotLine, Section, lines_plot, metric_label, table

STREAMS = ("dose", "dvh")
_NAMED = 20  # teams in a sentence
_MOST_CHANGES = 40  # in the table
Submitted = list[tuple[str, Moment, float]]


def section(study: Study) -> Section:
    """Both streams in every phase in which somebody has a curve."""
    blocks: list[Block] = []
    for phase in study.folder.edition.phases:
        entries = shown(study, phase.name)
        if not entries:
            blocks.append(Paragraph(f"{phase.title}: submissions.csv lists no submission of this phase.", note=True))
        elif (phase.ladder, phase.decimals) != (None, None):
            text = f"{phase.title}: its board keeps scores back, so there are no curves of it."
            blocks.append(Paragraph(text, note=True))
        elif _enough(entries):
            blocks += _phase(study, phase, entries)
        else:
            most = max(_counts(entries).values())
            text = f"{phase.title}: nobody has more than 20 submissions (the most are {most}), so there is no curve."
            blocks.append(Paragraph(text, note=True))
    if not any(isinstance(block, Chart) for block in blocks):
        text = "Curves need submissions.csv with a row, and the score table, of every submission that teams made."
        blocks.append(Paragraph(text, note=True))
    return Section("kbp-progress", "How teams improved", tuple(blocks))


def _counts(entries: Sequence[Entry]) -> dict[str, int]:
    teams = [entry.team for entry in entries]
    return {team: teams.count(team) for team in teams}


def _enough(entries: Sequence[Entry]) -> bool:
    return max(_counts(entries).values()) > 20


def _phase(study: Study, phase: Phase, entries: Sequence[Entry]) -> Iterator[Block]:
    found = {name: decided for name in STREAMS if (decided := study.boards.get(name))}
    usable = {name: decided for name, decided in found.items() if _of_one(decided)}
    for name in found.keys() - usable.keys():
        yield Paragraph(f"Board {name}: a score depends on the other teams, so no submission has one alone.", note=True)
    timed = all(entry.moment is not None for entry in entries)
    scored: dict[str, Submitted] = {name: [] for name in usable}
    for number, entry in enumerate(entries):
        study.move(number, len(entries), f"reading submissions of the phase {phase.name}")
        (rows,) = read_tables([entry])
        for name, decided in usable.items():
            score = _score(rows, decided)
            if score is not None:
                scored[name].append((entry.team, _moment(entry, number, timed=timed), score))
    for name, decided in usable.items():
        yield from _stream(name, decided.metric, phase, scored[name], timed=timed)
        lost = len(entries) - len(scored[name])
        if lost:
            text = (
                f"{counted(lost, 'submission')} of {len(entries)} had no score on the board {name} and no part in this."
            )
            yield Paragraph(text, note=True)


def _of_one(decided: Decision) -> bool:
    rule = capabilities_of(decided.rule)
    return rule.shows_means and not rule.relative


def _score(rows: pl.DataFrame, decided: Decision) -> float | None:
    needed = rows.filter(pl.col("metric").is_in([*decided.rule.reads, "missing", "failed"]))
    if decided.board.metric not in needed["metric"]:
        return None
    board = decided.rule.rank(needed)
    return next((row.score for row in (*board.rows, *board.unlisted)), None)


def _moment(entry: Entry, number: int, *, timed: bool) -> Moment:
    return entry.moment if timed and entry.moment is not None else float(number)


def _stream(name: str, metric: Metric, phase: Phase, scored: Submitted, *, timed: bool) -> Iterator[Block]:
    if not scored:
        yield Paragraph(f"{phase.title}: no submission has a score on the board {name}.", note=True)
        return
    assert metric.better != "neither"
    found = normalised_progress(scored, better=metric.better)
    if found.teams:
        yield _chart(name, metric, phase, found)
        yield Paragraph(_improved(metric, found))
    if found.excluded:
        few = [f"{team} ({count})" for team, count in found.excluded.items()]
        more = f" and {len(few) - _NAMED} more" if len(few) > _NAMED else ""
        yield Paragraph(f"Without a curve, having 20 submissions or fewer: {', '.join(few[:_NAMED])}{more}.", note=True)
    if not timed:
        text = (
            "Who led when is not known: not every submission has a time in submissions.csv. Their order there is taken."
        )
        yield Paragraph(text, note=True)
        return
    changes = lead_changes(scored, better=metric.better)
    teams = len({team for team, _, _ in scored})
    told = f"On the board {name} the lead changed {_times(len(changes))} among {counted(teams, 'team')}, {phase.title}."
    if not changes:
        yield Paragraph(told)
        return
    rows = [
        (_when(change.moment), change.team, change.before, Cell(metric.show(change.score), change.score))
        for change in changes[-_MOST_CHANGES:]
    ]
    told += f" The last {_MOST_CHANGES} changes." if len(changes) > _MOST_CHANGES else ""
    columns = ["When", "New leader", "Before", f"{metric_label(metric)} #"]
    yield table(anchor(f"kbp-lead-{phase.name}-{name}"), told, columns, rows)


def _times(number: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(number, f"{number} times")


def _when(at: Moment) -> str:
    return moment(at) if isinstance(at, datetime) else f"{at:g}"


def _chart(name: str, metric: Metric, phase: Phase, found: Progress) -> Chart:
    x = tuple(found.shares.tolist())
    several = len(found.teams) > 1
    mean = PlotLine(
        "mean",
        x,
        tuple(found.mean.tolist()),
        low=tuple(found.low.tolist()) if several else None,
        high=tuple(found.high.tolist()) if several else None,
        strong=True,
    )
    best = PlotLine("best", x, tuple(found.best.tolist()))
    title = f"Best {inline(metric)} so far against the share of a team's submissions, {phase.title}"
    picture = lines_plot(
        (mean, best) if several else (best,),
        x=PlotAxis("share of a team's submissions made", low=0.0, high=1.0),
        y=PlotAxis(metric_label(metric, unit=False), unit=metric.unit),
        title=title,
        name=anchor(f"kbp-curve-{phase.name}-{name}"),
    )
    whose = "Mean over teams of the best score so far with its 95 % interval, and the best of all teams"
    only = f"The best score so far of {found.teams[0]}, the only team"
    caption = (
        f"{title}. {whose if several else only}, at every twentieth of the submissions; "
        f"n = {counted(len(found.teams), 'team')} with more than 20 submissions."
    )
    columns = {"share": x, "mean": found.mean, "low": found.low, "high": found.high, "best": found.best}
    data = pl.DataFrame(columns).with_columns(pl.Series("best_team", found.best_team))
    return Chart(anchor(f"kbp-progress-{phase.name}-{name}"), caption, picture, data.fill_nan(None))


def inline(metric: Metric) -> str:
    """The label of a metric within a sentence."""
    label = metric_label(metric, unit=False)
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


def _improved(metric: Metric, found: Progress) -> str:
    factors, label = found.improvement, inline(metric)
    holders = len(set(found.best_team))
    text = f"The best {label} at these points was held by {counted(holders, 'team')}."
    if math.isnan(factors.ratio_of_means):
        return f"{text} By which factor teams improved is not defined, as a score is 0."
    return (
        f"Teams improved their {label} by a factor of {factors.ratio_of_means:.2f} (mean of their first scores against "
        f"mean of their best); {factors.mean_of_ratios:.2f} is the mean of the teams' own factors, "
        f"{factors.along_curve:.2f} the factor along the mean curve. {text}"
    )
