"""What could be made of the teams together: majority votes, STAPLE, all subsets, and the limits of combining."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isocenter.ensembles import EnsembleError, StapleRule, majority
from isocenter.metrics import Metric, catalogue
from isocenter.papers._files import first_line
from isocenter.papers._mask_votes import Panel
from isocenter.papers._study import Study
from isocenter.papers._words import counted, interval
from isocenter.report import (
    Block,
    BoxGroup,
    Cell,
    Chart,
    Paragraph,
    PlotAxis,
    PlotLine,
    Section,
    Table,
    boxes_plot,
    lines_plot,
    metric_label,
    table,
)
from isocenter.stats import mean_and_error

HIERARCHICAL = "Hierarchical majority of all"

_TOLERANCE = 1e-9  # within which two ensembles are equal, and the smaller one is taken
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Combination:
    """A way to combine: its scores in the cases, how it is made, and whether it is a method or a limit."""

    name: str
    scores: Floats
    how: str
    kind: Literal["alone", "vote", "chosen", "limit"]


def ensembles(study: Study, panel: Panel | str, *, metric: str) -> Section:
    """All combinations of the teams by one metric, against the best team alone."""
    name, title = "ensembles", "The teams together"
    if isinstance(panel, str):
        return Section(name, title, (Paragraph(panel, note=True),))
    if len(panel.teams) < 2:
        text = "There is nothing to combine: two teams with files are needed."
        return Section(name, title, (Paragraph(text, note=True),))
    study.move(0, 1, "combining teams")
    try:
        every = panel.every_score(metric)
    except EnsembleError as error:
        return Section(name, title, (Paragraph(f"Teams are not combined: {first_line(error, study)}", note=True),))
    by_label = panel.vote_by_label(metric) if len(panel.severity) > 1 else None
    found = combinations(panel, every, metric=metric, by_label=by_label)
    what, level = catalogue.get(metric), study.settings.level
    blocks: list[Block] = [
        Paragraph(_in_words(found, panel, what)),
        *_tabled(found, panel, what, level=level),
        _boxes(found, panel, what),
        _by_size(panel, every, what),
    ]
    if by_label is not None:
        blocks.append(_labels(panel, by_label, what, level=level))
    elif len(panel.severity) == 1:
        text = "Masks have one label, so the hierarchical majority vote of all is the majority of all."
        blocks.append(Paragraph(text, note=True))
    if said := panel.said():
        blocks.append(Paragraph(said, note=True))
    study.move(1, 1, "combining teams")
    return Section(name, title, tuple(blocks))


def combinations(
    panel: Panel, every: Floats, *, metric: str, by_label: pl.DataFrame | None = None
) -> list[Combination]:
    """The best team, votes of the best k and by label, STAPLE, the best of all ensembles, and the two limits."""
    voters, n = panel.votes.voters, len(panel.teams)
    rules = [majority(voters[:k]) for k in sorted({3, 5, n}) if 2 <= k <= n]
    found = [Combination(f"{panel.teams[0]} alone", every[:, 0], "the best team whose files are at hand", "alone")]
    for rule in rules:
        which = "all" if len(rule.members) == n else f"the best {len(rule.members)}"
        how = f"a voxel that at least {rule.threshold} of {len(rule.members)} mark"
        found.append(Combination(f"Majority of {which}", every[:, panel.every.index(rule)], how, "vote"))
    if by_label is not None:
        united = dict(by_label.filter(part="").select("case", "value").iter_rows())
        scores = np.array([np.nan if united[case] is None else united[case] for case in panel.cases], np.float64)
        how = "label by label, from the mildest: a level that at least half reach (Menze 2015); labels united"
        found.append(Combination(HIERARCHICAL, scores, how, "vote"))
    staple = np.array(panel.scores_of(StapleRule(voters), metric))
    found.append(Combination("STAPLE of all", staple, "what is likelier tumour than not, teams weighed", "vote"))
    weights = np.array(panel.weights)
    best, honest = _chosen(every, weights)
    found.append(Combination("Best ensemble, chosen here", every[:, best], panel.members(panel.every[best]), "chosen"))
    if len(panel.cases) > 1:
        text = "for every case the ensemble that is best on all other cases"
        found.append(Combination("Best ensemble, chosen on other cases", honest, text, "vote"))
    alone, limit = every[:, :n].max(axis=1), every.max(axis=1)
    found.append(Combination("Limit: best team per case", alone, "picked by who knows the truth", "limit"))
    text = f"picked from {len(panel.every):,} by who knows the truth"
    return [*found, Combination("Limit: best ensemble per case", limit, text, "limit")]


def _chosen(every: Floats, weights: Floats) -> tuple[int, Floats]:
    """Which ensemble is best by its mean, and, of each case, what the one that is best on all others reaches in it."""
    weighted = every * weights[:, None]
    total = weighted.sum(axis=0)
    scores = [every[case, _first(total - weighted[case])] for case in range(len(every))]
    return _first(total), np.array(scores)


def _first(totals: Floats) -> int:
    """The first of the best."""
    return int(np.flatnonzero(totals >= totals.max() - _TOLERANCE * max(1.0, abs(float(totals.max()))))[0])


def student(values: Sequence[float], weights: Sequence[float], *, level: float) -> tuple[float, float, float]:
    """Mean, and Student's interval of it: mean ± t(n − 1) · standard error; NaN around a single case."""
    from scipy.special import stdtrit

    mean, error = mean_and_error(values, weights)
    n = sum(weight > 0 for weight in weights)
    reach = float(stdtrit(n - 1, 0.5 + level / 2)) * error if n > 1 else math.nan
    return mean, mean - reach, mean + reach


