"""What a family of paired tests found, and the table that a paper prints of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from isocenter.stats._adjust import Adjustment
from isocenter.stats._differences import ALTERNATIVES, Alternative, Better, Decimals
from isocenter.stats._provenance import record

Family = Literal["winner-vs-rest", "all-ordered", "all-unordered"]
Test = Literal["wilcoxon", "t", "sign-flip", "brats"]

FAMILIES: dict[Family, str] = {
    "winner-vs-rest": "the winner against each of the others",
    "all-ordered": "all ordered pairs",
    "all-unordered": "all pairs",
}
TESTS: dict[Test, str] = {
    "wilcoxon": "Wilcoxon signed-rank test",
    "t": "Paired t test",
    "sign-flip": "Sign-flip permutation test of the mean",
    "brats": "Permutation test of the mean as BraTS published it",
}
_CLUSTERED = {"wilcoxon": " of Rosner, Glynn and Lee", "t": "", "sign-flip": "", "brats": ""}
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
    seed
        Of flips that were drawn; None where none were.
    digits
        With how many decimals the text prints differences that were not rounded; None prints four significant digits.
    """

    rows: tuple[Comparison, ...]
    test: Test
    family: Family
    alternative: Alternative
    adjustment: Adjustment
    alpha: float
    better: Better
    decimals: Decimals
    clusters: int | None
    methods: tuple[str, ...]
    seed: int | None
    digits: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: what is undefined is null."""
        return record(asdict(self), method=self._method)

    def __str__(self) -> str:
        return "\n".join([self._title(), "", *self._table()])

    @property
    def _method(self) -> str:
        grouped = "" if self.clusters is None else f"{_CLUSTERED[self.test]} for {self.clusters} clusters"
        return f"{TESTS[self.test]}{grouped}"

    def _title(self) -> str:
        rounded = f"; differences rounded to {self.decimals} decimals" if isinstance(self.decimals, int) else ""
        tests = f"{len(self.rows)} test{'s' * (len(self.rows) != 1)}"
        found = f" {' or '.join(self.methods)}," if self.methods else ""
        return (
            f"{self._method}, {ALTERNATIVES[self.alternative]}; {self.better} scores are better{rounded}.\n"
            f"Family: {FAMILIES[self.family]}, {tests}; p{found} {_ADJUSTMENTS[self.adjustment]}; "
            f"* significant at {self.alpha:g}."
        )

    def _table(self) -> list[str]:
        head = ("a", "b", "n", "a − b", "p", "adjusted p", "")
        return aligned([head, *(self._cells(row) for row in self.rows)], left=2)

    def _cells(self, row: Comparison) -> tuple[str, ...]:
        # A mean is known better than the values that it is of: one decimal more.
        digits = self.decimals + 1 if isinstance(self.decimals, int) else self.digits
        shown = f"{row.difference:+.4g}" if digits is None else f"{row.difference:+.{digits}f}"
        return row.a, row.b, str(row.n), shown, shown_p(row.p), shown_p(row.adjusted), "*" * row.significant


def shown_p(value: float) -> str:
    """Three decimals are enough; what is undefined is a dash."""
    if math.isnan(value):
        return "–"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def aligned(lines: Sequence[Sequence[str]], *, left: int) -> list[str]:
    """Lines of a table: the first columns are names and stand to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in lines
    ]
