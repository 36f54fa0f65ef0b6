"""Who the cohort is: cases, cancers, lesions by grade, and the facts of cases.csv."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from isocenter.papers._words import counted
from isocenter.papers.picai2022._given import Given
from isocenter.readers import rate_patient
from isocenter.report import Cell, Section, table

_MOST_VALUES = 8  # of a fact whose values are counted one by one
_MOST_FACTS = 20

Row = tuple[str, list[str | Cell]]


def cohort(given: Given) -> Section:
    """One table, of all cases and of those with and without significant cancer."""
    first = given.teams[given.best][0]
    groups = {
        "All": np.ones(len(first.cases), np.bool_),
        "Benign or indolent": ~first.truth,
        "Significant cancer": first.truth,
    }
    cases = np.array(first.cases)
    of = {name: cases[chosen].tolist() for name, chosen in groups.items()}
    rows: list[Row] = [("Cases", [_count(len(mine), len(cases)) for mine in of.values()])]
    in_group = [chosen[first.case] & first.is_lesion for chosen in groups.values()]
    rows.append(("Lesions", [Cell(str(int(mine.sum())), int(mine.sum())) for mine in in_group]))
    for grade in sorted({float(value) for value in first.grade[first.is_lesion] if not np.isnan(value)}):
        counts = [int((mine & (first.grade == grade)).sum()) for mine in in_group]
        rows.append(
            (f"– of grade {grade:g}", [_count(n, int(mine.sum())) for n, mine in zip(counts, in_group, strict=True)])
        )
    rows += _routine(given, of)
    facts = given.study.folder.facts()
    names = [name for name in dict.fromkeys(n for case in first.cases for n in facts.get(case, {})) if name != "weight"]
    for name in names[:_MOST_FACTS]:
        rows += _fact(name, of, {case: facts.get(case, {}).get(name, "") for case in first.cases})
    notes = ["Numbers with their share of the column, and of lesions of its lesions; medians with quartiles."]
    if len(names) > _MOST_FACTS:
        notes.append(f"Not shown: {counted(len(names) - _MOST_FACTS, 'column')} of cases.csv.")
    weights = first.weight
    if (weights != weights[0]).any():
        worth = float(weights.sum() ** 2 / (weights**2).sum())
        notes.append(f"Cases have weights; they are worth {worth:.0f} of equal weight. Numbers here are not weighted.")
    block = table(
        "cohort-table", "The cohort of this phase.", ["", *(f"{name} #" for name in groups)],
        [[name, *cells] for name, cells in rows], notes=notes,
    )  # fmt: skip
    return Section("cohort", "The cohort", (block,))


def _routine(given: Given, of: Mapping[str, Sequence[str]]) -> list[Row]:
    if given.routine is None:
        return []
    rating = {one.read.case: rate_patient(one.read) for one in given.routine.reads}
    counts = {name: Counter(rating[case] for case in mine if case in rating) for name, mine in of.items()}
    return [
        (f"PI-RADS {value} in routine", [_count(counts[name][value], len(mine)) for name, mine in of.items()])
        for value in sorted(set(rating.values()))
    ]


def _fact(name: str, of: Mapping[str, Sequence[str]], value: Mapping[str, str]) -> list[Row]:
    """A fact of many numbers as medians, one of few values as counts; any other is not told."""
    everything = [value[case] for case in of["All"]]
    texts = sorted(set(everything) - {""})
    numbers = {text: _number(text) for text in texts}
    unknown = everything.count("")
    missing: list[Row] = []
    if unknown and texts:
        counts = [sum(value[case] == "" for case in mine) for mine in of.values()]
        missing = [(f"– {name} unknown", [_count(n, len(m)) for n, m in zip(counts, of.values(), strict=True)])]
    if len(texts) > _MOST_VALUES and all(number is not None for number in numbers.values()):
        known = [[n for case in mine if (n := numbers.get(value[case])) is not None] for mine in of.values()]
        return [(f"{name}, median (quartiles)", [_median(mine) for mine in known]), *missing]
    if not 1 <= len(texts) <= _MOST_VALUES:
        return []
    found: list[Row] = []
    for text in texts:
        counts = [sum(value[case] == text for case in mine) for mine in of.values()]
        found.append((f"{name}: {text}", [_count(n, len(m)) for n, m in zip(counts, of.values(), strict=True)]))
    return [*found, *missing]


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _count(number: int, of: int) -> Cell:
    return Cell(f"{number} ({100 * number / of:.0f} %)" if of else str(number), number)


def _median(values: Sequence[float]) -> Cell:
    if not values:
        return Cell("–")
    low, middle, high = (float(bound) for bound in np.percentile(values, [25, 50, 75]))
    return Cell(f"{middle:.3g} ({low:.3g} to {high:.3g})", middle)
