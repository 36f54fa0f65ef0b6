"""What rules have in common that take one number per case, sorted and not weighed, and rank by an aggregate of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from isocenter.metrics import catalogue
from isocenter.ranking._board import Board
from isocenter.ranking._cells import Cohort, read_cells, reject_undefined, with_undefined
from isocenter.ranking._drawn import Drawn
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import leaves_undefined_out, undefined_in_words
from isocenter.ranking._ties import TIES_IN_WORDS
from isocenter.ranking.rules import _lines
from isocenter.ranking.rules._base import Naming, OfOneMetric, of_part, place
from isocenter.resampling.counts import Reject, Resamples
from isocenter.resampling.matrices import Floats


class OverCases(OfOneMetric, ABC):
    """A rule by an aggregate of one number per case.

    A subclass is a frozen dataclass with the fields `metric`, `missing`, `ties`, `tolerance` and its own. It says what
    it takes over the cases in words (`aggregate`) and in pseudo-code (`formula`), and computes it in all bootstrap
    resamples at once (`aggregate_resamples`). With a field `undefined` (`UndefinedSetting`), organisers can say what is
    done where the reference leaves the metric undefined; without, there is no board then. With a field `part`, it can
    rank by one part of each case.
    """

    __slots__ = ()

    roundable = True

    @property
    @abstractmethod
    def aggregate(self) -> str:
        """What is taken over the cases, as in "median"."""

    @property
    @abstractmethod
    def formula(self) -> str:
        """It in pseudo-code, of the values x[s, i] of a submission s in the cases i."""

    @abstractmethod
    def aggregate_resamples(self, values: Floats, draws: Resamples) -> Floats:
        """Submissions × resamples, from submissions × cases."""

    def roughness(self, cases: int) -> str:  # noqa: ARG002 (some rules are, with few cases)
        """Why a normal approximation says nothing of the score, with so many cases; "" if it does."""
        return ""

    def check(self) -> None:
        """Whether the metric can be ranked, and can have the value that a missing case counts as."""
        super().check()
        if self.missing.leaves_out:
            msg = f"a {self.aggregate} of the cases that are left depends on which are; name another policy for them"
            raise ValueError(msg)

    def words(self, name: Naming) -> str:
        """Aggregate, direction, missing cases and ties."""
        metric = catalogue.get(self.metric)
        return (
            f"{self.aggregate} of {name(self.metric)}{of_part(self.part)} over all cases, {metric.better} is better; a "
            f"missing or unusable case {self.missing}{undefined_in_words(self.undefined)}; equals "
            f"{TIES_IN_WORDS[self.ties]}"
        )

    def pseudo_code(self) -> str:
        """Values, aggregate, ranks."""
        lines = [
            "for each submission s:",
            *_lines.cells(self.metric, self.missing, self.undefined, self.part),
            f"    score[s] = {self.formula}",
        ]
        better = catalogue.get(self.metric).better
        return _lines.with_ranks(lines, better=better, ties=self.ties, tolerance=self.tolerance)

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """Rank the submissions of a score table; `roles` as in `MeanThenRank.rank`."""
        cohort, values = self._read(scores, roles)
        full = (
            self.aggregate_resamples(values, Resamples.all_cases(len(cohort.weights)))[:, 0].tolist()
            if len(values)
            else []
        )
        by_name = dict(zip((entry.row.submission for entry in cohort.scored), full, strict=True))
        board = place(
            [replace(entry.row, score=by_name.get(entry.row.submission)) for entry in cohort.entries],
            metric=catalogue.get(self.metric),
            ties=self.ties,
            tolerance=self.tolerance,
            name=name or self.metric,
            rule=str(self),
        )
        return with_undefined(board, [cohort])

    def draw(self, scores: pl.DataFrame, draws: Resamples, *, roles: Mapping[str, Role] | None = None) -> Drawn:
        """The scores in every draw of cases."""
        cohort, values = self._read(scores, roles)
        better = catalogue.get(self.metric).better
        assert better != "neither"
        return Drawn(
            submissions=tuple(entry.row.submission for entry in cohort.scored),
            competing=np.array([entry.row.role == "team" for entry in cohort.scored], np.bool_),
            full=self.aggregate_resamples(values, Resamples.all_cases(len(cohort.weights)))[:, 0],
            scores=self.aggregate_resamples(values, cohort.resamples(draws)),
            better=better,
            ties=self.ties,
            tolerance=self.tolerance,
            rough=self.roughness(len(cohort.weights)),
        )

    def rejects(self, scores: pl.DataFrame, *, roles: Mapping[str, Role] | None = None) -> Reject | None:
        """Draws without a case in which the metric is defined."""
        return reject_undefined([self._read(scores, roles)[0]]) if leaves_undefined_out(self.undefined) else None

    def _read(self, scores: pl.DataFrame, roles: Mapping[str, Role] | None) -> tuple[Cohort, Floats]:
        self.check()
        cohort = read_cells(scores, self.metric, self.missing, undefined=self.undefined, part=self.part, roles=roles)
        refuse_weights(cohort, self.aggregate)
        return cohort, cohort.sums()[0]


def refuse_weights(cohort: Cohort, what: str) -> None:
    """Sorting knows whole cases only: there is no median of two thirds of one."""
    if cohort.weight_vector() is not None:
        msg = f"the cases have sampling weights, which a {what} cannot take into account; rank by a mean"
        raise ValueError(msg)
