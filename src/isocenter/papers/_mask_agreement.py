"""How far teams agree with each other: every pair of them, from their masks."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from isocenter.ensembles import Agreement, pairwise
from isocenter.metrics import catalogue
from isocenter.papers._mask_votes import Panel
from isocenter.papers._words import counted
from isocenter.report import Block, Chart, Paragraph, Section, matrix_plot, metric_label


def agreement(panel: Panel | str, *, metric: str) -> Section:
    """The mean of the metric of all pairs of teams, and of each with the reference."""
    name, title = "agreement", "How far the teams agree"
    if isinstance(panel, str):
        return Section(name, title, (Paragraph(panel, note=True),))
    if len(panel.teams) < 2:
        text = "Two teams with files are needed to agree with each other."
        return Section(name, title, (Paragraph(text, note=True),))
    found = pairwise(panel.votes, metric=metric, reference=True)
    blocks: list[Block] = [Paragraph(_in_words(found, panel)), _map(found, panel)]
    if said := panel.said():
        blocks.append(Paragraph(said, note=True))
    return Section(name, title, tuple(blocks))


def _in_words(found: Agreement, panel: Panel) -> str:
    metric = catalogue.get(found.metric)
    label = metric_label(metric)
    pairs = [(i, j) for i in range(1, len(found.names)) for j in range(1, i)]
    known = [(float(found.mean[i, j]), i, j) for i, j in pairs if not math.isnan(found.mean[i, j])]
    if not known:
        return "No two teams have a mask of the same case."
    with_truth = [float(value) for value in found.mean[0, 1:] if not math.isnan(value)]
    mean, truth = np.mean([value for value, _, _ in known]), np.mean(with_truth or [math.nan])
    (high, a, b), (low, c, d) = max(known), min(known)
    names = ["", *panel.teams]
    text = f"Two teams agree with each other by a mean {label} of {metric.show(float(mean))}, over "
    text += f"{counted(len(known), 'pair')}; a team and the reference by {metric.show(float(truth))}."
    if len(known) > 1:
        text += f" Most alike are {names[b]} and {names[a]} ({metric.show(high)}), least {names[d]} and {names[c]}"
        text += f" ({metric.show(low)})."
    return text


def _map(found: Agreement, panel: Panel) -> Chart:
    metric = catalogue.get(found.metric)
    truth = "reference standard"
    while truth in panel.teams:
        truth += " *"
    names = [truth, *panel.teams]
    size = range(len(names))
    values = [[None if i == j or math.isnan(found.mean[i, j]) else float(found.mean[i, j]) for j in size] for i in size]
    title = f"{metric_label(metric)} between teams, mean over the cases in which both have a mask"
    rows = [(names[i], names[j], values[i][j], int(found.compared[i, j])) for i in size for j in size if i != j]
    return Chart(
        "agreement-map",
        f"{title}. Here a case without a mask is left out and does not count as 0. n = {len(found.cases)} cases, "
        f"{counted(len(panel.teams), 'team')} in the order of the board.",
        matrix_plot(
            values,
            rows=names,
            columns=names,
            show=metric.show,
            legend=f"{metric_label(metric)}, darker is more alike",
            title=title,
            name="agreement-cells",
        ),
        pl.DataFrame(rows, schema=["one", "other", f"mean_{metric.name}", "cases"], orient="row"),
    )
