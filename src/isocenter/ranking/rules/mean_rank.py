"""Rank in every case, then rank by the mean of these ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from isocenter.metrics import catalogue
from isocenter.metrics.catalogue import Metric
from isocenter.ranking._board import Board, BoardRow
from isocenter.ranking._cells import Cell, Cohort, Entry, cohort_of, read_cells, with_undefined
from isocenter.ranking._drawn import Drawn
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import (
    LeaveOut,
    MissingSetting,
    UndefinedOfSeveralSetting,
    check_missing,
    check_undefined,
    check_undefined_names,
    freeze_undefined,
    leaves_undefined_out,
    tell_metric,
    undefined_in_words,
    undefined_of,
)
from isocenter.ranking._ties import TIES_IN_WORDS, rank_values
from isocenter.ranking.rules import _lines
from isocenter.ranking.rules._base import (
    CaseScores,
    Naming,
    RankingRule,
    check_part,
    check_ties,
    in_words,
    of_part,
    place,
    rankable,
    ranking_rule,
)
from isocenter.ranking.rules._settings import PartName, TiesSetting, Tolerance, WeightedMetrics
from isocenter.ranking.rules.mean import MeanThenRank, OverSetting
from isocenter.resampling.counts import Reject, Resamples
from isocenter.resampling.estimates import resample_means
from isocenter.resampling.matrices import Floats

if TYPE_CHECKING:
    from isocenter.ranking.rules._variants import Asked, Variant

MEAN_RANK = catalogue.register(
    Metric("mean_rank", "", "lower", (1.0, math.inf), 2, "mean over the cases of the rank in each of them")
)


@ranking_rule("mean-rank", "in every case, then by the mean of these ranks; one metric or several")
@dataclass(frozen=True, slots=True, kw_only=True)
class RankThenMean(RankingRule):
    """Rank the submissions in every case, by one metric or several, then rank by the (weighted) mean of the ranks.

    Attributes
    ----------
    metrics
        A name; or names and weights, ``(("dice", 1.0), ("hd95", 1.0))``, for the mean over metrics and cases.
    missing
        What a case counts as that has no output; `RankLast()` puts it behind all that have one.
    ties
        What equals get, in each case and at the end; it may decide who wins, so it has no default.
    tolerance
        Values closer than this × the larger of two are equal.
    undefined
        What becomes of a case in which a metric is undefined, see `MeanThenRank`: nobody has a rank by it there. One
        policy for all metrics, or one by metric: ``{"dice": 1.0, "hd95": 374.0}``. Metrics that are
        not named have "refuse".
    over
        "cases": a case is ranked as a whole. "parts": every part of every case is ranked by itself, and all these ranks
        count alike. "parts-within-cases": the ranks of a case are averaged first, over its parts and all metrics, then
        the cases (BraTS). The two differ where cases have different parts.
    part
        The part whose value is that of the case, such as one region; "" for the case as a whole.

    Notes
    -----
    score = Σ wⱼ cₙ rⱼₙ / Σ wⱼ cₙ, with rⱼₙ the rank by metric j in case n among those who compete, and cₙ the case
    weight; both sums are over the pairs of metric and case in which the metric is defined. Over parts p, the sums run
    over rⱼₙₚ; within cases first, score = Σ cₙ r̄ₙ / Σ cₙ with the mean r̄ₙ = Σ wⱼ rⱼₙₚ / Σ wⱼ over the metrics and
    parts of case n. What only stands beside the teams gets the ranks
    it would have had, and moves nobody. Scores depend on who takes part: those of two boards do not compare, and a
    newcomer can change the order of others.

    References
    ----------
    Bakas S, et al. Identifying the best machine learning algorithms for brain tumor segmentation, progression
    assessment, and overall survival prediction in the BRATS challenge. arXiv 1811.02629 (2018).
    """

    relative = True
    compares_ranks = True

    metrics: str | WeightedMetrics
    missing: MissingSetting
    ties: TiesSetting
    tolerance: Tolerance = 1e-9
    undefined: UndefinedOfSeveralSetting = "refuse"
    over: OverSetting = "cases"
    part: PartName = ""

    def __post_init__(self) -> None:
        if isinstance(self.metrics, str):
            object.__setattr__(self, "metrics", ((self.metrics, 1.0),))
        names = [name for name, _ in self._weighted]
        if not names or len(set(names)) < len(names):
            msg = f"a rank needs metrics, each of them once, not {names}"
            raise ValueError(msg)
        for name, weight in self._weighted:
            if not 0 < weight < math.inf:
                msg = f"the weight of {name} is a positive number, not {weight}"
                raise ValueError(msg)
        object.__setattr__(self, "undefined", freeze_undefined(self.undefined))
        check_ties(self.ties)
        check_part(self.part, self.over)

    @property
    def _weighted(self) -> tuple[tuple[str, float], ...]:
        assert not isinstance(self.metrics, str)
        return self.metrics

    @property
    def metric(self) -> str:
        """What the board shows: the mean of the ranks."""
        return MEAN_RANK.name

    @property
    def reads(self) -> tuple[str, ...]:
        """The metrics that it needs of every case."""
        return tuple(name for name, _ in self._weighted)

    @property
    def components(self) -> tuple[str, ...]:
        """The metrics, if there are several."""
        return self.reads if len(self.reads) > 1 else ()

    def check(self) -> None:
        """Whether every metric can be ranked, and can have the value that a missing case counts as."""
        for name in self.reads:
            check_missing(self.missing, rankable(name), case_by_case=True)
            with tell_metric(self.undefined, name):
                check_undefined(undefined_of(self.undefined, name), catalogue.get(name), alone=False)
        check_undefined_names(self.undefined, self.reads)
        if self.missing.leaves_out:
            msg = "a case that is left out has no rank; let it rank last, or count as something"
            raise ValueError(msg)

    @property
    def rank_set_basis(self) -> str:
        """Differences of ranks."""
        return _lines.DIFFERENCES

    @property
    def beside(self) -> tuple[MeanThenRank, ...]:
        """The mean of every metric; a case that has the last rank, and no number, is left out of it."""
        missing = LeaveOut() if self.missing.ranks_last else self.missing
        same: dict[str, Any] = {"ties": self.ties, "tolerance": self.tolerance, "over": self.over, "part": self.part}
        return tuple(
            MeanThenRank(name, missing, undefined=undefined_of(self.undefined, name), **same) for name in self.reads
        )

    def case_scores(self, scores: pl.DataFrame, *, roles: Mapping[str, Role] | None = None) -> CaseScores:
        """The mean rank of every team in every case.

        Raises
        ------
        ValueError
            The cases have sampling weights.
        """
        ranks = self._ranks(scores, roles)
        if np.ptp(ranks.weights) != 0:
            msg = "the cases have sampling weights, which paired tests cannot take into account"
            raise ValueError(msg)
        teams = [row.submission for row in ranks.rows if row.role == "team" and row.submission in ranks.totals]
        share = len(ranks.cases) / math.fsum(ranks.counts)
        return CaseScores(ranks.cases, {team: ranks.totals[team] * share for team in teams}, ranks.step * share)

    def alternatives(self, asked: Asked) -> Iterator[Variant]:
        """Other aggregations, ties, metrics and policies."""
        from isocenter.ranking.rules import _variants

        if self.over != "cases":
            yield "ranks of all parts", replace(self, over="parts")
            yield "ranks within cases first", replace(self, over="parts-within-cases")
            for part in asked.parts:
                yield f"by {part} alone", replace(self, over="cases", part=part)
            yield from _variants.share_ranks(self, asked)
        elif len(self.reads) == 1:
            yield from _variants.aggregate_one(self, asked)
        else:
            yield from _variants.aggregate_several(self)
            yield from _variants.share_ranks(self, asked)
        yield from _variants.change_metric(self, asked, lambda old, new: _variants.swap_metric(self, old, new))
        yield from _variants.change_policy(self, asked)

    def words(self, name: Naming) -> str:
        """Metrics, parts, missing cases and ties."""
        over = {
            "cases": "all cases of the rank in each",
            "parts": "all parts of all cases of the rank in each",
            "parts-within-cases": "the parts of each case, then over all cases, of the rank in each part",
        }[self.over]
        undefined = undefined_in_words(self.undefined, name)
        return (
            f"mean over {over} by {in_words(self._weighted, name)}{of_part(self.part)}, lower is better; a missing "
            f"or unusable case {self.missing}{undefined}; equals {TIES_IN_WORDS[self.ties]}"
        )

    def pseudo_code(self) -> str:
        """Values, ranks in each case or part, their mean, ranks."""
        at, where = ("i", f"{self.part} of i" if self.part else "i") if self.over == "cases" else ("i, p", "p of i")
        each = "" if self.over == "cases" else " and each of its parts p"
        lines = [
            f"for each metric m of {_lines.listed(self.reads)} and each case i{each}:",
            f"    for each submission s: x[m, s, {at}] = m of s in {where}",
            *(f"    {line}" for line in _lines.undefined_of_several(self.undefined, f"x[m, s, {at}]")),
            f"    {_lines.missing(self.missing, self.reads, f'x[m, s, {at}]')}",
            f"    for each submission s, by x[m, s, {at}] ({_lines.equal(self.tolerance)}):",
            f"        r[m, s, {at}] = {_lines.RANKS[self.ties]}",
            "for each submission s:",
            f"    r[s, {at}] = {_lines.weighted_mean(self._weighted, f'r[{{}}, s, {at}]')}",
        ]
        if leaves_undefined_out(self.undefined):
            lines.append("    where a metric is left out of i: r[s, i] is of the others, and w[i] smaller by its share")
        if self.over == "parts-within-cases":
            lines.append("    r[s, i] = mean over p of r[s, i, p]")
        pooled = "Σᵢ Σₚ w[i] · r[s, i, p] / Σᵢ Σₚ w[i]"
        lines.append(f"    score[s] = {pooled if self.over == 'parts' else 'Σᵢ w[i] · r[s, i] / Σᵢ w[i]'}")
        return _lines.with_ranks(lines, better=MEAN_RANK.better, ties=self.ties, tolerance=self.tolerance)

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """Rank the submissions of a score table; `roles` as in `MeanThenRank.rank`."""
        from isocenter.ranking.rules._beside import with_components

        ranks = self._ranks(scores, roles)
        board = place(
            [replace(row, score=ranks.score(row.submission)) for row in ranks.rows],
            metric=MEAN_RANK,
            ties=self.ties,
            tolerance=self.tolerance,
            name=name or self.metric,
            rule=str(self),
        )
        return with_undefined(with_components(board, self.beside, scores, roles, ranks.by_metric), ranks.cohorts)

    def rejects(self, scores: pl.DataFrame, *, roles: Mapping[str, Role] | None = None) -> Reject | None:
        """Draws without a case in which any of the metrics is defined."""
        if not leaves_undefined_out(self.undefined) or (known := self._ranks(scores, roles).counts > 0).all():
            return None
        return lambda counts: ~(counts[:, known] > 0).any(axis=1)

    def draw(self, scores: pl.DataFrame, draws: Resamples, *, roles: Mapping[str, Role] | None = None) -> Drawn:
        """The mean ranks in every draw of cases, all parts of a case together; who competes is the same in each."""
        ranks = self._ranks(scores, roles)
        teams = [row.submission for row in ranks.rows if row.role == "team" and row.submission in ranks.totals]
        totals = np.array([ranks.totals[team] for team in teams]).reshape(len(teams), len(ranks.cases))
        # A case counts by its weight and by how many ranks it has: none where all metrics are left out.
        counts = ranks.weights * ranks.counts
        weight = None if np.ptp(counts) == 0 else counts
        values = totals / np.where(ranks.counts > 0, ranks.counts, 1.0)
        return Drawn(
            submissions=tuple(teams),
            competing=np.ones(len(teams), np.bool_),
            full=np.array([ranks.score(team) for team in teams], np.float64),
            scores=resample_means(values, draws, weight=weight),
            better="lower",
            ties=self.ties,
            tolerance=self.tolerance,
            values=values,
            weight=weight,
        )

    def _ranks(self, scores: pl.DataFrame, roles: Mapping[str, Role] | None) -> _Ranks:
        self.check()
        over = "cases" if self.over == "cases" else "parts"
        how: dict[str, Any] = {"over": over, "part": self.part, "roles": roles}
        cohorts = {
            name: read_cells(scores, name, self.missing, undefined=undefined_of(self.undefined, name), **how)
            for name in self.reads
        }
        first = next(iter(cohorts.values()))
        present = set.intersection(*({entry.row.submission for entry in found.scored} for found in cohorts.values()))
        summed = {name: self._sum_ranks(name, found, present) for name, found in cohorts.items()}
        sums = {name: found for name, (found, _) in summed.items()}
        sizes = {name: size for name, (_, size) in summed.items()}
        return _Ranks.of(
            [replace(entry.row, disqualified=entry.row.submission not in present) for entry in first.entries],
            sums,
            sizes,
            weights=self._weighted,
            cases={case: cohort_of(scores)[case] for case in first.every},
            cohorts=tuple(cohorts.values()),
            within=self.over == "parts-within-cases",
            unit=Fraction(1, 2 if self.ties == "average" else 1),
        )

    def _sum_ranks(self, name: str, cohort: Cohort, present: set[str]) -> tuple[dict[str, Floats], Floats]:
        """By submission the sum of its ranks in each case, by one metric, and how many ranks a case has."""
        better = catalogue.get(name).better
        assert better != "neither"
        teams = [entry for entry in cohort.scored if entry.row.submission in present and entry.row.role == "team"]
        beside = [entry for entry in cohort.scored if entry.row.submission in present and entry.row.role != "team"]
        sums = {entry.row.submission: np.zeros(len(cohort.every)) for entry in (*teams, *beside)}
        at = {case: place for place, case in enumerate(cohort.every)}
        size = np.zeros(len(at))
        how: dict[str, Any] = {"ties": self.ties, "tolerance": self.tolerance}
        for cell in _cells(cohort, in_parts=self.over != "cases"):
            case = at[cell[0]]
            size[case] += 1
            values = [_number(entry, cell) for entry in teams]
            for entry, rank in zip(teams, rank_values(values, better, **how), strict=True):
                sums[entry.row.submission][case] += rank
            for entry in beside:
                among = rank_values([*values, _number(entry, cell)], better, **how)
                sums[entry.row.submission][case] += among[-1]
        return sums, size


@dataclass(frozen=True, slots=True)
class _Ranks:
    """The ranks of everybody in every case.

    Attributes
    ----------
    rows
        Still without score and rank.
    cases, weights
        Names of the cases, and their weights.
    totals, counts
        By submission the sum of its ranks in each case, and how many ranks that is; or their mean, and 1.
    step
        Every total is a whole multiple of it.
    by_metric
        By metric and submission, the mean rank by this metric alone.
    cohorts
        What was read of each metric.
    """

    rows: list[BoardRow]
    cases: tuple[str, ...]
    weights: Floats
    totals: Mapping[str, Floats]
    counts: Floats
    step: float
    by_metric: Mapping[str, Mapping[str, float]]
    cohorts: tuple[Cohort, ...]

    @classmethod
    def of(
        cls,
        rows: list[BoardRow],
        sums: Mapping[str, Mapping[str, Floats]],
        sizes: Mapping[str, Floats],
        *,
        weights: tuple[tuple[str, float], ...],
        cases: Mapping[str, float],
        cohorts: tuple[Cohort, ...],
        within: bool,
        unit: Fraction,
    ) -> _Ranks:
        """From sums of ranks and their numbers, by metric (and submission)."""
        of_case = np.array(list(cases.values()))
        total = math.fsum(weight for _, weight in weights)
        first = next(iter(sizes.values()))
        alike = all((size == first).all() for size in sizes.values())
        count = first if alike else np.asarray(sum(weight * sizes[name] for name, weight in weights) / total)
        summed = {
            submission: np.asarray(sum(weight * sums[name][submission] for name, weight in weights) / total)
            for submission in next(iter(sums.values()))
        }
        by_metric = {
            name: {
                submission: _mean_rank(of_case, *_settle(found, sizes[name], within=within))
                for submission, found in its.items()
            }
            for name, its in sums.items()
        }
        return cls(
            rows=rows,
            cases=tuple(cases),
            weights=of_case,
            totals={submission: _settle(found, count, within=within)[0] for submission, found in summed.items()},
            counts=_settle(count, count, within=within)[1],
            step=_step(weights, sizes, within=within, unit=unit),
            by_metric=by_metric,
            cohorts=cohorts,
        )

    def score(self, submission: str) -> float | None:
        """The mean over the cases, summed exactly; None for who has none."""
        return _mean_rank(self.weights, self.totals[submission], self.counts) if submission in self.totals else None


def _settle(sums: Floats, count: Floats, *, within: bool) -> tuple[Floats, Floats]:
    """Sums of ranks and their number in each case; within cases first, their mean and 1 (0 where there are none)."""
    return (sums / np.where(count > 0, count, 1.0), (count > 0).astype(np.float64)) if within else (sums, count)


def _mean_rank(weights: Floats, totals: Floats, counts: Floats) -> float:
    return math.fsum(weights * totals) / math.fsum(weights * counts)


def _step(
    weights: tuple[tuple[str, float], ...], sizes: Mapping[str, Floats], *, within: bool, unit: Fraction
) -> float:
    """The largest number that all totals are multiples of: metrics have whole weights, up to a common factor."""
    exact = {name: Fraction(weight).limit_denominator(10_000) for name, weight in weights}
    shared = math.lcm(*(weight.denominator for weight in exact.values()))
    common = math.gcd(*(int(weight * shared) for weight in exact.values()))
    whole = {name: int(weight * shared) // common for name, weight in exact.items()}
    if not within:
        return float(unit / sum(whole.values()))
    in_case = sum(whole[name] * sizes[name] for name in whole)
    return float(unit / math.lcm(*(int(number) for number in np.unique(in_case) if number > 0)))


def _cells(cohort: Cohort, *, in_parts: bool) -> list[Cell]:
    """What is ranked by itself: all cells in which anybody has a number, or, without parts, the last rank."""
    cells = {cell for entry in cohort.scored for cell in entry.numbers or ()}
    if not in_parts:
        cells |= {(case, "") for entry in cohort.scored for case in entry.ranked_last if case in cohort.weights}
    return sorted(cells)


def _number(entry: Entry, cell: Cell) -> float | None:
    return None if cell[0] in entry.ranked_last else (entry.numbers or {})[cell]
