"""Fewer cells of a matrix than a screen has room for: neighbours become one, with their mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_MOST_ROWS, _MOST_CELLS = 100, 2500

Row = tuple[float | None, ...]


class Grid(NamedTuple):
    """Values by row, then by column, and what rows and columns are called; None is no value."""

    values: tuple[Row, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def merged(grid: Grid) -> tuple[Grid, str]:
    """At most 100 rows and 2500 cells, or 2500 / rows columns, and what was done, in a sentence."""
    if len(grid.values) != len(grid.rows) or any(len(row) != len(grid.columns) for row in grid.values):
        msg = f"a matrix has {len(grid.rows)} rows and {len(grid.columns)} columns, but its values have another shape"
        raise ValueError(msg)
    down = math.ceil(len(grid.rows) / _MOST_ROWS)
    count = math.ceil(len(grid.rows) / down)
    across = math.ceil(len(grid.columns) / (_MOST_CELLS // count))
    if down == across == 1:
        return grid, ""
    values = tuple(
        tuple(_mean([v for row in rows for v in row[i : i + across]]) for i in range(0, len(grid.columns), across))
        for rows in (grid.values[j : j + down] for j in range(0, len(grid.rows), down))
    )
    said = " and ".join(f"{n} {what}" for n, what in ((down, "rows"), (across, "columns")) if n > 1)
    return Grid(values, _names(grid.rows, down), _names(grid.columns, across)), f"A cell is the mean of {said}."


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    mean = sum(value / len(known) for value in known)
    return None if math.isnan(mean) else mean


def _names(names: Sequence[str], size: int) -> tuple[str, ...]:
    groups = [names[i : i + size] for i in range(0, len(names), size)]
    return tuple(group[0] if len(group) == 1 else f"{group[0]} – {group[-1]}" for group in groups)