def _in_words(found: Sequence[Combination], panel: Panel, metric: Metric) -> str:
    label = metric_label(metric)
    means = {one.name: student(one.scores.tolist(), panel.weights, level=0.95)[0] for one in found}
    alone, everybody = means[found[0].name], means["Majority of all"]
    gain = everybody - alone
    verdict = "as much as" if abs(gain) < 0.5 * 10**-metric.decimals else "more than" if gain > 0 else "less than"
    return (
        f"What at least half of {counted(len(panel.teams), 'team')} mark reaches a mean {label} of "
        f"{metric.show(everybody)}, {verdict} the best team alone ({metric.show(alone)}). Whoever picked the mask of "
        f"the best team in each case would reach {metric.show(means['Limit: best team per case'])}, the limit of "
        "choosing without combining."
    )


def _tabled(found: Sequence[Combination], panel: Panel, metric: Metric, *, level: float) -> Iterator[Block]:
    rows = []
    for one in found:
        mean, low, high = student(one.scores.tolist(), panel.weights, level=level)
        gain, below, above = student((one.scores - found[0].scores).tolist(), panel.weights, level=level)
        shown = "–" if one.kind == "alone" else f"{gain:+.{metric.decimals}f}".replace("-", "−")
        span = "" if one.kind == "alone" else interval(metric, below, above).replace("-", "−")
        rows.append(
            (
                one.name,
                Cell(metric.show(mean), mean),
                interval(metric, low, high).strip(" ()") or "–",
                Cell(shown + span, gain),
                one.how,
            )
        )
    notes = [
        f"Intervals of {100 * level:g} % by Student's t over {counted(len(panel.cases), 'case')}.",
        "In a case of which a team has no mask, it marks nothing. Limits are no methods.",
        "An ensemble chosen on the cases it is measured on looks too good; the line below says what a choice is worth.",
    ]
    columns = [
        "Combination",
        f"Mean {metric_label(metric)} #",
        f"{100 * level:g} % interval",
        "Against the best team #",
    ]
    yield table("combinations", "The teams together, against the best of them.", [*columns, "How"], rows, notes=notes)


