"""The four comparisons of PI-CAI in one call: algorithms, clinical routine, and panels of readers.

Algorithms are compared with each other, with the reads of clinical routine and with panels of readers; panels are
compared with each other. Every test has a difference, an interval, p, p adjusted within its family, and the p of the
test that PI-CAI published.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from isocenter import __version__
from isocenter.detections import Detections
from isocenter.readers._panel_study import (
    AI,
    PANEL,
    compare_with_study,
    describe_error,
    list_modalities,
    make_panel_study,
    make_read_tables,
    name_reader,
)
from isocenter.readers._reads import OPERATING_POINTS
from isocenter.readers._results import ReaderScores, ScoredRead
from isocenter.stats import (
    AgainstPanel,
    AtPoint,
    Configuration,
    InstanceComparison,
    LesionRows,
    MatchedBootstrap,
    NonInferiority,
    PanelComparison,
    PanelTest,
    ReaderPanels,
    adjust,
    compare_instances,
    compare_readers,
    matched_bootstrap,
    matched_lesion_bootstrap,
)

Family = Literal["algorithms", "routine", "readers", "panels"]
Measure = Literal["auroc", "average_precision", "score"]

FAMILIES: dict[Family, str] = {
    "algorithms": "Algorithm against algorithm",
    "routine": "Algorithm against clinical routine",
    "readers": "Algorithm against readers",
    "panels": "Readers against readers",
}
"""What is compared with what, in words."""

ALL_READERS = "all"
"""The panel of all readers."""

MEASURE_NAMES: dict[Measure, str] = {
    "score": "mean of AUROC and AP",
    "auroc": "AUROC",
    "average_precision": "average precision",
}

_MARGIN = 0.05
Flavour = Literal["rematch", "published"]
_FLAVOURS: tuple[Flavour, Flavour] = ("rematch", "published")
_PATIENT: tuple[Literal["sensitivity"], Literal["specificity"]] = ("sensitivity", "specificity")
_LESION: tuple[Literal["recall"], Literal["precision"]] = ("recall", "precision")

Progress = Callable[[int, int, str], None]

# Tables have three decimals: a smaller difference is not seen.
_SHOWN = 0.0005


class StudyTest(NamedTuple):
    """Two sides compared by one measure.

    Attributes
    ----------
    family
        Which of the four comparisons it belongs to.
    level
        "patients" or "lesions"; "both" for the mean of AUROC and AP.
    a, b
        The two sides: an algorithm, "routine", a panel of readers, or a panel in a modality.
    modality
        Of the readers that an algorithm is compared with; "" elsewhere.
    point
        The PI-RADS from which on readers call; None on the full scale.
    measure
        What is compared, and what is made equal for it.
    value_a, value_b, difference
        Means over instances and readers, and a − b; at operating points of readers without the bias that matching has.
    low, high
        Interval of the difference; NaN where the test gives none.
    p, adjusted
        That a is better than b, for other cases and other instances or readers; two-sided for AUROC against readers and
        for panels. Adjusted by Holm's method for all tests of the family and level.
    published_p
        Of the test that PI-CAI published: a permutation test over instances and readers, or for the routine the paired
        bootstrap with thresholds that are set once. NaN where that is the analysis of several readers and cases itself.
    verdict
        Non-inferiority of a in AUROC, where readers are compared on the full scale.
    verdict_adjusted
        Its one-sided p, by Holm's method for all verdicts of the family.
    at_least_as_good
        Of the routine: the share of draws in which at least half of the instances reach it; NaN elsewhere.
    size_a, size_b
        How many instances or readers there are on either side.
    cases
        How many were compared.
    """

    family: Family
    level: Literal["patients", "lesions", "both"]
    a: str
    b: str
    modality: str
    point: int | None
    measure: str
    value_a: float
    value_b: float
    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    published_p: float
    verdict: NonInferiority | None
    verdict_adjusted: float
    at_least_as_good: float
    size_a: int
    size_b: int
    cases: int

    @property
    def configuration(self) -> tuple[str, str, int | None]:
        """Panel, modality and operating point of the readers on side b."""
        return self.b, self.modality, self.point


@dataclass(frozen=True)
class StudyComparisons:
    """What `compare_study` found.

    Attributes
    ----------
    tests
        All of them, in the order of the families.
    configurations
        Every panel, modality and operating point with the means of its readers: of three panels and two modalities 18
        for patients and 12 for lesions.
    notes
        By family what was not compared, and why; and what else a reader of the result must know.
    margin, level, replicates, seed
        Of non-inferiority; of intervals; of the draws.
    """

    tests: tuple[StudyTest, ...]
    configurations: tuple[Configuration, ...]
    notes: Mapping[Family, tuple[str, ...]]
    margin: float
    level: float
    replicates: int
    seed: int

    def of_family(self, family: Family, level: str | None = None) -> list[StudyTest]:
        """The tests of one of the four comparisons, of patients or lesions if that is asked for."""
        return [test for test in self.tests if test.family == family and level in (None, test.level)]

    def table(self) -> pl.DataFrame:
        """One row per test; what is undefined is null."""
        numbers = (
            "value_a",
            "value_b",
            "difference",
            "low",
            "high",
            "p",
            "adjusted",
            "published_p",
            "at_least_as_good",
        )
        names = [name for name in StudyTest._fields if name not in ("verdict", "verdict_adjusted")]
        rows = [
            {name: getattr(test, name) for name in names}
            | {
                "margin": self.margin if test.verdict else None,
                "verdict": test.verdict.label if test.verdict else None,
                "accepted": test.verdict.accepted if test.verdict else None,
                "verdict_p": test.verdict.p_one_sided if test.verdict else None,
                "verdict_adjusted": test.verdict_adjusted if test.verdict else None,
            }
            for test in self.tests
        ]
        text = dict.fromkeys(("family", "level", "a", "b", "modality", "measure", "verdict"), pl.String())
        whole = ("point", "size_a", "size_b", "cases")
        floats = dict.fromkeys((*numbers, "margin", "verdict_p", "verdict_adjusted", "at_least_as_good"), pl.Float64())
        schema = {**text, **dict.fromkeys(whole, pl.Int64()), **floats, "accepted": pl.Boolean()}
        order = [*names, "margin", "verdict", "accepted", "verdict_p", "verdict_adjusted"]
        return pl.DataFrame(rows, schema={name: schema[name] for name in order}).fill_nan(None)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; what is undefined is null."""
        return {
            "tests": self.table().to_dicts(),
            "configurations": [one._asdict() | {"values": dict(one.values)} for one in self.configurations],
            "notes": {family: list(notes) for family, notes in self.notes.items()},
            "margin": self.margin,
            "level": self.level,
            "replicates": self.replicates,
            "seed": self.seed,
            "adjustment": "Holm's method, for all tests of a family and level",
            "isocenter": __version__,
        }


