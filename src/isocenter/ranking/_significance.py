"""Is a lead more than luck: the teams of a board against each other, in paired tests on the same cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from isocenter.metrics.catalogue import Metric
from isocenter.ranking._cells import Cell, Cohort, Entry, Over, read_cells
from isocenter.ranking._entry import Role
from isocenter.ranking.rules._base import CaseValues, Rule, capabilities_of
from isocenter.ranking.rules.paired_tests import Adjustment
from isocenter.resampling.matrices import Floats
from isocenter.stats import Comparisons, compare, paired_t

Family = Literal["winner-vs-rest", "all-ordered", "all-unordered"]
Test = Literal["wilcoxon", "t", "sign-flip"]
Tested = Literal["cases", "parts"]
"""What one value of a test is of: a case, or a part of a case."""


@dataclass(frozen=True, eq=False)
class PairedValues:
    """What the teams of a board have on the same cases, or on the same parts of them.

    Attributes
    ----------
    metric
        Whose values they are.
    decimals
        To which differences are rounded before they are tested, where the rule declares it; "noise": they are not, but
        rounding noise breaks no tie.
    values
        By team that competes, in the order of the board. What stands in for a missing case is a value.
    cases
        The case of each value.
    first
        The winner; or winners, if the first rank is shared.
    """

    metric: Metric
    decimals: int | Literal["noise"]
    values: Mapping[str, Floats]
    cases: tuple[str, ...]
    first: tuple[str, ...]

    @property
    def in_parts(self) -> bool:
        """Whether a case has several values."""
        return len(set(self.cases)) < len(self.cases)

    def compare(
        self,
        *,
        family: Family = "winner-vs-rest",
        test: Test = "wilcoxon",
        adjust: Adjustment = "holm",
        alternative: Literal["better", "two-sided"] | None = None,
        clustered: bool = False,
        winner: str | None = None,
        alpha: float = 0.05,
        replicates: int = 10_000,
        seed: int = 0,
    ) -> Comparisons:
        """A family of tests on these values; the parameters are those of `significance`."""
        assert self.metric.better != "neither"
        if clustered and not self.in_parts:
            msg = f"every case has one value of {self.metric.name}: there are no clusters of parts to take into account"
            raise ValueError(msg)
        if family == "winner-vs-rest" and winner is None:
            if len(self.first) > 1:
                msg = f"{' and '.join(self.first)} share the first rank: no winner to be tested, so take another family"
                raise ValueError(msg)
            winner = self.first[0]
        return compare(
            self.values,
            better=self.metric.better,
            decimals=self.metric.decimals if test == "sign-flip" and self.decimals == "noise" else self.decimals,
            family=family,
            test=test,
            adjust=adjust,
            alternative=alternative,
            winner=winner,
            cluster=self.cases if clustered else None,
            alpha=alpha,
            replicates=replicates,
            seed=seed,
            digits=self.metric.decimals + 1,
        )

    def interval(self, a: str, b: str, *, level: float = 0.95) -> tuple[float, float]:
        """Student's interval of the mean of a − b, of one pair and not adjusted; NaN with a single value."""
        assert self.metric.better != "neither"
        found = paired_t(self.values[a], self.values[b], better=self.metric.better, decimals=self.decimals, level=level)
        return found.low, found.high


