"""What a rule must know, and what it may know beyond that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

import polars as pl

from isocenter.detections import Detections
from isocenter.metrics.catalogue import Metric
from isocenter.ranking._board import Board, BoardRow
from isocenter.ranking._entry import Role
from isocenter.ranking._ties import Ties, rank_values


class Rule(Protocol):
    """What a board needs of its rule."""

    @property
    def metric(self) -> str:
        """The metric that decides."""
        ...

    @property
    def reads(self) -> tuple[str, ...]:
        """The metrics that it needs of every case."""
        ...

    def check(self) -> None:
        """Raise ValueError if the rule cannot work, before anybody is scored."""
        ...

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
        """The board of a score table with a `submission` column."""
        ...


class RankingRule:
    """A rule that says what can be done with it; the defaults promise nothing.

    A rule with a method `draw` can score bootstrap resamples of the cases; see `Drawable`.
    """

    __slots__ = ()

    @property
    def relative(self) -> bool:
        """Whether the score of a team depends on who else takes part."""
        return bool(getattr(getattr(self, "missing", None), "relative", False))

    @property
    def roundable(self) -> bool:
        """Whether the board may be shown with few decimals, or on a ladder."""
        return False

    @property
    def laddered(self) -> bool:
        """Whether a ladder knows the standard error of the differences."""
        return False

    @property
    def drawable(self) -> bool:
        """Whether the rule can score bootstrap resamples of the cases."""
        return hasattr(self, "draw")

    @property
    def shows_means(self) -> bool:
        """Whether means over the cases, with their standard errors, belong beside the scores."""
        return False

    @property
    def components(self) -> tuple[str, ...]:
        """The metrics that the score is made of; () if it is one."""
        return ()

    @property
    def has_findings(self) -> bool:
        """Whether the score is made of findings."""
        return False

    def findings(self, table: pl.DataFrame) -> dict[str, Detections]:  # noqa: ARG002 (for rules that have them)
        """The findings of one submission, by trained instance."""
        msg = f"the board ranks by no findings ({self})"
        raise ValueError(msg)

    @property
    def mean_metric(self) -> str | None:
        """The metric whose plain mean over the cases is the score; None if it is something else."""
        return None

    @property
    def stand_in(self) -> float | None:
        """What a case without a usable output counts as; None where that depends on more than the rule."""
        return None


class _Structural:
    """A rule that does not inherit from `RankingRule`: what it has itself, and the defaults for the rest."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule

    def __getattr__(self, name: str) -> Any:
        if hasattr(self._rule, name):
            return getattr(self._rule, name)
        return getattr(RankingRule, name).__get__(self, type(self))

    def __str__(self) -> str:
        return str(self._rule)


def capabilities_of(rule: Rule) -> RankingRule:
    """What can be done with a rule, also with one that has no more than a board needs."""
    return rule if isinstance(rule, RankingRule) else cast("RankingRule", _Structural(rule))


def place(rows: Sequence[BoardRow], *, metric: Metric, ties: Ties, tolerance: float, name: str, rule: str) -> Board:
    """A board of rows that have their score: ranked, in order, and those without a score unlisted."""
    assert metric.better != "neither"
    scored = [row for row in rows if row.score is not None]
    competing = [row for row in scored if row.role == "team"]
    ranks = rank_values([row.score for row in competing], metric.better, ties=ties, tolerance=tolerance)
    ranked = {row.submission: rank for row, rank in zip(competing, ranks, strict=True)}
    sign = -1.0 if metric.better == "higher" else 1.0
    placed = sorted(
        (replace(row, rank=ranked.get(row.submission)) for row in scored),
        key=lambda row: (sign * (row.score or 0.0), row.rank or 0.0, row.submission),
    )
    return Board(
        name=name,
        metric=metric.name,
        rule=rule,
        rows=tuple(_tied_by_name(placed)),
        unlisted=tuple(row for row in rows if row.score is None),
    )


def _tied_by_name(rows: list[BoardRow]) -> list[BoardRow]:
    """Rows of one shared rank in alphabetical order: rounding noise must not decide who is named first."""
    first: dict[float, int] = {}
    for i, row in enumerate(rows):
        if row.rank is not None:
            first.setdefault(row.rank, i)
    places = [i if row.rank is None else first[row.rank] for i, row in enumerate(rows)]
    return [row for _, _, row in sorted(zip(places, (row.submission for row in rows), rows, strict=True))]
