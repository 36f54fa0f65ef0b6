"""A nested record as lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

NOTHING_HIDDEN = re.compile(r"(?!)")


def flat(
    record: Mapping[str, Any], *, hidden: re.Pattern[str] = NOTHING_HIDDEN, above: str = ""
) -> Iterator[tuple[str, str]]:
    """A nested record as lines of names and values, without what names a hidden submission."""
    for key, value in record.items():
        name = f"{above}{key}"
        if hidden.search(str(key)):
            continue
        if isinstance(value, Mapping):
            yield from flat(value, hidden=hidden, above=f"{name} · ")
        elif isinstance(value, (list, tuple)):
            yield name, ", ".join(text for text in map(str, value) if not hidden.search(text))
        elif not hidden.search(str(value)):
            yield name, "–" if value is None else str(value)