def significance(
    scores: pl.DataFrame,
    rule: Rule,
    *,
    family: Family = "winner-vs-rest",
    test: Test = "wilcoxon",
    adjust: Adjustment = "holm",
    over: Tested | None = None,
    clustered: bool = False,
    alternative: Literal["better", "two-sided"] | None = None,
    winner: str | None = None,
    roles: Mapping[str, Role] | None = None,
    alpha: float = 0.05,
    replicates: int = 10_000,
    seed: int = 0,
) -> Comparisons:
    """Test the teams of a board against each other, by the metric that ranks them.

    Parameters
    ----------
    scores, rule, roles
        As for the board. Who does not compete is in no test.
    family, test, adjust, alternative, alpha, replicates, seed
        As in `isocenter.stats.compare`.
    over
        Whether one value is of a case or of a part of it. Left out: as the rule aggregates. "cases" takes the mean of
        the parts of each case where the rule ranks by parts.
    clustered
        With parts: whether the parts of a case are taken as one piece of evidence. If not, 1783 criteria of 100
        patients count as 1783 patients: that is how OpenKBP 2020 tested, and p is too small.
    winner
        Left out: who is first on the board.

    Notes
    -----
    The direction of the metric is that of the catalogue. Student's and Wilcoxon's tests take differences as they are,
    unless the rule names decimals. Sign flips round them to the decimals of the catalogue, so that their sums can be
    counted. Only a metric with a value per case can be tested so: a rule that ranks by several
    metrics, or by a number of the whole cohort such as the AUROC, is refused.

    Examples
    --------
    >>> from isocenter.ranking import FixedValue, MeanThenRank
    >>> dice = {"ours": [0.81, 0.77, 0.90, 0.72, 0.85], "theirs": [0.80, 0.75, 0.87, 0.68, None]}
    >>> rows = [(team, f"c{i}", "", "dice", x, 1.0) for team, values in dice.items() for i, x in enumerate(values)]
    >>> rows.append(("theirs", "c4", "", "missing", 1.0, 1.0))
    >>> scores = pl.DataFrame(rows, schema=["submission", "case", "part", "metric", "value", "weight"], orient="row")
    >>> found = significance(scores, MeanThenRank("dice", missing=FixedValue(0.0)))
    >>> [(row.a, row.b, round(row.difference, 3), row.p) for row in found.rows]
    [('ours', 'theirs', 0.19, 0.03125)]
    """
    return paired_values(scores, rule, over=over, roles=roles).compare(
        family=family,
        test=test,
        adjust=adjust,
        alternative=alternative,
        clustered=clustered,
        winner=winner,
        alpha=alpha,
        replicates=replicates,
        seed=seed,
    )


def paired_values(
    scores: pl.DataFrame, rule: Rule, *, over: Tested | None = None, roles: Mapping[str, Role] | None = None
) -> PairedValues:
    """The values that paired tests of a board are made on; the parameters are those of `significance`."""
    if over not in (None, "cases", "parts"):
        msg = f"one value is of 'cases' or of 'parts', not of {over!r}"
        raise ValueError(msg)
    what = capabilities_of(rule).case_values()
    board = rule.rank(scores, roles=roles)
    competing = [row for row in board.rows if row.rank is not None]
    if len(competing) < 2:
        found = f"only {competing[0].submission} does" if competing else "nobody does"
        msg = f"a comparison needs two teams that compete by {what.metric.name}; {found}"
        raise ValueError(msg)
    cohort = read_cells(
        scores, what.metric.name, what.missing, over=_over(scores, what, over), undefined=what.undefined, roles=roles
    )
    if cohort.weight_vector() is not None:
        msg = "the cases have sampling weights, which paired tests cannot take into account"
        raise ValueError(msg)
    by_team = {entry.row.submission: entry for entry in cohort.scored}
    if undefined := [row.submission for row in competing if row.submission not in by_team]:
        msg = f"{what.metric.name} is undefined in some parts for {_some(undefined)}; test over cases"
        raise ValueError(msg)
    cells = _common([by_team[row.submission] for row in competing], what, cohort)
    best = min(row.rank for row in competing if row.rank is not None)
    return PairedValues(
        metric=what.metric,
        decimals=what.decimals,
        values={row.submission: _in_order(by_team[row.submission], cells) for row in competing},
        cases=tuple(case for case, _ in cells),
        first=tuple(row.submission for row in competing if row.rank == best),
    )


def _over(scores: pl.DataFrame, what: CaseValues, over: Tested | None) -> Over:
    """How cells are read; refuses parts where there are none."""
    if over is None:
        return what.over
    if over == "cases":
        return "cases" if what.over == "cases" else "parts-within-cases"
    if scores.filter((pl.col("metric") == what.metric.name) & (pl.col("part") != "")).is_empty():
        msg = f"{what.metric.name} is not measured in parts of the cases; test over cases"
        raise ValueError(msg)
    return "parts"


def _common(entries: Sequence[Entry], what: CaseValues, cohort: Cohort) -> list[Cell]:
    """The cells of everybody, in order; a policy that leaves gaps leaves nothing to pair."""
    cells = sorted({cell for entry in entries for cell in entry.numbers or ()})
    gaps = {
        entry.row.submission: lacking
        for entry in entries
        if (lacking := set(cohort.cases) - {case for case, _ in entry.numbers or ()})
    }
    if gaps:
        found = "; ".join(f"{team} has none in {_some(sorted(lacking))}" for team, lacking in gaps.items())
        msg = (
            f"paired tests need a value of {what.metric.name} in every case, and a missing one {what.missing}: {found}"
        )
        raise ValueError(msg)
    return cells


def _in_order(entry: Entry, cells: Sequence[Cell]) -> Floats:
    assert entry.numbers is not None
    return np.array([entry.numbers[cell] for cell in cells])


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
