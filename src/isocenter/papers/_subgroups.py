"""Whether results differ between groups of cases, by every fact about them that forms groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from isocenter.contest import Decision
from isocenter.metrics import Metric
from isocenter.papers._study import Study
from isocenter.papers._words import anchor, counted, finite
from isocenter.report import (
    Block,
    BoxGroup,
    Cell,
    Chart,
    Paragraph,
    Section,
    boxes_plot,
    case_spreads,
    case_values,
    metric_label,
    table,
)
from isocenter.stats import mean_and_error

_MOST_GROUPS = 8  # of a text, for it to be one that groups cases
_MOST_COLUMNS = 6
_MOST_TEAMS = 20
_NOTHING = ("", "na", "n/a", "nan", "none", "null", "-", "–")  # what people write where they know nothing

Facts = Mapping[str, Mapping[str, str]]


def subgroups(study: Study) -> Section:
    """All teams together, and each by itself, in groups of cases."""
    facts, decided = study.folder.facts(), study.main
    blocks: list[Block] = []
    cohort = set(decided.scores["case"]) - {""}
    if not facts:
        text = "Subgroups need facts of the cases: a table cases.csv with a column `case`."
        blocks.append(Paragraph(text, note=True))
    elif not case_values(decided.board, decided.scores):
        blocks.append(Paragraph(f"{metric_label(decided.metric)} belongs to no single case: no subgroups.", note=True))
    else:
        known = {case: fact for case, fact in facts.items() if case in cohort}
        blocks += _gaps(facts, cohort)
        columns = list(dict.fromkeys(name for fact in known.values() for name in fact))
        forming = {name: groups for name in columns if (groups := groups_by(name, known))}
        for number, (name, groups) in enumerate(list(forming.items())[:_MOST_COLUMNS], start=1):
            blocks += _subgroup(anchor(f"{name}-{number}"), name, groups, decided)
        if not forming:
            blocks.append(Paragraph("No column of cases.csv forms groups.", note=True))
        if len(forming) > _MOST_COLUMNS:
            rest = ", ".join(list(forming)[_MOST_COLUMNS:])
            blocks.append(Paragraph(f"Not shown: groups by {rest}.", note=True))
    return Section("subgroups", "Subgroups of cases", tuple(blocks))


def _gaps(facts: Facts, cohort: set[str]) -> Iterator[Paragraph]:
    """Where the table of facts and the cohort do not fit together."""
    foreign, without = sorted(facts.keys() - cohort), sorted(cohort - facts.keys())
    for cases, what in ((foreign, "of no submission"), (without, "not in it")):
        if cases:
            named = ", ".join(cases[:5]) + (" …" if len(cases) > 5 else "")
            text = f"cases.csv and the score tables differ: {counted(len(cases), 'case')} {what} ({named})."
            yield Paragraph(text, note=True)


def groups_by(name: str, facts: Facts) -> dict[str, list[str]]:
    """Cases by what they have in a column: by text, or by quarters of a number; empty if that groups nothing.

    Examples
    --------
    >>> groups_by("sex", {"a": {"sex": "F"}, "b": {"sex": "M"}, "c": {"sex": "NA"}})
    {'F': ['a'], 'M': ['b'], 'not known': ['c']}
    """
    known = {case: fact[name] for case, fact in facts.items() if fact.get(name, "").strip().lower() not in _NOTHING}
    texts = set(known.values())
    numbers = {case: number for case, text in known.items() if (number := _number(text)) is not None}
    numeric = len(numbers) == len(known)
    if len(texts) < 2:
        return {}
    if len(texts) > _MOST_GROUPS and not numeric:
        return {}
    if len(texts) > _MOST_GROUPS:
        groups = _quarters(numbers)
    else:
        ordered = sorted(texts, key=lambda text: (_number(text) or 0.0, text) if numeric else (0.0, text))
        groups = {text: [case for case in known if known[case] == text] for text in ordered}
    if groups and (unknown := [case for case in facts if case not in known]):
        groups["not known" if "not known" not in groups else "no entry"] = unknown
    return groups


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _quarters(numbers: Mapping[str, float]) -> dict[str, list[str]]:
    """Cases in four parts of about equal size, by their number; equal numbers stay together."""
    cuts = sorted({float(cut) for cut in np.quantile(list(numbers.values()), (0.25, 0.5, 0.75))})
    groups = {}
    for low, high in pairwise([-math.inf, *cuts, math.inf]):
        cases = [case for case, number in numbers.items() if low < number <= high]
        first, last = _short(low), _short(high)
        label = f"up to {last}" if low == -math.inf else f"above {first}" if high == math.inf else f"{first} to {last}"
        if cases:
            groups[label] = cases
    return groups if len(groups) > 1 else {}


def _short(number: float) -> str:
    """A number in as few digits as say which it is."""
    return str(int(number)) if math.isfinite(number) and number == int(number) else repr(round(number, 6))


def _subgroup(name: str, title: str, groups: Mapping[str, list[str]], decided: Decision) -> Iterator[Block]:
    metric = decided.metric
    means = {spread.case: spread.mean for spread in case_spreads(decided.board, decided.scores)}
    total = sum(case in means for cases in groups.values() for case in cases)
    if not total:
        return
    boxes = [
        BoxGroup(label, tuple((case, means[case]) for case in cases if case in means), note=_share(cases, means, total))
        for label, cases in groups.items()
    ]
    what = f"{metric_label(metric)} by {title}, mean over the teams"
    picture = boxes_plot(
        boxes,
        label=metric_label(metric, unit=False),
        unit=metric.unit,
        better=metric.better,
        low=finite(metric.bounds[0]),
        high=finite(metric.bounds[1]),
        title=what,
        name=f"groups-{name}",
    )
    caption = f"{what}. Each dot is a case; beside each group its share of the {counted(total, 'case')}."
    if any(len(box.values) == 1 for box in boxes):
        caption += " A group of one case is a dot, of which nothing follows."
    yield Chart(f"subgroup-{name}", caption, picture)
    yield _table(name, title, groups, decided)


def _share(cases: Sequence[str], means: Mapping[str, float], total: int) -> str:
    return f"{100 * sum(case in means for case in cases) / total:.0f} % of cases"


def _table(name: str, title: str, groups: Mapping[str, list[str]], decided: Decision) -> Block:
    values, metric = case_values(decided.board, decided.scores), decided.metric
    weights = dict(decided.scores.filter(pl.col("case") != "").select("case", "weight").iter_rows())
    weighted = len(set(weights.values())) > 1
    rows: list[list[str | Cell]] = []
    for team in [team for team in decided.teams if team in values][:_MOST_TEAMS]:
        mine = dict(values[team])
        rows.append(
            [team, *(_mean({c: mine[c] for c in cases if c in mine}, weights, metric) for cases in groups.values())]
        )
    first = f"; the first {_MOST_TEAMS} of the board" if len(values) > _MOST_TEAMS else ""
    how = ", cases weighted as on the board" if weighted else ""
    return table(
        f"subgroup-means-{name}",
        f"Mean (standard error, n) of {metric_label(metric)} by {title}, of the cases that have a value{how}{first}.",
        ["Team", *(f"{label} #" for label in groups)],
        rows,
    )


def _mean(values: Mapping[str, float], weights: Mapping[str, float], metric: Metric) -> Cell:
    if not values:
        return Cell("–")
    mean, error = mean_and_error(list(values.values()), [weights[case] for case in values])
    shown = "–" if math.isnan(error) else metric.show(error)
    return Cell(f"{metric.show(mean)} ({shown}, {len(values)})", mean)
