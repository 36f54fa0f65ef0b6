"""Counts of people that may be published: small ones are put together, so that nobody is told apart.

A table with a total gives away a number that is left out of it: the total less the rest. So small numbers are never
left out alone. They are added up in one row, with the next larger ones where they would be too few.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LEAST = 5
"""The smallest number of people that is published."""


@dataclass(frozen=True, slots=True)
class Pooled:
    """Counts by kind, the small ones together.

    Attributes
    ----------
    shown
        Kinds with their own number, largest first.
    together
        Kinds whose numbers are added up, by name; empty if none had to be.
    rest
        Their sum.
    """

    shown: Mapping[str, int]
    together: tuple[str, ...]
    rest: int


@dataclass(frozen=True, slots=True)
class PooledRows:
    """Rows of counts, those with small numbers together; see `Pooled`."""

    shown: Mapping[str, tuple[int, ...]]
    together: tuple[str, ...]
    rest: tuple[int, ...]


def pool(counts: Mapping[str, int], *, least: int = LEAST) -> Pooled | None:
    """Counts that may stand in a table beside their total, and those that are added up.

    Kinds with 1 to `least` − 1 people are put together, and the smallest of the others are joined to them until the k
    kinds of the pool hold at least k + `least` − 1 people. Whoever knows the table, its total and the kinds that were
    pooled, each with somebody in it, can then give to none of them a narrower range than 1 to `least`. None if all
    kinds together do not reach that: then nothing is published.

    Examples
    --------
    >>> pool({"Norway": 12, "Chile": 6, "Ghana": 2, "Laos": 9})
    Pooled(shown={'Norway': 12, 'Laos': 9}, together=('Chile', 'Ghana'), rest=8)
    """
    ordered = sorted(((count, name) for name, count in counts.items() if count), key=lambda one: (one[0], one[1]))
    taken = sum(count < least for count, _ in ordered)
    if taken:
        taken = max(taken, 2)
        while taken <= len(ordered) and sum(count for count, _ in ordered[:taken]) < taken + least - 1:
            taken += 1
    if taken > len(ordered):
        return None
    kept = sorted(ordered[taken:], key=lambda one: (-one[0], one[1]))
    return Pooled(
        shown={name: count for count, name in kept},
        together=tuple(sorted(name for _, name in ordered[:taken])),
        rest=sum(count for count, _ in ordered[:taken]),
    )


def pool_rows(rows: Mapping[str, tuple[int, ...]], *, least: int = LEAST) -> PooledRows | None:
    """The same for a table of two variables: rows are put together until no number is from 1 to `least` − 1.

    And until the k rows of the pool hold at least k + `least` − 1 people, as in `pool`: five people in five rows that
    are named would be one in each. None if even the totals of the columns are too small.

    Examples
    --------
    >>> pool_rows({"physics": (17, 24), "learning": (16, 33), "optimisation": (2, 3), "other": (5, 2)})
    PooledRows(shown={'learning': (16, 33), 'physics': (17, 24)}, together=('optimisation', 'other'), rest=(7, 5))
    """
    filled = {name: numbers for name, numbers in rows.items() if any(numbers)}
    ordered = sorted(filled, key=lambda name: (not _small(filled[name], least), sum(filled[name]), name))
    taken = sum(_small(filled[name], least) for name in ordered)
    if taken:
        taken = max(taken, 2)
        while taken <= len(ordered) and _tells(_total(filled, ordered[:taken]), taken, least):
            taken += 1
    if taken > len(ordered):
        return None
    kept = sorted(ordered[taken:], key=lambda name: (-sum(filled[name]), name))
    return PooledRows(
        shown={name: filled[name] for name in kept},
        together=tuple(sorted(ordered[:taken])),
        rest=_total(filled, ordered[:taken]),
    )


def _small(numbers: tuple[int, ...], least: int) -> bool:
    return any(0 < number < least for number in numbers)


def _tells(numbers: tuple[int, ...], rows: int, least: int) -> bool:
    """Whether the sum of some rows still gives small numbers away."""
    return _small(numbers, least) or sum(numbers) < rows + least - 1


def _total(rows: Mapping[str, tuple[int, ...]], names: list[str]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*(rows[name] for name in names), strict=True)))
