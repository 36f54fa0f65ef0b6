"""Rank by the sum of metrics that are stretched from the worst to the best team; to reproduce what others did."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from isocenter.metrics import catalogue
from isocenter.metrics.catalogue import Metric
from isocenter.ranking._board import Board, Note
from isocenter.ranking._cells import Cohort, read_cells, reject_undefined, with_undefined
from isocenter.ranking._drawn import Drawn
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import (
    MissingSetting,
    UndefinedOfSeveralSetting,
    check_undefined,
    check_undefined_names,
    freeze_undefined,
    leaves_undefined_out,
    tell_metric,
    undefined_in_words,
    undefined_of,
)
from isocenter.ranking._ties import TIES_IN_WORDS
from isocenter.ranking.rules import _lines
from isocenter.ranking.rules._base import Naming, RankingRule, in_words, of_part, place, ranking_rule
from isocenter.ranking.rules._settings import PartName, TiesSetting, Tolerance, WeightedMetrics
from isocenter.ranking.rules.mean import MeanThenRank
from isocenter.resampling.counts import Reject, Resamples
from isocenter.resampling.matrices import Floats

if TYPE_CHECKING:
    from isocenter.ranking.rules._variants import Asked, Variant

NORMALISED = catalogue.register(
    Metric(
        "normalised_sum",
        "",
        "higher",
        (-math.inf, math.inf),
        3,
        "mean of metrics, 0 for the worst team, 1 for the best",
    )
)


@ranking_rule("normalised-sum", "by the sum of metrics that are stretched from the worst to the best team")
@dataclass(frozen=True, slots=True, kw_only=True)
class NormalisedSum(RankingRule):
    """Mean of each metric, stretched so that the worst team has 0 and the best 1; then the weighted mean of these.

    Offered to reproduce rankings that were made so (SynthRAD2023). Not to be recommended: the score of everybody
    depends on who is worst, and one bad submission can exchange the first two.

    Attributes
    ----------
    metrics
        Names and weights.
    missing, ties, tolerance, undefined, part
        As in `MeanThenRank`; a metric is left out of the cases in which it is undefined, and no other. `undefined`
        may be a policy by metric, as in `RankThenMean`.

    Notes
    -----
    score = Σ wⱼ (xⱼ - worstⱼ) / (bestⱼ - worstⱼ) / Σ wⱼ; where all teams have the same value it is 1/2 for all. What
    only stands beside the teams is measured on their scale, and may lie outside of it.
    """

    relative = True

    metrics: WeightedMetrics
    missing: MissingSetting
    ties: TiesSetting = "min"
    tolerance: Tolerance = 1e-9
    undefined: UndefinedOfSeveralSetting = "refuse"
    part: PartName = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "undefined", freeze_undefined(self.undefined))

    @property
    def metric(self) -> str:
        """What the board shows."""
        return NORMALISED.name

    @property
    def reads(self) -> tuple[str, ...]:
        """The metrics that it needs of every case."""
        return tuple(name for name, _ in self.metrics)

    @property
    def components(self) -> tuple[str, ...]:
        """The metrics that are added up."""
        return self.reads

    def check(self) -> None:
        """Whether every metric can be ranked, and can have the value that a missing case counts as."""
        if not self.metrics or not all(0 < weight < math.inf for _, weight in self.metrics):
            msg = f"a sum needs metrics with positive weights, not {self.metrics}"
            raise ValueError(msg)
        for name, _ in self.metrics:
            with tell_metric(self.undefined, name):
                self._mean(name).check()
                check_undefined(undefined_of(self.undefined, name), catalogue.get(name), alone=False)
        check_undefined_names(self.undefined, self.reads)

    @property
    def beside(self) -> tuple[MeanThenRank, ...]:
        """The mean of every metric, before it is stretched."""
        return tuple(map(self._mean, self.reads))

    def _mean(self, name: str) -> MeanThenRank:
        how = {"ties": self.ties, "tolerance": self.tolerance, "part": self.part}
        return MeanThenRank(name, self.missing, undefined=undefined_of(self.undefined, name), **how)  # type: ignore[arg-type]

    @property
    def rank_set_basis(self) -> str:
        """There are none."""
        return "there are none, since a sum that depends on the worst team has none"

    def alternatives(self, asked: Asked) -> Iterator[Variant]:
        """Other aggregations, metrics and policies."""
        from isocenter.ranking.rules import _variants

        yield from _variants.aggregate_several(self)
        yield from _variants.change_metric(self, asked, lambda old, new: _variants.swap_metric(self, old, new))
        yield from _variants.change_policy(self, asked)

    def words(self, name: Naming) -> str:
        """Metrics, missing cases and ties."""
        undefined = undefined_in_words(self.undefined, name)
        return (
            f"mean of {in_words(self.metrics, name)}{of_part(self.part)}, each stretched from the worst to the best "
            f"team, higher is better; a missing or unusable case {self.missing}{undefined}; "
            f"equals {TIES_IN_WORDS[self.ties]}"
        )

    def pseudo_code(self) -> str:
        """Means, their stretch, the sum, ranks."""
        lines = [
            *_lines.means(self.reads, self.missing, self.undefined, self.part),
            "for each metric m and submission s:",
            "    u[m, s] = (v[m, s] − worst of v[m, t]) / (best of v[m, t] − worst of v[m, t]), over all teams t",
            "    if all teams have the same v[m, t]: u[m, s] = 0.5",
            "for each submission s:",
            f"    score[s] = {_lines.weighted_mean(self.metrics, 'u[{}, s]')}",
        ]
        return _lines.with_ranks(lines, better=NORMALISED.better, ties=self.ties, tolerance=self.tolerance)

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """Rank the submissions of a score table; `roles` as in `MeanThenRank.rank`."""
        self.check()
        boards = [self._mean(metric).rank(scores, roles=roles) for metric, _ in self.metrics]
        drawn = self.draw(
            scores, Resamples.all_cases(scores.filter(pl.col("case") != "")["case"].n_unique()), roles=roles
        )
        full = dict(zip(drawn.submissions, drawn.full.tolist(), strict=True))
        rows = [
            replace(row, score=full.get(row.submission), rank=None, disqualified=row.submission not in full)
            for row in sorted((*boards[0].rows, *boards[0].unlisted), key=lambda row: row.submission)
        ]
        board = place(
            rows, metric=NORMALISED, ties=self.ties, tolerance=self.tolerance, name=name or self.metric, rule=str(self)
        )
        note = "Scores depend on the worst team that takes part: this ranking is for comparison with others made so"
        return with_undefined(replace(board, notes=(Note(note),)), self._cohorts(scores, roles))

    def _cohorts(self, scores: pl.DataFrame, roles: Mapping[str, Role] | None) -> list[Cohort]:
        """What is defined by every metric, where that is not all."""
        if self.undefined == "refuse":
            return []
        how: dict[str, Any] = {"part": self.part, "roles": roles}
        return [
            read_cells(scores, name, self.missing, undefined=undefined_of(self.undefined, name), **how)
            for name in self.reads
        ]

    def rejects(self, scores: pl.DataFrame, *, roles: Mapping[str, Role] | None = None) -> Reject | None:
        """Draws without a case in which one of the metrics is defined."""
        return reject_undefined(self._cohorts(scores, roles)) if leaves_undefined_out(self.undefined) else None

    def draw(self, scores: pl.DataFrame, draws: Resamples, *, roles: Mapping[str, Role] | None = None) -> Drawn:
        """The scores in every draw of cases."""
        parts = [self._mean(name).draw(scores, draws, roles=roles) for name, _ in self.metrics]
        common = sorted(set.intersection(*(set(part.submissions) for part in parts)))
        at = [[part.submissions.index(name) for name in common] for part in parts]
        competing = parts[0].competing[at[0]]
        weights = [weight for _, weight in self.metrics]

        def together(columns: list[Floats]) -> Floats:
            stretched = [self._stretched(part, column, competing) for part, column in zip(parts, columns, strict=True)]
            total = sum(weight * column for weight, column in zip(weights, stretched, strict=True))
            return np.asarray(total / math.fsum(weights))

        return Drawn(
            submissions=tuple(common),
            competing=competing,
            full=together([part.full[rows][:, np.newaxis] for part, rows in zip(parts, at, strict=True)])[:, 0],
            scores=together([part.scores[rows] for part, rows in zip(parts, at, strict=True)]),
            better="higher",
            ties=self.ties,
            tolerance=self.tolerance,
            rough="a sum that depends on the worst team has no rank sets",
        )

    def _stretched(self, part: Drawn, scores: Floats, competing: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Floats:
        x = scores if part.better == "higher" else -scores
        if not competing.any():
            return np.full_like(x, 0.5)
        low, high = x[competing].min(axis=0), x[competing].max(axis=0)
        same = high - low <= self.tolerance * np.maximum(abs(low), abs(high))
        return np.where(same, 0.5, (x - low) / np.where(same, 1.0, high - low))
