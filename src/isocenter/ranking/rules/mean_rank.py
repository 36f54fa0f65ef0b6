"""Rank in every case, then rank by the mean of these ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from isocenter.metrics import catalogue
from isocenter.metrics.catalogue import Metric
from isocenter.ranking._board import Board, BoardRow
from isocenter.ranking._cells import Cohort, Entry, read_cells
from isocenter.ranking._drawn import Drawn
from isocenter.ranking._draws import CaseDraws
from isocenter.ranking._entry import Role
from isocenter.ranking._matrices import Floats
from isocenter.ranking._missing import LeaveOut, Missing, check_missing
from isocenter.ranking._score_draws import mean_draws
from isocenter.ranking._ties import TIES_IN_WORDS, Ties, rank_values
from isocenter.ranking.rules._base import RankingRule, place

MEAN_RANK = catalogue.register(
    Metric("mean_rank", "", "lower", (1.0, math.inf), 2, "mean over the cases of the rank in each of them")
)


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

    metrics: str | tuple[tuple[str, float], ...]
    missing: Missing
    ties: Ties
    tolerance: float = 1e-9

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
        if self.ties not in TIES_IN_WORDS:
            msg = f"ties are one of {', '.join(TIES_IN_WORDS)}, not {self.ties!r}"
            raise ValueError(msg)

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
    def relative(self) -> bool:
        """A rank depends on the others."""
        return True

    @property
    def components(self) -> tuple[str, ...]:
        """The metrics, if there are several."""
        return self.reads if len(self.reads) > 1 else ()

    def check(self) -> None:
        """Whether every metric can be ranked, and can have the value that a missing case counts as."""
        for name, _ in self._weighted:
            metric = catalogue.get(name)
            if metric.better == "neither":
                msg = f"{name} is an observation and has no better or worse"
                raise ValueError(msg)
            check_missing(self.missing, metric, case_by_case=True)
        if isinstance(self.missing, LeaveOut):
            msg = "a case that is left out has no rank; let it rank last, or count as something"
            raise ValueError(msg)  # noqa: TRY004 (a policy of another kind)

    def __str__(self) -> str:
        by = ", ".join(name if weight == 1 else f"{name} (×{weight:g})" for name, weight in self._weighted)
        return (
            f"mean over all cases of the rank in each by {by}, lower is better; a missing or unusable case "
            f"{self.missing}; equals {TIES_IN_WORDS[self.ties]}"
        )

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

    def draw(self, scores: pl.DataFrame, draws: CaseDraws, *, roles: Mapping[str, Role] | None = None) -> Drawn:
        """The mean ranks in every draw of cases; who competes is the same in each of them."""
        ranks = self._ranks(scores, roles)
        teams = [row.submission for row in ranks.rows if row.role == "team" and row.submission in ranks.means]
        values = np.array([ranks.means[team] for team in teams]).reshape(len(teams), len(ranks.weights))
        equal = np.ptp(ranks.weights) == 0
        return Drawn(
            submissions=tuple(teams),
            competing=np.ones(len(teams), np.bool_),
            full=np.array([ranks.score(team) for team in teams], np.float64),
            scores=mean_draws(values, draws, weight=None if equal else ranks.weights),
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