@dataclass(frozen=True)
class _Asked:
    teams: Mapping[str, Sequence[Detections]]
    points: tuple[int, ...]
    margin: float
    level: float
    replicates: int
    seed: int
    workers: int
    move: Progress
    notes: dict[Family, list[str]]


def compare_study(
    teams: Mapping[str, Sequence[Detections]],
    *,
    readers: ReaderScores | None = None,
    routine: ReaderScores | None = None,
    panels: Mapping[str, Collection[str]] | None = None,
    measures: Sequence[Measure] = ("score",),
    points: Sequence[int] = OPERATING_POINTS[:2],
    margin: float = _MARGIN,
    replicates: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> StudyComparisons:
    """Compare algorithms with each other, with clinical routine and with readers; and readers with readers.

    Parameters
    ----------
    teams
        The findings of the trained instances of every algorithm; PI-CAI takes its best five.
    readers
        Reads of a reader study, scored by `score_reads`; with marks also lesions are compared.
    routine
        Reads of clinical routine, of one reader: a PI-RADS per patient, or marks.
    panels
        Readers by the name of the panel, such as experts and others. The panel of all readers is always compared.
    measures
        What algorithms are compared with each other by.
    points
        PI-RADS from which on readers call.
    margin
        Of non-inferiority in AUROC; PI-CAI's rule also asks for a difference above 0.
    replicates, level, seed, workers
        Of the draws of cases; 0 replicates leave out what is drawn: algorithms and routine.
    progress
        Called with the number of comparisons done and of all, and what is compared.

    Raises
    ------
    ValueError
        If a reader of a panel has read nothing.

    Notes
    -----
    With the panels all, experts and others, two modalities and the points 3 and 4, every algorithm meets 18
    configurations of readers for patients (the full scale is the third point) and 12 for lesions. At each operating
    point two measures are compared, one at the equal other.

    References
    ----------
    Saha A, Bosma JS, Twilt JJ, et al. Artificial intelligence and radiologists in prostate cancer detection on MRI
    (PI-CAI): an international, paired, non-inferiority, confirmatory study. Lancet Oncol 25 (2024).
    """
    if wrong := sorted(set(points) - set(OPERATING_POINTS)):
        msg = f"operating points are PI-RADS {', '.join(map(str, OPERATING_POINTS))}, not {wrong[0]}"
        raise ValueError(msg)
    asked = _Asked(
        teams,
        tuple(points),
        margin,
        level,
        replicates,
        seed,
        workers,
        progress or _ignore,
        {name: [] for name in FAMILIES},
    )
    groups = _complete_panels(readers, panels)
    tests = list(_compare_algorithms(asked, measures))
    tests += _compare_routine(asked, routine)
    against = list(_compare_readers(asked, readers, groups))
    asked.notes["readers"] += _explain_bias(against)
    tests += against
    between, configurations = _compare_panels(asked, readers, groups)
    asked.move(1, 1, "")
    return StudyComparisons(
        tests=tuple(_adjust([*tests, *between])),
        configurations=configurations,
        notes={family: tuple(dict.fromkeys(notes)) for family, notes in asked.notes.items()},
        margin=margin,
        level=level,
        replicates=replicates,
        seed=seed,
    )


def _ignore(_done: int, _total: int, _what: str) -> None:
    """Progress that nobody watches."""


def _complete_panels(
    readers: ReaderScores | None, panels: Mapping[str, Collection[str]] | None
) -> dict[str, tuple[str, ...]]:
    """All panels, that of all readers first."""
    if readers is None:
        return {}
    everybody = tuple(dict.fromkeys(one.read.reader for one in readers.reads))
    groups = {name: tuple(dict.fromkeys(members)) for name, members in (panels or {}).items()}
    if strange := [
        f"{member!r} of panel {name!r}" for name, members in groups.items() for member in members
        if member not in everybody
    ]:  # fmt: skip
        msg = f"no read is by {', '.join(strange[:5])}{' …' if len(strange) > 5 else ''}"
        raise ValueError(msg)
    if any(set(members) == set(everybody) for members in groups.values()):
        return groups
    return {ALL_READERS: everybody, **groups}


def _compare_algorithms(asked: _Asked, measures: Sequence[Measure]) -> Iterator[StudyTest]:
    pairs = list(combinations(asked.teams, 2))
    if pairs and not asked.replicates:
        asked.notes["algorithms"].append(
            "Algorithms are not compared with each other, as no replicates were asked for."
        )
        return
    for number, ((a, b), measure) in enumerate(product(pairs, measures)):
        asked.move(number, len(pairs) * len(measures), f"comparing {a} and {b}")
        one, other = asked.teams[a], asked.teams[b]
        if one[0].cases != other[0].cases:
            asked.notes["algorithms"].append(f"{a} and {b} are not compared: they have cases of their own.")
            continue
        try:
            found = compare_instances(
                one[0].truth,
                [each.likelihood for each in one],
                [each.likelihood for each in other],
                measure=measure,
                lesions_a=[_lesion_rows(each) for each in one],
                lesions_b=[_lesion_rows(each) for each in other],
                weight=one[0].weight,
                replicates=asked.replicates,
                level=asked.level,
                seed=asked.seed,
                workers=asked.workers,
            )
        except ValueError as error:
            asked.notes["algorithms"].append(f"{a} and {b} are not compared: {describe_error(error)}.")
            continue
        levels: dict[Measure, Literal["patients", "lesions", "both"]] = {
            "auroc": "patients",
            "average_precision": "lesions",
        }
        yield _make_test(
            "algorithms", levels.get(measure, "both"), a, b,
            measure=MEASURE_NAMES[measure],
            values=(float(np.mean(found.values_a)), float(np.mean(found.values_b))),
            tested=_read_test(found),
            sizes=(len(one), len(other), len(one[0].cases)),
        )  # fmt: skip


class _Tested(NamedTuple):
    difference: float
    low: float
    high: float
    p: float
    published_p: float


def _read_test(result: InstanceComparison | PanelComparison) -> _Tested:
    """What a comparison of instances and readers found, with the p of the published permutation test beside it."""
    return _Tested(result.difference, result.low, result.high, result.p_value, result.published.p_value)


def _make_test(
    family: Family,
    level: Literal["patients", "lesions", "both"],
    a: str,
    b: str,
    *,
    measure: str,
    values: tuple[float, float],
    tested: _Tested,
    sizes: tuple[int, int, int],
    modality: str = "",
    point: float | None = None,
    verdict: NonInferiority | None = None,
    at_least_as_good: float = math.nan,
) -> StudyTest:
    return StudyTest(
        family, level, a, b, modality, None if point is None else int(point), measure, *values,
        tested.difference, tested.low, tested.high, tested.p, math.nan, tested.published_p, verdict, math.nan,
        at_least_as_good, *sizes,
    )  # fmt: skip


def _lesion_rows(found: Detections) -> LesionRows:
    return LesionRows(found.case, found.is_lesion, found.confidence)


def _compare_routine(asked: _Asked, routine: ReaderScores | None) -> Iterator[StudyTest]:
    if routine is None:
        return
    if not asked.replicates:
        asked.notes["routine"].append("Clinical routine is not compared, as no replicates were asked for.")
        return
    by_case = {one.read.case: one for one in routine.reads}
    placed = any(one.hits for one in routine.reads) and all(one.hits or not one.drawn for one in routine.reads)
    if not placed:
        asked.notes["routine"].append("Lesions are not compared with the routine: its reads say nothing of places.")
    steps = list(product(asked.teams, asked.points, (*_PATIENT, *(_LESION if placed else ()))))
    for number, (team, point, match) in enumerate(steps):
        asked.move(number, len(steps), f"comparing {team} with clinical routine")
        mine = [found.among(by_case) for found in asked.teams[team]]
        reads = [by_case[case] for case in mine[0].cases]
        try:
            found, published = (_match_routine(asked, mine, reads, (point, match), flavour) for flavour in _FLAVOURS)
        except ValueError as error:
            asked.notes["routine"].append(
                f"{team}, PI-RADS ≥ {point}, equal {match}: not compared, {describe_error(error)}."
            )
            continue
        if not found.matched:
            asked.notes["routine"].append(
                f"PI-RADS ≥ {point}: {team} has no threshold at which its {match} is that of the routine; it stays off "
                f"by {found.gap:.3f}, and is compared somewhere else."
            )
        yield _make_test(
            "routine", "patients" if match in _PATIENT else "lesions", team, "routine",
            point=point,
            measure=f"{found.conjugate} at equal {match}",
            values=(found.routine_conjugate + found.difference, found.routine_conjugate),
            tested=_Tested(found.difference, found.low, found.high, found.p_value, published.p_value),
            sizes=(len(mine), 1, found.cases),
            at_least_as_good=found.prob_ai_at_least,
        )  # fmt: skip


def _match_routine(
    asked: _Asked, mine: Sequence[Detections], reads: Sequence[ScoredRead], at: tuple[int, str], flavour: Flavour
) -> MatchedBootstrap:
    point, match = at
    options: dict[str, Any] = {
        "match": match,
        "weight": mine[0].weight,
        "replicates": asked.replicates,
        "level": asked.level,
        "seed": asked.seed,
        "flavour": flavour,
        "workers": asked.workers,
    }
    if match in _PATIENT:
        calls = np.array([one.read.calls(point) for one in reads])
        return matched_bootstrap(mine[0].truth, calls, np.array([one.likelihood for one in mine]), **options)
    marked = [
        (number, is_lesion, confidence)
        for number, one in enumerate(reads)
        if one.hits
        for is_lesion, confidence, count in (
            (True, 1.0, one.hits[point].tp),
            (True, 0.0, one.hits[point].fn),
            (False, 1.0, one.hits[point].fp),
        )
        for _ in range(count)
    ]
    case, is_lesion, confidence = (np.array(column) for column in zip(*marked, strict=True)) if marked else ([], [], [])
    rows = LesionRows(np.asarray(case, np.int64), np.asarray(is_lesion, np.bool_), np.asarray(confidence, np.float64))
    return matched_lesion_bootstrap(rows, [_lesion_rows(one) for one in mine], cases=len(reads), **options)


def _compare_readers(
    asked: _Asked, readers: ReaderScores | None, panels: Mapping[str, Sequence[str]]
) -> Iterator[StudyTest]:
    if readers is None:
        return
    steps = list(product(asked.teams, list_modalities(readers), panels))
    for number, (team, modality, panel) in enumerate(steps):
        of = f" of {modality}" if modality else ""
        asked.move(number, len(steps), f"comparing {team} with {panel} readers{of}")
        there = {one.read.reader for one in readers.reads if one.read.modality == modality}
        members = [reader for reader in panels[panel] if reader in there]
        if not members:
            continue
        study = make_panel_study(readers, modality, asked.teams[team])
        found, notes = compare_with_study(
            study, level=asked.level, points=asked.points, readers=members, margin=asked.margin
        )
        common = "Lesions are not compared: the reads"
        asked.notes["readers"].extend(
            note if note.startswith(common) else f"{team}, {panel} readers{of}: {note[:1].lower()}{note[1:]}"
            for note in notes
        )
        if found is not None:
            yield from _list_against(found, team, panel, modality)


def _explain_bias(tests: Sequence[StudyTest]) -> list[str]:
    """A sentence, where the difference at operating points is not that of the two numbers beside it."""
    most = max((abs(one.value_a - one.value_b - one.difference) for one in tests if one.point is not None), default=0.0)
    if most < _SHOWN:
        return []
    sentence = (
        "At the operating points of readers a − b is without the bias that matching has, so it is not the difference "
        f"of the numbers beside it: it is off by up to {most:.3f}, and less with more cases."
    )
    return [sentence]


def _list_against(found: AgainstPanel, team: str, panel: str, modality: str) -> Iterator[StudyTest]:
    pair = found.study.pairs[AI, PANEL]
    instances, readers = (found.study.modalities[name] for name in (AI, PANEL))
    sizes = (len(instances.readers), len(readers.readers), found.cases)
    yield _make_test(
        "readers", "patients", team, panel,
        modality=modality,
        measure="AUROC",
        values=(instances.estimate, readers.estimate),
        tested=_Tested(pair.difference, pair.low, pair.high, pair.p, math.nan),
        sizes=sizes,
        verdict=found.verdict,
    )  # fmt: skip
    for one in found.points:
        yield _list_point(one, team, panel, modality, sizes)


def _list_point(one: AtPoint, team: str, panel: str, modality: str, sizes: tuple[int, int, int]) -> StudyTest:
    made = one.comparison
    return _make_test(
        "readers", one.level, team, panel,
        modality=modality,
        point=one.point,
        measure=f"{made.conjugate} at equal {made.match}",
        values=(float(np.mean(made.instance_conjugates)), float(np.mean(made.reader_conjugates))),
        tested=_read_test(made),
        sizes=sizes,
    )  # fmt: skip


def _compare_panels(
    asked: _Asked, readers: ReaderScores | None, panels: Mapping[str, Sequence[str]]
) -> tuple[list[StudyTest], tuple[Configuration, ...]]:
    if readers is None:
        return [], ()
    asked.move(0, 1, "comparing readers with readers")
    tables = make_read_tables(readers)
    groups = {name: [name_reader(member) for member in members] for name, members in panels.items()}
    points, lesions = tuple(map(float, asked.points)), tables.lesions
    found: ReaderPanels | None = None
    while found is None:
        try:
            found = compare_readers(
                tables.reads,
                lesions,
                panels=groups,
                points=points,
                margin=asked.margin,
                preset="picai",
                level=asked.level,
            )
        except ValueError as error:
            what = "lesions are" if lesions is not None else "operating points are" if points else "readers are"
            asked.notes["panels"].append(f"Readers against readers: {what} not compared: {describe_error(error)}.")
            if lesions is None and not points:
                return [], ()
            lesions, points = (None, points) if lesions is not None else (None, ())
    asked.notes["panels"].extend(f"{_unname(note)[:1].upper()}{_unname(note)[1:].rstrip('.')}." for note in found.notes)
    means: dict[tuple[str, str, float | None, str], tuple[float, int]] = {
        (one.level, f"{one.panel}, {one.modality}", one.point, measure): (value, one.readers)
        for one in found.configurations
        for measure, value in one.values.items()
    }
    cases = found.cases
    return [_list_panels(test, means, cases) for test in found.tests], found.configurations


def _unname(note: str) -> str:
    return note.replace(name_reader(""), "")


def _list_panels(
    test: PanelTest, means: Mapping[tuple[str, str, float | None, str], tuple[float, int]], cases: int
) -> StudyTest:
    values = []
    for side, size in ((test.a, test.readers_a), (test.b, test.readers_b)):
        value, of = means[test.level, side, test.point, test.measure]
        values.append(value if of == size else math.nan)  # a mean over readers who were not all compared
    low, high = (math.nan if bound is None else bound for bound in (test.low, test.high))
    published = math.nan if test.published is None else test.published
    return _make_test(
        "panels", test.level, test.a, test.b,
        point=test.point,
        measure="AUROC" if test.measure == "AUC" else test.measure,
        values=(values[0], values[1]),
        tested=_Tested(test.difference, low, high, test.p, published),
        sizes=(test.readers_a, test.readers_b, cases),
        verdict=test.verdict,
    )  # fmt: skip


def _adjust(tests: Sequence[StudyTest]) -> Iterable[StudyTest]:
    """By Holm's method: the tests of a family and level together, and the verdicts of a family together."""
    adjusted = [math.nan] * len(tests)
    verdicts = [math.nan] * len(tests)
    for family, level in dict.fromkeys((test.family, test.level) for test in tests):
        at = [n for n, test in enumerate(tests) if (test.family, test.level) == (family, level)]
        for n, p in zip(at, adjust([tests[n].p for n in at], "holm").tolist(), strict=True):
            adjusted[n] = p
    for family in dict.fromkeys(test.family for test in tests):
        decided = [(n, test.verdict) for n, test in enumerate(tests) if test.family == family and test.verdict]
        together = adjust([verdict.p_one_sided for _, verdict in decided], "holm").tolist()
        for (n, _), p in zip(decided, together, strict=True):
            verdicts[n] = p
    for test, p, of_verdict in zip(tests, adjusted, verdicts, strict=True):
        yield test._replace(adjusted=p, verdict_adjusted=of_verdict)
