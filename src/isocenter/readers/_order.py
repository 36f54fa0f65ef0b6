"""In which order a reader reads, and under which name."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from isocenter.readers._chance import shuffled, source

# Without 0 and O, 1 and I, which are taken for each other, and without vowels, which make words.
_SIGNS = "23456789BCDFGHJKLMNPQRSTVWXYZ"
_LENGTH = 4
_MOST = len(_SIGNS) ** _LENGTH // 2


def order(cases: Iterable[str], *, seed: int, reader: str) -> tuple[str, ...]:
    """The order in which one reader reads cases: random, another for every reader, the same whenever it is asked for.

    It depends on the seed, the reader and the set of cases, and not on the order in which these are given.

    Examples
    --------
    >>> order(["A", "B", "C", "D"], seed=1, reader="R-7KX2") == order(["D", "C", "B", "A"], seed=1, reader="R-7KX2")
    True
    """
    return tuple(shuffled(sorted(set(cases)), source(seed, "order", reader)))


def pseudonyms(count: int, *, seed: int, taken: Collection[str] = ()) -> list[str]:
    """So many names such as "R-7KX2" that say nothing of who bears them, nor of who came first.

    They are given out in the order in which they were drawn: with those of yesterday as `taken`, the same seed goes on
    where it ended. Who knows the seed and the list of readers can work out who is who, so it should be a seed of its
    own that is kept where the key is kept.

    Parameters
    ----------
    taken
        Names that must not be given again.

    Raises
    ------
    ValueError
        If more names are asked for than half of all there are.

    Examples
    --------
    >>> names = pseudonyms(3, seed=1)
    >>> pseudonyms(2, seed=1, taken=names[:1]) == names[1:]
    True
    """
    if not 0 <= count <= _MOST - len(taken):
        msg = f"{count} names beside {len(taken)} that are taken: from 0 to {_MOST} in all can be told apart"
        raise ValueError(msg)
    draws = source(seed, "pseudonyms")
    gone = set(taken)
    found: list[str] = []
    while len(found) < count:
        number = int(draws.random_raw())
        name = "R-"
        for _ in range(_LENGTH):
            number, sign = divmod(number, len(_SIGNS))
            name += _SIGNS[sign]
        if name not in gone:
            gone.add(name)
            found.append(name)
    return found
