"""Centre by centre: whether the best teams hold where patients were scanned elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Literal

import polars as pl

from isocenter.papers._mask_votes import counts_as, said_of_missing
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.ranking import rank_values
from isocenter.report import (
    Block,
    BoxGroup,
    Chart,
    Paragraph,
    Section,
    boxes_plot,
    case_values,
    metric_label,
    rank_lines_plot,
)

_COLUMNS = ("centre", "center", "hospital", "site")
_BEST = 3  # teams that have boxes
_MOST_RANKED = 30
_MOST_CENTRES = 12


def centres(study: Study) -> Section:
    """The best teams in every centre, and the ranks of all."""
    facts = study.folder.facts()
    column = next((name for name in _COLUMNS if any(fact.get(name) for fact in facts.values())), None)
    values = {team: dict(cells) for team, cells in case_values(study.main.board, study.main.scores).items()}
    name, title = "centres", "Centre by centre"
    if column is None or not values:
        text = "Results by centre need a table cases.csv with the columns `case` and `centre`."
        return Section(name, title, (Paragraph(text, note=True),))
    groups: dict[str, list[str]] = {}
    for case in sorted(case for case in study.main.scores["case"].unique() if case):
        groups.setdefault(facts.get(case, {}).get(column) or "unknown", []).append(case)
    groups = dict(sorted(groups.items(), key=lambda item: (item[0] == "unknown", -len(item[1]), item[0])))
    return Section(name, title, tuple(_blocks(study, groups, values)))


def _blocks(
    study: Study, groups: Mapping[str, list[str]], values: Mapping[str, Mapping[str, float]]
) -> Iterator[Block]:
    sizes = ", ".join(f"{centre} ({len(cases)})" for centre, cases in list(groups.items())[:_MOST_CENTRES])
    more = f" and {len(groups) - _MOST_CENTRES} more" if len(groups) > _MOST_CENTRES else ""
    yield Paragraph(f"The cases come from {counted(len(groups), 'centre')}: {sizes}{more}.")
    single = [centre for centre, cases in groups.items() if len(cases) == 1]
    if single:
        some = ", ".join(single[:10]) + (" …" if len(single) > 10 else "")
        yield Paragraph(f"Of one case only, from which nothing follows about the centre: {some}.", note=True)
    metric = study.main.metric
    teams = study.main.ranked
    values = {team: values.get(team, {}) for team in teams}
    shown = dict(list(groups.items())[:_MOST_CENTRES])
    boxes = [
        BoxGroup(
            team,
            tuple((case, values[team][case]) for case in cases if case in values[team]),
            heading=f"{centre}, {counted(len(cases), 'case')}" if place == 0 else "",
        )
        for centre, cases in shown.items()
        for place, team in enumerate(teams[:_BEST])
    ]
    title = f"{metric_label(metric)} by centre, the best {counted(len(teams[:_BEST]), 'team')}"
    rows = [
        (centre, team, case, values[team][case])
        for centre, cases in groups.items()
        for team in teams
        for case in cases
        if case in values[team]
    ]
    yield Chart(
        "centre-boxes",
        f"{title}. Each dot is a case that has a value."
        + (f" The {_MOST_CENTRES} centres with most cases." if len(groups) > _MOST_CENTRES else ""),
        boxes_plot(
            boxes,
            label=metric_label(metric, unit=False),
            unit=metric.unit,
            better=metric.better,
            title=title,
            name="centre-box",
        ),
        pl.DataFrame(rows, schema=["centre", "team", "case", metric.name], orient="row"),
    )
    if len(groups) > 1 and len(teams) > 1:
        everywhere = [case for cases in groups.values() for case in cases]
        yield _ranks(study, {"all": everywhere, **shown}, values, teams[:_MOST_RANKED])


def _ranks(
    study: Study, groups: Mapping[str, list[str]], values: Mapping[str, Mapping[str, float]], teams: list[str]
) -> Chart:
    """Ranks by the mean over the cases of a centre, a case without a value counting as on the board where it can."""
    steps = {f"{name} ({len(cases)})": cases for name, cases in groups.items()}
    stand_in = counts_as(study)
    weights = dict(study.main.scores.filter(pl.col("case") != "").select("case", "weight").iter_rows())
    weighted = ", weighted as on the board" if len(set(weights.values())) > 1 else ""
    said = "A case without a usable mask is left out." if stand_in is None else said_of_missing(study)
    better: Literal["higher", "lower"] = "lower" if study.main.metric.better == "lower" else "higher"
    ranks: dict[str, list[float | None]] = {team: [] for team in teams}
    rows = []
    for step, cases in steps.items():
        means = [_mean({case: values[team].get(case, stand_in) for case in cases}, weights) for team in teams]
        for team, mean, rank in zip(teams, means, rank_values(means, better, ties="min"), strict=True):
            ranks[team].append(None if mean is None else rank)
            rows.append((step, team, mean, rank))
    title = "Ranks of the teams in every centre"
    more = f" The first {_MOST_RANKED} teams." if len(study.main.ranked) > _MOST_RANKED else ""
    return Chart(
        "centre-ranks",
        f"{title}, by the mean over its cases{weighted}; numbers of cases in parentheses. {said} "
        f"Ranks on few cases change easily.{more}",
        rank_lines_plot(ranks, steps=list(steps), title=title, name="centre-rank-lines"),
        pl.DataFrame(rows, schema=["centre", "team", "mean", "rank"], orient="row"),
    )


def _mean(values: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    """Σwv / Σw over the cases that have a value; None if there is none."""
    known = {case: value for case, value in values.items() if value is not None}
    total = math.fsum(weights[case] for case in known)
    return math.fsum(weights[case] * value for case, value in known.items()) / total if total else None
