"""What a family of paired tests found, and the table that a paper prints of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from isocenter.stats._adjust import Adjustment
from isocenter.stats._differences import Alternative, Better

Family = Literal["winner-vs-rest", "all-ordered", "all-unordered"]
Test = Literal["wilcoxon", "t", "sign-flip"]

FAMILIES: dict[Family, str] = {
    "winner-vs-rest": "the winner against each of the others",
    "all-ordered": "all ordered pairs",
    "all-unordered": "all pairs",
}
TESTS: dict[Test, str] = {
    "wilcoxon": "Wilcoxon signed-rank test",
    "t": "Paired t test",
    "sign-flip": "Sign-flip permutation test of the mean",
}
_CLUSTERED = {"wilcoxon": " of Rosner, Glynn and Lee", "t": "", "sign-flip": ""}
_SIDES: dict[Alternative, str] = {
    "better": "one-sided (a better than b)",
    "worse": "one-sided (a worse than b)",
    "two-sided": "two-sided",
}
_ADJUSTMENTS: dict[Adjustment, str] = {
    "holm": "adjusted by Holm's method",
    "bonferroni": "adjusted by Bonferroni's method",
    "bh": "adjusted by Benjamini and Hochberg's method",
    "none": "not adjusted",
}


class Comparison(NamedTuple):
    """One test of a family.

    Attributes
    ----------
    a, b
        The submissions.
    n
        Cases, or members of clusters, that both were measured on.
    difference
        Mean of a − b in the unit of the scores.
    p, adjusted
        Of this test alone, and adjusted for the family. NaN where the test is undefined.
    significant
        Whether the adjusted p is at most alpha.
    """

    a: str
    b: str
    n: int
    difference: float
    p: float
    adjusted: float
    significant: bool


@dataclass(frozen=True)
class Comparisons:
    """What `compare` found, with all that a reader must know of it; as text, the table of a paper.

    Attributes
    ----------
    rows
        One per test of the family.
    test, family, alternative, adjustment, alpha, decimals
        As they were asked for.
    better
        Whether higher or lower scores are.
    clusters
        How many there are; None if cases were taken as independent.
    methods
        How p was found, in words; more than one where it depends on the pair.
    """

    rows: tuple[Comparison, ...]
    test: Test
    family: Family
    alternative: Alternative
    adjustment: Adjustment
    alpha: float
    better: Better
    decimals: int | None
    clusters: int | None
    methods: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([self._title(), "", *self._table()])

    def _title(self) -> str:
        rounded = "" if self.decimals is None else f"; differences rounded to {self.decimals} decimals"
        grouped = "" if self.clusters is None else f"{_CLUSTERED[self.test]} for {self.clusters} clusters"
        tests = f"{len(self.rows)} test{'s' * (len(self.rows) != 1)}"
        found = f" {' or '.join(self.methods)}," if self.methods else ""
        return (
            f"{TESTS[self.test]}{grouped}, {_SIDES[self.alternative]}; {self.better} scores are better{rounded}.\n"
            f"Family: {FAMILIES[self.family]}, {tests}; p{found} {_ADJUSTMENTS[self.adjustment]}; "
            f"* significant at {self.alpha:g}."
        )

    def _table(self) -> list[str]:
        head = ("a", "b", "n", "a − b", "p", "adjusted p", "")
        lines = [head, *(self._cells(row) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return ["  ".join(_aligned(cells, widths)).rstrip() for cells in lines]

    def _cells(self, row: Comparison) -> tuple[str, ...]:
        # A mean is known better than the values that it is of: one decimal more.
        shown = f"{row.difference:+.4g}" if self.decimals is None else f"{row.difference:+.{self.decimals + 1}f}"
        return row.a, row.b, str(row.n), shown, _p(row.p), _p(row.adjusted), "*" * row.significant


def _p(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Names to the left, numbers to the right."""
    return [
        cell.ljust(width) if column < 2 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
