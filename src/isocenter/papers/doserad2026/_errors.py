"""Errors case by case in DoseRAD2026: of plans by level of dose, gamma, and the other metrics of the board."""

from __future__ import annotations

from collections import defaultdict

import polars as pl

from isocenter.contest import Decision
from isocenter.metrics import Metric, catalogue
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.papers.doserad2026._ranks import Weighted, label
from isocenter.report import Block, BoxGroup, Chart, Paragraph, Section, boxes_plot, metric_label

MOST_TEAMS = 20
"""Teams in a picture that has a row for each of them in every block; of more, the first of the board."""

_STRATA = {
    "high": "high dose, from 80 % of the prescription",
    "mid": "middle dose, 30 to 80 %",
    "low": "low dose, 10 to 30 %",
}


def errors(study: Study, boards: list[Weighted]) -> Section:
    """Boxes over the cases: the plan's error by stratum, then every metric that the first board weighs."""
    decided = boards[0].decided if boards else study.main
    blocks: list[Block] = [_strata(decided)]
    blocks += [_by_team(decided, catalogue.get(name)) for name in (boards[0].decided.rule.reads if boards else ())]
    return Section("doserad-errors", "Errors case by case", tuple(blocks))


def per_case(scores: pl.DataFrame, metric: str, part: str = "") -> defaultdict[str, list[tuple[str, float]]]:
    """By team its finite values by case, of a metric or a part of it."""
    rows = scores.filter(
        pl.col("metric") == metric, pl.col("part") == part, pl.col("case") != "", pl.col("value").is_finite()
    )
    found = defaultdict[str, list[tuple[str, float]]](list)
    for team, case, value in rows.select("submission", "case", "value").sort("submission", "case").iter_rows():
        found[team].append((case, value))
    return found


def _strata(decided: Decision) -> Block:
    """The error of the plan by level of dose, a block for each."""
    metric, shown = catalogue.get("plan_mae"), decided.board.rows[:MOST_TEAMS]
    by_part = {part: per_case(decided.scores, metric.name, part) for part in _STRATA}
    found = {(part, row.submission): by_part[part][row.submission] for part in _STRATA for row in shown}
    if not any(found.values()):
        text = "The score tables have no errors of plans by level of dose (plan_mae of the parts high, mid and low)."
        return Paragraph(text, note=True)
    groups = [
        BoxGroup(label(row), tuple(found[part, row.submission]), heading=heading if row is shown[0] else "")
        for part, heading in _STRATA.items()
        for row in shown
    ]
    title = "Mean absolute error of the plan by level of dose and team, as a share of the prescription"
    first = f" The first {MOST_TEAMS} of the board are shown." if len(decided.teams) > MOST_TEAMS else ""
    return Chart(
        "doserad-strata",
        f"{title}. Each dot is a case; the plan's error is the mean of the three. A stratum without voxels has no "
        f"value.{first}",
        boxes_plot(
            groups, label="error of the plan", better="lower", low=0.0, title=title, name="doserad-strata-boxes"
        ),
        pl.DataFrame(
            [(part, team, case, value) for (part, team), pairs in found.items() for case, value in pairs],
            schema=["stratum", "team", "case", metric.name],
            orient="row",
        ),
    )


def _by_team(decided: Decision, metric: Metric) -> Block:
    """Boxes of one metric, a row for every listed submission."""
    by_team = per_case(decided.scores, metric.name)
    found = {row.submission: by_team[row.submission] for row in decided.board.rows}
    title = f"{metric_label(metric)} of every case, by team"
    if not any(found.values()):
        return Paragraph(f"{title}: no case has a value.", note=True)
    cases = {case for pairs in found.values() for case, _ in pairs}
    name = metric.name.replace("_", "-")
    return Chart(
        f"doserad-boxes-{name}",
        f"{title}, in the order of the board: {metric.text}. Diamond: mean. n = {counted(len(cases), 'case')}.",
        boxes_plot(
            [BoxGroup(f"{row.place}  {row.submission}", tuple(found[row.submission])) for row in decided.board.rows],
            label=metric_label(metric, unit=False),
            unit=metric.unit,
            better=metric.better,
            title=title,
            name=f"doserad-box-{name}",
        ),
        pl.DataFrame(
            [(team, case, value) for team, pairs in found.items() for case, value in pairs],
            schema=["team", "case", metric.name],
            orient="row",
        ),
    )
