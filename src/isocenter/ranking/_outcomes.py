"""What became of a ranking in many universes: by team, by universe, and as the tables that a report prints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isocenter.ranking.rules._base import Rule

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Universe:
    """One way to rank a table.

    Attributes
    ----------
    name
        What tells it from the others.
    rule
        How it ranks.
    without
        Cases that are left out before anything else.
    """

    name: str
    rule: Rule
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a universe found.

    Attributes
    ----------
    ranks
        By team that is ranked in it.
    spearman, kendall
        Spearman's ρ and Kendall's τ-b of its ranks with those of the declared rule, over the teams that both rank; NaN
        where one of both has a single rank only. See `compare_rankings`.
    """

    universe: Universe
    ranks: Mapping[str, float]
    spearman: float
    kendall: float

    @property
    def first(self) -> tuple[str, ...]:
        """Whom nobody is better than; several, where the first rank is shared."""
        best = min(self.ranks.values())
        return tuple(team for team, rank in self.ranks.items() if rank == best)


@dataclass(frozen=True, slots=True)
class Standing:
    """A team in all universes.

    Attributes
    ----------
    rank
        By the declared rule; None if that does not rank it.
    first
        In how many universes nobody is better.
    best, worst, median
        Of its ranks.
    unranked
        How many universes do not rank it.
    """

    team: str
    rank: float | None
    first: int
    best: float
    worst: float
    median: float
    unranked: int


@dataclass(frozen=True, eq=False)
class Multiverse:
    """What became of a ranking under all alternatives.

    Attributes
    ----------
    outcomes
        Of every universe that is defined, the declared one first.
    standings
        Of every team that any of them ranks, in the order of the declared rule.
    undefined
        By name of a universe that ranks nobody, why.
    """

    outcomes: tuple[Outcome, ...]
    standings: tuple[Standing, ...]
    undefined: Mapping[str, str]

    @property
    def winners(self) -> tuple[str, ...]:
        """Who is first by the declared rule."""
        return self.outcomes[0].first

    @property
    def winner_holds_in(self) -> int:
        """In how many of the outcomes nobody is better than the declared winners, the declared one counted."""
        return sum(set(self.winners) <= set(outcome.first) for outcome in self.outcomes)

    @property
    def winner_shares_in(self) -> int:
        """In how many of those the first rank is shared with others."""
        return sum(set(self.winners) < set(outcome.first) for outcome in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values; what is undefined is null."""
        return {
            "winners": list(self.winners),
            "winner_holds_in": self.winner_holds_in,
            "winner_shares_in": self.winner_shares_in,
            "universes": [
                {
                    "name": outcome.universe.name,
                    "rule": str(outcome.universe.rule),
                    "without": sorted(outcome.universe.without),
                    "first": list(outcome.first),
                    "spearman": _defined(outcome.spearman),
                    "kendall": _defined(outcome.kendall),
                    "ranks": {team: _whole(rank) for team, rank in outcome.ranks.items()},
                }
                for outcome in self.outcomes
            ],
            "teams": [
                {
                    "team": one.team,
                    "rank": None if one.rank is None else _whole(one.rank),
                    "first_in": one.first,
                    "share_first": one.first / len(self.outcomes),
                    "best": _whole(one.best),
                    "worst": _whole(one.worst),
                    "median": _whole(one.median),
                    "unranked_in": one.unranked,
                }
                for one in self.standings
            ],
            "undefined": dict(self.undefined),
        }

    def __str__(self) -> str:
        many = len(self.winners) > 1
        holds = f"{self.winner_holds_in} of {len(self.outcomes)}"
        shared = f", in {self.winner_shares_in} of them with others" if self.winner_shares_in else ""
        lines = [
            f"Declared: {self.outcomes[0].universe.rule}.",
            f"{some(self.winners)} {'are' if many else 'is'} first in {holds} universes{shared}.",
            "",
            *_table(("team", "declared", "first in", "ranks", "median", "unranked in"), map(self._row, self.standings)),
            "",
            *_table(("universe", "Spearman", "Kendall", "first"), map(_line, self.outcomes), left=(0, 3)),
        ]
        if self.undefined:
            lines += ["", "Undefined:", *(f"  {name}: {reason}" for name, reason in self.undefined.items())]
        return "\n".join(lines)

    def _row(self, one: Standing) -> tuple[str, ...]:
        span = f"{one.best:g}" if one.best == one.worst else f"{one.best:g}–{one.worst:g}"
        declared = "–" if one.rank is None else f"{one.rank:g}"
        share = f"{one.first} ({100 * one.first / len(self.outcomes):.0f} %)"
        return one.team, declared, share, span, f"{one.median:g}", str(one.unranked or "")


def _line(outcome: Outcome) -> tuple[str, ...]:
    return outcome.universe.name, _number(outcome.spearman), _number(outcome.kendall), some(outcome.first)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, left: tuple[int, ...] = (0,)) -> list[str]:
    """Columns under each other, words to the left and numbers to the right."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def some(names: Sequence[str]) -> str:
    """The first few of many names."""
    rest = len(names) - _NAMED
    return ", ".join(names) if rest <= 0 else f"{', '.join(names[:_NAMED])} and {rest} more"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


def _whole(rank: float) -> float:
    """1 rather than 1.0; shared ranks such as 2.5 as they are."""
    return int(rank) if rank == int(rank) else rank
