"""What can be set in the description of a rule: by key, from a plain value to the field of the rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

from isocenter.ranking._cells import Over, Undefined
from isocenter.ranking._missing import (
    Disqualify,
    FixedValue,
    LeaveOut,
    Missing,
    Penalty,
    RankLast,
    WorstObserved,
    WorstPossible,
)
from isocenter.ranking._reading import Path, Reader, finite, quoted
from isocenter.ranking._ties import TIES_IN_WORDS
from isocenter.ranking.rules.detection import DetectionMetric
from isocenter.ranking.rules.paired_tests import Adjustment
from isocenter.ranking.rules.weighted_ranks import Limit

MISSING_BY_WORD: dict[str, Missing] = {
    "worst": WorstPossible(),
    "worst-observed": WorstObserved("case"),
    "worst-observed-anywhere": WorstObserved("anywhere"),
    "rank-last": RankLast(),
    "leave-out": LeaveOut(),
    "disqualify": Disqualify(),
}
CATALOGUE = "catalogue"
"""In place of a number of decimals: as many as the catalogue says."""

_POLICIES = "a number, " + "".join(f'"{word}", ' for word in MISSING_BY_WORD)[:-2] + " or { penalty = 2 }"
_WEIGHTED = 'names of metrics between brackets, such as ["dice", { metric = "jaccard", weight = 2 }]'
_LIMITS = 'limits between brackets, such as [{ metric = "run_time", value = 60 }]'
NEEDED = {
    "metric": "the name of a metric in quotes",
    "metrics": _WEIGHTED,
    "missing": _POLICIES,
    "ties": quoted(list(TIES_IN_WORDS), "or"),
}
"""What may be written in the settings that a rule cannot do without."""


def read_setting(reader: Reader, key: str, value: object) -> Any:
    """The field of a rule that the value of a key describes; None where something is wrong with it."""
    return _READERS[key](reader, (key,), value)


def _missing(reader: Reader, path: Path, value: object) -> Missing | None:
    number = finite(value)
    if number is not None:
        return FixedValue(number)
    if isinstance(value, str) and value in MISSING_BY_WORD:
        return MISSING_BY_WORD[value]
    if isinstance(value, Mapping) and list(value) == ["penalty"]:
        factor = reader.number((*path, "penalty"), value["penalty"], "a number, 1 or more", lambda n: n >= 1)
        return None if factor is None else Penalty(factor)
    reader.refuse(path, value, _POLICIES, MISSING_BY_WORD)
    return None


def _metrics(reader: Reader, path: Path, value: object) -> tuple[tuple[str, float], ...] | None:
    items = reader.items(path, value, _WEIGHTED)
    if items == []:
        reader.refuse(path, value, _WEIGHTED)
    found: dict[str, float] = {}
    for at, item in items or ():
        name, weight = _weighted(reader, at, item)
        if name in found:
            reader.tell(at, name, f'"{name}" is already among the metrics; write each of them once')
        elif name is not None and weight is not None:
            found[name] = weight
    return tuple(found.items()) if found and len(found) == len(items or ()) else None


def _weighted(reader: Reader, path: Path, item: object) -> tuple[str | None, float | None]:
    if isinstance(item, str):
        return reader.metric(path, item), 1.0
    entry = reader.entry(path, item, 'a name in quotes, or { metric = "dice", weight = 2 }', "metric", "weight")
    if entry is None:
        return None, None
    weight = reader.number((*path, "weight"), entry.get("weight", 1.0), "a number above 0", lambda n: n > 0)
    return reader.metric((*path, "metric"), entry["metric"]), weight


def _limits(reader: Reader, path: Path, value: object) -> tuple[Limit, ...] | None:
    items = reader.items(path, value, _LIMITS) or ()
    found: list[Limit] = []
    for at, item in items:
        entry = reader.entry(at, item, '{ metric = "run_time", value = 60 }', "metric", "value", "at")
        if entry is None:
            continue
        name = reader.text((*at, "metric"), entry["metric"])
        limit = reader.number((*at, "value"), entry.get("value"), "a number", math.isfinite)
        side = reader.word((*at, "at"), entry.get("at", "excluded"), ("excluded", "allowed"))
        if name is not None and limit is not None and side is not None:
            found.append(Limit(name, limit, "allowed" if side == "allowed" else "excluded"))
    return tuple(found) if len(found) == len(items) else None


def _names(reader: Reader, path: Path, value: object) -> tuple[str, ...] | None:
    items = reader.items(path, value, "names of metrics in quotes between brackets, or []") or ()
    names = [reader.text(at, item) for at, item in items]
    return None if None in names else tuple(name for name in names if name is not None)


def _decimals(reader: Reader, path: Path, value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 15:
        return value
    if value != CATALOGUE:
        reader.refuse(path, value, f'a whole number from 0 to 15, or "{CATALOGUE}"', [CATALOGUE])
    return None


def _one_of(words: Iterable[str]) -> Callable[[Reader, Path, object], str | None]:
    return lambda reader, path, value: reader.word(path, value, tuple(words))


def _number(allowed: str, within: Callable[[float], bool]) -> Callable[[Reader, Path, object], float | None]:
    return lambda reader, path, value: reader.number(path, value, allowed, within)


_READERS: dict[str, Callable[[Reader, Path, object], object]] = {
    "metric": Reader.metric,
    "detection": lambda reader, _, value: reader.word(("metric",), value, get_args(DetectionMetric)),
    "metrics": _metrics,
    "missing": _missing,
    "ties": _one_of(TIES_IN_WORDS),
    "tolerance": _number("a number, 0 or more and below 1", lambda n: 0 <= n < 1),
    "over": _one_of(get_args(Over)),
    "undefined": _one_of(get_args(Undefined)),
    "q": _number("a number from 0 to 1", lambda n: 0 <= n <= 1),
    "proportion": _number("a number, 0 or more and below 0.5", lambda n: 0 <= n < 0.5),
    "alpha": _number("a number above 0 and below 1", lambda n: 0 < n < 1),
    "adjust": _one_of(get_args(Adjustment)),
    "decimals": _decimals,
    "given": _names,
    "limits": _limits,
    "tie_breaks": _names,
}
