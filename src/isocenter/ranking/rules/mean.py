"""Ranking rules: frozen descriptions of how a score table becomes a board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from isocenter.metrics import catalogue
from isocenter.ranking._board import Board, Note
from isocenter.ranking._cells import Cohort, Over, Undefined, left_out_notes, mean_of, read_cells
from isocenter.ranking._drawn import Drawn
from isocenter.ranking._draws import CaseDraws
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import FixedValue, LeaveOut, Missing, check_missing
from isocenter.ranking._score_draws import mean_draws, ratio_draws
from isocenter.ranking._ties import TIES_IN_WORDS, Ties
from isocenter.ranking.rules._base import RankingRule, place


@dataclass(frozen=True, slots=True)
class MeanThenRank(RankingRule):
    """Mean over the cases, or over all their parts, then rank by the mean.

    Attributes
    ----------
    metric
        What is averaged, and by its direction in the catalogue ranked.
    missing
        What a case counts as that has no output, or one that could not be measured.
    ties
        What equal means get; see `rank_values`.
    tolerance
        Means closer than this × the larger of two are equal.
    over
        "cases": one number per case. "parts": every part of every case is one number, so that a case with more parts
        has more say (the DVH score of OpenKBP). "parts-within-cases": the mean of the parts of each case first.
    undefined
        What becomes of a submission with a case that was measured, but for which the metric is undefined: "refuse" to
        make a board, or leave the submission off this board ("unlisted") because it competes on others only.

    Notes
    -----
    score = Σ wᵢ xᵢ / Σ wᵢ over all cases i of the cohort, wᵢ the case weights; over parts, each part has the weight of
    its case. It is summed exactly, so that neither the order of the cases nor the number of workers can move its last
    bit. The cohort is every case that any of the submissions was asked for: a case absent from one table is missing
    there, not left out.

    A metric that is undefined for a case (its value is null, though the output was there and could be read) has no
    place in a mean, so the rule does not guess, and says which case it is.
    """

    metric: str
    missing: Missing
    ties: Ties = "min"
    tolerance: float = 1e-9
    over: Over = "cases"
    undefined: Undefined = "refuse"

    def __post_init__(self) -> None:
        if self.ties not in TIES_IN_WORDS:
            msg = f"ties are one of {', '.join(TIES_IN_WORDS)}, not {self.ties!r}"
            raise ValueError(msg)
        if not isinstance(self.missing, Missing):
            check_missing(self.missing, catalogue.get(self.metric))

    @property
    def reads(self) -> tuple[str, ...]:
        """The one metric that is averaged."""
        return (self.metric,)

    @property
    def roundable(self) -> bool:
        """A mean may be shown rounded."""
        return True

    @property
    def laddered(self) -> bool:
        """A mean over cases has a standard error."""
        return self.over == "cases"

    @property
    def shows_means(self) -> bool:
        """It is one."""
        return True

    @property
    def mean_metric(self) -> str | None:
        """The metric, where the mean is over cases."""
        return self.metric if self.over == "cases" else None

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
        check_missing(self.missing, metric)

    def __str__(self) -> str:
        metric = catalogue.get(self.metric)
        unit = f" {metric.unit}" if metric.unit and isinstance(self.missing, FixedValue) else ""
        counted = f"a missing or unusable case {self.missing}{unit}"
        equals = f"equals {TIES_IN_WORDS[self.ties]}"
        over = {
            "cases": "all cases",
            "parts": "all parts of all cases",
            "parts-within-cases": "the parts of each case, then over all cases",
        }[self.over]
        return f"mean {self.metric} over {over}, {metric.better} is better; {counted}; {equals}"

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """Rank the submissions of a score table.

        Parameters
        ----------
        name
            What the board is called.
        roles
            Organisers' and benchmark rows by submission: scored like the others, but without a rank, and without
            moving anybody else's.
        """
        self.check()
        cohort = self._read(scores, roles)
        rows = [
            replace(entry.row, score=mean_of(entry.numbers, cohort.weights) if entry.numbers is not None else None)
            for entry in cohort.entries
        ]
        metric = catalogue.get(self.metric)
        board = place(
            rows, metric=metric, ties=self.ties, tolerance=self.tolerance, name=name or self.metric, rule=str(self)
        )
        absent = [row for row in rows if row.score is None and not row.disqualified]
        notes = [
            Note(f"{row.submission} is not on this board: it has no {self.metric} in some cases", row.submission)
            for row in absent
        ]
        if self.over == "parts":
            cells = {cell for entry in cohort.scored for cell in entry.numbers or ()}
            notes.insert(0, Note(f"{len(cells):,} values in {len(cohort.weights)} cases"))
        if isinstance(self.missing, LeaveOut):
            notes += left_out_notes(cohort.entries)
        return replace(board, notes=tuple(notes))

    def draw(self, scores: pl.DataFrame, draws: CaseDraws, *, roles: Mapping[str, Role] | None = None) -> Drawn:
        """The means in every draw of cases."""
        self.check()
        cohort = self._read(scores, roles)
        total, count = cohort.sums()
        weight = cohort.weight_vector()
        plain = bool((count == 1).all())
        better = catalogue.get(self.metric).better
        assert better != "neither"
        return Drawn(
            submissions=tuple(entry.row.submission for entry in cohort.scored),
            competing=np.array([entry.row.role == "team" for entry in cohort.scored], np.bool_),
            full=np.array([mean_of(entry.numbers or {}, cohort.weights) for entry in cohort.scored]),
            scores=mean_draws(total, draws, weight=weight)
            if plain
            else ratio_draws(total, count, draws, weight=weight),
            better=better,
            ties=self.ties,
            tolerance=self.tolerance,
            values=total if plain else None,
            weight=weight if plain else None,
        )

    def _read(self, scores: pl.DataFrame, roles: Mapping[str, Role] | None) -> Cohort:
        return read_cells(scores, self.metric, self.missing, over=self.over, undefined=self.undefined, roles=roles)
