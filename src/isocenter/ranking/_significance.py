"""Is a lead more than luck: the teams of a board against each other, in paired tests on the same cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from isocenter.metrics import catalogue
from isocenter.metrics.catalogue import Metric
from isocenter.ranking._cells import Cell, Cohort, Entry, Over, read_cells
from isocenter.ranking._entry import Role
from isocenter.ranking.rules._base import CaseValues, RankingRule, Rule, capabilities_of
from isocenter.ranking.rules.paired_tests import Adjustment
from isocenter.resampling.matrices import Floats

if TYPE_CHECKING:
    from isocenter.stats import Comparisons

Family = Literal["winner-vs-rest", "all-ordered", "all-unordered"]
Test = Literal["wilcoxon", "t", "sign-flip", "brats"]
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
    step
        For mean ranks: all of them are whole multiples of it, so that sums of differences can be counted.
    relative
        Whether the values are comparisons with all other teams, such as ranks.
    """

    metric: Metric
    decimals: int | Literal["noise"]
    values: Mapping[str, Floats]
    cases: tuple[str, ...]
    first: tuple[str, ...]
    step: float | None = None
    relative: bool = False

    @property
    def in_parts(self) -> bool:
        """Whether a case has several values."""
        return len(set(self.cases)) < len(self.cases)

    def compare(
        self,
        *,
        family: Family = "winner-vs-rest",
        test: Test | None = None,
        adjust: Adjustment = "holm",
        alternative: Literal["better", "two-sided"] | None = None,
        clustered: bool = False,
        winner: str | None = None,
        alpha: float = 0.05,
        replicates: int | None = None,
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
        # In units of their step, mean ranks are whole numbers: equal ones are equal, and flips are counted, not drawn.
        whole = {} if self.step is None else {team: np.rint(x / self.step) for team, x in self.values.items()}
        from isocenter.stats import compare  # it is large, and scoring needs none of it

        found = compare(
            whole or self.values,
            better=self.metric.better,
            decimals=0 if whole else self._decimals_of(test or self.usual_test),
            family=family,
            test=test or self.usual_test,
            adjust=adjust,
            alternative=alternative,
            winner=winner,
            cluster=self.cases if clustered else None,
            alpha=alpha,
            replicates=replicates,
            seed=seed,
            digits=self.metric.decimals + 1,
        )
        if self.step is None:
            return found
        rows = tuple(row._replace(difference=row.difference * self.step) for row in found.rows)
        return replace(found, rows=rows, decimals="noise")

    def _decimals_of(self, test: Test) -> int | Literal["noise"]:
        """As the rule declares. Flips of other values take the decimals of the catalogue: then sums are counted."""
        return self.metric.decimals if test == "sign-flip" and self.decimals == "noise" else self.decimals

    @property
    def usual_test(self) -> Test:
        """Flips for ranks, as BraTS permutes them; Wilcoxon's test for values of a metric."""
        return "sign-flip" if self.relative else "wilcoxon"

    def interval(self, a: str, b: str, *, level: float = 0.95) -> tuple[float, float]:
        """Student's interval of the mean of a − b, of one pair and not adjusted; NaN with a single value."""
        assert self.metric.better != "neither"
        from isocenter.stats import paired_t

        found = paired_t(self.values[a], self.values[b], better=self.metric.better, decimals=self.decimals, level=level)
        return found.low, found.high


def significance(
    scores: pl.DataFrame,
    rule: Rule,
    *,
    family: Family = "winner-vs-rest",
    test: Test | None = None,
    adjust: Adjustment = "holm",
    metric: str | None = None,
    over: Tested | None = None,
    clustered: bool = False,
    alternative: Literal["better", "two-sided"] | None = None,
    winner: str | None = None,
    roles: Mapping[str, Role] | None = None,
    alpha: float = 0.05,
    replicates: int | None = None,
    seed: int = 0,
) -> Comparisons:
    """Test the teams of a board against each other, by what ranks them.

    Parameters
    ----------
    scores, rule, roles
        As for the board. Who does not compete is in no test.
    family, test, adjust, alternative, alpha, replicates, seed
        As in `isocenter.stats.compare`. Left out, the test is Wilcoxon's; for a board of mean ranks, that of sign
        flips.
    metric
        One of the metrics that stand beside the score of a rule of several, which is tested in its place.
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
    counted. A rule that averages ranks over the cases is tested by the mean rank of each case,
    over all metrics and parts. If two teams are equally good, exchanging their outputs in a case exchanges their ranks
    there and nobody else's, so that all signs of the differences are equally likely. Such ranks depend on who else is
    ranked, and so does p: leave a third team out, and it may change. Other rules of several metrics, and numbers of the
    whole cohort such as the AUROC, have no value per case; `metric` names one that has.

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
    return paired_values(scores, rule, metric=metric, over=over, roles=roles).compare(
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
    scores: pl.DataFrame,
    rule: Rule,
    *,
    metric: str | None = None,
    over: Tested | None = None,
    roles: Mapping[str, Role] | None = None,
) -> PairedValues:
    """The values that paired tests of a board are made on; the parameters are those of `significance`."""
    if over not in (None, "cases", "parts"):
        msg = f"one value is of 'cases' or of 'parts', not of {over!r}"
        raise ValueError(msg)
    known = capabilities_of(rule)
    ranked = metric in (None, rule.metric) and known.compares_ranks
    what = None if ranked else _case_values(known, rule, metric)
    board = rule.rank(scores, roles=roles)
    competing = [row for row in board.rows if row.rank is not None]
    if len(competing) < 2:
        found = f"only {competing[0].submission} does" if competing else "nobody does"
        msg = f"a comparison needs two teams that compete by {what.metric.name if what else rule.metric}; {found}"
        raise ValueError(msg)
    best = min(row.rank for row in competing if row.rank is not None)
    first = tuple(row.submission for row in competing if row.rank == best)
    if what is None:
        return _paired_ranks(scores, rule, [row.submission for row in competing], first, over=over, roles=roles)
    how: dict[str, Any] = {"over": _over(scores, what, over), "undefined": what.undefined, "part": what.part}
    cohort = read_cells(scores, what.metric.name, what.missing, roles=roles, **how)
    if cohort.weight_vector() is not None:
        msg = "the cases have sampling weights, which paired tests cannot take into account"
        raise ValueError(msg)
    by_team = {entry.row.submission: entry for entry in cohort.scored}
    if undefined := [row.submission for row in competing if row.submission not in by_team]:
        msg = f"{what.metric.name} is undefined in some parts for {_some(undefined)}; test over cases"
        raise ValueError(msg)
    cells = _common([by_team[row.submission] for row in competing], what, cohort)
    return PairedValues(
        metric=what.metric,
        decimals=what.decimals,
        values={row.submission: _in_order(by_team[row.submission], cells) for row in competing},
        cases=tuple(case for case, _ in cells),
        first=first,
    )


def _case_values(known: RankingRule, rule: Rule, metric: str | None) -> CaseValues:
    """The values of the metric that ranks, or of another that stands beside the score."""
    if metric in (None, rule.metric):
        return known.case_values()
    others = {other.metric: other for other in known.beside}
    if metric not in others:
        there = f"those beside its score are {', '.join(others)}" if others else "there are none beside its score"
        msg = f"{metric} is no metric of the board ({rule}); {there}"
        raise ValueError(msg)
    return capabilities_of(others[metric]).case_values()


def _paired_ranks(
    scores: pl.DataFrame,
    rule: Rule,
    competing: Sequence[str],
    first: tuple[str, ...],
    *,
    over: Tested | None,
    roles: Mapping[str, Role] | None,
) -> PairedValues:
    """The mean rank of every team in every case."""
    if over == "parts":
        msg = f"{rule.metric} of a case is a mean over its parts; test over cases, or a metric by its parts"
        raise ValueError(msg)
    ranks = capabilities_of(rule).case_scores(scores, roles=roles)
    if ranks is None:
        msg = f"the rule does not say which score a team has in each case ({rule})"
        raise ValueError(msg)
    return PairedValues(
        metric=catalogue.get(rule.metric),
        decimals="noise",
        values={team: ranks.values[team] for team in competing},
        cases=ranks.cases,
        first=first,
        step=ranks.step,
        relative=True,
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
