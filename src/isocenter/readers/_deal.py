"""Cases and readers dealt into blocks, so that the blocks of a split-plot study are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from isocenter.readers._balance import Balance, Units, balance_of, facts_of, refuse_unknown
from isocenter.readers._chance import shuffled, source
from isocenter.readers._swaps import Ints, Swaps

# Swaps of two may end where only a swap of three would help; another start then mostly does not.
_STARTS = 20


@dataclass(frozen=True, slots=True)
class Deal:
    """Blocks of cases or readers, and how even they are.

    Attributes
    ----------
    blocks
        The names in each block, in alphabetical order: the order in which a reader reads is that of `order`.
    seed
        What the deal was drawn with.
    balance
        The count of every value of every fact, by block.
    """

    blocks: tuple[tuple[str, ...], ...]
    seed: int
    balance: Balance

    @property
    def block_of(self) -> dict[str, int]:
        """By name the number of its block, counted from 0."""
        return {name: number for number, block in enumerate(self.blocks) for name in block}


def find_design_problems(blocks: int, *, cases: int, readers: int | None = None) -> list[str]:
    """Why nobody can read by this design, each with what to change: readers with nothing to read, cases never read.

    Examples
    --------
    >>> find_design_problems(4, cases=3, readers=2)[1]
    '2 readers for 4 blocks: the cases of 2 blocks would never be read; take at most 2 blocks, or 4 readers or more'
    """
    lacking = [("case", cases, "the readers of {} would get nothing to read")]
    if readers is not None:
        lacking.append(("reader", readers, "the cases of {} would never be read"))
    return [
        f"{_count(number, noun)} for {_count(blocks)}: {what.format(_count(blocks - number))}; "
        f"take {f'at most {_count(number)}, or ' if number else ''}{_count(blocks, noun)} or more"
        for noun, number, what in lacking
        if number < blocks
    ]


def _count(number: int, noun: str = "block") -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def deal(units: Units, blocks: int, *, seed: int, by: Sequence[str] | None = None) -> Deal:
    """Deal cases, or readers, into blocks that are alike in all facts.

    Units with the same facts are a stratum. Strata are put in an order, shuffled within, and dealt round and round,
    each going on at the block where the one before ended. That evens out strata, but not yet single facts, so units are
    then swapped between blocks as long as the sum of (count − share)² over facts, values and blocks falls, where counts
    more than 1 away from their share weigh most. If some are left, it begins anew from other draws, 20 times in all,
    and the best deal is kept. Sizes of blocks never differ by more than 1. Whether every count could be brought within
    1 of its share says `Deal.balance`.

    Parameters
    ----------
    units
        By name the facts: column → value. Numbers, such as years of experience, are put into classes before. The order
        of names, and of facts, is of no consequence.
    blocks
        How many, not more than there are units: an empty block of cases gives its readers nothing to read, and the
        cases of a block without readers are never read.
    seed
        The same seed and units give the same deal, on any machine.
    by
        The facts to balance, all by default. Strata are dealt in the order of these.

    Raises
    ------
    ValueError
        If there is nothing to deal, no block to deal to, a block that would stay empty, or a fact that nobody has.

    Examples
    --------
    >>> cases = {f"PCA{n:03}": {"csPCa": "yes" if n < 12 else "no", "centre": "AB"[n % 2]} for n in range(40)}
    >>> dealt = deal(cases, 4, seed=1)
    >>> [len(block) for block in dealt.blocks], dealt.balance.even
    ([10, 10, 10, 10], True)
    """
    if blocks < 1 or not units:
        msg = f"{_count(len(units), 'unit')} cannot be dealt into {_count(blocks)}; at least one of each is needed"
        raise ValueError(msg)
    if len(units) < blocks:
        msg = (
            f"{_count(len(units), 'unit')} would leave {blocks - len(units)} of {_count(blocks)} empty; "
            f"take at most {_count(len(units))}, or more units"
        )
        raise ValueError(msg)
    names = sorted(units)
    facts = _facts(units, names, facts_of(units, by))
    totals = Counter(facts)
    kinds = sorted(totals)
    swaps = Swaps(kinds, [totals[kind] for kind in kinds], blocks)
    best: tuple[float, Deal] | None = None
    for start in range(_STARTS):
        draws = source(seed, "deal", start)
        in_order = shuffled(range(len(kinds)), draws) if start else _strata(kinds, draws)
        held = swaps.settle(_dealt(in_order, swaps.totals, blocks, draws))
        made = _seated(names, facts, kinds, held, draws)
        found = Deal(made, seed, balance_of(units, made, by=by))
        if best is None or swaps.cost(held) < best[0]:
            best = swaps.cost(held), found
        if found.balance.even:
            break
    assert best is not None
    return best[1]


def place_late(
    facts: Mapping[str, str],
    deal_or_blocks: Deal | Sequence[Sequence[str]],
    units: Units,
    *,
    seed: int,
    by: Sequence[str] | None = None,
) -> int:
    """The block for a reader who comes after the deal, counted from 0, by minimisation.

    It is the one after which the sum of (count − share)² over the facts of the reader, and over the sizes of blocks, is
    smallest: that in which fewest are like the newcomer, each counted once for every fact in common and once for being
    there. Of equals it is the smaller block, and of those that are still equal one by lot.

    Parameters
    ----------
    facts
        Of the newcomer: column → value.
    deal_or_blocks
        Who is in which block so far.
    units
        The facts of everybody in the blocks.
    seed
        Of the lot; it falls anew with every reader.
    by
        The facts that count, all by default.

    References
    ----------
    Pocock SJ, Simon R. Sequential treatment assignment with balancing for prognostic factors in the controlled clinical
    trial. Biometrics 31 (1975).

    Examples
    --------
    >>> readers = {"Ann": {"expert": "yes"}, "Bob": {"expert": "no"}}
    >>> place_late({"expert": "yes"}, [["Ann"], ["Bob"]], readers, seed=1)
    1
    """
    blocks = deal_or_blocks.blocks if isinstance(deal_or_blocks, Deal) else deal_or_blocks
    if not blocks:
        msg = "there are no blocks to place a reader in"
        raise ValueError(msg)
    refuse_unknown(units, blocks)
    asked = facts_of({**units, "": facts}, by)
    alike = [
        len(block) + sum(units[name].get(fact, "") == facts.get(fact, "") for name in block for fact in asked)
        for block in blocks
    ]
    lots = source(seed, "late", sum(map(len, blocks))).random_raw(len(blocks))
    return min(range(len(blocks)), key=lambda block: (alike[block], len(blocks[block]), int(lots[block])))


def _facts(units: Units, names: Sequence[str], asked: Sequence[str]) -> list[tuple[str, ...]]:
    """The facts of each unit; "" for a value that no other unit has, which is as even in one block as in another."""
    rows = [tuple(units[name].get(fact, "") for fact in asked) for name in names]
    counts = Counter((number, value) for row in rows for number, value in enumerate(row))
    return [tuple(f"={value}" if counts[number, value] > 1 else "" for number, value in enumerate(row)) for row in rows]


def _strata(kinds: Sequence[tuple[str, ...]], draws: np.random.PCG64) -> list[int]:
    """The order of kinds: those that share their first fact together, within them those that share the second, …

    The order of the values of each fact is drawn.
    """
    ranks = [
        {value: rank for rank, value in enumerate(shuffled(sorted(set(values)), draws))}
        for values in zip(*kinds, strict=True)
    ]
    return sorted(range(len(kinds)), key=lambda kind: [of[v] for of, v in zip(ranks, kinds[kind], strict=True)])


def _dealt(in_order: Sequence[int], totals: Ints, blocks: int, draws: np.random.PCG64) -> Ints:
    """How many of each kind are in each block, dealt round and round; empty seats, the last kind, come at the end."""
    kinds = np.array([*in_order, len(in_order)])
    turns = np.repeat(kinds, totals[kinds])
    held = np.zeros((len(kinds), blocks), dtype=np.int64)
    np.add.at(held, (turns, np.arange(len(turns)) % blocks), 1)
    return held[:, shuffled(range(blocks), draws)]


def _seated(
    names: Sequence[str],
    facts: Sequence[tuple[str, ...]],
    kinds: Sequence[tuple[str, ...]],
    held: Ints,
    draws: np.random.PCG64,
) -> tuple[tuple[str, ...], ...]:
    """Names in the places of their kind, by lot."""
    members: dict[tuple[str, ...], list[str]] = {}
    for name, row in zip(names, facts, strict=True):
        members.setdefault(row, []).append(name)
    made: list[list[str]] = [[] for _ in range(held.shape[1])]
    for kind, row in zip(kinds, held, strict=False):
        waiting = iter(shuffled(members[kind], draws))
        for block, count in zip(made, row, strict=True):
            block += [next(waiting) for _ in range(count)]
    return tuple(tuple(sorted(block)) for block in made)
