"""Dose-volume histograms as SVG: the team's dashed over the reference's solid, each with its name beside it.

As in the other plots horizontal positions are percentages and vertical ones pixels, so that a plot fills its place and
its text stays readable. The lines lie in an inner drawing that is stretched, with strokes that are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from isocenter.metrics import Metric
from isocenter.metrics.dvh import Curve
from isocenter.report._scale import Axis, axis_for, fit

_LEFT, _RIGHT = 7.0, 98.0  # per cent of the width between which curves are drawn
_TOP, _HEIGHT = 34.0, 380.0  # pixels above the curves, and of them
_NOMINAL = 700.0  # pixels the curves are wide on a page; only labels are placed by it
_PITCH = 17.0  # pixels from one label to the next
_DOSE = Metric("dose", "Gy", "neither", (0.0, float("inf")), 1, "dose")
_VOLUME = Metric("volume", "cc", "neither", (0.0, float("inf")), 1, "volume")

# At least 3 : 1 on white, and on black; the colour-blind can tell them apart as far as ten can be. Names do the rest.
_COLOURS = {
    "#0072b2": "#6cb6f0",
    "#c84e00": "#ff9a56",
    "#117733": "#6fcf86",
    "#882255": "#e884b5",
    "#7a7a1f": "#d6d46a",
    "#332288": "#a99bff",
    "#c2577a": "#ff9fb4",
    "#00857a": "#4fd1c0",
    "#994f00": "#e0b070",
    "#5a5f66": "#b4bac2",
}


@dataclass(frozen=True, slots=True)
class _Line:
    """The curves of one structure, and its colour."""

    name: str
    colour: str
    reference: Curve
    team: Curve | None

    @property
    def curves(self) -> list[Curve]:
        """Those that can be drawn."""
        return [curve for curve in (self.reference, self.team) if curve is not None and curve.dose.size]


def dvh_plot(
    structures: Mapping[str, tuple[Curve, Curve | None]],
    *,
    title: str,
    reference: str = "Reference",
    team: str = "Team",
    name: str = "dvh",
) -> Markup:
    """Cumulative dose-volume histograms, the team's against the reference's.

    Parameters
    ----------
    structures
        By name, the curve of the reference and that of the team (`DVH.curve`), or None if there is none to compare. All
        are in per cent of the structure, or all in cc. An empty structure is not drawn, but said.
    title
        What the picture shows, for who cannot see it.
    reference, team
        What the solid and the dashed line are called; without any team's curve there is no such legend.
    name
        Prefix of the identifiers in the SVG: different for each picture of a page.

    Returns
    -------
    Markup
        One `svg` element. It follows the colours of the page, light or dark, and needs none of its own.
    """
    relative = {curve.relative for pair in structures.values() for curve in pair if curve is not None}
    if len(relative) > 1:
        msg = "some curves are in per cent of the structure, others in cc; one axis cannot show both"
        raise ValueError(msg)
    lines = [
        _Line(structure, f"var(--dvh-{number % len(_COLOURS)})", *pair)
        for number, (structure, pair) in enumerate(structures.items())
        if pair[0].dose.size
    ]
    curves = [curve for line in lines for curve in line.curves]
    dose = _tight(axis_for(_DOSE, [highest := max([float(curve.dose[-1]) for curve in curves], default=1.0)]), highest)
    if relative == {False}:
        volume = axis_for(_VOLUME, [max([float(curve.volume[0]) for curve in curves], default=1.0)])
    else:
        volume = Axis(0.0, 100.0, (0.0, 20.0, 40.0, 60.0, 80.0, 100.0), 0)
    compared = any(line.team is not None for line in lines)
    empty = [structure for structure, pair in structures.items() if not pair[0].dose.size]
    parts = [
        _style(),
        _frame(dose, volume, unit="cc" if relative == {False} else "%"),
        _drawn(lines, dose, volume, names=(reference, team)),
        *_labels(lines, dose, volume),
        _legend(reference, team) if compared else Markup(""),
    ]
    bottom = _TOP + _HEIGHT + 44
    if empty:
        parts.append(_text(_LEFT, bottom + 10, fit(f"Empty, not drawn: {', '.join(empty)}", 90), css="small"))
        bottom += 22
    said = [_said(line, reference=reference, team=team) for line in lines] + [f"{item}: empty." for item in empty]
    return Markup(
        '<svg class="plot dvh" width="100%" height="{:.0f}" role="img" aria-labelledby="{n}-title {n}-desc">'
        '<title id="{n}-title">{}</title><desc id="{n}-desc">{}</desc>{}</svg>'
    ).format(bottom, title, " ".join(said), Markup("").join(parts), n=name)


def _style() -> Markup:
    """Colours of the lines; everything else is as on the rest of the page, or plain if there is no page."""
    light, dark = (
        Markup(";").join(Markup("--dvh-{}:{}").format(i, colour) for i, colour in enumerate(colours))
        for colours in (_COLOURS.keys(), _COLOURS.values())
    )
    return Markup(
        "<style>.dvh{{{0}}}@media (prefers-color-scheme:dark){{.dvh{{{1}}}}}@media print{{.dvh{{{0}}}}}"
        ".dvh path{{fill:none;stroke-width:2;stroke-linejoin:round;vector-effect:non-scaling-stroke}}"
        ".dvh .team{{stroke-dasharray:7 4}}.dvh .axis{{stroke:var(--ink,#1a1d21)}}"
        ".dvh .hair{{stroke:var(--hair,#d9dde2)}}</style>"
    ).format(light, dark)


def _frame(dose: Axis, volume: Axis, *, unit: str) -> Markup:
    parts = []
    for tick in volume.ticks:
        y = _y(tick, volume)
        css = "axis" if tick == volume.low else "hair"
        parts.append(_line(css, _LEFT, _RIGHT, y, y))
        parts.append(_text(_LEFT - 1, y + 4.5, volume.show(tick), css="small end"))
    for tick in dose.ticks:
        x = _x(tick, dose)
        parts.append(_line("axis", x, x, _TOP + _HEIGHT, _TOP + _HEIGHT + 5))
        parts.append(_text(x, _TOP + _HEIGHT + 20, dose.show(tick), css="small middle"))
    parts.append(_text(0, 14, f"Volume ({unit})", css="small ink"))
    parts.append(_text(_RIGHT, _TOP + _HEIGHT + 39, "Dose (Gy)", css="small ink end"))
    return Markup("").join(parts)


def _legend(reference: str, team: str) -> Markup:
    """What solid and dashed mean, above the curves."""
    parts = []
    for x, css, text in ((32.0, "", reference), (64.0, "team", team)):
        sample = Markup('<line class="axis {}" x1="{:.2f}%" x2="{:.2f}%" y1="10" y2="10" stroke-width="2"/>')
        parts.append(sample.format(css, x, x + 6))
        parts.append(_text(x + 7, 14, fit(text, 24), css="small ink"))
    return Markup("").join(parts)


def _drawn(lines: Sequence[_Line], dose: Axis, volume: Axis, *, names: tuple[str, str]) -> Markup:
    """All curves in an inner drawing, 1000 × 1000, stretched to its place."""
    paths = []
    for line in lines:
        for css, curve, name in (("", line.reference, names[0]), ("team", line.team, names[1])):
            if curve is None or not curve.dose.size:
                continue
            points = _simplified(_unit(curve, dose, volume) * 1000, tolerance=0.7)
            steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            path = Markup('<path class="{}" style="stroke:{}" d="M{}"><title>{}, {}</title></path>')
            paths.append(path.format(css, line.colour, steps, line.name, name))
    inner = Markup(
        '<svg x="{}%" y="{}" width="{}%" height="{}" viewBox="0 0 1000 1000" preserveAspectRatio="none" '
        'overflow="visible">{}</svg>'
    )
    return inner.format(_LEFT, _TOP, _RIGHT - _LEFT, _HEIGHT, Markup("").join(paths))


def _labels(lines: Sequence[_Line], dose: Axis, volume: Axis) -> list[Markup]:
    """A name beside each curve of the reference, with a dot on the curve.

    Each name has a height of its own, so no two can meet however narrow the page is. A curve falls to the right: a name
    to its right lies above it, one to its left below. Which height and side is free of other curves is tried out.
    """
    pitch = _PITCH / _HEIGHT
    rows: NDArray[np.float64] = np.arange(0.75, 1 / pitch - 0.5) * pitch  # middles of the names, from 0 at the top to 1
    curves = [curve for line in lines for curve in line.curves]
    enters, leaves = (
        np.array([_along(curve, rows + by, dose, volume) for curve in curves]) for by in (-pitch / 2, pitch / 2)
    )
    own = [_along(line.reference, rows, dose, volume) for line in lines]
    free = list(range(len(rows)))
    parts = {}
    # Hottest first: beside the targets there is room for names, as other curves have long fallen.
    for number in sorted(range(len(lines)), key=lambda n: -float(own[n][len(rows) // 2])):
        line, text = lines[number], fit(lines[number].name, 22)
        width = (7.4 * len(text) + 14) / _NOMINAL
        options = []
        for row in free or range(len(rows)):
            for side in (1, -1):
                low, high = sorted((own[number][row] + side * 0.004, own[number][row] + side * width))
                outside = max(0.0, high - 1.0) + max(0.0, -low)
                hidden = int(((leaves[:, row] > low) & (enters[:, row] < high)).sum())
                options.append((outside * 1000 + hidden, side == -1, abs(row - len(rows) / 3), row, side))
        *_, row, side = min(options)
        free = [other for other in free if other != row]
        x, y = _LEFT + float(own[number][row]) * (_RIGHT - _LEFT), _TOP + rows[row] * _HEIGHT
        dot = Markup('<circle cx="{:.2f}%" cy="{:.1f}" r="3.5" style="fill:{}"/>').format(x, y, line.colour)
        anchored = Markup('<text class="small ink {}" x="{:.2f}%" dx="{}" y="{:.1f}">{}<title>{}</title></text>')
        parts[number] = dot + anchored.format("" if side == 1 else "end", x, 7 * side, y + 4.5, text, line.name)
    return [parts[number] for number in sorted(parts)]


def _along(curve: Curve, rows: NDArray[np.float64], dose: Axis, volume: Axis) -> NDArray[np.float64]:
    """Where a curve is at heights from the top, from 0 at the left to 1."""
    shape = _unit(curve, dose, volume)
    return np.interp(rows, shape[:, 1], shape[:, 0])


def _tight(axis: Axis, highest: float) -> Axis:
    """An axis that ends shortly after the highest value, not at the next round number."""
    high = min(axis.high, 1.03 * highest) if highest > 0 else axis.high
    return Axis(axis.low, high, tuple(tick for tick in axis.ticks if tick <= high), axis.decimals)


def _said(line: _Line, *, reference: str, team: str) -> str:
    """One structure in words: the dose that half of it receives, and the highest."""
    words = []
    for name, curve in ((reference, line.reference), (team, line.team)):
        if curve is not None and curve.dose.size:
            half = float(np.interp(curve.volume[0] / 2, curve.volume[::-1], curve.dose[::-1]))
            words.append(f"{name} median {half:.1f} Gy, maximum {curve.dose[-1]:.1f} Gy")
    return f"{line.name}: {'; '.join(words)}."


def _unit(curve: Curve, dose: Axis, volume: Axis) -> NDArray[np.float64]:
    """A curve in a square from (0, 0), top left, to (1, 1)."""
    x = (curve.dose - dose.low) / (dose.high - dose.low)
    y = 1 - (curve.volume - volume.low) / (volume.high - volume.low)
    return np.column_stack([x.clip(0, 1), y.clip(0, 1)])


def _simplified(points: NDArray[np.float64], *, tolerance: float) -> NDArray[np.float64]:
    """Fewer corners: none is left out that is further than `tolerance` from the line (Ramer, Douglas and Peucker)."""
    keep = np.zeros(len(points), dtype=np.bool_)
    keep[[0, -1]] = True
    spans = [(0, len(points) - 1)]
    while spans:
        first, last = spans.pop()
        if last - first < 2:
            continue
        along = points[last] - points[first]
        offsets = points[first + 1 : last] - points[first]
        length = float(np.hypot(*along))
        away = (
            np.hypot(*offsets.T) if length == 0 else abs(along[0] * offsets[:, 1] - along[1] * offsets[:, 0]) / length
        )
        furthest = int(away.argmax())
        if away[furthest] > tolerance:
            middle = first + 1 + furthest
            keep[middle] = True
            spans += [(first, middle), (middle, last)]
    return points[keep]


def _x(value: float, axis: Axis) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (value - axis.low) / (axis.high - axis.low)


def _y(value: float, axis: Axis) -> float:
    return _TOP + _HEIGHT * (1 - (value - axis.low) / (axis.high - axis.low))


def _line(css: str, x1: float, x2: float, y1: float, y2: float) -> Markup:
    return Markup('<line class="{}" x1="{:.2f}%" x2="{:.2f}%" y1="{:.1f}" y2="{:.1f}"/>').format(css, x1, x2, y1, y2)


def _text(x: float, y: float, text: str, *, css: str) -> Markup:
    return Markup('<text class="{}" x="{:.2f}%" y="{:.1f}">{}</text>').format(css, x, y, text)
