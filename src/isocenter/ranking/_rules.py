"""Ranking rules: frozen descriptions of how a score table becomes a board."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import polars as pl

from isocenter.metrics import catalogue
from isocenter.ranking._board import Board, BoardRow
from isocenter.ranking._entry import Role
from isocenter.ranking._missing import Disqualify, FixedValue, Missing, WorstPossible
from isocenter.ranking._ties import TIES_IN_WORDS, Ties, rank_values


class Rule(Protocol):
    """What a board needs of its rule."""

    @property
    def metric(self) -> str:
        """The metric that decides."""
        ...

    def check(self) -> None:
        """Raise ValueError if the rule cannot work, before anybody is scored."""
        ...

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """The board of a score table with a `submission` column."""
        ...


@dataclass(frozen=True, slots=True)
class MeanThenRank:
    """Mean over the cases, then rank by the mean.

    Attributes
    ----------
    metric
        What is averaged, and by its direction in the catalogue ranked.
    missing
        What a case counts as that has no output, or one that could not be measured.
    ties
        What equal means get; see `rank_values`.
    tolerance
        Means closer than this × the largest one are equal.

    Notes
    -----
    score = Σ wᵢ xᵢ / Σ wᵢ over all cases i of the cohort, wᵢ the case weights; summed exactly, so that neither the
    order of the cases nor the number of workers can move its last bit. The cohort is every case that any of the
    submissions was asked for: a case absent from one table is missing there, not left out.

    A metric that is undefined for a case (its value is null, though the output was there and could be read) has no
    place in a mean. The rule refuses to guess and says which case it is. It ranks numbers of whole cases: rows with a
    `part` are for other rules.
    """

    metric: str
    missing: Missing
    ties: Ties = "min"
    tolerance: float = 1e-9

    def __post_init__(self) -> None:
        if self.ties not in TIES_IN_WORDS:
            msg = f"ties are one of {', '.join(TIES_IN_WORDS)}, not {self.ties!r}"
            raise ValueError(msg)
        if not isinstance(self.missing, FixedValue | WorstPossible | Disqualify):
            msg = f"a missing case counts as FixedValue(…), WorstPossible() or Disqualify(), not {self.missing!r}"
            raise TypeError(msg)

    def check(self) -> None:
        """Whether the metric can be ranked, and can have the value that a missing case counts as."""
        metric = catalogue.get(self.metric)
        if metric.better == "neither":
            msg = f"{self.metric} is an observation and has no better or worse"
            raise ValueError(msg)
        if not isinstance(self.missing, Disqualify):
            self.missing.stand_in(metric)

    def __str__(self) -> str:
        metric = catalogue.get(self.metric)
        unit = f" {metric.unit}" if metric.unit and isinstance(self.missing, FixedValue) else ""
        counted = f"a missing or unusable case {self.missing}{unit}"
        equals = f"equals {TIES_IN_WORDS[self.ties]}"
        return f"mean {self.metric} over all cases, {metric.better} is better; {counted}; {equals}"

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
        roles = roles or {}
        self.check()
        metric = catalogue.get(self.metric)
        assert metric.better != "neither"
        cohort = self._cohort(scores)
        rows = [
            self._row(str(submission), table, cohort, roles.get(str(submission), "team"))
            for (submission,), table in sorted(scores.group_by("submission"), key=lambda group: str(group[0][0]))
        ]
        competing = [row for row in rows if row.role == "team" and not row.disqualified]
        ranks = rank_values([row.score for row in competing], metric.better, ties=self.ties, tolerance=self.tolerance)
        ranked = {row.submission: rank for row, rank in zip(competing, ranks, strict=True)}
        sign = -1.0 if metric.better == "higher" else 1.0
        placed = sorted(
            (replace(row, rank=ranked.get(row.submission)) for row in rows if not row.disqualified),
            key=lambda row: (sign * (row.score or 0.0), row.rank or 0.0, row.submission),
        )
        return Board(
            name=name or self.metric,
            metric=self.metric,
            rule=str(self),
            rows=tuple(_tied_by_name(placed)),
            unlisted=tuple(row for row in rows if row.disqualified),
        )

    def _cohort(self, scores: pl.DataFrame) -> dict[str, float]:
        """Every case of the cohort with its weight."""
        cases = scores.filter(pl.col("case") != "").select("case", "weight").unique().sort("case", "weight")
        if cases["case"].is_duplicated().any():
            case = cases.filter(cases["case"].is_duplicated())["case"][0]
            msg = f"case {case!r} has different weights in different submissions; they were not scored on one cohort"
            raise ValueError(msg)
        if cases.is_empty():
            msg = "the score table has no cases"
            raise ValueError(msg)
        return dict(cases.iter_rows())

    def _row(self, submission: str, table: pl.DataFrame, cohort: Mapping[str, float], role: Role) -> BoardRow:
        whole = table.filter(pl.col("part") == "")
        self._refuse_parts(submission, table)
        value = dict(whole.filter(pl.col("metric") == self.metric).select("case", "value").iter_rows())
        missing = set(whole.filter(pl.col("metric") == "missing")["case"]) | (cohort.keys() - value.keys())
        failed = set(whole.filter(pl.col("metric") == "failed")["case"]) - missing
        undefined = [case for case in cohort if value.get(case) is None and case not in missing | failed]
        if undefined:
            msg = (
                f"{self.metric} is undefined for {submission!r} in {', '.join(undefined[:5])}"
                f"{' …' if len(undefined) > 5 else ''}; a mean over the rest would hide that"
            )
            raise ValueError(msg)
        unusable = missing | failed
        disqualified = bool(unusable) and isinstance(self.missing, Disqualify)
        return BoardRow(
            submission=submission,
            score=None if disqualified else self._mean(value, unusable, cohort, submission),
            rank=None,
            role=role,
            cases=len(cohort),
            missing=len(missing),
            failed=len(failed),
            disqualified=disqualified,
        )

    def _refuse_parts(self, submission: str, table: pl.DataFrame) -> None:
        """A case that was measured only in parts is not missing; this rule cannot rank it."""
        rows = table.filter(pl.col("metric") == self.metric)
        whole = rows.filter(pl.col("part") == "").select("case")
        partial = rows.join(whole, on="case", how="anti")
        if partial.height:
            case, part = partial.select("case", "part").row(0)
            msg = f"{self.metric} of {submission!r} in {case!r} is there for {part!r}, but not for the case as a whole"
            raise ValueError(msg)

    def _mean(
        self, value: Mapping[str, float | None], unusable: set[str], cohort: Mapping[str, float], submission: str
    ) -> float:
        stand_in = 0.0
        if unusable and not isinstance(self.missing, Disqualify):
            stand_in = self.missing.stand_in(catalogue.get(self.metric))
        terms = []
        for case, weight in cohort.items():
            measured = value.get(case)
            number = stand_in if case in unusable or measured is None else measured
            if not math.isfinite(number):
                msg = f"{self.metric} of {submission!r} in case {case!r} is {number}; an infinite value has no mean"
                raise ValueError(msg)
            terms.append(number * weight)
        return math.fsum(terms) / math.fsum(cohort.values())


def _tied_by_name(rows: list[BoardRow]) -> list[BoardRow]:
    """Rows of one shared rank in alphabetical order: rounding noise must not decide who is named first."""
    first: dict[float, int] = {}
    for i, row in enumerate(rows):
        if row.rank is not None:
            first.setdefault(row.rank, i)
    places = [i if row.rank is None else first[row.rank] for i, row in enumerate(rows)]
    return [row for _, _, row in sorted(zip(places, (row.submission for row in rows), rows, strict=True))]
