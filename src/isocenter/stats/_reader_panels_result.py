"""What readers against readers gives: a table of panels, and a table of tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from isocenter.resampling.permutations import Tail
from isocenter.stats._comparisons import aligned, shown_p
from isocenter.stats._non_inferiority import NonInferiority
from isocenter.stats._permutation import SIDES
from isocenter.stats._provenance import record

Level = Literal["patients", "lesions"]
How = Literal["mrmc", "two-way", "relabelled", "swapped"]


class Configuration(NamedTuple):
    """A panel of readers in one modality at one operating point, or on the full scale.

    Attributes
    ----------
    point
        The rating from which on readers call; None on the full scale.
    readers
        How many of the panel read in the modality.
    values
        Means over these readers, by measure: sensitivity and specificity, AUC, or recall and precision.
    """

    level: Level
    panel: str
    modality: str
    point: float | None
    readers: int
    values: Mapping[str, float]


class PanelTest(NamedTuple):
    """Two configurations compared by one measure.

    Attributes
    ----------
    a, b
        Panel and modality of both.
    difference
        Mean of a minus mean of b.
    p, adjusted
        Of no difference; and by Holm's method for all tests of the level.
    how
        "mrmc", for AUCs, and "two-way" hold for other readers and cases. By the published permutation test, on these
        cases, readers of two panels were "relabelled", or the two values of each reader "swapped".
    readers_a, readers_b
        How many were compared.
    low, high
        Interval of the difference; NaN for the published test, which has none.
    verdict
        Of an AUC only: whether a is not inferior to b, the reference.
    published
        The p of the permutation test; None for an AUC.
    """

    level: Level
    point: float | None
    measure: str
    a: str
    b: str
    difference: float
    p: float
    adjusted: float
    how: How
    readers_a: int
    readers_b: int
    low: float | None = None
    high: float | None = None
    verdict: NonInferiority | None = None
    published: float | None = None


@dataclass(frozen=True)
class ReaderPanels:
    """What `compare_readers` found; as text, two tables.

    Attributes
    ----------
    configurations
        All panels, modalities and operating points.
    tests
        All pairs of them that can be compared: two modalities of a panel, two panels without a common reader.
    alternative
        Of the tests at operating points; those of AUCs are two-sided.
    level
        Coverage of intervals.
    cases, effective_cases
        How many there are, and how many of equal weight they are worth, (Σw)² / Σw².
    method, df_rule
        Of the AUCs, in words.
    notes
        What a reader of the result must know.
    """

    configurations: tuple[Configuration, ...]
    tests: tuple[PanelTest, ...]
    alternative: Tail
    level: float
    cases: int
    effective_cases: float
    method: str
    df_rule: str
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; what is undefined or infinite is null."""
        tests = [
            test._asdict() | {"verdict": None if test.verdict is None else test.verdict.to_dict()}
            for test in self.tests
        ]
        names = ("alternative", "level", "cases", "effective_cases", "df_rule", "notes")
        plain = {name: getattr(self, name) for name in names}
        return record({"configurations": self.configurations, "tests": tests, **plain}, method=self.method)

    def __str__(self) -> str:
        panels, modalities = ({getattr(one, name) for one in self.configurations} for name in ("panel", "modality"))
        weighted = "" if self.effective_cases == self.cases else f", worth {self.effective_cases:.1f} of equal weight"
        title = (
            f"{len(panels)} panels, {len(modalities)} modalities, {len(self.configurations)} configurations on "
            f"{self.cases} cases{weighted}. AUC: {self.method}; {self.df_rule}. Operating points: "
            f"{self._at_points()}, {SIDES[self.alternative]}. p adjusted by Holm's method, for patients and "
            "for lesions."
        )
        notes = [f"Note: {note}." for note in self.notes]
        tests = ["", *aligned([*self._test_cells()], left=5)] if self.tests else []
        return "\n".join([title, "", *aligned([*self._panel_cells()], left=5), *tests, *notes])

    def _at_points(self) -> str:
        if any(test.how in ("relabelled", "swapped") for test in self.tests):
            return "published permutation tests of readers, on these cases"
        return "tests for other readers and cases, with p of the published permutation test, on these cases, beside"

    def _panel_cells(self) -> Iterator[tuple[str, ...]]:
        yield "", "panel", "modality", "at", "mean", "readers"
        for one in self.configurations:
            shown = ", ".join(f"{name} {value:.3f}" for name, value in one.values.items())
            yield one.level, one.panel, one.modality, _at(one.point), shown, str(one.readers)

    def _test_cells(self) -> Iterator[tuple[str, ...]]:
        yield "", "at", "measure", "a", "b", "a − b", "p", "adjusted p", "published p", "by"
        for test in self.tests:
            by = test.how if test.verdict is None else f"{test.how}, {test.verdict.decision}"
            beside = "–" if test.published is None else shown_p(test.published)
            names = (test.level, _at(test.point), test.measure, test.a, test.b)
            yield *names, f"{test.difference:+.4f}", shown_p(test.p), shown_p(test.adjusted), beside, by


def _at(point: float | None) -> str:
    return "full scale" if point is None else f"≥ {point:g}"
