"""ROC, precision-recall and FROC curves of teams, with the operating points of readers, as SVG.

The teams are numbered in the order in which they are given, and have line and colour by their number: a team looks the
same in all three plots. The number stands on the curve and, with the name, in a list beside the plot. A team without a
curve, as without lesions there is no recall, is said and not drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from markupsafe import Markup

from isocenter.metrics import Froc, PrecisionRecallCurve, RocCurve
from isocenter.report import _curve_frame as draw
from isocenter.report import _curve_given as given
from isocenter.report._curve_given import Band, OperatingMark
from isocenter.report._curve_key import Entry, key
from isocenter.report._curve_numbers import number_places
from isocenter.report._curve_shape import (
    STRICTEST,
    Scale,
    Shape,
    froc_scale,
    froc_shape,
    line_shape,
    precision_recall_shape,
    rate_scale,
)

_Curve = TypeVar("_Curve", RocCurve, PrecisionRecallCurve, Froc)


class _Team(NamedTuple):
    """What a plot shows of a team: the curve if there is one, its number in the list, and in words."""

    shape: Shape | None
    label: str
    said: str


def roc_plot(
    curves: Mapping[str, RocCurve],
    *,
    title: str,
    points: Sequence[OperatingMark] = (),
    bands: Mapping[str, Band] | None = None,
    name: str = "roc",
) -> Markup:
    """Sensitivity against 1 − specificity, with the diagonal of chance; the area of each team beside its name.

    Parameters
    ----------
    curves
        By team; see `isocenter.metrics.roc_curve`.
    title
        What the picture shows, for who cannot see it.
    points
        Operating points of readers, drawn as symbols.
    bands
        By team, shaded behind its curve.
    name
        Prefix of the identifiers in the SVG: different for each picture of a page.

    Returns
    -------
    Markup
        One `div` element, as wide as its place. It follows the colours of the page, light or dark.
    """

    def shown(curve: RocCurve) -> _Team:
        label = f"AUROC {curve.area:.3f}"
        at = curve.at_specificity(0.9)
        said = f"{label}, sensitivity {at.sensitivity:.2f} at a specificity of at least 0.90"
        return _Team(line_shape(curve.false_positive_rate, curve.sensitivity), label, said)

    teams = _teams(curves, shown, without="AUROC undefined", undefined=lambda curve: math.isnan(curve.area))
    axes = rate_scale("1 − specificity"), rate_scale("Sensitivity")
    return _plot(teams, axes, title=title, points=points, bands=bands, name=name, behind=draw.chance())


def precision_recall_plot(
    curves: Mapping[str, PrecisionRecallCurve],
    *,
    title: str,
    points: Sequence[OperatingMark] = (),
    bands: Mapping[str, Band] | None = None,
    name: str = "precision-recall",
) -> Markup:
    """Precision against recall, in the steps that the average precision adds up; it stands beside the name of the team.

    A curve ends, with a dot, at the highest recall that was attained.

    Parameters
    ----------
    curves
        By team; see `isocenter.metrics.precision_recall_curve`.
    title, points, bands, name
        See `roc_plot`.
    """

    def shown(curve: PrecisionRecallCurve) -> _Team:
        label = f"AP {curve.average_precision:.3f}"
        attained = curve.precision > 0
        half = curve.precision[attained & (curve.recall >= 0.5)]
        said = f"{label}, recall up to {curve.recall[attained].max():.2f}"
        said += f", precision {half.max():.2f} at a recall of at least 0.50" if half.size else ""
        return _Team(precision_recall_shape(curve), label, said)

    teams = _teams(curves, shown, without="AP undefined", undefined=lambda curve: math.isnan(curve.average_precision))
    axes = rate_scale("Recall"), rate_scale("Precision")
    return _plot(teams, axes, title=title, points=points, bands=bands, name=name)


def froc_plot(
    curves: Mapping[str, Froc],
    *,
    title: str,
    points: Sequence[OperatingMark] = (),
    bands: Mapping[str, Band] | None = None,
    scale: Literal["log", "linear"] = "log",
    x_max: float | None = None,
    name: str = "froc",
) -> Markup:
    """Sensitivity against false positives per case, by steps; that at one per case stands beside the name of the team.

    A curve goes on, paler, from its last point, which has a dot. What is attained with fewer false positives than the
    axis has is at its left end; a mark that lies beyond an end of the axis stands there with an arrow.

    Parameters
    ----------
    curves
        By team; see `isocenter.metrics.froc`.
    title, points, bands, name
        See `roc_plot`.
    scale
        "log": from 1/8 false positive per case on, a tick at each power of two, as in LUNA16. "linear": from 0 on.
    x_max
        Where the axis ends; by default at the first of 1, 2, 4 and 8 that contains all last points, at most at 8.
    """
    if scale not in ("log", "linear"):
        msg = f"the scale of false positives is 'log' or 'linear', not {scale!r}"
        raise ValueError(msg)
    least = STRICTEST if scale == "log" else 0.0
    ends = [float(c.false_positives[np.isfinite(c.false_positives)].max(initial=0)) for c in curves.values()]
    ends += [point.x for point in points]
    high = next((end for end in (1.0, 2.0, 4.0) if max(ends, default=0) <= end), 8.0) if x_max is None else x_max
    if not least < high < math.inf:
        msg = f"the axis of false positives ends at a finite number above {least:g}, not at {high}"
        raise ValueError(msg)
    across = froc_scale(high, log=scale == "log")

    def shown(curve: Froc) -> _Team:
        half, one, two = (curve.sensitivity_at(rate) for rate in (0.5, 1.0, 2.0))
        said = f"sensitivity {half:.2f}, {one:.2f} and {two:.2f} at 1/2, 1 and 2 false positives per case"
        return _Team(froc_shape(curve, across), f"{one:.3f} at 1 FP/case", said)

    teams = _teams(
        curves, shown, without="sensitivity undefined", undefined=lambda curve: math.isnan(curve.sensitivity[0])
    )
    return _plot(teams, (across, rate_scale("Sensitivity")), title=title, points=points, bands=bands, name=name)


def _teams(
    curves: Mapping[str, _Curve],
    shown: Callable[[_Curve], _Team],
    *,
    without: str,
    undefined: Callable[[_Curve], bool],
) -> dict[str, _Team]:
    missing = _Team(None, f"{without}, not drawn", without)
    return {team: missing if undefined(curve) else shown(curve) for team, curve in curves.items()}


def _plot(
    teams: Mapping[str, _Team],
    axes: tuple[Scale, Scale],
    *,
    title: str,
    points: Sequence[OperatingMark],
    bands: Mapping[str, Band] | None,
    name: str,
    behind: Markup | None = None,
) -> Markup:
    """What the three plots have in common."""
    bands = bands or {}
    given.check(teams, axes, points, bands)
    shapes = {number: team.shape for number, team in enumerate(teams.values()) if team.shape is not None}
    numbers = {team: number for number, team in enumerate(teams)}
    places = np.column_stack([axes[0].share([p.x for p in points]), axes[1].share([p.y for p in points])])
    kinds = given.kinds(points)
    shaded = [draw.band(numbers[team], *given.edges(area, axes)) for team, area in bands.items()]
    names = list(teams)
    lines = [draw.curve(n, shape, title=f"{names[n]}, {teams[names[n]].label}") for n, shape in shapes.items()]
    parts = [draw.style(), draw.frame(*axes), behind or Markup(""), draw.inner([*shaded, *reversed(lines)])]
    parts += [draw.dot(n, shape.line[-1]) for n, shape in shapes.items() if shape.dot]
    if len(teams) > 1:
        discs = number_places([shape.all for shape in shapes.values()], places)
        parts += [draw.disc(n, place) for n, place in zip(shapes, discs, strict=True)]
    parts += [
        draw.mark(kinds[point.kind], place, title=given.words(point, axes), beyond=given.beyond(point, axes[0]))
        for point, place in zip(points, places, strict=True)
    ]
    said = [f"{team}: {shown.said}." for team, shown in teams.items()]
    said += [f"{given.words(point, axes)}." for point in points]
    entries = [
        Entry(draw.sample(n, numbered=len(teams) > 1), team, f", {shown.label}")
        for n, (team, shown) in enumerate(teams.items())
    ]
    entries += [Entry(draw.symbol(number), kind, given.members(kind, points)) for kind, number in kinds.items()]
    return Markup('<div class="curves">{}{}</div>').format(
        draw.described(parts, name=name, title=title, said=said), key(entries)
    )
