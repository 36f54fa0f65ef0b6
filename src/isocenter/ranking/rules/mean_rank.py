"""Rank in every case, then rank by the mean of these ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from isocenter.metrics import catalogue
from isocenter.metrics.catalogue import Metric
from isocenter.ranking._board import Board, BoardRow
from isocenter.ranking._cells import Cohort, Entry, read_cells
from isocenter.ranking._drawn import Drawn
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import MissingSetting, check_missing
from isocenter.ranking._ties import TIES_IN_WORDS, rank_values
from isocenter.ranking.rules import _lines
from isocenter.ranking.rules._base import (
    CaseValues,
    Naming,
    RankingRule,
    check_ties,
    in_words,
    place,
    rankable,
    ranking_rule,
)
from isocenter.ranking.rules._settings import TiesSetting, Tolerance, WeightedMetrics
from isocenter.resampling.counts import Resamples
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

    Notes
    -----
    score = Σ wⱼ cₙ rⱼₙ / Σ wⱼ cₙ, with rⱼₙ the rank by metric j in case n among those who compete, and cₙ the case
    weight. What only stands beside the teams gets the ranks it would have had, and moves nobody. Scores depend on who
    takes part: those of two boards do not compare, and a newcomer can change the order of others.
    """

    relative = True

    metrics: str | WeightedMetrics
    missing: MissingSetting
    ties: TiesSetting
    tolerance: Tolerance = 1e-9

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
        check_ties(self.ties)

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
        if self.missing.leaves_out:
            msg = "a case that is left out has no rank; let it rank last, or count as something"
            raise ValueError(msg)

    @property
    def rank_set_basis(self) -> str:
        """Differences of ranks."""
        return _lines.DIFFERENCES

    def case_values(self) -> CaseValues:
        """The metric, if there is one only."""
        if len(self.reads) > 1:
            return RankingRule.case_values(self)
        metric = catalogue.get(self.reads[0])
        return CaseValues(metric, self.missing)

    def alternatives(self, asked: Asked) -> Iterator[Variant]:
        """Other aggregations, ties, metrics and policies."""
        from isocenter.ranking.rules import _variants

        if len(self.reads) == 1:
            yield from _variants.aggregate_one(self, asked)
        else:
            yield from _variants.aggregate_several(self)
            yield from _variants.share_ranks(self, asked)
        swap = lambda old, new: replace(self, metrics=_variants.rename(self._weighted, old, new))  # noqa: E731
        yield from _variants.change_metric(self, asked, swap)
        yield from _variants.change_policy(self, asked)

    def words(self, name: Naming) -> str:
        """Metrics, missing cases and ties."""
        return (
            f"mean over all cases of the rank in each by {in_words(self._weighted, name)}, lower is better; a missing "
            f"or unusable case {self.missing}; equals {TIES_IN_WORDS[self.ties]}"
        )

    def pseudo_code(self) -> str:
        """Values, ranks in each case, their mean, ranks."""
        lines = [
            f"for each metric m of {_lines.listed(self.reads)} and each case i:",
            "    for each submission s: x[m, s, i] = m of s in i",
            f"    {_lines.missing(self.missing, self.reads, 'x[m, s, i]')}",
            f"    for each submission s, by x[m, s, i] ({_lines.equal(self.tolerance)}):",
            f"        r[m, s, i] = {_lines.RANKS[self.ties]}",
            "for each submission s:",
            f"    r[s, i] = {_lines.weighted_mean(self._weighted, 'r[{}, s, i]')}",
            "    score[s] = Σᵢ w[i] · r[s, i] / Σᵢ w[i]",
        ]
        return _lines.with_ranks(lines, better=MEAN_RANK.better, ties=self.ties, tolerance=self.tolerance)

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """Rank the submissions of a score table; `roles` as in `MeanThenRank.rank`."""
        ranks = self._ranks(scores, roles)
        return place(
            [replace(row, score=ranks.score(row.submission)) for row in ranks.rows],
            metric=MEAN_RANK,
            ties=self.ties,
            tolerance=self.tolerance,
            name=name or self.metric,
            rule=str(self),
        )

    def draw(self, scores: pl.DataFrame, draws: Resamples, *, roles: Mapping[str, Role] | None = None) -> Drawn:
        """The mean ranks in every draw of cases; who competes is the same in each of them."""
        ranks = self._ranks(scores, roles)
        teams = [row.submission for row in ranks.rows if row.role == "team" and row.submission in ranks.means]
        values = np.array([ranks.means[team] for team in teams]).reshape(len(teams), len(ranks.weights))
        equal = np.ptp(ranks.weights) == 0
        return Drawn(
            submissions=tuple(teams),
            competing=np.ones(len(teams), np.bool_),
            full=np.array([ranks.score(team) for team in teams], np.float64),
            scores=resample_means(values, draws, weight=None if equal else ranks.weights),
            better="lower",
            ties=self.ties,
            tolerance=self.tolerance,
            values=values,
            weight=None if equal else ranks.weights,
        )

    def _ranks(self, scores: pl.DataFrame, roles: Mapping[str, Role] | None) -> _Ranks:
        self.check()
        cohorts = {name: read_cells(scores, name, self.missing, roles=roles) for name, _ in self._weighted}
        first = next(iter(cohorts.values()))
        present = set.intersection(*({entry.row.submission for entry in found.scored} for found in cohorts.values()))
        by_metric = {name: self._in_cases(name, found, present) for name, found in cohorts.items()}
        total = math.fsum(weight for _, weight in self._weighted)
        means = {
            submission: np.asarray(sum(weight * by_metric[name][submission] for name, weight in self._weighted) / total)
            for submission in present
        }
        rows = [replace(entry.row, disqualified=entry.row.submission not in present) for entry in first.entries]
        return _Ranks(rows, means, np.array(list(first.weights.values())))

    def _in_cases(self, name: str, cohort: Cohort, present: set[str]) -> dict[str, Floats]:
        """By submission its ranks in all cases, by one metric."""
        better = catalogue.get(name).better
        assert better != "neither"
        teams = [entry for entry in cohort.scored if entry.row.submission in present and entry.row.role == "team"]
        beside = [entry for entry in cohort.scored if entry.row.submission in present and entry.row.role != "team"]
        ranks = {entry.row.submission: np.zeros(len(cohort.weights)) for entry in (*teams, *beside)}
        for at, case in enumerate(cohort.weights):
            values = [_number(entry, case) for entry in teams]
            for entry, rank in zip(
                teams, rank_values(values, better, ties=self.ties, tolerance=self.tolerance), strict=True
            ):
                ranks[entry.row.submission][at] = rank
            for entry in beside:
                among = rank_values([*values, _number(entry, case)], better, ties=self.ties, tolerance=self.tolerance)
                ranks[entry.row.submission][at] = among[-1]
        return ranks


@dataclass(frozen=True, slots=True)
class _Ranks:
    """Ranks of everybody in every case, means over the metrics, and the weights of the cases."""

    rows: list[BoardRow]
    means: Mapping[str, Floats]
    weights: Floats

    def score(self, submission: str) -> float | None:
        """The mean over the cases, summed exactly; None for who has none."""
        if submission not in self.means:
            return None
        return math.fsum(self.weights * self.means[submission]) / math.fsum(self.weights)


def _number(entry: Entry, case: str) -> float | None:
    return None if case in entry.ranked_last else (entry.numbers or {})[case, ""]
