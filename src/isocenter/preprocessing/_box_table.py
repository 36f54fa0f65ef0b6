"""The table of boxes: what was cut, and what an organiser wants cut instead. Both have the same columns.

::

    case,x1,y1,z1,x2,y2,z2,method,threshold,brain_ml
    CHUV001,-75.2,-210.0,-151.3,74.8,-60.0,-1.3,design,3,1432
    CHUV002,-80,-200,-140,70,-50,10,given,,
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from isocenter import atomic
from isocenter.preprocessing._box import Box

Override = Box | float | Literal["auto"]
"""What is said by hand about a case: its box, or only the threshold (SUV) at which to look for the brain."""

CORNERS = ("x1", "y1", "z1", "x2", "y2", "z2")
COLUMNS = ("case", *CORNERS, "method", "threshold", "brain_ml")


class BoxTableError(ValueError):
    """A table of boxes that cannot be used; the message lists every line that is wrong."""


def write_boxes(boxes: Mapping[str, Box], path: str | os.PathLike[str]) -> None:
    """Write boxes by case, in the order of their names, as a table that `read_overrides` understands.

    Millimetres are written in full, so that a box that is read again is the same to the last bit.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for case, box in sorted(boxes.items()):
        found = [f"{value:.6g}" if value is not None else "" for value in (box.threshold, box.brain_ml)]
        writer.writerow([case, *map(repr, box.corners), box.method, *found])
    atomic.write_text(text.getvalue(), path)


def read_overrides(path: str | os.PathLike[str]) -> dict[str, Override]:
    """Read what was decided by hand, by case.

    A line with the six corners gives the box; one without them, but with a `threshold` (an SUV, or "auto"), the level
    at which to look for the brain. So a table that `write_boxes` wrote gives every case its box again, and the one
    line in it that was edited another.

    Raises
    ------
    BoxTableError
        Naming every line that is neither, and every case that is listed twice.
    """
    try:
        rows = list(csv.DictReader(io.StringIO(Path(path).read_text(encoding="utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        msg = f"{Path(path).name} is not a table of comma-separated text: {error}"
        raise BoxTableError(msg) from error
    found: dict[str, Override] = {}
    problems = []
    for number, row in enumerate(rows, start=2):
        case = (row.get("case") or "").strip()
        try:
            if not case:
                msg = "names no case (column `case`)"
                raise ValueError(msg)
            if case in found:
                msg = f"lists {case} again"
                raise ValueError(msg)
            found[case] = _override(row)
        except ValueError as error:
            problems.append(f"  line {number}: {error}")
    if problems:
        msg = f"{Path(path).name} cannot be used:\n" + "\n".join(problems)
        raise BoxTableError(msg)
    return found


def _override(row: Mapping[str, str | None]) -> Override:
    """The decision of one line."""
    corners = [(row.get(name) or "").strip() for name in CORNERS]
    threshold = (row.get("threshold") or "").strip()
    if all(corners):
        x1, y1, z1, x2, y2, z2 = (_number(text) for text in corners)
        return Box((x1, y1, z1), (x2, y2, z2))
    if any(corners) or not threshold:
        msg = f"needs either all of {', '.join(CORNERS)} (mm) or a threshold (SUV, or auto)"
        raise ValueError(msg)
    if threshold == "auto":
        return "auto"
    return _number(threshold)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        msg = f"{text!r} is no number"
        raise ValueError(msg)
    return number
