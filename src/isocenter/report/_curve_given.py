"""What is given for a plot besides the curves: marks of readers, bands, and what is wrong with them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from isocenter.report._curve_shape import Places, Scale


class OperatingMark(NamedTuple):
    """The operating point of a reader, in the units of the axes.

    Attributes
    ----------
    label
        Whose it is.
    x, y
        ROC: 1 − specificity and sensitivity. Precision-recall: recall and precision. FROC: false positives per case and
        sensitivity.
    kind
        Marks of one kind share a symbol and an entry in the list: "expert", "PI-RADS ≥ 3".
    """

    label: str
    x: float
    y: float
    kind: str


class Band(NamedTuple):
    """An area behind a curve, such as an interval of confidence: from `low` to `high` at each of ascending `x`."""

    x: ArrayLike
    low: ArrayLike
    high: ArrayLike


def edges(area: Band, axes: tuple[Scale, Scale]) -> tuple[Places, Places]:
    """The lower and the upper edge of a band, where the axis is."""
    x, low, high = (np.asarray(column, dtype=np.float64) for column in area)
    ends = np.clip([axes[0].low, axes[0].high], x[0], x[-1])
    inside = x[(x > ends[0]) & (x < ends[1])]
    shown = np.concatenate([ends[:1], inside, ends[1:]])
    across = axes[0].share(shown)
    first, second = (np.column_stack([across, axes[1].share(np.interp(shown, x, edge))]) for edge in (low, high))
    return first, second


def words(point: OperatingMark, axes: tuple[Scale, Scale]) -> str:
    """A mark in words, for who cannot see it and for a pointer."""
    across, up = (axis.label.lower() for axis in axes)
    return f"{point.label} ({point.kind}): {up} {point.y:.2f}, {across} {point.x:.2f}"


def kinds(points: Sequence[OperatingMark]) -> dict[str, int]:
    """The kinds of marks, numbered from 0 as they come."""
    return {kind: number for number, kind in enumerate(dict.fromkeys(point.kind for point in points))}


def members(kind: str, points: Sequence[OperatingMark]) -> str:
    """Whose the marks of a kind are: the one by name, several by number."""
    labels = [point.label for point in points if point.kind == kind]
    if len(labels) > 1:
        return f", n = {len(labels)}"
    return "" if labels[0] in ("", kind) else f": {labels[0]}"


def beyond(point: OperatingMark, axis: Scale) -> str:
    """At which end of the axis a mark lies outside, if it does."""
    return "left" if point.x < axis.low else "right" if point.x > axis.high else ""


def check(
    teams: Collection[str], axes: tuple[Scale, Scale], points: Sequence[OperatingMark], bands: Mapping[str, Band]
) -> None:
    """One error that names everything that cannot be drawn."""
    wrong = [
        f"{axis.label.lower()} of {point.label!r} is {value}"
        for point in points
        for axis, value in zip(axes, (point.x, point.y), strict=True)
        if not (0 <= value <= axis.most and value < math.inf)
    ]
    for team, area in bands.items():
        if team not in teams:
            wrong.append(f"there is a band of {team!r}, but no curve")
        x, low, high = (np.asarray(column, dtype=np.float64) for column in area)
        if not (x.ndim == 1 and x.size > 1 and x.shape == low.shape == high.shape):
            wrong.append(f"the band of {team!r} has columns of shapes {x.shape}, {low.shape}, {high.shape}")
        elif not np.isfinite([x, low, high]).all() or not (np.diff(x) >= 0).all() or not (low <= high).all():
            wrong.append(f"the band of {team!r} needs finite numbers, x ascending, and low not above high")
    if wrong:
        msg = f"the plot cannot be drawn: {'; '.join(wrong)}"
        raise ValueError(msg)