def _labels(panel: Panel, by_label: pl.DataFrame, metric: Metric, *, level: float) -> Table:
    """The hierarchical vote label by label, over the cases in which the metric is defined."""
    rows = []
    for part in by_label["part"].unique(maintain_order=True).to_list():
        known = by_label.filter(pl.col("part") == part, pl.col("value").is_not_null())
        values, weights = known["value"].to_list(), known["weight"].to_list()
        mean, low, high = student(values, weights, level=level) if values else (math.nan,) * 3
        shown = Cell("–") if math.isnan(mean) else Cell(metric.show(mean), mean)
        span = interval(metric, low, high).strip(" ()") or "–"
        rows.append((part or "all labels united", shown, span, Cell(str(len(values)), len(values))))
    return table(
        "hierarchical-vote",
        f"The hierarchical majority vote of {counted(len(panel.teams), 'team')}, label by label.",
        ["Label", f"Mean {metric_label(metric)} #", f"{100 * level:g} % interval", "Cases #"],
        rows,
        notes=[
            (
                "A voxel gets the most severe label that at least half of the teams give it or exceed; exactly half is "
                "enough. Cases in which the metric of a label is undefined are left out."
            )
        ],
    )


def _boxes(found: Sequence[Combination], panel: Panel, metric: Metric) -> Chart:
    title = f"{metric_label(metric)} of every case, by combination of the teams"
    groups = [
        BoxGroup(one.name, tuple(zip(panel.cases, one.scores.tolist(), strict=True)))
        for one in found
        if one.kind != "chosen"
    ]
    picture = boxes_plot(
        groups,
        label=metric_label(metric, unit=False),
        unit=metric.unit,
        better=metric.better,
        title=title,
        name="combination-boxes",
    )
    rows = [(group.label, case, value) for group in groups for case, value in group.values]
    data = pl.DataFrame(rows, schema=["combination", "case", metric.name], orient="row")
    return Chart("combinations-by-case", f"{title}. n = {len(panel.cases)} cases.", picture, data.fill_nan(None))


def _by_size(panel: Panel, every: Floats, metric: Metric) -> Chart:
    """The best ensemble of each size, what a choice is worth, the mean of all, and the vote of the best k."""
    weights = np.array(panel.weights)
    share = weights / weights.sum()
    sizes = np.array([len(ensemble.members) for ensemble in panel.every])
    voters, n = panel.votes.voters, len(panel.teams)
    x = [float(size) for size in range(1, n + 1)]
    means = share @ every
    best, honest, average, votes = [], [], [], []
    for size in range(1, n + 1):
        of_size = sizes == size
        best.append(float(means[of_size].max()))
        average.append(float(means[of_size].mean()))
        honest.append(float(share @ _chosen(every[:, of_size], weights)[1]) if len(every) > 1 else math.nan)
        votes.append(float(means[panel.every.index(majority(voters[:size]))]))
    lines = {
        "best": best,
        "confirmed": honest,
        "vote": votes,
        "mean": average,
    }
    title = f"Mean {metric_label(metric)} of ensembles by the number of teams in them"
    picture = lines_plot(
        [PlotLine(label, x, y, strong=label == "best") for label, y in lines.items() if not all(map(math.isnan, y))],
        x=PlotAxis("teams in the ensemble"),
        y=PlotAxis(f"mean {metric_label(metric, unit=False)}", unit=metric.unit),
        title=title,
        name="ensemble-sizes",
    )
    caption = (
        f"{title}. Best: the best of that size of all {len(panel.every):,} ways to ask for at least so many of some of "
        f"{n} teams, chosen on the same cases; confirmed: for every case the one that is best on all others; vote: "
        f"what at least half of the best so many teams mark; mean: of all. n = {len(panel.cases)} cases."
    )
    return Chart("ensembles-by-size", caption, picture, pl.DataFrame({"teams": x, **lines}).fill_nan(None))
