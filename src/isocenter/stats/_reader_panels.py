"""Readers against readers in one call: every panel, modality and operating point, and all that can be compared."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from isocenter.resampling.permutations import Tail
from isocenter.stats._adjust import adjust
from isocenter.stats._differences import Floats, one_of
from isocenter.stats._influence import share_influence
from isocenter.stats._lesion_points import checked_lesions, lesion_calls, lesion_influence, lesion_rates
from isocenter.stats._non_inferiority import NonInferiorityPreset
from isocenter.stats._patient_points import patient_calls
from isocenter.stats._reader_panels_result import Configuration, How, Level, PanelTest, ReaderPanels
from isocenter.stats._two_panels import Arm, compare_arms
from isocenter.stats._two_way import METHODS, Asked, TestMethod, smaller_class
from isocenter.stats._weights import effective_size
from isocenter.stats.mrmc._analyse import analyse
from isocenter.stats.mrmc._files import text_table
from isocenter.stats.mrmc._reads import ReadsError, checked
from isocenter.stats.mrmc._result import Analysis

_MEASURES: dict[Level, tuple[str, str]] = {
    "patients": ("sensitivity", "specificity"),
    "lesions": ("recall", "precision"),
}


class _Arm(NamedTuple):
    """A panel in a modality, with the readers who read there."""

    panel: str
    modality: str
    readers: frozenset[str]

    def __str__(self) -> str:
        return f"{self.panel}, {self.modality}"


class _Point(NamedTuple):
    """What readers reach at an operating point, by modality and reader, and what each case contributes to it."""

    level: Level
    point: float
    values: Mapping[str, Mapping[str, Mapping[str, tuple[float, Floats]]]]

    def arm(self, arm: _Arm, readers: Collection[str], measure: str) -> Arm:
        """Some readers of an arm by one measure."""
        names = tuple(sorted(readers))
        values, parts = zip(*(self.values[arm.modality][name][measure] for name in names), strict=True)
        return Arm(names, np.array(values), np.array(parts))


class _Asked(NamedTuple):
    margin: float | None
    preset: NonInferiorityPreset | None
    level: float
    alternative: Tail
    reference: str | None
    method: TestMethod
    smaller: float

    def wants_verdict(self, a: _Arm, b: _Arm) -> bool:
        """Whether b is what a must not be inferior to."""
        ruled = self.margin is not None or self.preset is not None
        return ruled and (self.reference is None or (b.modality == self.reference != a.modality))


def compare_readers(
    reads: pl.DataFrame,
    lesions: pl.DataFrame | None = None,
    *,
    panels: Mapping[str, Collection[str]] | None = None,
    points: Sequence[float] = (),
    margin: float | None = None,
    preset: NonInferiorityPreset | None = "picai",
    level: float = 0.95,
    alternative: Tail = "two-sided",
    reference: str | None = None,
    method: TestMethod = "two-way",
) -> ReaderPanels:
    """Panels of readers against each other, in all modalities and at all operating points, as PI-CAI compares them.

    Parameters
    ----------
    reads, lesions, points
        As for `ai_against_panel`; of readers only.
    panels
        Readers by the name of the panel, such as all, experts and others; one panel of all if left out.
    margin, preset
        Of `non_inferiority`, for differences of AUCs; neither gives no verdicts.
    level
        Coverage of the intervals of AUCs.
    alternative
        Of the tests at operating points.
    reference
        The modality that others are compared with: every difference is other − reference, and verdicts are given of
        these only. Left out: modalities and panels are compared as they come, and a verdict says whether the first of
        a pair is not inferior to the second.
    method
        Of the tests at operating points: "two-way" holds for other readers and cases, "published" is the permutation
        test of readers on the same cases; see `compare_panels`.

    Raises
    ------
    isocenter.stats.mrmc.ReadsError
        With all that is wrong with reads or lesions.
    ValueError
        If a reader of a panel or the reference is not in the study, or a panel read in no modality.

    Notes
    -----
    Three panels, two modalities and the points 3 and 4 are 18 configurations for patients, the full scale being the
    third point, and 12 for lesions. Compared are two modalities of one panel, by differences within readers, and two
    panels without a common reader in one modality; AUCs by `mrmc.analyse`. Readers who read in one of two modalities
    only are left out of the tests at operating points between these.
    """
    rows = checked(reads)
    known = None if lesions is None else checked_lesions(lesions, rows)
    arms, notes = _arms(rows, panels or {"all": set(rows["reader_id"])})
    rows = rows.filter(pl.col("reader_id").is_in(list(frozenset().union(*(arm.readers for arm in arms)))))
    if reference is not None and reference not in set(rows["modality_id"]):
        msg = (
            f"the reference {reference!r} is not a modality of the study, which has {sorted(set(rows['modality_id']))}"
        )
        raise ValueError(msg)
    one_of("method", method, METHODS)
    of_cases = rows.select("case_id", "truth", "weight").unique().sort("case_id")
    smaller = smaller_class(of_cases["truth"].cast(pl.Float64).to_numpy(), of_cases["weight"].to_numpy())
    asked = _Asked(margin, preset, level, alternative, reference, method, smaller)
    pairs = [_oriented(a, b, reference) for a, b in combinations(arms, 2) if _comparable(a, b)]
    at_points = [*_patients(rows, points), *([] if known is None else _lesions(rows, known, points))]
    areas = {arm: _study(rows, [arm], level) for arm in arms}
    found = [*_area_tests(rows, pairs, asked), *(t for at in at_points for t in _point_tests(at, pairs, asked))]
    weight = rows.select("case_id", "weight").unique()["weight"].to_numpy()
    study = next(iter(areas.values()))
    return ReaderPanels(
        configurations=tuple(_configurations(arms, areas, at_points)),
        tests=tuple(_adjusted(found)),
        alternative=alternative,
        level=level,
        cases=weight.size,
        effective_cases=effective_size(weight),
        method=study.method,
        df_rule=study.df_rule,
        notes=(
            *notes,
            *_left_out(pairs),
            *_other_cases(rows, pairs),
            *dict.fromkeys(note for one in areas.values() for note in one.notes),
        ),
    )


def read_panels(path: str | Path) -> dict[str, tuple[str, ...]]:
    """The readers of each panel from CSV with the columns reader_id and panel; a reader may be in several.

    Raises
    ------
    isocenter.stats.mrmc.ReadsError
        If it is no such table, or a cell is empty.
    """
    file = Path(path)
    rows = text_table(file, ("reader_id", "panel"), ()).with_row_index("row", 1)
    empty = rows.filter(pl.any_horizontal(pl.col("reader_id", "panel").is_null()))
    problems = [f"row {row}: a reader and the panel are needed" for row in empty["row"]]
    if problems or rows.is_empty():
        raise ReadsError(problems or ["there are no rows"], file.name)
    names = list(dict.fromkeys(rows["panel"]))
    return {panel: tuple(dict.fromkeys(rows.filter(panel=panel)["reader_id"])) for panel in names}


def _arms(rows: pl.DataFrame, panels: Mapping[str, Collection[str]]) -> tuple[list[_Arm], list[str]]:
    everybody = set(rows["reader_id"])
    problems = [
        f"reader {name!r} of panel {panel!r} is not in the study"
        for panel, names in panels.items()
        for name in sorted(set(names) - everybody)
    ]
    problems += [f"panel {panel!r} has no readers" for panel, names in panels.items() if not set(names)]
    if problems:
        raise ValueError("; ".join(problems))
    of = {
        modality: set(rows.filter(modality_id=modality)["reader_id"]) for modality in sorted(set(rows["modality_id"]))
    }
    arms = [
        _Arm(panel, modality, frozenset(names) & frozenset(there))
        for panel, names in panels.items()
        for modality, there in of.items()
        if set(names) & there
    ]
    notes = [
        f"panels {a} and {b} have readers in common and are not compared"
        for a, b in combinations(panels, 2)
        if set(panels[a]) & set(panels[b])
    ]
    return arms, notes


def _comparable(a: _Arm, b: _Arm) -> bool:
    return a.panel == b.panel or (a.modality == b.modality and not a.readers & b.readers)


def _oriented(a: _Arm, b: _Arm, reference: str | None) -> tuple[_Arm, _Arm]:
    return (b, a) if a.modality == reference != b.modality else (a, b)


def _left_out(pairs: Sequence[tuple[_Arm, _Arm]]) -> Iterator[str]:
    """Readers of one modality only, where others of the panel read in both."""
    for a, b in pairs:
        if a.readers & b.readers and a.readers != b.readers:
            names = ", ".join(sorted(a.readers ^ b.readers))
            yield f"{names} read in one of {a} and {b} only and have no part in their tests at operating points"


def _other_cases(rows: pl.DataFrame, pairs: Sequence[tuple[_Arm, _Arm]]) -> Iterator[str]:
    for a, b in pairs:
        one, two = (set(_of(rows, arm)["case_id"]) for arm in (a, b))
        if one != two:
            yield f"{a} and {b} did not read the same cases: permutation tests compare cases as well as readers"


def _patients(rows: pl.DataFrame, points: Sequence[float]) -> Iterator[_Point]:
    modalities = sorted(set(rows["modality_id"]))
    at = {case: n for n, case in enumerate(sorted(set(rows["case_id"])))}
    for point in points:
        yield _Point("patients", point, {m: _patient_influence(rows, m, point, at) for m in modalities})


def _patient_influence(
    rows: pl.DataFrame, modality: str, point: float, at: Mapping[str, int]
) -> dict[str, dict[str, tuple[float, Floats]]]:
    calls = patient_calls(rows, modality, point)
    places = [at[case] for case in calls.cases]
    found: dict[str, dict[str, tuple[float, Floats]]] = {}
    for reader, called in zip(calls.readers, calls.calls, strict=True):
        found[reader] = {}
        for measure, side in (("sensitivity", True), ("specificity", False)):
            whole = (~np.isnan(called) & (calls.truth == side)).astype(np.float64)
            value, of_read = share_influence(whole * (called == side), whole, calls.weight)
            parts = np.zeros(len(at))
            parts[places] = of_read
            found[reader][measure] = value, parts
    return found


def _lesions(rows: pl.DataFrame, lesions: pl.DataFrame, points: Sequence[float]) -> Iterator[_Point]:
    cases = rows.select("case_id", "weight").unique().sort("case_id")
    weight = cases["weight"].to_numpy()
    for point in points:
        every = lesion_calls(lesions, rows, tuple(cases["case_id"]), point)
        of = {modality: {r: rows for (m, r), rows in every.items() if m == modality} for modality, _ in every}
        for modality, calls in of.items():
            lesion_rates(calls, weight, point, modality=modality)  # says whose are undefined
        values = {
            modality: {reader: lesion_influence(called, weight, point) for reader, called in calls.items()}
            for modality, calls in of.items()
        }
        yield _Point("lesions", point, values)


def _study(rows: pl.DataFrame, arms: Sequence[_Arm], level: float) -> Analysis:
    """The analysis of some arms, each of them a modality under its own name."""
    return analyse(pl.concat([_of(rows, arm).with_columns(modality_id=pl.lit(str(arm))) for arm in arms]), level=level)


def _of(rows: pl.DataFrame, arm: _Arm) -> pl.DataFrame:
    return rows.filter(pl.col("modality_id") == arm.modality, pl.col("reader_id").is_in(list(arm.readers)))


def _configurations(
    arms: Sequence[_Arm], areas: Mapping[_Arm, Analysis], at_points: Sequence[_Point]
) -> Iterator[Configuration]:
    for arm in arms:
        area = {"AUC": areas[arm].modalities[str(arm)].estimate}
        yield Configuration("patients", arm.panel, arm.modality, None, len(arm.readers), area)
    for at in at_points:
        for arm in arms:
            means = {
                measure: math.fsum(at.arm(arm, arm.readers, measure).values) / len(arm.readers)
                for measure in _MEASURES[at.level]
            }
            yield Configuration(at.level, arm.panel, arm.modality, at.point, len(arm.readers), means)


def _area_tests(rows: pl.DataFrame, pairs: Sequence[tuple[_Arm, _Arm]], asked: _Asked) -> Iterator[PanelTest]:
    for a, b in pairs:
        pair = _study(rows, [a, b], asked.level).pairs[str(a), str(b)]
        yield PanelTest(
            "patients", None, "AUC", str(a), str(b), pair.difference, pair.p, math.nan, "mrmc",
            len(a.readers), len(b.readers), pair.low, pair.high,
            pair.non_inferiority(margin=asked.margin, level=asked.level, preset=asked.preset)
            if asked.wants_verdict(a, b) else None,
        )  # fmt: skip


def _point_tests(at: _Point, pairs: Sequence[tuple[_Arm, _Arm]], asked: _Asked) -> Iterator[PanelTest]:
    for a, b in pairs:
        both = a.readers & b.readers
        for measure in _MEASURES[at.level]:
            first, second = (at.arm(arm, both or arm.readers, measure) for arm in (a, b))
            wanted = Asked(asked.level, asked.alternative, asked.smaller)
            found = compare_arms(first, second, wanted, method=asked.method)
            by: How = "two-way"
            if asked.method == "published":
                by = "swapped" if found.design == "same" else "relabelled"
            yield PanelTest(
                at.level, at.point, measure, str(a), str(b), found.difference, found.p_value, math.nan, by,
                found.readers_a, found.readers_b, found.low, found.high, None, found.published.p_value,
            )  # fmt: skip


def _adjusted(tests: Sequence[PanelTest]) -> Iterator[PanelTest]:
    """By Holm's method, patients and lesions each a family."""
    for level in _MEASURES:
        family = [test for test in tests if test.level == level]
        for test, p in zip(family, adjust([test.p for test in family], "holm").tolist(), strict=True):
            yield test._replace(adjusted=p)
