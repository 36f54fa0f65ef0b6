"""Scores of the same cases, and their differences: what every paired test begins with.

Scores with two decimals differ by 0.07 in one case and by 0.07000000000000006 in the next. Tests of ranks would break
a tie there. With `decimals="noise"`, differences that only rounding noise tells apart are made equal, and all others
stay as they are; a number of decimals rounds all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.resampling.permutations import Tail

Better = Literal["higher", "lower"]
Alternative = Literal["better", "worse", "two-sided"]
Decimals = int | Literal["noise"] | None
"""To how many decimals differences are rounded; "noise": only those become equal that rounding noise tells apart."""
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALTERNATIVES: dict[Alternative, str] = {
    "better": "one-sided (a better than b)",
    "worse": "one-sided (a worse than b)",
    "two-sided": "two-sided",
}
TAILS: dict[Alternative, Tail] = {"better": "greater", "worse": "less", "two-sided": "two-sided"}
"""Of differences that are positive where a is better."""

# A float has some 15 digits: more decimals cannot be asked of it, and numbers of that size have none.
_MOST_DECIMALS = 15
_MOST_UNITS = 1e15
# Squares and sums of such scores are still numbers; larger ones are nobody's scores.
_LARGEST = 1e150
_NAMED = 5
# A score is the result of a few operations, each of which is off by half a unit in the last place.
_NOISE = 16 * float(np.finfo(np.float64).eps)


def differences(a: ArrayLike, b: ArrayLike, *, better: Better, decimals: Decimals) -> Floats:
    """How much better a is than b, case by case: a − b if higher is better, b − a if lower is.

    With "noise", sizes that only rounding noise tells apart become one; see `merge_noise`. With a number of decimals,
    differences are in whole units of the last one. A difference half-way between two units, but for rounding noise of a
    millionth, goes to the even one, so that noise decides nothing and a and b can change places.
    """
    scores = checked_scores({"a": a, "b": b})
    return oriented(scores["a"], scores["b"], better=better, decimals=decimals)


def oriented(a: Floats, b: Floats, *, better: Better, decimals: Decimals) -> Floats:
    """The `differences` of scores that were checked; b may be many rows of them."""
    check_reading(better, decimals)
    d = a - b if better == "higher" else b - a
    if decimals is None:
        return d
    if decimals == "noise":
        return merge_noise(d, noise_of(a, b))
    units = d * 10.0**decimals
    if not (np.abs(units) < _MOST_UNITS).all():
        msg = f"a difference of {np.abs(d).max():g} is too large to be rounded to {decimals} decimals"
        raise ValueError(msg)
    return np.rint(np.round(units, 6))


def noise_of(a: Floats, b: Floats) -> float:
    """How far two equal differences of such scores can lie apart by rounding alone: 16 ε · max(|a|, |b|)."""
    return _NOISE * float(max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0)))


def merge_noise(d: Floats, noise: float) -> Floats:
    """Differences, row by row, in which sizes that lie within `noise` of the next smaller one take its size.

    Sizes within `noise` of 0 become 0. Rounding to a fixed grid would split some ties at the borders of its cells;
    chains of neighbours split none.
    """
    size = np.abs(d)
    order = np.argsort(size, axis=-1, kind="stable")
    ascending = np.take_along_axis(size, order, axis=-1)
    gap = np.diff(ascending, axis=-1, prepend=0.0)
    # The first of each chain; a chain that begins at 0 (position −1) is one of zeros.
    position = np.arange(d.shape[-1])
    start = np.maximum.accumulate(np.where(gap > noise, position, -1), axis=-1)
    merged = np.where(start < 0, 0.0, np.take_along_axis(ascending, np.maximum(start, 0), axis=-1))
    tied = np.empty_like(merged)
    np.put_along_axis(tied, order, merged, axis=-1)
    return np.copysign(tied, d)


def check_reading(better: object, decimals: object) -> None:
    """Complain about a direction that is none, and about decimals that a float does not have."""
    one_of("better", better, ("higher", "lower"))
    if decimals not in (None, "noise") and (type(decimals) is not int or not 0 <= decimals <= _MOST_DECIMALS):
        msg = f"decimals are a whole number from 0 to {_MOST_DECIMALS}, 'noise' or None; not {decimals!r}"
        raise ValueError(msg)


def in_their_unit(d: Floats, decimals: Decimals) -> Floats:
    """Differences in the unit of the scores again."""
    return d if decimals is None or decimals == "noise" else d / 10.0**decimals


def checked_scores(scores: Mapping[str, ArrayLike]) -> dict[str, Floats]:
    """One score per case of everyone, and at least one case; or all that is wrong."""
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in scores.items()}
    problems = [
        f"{name} is an array of shape {array.shape}, not one score per case"
        for name, array in arrays.items()
        if array.ndim != 1
    ]
    lengths = {name: array.size for name, array in arrays.items() if array.ndim == 1}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        problems.append(f"the numbers of cases differ: {found}")
    if 0 in lengths.values():
        problems.append("there are no cases")
    for name, array in arrays.items():
        wrong = np.flatnonzero(~(np.abs(array) < _LARGEST)) if array.ndim == 1 else ()
        if len(wrong):
            found = ", ".join(f"{position} ({array[position]})" for position in wrong[:_NAMED])
            more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
            problems.append(f"{name} has no score in cases {found}{more}, counting from 0")
    if problems:
        msg = "scores cannot be compared: " + "; ".join(problems)
        raise ValueError(msg)
    return arrays


def checked_groups(a: ArrayLike, b: ArrayLike, problems: Sequence[str] = ()) -> tuple[Floats, Floats]:
    """The values of two independent groups; or all that is wrong with them, and the problems known already."""
    groups = {"a": np.asarray(a, dtype=np.float64), "b": np.asarray(b, dtype=np.float64)}
    every = []
    for name, group in groups.items():
        wrong = np.flatnonzero(~(np.abs(group) < _LARGEST))
        if group.ndim != 1:
            every.append(f"{name} is an array of shape {group.shape}, not a list of values")
        elif not group.size:
            every.append(f"{name} has no values")
        elif wrong.size:
            every.append(f"{name} has {group[wrong[0]]} at {wrong[0]}, counting from 0")
    if every or problems:
        msg = "groups cannot be compared: " + "; ".join([*every, *problems])
        raise ValueError(msg)
    return groups["a"], groups["b"]


def multiplicities(weight: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.number]:
    """How often each case is there: whole numbers from 0, and at least one case in each row."""
    if weight is None:
        return np.ones(shape, dtype=np.int64)
    w = np.asarray(weight)
    if w.shape[-1:] != shape[-1:] or w.ndim != len(shape):
        msg = f"weights must be one per case: {shape[-1]} of them, not an array of shape {w.shape}"
        raise ValueError(msg)
    if w.dtype.kind not in "iu" or (w.size and w.min() < 0):
        found = f"{w.dtype} from {w.min()}" if w.size else str(w.dtype)
        msg = f"weights say how often a case is there, in whole numbers from 0; found {found}"
        raise ValueError(msg)
    if not w.any(axis=-1).all():
        row = f" in row {int(np.argmin(w.any(axis=-1)))}" if w.ndim > 1 else ""
        msg = f"all weights are 0{row}: there are no cases"
        raise ValueError(msg)
    return w


def numbered(cluster: Iterable[Hashable], cases: int) -> Ints:
    """The cluster of each case as a number, from 0 in the order of their appearance."""
    labels = list(cluster)
    if len(labels) != cases:
        msg = f"clusters must be one label per case: {cases} of them, not {len(labels)}"
        raise ValueError(msg)
    if lost := [position for position, label in enumerate(labels) if _is_lost(label)]:
        found = ", ".join(map(str, lost[:_NAMED])) + (" …" if len(lost) > _NAMED else "")
        msg = f"every case belongs to a cluster, but those at {found} (counting from 0) have no label"
        raise ValueError(msg)
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)


def _is_lost(label: Hashable) -> bool:
    return label is None or (isinstance(label, float | np.floating) and bool(np.isnan(label)))


def one_of(what: str, given: object, allowed: Iterable[object]) -> None:
    """Complain about a word that is not one of those known."""
    known = list(allowed)
    if given not in known:
        msg = f"{what} is one of {', '.join(map(repr, known))}; not {given!r}"
        raise ValueError(msg)
