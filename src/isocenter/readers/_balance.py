"""How evenly the facts of cases, or of readers, are spread over blocks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isocenter.problems import printable

Units = Mapping[str, Mapping[str, str]]
"""By name of the case or reader, what is known of it: column → value. A fact that is not there is ""."""

# Shares are quotients: 12.5 − 11.5 may come out a little above 1.
_SLACK = 1e-9
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class FactCount:
    """How often one value of one fact occurs in each block.

    Attributes
    ----------
    fact, value
        Such as "centre" and "RUMC"; the value is "" where the fact is not known.
    counts
        Units with that value, by block.
    share
        What each block would hold if units could be cut: all units with that value / number of blocks.
    differences
        By block, the standardised difference from all units, (p_b − p) / √((p_b(1 − p_b) + p(1 − p)) / 2), where p is
        the part of units that have the value; NaN in a block without units.

    References
    ----------
    Austin PC. Using the standardized difference to compare the prevalence of a binary variable between two groups in
    observational research. Commun Stat Simul Comput 38 (2009).
    """

    fact: str
    value: str
    counts: tuple[int, ...]
    share: float
    differences: tuple[float, ...]

    @property
    def farthest(self) -> float:
        """The largest |count − share|, in units."""
        return max(abs(count - self.share) for count in self.counts)

    @property
    def even(self) -> bool:
        """Whether every count is within 1 of the share."""
        return self.farthest <= 1 + _SLACK

    @property
    def total(self) -> int:
        """Units with that value."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class Balance:
    """How even a deal is; printed, it is a table.

    Attributes
    ----------
    sizes
        Units by block.
    rows
        One for every value of every fact that was balanced.
    """

    sizes: tuple[int, ...]
    rows: tuple[FactCount, ...]

    @property
    def farthest(self) -> float:
        """The largest distance of a count, or of a size, from its share, in units."""
        return max([_off(self.sizes), *(row.farthest for row in self.rows)])

    @property
    def even(self) -> bool:
        """Whether every count and every size is within 1 of its share."""
        return self.farthest <= 1 + _SLACK

    @property
    def uneven(self) -> tuple[FactCount, ...]:
        """The values that some block has too many or too few of."""
        return tuple(row for row in self.rows if not row.even)

    def __str__(self) -> str:
        told, alone = _told(self.rows)
        lines = [
            ("", *(f"block {number}" for number in range(1, len(self.sizes) + 1)), "share", "worst", "std. diff."),
            ("all", *map(str, self.sizes), f"{_share(self.sizes):.2f}", f"{_off(self.sizes):.2f}", ""),
            *(_line(row) for row in told),
        ]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        table = [
            "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])
            for line in lines
        ]
        return "\n".join([*(text.rstrip() for text in table), *alone, self.verdict])

    @property
    def verdict(self) -> str:
        """In a sentence, whether the deal is even, or where it is not."""
        if self.even:
            return "Every count is within 1 of its share."
        sizes = [] if _off(self.sizes) <= 1 + _SLACK else ["the sizes of the blocks"]
        found = sizes + [f"{_named(row)} (off by {row.farthest:.2f})" for row in self.uneven]
        return f"Not within 1 of the share: {', '.join(found)}."

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; a standardised difference that does not exist is None."""
        rows = [
            {
                "fact": row.fact,
                "value": row.value,
                "counts": list(row.counts),
                "share": row.share,
                "farthest": row.farthest,
                "standardised_differences": [None if math.isnan(d) else d for d in row.differences],
            }
            for row in self.rows
        ]
        return {"even": self.even, "farthest": self.farthest, "sizes": list(self.sizes), "rows": rows}


def balance_of(units: Units, blocks: Sequence[Sequence[str]], *, by: Sequence[str] | None = None) -> Balance:
    """How even blocks are that were made in whatever way, as after late readers or withdrawals.

    Parameters
    ----------
    units
        The facts of everybody in the blocks; who is in none does not count.
    by
        The facts to look at, all by default.

    Raises
    ------
    ValueError
        Naming whoever stands in two blocks or has no entry in `units`, and every fact that nobody has.

    Examples
    --------
    >>> facts = {"A": {"sex": "f"}, "B": {"sex": "m"}, "C": {"sex": "f"}, "D": {"sex": "m"}}
    >>> print(balance_of(facts, [["A", "B"], ["C", "D"]]))
            block 1  block 2  share  worst  std. diff.
    all           2        2   2.00   0.00
    sex: f        1        1   1.00   0.00        0.00
    sex: m        1        1   1.00   0.00        0.00
    Every count is within 1 of its share.
    """
    if not blocks:
        msg = "there are no blocks"
        raise ValueError(msg)
    refuse_unknown(units, blocks)
    sizes = tuple(map(len, blocks))
    rows = []
    for fact in facts_of(units, by):
        counts = [Counter(units[name].get(fact, "") for name in block) for block in blocks]
        for value in sorted(set().union(*counts)):
            rows.append(_row(fact, value, tuple(count[value] for count in counts), sizes))
    return Balance(sizes, tuple(rows))


def facts_of(units: Units, by: Sequence[str] | None) -> list[str]:
    """The facts to balance: those asked for in their order, or all in that of the alphabet.

    Raises
    ------
    ValueError
        Naming all that were asked for and that no unit has.
    """
    known = sorted({fact for facts in units.values() for fact in facts})
    if by is None:
        return known
    if unknown := [fact for fact in by if fact not in known]:
        msg = f"no such fact: {', '.join(map(repr, unknown))}; there {_are(known)}"
        raise ValueError(msg)
    return list(dict.fromkeys(by))


def refuse_unknown(units: Units, blocks: Sequence[Sequence[str]]) -> None:
    """Everybody stands in one block at most, and is known."""
    counts = Counter(name for block in blocks for name in block)
    problems = [f"{name!r} stands in the blocks {count} times" for name, count in counts.items() if count > 1]
    problems += [f"{name!r} stands in a block, but has no facts" for name in counts if name not in units]
    if problems:
        raise ValueError("; ".join(problems))


def _row(fact: str, value: str, counts: tuple[int, ...], sizes: tuple[int, ...]) -> FactCount:
    part = sum(counts) / sum(sizes)
    differences = tuple(
        _difference(count / size, part) if size else math.nan for count, size in zip(counts, sizes, strict=True)
    )
    return FactCount(fact, value, counts, _share(counts), differences)


def _difference(here: float, everywhere: float) -> float:
    spread = math.sqrt((here * (1 - here) + everywhere * (1 - everywhere)) / 2)
    return (here - everywhere) / spread if spread else 0.0


def _share(counts: Sequence[int]) -> float:
    return sum(counts) / len(counts)


def _off(counts: Sequence[int]) -> float:
    return max(abs(count - _share(counts)) for count in counts)


def _are(known: Sequence[str]) -> str:
    return f"are {', '.join(map(repr, known))}" if known else "are none"


def _told(rows: Sequence[FactCount]) -> tuple[list[FactCount], list[str]]:
    """The rows of the table; and in a sentence each fact with values that a single unit has, which cannot be dealt."""
    alone = Counter(row.fact for row in rows if row.total == 1)
    many = {fact for fact, count in alone.items() if count > 2}
    said = [
        f"{printable(fact)}: {count} values that occur once, not shown."
        for fact, count in alone.items()
        if fact in many
    ]
    return [row for row in rows if row.total > 1 or row.fact not in many], said


def _line(row: FactCount) -> tuple[str, ...]:
    known = [abs(d) for d in row.differences if not math.isnan(d)]
    return _named(row), *map(str, row.counts), f"{row.share:.2f}", f"{row.farthest:.2f}", f"{max(known):.2f}"


def _named(row: FactCount) -> str:
    name = printable(f"{row.fact}: {row.value or '(not known)'}")
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
