"""How often a number had which value over draws or permutations, and where the observed one lies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from isocenter.metrics import Metric
from isocenter.report._drawing import line, picture, sentence, words
from isocenter.report._scale import LEFT, RIGHT, Axis, axis_for, fit

_LEFT, _RIGHT = 11.0, 98.0  # per cent of the width between which bars stand
_HEIGHT, _ROW = 150.0, 17.0  # pixels of the tallest bar, and of the line on which a mark is explained
_FEWEST, _MOST = 5, 40  # bars
_HUGE = 1e300  # what is larger is drawn as this, as differences of such numbers are not finite


def histogram_plot(
    values: Sequence[float],
    *,
    label: str,
    title: str,
    name: str,
    marks: Mapping[str, float] | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Markup:
    """Bars of equal width, ⌈2 n^(1/3)⌉ of them (Rice's rule) but at least 5 and at most 40, and marked values as lines.

    Parameters
    ----------
    values
        What is not finite is counted below the picture.
    label
        What the values are, with their unit.
    marks
        Values to compare with, by name: an observed one, a limit. One beyond the axis is at its end, with an arrow.
    low, high
        Where the axis begins and ends; by default at round numbers around values and marks. Values beyond it are
        counted in the first or the last bar, which is said.
    """
    finite = [_bounded(value) for value in values if math.isfinite(value)]
    marks = marks or {}
    if not finite:
        return sentence(f"{title}: {'none of the values is finite' if len(values) else 'there are no values'}.")
    axis = _axis(finite, marks, low, high)
    bins = min(max(math.ceil(2 * len(finite) ** (1 / 3)), _FEWEST), _MOST)
    counts = _counts(finite, axis, bins)
    most = axis_for(Metric("count", "", "neither", (0.0, math.inf), 0, "count"), [float(max(counts))])
    drawn = {text: value for text, value in marks.items() if math.isfinite(value)}
    top = 20.0 + _ROW * len(drawn)
    bottom = top + _HEIGHT
    parts = [
        _levels(most, bottom),
        _bars(counts, axis, most, bottom),
        _ticks(axis, bottom),
        _marked(drawn, axis, bottom),
    ]
    parts += [words(0, 12, "count", css="small"), words(_RIGHT, 12, f"n = {len(finite)}", css="small end")]
    parts.append(words(_RIGHT, bottom + 37, fit(label, 48), css="small ink end"))
    notes = _notes(values, marks, axis)
    for number, note in enumerate(notes):
        parts.append(words(0, bottom + 58 + _ROW * number, note, css="small"))
    median = float(np.median(finite))
    said = [f"{label}: n = {len(finite)}, median {median:.4g}, from {min(finite):.4g} to {max(finite):.4g}."]
    said += [f"{text}: {value:.4g}." for text, value in marks.items()]
    height = bottom + 44 + (_ROW * len(notes) + 4 if notes else 0)
    return picture(parts, height, name=name, title=title, description=" ".join([*said, *notes]))


def _axis(values: Sequence[float], marks: Mapping[str, float], low: float | None, high: float | None) -> Axis:
    bounds = (-math.inf if low is None else low, math.inf if high is None else high)
    within = [_bounded(value) for value in (*values, *marks.values()) if bounds[0] <= value <= bounds[1]]
    return axis_for(Metric("value", "", "neither", bounds, 3, "value"), within)


def _counts(values: Sequence[float], axis: Axis, bins: int) -> list[int]:
    """Values per bar; one on the edge of two is in the right one, and the last edge is in the last bar."""
    found = [0] * bins
    for value in values:
        found[min(int(_share(axis, value) * bins + 1e-9), bins - 1)] += 1
    return found


def _bars(counts: Sequence[int], axis: Axis, most: Axis, bottom: float) -> Markup:
    wide = (_RIGHT - _LEFT) / len(counts)
    edge = [axis.low + (axis.high - axis.low) * i / len(counts) for i in range(len(counts) + 1)]
    bar = Markup('<rect class="box" x="{:.2f}%" y="{:.2f}" width="{:.2f}%" height="{:.2f}"><title>{}</title></rect>')
    return Markup("").join(
        bar.format(
            _LEFT + wide * i,
            bottom - (tall := _HEIGHT * count / most.high),
            wide,
            tall,
            f"{edge[i]:.4g} to {edge[i + 1]:.4g}: {count}",
        )
        for i, count in enumerate(counts)
        if count
    )


def _levels(most: Axis, bottom: float) -> Markup:
    parts = []
    for tick in most.ticks:
        if tick == int(tick):
            y = bottom - _HEIGHT * tick / most.high
            parts += [line("tick", _LEFT, _RIGHT, y=y), words(_LEFT - 1.5, y + 4.5, f"{tick:.0f}", css="small end")]
    return Markup("").join(parts)


def _ticks(axis: Axis, bottom: float) -> Markup:
    parts = [line("whisker", _LEFT, _RIGHT, y=bottom)]
    for tick in axis.ticks:
        x = _at(axis, tick)
        parts += [line("whisker", x, x, y=bottom, down=4), words(x, bottom + 18, axis.show(tick), css="small middle")]
    return Markup("").join(parts)


def _marked(marks: Mapping[str, float], axis: Axis, bottom: float) -> Markup:
    """A line per mark, explained on a line of its own above the bars."""
    lines, texts = [], []
    for row, (text, value) in enumerate(marks.items()):
        x, y = _at(axis, value), 32.0 + _ROW * row
        lines.append(line("median", x, x, y=bottom, up=bottom - y + 10))
        arrow = {value < axis.low: "← ", value > axis.high: "→ "}.get(True, "")
        said = f"{arrow}{fit(text, 28)}: {value:.4g}"
        left = x > (_LEFT + _RIGHT) / 2
        texts.append(words(x - 1.2 if left else x + 1.2, y, said, css="small ink end" if left else "small ink"))
    return Markup("").join([*lines, *texts])


def _notes(values: Sequence[float], marks: Mapping[str, float], axis: Axis) -> list[str]:
    lost = sum(not math.isfinite(value) for value in values)
    below, above = sum(-math.inf < v < axis.low for v in values), sum(axis.high < v < math.inf for v in values)
    told = [(lost, "not finite, not shown"), (below, "below the axis, in the first bar")]
    told.append((above, "above the axis, in the last bar"))
    notes = [f"{count} {text}" for count, text in told if count]
    return [*notes, *(f"{fit(text, 28)}: not finite" for text, value in marks.items() if not math.isfinite(value))]


def _bounded(value: float) -> float:
    return min(max(value, -_HUGE), _HUGE)


def _share(axis: Axis, value: float) -> float:
    return (axis.at(value) - LEFT) / (RIGHT - LEFT)


def _at(axis: Axis, value: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * _share(axis, value)
