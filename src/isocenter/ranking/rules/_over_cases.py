"""What rules have in common that take one number per case, sorted and not weighed, and rank by an aggregate of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from isocenter.metrics import catalogue
from isocenter.ranking._board import Board
from isocenter.ranking._cells import Cohort, read_cells
from isocenter.ranking._drawn import Drawn
from isocenter.ranking._draws import CaseDraws
from isocenter.ranking._entry import Role
from isocenter.ranking._matrices import Floats
from isocenter.ranking._missing import LeaveOut, Missing, check_missing
from isocenter.ranking._ties import TIES_IN_WORDS, Ties
from isocenter.ranking.rules._base import RankingRule, place


class OverCases(RankingRule, ABC):
    """What these rules have in common: one number per case, sorted and not weighed."""

    __slots__ = ()

    metric: str
    missing: Missing
    ties: Ties
    tolerance: float

    @property
    def reads(self) -> tuple[str, ...]:
        """The one metric that is aggregated."""
        return (self.metric,)

    @property
    def roundable(self) -> bool:
        """An aggregate of values may be shown rounded."""
        return True

    @property
    def stand_in(self) -> float | None:
        """What the policy says of the metric."""
        return self.missing.stand_in(catalogue.get(self.metric))

    def check(self) -> None:
        """Whether the metric can be ranked, and can have the value that a missing case counts as."""
        metric = catalogue.get(self.metric)
        if metric.better == "neither":
            msg = f"{self.metric} is an observation and has no better or worse"
            raise ValueError(msg)
        if self.ties not in TIES_IN_WORDS:
            msg = f"ties are one of {', '.join(TIES_IN_WORDS)}, not {self.ties!r}"
            raise ValueError(msg)
        check_missing(self.missing, metric)
        if isinstance(self.missing, LeaveOut):
            msg = f"a {self._words()} of the cases that are left depends on which are; name another policy for them"
            raise ValueError(msg)  # noqa: TRY004 (a policy of another kind)

    @abstractmethod
    def _words(self) -> str:
        """What is taken over the cases."""

    def _rough(self, cases: int) -> str:  # noqa: ARG002 (some rules are, with few cases)
        return ""

    @abstractmethod
    def _scores(self, values: Floats, draws: CaseDraws) -> Floats:
        """It, in every draw, from submissions × cases."""

    def __str__(self) -> str:
        metric = catalogue.get(self.metric)
        return (
            f"{self._words()} of {self.metric} over all cases, {metric.better} is better; a missing or unusable case "
            f"{self.missing}; equals {TIES_IN_WORDS[self.ties]}"
        )

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """Rank the submissions of a score table; `roles` as in `MeanThenRank.rank`."""
        cohort, values = self._read(scores, roles)
        full = self._scores(values, CaseDraws.all_cases(len(cohort.weights)))[:, 0].tolist() if len(values) else []
        by_name = dict(zip((entry.row.submission for entry in cohort.scored), full, strict=True))
        return place(
            [replace(entry.row, score=by_name.get(entry.row.submission)) for entry in cohort.entries],
            metric=catalogue.get(self.metric),
            ties=self.ties,
            tolerance=self.tolerance,
            name=name or self.metric,
            rule=str(self),
        )

    def draw(self, scores: pl.DataFrame, draws: CaseDraws, *, roles: Mapping[str, Role] | None = None) -> Drawn:
        """The scores in every draw of cases."""
        cohort, values = self._read(scores, roles)
        better = catalogue.get(self.metric).better
        assert better != "neither"
        return Drawn(
            submissions=tuple(entry.row.submission for entry in cohort.scored),
            competing=np.array([entry.row.role == "team" for entry in cohort.scored], np.bool_),
            full=self._scores(values, CaseDraws.all_cases(len(cohort.weights)))[:, 0],
            scores=self._scores(values, draws),
            better=better,
            ties=self.ties,
            tolerance=self.tolerance,
            rough=self._rough(len(cohort.weights)),
        )

    def _read(self, scores: pl.DataFrame, roles: Mapping[str, Role] | None) -> tuple[Cohort, Floats]:
        self.check()
        cohort = read_cells(scores, self.metric, self.missing, roles=roles)
        refuse_weights(cohort, self._words())
        return cohort, cohort.sums()[0]


def refuse_weights(cohort: Cohort, what: str) -> None:
    """Sorting knows whole cases only: there is no median of two thirds of one."""
    if cohort.weight_vector() is not None:
        msg = f"the cases have sampling weights, which a {what} cannot take into account; rank by a mean"
        raise ValueError(msg)
