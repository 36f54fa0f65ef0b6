"""How messages speak of many beams and of values from a stranger's file: in few words."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence, Sized

told = reprlib.repr
"""A value as Python writes it, with its middle left out if it is long."""


def some(names: Sequence[str], most: int = 3, *, what: str = "beam") -> str:
    """A few of many names: "beam a", "3 beams (a, b, c)", "540 beams (a, b, c …)"."""
    if len(names) == 1:
        return f"{what} {names[0]}"
    return f"{len(names)} {what}s ({', '.join(names[:most])}{' …' if len(names) > most else ''})"


def verb(names: Sized, one: str, many: str) -> str:
    """The form of a verb that goes with so many names."""
    return one if len(names) == 1 else many
