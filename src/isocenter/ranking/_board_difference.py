"""Where two boards differ: the one that was recorded, and the one that was made again."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any

_CLOSE = 1e-12
_ABSENT = object()
Path = tuple[str | int, ...]


def board_difference(
    recorded: Mapping[str, Any], found: Mapping[str, Any], *, exact: bool, words: bool, ignored: Collection[str] = ()
) -> str:
    """The first difference of two boards, as `Board.to_dict` gives them, in a sentence; "" if there is none.

    First what the board is, its metric and its rule, then its rows, team by team, their order, and its notes.

    Parameters
    ----------
    exact
        Whether numbers must be the same to the last bit, or within 1e-12 of their size.
    words
        Whether the rule and the notes must be worded alike.
    ignored
        Entries of the board and of its rows that need not agree.

    Examples
    --------
    >>> one, two = ({"rows": [{"submission": "a", "score": score}]} for score in (0.5, 0.25))
    >>> board_difference(one, two, exact=True, words=True)
    'a, score: 0.5 is recorded, 0.25 was found'
    """
    again = json.loads(json.dumps(found))  # as it would have been recorded
    keys = dict.fromkeys(["board", "metric", "rule", "rows", *again, *recorded])
    for key in [key for key in keys if words or key not in ("rule", "notes", "legend")]:
        for path, a, b in _differences((key,), recorded.get(key, _ABSENT), again.get(key, _ABSENT), exact=exact):
            if path[0] in ignored or (path[0] == "rows" and path[-1] in ignored):
                continue
            place = path[1:] if path[0] == "rows" and len(path) > 1 else path
            return f"{', '.join(map(str, place))}: {_shown(a)} is recorded, {_shown(b)} was found"
    return ""


def _differences(path: Path, a: Any, b: Any, *, exact: bool) -> Iterator[tuple[Path, Any, Any]]:
    a, b = _by_name(a), _by_name(b)
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys([*b, *a]):
            if key not in a and (key == "components" or (key in ("low", "high") and "components" in path)):
                continue  # an older version showed fewer numbers beside the score; none of those recorded is gone
            yield from _differences((*path, key), a.get(key, _ABSENT), b.get(key, _ABSENT), exact=exact)
        if path == ("rows",) and list(a) != list(b):
            yield ("order",), ", ".join(a), ", ".join(b)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for at, (left, right) in enumerate(zip(a, b, strict=True), start=1):
            yield from _differences((*path, at), left, right, exact=exact)
    elif not _same(a, b, exact=exact):
        yield path, a, b


def _by_name(value: Any) -> Any:
    """Rows by submission and components by metric, so that what is compared belongs together."""
    for key in ("submission", "metric"):
        if isinstance(value, list) and value and all(isinstance(row, dict) and key in row for row in value):
            rows = {str(row[key]): row for row in value}
            return rows if len(rows) == len(value) else value
    return value


def _same(a: Any, b: Any, *, exact: bool) -> bool:
    if isinstance(a, bool) is not isinstance(b, bool):  # in Python, true is 1
        return False
    numbers = all(isinstance(value, int | float) and abs(value) < 1e300 for value in (a, b))
    return bool(a == b or (numbers and not exact and math.isclose(a, b, rel_tol=_CLOSE)))


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    if isinstance(value, dict):
        return "a row" if "submission" in value else "a table"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:199] + "…"
