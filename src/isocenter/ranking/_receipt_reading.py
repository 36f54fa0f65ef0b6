"""Receipts from a text that anybody may have changed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from isocenter.ranking._entry import Counts, Participation, Per
from isocenter.ranking._receipt import FORMAT, FileRecord, Receipt, TableRecord, seal
from isocenter.ranking.rules import RuleProblem
from isocenter.schema import Path, finite, quoted, show


class ReceiptError(ValueError):
    """A text that is no receipt, or not the one that was written, with everything that is wrong with it."""


def read_receipt(text: str) -> Receipt:
    """The receipt that a text holds.

    Raises
    ------
    ReceiptError
        The text is no receipt, or was changed after it was written.

    Notes
    -----
    The seal is a hash and no signature: it shows that a receipt was changed by accident, or by somebody who did not
    seal it again. What proves a board is that it can be made again from its tables.
    """
    try:
        found = json.loads(text)
        sealed = seal({name: value for name, value in found.items() if name != "sha256"}) if _TABLE.holds(found) else ""
    except (ValueError, RecursionError) as error:
        msg = f"it is not JSON: {error}"
        raise ReceiptError(msg) from None
    if not sealed or found.get("format") != FORMAT:
        msg = f'it is no receipt that this version can read; one has "format": "{FORMAT}"'
        raise ReceiptError(msg)
    if found.get("sha256") != sealed:
        stated = show(found.get("sha256"))
        msg = f"it was changed after it was written: its content has the sha256 {sealed}, it says {stated}"
        raise ReceiptError(msg)
    problems = [
        RuleProblem(path, show(value), f"{show(value)} is not allowed; expected {expected}")
        for path, value, expected in _mismatches((), found, _SHAPE)
    ] or list(_contradictions(found["tables"]))
    if problems:
        msg = "it is sealed, but no receipt:\n" + "\n".join(f"  {problem}" for problem in problems)
        raise ReceiptError(msg)
    return _receipt(found)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A value: what it is, and how that is known."""

    what: str
    holds: Callable[[Any], bool]


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_ladder(value: object) -> bool:
    number = finite(value)
    return value in (None, "parameter-free") or (number is not None and number > 0)


def _is_moment(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).utcoffset() is not None
    except ValueError:
        return False


def _one_of(*words: str) -> _Leaf:
    return _Leaf(quoted(words, "or"), lambda value: isinstance(value, str) and value in words)


_TEXT = _Leaf("a text", lambda value: isinstance(value, str))
_FLAG = _Leaf("true or false", lambda value: isinstance(value, bool))
_COUNT = _Leaf("a whole number, 0 or more", lambda value: _is_whole(value, 0))
_HASH = _Leaf("a SHA-256", lambda value: isinstance(value, str) and bool(re.fullmatch(r"[0-9a-f]{64}", value)))
_TABLE = _Leaf("a table", lambda value: isinstance(value, dict))
_FILE = {"file": _TEXT, "sha256": _HASH}
_METHODS = {"p_best": _COUNT}

_SHAPE: dict[str, Any] = {
    "versions": dict.fromkeys(("isocenter", "numpy", "polars", "python"), _TEXT),
    "challenge": _TEXT,
    "board_name": _TEXT,
    "rule": _TABLE,
    "participation": {
        "quota": _Leaf("a whole number, 1 or more, or null", lambda value: value is None or _is_whole(value, 1)),
        "counts": _one_of(*get_args(Counts)),
        "organisers": _one_of("unlisted", "unranked", "ranked"),
        "per": _one_of(*get_args(Per)),
        "ladder": _Leaf('a number above 0, "parameter-free", or null', _is_ladder),
        "decimals": _Leaf("a whole number, 0 or more, or null", lambda value: value is None or _is_whole(value, 0)),
    },
    "roles": {"organisers": [_TEXT], "benchmarks": [_TEXT]},
    "tables": [
        {
            "team": _TEXT,
            "position": _Leaf("a whole number, 1 or more", lambda value: _is_whole(value, 1)),
            "moment": _Leaf("a moment with its zone, or null", lambda value: value is None or _is_moment(value)),
            "chosen": _FLAG,
            "void": _FLAG,
            **_FILE,
        }
    ],
    "draws": {
        "replicates": _COUNT,
        "seed": _COUNT,
        "level": _Leaf("a number from 0.5 to 0.999", lambda value: isinstance(value, float) and 0.5 <= value <= 0.999),
    },
    "board": _TABLE,
}
"""What a receipt is made of, beside its format, its seal, its run times, which may be null, and its methods."""


def _mismatches(path: Path, value: Any, shape: Any) -> Iterator[tuple[Path, Any, str]]:
    """Where a value is not of a shape: what was found there, and what was expected."""
    if isinstance(shape, _Leaf):
        if not shape.holds(value):
            yield path, value, shape.what
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield path, value, "a list"
            return
        for i, item in enumerate(value):
            yield from _mismatches((*path, i), item, shape[0])
    elif not isinstance(value, dict):
        yield path, value, "a table"
    else:
        for key, inner in shape.items():
            yield from _mismatches((*path, key), value.get(key), inner)
        if not path and value.get("run_times") is not None:
            yield from _mismatches(("run_times",), value["run_times"], _FILE)
        if not path and "methods" in value:
            yield from _mismatches(("methods",), value["methods"], _METHODS)


def _contradictions(tables: list[dict[str, Any]]) -> Iterator[RuleProblem]:
    """Tables of a team that do not go together."""
    for team in dict.fromkeys(table["team"] for table in tables):
        its = [(i, table) for i, table in enumerate(tables) if table["team"] == team]
        for at, (i, table) in enumerate(its, start=1):
            if table["position"] != at:
                message = f"{table['position']} is not allowed; the table is number {at} of {team}"
                yield RuleProblem(("tables", i, "position"), str(table["position"]), message)
        if len({table["moment"] is None for _, table in its}) > 1:
            yield RuleProblem(
                ("tables", its[0][0], "moment"), "", f"some tables of {team} have a moment, some have none"
            )
        if sum(table["chosen"] for _, table in its) > 1:
            yield RuleProblem(("tables", its[0][0], "chosen"), "true", f"{team} chose more than one table")


def _receipt(found: Mapping[str, Any]) -> Receipt:
    """The receipt that values of the right shape describe."""
    moments = [
        None if table["moment"] is None else datetime.fromisoformat(table["moment"]) for table in found["tables"]
    ]
    return Receipt(
        challenge=found["challenge"],
        board_name=found["board_name"],
        rule=found["rule"],
        participation=Participation(**{name: found["participation"][name] for name in _SHAPE["participation"]}),
        organisers=tuple(found["roles"]["organisers"]),
        benchmarks=tuple(found["roles"]["benchmarks"]),
        tables=tuple(
            TableRecord(**{name: table[name] for name in _SHAPE["tables"][0]} | {"moment": moment})
            for table, moment in zip(found["tables"], moments, strict=True)
        ),
        run_times=FileRecord(**{name: found["run_times"][name] for name in _FILE}) if found.get("run_times") else None,
        replicates=found["draws"]["replicates"],
        seed=found["draws"]["seed"],
        level=found["draws"]["level"],
        board=found["board"],
        versions=found["versions"],
        methods=found.get("methods", {}),
    )
