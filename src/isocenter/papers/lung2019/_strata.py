"""Clinical subgroups of the ensemble, or of the winner, with the share of each and with benchmarks (eFigure 5)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import polars as pl

from isocenter.ensembles import majority
from isocenter.metrics import catalogue
from isocenter.papers._mask_votes import Panel
from isocenter.papers._study import Study
from isocenter.papers._subgroups import groups_by
from isocenter.papers._words import anchor
from isocenter.papers.lung2019._observers import METRICS, Observers
from isocenter.papers.lung2019._second_passes import SecondPasses
from isocenter.report import Block, BoxGroup, Chart, Paragraph, Section, boxes_plot, case_values, metric_label

_MOST_COLUMNS = 8


def strata(study: Study, panel: Panel | str, found: Observers | str, again: SecondPasses | str) -> Section:
    """One picture per metric: all cases, then every fact of cases.csv that forms groups."""
    facts = study.folder.facts()
    columns = list(dict.fromkeys(name for fact in facts.values() for name in fact))
    forming = {name: groups for name in columns if (groups := groups_by(name, facts))}
    name, title = "strata", "Clinical subgroups"
    if not forming:
        text = (
            "Clinical subgroups need a table cases.csv with a column `case` and others that group cases, such as "
            "stage, location or contrast."
        )
        return Section(name, title, (Paragraph(text, note=True),))
    drawn = dict(list(forming.items())[:_MOST_COLUMNS])
    blocks = [
        block
        for metric in METRICS
        for block in _metric(study, metric, drawn, panel, benchmarks(study, metric, found, again))
    ]
    if rest := list(forming)[_MOST_COLUMNS:]:
        blocks.append(Paragraph(f"Not shown: subgroups by {', '.join(rest)}.", note=True))
    return Section(name, title, tuple(blocks))


def _metric(
    study: Study,
    metric: str,
    forming: Mapping[str, Mapping[str, list[str]]],
    panel: Panel | str,
    lines: Mapping[str, float],
) -> Iterator[Block]:
    whose, values = _values(study, metric, panel)
    if not values:
        return
    what, total = catalogue.get(metric), len(values)
    boxes = [BoxGroup("all cases", tuple(values.items()), note="100 %")]
    for column, groups in forming.items():
        begun = False
        for label, cases in groups.items():
            inside = tuple((case, values[case]) for case in cases if case in values)
            if inside:
                heading = "" if begun else column.replace("_", " ")
                boxes.append(BoxGroup(label, inside, note=f"{100 * len(inside) / total:.0f} %", heading=heading))
                begun = True
    title = f"{metric_label(what)} of {whose} by clinical subgroup"
    caption = f"{title}, with the share of the n = {total} cases in each."
    if lines:
        caption += " Dashed lines: means of " + ", ".join(lines) + "."
    if any(len(box.values) == 1 for box in boxes):
        caption += " A group of one case is a dot, of which nothing follows."
    rows = [(box.label, case, value) for box in boxes for case, value in box.values]
    yield Chart(
        anchor(f"strata-{metric}"),
        caption,
        boxes_plot(
            boxes,
            label=metric_label(what, unit=False),
            unit=what.unit,
            better=what.better,
            title=title,
            name=anchor(f"strata-boxes-{metric}"),
            lines=lines,
        ),
        pl.DataFrame(rows, schema=["stratum", "case", metric], orient="row"),
    )


def _values(study: Study, metric: str, panel: Panel | str) -> tuple[str, dict[str, float]]:
    """The majority vote's scores by case, or the winner's where there are no masks to vote with."""
    if not isinstance(panel, str) and len(panel.teams) > 1:
        scores = panel.scores_of(majority(panel.votes.voters), metric)
        known = {case: value for case, value in zip(panel.cases, scores, strict=True) if not math.isnan(value)}
        return f"the majority vote of {len(panel.teams)} teams", known
    decided = study.boards.get(metric)
    if decided is None:
        return "", {}
    values = case_values(decided.board, decided.scores)
    winner = next((team for team in decided.ranked if team in values), None)
    return (f"{winner}, the first of the board,", dict(values[winner])) if winner else ("", {})


def benchmarks(study: Study, metric: str, found: Observers | str, again: SecondPasses | str) -> dict[str, float]:
    """Means to compare with: of benchmarks on the board, of observers among themselves, and of their second passes."""
    decided = study.boards.get(metric)
    rows = decided.board.rows if decided else ()
    lines = {row.submission: row.score for row in rows if row.role == "benchmark" and row.score is not None}
    if not isinstance(found, str) and (between := found.between(metric)):
        lines["inter-observer"] = math.fsum(between) / len(between)
    if not isinstance(again, str) and (within := again.of(metric)):
        lines["intra-observer"] = math.fsum(within) / len(within)
    return lines
